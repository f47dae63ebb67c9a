//! Who holds what: blocks that one worker alone has, and blocks that several ranks have.
//!
//! Counted when it is asked for, over as many blocks as the question allows. A larger tree is sampled in short runs
//! spread evenly over memory, and counts are scaled.

use std::collections::HashMap;

use crate::domain::{WorkerId, WorkerRank};
use crate::mirror::node::{NONE, ODD, ROOT};
use crate::mirror::owners;
use crate::mirror::tree::Tree;
use crate::mirror::{DEVICE, Heat, Mirror};

/// Neighbours in memory that are looked at together.
const CHUNK: usize = 64;
/// Ticks for which a run stays in use after a store passed it.
const WARM: u32 = 300;

/// The blocks to count, and what tells which of them are in use.
#[derive(Clone, Copy, Debug)]
pub struct HoldingsQuestion<'a> {
    /// The ranks whose blocks are counted; none for all.
    pub within: Option<&'a [WorkerRank]>,
    /// Rate of stores by run.
    pub heat: &'a Heat,
    /// Rate of requests by run; none where no source reports them.
    pub hits: Option<&'a Heat>,
    /// The time.
    pub tick: u32,
    /// Blocks to look at, at most.
    pub budget: usize,
}

/// Blocks as they are held in the device tier, rejected ones included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Holdings {
    /// The share of the index that was looked at, 0 to 1. Counts are estimates below 1.
    pub looked_at: f64,
    /// Blocks of each worker, by its id.
    pub workers: Vec<Holding>,
    /// Distinct blocks by the number of ranks that hold them: 1, 2, 3, and 4 or more.
    pub copies: [u64; 4],
    /// Copies beyond the first of each block.
    pub extra: u64,
    /// Of those, copies of blocks in use.
    pub extra_warm: u64,
}

/// Blocks of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The worker.
    pub worker: WorkerId,
    /// Blocks that it holds, once per rank.
    pub held: u64,
    /// Blocks that no other worker holds.
    pub only: u64,
    /// Of those, blocks that a store or a request reached in the last five minutes.
    pub warm: u64,
}

impl Mirror {
    /// Counts who holds what.
    pub fn holdings(&self, question: &HoldingsQuestion<'_>) -> Holdings {
        let Some(tree) = &self.tiers[DEVICE] else { return Holdings::default() };
        let mut count = Count::new(tree, question);
        let end = tree.nodes.end() as usize;
        let chunks = end.div_ceil(CHUNK);
        let wanted = chunks.min((question.budget / CHUNK).max(1));
        let step = if wanted < chunks { stride(chunks) } else { 1 };
        let mut chunk = 0;
        for _ in 0..wanted {
            let first = chunk * CHUNK;
            let last = end.min(first + CHUNK);
            count.looked += last - first;
            for node in first..last {
                count.look(node as u32);
            }
            chunk = (chunk + step) % chunks;
        }
        count.finish(end)
    }
}

/// Returns a step by which all of `count` places are reached in turn, evenly spread from the first on.
fn stride(count: usize) -> usize {
    const fn divisor(a: usize, b: usize) -> usize {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    // The golden section spreads any number of steps evenly.
    let near = (count as u64 * 618 / 1_000) as usize;
    (near.max(1)..count).find(|step| divisor(*step, count) == 1).unwrap_or(1)
}

/// Blocks of one worker among those that were looked at.
#[derive(Clone, Copy, Debug)]
struct Seen {
    worker: WorkerId,
    /// Blocks that it holds, as the mirror counts them.
    held: u64,
    found: u64,
    only: u64,
    warm: u64,
}

struct Count<'a> {
    tree: &'a Tree,
    question: &'a HoldingsQuestion<'a>,
    /// The position of its worker, by slot.
    worker_of: Vec<Option<usize>>,
    workers: Vec<Seen>,
    looked: usize,
    copies: [u64; 4],
    extra: u64,
    extra_warm: u64,
    /// The last run, and whether it is in use.
    run: Option<(u32, bool)>,
    /// Slots that hold the present block.
    owners: Vec<u32>,
}

