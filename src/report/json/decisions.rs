//! Routing decisions, as routers logged them. Ids of requests are left out.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::rfc3339;
use crate::snapshot::{DecisionRow, Snapshot, TermRow};

/// The last decisions.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Decisions<'a> {
    at: String,
    /// False where no router's log is read, so that there may be decisions all the same.
    logs_read: bool,
    #[serde(rename = "decisions")]
    last: Vec<Decision<'a>>,
}

/// One decision; `null` is what its log line does not say.
#[derive(Serialize, JsonSchema)]
struct Decision<'a> {
    at: String,
    router: &'a str,
    worker: String,
    dp_rank: Option<u32>,
    alias: &'a str,
    cost: Option<f64>,
    cached_blocks: Option<f64>,
    tree_size: Option<u64>,
    prompt_blocks: Option<u64>,
    prompt_tokens: Option<u64>,
    terms: Vec<Term<'a>>,
}

/// The cost of one candidate.
#[derive(Serialize, JsonSchema)]
struct Term<'a> {
    worker: String,
    dp_rank: u32,
    alias: &'a str,
    cost: f64,
    weight: f64,
    prefill_blocks: f64,
    decode_blocks: f64,
    cached_blocks: f64,
}

/// Returns the last decisions as JSON, the newest first.
pub fn decisions(snapshot: &Snapshot) -> String {
    let all = Decisions {
        at: rfc3339(snapshot.at),
        logs_read: snapshot.router.tells_of_requests(),
        last: snapshot.decisions.iter().rev().map(Decision::new).collect(),
    };
    serde_json::to_string_pretty(&all).unwrap_or_default()
}

impl<'a> Decision<'a> {
    fn new(row: &'a DecisionRow) -> Self {
        Self {
            at: rfc3339(row.at),
            router: &row.router,
            worker: row.worker.to_string(),
            dp_rank: row.dp_rank.map(|rank| rank.0),
            alias: &row.alias,
            cost: row.logit,
            cached_blocks: row.cached_blocks,
            tree_size: row.tree_size,
            prompt_blocks: row.prompt_blocks,
            prompt_tokens: row.prompt_tokens,
            terms: row.terms.iter().map(Term::new).collect(),
        }
    }
}

impl<'a> Term<'a> {
    fn new(row: &'a TermRow) -> Self {
        Self {
            worker: row.rank.worker.to_string(),
            dp_rank: row.rank.dp_rank.0,
            alias: &row.alias,
            cost: row.logit,
            weight: row.weight,
            prefill_blocks: row.prefill_blocks,
            decode_blocks: row.decode_blocks,
            cached_blocks: row.cached_blocks,
        }
    }
}
