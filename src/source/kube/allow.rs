//! Selects the labels and annotations that enter a frame: those of NVIDIA's operators and of Kubernetes itself,
//! whose values are names and sizes. Variables and arguments: `wire::kept_of_processes`.

use serde_json::{Map, Value};

use crate::dynamo::label;

/// The longest value that is taken for a name.
const LONGEST_NAME: usize = 200;

/// The owners of the labels that are kept.
const DOMAINS: [&str; 5] = [label::PREFIX, "grove.io/", "kubernetes.io/", "k8s.io/", "helm.sh/"];

/// Keeps of annotations those of Dynamo's operator that decoders know.
pub(super) fn annotations(annotations: Value) -> Value {
    only(annotations, |key| label::ALL.iter().any(|(_, name, _)| *name == key))
}

/// Keeps of labels those that Kubernetes and its operators define.
pub(super) fn labels(labels: Value) -> Value {
    only(labels, |key| DOMAINS.iter().any(|domain| key.contains(domain)))
}

fn only(texts: Value, keeps: impl Fn(&str) -> bool) -> Value {
    let Value::Object(map) = texts else { return texts };
    let is_name = |value: &Value| {
        value.as_str().is_none_or(|text| text.len() <= LONGEST_NAME && !text.contains(' '))
    };
    let kept: Map<String, Value> =
        map.into_iter().filter(|(key, value)| keeps(key) && is_name(value)).collect();
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_and_annotations_of_operators_stay() {
        let given = json!({
            "nvidia.com/enable-grove": "true",
            "nvidia.com/kv-block-size": "32",
            "nvidia.com/note": "what a user wrote here",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "team": "a",
        });
        assert_eq!(annotations(given.clone()), json!({ "nvidia.com/enable-grove": "true" }));
        let kept = labels(given);
        assert!(kept.get("team").is_none() && kept.get("nvidia.com/kv-block-size").is_some());
    }
}
