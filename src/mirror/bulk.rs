//! Many blocks at once: new ones that lengthen a run, and the last ones of a run that go.
//!
//! Applies the most frequent changes with one change to the run instead of one for each block. Whatever is unusual
//! (an alias, a hash that names another block, dead owners) is left to the ways that go block by block.

use std::ops::Range;

use crate::domain::{Block, SequenceHash};

use super::Semantics;
use super::node::{NONE, Node, ODD, ORPHAN, ROOT};
use super::outcome::Outcome;
use super::owners;
use super::tree::Tree;

impl Tree {
    /// Lengthens the run that ends in `tail` by as many of `blocks` as nobody has. Returns how many, and
    /// the last one.
    pub(super) fn lengthen(&mut self, tail: u32, slot: u32, blocks: &[Block]) -> (usize, u32) {
        let edge = self.nodes.at(tail).edge();
        if !self.may_lengthen(tail, slot) {
            return (0, tail);
        }
        let word = self.spill.insert(owners::EMPTY, slot);
        let (mut last, mut count) = (tail, 0);
        while count < blocks.len() {
            let Some((start, end)) = self.nodes.row_for(edge, blocks.len() - count) else { break };
            let done =
                self.fill_row(start..end, &blocks[count..], Node::new(0, 0, word, last, edge));
            if done > 0 {
                self.nodes.at_mut(last).set_kids(start);
                last = start + done - 1;
                self.nodes.at_mut(last).set_kids(u32::MAX);
                count += done as usize;
            }
            if start + done < end {
                self.nodes.unused(edge, start + done);
                break;
            }
        }
        let count = count as u32;
        if count > 0 {
            let own = self.edges.at_mut(edge);
            own.tail = last;
            own.live += count;
            own.tick = self.tick;
            self.distinct += count as usize;
            self.slots.add_accepted(slot, i64::from(count));
            self.pend(edge, count.cast_signed());
        }
        (count as usize, last)
    }

    /// Makes nodes of `row` out of `blocks`, each the child of the one before, the first like `model`.
    /// Returns how many: it stops at a hash that is taken.
    fn fill_row(&mut self, row: Range<u32>, blocks: &[Block], model: Node) -> u32 {
        let (mut own, mut done) = (model, 0);
        for (id, block) in row.clone().zip(blocks) {
            let hash = block.sequence.0;
            let nodes = &self.nodes;
            if !self.index.insert_new(hash, id, |other| nodes.at(other).sequence() == hash) {
                break;
            }
            own.set_sequence(hash);
            self.nodes.set_tie(id, own.tie);
            own.set_parent(id);
            done += 1;
        }
        self.nodes.set_steps(row.start, &blocks[..done], own.owners());
        done as u32
    }

    /// Makes `slot` an owner of what is there of `blocks` below `at`, as long as others have it by the same
    /// hashes. Returns how many blocks that were, and the last one.
    pub(super) fn join_in(
        &mut self,
        at: u32,
        slot: u32,
        blocks: &[Block],
        outcome: &mut Outcome,
    ) -> (usize, u32) {
        if self.aliases.len() > 0 || self.slots.any_dead() {
            return (0, at);
        }
        let (mut last, mut stored, mut edge) = (at, 0, NONE);
        let mut memo = (owners::EMPTY, owners::EMPTY);
        let mut count = 0;
        for block in blocks {
            let hash = block.sequence.0;
            let Some(child) = self.child_of(last, block.tokens.0) else { break };
            let own = self.nodes.at(child).whole();
            let word = own.owners();
            if own.sequence() != hash || word == owners::EMPTY || own.is(ODD | ORPHAN) {
                break;
            }
            if word == memo.1 {
                // As the block before, which has the slot now.
            } else if word != memo.0 && self.spill.contains(word, slot) {
                memo = (owners::EMPTY, word);
            }
            if word != memo.1 {
                if self.calls_another(child, slot, hash) {
                    break;
                }
                if word == memo.0 {
                    self.spill.release(word);
                    self.spill.share(memo.1);
                } else {
                    memo = (word, self.spill.insert(word, slot));
                }
                self.nodes.at_mut(child).set_owners(memo.1);
                stored += 1;
            }
            if own.edge() != edge {
                edge = own.edge();
                self.edges.at_mut(edge).tick = self.tick;
            }
            last = child;
            count += 1;
        }
        self.slots.add_accepted(slot, i64::from(stored));
        outcome.stored += stored;
        outcome.duplicates += count as u32 - stored;
        (count, last)
    }

    /// Returns true when `slot` calls another node than `node` by `hash`.
    #[inline]
    fn calls_another(&self, node: u32, slot: u32, hash: u64) -> bool {
        if self.twins == 0 {
            return false;
        }
        let other = self.index.find(hash, |id| {
            let own = self.nodes.at(id);
            id != node && own.sequence() == hash && self.spill.contains(own.owners(), slot)
        });
        other.is_some()
    }

