//! The table of the story: step, face, fresh or watching, verdict, seconds.

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

    fn key(&self) -> (&'static str, &'static str, &'static str) {
        (self.step, self.face, self.view)
    }
}

const BEGIN: &str = "<!-- story: begin -->";
const END: &str = "<!-- story: end -->";

/// Prints the rows, fails for wrong ones that are not `open`, and compares the verdicts with the table in
/// docs/DIAGNOSIS.md, which `KVTOP_BLESS` writes.
#[expect(clippy::print_stderr, reason = "the rows that are not asserted are for people")]
pub(super) fn judge(rows: &[Row], open: &[(&str, &str, &str)]) {
    let mut failures = String::new();
    for row in rows {
        let known = open.contains(&row.key());
        let state = match (row.wrong.is_empty(), known) {
            (true, false) => "right",
            (true, true) => "right, although listed as open",
            (false, true) => "OPEN",
            (false, false) => "WRONG",
        };
        let (step, face, view) = row.key();
        let line = format!("{step} {face} {view}: {} ({:.1} s) {state}", row.verdict, row.seconds);
        eprintln!("{line}");
        for complaint in &row.wrong {
            eprintln!("    {complaint}");
        }
        if state == "WRONG" {
            writeln!(failures, "{line}\n    {}", row.wrong.join("\n    ")).unwrap();
        }
    }
    assert!(failures.is_empty(), "wrong at these steps:\n{failures}");
    compare(rows, open);
}

fn compare(rows: &[Row], open: &[(&str, &str, &str)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DIAGNOSIS.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let Some((before, rest)) = text.split_once(BEGIN) else { return };
    let (old, after) = rest.split_once(END).unwrap();
    if std::env::var_os("KVTOP_BLESS").is_some() {
        let table = drawn(rows);
        std::fs::write(&path, format!("{before}{BEGIN}\n{table}{END}{after}")).unwrap();
        return;
    }
    for row in rows.iter().filter(|row| !open.contains(&row.key())) {
        let start = format!("| {} | {} | {} | {} |", row.step, row.face, row.view, row.verdict);
        assert!(
            old.lines().any(|line| line.starts_with(&start)),
            "docs/DIAGNOSIS.md has no row `{start}`: look at the difference and bless it"
        );
    }
}

fn drawn(rows: &[Row]) -> String {
    let mut text = String::from(
        "| step | face | attached | verdict | as it should be | seconds |\n|--|--|--|--|--|--|\n",
    );
    for row in rows {
        let Row { step, face, view, verdict, seconds, wrong } = row;
        let right = if wrong.is_empty() { "yes" } else { "no" };
        writeln!(text, "| {step} | {face} | {view} | {verdict} | {right} | {seconds:.1} |")
            .unwrap();
    }
    text
}
