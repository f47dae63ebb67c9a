//! The mirror against a naive model, and the sequences every router was seen to do.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
use proptest::prelude::*;

use crate::domain::{
    Block, ClearScope, DpRank, KvBatch, KvHead, SequenceHash, TokensHash, WorkerId, WorkerRank,
};

use super::{Mirror, Outcome, Refusal, Semantics};

const RANK: WorkerRank = WorkerRank::new(7, 0);
const BOTH: [Semantics; 2] = [Semantics::PerBlock, Semantics::EdgeTruncating];

fn head(rank: WorkerRank) -> KvHead {
    KvHead::new(rank.worker, rank.dp_rank)
}

fn block(name: u64) -> Block {
    Block { sequence: SequenceHash(100 + name), tokens: TokensHash(name) }
}

fn only(mirror: &mut Mirror, batch: &KvBatch) -> Outcome {
    let mut outcomes = Vec::new();
    mirror.apply(batch, 0, &mut outcomes);
    outcomes[0]
}

fn store(mirror: &mut Mirror, rank: WorkerRank, parent: Option<u64>, names: &[u64]) -> Outcome {
    let blocks: Vec<Block> = names.iter().copied().map(block).collect();
    let mut batch = KvBatch::default();
    batch.stored(&head(rank), parent.map(|name| block(name).sequence), &blocks);
    only(mirror, &batch)
}

fn remove(mirror: &mut Mirror, rank: WorkerRank, names: &[u64]) -> Outcome {
    let hashes: Vec<SequenceHash> = names.iter().map(|name| block(*name).sequence).collect();
    let mut batch = KvBatch::default();
    batch.remove(&head(rank), &hashes);
    only(mirror, &batch)
}

fn matched(mirror: &Mirror, names: &[u64]) -> Vec<(WorkerRank, u32)> {
    let tokens: Vec<TokensHash> = names.iter().copied().map(TokensHash).collect();
    mirror.overlap(&tokens)
}

fn filled(semantics: Semantics) -> Mirror {
    let mut mirror = Mirror::new(semantics, usize::MAX);
    store(&mut mirror, RANK, None, &[1, 2, 3]);
    mirror
}

#[test]
fn a_per_block_router_keeps_what_follows_a_removed_block() {
    let mut mirror = filled(Semantics::PerBlock);

    remove(&mut mirror, RANK, &[2]);
    let under_last = store(&mut mirror, RANK, Some(3), &[4]);
    let again = store(&mut mirror, RANK, Some(1), &[2]);

    assert!(!under_last.refused() && !again.refused());
    assert_eq!(mirror.totals().accepted, 4);
    assert_eq!(matched(&mirror, &[1, 2, 3, 4]), [(RANK, 2)]);
}

#[test]
fn an_edge_truncating_router_drops_what_follows_a_removed_block() {
    let mut mirror = filled(Semantics::EdgeTruncating);

    let removed = remove(&mut mirror, RANK, &[2]);
    let under_last = store(&mut mirror, RANK, Some(3), &[4]);
    let last = remove(&mut mirror, RANK, &[3]);

    assert_eq!((removed.removed, removed.truncated), (1, 1));
    assert_eq!(under_last.refusal, Some(Refusal::ParentMissing { held: true }));
    assert_eq!((last.unknown_removals, last.orphans_removed), (1, 1));
    assert_eq!(mirror.totals().accepted, 1);
}

#[test]
fn removals_in_one_event_may_come_head_first() {
    for semantics in BOTH {
        let mut mirror = filled(semantics);

        let outcome = remove(&mut mirror, RANK, &[1, 2, 3]);

        assert_eq!((outcome.removed, outcome.unknown_removals), (3, 0), "{semantics:?}");
        assert_eq!((mirror.totals().accepted, mirror.totals().held), (0, 0), "{semantics:?}");
    }
}

#[test]
fn a_chain_goes_up_by_the_names_of_its_rank_as_far_as_the_rank_has_it() {
    let names = |mirror: &Mirror, rank, block| -> Vec<u64> {
        mirror.chain(rank, SequenceHash(block)).map(|name| name.0).collect()
    };
    for semantics in BOTH {
        let mut mirror = filled(semantics);
        let other = WorkerRank::new(8, 0);
        assert_eq!(names(&mirror, RANK, 103), [103, 102, 101]);
        assert!(names(&mirror, other, 103).is_empty() && names(&mirror, RANK, 104).is_empty());

        // A worker that salts its hashes has names of its own for the same content.
        let salted = |name| Block { sequence: SequenceHash(200 + name), tokens: TokensHash(name) };
        let mut batch = KvBatch::default();
        batch.stored(&head(other), None, &[1, 2, 3].map(salted));
        only(&mut mirror, &batch);
        let found = names(&mirror, other, 203);
        let whole = match semantics {
            Semantics::PerBlock => [203, 202, 201].as_slice(),
            // Its names for those above are not kept with them.
            Semantics::EdgeTruncating => &[203],
        };
        assert_eq!(found, whole, "{semantics:?}");
    }

    let mut mirror = filled(Semantics::PerBlock);
    remove(&mut mirror, RANK, &[2]);
    assert_eq!(names(&mirror, RANK, 103), [103], "the one above is gone");
}

