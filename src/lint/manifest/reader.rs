//! Objects and what they refer to, through the decoders of a live cluster.

use std::sync::Arc;

use serde_json::{Value, json};

use super::parts::{graph_parts, single, workload};
use super::{Config, Lender, Object, Part, Sheet, folder};
use crate::domain::{
    Claim, ConfigMapUse, ConfigMaps, ConfigSource, EngineFile, Fact, Role, Subject, Timestamp,
};
use crate::frame::{Frame, KubeChange, Origin};
use crate::lint::document::{self, Key, Node};
use crate::lint::{Source, Unreadable};
use crate::model::Cluster;
use crate::wire::{self, Facts};

/// The context for reading an object.
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
        as_text(&mut value);
        let Some(mut facts) = self.decode(object, kind, &value, &ConfigMaps::new()) else {
            return Vec::new();
        };
        let (maps, lenders) = self.variables(object, &facts);
        if !maps.is_empty() {
            for part in &mut parts {
                part.lenders.clone_from(&lenders);
            }
            facts = self.decode(object, kind, &value, &maps).unwrap_or_default();
        }
        self.fill(object, &mut parts, &facts);
        parts.retain(|part| part.role != Role::Other);
        parts
    }

    fn decode(
        &mut self,
        object: &Object<'a>,
        kind: &str,
        value: &Value,
        maps: &ConfigMaps,
    ) -> Option<Facts> {
        let origin = Origin::Kube { kind: kind.into(), change: KubeChange::Listed };
        let frame = Frame::new(Timestamp::default(), origin, value.to_string());
        let mut facts = Facts::default();
        match wire::decode_with(&frame, maps, &mut facts) {
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
                        part.hidden = self.hidden(object, &component.variables_from);
                        part.unsure.clone_from(&component.hidden);
                        let file = component.engine_file.as_mut();
                        self.adopt(object, part, file, &mut cluster);
                    }
                    cluster.set_graph(&graph, Timestamp::default());
                }
                Fact::Pod(pod) => {
                    let mut pod = (**pod).clone();
                    if let Some(part) = parts.first_mut() {
                        part.role = pod.role;
                        part.backend = pod.backend;
                        part.hidden = self.hidden(object, &pod.variables_from);
                        part.unsure.clone_from(&pod.hidden);
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
        if let Err((line, why)) = document::parse(&value) {
            // Its settings stay unknown.
            let line = config.node.line + line - 1;
            let why = format!("the engine configuration of {} is no YAML: {why}", part.name);
            self.refused.push(Unreadable { file: config.file, line, why });
            part.unread = Some(Arc::clone(&file.path));
            return;
        }
        part.unsure.retain(|hidden| hidden.by != file.path);
        let ConfigSource::ConfigMap { name, key } = &file.source else { return };
        let value = json!({"metadata": {"name": name.as_ref()}, "data": {key.as_ref(): value}});
        part.config = Some((format!("ConfigMap {name}, {key}").into(), config));
        let facts = self.decode(object, "ConfigMap", &value, &ConfigMaps::new());
        for fact in facts.unwrap_or_default().other {
            if let Fact::ConfigFile(settings) = fact {
                cluster.set_file(&settings, Timestamp::default());
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

    /// Returns the `ConfigMap`s among `uses` that were not given.
    fn hidden(&self, object: &Object<'a>, uses: &[ConfigMapUse]) -> Vec<Arc<str>> {
        let names = uses.iter().map(|used| &used.name);
        names.filter(|name| self.map(object, name).is_none()).cloned().collect()
    }

    /// Returns what the `ConfigMap`s set that `facts` say variables are taken from, and where they stand, as
    /// far as these were given.
    fn variables(&self, object: &Object<'a>, facts: &Facts) -> (ConfigMaps, Vec<Lender<'a>>) {
        let uses = facts.other.iter().flat_map(|fact| match fact {
            Fact::Graph(graph) => {
                graph.components.iter().flat_map(|part| part.variables_from.clone()).collect()
            }
            Fact::Pod(pod) => pod.variables_from.clone(),
            _ => Vec::new(),
        });
        let (mut known, mut lenders) = (ConfigMaps::new(), Vec::new());
        for used in uses {
            let Some(map) = self.map(object, &used.name) else { continue };
            let data = map.node.get("data");
            if let Some(node) = data {
                let config = Config { file: map.sheet.file, node };
                lenders.push((Arc::clone(&used.name), config));
            }
            let entry = |(key, value): &(Key, Node)| {
                (Arc::from(key.text.as_str()), value.text().map(Arc::from))
            };
            let entries = data.map_or(&[][..], Node::entries).iter().map(entry);
            known.insert(used.name, Some(Arc::new(entries.collect())));
        }
        (known, lenders)
    }
}

/// Puts text in the place of numbers and switches as values of variables and as arguments, which the API server
/// would refuse.
fn as_text(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(as_text),
        Value::Object(entries) => {
            for key in ["env", "envs"] {
                let list = entries.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
                for entry in list {
                    let text = match &entry["value"] {
                        Value::Number(number) => number.to_string(),
                        Value::Bool(flag) => flag.to_string(),
                        _ => continue,
                    };
                    entry["value"] = text.into();
                }
            }
            for key in ["command", "args"] {
                let words =
                    entries.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
                for word in words.filter(|word| word.is_number() || word.is_boolean()) {
                    *word = word.to_string().into();
                }
            }
            entries.values_mut().for_each(as_text);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
