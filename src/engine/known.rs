//! Everything that is known about a deployment: a plain value, divided by topic.
//!
//! `learn` writes it, `judge` and `picture` read it. Each function takes the topics that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::EngineOptions;
use super::config_map_dependents::ConfigMapDependents;
use super::explorer::Explorer;
use super::foreign::Foreign;
use super::journal::Journal;
use super::learn::{Prefilled, UnlinkedEngines};
use super::ledger::Accounts;
use super::meters::Meters;
use super::warm_up::WarmUp;
use crate::domain::{Plane, SetMade, Timestamp, WorkerId, WorkerRank};
use crate::metrics::RANK_HISTORY;
use crate::mirror::{Mirror, Semantics};
use crate::model::{
    Arrivals, CachedTokens, CapacityCurve, Channels, Claims, Cluster, Decisions, Family, Fractions,
    Homes, KnownMaps, Latencies, Loads, MissingParents, Refused, RejectLog, RequestMix, Reuse,
    ReuseWindow, Router, Slots, Sources, Traffic, Versions, WorkerRecord, Workers,
};
use crate::wire::Shape;

/// Decisions that are kept where only verdicts and present figures are wanted, beyond those that a rule needs.
const BRIEF_DECISIONS: usize = 28;

/// Everything that is known.
pub(super) struct Knowledge {
    /// The choices of the user.
    pub(super) options: EngineOptions,
    pub(super) times: Times,
    pub(super) shown: Shown,
    pub(super) fleet: Fleet,
    pub(super) streams: Streams,
    pub(super) routing: Routing,
    pub(super) index: Index,
    pub(super) record: Record,
}

impl Knowledge {
    /// Returns the knowledge of somebody who saw nothing yet.
    pub(super) fn new(options: EngineOptions) -> Self {
        let index = Index {
            mirror: Mirror::new(Semantics::PerBlock, options.memory_limit),
            explorer: Explorer::default(),
            warm_up: WarmUp::default(),
        };
        let workers = Workers::within(options.memory_limit);
        let (mut record, mut routing) = (Record::default(), Routing::default());
        if options.brief {
            record = Record { meters: Meters::new(RANK_HISTORY), journal: Journal::brief() };
            let needed = usize::try_from(options.thresholds.min_decisions).unwrap_or(usize::MAX);
            routing.decisions = Decisions::brief(needed.saturating_add(BRIEF_DECISIONS));
        }
        Self {
            options,
            times: Times::default(),
            shown: Shown::default(),
            fleet: Fleet { workers, ..Fleet::default() },
            streams: Streams::default(),
            routing,
            index,
            record,
        }
    }

    /// Returns the releases that what was chosen may run.
    pub(super) fn family(&self) -> Family {
        let setup = self.setup();
        self.fleet.versions.family(|subject| setup.is_chosen(subject))
    }

    /// Returns the costs of the workers that are there.
    pub(super) fn fractions(&self) -> Fractions {
        let fleet = &self.fleet;
        let listed = fleet.members() > 0;
        self.routing
            .router
            .fractions
            .of(|worker| !fleet.is_gone(worker) && (!listed || fleet.workers.is_listed(worker)))
    }

    /// Returns how the deployment is set up.
    pub(super) fn setup(&self) -> Setup<'_> {
        Setup {
            options: &self.options,
            shown: &self.shown,
            fleet: &self.fleet,
            routing: &self.routing,
        }
    }
}

/// Kubernetes objects and discovery records.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) cluster: Cluster,
    pub(super) maps: KnownMaps,
    pub(super) config_map_dependents: ConfigMapDependents,
    pub(super) channels: Channels,
}

impl Shown {
    /// Returns true while Kubernetes shows the pod of a worker.
    pub(super) fn has_pod(&self, record: &WorkerRecord) -> bool {
        record.pod.as_deref().is_some_and(|pod| self.cluster.pod(pod).is_some())
    }

    /// Returns true for pods that Kubernetes no longer shows.
    pub(super) fn is_deleted(&self, pod: &str) -> bool {
        self.cluster.pods().next().is_some() && self.cluster.pod(pod).is_none()
    }
}

/// Workers, and the claims about them and about routers.
#[derive(Default)]
pub(super) struct Fleet {
    pub(super) workers: Workers,
    pub(super) claims: Claims,
    pub(super) loads: Loads,
    pub(super) versions: Versions,
    pub(super) refused: Refused,
    pub(super) homes: Homes,
    pub(super) arrivals: Arrivals,
    pub(super) served: Served,
    pub(super) foreign: Foreign,
    /// Engines that the user named by address, and whose workers are not known yet.
    pub(super) unlinked: UnlinkedEngines,
    /// The sign that KV events of each rank gave of its release, by position among the ranks.
    pub(super) signed: Vec<Option<EventSign>>,
}

/// A sign of KV events that was noted: their form, the plane, and the changes of all signs until then.
pub(super) type EventSign = (Shape, Plane, u64);

