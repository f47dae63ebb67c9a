//! The input of rules: plain values, counted over one window.
//!
//! The engine fills it in; rules read nothing else, so each rule is a pure function.

mod models;
pub(in crate::diagnose) use models::MODELS;
pub use models::{Pool, pools};
mod names;
mod router;
mod settings;
mod silence;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use router::{Regret, Rejecting, RouterEvidence, RouterHits, SizeByCosts};
pub use settings::{Ground, OfWorker, RouterKind, Setting, Settings, SizeClaim, Unreadable};
pub use silence::Silence;

use super::fix::Objects;
use super::objectives::Objectives;
use super::thresholds::Thresholds;
use crate::diagnose::phrase::{Phrase, phrase};
use crate::domain::{
    Backend, CardRefused, Peers, Plane, RegistrationRefused, Releases, SourceName, Timestamp,
    Trouble, Unreached, WorkerId, WorkerRank,
};
use crate::dynamo::router::KV;
use crate::model::{Avoided, InFlight, Owed, Percentiles, RequestTally, RouterTally, Tally};

/// All evidence that rules may read.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The moment.
    pub at: Timestamp,
    /// From when on things are counted.
    pub since: Timestamp,
    /// Arrival of the first frame.
    pub attached: Timestamp,
    /// Time of the last thing that is counted: a KV event, a request, a warning.
    pub active: Option<Timestamp>,
    /// From when on every KV event was seen, live or in history; none while no source of them delivers.
    pub listens: Option<Timestamp>,
    /// The reason why it is too early to judge: history is being read, or a source has yet to say what is there.
    pub reading: Option<String>,
    /// The thresholds of rules.
    pub thresholds: Thresholds,
    /// The Dynamo releases that the processes may run.
    pub releases: Releases,
    /// Two processes that cannot run the same release.
    pub mixed: Option<[Member; 2]>,
    /// One entry for each rank, in order of first sight.
    pub ranks: Vec<RankEvidence>,
    /// Engines that worker pods run, and those of components that have no pods yet.
    pub engines: Vec<Backend>,
    /// Ready pods of workers that should be in discovery and are not.
    pub unregistered: Vec<Unregistered>,
    /// Pods that were refused to register.
    pub refused: Vec<Refusal>,
    /// Workers that routers refuse because of their model cards.
    pub cards_refused: Vec<RefusedCard>,
    /// True where routers refused workers that left since, or were chosen.
    pub refusals_ended: bool,
    /// The worker that a router removed last, and when, as the router's log says.
    pub removed: Option<(Timestamp, WorkerId)>,
    /// Pods of workers that are starting or ending.
    pub unready: Vec<Arc<str>>,
    /// All routers together.
    pub router: RouterEvidence,
    /// Claims about block sizes, of all processes.
    pub sizes: Vec<SizeClaim>,
    /// Tokens in the largest block that each engine was seen to send: its blocks are of that size or larger.
    pub largest: Vec<SizeClaim>,
    /// The models that workers serve, as far as they say.
    pub models: Vec<(WorkerId, Arc<str>)>,
    /// The Dynamo namespaces of workers, as far as they are known.
    pub namespaces: Vec<(WorkerId, Arc<str>)>,
    /// The number of different models that worker pods and components are started with.
    pub models_set: usize,
    /// True where there are workers of Dynamo namespaces that none of the deployments looked at uses.
    pub has_foreign: bool,
    /// Workers with a model card whose instance is not in discovery, where those of others are: they do not serve
    /// yet, or not any more.
    pub unlisted: BTreeSet<WorkerId>,
    /// Settings, as far as they are known.
    pub settings: Settings,
    /// The mirror.
    pub tree: TreeEvidence,
    /// The event plane.
    pub plane: PlaneEvidence,
    /// The objects that a fix would change.
    pub objects: Arc<Objects>,
    /// Requests in flight and latencies of the last minute.
    pub load: LoadEvidence,
}

