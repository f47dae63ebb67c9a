//! Workers without KV blocks: encoders, and workers for embeddings and images.

use super::{linted, shown};
use kvtop::lint::Verdicts;

const VLLM_EVENTS: &str =
    r#", --kv-events-config, '{"enable_kv_cache_events":true,"publisher":"zmq"}'"#;
const SGLANG_EVENTS: &str =
    r#", --kv-events-config, '{"publisher":"zmq","endpoint":"tcp://*:5557"}'"#;

/// Two good workers of an engine, and four of the component under test.
fn beside(release: &str, engine: &str, args: &str, variable: &str) -> Verdicts {
    let (engine, module) = (engine.split('.').next().unwrap_or(engine), engine);
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
         [python3, -m, dynamo.{module}]\n          args: [{args}]\n{environment}"
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
        ("1.2.1", "vllm", "--model, m, --block-size, \"64\"", "DYN_VLLM_IS_DECODE_WORKER=true"),
        ("1.2.1", "vllm", "--model, m, --block-size, \"64\", --multimodal-decode-worker", ""),
        ("1.6.1", "vllm", "--model, m, --headless", ""),
        ("1.2.1", "vllm", "--model, m", "DYN_VLLM_HEADLESS=true"),
        ("1.6.1", "vllm.omni", "--model, m", ""),
        ("1.6.1", "sglang", "--model-path, m, --rerank-worker", ""),
        ("0.9.0", "sglang", "--model-path, m, --multimodal-processor", ""),
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

/// Two workers of an engine with these arguments.
fn pair(release: &str, engine: &str, workers: [&str; 2]) -> Verdicts {
    let image = if engine == "trtllm" { "tensorrtllm" } else { engine };
    let [first, second] = workers.map(|args| {
        format!(
            "      componentType: worker\n      extraPodSpec:\n        mainContainer:\n          image: \
             a/{image}-runtime:{release}\n          command: [python3, -m, dynamo.{engine}]\n          args: [{args}]\n"
        )
    });
    linted(&format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: p}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs: [{{name: DYN_ROUTER_MODE, value: kv}}]\n      \
         extraPodSpec: {{mainContainer: {{image: a/{image}-runtime:{release}}}}}\n    A:\n{first}    B:\n{second}"
    ))
}

#[test]
fn workers_of_two_models_may_differ_whatever_names_the_model() {
    for (release, engine, size, events) in [
        ("1.2.1", "trtllm", "--kv-block-size", "--publish-events-and-metrics"),
        (
            "0.9.0",
            "sglang",
            "--page-size",
            "--kv-events-config, '{\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:1\"}'",
        ),
    ] {
        let worker = |model: &str, size_of: &str| {
            let more = if engine == "trtllm" {
                format!(", --trtllm.kv_cache_config.tokens_per_block, \"{size_of}\"")
            } else {
                String::new()
            };
            format!("--model, {model}, {size}, \"{size_of}\"{more}, {events}")
        };
        let apart = pair(release, engine, [&worker("m", "32"), &worker("n", "64")]);
        let same = pair(release, engine, [&worker("m", "32"), &worker("m", "64")]);

        let disagree = |it: &Verdicts| it.flaws.iter().any(|flaw| flaw.id == "KVT002");
        assert!(!disagree(&apart) && disagree(&same), "{engine}: {:?}", shown(&apart));
    }
}

#[test]
fn settings_in_a_section_of_a_file_are_not_judged() {
    let file = "--model, m, --disagg-config, /c/s.yaml, --disagg-config-key, prefill";
    let found = pair("1.2.1", "sglang", [file, file]);

    assert!(found.flaws.is_empty(), "{:?}", shown(&found));
}

#[test]
fn an_endpoint_that_sglang_does_not_bind_is_silence() {
    let at = |host: &str| {
        let config = format!(r#"{{"publisher":"zmq","endpoint":"tcp://{host}:5557"}}"#);
        let args = format!("--model-path, m, --page-size, \"16\", --kv-events-config, '{config}'");
        pair("1.6.1", "sglang", [&args, &args])
    };
    let silent = |it: &Verdicts| it.flaws.iter().any(|flaw| flaw.id == "KVT003");

    assert!(silent(&at("0.0.0.0")) && !silent(&at("*")));
}
