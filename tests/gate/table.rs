//! The table of the matrix in docs/DIAGNOSIS.md.

use std::fmt::Write as _;
use std::path::Path;

use super::faults::Fault;
use super::play::{Moment, Plane};
use crate::support::bless;

/// What was said at one moment.
pub(super) struct Cell {
    pub(super) said: String,
    /// What is wrong with it.
    pub(super) wrong: Vec<String>,
}

/// A fault on a plane.
pub(super) struct Row {
    pub(super) fault: &'static Fault,
    pub(super) plane: Plane,
    pub(super) cells: Vec<Cell>,
}

/// A cell that is known to be wrong: fault, plane, moment, and why.
type Miss = (&'static str, Plane, Moment, &'static str);

const BEFORE: &str =
    "requests of before the fault, which found their prefixes, count for five minutes";

const MISSES: &[Miss] = &[
    (
        "what is cached weighs a tenth",
        Plane::Jetstream,
        Moment::Late,
        "by then every worker caches the ten passages, and the share that the router gives away is below the \
         threshold",
    ),
    ("what is cached weighs a tenth", Plane::Jetstream, Moment::Watching, BEFORE),
    ("router hashes otherwise, sizes agree", Plane::Jetstream, Moment::Watching, BEFORE),
    ("router hashes otherwise, sizes agree", Plane::Core, Moment::Watching, BEFORE),
    ("router hashes otherwise, sizes agree", Plane::Zmq, Moment::Watching, BEFORE),
    (
        "workers of two sizes",
        Plane::Zmq,
        Moment::Cured,
        "while pods restart, settings of the old and the new pods are compared",
    ),
    (
        "conversations overload one worker at a time",
        Plane::Jetstream,
        Moment::Late,
        "overload comes in bursts, and none was found in these forty seconds",
    ),
];

const BEGIN: &str = "<!-- moments: begin -->";
const END: &str = "<!-- moments: end -->";

/// Fails for wrong cells that are not known, and compares the rest with the page.
pub(super) fn judge(mut rows: Vec<Row>) {
    let order = |row: &Row| super::FAULTS.iter().position(|fault| fault.name == row.fault.name);
    rows.sort_by_key(|row| (order(row), row.plane));
    let mut failures = String::new();
    for row in &rows {
        for (cell, moment) in row.cells.iter().zip(Moment::ALL) {
            let known = MISSES.iter().any(|(name, plane, at, _)| {
                *name == row.fault.name && *plane == row.plane && *at == moment
            });
            if known == cell.wrong.is_empty() {
                let (name, plane) = (row.fault.name, row.plane.name());
                let why = cell.wrong.join("\n    ");
                writeln!(failures, "{name}, {plane}, {}: {}\n    {why}", moment.name(), cell.said)
                    .unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{failures}", drawn(&rows));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DIAGNOSIS.md");
    let known = std::fs::read_to_string(file).unwrap();
    let (before, rest) = known.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let page = format!("{before}{BEGIN}\n{}{END}{after}", drawn(&rows));
    bless::page("docs/DIAGNOSIS.md", &page);
}

fn drawn(rows: &[Row]) -> String {
    let mut text = String::from("| fault | plane |");
    for moment in Moment::ALL {
        write!(text, " {} |", moment.name()).unwrap();
    }
    writeln!(text, "\n|{}", "--|".repeat(Moment::ALL.len() + 2)).unwrap();
    for row in rows {
        write!(text, "| {} | {} |", row.fault.name, row.plane.name()).unwrap();
        for cell in &row.cells {
            let mark = if cell.wrong.is_empty() { "" } else { "**" };
            write!(text, " {mark}{}{mark} |", cell.said).unwrap();
        }
        text.push('\n');
    }
    text.push_str("\nWhere a cell says `unknown` while something is wrong, the check names the missing data:\n\n");
    for fault in super::FAULTS.iter().filter(|fault| !fault.why.is_empty()) {
        writeln!(text, "- {} ({}): {}.", fault.name, fault.id, fault.why).unwrap();
    }
    text.push_str("\nMisses:");
    text.push_str(if MISSES.is_empty() { " none.\n" } else { "\n\n" });
    for (fault, plane, moment, why) in MISSES {
        writeln!(text, "- {fault}, {}, {}: {why}.", plane.name(), moment.name()).unwrap();
    }
    text
}
