//! Workers and their ranks.

mod part;
mod rank;

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

pub use part::Costs;
use part::Part;
pub use rank::{Measured, Owed, RankRecord, RouterLoad, ScrapedRoom};

use super::buckets::Slot;
use super::hole::Doubt;
use crate::domain::{Decision, FastMap, Membership, Role, Timestamp, WorkerId, WorkerRank};

/// Most ranks that are kept; a deployment has some thousand at most.
pub(super) const RANK_LIMIT: usize = 65_536;

/// Memory that a rank takes at most, in bytes: counts by time, gauges, names.
const RANK_BYTES: usize = 10 << 10;

/// Ranks that are kept however little memory there may be.
const FEWEST: usize = 512;

/// Most ranks whose counts are kept apart by time. In larger deployments everything counts in every window.
const SLOTTED_RANKS: usize = 2048;

/// The state of one worker.
#[derive(Clone, Debug)]
pub struct WorkerRecord {
    /// The worker.
    pub id: WorkerId,
    /// Its number by order of first sight; its alias is `w` and this.
    pub number: usize,
    /// Its pod, or the name of its process.
    pub pod: Option<Arc<str>>,
    /// True once discovery said that it left.
    pub gone: bool,
    /// The time it said so.
    pub left: Option<Timestamp>,
    /// The time it had left before it came back.
    pub left_before: Option<Timestamp>,
    /// The time discovery first named it; none when it never was.
    pub joined: Option<Timestamp>,
    /// The time it appeared, if that was seen: discovery named it before it did anything, or
    /// it had left before.
    pub since: Option<Timestamp>,
    /// The part of requests that it computes, by routers' choices.
    part: Part,
    /// Its component, as discovery names it.
    pub component: Option<Arc<str>>,
    /// Its Dynamo namespace, as discovery names it.
    pub dynamo_namespace: Option<Arc<str>>,
    /// Its Dynamo namespace, as the first subject of its KV events names it; none over ZMQ.
    pub home: Option<Arc<str>>,
    /// The positions of its ranks among all.
    ranks: Vec<usize>,
}

impl WorkerRecord {
    /// Returns the part of requests that it computes, where routers' choices tell it.
    pub fn part(&self) -> Option<Role> {
        self.part.known()
    }

    /// Returns the same by the costs of choices alone: a guess for where nothing else tells what it computes.
    pub fn part_by_costs(&self) -> Option<Role> {
        self.part.guessed()
    }
}

/// A worker that discovery named before anything else did.
#[derive(Debug)]
struct Announced {
    at: Timestamp,
    /// Its component and Dynamo namespace; none where only its model was named.
    place: Option<(Arc<str>, Arc<str>)>,
}

/// All workers, in order of first sight.
#[derive(Debug)]
pub struct Workers {
    /// Most ranks that are kept.
    limit: usize,
    ranks: Vec<RankRecord>,
    by_rank: FastMap<WorkerRank, usize>,
    records: Vec<WorkerRecord>,
    by_id: FastMap<WorkerId, usize>,
    /// Pods that were seen before the worker whose name hashes to theirs.
    pods: FastMap<WorkerId, Arc<str>>,
    /// Workers that discovery named before anything else did.
    announced: FastMap<WorkerId, Announced>,
    /// The start of each one's present incarnation, each with the slot before its own.
    births: FastMap<WorkerId, (Timestamp, Slot)>,
    refused: u64,
}

impl Default for Workers {
    fn default() -> Self {
        Self::within(usize::MAX)
    }
}

impl Workers {
    /// Returns a list that is empty, and will take about half of `bytes` at most.
    pub fn within(bytes: usize) -> Self {
        Self {
            limit: (bytes / 2 / RANK_BYTES).clamp(FEWEST, RANK_LIMIT),
            ranks: Vec::new(),
            by_rank: FastMap::default(),
            records: Vec::new(),
            by_id: FastMap::default(),
            pods: FastMap::default(),
            announced: FastMap::default(),
            births: FastMap::default(),
            refused: 0,
        }
    }

