//! Keeps routers' words: counts of decisions, overlaps and warnings.

mod scrapes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use self::scrapes::Scrapes;
use super::buckets::Buckets;
use super::fractions::Fractions;
use super::missing_parents::MissingParent;
use super::overlaps::{Found, Overlaps};
use super::tally::{Refusals, RouterTally};
use super::workers::Costs;
use crate::domain::{LogWarning, Timestamp, WarningKind, WorkerRank};

/// Most pods that are told apart.
const POD_LIMIT: usize = 4096;

/// Pods that make room at once.
const LET_GO_AT_ONCE: usize = POD_LIMIT / 16;

/// The modes by which the processes of a pod said that they choose workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaidModes {
    /// None said that it chooses otherwise than by KV blocks.
    #[default]
    NoOther,
    /// A process before this one chose by another mode.
    OtherBefore,
    /// The same, and this one said that it routes by KV blocks.
    BlocksAfterOther,
}

/// Warnings in one pod's log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodWarnings {
    /// True once the pod's log was read at all.
    pub read: bool,
    /// True once the pod was seen to route.
    pub routes: bool,
    /// True when it is taken for a router, because nothing says what it is.
    pub assumed: bool,
    /// `Failed to find parent block`.
    pub parent: u64,
    /// Of those, with `num_blocks=0`.
    pub parent_empty: u64,
    /// `Failed to find block to remove`.
    pub remove: u64,
    /// Every other warning about the index.
    pub other: u64,
    /// `Failed to find parent block`, while kvtop was watching.
    pub live_parent: u64,
    /// `Failed to find block to remove`, while kvtop was watching.
    pub live_remove: u64,
    /// The time its process said that it starts.
    pub began: Option<Timestamp>,
    /// From when on it follows KV events and is heard: its first line, or when it said so later.
    pub follows: Option<Timestamp>,
    /// The modes by which its processes said that they choose.
    pub modes: SaidModes,
    /// Requests it routed.
    pub routed: u64,
    /// The time of its last decision.
    pub last_routed: Option<Timestamp>,
    /// The time of the last decision of an earlier process in the pod, where kvtop saw it.
    pub earlier: Option<Timestamp>,
    /// The time of the first decision in its log since its process started.
    pub first_routed: Option<Timestamp>,
    /// The time of the first `Failed to find parent block` in its log since its process started.
    pub first_parent: Option<Timestamp>,
    /// The time it last said `Failed to find parent block`.
    pub last_parent: Option<Timestamp>,
    /// The time it last said `Failed to find block to remove`.
    pub last_remove: Option<Timestamp>,
    /// Weight of the prefill term that its process printed last.
    pub weight: Option<f64>,
    /// The last weight above 0 that its process printed, and when. With disaggregated prefill, the same process chooses decode
    /// workers with a weight of 0 (dynamo-llm 0.9, `kv_router/prefill_router.rs`; printed in turns by a live 0.9.0).
    pub weight_above: Option<(f64, Timestamp)>,
    /// When it last printed a weight of 0.
    pub weight_zero: Option<Timestamp>,
    /// Costs of its process' choices of workers whose prompts it weighs, where it prints no weight.
    pub costs: Costs,
    /// Cache hits of its process.
    pub found: Found,
}

/// The time for which a weight above 0 stands beside the 0 of another router in the same process.
const WEIGHS: Duration = Duration::from_secs(60);

/// The time of the last line of routers' logs that tells something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Of a missing parent.
    pub parent: Option<Timestamp>,
    /// Of an unknown block to remove.
    pub remove: Option<Timestamp>,
    /// Of a selected worker, and its cost.
    pub routed: Option<Timestamp>,
}

/// Counts over all routers.
#[derive(Debug, Default)]
pub struct Router {
    /// Lines that name a selected worker.
    pub decisions: u64,
    /// Of those that print an overlap, the ones that print 0.
    pub decisions_zero: u64,
    /// Decisions without the lines that forward one.
    pub routed: u64,
    /// Requests whose overlap is known.
    pub overlaps: Overlaps,
    /// Requests routed while kvtop was watching.
    pub live_routed: u64,
    /// Requests whose overlap became known while kvtop was watching.
    pub live_overlaps: Overlaps,
    /// The block size by the fractions of logits, of requests to workers that are there.
    pub fractions: Fractions,
    /// Counts of routers that belong to no rank, by time.
    pub buckets: Buckets<RouterTally>,
    /// Tree size of the last decision.
    pub last_tree_size: Option<u64>,
    /// When a router last missed events of a rank that it has not recovered since.
    gaps: BTreeMap<(Arc<str>, WorkerRank), Timestamp>,
    pods: BTreeMap<Arc<str>, PodWarnings>,
    /// Metrics of frontends.
    pub scrapes: Scrapes,
}

