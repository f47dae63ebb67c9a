//! Lines that go, and comments.

use kvtop::lint::lint;
use kvtop::report;

use super::{corrected, linted, shown};
use kvtop::lint::Source;

/// A deployment of vLLM with these variables on its frontend.
fn with_env(release: &str, variables: &[(&str, &str)]) -> String {
    let entry = |(name, value): &(&str, &str)| {
        format!("        - name: {name}\n          value: \"{value}\"\n")
    };
    let envs: String = variables.iter().map(entry).collect();
    format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: v}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n{envs}      extraPodSpec: {{mainContainer: {{image: \
         a/vllm-runtime:{release}}}}}\n    W:\n      componentType: worker\n      extraPodSpec:\n        \
         mainContainer:\n          image: a/vllm-runtime:{release}\n          command: [python3, -m, \
         dynamo.vllm]\n          args: [--model, m, --block-size, \"16\"]\n"
    )
}

#[test]
fn a_line_that_goes_is_said_to_go_and_a_comment_says_what_it_was_said_of() {
    let text = with_env("0.9.0", &[("DYN_ROUTER_MODE", "kv"), ("DYN_ROUTER_TEMPERATURE", "0.5")])
        .replace("\"0.5\"\n", "\"0.5\"  # Add some randomness\n")
        .replace("dynamo.vllm", "dynamo.sglang")
        .replace(
            "args: [--model, m, --block-size, \"16\"]",
            "args:\n            - --page-size=16\n            - --kv-events-config\n            - \
             '{\"publisher\":\"zmq\"}'\n            - --disable-radix-cache",
        );
    let found = linted(&text);

    let page = report::lint::text(&found);

    assert_eq!(shown(&found), [("KVT005", 11), ("KVT017", 24)], "{page}");
    assert!(page.contains("\n  quoted.yaml: delete line 24\n"), "{page}");
    assert!(!page.contains("line 24 becomes"), "{page}");
    assert!(page.contains("value: \"0.0\"  # was \"0.5\": Add some randomness\n"), "{page}");
    let sources = [Source { name: "quoted.yaml".into(), text }];
    assert_eq!(shown(&lint(&corrected(&sources, &found))), []);
}
