//! The objects of the fake API and the history of their changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Request;
use super::logs::Log;
use crate::support::fixture;

/// What the API serves: kind, plural, group.
const KINDS: [(&str, &str, &str); 8] = [
    ("Pod", "pods", ""),
    ("ConfigMap", "configmaps", ""),
    ("Secret", "secrets", ""),
    ("Service", "services", ""),
    ("Namespace", "namespaces", ""),
    ("EndpointSlice", "endpointslices", "discovery.k8s.io"),
    ("DynamoGraphDeployment", "dynamographdeployments", "nvidia.com"),
    ("DynamoWorkerMetadata", "dynamoworkermetadatas", "nvidia.com"),
];

pub(crate) fn kind_of(plural: &str) -> Option<&'static str> {
    KINDS.iter().find(|kind| kind.1 == plural).map(|kind| kind.0)
}

fn plural_of(kind: &str) -> &'static str {
    KINDS.iter().find(|known| known.0 == kind).unwrap_or_else(|| panic!("unknown kind {kind}")).1
}

/// Returns what the Roles of `manifest` permit: namespace, resource, verb.
pub(super) fn permissions(manifest: &str) -> BTreeSet<(String, String, String)> {
    let mut permitted = BTreeSet::new();
    for document in manifest.split("---\n") {
        let Ok(object) = serde_saphyr::from_str::<Value>(document) else { continue };
        if object["kind"] != "Role" {
            continue;
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap();
        let texts = |list: &Value| -> Vec<String> {
            let list = list.as_array().into_iter().flatten();
            list.map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        for rule in object["rules"].as_array().unwrap() {
            for resource in texts(&rule["resources"]) {
                for verb in texts(&rule["verbs"]) {
                    permitted.insert((namespace.to_owned(), resource.clone(), verb));
                }
            }
        }
    }
    permitted
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Put,
    Deleted,
    Bookmark,
}

#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) version: u64,
    pub(super) change: Change,
    /// What the object was before, if it was.
    pub(super) before: Option<Value>,
    pub(super) object: Value,
}

/// Plural, namespace, name.
type Key = (&'static str, String, String);

pub(super) struct State {
    pub(super) objects: BTreeMap<Key, Value>,
    pub(super) version: u64,
    pub(super) events: Vec<Event>,
    /// Changes before this version are forgotten.
    pub(super) oldest: u64,
    pub(super) denied: BTreeSet<(String, String)>,
    pub(super) denied_until: u64,
    /// All that is permitted: namespace, resource, verb. Everything, when there is none.
    pub(super) permitted: Option<BTreeSet<(String, String, String)>>,
    pub(super) missing: BTreeSet<String>,
    pub(super) v1beta1: bool,
    pub(super) token: String,
    pub(super) fail_next: VecDeque<u16>,
    pub(super) answers: BTreeMap<String, Vec<u8>>,
    /// Recorded streams, each for the next request whose path and query contain its text.
    pub(super) streams: Vec<(String, Timeline)>,
    pub(super) delay: Duration,
    pub(super) requests: Vec<Request>,
    pub(super) open_streams: usize,
    pub(super) logs: BTreeMap<(String, String), Log>,
    pub(super) forwards: BTreeMap<(String, u16), SocketAddr>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            version: 500,
            events: Vec::new(),
            oldest: 500,
            denied: BTreeSet::new(),
            denied_until: 0,
            permitted: None,
            missing: BTreeSet::new(),
            v1beta1: false,
            token: super::TOKEN.to_owned(),
            fail_next: VecDeque::new(),
            answers: BTreeMap::new(),
            streams: Vec::new(),
            delay: Duration::ZERO,
            requests: Vec::new(),
            open_streams: 0,
            logs: BTreeMap::new(),
            forwards: BTreeMap::new(),
        }
    }
}

impl State {
    pub(super) fn put(&mut self, mut object: Value) {
        let key = key(&object);
        let version = (self.version + 1).to_string();
        object["metadata"]["resourceVersion"] = version.into();
        let before = self.objects.insert(key, object.clone());
        self.record(Change::Put, before, object);
    }

    pub(super) fn remove(&mut self, kind: &str, name: &str) {
        let mut object = self.find(kind, name).unwrap_or_else(|| panic!("no {kind} {name}"));
        self.objects.remove(&key(&object));
        let version = (self.version + 1).to_string();
        object["metadata"]["resourceVersion"] = version.into();
        self.record(Change::Deleted, Some(object.clone()), object);
    }

    pub(super) fn record(&mut self, change: Change, before: Option<Value>, object: Value) {
        self.version += 1;
        self.events.push(Event { version: self.version, change, before, object });
    }

    pub(super) fn compact(&mut self) {
        self.version += 1;
        self.oldest = self.version;
        self.events.clear();
    }

    pub(super) fn uninstall(&mut self, plural: &str) {
        self.missing.insert(plural.to_owned());
        let kind = kind_of(plural).unwrap();
        let names: Vec<String> =
            self.objects.keys().filter(|key| key.0 == plural).map(|key| key.2.clone()).collect();
        for name in names {
            self.remove(kind, &name);
        }
    }

    pub(super) fn find(&self, kind: &str, name: &str) -> Option<Value> {
        let plural = plural_of(kind);
        let found = self.objects.iter().find(|(key, _)| key.0 == plural && key.2 == name);
        found.map(|(_, object)| object.clone())
    }

