//! Output of `kvtop check -A`: one line for each deployment, or JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Report, Status, active, line, text, wide};
use crate::domain::Timestamp;
use crate::report::json::CONTRACT;
use crate::report::rfc3339;
use crate::snapshot::Snapshot;

/// A deployment of several that were checked.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Its Kubernetes namespace.
    pub namespace: String,
    /// Its graph deployment or Dynamo namespace; none for a namespace as a whole.
    pub name: Option<String>,
    /// Its picture, or why there is none.
    pub outcome: Result<Box<Snapshot>, String>,
}

impl Checked {
    fn status(&self) -> Status {
        self.outcome.as_ref().map_or(Status::Unknown, |snapshot| Status::new(snapshot))
    }

    /// Returns its name among the others.
    fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("{}/{name}", self.namespace),
            None => self.namespace.clone(),
        }
    }
}

/// Returns the status of all: the worst, where critical outranks unknown, and unknown outranks a warning. It is
/// unknown at best when some deployments were `unseen`, or there is none.
pub fn worst(all: &[Checked], unseen: bool) -> Status {
    let has = |status| all.iter().any(|checked| checked.status() == status);
    if has(Status::Critical) {
        Status::Critical
    } else if unseen || all.is_empty() || has(Status::Unknown) {
        Status::Unknown
    } else if has(Status::Warning) {
        Status::Warning
    } else {
        Status::Ok
    }
}

/// Returns the line of all, then that of each deployment, the worst first; with `more`, each with its findings and
/// checks.
pub fn fleet_text(all: &[Checked], status: Status, more: bool) -> String {
    let order = [Status::Critical, Status::Unknown, Status::Warning, Status::Ok];
    let count = |status| all.iter().filter(|checked| checked.status() == status).count();
    let counts: Vec<String> = order
        .into_iter()
        .filter(|status| count(*status) > 0)
        .map(|status| format!("{} {}", count(status), status.name()))
        .collect();
    let noun = if all.len() == 1 { "deployment" } else { "deployments" };
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let figures = order.map(|it| format!("{}={}", it.name().to_lowercase(), count(it))).join(" ");
    let mut lines =
        vec![format!("KVTOP {} - {} {noun}{counts} | {figures}\n", status.name(), all.len())];
    for status in order {
        for checked in all.iter().filter(|checked| checked.status() == status) {
            let said = match &checked.outcome {
                Ok(snapshot) if more => wide(snapshot),
                Ok(snapshot) => text(snapshot),
                Err(why) => format!("KVTOP {} - {}\n", status.name(), line(why)),
            };
            lines.push(format!("{}: {said}", line(&checked.title())));
        }
    }
    lines.concat()
}

/// Returns the active findings, one a line, each behind its deployment.
pub fn fleet_names(all: &[Checked]) -> String {
    let of = |checked: &Checked| {
        let title = line(&checked.title());
        let ids: Vec<&str> = match &checked.outcome {
            Ok(snapshot) => active(snapshot).map(|finding| finding.id).collect(),
            Err(_) => Vec::new(),
        };
        ids.into_iter().fold(String::new(), |text, id| text + &title + " " + id + "\n")
    };
    all.iter().map(of).collect()
}

/// Returns the contract's JSON for all.
pub fn fleet_json(all: &[Checked], status: Status, at: Timestamp) -> String {
    let member = |checked| Member::new(checked, at);
    let report = FleetReport {
        contract: CONTRACT,
        kvtop: env!("CARGO_PKG_VERSION"),
        at: rfc3339(at),
        status: status.name(),
        exit: status.exit(),
        deployments: all.iter().map(member).collect(),
    };
    // Strings, numbers, lists and maps with string keys always serialize.
    serde_json::to_string_pretty(&report).unwrap_or_default()
}

/// The JSON of several deployments.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct FleetReport<'a> {
    contract: u32,
    kvtop: &'static str,
    at: String,
    status: &'static str,
    exit: u8,
    deployments: Vec<Member<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Member<'a> {
    namespace: &'a str,
    /// Graph deployment or Dynamo namespace.
    name: Option<&'a str>,
    report: Report<'a>,
}

impl<'a> Member<'a> {
    fn new(checked: &'a Checked, at: Timestamp) -> Self {
        Self {
            namespace: &checked.namespace,
            name: checked.name.as_deref(),
            report: match &checked.outcome {
                Ok(snapshot) => Report::new(snapshot),
                Err(why) => Report::failed(why, at),
            },
        }
    }
}
