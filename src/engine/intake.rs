//! Frames in: time, origin, what they say, and what could not be read.

use std::sync::Arc;
use std::time::Duration;

use super::origin::{NAME_LIMIT, carries_kv, clean, home, sample_of, source_name};
use super::{Engine, kept};
use crate::domain::{Fact, Subject, Timestamp, VersionSign};
use crate::dynamo::plane;
use crate::frame::{Body, Frame, Origin};
use crate::mirror::{Mirror, Semantics};
use crate::model::Slots;
use crate::wire::{self, Shape};

/// KV events that are gathered before the mirror applies them: enough for its look-ups to overlap,
/// few enough to stay in the cache.
const BURST: usize = 512;

/// How far a frame may be ahead of its arrival, by another clock. Beyond it every series would wait
/// for that time to come.
const CLOCK_AHEAD: Duration = Duration::from_secs(60);

/// Without a frame for so long, time alone may change what rules say.
const SILENCE: Duration = Duration::from_secs(5);

/// Most looks of the rules into one silence; a longer one changes nothing more.
const MOST_LOOKS: u32 = 60;

/// Longest reason of a reject that is kept.
const REASON_LIMIT: usize = 300;

impl Engine {
    /// Takes in frames, in order of arrival.
    pub fn ingest(&mut self, frames: &[Frame]) {
        for frame in frames {
            let clean = clean(frame);
            let frame = clean.as_ref();
            if frame.happened() > frame.at.after(CLOCK_AHEAD) {
                self.ingest_early(frame);
            } else {
                self.ingest_one(frame);
            }
        }
        self.apply_kv();
    }

    /// Takes in a frame whose time is yet to come as if it had happened on arrival, and says so.
    fn ingest_early(&mut self, frame: &Frame) {
        let frame = Frame { time: None, ..frame.clone() };
        self.ingest_one(&frame);
        let why = "a time more than a minute after its arrival; its arrival counts";
        self.note_odd(&frame, why, &source_name(&frame.origin));
    }

    fn ingest_one(&mut self, frame: &Frame) {
        let happened = frame.happened();
        self.judge_before(frame.at);
        self.frames += 1;
        self.times.first = Some(earliest(self.times.first, happened));
        if self.times.watched.is_none() {
            self.slots = Slots::new(frame.at);
        }
        self.times.watched = Some(earliest(self.times.watched, frame.at));
        self.times.newest = self.times.newest.max(frame.at);
        if !matches!(frame.origin, Origin::Health { .. }) {
            self.times.told = self.times.told.max(Some(frame.at));
        }
        if self.starts_a_second(frame) {
            self.apply_kv();
            self.roll(happened);
        }
        self.times.cursor = self.times.cursor.max(happened);
        self.journal.frame = Some(kept::light(frame));
        let source = self.note_origin(frame);
        if self.is_foreign(frame, &source) {
            self.journal.frame = None;
            return;
        }
        if let Origin::Indexer { .. } = &frame.origin {
            return self.take_dump(frame, &source);
        }
        self.frame_from = self.facts.kv.events().len();
        self.facts.shape = None;
        let decoded = self.decode(frame);
        let events = self.facts.kv.events().len().saturating_sub(self.frame_from);
        if events > 0 {
            self.router_counts(happened).events += events as u64;
            self.times.kv = Some(earliest(self.times.kv, happened));
            self.note_kv_origin(frame);
            self.burst.push((self.frame_from, kept::light(frame)));
        }
        if !self.facts.other.is_empty() {
            self.learn_all(happened, &source);
            self.refresh_foreign();
        }
        if let Err(reject) = decoded {
            self.note_reject(frame, &reject.why, &source);
        }
        if self.facts.kv.events().len() >= BURST {
            self.apply_kv();
        }
        self.journal.frame = None;
    }

    /// Lets the rules look at what was known when a second ended, and at every few seconds of a silence. So they
    /// say the same however frames are gathered: a recording that is read at once is judged like one that is
    /// played, and like what was live.
    pub(super) fn judge_before(&mut self, at: Timestamp) {
        let known = self.times.newest;
        if self.frames == 0 || at.seconds() <= known.seconds() {
            return;
        }
        self.apply_kv();
        if self.times.judged.is_none_or(|judged| judged < known) {
            self.diagnose(known);
        }
        for _ in 0..MOST_LOOKS {
            let next = self.times.judged.unwrap_or(known).after(SILENCE);
            if next.seconds() >= at.seconds() {
                return;
            }
            self.diagnose(next);
        }
        self.times.judged = Some(at.before(SILENCE));
    }

    /// Returns true for what happened after kvtop began to watch: anything earlier was read back.
    pub(super) fn is_live(&self, at: Timestamp) -> bool {
        self.times.watched.is_some_and(|watched| at >= watched)
    }

    /// Returns true when gauges are to be noted before `frame`: at each new second, and for history
    /// that is read while the present goes on, at each of its own.
    fn starts_a_second(&mut self, frame: &Frame) -> bool {
        let second = frame.happened().seconds();
        if matches!(frame.origin, Origin::Jetstream { .. }) {
            let before = std::mem::replace(&mut self.times.history, second);
            return second != before;
        }
        second > self.times.cursor.seconds()
    }

