//! Fills rows.

use super::bare::Bare;
use super::listing::Wish;
use super::place::Spot;
use super::{Question, SHOWN_RANKS, Visits};
use crate::domain::{Presence, SequenceHash, TreeRow, TreeRowKind, WorkerRank};
use crate::mirror::Heat;
use crate::mirror::node::ROOT;
use crate::mirror::slots::Slot;
use crate::mirror::tree::Tree;

/// Children looked at to tell who has what follows a missing parent.
const FOLLOWERS: usize = 16;

/// Fills in rows.
pub(super) struct Fill<'a> {
    tree: &'a Tree,
    wish: &'a Wish<'a>,
    /// The ranks whose presence is told, where they are known.
    slots: Vec<Option<u32>>,
    /// The slots of whose blocks sums are; none for all.
    within: Option<Vec<u32>>,
    hits: Option<&'a Heat>,
    exact: bool,
}

impl<'a> Fill<'a> {
    pub(super) fn new(tree: &'a Tree, question: &Question<'a>, wish: &'a Wish<'a>) -> Self {
        let ranks = question.ranks.iter().take(SHOWN_RANKS);
        let slots = ranks.map(|rank| tree.slots.get(*rank)).collect();
        let within = question.within.map(|ranks| tree.slots_of(ranks));
        let exact = tree.queue.is_empty() && !tree.slots.any_dead();
        Self { tree, wish, slots, within, hits: question.hits, exact }
    }

    pub(super) fn row(&self, bare: &Bare, visits: &mut Visits) -> TreeRow {
        let mut row = TreeRow {
            place: bare.place,
            kind: bare.kind,
            depth: bare.depth,
            blocks: 0,
            subtree: 0,
            exact: self.exact,
            partial: false,
            reach: None,
            heat: 0.0,
            hits: None,
            on: Vec::new(),
            holders: 0,
            last: None,
        };
        match bare.kind {
            TreeRowKind::Gone => {}
            TreeRowKind::More { .. } => {
                row.subtree = self.below(bare.spot, visits).saturating_sub(bare.shown);
            }
            TreeRowKind::Node { .. } => self.node(&mut row, bare, visits),
        }
        row
    }

    fn node(&self, row: &mut TreeRow, bare: &Bare, visits: &mut Visits) {
        let tree = self.tree;
        let children = match bare.spot {
            Spot::Block(head) => {
                let run = tree.run(head, visits);
                row.blocks = run.blocks;
                row.subtree = u64::from(tree.edges.at(tree.nodes.at(head).edge()).total());
                row.reach = bare.above.map(|above| above + run.blocks);
                row.heat = self.heat(head);
                row.hits = self.hits(head);
                row.on = self.each(|slot| tree.presence(head, run.last, slot));
                row.holders = match &self.within {
                    None => tree.living(head),
                    Some(slots) => tree.living_among(head, slots),
                };
                row.last = Some(SequenceHash(tree.name_of(run.last)));
                tree.kids_of(run.tail).len()
            }
            Spot::Missing(head) => {
                row.subtree = self.below(bare.spot, visits);
                row.heat = self.heat(head);
                row.on = self.each(|slot| self.follows(head, slot));
                row.holders = row.on.iter().filter(|has| **has != Presence::None).count();
                tree.kids_of(head).len()
            }
            Spot::Root => {
                row.subtree = self.below(bare.spot, visits);
                row.heat = self.heat(ROOT);
                row.hits = self.hits(ROOT);
                self.branch(row, |slot| slot.accepted);
                tree.kids_of(ROOT).len()
            }
            Spot::Orphans => {
                row.subtree = tree.slots.orphans;
                self.branch(row, |slot| slot.orphans);
                tree.orphan_roots
            }
            Spot::Detached => {
                row.subtree = self.below(bare.spot, visits);
                tree.detached
            }
        };
        if let TreeRowKind::Node { open: false, children: shown } = &mut row.kind {
            *shown = children;
        }
    }

    /// Returns the owned blocks below what `spot` is, as far as they are added up.
    fn below(&self, spot: Spot, visits: &mut Visits) -> u64 {
        let tree = self.tree;
        let root = || u64::from(tree.edges.at(tree.nodes.at(ROOT).edge()).total());
        match spot {
            Spot::Root => root(),
            Spot::Detached => (tree.distinct as u64).saturating_sub(root()),
            Spot::Orphans => tree.slots.orphans,
            Spot::Missing(head) => u64::from(tree.edges.at(tree.nodes.at(head).edge()).total()),
            Spot::Block(head) => {
                let run = tree.run(head, visits);
                let total = tree.edges.at(tree.nodes.at(head).edge()).total();
                u64::from(total.saturating_sub(run.blocks))
            }
        }
    }

    fn heat(&self, head: u32) -> f32 {
        self.wish.heat.warmth(head, self.tree.nodes.at(head).tokens(), self.wish.tick)
    }

    fn hits(&self, head: u32) -> Option<f32> {
        Some(self.hits?.warmth(head, self.tree.nodes.at(head).tokens(), self.wish.tick))
    }

    fn each(&self, has: impl Fn(u32) -> Presence) -> Vec<Presence> {
        self.slots.iter().map(|slot| slot.map_or(Presence::None, &has)).collect()
    }

    /// Tells who has anything in a branch.
    fn branch(&self, row: &mut TreeRow, blocks: impl Fn(&Slot) -> u64) {
        let tree = self.tree;
        let has = |slot: u32| blocks(&tree.slots.at(slot)) > 0;
        row.on = self.each(|slot| if has(slot) { Presence::Whole } else { Presence::None });
        row.holders = tree.slots.ranks().filter(|(_, slot)| has(*slot)).count();
    }

    /// Returns whether `slot` has anything right after the missing parent at `head`.
    fn follows(&self, head: u32, slot: u32) -> Presence {
        let kids = self.tree.kids_of(head);
        let mut some = (0..kids.len().min(FOLLOWERS)).filter_map(|at| kids.get(at));
        let has = |kid: u32| self.tree.spill.contains(self.tree.nodes.at(kid).owners(), slot);
        if some.any(has) { Presence::Whole } else { Presence::None }
    }
}

impl Tree {
    /// Returns how much of the run from `head` to `last` `slot` has.
    pub(super) fn presence(&self, head: u32, last: u32, slot: u32) -> Presence {
        match (self.owns(head, slot), self.owns(last, slot)) {
            (true, true) => Presence::Whole,
            (false, false) => Presence::None,
            (true, false) | (false, true) => Presence::Part,
        }
    }

    /// Returns the slots of those of `ranks` that have one.
    pub(super) fn slots_of(&self, ranks: &[WorkerRank]) -> Vec<u32> {
        ranks.iter().filter_map(|rank| self.slots.get(*rank)).collect()
    }

    /// Returns how many of `slots` have `node`.
    pub(super) fn living_among(&self, node: u32, slots: &[u32]) -> usize {
        let mut count = 0;
        self.spill.each(self.nodes.at(node).owners(), |slot| {
            count += usize::from(slots.contains(&slot) && !self.slots.is_dead(slot));
        });
        count
    }

    /// Returns how many ranks have `node`.
    pub(in crate::mirror) fn living(&self, node: u32) -> usize {
        let owners = self.nodes.at(node).owners();
        if !self.slots.any_dead() {
            return self.spill.len(owners);
        }
        let mut count = 0;
        self.spill.each(owners, |slot| count += usize::from(!self.slots.is_dead(slot)));
        count
    }
}
