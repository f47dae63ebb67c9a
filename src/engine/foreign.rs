//! Tells Dynamo namespaces that count from others: those of the deployments that are looked at.
//! Others may share the event plane and the discovery store.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::journal::Head;
use super::origin::NAME_LIMIT;
use super::{Fleet, Learner};
use crate::domain::{Fact, LogWarning, SourceName, Subject, WorkerId};
use crate::dynamo::plane;
use crate::frame::{Body, Frame, Origin};
use crate::model::Cluster;
use crate::snapshot::{EventKind, Gravity};
use crate::wire;

/// Most foreign namespaces that are told apart.
const NAMESPACES: usize = 64;

/// Most workers of foreign namespaces that are remembered.
const WORKERS: usize = 16_384;

/// Subjects whose verdict is remembered.
const REMEMBERED: usize = 32;

/// The Dynamo namespaces of the deployments looked at, and what came from others.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// The inputs of the names: the cluster's changes and the choice.
    made_for: Option<(u64, Option<String>)>,
    /// Namespaces of the pods that were seen, those that are gone among them.
    exact: BTreeSet<Arc<str>>,
    /// Namespaces to which workers may append a suffix: as long as no worker's pod names its own.
    bases: BTreeSet<Arc<str>>,
    /// Namespaces of other deployments.
    others: BTreeSet<Arc<str>>,
    /// Grows whenever the names change.
    generation: u64,
    verdicts: Vec<(Arc<str>, bool)>,
    /// The namespaces of workers, as their records name them: a router of several namespaces writes of all, and Kubernetes
    /// shows the records of every deployment of its namespace.
    workers: BTreeMap<WorkerId, Arc<str>>,
    /// Pods of the deployments looked at: what they run is not foreign, whatever its records are called.
    pods: HashSet<Arc<str>>,
    /// The workers that pods run, where logs or discovery say so.
    run_by: BTreeMap<Arc<str>, WorkerId>,
    /// Messages and records from each foreign namespace, which count for nothing else.
    pub(super) counts: BTreeMap<Arc<str>, u64>,
}

