//! Facts other than KV events, each to where it belongs.

mod cluster;
mod engines;
mod gauges;
mod missing_parents;
mod parts;
mod requests;
mod sizes;

use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) use engines::UnlinkedEngines;
pub(super) use parts::Prefilled;

use super::Knowledge;
use super::gathered::Gathered;
use super::journal::Head;
use super::lanes::Lanes;
use crate::domain::{
    ActiveLoad, ClaimValue, ClaimWhat, Envelope, Fact, FormulaTerm, GaugeName, HistoryNote,
    LogWarning, Membership, Provenance, SourceName, SourceNote, SourceState, Subject, Timestamp,
    WarningKind, WorkerId, WorkerRank,
};
use crate::dynamo::plane;
use crate::frame::Frame;
use crate::mirror::Outcome;
use crate::model::{Measured, Refusals, RouterLoad, Step};
use crate::snapshot::{EventKind, Gravity};
use crate::wire::Facts;

/// Components whose `generate` endpoint chooses workers: the router inside the frontend of 0.9, and
/// `dynamo.router`.
const ROUTERS: [&str; 2] = ["kv-router", "router"];

/// Takes facts in: writes what is known.
pub(super) struct Learner<'a> {
    pub(super) known: &'a mut Knowledge,
    pub(super) pending: &'a mut Pending,
    /// The frames that are taken in together.
    pub(super) burst: &'a [Frame],
    /// The one of them that facts are from now; none for events that waited.
    pub(super) frame: Option<&'a Frame>,
}

/// Changes that wait to be applied.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) facts: Facts,
    /// The position of the present frame's first KV event.
    pub(super) frame_from: usize,
    /// The frames whose KV events wait, by position in the burst, each with where these begin.
    pub(super) burst: Vec<(usize, usize)>,
    /// The position of the present frame in the burst.
    pub(super) present: usize,
    /// The positions of the ranks of the events that are applied, beyond all where there are too many.
    pub(super) ranks: Vec<usize>,
    pub(super) lanes: Lanes,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) gathered: Gathered,
}

