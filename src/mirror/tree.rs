//! One tree: nodes, the edges they lie on and the links between them.
//!
//! Owns structure only: who hangs below whom. Who owns what is in `handle`, what events do to it in
//! `store` and `remove`.

use std::collections::{HashMap, VecDeque};

use super::Semantics;
use super::alias::Aliases;
use super::arena::Arena;
use super::branch::{Branches, Kid, SHORT};
use super::edge::{Edge, Edges};
use super::index::{Index, mix};
use super::node::{EXTRA, NONE, ORPHAN, ROOT};
use super::owners::Spill;
use super::remove::Removal;
use super::slots::Slots;

/// Set in a node's `kids` that is a branch; the rest is the branch's id.
const BRANCH: u32 = 1 << 31;

/// The prefix tree of one storage tier, orphans included.
pub(super) struct Tree {
    pub(super) semantics: Semantics,
    pub(super) nodes: Arena,
    pub(super) edges: Edges,
    pub(super) branches: Branches,
    pub(super) spill: Spill,
    pub(super) slots: Slots,
    /// Nodes with owners, by sequence hash; odd nodes have aliases instead.
    pub(super) index: Index,
    /// Nodes filed there under a hash that another one was filed under before. Honest hashes make none.
    pub(super) twins: usize,
    /// Children of long branches, by parent and tokens.
    kids: Index,
    /// Missing parents, by their hash.
    pub(super) ghosts: Index,
    pub(super) aliases: Aliases,
    /// Further parents of a node, and the links from them. Only out-of-order eviction makes any.
    extra_parents: HashMap<u32, Vec<u32>>,
    extra_kids: HashMap<(u32, u64), u32>,
    /// Edges that have something to report to the edge above.
    pub(super) queue: VecDeque<u32>,
    /// Nodes to be freed.
    pub(super) doomed: Vec<u32>,
    /// Accepted nodes with an owner.
    pub(super) distinct: usize,
    /// Missing parents that have orphans.
    pub(super) orphan_roots: usize,
    /// Accepted nodes without a parent.
    pub(super) detached: usize,
    /// Nodes that nobody owns, kept because the router keeps their place taken.
    pub(super) shells: usize,
    pub(super) shed: u64,
    pub(super) tick: u32,
    pub(super) sweep_at: u32,
    pub(super) alias_at: u32,
    pub(super) hand: u32,
    /// Room for what a removal takes.
    pub(super) removal: Removal,
}

