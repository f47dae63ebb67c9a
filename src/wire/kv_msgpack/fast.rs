//! The form of a `RouterEvent` that Dynamo writes: known keys in a known order, hashes in full width.
//!
//! Whole keys are compared at once, with their length and what follows, so that little is decided for
//! each byte.

use super::{Cursor, block, tier_of};
use crate::domain::{
    Block, ClearScope, DpRank, KvBatch, KvEvent, KvKind, SequenceHash, Tier, Timestamp, TokensHash,
    WorkerId, WorkerRank,
};
use crate::wire::Shape;

/// Bytes of a block whose hashes are written in full width.
const BLOCK: usize = 57;
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
    let mut left = keys.checked_sub(2)?;
    cursor.expect(b"\xA9worker_id")?;
    let worker = cursor.unsigned().ok()?;
    let mut tier = Tier::Device;
    if left > 0 && cursor.expect(b"\xACstorage_tier").is_some() {
        tier = tier_of(cursor.text().ok()?).ok()?;
        seen = seen.max(Shape::Tiered);
        left -= 1;
    }
    if left > 0 && cursor.expect(b"\xB0residency_domain").is_some() {
        cursor.skip().ok()?;
        seen = seen.max(Shape::Domained);
        left -= 1;
    }
    if left > 0 {
        return None;
    }
    cursor.expect(b"\xA5event\x83\xA8event_id")?;
    let event_id = cursor.unsigned().ok()?;
    cursor.expect(b"\xA4data")?;
    let kind = data(cursor, scope, batch, &mut seen)?;
    cursor.expect(b"\xA7dp_rank")?;
    let dp_rank = DpRank(u32::try_from(cursor.unsigned().ok()?).ok()?);
    *shape = seen;
    let rank = WorkerRank { worker: WorkerId(worker), dp_rank };
    Some(KvEvent { at, rank, tier, event_id, kind })
}

fn data(
    cursor: &mut Cursor<'_>,
    scope: ClearScope,
    batch: &mut KvBatch,
    shape: &mut Shape,
) -> Option<KvKind> {
    if cursor.expect(b"\x81\xA6stored").is_some() {
        stored(cursor, batch, shape)
    } else if cursor.expect(b"\x81\xA7removed\x81\xACblock_hashes").is_some() {
        removed(cursor, batch)
    } else {
        cursor.expect(b"\xA7cleared")?;
        Some(KvKind::Cleared { scope })
    }
}

fn stored(cursor: &mut Cursor<'_>, batch: &mut KvBatch, shape: &mut Shape) -> Option<KvKind> {
    let keys = cursor.map().ok()?;
    cursor.expect(b"\xABparent_hash")?;
    let parent = cursor.optional_unsigned().ok()?.map(SequenceHash);
    if keys == 3 {
        cursor.expect(b"\xAEstart_position")?;
        cursor.skip().ok()?;
        *shape = (*shape).max(Shape::Positioned);
    } else if keys != 2 {
        return None;
    }
    cursor.expect(b"\xA6blocks")?;
    let count = cursor.array().ok()?;
    let start = u32::try_from(batch.blocks().len()).ok()?;
    let mut done = 0;
    while done < count {
        let plain = cursor.rows::<BLOCK>(count - done);
        let before = batch.blocks().len();
        batch.extend_blocks(plain.iter().map_while(plain_block));
        let read = batch.blocks().len() - before;
        cursor.take(read * BLOCK).ok()?;
        done += read;
        if done < count {
            batch.push_block(block(cursor).ok()?);
            done += 1;
        }
    }
    Some(KvKind::Stored { parent, blocks: start..u32::try_from(batch.blocks().len()).ok()? })
}

/// Reads a block of the keys that Dynamo writes, without multimodal content.
#[inline]
fn plain_block(bytes: &[u8; BLOCK]) -> Option<Block> {
    let (head, rest) = bytes.split_first_chunk::<13>()?;
    let (sequence, rest) = rest.split_first_chunk::<8>()?;
    let (between, rest) = rest.split_first_chunk::<13>()?;
    let (tokens, rest) = rest.split_first_chunk::<8>()?;
    let (end, _) = rest.split_first_chunk::<15>()?;
    let plain = head == b"\x83\xAAblock_hash\xCF"
        && between == b"\xABtokens_hash\xCF"
        && end == b"\xADmm_extra_info\xC0";
    plain.then(|| Block {
        sequence: SequenceHash(u64::from_be_bytes(*sequence)),
        tokens: TokensHash(u64::from_be_bytes(*tokens)),
    })
}

fn removed(cursor: &mut Cursor<'_>, batch: &mut KvBatch) -> Option<KvKind> {
    let count = cursor.array().ok()?;
    let start = u32::try_from(batch.removed().len()).ok()?;
    let mut done = 0;
    while done < count {
        let plain = cursor.rows::<HASH>(count - done);
        let before = batch.removed().len();
        batch.extend_removed(plain.iter().map_while(plain_hash));
        let read = batch.removed().len() - before;
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
fn plain_hash(bytes: &[u8; HASH]) -> Option<SequenceHash> {
    let (head, hash) = bytes.split_first_chunk::<1>()?;
    let hash = hash.first_chunk::<8>()?;
    (head == b"\xCF").then(|| SequenceHash(u64::from_be_bytes(*hash)))
}
