//! Random streams: pages against the simplest possible count of the same blocks.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::bench::{BOTH, Bench, Plain, RANKS, plain};
use crate::domain::{TreeAnchor, TreeNode, TreePlace, TreeRow, TreeRowKind, TreeSort, WorkerRank};
use crate::mirror::node::{NONE, ORPHAN, ROOT};
use crate::mirror::tree::Tree;
use crate::mirror::{DEVICE, Semantics};

/// Counts by looking at every block again and again.
struct Naive<'a>(&'a Tree);

impl Naive<'_> {
    fn kids(&self, node: u32) -> Vec<u32> {
        let all = self.0.kids_of(node);
        let mut kids: Vec<u32> = (0..all.len()).filter_map(|at| all.get(at)).collect();
        kids.retain(|kid| self.0.nodes.at(*kid).parent() == node && self.count(*kid) > 0);
        kids
    }

    fn owned(&self, node: u32) -> bool {
        self.0.spill.len(self.0.nodes.at(node).owners()) > 0
    }

    fn count(&self, node: u32) -> u64 {
        let all = self.0.kids_of(node);
        let kids = (0..all.len()).filter_map(|at| all.get(at));
        let own = kids.filter(|kid| self.0.nodes.at(*kid).parent() == node);
        u64::from(self.owned(node)) + own.map(|kid| self.count(kid)).sum::<u64>()
    }

    fn rows(&self, parent: u32, depth: u16, above: Option<u32>, into: &mut Vec<Plain>) {
        let mut kids = self.kids(parent);
        kids.sort_by_key(|kid| {
            (std::cmp::Reverse(self.count(*kid)), self.0.nodes.at(*kid).tokens())
        });
        for head in kids {
            self.row(head, depth, above, into);
        }
    }

    fn row(&self, head: u32, depth: u16, above: Option<u32>, into: &mut Vec<Plain>) {
        let (mut tail, mut last, mut blocks) = (head, head, u32::from(self.owned(head)));
        while self.0.kids_of(tail).len() == 1 && self.kids(tail).len() == 1 {
            tail = self.kids(tail)[0];
            blocks += u32::from(self.owned(tail));
            last = if self.owned(tail) { tail } else { last };
        }
        let has = |rank: &WorkerRank| {
            let slot = self.0.slots.get(*rank)?;
            let own = |node: u32| self.0.spill.contains(self.0.nodes.at(node).owners(), slot);
            Some((*rank, self.0.presence(head, last, slot))).filter(|_| own(head) || own(last))
        };
        let reach = above.map(|above| above + blocks);
        into.push(Plain {
            depth,
            tokens: self.0.nodes.at(head).tokens(),
            blocks,
            subtree: self.count(head),
            reach,
            owners: RANKS.iter().filter_map(has).collect(),
        });
        self.rows(tail, depth + 1, reach, into);
    }

    /// Returns the nodes without a parent: missing ones, or blocks.
    fn tops(&self, ghosts: bool) -> Vec<u32> {
        let nodes = (ROOT + 1..self.0.nodes.end()).filter(|node| {
            let own = self.0.nodes.at(*node);
            own.edge() != NONE && own.parent() == NONE && own.is(ORPHAN) == ghosts
        });
        let mut tops: Vec<u32> = nodes.filter(|node| self.count(*node) > 0).collect();
        let tie = |node: &u32| {
            let own = self.0.nodes.at(*node);
            if ghosts { own.sequence() } else { own.tokens() }
        };
        tops.sort_by_key(|node| (std::cmp::Reverse(self.count(*node)), tie(node)));
        tops
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
    let path = prop::collection::vec(0..3_u8, 1..7);
    let step = (0..3_usize, 0..20_u8, path, 0..7_usize).prop_map(|(rank, act, path, from)| Step {
        rank: RANKS[rank],
        act,
        from: from.min(path.len()),
        path,
    });
    prop::collection::vec(step, 1..80)
}

fn hash(path: &[u8]) -> u64 {
    path.iter().fold(1, |hash: u64, token| hash * 5 + u64::from(*token) + 1)
}

fn follow(bench: &mut Bench, step: &Step) {
    match step.act {
        0..13 => {
            let parent = (step.from > 0).then(|| hash(&step.path[..step.from]));
            let blocks: Vec<(u64, u64)> = (step.from..step.path.len())
                .map(|at| (hash(&step.path[..=at]), u64::from(step.path[at]) + 10))
                .collect();
            bench.store(step.rank, parent, &blocks);
        }
        13..19 => bench.remove(step.rank, &[hash(&step.path)]),
        _ => bench.mirror.remove_worker(step.rank.worker),
    }
}

/// For each rank the refused blocks, each with the missing parent that its chain hangs from.
#[derive(Default)]
struct Groups {
    accepted: BTreeMap<WorkerRank, BTreeSet<u64>>,
    orphans: BTreeMap<WorkerRank, BTreeMap<u64, u64>>,
}