#[test]
fn an_empty_store_is_counted_and_creates_nothing() {
    for semantics in BOTH {
        let mut mirror = filled(semantics);

        let root = store(&mut mirror, RANK, None, &[]);
        let lost = store(&mut mirror, RANK, Some(9), &[]);

        assert!(root.empty && !root.refused(), "{semantics:?}");
        assert!(lost.empty && lost.refused() && lost.refused_blocks == 0, "{semantics:?}");
        assert_eq!(mirror.totals().orphan_roots, 0, "{semantics:?}");
    }
}

#[test]
fn a_store_under_an_unknown_parent_is_orphaned_whole() {
    for semantics in BOTH {
        let mut mirror = filled(semantics);

        let refused = store(&mut mirror, RANK, Some(9), &[10, 11]);
        let below = store(&mut mirror, RANK, Some(11), &[12]);

        assert_eq!((refused.stored, refused.refused_blocks), (2, 2), "{semantics:?}");
        assert_eq!(below.refusal, Some(Refusal::ParentMissing { held: true }), "{semantics:?}");
        let totals = mirror.totals();
        assert_eq!((totals.accepted, totals.held, totals.orphan_roots), (3, 6, 1), "{semantics:?}");
    }
}

#[test]
fn an_orphan_that_is_stored_again_is_adopted() {
    for semantics in BOTH {
        let mut mirror = filled(semantics);
        store(&mut mirror, RANK, Some(9), &[10, 11]);

        let adopted = store(&mut mirror, RANK, None, &[9, 10, 11]);

        assert_eq!((adopted.stored, adopted.adopted), (1, 2), "{semantics:?}");
        let totals = mirror.totals();
        assert_eq!((totals.held, totals.orphan_roots), (6, 0), "{semantics:?}");
        assert_eq!((totals.accepted, totals.orphan_blocks), (6, 0), "{semantics:?}");
    }
}

#[test]
fn a_removed_worker_is_gone_before_it_is_swept() {
    for semantics in BOTH {
        let mut mirror = filled(semantics);
        store(&mut mirror, WorkerRank::new(8, 0), None, &[1]);

        mirror.remove_worker(WorkerId(7));

        assert_eq!(matched(&mirror, &[1, 2, 3]), [(WorkerRank::new(8, 0), 1)], "{semantics:?}");
        assert_eq!(mirror.ranks().count(), 1, "{semantics:?}");
        assert!(!mirror.holds(RANK, block(1).sequence), "{semantics:?}");
        while mirror.advance(1) {}
        assert_eq!(mirror.totals().distinct, 1, "{semantics:?}");
    }
}

#[test]
fn a_clear_of_one_rank_leaves_the_others() {
    let other = WorkerRank::new(7, 1);
    for (scope, left) in [(ClearScope::Rank, 1), (ClearScope::Worker, 0)] {
        let mut mirror = filled(Semantics::PerBlock);
        store(&mut mirror, other, None, &[1]);
        let mut batch = KvBatch::default();
        batch.cleared(&head(RANK), scope);

        let outcome = only(&mut mirror, &batch);

        assert!(outcome.cleared(), "{scope:?}");
        assert_eq!(mirror.counts(other).accepted[0], left, "{scope:?}");
        assert_eq!(mirror.ranks().count(), 2, "{scope:?}");
    }
}

#[test]
fn a_mirror_stays_near_its_memory_limit() {
    let limit = 4 << 20;
    for semantics in BOTH {
        let mut mirror = Mirror::new(semantics, limit);

        for start in 0..3_000_u64 {
            let names: Vec<u64> = (start * 100..start * 100 + 64).collect();
            store(&mut mirror, RANK, (start % 3 == 0).then_some(u64::MAX / 2 + start), &names);
        }

        let totals = mirror.totals();
        assert!(totals.memory_bytes < (limit + (limit >> 2)) as u64, "{semantics:?}: {totals:?}");
        assert!(totals.shed_blocks > 0 && totals.accepted > 10_000, "{semantics:?}: {totals:?}");
    }
}