/// The Dynamo namespace of a frame, as its origin tells.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Home<'a> {
    Named(Cow<'a, str>),
    /// As streams name it: in lower case, with a dash for what is no letter or digit.
    Slug(&'a str),
}

impl Foreign {
    /// Learns the names again, where something that they come from has changed.
    fn refresh(&mut self, cluster: &Cluster, dgd: Option<&str>, named: Option<&str>) {
        let before = self.made_for.as_ref();
        let same_choice = before.is_some_and(|(_, before)| before.as_deref() == dgd);
        if same_choice && before.is_some_and(|(changes, _)| *changes == cluster.changes()) {
            return;
        }
        if !same_choice {
            self.exact.clear();
        }
        self.made_for = Some((cluster.changes(), dgd.map(str::to_owned)));
        self.generation += 1;
        self.verdicts.clear();
        self.bases.clear();
        self.others.clear();
        self.pods.clear();
        if let Some(named) = named {
            self.exact.insert(named.into());
            return;
        }
        let chosen = |graph: Option<&str>| dgd.is_none() || graph == dgd;
        let mut workers = false;
        for record in cluster.pods() {
            let pod = &record.pod;
            let Some(name) = &pod.dynamo_namespace else { continue };
            if !chosen(pod.graph.as_deref()) {
                self.others.insert(Arc::clone(name));
            } else if pod.role.is_router() || pod.role.is_worker() {
                workers |= pod.role.is_worker();
                self.pods.insert(Arc::clone(&pod.name));
                self.exact.insert(Arc::clone(name));
                self.bases.insert(Arc::clone(name));
            }
        }
        for graph in cluster.graphs() {
            let Some(name) = &graph.dynamo_namespace else { continue };
            if chosen(Some(&graph.name)) {
                self.exact.insert(Arc::clone(name));
                self.bases.insert(Arc::clone(name));
            } else {
                self.others.insert(Arc::clone(name));
            }
        }
        if workers {
            self.bases.clear();
        }
    }

    /// Remembers the worker that the key of a record of a foreign namespace names.
    fn note_worker(&mut self, key: &str) {
        let Some(worker) = key.rsplit('/').next().and_then(|id| u64::from_str_radix(id, 16).ok())
        else {
            return;
        };
        let Some(home) = recorded(key) else { return };
        let name: &str = match &home {
            Home::Named(name) => name,
            Home::Slug(name) => name,
        };
        self.note_home(WorkerId(worker), &name.into());
    }

    /// Notes that a record puts `worker` into `namespace`.
    pub(super) fn note_home(&mut self, worker: WorkerId, namespace: &Arc<str>) {
        self.workers.insert(worker, Arc::clone(namespace));
        // Ids of leases grow: the lowest are the oldest.
        while self.workers.len() > WORKERS {
            self.workers.pop_first();
        }
    }

    /// Notes that `pod` runs `worker`.
    pub(super) fn note_pod(&mut self, pod: &Arc<str>, worker: WorkerId) {
        self.run_by.insert(Arc::clone(pod), worker);
        while self.run_by.len() > WORKERS {
            self.run_by.pop_first();
        }
    }

    /// Returns the namespace of the deployments looked at, if they have one and it is known.
    pub(super) fn chosen(&self) -> Option<&Arc<str>> {
        let mut known = self.exact.iter();
        known.next().filter(|_| known.next().is_none())
    }

    /// Returns true when a namespace of the deployments looked at is known.
    fn knows_any(&self) -> bool {
        !self.exact.is_empty() || !self.bases.is_empty()
    }

    /// Returns true when the namespaces of the deployments looked at are known, and this is none of them.
    fn is_foreign(&self, home: &Home<'_>) -> bool {
        if !self.knows_any() {
            return false;
        }
        let known = || self.exact.iter().chain(&self.bases);
        let is = |name: &str| match home {
            Home::Named(own) => **own == *name,
            Home::Slug(own) => plane::slug(name) == **own,
        };
        if known().any(|name| is(name)) {
            return false;
        }
        if self.others.iter().any(|name| is(name)) {
            return true;
        }
        let suffixed = |base: &Arc<str>| {
            let (own, base) = match home {
                Home::Named(own) => (&**own, Cow::Borrowed(&**base)),
                Home::Slug(own) => (*own, Cow::Owned(plane::slug(base))),
            };
            plane::without_suffix(own) == Some(&*base)
        };
        !self.bases.iter().any(suffixed)
    }
}

impl Learner<'_> {
    /// Returns true for a frame of a Dynamo namespace that none of the deployments looked at uses, and
    /// counts it.
    pub(super) fn is_foreign(&mut self, frame: &Frame, source: &SourceName) -> bool {
        // A list of pods changes the names with each of them: they are learned again where somebody asks.
        if matches!(frame.origin, Origin::Kube { .. } | Origin::Log { .. } | Origin::Metrics { .. })
        {
            return false;
        }
        self.refresh_foreign();
        let generation = self.known.fleet.foreign.generation;
        let lane = self.pending.lanes.lane(frame);
        if lane.as_ref().is_some_and(|lane| lane.ours == Some(generation)) {
            return false;
        }
        let Some((text, home)) = home_of(frame) else { return false };
        let known =
            self.known.fleet.foreign.verdicts.iter().find(|(subject, _)| **subject == *text);
        let foreign = known
            .map_or_else(|| self.known.fleet.foreign.is_foreign(&home), |(_, foreign)| *foreign);
        if known.is_none() {
            if self.known.fleet.foreign.verdicts.len() >= REMEMBERED {
                self.known.fleet.foreign.verdicts.clear();
            }
            self.known.fleet.foreign.verdicts.push((text.into(), foreign));
        }
        if foreign {
            self.note_foreign(&home, frame, source);
            if let Origin::Etcd { key, .. } | Origin::File { key, .. } = &frame.origin {
                self.known.fleet.foreign.note_worker(key);
            }
        } else if let Some(lane) = self.pending.lanes.lane(frame) {
            lane.ours = Some(generation);
        }
        foreign
    }

    /// Learns which namespaces are foreign, where pods, graph deployments or the choice have changed.
    pub(super) fn refresh_foreign(&mut self) {
        let named = self.known.options.dynamo_namespace.as_deref();
        self.known.fleet.foreign.refresh(
            &self.known.shown.cluster,
            self.known.options.dgd.as_deref(),
            named,
        );
    }

    fn note_foreign(&mut self, home: &Home<'_>, frame: &Frame, source: &SourceName) {
        let name: &str = match home {
            Home::Named(name) => name,
            Home::Slug(name) => name,
        };
        let name = wire::printable(name, NAME_LIMIT);
        if let Some(count) = self.known.fleet.foreign.counts.get_mut(&*name) {
            *count += 1;
            return;
        }
        if self.known.fleet.foreign.counts.len() >= NAMESPACES {
            return;
        }
        let name: Arc<str> = name.into();
        let head = Head {
            at: frame.happened(),
            who: "kvtop",
            kind: EventKind::Source,
            gravity: Gravity::Notice,
            source,
            orphan: false,
            worker: None,
            class: "foreign",
        };
        let text = format!(
            "ignoring Dynamo namespace {name}: it belongs to none of the deployments looked at"
        );
        self.known.record.journal.add(head, self.frame, || text);
        self.known.fleet.foreign.counts.insert(name, 1);
    }
}

