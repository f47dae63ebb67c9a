//! Payloads of the event plane other than KV events: load, hit rate and active sequences.

use std::sync::Arc;

use super::msgpack::{Cursor, Malformed};
use super::text::printable;
use super::{Facts, Reject};
use crate::domain::{
    ActiveLoad, DpRank, Fact, HitRate, RequestEvent, RequestPhase, WorkerId, WorkerRank,
};
use crate::dynamo::plane;

/// Longest request id that is kept.
const REQUEST_LIMIT: usize = 64;

fn reject(what: &str, error: Malformed) -> Reject {
    Reject::new(format!("{what}: {}", error.why()))
}

fn rank(worker: Option<u64>, dp_rank: u64, what: &str) -> Result<WorkerRank, Reject> {
    let worker = WorkerId(worker.ok_or_else(|| Reject::new(format!("{what}: no `worker_id`")))?);
    Ok(WorkerRank { worker, dp_rank: DpRank(u32::try_from(dp_rank).unwrap_or(u32::MAX)) })
}

/// Reads a `kv_metrics` payload (`ActiveLoad`).
pub(super) fn active_load(payload: &[u8], publisher: u64, facts: &mut Facts) -> Result<(), Reject> {
    let mut worker = None;
    let mut dp_rank = 0;
    let mut load = ActiveLoad {
        rank: WorkerRank::new(0, 0),
        publisher,
        active_decode_blocks: None,
        active_prefill_tokens: None,
        kv_used_blocks: None,
    };
    let mut cursor = Cursor::new(payload);
    let mut read = || -> Result<(), Malformed> {
        for _ in 0..cursor.map()? {
            match cursor.text()? {
                b"worker_id" => worker = Some(cursor.unsigned()?),
                b"dp_rank" => dp_rank = cursor.unsigned()?,
                b"active_decode_blocks" => {
                    load.active_decode_blocks = cursor.optional_unsigned()?;
                }
                b"active_prefill_tokens" => {
                    load.active_prefill_tokens = cursor.optional_unsigned()?;
                }
                b"kv_used_blocks" => load.kv_used_blocks = cursor.optional_unsigned()?,
                _ => cursor.skip()?,
            }
        }
        Ok(())
    };
    read().map_err(|error| reject(plane::LOAD, error))?;
    load.rank = rank(worker, dp_rank, plane::LOAD)?;
    facts.other.push(Fact::Load(load));
    Ok(())
}

/// Reads a `kv-hit-rate` payload (`KVHitRateEvent`, Dynamo 0.9).
pub(super) fn hit_rate(payload: &[u8], facts: &mut Facts) -> Result<(), Reject> {
    let mut worker = None;
    let (mut dp_rank, mut isl_blocks, mut overlap_blocks) = (0, 0, 0);
    let mut cursor = Cursor::new(payload);
    let mut read = || -> Result<(), Malformed> {
        for _ in 0..cursor.map()? {
            match cursor.text()? {
                b"worker_id" => worker = Some(cursor.unsigned()?),
                b"dp_rank" => dp_rank = cursor.unsigned()?,
                b"isl_blocks" => isl_blocks = cursor.unsigned()?,
                b"overlap_blocks" => overlap_blocks = cursor.unsigned()?,
                _ => cursor.skip()?,
            }
        }
        Ok(())
    };
    read().map_err(|error| reject(plane::HIT_RATE, error))?;
    let rank = rank(worker, dp_rank, plane::HIT_RATE)?;
    facts.other.push(Fact::HitRate(HitRate { rank, isl_blocks, overlap_blocks }));
    Ok(())
}

/// Hashes of a request's blocks that are kept.
const CHAIN: usize = 16_384;

/// Reads an `active_sequences_events` payload: one event, or on ZMQ from 1.4 `{"events": […]}`.
pub(super) fn active_sequences(payload: &[u8], facts: &mut Facts) -> Result<(), Reject> {
    let before = facts.other.len();
    let read = sequences(payload, facts);
    read.inspect_err(|_| facts.other.truncate(before))
}

