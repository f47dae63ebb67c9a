//! Quantities that evidence is about, with their names in JSON and their words.

use super::proof::Measure;
use crate::domain::ClaimOf;

macro_rules! measures {
    ($($name:ident = $id:literal, $words:literal;)+) => {
        $(#[doc = concat!("`", $words, "`")] pub(super) const $name: Measure = Measure::new($id, $words);)+

        /// Every quantity above.
        #[cfg(test)]
        const ALL: &[Measure] = &[$($name),+];
    };
}

measures! {
    BLOCKS_CACHED = "blocks_cached", "blocks cached";
    BLOCKS_EVICTED = "blocks_evicted", "blocks stored and evicted";
    BLOCKS_STORED_AGAIN = "blocks_stored_again", "blocks stored again after eviction";
    BLOCKS_AVOIDED = "blocks_avoided", "stored blocks that a larger cache avoids";
    BLOCK_SIZE_OF = "block_size", "block size of {}";
    CACHED_BLOCKS_IGNORED = "cached_blocks_ignored", "cached blocks ignored";
    CACHE_HITS = "cache_hits", "cache hits";
    DECLARED_BLOCK_SIZE = "declared_block_size", "declared on the frontend";
    DECODE_ERROR = "decode_error", "decode error";
    DECODE_WARNINGS = "decode_warnings", "\"Failed to decode KVEventBatch\"";
    EMPTY_PARENT_WARNINGS = "empty_parent_warnings", "warnings with num_blocks=0, which would mean KVT001";
    EMPTY_STORES = "empty_stores", "empty store events";
    EMPTY_STORES_REJECTED = "empty_stores_rejected", "of those, rejected because the parent block is unknown";
    ENGINE_BLOCK_SIZE = "engine_block_size", "engine block size";
    EVENTS_ENDPOINT = "events_endpoint", "endpoint of KV events";
    EVENTS_OF = "events_of", "events of {}";
    FIRST_REJECTED = "first_rejected", "first rejected store of the router";
    FOLLOWS_EVENTS = "follows_events", "follows KV events";
    FULL_PARENT_WARNINGS = "full_parent_warnings", "\"Failed to find parent block\" with blocks";
    GAP_WARNINGS = "gap_warnings", "warnings about gaps";
    IGNORED_AT_DEFAULT_WEIGHT = "ignored_at_default_weight", "of those, hits at the default weight";
    INDEX_COPY = "index_copy", "index copy";
    IN_FLIGHT = "in_flight", "requests in flight at {}";
    KV_EVENTS = "kv_events", "KV events";
    KV_EVENTS_OF_THESE = "kv_events_of_these_workers", "KV events of these workers";
    KV_UTILIZATION = "kv_utilization", "KV utilization";
    LARGEST_BLOCK = "largest_block", "largest engine block";
    LISTENS_TO = "listens_to", "kvtop listens to";
    LOG_LINE = "log_line", "log of {}";
    MESSAGES_MISSING = "messages_missing", "missing messages";
    MESSAGES_UNREADABLE = "messages_unreadable", "messages that cannot be decoded";
    OVERLAP_WEIGHT = "overlap_weight", "overlap weight";
    PARENTS_BEFORE_RESTART = "parents_before_restart", "of those, parents stored before the router started, or building on such";
    PARENTS_HELD = "parents_held", "of those, parents that kvtop holds";
    PARENT_WARNINGS = "parent_warnings", "\"Failed to find parent block\"";
    PLANE_ADVERTISED = "plane_advertised", "advertised";
    PREFILL_WEIGHT = "prefill_weight", "weight of uncached blocks (default 1)";
    PREFIXES_REUSED = "prefixes_reused", "prefixes reused by engines";
    PREFIX_CACHING = "prefix_caching", "prefix caching";
    PUBLISHERS_CONNECTED = "publishers_connected", "publishers connected";
    PUBLISHER_BLOCK_SIZE = "publisher_block_size", "publisher block size";
    PUBLISHES_EVENTS = "publishes_events", "publishes events";
    RANKS = "ranks", "ranks to choose from";
    RANKS_PUBLISHING = "ranks_publishing", "ranks that publish";
    READY_POD = "ready_pod", "ready pod";
    REJECTED_ON_KNOWN_BLOCKS = "rejected_on_known_blocks", "rejected stores that build on blocks stored while the router ran";
    RELEASE = "release", "release of {}";
    REMOVALS_WITHOUT_STORES = "removals_without_stores", "removals without stores";
    REMOVE_WARNINGS = "remove_warnings", "\"Failed to find block to remove\"";
    REPLICA_SYNC = "replica_sync", "replica sync";
    REQUESTS_ROUTED = "requests_routed", "requests routed";
    REQUESTS_TO = "requests_to", "requests to {}";
    ROUTERS = "routers", "routers";
    ROUTER_BLOCK_SIZE = "router_block_size", "router block size";
    ROUTER_START = "router_start", "router started";
    ROUTER_MODE = "router_mode", "router mode";
    ROUTER_TEMPERATURE = "router_temperature", "router temperature";
    SOURCE = "source", "source";
    STREAM_KEEPS = "stream_keeps", "time for which the stream keeps KV events";
    STORES_APPLIED = "stores_applied", "stores taken in by {}";
    STORE_EVENTS = "store_events", "store events";
    EVENT_PLANE = "event_plane", "routers' event plane";
    STORES_ON_CACHED_PREFIX = "stores_on_cached_prefix", "store events that continue a cached prefix";
    STORES_REJECTED = "stores_rejected", "stores rejected";
    STORES_REJECTED_FOR_PARENT = "stores_rejected_for_parent", "stores rejected because the parent block is unknown";
    TTFT_P50 = "ttft_p50", "TTFT p50";
    TTFT_P95 = "ttft_p95", "TTFT p95";
    WORKERS_BLOCK_SIZE = "workers_block_size", "workers' block size";
    WORKERS_IN_DISCOVERY = "workers_in_discovery", "workers in discovery";
    WORKERS_WITHOUT_EVENTS = "workers_without_events", "workers without a source of KV events";
    BLOCKS_OF = "blocks_of", "blocks of {}";
    REMOVALS_OF_UNKNOWN_BLOCKS = "removals_of_unknown_blocks", "removals of unknown blocks";
    LAST_EVENT = "last_event", "last event of {}";
    LAST_REQUEST = "last_request", "last request to {}";
    IN_DISCOVERY = "in_discovery", "{} in discovery";
    STORES_REJECTED_INVALID = "stores_rejected_invalid", "stores rejected as invalid or because the index was full";
    CARD_BLOCK_SIZE = "card_block_size", "card block size";
    IMPLAUSIBLE_BLOCK_SIZE = "implausible_block_size", "implausible block size, {}";
}

/// Returns the block size that one kind of process claims.
pub(super) const fn block_size(of: ClaimOf) -> Measure {
    match of {
        ClaimOf::Engine => ENGINE_BLOCK_SIZE,
        ClaimOf::Publisher => PUBLISHER_BLOCK_SIZE,
        ClaimOf::Card => CARD_BLOCK_SIZE,
        ClaimOf::Router => ROUTER_BLOCK_SIZE,
        ClaimOf::Declared => DECLARED_BLOCK_SIZE,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_in_json_stands_once() {
        let ids: BTreeSet<&str> = ALL.iter().map(|measure| measure.id).collect();
        assert_eq!(ids.len(), ALL.len());
    }
}
