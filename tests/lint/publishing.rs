//! Settings that decide whether events are published and followed, as each release reads them.

use super::linted;
use kvtop::lint::Verdicts;

/// A deployment with these arguments and variables of the worker, and variables of the frontend.
fn manifest(image: &str, worker: (&str, &[(&str, &str)]), frontend: &[(&str, &str)]) -> Verdicts {
    let list = |variables: &[(&str, &str)]| -> String {
        let entry = |(name, value): &(&str, &str)| {
            format!("        - name: {name}\n          value: \"{value}\"\n")
        };
        variables.iter().map(entry).collect()
    };
    let (args, variables) = worker;
    let engine = if image.contains("vllm") { "vllm" } else { "trtllm" };
    linted(&format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: p}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n        - name: DYN_ROUTER_MODE\n          value: \
         kv\n{}      extraPodSpec: {{mainContainer: {{image: {image}}}}}\n    W:\n      componentType: worker\n      \
         envs:\n        - name: A\n          value: b\n{}      extraPodSpec:\n        mainContainer:\n          \
         image: {image}\n          command: [python3, -m, dynamo.{engine}]\n          args: [{args}]\n",
        list(frontend),
        list(variables),
    ))
}

fn has(found: &Verdicts, id: &str) -> bool {
    found.flaws.iter().any(|flaw| flaw.id == id)
}

#[test]
fn the_publisher_that_sends_nothing_is_silence() {
    let config = |publisher: &str| {
        let json = format!(r#"{{"enable_kv_cache_events":true{publisher}}}"#);
        manifest(
            "a/vllm-runtime:1.4.2",
            (&format!("--model, m, --kv-events-config, '{json}'"), &[]),
            &[],
        )
    };
    assert!(has(&config(r#","publisher":"null""#), "KVT003"));
    assert!(!has(&config(r#","publisher":"zmq""#), "KVT003"));
    assert!(!has(&config(""), "KVT003"));
}

#[test]
fn the_variable_of_1_3_switches_nothing_on_before() {
    let of = |release: &str, name: &str| {
        let image = format!("a/tensorrtllm-runtime:{release}");
        has(&manifest(&image, ("--model-path, m", &[(name, "true")]), &[]), "KVT003")
    };
    for release in ["1.0.2", "1.2.1"] {
        assert!(of(release, "DYN_TRTLLM_PUBLISH_KV_EVENTS"), "{release}");
        assert!(!of(release, "DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS"), "{release}");
    }
    for name in ["DYN_TRTLLM_PUBLISH_KV_EVENTS", "DYN_TRTLLM_PUBLISH_EVENTS_AND_METRICS"] {
        assert!(!of("1.4.2", name), "{name}");
    }
}

#[test]
fn a_switch_is_read_as_its_release_reads_it() {
    let follows = |release: &str, name: &str, value: &str| {
        let image = format!("a/vllm-runtime:{release}");
        !has(&manifest(&image, ("--model, m", &[]), &[(name, value)]), "KVT006")
    };
    for value in ["1", "yes", "on", "", "false"] {
        assert!(!follows("0.9.0", "DYN_KV_EVENTS", value), "{value}");
    }
    assert!(follows("0.9.0", "DYN_KV_EVENTS", "True"));
    for value in ["true", "1", "yes", "On"] {
        assert!(follows("1.0.2", "DYN_ROUTER_USE_KV_EVENTS", value), "{value}");
    }
    for value in ["", "0", "no"] {
        assert!(!follows("1.0.2", "DYN_ROUTER_USE_KV_EVENTS", value), "{value}");
    }
}
