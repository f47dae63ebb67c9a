//! Objects and what they refer to, through the decoders of a live cluster.

use std::sync::Arc;

use serde_json::{Value, json};

use super::parts::{graph_parts, main_of, single, workload};
use super::{Config, Object, Part, Sheet, folder};
use crate::domain::{Basis, Claim, ConfigSource, EngineFile, Fact, Role, Subject, Timestamp};
use crate::frame::{Frame, KubeChange, Origin};
use crate::lint::{Source, Unreadable};
use crate::model::Cluster;
use crate::wire::{self, Facts};

/// What is needed to read an object.
pub(super) struct Reader<'a, 'b> {
    pub(super) maps: Vec<&'b Object<'a>>,
    pub(super) files: Vec<&'a Sheet>,
    pub(super) sources: &'b [Source],
    pub(super) refused: &'b mut Vec<Unreadable>,
}

impl<'a> Reader<'a, '_> {
    pub(super) fn parts(&mut self, object: &Object<'a>) -> Vec<Part<'a>> {
        let (kind, value, mut parts) = match (object.fragment, object.kind) {
            (Some(fragment), _) => fragment.whole(object),
            (None, "DynamoGraphDeployment") => {
                (object.kind, object.node.json(), graph_parts(object, object.node.get("spec")))
            }
            (None, "DynamoComponentDeployment") => single(object),
            (None, "Deployment" | "StatefulSet" | "DaemonSet" | "Pod") => workload(object),
            _ => return Vec::new(),
        };
        if parts.is_empty() {
            return parts;
        }
        let mut value = value;
        let mut hidden = Vec::new();
        self.resolve(object, &mut value, &mut hidden);
        let Some(facts) = self.decode(object, kind, &value) else { return Vec::new() };
        self.fill(object, &mut parts, &facts);
        for part in &mut parts {
            // What comes from a ConfigMap that was not given may set anything.
            if hidden.iter().any(|name: &String| part.names_source(name)) {
                part.claims.retain(|_, claim| claim.basis != Basis::Default);
            }
        }
        parts.retain(|part| part.role != Role::Other);
        parts
    }

    fn decode(&mut self, object: &Object<'a>, kind: &str, value: &Value) -> Option<Facts> {
        let origin = Origin::Kube { kind: kind.into(), change: KubeChange::Listed };
        let frame = Frame::new(Timestamp::default(), origin, value.to_string());
        let mut facts = Facts::default();
        match wire::decode(&frame, &mut facts) {
            Ok(()) => Some(facts),
            Err(reject) => {
                let (file, line) = (object.sheet.file, object.node.line);
                self.refused.push(Unreadable { file, line, why: reject.why });
                None
            }
        }
    }

    /// Puts what facts say to where it belongs.
    fn fill(&mut self, object: &Object<'a>, parts: &mut [Part<'a>], facts: &Facts) {
        let mut cluster = Cluster::default();
        let mut claims: Vec<Claim> = Vec::new();
        for fact in &facts.other {
            match fact {
                Fact::Graph(graph) => {
                    let mut graph = (**graph).clone();
                    for component in &mut graph.components {
                        let Some(part) = parts.iter_mut().find(|part| part.name == component.name)
                        else {
                            continue;
                        };
                        part.role = component.role;
                        part.backend = component.backend;
                        part.replicas = component.replicas.unwrap_or(1);
                        let file = component.engine_file.as_mut();
                        self.adopt(object, part, file, &mut cluster);
                    }
                    cluster.set_graph(&graph);
                }
                Fact::Pod(pod) => {
                    let mut pod = (**pod).clone();
                    if let Some(part) = parts.first_mut() {
                        part.role = pod.role;
                        part.backend = pod.backend;
                        self.adopt(object, part, pod.engine_file.as_mut(), &mut cluster);
                    }
                    cluster.set_pod(&pod, Timestamp::default());
                }
                Fact::Claim(claim) => claims.push(claim.clone()),
                _ => {}
            }
        }
        claims.extend(cluster.file_claims(|_, _| true));
        for claim in claims {
            let part = match &claim.subject {
                Subject::Component { component, .. } => {
                    parts.iter_mut().find(|part| part.name == *component)
                }
                _ => parts.first_mut(),
            };
            if let Some(part) = part {
                part.note(claim);
            }
        }
    }

    /// Finds the configuration file that an engine was told to read, or notes that it was not given.
    fn adopt(
        &mut self,
        object: &Object<'a>,
        part: &mut Part<'a>,
        file: Option<&mut EngineFile>,
        cluster: &mut Cluster,
    ) {
        let Some(file) = file else { return };
        let Some((config, value)) = self.config(object, file) else {
            part.unread = Some(Arc::clone(&file.path));
            return;
        };
        let ConfigSource::ConfigMap { name, key } = &file.source else { return };
        let value = json!({"metadata": {"name": name.as_ref()}, "data": {key.as_ref(): value}});
        part.config = Some((format!("ConfigMap {name}, {key}").into(), config));
        let facts = self.decode(object, "ConfigMap", &value).unwrap_or_default();
        for fact in facts.other {
            if let Fact::ConfigFile(settings) = fact {
                cluster.set_file(&settings);
            }
        }
    }

    /// Returns the configuration that `file` stands for, with its text. One that is a file here is read as
    /// if a `ConfigMap` held it.
    fn config(&self, object: &Object<'a>, file: &mut EngineFile) -> Option<(Config<'a>, String)> {
        match &file.source {
            ConfigSource::ConfigMap { name, key } => {
                let map = self.map(object, name)?;
                let node = map.node.get("data")?.get(key)?;
                Some((Config { file: map.sheet.file, node }, node.text()?.to_owned()))
            }
            ConfigSource::Image => {
                let sheet = self.file_at(&file.path)?;
                let node = &sheet.document.root;
                let name = Arc::clone(&self.sources.get(sheet.file)?.name);
                file.source = ConfigSource::ConfigMap { name, key: "engine.json".into() };
                Some((Config { file: sheet.file, node }, node.json().to_string()))
            }
        }
    }

    /// Returns the `ConfigMap` that `object` means: of its namespace, the nearest in files.
    fn map(&self, object: &Object<'a>, name: &str) -> Option<&Object<'a>> {
        let file = object.sheet.file;
        let meant = |map: &&&Object<'_>| {
            let (mine, its) = (object.namespace, map.namespace);
            map.name == name && (mine == its || mine.is_empty() || its.is_empty())
        };
        let near = |map: &&&Object<'_>| {
            let its = map.sheet.file;
            let beside = folder(self.sources, its) == folder(self.sources, file);
            // Of equally near ones the first.
            (its == file, beside, std::cmp::Reverse(its))
        };
        self.maps.iter().filter(meant).max_by_key(near).copied()
    }

    /// Returns the plain file whose path ends like `path`, when there is one that does so best.
    fn file_at(&self, path: &str) -> Option<&'a Sheet> {
        let common = |sheet: &Sheet| {
            let name = self.sources.get(sheet.file).map_or("", |source| source.name.as_ref());
            let pairs = name.rsplit('/').zip(path.rsplit('/'));
            pairs.take_while(|(a, b)| a == b && !a.is_empty() && *a != ".").count()
        };
        let best = self.files.iter().map(|sheet| common(sheet)).max().filter(|best| *best > 0)?;
        let mut same = self.files.iter().filter(|sheet| common(sheet) == best);
        same.next().filter(|_| same.next().is_none()).copied()
    }

    /// Puts values in the place of references to `ConfigMap`s, and text in the place of numbers, which
    /// the API server would refuse. `hidden` are the `ConfigMap`s that were not given.
    fn resolve(&self, object: &Object<'a>, value: &mut Value, hidden: &mut Vec<String>) {
        match value {
            Value::Array(items) => {
                for item in items {
                    self.resolve(object, item, hidden);
                }
            }
            Value::Object(entries) => {
                for key in ["env", "envs"] {
                    if let Some(Value::Array(list)) = entries.get_mut(key) {
                        for entry in list {
                            self.resolve_entry(object, entry);
                        }
                    }
                }
                // The operator puts a component's own variables into its container, where they win over
                // what `envFrom` brings.
                let (container, key) = if entries.contains_key("extraPodSpec") {
                    (
                        entries.get_mut("extraPodSpec").and_then(|p| p.get_mut("mainContainer")),
                        "envs",
                    )
                } else if let Some(pod) = entries.get_mut("podTemplate") {
                    (pod.pointer_mut("/spec/containers").and_then(main_of), "env")
                } else {
                    (None, "env")
                };
                let from = match container.and_then(Value::as_object_mut) {
                    Some(container) => container.remove("envFrom"),
                    None => entries.remove("envFrom"),
                };
                if let Some(Value::Array(from)) = from {
                    let mut list = self.variables_of(object, &from, hidden);
                    if let Some(Value::Array(own)) = entries.get(key) {
                        list.extend(own.clone());
                    }
                    entries.insert(key.to_owned(), Value::Array(list));
                }
                entries.values_mut().for_each(|inner| self.resolve(object, inner, hidden));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Returns the variables that `ConfigMap`s bring.
    fn variables_of(
        &self,
        object: &Object<'a>,
        from: &[Value],
        hidden: &mut Vec<String>,
    ) -> Vec<Value> {
        let mut list = Vec::new();
        for source in from {
            let Some(name) = source["configMapRef"]["name"].as_str() else { continue };
            let prefix = source["prefix"].as_str().unwrap_or_default();
            match self.map(object, name).and_then(|map| map.node.get("data")) {
                Some(data) => list.extend(data.entries().iter().map(|(key, value)| {
                    json!({"name": format!("{prefix}{}", key.text), "value": value.text()})
                })),
                None => hidden.push(name.to_owned()),
            }
        }
        list
    }

    fn resolve_entry(&self, object: &Object<'a>, entry: &mut Value) {
        let from = &entry["valueFrom"]["configMapKeyRef"];
        let known = from["name"].as_str().zip(from["key"].as_str()).and_then(|(name, key)| {
            Some(self.map(object, name)?.node.get("data")?.string(key)?.to_owned())
        });
        let text = match &entry["value"] {
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => known,
        };
        if let (Some(text), Some(entry)) = (text, entry.as_object_mut()) {
            entry.insert("value".to_owned(), Value::String(text));
        }
    }
}
