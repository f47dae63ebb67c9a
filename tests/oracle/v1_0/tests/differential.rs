//! The mirror does what the router's index does, event by event.

#[path = "../../common/streams.rs"]
mod streams;

use std::collections::BTreeMap;

use dynamo_kv_router::protocols::KvCacheEventError;
use dynamo_kv_router::radix_tree::RadixTree;
use kvtop::domain::{Block, ClearScope, SequenceHash, TokensHash, WorkerId, WorkerRank};
use kvtop::mirror::Semantics;
use kvtop_oracle_v1_0::{Index, cleared, removed, stored};
use proptest::prelude::*;
use streams::{GOOD, Manners, Peer, Verdict, compare, golden, steps};

fn verdict(result: Result<(), KvCacheEventError>) -> Verdict {
    match result {
        Ok(()) => Verdict::Taken,
        Err(KvCacheEventError::ParentBlockNotFound) => Verdict::ParentMissing,
        Err(KvCacheEventError::BlockNotFound) => Verdict::BlockMissing,
        Err(_) => Verdict::Invalid,
    }
}

impl Peer for Index {
    const CLEARS: ClearScope = ClearScope::Worker;
    const SEMANTICS: Semantics = Semantics::PerBlock;

    fn new() -> Self {
        Self(RadixTree::new())
    }

    fn stored(&mut self, rank: WorkerRank, parent: Option<u64>, blocks: &[Block]) -> Verdict {
        verdict(self.apply(stored(rank, parent, blocks)))
    }

    fn removed(&mut self, rank: WorkerRank, hashes: &[SequenceHash]) -> Verdict {
        verdict(self.apply(removed(rank, hashes)))
    }

    fn cleared(&mut self, rank: WorkerRank) {
        let _ = self.apply(cleared(rank));
    }

    fn remove_worker(&mut self, worker: WorkerId) {
        self.0.remove_worker(worker.0);
    }

    fn size(&self) -> usize {
        self.0.current_size()
    }

    fn scores(&self, tokens: &[TokensHash]) -> BTreeMap<WorkerRank, u32> {
        Index::scores(self, tokens)
    }
}

proptest! {
    #![proptest_config(streams::config())]

    #[test]
    fn orderly_engines_look_the_same(steps in steps(80)) {
        compare::<Index>(&steps, GOOD)?;
    }

    #[test]
    fn salted_engines_look_the_same(steps in steps(80)) {
        compare::<Index>(&steps, Manners { salted: true, ..GOOD })?;
    }

    #[test]
    fn lost_events_look_the_same(steps in steps(80)) {
        compare::<Index>(&steps, Manners { lossy: true, ..GOOD })?;
    }

    #[test]
    fn evictions_in_any_order_look_the_same(steps in steps(80)) {
        compare::<Index>(&steps, Manners { unordered: true, ..GOOD })?;
    }

    #[test]
    fn many_ranks_look_the_same(steps in steps(80)) {
        let crowded = Manners { crowded: true, lossy: true, unordered: true, ..GOOD };
        compare::<Index>(&steps, crowded)?;
    }

    #[test]
    fn orderly_engines_among_many_ranks_look_the_same(steps in steps(80)) {
        compare::<Index>(&steps, Manners { crowded: true, ..GOOD })?;
    }

    #[test]
    fn blocks_of_two_names_look_the_same(steps in steps(80)) {
        compare::<Index>(&steps, Manners { two_names: true, ..GOOD })?;
    }

    #[test]
    fn everything_at_once_looks_the_same(steps in steps(80)) {
        compare::<Index>(&steps, Manners { salted: true, unordered: true, lossy: true, ..GOOD })?;
    }
}

#[test]
fn the_golden_sequences_look_the_same() {
    golden::<Index>().unwrap();
}