impl Fleet {
    /// Returns true for a worker of a Dynamo namespace that is foreign: by its records, or by events that had been
    /// counted before the namespace turned out to be foreign.
    pub(super) fn is_foreign_worker(&self, worker: WorkerId) -> bool {
        if !self.foreign.knows_any() {
            return false;
        }
        let record = self.workers.worker(worker);
        let elsewhere =
            |name: &&Arc<str>| self.foreign.is_foreign(&Home::Named(Cow::Borrowed(name)));
        if self.foreign.workers.get(&worker).is_some_and(|name| elsewhere(&name)) {
            let pod = record.and_then(|record| record.pod.as_ref());
            return pod.is_none_or(|pod| !self.foreign.pods.contains(pod));
        }
        self.published_in(worker).is_some_and(|home| self.foreign.is_foreign(&home))
    }

    /// Returns the namespace under which the events of `worker` come.
    fn published_in(&self, worker: WorkerId) -> Option<Home<'_>> {
        let home = self.workers.worker(worker)?.home.as_deref()?;
        match home.strip_prefix(plane::SUBJECT_START) {
            Some(name) => Some(Home::Named(decoded(name))),
            None => slugged(home),
        }
    }

    /// Returns the name of the namespace under which the events of `worker` come: one of `known` where it is spelled as
    /// streams spell that, or else as it is spelled there.
    pub(super) fn namespace_of_events(
        &self,
        worker: WorkerId,
        known: &BTreeSet<Arc<str>>,
    ) -> Option<Arc<str>> {
        match self.published_in(worker)? {
            Home::Named(name) => Some(wire::printable(&name, NAME_LIMIT).into()),
            Home::Slug(slug) => {
                let same = known.iter().find(|name| plane::slug(name) == slug);
                Some(same.map_or_else(|| wire::printable(slug, NAME_LIMIT).into(), Arc::clone))
            }
        }
    }

    /// Returns how many workers of the deployments looked at are in discovery.
    pub(super) fn members(&self) -> u64 {
        self.workers.members(|worker| !self.is_foreign_worker(worker))
    }

    /// Returns true for a pod that runs a worker of a foreign Dynamo namespace, or a router that has only such workers.
    pub(super) fn is_foreign_pod(&self, pod: &str) -> bool {
        if !self.foreign.knows_any() {
            return false;
        }
        let worker = self.foreign.run_by.get(pod);
        worker.is_some_and(|worker| self.is_foreign_worker(*worker))
            || self
                .homes
                .of(pod)
                .is_some_and(|home| self.foreign.is_foreign(&Home::Named(Cow::Borrowed(&home))))
    }

    /// Returns the foreign Dynamo namespaces, each with how much of it was ignored: messages that came once
    /// it was known to be foreign, and KV events of its workers that had been taken in before.
    pub(super) fn ignored(&self) -> Vec<(String, u64)> {
        let mut counts = self.foreign.counts.clone();
        let ranks = self.workers.ranks().iter().filter(|_| self.foreign.knows_any());
        for record in ranks {
            let worker = record.rank.worker;
            let home = self.workers.worker(worker).and_then(|worker| worker.home.clone());
            let Some(home) = home.filter(|_| self.is_foreign_worker(worker)) else { continue };
            let name = home
                .strip_prefix(plane::SUBJECT_START)
                .or_else(|| home.strip_prefix(plane::STREAM_START));
            let events = record.counters.stores + record.counters.removed_blocks;
            *counts.entry(name.unwrap_or(&home).into()).or_default() += events;
        }
        counts.into_iter().map(|(name, count)| (name.to_string(), count)).collect()
    }

    /// Returns true for what a router tells of a worker of a foreign Dynamo namespace.
    pub(super) fn is_foreign_fact(&self, fact: &Fact) -> bool {
        let worker = match fact {
            Fact::Decision(decision) => decision.worker,
            Fact::Formula(term) => term.rank.worker,
            Fact::Overlap(overlap) => overlap.rank.worker,
            Fact::HitRate(hit) => hit.rank.worker,
            Fact::Load(load) => load.rank.worker,
            Fact::Warning(LogWarning { rank: Some(rank), .. }) => rank.worker,
            _ => return false,
        };
        self.is_foreign_worker(worker)
    }

    /// Returns true when `subject` is a worker or a pod of a foreign Dynamo namespace.
    pub(super) fn is_foreign_subject(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Worker(worker) => self.is_foreign_worker(*worker),
            Subject::Pod(pod) => self.is_foreign_pod(pod),
            Subject::Component { .. } | Subject::Deployment => false,
        }
    }
}

