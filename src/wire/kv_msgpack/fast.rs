//! The form of a `RouterEvent` that Dynamo writes: known keys in a known order, hashes in full width.
//!
//! Whole keys are compared at once, with their length and what follows, so that little is decided for
//! each byte.

use wide::u8x16;

use super::{Cursor, block, tier_of};
use crate::domain::{
    Block, ClearScope, DpRank, KvBatch, KvEvent, KvKind, SequenceHash, Tier, Timestamp, TokensHash,
    WorkerId, WorkerRank,
};
use crate::wire::Shape;

/// Bytes of a block whose hashes are written in full width.
const BLOCK: usize = 57;
/// The usual bytes between the worker and the event number from Dynamo 1.5 on.
const OF_DEVICE: &[u8; 60] =
    b"\xACstorage_tier\xA6device\xB0residency_domain\xA6worker\xA5event\x83\xA8event_id";
/// Bytes of a hash in full width.
const HASH: usize = 9;

/// Reads one event and adds its blocks to `batch`; none when it is not of the expected form, with
/// some of its blocks possibly added.
pub(super) fn event(
    cursor: &mut Cursor<'_>,
    at: Timestamp,
    scope: ClearScope,
    batch: &mut KvBatch,
    shape: &mut Shape,
) -> Option<KvEvent> {
    let mut seen = *shape;
    let keys = cursor.map().ok()?;
    cursor.expect(b"\xA9worker_id")?;
    let worker = cursor.unsigned().ok()?;
    let tier = if keys == 4 && cursor.expect(OF_DEVICE).is_some() {
        seen = seen.max(Shape::Domained);
        Tier::Device
    } else {
        place(cursor, keys, &mut seen)?
    };
    let event_id = cursor.unsigned().ok()?;
    let kind = data(cursor, scope, batch, &mut seen)?;
    cursor.expect(b"\xA7dp_rank")?;
    let dp_rank = DpRank(u32::try_from(cursor.unsigned().ok()?).ok()?);
    *shape = seen;
    let rank = WorkerRank { worker: WorkerId(worker), dp_rank };
    Some(KvEvent { at, rank, tier, event_id, kind })
}

/// Reads what stands between the worker and the number of the event.
fn place(cursor: &mut Cursor<'_>, keys: usize, seen: &mut Shape) -> Option<Tier> {
    let mut left = keys.checked_sub(2)?;
    let mut tier = Tier::Device;
    if left > 0 && cursor.expect(b"\xACstorage_tier").is_some() {
        tier = tier_of(cursor.text().ok()?).ok()?;
        *seen = (*seen).max(Shape::Tiered);
        left -= 1;
    }
    if left > 0 && cursor.expect(b"\xB0residency_domain").is_some() {
        cursor.pass().ok()?;
        *seen = (*seen).max(Shape::Domained);
        left -= 1;
    }
    if left > 0 {
        return None;
    }
    cursor.expect(b"\xA5event\x83\xA8event_id")?;
    Some(tier)
}

fn data(
    cursor: &mut Cursor<'_>,
    scope: ClearScope,
    batch: &mut KvBatch,
    shape: &mut Shape,
) -> Option<KvKind> {
    if cursor.expect(b"\xA4data\x81\xA6stored").is_some() {
        stored(cursor, batch, shape)
    } else if cursor.expect(b"\xA4data\x81\xA7removed\x81\xACblock_hashes").is_some() {
        removed(cursor, batch)
    } else {
        cursor.expect(b"\xA4data\xA7cleared")?;
        Some(KvKind::Cleared { scope })
    }
}

fn stored(cursor: &mut Cursor<'_>, batch: &mut KvBatch, shape: &mut Shape) -> Option<KvKind> {
    let positioned = cursor.expect(b"\x83\xABparent_hash").is_some();
    if !positioned {
        cursor.expect(b"\x82\xABparent_hash")?;
    }
    let parent = cursor.optional_unsigned().ok()?.map(SequenceHash);
    if positioned {
        *shape = (*shape).max(Shape::Positioned);
        if cursor.expect(b"\xAEstart_position\xC0\xA6blocks").is_none() {
            cursor.expect(b"\xAEstart_position")?;
            cursor.skip().ok()?;
            cursor.expect(b"\xA6blocks")?;
        }
    } else {
        cursor.expect(b"\xA6blocks")?;
    }
    let count = cursor.array().ok()?;
    let start = u32::try_from(batch.blocks().len()).ok()?;
    let mut done = 0;
    while done < count {
        let rows = cursor.rows::<BLOCK>(count - done);
        let read = rows.iter().position(|row| !is_plain(row)).unwrap_or(rows.len());
        batch.extend_blocks(rows[..read].iter().map(plain_block));
        cursor.take(read * BLOCK).ok()?;
        done += read;
        if done < count {
            batch.push_block(block(cursor).ok()?);
            done += 1;
        }
    }
    Some(KvKind::Stored { parent, blocks: start..u32::try_from(batch.blocks().len()).ok()? })
}

/// Returns true for a block of the keys that Dynamo writes, without multimodal content.
#[inline]
fn is_plain(row: &[u8; BLOCK]) -> bool {
    // 16 bytes at a time; what is no key passes.
    let part = |at: usize| u8x16::new(row[at..].first_chunk().copied().unwrap_or_default());
    let hash = u8x16::new(*b"\0\0\0\0\0\0\0\0\0\0\0\0\0\xFF\xFF\xFF");
    let first = part(0).simd_eq(u8x16::new(*b"\x83\xAAblock_hash\xCF\0\0\0"));
    let second = part(21).simd_eq(u8x16::new(*b"\xABtokens_hash\xCF\0\0\0"));
    let end = part(41).simd_eq(u8x16::new(*b"\0\xADmm_extra_info\xC0"));
    let before = u8x16::new(*b"\xFF\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    (((first & second) | hash) & (end | before)).to_bitmask() == 0xFFFF
}

#[inline]
fn plain_block(row: &[u8; BLOCK]) -> Block {
    let hash = |at: usize| row[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    Block { sequence: SequenceHash(hash(13)), tokens: TokensHash(hash(34)) }
}

fn removed(cursor: &mut Cursor<'_>, batch: &mut KvBatch) -> Option<KvKind> {
    let count = cursor.array().ok()?;
    let start = u32::try_from(batch.removed().len()).ok()?;
    let mut done = 0;
    while done < count {
        let rows = cursor.rows::<HASH>(count - done);
        let read = rows.iter().position(|row| row[0] != 0xCF).unwrap_or(rows.len());
        batch.extend_removed(rows[..read].iter().map(plain_hash));
        cursor.take(read * HASH).ok()?;
        done += read;
        if done < count {
            batch.push_removed(SequenceHash(cursor.unsigned().ok()?));
            done += 1;
        }
    }
    Some(KvKind::Removed { hashes: start..u32::try_from(batch.removed().len()).ok()? })
}

#[inline]
fn plain_hash(row: &[u8; HASH]) -> SequenceHash {
    SequenceHash(row[1..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes)))
}
