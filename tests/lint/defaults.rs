//! Block sizes that nobody wrote.

use super::{linted, shown};
use kvtop::lint::Verdicts;

const VLLM_EVENTS: &str =
    r#"--kv-events-config, '{"enable_kv_cache_events":true,"publisher":"zmq"}'"#;
const SGLANG_EVENTS: &str =
    r#"--kv-events-config, '{"publisher":"zmq","endpoint":"tcp://*:5557"}'"#;

/// A publishing worker W without a size, and `more` components beside a frontend that declares 64.
fn unsized_worker(release: &str, engine: &str, more: &str) -> Verdicts {
    let events = if engine == "vllm" { VLLM_EVENTS } else { SGLANG_EVENTS };
    let image = format!("{engine}-runtime");
    linted(&format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: d}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n        - {{name: DYN_ROUTER_MODE, value: kv}}\n        \
         - {{name: DYN_KV_CACHE_BLOCK_SIZE, value: \"64\"}}\n      extraPodSpec: {{mainContainer: {{image: \
         a/{image}:{release}}}}}\n    W:\n      componentType: worker\n      extraPodSpec:\n        \
         mainContainer:\n          image: a/{image}:{release}\n          command: [python3, -m, \
         dynamo.{engine}]\n          args: [--model, deepseek-ai/DeepSeek-R1, {events}]\n{more}"
    ))
}

fn worker(release: &str, engine: &str, size: &str) -> String {
    let events = if engine == "vllm" { VLLM_EVENTS } else { SGLANG_EVENTS };
    let image = format!("{engine}-runtime");
    format!(
        "    Sized:\n      componentType: worker\n      extraPodSpec:\n        mainContainer:\n          image: \
         a/{image}:{release}\n          command: [python3, -m, dynamo.{engine}]\n          args: [--model, \
         deepseek-ai/DeepSeek-R1, {size}, \"64\", {events}]\n"
    )
}

fn router(release: &str) -> String {
    let image = "vllm-runtime";
    format!(
        "    Router:\n      componentType: worker\n      extraPodSpec:\n        mainContainer:\n          image: \
         a/{image}:{release}\n          command: [python3, -m, dynamo.router]\n          args: \
         [--router-block-size, \"64\"]\n"
    )
}

fn unjudged(found: &Verdicts) -> Vec<(&str, &str)> {
    found.unjudged.iter().map(|it| (it.id, it.missing.as_str())).collect()
}

const UNSET: &str = "needs the block size of W (no given argument or configuration sets one, and its default depends \
                     on release and model)";

#[test]
fn a_size_that_the_engine_chooses_is_no_side_of_a_mismatch() {
    for (release, engine, size) in [
        ("1.1.1", "vllm", "--block-size"),
        ("1.4.2", "vllm", "--block-size"),
        ("1.4.2", "sglang", "--page-size"),
    ] {
        let routed = unsized_worker(release, engine, &router(release));
        assert!(routed.flaws.iter().all(|flaw| flaw.id == "KVT013"), "{routed:?}");
        assert!(unjudged(&routed).contains(&("KVT001", UNSET)), "{:?}", routed.unjudged);

        let beside = unsized_worker(release, engine, &worker(release, engine, size));
        assert_eq!(shown(&beside), [], "{beside:?}");
        assert!(unjudged(&beside).contains(&("KVT002", UNSET)), "{:?}", beside.unjudged);

        let alone = unsized_worker(release, engine, "");
        assert_eq!(shown(&alone), [], "{alone:?}");
        assert!(unjudged(&alone).iter().any(|(id, _)| *id == "KVT016"), "{:?}", alone.unjudged);
    }
}

#[test]
fn where_nobody_wrote_a_size_none_is_missed() {
    let text = super::sources("helm.yaml").remove(0);
    let found = kvtop::lint::lint(&[text]);
    assert!(found.unjudged.is_empty(), "{:?}", found.unjudged);
}

#[test]
fn the_size_that_dynamo_itself_sets_up_to_1_0_is_one() {
    for release in ["0.9.0", "1.0.2"] {
        let found = unsized_worker(release, "vllm", "");
        assert_eq!(
            found.flaws.iter().map(|flaw| flaw.id).collect::<Vec<_>>(),
            ["KVT016"],
            "{found:?}"
        );
        let found = unsized_worker(release, "vllm", &worker(release, "vllm", "--block-size"));
        assert!(found.flaws.iter().any(|flaw| flaw.id == "KVT002"), "{found:?}");
    }
}