impl Groups {
    fn follow(&mut self, step: &Step) {
        let accepted = self.accepted.entry(step.rank).or_default();
        let orphans = self.orphans.entry(step.rank).or_default();
        match step.act {
            0..13 => {
                let parent = (step.from > 0).then(|| hash(&step.path[..step.from]));
                let taken = parent.is_none_or(|parent| accepted.contains(&parent));
                let mut group = parent.map(|hash| orphans.get(&hash).copied().unwrap_or(hash));
                for at in step.from..step.path.len() {
                    let block = hash(&step.path[..=at]);
                    if taken {
                        accepted.insert(block);
                        orphans.remove(&block);
                    } else if let Some(own) = orphans.get(&block) {
                        group = Some(*own);
                    } else if accepted.contains(&block) {
                        group = Some(block);
                    } else {
                        orphans.insert(block, group.unwrap());
                    }
                }
            }
            13..19 => {
                let block = hash(&step.path);
                if !accepted.remove(&block) {
                    orphans.remove(&block);
                }
            }
            _ => {
                let worker = step.rank.worker;
                self.accepted.retain(|rank, _| rank.worker != worker);
                self.orphans.retain(|rank, _| rank.worker != worker);
            }
        }
    }

    /// Returns the missing parents with the blocks that hang from each, the largest first.
    fn largest(&self) -> Vec<(u64, u64)> {
        let mut groups: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (block, group) in self.orphans.values().flatten() {
            groups.entry(*group).or_default().insert(*block);
        }
        let mut sizes: Vec<(u64, u64)> =
            groups.into_iter().map(|(group, blocks)| (group, blocks.len() as u64)).collect();
        sizes.sort_by_key(|(group, blocks)| (std::cmp::Reverse(*blocks), *group));
        sizes
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_is_what_a_count_of_all_blocks_finds(
        steps in steps(),
        truncating in any::<bool>(),
    ) {
        let mut bench = Bench::new(BOTH[usize::from(truncating)]);
        for step in &steps {
            follow(&mut bench, step);
        }
        bench.settle();

        let page = bench.all();

        let tree = bench.mirror.tiers[DEVICE].as_ref().unwrap();
        let naive = Naive(tree);
        let mut expected = Vec::new();
        naive.rows(ROOT, 1, Some(0), &mut expected);
        for top in naive.tops(false) {
            naive.row(top, 1, None, &mut expected);
        }
        for top in naive.tops(true) {
            naive.rows(top, 2, None, &mut expected);
        }
        let rows: Vec<Plain> = page.rows.iter().filter_map(plain).collect();
        prop_assert_eq!(rows, expected);
        let blocks: u64 = page.rows.iter().map(|row| u64::from(row.blocks)).sum();
        let orphans: u64 = naive.tops(true).into_iter().map(|top| naive.count(top)).sum();
        prop_assert_eq!(blocks, bench.mirror.totals().distinct + orphans);
        let sharing = page.sharing.unwrap();
        prop_assert_eq!(sharing.single + sharing.shared, bench.mirror.totals().distinct);
    }

    #[test]
    fn refused_blocks_are_grouped_by_what_they_miss(steps in steps()) {
        let mut bench = Bench::new(Semantics::PerBlock);
        let mut groups = Groups::default();
        for step in &steps {
            follow(&mut bench, step);
            groups.follow(step);
        }
        bench.settle();

        let page = bench.page();

        let missing = |row: &TreeRow| match row.place.node {
            TreeNode::Missing(hash) => Some((hash.0, row.subtree)),
            _ => None,
        };
        let found: Vec<(u64, u64)> = page.rows.iter().filter_map(missing).collect();
        prop_assert_eq!(found, groups.largest());
    }

    #[test]
    fn a_name_never_stands_for_another_block(
        before in steps(),
        after in steps(),
        truncating in any::<bool>(),
    ) {
        let mut bench = Bench::new(BOTH[usize::from(truncating)]);
        for step in &before {
            follow(&mut bench, step);
        }
        let known: Vec<TreePlace> = bench.all().rows.iter().map(|row| row.place).collect();
        for step in &after {
            follow(&mut bench, step);
        }
        for (at, place) in known.iter().chain(&known).copied().enumerate() {
            if at == known.len() {
                bench.settle();
            }
            let page = bench.page_at(TreeNode::Root, Some(place), None);
            let TreeNode::Block(block) = place.node else { continue };
            match page.anchor {
                TreeAnchor::At(at) => {
                    let row = &page.rows[at];
                    prop_assert!(row.kind != TreeRowKind::Gone);
                    // Until everything is added up, a row may hang from blocks that are on their way out.
                    if !row.exact {
                        continue;
                    }
                    let detail = page.detail.unwrap();
                    prop_assert!(detail.hashes.contains(&block.sequence), "{:?} {:?} {:?}", block, row, detail);
                }
                TreeAnchor::Gone(at) => {
                    prop_assert_eq!(page.rows[at].place, place);
                    prop_assert_eq!(page.rows[at].kind, TreeRowKind::Gone);
                }
                // Below something that was never opened.
                TreeAnchor::Hidden => {}
            }
        }
    }

    #[test]
    fn heat_orders_by_stores_below(steps in steps()) {
        let mut bench = Bench::new(Semantics::PerBlock);
        bench.sort = TreeSort::Heat;
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for step in steps.iter().filter(|step| step.act < 13) {
            let step = Step { from: 0, ..step.clone() };
            follow(&mut bench, &step);
            *counts.entry(u64::from(step.path[0]) + 10).or_default() += 1;
        }
        bench.settle();

        let page = bench.page();

        let mut hottest = f32::MAX;
        for row in page.rows.iter().filter(|row| row.depth == 1) {
            let TreeNode::Block(block) = row.place.node else { continue };
            let stores = counts[&block.tokens.0] as f32;
            prop_assert!((row.heat - stores * std::f32::consts::LN_2).abs() < 1e-3);
            prop_assert!(row.heat <= hottest);
            hottest = row.heat;
        }
    }
}
