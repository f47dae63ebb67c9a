//! KV events in `MessagePack`: the payload of an event-plane message.
//!
//! A map is one `RouterEvent` (Dynamo 0.9 to 1.3), an array several (1.4 and later; dynamo-llm 1.4.0
//! `kv_router/publisher/sinks.rs:24`). Unknown keys are passed over.
//!
//! A reader of the form that Dynamo writes comes first; an event of any other form is read again by the
//! one here. A test holds the two together.

mod fast;
#[cfg(test)]
mod tests;

use super::msgpack::{Cursor, Malformed};
use super::{Facts, Reject, Shape};
use crate::domain::{
    Block, ClearScope, DpRank, KvBatch, KvEvent, KvKind, SequenceHash, Tier, Timestamp, TokensHash,
    WorkerId, WorkerRank,
};

/// Adds the events of `payload` to `facts` and returns the worker of the first. Adds nothing when any
/// of them cannot be read.
pub(super) fn decode(
    payload: &[u8],
    at: Timestamp,
    facts: &mut Facts,
) -> Result<Option<WorkerId>, Reject> {
    let mark = facts.kv.mark();
    let decoded = events(payload, at, facts, plain_or_any);
    decoded.map_err(|error| {
        facts.kv.roll_back(mark);
        error.reject()
    })
}