    /// Returns true when something is in a namespace of that name.
    pub(super) fn has_namespace(&self, name: &str) -> bool {
        self.objects.keys().any(|key| key.1 == name)
    }

    pub(super) fn log(&mut self, pod: &str, container: &str) -> &mut Log {
        self.logs.entry((pod.to_owned(), container.to_owned())).or_default()
    }

    /// Returns the objects of a list.
    pub(super) fn list(&self, wanted: &Wanted) -> Vec<Value> {
        self.objects.values().filter(|object| wanted.matches(object)).cloned().collect()
    }
}

fn key(object: &Value) -> Key {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let plural = plural_of(object["kind"].as_str().unwrap());
    (plural, text(&metadata["namespace"]), text(&metadata["name"]))
}

/// Which objects a request asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) plural: String,
    /// All of them when none.
    pub(super) namespace: Option<String>,
    pub(super) labels: Vec<(String, Option<String>)>,
    pub(super) name: Option<String>,
    pub(super) ip: Option<String>,
}

impl Wanted {
    pub(super) fn matches(&self, object: &Value) -> bool {
        let Some(kind) = object["kind"].as_str() else {
            return false;
        };
        let metadata = &object["metadata"];
        let labelled = self.labels.iter().all(|(label, value)| match value {
            Some(value) => metadata["labels"][label] == value.as_str(),
            None => metadata["labels"][label].is_string(),
        });
        plural_of(kind) == self.plural
            && self.namespace.as_ref().is_none_or(|it| metadata["namespace"] == it.as_str())
            && self.name.as_ref().is_none_or(|it| metadata["name"] == it.as_str())
            && self.ip.as_ref().is_none_or(|it| object["status"]["podIP"] == it.as_str())
            && labelled
    }

    /// Returns what a watch is told of an event, none when it does not concern it.
    pub(super) fn line(&self, event: &Event, bookmarks: bool) -> Option<String> {
        let was = event.before.as_ref().is_some_and(|before| self.matches(before));
        let is = self.matches(&event.object);
        let change = match (event.change, was, is) {
            (Change::Bookmark, ..) if bookmarks => return Some(self.bookmark(event.version)),
            (Change::Bookmark, ..) | (_, false, false) => return None,
            (Change::Put, false, true) => "ADDED",
            (Change::Put, true, true) => "MODIFIED",
            (Change::Put, true, false) | (Change::Deleted, ..) => "DELETED",
        };
        Some(format!("{}\n", json!({ "type": change, "object": event.object })))
    }

    fn bookmark(&self, version: u64) -> String {
        let kind = kind_of(&self.plural).unwrap();
        let version = version.to_string();
        let object = json!({ "kind": kind, "metadata": { "resourceVersion": version } });
        format!("{}\n", json!({ "type": "BOOKMARK", "object": object }))
    }
}

/// Returns the objects of a recorded list, or a recorded object.
pub(crate) fn recorded_objects(name: &str) -> Vec<Value> {
    let path = fixture(&format!("kube/{name}.body.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no {}", path.display()));
    let list: Value = serde_json::from_str(&text).unwrap();
    let Some(items) = list["items"].as_array() else {
        return vec![list];
    };
    let kind = list["kind"].as_str().unwrap().trim_end_matches("List");
    let mut items = items.clone();
    for item in &mut items {
        // Lists of built-in kinds leave both out of their items.
        item["kind"] = kind.into();
        item["apiVersion"] = list["apiVersion"].clone();
    }
    items
}

/// Returns a recorded response, as it came.
pub(super) fn recorded_response(name: &str) -> Vec<u8> {
    let path = fixture(&format!("kube/{name}.http"));
    std::fs::read(&path).unwrap_or_else(|_| panic!("no {}", path.display()))
}

/// A recorded stream: what came with one read, and when.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Timeline {
    /// Seconds since the request, length in bytes, text.
    pub(crate) recv: Vec<(f64, usize, String)>,
    end: String,
}

impl Timeline {
    pub(crate) fn recorded(name: &str) -> Self {
        let text = std::fs::read_to_string(fixture(&format!("kube/{name}.timeline.json"))).unwrap();
        let mut timeline: Self = serde_json::from_str(&text).unwrap();
        // The end of the connection was recorded as a read of nothing.
        timeline.recv.retain(|(_, length, _)| *length > 0);
        for (_, length, text) in &timeline.recv {
            assert_eq!(text.len(), *length, "{name} was cut in the middle of a character");
        }
        timeline
    }

    /// Returns true when the server ended it, not who recorded it.
    pub(super) fn ended(&self) -> bool {
        self.end == "server closed"
    }

    /// Returns the lines of the body, without the framing of the chunks.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text: String = self.recv.iter().map(|(_, _, text)| text.as_str()).collect();
        let (_, mut rest) = text.split_once("\r\n\r\n").unwrap();
        let mut body = String::new();
        while let Some((length, chunk)) = rest.split_once("\r\n") {
            let length = usize::from_str_radix(length, 16).unwrap();
            if length == 0 {
                break;
            }
            body.push_str(&chunk[..length]);
            rest = &chunk[length + 2..];
        }
        body.lines().map(str::to_owned).collect()
    }
}