/// Returns the text that tells the Dynamo namespace of a frame, and which it is.
fn home_of(frame: &Frame) -> Option<(&str, Home<'_>)> {
    match &frame.origin {
        Origin::Nats { subject, .. } => {
            let home = named(subject).or_else(|| slugged(subject))?;
            Some((subject, home))
        }
        Origin::Jetstream { subject, .. } => Some((subject, slugged(subject)?)),
        Origin::Zmq { .. } => {
            let Body::Parts(parts) = &frame.body else { return None };
            // Brokers of 1.4 and later put the whole subject where others put the topic.
            let topic = std::str::from_utf8(parts.first()?).ok()?;
            Some((topic, named(topic)?))
        }
        Origin::Etcd { key, .. } | Origin::File { key, .. } => Some((key, recorded(key)?)),
        Origin::Log { .. }
        | Origin::Metrics { .. }
        | Origin::Kube { .. }
        | Origin::Indexer { .. }
        | Origin::Health { .. } => None,
    }
}

/// Reads `namespace.NAME.component.…` and `namespace.NAME.kv_metrics`; from Dynamo 1.4 on NAME is
/// percent-encoded, before that it may have dots.
fn named(subject: &str) -> Option<Home<'_>> {
    let rest = subject.strip_prefix(plane::SUBJECT_START)?;
    let end = rest.find(plane::SUBJECT_COMPONENT).or_else(|| rest.rfind('.'))?;
    Some(Home::Named(decoded(rest.get(..end)?)))
}

/// Returns the Dynamo namespace that a message of the event plane names.
pub(super) fn namespace(origin: &Origin) -> Option<Arc<str>> {
    let Origin::Nats { subject, .. } = origin else { return None };
    match named(subject)? {
        Home::Named(name) => Some(wire::printable(&name, NAME_LIMIT).into()),
        Home::Slug(_) => None,
    }
}

/// Reads `namespace-NAME-component-…`.
fn slugged(subject: &str) -> Option<Home<'_>> {
    let rest = subject.strip_prefix(plane::STREAM_START)?;
    Some(Home::Slug(rest.get(..rest.rfind(plane::STREAM_COMPONENT).unwrap_or(rest.len()))?))
}

