//! Objects of Kubernetes: pods, graph deployments, services and configuration files.
//!
//! Brings together which configuration file is whose; the claims that follow from it are the
//! engine's to note.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    Basis, Claim, ClaimOf, ClaimWhat, ConfigFile, ConfigSource, Endpoints, EngineFile, Graph,
    Medium, Pod, Setting, Subject, Timestamp,
};

/// Most pods, services and files that are kept of each.
const OBJECT_LIMIT: usize = 16_384;

/// A pod, and since when it is known.
#[derive(Clone, Debug)]
pub struct PodRecord {
    /// The pod.
    pub pod: Pod,
    /// The time it was first seen, in this incarnation.
    pub first: Timestamp,
    /// The start of a worker's container, or the time of its first news where Kubernetes dates it later: then the clock
    /// of its node is ahead.
    pub began: Option<Timestamp>,
}

/// Versions of a configuration file that are kept: the pods of one rollout started with one of the last.
const VERSIONS: usize = 4;

/// Times of containers are in whole seconds.
const GRAIN: Duration = Duration::from_secs(1);

/// A configuration file, with what it held before.
#[derive(Clone, Debug, Default)]
pub struct FileRecord {
    /// Its versions, the present one last.
    versions: Vec<FileVersion>,
}

/// Contents of a configuration file for a while.
#[derive(Clone, Debug)]
pub struct FileVersion {
    /// From when on, as far as that is known.
    pub since: Option<Timestamp>,
    /// Its settings.
    settings: Vec<Setting>,
    /// Its text, when it is short enough to be kept.
    pub text: Option<Arc<str>>,
}

impl FileRecord {
    /// Returns what the file holds.
    pub fn now(&self) -> Option<&FileVersion> {
        self.versions.last()
    }

    /// Returns what a container read that started at `started`; none when the file was changed since, and
    /// nobody saw what it held before.
    fn at(&self, started: Timestamp) -> Option<&FileVersion> {
        let before = |version: &&FileVersion| {
            version.since.is_none_or(|since| since <= started.after(GRAIN))
        };
        self.versions.iter().rev().find(before)
    }
}

/// Everything that Kubernetes shows.
#[derive(Debug, Default)]
pub struct Cluster {
    pods: BTreeMap<Arc<str>, PodRecord>,
    graphs: BTreeMap<Arc<str>, Graph>,
    slices: BTreeMap<Arc<str>, Endpoints>,
    files: BTreeMap<(Arc<str>, Arc<str>), FileRecord>,
    changes: u64,
}

impl Cluster {
    /// Returns a number that grows with every change to pods, graph deployments and configuration files, so that whoever
    /// derives something from them knows when to do it again.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes a pod. Returns true when another pod had its name before.
    pub fn set_pod(&mut self, pod: &Pod, at: Timestamp) -> bool {
        if self.pods.len() >= OBJECT_LIMIT && !self.pods.contains_key(&pod.name) {
            return false;
        }
        let no_later =
            |started: Timestamp| if pod.role.is_worker() { started.min(at) } else { started };
        let began = pod.started.map(no_later);
        let fresh = PodRecord { pod: pod.clone(), first: at, began };
        self.changes += u64::from(self.pods.get(&pod.name).is_none_or(|known| known.pod != *pod));
        let Some(known) = self.pods.get_mut(&pod.name) else {
            self.pods.insert(Arc::clone(&pod.name), fresh);
            return false;
        };
        let replaced = known.pod.uid.is_some() && pod.uid.is_some() && known.pod.uid != pod.uid;
        if replaced {
            *known = fresh;
            return true;
        }
        if known.pod.started != pod.started {
            known.began = began;
        }
        known.pod = pod.clone();
        false
    }

    /// Forgets a pod. Returns true when it was known.
    pub fn remove_pod(&mut self, name: &str) -> bool {
        let known = self.pods.remove(name).is_some();
        self.changes += u64::from(known);
        known
    }

    /// Returns a pod by its name.
    pub fn pod(&self, name: &str) -> Option<&PodRecord> {
        self.pods.get(name)
    }

    /// Returns every pod, by name.
    pub fn pods(&self) -> impl Iterator<Item = &PodRecord> {
        self.pods.values()
    }

    /// Notes a graph deployment.
    pub fn set_graph(&mut self, graph: &Graph, at: Timestamp) {
        let mut graph = graph.clone();
        let before = self.graphs.get(&graph.name);
        if graph.changed.is_none() {
            let other = |known: &Graph| known.generation != graph.generation;
            let seen = before.and_then(|known| if other(known) { Some(at) } else { known.changed });
            graph.changed = seen;
        }
        self.changes += u64::from(before != Some(&graph));
        if self.graphs.len() < OBJECT_LIMIT || before.is_some() {
            self.graphs.insert(Arc::clone(&graph.name), graph);
        }
    }

    /// Forgets a graph deployment.
    pub fn remove_graph(&mut self, name: &str) {
        self.changes += u64::from(self.graphs.remove(name).is_some());
    }

    /// Returns every graph deployment, by name.
    pub fn graphs(&self) -> impl Iterator<Item = &Graph> {
        self.graphs.values()
    }

