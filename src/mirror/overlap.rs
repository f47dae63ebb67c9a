//! The blocks of a prompt that each rank has: the router's `find_matches`.

use super::Semantics;
use super::node::ROOT;
use super::owners::Word;
use super::tree::Tree;
use crate::domain::TokensHash;

/// Ranks that have matched every block so far, 64 slots to a word.
#[derive(Default)]
struct Active {
    words: Vec<u64>,
    count: u32,
}

fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

impl Tree {
    /// Returns the depth to which each slot has the prompt `tokens`.
    pub(super) fn scores(&self, tokens: &[TokensHash]) -> Vec<(u32, u32)> {
        let mut scores = Vec::new();
        let mut active = Active::default();
        let mut owners = Vec::new();
        let (mut at, mut depth, mut last) = (ROOT, 0, Word::MAX);
        while let Some(hash) = tokens.get(depth) {
            let Some(child) = self.child_of(at, hash.0) else { break };
            if child != at + 1 {
                self.nodes.approach_next(child);
            }
            let word = self.nodes.at(child).owners();
            if word != last && (depth == 0 || !self.keeps_all(&active, word)) {
                self.living_owners(word, &mut owners);
                if depth == 0 {
                    active.words.clone_from(&owners);
                    active.count = ones(&owners);
                    // Every rank of the first block gets a score, sooner or later.
                    scores.reserve(active.count as usize);
                } else {
                    self.narrow(&mut active, &owners, depth as u32, &mut scores);
                }
                if active.count == 0 {
                    break;
                }
            }
            last = word;
            depth += 1;
            let more = self.nodes.run_length(child, word, &tokens[depth..]);
            depth += more;
            at = child + more as u32;
        }
        each(&active.words, |slot| scores.push((slot, depth as u32)));
        scores
    }

    /// Returns true when all of `active` are among the owners of `word`, as far as that is quickly told.
    #[inline]
    fn keeps_all(&self, active: &Active, word: Word) -> bool {
        !self.slots.any_dead() && self.spill.covers(word, &active.words)
    }

    /// Takes the ranks that do not own the next block out of `active`.
    ///
    /// The per-block router compares numbers of owners first (dynamo-kv-router 1.0.2, `radix_tree.rs`):
    /// as many owners as active ranks are taken for the same ranks, and fewer owners become the
    /// active ranks, whoever they are. It matters only after out-of-order evictions.
    fn narrow(
        &self,
        active: &mut Active,
        owners: &[u64],
        depth: u32,
        scores: &mut Vec<(u32, u32)>,
    ) {
        let count = ones(owners);
        let per_block = self.semantics == Semantics::PerBlock;
        if per_block && count == active.count {
            return;
        }
        for (at, word) in active.words.iter_mut().enumerate() {
            let own = owners.get(at).copied().unwrap_or_default();
            let mut gone = *word & !own;
            while gone != 0 {
                scores.push((at as u32 * 64 + gone.trailing_zeros(), depth));
                gone &= gone - 1;
            }
            *word &= own;
        }
        if per_block && count < active.count {
            active.words.clear();
            active.words.extend_from_slice(owners);
        }
        active.count = ones(&active.words);
    }

    fn living_owners(&self, word: Word, into: &mut Vec<u64>) {
        into.clear();
        self.spill.words(word, into);
        if self.slots.any_dead() {
            for (own, alive) in into.iter_mut().zip(self.slots.alive()) {
                *own &= alive;
            }
        }
    }
}

fn each(words: &[u64], mut each: impl FnMut(u32)) {
    for (base, word) in (0_u32..).step_by(64).zip(words) {
        let mut left = *word;
        while left != 0 {
            each(base + left.trailing_zeros());
            left &= left - 1;
        }
    }
}
