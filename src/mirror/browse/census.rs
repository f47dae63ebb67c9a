//! Sums over the whole tree, counted a slice at a time.
//!
//! Counts of shared blocks and of prompts' lengths are kept nowhere: to keep it would
//! cost every store. Instead all blocks are gone through in turn, so many for each page, and what the
//! last full count found is shown. A small tree is counted whole for each page.

use super::Visits;
use crate::domain::{TreeDepths, TreeSharing};
use crate::mirror::index::mix;
use crate::mirror::node::{NONE, ORPHAN, ROOT};
use crate::mirror::owners;
use crate::mirror::tree::Tree;

/// Blocks looked at for each page; they lie side by side in memory.
const SLICE: u32 = 65_536;
/// Ends of prompts whose length is found out in one count.
const ENDS: usize = 4_096;
/// Edges passed for one end of a prompt.
const CLIMB: usize = 4_096;

/// A count that goes on, and the last that was done.
#[derive(Debug, Default)]
pub(super) struct Census {
    at: u32,
    /// The slots whose blocks are counted; none for all.
    within: Option<Vec<u32>>,
    single: u64,
    shared: u64,
    fresh: bool,
    /// Lengths of prompts, of those whose block's number has its low bits clear.
    ends: Vec<u32>,
    mask: u64,
    /// Looked at since the count began.
    slices: u32,
    done: Option<(TreeSharing, Option<TreeDepths>)>,
}

impl Census {
    /// Counts on, of blocks that one of the slots in `within` has; of all blocks without.
    pub(super) fn go_on(&mut self, tree: &Tree, within: Option<&[u32]>, visits: &mut Visits) {
        if self.within.as_deref() != within {
            *self = Self { within: within.map(<[u32]>::to_vec), ..Self::default() };
        }
        if self.at >= tree.nodes.end() {
            self.restart();
        }
        let end = tree.nodes.end().min(self.at.saturating_add(SLICE));
        for node in self.at..end {
            self.look(tree, node, visits);
        }
        visits.count((end - self.at) as usize);
        self.at = end;
        self.slices += 1;
        if end == tree.nodes.end() {
            self.fresh = self.slices == 1;
            self.done = Some((
                TreeSharing {
                    single: self.single,
                    shared: self.shared,
                    duplicates: 0,
                    fresh: self.fresh,
                },
                self.measured(),
            ));
            self.restart();
        }
    }

    fn restart(&mut self) {
        let (within, done) = (self.within.take(), self.done.take());
        *self = Self { within, done, ..Self::default() };
    }

    fn look(&mut self, tree: &Tree, node: u32, visits: &mut Visits) {
        let own = tree.nodes.at(node);
        if node == ROOT || own.edge() == NONE || own.is(ORPHAN) || own.owners() == owners::EMPTY {
            return;
        }
        let owners = match &self.within {
            None => tree.living(node),
            Some(slots) => tree.living_among(node, slots),
        };
        match owners {
            0 => return,
            1 => self.single += 1,
            _ => self.shared += 1,
        }
        if tree.is_childless(node) && mix(u64::from(node)) & self.mask == 0 {
            self.measure(tree, node, visits);
        }
    }

    /// Adds the length of the prompt that ends with `node`.
    fn measure(&mut self, tree: &Tree, node: u32, visits: &mut Visits) {
        if self.ends.len() >= ENDS {
            // Every other length goes, and every other one to come is not looked at.
            self.mask = self.mask << 1 | 1;
            let mut odd = false;
            self.ends.retain(|_| {
                odd = !odd;
                odd
            });
            if mix(u64::from(node)) & self.mask != 0 {
                return;
            }
        }
        let mut at = node;
        let mut length = 0;
        for _ in 0..CLIMB {
            if at == ROOT {
                self.ends.push(length);
                return;
            }
            if at == NONE {
                return;
            }
            let edge = tree.edges.at(tree.nodes.at(at).edge());
            length += edge.live;
            visits.count(1);
            at = tree.nodes.at(edge.head).parent();
        }
    }

    fn measured(&mut self) -> Option<TreeDepths> {
        self.ends.sort_unstable();
        let at = |share: usize| {
            let last = self.ends.len().checked_sub(1)?;
            self.ends.get((last * share + 50) / 100).copied()
        };
        Some(TreeDepths {
            half: at(50)?,
            most: at(90)?,
            longest: at(100)?,
            ends: self.ends.len(),
            sampled: self.mask != 0,
        })
    }

    /// Returns how blocks are shared, by the last count.
    pub(super) fn sharing(&self, tree: &Tree) -> Option<TreeSharing> {
        let (sharing, _) = self.done?;
        let duplicates = match &self.within {
            None => tree.slots.accepted.saturating_sub(tree.distinct as u64),
            Some(slots) => {
                let accepted: u64 = slots.iter().map(|slot| tree.slots.at(*slot).accepted).sum();
                accepted.saturating_sub(sharing.single + sharing.shared)
            }
        };
        Some(TreeSharing { duplicates, ..sharing })
    }

    /// Returns how long prompts are, by the last count.
    pub(super) fn depths(&self) -> Option<TreeDepths> {
        self.done.and_then(|(_, depths)| depths)
    }
}
