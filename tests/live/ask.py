"""ask.py URL MODEL: a few chats of several turns that begin alike, four at a time, so that all workers get some."""

import json
import random
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

url, model = sys.argv[1:3]
WORDS = "block cache chat engine first hold index last model node page prompt rank root store tree turn worker".split()


def text(seed, count):
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(count))


def answer(messages):
    body = {"model": model, "messages": messages, "max_tokens": 16, "temperature": 0, "ignore_eos": True}
    head = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), head)
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)["choices"][0]["message"]["content"] or "nothing"


def converse(chat):
    messages = [{"role": "system", "content": text(chat % 2, 60)}]
    for turn in range(3):
        messages.append({"role": "user", "content": text(100 + chat * 10 + turn, 30)})
        messages.append({"role": "assistant", "content": answer(messages)})


with ThreadPoolExecutor(4) as pool:
    list(pool.map(converse, range(8)))
