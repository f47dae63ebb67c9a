//! What Kubernetes shows: pods, graph deployments, services and configuration files.
//!
//! Brings together which configuration file is whose; the claims that follow from it are the
//! engine's to note.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::domain::{
    Basis, Claim, ClaimOf, ClaimWhat, ConfigFile, ConfigSource, Endpoints, EngineFile, Graph, Pod,
    Setting, Subject, Timestamp,
};

/// Most pods, services and files that are kept of each.
const OBJECT_LIMIT: usize = 16_384;

/// A pod, and since when it is known.
#[derive(Clone, Debug)]
pub struct PodRecord {
    /// The pod.
    pub pod: Pod,
    /// When it was first seen, in this incarnation.
    pub first: Timestamp,
}

/// Everything that Kubernetes shows.
#[derive(Debug, Default)]
pub struct Cluster {
    pods: BTreeMap<Arc<str>, PodRecord>,
    graphs: BTreeMap<Arc<str>, Graph>,
    slices: BTreeMap<Arc<str>, Endpoints>,
    files: BTreeMap<(Arc<str>, Arc<str>), Vec<Setting>>,
    changes: u64,
}

impl Cluster {
    /// Returns a number that grows with every change to pods and graph deployments, so that whoever
    /// derives something from them knows when to do it again.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes a pod. Returns true when another pod had its name before.
    pub fn set_pod(&mut self, pod: &Pod, at: Timestamp) -> bool {
        if self.pods.len() >= OBJECT_LIMIT && !self.pods.contains_key(&pod.name) {
            return false;
        }
        let fresh = PodRecord { pod: pod.clone(), first: at };
        self.changes += u64::from(self.pods.get(&pod.name).is_none_or(|known| known.pod != *pod));
        let Some(known) = self.pods.get_mut(&pod.name) else {
            self.pods.insert(Arc::clone(&pod.name), fresh);
            return false;
        };
        let replaced = known.pod.uid.is_some() && pod.uid.is_some() && known.pod.uid != pod.uid;
        if replaced {
            *known = fresh;
        } else {
            known.pod = pod.clone();
        }
        replaced
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
    pub fn set_graph(&mut self, graph: &Graph) {
        self.changes += u64::from(self.graphs.get(&graph.name) != Some(graph));
        if self.graphs.len() < OBJECT_LIMIT || self.graphs.contains_key(&graph.name) {
            self.graphs.insert(Arc::clone(&graph.name), graph.clone());
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

    /// Notes a configuration file.
    pub fn set_file(&mut self, file: &ConfigFile) {
        let key = (Arc::clone(&file.config_map), Arc::clone(&file.key));
        match &file.settings {
            Some(settings) if self.files.len() < OBJECT_LIMIT || self.files.contains_key(&key) => {
                self.files.insert(key, settings.clone());
            }
            Some(_) => {}
            None => {
                self.files.remove(&key);
            }
        }
    }

    /// Returns whoever was told to read a configuration file, with how.
    fn readers(&self) -> impl Iterator<Item = (Subject, &EngineFile)> {
        let pods = self.pods.values().filter_map(|record| {
            let file = record.pod.engine_file.as_ref()?;
            Some((Subject::Pod(Arc::clone(&record.pod.name)), file))
        });
        let components = self.graphs.values().flat_map(|graph| {
            graph.components.iter().filter_map(|component| {
                let file = component.engine_file.as_ref()?;
                Some((component_of(graph, &component.name), file))
            })
        });
        pods.chain(components)
    }

    /// Returns what follows from the configuration files for those of their readers that `about`
    /// picks.
    pub fn file_claims(&self, about: impl Fn(&Subject, &EngineFile) -> bool) -> Vec<Claim> {
        self.readers()
            .filter(|(subject, file)| about(subject, file))
            .flat_map(|(subject, file)| self.claims_of(&subject, file))
            .collect()
    }

    fn claims_of(&self, subject: &Subject, file: &EngineFile) -> Vec<Claim> {
        let ConfigSource::ConfigMap { name, key } = &file.source else { return Vec::new() };
        let Some(settings) = self.files.get(&(Arc::clone(name), Arc::clone(key))) else {
            return Vec::new();
        };
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
        self.readers().any(|(subject, file)| {
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
