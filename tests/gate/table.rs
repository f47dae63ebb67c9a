//! The table of the matrix in docs/DIAGNOSIS.md.

use std::collections::BTreeSet;
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
    /// True if the printed fix was applied and the deployment judged again.
    pub(super) is_applied: bool,
}

/// A fault on a plane.
pub(super) struct Row {
    pub(super) fault: &'static Fault,
    pub(super) plane: Plane,
    pub(super) cells: Vec<Cell>,
}

/// A cell that is known to be wrong: fault, plane, moment, and why.
type Miss = (&'static str, Plane, Moment, &'static str);

const MISSES: &[Miss] = &[];

/// Findings whose fix is a patch in the simulated deployment. A single faulty pod, as of KVT002, has a template that
/// is right, so its fix is a restart.
const APPLIED: [&str; 6] = ["KVT001", "KVT003", "KVT005", "KVT006", "KVT017", "KVT018"];

const BEGIN: &str = "<!-- moments: begin -->";
const END: &str = "<!-- moments: end -->";

/// Returns the wrong cells that are not known, and the known ones that are right.
pub(super) fn failures(rows: &[Row]) -> String {
    let mut failures = String::new();
    for row in rows {
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
    failures
}

/// Fails for wrong cells, and compares the rest with the page.
pub(super) fn judge(mut rows: Vec<Row>) {
    let order = |row: &Row| super::FAULTS.iter().position(|fault| fault.name == row.fault.name);
    rows.sort_by_key(|row| (order(row), row.plane));
    let failures = failures(&rows);
    assert!(failures.is_empty(), "{}\n{failures}", drawn(&rows));
    let applied = rows.iter().filter(|row| row.cells.iter().any(|cell| cell.is_applied));
    let applied: BTreeSet<&str> = applied.map(|row| row.fault.id).collect();
    assert_eq!(applied, BTreeSet::from(APPLIED), "findings whose fix was applied");
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
