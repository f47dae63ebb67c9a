//! Patches (RFC 6902): each tests what it is about to change first.
//!
//! Custom resources know no strategic merge, and a plain merge replaces a list by the patch's: it would
//! drop every variable that is there, and in v1beta1 every other component. A JSON patch names the one
//! item, and fails without harm when the object is another one by then.

use crate::dynamo::label;
use serde::Serialize;
use serde_json::Value;

use super::shell::{self, Kubectl};
use crate::domain::{Graph, ManifestList};

/// One operation of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Operation {
    /// Fails unless the value is there.
    Test { path: String, value: Value },
    /// Puts a value in the place of another.
    Replace { path: String, value: Value },
    /// Adds a value to a map, or with `-` to the end of a list.
    Add { path: String, value: Value },
    /// Takes a value away.
    Remove { path: String },
}

impl Operation {
    pub(super) fn test(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Test { path: path.into(), value: value.into() }
    }

    pub(super) fn replace(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Replace { path: path.into(), value: value.into() }
    }

    pub(super) fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Add { path: path.into(), value: value.into() }
    }
}

/// Returns a key as a part of a JSON pointer (RFC 6901).
pub(super) fn pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Appends `items` to a list, or makes it where there is none.
pub(super) fn appended(list: &ManifestList, items: Vec<Value>, guarded: bool) -> Vec<Operation> {
    let path = list.path.as_ref();
    if list.present {
        let end = format!("{path}/-");
        return items.into_iter().map(|item| Operation::add(end.clone(), item)).collect();
    }
    let make = Operation::add(path, items);
    // A list that came since then must not be replaced. The API server takes null for absent.
    let absent = Operation::test(path, Value::Null);
    if guarded { vec![make] } else { vec![absent, make] }
}

/// Returns the command that applies `operations` to a graph deployment.
pub(super) fn graph_command(
    kubectl: &Kubectl,
    graph: &Graph,
    operations: &[Operation],
) -> Option<String> {
    let version = graph.api?.version();
    let kind = format!("{}.{version}.{}", label::GRAPHS, label::GROUP);
    // Whoever changed the object since then moved what the patch points at.
    let generation = graph.generation.map(|it| Operation::test("/metadata/generation", it));
    let all: Vec<&Operation> = generation.iter().chain(operations).collect();
    command(kubectl, &kind, &graph.name, &all)
}

/// Returns the command that applies `operations` to a `ConfigMap`.
pub(super) fn config_map_command(
    kubectl: &Kubectl,
    name: &str,
    operations: &[Operation],
) -> Option<String> {
    command(kubectl, "configmap", name, &operations.iter().collect::<Vec<_>>())
}

fn command(kubectl: &Kubectl, kind: &str, name: &str, operations: &[&Operation]) -> Option<String> {
    if !shell::is_name(name) {
        return None;
    }
    let patch = serde_json::to_string(operations).ok()?;
    let patch = shell::word(&patch);
    Some(format!("{kubectl} patch {kind} {name} --type=json -p {patch}"))
}
