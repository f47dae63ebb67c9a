//! Quantities that kvtop reads from metrics, one entry each. `dynamo::metric` has their names.

/// The subject of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// One rank of an engine.
    Rank,
    /// A router or frontend, summed over its labels.
    Router,
}

/// Makes [`GaugeName`], with a variant for each entry: its subject and its words for people.
macro_rules! gauges {
    ($($(#[$doc:meta])* $name:ident = $of:ident, $about:literal;)*) => {
        /// A metric that kvtop uses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum GaugeName {
            $($(#[$doc])* $name),*
        }

        impl GaugeName {
            /// Every quantity.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the quantity in words.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Self::$name => $about),*
                }
            }

            const fn scope(self) -> Of {
                match self {
                    $(Self::$name => Of::$of),*
                }
            }
        }
    };
}

gauges! {
    /// Share of the engine's KV blocks in use, 0 to 1.
    KvUtilization = Rank, "share of KV blocks in use";
    /// Share of prompt tokens found in the engine's cache, 0 to 1.
    PrefixHitRate = Rank, "prefix hit rate";
    /// Prompt tokens found in the engine's cache since it started.
    PrefixHits = Rank, "prompt tokens found cached";
    /// Prompt tokens looked up in it since it started.
    PrefixQueries = Rank, "prompt tokens looked up";
    /// KV blocks that the engine has room for.
    TotalBlocks = Rank, "KV blocks";
    /// KV blocks that the engine's cache is configured with; a hybrid model splits them otherwise than
    /// KV events do.
    ConfiguredBlocks = Rank, "KV blocks as configured";
    /// Tokens whose KV the engine has room for.
    TotalTokens = Rank, "tokens of the KV cache";
    /// Tokens whose KV is in use.
    UsedTokens = Rank, "tokens of the KV cache in use";
    /// Sum of times to first token, in seconds.
    TtftSum = Router, "sum of times to first token";
    /// Number of times to first token.
    TtftCount = Router, "number of times to first token";
    /// Requests waiting.
    Queued = Router, "requests waiting";
    /// Requests that a worker process has accepted and not yet answered.
    InFlight = Rank, "requests in flight";
    /// Requests that an engine computes.
    Running = Rank, "requests running";
    /// Requests that wait in an engine.
    Waiting = Rank, "requests waiting in the engine";
    /// Workers that are registered with an indexer.
    Registered = Router, "workers registered with an indexer";
    /// Workers that are registered with a router.
    RouterWorkers = Router, "workers registered with a router";
    /// Tokens generated.
    OutputTokens = Router, "tokens generated";
    /// Blocks that KVBM moved from the GPU to host memory.
    DeviceToHost = Router, "blocks moved from device to host";
    /// Blocks that KVBM moved from host memory to disk.
    HostToDisk = Router, "blocks moved from host to disk";
    /// Blocks that KVBM moved from the GPU to disk.
    DeviceToDisk = Router, "blocks moved from device to disk";
    /// Blocks that KVBM moved from the GPU to an object store.
    DeviceToObject = Router, "blocks moved from device to object store";
    /// Blocks that KVBM moved from host memory to the GPU.
    HostToDevice = Router, "blocks moved from host to device";
    /// Blocks that KVBM moved from disk to the GPU.
    DiskToDevice = Router, "blocks moved from disk to device";
    /// Blocks that KVBM moved from an object store to the GPU.
    ObjectToDevice = Router, "blocks moved from object store to device";
    /// Sum of the shares of prompts that a router found cached.
    RouterHitSum = Router, "sum of the router's hit rates";
    /// Number of these shares.
    RouterHitCount = Router, "number of the router's hit rates";
    /// Sum of the prompts' lengths, in tokens.
    InputTokenSum = Router, "sum of prompt tokens";
    /// Number of these prompts.
    InputTokenCount = Router, "number of prompts";
    /// Sum of the prompt tokens that engines had cached.
    CachedTokenSum = Router, "sum of cached prompt tokens";
    /// Sum of the answers' lengths, in tokens.
    OutputTokenSum = Router, "sum of answer tokens";
    /// Number of these answers.
    OutputTokenCount = Router, "number of answers";
    /// Requests that a frontend answered with an error.
    FailedRequests = Router, "requests answered with an error";
    /// Stores that a router's index took in.
    StoresApplied = Router, "stores taken in";
    /// Stores that it rejected because the parent is unknown.
    StoresOrphaned = Router, "stores rejected because the parent is unknown";
    /// Stores that it rejected for any other reason.
    StoresInvalid = Router, "stores rejected for other reasons";
    /// Removals that it followed.
    RemovalsApplied = Router, "removals followed";
    /// Removals of blocks that it did not have.
    RemovalsMissing = Router, "removals of unknown blocks";
    /// Workers that serve, and whose KV events a router expects and has no source for.
    SourcelessWorkers = Router, "workers without a source of KV events";
}

impl GaugeName {
    /// Returns true for what an engine reports of one rank; the others are summed over a router's labels.
    pub const fn is_of_rank(self) -> bool {
        matches!(self.scope(), Of::Rank)
    }
}
