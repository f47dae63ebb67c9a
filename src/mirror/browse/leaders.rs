//! The prefixes that most stores or requests begin with.

use std::collections::HashMap;

use super::Visits;
use crate::domain::{TreeNode, WorkerRank};
use crate::mirror::index::sign;
use crate::mirror::node::{NONE, ORPHAN, ROOT};
use crate::mirror::tree::Tree;
use crate::mirror::{DEVICE, Heat, Mirror};

/// A prefix that has this much of all demand is common to the others, which are then listed below it.
const COMMON: f32 = 0.8;
/// Common prefixes that are passed, one below the other.
const LEVELS: usize = 4;

/// One prefix, and how much begins with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lead {
    /// Its first block that it shares with none of the other prefixes.
    pub node: TreeNode,
    /// Blocks from the start of the prompt to the next fork.
    pub reach: Option<u32>,
    /// Stores or requests that begin with it, per 60 ticks.
    pub warmth: f32,
    /// Ranks that hold its first block.
    pub holders: usize,
}

/// Prefixes in order of demand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leaders {
    /// All stores or requests, per 60 ticks.
    pub total: f32,
    /// The prefix that the others have in common; none where they share no block.
    pub common: Option<Lead>,
    /// The prefixes, most demanded first.
    pub prefixes: Vec<Lead>,
    /// True when there are more.
    pub more: bool,
}

impl Mirror {
    /// Returns the first `most` prefixes by their warmth in `heat`, of those that one of `within` holds.
    pub fn leaders(
        &self,
        heat: &Heat,
        within: Option<&[WorkerRank]>,
        tick: u32,
        most: usize,
    ) -> Leaders {
        let Some(tree) = &self.tiers[DEVICE] else { return Leaders::default() };
        let slots = within.map(|ranks| tree.slots_of(ranks));
        let mut below: HashMap<u32, Vec<(u32, f32)>> = HashMap::new();
        for (head, warmth) in heat.warm_runs(tick, |head, tokens| tree.is_run(head, tokens)) {
            let held = slots.as_ref().is_none_or(|slots| tree.living_among(head, slots) > 0);
            if held {
                below.entry(tree.nodes.at(head).parent()).or_default().push((head, warmth));
            }
        }
        let mut visits = Visits::new();
        let mut leaders = Leaders::default();
        let mut above = ROOT;
        for _ in 0..LEVELS {
            let mut found = below.remove(&above).unwrap_or_default();
            // Equal rates stand in the order of their blocks, so that pictures of one state are alike.
            found.sort_by(|a, b| {
                let tokens = |head| tree.nodes.at(head).tokens();
                b.1.total_cmp(&a.1).then_with(|| tokens(a.0).cmp(&tokens(b.0)))
            });
            if above == ROOT {
                leaders.total = found.iter().map(|(_, warmth)| warmth).sum();
            }
            let first = found.first().copied();
            let tail = first.map(|(head, _)| tree.run(head, &mut visits).tail);
            let is_common = |(_, warmth): (u32, f32)| warmth >= leaders.total * COMMON;
            if let (Some(first), Some(tail)) = (first, tail)
                && is_common(first)
                && below.get(&tail).is_some_and(|below| below.len() > 1)
            {
                leaders.common = Some(tree.lead(first, &mut visits));
                above = tail;
                continue;
            }
            leaders.more = found.len() > most;
            found.truncate(most);
            leaders.prefixes =
                found.into_iter().map(|found| tree.lead(found, &mut visits)).collect();
            break;
        }
        leaders
    }
}

impl Tree {
    /// Returns true when `head` is still the first block of an accepted run, with tokens of this sign.
    fn is_run(&self, head: u32, tokens: u32) -> bool {
        if head == ROOT || head >= self.nodes.end() {
            return false;
        }
        let own = self.nodes.at(head);
        own.edge() != NONE
            && sign(own.tokens()) == tokens
            && !own.is(ORPHAN)
            && self.edges.at(own.edge()).head == head
            && self.is_shown(head)
    }

    fn lead(&self, (head, warmth): (u32, f32), visits: &mut Visits) -> Lead {
        let run = self.run(head, visits);
        let above = self.blocks_above(head, visits);
        Lead {
            node: self.named(head),
            reach: above.map(|above| above + run.blocks),
            warmth,
            holders: self.living(head),
        }
    }
}
