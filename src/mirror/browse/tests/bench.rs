//! A mirror with what browses it, as tests drive them.

use std::collections::{HashMap, HashSet};

use crate::domain::{
    Block, KvBatch, KvHead, Presence, SequenceHash, TokensHash, TreeNode, TreePlace, TreeRow,
    TreeRowKind, TreeSort, WorkerRank,
};
use crate::mirror::browse::{Browser, Page, Question};
use crate::mirror::{Heat, Mirror, Semantics};

pub(super) const BOTH: [Semantics; 2] = [Semantics::PerBlock, Semantics::EdgeTruncating];
pub(super) const RANKS: [WorkerRank; 3] =
    [WorkerRank::new(1, 0), WorkerRank::new(2, 0), WorkerRank::new(2, 1)];

/// Everything that happens to a mirror and to what browses it.
pub(super) struct Bench {
    pub(super) mirror: Mirror,
    pub(super) heat: Heat,
    pub(super) browser: Browser,
    pub(super) open: HashMap<TreeNode, usize>,
    pub(super) spread: HashMap<TreeNode, u16>,
    pub(super) closed: HashSet<TreeNode>,
    pub(super) sort: TreeSort,
    pub(super) only: Option<Vec<WorkerRank>>,
    pub(super) within: Option<Vec<WorkerRank>>,
    pub(super) tick: u32,
}

impl Bench {
    pub(super) fn new(semantics: Semantics) -> Self {
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

    pub(super) fn store(&mut self, rank: WorkerRank, parent: Option<u64>, blocks: &[(u64, u64)]) {
        let named = |(sequence, tokens): &(u64, u64)| Block {
            sequence: SequenceHash(*sequence),
            tokens: TokensHash(*tokens),
        };
        let blocks: Vec<Block> = blocks.iter().map(named).collect();
        let mut batch = KvBatch::default();
        let head = KvHead::new(rank.worker, rank.dp_rank);
        batch.stored(&head, parent.map(SequenceHash), &blocks);
        self.mirror.apply(&batch, self.tick, &mut Vec::new());
        if let Some(last) = blocks.last() {
            self.heat.note(rank, last.sequence);
        }
    }

    pub(super) fn remove(&mut self, rank: WorkerRank, hashes: &[u64]) {
        let hashes: Vec<SequenceHash> = hashes.iter().copied().map(SequenceHash).collect();
        let mut batch = KvBatch::default();
        batch.remove(&KvHead::new(rank.worker, rank.dp_rank), &hashes);
        self.mirror.apply(&batch, self.tick, &mut Vec::new());
    }

    pub(super) fn settle(&mut self) {
        while self.mirror.advance(1_000) {}
        self.mirror.warm(&mut self.heat, self.tick);
    }

    pub(super) fn page_at(
        &mut self,
        root: TreeNode,
        anchor: Option<TreePlace>,
        find: Option<&str>,
    ) -> Page {
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

    pub(super) fn page(&mut self) -> Page {
        self.page_at(TreeNode::Root, None, None)
    }

    /// Returns a page on which everything is open.
    pub(super) fn all(&mut self) -> Page {
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

/// Fills a tree with prompts of ten blocks, four of which every hundred prompts share.
pub(super) fn filled(blocks: u64) -> Bench {
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

/// A row as the simplest count finds it.
#[derive(Debug, PartialEq)]
pub(super) struct Plain {
    pub(super) depth: u16,
    pub(super) tokens: u64,
    pub(super) blocks: u32,
    pub(super) subtree: u64,
    pub(super) reach: Option<u32>,
    pub(super) owners: Vec<(WorkerRank, Presence)>,
}

pub(super) fn plain(row: &TreeRow) -> Option<Plain> {
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