fn kid_key(parent: u32, tokens: u64) -> u64 {
    mix(tokens).wrapping_add(u64::from(parent).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl Tree {
    pub(super) fn new(semantics: Semantics) -> Self {
        let mut tree = Self {
            semantics,
            nodes: Arena::new(),
            edges: Edges::new(),
            branches: Branches::default(),
            spill: Spill::default(),
            slots: Slots::default(),
            index: Index::new(),
            twins: 0,
            kids: Index::new(),
            ghosts: Index::new(),
            aliases: Aliases::new(),
            extra_parents: HashMap::new(),
            extra_kids: HashMap::new(),
            queue: VecDeque::new(),
            doomed: Vec::new(),
            distinct: 0,
            orphan_roots: 0,
            detached: 0,
            shells: 0,
            shed: 0,
            tick: 0,
            sweep_at: 0,
            alias_at: 0,
            hand: 0,
            removal: Removal::default(),
        };
        // The first node of an empty arena is the root.
        tree.nodes.alloc();
        tree.nodes.at_mut(ROOT).set_edge(tree.edges.add(Edge::new(ROOT, 0)));
        tree.edges.at_mut(0).set_internal(true);
        tree
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.edges.bytes()
            + self.branches.bytes()
            + self.spill.bytes()
            + self.slots.bytes()
            + self.index.bytes()
            + self.kids.bytes()
            + self.ghosts.bytes()
            + self.aliases.bytes()
            + self.queue.capacity() * 4
            + (self.extra_parents.capacity() + self.extra_kids.capacity()) * 48
    }

    /// Returns the child of `parent` whose block is `tokens`.
    #[inline]
    pub(super) fn child_of(&self, parent: u32, tokens: u64) -> Option<u32> {
        let kids = self.nodes.at(parent).kids();
        if kids & BRANCH == 0 {
            return (self.nodes.at(kids).tokens() == tokens).then_some(kids);
        }
        if kids == u32::MAX { None } else { self.child_in(kids & !BRANCH, parent, tokens) }
    }

    /// Returns the child of `parent` for `tokens` in its list.
    /// Kept out of the way of what is asked for most, a node with one child.
    #[inline(never)]
    fn child_in(&self, list: u32, parent: u32, tokens: u64) -> Option<u32> {
        let list = self.branches.at(list);
        if list.filed {
            let own = |id: u32| {
                self.nodes.at(id).tokens() == tokens && self.nodes.at(id).parent() == parent
            };
            return self
                .kids
                .find(kid_key(parent, tokens), own)
                .or_else(|| self.extra_kids.get(&(parent, tokens)).copied());
        }
        let tag = tokens as u32;
        list.kids
            .iter()
            .find(|kid| kid.tag == tag && self.nodes.at(kid.node).tokens() == tokens)
            .map(|kid| kid.node)
    }

    /// Returns the children of `node`.
    pub(super) fn kids_of(&self, node: u32) -> KidsOf<'_> {
        let kids = self.nodes.at(node).kids();
        if kids == u32::MAX {
            KidsOf { only: None, list: &[] }
        } else if kids & BRANCH == 0 {
            KidsOf { only: Some(kids), list: &[] }
        } else {
            KidsOf { only: None, list: &self.branches.at(kids & !BRANCH).kids }
        }
    }

    /// Returns the only child of `node`, if it has exactly one.
    #[inline]
    pub(super) fn only_kid(&self, node: u32) -> Option<u32> {
        let kids = self.nodes.at(node).kids();
        (kids & BRANCH == 0).then_some(kids)
    }

    /// Returns the node that follows `node` on the same edge.
    #[inline]
    pub(super) fn next_on_edge(&self, node: u32) -> Option<u32> {
        let kid = self.only_kid(node)?;
        (self.nodes.at(kid).edge() == self.nodes.at(node).edge()).then_some(kid)
    }

    pub(super) fn is_childless(&self, node: u32) -> bool {
        self.nodes.at(node).kids() == u32::MAX
    }

    /// Hangs `child`, the head of its edge or the continuation of its parent's, below `parent`, which
    /// has no child with these tokens.
    pub(super) fn link(&mut self, child: u32, parent: u32) {
        let old = self.nodes.at(child).parent();
        if old == NONE {
            self.attached(child, 1);
        } else {
            self.unreport(child, old);
            self.make_extra(child, old);
        }
        self.nodes.at_mut(child).set_parent(parent);
        let kids = self.nodes.at(parent).kids();
        if kids == u32::MAX {
            self.nodes.at_mut(parent).set_kids(child);
            let edge = self.nodes.at(child).edge();
            if edge != self.nodes.at(parent).edge() {
                self.edges.at_mut(edge).set_place(0);
            }
        } else {
            let list = self.branch(parent, kids);
            self.push_kid(parent, list, child);
        }
        self.report(child, parent);
    }

    /// Returns the list of `parent`'s children, made from its only child if need be.
    fn branch(&mut self, parent: u32, kids: u32) -> u32 {
        if kids & BRANCH != 0 {
            return kids & !BRANCH;
        }
        self.cut(kids);
        let list = self.branches.add();
        self.nodes.at_mut(parent).set_kids(list | BRANCH);
        self.push_kid(parent, list, kids);
        list
    }

    fn push_kid(&mut self, parent: u32, list: u32, child: u32) {
        let tokens = self.nodes.at(child).tokens();
        let place = self.branches.push(list, Kid { tag: tokens as u32, node: child });
        if self.nodes.at(child).parent() == parent {
            let edge = self.nodes.at(child).edge();
            self.edges.at_mut(edge).set_place(place);
        }
        if self.branches.at(list).filed {
            self.file_kid(parent, child);
        } else if place >= SHORT {
            self.branches.at_mut(list).filed = true;
            for at in 0..=place {
                let kid = self.branches.at(list).kids[at].node;
                self.file_kid(parent, kid);
            }
        }
    }

    fn file_kid(&mut self, parent: u32, child: u32) {
        let node = self.nodes.at(child);
        if node.parent() == parent {
            self.kids.insert(kid_key(parent, node.tokens()), child);
        }
    }

    fn unfile_kid(&mut self, parent: u32, child: u32) {
        let kids = self.nodes.at(parent).kids();
        if kids != u32::MAX && kids & BRANCH != 0 && self.branches.at(kids & !BRANCH).filed {
            self.kids.remove(kid_key(parent, self.nodes.at(child).tokens()), child);
        }
    }

    /// Turns the link from `old`, the parent of `child`, into a further one.
    fn make_extra(&mut self, child: u32, old: u32) {
        self.unfile_kid(old, child);
        let tokens = self.nodes.at(child).tokens();
        self.extra_kids.insert((old, tokens), child);
        self.extra_parents.entry(child).or_default().push(old);
        self.nodes.at_mut(child).set(EXTRA, true);
    }

    /// Takes `child` from below `parent`. It stays in the tree while it has further parents.
    pub(super) fn unlink(&mut self, child: u32, parent: u32) {
        if self.nodes.at(child).parent() == parent {
            self.unreport(child, parent);
            self.unfile_kid(parent, child);
            self.remove_kid(parent, child);
            self.next_parent(child);
        } else {
            self.remove_kid(parent, child);
            self.drop_extra(child, parent);
        }
    }

    /// Makes a further parent of `child`, if there is one, its parent.
    fn next_parent(&mut self, child: u32) {
        let parent = self
            .nodes
            .at(child)
            .is(EXTRA)
            .then(|| self.extra_parents.get(&child)?.last().copied())
            .flatten();
        let Some(parent) = parent else {
            self.nodes.at_mut(child).set_parent(NONE);
            self.attached(child, -1);
            return;
        };
        self.drop_extra(child, parent);
        self.nodes.at_mut(child).set_parent(parent);
        let kids = self.nodes.at(parent).kids();
        if kids & BRANCH != 0 && kids != u32::MAX && self.branches.at(kids & !BRANCH).filed {
            self.file_kid(parent, child);
        }
        self.report(child, parent);
    }

    fn drop_extra(&mut self, child: u32, parent: u32) {
        let tokens = self.nodes.at(child).tokens();
        self.extra_kids.remove(&(parent, tokens));
        if let Some(parents) = self.extra_parents.get_mut(&child) {
            if let Some(at) = parents.iter().position(|own| *own == parent) {
                parents.swap_remove(at);
            }
            if parents.is_empty() {
                self.extra_parents.remove(&child);
                self.nodes.at_mut(child).set(EXTRA, false);
            }
        }
    }

    fn remove_kid(&mut self, parent: u32, child: u32) {
        let kids = self.nodes.at(parent).kids();
        if kids == u32::MAX {
            return;
        }
        if kids & BRANCH == 0 {
            if kids == child {
                self.nodes.at_mut(parent).set_kids(u32::MAX);
            }
            return;
        }
        let list = kids & !BRANCH;
        let hint = self.edges.at(self.nodes.at(child).edge()).place();
        let own = &self.branches.at(list).kids;
        let place = if own.get(hint).is_some_and(|kid| kid.node == child) {
            hint
        } else {
            let Some(place) = own.iter().position(|kid| kid.node == child) else { return };
            place
        };
        self.branches.at_mut(list).kids.swap_remove(place);
        if let Some(moved) = self.branches.at(list).kids.get(place).map(|kid| kid.node)
            && self.nodes.at(moved).parent() == parent
        {
            self.edges.at_mut(self.nodes.at(moved).edge()).set_place(place);
        }
        if self.branches.at(list).kids.len() == 1 {
            let only = self.branches.at(list).kids[0].node;
            if self.nodes.at(only).parent() == parent {
                self.unfile_kid(parent, only);
            }
            self.branches.release(list);
            self.nodes.at_mut(parent).set_kids(only);
        }
    }

    /// Counts nodes that lose or gain their only parent.
    pub(super) fn attached(&mut self, child: u32, by: isize) {
        if !self.nodes.at(child).is(ORPHAN) {
            self.detached = self.detached.saturating_add_signed(-by);
        }
    }

    /// Returns every parent of `child`.
    pub(super) fn parents_of(&self, child: u32) -> Vec<u32> {
        let mut parents = self.extra_parents.get(&child).cloned().unwrap_or_default();
        if self.nodes.at(child).parent() != NONE {
            parents.push(self.nodes.at(child).parent());
        }
        parents
    }
}

/// The children of a node.
pub(super) struct KidsOf<'a> {
    pub(super) only: Option<u32>,
    pub(super) list: &'a [Kid],
}

impl KidsOf<'_> {
    pub(super) fn len(&self) -> usize {
        self.list.len() + usize::from(self.only.is_some())
    }

    pub(super) fn get(&self, at: usize) -> Option<u32> {
        match self.only {
            Some(kid) => (at == 0).then_some(kid),
            None => self.list.get(at).map(|kid| kid.node),
        }
    }
}
