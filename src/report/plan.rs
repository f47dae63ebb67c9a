//! `kvtop plan`: the answers as JSON and as a table.

mod decisions;
mod table;

use schemars::JsonSchema;
use serde::Serialize;

use super::json::{CONTRACT, Target};
use super::rfc3339;
use crate::plan::{Cell, Change, Plan, Rescored, Row};
use crate::snapshot::Snapshot;

pub use decisions::decisions;
pub use table::text;

/// A plan, or the reason why there is none.
#[derive(Serialize, JsonSchema)]
pub(super) struct Report<'a> {
    contract: u32,
    kvtop: &'static str,
    at: String,
    target: Target<'a>,
    /// Always true: every number of `answers` is the result of a simulation.
    simulated: bool,
    /// The reason why there is no plan; null where there is one.
    impossible: Option<&'a str>,
    seeds: &'a [u64],
    warm_up_seconds: Option<f64>,
    measured_seconds: Option<f64>,
    objective_ttft_p95: Option<f64>,
    conversations: Option<u64>,
    inputs: Vec<Input<'a>>,
    checks: Vec<Check>,
    answers: Vec<Answer<'a>>,
    /// Null where no routing decision was seen.
    decisions: Option<decisions::Decisions>,
}

/// An input of the simulation.
#[derive(Serialize, JsonSchema)]
struct Input<'a> {
    name: &'static str,
    value: f64,
    unit: &'static str,
    /// `observed`, `fitted` or `assumed`.
    basis: &'static str,
    from: &'a str,
}

/// An observed figure beside the simulated one.
#[derive(Serialize, JsonSchema)]
struct Check {
    name: &'static str,
    unit: &'static str,
    observed: f64,
    simulated: Range,
    deviation: f64,
    fitted: bool,
}

/// A change with its figures; the first is the present.
#[derive(Serialize, JsonSchema)]
struct Answer<'a> {
    /// `now`, `same_block_sizes`, `workers`, `cache`, `weight`, `temperature`, `mode`, `block_size` or `drain`.
    change: &'static str,
    value: Option<f64>,
    mode: Option<&'static str>,
    drained: Option<&'a str>,
    summary: String,
    workers: u64,
    cached_share: Range,
    ttft_p50: Range,
    ttft_p95: Range,
    output_tokens_per_second: Range,
    /// Most conversations at once for which 95 % of first tokens keep the objective.
    ceiling: Option<Range>,
    ceiling_is_at_least: bool,
    /// Share of the time in which the batch of some worker was full.
    batch_full: Range,
}

/// The lowest and the highest value over all seeds. `against_now` is `present`, `within_spread` or `outside_spread`.
#[derive(Serialize, JsonSchema)]
struct Range {
    low: f64,
    mean: f64,
    high: f64,
    difference: f64,
    against_now: &'static str,
}

impl From<&Cell> for Range {
    fn from(cell: &Cell) -> Self {
        Self {
            low: cell.low,
            mean: cell.mean,
            high: cell.high,
            difference: cell.difference,
            against_now: cell.marked.name(),
        }
    }
}

/// Returns the JSON of a plan for `snapshot`.
pub fn json(plan: &Plan, snapshot: &Snapshot, rescored: &Rescored) -> String {
    let report = Report {
        contract: CONTRACT,
        kvtop: env!("CARGO_PKG_VERSION"),
        at: rfc3339(snapshot.at),
        target: Target::new(snapshot),
        simulated: true,
        impossible: None,
        seeds: &plan.seeds,
        warm_up_seconds: Some(plan.length.warm_up.as_secs_f64()),
        measured_seconds: Some(plan.length.measured.as_secs_f64()),
        objective_ttft_p95: Some(plan.objective.as_secs_f64()),
        conversations: Some(plan.users as u64),
        inputs: plan.inputs.iter().map(Input::new).collect(),
        checks: plan.checks.iter().map(Check::new).collect(),
        answers: plan.rows.iter().map(Answer::new).collect(),
        decisions: decisions::Decisions::new(rescored),
    };
    written(&report)
}

/// Returns the JSON where no plan can be made.
pub fn json_impossible(why: &str, snapshot: &Snapshot, rescored: &Rescored) -> String {
    let report = Report {
        contract: CONTRACT,
        kvtop: env!("CARGO_PKG_VERSION"),
        at: rfc3339(snapshot.at),
        target: Target::new(snapshot),
        simulated: true,
        impossible: Some(why),
        seeds: &[],
        warm_up_seconds: None,
        measured_seconds: None,
        objective_ttft_p95: None,
        conversations: None,
        inputs: Vec::new(),
        checks: Vec::new(),
        answers: Vec::new(),
        decisions: decisions::Decisions::new(rescored),
    };
    written(&report)
}

fn written(report: &Report<'_>) -> String {
    // Strings, numbers and lists always serialize.
    serde_json::to_string_pretty(report).unwrap_or_default()
}

impl<'a> Input<'a> {
    fn new(input: &'a crate::plan::Input) -> Self {
        Self {
            name: input.name,
            value: input.value,
            unit: input.unit,
            basis: input.basis.name(),
            from: &input.from,
        }
    }
}

impl Check {
    fn new(check: &crate::plan::Check) -> Self {
        Self {
            name: check.name,
            unit: check.unit,
            observed: check.observed,
            simulated: Range::from(&check.simulated),
            deviation: check.deviation(),
            fitted: check.fitted,
        }
    }
}

impl<'a> Answer<'a> {
    fn new(row: &'a Row) -> Self {
        let (change, value) = kind(row.change);
        Self {
            change,
            value,
            mode: match row.change {
                Change::Mode(mode) => Some(mode.name()),
                _ => None,
            },
            drained: row.drained.as_deref(),
            summary: row.summary(),
            workers: row.workers as u64,
            cached_share: Range::from(&row.hits),
            ttft_p50: Range::from(&row.ttft_p50),
            ttft_p95: Range::from(&row.ttft_p95),
            output_tokens_per_second: Range::from(&row.tokens),
            ceiling: row.ceiling.as_ref().map(Range::from),
            ceiling_is_at_least: row.ceiling_at_least,
            batch_full: Range::from(&row.full),
        }
    }
}

/// Returns the name of a change in reports, and its number.
fn kind(change: Change) -> (&'static str, Option<f64>) {
    match change {
        Change::Now => ("now", None),
        Change::SameSizes(size) => ("same_block_sizes", Some(f64::from(size))),
        Change::Workers(by) => ("workers", Some(by as f64)),
        Change::Cache(by) => ("cache", Some(by)),
        Change::Weight(weight) => ("weight", Some(weight)),
        Change::Temperature(temperature) => ("temperature", Some(temperature)),
        Change::Mode(_) => ("mode", None),
        Change::BlockSize(size) => ("block_size", Some(f64::from(size))),
        Change::Drain(_) => ("drain", None),
    }
}
