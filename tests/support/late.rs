//! A recorded deployment as it looks to somebody who attaches later.
//!
//! Kept is what can still be read then: objects that exist, logs of pods that exist, stored events of 0.9 as
//! history. Gone is what only passed by: messages of NATS core and ZMQ, scrapes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use kvtop::domain::{SourceName, Timestamp};
use kvtop::frame::{Body, Frame, KubeChange, Origin};

/// Everything that could be read at the moment of attaching.
#[derive(Default)]
struct Readable {
    objects: BTreeMap<(String, String), Frame>,
    gone: BTreeSet<String>,
    sources: BTreeMap<SourceName, Frame>,
    logs: Vec<Frame>,
    stored: Vec<(Arc<str>, Frame)>,
}

/// Returns what somebody gets who attaches `from` seconds after the first of `all`, until `until` seconds after it.
pub(crate) fn attached(all: &[Frame], from: u64, until: u64) -> Vec<Frame> {
    let first = all[0].at;
    let (from, until) =
        (first.after(Duration::from_secs(from)), first.after(Duration::from_secs(until)));
    let mut readable = Readable::default();
    for frame in all.iter().filter(|frame| frame.at < from) {
        readable.note(frame);
    }
    let mut frames = readable.read(from);
    // What a stream keeps is given out in its order: live messages wait until the history is read.
    let read = frames.iter().filter(|frame| matches!(frame.origin, Origin::Jetstream { .. }));
    let read = read.map(|frame| frame.at).max().unwrap_or_default();
    let live = all.iter().filter(|frame| frame.at >= from && frame.at <= until);
    frames.extend(live.map(|frame| {
        let waits = is_stored(frame) && frame.at < read;
        Frame { at: if waits { read } else { frame.at }, ..frame.clone() }
    }));
    frames.sort_by_key(|frame| frame.at);
    frames
}

impl Readable {
    fn note(&mut self, frame: &Frame) {
        match &frame.origin {
            Origin::Kube { kind, change } => {
                let name = text(&body(frame)["metadata"]["name"]);
                let key = (kind.to_string(), name.clone());
                if *change == KubeChange::Deleted {
                    self.objects.remove(&key);
                    self.gone.insert(name);
                } else {
                    self.gone.remove(&name);
                    self.objects.insert(key, frame.clone());
                }
            }
            Origin::Health { source } => {
                self.sources.insert(source.clone(), frame.clone());
            }
            Origin::Log { .. } => self.logs.push(frame.clone()),
            Origin::Jetstream { subject, .. } => {
                self.stored.push((Arc::clone(subject), frame.clone()));
            }
            Origin::Nats { subject, .. } if is_stored(frame) => {
                self.stored.push((Arc::clone(subject), frame.clone()));
            }
            _ => {}
        }
    }

    fn read(&self, from: Timestamp) -> Vec<Frame> {
        let mut read = Vec::new();
        let after = |micros: usize| from.after(Duration::from_micros(micros as u64));
        let own = ["kubernetes", "nats", "zmq", "etcd", "logs", "metrics"];
        for source in
            own.into_iter().filter(|source| self.sources.contains_key(&SourceName::from(*source)))
        {
            read.push(health(source, from, &json!({"state": "connecting"})));
        }
        for (number, object) in self.objects.values().enumerate() {
            let Origin::Kube { kind, .. } = &object.origin else { continue };
            let origin = Origin::Kube { kind: Arc::clone(kind), change: KubeChange::Listed };
            let at = after(10_000 + number);
            read.push(Frame { at, origin, ..object.clone() });
        }
        let mut last = 0;
        for (number, (subject, message)) in self.stored.iter().enumerate() {
            last = number as u64 + 1;
            let stream: Arc<str> = subject.rsplit_once('.').unwrap().0.into();
            let origin = Origin::Jetstream { stream, seq: last, subject: Arc::clone(subject) };
            let time = Some(message.happened());
            read.push(Frame { at: after(100_000 + number), time, origin, ..message.clone() });
        }
        let end = 200_000 + self.stored.len();
        if self.sources.contains_key(&SourceName::Nats) {
            let mut note = json!({"state": "live"});
            if let Some((subject, _)) = self.stored.first() {
                let stream = subject.rsplit_once('.').unwrap().0;
                note["history"] = json!({
                    "stream": stream, "first_seq": 1, "last_seq": last, "read": last, "complete": true,
                });
            }
            read.push(health("nats", after(end), &note));
        }
        if self.sources.contains_key(&SourceName::Kubernetes) {
            read.push(health("kubernetes", after(end), &json!({"state": "live"})));
        }
        for (number, line) in self.lines().enumerate() {
            let time = Some(line.happened());
            read.push(Frame { at: after(end + 10 + number), time, ..line.clone() });
        }
        let others = ["logs", "metrics", "zmq", "etcd", "port-forward"];
        for source in
            others.iter().filter_map(|source| self.sources.get(&SourceName::from(*source)))
        {
            read.push(Frame { at: after(end + 10 + self.logs.len()), ..source.clone() });
        }
        read
    }

    /// Returns the lines that logs of running containers still hold.
    fn lines(&self) -> impl Iterator<Item = &Frame> {
        let mut began: BTreeMap<&str, Timestamp> = BTreeMap::new();
        for ((kind, name), object) in &self.objects {
            let statuses = body(object)["status"]["containerStatuses"].clone();
            let started = statuses.as_array().into_iter().flatten().filter_map(|status| {
                let started = status["state"]["running"]["startedAt"].as_str()?;
                let started = started.parse::<jiff::Timestamp>().ok()?;
                u64::try_from(started.as_microsecond()).ok().map(Timestamp)
            });
            if let Some(started) = started.max().filter(|_| kind == "Pod") {
                began.insert(name, started);
            }
        }
        self.logs.iter().filter(move |line| {
            let Origin::Log { pod, .. } = &line.origin else { return false };
            let since = began.get(pod.as_ref()).copied().unwrap_or_default();
            !self.gone.contains(pod.as_ref()) && line.happened() >= since
        })
    }
}

/// Returns true for a live message that a stream keeps, as those of 0.9 do.
fn is_stored(frame: &Frame) -> bool {
    matches!(&frame.origin, Origin::Nats { subject, .. }
        if subject.starts_with("namespace-") && subject.ends_with(".kv-events"))
}

fn health(source: &str, at: Timestamp, note: &Value) -> Frame {
    let mut note = note.clone();
    for count in ["dropped", "drops_uncounted", "interruptions"] {
        note[count] = json!(0);
    }
    Frame::new(at, Origin::Health { source: source.into() }, note.to_string())
}

fn body(frame: &Frame) -> Value {
    match &frame.body {
        Body::Whole(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        Body::Parts(_) => Value::Null,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
