//! The table of tools: names, arguments, and schemas of arguments and answers.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::json;

use super::tools::Kind;
use crate::report::{self, Output};

/// An argument: name, JSON type and meaning.
pub(super) type Argument = (&'static str, &'static str, &'static str);

const FILE: Argument =
    ("file", "string", "A recording to read instead of the live deployment, by its path");
const AT: Argument = (
    "at",
    "string",
    "Moment of the recording: after its beginning (30s) or before its end (-3m); its end by default",
);
const LIMIT: Argument = ("limit", "integer", "Most entries, up to 200; 40 by default");

/// A row of the table: name, description, arguments, and those that are needed.
pub(super) type Spec =
    (Kind, &'static str, &'static str, &'static [Argument], &'static [&'static str]);

/// The tools.
const TOOLS: &[Spec] = &[
    (
        Kind::Check,
        "check",
        "Status of the deployment (OK, WARNING, CRITICAL or UNKNOWN), findings with evidence and fix, and the verdict \
         of every check. The JSON of `kvtop check -o json`.",
        &[FILE, AT],
        &[],
    ),
    (
        Kind::Snapshot,
        "snapshot",
        "Figures, settings, sources, findings and workers. The JSON of `kvtop snapshot -o json`; choose `parts` to keep \
         it short.",
        &[
            FILE,
            AT,
            (
                "parts",
                "array",
                "Top-level fields to return, such as workers, router, tree, claims, sources, hits, pods; all by default",
            ),
        ],
        &[],
    ),
    (
        Kind::Curve,
        "curve",
        "The capacity curve: the share of stored blocks that a KV cache of 1.25 to 3 times the size would have avoided, \
         with margins. Null while too little is known.",
        &[FILE, AT],
        &[],
    ),
    (
        Kind::Decisions,
        "decisions",
        "The last routing decisions that routers logged: the worker chosen, cached blocks, cost, and every worker's \
         terms where the log has them.",
        &[FILE, AT, LIMIT],
        &[],
    ),
    (
        Kind::Tree,
        "tree",
        "The prefix tree of cached blocks, hottest prefixes first: blocks, ranks that hold them, stores and requests \
         per minute. `find` looks for a block by a part of its hash.",
        &[
            FILE,
            AT,
            LIMIT,
            ("worker", "string", "Id of a worker whose blocks alone are shown"),
            ("find", "string", "Part of a block hash in hexadecimal"),
        ],
        &[],
    ),
    (
        Kind::Plan,
        "plan",
        "What would help: simulates the deployment with other workers, caches, routing or block sizes, and answers with \
         ranges of cache hits, TTFT, tokens/s and the most users that the objective allows, beside the present, with \
         inputs and their basis. Takes up to some minutes. Estimates, no measurements; `impossible` says why there is no \
         plan. The JSON of `kvtop plan -o json`.",
        &[
            FILE,
            AT,
            (
                "questions",
                "array",
                "workers, cache, weight, temperature, mode, block-size, now; workers, cache and mode by default",
            ),
            (
                "drain",
                "string",
                "A worker whose drain is a question too: its pod, or its short name such as w0",
            ),
            (
                "users",
                "integer",
                "Conversations at once, where nothing reports the requests in flight",
            ),
        ],
        &[],
    ),
    (
        Kind::Diff,
        "diff",
        "What differs between two recordings or snapshot files: findings, settings, figures, workers. The JSON of \
         `kvtop diff -o json`.",
        &[
            ("a", "string", "Path of a recording or of a file of kvtop snapshot -o json"),
            ("b", "string", "The other one, likewise"),
            ("at_a", "string", "Moment of recording a, such as 30s or -3m"),
            ("at_b", "string", "Moment of recording b"),
        ],
        &["a", "b"],
    ),
    (
        Kind::Explain,
        "explain",
        "What a finding means, how it is detected and how it is fixed. Without an id: the list of findings.",
        &[("finding", "string", "Id or name, such as KVT001 or block-size-mismatch")],
        &[],
    ),
    (
        Kind::Lint,
        "lint",
        "Faults in manifests and engine configurations before they are deployed. The JSON of `kvtop lint -o json`.",
        &[(
            "files",
            "array",
            "Paths of manifests or directories; directories are read recursively",
        )],
        &["files"],
    ),
];

/// A known tool.
pub(super) struct Known(pub(super) &'static Spec);

/// Returns the tools, as a client lists them.
pub(super) fn all() -> Vec<Tool> {
    let tool = |(kind, name, about, arguments, needed): &Spec| {
        let mut fields = JsonObject::new();
        for (name, kind, about) in *arguments {
            let mut field = json!({ "type": kind, "description": about });
            if *kind == "array" {
                field["items"] = json!({ "type": "string" });
            }
            fields.insert((*name).to_owned(), field);
        }
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), fields.into());
        schema.insert("required".to_owned(), json!(needed));
        schema.insert("additionalProperties".to_owned(), false.into());
        let hints = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
        let tool = Tool::new(*name, *about, schema).with_annotations(hints);
        match answered(*kind) {
            Some(schema) => tool.with_raw_output_schema(Arc::new(schema)),
            None => tool,
        }
    };
    TOOLS.iter().map(tool).collect()
}

pub(super) fn find(name: &str) -> Result<Known, String> {
    let names = || TOOLS.iter().map(|tool| tool.1).collect::<Vec<_>>().join(", ");
    let found = TOOLS.iter().find(|tool| tool.1 == name);
    found.map(Known).ok_or_else(|| format!("unknown tool; known tools: {}", names()))
}

/// Returns the schema of a tool's answer; none for text. Parts of a snapshot can be chosen, and an answer that is too long
/// lacks parts, so that no field is required.
fn answered(kind: Kind) -> Option<JsonObject> {
    let output = match kind {
        Kind::Check => Output::Check,
        Kind::Curve => Output::Curve,
        Kind::Decisions => Output::Decisions,
        Kind::Tree => Output::Tree,
        Kind::Plan => Output::Plan,
        Kind::Diff => Output::Diff,
        Kind::Lint => Output::Lint,
        // Its schema is several times as long as the others, and a resource.
        Kind::Snapshot | Kind::Explain => return None,
    };
    let mut schema: JsonObject = serde_json::from_str(&report::schema(output)).unwrap_or_default();
    schema.remove("required");
    Some(schema)
}