fn sequences(payload: &[u8], facts: &mut Facts) -> Result<(), Reject> {
    let failed = |error| reject("active sequence", error);
    let mut ahead = Cursor::new(payload);
    let batch = ahead.map().map_err(failed)? == 1 && ahead.text().map_err(failed)? == b"events";
    if !batch {
        return sequence(&mut Cursor::new(payload), facts);
    }
    for _ in 0..ahead.array().map_err(failed)? {
        sequence(&mut ahead, facts)?;
    }
    Ok(())
}

fn sequence(cursor: &mut Cursor<'_>, facts: &mut Facts) -> Result<(), Reject> {
    let mut request: &[u8] = b"";
    let mut worker = None;
    let (mut dp_rank, mut router) = (0, 0);
    let mut phase = None;
    let mut read = || -> Result<(), Malformed> {
        for _ in 0..cursor.map()? {
            match cursor.text()? {
                b"request_id" => request = cursor.text()?,
                b"worker" => (worker, dp_rank) = worker_rank(cursor)?,
                b"router_id" => router = cursor.unsigned()?,
                b"data" => phase = phase_of(cursor)?,
                _ => cursor.skip()?,
            }
        }
        Ok(())
    };
    read().map_err(|error| reject("active sequence", error))?;
    let rank = rank(worker, dp_rank, "active sequence")?;
    let request: Arc<str> = printable(&String::from_utf8_lossy(request), REQUEST_LIMIT).into();
    if let Some(phase) = phase {
        facts.other.push(Fact::Request(RequestEvent { request, rank, router, phase }));
    }
    Ok(())
}

fn worker_rank(cursor: &mut Cursor<'_>) -> Result<(Option<u64>, u64), Malformed> {
    let mut worker = None;
    let mut dp_rank = 0;
    for _ in 0..cursor.map()? {
        match cursor.text()? {
            b"worker_id" => worker = Some(cursor.unsigned()?),
            b"dp_rank" => dp_rank = cursor.unsigned()?,
            _ => cursor.skip()?,
        }
    }
    Ok((worker, dp_rank))
}

/// Reads `{"AddRequest": {…}}`, `"MarkPrefillCompleted"` or `"Free"`; none for a phase that a later
/// version added.
fn phase_of(cursor: &mut Cursor<'_>) -> Result<Option<RequestPhase>, Malformed> {
    if cursor.peek().is_some_and(Cursor::starts_text) {
        return Ok(match cursor.text()? {
            b"MarkPrefillCompleted" => Some(RequestPhase::PrefillCompleted),
            b"Free" => Some(RequestPhase::Freed),
            _ => None,
        });
    }
    let mut phase = None;
    for _ in 0..cursor.map()? {
        if cursor.text()? == b"AddRequest" {
            phase = Some(added(cursor)?);
        } else {
            cursor.skip()?;
        }
    }
    Ok(phase)
}

fn added(cursor: &mut Cursor<'_>) -> Result<RequestPhase, Malformed> {
    let (mut isl, mut overlap, mut full_blocks) = (None, None, None);
    let mut chain = Vec::new();
    for _ in 0..cursor.map()? {
        match cursor.text()? {
            b"isl" => isl = cursor.optional_unsigned()?,
            b"overlap" => overlap = cursor.optional_unsigned()?,
            b"token_sequence" => {
                if !cursor.nil() {
                    let count = cursor.array()?;
                    for _ in 0..count {
                        let hash = cursor.unsigned()?;
                        if chain.len() < CHAIN {
                            chain.push(hash);
                        }
                    }
                    full_blocks = u64::try_from(count).ok();
                }
            }
            _ => cursor.skip()?,
        }
    }
    Ok(RequestPhase::Added { isl, overlap, full_blocks, chain: chain.into() })
}
