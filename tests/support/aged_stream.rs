//! Gives stored messages of a stopped `nats-server` other times, so that a test needs no five minutes to
//! have a stream that is five minutes old.
//!
//! Blocks of a file store are records: a header of 22 bytes (length, sequence, time in nanoseconds, length
//! of the subject), subject, payload, and a `HighwayHash` of all but length and length of the subject
//! (nats-server 2.15.1, `server/filestore.go`, `writeMsgRecordLocked`).

use std::path::Path;

use highway::{HighwayHash as _, HighwayHasher, Key};
use kvtop::domain::Timestamp;
use sha2::{Digest as _, Sha256};

const HEADER: usize = 22;
const CHECKSUM: usize = 8;
/// Marks records with message headers.
const WITH_HEADERS: u32 = 1 << 31;

/// Sets the times of the messages of `stream` in the store `folder`: the first is the time of sequence
/// `first`.
pub(crate) fn set_times(folder: &Path, stream: &str, first: u64, times: &[Timestamp]) {
    let messages = folder.join("jetstream/$G/streams").join(stream).join("msgs");
    let mut set = 0;
    for entry in std::fs::read_dir(&messages).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        match name.strip_suffix(".blk") {
            Some(index) => {
                let mut block = std::fs::read(&path).unwrap();
                set += rewrite(&mut block, &format!("{stream}-{index}"), first, times);
                std::fs::write(&path, block).unwrap();
            }
            // What the server keeps of blocks besides: without it, it reads the blocks.
            None => std::fs::remove_file(&path).unwrap(),
        }
    }
    assert_eq!(set, times.len(), "messages of {stream} that got another time");
}

/// Returns how many records of `block` got another time.
fn rewrite(block: &mut [u8], name: &str, first: u64, times: &[Timestamp]) -> usize {
    let digest = Sha256::digest(name.as_bytes());
    let words = |at: usize| u64::from_le_bytes(digest[at..at + 8].try_into().unwrap());
    let key = Key([words(0), words(8), words(16), words(24)]);
    let (mut at, mut set) = (0, 0);
    while at + HEADER <= block.len() {
        let length = u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        let end = at + usize::try_from(length & !WITH_HEADERS).unwrap();
        let record = &mut block[at..end];
        at = end;
        let sequence = u64::from_le_bytes(record[4..12].try_into().unwrap());
        let place = sequence.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        let Some(time) = place.and_then(|place| times.get(place)) else { continue };
        assert_eq!(length & WITH_HEADERS, 0, "these messages have no headers");
        record[12..20].copy_from_slice(&(time.0 * 1_000).to_le_bytes());
        let mut hasher = HighwayHasher::new(key);
        hasher.append(&record[4..20]);
        let body = record.len() - CHECKSUM;
        hasher.append(&record[HEADER..body]);
        let checksum = hasher.finalize64().to_le_bytes();
        record[body..].copy_from_slice(&checksum);
        set += 1;
    }
    set
}
