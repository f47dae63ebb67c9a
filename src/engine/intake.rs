//! Frames in: time, origin, what they say, and what could not be read.

use std::time::Duration;

use super::origin::{NAME_LIMIT, carries_kv, clean, home, is_clean, sample_of, source_name};
use super::{Learner, MINUTE, foreign, picture};
use crate::domain::{Fact, Plane, SourceName, Subject, Timestamp, VersionSign};
use crate::dynamo::plane;
use crate::frame::{Body, Frame, Origin};
use crate::mirror::{Mirror, Semantics};
use crate::model::{Refusals, RequestTally, RouterTally, Slots};
use crate::wire::{self, Shape};

/// KV events that are gathered before the mirror applies them: enough for its look-ups to overlap,
/// few enough to stay in the cache.
const BURST: usize = 512;

/// The most that a frame's own time may be ahead of its arrival: clocks differ. Beyond it every series would wait
/// for that time to come.
const CLOCK_AHEAD: Duration = Duration::from_secs(60);

/// Longest reason of a reject that is kept.
const REASON_LIMIT: usize = 300;

impl Learner<'_> {
    /// Takes in those frames of the burst that arrived in the same second as the first, or before. Returns how many.
    pub(super) fn take_second(mut self) -> usize {
        let burst = self.burst;
        let first = burst.first().map_or(0, |frame| frame.at.seconds());
        let second = first.max(self.known.times.newest.seconds());
        let mut taken = 0;
        for frame in burst.iter().take_while(|frame| frame.at.seconds() <= second) {
            let early = frame.happened() > frame.at.after(CLOCK_AHEAD);
            if early || self.pending.lanes.lane(frame).is_none() && !is_clean(frame) {
                self.take_mended(frame, early);
            } else {
                (self.frame, self.pending.present) = (Some(frame), taken);
                self.ingest_one(frame);
                self.frame = None;
            }
            taken += 1;
        }
        self.apply_kv();
        self.settle_lanes();
        taken
    }

    /// Takes in a frame with names that are not fit for a terminal, or one whose time is yet to come: that counts
    /// as having happened on arrival, and is reported.
    fn take_mended(&mut self, frame: &Frame, early: bool) {
        self.apply_kv();
        let mut mended = clean(frame).into_owned();
        if early {
            mended.time = None;
        }
        let mut alone = Learner {
            known: &mut *self.known,
            pending: &mut *self.pending,
            burst: std::slice::from_ref(&mended),
            frame: Some(&mended),
        };
        alone.pending.present = 0;
        alone.ingest_one(&mended);
        if early {
            let why = "a time more than a minute after its arrival; its arrival counts";
            alone.note_odd(&mended, why, &source_name(&mended.origin));
        }
        alone.apply_kv();
    }

    /// Counts the frames of lanes for their sources.
    fn settle_lanes(&mut self) {
        let (sources, meters) = (&mut self.known.streams.sources, &mut self.known.record.meters);
        self.pending.lanes.settle(|counted| {
            if let Some(record) = sources.record(counted.source) {
                record.frames += u64::from(counted.frames);
                record.last_frame = Some(counted.last);
            }
            meters.count_frames(counted.source, counted.first, counted.frames);
        });
    }

    /// Returns the routers' counts of the rank at `index`, for a report of time `at`; none when `at` is before the
    /// rank's present incarnation.
    pub(super) fn counts_of(&mut self, index: usize, at: Timestamp) -> Option<&mut RequestTally> {
        let times = &mut self.known.times;
        times.active = times.active.max(at);
        let slot = times.slots.slot(at);
        self.known.fleet.workers.ranks_mut().get_mut(index)?.request_counts(slot, at)
    }

    /// Returns what routers refused of the rank at `index`, for a warning of time `at`; none when `at` is before the
    /// rank's present incarnation.
    pub(super) fn refusals_of(&mut self, index: usize, at: Timestamp) -> Option<&mut Refusals> {
        let times = &mut self.known.times;
        times.active = times.active.max(at);
        let slot = times.slots.slot(at);
        self.known.fleet.workers.ranks_mut().get_mut(index)?.refusal_counts(slot, at)
    }

    /// Returns the counts of routers, and of nobody's rank, for something that happened at `at`.
    pub(super) fn router_counts(&mut self, at: Timestamp) -> &mut RouterTally {
        self.known.routing.router.buckets.slot(self.known.times.slots.slot(at))
    }

    /// Notes gauges for every second up to `at`.
    pub(super) fn roll(&mut self, at: Timestamp) {
        let known = &mut *self.known;
        if at.seconds() == known.record.meters.rolled.seconds() {
            return;
        }
        let setup = known.setup();
        let ttft = known.routing.router.scrapes.ttft_last(|pod| setup.is_here(pod), at);
        let meters = &mut known.record.meters;
        meters.rolled = at;
        known.fleet.workers.forget_scraped(at, MINUTE);
        let ranks = picture::ranks_now(&known.fleet, &known.index.mirror, at);
        let felt = picture::felt_now(&known.routing, meters, &known.options.objectives, at);
        meters.ttft.set(at, ttft);
        meters.felt(at, &felt);
        meters.gauges(at, known.index.mirror.totals().accepted, &ranks);
        known.index.explorer.warm(&known.index.mirror, at);
        known.note_leaders(at);
    }

    fn ingest_one(&mut self, frame: &Frame) {
        let happened = frame.happened();
        self.known.times.frames += 1;
        self.known.times.first = Some(earliest(self.known.times.first, happened));
        if self.known.times.watched.is_none() {
            self.known.times.slots = Slots::new(frame.at);
        }
        self.known.times.watched = Some(earliest(self.known.times.watched, frame.at));
        self.known.times.newest = self.known.times.newest.max(frame.at);
        if !matches!(frame.origin, Origin::Health { .. }) {
            self.known.times.told = self.known.times.told.max(Some(frame.at));
        }
        if self.starts_a_second(frame) {
            self.apply_kv();
            // Pictures note gauges by themselves, and charts of a brief engine are not shown.
            if !self.known.options.brief {
                self.roll(happened);
            }
        }
        self.known.times.cursor = self.known.times.cursor.max(happened);
        let source = self.note_origin(frame);
        if self.is_foreign(frame, &source) {
            return;
        }
        if self.known.streams.deployment.namespace.is_none() {
            self.known.streams.deployment.namespace = foreign::namespace(&frame.origin);
        }
        if let Origin::Indexer { .. } = &frame.origin {
            return self.take_dump(frame, &source);
        }
        self.pending.frame_from = self.pending.facts.kv.events().len();
        self.pending.facts.shape = None;
        let decoded = self.decode(frame);
        let events = self.pending.facts.kv.events().len().saturating_sub(self.pending.frame_from);
        if events > 0 {
            let counts = self.router_counts(happened);
            counts.events += events as u64;
            counts.messages += 1;
            self.known.times.kv = Some(earliest(self.known.times.kv, happened));
            self.note_kv_origin(frame);
            self.pending.burst.push((self.pending.frame_from, self.pending.present));
        }
        if !self.pending.facts.other.is_empty() {
            self.learn_all(happened, &source);
        }
        if let Err(reject) = decoded {
            self.note_reject(frame, &reject.why, &source);
        }
        if self.pending.facts.kv.events().len() >= BURST {
            self.apply_kv();
        }
    }

    /// Returns true when gauges are to be noted before `frame`: at each new second, and for history
    /// that is read while the present goes on, at each of its own.
    fn starts_a_second(&mut self, frame: &Frame) -> bool {
        let second = frame.happened().seconds();
        if matches!(frame.origin, Origin::Jetstream { .. }) {
            let before = std::mem::replace(&mut self.known.times.history, second);
            return second != before;
        }
        second > self.known.times.cursor.seconds()
    }

    /// Learns what a frame says besides KV events. A worker that leaves does so after its events.
    fn learn_all(&mut self, at: Timestamp, source: &SourceName) {
        let mut facts = std::mem::take(&mut self.pending.facts.other);
        if let [fact @ Fact::Envelope { .. }] = facts.as_slice() {
            // Most frames are a message of the event plane, and tell nothing but its number besides.
            self.learn(fact, at, source);
            facts.clear();
            self.pending.facts.other = facts;
            return;
        }
        if facts.iter().any(|fact| matches!(fact, Fact::Membership(_) | Fact::PodGone { .. })) {
            self.apply_kv();
        }
        self.doubt_models(&facts);
        for fact in &facts {
            self.learn(fact, at, source);
        }
        self.scraped(&facts, at);
        self.known.fleet.claims.drop_doubted();
        facts.clear();
        self.pending.facts.other = facts;
    }

    pub(super) fn note_reject(&mut self, frame: &Frame, why: &str, source: &SourceName) {
        if carries_kv(&frame.origin) {
            self.router_counts(frame.happened()).unreadable += 1;
        }
        self.note_odd(frame, why, source);
    }

    fn note_odd(&mut self, frame: &Frame, why: &str, source: &SourceName) {
        if let Some(record) = self.known.streams.sources.record(source) {
            record.rejects += 1;
        }
        let sample = || match &frame.body {
            Body::Whole(bytes) => sample_of(bytes),
            Body::Parts(parts) => parts.first().map(|part| sample_of(part)).unwrap_or_default(),
        };
        let at = frame.happened();
        if self.known.times.is_live(at) {
            self.known.streams.rejects.note_live();
        }
        let why = &*wire::printable(why, REASON_LIMIT);
        if self.known.streams.rejects.note(frame.origin.kind(), why, at, sample) {
            self.known.record.journal.reject(at, source, frame, why);
        }
    }

    /// Notes where a frame came from and returns the name of its source.
    fn note_origin(&mut self, frame: &Frame) -> SourceName {
        let name = source_name(&frame.origin);
        match &frame.origin {
            Origin::Log { pod, .. } => {
                self.known.fleet.workers.note_pod(pod);
                self.known.times.logs = Some(earliest(self.known.times.logs, frame.happened()));
                let warnings = self.known.routing.router.pod(pod);
                warnings.follows.get_or_insert(frame.happened());
                warnings.read = true;
                let named = ["worker", "prefill", "decode"].iter().any(|it| pod.contains(it));
                warnings.assumed = self.known.options.logs_named && !named;
            }
            Origin::Metrics { pod, .. } => self.known.fleet.workers.note_pod(pod),
            Origin::Jetstream { stream, seq: 1, .. } => {
                self.known.streams.history.note(stream, true);
            }
            // What a source says of itself is no frame of its data.
            Origin::Health { .. } => return name,
            _ => {}
        }
        if let Some(lane) = self.pending.lanes.lane(frame) {
            if lane.is_of_another_second(frame.at) {
                self.settle_lanes();
            }
            return self.count_on_lane(frame).unwrap_or(name);
        }
        self.known.streams.accounts.arrived(&frame.origin);
        if let Some(record) = self.known.streams.sources.record(&name) {
            record.frames += 1;
            record.last_frame = Some(frame.at);
        }
        self.known.record.meters.count_frames(&name, frame.at, 1);
        if self.pending.lanes.is_full() {
            self.settle_lanes();
            self.pending.lanes.clear();
        }
        self.pending.lanes.open(frame, &name);
        name
    }

    /// Counts a frame of a lane. Returns the name of its source.
    fn count_on_lane(&mut self, frame: &Frame) -> Option<SourceName> {
        let lane = self.pending.lanes.lane(frame)?;
        lane.count(frame.at);
        let accounts = &mut self.known.streams.accounts;
        match lane.account {
            Some(place) => accounts.arrived_at(place),
            None => lane.account = accounts.arrived(&frame.origin),
        }
        Some(lane.source.clone())
    }

    fn note_kv_origin(&mut self, frame: &Frame) {
        let carrier = match (&frame.origin, self.pending.facts.shape) {
            (Origin::Zmq { .. }, _) => Plane::Zmq,
            (Origin::Nats { subject, .. }, _) if subject.starts_with(plane::SUBJECT_START) => {
                Plane::NatsCore
            }
            _ => Plane::JetStream,
        };
        self.known.streams.deployment.plane = Some(carrier);
        let Some(shape) = self.pending.facts.shape else { return };
        if self.known.streams.deployment.shape.is_none() {
            self.choose_mirror(if shape == Shape::Plain {
                Semantics::PerBlock
            } else {
                Semantics::EdgeTruncating
            });
        }
        if let Some(event) = self.pending.facts.kv.events().get(self.pending.frame_from) {
            let (rank, worker) = (event.rank, event.rank.worker);
            let fleet = &mut self.known.fleet;
            let index = fleet.workers.index_of(rank).unwrap_or(usize::MAX);
            let sign = Some((shape, carrier, fleet.versions.changes()));
            if fleet.signed.get(index) != Some(&sign) {
                let home =
                    || home(&frame.origin).map(|home| wire::printable(home, NAME_LIMIT).into());
                fleet.workers.set_home(worker, home);
                let (subject, releases) = (Subject::Worker(worker), shape.releases());
                fleet.versions.sign(&VersionSign { subject, releases, by: "KV events" });
                fleet.note_sign(index, (shape, carrier, fleet.versions.changes()));
            }
        }
        let before = self.known.streams.deployment.shape.unwrap_or(shape);
        let deployment = &mut self.known.streams.deployment;
        deployment.changed |= (before == Shape::Plain) != (shape == Shape::Plain);
        deployment.shape = Some(before.max(shape));
    }

    /// Makes the mirror treat events like the deployment's routers, while nothing was applied to it.
    /// One that a dump filled stays: blocks do not say how they would be treated.
    pub(super) fn choose_mirror(&mut self, semantics: Semantics) {
        if self.known.index.mirror.ranks().next().is_none() {
            self.known.index.mirror = Mirror::new(semantics, self.known.options.memory_limit);
        }
    }
}

fn earliest(known: Option<Timestamp>, at: Timestamp) -> Timestamp {
    known.map_or(at, |known| known.min(at))
}