/// One step of a random stream.
#[derive(Clone, Debug)]
struct Step {
    rank: WorkerRank,
    act: u8,
    path: Vec<u8>,
    from: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let path = prop::collection::vec(0..3_u8, 1..6);
    let step = (1..4_u64, 0..2_u32, 0..16_u8, path, 0..6_usize).prop_map(
        |(worker, dp_rank, act, path, from)| Step {
            rank: WorkerRank::new(worker, dp_rank),
            act,
            from: from.min(path.len()),
            path,
        },
    );
    prop::collection::vec(step, 1..60)
}

fn name(path: &[u8]) -> SequenceHash {
    let mixed = path.iter().fold(1, |hash: u64, token| hash * 5 + u64::from(*token) + 1);
    SequenceHash(mixed)
}

/// Each rank's blocks as sets of hashes: all there is to a per-block router, scores aside.
#[derive(Default)]
struct Naive {
    accepted: BTreeMap<WorkerRank, BTreeSet<SequenceHash>>,
    orphans: BTreeMap<WorkerRank, BTreeSet<SequenceHash>>,
}

impl Naive {
    fn store(&mut self, rank: WorkerRank, parent: Option<SequenceHash>, blocks: &[Block]) -> bool {
        let accepted = self.accepted.entry(rank).or_default();
        let orphans = self.orphans.entry(rank).or_default();
        let taken = parent.is_none_or(|parent| accepted.contains(&parent));
        for block in blocks {
            if taken {
                accepted.insert(block.sequence);
                orphans.remove(&block.sequence);
            } else if !accepted.contains(&block.sequence) {
                orphans.insert(block.sequence);
            }
        }
        taken
    }

    fn remove(&mut self, rank: WorkerRank, hash: SequenceHash) -> bool {
        let known = self.accepted.entry(rank).or_default().remove(&hash);
        if !known {
            self.orphans.entry(rank).or_default().remove(&hash);
        }
        known
    }

    fn clear(&mut self, worker: WorkerId) {
        for held in [&mut self.accepted, &mut self.orphans] {
            held.retain(|rank, _| rank.worker != worker);
        }
    }

    fn count(&self, rank: WorkerRank) -> (u64, u64) {
        let of = |held: &BTreeMap<WorkerRank, BTreeSet<SequenceHash>>| {
            held.get(&rank).map_or(0, BTreeSet::len) as u64
        };
        (of(&self.accepted), of(&self.accepted) + of(&self.orphans))
    }
}

fn follow(mirror: &mut Mirror, naive: &mut Naive, step: &Step) -> (bool, bool) {
    let rank = step.rank;
    let mut batch = KvBatch::default();
    match step.act {
        0..10 => {
            let parent = (step.from > 0).then(|| name(&step.path[..step.from]));
            let blocks: Vec<Block> = (step.from..step.path.len())
                .map(|at| Block {
                    sequence: name(&step.path[..=at]),
                    tokens: TokensHash(u64::from(step.path[at])),
                })
                .collect();
            batch.stored(&KvHead::new(rank.worker, DpRank(rank.dp_rank.0)), parent, &blocks);
            (!only(mirror, &batch).refused(), naive.store(rank, parent, &blocks))
        }
        10..15 => {
            batch.remove(&head(rank), &[name(&step.path)]);
            (only(mirror, &batch).removed == 1, naive.remove(rank, name(&step.path)))
        }
        _ => {
            mirror.remove_worker(rank.worker);
            naive.clear(rank.worker);
            (true, true)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mirror_holds_what_a_naive_model_holds(steps in steps(), budget in 0..40_usize) {
        let mut mirror = Mirror::new(Semantics::PerBlock, usize::MAX);
        let mut naive = Naive::default();
        for (at, step) in steps.iter().enumerate() {
            let (ours, theirs) = follow(&mut mirror, &mut naive, step);
            mirror.advance(budget);
            prop_assert_eq!(ours, theirs, "step {}", at);
            for worker in 1..4 {
                for dp_rank in 0..2 {
                    let rank = WorkerRank::new(worker, dp_rank);
                    let counts = mirror.counts(rank);
                    let ours = (counts.accepted[0], counts.held[0]);
                    prop_assert_eq!(ours, naive.count(rank), "{} after step {}", rank, at);
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_of_workers_that_went(steps in steps(), truncating in any::<bool>()) {
        let semantics = BOTH[usize::from(truncating)];
        let mut mirror = Mirror::new(semantics, usize::MAX);
        for step in &steps {
            follow(&mut mirror, &mut Naive::default(), step);
            mirror.advance(step.from);
        }
        for worker in 1..4 {
            mirror.remove_worker(WorkerId(worker));
        }
        while mirror.advance(5) {}
        let totals = mirror.totals();
        prop_assert_eq!((totals.held, totals.distinct, totals.orphan_roots, totals.edges), (0, 0, 0, 0));
    }
}
