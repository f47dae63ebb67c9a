//! Workers without KV blocks: encoders, and workers for embeddings and images.

use super::{linted, shown};
use kvtop::lint::Verdicts;

const VLLM_EVENTS: &str =
    r#", --kv-events-config, '{"enable_kv_cache_events":true,"publisher":"zmq"}'"#;
const SGLANG_EVENTS: &str =
    r#", --kv-events-config, '{"publisher":"zmq","endpoint":"tcp://*:5557"}'"#;

/// Two good workers of an engine, and four of the component under test.
fn beside(release: &str, engine: &str, args: &str, variable: &str) -> Verdicts {
    let good = match engine {
        "vllm" => format!("[--model, m, --block-size, \"64\"{VLLM_EVENTS}]"),
        "sglang" => format!("[--model-path, m, --page-size, \"64\"{SGLANG_EVENTS}]"),
        _ => "[--model-path, m, --publish-events-and-metrics, --trtllm.kv_cache_config.tokens_per_block, \
              \"64\", --kv-block-size, \"64\"]"
            .to_owned(),
    };
    let image =
        if engine == "trtllm" { "tensorrtllm-runtime" } else { &format!("{engine}-runtime") };
    let environment = match variable.split_once('=') {
        Some((name, value)) => format!("          env: [{{name: {name}, value: \"{value}\"}}]\n"),
        None => String::new(),
    };
    linted(&format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: e}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n        - {{name: DYN_ROUTER_MODE, value: kv}}\n        \
         - {{name: DYN_KV_CACHE_BLOCK_SIZE, value: \"64\"}}\n      extraPodSpec: {{mainContainer: {{image: \
         a/{image}:{release}}}}}\n    W:\n      componentType: worker\n      replicas: 2\n      extraPodSpec:\n        \
         mainContainer:\n          image: a/{image}:{release}\n          command: [python3, -m, \
         dynamo.{engine}]\n          args: {good}\n    Other:\n      componentType: worker\n      replicas: 4\n      \
         extraPodSpec:\n        mainContainer:\n          image: a/{image}:{release}\n          command: \
         [python3, -m, dynamo.{engine}]\n          args: [{args}]\n{environment}"
    ))
}

#[test]
fn workers_without_kv_blocks_are_not_judged_as_publishers() {
    let cases = [
        ("1.4.2", "vllm", "--model, m, --disaggregation-mode, encode", ""),
        ("1.4.2", "vllm", "--model, m, --disaggregation-mode, encode, --block-size, \"16\"", ""),
        ("1.4.2", "vllm", "--model, m", "DYN_VLLM_DISAGGREGATION_MODE=encode"),
        ("1.0.2", "vllm", "--model, m, --multimodal-encode-worker, --no-enable-prefix-caching", ""),
        ("1.2.1", "vllm", "--model, m", "DYN_VLLM_MULTIMODAL_ENCODE_WORKER=true"),
        ("0.9.0", "vllm", "--model, m, --vllm-native-encoder-worker, --block-size, \"16\"", ""),
        ("1.4.2", "vllm", "--model, emb, --embedding-worker", ""),
        ("1.4.2", "vllm", "--model, emb", "DYN_VLLM_EMBEDDING_WORKER=1"),
        ("1.4.2", "vllm", "--model, cls, --classify-worker", ""),
        ("1.0.2", "sglang", "--model-path, m, --multimodal-encode-worker", ""),
        ("1.4.2", "sglang", "--model-path, m, --disaggregation-mode, encode", ""),
        ("1.4.2", "sglang", "--model-path, emb, --embedding-worker", ""),
        ("1.4.2", "sglang", "--model-path, i, --image-diffusion-worker", ""),
        ("1.4.2", "sglang", "--model-path, i", "DYN_SGL_VIDEO_GENERATION_WORKER=yes"),
        ("1.4.2", "trtllm", "--model-path, m, --disaggregation-mode, encode", ""),
        (
            "1.0.2",
            "trtllm",
            "--model-path, m, --disaggregation-mode, encode, --kv-block-size, \"16\"",
            "",
        ),
        ("1.4.2", "trtllm", "--model-path, v, --modality, video_diffusion", ""),
        ("1.4.2", "trtllm", "--model-path, v", "DYN_TRTLLM_MODALITY=image_diffusion"),
    ];
    for case @ (release, engine, args, variable) in cases {
        let found = beside(release, engine, args, variable);

        assert_eq!(shown(&found), [], "{case:?}: {found:?}");
        assert!(found.unjudged.is_empty(), "{case:?}: {:?}", found.unjudged);
    }
}

