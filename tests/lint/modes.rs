//! Frontends that were told to route in another way, and have settings of KV-aware routing.

use super::{corrected, linted, shown};
use kvtop::domain::Severity;
use kvtop::lint::{Source, lint};

/// A silent worker of vLLM 1.4 behind a frontend with these arguments and variables.
fn manifest(args: &str, variables: &[(&str, &str)]) -> String {
    let entry = |(name, value): &(&str, &str)| {
        format!("        - name: {name}\n          value: \"{value}\"\n")
    };
    let envs: String = variables.iter().map(entry).collect();
    format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: m}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n        - name: A\n          value: b\n{envs}      \
         extraPodSpec:\n        mainContainer:\n          image: a/vllm-runtime:1.4.2\n          command: \
         [python3, -m, dynamo.frontend]\n          args: [{args}]\n    W:\n      componentType: worker\n      \
         extraPodSpec:\n        mainContainer:\n          image: a/vllm-runtime:1.4.2\n          command: \
         [python3, -m, dynamo.vllm]\n          args: [--model, m, --block-size, \"32\", \
         --no-enable-prefix-caching]\n"
    )
}

#[test]
fn a_frontend_that_was_told_to_route_in_another_way_needs_no_kv_events() {
    let size = ("DYN_KV_CACHE_BLOCK_SIZE", "64");
    let cases = [
        manifest("--router-mode, round-robin, --kv-cache-block-size, \"64\"", &[]),
        manifest("--router-mode, random", &[size]),
        manifest("", &[("DYN_ROUTER_MODE", "round-robin"), size]),
        manifest(
            "",
            &[("DYN_ROUTER_MODE", "least-loaded"), ("DYN_ROUTER_TEMPERATURE", "0.5"), size],
        ),
    ];
    for text in cases {
        let found = linted(&text);
        let ids: Vec<_> = found.flaws.iter().map(|flaw| (flaw.id, flaw.severity)).collect();
        assert!(ids.iter().all(|it| *it == ("KVT005", Severity::Warning)), "{text}: {ids:?}");
        assert!(!ids.is_empty(), "{text}");

        // With the mode that KVT005 offers, everything that such routing needs is asked for.
        let sources = [Source { name: "quoted.yaml".into(), text }];
        let routed = lint(&corrected(&sources, &found));
        assert!(routed.flaws.iter().any(|flaw| flaw.id == "KVT003"), "{routed:?}");
    }
}

#[test]
fn settings_of_kv_routing_without_a_mode_still_ask_for_it() {
    let found = linted(&manifest("--kv-cache-block-size, \"64\"", &[]));
    let ids: Vec<_> = found.flaws.iter().map(|flaw| flaw.id).collect();
    assert!(ids.contains(&"KVT003") && ids.contains(&"KVT005"), "{ids:?}");

    let silent = linted(&manifest("--router-mode, round-robin", &[]));
    assert_eq!(shown(&silent), []);
}