impl Fleet {
    /// Returns the short name of a rank: `w0`, or `w0/1` where the rank is not the only one.
    pub(super) fn alias(&self, rank: WorkerRank) -> String {
        let alias = self.workers.alias(rank.worker);
        if rank.dp_rank.0 == 0 { alias } else { format!("{alias}/{}", rank.dp_rank) }
    }

    /// Notes that a router made a set of workers at `at`.
    pub(super) fn set_made(&mut self, made: &SetMade, at: Timestamp) {
        if let Some((namespace, _)) = made.set.split_once(',') {
            self.homes.note(&made.router, &namespace.into());
        }
        self.refused.note_set(made, at);
    }

    /// Returns true for a worker that has not left, and is of the deployments looked at.
    pub(super) fn is_there(&self, worker: WorkerId) -> bool {
        !self.is_gone(worker) && !self.is_foreign_worker(worker)
    }

    /// Returns the positions of the ranks whose workers are there.
    pub(super) fn present_ranks(&self) -> Vec<u32> {
        let ranks = self.workers.ranks().iter().enumerate();
        let present = ranks.filter(|(_, record)| self.is_there(record.rank.worker));
        present.filter_map(|(index, _)| u32::try_from(index).ok()).collect()
    }

    /// Notes the sign that KV events of the rank at `index` gave.
    pub(super) fn note_sign(&mut self, index: usize, sign: EventSign) {
        if index < self.workers.ranks().len() {
            let ranks = self.workers.ranks().len().max(self.signed.len());
            self.signed.resize(ranks, None);
            self.signed[index] = Some(sign);
        }
    }

    /// Returns true for a worker that left.
    pub(super) fn is_gone(&self, worker: WorkerId) -> bool {
        self.workers.worker(worker).is_some_and(|worker| worker.gone)
    }

    /// Returns when `worker` last published, or was last routed to.
    pub(super) fn last_act(&self, worker: WorkerId) -> Option<Timestamp> {
        let ranks = self.workers.ranks().iter().filter(|record| record.rank.worker == worker);
        ranks.filter_map(|record| record.last_event.max(record.last_routed)).max()
    }
}

/// Streams of messages: what came, what is missing, and which plane brings KV events.
#[derive(Default)]
pub(super) struct Streams {
    pub(super) sources: Sources,
    pub(super) rejects: RejectLog,
    pub(super) deployment: Deployed,
    pub(super) accounts: Accounts,
    pub(super) history: History,
}

/// Routers: what they report, decide and lack, and what prefixes tell of them.
#[derive(Default)]
pub(super) struct Routing {
    pub(super) router: Router,
    pub(super) latencies: Latencies,
    /// Prompt tokens that engines had cached.
    pub(super) cached_tokens: CachedTokens,
    /// Requests, their lengths and the time of their first token.
    pub(super) mix: RequestMix,
    pub(super) decisions: Decisions,
    pub(super) prefixes: Prefixes,
    pub(super) missing_parents: MissingParents,
    pub(super) prefilled: Prefilled,
    /// Tokens and blocks that pods counted.
    pub(super) traffic: Traffic,
}

/// The copy of the routers' index.
pub(super) struct Index {
    pub(super) mirror: Mirror,
    pub(super) explorer: Explorer,
    pub(super) warm_up: WarmUp,
}

/// Series over time, and the last events in words.
#[derive(Default)]
pub(super) struct Record {
    pub(super) meters: Meters,
    pub(super) journal: Journal,
}

/// The parts of a deployment: its pods, its workers and their claims, and who routes.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    pub(super) options: &'a EngineOptions,
    pub(super) shown: &'a Shown,
    pub(super) fleet: &'a Fleet,
    pub(super) routing: &'a Routing,
}

/// Counts of prefixes, to tell a blind router from prompts that share nothing.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    pub(super) reuse: Reuse,
    pub(super) reuse_window: ReuseWindow,
    pub(super) curve: CapacityCurve,
    /// Until then nobody needs to follow chains: routers were seen to find prefixes.
    pub(super) idle_until: Timestamp,
}

/// The models that workers serve and the Dynamo namespaces that they are in, as far as it matters: one, or several.
#[derive(Debug, Default)]
pub(super) struct Served {
    model: Option<Arc<str>>,
    namespace: Option<Arc<str>>,
    several: bool,
}

impl Served {
    /// Notes that a worker serves `model`.
    pub(super) fn note_model(&mut self, model: &Arc<str>) {
        self.several |= self.model.get_or_insert_with(|| Arc::clone(model)) != model;
    }

    /// Returns true once workers were seen to serve several models, or to be in several namespaces.
    pub(super) fn is_several(&self) -> bool {
        self.several
    }

    /// Notes that a worker is in `namespace`.
    pub(super) fn note_namespace(&mut self, namespace: &Arc<str>) {
        let first = self.namespace.get_or_insert_with(|| Arc::clone(namespace));
        self.several |= first != namespace;
    }
}

