//! Heat: how often stores reach into each part of the tree.
//!
//! Stores are noted as they come and followed to the root once a second, a bounded number of them. More
//! than that are thinned evenly, and each that is left counts for several. Knows nothing of seconds: a
//! tick is whatever [`Mirror::apply`] is given.

use super::index::sign;
use super::landings::{Landed, Landings};
use super::node::{NONE, ROOT};
use super::tree::Tree;
use super::{DEVICE, Mirror};
use crate::domain::{FastMap, SequenceHash, WorkerRank};

/// Stores that are kept between two looks at the tree.
const SAMPLES: usize = 512;
/// Runs of blocks that one look passes at most.
const STEPS: usize = 16_384;
/// Runs whose heat is kept: as many as fill a table of 2^16 places.
const RUNS: usize = 57_344;
/// Ticks after which heat has halved.
const HALF_LIFE: f32 = 60.0;
/// Ticks between two stores of a prefix that belong to two requests: one request stores block after block.
const APART: u32 = 5;
/// Less than this is cold.
const COLD: f32 = 0.02;

/// Heat of one run.
#[derive(Clone, Copy, Debug)]
struct Warmth {
    /// A sign of the tokens of its first block, which tells whether it is still the same run.
    tokens: u32,
    value: f32,
    tick: u32,
}

/// Recent rate of stores into each run of the device tier.
#[derive(Debug)]
pub struct Heat {
    samples: Vec<(WorkerRank, SequenceHash)>,
    /// Every so many stores one is kept.
    stride: u32,
    skip: u32,
    /// By the first block of the run.
    runs: FastMap<u32, Warmth>,
    pub(super) landings: Landings,
}

impl Default for Heat {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            stride: 1,
            skip: 0,
            runs: FastMap::default(),
            landings: Landings::default(),
        }
    }
}

fn cooled(warmth: &Warmth, tick: u32) -> f32 {
    let age = tick.saturating_sub(warmth.tick) as f32;
    warmth.value * (-age / HALF_LIFE).exp2()
}

/// Returns the rate of a run per 60 ticks, as of `tick`; none where it is cold.
fn rate(warmth: &Warmth, tick: u32) -> f32 {
    let rate = cooled(warmth, tick) * std::f32::consts::LN_2;
    if rate < COLD { 0.0 } else { rate }
}

impl Heat {
    /// Notes a store of `rank` that ends with `last`.
    #[inline]
    pub fn note(&mut self, rank: WorkerRank, last: SequenceHash) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        if self.samples.len() >= SAMPLES {
            let mut odd = false;
            self.samples.retain(|_| {
                odd = !odd;
                odd
            });
            self.stride = self.stride.saturating_mul(2);
        }
        self.skip = self.stride - 1;
        self.samples.push((rank, last));
    }

    /// Returns the stores per 60 ticks that reach `head` or below, as of `tick`.
    pub(super) fn warmth(&self, head: u32, tokens: u64, tick: u32) -> f32 {
        let warmth = self.runs.get(&head).filter(|warmth| warmth.tokens == sign(tokens));
        warmth.map_or(0.0, |warmth| rate(warmth, tick))
    }

    /// Returns how often successive landings of one prefix came to the same rank, as of `tick`.
    pub fn landed(&self, tick: u32) -> Landed {
        self.landings.landed(tick)
    }

    /// Returns the first blocks of warm runs that `exists` knows by the sign of their tokens, with their warmth at
    /// `tick`, in no order.
    pub(super) fn warm_runs(
        &self,
        tick: u32,
        exists: impl Fn(u32, u32) -> bool,
    ) -> impl Iterator<Item = (u32, f32)> {
        let warm = move |(head, warmth): (&u32, &Warmth)| {
            let rate = rate(warmth, tick);
            (rate > 0.0 && exists(*head, warmth.tokens)).then_some((*head, rate))
        };
        self.runs.iter().filter_map(warm)
    }

    /// Warms one run at once.
    pub(super) fn pass(&mut self, head: u32, tokens: u64, by: f32, tick: u32) {
        self.add(head, tokens, by, tick);
    }

    fn add(&mut self, head: u32, tokens: u64, by: f32, tick: u32) {
        let tokens = sign(tokens);
        if self.runs.len() >= RUNS && !self.runs.contains_key(&head) {
            self.make_room(tick);
        }
        let warmth = self.runs.entry(head).or_insert(Warmth { tokens, value: 0.0, tick });
        if warmth.tokens != tokens {
            *warmth = Warmth { tokens, value: 0.0, tick };
        }
        warmth.value = cooled(warmth, tick) + by;
        warmth.tick = tick;
    }

    /// Forgets the colder half, and whatever else is cold.
    fn make_room(&mut self, tick: u32) {
        let mut values: Vec<f32> = self.runs.values().map(|warmth| cooled(warmth, tick)).collect();
        let middle = values.len() / 2;
        let (_, median, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
        let least = median.max(COLD);
        // A new table: the places of what leaves one are not free again, so that it would double.
        let before = std::mem::take(&mut self.runs);
        self.runs.reserve(RUNS);
        self.runs.extend(before.into_iter().filter(|(_, warmth)| cooled(warmth, tick) > least));
    }
}