    /// Returns the most ranks that are kept.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the memory that the ranks take at most, in bytes.
    pub fn bytes(&self) -> usize {
        self.ranks.len() * RANK_BYTES
    }

    /// Returns the record of `rank`, made when it is new; none when there are too many.
    pub fn rank_mut(&mut self, rank: WorkerRank) -> Option<&mut RankRecord> {
        let index = self.index_of(rank)?;
        self.ranks.get_mut(index)
    }

    /// Returns the position of `rank` among [`Workers::ranks`], made when it is new.
    pub fn index_of(&mut self, rank: WorkerRank) -> Option<usize> {
        if let Some(index) = self.by_rank.get(&rank) {
            return Some(*index);
        }
        if self.ranks.len() >= self.limit {
            self.refused += 1;
            return None;
        }
        let index = self.ranks.len();
        self.worker_mut(rank.worker).ranks.push(index);
        self.by_rank.insert(rank, index);
        let coarse = self.ranks.len() >= SLOTTED_RANKS;
        let mut record = RankRecord::new(rank, coarse);
        if let Some((at, slot)) = self.births.get(&rank.worker) {
            record.begin(*at, *slot);
        }
        self.ranks.push(record);
        Some(self.ranks.len() - 1)
    }

    /// Returns the record of worker `id`, made when it is new.
    fn worker_mut(&mut self, id: WorkerId) -> &mut WorkerRecord {
        let number = self.records.len();
        let index = *self.by_id.entry(id).or_insert(number);
        if index == number {
            let pod = self.pods.get(&id).map(Arc::clone);
            let announced = self.announced.remove(&id);
            let place = announced.as_ref().and_then(|it| it.place.clone());
            let (component, dynamo_namespace) = place.unzip();
            self.records.push(WorkerRecord {
                id,
                number,
                pod,
                gone: false,
                left: None,
                left_before: None,
                joined: announced.as_ref().map(|it| it.at),
                since: announced.as_ref().map(|it| it.at),
                part: Part::default(),
                component,
                dynamo_namespace,
                home: None,
                ranks: Vec::new(),
            });
        }
        &mut self.records[index]
    }

    /// Notes the part of requests that a worker computes, where a router's choice tells it.
    pub fn note_choice(&mut self, decision: &Decision) {
        if let Some(index) = self.by_id.get(&decision.worker).filter(|_| decision.prefill) {
            self.records[*index].part.prefills();
        }
    }

    /// Notes that a router weighed what worker `id` has cached, with `weight`; `splits` is true where its process has a
    /// router for each part of a request.
    pub fn note_weighed(&mut self, id: WorkerId, weight: f64, splits: bool) {
        if let Some(index) = self.by_id.get(&id) {
            self.records[*index].part.weigh(weight, splits);
        }
    }

    /// Notes the cost at which a router that prints no weight chose worker `id`; `others` are those of its other choices.
    pub fn note_cost(&mut self, id: WorkerId, cost: f64, others: &mut Costs) {
        if let Some(index) = self.by_id.get(&id) {
            self.records[*index].part.cost(cost, others);
        }
    }

    /// Gives numbers to those of `others` that are new, in their order.
    pub fn meet(&mut self, others: &[WorkerRecord]) {
        for other in others.iter().skip(self.records.len()) {
            self.worker_mut(other.id);
        }
    }

    /// Returns true unless the present incarnation of worker `id` is known to have begun by `at` or later.
    pub fn is_news(&self, id: WorkerId, at: Timestamp) -> bool {
        self.births.get(&id).is_none_or(|(known, _)| *known < at)
    }

    /// Returns when the present incarnation of worker `id` began, where that is known.
    pub fn birth(&self, id: WorkerId) -> Option<Timestamp> {
        self.births.get(&id).map(|(at, _)| *at)
    }

