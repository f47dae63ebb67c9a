//! Evidence for rules, and their verdicts as rows of a snapshot.

mod by_worker;
mod models;
mod names;
mod objects;
mod plane;
mod routers;
mod rows;
mod settings;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

pub(super) use self::names::WorkerNames;
use self::objects::KnownObjects;
use super::ledger::missing_messages;
use super::{Knowledge, MINUTE};
use crate::diagnose::{
    Belongs, Diagnosis, Evidence, LoadEvidence, Member, Objects, RankEvidence, Regret, Rejecting,
    RouterEvidence, SizeByCosts, TreeEvidence, Window, WorkerLoad,
};
use crate::domain::{
    ClaimOf, ClaimWhat, LatencyName, Pod, Release, Releases, Subject, Timestamp, WorkerId,
};
use crate::model::{
    Family, PodRecord, RankRecord, RequestTally, RouterTally, SaidModes, Slot, Summed as _, Tally,
    Weighed, WorkerRecord,
};
use crate::snapshot::{Coverage, FindingRow, Quiet};

/// Workers that appear this soon after kvtop attached were there before.
const ATTACHING: Duration = Duration::from_secs(10);

/// The window over which findings are raised.
const WINDOW: Duration = Duration::from_secs(300);

/// The time after which a deployment's silence means something.
const GLIMPSE: Duration = Duration::from_secs(5);

/// The silence after which a deployment counts as idle.
const STILL: Duration = Duration::from_secs(10);

/// A source that is live so soon after a slot began was so for all of it.
const MARGIN: Duration = Duration::from_secs(1);

/// A pod that is not ready after this time is not starting any more: large models load in minutes.
const ON_ITS_WAY: Duration = Duration::from_secs(1200);

/// The verdicts of the rules, and the evidence they had.
#[derive(Default)]
pub(super) struct Verdicts {
    pub(super) diagnosis: Diagnosis,
    /// The verdicts of the present second, with that second and the frames known then.
    preview: Option<((u64, u64), Box<Diagnosis>)>,
    pub(super) coverage: Coverage,
    /// The objects that fixes change.
    objects: KnownObjects,
    /// The number of findings so far, and the last of them as rows.
    past: (u64, Arc<[FindingRow]>),
    /// The time of the last judgement.
    pub(super) judged: Option<Timestamp>,
}

impl Verdicts {
    /// Judges what is known at `at`.
    pub(super) fn judge(&mut self, known: &Knowledge, at: Timestamp) {
        self.preview = None;
        self.judged = Some(at);
        self.objects.refresh(&known.setup());
        let judge = Judge { known };
        let evidence = judge.evidence(self.objects.get(), at);
        self.diagnosis.judge(&evidence, &|from| judge.window(from));
        self.remember_findings(&known.setup());
        self.coverage = judge.coverage(at);
    }

    /// Returns true when a glance at `at` would see nothing new.
    pub(super) fn has_seen(&self, known: &Knowledge, at: Timestamp) -> bool {
        let seen = (at.seconds(), known.times.frames);
        self.preview.as_ref().is_some_and(|(then, _)| *then == seen)
    }

    /// Judges what is known at `at` for one picture. The next judgement does not build on this one.
    pub(super) fn glance(&mut self, known: &Knowledge, at: Timestamp) {
        self.objects.refresh(&known.setup());
        let judge = Judge { known };
        let evidence = judge.evidence(self.objects.get(), at);
        let mut diagnosis = Box::new(self.diagnosis.clone());
        diagnosis.judge(&evidence, &|from| judge.window(from));
        self.preview = Some(((at.seconds(), known.times.frames), diagnosis));
        self.coverage = judge.coverage(at);
    }

    /// Returns what the rules said last.
    fn last(&self) -> &Diagnosis {
        self.preview.as_ref().map_or(&self.diagnosis, |(_, preview)| preview)
    }
}

/// Makes evidence for rules of what is known.
struct Judge<'a> {
    known: &'a Knowledge,
}

