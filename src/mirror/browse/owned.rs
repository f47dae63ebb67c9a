//! The blocks of shown rows that only some ranks have.
//!
//! The tree adds up what anybody has. What one worker has of a branch is kept nowhere: it is counted for
//! the rows of a page, those next to the selected one first, and only as far as a page may cost.

use super::Visits;
use super::bare::Bare;
use super::place::Spot;
use crate::domain::{TreeRow, TreeRowKind};
use crate::mirror::node::ROOT;
use crate::mirror::tree::Tree;

/// Blocks looked at for one row.
const ROW: usize = 16_384;
/// Blocks looked at for all rows of a page.
const PAGE: usize = 131_072;

/// Puts into `rows` what `slots` have in the place of what anybody has; `at` is the selected one.
pub(super) fn narrow(
    tree: &Tree,
    slots: &[u32],
    bare: &[Bare],
    rows: &mut [TreeRow],
    at: usize,
    visits: &mut Visits,
) {
    let mut order: Vec<usize> = (0..rows.len().min(bare.len())).collect();
    order.sort_by_key(|row| row.abs_diff(at));
    let mut left = PAGE;
    for at in order {
        let row = &mut rows[at];
        match row.kind {
            TreeRowKind::Node { .. } => {}
            // What the others have together would have to be taken away.
            TreeRowKind::More { .. } | TreeRowKind::Gone => {
                row.subtree = 0;
                continue;
            }
        }
        let sum = |of: &dyn Fn(u32) -> u64| slots.iter().map(|slot| of(*slot)).sum();
        let share = |of: &dyn Fn(u32) -> u64| slots.iter().map(|slot| of(*slot)).max();
        let room = left.min(ROW);
        let before = visits.spent();
        (row.subtree, row.partial) = match (bare[at].spot, slots) {
            (Spot::Orphans, _) => (sum(&|slot| tree.slots.at(slot).orphans), false),
            (Spot::Detached, _) => (0, true),
            // Exact whatever its size.
            (Spot::Root, [slot]) => (tree.slots.at(*slot).accepted, false),
            (Spot::Root, _) => {
                let (counted, partial) = tree.owned_below(ROOT, slots, room, visits);
                let least = share(&|slot| tree.slots.at(slot).accepted).unwrap_or(0);
                (counted.max(least), partial)
            }
            (Spot::Missing(head), _) => tree.owned_below(head, slots, room, visits),
            (Spot::Block(head), _) => {
                row.blocks = tree.owned_on_run(head, slots, visits);
                tree.owned_below(head, slots, room, visits)
            }
        };
        left = left.saturating_sub(visits.spent() - before);
    }
}

impl Tree {
    /// Returns how many blocks at `head` and below one of `slots` has, and whether there may be more
    /// behind the `most` that were looked at.
    fn owned_below(
        &self,
        head: u32,
        slots: &[u32],
        most: usize,
        visits: &mut Visits,
    ) -> (u64, bool) {
        let (mut seen, mut owned) = (0, 0);
        let mut open = vec![head];
        while let Some(node) = open.pop() {
            if seen >= most {
                visits.count(seen);
                return (owned, true);
            }
            seen += 1;
            owned += u64::from(node != ROOT && self.living_among(node, slots) > 0);
            let kids = self.kids_of(node);
            let wanted = kids.len().min(most - seen + 1);
            let kids = (0..wanted).filter_map(|at| kids.get(at));
            open.extend(kids.filter(|kid| self.nodes.at(*kid).parent() == node));
        }
        visits.count(seen);
        (owned, false)
    }

    /// Returns how many blocks of the run from `head` one of `slots` has.
    fn owned_on_run(&self, head: u32, slots: &[u32], visits: &mut Visits) -> u32 {
        let mut at = self.run(head, visits).last;
        let mut owned = 0;
        for _ in 0..ROW {
            visits.count(1);
            owned += u32::from(self.living_among(at, slots) > 0);
            if at == head || at == ROOT {
                break;
            }
            at = self.nodes.at(at).parent();
        }
        owned
    }
}
