//! The tap: turns the simulation's messages into frames, as a source would have received them.

use std::collections::HashMap;
use std::sync::Arc;

use super::names::publisher_id;
use super::rng::Rng;
use super::site::Site;
use crate::domain::{HitRate, Tier, Timestamp, WorkerRank};
use crate::dynamo::plane;
use crate::frame::{Frame, KubeChange, Origin};
use crate::wire::encode::{
    Change, Family, RouterEvent, envelope, hit_rate, router_load, worker_load,
};

/// The frames made so far, and the numbers that are on them.
#[derive(Clone, Debug)]
pub(super) struct Tap {
    site: &'static Site,
    family: Family,
    /// The time from which on frames are live; before it, a `JetStream` stream holds them.
    live: Timestamp,
    /// True when KV events from before can be read.
    history: bool,
    /// True when nobody reads the frames.
    muted: bool,
    frames: Vec<Frame>,
    stream: Arc<str>,
    stream_subject: Arc<str>,
    stream_seq: u64,
    subjects: HashMap<&'static str, Arc<str>>,
    sequences: HashMap<(u64, &'static str), u64>,
    inboxes: HashMap<u64, (String, Rng)>,
}

impl Tap {
    /// Returns a tap that is live from `live` on.
    pub(super) fn new(site: &'static Site, family: Family, live: Timestamp, history: bool) -> Self {
        let subjects = [plane::KV_EVENTS, plane::LOAD, plane::HIT_RATE]
            .map(|topic| (topic, format!("{}.{topic}", site.scope(family, topic)).into()));
        let stream = site.stream();
        Self {
            site,
            family,
            live,
            history,
            muted: false,
            frames: Vec::new(),
            stream_subject: format!("{stream}{}", plane::KV_EVENTS_SUBJECT_END).into(),
            stream: stream.into(),
            stream_seq: 0,
            subjects: HashMap::from(subjects),
            sequences: HashMap::new(),
            inboxes: HashMap::new(),
        }
    }

    /// Makes no frames from now on.
    pub(super) fn mute(&mut self) {
        self.muted = true;
    }

    fn push(&mut self, frame: Frame) {
        if !self.muted {
            self.frames.push(frame);
        }
    }

    /// Returns the frames made since the last call.
    pub(super) fn take(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.frames)
    }

    /// Returns true when kvtop hears what is published at `at`, or reads it from the stream.
    fn hears(&self, at: Timestamp) -> bool {
        !self.muted && (at >= self.live || self.history)
    }

    /// Returns when kvtop learns of what can be looked up later: a late attach finds it at once.
    fn seen(&self, at: Timestamp) -> Timestamp {
        if self.history { at } else { at.max(self.live) }
    }

    /// A line appears in the log of `pod`.
    pub(super) fn log(&mut self, at: Timestamp, pod: &str, line: String) {
        let origin = Origin::log(self.site.kube_namespace, pod);
        self.push(Frame { time: Some(at), ..Frame::new(self.seen(at), origin, line) });
    }

    /// A scrape of `pod` succeeds.
    pub(super) fn scrape(&mut self, at: Timestamp, pod: &Arc<str>, text: String) {
        let origin = Origin::Metrics { pod: Arc::clone(pod), url: "/metrics".into() };
        self.push(Frame::new(self.seen(at), origin, text));
    }

    /// A discovery record is written, or deleted when there is no value.
    pub(super) fn record(&mut self, at: Timestamp, key: &str, value: Option<String>) {
        let origin = Origin::Etcd { key: key.into(), put: value.is_some() };
        self.push(Frame::new(self.seen(at), origin, value.unwrap_or_default()));
    }

    /// An object of Kubernetes comes, changes or goes.
    pub(super) fn kube(&mut self, at: Timestamp, kind: &str, change: KubeChange, object: String) {
        let origin = Origin::Kube { kind: kind.into(), change };
        self.push(Frame::new(self.seen(at), origin, object));
    }

