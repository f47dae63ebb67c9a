//! Corrected lines of manifests as people write them.

use super::{corrected, shown};
use kvtop::lint::{Source, lint};

/// A deployment whose frontend has its variables in a list of `dash`ed entries in braces.
fn with_dashes(dash: &str) -> String {
    format!(
        "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {{name: w}}\nspec:\n  components:\n  - \
         name: Frontend\n    type: frontend\n    podTemplate:\n      spec:\n        containers:\n        - name: \
         main\n          image: a/vllm-runtime:1.4.2\n          env:\n{dash}- {{name: DYN_ROUTER_MODE, value: \
         kv}}\n{dash}- {{name: A,    value: b}}\n  - name: W\n    type: worker\n    podTemplate:\n      spec:\n        \
         containers:\n        - name: main\n          image: a/vllm-runtime:1.4.2\n          command: [python3, -m, \
         dynamo.vllm]\n          args: [--model, m, --block-size, \"64\", --kv-events-config, \
         '{{\"enable_kv_cache_events\":true}}']\n"
    )
}

#[test]
fn a_list_of_entries_in_braces_is_corrected_with_its_dashes_indented_or_not() {
    for dash in ["          ", "            "] {
        let sources = [Source { name: "flow.yaml".into(), text: with_dashes(dash) }];
        let found = lint(&sources);
        assert_eq!(found.flaws.iter().map(|flaw| flaw.id).collect::<Vec<_>>(), ["KVT016"]);
        assert_eq!(found.flaws[0].edits.len(), 1, "{dash:?}: {found:?}");
        let mended = lint(&corrected(&sources, &found));
        assert_eq!(shown(&mended), [], "{mended:?}");
    }
}
