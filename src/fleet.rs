//! Files that put kvtop into a cluster and its metrics to use: manifests, alert rules, dashboards, a Helm chart; and
//! the fleet view's rows, read back from those metrics.
//!
//! Made from the same tables as the program itself, so that they fit its version: alert rules from the rules of the
//! diagnosis, flags and metrics by their names. `kvtop deploy` prints them; `docs/deploy` holds what it prints.

mod alerts;
mod chart;
mod dashboards;
mod manifests;
pub mod rows;

pub use alerts::{CAPACITY, alert_name, capacity_alert, capacity_runbook, rules, runbook};
pub use chart::{ChartFile, chart};
pub use dashboards::{Dashboard, dashboard};
pub use manifests::{Monitor, Plan, manifests};

/// The port of the exporter in its pod.
pub const PORT: u16 = 9478;

/// Returns `text` as a scalar of YAML, in quotes that JSON shares.
fn quoted(text: &str) -> String {
    // A string always serializes.
    serde_json::to_string(text).unwrap_or_default()
}

/// Returns `text` with `by` blanks before each line that is not empty.
fn indented(text: &str, by: usize) -> String {
    let blanks = " ".repeat(by);
    let line = |line: &str| if line.is_empty() { "\n".into() } else { format!("{blanks}{line}\n") };
    text.lines().map(line).collect()
}
