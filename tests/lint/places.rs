//! Findings name the parts and the lines that they are about.

use super::{corrected, linted, shown};
use kvtop::lint::{Source, lint};

const HEAD: &str = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: v}\nspec:\n  services:\n    \
                    Frontend:\n      componentType: frontend\n      envs:\n        - {name: DYN_ROUTER_MODE, value: kv}\n        - \
                    {name: DYN_KV_CACHE_BLOCK_SIZE, value: \"64\"}\n      extraPodSpec: {mainContainer: {image: \
                    a/tensorrtllm-runtime:1.0.0}}\n";

/// A worker of TensorRT-LLM, as a service.
fn worker(name: &str, more: &str, args: &str) -> String {
    format!(
        "    {name}:\n      componentType: worker\n{more}      extraPodSpec:\n        volumes: [{{name: e, configMap: {{name: \
         engine}}}}]\n        mainContainer:\n          image: a/tensorrtllm-runtime:1.0.0\n          volumeMounts: [{{name: \
         e, mountPath: /e}}]\n          args: [-m, dynamo.trtllm, --publish-events-and-metrics, {args}]\n"
    )
}

/// A `ConfigMap` with this configuration, before a deployment that reads it.
fn configured(config: &str) -> String {
    let lines = config.trim_end().replace('\n', "\n    ");
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: engine}}\ndata:\n  a.yaml: |\n    {lines}\n---\n"
    );
    format!("{map}{HEAD}{}", worker("A", "", "--extra-engine-args, /e/a.yaml"))
}

#[test]
fn a_key_is_found_where_it_counts_not_in_a_comment_or_another_map() {
    let text = configured(
        "# tokens_per_block: 32\nother:\n  tokens_per_block: 8\nkv_cache_config:\n  tokens_per_block: 64\n",
    );
    let found = linted(&text);
    let flaw = found.flaws.iter().find(|flaw| flaw.id == "KVT001").unwrap();
    assert_eq!((flaw.spots[0].line, flaw.spots[0].column), (10, 25), "{flaw:?}");
}

#[test]
fn a_setting_in_a_comment_of_a_script_is_not_corrected() {
    let script = "          command: [sh, -c]\n          args:\n            - |\n              # once: --kv-block-size 16\n              \
                  python3 -m dynamo.trtllm --publish-events-and-metrics --kv-block-size 32 \\\n                \
                  --override-engine-args '{\"kv_cache_config\": {\"tokens_per_block\": 64}}'\n              \
                  # --kv-block-size 128\n";
    let whole = worker("A", "", "");
    let args = whole.find("          args:").unwrap();
    let sources =
        [Source { name: "quoted.yaml".into(), text: format!("{HEAD}{}{script}", &whole[..args]) }];
    let found = lint(&sources);
    assert_eq!(shown(&found).first().map(|(id, _)| *id), Some("KVT001"), "{found:?}");
    let again = corrected(&sources, &found);
    assert_eq!(shown(&lint(&again)), []);
    assert!(again[0].text.contains("# once: --kv-block-size 16\n"), "{}", again[0].text);
    assert!(again[0].text.contains("# --kv-block-size 128\n"), "{}", again[0].text);
}

#[test]
fn an_engine_configuration_that_cannot_be_read_is_named_and_judged_as_unknown() {
    let found = linted(&configured("kv_cache_config:\n  tokens_per_block: [64\n"));

    let unreadable = &found.unreadable[0].1;
    assert_eq!(unreadable.line, 7, "{found:?}");
    assert!(unreadable.why.starts_with("the engine configuration of A is no YAML: "), "{found:?}");
    let open: Vec<_> = found.unjudged.iter().map(|it| (it.id, it.missing.as_str())).collect();
    assert_eq!(open, [("KVT001", "needs /e/a.yaml, the engine configuration of A")]);
}

#[test]
fn each_of_several_faulty_parts_is_told_its_own_fix() {
    let engine = |size: u32| {
        let json = format!("{{\"kv_cache_config\":{{\"tokens_per_block\":{size}}}}}");
        format!("--override-engine-args, '{json}', --served-model-name, m{size}")
    };
    let text = format!("{HEAD}{}{}", worker("A", "", &engine(64)), worker("B", "", &engine(128)));
    let found = linted(&text);
    let flaw = found.flaws.iter().find(|flaw| flaw.id == "KVT001").unwrap();

    assert_eq!(flaw.component, "A");
    let fix = "A: Publish the engine's block size, 64, or configure the engine with 32. \
               B: Publish the engine's block size, 128, or configure the engine with 32. \
               Setting DYN_KV_CACHE_BLOCK_SIZE on the frontend will not fix this.";
    assert_eq!(flaw.fix, fix);
}

/// A deployment of vLLM in which these services are workers of these sizes.
fn vllm(workers: &[(&str, &str, u32)]) -> String {
    let one = |(name, more, size): &(&str, &str, u32)| {
        format!(
            "    {name}:\n      componentType: worker\n{more}      extraPodSpec:\n        mainContainer:\n          image: \
             a/vllm-runtime:0.9.0\n          args: [-m, dynamo.vllm, --block-size, \"{size}\"]\n"
        )
    };
    format!("{HEAD}{}", workers.iter().map(one).collect::<String>())
        .replace("tensorrtllm-runtime:1.0.0", "vllm-runtime:0.9.0")
}

#[test]
fn the_size_of_most_workers_is_that_of_most_replicas() {
    let found = linted(&vllm(&[("A", "      replicas: 7\n", 64), ("B", "", 32), ("C", "", 32)]));
    let flaw = found.flaws.iter().find(|flaw| flaw.id == "KVT002").unwrap();

    assert_eq!(
        flaw.fix,
        "Configure B and C with a block size of 64, like the other workers of their model."
    );
    assert_eq!(flaw.component, "B");
}

#[test]
fn workers_that_only_decode_are_not_told_to_enable_prefix_caching() {
    let off = "--no-enable-prefix-caching, --block-size";
    let decode = "      subComponentType: decode\n";
    let text = vllm(&[("P", "      subComponentType: prefill\n", 64), ("D", decode, 64)])
        .replace("--block-size", off);
    let found = linted(&text);
    let flaw = found.flaws.iter().find(|flaw| flaw.id == "KVT017").unwrap();

    assert_eq!((flaw.component.as_str(), flaw.spots.len(), flaw.edits.len()), ("P", 1, 1));
}

#[test]
fn credit_and_weight_keep_their_names_and_each_part_its_version() {
    let text = vllm(&[("A", "", 64)])
        .replacen("a/vllm-runtime:0.9.0", "a/vllm-runtime:1.6.1", 1)
        .replace(
            "value: \"64\"}\n      extra",
            "value: \"64\"}\n        - {name: DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT, value: \"0\"}\n      extra",
        );
    let found = linted(&text);
    let flaw = found.flaws.iter().find(|flaw| flaw.id == "KVT005").unwrap();

    assert_eq!(
        flaw.summary,
        "The router is configured to ignore cached blocks: the overlap credit is 0."
    );
    assert_eq!(flaw.fix, "Set the overlap credit to its default, 1.");
    assert_eq!(flaw.dynamo.as_deref(), Some("1.6"));
}