/// The last minute, as the metrics of frontends and workers show it.
#[derive(Clone, Debug, Default)]
pub struct LoadEvidence {
    /// Latency objectives.
    pub objectives: Objectives,
    /// Times to the first token.
    pub first_token: Option<Percentiles>,
    /// Tokens of a request that engines computed, prompt and answer, without those found in their caches: the mean of five
    /// minutes.
    pub computed_tokens: Option<f64>,
    /// The workers whose requests in flight are known.
    pub workers: Vec<WorkerLoad>,
}

/// The requests of one worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerLoad {
    /// The worker.
    pub id: WorkerId,
    /// Its name.
    pub name: Arc<str>,
    /// Requests in flight, those that wait inside the engine included.
    pub in_flight: InFlight,
    /// Requests that its engine runs at a time.
    pub batch_limit: Option<u64>,
}

/// A process whose release is known to some extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, for display.
    pub name: String,
    /// The releases that it may run.
    pub releases: Releases,
    /// The place the release was read from.
    pub by: String,
}

/// A pod that is not in discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unregistered {
    /// The pod.
    pub pod: Arc<str>,
    /// The time it appeared, or was first seen.
    pub since: Timestamp,
}

/// A pod that was refused to register, with the time of the last refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its own words.
    pub said: RegistrationRefused,
    /// The last time it said so.
    pub at: Timestamp,
}

/// A worker that a router refuses because its model card differs from that of the workers before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCard {
    /// The router's own words.
    pub said: CardRefused,
    /// The last time it said so.
    pub at: Timestamp,
}

/// Membership of a worker in the inspected deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// Its pod is shown; or there are no pods, and routers name it or it publishes where registered workers
    /// do.
    Here,
    /// Kubernetes is seen, and shows no pod of it, or nothing says whose it is: others may share the
    /// event plane.
    Perhaps,
}

/// One rank of a worker.
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
#[derive(Clone, Debug)]
pub struct RankEvidence {
    /// The rank.
    pub rank: WorkerRank,
    /// Its worker's name: the short form of its pod, or an alias such as `w0`.
    pub name: Arc<str>,
    /// Its pod.
    pub pod: Option<Arc<str>>,
    /// Its role, from discovery or its pod.
    pub role: Option<Arc<str>>,
    /// True once it left discovery.
    pub gone: bool,
    /// True when discovery named it at some time: only then can it leave discovery.
    pub was_named: bool,
    /// The time it left.
    pub left: Option<Timestamp>,
    /// Its start, as far as that was seen.
    pub started: Option<Timestamp>,
    /// Its engine.
    pub backend: Option<Backend>,
    /// True when discovery knows it.
    pub registered: bool,
    /// True when its blocks from before kvtop attached are known.
    pub past_known: bool,
    /// Messages with its events that are missing by their publisher's numbers: lately, or not made up for.
    pub missing: u64,
    /// KV events that did not come, by the numbers of those that did (Dynamo 0.9): lately, or not made up for.
    pub id_holes: u64,
    /// Of those, the ones that nothing made up for.
    pub open_holes: u64,
    /// KV events with numbers that the publisher skipped (Dynamo 0.9): lately, or not made up for.
    pub unpublished: u64,
    /// Stores that the mirror refused, and removed blocks that it did not know, since the start.
    pub unmatched: u64,
    /// Start of its present incarnation, as far as that is known.
    pub born: Option<Timestamp>,
    /// Counts of the window, of its present incarnation. Requests and refusals are those of the time in which
    /// KV events were watched too.
    pub tally: Tally,
    /// Requests of the window, whether KV events were watched or not.
    pub told: RequestTally,
    /// Requests to it since the last one with a cache hit.
    pub unhit: u64,
    /// Blocks that a router which saw every event would hold for it.
    pub accepted: u64,
    /// Blocks that it holds.
    pub held: u64,
    /// Capacity of its engine, in blocks.
    pub capacity: Option<u64>,
    /// Share of its blocks in use, 0 to 1.
    pub utilization: Option<f64>,
    /// Stored blocks that a larger cache would have avoided; none while its capacity is unknown.
    pub avoided: Option<Avoided>,
    /// Share of prompt tokens that its engine found cached, 0 to 1.
    pub hit_rate: Option<f64>,
    /// Time of its first KV event.
    pub first_event: Option<Timestamp>,
    /// Time of its last KV event.
    pub last_event: Option<Timestamp>,
    /// Time of the first request routed to it.
    pub first_routed: Option<Timestamp>,
    /// Time of the last request routed to it.
    pub last_routed: Option<Timestamp>,
    /// Requests since its last KV event.
    pub owed: Option<Owed>,
    /// Its membership in the inspected deployment.
    pub belongs: Belongs,
}