    /// Notes which pods are behind a service.
    pub fn set_endpoints(&mut self, endpoints: &Endpoints) {
        if endpoints.pods.is_empty() {
            self.slices.remove(&endpoints.slice);
        } else if self.slices.len() < OBJECT_LIMIT || self.slices.contains_key(&endpoints.slice) {
            self.slices.insert(Arc::clone(&endpoints.slice), endpoints.clone());
        }
    }

    /// Returns the pods behind services that Dynamo's discovery reads, with whether it sees them.
    pub fn in_service(&self) -> HashMap<&str, bool> {
        let mut seen = HashMap::new();
        let read = self.slices.values().filter(|slice| slice.discovery);
        for there in read.flat_map(|slice| &slice.pods) {
            *seen.entry(there.pod.as_ref()).or_default() |= there.ready;
        }
        seen
    }

    /// Notes a configuration file, seen at `at`.
    pub fn set_file(&mut self, file: &ConfigFile, at: Timestamp) {
        let key = (Arc::clone(&file.config_map), Arc::clone(&file.key));
        let Some(settings) = &file.settings else {
            self.changes += u64::from(self.files.remove(&key).is_some());
            return;
        };
        if self.files.len() >= OBJECT_LIMIT && !self.files.contains_key(&key) {
            return;
        }
        let versions = &mut self.files.entry(key).or_default().versions;
        let same = |known: &FileVersion| (&known.settings, &known.text) == (settings, &file.text);
        if versions.last().is_some_and(same) {
            return;
        }
        // Who sees it for the first time did not see it change.
        let since = file.changed.or((!versions.is_empty()).then_some(at));
        versions.push(FileVersion { since, settings: settings.clone(), text: file.text.clone() });
        if versions.len() > VERSIONS {
            versions.remove(0);
        }
        self.changes += 1;
    }

    /// Returns a key of a `ConfigMap` that is a configuration file.
    pub fn file(&self, config_map: &Arc<str>, key: &Arc<str>) -> Option<&FileRecord> {
        self.files.get(&(Arc::clone(config_map), Arc::clone(key)))
    }

    /// Returns whoever was told to read a configuration file, with how, and when a process did.
    fn readers(&self) -> impl Iterator<Item = (Subject, &EngineFile, Option<Timestamp>)> {
        let pods = self.pods.values().filter_map(|record| {
            let file = record.pod.engine_file.as_ref()?;
            let started = record.pod.started.unwrap_or(record.first);
            Some((Subject::Pod(Arc::clone(&record.pod.name)), file, Some(started)))
        });
        let components = self.graphs.values().flat_map(|graph| {
            graph.components.iter().filter_map(|component| {
                let file = component.engine_file.as_ref()?;
                Some((component_of(graph, &component.name), file, None))
            })
        });
        pods.chain(components)
    }

    /// Returns what follows from the configuration files for those of their readers that `about`
    /// picks.
    pub fn file_claims(&self, about: impl Fn(&Subject, &EngineFile) -> bool) -> Vec<Claim> {
        self.readers()
            .filter(|(subject, file, _)| about(subject, file))
            .flat_map(|(subject, file, started)| self.claims_of(&subject, file, started))
            .collect()
    }

    fn claims_of(
        &self,
        subject: &Subject,
        file: &EngineFile,
        started: Option<Timestamp>,
    ) -> Vec<Claim> {
        let ConfigSource::ConfigMap { name, key } = &file.source else { return Vec::new() };
        let read = self.file(name, key).and_then(|record| match started {
            Some(started) => record.at(started),
            None => record.now(),
        });
        let Some(FileVersion { settings, .. }) = read else { return Vec::new() };
        let decided = |what, of| !file.overridden.contains(&(what, of));
        let claim = |of, setting: &Setting| Claim {
            what: setting.what,
            of,
            subject: subject.clone(),
            model: None,
            value: setting.value.clone(),
            basis: Basis::File,
            source: file_source(name, key),
            raw: Arc::clone(&setting.raw),
            set_by: None,
            medium: Medium::Settings,
        };
        let read = settings.iter().filter(|setting| setting.engine == file.engine);
        let mut claims: Vec<Claim> = Vec::new();
        for setting in read.filter(|setting| decided(setting.what, setting.of)) {
            claims.push(claim(setting.of, setting));
            if setting.what == ClaimWhat::BlockSize && file.followed {
                claims.extend([ClaimOf::Publisher, ClaimOf::Card].map(|of| claim(of, setting)));
            }
        }
        for other in &file.otherwise {
            if !claims.iter().any(|claim| (claim.what, claim.of) == (other.what, other.of)) {
                claims.push(other.clone());
            }
        }
        claims
    }

    /// Returns true for claims that hold only as long as the file at `source` does not set the same.
    pub fn yields_to(&self, claim: &Claim, source: &ConfigSource) -> bool {
        self.readers().any(|(subject, file, _)| {
            file.source == *source && subject == claim.subject && file.otherwise.contains(claim)
        })
    }
}

/// Returns where claims of a configuration file say that they were read.
pub(crate) fn file_source(config_map: &str, key: &str) -> Arc<str> {
    format!("ConfigMap {config_map}, {key}").into()
}

fn component_of(graph: &Graph, component: &Arc<str>) -> Subject {
    Subject::Component { graph: Arc::clone(&graph.name), component: Arc::clone(component) }
}
