//! Tests of who holds what, which prefixes lead, and where they land.

use std::collections::{BTreeMap, BTreeSet};

use super::bench::{BOTH, Bench, RANKS, filled};
use crate::domain::{SequenceHash, TokensHash, TreeNode, WorkerRank};
use crate::mirror::{Holdings, HoldingsQuestion, Landed, Leaders, Semantics};

impl Bench {
    fn holdings(&self, budget: usize) -> Holdings {
        let question = HoldingsQuestion {
            within: self.within.as_deref(),
            heat: &self.heat,
            hits: None,
            tick: self.tick,
            budget,
        };
        self.mirror.holdings(&question)
    }

    fn leaders(&self) -> Leaders {
        self.mirror.leaders(&self.heat, None, self.tick, 10)
    }

    fn landed(&self) -> Landed {
        self.heat.landed(self.tick)
    }
}

/// Blocks of one worker: held, only here, and of those in use.
fn of(holdings: &Holdings, worker: u64) -> (u64, u64, u64) {
    let found = holdings.workers.iter().find(|holding| holding.worker.0 == worker);
    found.map_or((0, 0, 0), |holding| (holding.held, holding.only, holding.warm))
}

fn chain(prompt: u64, blocks: u64) -> Vec<(u64, u64)> {
    (0..blocks).map(|at| (prompt << 8 | at | 1 << 50, prompt << 8 | at | 1 << 40)).collect()
}

#[test]
fn holdings_are_those_of_a_plain_count() {
    for semantics in BOTH {
        let mut bench = Bench::new(semantics);
        let mut held: BTreeMap<u64, BTreeSet<WorkerRank>> = BTreeMap::new();
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        for _ in 0..600 {
            let rank = RANKS[usize::try_from(random(3)).unwrap()];
            let blocks = chain(random(60), 2 + random(9));
            bench.store(rank, None, &blocks);
            for (hash, _) in &blocks {
                held.entry(*hash).or_default().insert(rank);
            }
            // Engines evict from the end of a prompt.
            if random(3) == 0 {
                let own: Vec<u64> = blocks.iter().map(|(hash, _)| *hash).skip(1).collect();
                let tails: Vec<u64> =
                    own.into_iter().filter(|hash| held[hash].contains(&rank)).collect();
                let deeper: Vec<u64> = held
                    .iter()
                    .filter(|(hash, ranks)| {
                        **hash >> 8 == blocks[0].0 >> 8
                            && **hash > blocks.last().unwrap().0
                            && ranks.contains(&rank)
                    })
                    .map(|(hash, _)| *hash)
                    .collect();
                let mut gone: Vec<u64> = deeper.into_iter().chain(tails).collect();
                gone.sort_unstable_by_key(|hash| std::cmp::Reverse(*hash));
                bench.remove(rank, &gone);
                for hash in gone {
                    held.get_mut(&hash).unwrap().remove(&rank);
                }
            }
        }
        bench.settle();

        let found = bench.holdings(usize::MAX);

        let mut copies = [0; 4];
        let mut only = BTreeMap::from([(1, 0), (2, 0)]);
        for ranks in held.values().filter(|ranks| !ranks.is_empty()) {
            copies[ranks.len().min(4) - 1] += 1;
            let workers: BTreeSet<u64> = ranks.iter().map(|rank| rank.worker.0).collect();
            if let [worker] = workers.into_iter().collect::<Vec<_>>()[..] {
                *only.get_mut(&worker).unwrap() += 1;
            }
        }
        assert_eq!(found.copies, copies, "{semantics:?}");
        assert_eq!((of(&found, 1).1, of(&found, 2).1), (only[&1], only[&2]), "{semantics:?}");
        let all: u64 = held.values().map(|ranks| ranks.len() as u64).sum();
        assert_eq!(of(&found, 1).0 + of(&found, 2).0, all);
        assert_eq!(found.extra, all - copies.iter().sum::<u64>());
    }
}

#[test]
fn a_large_index_is_sampled_within_the_budget_and_counts_stay_close() {
    let bench = filled(600_000);
    let (all, some) = (bench.holdings(usize::MAX), bench.holdings(60_000));

    assert!((all.looked_at - 1.0).abs() < 1e-9 && some.looked_at < 0.15, "{}", some.looked_at);
    for (exact, near) in all.workers.iter().zip(&some.workers) {
        assert_eq!(exact.held, near.held);
        let off = exact.only.abs_diff(near.only) as f64 / exact.held as f64;
        assert!(off < 0.03, "{exact:?} {near:?}");
    }
    for (exact, near) in all.copies.iter().zip(some.copies) {
        assert!(exact.abs_diff(near) < all.copies.iter().sum::<u64>() / 30, "{exact} {near}");
    }
}

