//! The objects that the API has shown so far, to find the changes made while no watch was open.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use serde_json::Value;

use crate::dynamo::{label, variable};
use crate::frame::KubeChange;

/// The objects of one watch, by name, as they went into frames.
#[derive(Debug, Default)]
pub(super) struct Known {
    objects: BTreeMap<String, Object>,
    /// True once they were listed.
    listed: bool,
}

#[derive(Debug)]
struct Object {
    uid: String,
    body: Bytes,
    dynamo: bool,
}

/// A change and the object it is about.
pub(super) type Told = (KubeChange, Bytes);

impl Known {
    /// Takes an object that is there, and returns what is new about it.
    pub(super) fn put(&mut self, object: &Value) -> Vec<Told> {
        let name = name(object);
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        // Without the room that a text grows by: the object is kept for as long as it is watched.
        let body = Bytes::from(object.to_string().into_boxed_str().into_boxed_bytes());
        let new = Object { uid, body: body.clone(), dynamo: is_dynamos(object) };
        let mut told = Vec::new();
        match self.objects.get(&name) {
            // Its status may change in ways that are trimmed.
            Some(old) if old.body == new.body => return told,
            // Another object of the same name: the first one went unseen.
            Some(old) if old.uid != new.uid => {
                told.push((KubeChange::Deleted, old.body.clone()));
                told.push((KubeChange::Added, body));
            }
            Some(_) => told.push((KubeChange::Modified, body)),
            None if self.listed => told.push((KubeChange::Added, body)),
            None => told.push((KubeChange::Listed, body)),
        }
        self.objects.insert(name, new);
        told
    }

    /// Forgets an object that is gone, and returns its last state if it was there.
    pub(super) fn remove(&mut self, object: &Value) -> Option<Told> {
        self.objects.remove(&name(object))?;
        Some((KubeChange::Deleted, object.to_string().into()))
    }

    /// Takes the complete list of objects, and returns what is new, what vanished first.
    pub(super) fn replace(&mut self, objects: &[Value]) -> Vec<Told> {
        let names: HashSet<String> = objects.iter().map(name).collect();
        let mut told = Vec::new();
        self.objects.retain(|name, object| {
            let stays = names.contains(name.as_str());
            if !stays {
                told.push((KubeChange::Deleted, object.body.clone()));
            }
            stays
        });
        for object in objects {
            told.extend(self.put(object));
        }
        self.listed = true;
        told
    }

    /// Returns true when one of the objects is part of a Dynamo deployment.
    pub(super) fn has_dynamo(&self) -> bool {
        self.objects.values().any(|object| object.dynamo)
    }
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// Returns true for what the operator made, and for pods that run a Dynamo component without it.
fn is_dynamos(object: &Value) -> bool {
    let labelled = object["metadata"]["labels"]
        .as_object()
        .is_some_and(|labels| labels.keys().any(|key| key.starts_with(label::DYNAMO_PREFIX)));
    let kind = object["kind"].as_str().unwrap_or_default();
    labelled || kind.starts_with("Dynamo") || runs_dynamo(object)
}

fn runs_dynamo(pod: &Value) -> bool {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    containers.into_iter().any(|container| {
        let words = ["command", "args"].into_iter().filter_map(|key| container[key].as_array());
        let runs = words.flatten().filter_map(Value::as_str).any(|word| word.contains("dynamo."));
        let mut env = container["env"].as_array().into_iter().flatten();
        runs || env
            .any(|it| it["name"].as_str().is_some_and(|name| name.starts_with(variable::PREFIX)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, uid: &str, phase: &str) -> Value {
        json!({ "kind": "Pod", "metadata": { "name": name, "uid": uid }, "status": phase })
    }

    fn changes(told: &[Told]) -> Vec<&'static str> {
        told.iter().map(|(change, _)| change.name()).collect()
    }

    #[test]
    fn what_happened_between_two_lists_is_told() {
        let mut known = Known::default();
        let first = [pod("a", "1", "x"), pod("b", "2", "x"), pod("c", "3", "x")];

        let told = known.replace(&first);
        assert_eq!(changes(&told), ["listed", "listed", "listed"]);

        let second = [pod("a", "1", "x"), pod("c", "4", "x"), pod("d", "5", "x")];
        let told = known.replace(&second);
        assert_eq!(changes(&told), ["deleted", "deleted", "added", "added"]);
        assert!(String::from_utf8_lossy(&told[0].1).contains("\"b\""));
    }

    #[test]
    fn a_change_of_what_is_trimmed_is_not_told() {
        let mut known = Known::default();
        known.replace(&[pod("a", "1", "x")]);

        assert_eq!(changes(&known.put(&pod("a", "1", "x"))), [""; 0]);
        assert_eq!(changes(&known.put(&pod("a", "1", "y"))), ["modified"]);
        assert!(known.remove(&pod("b", "1", "x")).is_none());
    }
}
