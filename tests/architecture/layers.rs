//! The table: who may name what.

/// One layer, or one room of a layer (`run/terminal`).
pub(super) struct Layer {
    /// Its module, from the crate's root, with `/` in between.
    pub(super) name: &'static str,
    /// Other layers it may import.
    pub(super) layers: &'static [&'static str],
    /// External crates it may name.
    pub(super) crates: &'static [&'static str],
    /// Guarded parts of the standard library that it may name: modules or items.
    pub(super) std: &'static [&'static str],
    /// Layers and crates that only its unit tests name.
    pub(super) in_tests: &'static [&'static str],
}

/// Everything is allowed.
pub(super) const ANY: &[&str] = &["*"];

/// Nothing that waits, shares, reads a clock or touches the machine.
pub(super) const CORE_STD: &[&str] = &[];

pub(super) const LAYERS: &[Layer] = &[
    Layer { name: "domain", layers: &[], crates: &[], std: CORE_STD, in_tests: &[] },
    Layer { name: "dynamo", layers: &["domain"], crates: &[], std: CORE_STD, in_tests: &[] },
    Layer {
        name: "clock",
        layers: &["domain"],
        crates: &[],
        std: &["time::SystemTime", "time::UNIX_EPOCH"],
        in_tests: &[],
    },
    Layer { name: "frame", layers: &["domain"], crates: &["bytes"], std: CORE_STD, in_tests: &[] },
    Layer {
        name: "simulator",
        // Of `wire` only the encoders.
        layers: &["domain", "dynamo", "frame", "wire"],
        crates: &["serde_json", "xxhash_rust"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "source",
        // Of `wire` only the encoder of health notes, and the functions that remove text from log lines and
        // scrapes (`kept_of_…`).
        layers: &["domain", "dynamo", "clock", "frame", "simulator", "wire"],
        crates: &[
            "async_nats",
            "base64",
            "bytes",
            "futures_util",
            "http",
            "http_body_util",
            "hyper",
            "hyper_util",
            "jiff",
            "kube",
            "serde",
            "serde_json",
            "tokio",
            "tokio_tungstenite",
            "xxhash_rust",
        ],
        std: &[
            "env",
            "fs",
            "os",
            "sync::Mutex",
            "sync::PoisonError",
            "sync::atomic",
            "thread",
            "time::UNIX_EPOCH",
        ],
        in_tests: &[],
    },
    Layer {
        name: "record",
        layers: &["domain", "frame"],
        crates: &["base64", "bytes", "flate2", "serde", "serde_json", "zstd"],
        std: &["fs", "os"],
        in_tests: &[],
    },
    Layer {
        name: "wire",
        layers: &["domain", "dynamo", "frame"],
        crates: &["bytes", "jiff", "serde", "serde_json", "serde_saphyr", "wide", "xxhash_rust"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "mirror",
        layers: &["domain"],
        crates: &["prefetch_index", "wide"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer { name: "metrics", layers: &["domain"], crates: &[], std: CORE_STD, in_tests: &[] },
    Layer {
        name: "model",
        layers: &["domain", "dynamo"],
        crates: &[],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "attach",
        layers: &["domain", "dynamo", "model"],
        crates: &[],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "diagnose",
        layers: &["domain", "dynamo", "model"],
        crates: &["serde", "serde_json", "serde_saphyr"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "lint",
        layers: &["domain", "dynamo", "frame", "wire", "model", "diagnose"],
        crates: &["serde", "serde_json", "serde_saphyr"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer { name: "snapshot", layers: &["domain"], crates: &[], std: CORE_STD, in_tests: &[] },
    Layer {
        name: "engine",
        layers: &[
            "domain", "dynamo", "frame", "wire", "mirror", "metrics", "model", "diagnose",
            "snapshot",
        ],
        crates: &[],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "plan",
        layers: &["domain", "simulator", "snapshot"],
        crates: &[],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "report",
        layers: &["domain", "dynamo", "snapshot", "lint", "plan"],
        crates: &["jiff", "prometheus_client", "schemars", "serde", "serde_json"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "fleet",
        layers: &["diagnose", "domain", "snapshot"],
        crates: &["serde_json"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "tui",
        layers: &["domain", "dynamo", "plan", "snapshot"],
        crates: &["ratatui", "crossterm", "serde", "strsim", "toml", "tui_tree_widget"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer { name: "cli", layers: &[], crates: &["clap", "jiff"], std: CORE_STD, in_tests: &[] },
    Layer {
        name: "config",
        layers: &["domain", "cli"],
        crates: &["serde_json", "strsim", "toml"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer { name: "exit", layers: &[], crates: &[], std: CORE_STD, in_tests: &[] },
    Layer {
        name: "draw",
        layers: &["domain", "engine", "report", "snapshot", "tui"],
        crates: &["ratatui"],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "player",
        layers: &["cli", "diagnose", "domain", "engine", "frame", "record", "snapshot", "wire"],
        crates: &[],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer {
        name: "doctor",
        // Of `source` only the rights that the API server granted.
        layers: &["attach", "domain", "dynamo", "report", "snapshot", "source", "wire"],
        crates: &[],
        std: CORE_STD,
        in_tests: &[],
    },
    Layer { name: "run", layers: ANY, crates: ANY, std: ANY, in_tests: &[] },
];