impl<'a> Count<'a> {
    fn new(tree: &'a Tree, question: &'a HoldingsQuestion<'a>) -> Self {
        let mut ranks: Vec<(WorkerRank, u32)> = match question.within {
            Some(ranks) => {
                ranks.iter().filter_map(|rank| Some((*rank, tree.slots.get(*rank)?))).collect()
            }
            None => tree.slots.ranks().collect(),
        };
        ranks.sort_unstable();
        let mut workers: Vec<Seen> = Vec::new();
        let mut places: HashMap<WorkerId, usize> = HashMap::new();
        let mut worker_of = Vec::new();
        for (rank, slot) in ranks {
            let place = *places.entry(rank.worker).or_insert_with(|| {
                workers.push(Seen { worker: rank.worker, held: 0, found: 0, only: 0, warm: 0 });
                workers.len() - 1
            });
            let own = tree.slots.at(slot);
            workers[place].held += own.accepted + own.orphans;
            if worker_of.len() <= slot as usize {
                worker_of.resize(slot as usize + 1, None);
            }
            worker_of[slot as usize] = Some(place);
        }
        Self {
            tree,
            question,
            worker_of,
            workers,
            looked: 0,
            copies: [0; 4],
            extra: 0,
            extra_warm: 0,
            run: None,
            owners: Vec::new(),
        }
    }

    fn look(&mut self, node: u32) {
        let own = self.tree.nodes.at(node);
        if node == ROOT || own.edge() == NONE || own.owners() == owners::EMPTY {
            return;
        }
        self.owners.clear();
        self.add_owners(node);
        // A block that one rank holds in the tree and another among rejected blocks has two nodes.
        if self.tree.twins > 0
            && !own.is(ODD)
            && let Some(twin) = self.twin(node, own.sequence())
        {
            if twin < node {
                return;
            }
            self.add_owners(twin);
        }
        let Some(place) = self.owners.first().and_then(|slot| self.place(*slot)) else { return };
        let count = self.owners.len();
        self.copies[count.min(4) - 1] += 1;
        for at in 0..count {
            if let Some(place) = self.place(self.owners[at]) {
                self.workers[place].found += 1;
            }
        }
        let alone = self.owners.iter().all(|slot| self.place(*slot) == Some(place));
        if count == 1 && !alone {
            return;
        }
        let warm = self.is_warm(node);
        self.extra += count as u64 - 1;
        self.extra_warm += if warm { count as u64 - 1 } else { 0 };
        if alone {
            self.workers[place].only += 1;
            self.workers[place].warm += u64::from(warm);
        }
    }

    fn place(&self, slot: u32) -> Option<usize> {
        self.worker_of.get(slot as usize).copied().flatten()
    }

    fn add_owners(&mut self, node: u32) {
        let Self { tree, worker_of, owners, .. } = self;
        tree.spill.each(tree.nodes.at(node).owners(), |slot| {
            // A slot that died has no worker.
            let known = worker_of.get(slot as usize).is_some_and(Option::is_some);
            if known && !owners.contains(&slot) {
                owners.push(slot);
            }
        });
    }

    fn twin(&self, node: u32, hash: u64) -> Option<u32> {
        self.tree.index.find(hash, |id| id != node && self.tree.nodes.at(id).sequence() == hash)
    }

    /// Returns true when a store or a request reached the run of `node` lately.
    fn is_warm(&mut self, node: u32) -> bool {
        let edge = self.tree.edges.at(self.tree.nodes.at(node).edge());
        if let Some((head, warm)) = self.run
            && head == edge.head
        {
            return warm;
        }
        let HoldingsQuestion { heat, hits, tick, .. } = self.question;
        let tokens = self.tree.nodes.at(edge.head).tokens();
        let reached = |heat: &Heat| heat.warmth(edge.head, tokens, *tick) > 0.0;
        let warm =
            tick.saturating_sub(edge.tick) <= WARM || reached(heat) || hits.is_some_and(reached);
        self.run = Some((edge.head, warm));
        warm
    }

    fn finish(self, end: usize) -> Holdings {
        let looked_at = if end == 0 { 1.0 } else { self.looked as f64 / end as f64 };
        let scaled = |count: u64| whole(count as f64 / looked_at);
        let holding = |seen: &Seen| {
            // Of a sample the share counts: what the worker holds is known.
            let part = |count: u64| match seen.found {
                0 => 0,
                all if looked_at < 1.0 => whole(seen.held as f64 * count as f64 / all as f64),
                _ => count,
            };
            Holding {
                worker: seen.worker,
                held: seen.held,
                only: part(seen.only),
                warm: part(seen.warm),
            }
        };
        Holdings {
            looked_at,
            workers: self.workers.iter().map(holding).collect(),
            copies: self.copies.map(scaled),
            extra: scaled(self.extra),
            extra_warm: scaled(self.extra_warm),
        }
    }
}

#[expect(clippy::cast_sign_loss, reason = "counts are positive")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}
