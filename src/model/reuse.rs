//! Measures reuse from stores: starts of prompts, forks, depths.
//!
//! A router that finds nothing cached is right when prompts share nothing, and blind when engines reuse
//! prefixes all the same. Stores show which: a prompt whose first block is cached begins without a
//! store at the root, and two prompts that share a prefix fork from one block.

mod votes;

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::rank_block::{RankBlock, sign};
use crate::domain::{Block, FastMap, SequenceHash, Timestamp};
pub use votes::SizeByStores;
use votes::Votes;

/// Most blocks whose place is remembered: as many as fill a table of 2^14 places. A prefix that many prompts share is
/// soon known again.
const LINK_LIMIT: usize = 14_336;

/// Most prompts of a rank that wait for their store.
const WAIT_LIMIT: usize = 6;

/// Most prompts of a rank whose length is still to be told.
const OPEN_LIMIT: usize = 64;

/// A prompt waits for this many stores of its rank.
const WAIT_STORES: usize = 8;

/// The last chains of a rank whose lengths are kept for requests of which routers tell late: they write a request's
/// choice and its end within a moment, and logs are read every second or so.
const RECENT: usize = 16;

/// The details kept of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Its place in its chain from 1; 0 when the chain's begin was not seen.
    depth: u32,
    /// The sign of the block that followed it first.
    child: Option<NonZeroU32>,
}

/// A prompt whose store is still to come, or whose length is.
#[derive(Clone, Debug)]
struct Waiting {
    request: Option<Arc<str>>,
    tokens: Option<RangeInclusive<u64>>,
    /// Lengths of its rank's chains after the stores since.
    depths: Vec<u64>,
}

/// The prompts that wait for a rank's stores, and the lengths of its last chains with their times, the oldest first.
#[derive(Debug, Default)]
struct Followed {
    waiting: VecDeque<Waiting>,
    recent: VecDeque<(Timestamp, u64)>,
}

/// The way a store continues a known chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Landing {
    /// It begins a prompt.
    pub root: bool,
    /// It shares its parent with another chain: a cached prefix was used again.
    pub fork: bool,
    /// Several blocks at once follow a parent: most likely the rest of a prompt whose head is cached.
    pub landed: bool,
}

/// Follows chains of blocks, within bounds, to see reuse and the publisher's block size.
#[derive(Debug, Default)]
pub struct Reuse {
    links: FastMap<RankBlock, Link>,
    ranks: FastMap<u32, Followed>,
    votes: Votes,
    /// Prompts of known length, to compare chains with.
    told: u64,
    /// True once its memory was full while no router reported its cache hits: it has stopped.
    full: bool,
}

impl Reuse {
    /// Follows a store of the rank numbered `rank` at `at`. `keep` says whether to go on once the memory is
    /// used up.
    pub fn stored(
        &mut self,
        rank: u32,
        parent: Option<SequenceHash>,
        blocks: &[Block],
        at: Timestamp,
        keep: bool,
    ) -> Landing {
        let Some(first) = blocks.first() else { return Landing::default() };
        let mut landing = Landing {
            root: parent.is_none(),
            landed: parent.is_some() && blocks.len() > 1,
            fork: false,
        };
        // The parent may be new, too.
        if self.links.len() + blocks.len() + usize::from(parent.is_some()) > LINK_LIMIT {
            self.links.clear();
            self.full = !keep;
        }
        if self.full {
            self.full = !keep;
            return landing;
        }
        let mut depth = 0;
        if let Some(parent) = parent {
            let link = self.links.entry(RankBlock::new(rank, parent)).or_default();
            landing.fork = link.child.is_some_and(|child| child != sign(first.sequence));
            link.child.get_or_insert(sign(first.sequence));
            depth = link.depth;
        }
        let anchored = parent.is_none() || depth > 0;
        for (block, next) in blocks.iter().zip(blocks.iter().skip(1).map(Some).chain([None])) {
            depth += u32::from(anchored);
            let link = self.links.entry(RankBlock::new(rank, block.sequence)).or_default();
            link.depth = if anchored { depth } else { 0 };
            if let Some(next) = next {
                link.child.get_or_insert(sign(next.sequence));
            }
        }
        if anchored {
            self.compare(rank, u64::from(depth), at);
        }
        landing
    }

