//! Rows of the tree, and the contents of those that are seen.

use std::collections::HashSet;

use super::bare::Bare;
use super::fill::Fill;
use super::listing::{Listing, Wish};
use super::place::Spot;
use super::{Browser, Page, Question, Visits, owned};
use crate::domain::{TreeAnchor, TreeNode, TreePlace, TreeRow, TreeRowKind, WorkerRank};
use crate::mirror::Heat;
use crate::mirror::node::{NONE, ROOT};
use crate::mirror::tree::Tree;

/// Rows that are kept in order; what is beyond is not shown.
const ROWS: usize = 2_000;
/// Levels below the first row; deeper ones are seen from a root further down.
const LEVELS: u16 = 64;
/// Children that a node shows when nobody asked for more.
const SOME: usize = 50;
/// Children that one node shows at most.
const CHILDREN: usize = 2_000;
/// Listings that are remembered.
const LISTINGS: usize = 512;

/// The place of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    place: TreePlace,
    at: usize,
    depth: u16,
}

struct Walk<'a> {
    tree: &'a Tree,
    browser: &'a mut Browser,
    question: &'a Question<'a>,
    wish: Wish<'a>,
    visits: &'a mut Visits,
    /// Blocks that must be among the rows: those on the way to the anchor.
    way: HashSet<u32>,
    /// Rows opened because a search found something below them.
    way_open: Vec<TreeNode>,
    rows: Vec<Bare>,
    cut: bool,
    unfinished: bool,
}

pub(super) fn page(
    tree: &Tree,
    browser: &mut Browser,
    heat: &Heat,
    question: &Question<'_>,
    way_open: Vec<TreeNode>,
    visits: &mut Visits,
) -> Page {
    let holds = Some((question.sort, question.only.map(<[WorkerRank]>::to_vec)));
    if browser.holds != holds {
        browser.listings.clear();
        browser.holds = holds;
    }
    let slots = question.only.map(|ranks| tree.slots_of(ranks));
    let wish = Wish { sort: question.sort, slots, heat, tick: question.tick };
    let mut walk = Walk {
        tree,
        way: HashSet::new(),
        way_open,
        browser,
        question,
        wish,
        visits,
        rows: Vec::new(),
        cut: false,
        unfinished: false,
    };
    let anchor = walk.anchor();
    walk.walk();
    walk.finish(anchor)
}