    /// Returns when the first event of worker `id` came, of its first rank.
    pub fn first_event(&self, id: WorkerId) -> Option<Timestamp> {
        let index = self.by_rank.get(&WorkerRank::new(id.0, 0))?;
        self.ranks.get(*index)?.first_event
    }

    /// Notes that the present incarnation of worker `id` began at `at`, in the slot after `slot`. Returns the
    /// positions of its ranks that begin anew by that: not those whose numbers fell to their first at most `skew`
    /// before, because that is the same start by the clock of whoever listens.
    pub fn begin(&mut self, id: WorkerId, at: Timestamp, slot: Slot, skew: Duration) -> Vec<usize> {
        if self.births.len() < RANK_LIMIT || self.births.contains_key(&id) {
            self.births.insert(id, (at, slot));
        }
        let ranks = self.ranks.iter_mut().enumerate();
        let own = ranks.filter(|(_, record)| record.rank.worker == id);
        let due = own.filter(|(_, record)| {
            record.restarted.is_none_or(|restarted| restarted > at || at.since(restarted) > skew)
        });
        due.filter_map(|(index, record)| record.begin(at, slot).then_some(index)).collect()
    }

    /// Returns the workers, in order of first sight.
    pub fn workers(&self) -> &[WorkerRecord] {
        &self.records
    }

    /// Returns the ranks, in order of first sight.
    pub fn ranks(&self) -> &[RankRecord] {
        &self.ranks
    }

    /// Returns the ranks for changing them, in order of first sight.
    pub fn ranks_mut(&mut self) -> &mut [RankRecord] {
        &mut self.ranks
    }

    /// Returns the record of worker `id`.
    pub fn worker(&self, id: WorkerId) -> Option<&WorkerRecord> {
        self.by_id.get(&id).and_then(|index| self.records.get(*index))
    }

    /// Returns the short name of worker `id`, `?` when it was never seen.
    pub fn alias(&self, id: WorkerId) -> String {
        self.worker(id).map_or_else(|| "?".to_owned(), |worker| format!("w{}", worker.number))
    }

    /// Notes at `at` that worker `id` is in discovery, or left it. Returns true when that is news about
    /// a worker that was seen.
    pub fn set_present(&mut self, id: WorkerId, present: bool, at: Timestamp) -> bool {
        let Some(worker) = self.by_id.get(&id).and_then(|index| self.records.get_mut(*index))
        else {
            return false;
        };
        let news = worker.gone == present;
        worker.gone = !present;
        if news && present {
            (worker.since, worker.left_before) = (Some(at), worker.left.take());
        } else if news {
            worker.left = Some(at);
        }
        news
    }

    /// Notes what discovery says of worker `id`.
    pub fn note_membership(&mut self, id: WorkerId, membership: &Membership, at: Timestamp) {
        let Some(worker) = self.by_id.get(&id).and_then(|index| self.records.get_mut(*index))
        else {
            if membership.present && self.announced.len() < RANK_LIMIT {
                let place = (Arc::clone(&membership.component), Arc::clone(&membership.namespace));
                self.announced.insert(id, Announced { at, place: Some(place) });
            }
            if !membership.present {
                self.announced.remove(&id);
            }
            return;
        };
        if membership.present {
            worker.joined.get_or_insert(at);
            worker.component = Some(Arc::clone(&membership.component));
            worker.dynamo_namespace = Some(Arc::clone(&membership.namespace));
        }
    }

    /// Notes where worker `id` publishes its KV events, once.
    pub fn set_home(&mut self, id: WorkerId, home: impl FnOnce() -> Option<Arc<str>>) {
        let worker = self.worker_mut(id);
        if worker.home.is_none() {
            worker.home = home();
        }
    }

    /// Returns the places at which workers publish that discovery names.
    pub fn named_homes(&self) -> HashSet<&str> {
        let named = self.records.iter().filter(|worker| worker.joined.is_some());
        named.filter_map(|worker| worker.home.as_deref()).collect()
    }

