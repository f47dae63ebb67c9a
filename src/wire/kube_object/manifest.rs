//! Finds the variables and the command in the manifest of a component, as JSON pointers.

use std::sync::Arc;

use serde_json::Value;

use super::{image, list, string};
use crate::domain::{ManifestList, ManifestPart};
use crate::dynamo::{settings, variable};

/// Longest list that is kept; what is longer is not changed by a printed command.
const ITEMS: usize = 256;

/// Longest word or value that is kept whole, in bytes; of longer ones one byte more, which no command changes.
const LONGEST: usize = 2048;

/// A service of v1alpha1: variables of its own, and of its container.
pub(super) fn of_service(name: &str, service: &Value) -> ManifestPart {
    let name = name.replace('~', "~0").replace('/', "~1");
    let path = format!("/spec/services/{name}");
    let mut part = ManifestPart {
        variables: vec![variables(format!("{path}/envs"), &service["envs"])],
        ..ManifestPart::default()
    };
    let container = &service["extraPodSpec"]["mainContainer"];
    if container.is_object() {
        let path = format!("{path}/extraPodSpec/mainContainer");
        part.variables.push(variables(format!("{path}/env"), &container["env"]));
        part.first_wins = image::services_win(string(container, "image").unwrap_or_default());
        part.words = words(&path, container);
        part.scripted = scripted(container);
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
        scripted: scripted(container),
        ..ManifestPart::default()
    }
}

/// The main container of a pod, of whose words only those are kept that fixes compare.
pub(super) fn of_pod(container: &Value) -> ManifestPart {
    let path = "/spec/containers/0";
    let mut words = words(path, container);
    for items in words.iter_mut().filter_map(|list| list.items.as_mut()) {
        let mut follows = false;
        for word in items.iter_mut() {
            let flag =
                settings::CHANGED_BY_FIXES.contains(&word.split('=').next().unwrap_or_default());
            if !flag && !follows {
                *word = "".into();
            }
            follows = flag && !word.contains('=');
        }
    }
    ManifestPart {
        variables: vec![variables(format!("{path}/env"), &container["env"])],
        words,
        scripted: scripted(container),
        ..ManifestPart::default()
    }
}

/// Returns the flags, among those that fixes change, that a shell's script names.
fn scripted(container: &Value) -> Vec<Arc<str>> {
    let items = ["command", "args"].into_iter().flat_map(|key| list(&container[key]));
    let scripts = items.filter_map(Value::as_str).filter(|word| word.contains(char::is_whitespace));
    let parts = |letter: char| letter.is_whitespace() || "'\"=;&|()".contains(letter);
    let mut flags: Vec<Arc<str>> = Vec::new();
    for word in scripts.flat_map(|script| script.split(parts)) {
        let known = settings::CHANGED_BY_FIXES.iter().find(|flag| **flag == word);
        if let Some(flag) = known.filter(|flag| !flags.iter().any(|known| **known == ***flag)) {
            flags.push((*flag).into());
        }
    }
    flags
}

fn variables(path: String, entries: &Value) -> ManifestList {
    let mut list = kept(path, entries, |entry| string(entry, "name"));
    if list.items.is_some() {
        let value = |entry: &Value| match &entry["valueFrom"] {
            Value::Null
                if string(entry, "name").is_some_and(|it| it.starts_with(variable::PREFIX)) =>
            {
                Some(shortened(string(entry, "value").unwrap_or_default()))
            }
            _ => None,
        };
        list.values = super::list(entries).map(value).collect();
    }
    list
}

/// Words of a process: command and arguments. Where a shell runs a script, those that the script passes on
/// with `"$@"`: what stands in the script itself is not a list of words.
fn words(path: &str, container: &Value) -> Vec<ManifestList> {
    let shells = ["sh", "bash", "/bin/sh", "/bin/bash", "-c"];
    let shell = |word: &Value| word.as_str().is_some_and(|word| shells.contains(&word));
    let of = |key: &str| kept(format!("{path}/{key}"), &container[key], Value::as_str);
    if list(&container["command"]).any(shell) {
        let passes = |word: &Value| word.as_str().is_some_and(|word| word.contains("\"$@\""));
        let script = list(&container["command"]).any(passes);
        let own = list(&container["args"]).any(|word| passes(word) || shell(word));
        return if script && !own { vec![of("args")] } else { Vec::new() };
    }
    vec![of("command"), of("args")]
}

/// Returns `text`, or so much of it that it is known to be cut.
fn shortened(text: &str) -> Arc<str> {
    let end = (0..=text.len().min(LONGEST + 1)).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].into()
}

fn kept(path: String, entries: &Value, read: impl Fn(&Value) -> Option<&str>) -> ManifestList {
    let items = entries.as_array().filter(|items| items.len() <= ITEMS);
    // An item of another form keeps its place.
    let item = |item: &Value| -> Arc<str> { shortened(read(item).unwrap_or_default()) };
    ManifestList {
        path: path.into(),
        items: items.map(|items| items.iter().map(item).collect()),
        values: Vec::new(),
        present: !entries.is_null(),
    }
}
