//! The table of the story: step, face, fresh or watching, verdict, seconds.

use crate::support::bless;
use std::fmt::Write as _;
use std::path::Path;

/// What one face said at one step.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) step: &'static str,
    pub(super) face: &'static str,
    /// `fresh` or `watching`.
    pub(super) view: &'static str,
    pub(super) verdict: String,
    /// From the attach or the change until the verdict was there.
    pub(super) seconds: f64,
    /// What is wrong with it.
    pub(super) wrong: Vec<String>,
}

impl Row {
    /// Adds a complaint unless `fine`.
    pub(super) fn expect(&mut self, fine: bool, complaint: impl Into<String>) {
        if !fine {
            self.wrong.push(complaint.into());
        }
    }
}

const BEGIN: &str = "<!-- story: begin -->";
const END: &str = "<!-- story: end -->";

/// Prints the rows, fails for wrong ones, and compares the verdicts with the table in docs/DIAGNOSIS.md, which
/// `tests/bless` writes.
#[expect(clippy::print_stderr, reason = "the seconds are for people")]
pub(super) fn judge(rows: &[Row]) {
    let mut failures = String::new();
    for row in rows {
        let state = if row.wrong.is_empty() { "right" } else { "WRONG" };
        let Row { step, face, view, verdict, seconds, wrong } = row;
        let line = format!("{step} {face} {view}: {verdict} ({seconds:.1} s) {state}");
        eprintln!("{line}");
        if !wrong.is_empty() {
            writeln!(failures, "{line}\n    {}", wrong.join("\n    ")).unwrap();
        }
    }
    assert!(failures.is_empty(), "wrong at these steps:\n{failures}");
    compare(rows);
}

fn compare(rows: &[Row]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DIAGNOSIS.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let Some((before, rest)) = text.split_once(BEGIN) else { return };
    let (old, after) = rest.split_once(END).unwrap();
    if bless::wanted() {
        let table = drawn(rows);
        std::fs::write(&path, format!("{before}{BEGIN}\n{table}{END}{after}")).unwrap();
        return;
    }
    for row in rows {
        let start = format!("| {} | {} | {} | {} |", row.step, row.face, row.view, row.verdict);
        assert!(
            old.lines().any(|line| line.starts_with(&start)),
            "docs/DIAGNOSIS.md has no row `{start}`: look at the difference and bless it"
        );
    }
}

fn drawn(rows: &[Row]) -> String {
    let mut text =
        String::from("| step | face | attached | verdict | seconds |\n|--|--|--|--|--|\n");
    for row in rows {
        let Row { step, face, view, verdict, seconds, .. } = row;
        writeln!(text, "| {step} | {face} | {view} | {verdict} | {seconds:.1} |").unwrap();
    }
    text
}
