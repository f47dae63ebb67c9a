//! Pages against the simplest possible count of the same blocks, and what they cost.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use proptest::prelude::*;

use super::{BUDGET, Browser, Page, Question};
use crate::domain::{
    Block, BlockRef, Hint, KvBatch, KvHead, Presence, SequenceHash, TokensHash, TreeAnchor,
    TreeNode, TreePlace, TreeRow, TreeRowKind, TreeSort, WorkerRank,
};
use crate::mirror::node::{NONE, ORPHAN, ROOT};
use crate::mirror::tree::Tree;
use crate::mirror::{DEVICE, Heat, Mirror, Semantics};

const BOTH: [Semantics; 2] = [Semantics::PerBlock, Semantics::EdgeTruncating];
const RANKS: [WorkerRank; 3] =
    [WorkerRank::new(1, 0), WorkerRank::new(2, 0), WorkerRank::new(2, 1)];

/// Everything that happens to a mirror and to what browses it.
struct Bench {
    mirror: Mirror,
    heat: Heat,
    browser: Browser,
    open: HashMap<TreeNode, usize>,
    spread: HashMap<TreeNode, u16>,
    closed: HashSet<TreeNode>,
    sort: TreeSort,
    only: Option<Vec<WorkerRank>>,
    within: Option<Vec<WorkerRank>>,
    tick: u32,
}

impl Bench {
    fn new(semantics: Semantics) -> Self {
        let open = [TreeNode::Root, TreeNode::Orphans, TreeNode::Detached];
        Self {
            mirror: Mirror::new(semantics, usize::MAX),
            heat: Heat::default(),
            browser: Browser::default(),
            open: open.map(|node| (node, 1_000)).into(),
            spread: HashMap::new(),
            closed: HashSet::new(),
            sort: TreeSort::Blocks,
            only: None,
            within: None,
            tick: 0,
        }
    }

    fn store(&mut self, rank: WorkerRank, parent: Option<u64>, blocks: &[(u64, u64)]) {
        let named = |(sequence, tokens): &(u64, u64)| Block {
            sequence: SequenceHash(*sequence),
            tokens: TokensHash(*tokens),
        };
        let blocks: Vec<Block> = blocks.iter().map(named).collect();
        let mut batch = KvBatch::default();
        let head = KvHead::of(rank.worker, rank.dp_rank);
        batch.stored(&head, parent.map(SequenceHash), &blocks);
        self.mirror.apply(&batch, self.tick, &mut Vec::new());
        if let Some(last) = blocks.last() {
            self.heat.note(rank, last.sequence);
        }
    }

    fn remove(&mut self, rank: WorkerRank, hashes: &[u64]) {
        let hashes: Vec<SequenceHash> = hashes.iter().copied().map(SequenceHash).collect();
        let mut batch = KvBatch::default();
        batch.remove(&KvHead::of(rank.worker, rank.dp_rank), &hashes);
        self.mirror.apply(&batch, self.tick, &mut Vec::new());
    }

    fn settle(&mut self) {
        while self.mirror.advance(1_000) {}
        self.mirror.warm(&mut self.heat, self.tick);
    }

    fn page_at(&mut self, root: TreeNode, anchor: Option<TreePlace>, find: Option<&str>) -> Page {
        let question = Question {
            root,
            open: &self.open,
            spread: &self.spread,
            closed: &self.closed,
            anchor,
            last: false,
            around: 10_000,
            sort: self.sort,
            only: self.only.as_deref(),
            own: self.only.as_deref(),
            within: self.within.as_deref(),
            ranks: &RANKS,
            find: find.map(|text| (text, 0)),
            hits: None,
            tick: self.tick,
        };
        self.mirror.browse(&mut self.browser, &self.heat, &question)
    }

    fn page(&mut self) -> Page {
        self.page_at(TreeNode::Root, None, None)
    }

    /// Returns a page on which everything is open.
    fn all(&mut self) -> Page {
        loop {
            let page = self.page();
            let closed = |row: &&TreeRow| matches!(row.kind, TreeRowKind::Node { open: false, children } if children > 0);
            let before = self.open.len();
            let nodes = page.rows.iter().filter(closed).map(|row| (row.place.node, 1_000));
            self.open.extend(nodes.collect::<Vec<_>>());
            if self.open.len() == before {
                return page;
            }
        }
    }
}

