//! Finding a block by what was typed of its hash.
//!
//! A whole hash, decimal or hexadecimal, is looked up. The first digits of one, as rows show them, are
//! looked for among all blocks, a slice for each page.

use super::Visits;
use crate::domain::{SequenceHash, TreeMatch, TreeNode, TreeSearch};
use crate::mirror::Semantics;
use crate::mirror::node::{NONE, ODD, ORPHAN, ROOT};
use crate::mirror::owners;
use crate::mirror::tree::Tree;

/// Blocks looked at for each page; they lie side by side in memory.
const SLICE: u32 = 131_072;
/// Matches that are kept.
const MATCHES: usize = 32;
/// Names of ranks that are tried for a whole hash.
const RANKS: usize = 4_096;

/// The possible meanings of a typed text.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    decimal: Option<u64>,
    /// A start of a hash in hexadecimal: its value, and how far to the right hashes are to be moved.
    start: Option<(u64, u32)>,
}

/// A search under way.
#[derive(Debug)]
pub(super) struct Pass {
    wanted: Wanted,
    found: TreeSearch,
    at: u32,
    alias: u32,
}

fn wanted(text: &str) -> Wanted {
    let text = text.trim();
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = hex.unwrap_or(text);
    let fits = (1..=16).contains(&digits.len());
    let start = u64::from_str_radix(digits, 16)
        .ok()
        .filter(|_| fits && !digits.starts_with('+'))
        .map(|value| (value, 64 - 4 * digits.len() as u32));
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    Wanted { decimal: text.parse().ok().filter(|_| all_digits), start }
}

impl Wanted {
    fn fits(&self, hash: u64) -> bool {
        self.decimal == Some(hash)
            || self.start.is_some_and(|(value, shift)| hash >> shift == value)
    }
}

/// Goes on with the search for `find`, starts it, or ends it.
pub(super) fn go_on(
    tree: &Tree,
    pass: &mut Option<Pass>,
    find: Option<&str>,
    visits: &mut Visits,
) -> Option<TreeSearch> {
    let Some(text) = find else {
        *pass = None;
        return None;
    };
    if pass.as_ref().is_none_or(|pass| pass.found.text != text) {
        *pass = Some(Pass::start(tree, text, visits));
    }
    let pass = pass.as_mut()?;
    if !pass.found.done {
        pass.slice(tree, visits);
    }
    Some(pass.found.clone())
}

impl Pass {
    fn start(tree: &Tree, text: &str, visits: &mut Visits) -> Self {
        let wanted = wanted(text);
        let senseless = wanted.decimal.is_none() && wanted.start.is_none();
        let found = TreeSearch { text: text.to_owned(), senseless, ..TreeSearch::default() };
        let mut pass = Self { wanted, found, at: ROOT + 1, alias: 0 };
        let whole = wanted.start.filter(|(_, shift)| *shift == 0).map(|(value, _)| value);
        for hash in wanted.decimal.into_iter().chain(whole) {
            pass.look_up(tree, hash, visits);
        }
        // Whole hashes need no walk, and a text that is none finds nothing.
        let found = !pass.found.found.is_empty();
        pass.found.done = senseless || found || (wanted.start.is_none() || whole.is_some());
        pass
    }

    fn look_up(&mut self, tree: &Tree, hash: u64, visits: &mut Visits) {
        let mut nodes: Vec<u32> = Vec::new();
        tree.index.find(hash, |id| {
            if tree.nodes.at(id).sequence() == hash {
                nodes.push(id);
            }
            nodes.len() >= MATCHES
        });
        nodes.extend(tree.ghosts.find(hash, |id| tree.nodes.at(id).sequence() == hash));
        if tree.aliases.len() > 0 {
            for (_, slot) in tree.slots.ranks().take(RANKS) {
                let alias = tree.aliases.find(slot, hash);
                nodes.extend(
                    alias.map(|alias| tree.aliases.at(alias).node).filter(|id| *id != NONE),
                );
            }
        }
        for node in nodes {
            self.add(tree, node, hash, visits);
        }
    }

    fn slice(&mut self, tree: &Tree, visits: &mut Visits) {
        let end = tree.nodes.end().min(self.at.saturating_add(SLICE));
        let mut left = SLICE - (end - self.at);
        for node in self.at..end {
            if let Some(hash) = tree.own_name(node)
                && self.wanted.fits(hash)
            {
                self.add(tree, node, hash, visits);
            }
        }
        visits.count((end - self.at) as usize);
        self.at = end;
        if end == tree.nodes.end() {
            while left > 0 && self.alias < tree.aliases.end() {
                let own = tree.aliases.at(self.alias);
                if own.slot != NONE && own.node != NONE && self.wanted.fits(own.hash) {
                    self.add(tree, own.node, own.hash, visits);
                }
                self.alias += 1;
                left -= 1;
                visits.count(1);
            }
        }
        let all = tree.nodes.end() + tree.aliases.end();
        self.found.done = self.at >= tree.nodes.end() && self.alias >= tree.aliases.end();
        let seen = u64::from(self.at) + u64::from(self.alias);
        self.found.percent = (seen * 100 / u64::from(all.max(1))) as u8;
    }

    fn add(&mut self, tree: &Tree, node: u32, hash: u64, visits: &mut Visits) {
        let Some(way) = tree.way_to(node, visits) else { return };
        let Some(first) = way.first() else { return };
        let branch = match tree.nodes.at(*first).parent() {
            ROOT => TreeNode::Root,
            _ if tree.is_ghost(*first) => TreeNode::Orphans,
            _ => TreeNode::Detached,
        };
        let named = way.into_iter().map(|head| tree.named(head));
        let way = [branch].into_iter().chain(named).collect();
        let found = TreeMatch { hash: SequenceHash(hash), way };
        if self.found.found.contains(&found) {
            return;
        }
        if self.found.found.len() >= MATCHES {
            self.found.more = true;
            return;
        }
        self.found.found.push(found);
    }
}

impl Tree {
    /// Returns the hash that `node` itself carries, if anybody calls it so.
    fn own_name(&self, node: u32) -> Option<u64> {
        let own = self.nodes.at(node);
        if own.edge() == NONE {
            return None;
        }
        let kept = self.semantics == Semantics::EdgeTruncating && !own.is(ORPHAN);
        let named = !own.is(ODD) || kept;
        let seen = own.owners() != owners::EMPTY || self.is_ghost(node);
        (named && seen).then(|| own.sequence())
    }
}
