//! The first so many children of a node, in order.
//!
//! A short list of children is put in order for each picture. A long one is gone through a slice at a
//! time, and what the last full pass found is shown meanwhile, so that a node with a million children
//! costs a picture no more than one with some thousand.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Visits;
use super::place::Spot;
use crate::domain::{TreeNode, TreeSort};
use crate::mirror::heat::Heat;
use crate::mirror::node::{NONE, ROOT};
use crate::mirror::tree::Tree;

/// Children that are put in order at once.
const AT_ONCE: usize = 4_096;
/// Children that are looked at even when the picture has cost enough already.
const LEAST: usize = 16;

/// The order and the filter.
pub(super) struct Wish<'a> {
    pub(super) sort: TreeSort,
    /// Slots of which one must have the first block of a row; none for no filter.
    pub(super) slots: Option<Vec<u32>>,
    pub(super) heat: &'a Heat,
    pub(super) tick: u32,
}

/// The parent of the listed rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// The children of this block.
    Kids(u32),
    /// Missing parents, among all edges.
    Missing,
    /// Blocks without a parent, among all edges.
    Detached,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    score: u64,
    tie: u64,
    head: u32,
}

impl Ord for Candidate {
    /// The one to be shown later is the greater.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.cmp(&self.score).then(self.tie.cmp(&other.tie)).then(self.head.cmp(&other.head))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A walk over all children, under way.
#[derive(Clone, Debug, Default)]
struct Pass {
    at: usize,
    best: BinaryHeap<Candidate>,
    matched: usize,
}

/// The children of one node, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    /// The first ones, by name, in order.
    pub(super) first: Vec<TreeNode>,
    /// Their number.
    pub(super) matched: usize,
    /// False while the first pass goes on: then order and number are provisional.
    pub(super) complete: bool,
    pass: Option<Pass>,
    limit: usize,
    /// The last page it was asked for in.
    pub(super) page: u64,
}

impl Listing {
    /// Brings the listing up to date for the first `limit` children of what `spot` is, whose row ends
    /// with `tail`.
    pub(super) fn update(
        &mut self,
        tree: &Tree,
        (spot, tail): (Spot, u32),
        limit: usize,
        wish: &Wish<'_>,
        visits: &mut Visits,
    ) {
        let among = match spot {
            Spot::Root | Spot::Block(_) | Spot::Missing(_) => Among::Kids(tail),
            Spot::Detached => Among::Detached,
            Spot::Orphans => Among::Missing,
        };
        let count = tree.among_count(among);
        if limit > self.limit {
            self.pass = None;
        }
        self.limit = limit;
        let room = visits.left();
        let share = if count <= AT_ONCE.min(room) { count } else { (room / 2).max(LEAST) };
        if count <= share {
            self.pass = None;
        }
        let mut pass = self.pass.take().unwrap_or_default();
        // The list may have become shorter.
        pass.at = pass.at.min(count);
        let end = count.min(pass.at + share);
        for at in pass.at..end {
            visits.spend(1);
            let Some(head) = tree.among(among, at).filter(|head| wish.has(tree, *head)) else {
                continue;
            };
            pass.matched += 1;
            pass.best.push(wish.candidate(tree, head, visits));
            if pass.best.len() > limit {
                pass.best.pop();
            }
        }
        pass.at = end;
        let done = end == count;
        if done || !self.complete {
            self.publish(tree, pass.best.clone(), pass.matched);
            self.complete |= done;
        }
        self.pass = (!done).then_some(pass);
    }

    fn publish(&mut self, tree: &Tree, best: BinaryHeap<Candidate>, matched: usize) {
        let sorted = best.into_sorted_vec();
        self.first = sorted.into_iter().map(|candidate| tree.named(candidate.head)).collect();
        self.matched = matched;
    }
}

impl Wish<'_> {
    /// Returns true when the row of `head` is not left out.
    pub(super) fn has(&self, tree: &Tree, head: u32) -> bool {
        let Some(slots) = &self.slots else { return true };
        // A missing parent has no owner; it counts with what follows it.
        if tree.is_ghost(head) {
            let kids = tree.kids_of(head);
            let mut some = (0..kids.len().min(LEAST)).filter_map(|at| kids.get(at));
            return some.any(|kid| tree.is_owned(kid, slots));
        }
        tree.is_owned(head, slots)
    }

    fn candidate(&self, tree: &Tree, head: u32, visits: &mut Visits) -> Candidate {
        let own = tree.nodes.at(head);
        let total = u64::from(tree.edges.at(own.edge()).total());
        let ghost = tree.is_ghost(head);
        let score = match self.sort {
            _ if ghost => total,
            TreeSort::Blocks => total,
            TreeSort::Heat => {
                let warmth = self.heat.warmth(head, own.tokens(), self.tick);
                // Bits of a float that is not negative are in its order. The cold are told by size.
                u64::from(warmth.max(0.0).to_bits()) << 32 | total
            }
            TreeSort::Tokens => u64::from(tree.run(head, visits).blocks),
        };
        let tie = if ghost { own.sequence() } else { own.tokens() };
        Candidate { score, tie, head }
    }
}

impl Tree {
    /// Returns true when one of `slots` has `node`.
    fn is_owned(&self, node: u32, slots: &[u32]) -> bool {
        slots.iter().any(|slot| self.owns(node, *slot))
    }

    fn among_count(&self, among: Among) -> usize {
        match among {
            Among::Kids(tail) => self.kids_of(tail).len(),
            Among::Missing if self.orphan_roots == 0 => 0,
            Among::Detached if self.detached == 0 => 0,
            Among::Missing | Among::Detached => self.edges.end() as usize,
        }
    }

    fn among(&self, among: Among, at: usize) -> Option<u32> {
        match among {
            Among::Kids(tail) => {
                let kid = self.kids_of(tail).get(at)?;
                (self.nodes.at(kid).parent() == tail && self.is_shown(kid)).then_some(kid)
            }
            Among::Missing => {
                let head = self.edges.at(at as u32).head;
                let fits = head != NONE && self.is_ghost(head) && self.is_shown(head);
                fits.then_some(head)
            }
            Among::Detached => {
                let head = self.edges.at(at as u32).head;
                let fits = head != NONE
                    && head != ROOT
                    && self.nodes.at(head).parent() == NONE
                    && !self.is_ghost(head)
                    && self.is_shown(head);
                fits.then_some(head)
            }
        }
    }
}