    /// Notes that a prompt of that many tokens goes to the rank numbered `rank`.
    pub fn prompt(&mut self, rank: u32, tokens: RangeInclusive<u64>) {
        self.told += 1;
        self.wait(rank, Waiting { request: None, tokens: Some(tokens), depths: Vec::new() });
    }

    /// Notes that `request` went to the rank numbered `rank` at `at`; its length is told at its end.
    pub fn request(&mut self, rank: u32, request: &Arc<str>, at: Timestamp) {
        let request = Some(Arc::clone(request));
        let recent = self.ranks.get(&rank).into_iter().flat_map(|known| &known.recent);
        let since = recent.filter(|(then, _)| *then >= at).map(|(_, depth)| *depth);
        let depths = since.take(WAIT_STORES).collect();
        self.wait(rank, Waiting { request, tokens: None, depths });
    }

    /// Notes that the prompt of `request` had `tokens` tokens.
    pub fn length(&mut self, request: &str, tokens: u64) {
        self.told += 1;
        for (rank, Followed { waiting, .. }) in &mut self.ranks {
            let place = waiting.iter().position(|one| one.request.as_deref() == Some(request));
            if let Some(prompt) = place.and_then(|place| waiting.remove(place)) {
                self.votes.cast(*rank, &(tokens..=tokens), &prompt.depths);
                return;
            }
        }
    }

    fn wait(&mut self, rank: u32, prompt: Waiting) {
        let waiting = &mut self.ranks.entry(rank).or_default().waiting;
        let limit = if prompt.request.is_some() { OPEN_LIMIT } else { WAIT_LIMIT };
        if waiting.len() >= limit
            && let Some(Waiting { tokens: Some(tokens), depths, .. }) = waiting.pop_front()
        {
            self.votes.cast(rank, &tokens, &depths);
        }
        waiting.push_back(prompt);
    }

    /// Notes that a chain is `depth` blocks long at `at`.
    fn compare(&mut self, rank: u32, depth: u64, at: Timestamp) {
        let Followed { waiting, recent } = self.ranks.entry(rank).or_default();
        if recent.len() >= RECENT {
            recent.pop_front();
        }
        recent.push_back((at, depth));
        for prompt in &mut *waiting {
            if prompt.depths.len() < WAIT_STORES {
                prompt.depths.push(depth);
            }
        }
        waiting.retain(|prompt| {
            let Some(tokens) =
                prompt.tokens.as_ref().filter(|_| prompt.depths.len() >= WAIT_STORES)
            else {
                return true;
            };
            self.votes.cast(rank, tokens, &prompt.depths);
            false
        });
    }

    /// Forgets what the rank numbered `rank` stored and was asked: another process took its place.
    pub fn forget(&mut self, rank: u32) {
        self.links.retain(|block, _| !block.is_of(rank));
        self.ranks.remove(&rank);
        self.votes.forget(rank);
    }

    /// Returns the size that the lengths of chains prove; none while they do not.
    pub fn publisher_size(&self) -> Option<SizeByStores> {
        self.votes.size()
    }

    /// Returns the same, where the chains of the rank numbered `rank` say so too: what all ranks together
    /// prove may hold for most of them only.
    pub fn publisher_size_of(&self, rank: u32) -> Option<u32> {
        self.votes.size_of(rank)
    }

    /// Returns the same of the ranks numbered `ranks` alone.
    pub fn publisher_size_among(&self, ranks: &[u32]) -> Option<SizeByStores> {
        self.votes.size_among(ranks)
    }

