"""model.py FOLDER: a model of two small layers: a configuration and a tokenizer of single bytes. Its weights are made up by the engine."""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
ends = ["<end>", "<turn>"]
words = {word: number for number, word in enumerate(ends + letters)}
tokenizer = Tokenizer(models.BPE(vocab=words, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens(ends)
tokenizer.save(str(folder / "tokenizer.json"))


def write(name, value):
    (folder / name).write_text(json.dumps(value, indent=1))


write("config.json", {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16",
    "vocab_size": tokenizer.get_vocab_size(), "hidden_size": 128, "intermediate_size": 256,
    # The CPU build takes heads whose size is a multiple of 32.
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 64,
    "max_position_embeddings": 8192, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
    "bos_token_id": 0, "eos_token_id": 0, "tie_word_embeddings": True,
})
write("generation_config.json", {"bos_token_id": 0, "eos_token_id": 0})
write("tokenizer_config.json", {
    "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>", "model_max_length": 8192,
    "chat_template": "{% for m in messages %}<turn>{{ m['role'] }}:{{ m['content'] }}{% endfor %}<turn>",
})
