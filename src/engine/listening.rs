//! From when on KV events were watched, and whether the past is still being read.

use std::time::Duration;

use super::{Streams, Times};
use crate::domain::{Plane, SourceName, SourceState, Timestamp};

/// The longest time that verdicts wait for a source that has yet to tell what is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time for a source to name what follows from it.
const SETTLING: Duration = Duration::from_secs(1);

/// The longest time that they wait for history to be read.
const READING: Duration = Duration::from_secs(60);

impl Streams {
    /// Returns the moment from which on every KV event was seen, live or in history; none while no source of
    /// KV events delivers. The beginning of time, where nothing tells of sources.
    pub(super) fn listens_since(&self, times: &Times) -> Option<Timestamp> {
        let plane = self.deployment.plane;
        if plane.is_none_or(|plane| plane == Plane::JetStream) && !self.history.is_empty() {
            let first = times.kv.or(times.watched)?;
            return Some(if self.history.is_whole() { Timestamp::default() } else { first });
        }
        let known = self.sources.all().filter(|(name, record)| {
            let wanted = match plane {
                Some(plane) => **name == plane.source(),
                None => name.brings_events(),
            };
            let state = record.note.as_ref().map(|note| note.state);
            wanted && state.is_some_and(|state| state != SourceState::Ended)
        });
        let mut latest = Timestamp::default();
        for (_, record) in known {
            latest = latest.max(record.live_since?);
        }
        Some(latest)
    }

    /// Returns true while a source of KV events delivers, and each that does reaches every publisher it should.
    pub(super) fn hears_all(&self) -> bool {
        let notes = self.sources.all().filter(|(name, _)| name.brings_events());
        let live: Vec<_> = notes.filter(|(_, record)| record.live_since.is_some()).collect();
        !live.is_empty() && live.iter().all(|(_, record)| record.short_since.is_none())
    }

    /// Returns why it is too early to judge: a source has yet to tell what there is, or history is being read.
    pub(super) fn reads(&self, times: &Times, at: Timestamp) -> Option<String> {
        let attached = times.watched.unwrap_or(at);
        let tells = |name: &SourceName| name.brings_events() || *name == SourceName::Kubernetes;
        for (name, record) in self.sources.all() {
            let Some(note) = &record.note else { continue };
            if tells(name)
                && note.state == SourceState::Connecting
                && record.live_since.is_none()
                && at.since(attached) < PATIENCE
            {
                return Some(format!("{name}: connecting"));
            }
            // A stream may hold earlier messages, and verdicts without them would be withdrawn.
            if tells(name) && note.pending && at.since(attached) < PATIENCE {
                return Some(format!("{name} has not listed its streams yet"));
            }
            // At first it names further sources, or the history that it is about to read, right after it connects.
            let expected = tells(name) && note.history.is_none() && at.since(attached) < PATIENCE;
            if expected && record.live_since.is_some_and(|since| at.since(since) < SETTLING) {
                return Some(format!("{name}: just connected"));
            }
            // Streams are read one after the other, and later reads only fill in what came meanwhile.
            let mut readings = record.readings.values();
            let Some(reading) = readings.find(|it| !it.note.complete && !it.was_whole) else {
                continue;
            };
            if self.history.is_partial() || at.since(reading.began.0) < READING {
                return Some(format!(
                    "stored KV events: {} of {} messages were read",
                    reading.note.read,
                    reading.note.total()
                ));
            }
        }
        None
    }
}
