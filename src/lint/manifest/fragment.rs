//! Pieces of a graph deployment, as documents quote them: without the object around.

use serde_json::{Value, json};

use super::parts::{graph_parts, loose};
use super::{Object, Part};
use crate::lint::document::{Kind, Node};

/// Keys that only a service of a graph deployment has; Compose files have `services` too.
const OF_SERVICE: [&str; 5] =
    ["componentType", "subComponentType", "extraPodSpec", "dynamoNamespace", "envs"];

/// Keys of a service of a Compose file.
const OF_OTHERS: [&str; 3] = ["image", "build", "container_name"];

/// The part of a graph deployment that a document without a kind contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fragment {
    /// The spec, or keys of it: `services`, `components`.
    Spec,
    /// Services by name.
    Services,
}

impl Fragment {
    /// Returns the only possible part; none if `root` may be something else.
    pub(super) fn new(root: &Node) -> Option<Self> {
        if root.get("kind").is_some() || root.get("apiVersion").is_some() {
            return None;
        }
        let services = root.get("services").is_some_and(are_services);
        let components = root.get("components").is_some_and(are_components);
        if services || components {
            return Some(Self::Spec);
        }
        // By `envs` alone a map of anything might pass for one of services.
        let told = |key: &str| root.entries().iter().any(|(_, node)| node.get(key).is_some());
        let named = told("componentType") || told("extraPodSpec");
        (named && are_services(root)).then_some(Self::Services)
    }

    /// Returns the enclosing object and its parts.
    pub(super) fn whole<'a>(self, object: &Object<'a>) -> (&'static str, Value, Vec<Part<'a>>) {
        let (mut spec, parts) = match self {
            Self::Spec => (object.node.json(), graph_parts(object, Some(object.node))),
            Self::Services => (json!({"services": object.node.json()}), loose(object)),
        };
        // Quotes leave the type out where the name says it.
        let services = spec.get_mut("services").and_then(Value::as_object_mut);
        for (name, service) in services.into_iter().flatten() {
            let untyped = service.get("componentType").is_none() && service.is_object();
            if untyped && name.eq_ignore_ascii_case("frontend") {
                service["componentType"] = "frontend".into();
            }
        }
        let value = json!({"metadata": {"name": object.name}, "spec": spec});
        ("DynamoGraphDeployment", value, parts)
    }
}

/// Returns true for a map of which every entry that holds anything looks like a service.
fn are_services(node: &Node) -> bool {
    let held = node.entries().iter().filter(|(_, inner)| !matches!(inner.value, Kind::Null));
    let mut held = held.map(|(_, inner)| inner).peekable();
    let has = |inner: &Node, keys: &[&str]| keys.iter().any(|key| inner.get(key).is_some());
    held.peek().is_some() && held.all(|inner| has(inner, &OF_SERVICE) && !has(inner, &OF_OTHERS))
}

/// Returns true for a list whose every item looks like a component.
fn are_components(node: &Node) -> bool {
    let looks = |item: &Node| {
        item.string("name").is_some()
            && (item.get("podTemplate").is_some() || item.get("componentType").is_some())
    };
    !node.items().is_empty() && node.items().iter().all(looks)
}