    /// A worker publishes a KV event.
    pub(super) fn kv(&mut self, at: Timestamp, rank: WorkerRank, id: u64, change: Change<'_>) {
        let event = RouterEvent { rank, tier: Tier::Device, event_id: id, change };
        if !self.family.uses_jetstream() {
            let payload = event.payload(self.family);
            self.publish(at, rank.worker.0, rank.dp_rank.0, plane::KV_EVENTS, &payload);
            return;
        }
        self.stream_seq += 1;
        let reply = self.inbox(rank.worker.0);
        if !self.hears(at) {
            return;
        }
        let (origin, time) = if at >= self.live {
            let subject = Arc::clone(&self.stream_subject);
            (Origin::Nats { subject, reply: Some(reply.into()), headers: Vec::new() }, None)
        } else {
            let (stream, subject) = (Arc::clone(&self.stream), Arc::clone(&self.stream_subject));
            (Origin::Jetstream { stream, seq: self.stream_seq, subject }, Some(at))
        };
        self.push(Frame { time, ..Frame::new(at, origin, event.json(self.family)) });
    }

    /// A worker's KV event is lost after it was numbered.
    pub(super) fn lose(&mut self, rank: WorkerRank) {
        if !self.family.uses_jetstream() {
            let publisher =
                publisher_id(self.family, rank.worker.0, rank.dp_rank.0, plane::KV_EVENTS);
            *self.sequences.entry((publisher, plane::KV_EVENTS)).or_default() += 1;
        }
    }

    /// A worker reports the blocks it uses.
    pub(super) fn worker_load(&mut self, at: Timestamp, rank: WorkerRank, used: u64) {
        let payload = worker_load(rank, used, self.family);
        self.publish(at, rank.worker.0, rank.dp_rank.0, plane::LOAD, &payload);
    }

    /// A router reports what it believes to run on `rank`. It no longer does from 1.5 on.
    pub(super) fn router_load(
        &mut self,
        at: Timestamp,
        router: u64,
        rank: WorkerRank,
        (blocks, prefill_tokens): (u64, u64),
    ) {
        if self.family < Family::V1_5 {
            let payload = router_load(rank, blocks, prefill_tokens, self.family);
            self.publish(at, router, 0, plane::LOAD, &payload);
        }
    }

    /// A router reports the overlap of one request, on 0.9.
    pub(super) fn hit_rate(&mut self, at: Timestamp, router: u64, rate: &HitRate) {
        if self.family == Family::V0_9 {
            self.publish(at, router, 0, plane::HIT_RATE, &hit_rate(rate));
        }
    }

    fn publish(
        &mut self,
        at: Timestamp,
        instance: u64,
        dp_rank: u32,
        topic: &'static str,
        payload: &[u8],
    ) {
        if self.muted {
            return;
        }
        let publisher = publisher_id(self.family, instance, dp_rank, topic);
        let sequence = self.sequences.entry((publisher, topic)).or_default();
        let body = envelope(publisher, *sequence, at.0 / 1000, topic, payload);
        *sequence += 1;
        if let Some(subject) = self.subjects.get(topic)
            && self.hears(at)
        {
            let subject = Arc::clone(subject);
            let origin = Origin::Nats { subject, reply: None, headers: Vec::new() };
            self.push(Frame::new(at, origin, body));
        }
    }

    /// Returns a fresh reply subject of the client of `instance`: a prefix per client, which
    /// repeats, and a suffix per message.
    fn inbox(&mut self, instance: u64) -> String {
        let (prefix, rng) = self.inboxes.entry(instance).or_insert_with(|| {
            let mut rng = Rng::new(instance, 3);
            (letters(&mut rng, 22), rng)
        });
        let (same, fresh) = prefix.split_at(18);
        let rest = letters(rng, 4);
        debug_assert_eq!(fresh.len(), rest.len());
        format!("_INBOX.{prefix}.{same}{rest}")
    }
}

fn letters(rng: &mut Rng, length: usize) -> String {
    const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    (0..length).map(|_| char::from(ALPHABET[rng.index(ALPHABET.len())])).collect()
}
