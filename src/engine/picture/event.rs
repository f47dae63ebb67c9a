//! One entry of the journal with the frame that it was made from, decoded.

mod fact;

use crate::domain::{ClearScope, KvEvent, KvKind, SequenceHash};
use crate::engine::Knowledge;
use crate::engine::frame_ring::KeptFrame;
use crate::engine::kv::count_of;
use crate::frame::{Body, Origin};
use crate::snapshot::{EventDetail, FrameView, LogLine};
use crate::wire::{self, Facts};

/// Most things that are told of one frame.
const FACTS: usize = 100;
/// Longest log line of a list, in characters.
const LINE: usize = 2_000;
/// Most blocks that are told of one event.
const BLOCKS: usize = 64;

pub(super) fn detail(known: &Knowledge, number: u64) -> EventDetail {
    let (frames, bytes) = known.record.journal.frames.size();
    let kept = known.record.journal.frames.frame(number);
    EventDetail {
        number,
        frame: kept.map(|kept| view(known, kept)),
        kept_frames: frames as u64,
        kept_bytes: bytes as u64,
    }
}

/// Returns the log lines behind the last `count` events, as far as they are kept.
pub(super) fn log_lines(known: &Knowledge, count: usize) -> Vec<LogLine> {
    let rows = super::events(known, count).into_iter();
    rows.filter_map(|row| {
        let kept = known.record.journal.frames.frame(row.number)?;
        let Origin::Log { .. } = &kept.frame.origin else { return None };
        let Body::Whole(bytes) = &kept.frame.body else { return None };
        let text = String::from_utf8_lossy(bytes);
        let text = text.lines().next().unwrap_or_default().chars().take(LINE).collect();
        Some(LogLine { number: row.number, text })
    })
    .collect()
}

fn view(known: &Knowledge, kept: &KeptFrame) -> FrameView {
    let frame = &kept.frame;
    let mut facts = Facts::default();
    let mut decoded = Vec::new();
    if let Err(reject) = wire::decode_with(frame, known.shown.maps.all(), &mut facts) {
        decoded.push(format!("cannot be read: {reject}"));
    }
    for fact in facts.other.iter().take(FACTS) {
        fact::lines(known, fact, &mut decoded);
    }
    for event in facts.kv.events().iter().take(FACTS) {
        kv_lines(known, event, &facts, &mut decoded);
    }
    let more = (facts.other.len() + facts.kv.events().len()).saturating_sub(2 * FACTS);
    if more > 0 {
        decoded.push(format!("and {more} more"));
    }
    let body = match &frame.body {
        Body::Whole(bytes) => wire::readable(bytes),
        Body::Parts(parts) => {
            let part = |(at, bytes): (usize, &_)| -> Vec<String> {
                let head = format!("part {} of {}", at + 1, parts.len());
                [vec![head], wire::readable(AsRef::<[u8]>::as_ref(bytes))].concat()
            };
            parts.iter().enumerate().flat_map(|(at, bytes)| part((at, bytes))).collect()
        }
    };
    FrameView {
        origin: origin(&frame.origin),
        at: frame.at,
        time: frame.time,
        size: kept.size as u64,
        cut: kept.size > frame.len(),
        decoded,
        body,
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Nats { subject, .. } => format!("NATS subject {subject}"),
        Origin::Jetstream { stream, seq, subject } => {
            format!("JetStream {stream}, message {seq}, subject {subject}")
        }
        Origin::Zmq { endpoint } => format!("ZMQ {endpoint}"),
        Origin::Log { pod, container, .. } => format!("log of {pod}, container {container}"),
        Origin::Metrics { pod, url } => format!("metrics of {pod}, {url}"),
        Origin::Kube { kind, change } => format!("Kubernetes {kind}, {}", change.name()),
        Origin::Etcd { key, put } => {
            format!("etcd key {key}, {}", if *put { "written" } else { "deleted" })
        }
        Origin::File { key, put } => {
            format!("discovery record {key}, {}", if *put { "written" } else { "gone" })
        }
        Origin::Indexer { url } => format!("dump of the indexer at {url}"),
        Origin::Health { source } => format!("kvtop's own note about {source}"),
    }
}

/// Columns of a name.
const NAME: usize = 15;

/// Adds a line of a name and its value.
fn named(lines: &mut Vec<String>, name: &str, value: impl std::fmt::Display) {
    lines.push(format!("  {name:NAME$}  {value}"));
}

/// Returns a hash as it is written everywhere.
fn hash(hash: SequenceHash) -> String {
    format!("{:016x}", hash.0)
}

fn kv_lines(known: &Knowledge, event: &KvEvent, facts: &Facts, lines: &mut Vec<String>) {
    let who = known.fleet.alias(event.rank);
    let (id, tier) = (event.event_id, event.tier.name());
    let mut rows = match &event.kind {
        KvKind::Stored { parent, blocks } => {
            let parent = parent.map_or_else(|| "the root".to_owned(), hash);
            let blocks = facts.kv.blocks_of(blocks);
            lines.push(format!("STORED {who}"));
            named(lines, "event", id);
            named(lines, "tier", tier);
            named(lines, "parent", parent);
            named(lines, "stored", count_of(blocks.len()));
            let row = |block: &crate::domain::Block| {
                let (block, tokens) = (hash(block.sequence), block.tokens.0);
                // Both side by side, as there are many.
                format!("  block {block} tokens {tokens:016x}")
            };
            blocks.iter().map(row).collect::<Vec<_>>()
        }
        KvKind::Removed { hashes } => {
            let hashes = facts.kv.removed_of(hashes);
            lines.push(format!("REMOVED {who}"));
            named(lines, "event", id);
            named(lines, "tier", tier);
            named(lines, "removed", count_of(hashes.len()));
            hashes.iter().map(|block| format!("  block {}", hash(*block))).collect()
        }
        KvKind::Cleared { scope } => {
            let of = if *scope == ClearScope::Worker { "all ranks" } else { "this rank" };
            lines.push(format!("CLEARED {who}"));
            named(lines, "event", id);
            named(lines, "cleared", of);
            Vec::new()
        }
    };
    let more = rows.len().saturating_sub(BLOCKS);
    rows.truncate(BLOCKS);
    lines.append(&mut rows);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
}