/// Reads the keys of discovery records of workers, `v1/instances/NAME/…` and `v1/mdc/NAME/…`. Records of
/// channels only lead to sources, which are chosen by their namespace.
fn recorded(key: &str) -> Option<Home<'_>> {
    let rest = key.strip_prefix(plane::ENDPOINTS).or_else(|| key.strip_prefix(plane::CARDS))?;
    let (name, _) = rest.split_once('/')?;
    Some(Home::Named(decoded(name)))
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Graph, Pod, Role, Timestamp};

    fn cluster(pods: &[(&str, Role, &str, &str)], graphs: &[(&str, &str)]) -> Cluster {
        let mut cluster = Cluster::default();
        for (name, role, graph, namespace) in pods {
            let pod = Pod {
                name: (*name).into(),
                role: *role,
                graph: Some((*graph).into()),
                dynamo_namespace: Some((*namespace).into()),
                ..Pod::default()
            };
            cluster.set_pod(&pod, Timestamp(1));
        }
        for (name, namespace) in graphs {
            let graph = Graph {
                name: (*name).into(),
                namespace: "k".into(),
                api: None,
                generation: None,
                changed: None,
                backend: None,
                dynamo_namespace: Some((*namespace).into()),
                components: Vec::new(),
            };
            cluster.set_graph(&graph, Timestamp(1));
        }
        cluster
    }

    fn foreign(cluster: &Cluster, dgd: Option<&str>, subject: &str) -> bool {
        let mut foreign = Foreign::default();
        foreign.refresh(cluster, dgd, None);
        let origin = Origin::nats(subject);
        let frame = Frame::new(Timestamp(1), origin, "");
        home_of(&frame).is_some_and(|(_, home)| foreign.is_foreign(&home))
    }

    const A: &str = "namespace.a.component.backend.kv-events";
    const B: &str = "namespace.b.component.backend.kv-events";
    const B_STREAM: &str = "namespace-b-component-backend-kv-events.kv-events";

    #[test]
    fn events_of_other_deployments_are_foreign_and_nothing_is_while_none_is_known() {
        assert!(!foreign(&Cluster::default(), None, B));
        let known = cluster(&[("f", Role::Frontend, "g", "a"), ("w", Role::Worker, "g", "a")], &[]);
        assert!(!foreign(&known, None, A));
        assert!(foreign(&known, None, B) && foreign(&known, None, B_STREAM));
        // What routers tell each other and everybody is published for the whole namespace.
        assert!(!foreign(&known, None, "namespace.a.kv_metrics"));
        assert!(foreign(&known, None, "namespace.b.kv-hit-rate"));
    }

    #[test]
    fn the_choice_of_a_deployment_makes_its_neighbour_foreign() {
        let pods = [("w", Role::Worker, "g", "a"), ("v", Role::Worker, "h", "b")];
        let known = cluster(&pods, &[("g", "a"), ("h", "b")]);
        assert!(!foreign(&known, None, B_STREAM));
        assert!(foreign(&known, Some("g"), B_STREAM) && !foreign(&known, Some("h"), B_STREAM));
    }

    #[test]
    fn a_suffix_of_a_rollout_is_no_other_namespace_while_no_pod_names_it() {
        let subject = "namespace.a-5f8c21ab.component.backend.kv-events";
        let other = "namespace.a-canary.component.backend.kv-events";
        let graph = cluster(&[("f", Role::Frontend, "g", "a")], &[("g", "a")]);
        assert!(!foreign(&graph, None, subject) && foreign(&graph, None, other));
        let pods = cluster(&[("w", Role::Worker, "g", "a-0000aaaa")], &[("g", "a")]);
        assert!(foreign(&pods, None, subject));
    }

    #[test]
    fn names_are_compared_as_subjects_spell_them() {
        let known = cluster(&[("w", Role::Worker, "g", "GTC_demo.x")], &[]);
        let stream = "namespace-gtc-demo-x-component-tensorrt-llm-kv-events.kv-events";
        assert!(!foreign(&known, None, stream));
        assert!(!foreign(&known, None, "namespace.GTC_demo%2Ex.component.backend.kv-events"));
        assert!(foreign(&known, None, "namespace.gtc_demo.component.backend.kv-events"));
    }
}