    /// Returns true unless worker `id` publishes in a Dynamo namespace in which discovery names nobody, by the
    /// `named` homes: others may share the event plane.
    pub fn is_at_home(&self, id: WorkerId, named: &HashSet<&str>) -> bool {
        let home = self.worker(id).and_then(|worker| worker.home.as_deref());
        home.is_none_or(|home| named.contains(home))
    }

    /// Notes that discovery has a model of worker `id`, unless the worker was seen or named before.
    pub fn announce(&mut self, id: WorkerId, at: Timestamp) {
        if !self.by_id.contains_key(&id) && self.announced.len() < RANK_LIMIT {
            self.announced.entry(id).or_insert(Announced { at, place: None });
        }
    }

    /// Notes that there is a pod of this name. With Kubernetes discovery its name gives its id.
    pub fn note_pod(&mut self, pod: &Arc<str>) {
        let id = pod_worker_id(pod);
        if self.pods.len() < RANK_LIMIT && !self.pods.contains_key(&id) {
            self.set_pod(id, pod);
        }
    }

    /// Notes that worker `id` runs in `pod`, now or when it is seen.
    pub fn set_pod(&mut self, id: WorkerId, pod: &Arc<str>) {
        if self.pods.len() < RANK_LIMIT || self.pods.contains_key(&id) {
            self.pods.insert(id, Arc::clone(pod));
        }
        if let Some(index) = self.by_id.get(&id) {
            self.records[*index].pod = Some(Arc::clone(pod));
        }
    }

    /// Returns the worker that runs in `pod`.
    pub fn in_pod(&self, pod: &str) -> Option<WorkerId> {
        let hashed = pod_worker_id(pod);
        if self.by_id.contains_key(&hashed) {
            return Some(hashed);
        }
        // Processes follow each other in a pod.
        let mut all = self.records.iter().rev().filter(|it| it.pod.as_deref() == Some(pod));
        let last = all.clone().next();
        all.find(|worker| !worker.gone).or(last).map(|worker| worker.id)
    }

    /// Returns the workers that ran in `pod` so far.
    pub fn ever_in<'a>(&'a self, pod: &'a str) -> impl Iterator<Item = WorkerId> + 'a {
        self.pods.iter().filter(move |(_, known)| known.as_ref() == pod).map(|(id, _)| *id)
    }

    /// Forgets shares, uses and loads that were scraped more than `age` before `now`: of an endpoint that does
    /// not answer any more nobody knows them.
    pub fn forget_scraped(&mut self, now: Timestamp, age: Duration) {
        fn expire<T>(known: &mut Option<Measured<T>>, now: Timestamp, age: Duration) {
            known.take_if(|measured| now.since(measured.at) > age);
        }
        for record in &mut self.ranks {
            expire(&mut record.utilization, now, age);
            expire(&mut record.hit_rate, now, age);
            expire(&mut record.scraped.used_tokens, now, age);
            expire(&mut record.scraped.running, now, age);
            expire(&mut record.scraped.waiting, now, age);
            if record.load.as_ref().is_some_and(|load| load.value.scraped) {
                expire(&mut record.load, now, age);
            }
        }
    }

    /// Notes that the past of every rank of worker `id` is known.
    pub fn complete(&mut self, id: WorkerId) {
        for record in self.ranks.iter_mut().filter(|record| record.rank.worker == id) {
            record.is_known();
        }
    }

    /// Notes that the mirror dropped what worker `id` holds. Should that go on without a restart, its stores build on
    /// blocks that only kvtop lacks.
    pub fn drop_blocks(&mut self, id: WorkerId) {
        let worker = self.by_id.get(&id).and_then(|index| self.records.get(*index));
        for index in worker.map_or(&[][..], |worker| &worker.ranks) {
            if let Some(record) = self.ranks.get_mut(*index) {
                record.dropped = true;
            }
        }
    }