/// The mirror's totals.
#[derive(Clone, Debug, Default)]
pub struct TreeEvidence {
    /// Blocks over all ranks, as a router that saw every event would count them.
    pub accepted: u64,
    /// Blocks over all ranks.
    pub held: u64,
    /// Missing parents under which refused blocks hang.
    pub orphan_roots: u64,
    /// Refused blocks.
    pub orphan_blocks: u64,
    /// Reasons why the mirror may differ from a router's index.
    pub incomplete: Vec<String>,
}

/// The event plane.
#[derive(Clone, Debug, Default)]
pub struct PlaneEvidence {
    /// The plane that KV events came by; none before the first.
    pub name: Option<Plane>,
    /// Sources of events and of discovery records that do not deliver.
    pub down: Vec<DownSource>,
    /// The first source of events that is down, if no source of events delivers; none while one does, or none
    /// is wanted.
    pub deaf: Option<DownSource>,
    /// Sources that do not reach every publisher of KV events.
    pub unheard: Vec<Unheard>,
    /// Publishers that a source is connected to, where these are all.
    pub reached: u64,
    /// Planes on which KV events are published, by discovery records.
    pub advertised: Vec<AdvertisedPlane>,
    /// Sources of events that are open.
    pub open: Vec<SourceName>,
    /// Frames of KV events that kvtop itself lost since it attached, at least.
    pub dropped: u64,
    /// Reasons for which KV events could not be read, with counts.
    pub unreadable: Vec<String>,
    /// Members of discovery that serve requests.
    pub members: u64,
    /// True while a source that watches discovery is well. Recordings may hold but a copy of it.
    pub followed: bool,
    /// The time discovery named the first of them.
    pub listed: Option<Timestamp>,
    /// The longest time for which a stream of KV events keeps them, if all say.
    pub keeps: Option<Duration>,
    /// True when there is nothing but saved logs: no event can come.
    pub logs_only: bool,
}

/// A source that does not deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownSource {
    /// Its name.
    pub source: SourceName,
    /// The reason, in its own words.
    pub why: Arc<str>,
    /// The kinds of trouble behind the reason.
    pub troubles: Vec<Trouble>,
    /// Publishers that it reaches, and publishers that it should reach, if it connects to each.
    pub peers: Option<Peers>,
    /// The first publishers that it does not reach.
    pub unreached: Vec<Unreached>,
}

impl fmt::Display for DownSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.source, self.why)
    }
}

/// Publishers of KV events that a source does not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unheard {
    /// The source, with the reasons.
    pub source: DownSource,
    /// Publishers that it reaches, and publishers that it should reach.
    pub peers: Peers,
    /// Since when.
    pub since: Timestamp,
}

/// A way by which discovery records say that KV events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvertisedPlane {
    /// The plane they use.
    pub plane: Plane,
    /// Publishers.
    pub publishers: u64,
    /// The first address or subject.
    pub first: Arc<str>,
    /// The record that says so.
    pub record: Arc<str>,
}

