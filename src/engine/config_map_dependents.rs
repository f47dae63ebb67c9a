//! Objects that take variables from `ConfigMap`s: read again when one of these comes.
//!
//! A process reads its variables once, when its container starts. What a `ConfigMap` says later is not
//! what a running pod was started with; a graph deployment speaks of pods to come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Learner;
use crate::domain::{ConfigMap, ConfigMaps, Fact, SourceName, Timestamp};
use crate::frame::{Frame, Origin};
use crate::wire::{self, Facts, Reject};

/// Most bytes of frames that are kept to be read again; those of a pod have some thousand.
const BYTE_LIMIT: usize = 32 << 20;

/// The identity of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Pod,
    Graph,
}

/// The identity of a container's start: uid of the pod and start.
type Life = (Option<Arc<str>>, Option<Timestamp>);

#[derive(Debug)]
struct Dependent {
    frame: Frame,
    from: BTreeSet<Arc<str>>,
    /// Of a pod that runs: what it was started with stays.
    life: Option<Life>,
    /// The objects that its variables come from.
    seen: ConfigMaps,
}

/// Those of which frames are kept.
#[derive(Debug, Default)]
pub(super) struct ConfigMapDependents {
    kept: BTreeMap<(Kind, Arc<str>), Dependent>,
    bytes: usize,
}

impl Learner<'_> {
    /// Reads a frame, with the variables that its object takes from `ConfigMap`s.
    pub(super) fn decode(&mut self, frame: &Frame) -> Result<(), Reject> {
        let Origin::Kube { .. } = &frame.origin else {
            return wire::decode(frame, &mut self.pending.facts);
        };
        let decoded =
            wire::decode_with(frame, self.known.shown.maps.all(), &mut self.pending.facts);
        match self.known.shown.config_map_dependents.note(
            frame,
            &self.pending.facts.other,
            self.known.shown.maps.all(),
        ) {
            Some(seen) => {
                self.pending.facts.other.clear();
                wire::decode_with(frame, &seen, &mut self.pending.facts)
            }
            None => decoded,
        }
    }

    /// Notes what a `ConfigMap` sets, and learns anew what takes variables from it.
    pub(super) fn config_map(&mut self, map: &ConfigMap, at: Timestamp, source: &SourceName) {
        if !self.known.shown.maps.set(map) {
            return;
        }
        for (frame, seen) in
            self.known.shown.config_map_dependents.lend(&map.name, self.known.shown.maps.all())
        {
            let mut facts = Facts::default();
            // What could not be read was counted when it came.
            if wire::decode_with(&frame, &seen, &mut facts).is_ok() {
                for fact in &facts.other {
                    self.learn(fact, at, source);
                }
            }
        }
    }
}

impl ConfigMapDependents {
    /// Keeps `frame` when its object takes variables from `ConfigMap`s. Returns what these set when it
    /// was started, where that is not what they set now.
    fn note(&mut self, frame: &Frame, facts: &[Fact], maps: &ConfigMaps) -> Option<ConfigMaps> {
        facts.iter().find_map(|fact| match fact {
            Fact::Pod(pod) => {
                let from = pod.variables_from.iter().map(|used| Arc::clone(&used.name)).collect();
                let runs = pod.phase.as_ref() == "Running";
                let life = runs.then(|| (pod.uid.clone(), pod.started));
                self.put((Kind::Pod, Arc::clone(&pod.name)), frame, from, life, maps)
            }
            Fact::Graph(graph) => {
                let used = graph.components.iter().flat_map(|part| &part.variables_from);
                let from = used.map(|used| Arc::clone(&used.name)).collect();
                self.put((Kind::Graph, Arc::clone(&graph.name)), frame, from, None, maps)
            }
            Fact::PodGone { name } => self.forget(&(Kind::Pod, Arc::clone(name))),
            Fact::GraphGone { name } => self.forget(&(Kind::Graph, Arc::clone(name))),
            _ => None,
        })
    }

    fn forget(&mut self, key: &(Kind, Arc<str>)) -> Option<ConfigMaps> {
        let known = self.kept.remove(key)?;
        self.bytes = self.bytes.saturating_sub(known.frame.len());
        None
    }

    fn put(
        &mut self,
        key: (Kind, Arc<str>),
        frame: &Frame,
        from: BTreeSet<Arc<str>>,
        life: Option<Life>,
        maps: &ConfigMaps,
    ) -> Option<ConfigMaps> {
        let before = self.kept.remove(&key);
        self.bytes = self.bytes.saturating_sub(before.as_ref().map_or(0, |it| it.frame.len()));
        if from.is_empty() {
            return None;
        }
        let same = before.filter(|before| life.is_some() && before.life == life);
        let mut seen = ConfigMaps::new();
        for name in &from {
            let then = same.as_ref().and_then(|before| before.seen.get(name));
            if let Some(variables) = then.or_else(|| maps.get(name)) {
                seen.insert(Arc::clone(name), variables.clone());
            }
        }
        let differs = from.iter().any(|name| seen.get(name) != maps.get(name));
        let again = differs.then(|| seen.clone());
        if self.bytes + frame.len() <= BYTE_LIMIT {
            self.bytes += frame.len();
            self.kept.insert(key, Dependent { frame: frame.clone(), from, life, seen });
        }
        again
    }

    /// Returns the frames to read again now that `name` changed, each with what it is to be read with.
    fn lend(&mut self, name: &Arc<str>, maps: &ConfigMaps) -> Vec<(Frame, ConfigMaps)> {
        let mut again = Vec::new();
        for borrower in self.kept.values_mut().filter(|borrower| borrower.from.contains(name)) {
            if borrower.life.is_some() && borrower.seen.contains_key(name) {
                continue;
            }
            match maps.get(name) {
                Some(variables) => {
                    borrower.seen.insert(Arc::clone(name), variables.clone());
                }
                None => {
                    borrower.seen.remove(name);
                }
            }
            again.push((borrower.frame.clone(), borrower.seen.clone()));
        }
        again
    }
}
