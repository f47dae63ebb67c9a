//! Identifiers. No bare `u64` crosses a module boundary.

use std::fmt;

/// A worker as Dynamo's router names it: the discovery instance id of its process.
///
/// With Kubernetes discovery it is a hash of the pod's name (below 2^53), with etcd a lease id, with
/// file discovery a random number that may exceed `i64::MAX` (dynamo-runtime 0.9.0,
/// `discovery/kube/utils.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u64);

/// One data-parallel rank of a worker. A worker without data parallelism has rank 0 only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DpRank(pub u32);

/// One rank of one worker: the unit that owns cached blocks in the router's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerRank {
    /// The worker.
    pub worker: WorkerId,
    /// Its data-parallel rank.
    pub dp_rank: DpRank,
}

/// Any process registered in discovery: a worker, a router, a frontend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u64);

/// The engine's chained hash of a block and of all blocks before it, `block_hash` on the wire.
///
/// Opaque: each engine has its own function, and workers may disagree on the same content. It names a
/// parent and the blocks to remove (`ExternalSequenceBlockHash`, dynamo-kv-router 1.0.2,
/// `protocols.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceHash(pub u64);

/// Dynamo's own hash of the tokens of one block, `tokens_hash` on the wire; not chained.
///
/// It is what the router matches requests with (`LocalBlockHash`, dynamo-kv-router 1.0.2,
/// `protocols.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokensHash(pub u64);

impl WorkerRank {
    /// Returns rank `dp_rank` of worker `worker`.
    pub const fn new(worker: u64, dp_rank: u32) -> Self {
        Self { worker: WorkerId(worker), dp_rank: DpRank(dp_rank) }
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Display for DpRank {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Display for WorkerRank {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.worker, self.dp_rank)
    }
}

impl fmt::Display for SequenceHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}