    /// Notes that the mirror let blocks go: removals of these are unknown to kvtop alone.
    pub fn doubt_shed(&mut self) {
        self.doubt(None);
        for record in self.ranks.iter_mut().filter(|record| record.doubt.is_some()) {
            record.doubt = Some(Doubt::Shed);
        }
    }

    /// Notes that messages of worker `id` are missing, or of anybody when it is not known whose: what
    /// its ranks hold is not known any more.
    pub fn doubt(&mut self, id: Option<WorkerId>) {
        let doubt = |record: &mut RankRecord| {
            if record.complete {
                record.complete = false;
                record.doubt = Some(Doubt::Missing);
            }
        };
        let Some(id) = id else { return self.ranks.iter_mut().for_each(doubt) };
        let worker = self.by_id.get(&id).and_then(|index| self.records.get(*index));
        for index in worker.map_or(&[][..], |worker| &worker.ranks) {
            if let Some(record) = self.ranks.get_mut(*index) {
                doubt(record);
            }
        }
    }

    /// Returns true when discovery named worker `id`, and nothing else did yet.
    pub fn is_announced(&self, id: WorkerId) -> bool {
        self.announced.contains_key(&id)
    }

    /// Returns true for a worker whose instance is in discovery: a model card alone does not serve.
    pub fn is_listed(&self, id: WorkerId) -> bool {
        let seen = self.worker(id).filter(|worker| !worker.gone);
        let early = self.announced.get(&id);
        seen.is_some_and(|worker| worker.dynamo_namespace.is_some())
            || early.is_some_and(|it| it.place.is_some())
    }

    /// Returns when discovery first named a worker that is in it; none before it did.
    pub fn first_joined(&self) -> Option<Timestamp> {
        let seen = self.records.iter().filter_map(|worker| worker.joined);
        seen.chain(self.announced.values().map(|it| it.at)).min()
    }

    /// Returns how many workers of `ours` are in discovery.
    pub fn members(&self, ours: impl Fn(WorkerId) -> bool) -> u64 {
        let joined = self.records.iter().filter(|worker| worker.joined.is_some() && !worker.gone);
        let joined = joined.filter(|worker| ours(worker.id)).count();
        (joined + self.announced.keys().filter(|id| ours(**id)).count()) as u64
    }

    /// Returns how many ranks were refused because there are too many.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

/// Returns the worker id that Dynamo derives from the name of a pod with Kubernetes discovery:
/// SipHash-1-3 of the name, its upper 11 bits cleared (dynamo-runtime 0.9.0,
/// `discovery/kube/utils.rs:10`).
pub fn pod_worker_id(pod: &str) -> WorkerId {
    let mut hasher = DefaultHasher::new();
    pod.hash(&mut hasher);
    WorkerId(hasher.finish() & 0x001F_FFFF_FFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_names_hash_to_the_ids_seen_on_a_real_cluster() {
        let cases = [
            ("gtc-demo-0-trtllmworker-fhhcl", 7_702_713_015_953_616),
            ("gtc-demo-0-trtllmworker-mj7km", 4_467_334_888_485_367),
            ("gtc-demo-0-frontend-rmjwp", 4_051_656_274_152_323),
            ("worker-0", 1_186_445_869_714_687),
        ];
        for (pod, id) in cases {
            assert_eq!(pod_worker_id(pod), WorkerId(id), "{pod}");
        }
    }

    #[test]
    fn a_pod_seen_before_its_worker_is_joined_when_the_worker_appears() {
        let mut workers = Workers::default();
        workers.note_pod(&"worker-0".into());

        workers.rank_mut(WorkerRank::new(1_186_445_869_714_687, 0)).unwrap();

        let worker = workers.worker(WorkerId(1_186_445_869_714_687)).unwrap();
        assert_eq!(worker.pod.as_deref(), Some("worker-0"));
    }
}