/// The times that were seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// Time of the first frame.
    pub(super) first: Option<Timestamp>,
    /// Arrival of the first frame: from then on everything is watched.
    pub(super) watched: Option<Timestamp>,
    /// Time of the first KV event, which is earlier where history was read.
    pub(super) kv: Option<Timestamp>,
    /// Time of the first log line, which may be earlier as well.
    pub(super) logs: Option<Timestamp>,
    /// Arrival of the newest frame.
    pub(super) newest: Timestamp,
    /// Arrival of the newest frame that is no source's note; none so far.
    pub(super) told: Option<Timestamp>,
    /// Time of the last thing that is counted: a KV event, a request, a warning.
    pub(super) active: Timestamp,
    /// The latest time at which anything happened.
    pub(super) cursor: Timestamp,
    /// The second of the last message of a stream's history.
    pub(super) history: u64,
    /// The seconds in which things are counted.
    pub(super) slots: Slots,
    /// Frames so far.
    pub(super) frames: u64,
}

/// Facts about the deployment as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Deployed {
    pub(super) namespace: Option<Arc<str>>,
    pub(super) shape: Option<Shape>,
    pub(super) plane: Option<Plane>,
    /// True once events of another shape than before came.
    pub(super) changed: bool,
}

/// The state of the past that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// True when only the newest part of histories comes in.
    partial: bool,
    /// Streams that were read from their first message.
    pub(super) whole: BTreeSet<Arc<str>>,
    /// Streams whose first messages had been deleted.
    pub(super) aged: BTreeSet<Arc<str>>,
    /// The time for which each of them keeps messages; none for one that keeps them for ever, or does not say.
    keeps: BTreeMap<Arc<str>, Option<Duration>>,
    /// Messages that are known to be missing.
    pub(super) lost: u64,
    /// The time the last of them were found to be missing; none once all of them came.
    pub(super) lost_at: Option<Timestamp>,
    /// Of those, the ones that passed by while kvtop's own connection was away.
    pub(super) missed: u64,
}

/// Most streams whose history is told apart; a deployment has a few.
const STREAM_LIMIT: usize = 256;

impl History {
    /// Returns that of somebody who gets the newest part alone.
    pub(super) fn partial() -> Self {
        Self { partial: true, ..Self::default() }
    }

    /// Returns true when only the newest part of histories comes in.
    pub(super) const fn is_partial(&self) -> bool {
        self.partial
    }

    /// Notes how much of a stream there was to be read.
    pub(super) fn note(&mut self, stream: &Arc<str>, whole: bool) {
        let streams = if whole { &mut self.whole } else { &mut self.aged };
        if streams.len() < STREAM_LIMIT {
            streams.insert(Arc::clone(stream));
        }
    }

    /// Notes the time for which a stream keeps messages.
    pub(super) fn keep(&mut self, stream: &Arc<str>, keeps: Option<Duration>) {
        if self.keeps.len() < STREAM_LIMIT || self.keeps.contains_key(stream) {
            self.keeps.insert(Arc::clone(stream), keeps);
        }
    }

    /// Returns the longest time for which a stream keeps messages; none where one keeps them for ever or does not say.
    pub(super) fn keeps(&self) -> Option<Duration> {
        let mut all = self.keeps.values().copied();
        let first = all.next()??;
        all.try_fold(first, |longest, keeps| Some(longest.max(keeps?)))
    }

    /// Notes at `at` that `lost` messages are missing, of which `missed` passed by while kvtop's connection was away.
    pub(super) fn lose(&mut self, lost: u64, missed: u64, at: Timestamp) {
        self.lost = self.lost.saturating_add(lost);
        self.missed = self.missed.saturating_add(missed);
        self.lost_at = Some(at);
    }

    /// Notes that a missing message came late.
    pub(super) fn find(&mut self) {
        self.lost = self.lost.saturating_sub(1);
        self.missed = self.missed.min(self.lost);
        self.lost_at = self.lost_at.filter(|_| self.lost > 0);
    }

    /// Returns true while no stream's history was read.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.aged.is_empty()
    }

    /// Returns true when every stream was read from its first message.
    pub(super) fn is_whole(&self) -> bool {
        !self.partial && !self.whole.is_empty() && self.aged.is_empty()
    }
}

impl Times {
    /// Returns true for what happened after kvtop began to watch: anything earlier was read back.
    pub(super) fn is_live(&self, at: Timestamp) -> bool {
        self.watched.is_some_and(|watched| at >= watched)
    }

    /// Returns the time from which rates of KV events are measured.
    pub(super) fn since_kv(&self) -> Timestamp {
        self.kv.into_iter().chain(self.watched).min().unwrap_or(self.cursor)
    }

    /// Returns the time from which rates of log lines are measured.
    pub(super) fn since_logs(&self) -> Timestamp {
        self.logs.into_iter().chain(self.watched).min().unwrap_or(self.cursor)
    }
}
