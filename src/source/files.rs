//! The folder source: discovery records that Dynamo's processes keep in files.
//!
//! With `DYN_DISCOVERY_BACKEND=file` each record is a file below `v1/`, named by its key in percent
//! encoding, and touched every few seconds while its process lives (dynamo-runtime 1.6.1,
//! `storage/kv/file.rs`). Read once a second; nothing is written, locked or touched.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use tokio::sync::watch;

use crate::clock;
use crate::domain::{SourceName, SourceState, Timestamp};
use crate::dynamo::plane;
use crate::frame::Origin;
use crate::source::etcd::Known;
use crate::source::notes::{Notes, shortened};
use crate::source::{Desired, Emitter, SourceHandle};

/// The name of the source in notes.
const NAME: SourceName = SourceName::Discovery;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// A file that was not touched for this long is of a process that ended. Dynamo's processes delete
/// such files after 10 s, but the last one has nobody to delete its own.
const EXPIRED: Duration = Duration::from_secs(15);

/// A file that was written just now may be half of one (0.9.0 writes in place).
const SETTLED: Duration = Duration::from_millis(100);

/// Most files of a folder, and most bytes of all, that are read at a time.
const FILES: usize = 16_384;
const BYTES: u64 = 64 << 20;

/// Largest file.
const LARGEST: u64 = 4 << 20;

/// Starts the source on `folder`. Must be called within a runtime.
pub fn spawn(folder: PathBuf, emitter: Emitter) -> SourceHandle {
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let known = Known::new(emitter.clone().counting_apart(), |key, put| Origin::File { key, put });
    let notes = Notes::new(NAME, emitter, shown);
    let source = Source { folder, wanted, notes, known };
    let task = tokio::spawn(source.run());
    SourceHandle { name: NAME, desired, state, task }
}

struct Source {
    folder: PathBuf,
    wanted: watch::Receiver<Desired>,
    notes: Notes,
    known: Known,
}

impl Source {
    async fn run(mut self) {
        while self.notes.heard {
            let wanted = *self.wanted.borrow_and_update();
            match wanted {
                Desired::Stopped => break,
                Desired::Suspended => self.say(SourceState::Suspended, ""),
                Desired::Running => self.look().await,
            }
            let pause = if wanted == Desired::Running { PERIOD } else { Duration::MAX };
            if let Ok(Err(_)) = tokio::time::timeout(pause, self.wanted.changed()).await {
                break;
            }
        }
        self.notes.ended();
    }

    async fn look(&mut self) {
        let folder = self.folder.clone();
        let now = clock::now();
        // On a thread for blocking work: the disk may be slow, or another machine's.
        let found = tokio::task::spawn_blocking(move || scan(&folder, now)).await;
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                let why = format!("`{}`: {error}", self.folder.display());
                return self.say(SourceState::Down, &shortened(&why));
            }
            Err(_) => return self.say(SourceState::Down, "the folder could not be read"),
        };
        self.known.begin();
        for (key, content) in found.records {
            if !self.known.room().await {
                return;
            }
            match content {
                Some(content) => self.known.put(&key, &content),
                None => self.known.keep(&key),
            }
        }
        self.known.finish();
        let more = if found.cut { "; there are more than are read" } else { "" };
        let why = format!("{}{more}", self.known.summary());
        self.say(SourceState::Live, &why);
    }

    fn say(&mut self, state: SourceState, why: &str) {
        let retry = (state == SourceState::Down).then_some(PERIOD);
        self.notes.set(state, why, retry);
        self.notes.count(self.known.dropped(), 0);
        self.notes.tell();
    }
}

/// The files of a folder.
#[derive(Default)]
struct Found {
    /// Keys with their contents; none for what is only just being written.
    records: Vec<(String, Option<Bytes>)>,
    bytes: u64,
    cut: bool,
}

fn scan(folder: &Path, now: Timestamp) -> std::io::Result<Found> {
    // That there is no such folder is worth saying; that it has no records yet is not.
    fs::read_dir(folder)?;
    let mut found = Found::default();
    for bucket in plane::RECORD_KINDS.map(|kind| kind.trim_end_matches('/')) {
        let entries = match fs::read_dir(folder.join(bucket)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for (number, entry) in entries.enumerate() {
            if number >= FILES || found.bytes > BYTES {
                found.cut = true;
                break;
            }
            if let Some(record) = entry.ok().and_then(|entry| read(bucket, &entry, now)) {
                found.bytes += record.1.as_ref().map_or(0, |content| content.len() as u64);
                found.records.push(record);
            }
        }
    }
    Ok(found)
}

/// Returns key and content of a file; none when it is no record, or one that expired.
fn read(bucket: &str, entry: &fs::DirEntry, now: Timestamp) -> Option<(String, Option<Bytes>)> {
    let name = entry.file_name().into_string().ok()?;
    // Files on their way to a name start with a dot (dynamo-runtime 1.6.1).
    if name.starts_with('.') || !entry.file_type().ok()?.is_file() {
        return None;
    }
    let key = format!("{bucket}/{}", decoded(&name)?);
    let metadata = entry.metadata().ok()?;
    let touched = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let age = now.since(Timestamp(u64::try_from(touched.as_micros()).ok()?));
    if age > EXPIRED || metadata.len() > LARGEST {
        return None;
    }
    if age < SETTLED {
        return Some((key, None));
    }
    let mut content = Vec::new();
    fs::File::open(entry.path()).ok()?.take(LARGEST).read_to_end(&mut content).ok()?;
    Some((key, Some(content.into())))
}

/// Returns a name without its percent encoding; none when it is not well formed.
fn decoded(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_read_as_keys() {
        let name = "dynamo%2Fbackend%2Fgenerate%2F17216e63492ef21f";
        assert_eq!(decoded(name).as_deref(), Some("dynamo/backend/generate/17216e63492ef21f"));
        assert_eq!(decoded("a%5Fb").as_deref(), Some("a_b"));
        for bad in ["%", "a%2", "%zz", "%ff"] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }
}