/// Lets the pods of a full map go whose last act, by `last`, is longest ago: several at once, so that a flood of names
/// does not look for them each time.
fn make_room<K: Ord, V>(pods: &mut BTreeMap<K, V>, last: impl Fn(&V) -> Option<Timestamp>) {
    if pods.len() < POD_LIMIT {
        return;
    }
    let mut acts: Vec<Option<Timestamp>> = pods.values().map(&last).collect();
    let (_, bound, _) = acts.select_nth_unstable(LET_GO_AT_ONCE - 1);
    let bound = *bound;
    let mut left = LET_GO_AT_ONCE;
    pods.retain(|_, pod| {
        let goes = left > 0 && last(pod) <= bound;
        left -= usize::from(goes);
        !goes
    });
}

impl Router {
    /// Returns the counts of `pod`, made when it is new. Of too many those that did nothing for longest are let go: over
    /// months pods are replaced many times.
    pub fn pod(&mut self, pod: &Arc<str>) -> &mut PodWarnings {
        if !self.pods.contains_key(pod) {
            make_room(&mut self.pods, PodWarnings::last_act);
        }
        self.pods.entry(Arc::clone(pod)).or_default()
    }

    /// Returns the counts of `pod`, when there are any.
    pub fn known(&self, pod: &str) -> Option<&PodWarnings> {
        self.pods.get(pod)
    }

    /// Notes that a new process started in `pod` at `at`.
    pub fn replaced(&mut self, pod: &str, at: Timestamp) {
        if let Some(known) = self.pods.get_mut(pod) {
            known.replaced(at);
        }
    }

    /// Returns the weight of the prefill term that `pod` printed last.
    pub fn weight_of(&self, pod: &str) -> Option<f64> {
        self.known(pod)?.weight
    }

    /// Returns the counts of every pod.
    pub fn pods(&self) -> impl Iterator<Item = (&Arc<str>, &PodWarnings)> {
        self.pods.iter()
    }

    /// Returns true when a router said within `span` before `at` that it did not find a parent.
    pub fn is_refusing(&self, at: Timestamp, span: Duration) -> bool {
        self.pods().any(|(pod, warnings)| {
            let lately = warnings.last_parent.is_some_and(|last| at.since(last) <= span);
            lately && warnings.is_router(pod)
        })
    }

    /// Returns when routers' logs last told of what their tally counts.
    pub fn heard(&self) -> Heard {
        let mut heard = Heard::default();
        for (_, known) in self.pods.iter().filter(|(pod, known)| known.is_router(pod)) {
            heard.parent = heard.parent.max(known.last_parent);
            heard.remove = heard.remove.max(known.last_remove);
            heard.routed = heard.routed.max(known.last_routed);
        }
        heard
    }

    /// Notes that the router in `pod` misses events of `rank` since `at`.
    pub fn misses(&mut self, pod: &Arc<str>, rank: WorkerRank, at: Timestamp) {
        if self.gaps.len() >= POD_LIMIT {
            self.gaps.clear();
        }
        self.gaps.insert((Arc::clone(pod), rank), at);
    }

    /// Notes that the router in `pod` recovered the events of `rank` that it missed. Returns since when it had missed
    /// them; none if it had not.
    pub fn recovers(&mut self, pod: &Arc<str>, rank: WorkerRank) -> Option<Timestamp> {
        self.gaps.remove(&(Arc::clone(pod), rank))
    }

    /// Counts a warning said at `at`, and returns what it adds to the counts of the rank that it names. `lack`
    /// tells since when the parent which it misses is there, where the mirror holds that. Warnings of workers'
    /// own indexes add nothing.
    pub fn warn(
        &mut self,
        warning: &LogWarning,
        lack: Option<MissingParent>,
        at: Timestamp,
    ) -> Refusals {
        let mut refusals = Refusals::default();
        let pod = self.pod(&warning.pod);
        match warning.kind {
            WarningKind::ParentMissing { blocks, .. } => {
                pod.parent += 1;
                pod.first_parent = Some(pod.first_parent.map_or(at, |first| first.min(at)));
                pod.last_parent = pod.last_parent.max(Some(at));
                pod.parent_empty += u64::from(blocks == Some(0));
                let full = blocks.is_some_and(|blocks| blocks > 0);
                refusals.parent_empty = u64::from(blocks == Some(0));
                refusals.parent_unsaid = u64::from(blocks.is_none());
                refusals.parent_full = u64::from(full);
                refusals.parent_held = u64::from(full && lack.is_some());
                refusals.parent_before = u64::from(full && lack == Some(MissingParent::Before));
                refusals.parent_after = u64::from(full && lack == Some(MissingParent::After));
            }
            WarningKind::RemoveMissing { .. } => {
                pod.remove += 1;
                pod.last_remove = pod.last_remove.max(Some(at));
                refusals.remove = 1;
            }
            WarningKind::HashMismatch => {
                pod.other += 1;
                refusals.hash_mismatch = 1;
            }
            WarningKind::EventsRecovered => {}
            WarningKind::EventGap
            | WarningKind::DecodeFailed
            | WarningKind::StaleParent
            | WarningKind::ApplyFailed => pod.other += 1,
        }
        if pod.is_router(&warning.pod) { refusals } else { Refusals::default() }
    }
}