/// A row as the simplest count finds it.
#[derive(Debug, PartialEq)]
struct Plain {
    depth: u16,
    tokens: u64,
    blocks: u32,
    subtree: u64,
    reach: Option<u32>,
    owners: Vec<(WorkerRank, Presence)>,
}

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
            own.edge != NONE && own.parent() == NONE && own.is(ORPHAN) == ghosts
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

fn plain(row: &TreeRow) -> Option<Plain> {
    let TreeNode::Block(block) = row.place.node else { return None };
    assert!(row.exact, "{row:?}");
    let on = RANKS.into_iter().zip(row.on.iter().copied());
    Some(Plain {
        depth: row.depth,
        tokens: block.tokens.0,
        blocks: row.blocks,
        subtree: row.subtree,
        reach: row.reach,
        owners: on.filter(|(_, has)| *has != Presence::None).collect(),
    })
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

/// Fills a tree with prompts of ten blocks, four of which every hundred prompts share.
fn filled(blocks: u64) -> Bench {
    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..blocks / 6 {
        let group = prompt / 100 + 1;
        let shared = (0..4).map(|at| (group << 40 | at, group << 8 | at));
        let own = (0..6).map(|at| (prompt << 20 | 1 << 63 | at, prompt << 8 | 128 | at));
        let chain: Vec<(u64, u64)> = shared.chain(own).collect();
        bench.store(RANKS[(prompt % 3) as usize], None, &chain);
        if prompt % 10 == 0 {
            bench.store(RANKS[0], Some(prompt | 1 << 62), &chain[4..]);
        }
    }
    bench.settle();
    bench
}

/// Most that a page may look at, whatever the tree: the budget for children, the slices of census and
/// search, what the detail counts, and the rows.
const MOST: usize = BUDGET + 65_536 + 131_072 + 65_536 + 60_000;

#[test]
fn a_page_costs_the_same_whatever_the_size_of_the_tree() {
    let mut costs = Vec::new();
    for blocks in [1_000, 100_000, 5_000_000] {
        let mut bench = filled(blocks);
        bench.open.values_mut().for_each(|limit| *limit = 50);
        let mut most = 0;
        for _ in 0..30 {
            let page = bench.page_at(TreeNode::Root, None, Some("abcdef"));
            most = most.max(page.visits);
            let first = page.rows.iter().find(|row| row.depth == 1).unwrap().place.node;
            bench.open.insert(first, 50);
        }
        costs.push(most);
    }
    assert!(costs.iter().all(|cost| *cost <= MOST), "{costs:?}");
    // Beyond the slices nothing grows.
    assert!(costs[2] < costs[1] + 150_000, "{costs:?}");
}

#[test]
fn a_million_children_are_put_in_order_a_slice_at_a_time() {
    let mut bench = Bench::new(Semantics::PerBlock);
    let children = 60_000_u64;
    for prompt in 0..children {
        let length = 1 + prompt.wrapping_mul(0x9E37_79B9) % 7;
        let chain: Vec<(u64, u64)> =
            (0..length).map(|at| (prompt << 8 | at | 1 << 60, prompt << 8 | at)).collect();
        bench.store(RANKS[0], None, &chain);
    }
    bench.settle();
    bench.open.insert(TreeNode::Root, 50);

    let first = bench.page();
    let mut pages = 1;
    let mut page = first.clone();
    while !matches!(page.rows.last().unwrap().kind, TreeRowKind::More { sorted: true, .. }) {
        page = bench.page();
        pages += 1;
        assert!(page.visits < MOST && pages < 100);
    }

    assert!(matches!(first.rows.last().unwrap().kind, TreeRowKind::More { sorted: false, .. }));
    let mut lengths: Vec<(u64, u64)> = (0..children)
        .map(|prompt| (1 + prompt.wrapping_mul(0x9E37_79B9) % 7, prompt << 8))
        .collect();
    lengths.sort_by_key(|(length, tokens)| (std::cmp::Reverse(*length), *tokens));
    let expected: Vec<u64> = lengths.iter().take(50).map(|(_, tokens)| *tokens).collect();
    let found: Vec<u64> = page.rows.iter().filter_map(plain).map(|row| row.tokens).collect();
    assert_eq!(found, expected);
    let TreeRowKind::More { hidden, .. } = page.rows.last().unwrap().kind else { panic!() };
    assert_eq!(hidden as u64, children - 50);
}

#[test]
fn what_is_looked_at_stays_in_sight_when_it_is_no_longer_among_the_first() {
    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..100_u64 {
        bench.store(RANKS[0], None, &[(prompt + 1_000, prompt)]);
    }
    bench.settle();
    bench.open.insert(TreeNode::Root, 10);
    let place = bench.page().rows[3].place;
    for prompt in 50..100_u64 {
        bench.store(RANKS[0], Some(prompt + 1_000), &[(prompt + 5_000, 7)]);
    }
    bench.settle();

    let page = bench.page_at(TreeNode::Root, Some(place), None);

    let TreeAnchor::At(at) = page.anchor else { panic!("{:?}", page.anchor) };
    assert_eq!((at, page.rows[at].place), (11, place));
    assert!(matches!(page.rows[12].kind, TreeRowKind::More { hidden: 89, sorted: true }));
}

#[test]
fn a_node_that_vanished_is_shown_as_gone_where_it_was() {
    for semantics in BOTH {
        let mut bench = Bench::new(semantics);
        for prompt in 0..5_u64 {
            bench.store(RANKS[0], None, &[(prompt + 1_000, prompt), (prompt + 2_000, prompt + 50)]);
        }
        bench.settle();
        let place = bench.page().rows[3].place;
        bench.page_at(TreeNode::Root, Some(place), None);

        bench.remove(RANKS[0], &[2_002, 1_002]);
        bench.store(RANKS[1], None, &[(7_777, 99)]);
        bench.settle();

        let page = bench.page_at(TreeNode::Root, Some(place), None);
        assert_eq!(page.anchor, TreeAnchor::Gone(3), "{semantics:?}");
        assert_eq!((page.rows[3].kind, page.rows[3].place), (TreeRowKind::Gone, place));
        assert!(page.detail.is_none());
        let pinned = bench.page_at(place.node, Some(place), None);
        assert_eq!((pinned.rows.len(), pinned.rows[0].kind), (1, TreeRowKind::Gone));
        // The same block again is the same node again.
        bench.store(RANKS[1], None, &[(1_002, 2), (2_002, 52)]);
        bench.settle();
        let page = bench.page_at(TreeNode::Root, Some(place), None);
        assert!(matches!(page.anchor, TreeAnchor::At(_)), "{:?}", page.anchor);
    }
}

#[test]
fn a_block_at_the_end_of_a_truncated_edge_is_gone() {
    let mut bench = Bench::new(Semantics::EdgeTruncating);
    bench.store(RANKS[0], None, &[(100, 1), (101, 2), (102, 3)]);
    bench.store(RANKS[1], None, &[(100, 1), (101, 2)]);
    bench.settle();
    let last = BlockRef {
        sequence: SequenceHash(102),
        tokens: TokensHash(3),
        orphan: false,
        hint: Hint(3),
    };
    let place = TreePlace { node: TreeNode::Block(last), more: false };
    assert_eq!(bench.page_at(TreeNode::Root, Some(place), None).anchor, TreeAnchor::At(1));

    bench.remove(RANKS[0], &[102]);
    bench.settle();

    let page = bench.page_at(TreeNode::Root, Some(place), None);
    assert!(matches!(page.anchor, TreeAnchor::Gone(_)), "{page:?}");
    assert_eq!(page.rows.iter().map(|row| row.blocks).sum::<u32>(), 2);
}

#[test]
fn hashes_are_found_in_decimal_in_hexadecimal_and_by_their_first_digits() {
    let mut bench = Bench::new(Semantics::PerBlock);
    let chain = [(0xABCD_EF01_0000_0001, 1), (0xABCD_EF02_0000_0002, 2), (0x1234, 3)];
    bench.store(RANKS[0], None, &chain);
    bench.store(RANKS[1], Some(0x7777_0000_0000_0000), &[(0xFFFF_0000_0000_0001, 4)]);
    // A worker that salts its hashes calls the same content otherwise.
    bench.store(RANKS[2], None, &[(0x5A17_0000_0000_0001, 1)]);
    bench.settle();
    let mut find = |text: &str| {
        let mut page = bench.page_at(TreeNode::Root, None, Some(text));
        while !page.search.as_ref().unwrap().done {
            page = bench.page_at(TreeNode::Root, None, Some(text));
        }
        page.search.unwrap()
    };

    let wanted = [
        ("4660", 0x1234),
        ("0x0000000000001234", 0x1234),
        ("0000000000001234", 0x1234),
        ("abcdef02", 0xABCD_EF02_0000_0002),
        ("ABCDEF01", 0xABCD_EF01_0000_0001),
        ("5a17", 0x5A17_0000_0000_0001),
    ];
    for (text, hash) in wanted {
        let search = find(text);
        assert_eq!(search.found.len(), 1, "{text}: {search:?}");
        assert_eq!((search.found[0].hash.0, search.found[0].way[0]), (hash, TreeNode::Root));
    }
    assert_eq!(find("abcd").found.len(), 2);
    let orphan = find("ffff");
    assert_eq!(
        orphan.found[0].way[..2],
        [TreeNode::Orphans, TreeNode::Missing(SequenceHash(0x7777_0000_0000_0000))]
    );
    assert_eq!(find("0x7777").found[0].way.len(), 2);
    assert!(find("dead").found.is_empty());
    assert!(find("prompt").senseless && find("").senseless);
}

#[test]
fn a_detail_says_what_a_router_would_find() {
    for semantics in BOTH {
        let mut bench = Bench::new(semantics);
        let chain: Vec<(u64, u64)> = (0..10).map(|at| (100 + at, 10 + at)).collect();
        bench.store(RANKS[0], None, &chain);
        bench.store(RANKS[1], None, &chain[..4]);
        bench.store(RANKS[1], Some(103), &[(500, 50), (501, 51)]);
        bench.settle();
        let page = bench.all();
        let last = page.rows.iter().find(|row| row.blocks == 6).unwrap();
        let place = last.place;
        assert_eq!((last.reach, last.holders), (Some(10), 1), "{semantics:?}");

        let detail = bench.page_at(TreeNode::Root, Some(place), None).detail.unwrap();

        assert_eq!((detail.above, detail.blocks, detail.path.len()), (Some(4), 6, 2));
        let overlaps: Vec<_> =
            detail.shares.iter().map(|share| (share.rank, share.overlap)).collect();
        assert_eq!(overlaps, [(RANKS[0], Some(10)), (RANKS[1], Some(4))], "{semantics:?}");
        assert_eq!(detail.hashes.len(), 6);
        let root = bench.page().detail;
        assert!(root.is_none(), "nothing was asked for");
    }
}

#[test]
fn a_filter_leaves_out_what_a_worker_has_not() {
    let mut bench = Bench::new(Semantics::PerBlock);
    bench.store(RANKS[0], None, &[(1, 1), (2, 2)]);
    bench.store(RANKS[1], None, &[(1, 1), (3, 3)]);
    bench.store(RANKS[1], Some(99), &[(100, 4)]);
    bench.settle();
    bench.only = Some(vec![RANKS[0]]);

    let page = bench.all();

    let tokens: Vec<u64> = page.rows.iter().filter_map(plain).map(|row| row.tokens).collect();
    assert_eq!(tokens, [1, 2]);
    assert!(page.rows.iter().all(|row| !matches!(row.place.node, TreeNode::Missing(_))));
}

#[test]
fn a_filter_counts_what_the_worker_has_alone() {
    let mut bench = Bench::new(Semantics::PerBlock);
    bench.store(RANKS[0], None, &[(1, 1), (2, 2)]);
    bench.store(RANKS[1], None, &[(1, 1), (2, 2), (3, 3), (4, 4)]);
    bench.store(RANKS[1], Some(2), &[(5, 5)]);
    bench.settle();
    let mut rows = |only: Option<&[WorkerRank]>| -> Vec<(u64, u32, bool)> {
        bench.only = only.map(<[WorkerRank]>::to_vec);
        let page = bench.all();
        page.rows.iter().map(|row| (row.subtree, row.blocks, row.partial)).collect()
    };
    // The root, the run of 1 and 2, and what follows it.
    assert_eq!(rows(None), [(5, 0, false), (5, 2, false), (2, 2, false), (1, 1, false)]);
    assert_eq!(rows(Some(&RANKS[..1])), [(2, 0, false), (2, 2, false)]);
    let both = [(5, 0, false), (5, 2, false), (2, 2, false), (1, 1, false)];
    assert_eq!(rows(Some(&RANKS[..2])), both);
}

#[test]
fn a_filter_looks_at_no_more_than_a_page_may_cost() {
    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..40_000_u64 {
        bench.store(RANKS[prompt as usize % 2], None, &[(prompt << 8 | 1 << 60, prompt)]);
    }
    bench.settle();
    bench.only = Some(vec![RANKS[0], RANKS[1]]);
    let page = bench.page();
    let root = &page.rows[0];
    // What one of the two ranks has is known, more is not.
    assert!(root.partial && root.subtree == 20_000, "{root:?}");
    bench.only = Some(vec![RANKS[0]]);
    let page = bench.page();
    assert!(!page.rows[0].partial && page.rows[0].subtree == 20_000, "{:?}", page.rows[0]);
    assert!(page.visits < 300_000, "{}", page.visits);
}

#[test]
fn sums_are_of_those_that_are_looked_at() {
    let mut bench = Bench::new(Semantics::PerBlock);
    bench.store(RANKS[0], None, &[(1, 1), (2, 2)]);
    bench.store(RANKS[1], None, &[(1, 1), (3, 3)]);
    bench.store(RANKS[2], None, &[(1, 1), (2, 2), (4, 4)]);
    bench.settle();
    let mut counted = |within: Option<&[WorkerRank]>| {
        bench.within = within.map(<[WorkerRank]>::to_vec);
        let sharing = bench.all().sharing.unwrap();
        (sharing.single, sharing.shared, sharing.duplicates)
    };

    assert_eq!(counted(None), (2, 2, 3));
    assert_eq!(counted(Some(&RANKS[..2])), (2, 1, 1));
    assert_eq!(counted(Some(&RANKS[2..3])), (3, 0, 0));
    assert_eq!(counted(Some(&[])), (0, 0, 0));
    assert_eq!(counted(None), (2, 2, 3));
}

#[test]
fn lengths_of_prompts_are_told_and_sampled_when_there_are_many() {
    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..100_u64 {
        let chain: Vec<(u64, u64)> =
            (0..=prompt).map(|at| (prompt << 16 | at | 1 << 60, prompt << 16 | at)).collect();
        bench.store(RANKS[0], None, &chain);
    }
    bench.settle();
    let depths = bench.page().depths.unwrap();
    assert_eq!((depths.half, depths.most, depths.longest), (51, 90, 100));
    assert_eq!((depths.ends, depths.sampled), (100, false));

    let mut bench = Bench::new(Semantics::PerBlock);
    for prompt in 0..20_000_u64 {
        bench.store(RANKS[0], None, &[(prompt << 8 | 1 << 60, prompt), (prompt << 8 | 1, 3)]);
    }
    bench.settle();
    // So many nodes are counted in more than one page.
    let mut page = bench.page();
    while page.unfinished {
        page = bench.page();
    }
    let depths = page.depths.unwrap();
    assert!(depths.sampled && depths.half == 2 && depths.ends < 5_000, "{depths:?}");
}

#[test]
fn levels_open_at_once_and_close_one_by_one() {
    let mut bench = Bench::new(Semantics::PerBlock);
    for first in 1..3_u64 {
        for second in 1..3_u64 {
            for third in 1..3_u64 {
                let (a, b) = (first << 8, first << 8 | second << 4);
                let c = b | third;
                bench.store(RANKS[0], None, &[(a, a), (b, b), (c, c)]);
            }
        }
    }
    bench.settle();
    bench.open.clear();
    bench.spread.insert(TreeNode::Root, 2);
    let depths = |page: &Page| page.rows.iter().map(|row| row.depth).collect::<Vec<_>>();

    let page = bench.page();
    assert_eq!(depths(&page), [0, 1, 2, 2, 1, 2, 2]);
    bench.closed.insert(page.rows[1].place.node);
    assert_eq!(depths(&bench.page()), [0, 1, 1, 2, 2]);
    bench.spread.insert(TreeNode::Root, 64);
    assert_eq!(depths(&bench.page()), [0, 1, 1, 2, 3, 3, 2, 3, 3]);
    // What is found is shown although what it hangs below is closed.
    let page = bench.page_at(TreeNode::Root, None, Some("0000000000000111"));
    let TreeAnchor::At(at) = page.anchor else { panic!("{:?}", page.anchor) };
    assert_eq!((page.rows[at].depth, page.rows[at].last), (3, Some(SequenceHash(0x111))));
}