impl Judge<'_> {
    /// Returns how much there is to judge by at `at`.
    fn coverage(&self, at: Timestamp) -> Coverage {
        let limits = &self.known.options.thresholds;
        let attached = self.known.times.watched.unwrap_or(at);
        let present = self.known.fleet.present_ranks();
        let ranks = || {
            present.iter().filter_map(|index| self.known.fleet.workers.ranks().get(*index as usize))
        };
        // Frontends also count the requests that went to workers which are gone.
        let oldest = ranks().map(|record| record.born).min().unwrap_or_default();
        // Requests before the oldest router's start are unknown: the logs of replaced routers are gone.
        let oldest = oldest.max(self.known.setup().first_router_start().unwrap_or_default());
        let from = self.known.times.active.min(at).before(WINDOW).max(oldest);
        let window = self.window(Some(from));
        // Workers that evict blocks have traffic, whatever else is seen of it. The window leaves out foreign ranks.
        let fleet = &self.known.fleet;
        let ours = fleet.workers.ranks().iter().map(|record| record.rank.worker);
        let ours = ours.filter(|worker| !fleet.is_foreign_worker(*worker)).zip(&window.ranks);
        let tallies = ours.filter(|(worker, _)| !fleet.is_gone(*worker)).map(|(_, tally)| tally);
        let counters = tallies.map(|tally| tally.kv.counters);
        let (stores, removed) = counters.fold((0, 0), |(stores, removed), it| {
            (stores + it.stores, removed + it.removed_blocks)
        });
        let told = &window.told;
        let refusals = told.parent_full + told.parent_empty + told.parent_unsaid;
        let shown = self
            .known
            .shown
            .cluster
            .pods()
            .any(|record| record.pod.role.is_worker() && record.pod.ready);
        let there =
            shown || self.known.fleet.members() > 0 || ranks().any(|it| it.last_event.is_some());
        // Requests whose blocks are all cached bring no event, and no choice where nobody reads logs.
        let counted = told.own.prompts + told.own.failed;
        let requests = told.routed.max(counted);
        let little = window.router.routed.max(counted) < limits.min_silent_routed
            && stores < limits.min_stores
            && removed < limits.min_stores;
        let hears = self.known.streams.hears_all()
            && self.known.streams.reads(&self.known.times, at).is_none()
            && !self.known.options.logs_only;
        let quiet = self
            .known
            .streams
            .listens_since(&self.known.times)
            .filter(|_| there && little && hears)
            .and_then(|since| {
                let watched = at.since(since.max(attached));
                let last = self.known.times.active;
                let still = at.since(if last > Timestamp::default() { last } else { attached });
                let enough = watched >= GLIMPSE && (still >= STILL || watched >= MINUTE);
                enough.then_some(Quiet { still, idle: still >= STILL, requests })
            });
        let workers = &self.known.fleet.workers;
        let rank_limit = (workers.refused() > 0).then_some(workers.limit());
        Coverage { quiet, refusals, stores, rank_limit }
    }

    fn evidence(&self, objects: Arc<Objects>, at: Timestamp) -> Evidence {
        let since = self.known.times.first.unwrap_or(at);
        let family = self.known.family();
        let names = WorkerNames::new(&self.known.fleet.workers);
        let cards_refused = self.cards_refused(at);
        let refusals_ended = self.known.fleet.refused.cards().count() > cards_refused.len();
        Evidence {
            at,
            since,
            attached: self.known.times.watched.unwrap_or(at),
            active: (self.known.times.active > Timestamp::default())
                .then_some(self.known.times.active),
            listens: self.known.streams.listens_since(&self.known.times),
            reading: self.known.streams.reads(&self.known.times, at),
            thresholds: self.known.options.thresholds,
            releases: self.releases(&family),
            mixed: Self::mixed(&family, &names),
            ranks: self.rank_evidence(&names, at),
            engines: self.known.setup().engines(),
            unregistered: self.known.setup().unregistered(),
            refused: self.known.setup().registrations_refused(),
            cards_refused,
            refusals_ended,
            removed: self.known.fleet.arrivals.last_removed(),
            unready: self.unready(at),
            router: self.router_evidence(at),
            sizes: self.known.setup().size_claims(ClaimWhat::BlockSize),
            largest: self.known.setup().size_claims(ClaimWhat::LargestBlock),
            models: self.known.setup().models(),
            namespaces: self.known.setup().namespaces(),
            models_set: self.known.setup().models_set(),
            has_foreign: self.known.setup().has_foreign(),
            unlisted: self.known.fleet.unlisted(),
            settings: self.known.setup().settings(&names),
            tree: self.tree_evidence(at),
            plane: self.plane_evidence(),
            objects,
            load: self.load_evidence(at, &names),
        }
    }

    /// Returns the releases that everybody may run.
    fn releases(&self, family: &Family) -> Releases {
        let named = self.known.options.version.as_ref().and_then(|(text, _)| Release::parse(text));
        named.map_or(family.releases, Releases::only)
    }

    /// Returns two who cannot run the same release, for people.
    fn mixed(family: &Family, names: &WorkerNames) -> Option<[Member; 2]> {
        let member = |(subject, releases, by): &(Subject, Releases, String)| Member {
            name: match subject {
                Subject::Worker(worker) => names.get(*worker).to_string(),
                Subject::Pod(pod) => format!("pod {pod}"),
                Subject::Component { component, .. } => format!("component {component}"),
                Subject::Deployment => "the deployment".to_owned(),
            },
            releases: *releases,
            by: by.clone(),
        };
        family.mixed.as_ref().map(|[old, new]| [member(old), member(new)])
    }

    fn rank_evidence(&self, names: &WorkerNames, at: Timestamp) -> Vec<RankEvidence> {
        let ours = |record: &&RankRecord| !self.known.fleet.is_foreign_worker(record.rank.worker);
        let homes = self.known.fleet.workers.named_homes();
        let all = self.known.fleet.workers.ranks().iter().enumerate();
        let ranks = all.filter(|(_, record)| ours(record)).map(|(index, record)| {
            let worker = self.known.fleet.workers.worker(record.rank.worker);
            let pod = worker.and_then(|worker| worker.pod.clone());
            let placed = pod.as_deref().and_then(|pod| self.known.shown.cluster.pod(pod));
            let shown = placed.map(|it| &it.pod);
            let counts = self.known.index.mirror.counts(record.rank);
            let subjects = super::picture::subjects(record, pod.as_deref());
            let claims = &self.known.fleet.claims;
            let capacity = super::picture::capacity(claims, record, &subjects);
            let utilization = super::picture::utilization(record, capacity.as_ref());
            let blocks = capacity.as_ref().map(|blocks| blocks.value);
            let avoided = self.known.avoided(index, record, blocks);
            let (id_holes, open_holes) = self.known.streams.missing_ids(record, at);
            RankEvidence {
                rank: record.rank,
                name: names.get(record.rank.worker),
                role: self.role(record.rank.worker),
                gone: worker.is_some_and(|worker| worker.gone),
                was_named: worker.is_some_and(|worker| worker.joined.is_some()),
                left: worker.and_then(|worker| worker.left),
                started: self.started(record, worker, placed),
                backend: shown.and_then(|pod| pod.backend),
                registered: worker.is_some_and(|worker| worker.joined.is_some() && !worker.gone),
                past_known: record.complete,
                missing: missing_messages(record, at),
                id_holes,
                open_holes,
                unpublished: self.known.streams.unpublished(record, at),
                unmatched: record.counters.refused_stores + record.counters.unknown_removals,
                born: (record.born > Timestamp::default()).then_some(record.born),
                tally: Tally::default(),
                told: RequestTally::default(),
                unhit: record.since_hit.best().known,
                accepted: counts.accepted[0],
                held: counts.held[0],
                capacity: capacity.map(|capacity| capacity.value),
                utilization: utilization.map(|utilization| utilization.value),
                avoided: avoided.map(|(avoided, _)| avoided),
                hit_rate: record.hit_rate.as_ref().map(|measured| measured.value),
                first_event: record.first_event,
                last_event: record.last_event,
                first_routed: record.first_routed,
                last_routed: record.last_routed,
                owed: record.owed,
                belongs: self.belongs(record, shown, &homes),
                pod,
            }
        });
        ranks.collect()
    }

    fn role(&self, worker: WorkerId) -> Option<Arc<str>> {
        self.known.setup().part_of(Some(worker), &Subject::Worker(worker))
    }

    fn load_evidence(&self, at: Timestamp, names: &WorkerNames) -> LoadEvidence {
        let workers = self.known.fleet.workers.ranks().iter().filter_map(|record| {
            let in_flight = self.known.fleet.loads.in_flight(record.rank, at)?;
            let worker = self.known.fleet.workers.worker(record.rank.worker)?;
            if worker.gone {
                return None;
            }
            let subjects = super::picture::subjects(record, worker.pod.as_deref());
            let limit = [ClaimOf::Engine, ClaimOf::Card]
                .into_iter()
                .find_map(|of| self.known.fleet.claims.count(ClaimWhat::MaxNumSeqs, of, &subjects));
            Some(WorkerLoad {
                id: worker.id,
                name: names.get(worker.id),
                in_flight,
                batch_limit: limit.map(|(limit, _)| limit),
            })
        });
        LoadEvidence {
            objectives: self.known.options.objectives,
            first_token: self.known.routing.latencies.percentiles(LatencyName::FirstToken, at),
            computed_tokens: self
                .known
                .routing
                .mix
                .figures(at)
                .and_then(|mix| mix.computed_tokens()),
            workers: workers.collect(),
        }
    }

    /// Returns whether a rank is of the deployment that is looked at: by its pod, or where no pods are
    /// shown, by the router that sends it requests, or the Dynamo namespace that it shares with workers
    /// in discovery.
    fn belongs(&self, record: &RankRecord, shown: Option<&Pod>, homes: &HashSet<&str>) -> Belongs {
        let alone = self.known.shown.cluster.pods().next().is_none();
        let workers = &self.known.fleet.workers;
        let known = record.routed > 0 || workers.is_at_home(record.rank.worker, homes);
        if shown.is_some() || (alone && known) { Belongs::Here } else { Belongs::Perhaps }
    }

    /// Returns when a rank started. What was there when kvtop attached started at a time of its own,
    /// which only its pod tells; what was away then and came back started when it
    /// came, unless its pod tells.
    fn started(
        &self,
        record: &RankRecord,
        worker: Option<&WorkerRecord>,
        pod: Option<&PodRecord>,
    ) -> Option<Timestamp> {
        let watched = self.known.times.watched.unwrap_or_default().after(ATTACHING);
        let container = pod.and_then(|record| record.began);
        let came = worker.and_then(|worker| {
            let returned = worker.left_before.is_some() && container.is_none();
            worker.since.filter(|at| *at > watched || returned)
        });
        let added = self.known.fleet.arrivals.added(record.rank.worker);
        came.max(record.restarted).max(container).max(added)
    }

    /// Returns the pods of workers that are on their way in or out. One that stays like that is the usual
    /// state of things.
    fn unready(&self, at: Timestamp) -> Vec<Arc<str>> {
        let on_its_way = |record: &&PodRecord| {
            let pod = &record.pod;
            let starts = !pod.ready && pod.phase.as_ref() != "Failed";
            let since = record.began.unwrap_or(record.first).max(record.first);
            pod.role.is_worker() && (pod.terminating || starts) && since.after(ON_ITS_WAY) > at
        };
        let pods = self.known.shown.cluster.pods().filter(on_its_way);
        pods.map(|record| Arc::clone(&record.pod.name)).collect()
    }

    fn router_evidence(&self, at: Timestamp) -> RouterEvidence {
        let router = &self.known.routing.router;
        let routers = router.pods().filter(|(pod, known)| known.read && known.is_router(pod));
        let routers: Vec<_> =
            routers.filter(|(pod, _)| !self.known.fleet.is_foreign_pod(pod)).collect();
        let lately = |last: Option<Timestamp>| last.is_some_and(|last| at.since(last) <= MINUTE);
        let working = routers
            .iter()
            .filter(|(pod, known)| lately(known.last_routed) && !self.known.shown.is_deleted(pod));
        let pods = self.known.setup().most_of_a_component(working.map(|(pod, _)| *pod));
        // The weight of one that routes no more counts while nobody else routes.
        let printed = |all: bool| -> Vec<(Arc<str>, f64)> {
            let there = routers.iter().filter(|(pod, known)| {
                (all || lately(known.last_routed)) && !self.known.shown.is_deleted(pod)
            });
            there.filter_map(|(pod, known)| Some((Arc::clone(pod), known.own_weight()?))).collect()
        };
        let lately_printed = printed(false);
        let weights = if lately_printed.is_empty() { printed(true) } else { lately_printed };
        let present = self.known.fleet.present_ranks();
        let fractions = self.known.fractions();
        let mut there =
            routers.iter().filter(|(pod, _)| !self.known.shown.is_deleted(pod)).peekable();
        RouterEvidence {
            read: !routers.is_empty(),
            by_blocks: there.peek().is_some()
                && there.all(|(_, known)| known.modes == SaidModes::BlocksAfterOther),
            began: self.known.setup().router_began(),
            counts_since: router.scrapes.replaced(|pod| self.known.setup().is_here(pod))[0],
            alone: self.known.setup().replaced_routers().map(|it| it.alone),
            rejecting: self.rejecting(),
            unplaced: pods.iter().any(|pod| self.known.shown.cluster.pod(pod).is_none()),
            pods,
            replicas: self.known.setup().replicas(),
            tally: RouterTally::default(),
            told: RouterTally::default(),
            heard: router.heard(),
            weights,
            inferred: fractions.block_size().map(|tokens| SizeByCosts {
                tokens,
                samples: fractions.samples(),
                error: fractions.error(),
            }),
            chains: self.known.routing.prefixes.reuse.publisher_size_among(&present),
            chains_of: self.known.setup().chains_of(),
            lengths_told: self.known.routing.prefixes.reuse.told(),
            regret: self.regret(None),
            sourceless: router.scrapes.sourceless(|pod| self.known.setup().is_here(pod), at),
            unfed: self.unfed(at),
            fed: router.scrapes.fed(|pod| self.known.setup().is_here(pod), at),
            hits: self.known.setup().router_hits(at),
        }
    }

    /// Returns the routers whose indexes took in none of the stores that workers published meanwhile.
    fn unfed(&self, at: Timestamp) -> Vec<(Arc<str>, u64)> {
        // An event takes its time to the router, and counters are read some time after each other.
        const UNDER_WAY: Duration = Duration::from_secs(5);
        let router = &self.known.routing.router;
        let unfed = router.scrapes.unfed(|pod| self.known.setup().is_here(pod), at);
        let stores_since = |from: Timestamp| {
            let ranks = self.window(Some(from)).ranks;
            ranks.iter().map(|tally| tally.kv.counters.stores).sum::<u64>()
        };
        let stores = |[first, last]: [Timestamp; 2]| {
            stores_since(first.after(UNDER_WAY))
                .saturating_sub(stores_since(last.before(UNDER_WAY)))
        };
        unfed.into_iter().map(|(pod, readings)| (pod, stores(readings))).collect()
    }

    /// Returns what was counted from `from` on; everything for none. Requests and refusals that routers told of
    /// count beside KV events only where these were watched too; requests that replaced routers told of do not count for
    /// routers.
    fn window(&self, from: Option<Timestamp>) -> Window {
        let slots = self.known.times.slots;
        let first = from.map(|from| slots.slot(from));
        let watched = match self.known.streams.listens_since(&self.known.times) {
            Some(since) if since == Timestamp::default() => None,
            Some(since) => Some(slots.after(since, MARGIN)),
            None => Some(Slot::LAST),
        };
        let mut window = Window { from, ..Window::default() };
        let own = first.max(self.known.setup().replaced_routers().map(|it| it.slot(slots)));
        self.known.routing.router.buckets.since(own, watched, |counts, seen| {
            window.told.sum(counts);
            if seen {
                window.router.sum(counts);
            } else {
                window.router.add_events(counts);
            }
        });
        let setup = self.known.setup();
        let alone =
            |pod: &str| setup.is_here(pod) && (!setup.has_foreign() || setup.is_placed(pod));
        self.known.routing.router.scrapes.counted(alone, own, watched, |counts, seen| {
            window.told.own.sum(counts);
            if seen {
                window.router.own.sum(counts);
            }
        });
        // These are joined to the ranks of the evidence by position, so both lists leave out the same workers.
        let ranks = self.known.fleet.workers.ranks().iter();
        let ours = ranks.filter(|it| !self.known.fleet.is_foreign_worker(it.rank.worker));
        for record in ours {
            let gone = self
                .known
                .fleet
                .workers
                .worker(record.rank.worker)
                .is_some_and(|worker| worker.gone);
            let mut tally = Tally::default();
            record.kv.since(first, watched, |counts, _| tally.kv.sum(counts));
            let (seen, told) = requests_of(record, first, watched);
            (tally.requests, tally.refusals) = (seen.requests, seen.refusals);
            if !gone {
                let (seen, told) =
                    if own == first { (seen, told) } else { requests_of(record, own, watched) };
                window.router.add_rank(&seen.requests, &seen.refusals);
                window.told.add_rank(&told.requests, &told.refusals);
            }
            window.ranks.push(tally);
            window.told_ranks.push(told.requests);
        }
        window.regret = self.regret(from);
        window
    }

    /// Returns the cached blocks that decisions from `from` on ignored.
    fn regret(&self, from: Option<Timestamp>) -> Option<Regret> {
        let all = self.known.routing.decisions.last().iter();
        // Choices between other workers say nothing of those that are there.
        let workers = self.known.fleet.workers.workers().iter();
        let ours = workers.filter(|it| it.gone && !self.known.fleet.is_foreign_worker(it.id));
        let left = ours.filter_map(|worker| worker.left).max();
        let from = from.max(left).max(self.known.setup().replaced_routers().map(|it| it.alone));
        let since = all.filter(|record| from.is_none_or(|from| record.at >= from));
        regret(since.filter_map(|record| record.weighed.as_ref()))
    }

    /// Returns the routers that are there and reject stores because they lack the parent block.
    fn rejecting(&self) -> Option<Rejecting> {
        let pods = self.known.routing.router.pods().filter(|(pod, known)| known.is_router(pod));
        let mut there = pods.filter(|(pod, _)| !self.known.shown.is_deleted(pod));
        let none = Rejecting { routers: 0, began: Timestamp(u64::MAX), after: Duration::ZERO };
        let all = there.try_fold(none, |all, (pod, known)| {
            let Some(first) = known.first_parent else { return Some(all) };
            let began = self.known.setup().router_watch(pod).began?;
            // A warning from before the start is that of an earlier process.
            let first = Some(first).filter(|first| *first >= began)?;
            let served = known.first_routed.map_or(began, |routed| routed.max(began));
            Some(Rejecting {
                routers: all.routers + 1,
                began: all.began.min(began),
                after: all.after.max(first.since(served)),
            })
        });
        all.filter(|all| all.routers > 0)
    }

    fn tree_evidence(&self, at: Timestamp) -> TreeEvidence {
        let totals = self.known.index.mirror.totals();
        TreeEvidence {
            accepted: totals.accepted,
            held: totals.held,
            orphan_roots: totals.orphan_roots,
            orphan_blocks: totals.orphan_blocks,
            incomplete: super::picture::incomplete(self.known, totals.shed_blocks, at),
        }
    }
}

/// Returns two counts of the requests and refusals of `record` from `from` on: those while KV events were `watched`, and
/// all.
fn requests_of(record: &RankRecord, from: Option<Slot>, watched: Option<Slot>) -> (Tally, Tally) {
    let (mut seen, mut told) = (Tally::default(), Tally::default());
    record.requests.since(from, watched, |counts, is_seen| {
        told.requests.sum(counts);
        if is_seen {
            seen.requests.sum(counts);
        }
    });
    record.refusals.since(from, watched, |counts, is_seen| {
        told.refusals.sum(counts);
        if is_seen {
            seen.refusals.sum(counts);
        }
    });
    (seen, told)
}

/// Returns what choices gave away; none when no decision spells out every worker's cost.
fn regret<'a>(decisions: impl Iterator<Item = &'a Weighed>) -> Option<Regret> {
    let mut sum = Regret::default();
    for weighed in decisions {
        sum.decisions += 1;
        sum.passed_up += u64::from(weighed.chosen < weighed.best);
        sum.prompt_blocks += weighed.prompt;
        sum.best_blocks += weighed.best;
        sum.chosen_blocks += weighed.chosen;
        sum.forgone_blocks += weighed.forgone;
    }
    (sum.decisions > 0).then_some(sum)
}
