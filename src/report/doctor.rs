//! What `kvtop doctor` prints: what kvtop can see, what it lacks, and what to do about that.

use serde::Serialize;

use super::json::CONTRACT;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is there.
    Ok,
    /// Something less comes of it.
    Warning,
    /// Something that was asked for is missing.
    Failed,
    /// It was not asked, or could not be told.
    Unknown,
}

impl Verdict {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it belongs to, such as `rights`.
    pub area: &'static str,
    /// What was looked at.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
    /// What was seen.
    pub seen: String,
    /// What kvtop cannot show for it, and what to do; empty when nothing is amiss.
    pub advice: String,
}

impl Check {
    /// Returns a check without advice.
    pub fn new(
        area: &'static str,
        name: impl Into<String>,
        verdict: Verdict,
        seen: impl Into<String>,
    ) -> Self {
        Self { area, name: name.into(), verdict, seen: seen.into(), advice: String::new() }
    }

    /// Returns the check with advice.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

/// Returns the exit code: 1 when something failed.
pub fn exit(checks: &[Check]) -> u8 {
    u8::from(checks.iter().any(|check| check.verdict == Verdict::Failed))
}

/// Returns the checks as lines of text, area by area.
pub fn text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    let mut lines = vec![format!("kvtop {} doctor", env!("CARGO_PKG_VERSION"))];
    let mut area = "";
    for check in checks {
        if check.area != area {
            area = check.area;
            lines.extend([String::new(), area.to_owned()]);
        }
        let verdict = check.verdict.name();
        let line = format!("  {verdict:<7}  {:<width$}  {}", check.name, check.seen);
        lines.push(line.trim_end().to_owned());
        if !check.advice.is_empty() {
            lines.push(format!("  {:<7}  {:<width$}  -> {}", "", "", check.advice));
        }
    }
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    lines.push(format!(
        "\n{} ok, {} warnings, {} failed, {} unknown\n",
        count(Verdict::Ok),
        count(Verdict::Warning),
        count(Verdict::Failed),
        count(Verdict::Unknown)
    ));
    lines.join("\n")
}

#[derive(Serialize)]
struct Report<'a> {
    contract: u32,
    kvtop: &'a str,
    exit: u8,
    checks: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    area: &'static str,
    name: String,
    verdict: &'static str,
    seen: String,
    advice: Option<String>,
}

/// Returns the checks in the words of contract 1.
pub fn json(checks: &[Check]) -> String {
    let row = |check: &Check| Row {
        area: check.area,
        name: check.name.clone(),
        verdict: check.verdict.name(),
        seen: check.seen.clone(),
        advice: Some(check.advice.clone()).filter(|advice| !advice.is_empty()),
    };
    let report = Report {
        contract: CONTRACT,
        kvtop: env!("CARGO_PKG_VERSION"),
        exit: exit(checks),
        checks: checks.iter().map(row).collect(),
    };
    // Nothing here that JSON could not hold.
    serde_json::to_string_pretty(&report).unwrap_or_default()
}