    /// Learns what a frame says besides KV events. A worker that leaves does so after its events.
    fn learn_all(&mut self, at: Timestamp, source: &Arc<str>) {
        let facts = std::mem::take(&mut self.facts.other);
        if facts.iter().any(|fact| matches!(fact, Fact::Membership(_) | Fact::PodGone { .. })) {
            self.apply_kv();
        }
        self.doubt_models(&facts);
        for fact in &facts {
            self.learn(fact, at, source);
        }
        self.scraped(&facts, at);
        self.claims.drop_doubted();
        self.facts.other = facts;
        self.facts.other.clear();
    }

    pub(super) fn note_reject(&mut self, frame: &Frame, why: &str, source: &Arc<str>) {
        if carries_kv(&frame.origin) {
            self.router_counts(frame.happened()).unreadable += 1;
        }
        self.note_odd(frame, why, source);
    }

    fn note_odd(&mut self, frame: &Frame, why: &str, source: &Arc<str>) {
        if let Some(record) = self.sources.record(source) {
            record.rejects += 1;
        }
        let sample = || match &frame.body {
            Body::Whole(bytes) => sample_of(bytes),
            Body::Parts(parts) => parts.first().map(|part| sample_of(part)).unwrap_or_default(),
        };
        let at = frame.happened();
        if self.is_live(at) {
            self.rejects.note_live();
        }
        let why = &*wire::printable(why, REASON_LIMIT);
        if self.rejects.note(frame.origin.kind(), why, at, sample) {
            self.journal.reject(at, source, why);
        }
    }

    /// Notes where a frame came from and returns the name of its source.
    fn note_origin(&mut self, frame: &Frame) -> Arc<str> {
        let name = source_name(&frame.origin);
        match &frame.origin {
            Origin::Log { pod, .. } => {
                self.workers.note_pod(pod);
                self.times.logs = Some(earliest(self.times.logs, frame.happened()));
                if let Some(warnings) = self.router.pod(pod) {
                    warnings.follows.get_or_insert(frame.happened());
                    warnings.read = true;
                    let named = ["worker", "prefill", "decode"].iter().any(|it| pod.contains(it));
                    warnings.assumed = self.options.logs_named && !named;
                }
            }
            Origin::Metrics { pod, .. } => self.workers.note_pod(pod),
            Origin::Jetstream { stream, seq: 1, .. } => {
                self.history.note(stream, true);
            }
            Origin::Nats { subject, .. } if self.deployment.namespace.is_none() => {
                let namespace = subject.strip_prefix(plane::SUBJECT_START);
                let namespace = namespace.and_then(|rest| rest.split('.').next());
                self.deployment.namespace = namespace.map(Arc::from);
            }
            // What a source says of itself is no frame of its data.
            Origin::Health { .. } => return name,
            _ => {}
        }
        self.accounts.arrived(&frame.origin);
        if let Some(record) = self.sources.record(&name) {
            record.frames += 1;
            record.last_frame = Some(frame.at);
        }
        self.meters.count_frame(&name, frame.at);
        name
    }

    fn note_kv_origin(&mut self, frame: &Frame) {
        self.deployment.plane = Some(match (&frame.origin, self.facts.shape) {
            (Origin::Zmq { .. }, _) => "ZMQ",
            (Origin::Nats { subject, .. }, _) if subject.starts_with(plane::SUBJECT_START) => {
                "NATS core"
            }
            _ => "JetStream",
        });
        let Some(shape) = self.facts.shape else { return };
        if self.deployment.shape.is_none() {
            self.choose_mirror(if shape == Shape::Plain {
                Semantics::PerBlock
            } else {
                Semantics::EdgeTruncating
            });
        }
        if let Some(event) = self.facts.kv.events().get(self.frame_from) {
            let home = || home(&frame.origin).map(|home| wire::printable(home, NAME_LIMIT).into());
            self.workers.set_home(event.rank.worker, home);
            let subject = Subject::Worker(event.rank.worker);
            self.versions.sign(&VersionSign {
                subject,
                releases: shape.releases(),
                by: "KV events",
            });
        }
        let before = self.deployment.shape.unwrap_or(shape);
        self.deployment.mixed |= (before == Shape::Plain) != (shape == Shape::Plain);
        self.deployment.shape = Some(before.max(shape));
    }

    /// Makes the mirror treat events like the deployment's routers, while nothing was applied to it.
    /// One that a dump filled stays: blocks do not say how they would be treated.
    pub(super) fn choose_mirror(&mut self, semantics: Semantics) {
        if self.mirror.ranks().next().is_none() {
            self.mirror = Mirror::new(semantics, self.options.memory_limit);
        }
    }
}

fn earliest(known: Option<Timestamp>, at: Timestamp) -> Timestamp {
    known.map_or(at, |known| known.min(at))
}