/// The reason why a payload is no KV event.
enum Unreadable {
    Malformed(Malformed),
    Missing(&'static str),
    UnknownKind,
    UnknownTier,
}

impl Unreadable {
    fn reject(&self) -> Reject {
        match self {
            Self::Malformed(malformed) => Reject::new(format!("KV event: {}", malformed.why())),
            Self::Missing(key) => Reject::new(format!("KV event: no `{key}`")),
            Self::UnknownKind => Reject::new("KV event: neither stored, removed nor cleared"),
            Self::UnknownTier => Reject::new("KV event: unknown storage tier"),
        }
    }
}

impl From<Malformed> for Unreadable {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// Reads one event at the cursor; adds its blocks to the batch.
type Reader = fn(
    &mut Cursor<'_>,
    Timestamp,
    ClearScope,
    &mut KvBatch,
    &mut Shape,
) -> Result<KvEvent, Unreadable>;

fn events(
    payload: &[u8],
    at: Timestamp,
    facts: &mut Facts,
    read: Reader,
) -> Result<Option<WorkerId>, Unreadable> {
    let mut cursor = Cursor::new(payload);
    let batched = cursor.peek().is_some_and(Cursor::starts_array);
    let count = if batched { cursor.array()? } else { 1 };
    let scope = if batched { ClearScope::Rank } else { ClearScope::Worker };
    let mut shape = if batched { Shape::Batched } else { Shape::Plain };
    let mut first = None;
    for _ in 0..count {
        let event = read(&mut cursor, at, scope, &mut facts.kv, &mut shape)?;
        first = first.or(Some(event.rank.worker));
        facts.kv.push_event(event);
    }
    if first.is_some() {
        facts.note_shape(shape);
    }
    Ok(first)
}

/// Reads one event in the form that Dynamo writes, or else in any.
#[inline]
fn plain_or_any(
    cursor: &mut Cursor<'_>,
    at: Timestamp,
    scope: ClearScope,
    batch: &mut KvBatch,
    shape: &mut Shape,
) -> Result<KvEvent, Unreadable> {
    let (before, mark) = (*cursor, batch.mark());
    if let Some(event) = fast::event(cursor, at, scope, batch, shape) {
        return Ok(event);
    }
    *cursor = before;
    batch.roll_back(mark);
    router_event(cursor, at, scope, batch, shape)
}

/// The content of an event's inner map.
#[derive(Default)]
struct Inner {
    event_id: Option<u64>,
    kind: Option<KvKind>,
    dp_rank: u32,
}

fn router_event(
    cursor: &mut Cursor<'_>,
    at: Timestamp,
    scope: ClearScope,
    batch: &mut KvBatch,
    shape: &mut Shape,
) -> Result<KvEvent, Unreadable> {
    let mut worker = None;
    let mut tier = Tier::Device;
    let mut inner = Inner::default();
    for _ in 0..cursor.map()? {
        match cursor.text()? {
            b"worker_id" => worker = Some(cursor.unsigned()?),
            b"event" => inner = event(cursor, scope, batch, shape)?,
            b"storage_tier" => {
                tier = tier_of(cursor.text()?)?;
                *shape = (*shape).max(Shape::Tiered);
            }
            b"residency_domain" => {
                cursor.skip()?;
                *shape = (*shape).max(Shape::Domained);
            }
            _ => cursor.skip()?,
        }
    }
    let worker = WorkerId(worker.ok_or(Unreadable::Missing("worker_id"))?);
    Ok(KvEvent {
        at,
        rank: WorkerRank { worker, dp_rank: DpRank(inner.dp_rank) },
        tier,
        event_id: inner.event_id.ok_or(Unreadable::Missing("event_id"))?,
        kind: inner.kind.ok_or(Unreadable::Missing("data"))?,
    })
}

fn tier_of(name: &[u8]) -> Result<Tier, Unreadable> {
    if name == b"device" {
        return Ok(Tier::Device);
    }
    std::str::from_utf8(name).ok().and_then(Tier::from_name).ok_or(Unreadable::UnknownTier)
}

fn event(
    cursor: &mut Cursor<'_>,
    scope: ClearScope,
    batch: &mut KvBatch,
    shape: &mut Shape,
) -> Result<Inner, Unreadable> {
    let mut inner = Inner::default();
    for _ in 0..cursor.map()? {
        match cursor.text()? {
            b"event_id" => inner.event_id = Some(cursor.unsigned()?),
            b"data" => inner.kind = Some(data(cursor, scope, batch, shape)?),
            b"dp_rank" => inner.dp_rank = u32::try_from(cursor.unsigned()?).unwrap_or(u32::MAX),
            _ => cursor.skip()?,
        }
    }
    Ok(inner)
}

fn data(
    cursor: &mut Cursor<'_>,
    scope: ClearScope,
    batch: &mut KvBatch,
    shape: &mut Shape,
) -> Result<KvKind, Unreadable> {
    if cursor.peek().is_some_and(Cursor::starts_text) {
        return match cursor.text()? {
            b"cleared" => Ok(KvKind::Cleared { scope }),
            _ => Err(Unreadable::UnknownKind),
        };
    }
    if cursor.map()? != 1 {
        return Err(Unreadable::UnknownKind);
    }
    match cursor.text()? {
        b"stored" => stored(cursor, batch, shape),
        b"removed" => removed(cursor, batch),
        b"cleared" => {
            cursor.skip()?;
            Ok(KvKind::Cleared { scope })
        }
        _ => Err(Unreadable::UnknownKind),
    }
}

fn stored(
    cursor: &mut Cursor<'_>,
    batch: &mut KvBatch,
    shape: &mut Shape,
) -> Result<KvKind, Unreadable> {
    let mut parent = None;
    let start = length(batch.blocks().len());
    for _ in 0..cursor.map()? {
        match cursor.text()? {
            b"parent_hash" => parent = cursor.optional_unsigned()?.map(SequenceHash),
            b"blocks" => {
                for _ in 0..cursor.array()? {
                    batch.push_block(block(cursor)?);
                }
            }
            b"start_position" => {
                cursor.skip()?;
                *shape = (*shape).max(Shape::Positioned);
            }
            _ => cursor.skip()?,
        }
    }
    Ok(KvKind::Stored { parent, blocks: start..length(batch.blocks().len()) })
}

fn block(cursor: &mut Cursor<'_>) -> Result<Block, Unreadable> {
    let mut sequence = None;
    let mut tokens = None;
    for _ in 0..cursor.map()? {
        match cursor.text()? {
            b"block_hash" => sequence = Some(cursor.unsigned()?),
            b"tokens_hash" => tokens = Some(cursor.unsigned()?),
            _ => cursor.skip()?,
        }
    }
    Ok(Block {
        sequence: SequenceHash(sequence.ok_or(Unreadable::Missing("block_hash"))?),
        tokens: TokensHash(tokens.ok_or(Unreadable::Missing("tokens_hash"))?),
    })
}

fn removed(cursor: &mut Cursor<'_>, batch: &mut KvBatch) -> Result<KvKind, Unreadable> {
    let start = length(batch.removed().len());
    for _ in 0..cursor.map()? {
        match cursor.text()? {
            b"block_hashes" => {
                for _ in 0..cursor.array()? {
                    batch.push_removed(SequenceHash(cursor.unsigned()?));
                }
            }
            _ => cursor.skip()?,
        }
    }
    Ok(KvKind::Removed { hashes: start..length(batch.removed().len()) })
}

fn length(count: usize) -> u32 {
    // One burst never holds 2^32 blocks: each takes 16 bytes.
    u32::try_from(count).unwrap_or(u32::MAX)
}