#[test]
fn a_rejected_block_is_a_copy_of_the_accepted_one() {
    let mut bench = Bench::new(Semantics::PerBlock);
    let blocks = chain(1, 4);
    bench.store(RANKS[0], None, &blocks);
    // The second worker stored the start of the prompt before anybody listened.
    bench.store(RANKS[1], Some(blocks[1].0), &blocks[2..]);
    bench.settle();

    let found = bench.holdings(usize::MAX);

    assert_eq!(found.copies, [2, 2, 0, 0]);
    assert_eq!((of(&found, 1).1, of(&found, 2).1), (2, 0));
}

#[test]
fn blocks_are_hot_for_five_minutes_after_a_store_reached_them() {
    let mut bench = Bench::new(Semantics::PerBlock);
    let (old, new) = (chain(1, 5), chain(2, 3));
    bench.store(RANKS[0], None, &old);
    bench.settle();
    bench.tick = 1_000;
    bench.store(RANKS[0], None, &new);
    bench.settle();

    assert_eq!(of(&bench.holdings(usize::MAX), 1), (8, 8, 3));
    bench.tick = 1_320;
    bench.settle();
    assert_eq!(of(&bench.holdings(usize::MAX), 1), (8, 8, 0));
}

#[test]
fn leaders_are_listed_below_what_nearly_all_of_them_begin_with() {
    let mut bench = Bench::new(Semantics::PerBlock);
    let system = chain(9, 4);
    let own = |prompt: u64| chain(prompt, 3);
    for (prompt, times) in [(1, 6), (2, 3), (3, 1)] {
        for _ in 0..times {
            let blocks: Vec<(u64, u64)> = system.iter().copied().chain(own(prompt)).collect();
            bench.store(RANKS[0], None, &blocks);
        }
    }
    bench.settle();

    let leaders = bench.leaders();

    let tokens = |node: TreeNode| match node {
        TreeNode::Block(block) => block.tokens,
        _ => TokensHash(0),
    };
    assert_eq!(tokens(leaders.common.unwrap().node), TokensHash(system[0].1));
    let shares: Vec<_> = leaders
        .prefixes
        .iter()
        .map(|lead| (tokens(lead.node).0, (lead.warmth / leaders.total * 10.0).round()))
        .collect();
    let first = |prompt| own(prompt)[0].1;
    assert_eq!(shares, [(first(1), 6.0), (first(2), 3.0), (first(3), 1.0)]);
    assert_eq!(leaders.prefixes[0].reach, Some(7));
}

#[test]
fn landings_count_the_next_turns_of_a_prompt_and_not_the_blocks_of_one_answer() {
    let mut bench = Bench::new(Semantics::PerBlock);
    let (first, second) = (chain(1, 12), chain(2, 12));
    let grow = |bench: &mut Bench, rank, blocks: &[(u64, u64)], from: usize, to: usize| {
        let parent = from.checked_sub(1).map(|at| blocks[at].0);
        bench.store(rank, parent, &blocks[from..to]);
        bench.settle();
        bench.tick += 1;
    };
    grow(&mut bench, RANKS[0], &first, 0, 3);
    // The answer goes on.
    grow(&mut bench, RANKS[0], &first, 3, 4);
    grow(&mut bench, RANKS[0], &second, 0, 3);
    assert_eq!(bench.landed(), Landed { successive: 0, same: 0 });

    bench.tick += 30;
    grow(&mut bench, RANKS[0], &first, 4, 6);
    assert_eq!(bench.landed(), Landed { successive: 1, same: 1 });
    // The next turn is computed by another worker, from its start.
    grow(&mut bench, RANKS[1], &second, 0, 6);
    assert_eq!(bench.landed(), Landed { successive: 2, same: 1 });
    bench.tick += 3_600;
    assert_eq!(bench.landed(), Landed::default());
}

#[test]
fn a_request_lands_where_routers_sent_it() {
    let mut bench = Bench::new(Semantics::PerBlock);
    // Hashes of requests, chained so that each tells of the one before.
    let link = |before: u64, tokens: TokensHash| before.wrapping_mul(31) ^ tokens.0;
    let blocks = chain(1, 4);
    let mut hashes = vec![blocks[0].1];
    for (_, tokens) in &blocks[1..] {
        hashes.push(link(*hashes.last().unwrap(), TokensHash(*tokens)));
    }
    bench.store(RANKS[0], None, &blocks);
    bench.settle();
    let mut hits = crate::mirror::Heat::default();
    for rank in [RANKS[0], RANKS[0], RANKS[1]] {
        assert_eq!(bench.mirror.hit(&mut hits, &hashes, rank, link, 1.0, 10).0, 4);
    }
    // Another prompt that begins alike is no next turn of it.
    let mut other = hashes[..2].to_vec();
    other.push(link(other[1], TokensHash(99)));
    assert_eq!(bench.mirror.hit(&mut hits, &other, RANKS[1], link, 1.0, 10), (2, 0));

    assert_eq!(hits.landed(10), Landed { successive: 2, same: 1 });
    assert!(bench.mirror.knows(RANKS[0], SequenceHash(blocks[0].0)));
}
