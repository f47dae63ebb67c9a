//! The router: its modes and its words.

/// The mode that routes by cached blocks.
pub const KV: &str = "kv";

/// The mode that holds when none is set, or one that Dynamo does not know.
pub const ROUND_ROBIN: &str = "round-robin";

/// The values of `--router-mode`, of all releases; capitals matter. 0.9.0 has the first three
/// (`frontend/main.py`), 1.6.1 all (`common/configuration/groups/router_args.py`).
pub const MODES: [&str; 7] =
    [ROUND_ROBIN, "random", KV, "direct", "power-of-two", "least-loaded", "device-aware-weighted"];