    /// Returns how many prompts told their length.
    pub fn told(&self) -> u64 {
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TokensHash;

    fn chain(from: u64, count: u64) -> Vec<Block> {
        (from..from + count)
            .map(|n| Block { sequence: SequenceHash(n), tokens: TokensHash(n) })
            .collect()
    }

    #[test]
    fn two_prompts_that_share_a_prefix_fork_from_its_last_block() {
        let mut reuse = Reuse::default();

        let first = reuse.stored(0, None, &chain(10, 4), Timestamp(1), true);
        let second = reuse.stored(0, Some(SequenceHash(11)), &chain(20, 2), Timestamp(1), true);
        let again = reuse.stored(0, Some(SequenceHash(13)), &chain(30, 1), Timestamp(1), true);

        assert!(first.root && !first.fork);
        assert!(second.fork && second.landed && !second.root);
        assert!(!again.fork && !again.landed);
    }

    #[test]
    fn the_length_of_chains_gives_the_size_of_their_blocks() {
        let mut reuse = Reuse::default();
        for n in 0..12_u64 {
            let tokens = 320 + n * 37;
            let request: Arc<str> = n.to_string().into();
            reuse.request(0, &request, Timestamp(10 * n));
            reuse.stored(0, None, &chain(1000 * (n + 1), tokens / 32), Timestamp(10 * n + 5), true);
            reuse.length(&request, tokens);
        }

        let found = reuse.publisher_size();

        assert_eq!(found, Some(SizeByStores { tokens: 32, agreeing: 12, prompts: 12 }));
        assert_eq!((reuse.publisher_size_of(0), reuse.publisher_size_of(1)), (Some(32), None));
    }

    #[test]
    fn requests_of_which_routers_tell_late_are_compared_with_the_stores_since() {
        let mut reuse = Reuse::default();
        for n in 0..12_u64 {
            let tokens = 40 + n * 7;
            let request: Arc<str> = n.to_string().into();
            reuse.stored(0, None, &chain(1000 * (n + 1), tokens / 32), Timestamp(10 * n + 5), true);
            // Its choice and its end are read together, after its store.
            reuse.request(0, &request, Timestamp(10 * n));
            reuse.length(&request, tokens);
        }
        let before = reuse.publisher_size();
        for n in 0..40_u64 {
            let request: Arc<str> = n.to_string().into();
            // Nothing was stored since these.
            reuse.request(0, &request, Timestamp(1000));
            reuse.length(&request, 40);
        }

        assert_eq!(before, Some(SizeByStores { tokens: 32, agreeing: 12, prompts: 12 }));
        assert_eq!(reuse.publisher_size(), None);
    }

    #[test]
    fn what_most_ranks_prove_is_not_said_of_one_that_differs() {
        let mut reuse = Reuse::default();
        for n in 0..24_u64 {
            let tokens = 320 + n * 37;
            let request: Arc<str> = n.to_string().into();
            let (rank, size) = if n % 6 == 5 { (1, 16) } else { (0, 32) };
            reuse.request(rank, &request, Timestamp(10 * n));
            reuse.stored(
                rank,
                None,
                &chain(1000 * (n + 1), tokens / size),
                Timestamp(10 * n + 5),
                true,
            );
            reuse.length(&request, tokens);
        }

        assert_eq!(reuse.publisher_size().map(|size| size.tokens), Some(32));
        assert_eq!((reuse.publisher_size_of(0), reuse.publisher_size_of(1)), (Some(32), None));
    }

    #[test]
    fn chains_whose_begin_was_not_seen_prove_nothing() {
        let mut reuse = Reuse::default();
        for n in 0..12_u64 {
            reuse.prompt(0, 320..=320);
            reuse.stored(0, Some(SequenceHash(n)), &chain(1000 * (n + 1), 10), Timestamp(1), true);
        }

        assert_eq!(reuse.publisher_size(), None);
    }
}