impl Walk<'_> {
    /// Returns the row that shows what was asked for: the row that holds its block, none when that is
    /// gone.
    fn anchor(&mut self) -> Option<(TreePlace, Spot)> {
        let place =
            self.question.anchor.unwrap_or(TreePlace { node: self.question.root, more: false });
        let spot = self.tree.spot(&place.node)?;
        let (Spot::Block(node) | Spot::Missing(node)) = spot else {
            return Some((place, spot));
        };
        if place.node == self.question.root {
            return Some((place, spot));
        }
        let way = self.tree.way_to(node, self.visits).unwrap_or_default();
        self.way.extend(way.iter().copied());
        let row = way.last().copied().unwrap_or(node);
        let shown = if self.tree.is_ghost(row) { Spot::Missing(row) } else { Spot::Block(row) };
        Some((TreePlace { node: self.tree.named(row), ..place }, shown))
    }

    fn walk(&mut self) {
        let root = self.question.root;
        let Some(spot) = self.tree.spot(&root) else {
            let place = TreePlace { node: root, more: false };
            self.rows.push(Bare::gone(place, 0));
            return;
        };
        let (spot, above) = match spot {
            Spot::Root => (spot, Some(0)),
            Spot::Block(node) => {
                // A block that went and came back may be amid a run now.
                let head = self.tree.edges.at(self.tree.nodes.at(node).edge()).head;
                (Spot::Block(head), self.tree.blocks_above(head, self.visits))
            }
            Spot::Detached | Spot::Orphans | Spot::Missing(_) => (spot, None),
        };
        self.grow(root, spot, (0, 0), above);
        if root == TreeNode::Root {
            if self.tree.detached > 0 {
                self.grow(TreeNode::Detached, Spot::Detached, (0, 0), None);
            }
            if self.tree.orphan_roots > 0 {
                self.grow(TreeNode::Orphans, Spot::Orphans, (0, 0), None);
            }
        }
        let page = self.browser.pages;
        if self.browser.listings.len() > LISTINGS {
            self.browser.listings.retain(|_, listing| listing.page == page);
        }
    }

    /// Adds the row of `node`, so far below the first row, and what is open below it: so many levels
    /// even where nobody opened them.
    fn grow(
        &mut self,
        node: TreeNode,
        spot: Spot,
        (depth, levels): (u16, u16),
        above: Option<u32>,
    ) {
        if self.rows.len() >= ROWS {
            self.cut = true;
            return;
        }
        let asked = if self.rows.is_empty() { self.question.root } else { node };
        let levels = self.question.spread.get(&asked).map_or(levels, |more| levels.max(*more));
        let wanted = self.wanted(&asked, levels > 0).or_else(|| self.wanted(&node, false));
        let open = wanted.filter(|_| depth < LEVELS);
        let mut row = Bare {
            place: TreePlace { node, more: false },
            spot,
            kind: TreeRowKind::Node { open: open.is_some(), children: 0 },
            depth,
            above,
            shown: 0,
        };
        let Some(limit) = open else {
            self.rows.push(row);
            return;
        };
        let (tail, reach) = match spot {
            Spot::Block(head) => {
                let run = self.tree.run(head, self.visits);
                (run.tail, above.map(|above| above + run.blocks))
            }
            Spot::Missing(head) => (head, None),
            Spot::Root => (ROOT, Some(0)),
            Spot::Detached | Spot::Orphans => (ROOT, None),
        };
        let mut listing = self.browser.listings.remove(&node).unwrap_or_default();
        listing.page = self.browser.pages;
        let limit = limit.clamp(1, CHILDREN);
        listing.update(self.tree, (spot, tail), limit, &self.wish, self.visits);
        row.kind = TreeRowKind::Node { open: true, children: listing.matched };
        self.rows.push(row);
        let heads = self.heads(&listing, (spot, tail));
        let mut shown = 0;
        for &head in &heads {
            shown += u64::from(self.tree.edges.at(self.tree.nodes.at(head).edge()).total());
            let (child, spot) = match self.tree.named(head) {
                child @ TreeNode::Missing(_) => (child, Spot::Missing(head)),
                child => (child, Spot::Block(head)),
            };
            self.grow(child, spot, (depth + 1, levels.saturating_sub(1)), reach);
        }
        self.unfinished |= !listing.complete;
        let hidden = listing.matched.saturating_sub(heads.len());
        if hidden > 0 || !listing.complete {
            self.rows.push(Bare {
                place: TreePlace { node, more: true },
                spot,
                kind: TreeRowKind::More { hidden, sorted: listing.complete },
                depth: depth + 1,
                above: None,
                shown,
            });
        }
        self.browser.listings.insert(node, listing);
    }

    /// Returns how many children of `node` are wanted; none while it is closed.
    fn wanted(&self, node: &TreeNode, by_level: bool) -> Option<usize> {
        let question = self.question;
        let opened = by_level && !question.closed.contains(node) || self.way_open.contains(node);
        question.open.get(node).copied().or_else(|| opened.then_some(SOME))
    }

    /// Returns the first blocks of the rows of a listing, those that are still there, and the one that
    /// leads to the anchor even if it is not among the first.
    fn heads(&mut self, listing: &Listing, (spot, tail): (Spot, u32)) -> Vec<u32> {
        let tree = self.tree;
        let belongs = |head: u32| match spot {
            Spot::Orphans => tree.is_ghost(head),
            Spot::Detached => tree.nodes.at(head).parent() == NONE && !tree.is_ghost(head),
            Spot::Root | Spot::Missing(_) | Spot::Block(_) => tree.nodes.at(head).parent() == tail,
        };
        let mut heads = Vec::with_capacity(listing.first.len() + 1);
        for node in &listing.first {
            self.visits.count(1);
            if let Some(Spot::Block(head) | Spot::Missing(head)) = tree.spot(node)
                && belongs(head)
            {
                heads.push(head);
            }
        }
        if let Some(forced) = self.way.iter().copied().find(|head| belongs(*head))
            && !heads.contains(&forced)
            && self.wish.has(tree, forced)
        {
            heads.push(forced);
        }
        heads
    }

    fn finish(mut self, anchor: Option<(TreePlace, Spot)>) -> Page {
        let wanted = self.question.anchor;
        // A block that lost its parent may be there again below its parent, under the same name.
        let position = |(place, spot): (TreePlace, Spot)| {
            let same = |row: &Bare| row.place == place;
            let exact = self.rows.iter().position(|row| same(row) && row.spot == spot);
            exact.or_else(|| self.rows.iter().position(same))
        };
        let last = self.rows.len().checked_sub(1).filter(|_| self.question.last);
        let state = match (anchor, last.or_else(|| anchor.and_then(position))) {
            (_, Some(at)) => self.stand(at),
            (None, None) => self.bury(wanted.unwrap_or_default()),
            (Some((place, _)), None) => match self.after_more(place) {
                Some(at) => self.stand(at),
                None => TreeAnchor::Hidden,
            },
        };
        let middle = match state {
            TreeAnchor::At(at) | TreeAnchor::Gone(at) => at,
            TreeAnchor::Hidden => 0,
        };
        let first = middle.saturating_sub(self.question.around);
        let end = self.rows.len().min(middle + self.question.around + 1);
        let bare: Vec<Bare> = self.rows.get(first..end).unwrap_or_default().to_vec();
        let fill = Fill::new(self.tree, self.question, &self.wish);
        let mut rows: Vec<TreeRow> = bare.iter().map(|row| fill.row(row, self.visits)).collect();
        if let Some(ranks) = self.question.own {
            let slots = self.tree.slots_of(ranks);
            owned::narrow(self.tree, &slots, &bare, &mut rows, middle - first, self.visits);
        }
        Page {
            rows,
            first,
            all: self.rows.len(),
            cut: self.cut,
            anchor: state,
            unfinished: self.unfinished,
            ..Page::default()
        }
    }

    /// Remembers where the anchor is.
    fn stand(&mut self, at: usize) -> TreeAnchor {
        if let Some(Bare { place, depth, .. }) = self.rows.get(at).copied() {
            self.browser.last = Some(Seen { place, at, depth });
        }
        TreeAnchor::At(at)
    }

    /// Returns where the row for further children was, now that all of them are shown.
    fn after_more(&self, place: TreePlace) -> Option<usize> {
        let seen = self.browser.last.filter(|seen| place.more && seen.place == place)?;
        (seen.at < self.rows.len()).then_some(seen.at)
    }

    /// Puts a row that says so where a node was that is gone.
    fn bury(&mut self, place: TreePlace) -> TreeAnchor {
        if let Some(at) = self.rows.iter().position(|row| row.place == place) {
            // What a salted hash names is found only where it was seen last, or among the rows.
            let gone = self.rows[at].kind == TreeRowKind::Gone;
            return if gone { TreeAnchor::Gone(at) } else { self.stand(at) };
        }
        let seen = self.browser.last.filter(|seen| seen.place == place);
        let at = seen.map_or(0, |seen| seen.at).min(self.rows.len());
        // Nothing may look as if it hung below.
        let least = self.rows.get(at).map_or(0, |next| next.depth);
        let depth = seen.map_or(0, |seen| seen.depth).max(least);
        let most =
            at.checked_sub(1).and_then(|at| self.rows.get(at)).map_or(0, |row| row.depth + 1);
        self.rows.insert(at, Bare::gone(place, depth.min(most)));
        TreeAnchor::Gone(at)
    }
}