    /// Returns true when new blocks of `slot` below `tail` belong to its run.
    #[inline]
    fn may_lengthen(&self, tail: u32, slot: u32) -> bool {
        let own = self.nodes.at(tail);
        if own.kids() != u32::MAX || tail == ROOT || own.is(ORPHAN) || self.aliases.len() > 0 {
            return false;
        }
        let edge = self.edges.at(own.edge());
        edge.tail == tail
            && (self.semantics == Semantics::PerBlock
                || (!edge.is_internal() && self.spill.contains(own.owners(), slot)))
    }

    /// Takes `slot` off blocks that end what it has of one run, as long as `hashes` name such. Returns how
    /// many, and adds their hashes to `dropped`.
    pub(super) fn shorten(
        &mut self,
        slot: u32,
        hashes: &[SequenceHash],
        dropped: &mut Vec<u64>,
    ) -> usize {
        if self.aliases.len() > 0 || self.slots.any_dead() {
            return 0;
        }
        let (mut edge, mut count, mut died) = (NONE, 0_u32, 0_u32);
        let mut memo = (owners::EMPTY, owners::EMPTY);
        let mut above = NONE;
        for hash in hashes {
            let before = self.before(above, edge, hash.0).filter(|id| {
                let word = self.nodes.at(*id).owners();
                word == memo.0 || self.spill.contains(word, slot)
            });
            let Some(id) = before.or_else(|| self.last_of(slot, hash.0)) else { break };
            let own = self.nodes.at(id).whole();
            if edge != NONE && own.edge() != edge {
                break;
            }
            edge = own.edge();
            above = own.parent();
            let word = own.owners();
            if word == memo.0 {
                self.spill.release(word);
                self.spill.share(memo.1);
            } else {
                memo = (word, self.spill.remove(word, slot));
            }
            let left = memo.1;
            self.nodes.at_mut(id).set_owners(left);
            if left == owners::EMPTY {
                self.unfile(hash.0, id);
                died += 1;
            }
            dropped.push(hash.0);
            count += 1;
        }
        if count > 0 {
            self.edges.at_mut(edge).live -= died;
            self.distinct -= died as usize;
            self.pend(edge, -died.cast_signed());
            self.slots.add_accepted(slot, -i64::from(count));
            self.settle_edge(edge);
        }
        count as usize
    }

    /// Returns node `id` if it lies on the run of `edge` and its owners call it `hash`.
    #[inline]
    fn before(&self, id: u32, edge: u32, hash: u64) -> Option<u32> {
        if id == NONE {
            return None;
        }
        let own = self.nodes.at(id);
        (own.sequence() == hash && own.edge() == edge && !own.is(ORPHAN | ODD)).then_some(id)
    }

    /// Returns the accepted node that `slot` calls `hash`, if it has nothing after it on the same run.
    #[inline]
    fn last_of(&self, slot: u32, hash: u64) -> Option<u32> {
        let id = self.index.find(hash, |id| {
            let own = self.nodes.at(id);
            own.sequence() == hash && self.spill.contains(own.owners(), slot)
        })?;
        if self.nodes.at(id).is(ORPHAN | ODD) {
            return None;
        }
        let next = self.next_on_edge(id);
        next.is_none_or(|next| !self.spill.contains(self.nodes.at(next).owners(), slot))
            .then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{Block, DpRank, KvBatch, KvHead, SequenceHash, TokensHash, WorkerId};
    use crate::mirror::{Mirror, Refusal, Semantics};

    #[test]
    fn one_hash_for_many_blocks_is_refused_before_it_makes_look_ups_long() {
        for semantics in [Semantics::PerBlock, Semantics::EdgeTruncating] {
            let mut mirror = Mirror::new(semantics, usize::MAX);
            let mut batch = KvBatch::default();
            for worker in 0..2_000 {
                let block = Block { sequence: SequenceHash(7), tokens: TokensHash(worker) };
                batch.stored(&KvHead::new(WorkerId(worker), DpRank(0)), None, &[block]);
            }
            let mut outcomes = Vec::new();

            mirror.apply(&batch, 0, &mut outcomes);

            let full = outcomes.iter().filter(|outcome| outcome.refusal == Some(Refusal::Full));
            let kept = mirror.totals().accepted as usize;
            assert_eq!(full.count() + kept, 2_000, "{semantics:?}");
            assert!((100..500).contains(&kept), "{semantics:?}: {kept}");
        }
    }

    #[test]
    fn a_rank_that_calls_another_block_by_the_same_hash_gives_that_up() {
        for semantics in [Semantics::PerBlock, Semantics::EdgeTruncating] {
            let mut mirror = Mirror::new(semantics, usize::MAX);
            let [one, two] = [1, 2].map(|worker| KvHead::new(WorkerId(worker), DpRank(0)));
            let [left, right] =
                [5, 6].map(|name| Block { sequence: SequenceHash(7), tokens: TokensHash(name) });
            let mut batch = KvBatch::default();
            batch.stored(&one, None, &[left]);
            batch.stored(&two, None, &[right]);
            batch.stored(&two, None, &[left]);

            mirror.apply(&batch, 0, &mut Vec::new());

            assert_eq!(mirror.totals().accepted, 2, "{semantics:?}");
            assert_eq!(mirror.overlap(&[left.tokens]).len(), 2, "{semantics:?}");
        }
    }
}