/// Counts over one window.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Its beginning; none for everything.
    pub from: Option<Timestamp>,
    /// Of each rank, in the order of [`Evidence::ranks`].
    pub ranks: Vec<Tally>,
    /// Requests to each rank, in the same order, whether KV events were watched or not.
    pub told_ranks: Vec<RequestTally>,
    /// Of routers, while KV events were watched.
    pub router: RouterTally,
    /// Of routers, whether KV events were watched or not.
    pub told: RouterTally,
    /// Cached blocks that routers ignored; none if no decision logs every worker's cost.
    pub regret: Option<Regret>,
}

impl Evidence {
    /// Returns the evidence with what was counted over `window`.
    #[must_use]
    pub fn over(&self, window: &Window) -> Self {
        let mut evidence = self.clone();
        evidence.since = window.from.unwrap_or(self.since);
        for (rank, tally) in evidence.ranks.iter_mut().zip(&window.ranks) {
            rank.tally = *tally;
        }
        for (rank, told) in evidence.ranks.iter_mut().zip(&window.told_ranks) {
            rank.told = *told;
        }
        (evidence.router.tally, evidence.router.told) = (window.router, window.told);
        evidence.router.regret = window.regret;
        evidence
    }

    /// Returns the ranks that are in discovery, or that discovery never spoke of.
    pub fn present(&self) -> impl Iterator<Item = &RankEvidence> {
        self.ranks.iter().filter(|rank| !rank.gone)
    }

    /// Returns the stored blocks that larger caches would have avoided, over the present ranks of known capacity.
    pub fn avoided(&self) -> Avoided {
        let mut sum = Avoided::default();
        for avoided in self.present().filter_map(|rank| rank.avoided.as_ref()) {
            sum.add(avoided);
        }
        sum
    }

    /// Returns the sum of what was counted of present ranks.
    pub fn total(&self) -> Tally {
        let mut sum = Tally::default();
        for rank in self.present() {
            sum.add(&rank.tally);
        }
        sum
    }

    /// Returns the engine of all workers whose engine is known, when that is one; before any registered,
    /// that of their pods and components.
    pub fn backend(&self) -> Option<Backend> {
        let ranks: Vec<Backend> = self.present().filter_map(|rank| rank.backend).collect();
        let mut known = if ranks.is_empty() { self.engines.clone() } else { ranks }.into_iter();
        let first = known.next()?;
        known.all(|backend| backend == first).then_some(first)
    }

    /// Returns the workers' settings of publishing, when all say no, the router would listen, requests
    /// came to present workers, and no event did. Events of gone workers are no evidence about their successors. Requests
    /// from before kvtop listened count where routers found nothing cached for any of them.
    pub fn mute(&self) -> Option<Vec<&OfWorker<bool>>> {
        let settings = &self.settings;
        let publishing = settings.publishes.iter();
        let listens = settings.kv_events.as_ref().is_none_or(|events| events.value);
        let gone = || self.ranks.iter().filter(|rank| rank.gone);
        let left: u64 = gone().map(|rank| rank.tally.requests.routed).sum();
        let routed = self.router.tally.routed.saturating_sub(left);
        let served = routed.max(self.blind_before()) >= self.thresholds.min_silent_routed;
        let theirs = gone().any(|rank| rank.last_event.is_some());
        let heard = (self.router.tally.events > 0 && !theirs)
            || self.present().any(|rank| rank.last_event.is_some());
        let all = !settings.publishes.is_empty() && publishing.clone().all(|of| !of.set.value);
        (all && listens && served && !heard).then(|| publishing.collect())
    }

    /// Returns the requests of the window, those from before kvtop listened included, if routers found nothing cached for
    /// any of them: 0 if they found something, or did not say.
    pub fn blind_before(&self) -> u64 {
        let told = &self.router.told;
        let all = told.overlaps.best();
        if all.known > 0 && all.known == all.zero { told.routed } else { 0 }
    }

    /// Returns why counts of the window cannot be compared between workers, when they cannot: one was
    /// away for a part of it, or started so late that its cache was still filling.
    pub fn unsettled(&self) -> Option<Phrase> {
        self.changed_after(self.since)
    }

