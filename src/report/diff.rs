//! `kvtop diff`: two states of a deployment, side by side. Both are compared as the JSON contract shows them, so that
//! a recording, a live snapshot and a file from last week are told apart by nothing but their contents.

mod figures;
mod findings;
mod rows;
mod settings;
mod state;
mod text;
mod workers;

use schemars::JsonSchema;
use serde::Serialize;

pub use state::{BadState, State};

use self::findings::FindingChange;
use self::rows::{Row, RowState};
use super::json::CONTRACT;
use crate::snapshot::Snapshot;

/// The origin of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A moment of a recording.
    Recording,
    /// A file of `kvtop snapshot -o json` or `kvtop check -o json`.
    Snapshot,
}

/// A state with its origin.
#[derive(Debug)]
pub struct Side {
    /// The name of the file.
    pub name: String,
    /// The origin.
    pub kind: Kind,
    /// The state.
    pub state: State,
}

impl Side {
    /// Returns a moment of a recording.
    pub fn recorded(name: String, snapshot: &Snapshot) -> Self {
        let json = super::json::snapshot(snapshot);
        // The JSON was written by this process, so it can be read.
        let state = State::parse(json.as_bytes()).unwrap_or_default();
        Self { name, kind: Kind::Recording, state }
    }
}

/// Two states, compared.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diff {
    contract: u32,
    kvtop: &'static str,
    a: Head,
    b: Head,
    /// True when nothing differs and nothing is known on one side only.
    same: bool,
    counts: Counts,
    findings: Vec<FindingChange>,
    rows: Vec<Row>,
    /// Reasons why parts are missing or too low on one side, in sentences.
    lacking: Vec<String>,
}

/// One side.
#[derive(Debug, Serialize, JsonSchema)]
struct Head {
    file: String,
    kind: Kind,
    at: String,
    kvtop: String,
    target: Option<String>,
}

/// Number of rows and findings by state.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
struct Counts {
    same: usize,
    changed: usize,
    /// Known on one side only.
    unknown: usize,
}

impl Diff {
    /// Compares two states.
    pub fn new(a: &Side, b: &Side) -> Self {
        let mut rows = figures::rows(&a.state, &b.state);
        rows.extend(settings::rows(&a.state, &b.state));
        rows.extend(workers::rows(&a.state, &b.state));
        rows.sort_by_key(|row| row.section);
        let findings = findings::changes(&a.state, &b.state);
        let mut counts = Counts::default();
        for row in &rows {
            *counts.of(row.state) += 1;
        }
        for change in &findings {
            *counts.of(change.state.row()) += 1;
        }
        let mut lacking = Vec::new();
        for (label, side) in [("A", a), ("B", b)] {
            lacking.extend(side.state.lacking().into_iter().map(|why| format!("{label}: {why}")));
        }
        Self {
            contract: CONTRACT,
            kvtop: env!("CARGO_PKG_VERSION"),
            a: Head::new(a),
            b: Head::new(b),
            same: counts.changed + counts.unknown == 0,
            counts,
            findings,
            rows,
            lacking,
        }
    }

    /// Returns true when nothing differs and nothing is known on one side only.
    pub fn is_same(&self) -> bool {
        self.same
    }

    /// Returns the contract's JSON, indented.
    pub fn json(&self) -> String {
        // Strings, numbers and lists always serialize.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns the differences as aligned text.
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// Returns the differences as Markdown.
    pub fn markdown(&self) -> String {
        text::markdown(self)
    }
}

impl Counts {
    fn of(&mut self, state: RowState) -> &mut usize {
        match state {
            RowState::Same => &mut self.same,
            RowState::Changed => &mut self.changed,
            RowState::OnlyA | RowState::OnlyB => &mut self.unknown,
        }
    }
}

impl Head {
    fn new(side: &Side) -> Self {
        let state = &side.state;
        let target = state.target.as_ref().filter(|_| side.kind == Kind::Snapshot);
        Self {
            file: super::plain_text(&side.name),
            kind: side.kind,
            at: state.at.clone(),
            kvtop: state.kvtop.clone(),
            // A recording is named by its file, not by its deployment.
            target: target.map(|target| target.name.clone()),
        }
    }
}