impl Learner<'_> {
    pub(super) fn learn(&mut self, fact: &Fact, at: Timestamp, source: &SourceName) {
        // A router of several Dynamo namespaces writes of the workers of all of them.
        if self.known.fleet.is_foreign_fact(fact) {
            return;
        }
        match fact {
            Fact::Envelope { topic, envelope, .. } => self.envelope(topic, *envelope, at, source),
            Fact::Load(load) => self.load(load, at, source),
            Fact::HitRate(hit) => self.hit_rate(hit, at),
            Fact::Decision(decision) => self.decision(decision, at, source),
            Fact::Formula(term) => self.formula(term, at),
            Fact::Overlap(overlap) => self.overlap(overlap, at),
            Fact::Prompt(prompt) => {
                // A router of another model or namespace may be the one that finds prefixes.
                if at >= self.known.routing.prefixes.idle_until
                    || self.known.fleet.served.is_several()
                {
                    // Its stores may still be waiting.
                    self.apply_kv();
                }
                self.known.routing.router.fractions.note_length(prompt.tokens);
                self.known.routing.prefixes.reuse.length(&prompt.request, prompt.tokens);
                self.known.routing.decisions.tokens(&prompt.request, prompt.tokens);
                self.short_prompt(&prompt.request, prompt.tokens, at);
            }
            Fact::Warning(warning) => self.warning(warning, at, source),
            Fact::RouterStart(start) => self.router_start(start, at),
            Fact::RegistrationRefused(refused) => self.known.fleet.refused.note(refused, at),
            Fact::CardRefused(refused) => self.known.fleet.refused.note_card(refused, at),
            Fact::Home { pod, namespace } => self.known.fleet.homes.note(pod, namespace),
            Fact::SetMade(made) => self.known.fleet.set_made(made, at),
            Fact::Arrived { router, worker } => self.arrived(router, *worker, at),
            Fact::Departed { worker } => self.departed(*worker, at, source),
            Fact::BlockSizes(notice) => self.block_sizes(notice, at, source),
            Fact::EngineSocket(seen) => self.engine_socket(seen, at),
            Fact::Claim(claim) => {
                // What is only asked for may be on its way while the old pods still run.
                if let (ClaimWhat::DynamoVersion, ClaimValue::Text(tag), Subject::Pod(_)) =
                    (claim.what, &claim.value, &claim.subject)
                {
                    self.known.fleet.versions.tag(&claim.subject, tag);
                }
                self.engine_size_said(claim);
                self.served(claim);
                self.known.fleet.claims.note(claim, at);
            }
            Fact::Sign(sign) => self.known.fleet.versions.sign(sign),
            Fact::Membership(membership) => self.membership(membership, at, source),
            Fact::Placed(placement) => self.placed(placement, at, source),
            Fact::Pod(pod) => self.pod(pod, at, source),
            Fact::PodGone { name } => self.pod_gone(name, at, source),
            Fact::Graph(graph) => self.graph(graph, at),
            Fact::GraphGone { name } => self.graph_gone(name),
            Fact::Endpoints(endpoints) => self.endpoints(endpoints),
            Fact::ConfigFile(file) => self.config_file(file, at),
            Fact::ConfigMap(map) => self.config_map(map, at, source),
            Fact::Gauge(gauge) => self.gauge(gauge, at),
            Fact::Histogram(histogram) => self.known.routing.latencies.take(histogram, at),
            Fact::Source(note) => self.source(note),
            Fact::Request(request) => self.request(request, at),
            Fact::Advertised(advertised) => self.known.shown.channels.set(advertised),
        }
    }

    fn formula(&mut self, term: &FormulaTerm, at: Timestamp) {
        let splits = self.known.routing.router.pod(&term.router).weigh(term.weight, at);
        self.known.fleet.workers.note_weighed(term.rank.worker, term.weight, splits);
        self.known.index.explorer.term(term, at);
        self.known.routing.decisions.term(term.clone());
    }

    fn envelope(
        &mut self,
        topic: &'static str,
        envelope: Envelope,
        at: Timestamp,
        source: &SourceName,
    ) {
        let events = topic == plane::KV_EVENTS;
        let first = self.pending.facts.kv.events().get(self.pending.frame_from).filter(|_| events);
        let rank = first.map(|event| event.rank);
        let away = self.known.streams.sources.was_away(topic, envelope.publisher, source, at);
        let step =
            self.known.streams.sources.follow(topic, envelope, rank.map(|rank| rank.dp_rank));
        if let Some(rank) = rank {
            self.numbered(rank, step, source, at);
        }
        let Step::Hole(missing) = step else { return };
        if events {
            // Up to 1.2 a worker publishes under its own id.
            let publisher = WorkerId(envelope.publisher);
            let known = self.known.fleet.workers.worker(publisher).map(|worker| worker.id);
            self.doubt_before_frame(rank.map(|rank| rank.worker).or(known));
            let missed = if away { missing } else { 0 };
            self.known.streams.history.lose(missing, missed, at);
            let counts = self.router_counts(at);
            counts.missed += missed;
            counts.lost += missing - missed;
        }
        if let Some(record) = self.known.streams.sources.record(source) {
            record.gaps = record.gaps.saturating_add(missing);
        }
        let head = Head {
            at,
            who: source.as_str(),
            kind: EventKind::Source,
            gravity: Gravity::Bad,
            source,
            orphan: false,
            worker: None,
            class: "gap",
        };
        self.known
            .record
            .journal
            .add(head, self.frame, || format!("{missing} messages of {topic} are missing"));
    }

    fn load(&mut self, load: &ActiveLoad, at: Timestamp, source: &SourceName) {
        // Workers and routers share the subject. A worker publishes under its own id up to 1.2, and
        // names its used blocks from 1.1.
        let own = load.publisher == load.rank.worker.0 && load.active_prefill_tokens.is_none();
        let used = load.kv_used_blocks.or(if own { load.active_decode_blocks } else { None });
        let told = load.active_decode_blocks.is_some() && load.active_prefill_tokens.is_some();
        // A router's estimate makes no worker.
        let known =
            used.is_some() || (told && self.known.fleet.workers.worker(load.rank.worker).is_some());
        let record = if known { self.known.fleet.workers.rank_mut(load.rank) } else { None };
        let Some(record) = record else { return };
        if let (Some(decode_blocks), Some(prefill_tokens)) =
            (load.active_decode_blocks, load.active_prefill_tokens)
        {
            let scraped = *source == SourceName::Metrics;
            let value = RouterLoad { decode_blocks, prefill_tokens, scraped };
            let source = if scraped {
                Provenance::FrontendMetrics
            } else {
                Provenance::told(format!("{} of a router", plane::LOAD))
            };
            record.load = Some(Measured { value, source, at });
        }
        let Some(value) = used else { return };
        record.used_blocks = Some(Measured { value, source: Provenance::told(plane::LOAD), at });
    }

    /// Keeps the count of gaps for a router's words about them. A gap that the router fills lost nothing.
    fn gap(&mut self, warning: &LogWarning, at: Timestamp) {
        let router = &mut self.known.routing.router;
        match (warning.kind, warning.rank) {
            (WarningKind::EventsRecovered, Some(rank)) => {
                if let Some(since) = router.recovers(&warning.pod, rank) {
                    let counts = self.router_counts(since);
                    counts.gaps = counts.gaps.saturating_sub(1);
                }
            }
            (WarningKind::EventsRecovered, None) => {}
            (_, rank) => {
                if let Some(rank) = rank {
                    router.misses(&warning.pod, rank, at);
                }
                self.router_counts(at).gaps += 1;
            }
        }
    }

    fn warning(&mut self, warning: &LogWarning, at: Timestamp, source: &SourceName) {
        if matches!(warning.kind, WarningKind::EventGap | WarningKind::EventsRecovered) {
            self.gap(warning, at);
        }
        if warning.kind == WarningKind::EventsRecovered {
            return;
        }
        let lack = self.missing_parent(warning, at);
        let missed = lack.is_some();
        let refusals = self.known.routing.router.warn(warning, lack, at);
        let counts = self.router_counts(at);
        match warning.kind {
            WarningKind::EventGap => {}
            WarningKind::DecodeFailed => counts.decode_failed += 1,
            _ => self.refused(warning.rank, &refusals, at),
        }
        let live = self.known.times.is_live(at);
        let pod = self.known.routing.router.pod(&warning.pod);
        pod.note_live(warning.kind, live);
        let router = pod.is_router(&warning.pod);
        if router && matches!(warning.kind, WarningKind::ParentMissing { .. }) {
            self.refused_by_router(warning, missed, at);
        }
        let meters = &mut self.known.record.meters;
        let text = match warning.kind {
            WarningKind::ParentMissing { blocks, .. } => {
                meters.parent_warnings.add(at, u32::from(router));
                match blocks {
                    // What differs comes first, as lists cut the end.
                    Some(0) => "parent of an empty store not found",
                    _ => "parent block not found",
                }
            }
            WarningKind::RemoveMissing { .. } => {
                meters.remove_warnings.add(at, u32::from(router));
                "block to remove not found"
            }
            WarningKind::StaleParent => "parent block is stale",
            // Printed right after the warning that says which event and why.
            WarningKind::ApplyFailed | WarningKind::EventsRecovered => return,
            WarningKind::HashMismatch => "block_hash mismatch",
            WarningKind::EventGap => "gap in event ids",
            WarningKind::DecodeFailed => "engine's KV events not decoded",
        };
        let orphan = matches!(
            warning.kind,
            WarningKind::ParentMissing { .. }
                | WarningKind::RemoveMissing { .. }
                | WarningKind::StaleParent
        );
        let about = warning.rank.map(|rank| format!(" for {}", self.known.fleet.alias(rank)));
        let (kind, gravity) = (EventKind::Warning, Gravity::Bad);
        let worker = warning.rank.map(|rank| rank.worker);
        let head =
            Head { at, who: &warning.pod, kind, gravity, source, orphan, worker, class: text };
        self.known
            .record
            .journal
            .add(head, self.frame, || format!("{text}{}", about.unwrap_or_default()));
    }

    /// Counts what a router refused of a rank.
    fn refused(&mut self, rank: Option<WorkerRank>, refusals: &Refusals, at: Timestamp) {
        if *refusals == Refusals::default() {
            return;
        }
        match rank.and_then(|rank| self.known.fleet.workers.index_of(rank)) {
            Some(index) => {
                if let Some(counts) = self.refusals_of(index, at) {
                    counts.add(refusals);
                }
            }
            None => self.router_counts(at).add_refusals(refusals),
        }
    }

    fn membership(&mut self, membership: &Membership, at: Timestamp, source: &SourceName) {
        if self.known.streams.deployment.namespace.is_none() && !membership.namespace.is_empty() {
            self.known.streams.deployment.namespace = Some(Arc::clone(&membership.namespace));
        }
        // A worker is an instance of its serving endpoint; query endpoints and routers are not.
        let router = ROUTERS.contains(&membership.component.as_ref());
        if membership.endpoint.as_ref() != "generate" || router {
            return;
        }
        let worker = WorkerId(membership.instance.0);
        self.known.fleet.served.note_namespace(&membership.namespace);
        self.known.fleet.foreign.note_home(worker, &membership.namespace);
        self.known.fleet.workers.note_membership(worker, membership, at);
        self.presence(worker, membership.present, at, source);
    }

    /// Doubts what was claimed for the models of a process that says anew which it serves.
    pub(super) fn doubt_models(&mut self, facts: &[Fact]) {
        let told = facts.iter().find_map(|fact| match fact {
            Fact::Claim(claim) if claim.model.is_some() => Some(claim),
            _ => None,
        });
        let Some(told) = told else { return };
        self.known.fleet.claims.doubt(|claim| {
            claim.model.is_some()
                && (&claim.subject, &claim.source) == (&told.subject, &told.source)
        });
    }

    /// Takes in the metrics of routers in one scrape. A family with a sample for each model counts
    /// with its sum.
    pub(super) fn scraped(&mut self, facts: &[Fact], at: Timestamp) {
        let mut sums: Vec<(&Arc<str>, GaugeName, f64)> = Vec::new();
        for fact in facts {
            let Fact::Gauge(gauge) = fact else { continue };
            let same =
                sums.iter_mut().find(|(pod, name, _)| (*pod, *name) == (&gauge.pod, gauge.name));
            match same {
                Some((_, _, sum)) => *sum += gauge.value,
                None => sums.push((&gauge.pod, gauge.name, gauge.value)),
            }
        }
        let of = |pod: &Arc<str>, wanted: GaugeName| {
            let found = sums.iter().find(|(known, name, _)| (*known, *name) == (pod, wanted));
            found.map(|(_, _, value)| *value)
        };
        for (pod, name, _) in &sums {
            if *name == GaugeName::InputTokenSum {
                let cached = of(pod, GaugeName::CachedTokenSum);
                let prompts = of(pod, GaugeName::InputTokenSum);
                self.known.routing.cached_tokens.take(pod, at, [cached, prompts]);
            }
        }
        let pods: BTreeSet<&Arc<str>> = sums.iter().map(|(pod, ..)| *pod).collect();
        for pod in pods {
            self.known.routing.mix.take(pod, at, |name| of(pod, name));
            let own = sums.iter().filter(|(of, ..)| *of == pod);
            let gauges: Vec<_> = own.map(|(_, name, value)| (*name, *value)).collect();
            let slots = self.known.times.slots;
            if self.known.routing.router.scrapes.take(pod, &gauges, at, slots) {
                self.known.times.active = self.known.times.active.max(at);
            }
        }
        for (pod, name, value) in sums {
            self.known.routing.traffic.take(pod, name, value, at);
        }
    }

    fn source(&mut self, note: &SourceNote) {
        // Whoever gets the newest part alone has not read the rest when others have.
        let partial = self.known.streams.history.is_partial();
        let history = note.history.clone().filter(|history| partial && history.complete);
        let unread = history.map(|history| HistoryNote { complete: false, ..history });
        let shown = unread.map(|history| SourceNote { history: Some(history), ..note.clone() });
        let note = shown.as_ref().unwrap_or(note);
        self.await_dump(note);
        if let Some(history) = &note.history {
            let gone = history.ledger.is_some_and(|ledger| ledger.before > 0);
            self.known.streams.history.note(&history.stream, history.first_seq <= 1 && !gone);
            self.known.streams.history.keep(&history.stream, history.keeps);
        }
        self.account(note);
        let name = note.source.clone();
        let Some(record) = self.known.streams.sources.record(&name) else { return };
        let news = record.say(note);
        let short = note.peers.is_some_and(|peers| peers.reached < peers.wanted);
        record.short_since = short.then(|| record.short_since.unwrap_or(note.at));
        if !news {
            return;
        }
        let gravity = match note.state {
            SourceState::Live | SourceState::Connecting | SourceState::Ended => Gravity::Normal,
            SourceState::Suspended => Gravity::Notice,
            SourceState::Lossy | SourceState::Down => Gravity::Bad,
        };
        let kind = EventKind::Source;
        let head = Head {
            at: note.at,
            who: name.as_str(),
            kind,
            gravity,
            source: &name,
            orphan: false,
            worker: None,
            class: "",
        };
        self.known.record.journal.add(head, self.frame, || match note.why.as_ref() {
            "" => note.state.name().to_owned(),
            why => format!("{}: {why}", note.state.name()),
        });
    }
}