#[test]
fn a_worker_that_computes_prompts_is_judged_whatever_it_might_be_beside() {
    let cases = [
        ("vllm", "--model, m, --block-size, \"64\", --disaggregation-mode, pd", ""),
        ("vllm", "--model, m, --block-size, \"64\", --no-embedding-worker", ""),
        ("vllm", "--model, m, --block-size, \"64\"", "DYN_VLLM_EMBEDDING_WORKER=false"),
        ("vllm", "--model, m, --block-size, \"64\"", "DYN_SGL_EMBEDDING_WORKER=true"),
        ("vllm", "--model, m, --block-size, \"64\", --route-to-encoder", ""),
        ("sglang", "--model-path, m, --page-size, \"64\", --enable-multimodal", ""),
        (
            "trtllm",
            "--model-path, m, --modality, multimodal, \
                    --trtllm.kv_cache_config.tokens_per_block, \"64\"",
            "",
        ),
    ];
    for case @ (engine, args, variable) in cases {
        let found = beside("1.4.2", engine, args, variable);
        let silent = found.flaws.iter().find(|flaw| flaw.id == "KVT003");

        assert_eq!(silent.map(|flaw| flaw.component.as_str()), Some("Other"), "{case:?}");
    }
}

#[test]
fn encoders_do_not_turn_workers_into_a_disaggregated_deployment() {
    let encode = "--model, m, --disaggregation-mode, encode";
    assert_eq!(shown(&beside("1.4.2", "vllm", encode, "")), []);
    // Router settings on an encoder are as lost as on any worker.
    let lost = beside("1.4.2", "vllm", encode, "DYN_ROUTER_REPLICA_SYNC=true");
    assert_eq!(lost.flaws.iter().map(|flaw| flaw.id).collect::<Vec<_>>(), ["KVT101"]);
}

#[test]
fn prefill_workers_of_one_model_excuse_no_silent_worker_of_another() {
    let found = |model: &str| {
        let linted = linted(&format!(
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: e}}\nspec:\n  services:\n    \
             Frontend:\n      componentType: frontend\n      envs:\n        - {{name: DYN_ROUTER_MODE, value: kv}}\n      \
             extraPodSpec: {{mainContainer: {{image: a/vllm-runtime:1.4.2}}}}\n    P:\n      componentType: worker\n      \
             subComponentType: prefill\n      extraPodSpec:\n        mainContainer:\n          image: \
             a/vllm-runtime:1.4.2\n          command: [python3, -m, dynamo.vllm]\n          args: [--model, m, \
             --block-size, \"64\", --disaggregation-mode, prefill{VLLM_EVENTS}]\n    D:\n      componentType: worker\n      \
             subComponentType: decode\n      extraPodSpec:\n        mainContainer:\n          image: \
             a/vllm-runtime:1.4.2\n          command: [python3, -m, dynamo.vllm]\n          args: [--model, m, \
             --block-size, \"64\", --disaggregation-mode, decode]\n    A:\n      componentType: worker\n      \
             extraPodSpec:\n        mainContainer:\n          image: a/vllm-runtime:1.4.2\n          command: \
             [python3, -m, dynamo.vllm]\n          args: [--model, {model}, --block-size, \"64\"]\n"
        ));
        let silent = linted.flaws.into_iter().filter(|flaw| flaw.id == "KVT003");
        silent.map(|flaw| flaw.component).collect::<Vec<_>>()
    };

    assert_eq!(found("other"), ["A"]);
    assert_eq!(found("m"), [""; 0], "beside prefill workers of its model it may only decode");
}
