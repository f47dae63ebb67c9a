//! Where the manifest of a component holds its variables and its command, as JSON pointers.

use std::sync::Arc;

use serde_json::Value;

use super::{list, raw, string};
use crate::domain::{ManifestList, ManifestPart};

/// Longest list that is kept; what is longer is not changed by a printed command.
const ITEMS: usize = 256;

/// A service of v1alpha1: variables of its own, and of its container, which win.
pub(super) fn of_service(name: &str, service: &Value) -> ManifestPart {
    let name = name.replace('~', "~0").replace('/', "~1");
    let path = format!("/spec/services/{name}");
    let mut part = ManifestPart {
        place: None,
        variables: vec![variables(format!("{path}/envs"), &service["envs"])],
        words: Vec::new(),
    };
    let container = &service["extraPodSpec"]["mainContainer"];
    if container.is_object() {
        let path = format!("{path}/extraPodSpec/mainContainer");
        part.variables.push(variables(format!("{path}/env"), &container["env"]));
        part.words = words(&path, container);
    }
    part
}

/// A component of v1beta1: the variables of its main container. One without a container is left alone.
pub(super) fn of_component(place: usize, component: &Value) -> ManifestPart {
    let containers = &component["podTemplate"]["spec"]["containers"];
    let main = list(containers).position(|container| container["name"] == "main");
    let Some(main) = main else {
        return ManifestPart { place: Some(place), ..ManifestPart::default() };
    };
    let container = &containers[main];
    let path = format!("/spec/components/{place}/podTemplate/spec/containers/{main}");
    ManifestPart {
        place: Some(place),
        variables: vec![variables(format!("{path}/env"), &container["env"])],
        words: words(&path, container),
    }
}

fn variables(path: String, entries: &Value) -> ManifestList {
    kept(path, entries, |entry| string(entry, "name"))
}

/// Words of a process that no shell takes apart: command and arguments.
fn words(path: &str, container: &Value) -> Vec<ManifestList> {
    let shells = ["sh", "bash", "/bin/sh", "/bin/bash", "-c"];
    let shell = |word: &Value| word.as_str().is_some_and(|word| shells.contains(&word));
    if list(&container["command"]).any(shell) {
        return Vec::new();
    }
    let of = |key: &str| kept(format!("{path}/{key}"), &container[key], Value::as_str);
    vec![of("command"), of("args")]
}

fn kept(path: String, entries: &Value, read: impl Fn(&Value) -> Option<&str>) -> ManifestList {
    let items = entries.as_array().filter(|items| items.len() <= ITEMS);
    // An item of another form keeps its place.
    let item = |item: &Value| -> Arc<str> { raw(read(item).unwrap_or_default()) };
    ManifestList {
        path: path.into(),
        items: items.map(|items| items.iter().map(item).collect()),
        present: !entries.is_null(),
    }
}
