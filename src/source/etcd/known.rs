//! The discovery keys that exist, so that only changes are told, and what vanished is told too.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::clock;
use crate::dynamo::plane;
use crate::frame::{Frame, Origin};
use crate::source::Emitter;
use crate::wire::kept_of_record;

/// Buckets of discovery (dynamo-runtime 1.6.1, `discovery/kv_store.rs:21`). Whatever else may stand
/// beside them enters no frame.
const BUCKETS: [&str; 4] = [plane::ENDPOINTS, plane::CARDS, plane::CHANNELS, plane::SOURCES];

/// Most keys that are followed: a few for each of thousands of processes.
const KEYS: usize = 65_536;

/// Longest key that is followed.
const LONGEST: usize = 1024;

/// A key that exists.
struct Entry {
    /// A hash of its value.
    value: u64,
    /// The list that it was in last.
    list: u64,
}

/// The keys that exist.
pub(in crate::source) struct Known {
    emitter: Emitter,
    /// Makes the origin of a change.
    origin: fn(Arc<str>, bool) -> Origin,
    entries: HashMap<Arc<str>, Entry>,
    /// Lists so far.
    list: u64,
}

impl Known {
    /// Returns none yet; `emitter` counts what is dropped of them.
    pub(in crate::source) fn new(emitter: Emitter, origin: fn(Arc<str>, bool) -> Origin) -> Self {
        Self { emitter, origin, entries: HashMap::new(), list: 0 }
    }

    /// Begins a list of all keys.
    pub(in crate::source) fn begin(&mut self) {
        self.list += 1;
    }

    /// Waits for room, since a list can wait. Returns false when nobody receives frames any more.
    pub(in crate::source) async fn room(&self) -> bool {
        self.emitter.room().await
    }

    /// A key has this value.
    pub(in crate::source) fn put(&mut self, key: &str, value: &[u8]) {
        if key.len() > LONGEST || !BUCKETS.iter().any(|bucket| key.starts_with(bucket)) {
            return;
        }
        let (hash, list, full) = (xxh3_64(value), self.list, self.entries.len() >= KEYS);
        let shared: Arc<str> = key.into();
        if let Some(entry) = self.entries.get_mut(key) {
            entry.list = list;
            if std::mem::replace(&mut entry.value, hash) == hash {
                return;
            }
        } else if full {
            return;
        } else {
            self.entries.insert(Arc::clone(&shared), Entry { value: hash, list });
        }
        let kept = match serde_json::from_slice(value) {
            Ok(record) => kept_of_record(&record).to_string(),
            // No JSON either, so that the decoder refuses and counts it.
            Err(_) => format!("({} bytes left out)", value.len()),
        };
        self.emit(shared, true, kept.into());
    }

    /// A key is still there, if it was.
    pub(in crate::source) fn keep(&mut self, key: &str) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.list = self.list;
        }
    }

    /// A key is gone.
    pub(in crate::source) fn delete(&mut self, key: &str) {
        if let Some((key, _)) = self.entries.remove_entry(key) {
            self.emit(key, false, Bytes::new());
        }
    }

    /// The list is complete: what was not in it is gone.
    pub(in crate::source) fn finish(&mut self) {
        let list = self.list;
        let gone: Vec<Arc<str>> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.list != list)
            .map(|(key, _)| Arc::clone(key))
            .collect();
        for key in gone {
            self.delete(&key);
        }
    }

    /// Returns how many keys there are, for people.
    pub(in crate::source) fn summary(&self) -> String {
        match self.entries.len() {
            0 => "no discovery record of Dynamo is there".to_owned(),
            1 => "1 discovery record".to_owned(),
            count if count >= KEYS => format!("the first {KEYS} discovery records"),
            count => format!("{count} discovery records"),
        }
    }

    /// Returns how many frames were dropped.
    pub(in crate::source) fn dropped(&self) -> u64 {
        self.emitter.dropped()
    }

    /// Passes a change on. That nobody listens shows elsewhere.
    fn emit(&self, key: Arc<str>, put: bool, value: Bytes) {
        self.emitter.emit(Frame::new(clock::now(), (self.origin)(key, put), value));
    }
}