    /// Returns why the routers' own counts tell nothing of the usual load, when they do not: a worker came or left
    /// within them.
    pub fn uncounted(&self) -> Option<Phrase> {
        self.changed_after(self.since.max(self.router.counts_since.unwrap_or_default()))
    }

    /// Returns why the present moment tells nothing of the usual load, when it does not: a worker came or
    /// left a moment ago.
    pub fn in_change(&self) -> Option<Phrase> {
        self.changed_after(self.at)
    }

    fn changed_after(&self, moment: Timestamp) -> Option<Phrase> {
        if let Some(pod) = self.unready.first() {
            return Some(phrase!("{} is starting or ending", pod));
        }
        let settle = Duration::from_secs(self.thresholds.settle_seconds);
        let late = |at: &Timestamp| at.after(settle) > moment;
        let ranks = self.ranks.iter();
        let changes = ranks.filter_map(|rank| {
            let left = rank.left.filter(|_| rank.gone).filter(late).map(|at| (at, "left"));
            let started = rank.started.filter(|_| !rank.gone).filter(late);
            let (at, did) = left.max(started.map(|at| (at, "started")))?;
            Some((at, did, Self::name_of(rank)))
        });
        let (at, did, name) = changes.max_by_key(|(at, ..)| *at)?;
        Some(phrase!("{} {} {} s ago", name, did, self.at.since(at).as_secs()))
    }

    /// Returns true when what the mirror refuses of `rank` may be kvtop's own loss: numbers of its events are
    /// missing here, and routers that are heard do not refuse as much.
    pub fn may_be_own_loss(&self, rank: &RankEvidence) -> bool {
        let refusals = &rank.tally.refusals;
        let theirs = refusals.parent_full + refusals.parent_unsaid;
        rank.id_holes > 0 && theirs * 2 < rank.tally.kv.counters.refused_stores
    }

    /// Returns true when a router's warnings and decisions would have been seen.
    pub fn hears_router(&self) -> bool {
        self.router.read && self.router.tally.routed > 0
    }

    /// Returns true when a KV router that is still there was seen to choose workers, or to reject stores. What
    /// routers did before those of now started is of others.
    pub fn routes_by_blocks(&self) -> bool {
        let heard = &self.router.heard;
        let of_now = |at: Option<Timestamp>| {
            at.is_none_or(|at| self.router.began.is_none_or(|began| began <= at))
        };
        // A choice of a while ago counts: the mode is read once, at the start (`frontend/main.py` of 0.9.0 to 1.6.1).
        let chose =
            (self.router.tally.routed > 0 || heard.routed.is_some()) && of_now(heard.routed);
        chose || (heard.parent.is_some() && of_now(heard.parent))
    }

    /// Returns the workers whose model card asks for another mode than kv; none where a KV router chose after all
    /// cards were read: it does not know the field.
    pub fn card_modes_but_kv(&self) -> Vec<&OfWorker<Arc<str>>> {
        let modes = &self.settings.card_modes;
        let other: Vec<_> = modes.iter().filter(|mode| *mode.set.value != *KV).collect();
        let last = modes.iter().map(|mode| mode.set.at).max();
        let chose = self.router.heard.routed.is_some_and(|at| last.is_some_and(|last| last < at));
        if chose && other.len() == modes.len() { Vec::new() } else { other }
    }

    /// Returns the mode by which requests are routed instead of by cached blocks, when they are.
    pub fn other_mode(&self) -> Option<&Setting<Arc<str>>> {
        if self.settings.only_card_modes {
            let all = self.settings.card_modes.len();
            let other = self.card_modes_but_kv();
            return other.first().filter(|_| other.len() == all).map(|first| &first.set);
        }
        let mode = self.settings.router_mode.as_ref();
        mode.filter(|mode| mode.value.as_ref() != "kv" && !self.routes_by_blocks())
    }
}
