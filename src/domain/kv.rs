//! KV events, as flat bursts: what workers say they stored, removed and cleared.

use std::ops::Range;

use super::{DpRank, SequenceHash, Timestamp, TokensHash, WorkerId, WorkerRank};

/// One block of a `stored` event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The engine's chained hash, by which children and removals refer to it.
    pub sequence: SequenceHash,
    /// The hash of its own tokens, by which requests match it.
    pub tokens: TokensHash,
}

/// The memory a block is held in (`storage_tier`, Dynamo 1.1 and later; device before).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// GPU memory. The only tier that counts as cached.
    #[default]
    Device,
    /// Pinned host memory.
    HostPinned,
    /// Local disk.
    Disk,
    /// Storage outside the worker.
    External,
}

impl Tier {
    /// Every tier, in the order of the wire format's enumeration.
    pub const ALL: [Self; 4] = [Self::Device, Self::HostPinned, Self::Disk, Self::External];

    /// Returns the name on the wire (dynamo-kv-router 1.6.1, `protocols.rs`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::HostPinned => "host_pinned",
            Self::Disk => "disk",
            Self::External => "external",
        }
    }

    /// Returns the tier called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }

    /// Returns the position in [`Tier::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The ranks that a `cleared` event clears: every rank of the worker up to Dynamo 1.3, one rank from 1.4
/// (dynamo-kv-router 1.3.1 and 1.4.2, `indexer/concurrent_radix_tree_compressed/mod.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClearScope {
    /// All ranks of the worker.
    Worker,
    /// The rank the event names.
    Rank,
}

/// The change that an event describes. Ranges index the burst's own arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KvKind {
    /// Blocks were stored as one chain.
    Stored {
        /// The block they follow; none for the start of a prompt.
        parent: Option<SequenceHash>,
        /// The chain, in [`KvBatch::blocks`]. Empty when the publisher refused every block.
        blocks: Range<u32>,
    },
    /// Blocks were removed.
    Removed {
        /// Their hashes, in [`KvBatch::removed`].
        hashes: Range<u32>,
    },
    /// The cache was emptied.
    Cleared {
        /// The range.
        scope: ClearScope,
    },
}

/// The envelope of an event-plane message (NATS core and ZMQ; JetStream messages have none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The publisher: the worker up to Dynamo 1.2, a random number from 1.3.
    pub publisher: u64,
    /// The publisher's message number on this topic, from 0; a hole is a lost message.
    pub sequence: u64,
}

/// One KV event of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KvEvent {
    /// The time it happened, as far as that is known.
    pub at: Timestamp,
    /// The worker whose blocks change.
    pub rank: WorkerRank,
    /// In which memory.
    pub tier: Tier,
    /// The publisher's number for it. Not unique on Dynamo 0.9.
    pub event_id: u64,
    /// The change.
    pub kind: KvKind,
}

/// A burst of KV events in flat arrays, so that decoding allocates nothing per event and the mirror
/// can look up many blocks before it follows any.
#[derive(Clone, Debug, Default)]
pub struct KvBatch {
    events: Vec<KvEvent>,
    blocks: Vec<Block>,
    removed: Vec<SequenceHash>,
}

impl KvBatch {
    /// Returns the events, in order of arrival.
    pub fn events(&self) -> &[KvEvent] {
        &self.events
    }

    /// Returns all stored blocks of the burst; [`KvKind::Stored`] has the range of one event.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns all removed hashes of the burst; [`KvKind::Removed`] has the range of one event.
    pub fn removed(&self) -> &[SequenceHash] {
        &self.removed
    }

    /// Returns the blocks of one event, none for a range of another burst.
    pub fn blocks_of(&self, range: &Range<u32>) -> &[Block] {
        self.blocks.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// Returns the removed hashes of one event, none for a range of another burst.
    pub fn removed_of(&self, range: &Range<u32>) -> &[SequenceHash] {
        self.removed.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// Returns true when there is no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Forgets the events, keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.blocks.clear();
        self.removed.clear();
    }

    /// Adds a block to the event being built; [`KvBatch::push_event`] closes it.
    pub fn push_block(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Adds a removed hash to the event being built; [`KvBatch::push_event`] closes it.
    pub fn push_removed(&mut self, hash: SequenceHash) {
        self.removed.push(hash);
    }

    /// Adds blocks to the event being built, as long as there are any.
    pub fn extend_blocks(&mut self, blocks: impl Iterator<Item = Block>) {
        self.blocks.extend(blocks);
    }

    /// Adds removed hashes to the event being built, as long as there are any.
    pub fn extend_removed(&mut self, hashes: impl Iterator<Item = SequenceHash>) {
        self.removed.extend(hashes);
    }

    /// Returns a mark to roll back to when an event turns out to be unreadable.
    pub fn mark(&self) -> (usize, usize, usize) {
        (self.events.len(), self.blocks.len(), self.removed.len())
    }

    /// Forgets everything added since `mark`.
    pub fn roll_back(&mut self, mark: (usize, usize, usize)) {
        self.events.truncate(mark.0);
        self.blocks.truncate(mark.1);
        self.removed.truncate(mark.2);
    }

    /// Adds a finished event as it is. Its ranges must refer to this burst.
    pub fn push_event(&mut self, event: KvEvent) {
        self.events.push(event);
    }

    /// Adds a `stored` event.
    pub fn stored(&mut self, head: &KvHead, parent: Option<SequenceHash>, blocks: &[Block]) {
        let start = self.blocks.len();
        self.blocks.extend_from_slice(blocks);
        let blocks = range(start, self.blocks.len());
        self.events.push(head.event(KvKind::Stored { parent, blocks }));
    }

    /// Adds a `removed` event.
    pub fn remove(&mut self, head: &KvHead, hashes: &[SequenceHash]) {
        let start = self.removed.len();
        self.removed.extend_from_slice(hashes);
        let hashes = range(start, self.removed.len());
        self.events.push(head.event(KvKind::Removed { hashes }));
    }

    /// Adds a `cleared` event.
    pub fn cleared(&mut self, head: &KvHead, scope: ClearScope) {
        self.events.push(head.event(KvKind::Cleared { scope }));
    }
}

/// The head of every event of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvHead {
    /// The time it happened.
    pub at: Timestamp,
    /// The worker whose blocks change.
    pub rank: WorkerRank,
    /// In which memory.
    pub tier: Tier,
    /// The publisher's number for it.
    pub event_id: u64,
}

impl KvHead {
    /// Returns the head of a device-tier event of `worker`, rank `dp_rank`, at time zero.
    pub const fn new(worker: WorkerId, dp_rank: DpRank) -> Self {
        Self {
            at: Timestamp(0),
            rank: WorkerRank { worker, dp_rank },
            tier: Tier::Device,
            event_id: 0,
        }
    }

    fn event(&self, kind: KvKind) -> KvEvent {
        KvEvent { at: self.at, rank: self.rank, tier: self.tier, event_id: self.event_id, kind }
    }
}

fn range(start: usize, end: usize) -> Range<u32> {
    // A burst holds at most some thousand events; 2^32 blocks do not fit into memory.
    u32::try_from(start).unwrap_or(u32::MAX)..u32::try_from(end).unwrap_or(u32::MAX)
}
