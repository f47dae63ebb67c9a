//! Hits: how often requests begin with each part of the tree, where routers tell of their requests.
//!
//! A request names its blocks by hashes that chain from the first on, unlike those of events; what chains
//! them is passed in. It is followed down from the root as soon as it is told, before its own blocks are
//! stored.

use super::heat::Heat;
use super::node::ROOT;
use super::tree::Tree;
use super::{DEVICE, Mirror};
use crate::domain::{TokensHash, WorkerRank};

/// Runs passed to find where the prefix of a request begins.
const CLIMB: usize = 64;
/// Blocks compared for one request at most.
const VISITS: usize = 16_384;

impl Mirror {
    /// Follows a request whose blocks are `chain` as far as somebody has them, and warms the runs on its way
    /// by `weight`; the request went to `rank`. `link` chains the hash of the block before with the tokens of the next. Returns how many
    /// blocks were found, and how many of them with `rank`.
    pub fn hit(
        &self,
        hits: &mut Heat,
        chain: &[u64],
        rank: WorkerRank,
        link: impl Fn(u64, TokensHash) -> u64,
        weight: f32,
        tick: u32,
    ) -> (usize, usize) {
        let Some(tree) = &self.tiers[DEVICE] else { return (0, 0) };
        let slot = tree.slots.get(rank);
        let mut left = VISITS;
        let (mut at, mut found, mut own, mut edge) = (ROOT, 0, 0, None);
        let mut before = None;
        for wanted in chain {
            let next = match before {
                None => tree.child_of(ROOT, *wanted),
                Some(before) => tree.chained_kid(at, &mut left, |own| link(before, own) == *wanted),
            };
            let Some(next) = next.filter(|next| tree.living(*next) > 0) else { break };
            if found == 0 {
                hits.pass(ROOT, tree.nodes.at(ROOT).tokens(), weight, tick);
            }
            let run = tree.nodes.at(next).edge();
            if edge != Some(run) {
                let head = tree.edges.at(run).head;
                hits.pass(head, tree.nodes.at(head).tokens(), weight, tick);
            }
            // A prompt is found up to the first block that the rank does not have.
            own += usize::from(own == found && slot.is_some_and(|slot| tree.owns(next, slot)));
            (at, edge, before) = (next, Some(run), Some(*wanted));
            found += 1;
        }
        // A request that leaves a prefix before its end begins another one.
        if found > 0 && (found == chain.len() || tree.is_childless(at)) {
            let head = tree.own_run(at);
            hits.landings.note(head, tree.nodes.at(head).tokens(), rank, tick, 0);
        }
        (found, own)
    }
}

impl Tree {
    /// Returns the first block of the run that `node` is on.
    fn own_run(&self, node: u32) -> u32 {
        let mut head = self.edges.at(self.nodes.at(node).edge()).head;
        for _ in 0..CLIMB {
            let parent = self.nodes.at(head).parent();
            if !self.is_joined(head, parent) {
                break;
            }
            head = self.edges.at(self.nodes.at(parent).edge()).head;
        }
        head
    }

    /// Returns the child of `parent` whose tokens `fit`, looking at no more than what is `left`.
    fn chained_kid(
        &self,
        parent: u32,
        left: &mut usize,
        fit: impl Fn(TokensHash) -> bool,
    ) -> Option<u32> {
        let kids = self.kids_of(parent);
        let count = kids.len().min(*left);
        for at in 0..count {
            *left -= 1;
            let Some(kid) = kids.get(at) else { continue };
            let own = self.nodes.at(kid);
            if own.parent() == parent && fit(TokensHash(own.tokens())) {
                return Some(kid);
            }
        }
        None
    }
}