impl PodWarnings {
    fn last_act(&self) -> Option<Timestamp> {
        self.last_routed.max(self.last_parent).max(self.last_remove).max(self.follows)
    }

    /// Notes that its process started at `at`.
    pub fn start(&mut self, at: Timestamp) {
        self.began = self.began.max(Some(at));
        self.replaced(at);
        if self.modes == SaidModes::BlocksAfterOther {
            self.modes = SaidModes::OtherBefore;
        }
        self.weight = None;
        self.weight_above = None;
        self.weight_zero = None;
        self.costs = Costs::default();
        self.found = Found::default();
        for first in [&mut self.first_routed, &mut self.first_parent] {
            *first = first.filter(|first| *first >= at);
        }
    }

    /// Notes that it printed the weight `value` at `at`. Returns true where lately it printed both 0 and more: it has a
    /// router for each part of a request.
    pub fn weigh(&mut self, value: f64, at: Timestamp) -> bool {
        self.weight = Some(value);
        let lately = |last: Timestamp| at.since(last) <= WEIGHS;
        self.weight_above = self.weight_above.filter(|(_, last)| lately(*last));
        self.weight_zero = self.weight_zero.filter(|last| lately(*last));
        if value > 0.0 {
            self.weight_above = Some((value, at));
        } else {
            self.weight_zero = Some(at);
        }
        self.weight_above.is_some() && self.weight_zero.is_some()
    }

    /// Returns the weight by which it chooses among the workers whose caches count.
    pub fn own_weight(&self) -> Option<f64> {
        self.weight_above.map(|(value, _)| value).or(self.weight)
    }

    /// Notes that decisions before `at` were made by an earlier process.
    pub fn replaced(&mut self, at: Timestamp) {
        self.earlier = self.earlier.max(self.last_routed.filter(|last| *last < at));
    }

    /// Notes that it chose a worker at `at`, or `forwarded` a choice.
    pub fn decide(&mut self, forwarded: bool, at: Timestamp) {
        self.routes = true;
        self.routed += u64::from(!forwarded);
        self.first_routed = Some(self.first_routed.map_or(at, |first| first.min(at)));
        self.last_routed = Some(at);
    }

    /// Counts a warning apart when it was written while kvtop was watching.
    pub fn note_live(&mut self, kind: WarningKind, live: bool) {
        match kind {
            WarningKind::ParentMissing { .. } => self.live_parent += u64::from(live),
            WarningKind::RemoveMissing { .. } => self.live_remove += u64::from(live),
            _ => {}
        }
    }

    /// Returns true when `pod` counts as a router: it was seen to route, is taken for one, or is named
    /// like one.
    pub fn is_router(&self, pod: &str) -> bool {
        self.routes || self.assumed || pod.contains("frontend") || pod.contains("router")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::GaugeName;

    const NOW: Timestamp = Timestamp(1_771_000_000_000_000);

    #[test]
    fn a_weight_of_0_beside_another_in_the_same_process_is_of_a_second_router() {
        let mut both = PodWarnings::default();
        for second in 0..40 {
            let at = NOW.after(Duration::from_secs(second * 10));
            both.weigh(1.0, at);
            both.weigh(0.0, at);
            assert_eq!(both.own_weight(), Some(1.0));
        }
        both.weigh(0.0, NOW.after(Duration::from_secs(500)));
        assert_eq!(both.own_weight(), Some(0.0), "nothing else was printed for a minute");
    }

    #[test]
    fn of_too_many_pods_the_idlest_is_let_go() {
        let mut router = Router::default();
        for number in 0..=POD_LIMIT as u64 {
            let name: Arc<str> = format!("fe-{number}").into();
            router.pod(&name).decide(false, NOW.after(Duration::from_secs(number)));
            let at = NOW.after(Duration::from_secs(number));
            let slots = super::super::Slots::new(NOW);
            router.scrapes.take(&name, &[(GaugeName::Queued, 1.0)], at, slots);
        }

        assert_eq!(router.pods().count(), POD_LIMIT - LET_GO_AT_ONCE + 1);
        assert!(router.known("fe-0").is_none() && router.known("fe-4096").is_some());
        assert_eq!(router.scrapes.queued(|_| true), Some(3841.0));
    }
}