impl Mirror {
    /// Follows the stores that `heat` noted since the last call, at `tick`.
    pub fn warm(&self, heat: &mut Heat, tick: u32) {
        let samples = std::mem::take(&mut heat.samples);
        let weight = std::mem::replace(&mut heat.stride, 1) as f32;
        heat.skip = 0;
        let mut steps = STEPS;
        if let Some(tree) = &self.tiers[DEVICE] {
            for (rank, last) in &samples {
                tree.warm(heat, *rank, *last, weight, tick, &mut steps);
            }
        }
        heat.samples = samples;
        heat.samples.clear();
    }
}

impl Tree {
    /// Warms every run from the block that `rank` calls `last` up to the root.
    fn warm(
        &self,
        heat: &mut Heat,
        rank: WorkerRank,
        last: SequenceHash,
        weight: f32,
        tick: u32,
        steps: &mut usize,
    ) {
        let slot = self.slots.get(rank);
        let Some(handle) = slot.and_then(|slot| self.handle(slot, last.0)) else { return };
        let mut at = self.target(handle);
        let mut leaf = at != NONE && self.ends_in_leaf(at);
        while at != NONE && at != ROOT && *steps > 0 {
            *steps -= 1;
            let first = self.edges.at(self.nodes.at(at).edge()).head;
            let own = self.nodes.at(first);
            heat.add(first, own.tokens(), weight, tick);
            at = own.parent();
            if leaf && !self.is_joined(first, at) {
                leaf = false;
                heat.landings.note(first, own.tokens(), rank, tick, APART);
            }
        }
        if at == ROOT {
            heat.add(ROOT, self.nodes.at(ROOT).tokens(), weight, tick);
        }
    }

    /// Returns true when `head`, the first block of an edge, is the only one below `parent`: both are of one run.
    pub(super) fn is_joined(&self, head: u32, parent: u32) -> bool {
        parent != NONE && parent != ROOT && self.only_kid(parent) == Some(head)
    }

    /// Returns true when nothing forks below the edge of `node`.
    fn ends_in_leaf(&self, node: u32) -> bool {
        self.is_childless(self.edges.at(self.nodes.at(node).edge()).tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_of_a_busy_tree_stay_within_their_table() {
        let mut heat = Heat::default();
        for head in 0..3 * RUNS as u32 {
            heat.pass(head, u64::from(head) << 40, 1.0, head >> 12);
        }

        assert!(heat.runs.len() <= RUNS && heat.runs.len() > RUNS / 3, "{}", heat.runs.len());
        assert!(heat.runs.capacity() <= RUNS, "{}", heat.runs.capacity());
        let last = 3 * RUNS as u32 - 1;
        let tick = last >> 12;
        assert!(heat.warmth(last, u64::from(last) << 40, tick) > 0.5);
        assert!(heat.warmth(last, 1, tick) <= 0.0, "another run in its place is cold");
    }
}
