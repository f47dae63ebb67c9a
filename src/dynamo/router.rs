//! The router: its modes and its words.

/// The mode that routes by cached blocks.
pub const KV: &str = "kv";

/// The mode that holds when none is set, or one that Dynamo does not know.
pub const ROUND_ROBIN: &str = "round-robin";

/// The `worker_type` in the log lines of a router of prefill workers (dynamo-kv-router 1.6.1, `scheduling::selector`).
pub const OF_PREFILL: &str = "prefill";

/// The values of `--router-mode`, of all releases; capitals matter. 0.9.0 has the first three
/// (`frontend/main.py`), 1.6.1 all (`common/configuration/groups/router_args.py`).
pub const MODES: [&str; 7] =
    [ROUND_ROBIN, "random", KV, "direct", "power-of-two", "least-loaded", "device-aware-weighted"];

/// The modes as model cards spell them, in the order of [`MODES`] (dynamo-runtime 1.6.1,
/// `pipeline/network/egress/push_router.rs`, `RouterMode`).
const CARD_MODES: [&str; 7] = [
    "round_robin",
    "random",
    "k_v",
    "direct",
    "power_of_two_choices",
    "least_loaded",
    "device_aware_weighted",
];

/// Returns the mode that a model card names, as `--router-mode` spells it.
pub fn mode_of_card(word: &str) -> Option<&'static str> {
    let known = CARD_MODES.iter().position(|it| *it == word)?;
    MODES.get(known).copied()
}
