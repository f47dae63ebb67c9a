//! The envelope of the event plane, load reports and hit rates.

use super::Family;
use super::pack::Pack;
use crate::domain::{HitRate, WorkerRank};

/// Returns a message of the event plane. `published_at` is in milliseconds since the Unix epoch.
pub fn envelope(
    publisher: u64,
    sequence: u64,
    published_at: u64,
    topic: &str,
    payload: &[u8],
) -> Vec<u8> {
    let mut pack = Pack::default();
    pack.map(5).str("publisher_id").uint(publisher).str("sequence").uint(sequence);
    pack.str("published_at").uint(published_at).str("topic").str(topic);
    pack.str("payload").bin(payload);
    pack.into_bytes()
}

/// Returns the payload of a load report of a router: what it believes to run on `rank`.
pub fn router_load(rank: WorkerRank, blocks: u64, prefill_tokens: u64, family: Family) -> Vec<u8> {
    load(rank, [Some(blocks), Some(prefill_tokens), None], family)
}

/// Returns the payload of a load report of a worker: the blocks in use. Until 1.0 they travel as
/// decode blocks (dynamo-llm 0.9.0, `kv_router/publisher.rs:963`).
pub fn worker_load(rank: WorkerRank, used: u64, family: Family) -> Vec<u8> {
    if family >= Family::V1_1 {
        load(rank, [None, None, Some(used)], family)
    } else {
        load(rank, [Some(used), None, None], family)
    }
}

fn load(rank: WorkerRank, values: [Option<u64>; 3], family: Family) -> Vec<u8> {
    let [decode, prefill, used] = values;
    let mut pack = Pack::default();
    pack.map(if family >= Family::V1_1 { 5 } else { 4 });
    worker(&mut pack, rank);
    pack.str("active_decode_blocks").maybe(decode).str("active_prefill_tokens").maybe(prefill);
    if family >= Family::V1_1 {
        pack.str("kv_used_blocks").maybe(used);
    }
    pack.into_bytes()
}

/// Returns the payload of a router's account of one request (0.9 only).
pub fn hit_rate(rate: &HitRate) -> Vec<u8> {
    let mut pack = Pack::default();
    pack.map(4);
    worker(&mut pack, rate.rank);
    pack.str("isl_blocks").uint(rate.isl_blocks);
    pack.str("overlap_blocks").uint(rate.overlap_blocks);
    pack.into_bytes()
}

fn worker(pack: &mut Pack, rank: WorkerRank) {
    pack.str("worker_id").uint(rank.worker.0).str("dp_rank").uint(u64::from(rank.dp_rank.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANK: WorkerRank = WorkerRank::new(0x0995_a1fb_4379_c009, 0);

    #[test]
    fn load_reports_equal_recorded_ones() {
        // Payloads of 0.9.0-healthy, 1.1.1-healthy and 1.6.1-healthy, with the worker's id of the first.
        let rows: [(Vec<u8>, &[u8]); 4] = [
            (
                router_load(RANK, 8, 141, Family::V0_9),
                b"\x84\xa9worker_id\xcf\x09\x95\xa1\xfbCy\xc0\x09\xa7dp_rank\x00\xb4active_decode_blocks\x08\xb5active_prefill_tokens\xcc\x8d",
            ),
            (
                worker_load(RANK, 4, Family::V0_9),
                b"\x84\xa9worker_id\xcf\x09\x95\xa1\xfbCy\xc0\x09\xa7dp_rank\x00\xb4active_decode_blocks\x04\xb5active_prefill_tokens\xc0",
            ),
            (
                router_load(RANK, 8, 141, Family::V1_1),
                b"\x85\xa9worker_id\xcf\x09\x95\xa1\xfbCy\xc0\x09\xa7dp_rank\x00\xb4active_decode_blocks\x08\xb5active_prefill_tokens\xcc\x8d\xaekv_used_blocks\xc0",
            ),
            (
                worker_load(RANK, 9, Family::V1_6),
                b"\x85\xa9worker_id\xcf\x09\x95\xa1\xfbCy\xc0\x09\xa7dp_rank\x00\xb4active_decode_blocks\xc0\xb5active_prefill_tokens\xc0\xaekv_used_blocks\x09",
            ),
        ];

        for (ours, theirs) in rows {
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn a_hit_rate_equals_a_recorded_one() {
        let ours = hit_rate(&HitRate { rank: RANK, isl_blocks: 9, overlap_blocks: 0 });

        let theirs = b"\x84\xa9worker_id\xcf\x09\x95\xa1\xfbCy\xc0\x09\xa7dp_rank\x00\xaaisl_blocks\x09\xaeoverlap_blocks\x00";
        assert_eq!(ours, theirs);
    }
}
