//! Output of `kvtop doctor`: connectivity, permissions, and advice on what is missing.

use schemars::JsonSchema;
use serde::Serialize;

use super::json::CONTRACT;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Available.
    Ok,
    /// Available in part: kvtop shows less.
    Warning,
    /// Missing, although it is needed.
    Failed,
    /// Not checked, or not decidable.
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
    /// The group of the check, such as `rights`.
    pub area: &'static str,
    /// The subject of the check.
    pub name: String,
    /// Its result.
    pub verdict: Verdict,
    /// The observation.
    pub seen: String,
    /// The loss, and what to do; empty if everything is available.
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

/// Breaks a text into lines of at most so many columns.
pub type Wrap = fn(&str, usize) -> Vec<String>;

/// Columns that a text gets at least, however narrow the terminal is.
const NARROWEST: usize = 20;

/// Returns the checks as text of `columns`, area by area.
pub fn text(checks: &[Check], columns: usize, wrap: Wrap) -> String {
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    let mut lines = vec![format!("kvtop {} doctor", env!("CARGO_PKG_VERSION"))];
    let mut area = "";
    for check in checks {
        if check.area != area {
            area = check.area;
            lines.extend([String::new(), area.to_owned()]);
        }
        let verdict = check.verdict.name();
        let mut put = |first: String, text: &str| {
            let before = first.chars().count();
            let said = wrap(text, columns.saturating_sub(before).max(NARROWEST));
            let starts = std::iter::once(first).chain(std::iter::repeat(" ".repeat(before)));
            let written = starts.zip(&said).map(|(start, said)| start + said);
            lines.extend(written.map(|line| line.trim_end().to_owned()));
        };
        put(format!("  {verdict:<7}  {:<width$}  ", check.name), &check.seen);
        if !check.advice.is_empty() {
            put(format!("  {:<7}  {:<width$}  -> ", "", ""), &check.advice);
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

#[derive(Serialize, JsonSchema)]
pub(super) struct Report<'a> {
    contract: u32,
    kvtop: &'a str,
    exit: u8,
    checks: Vec<Row>,
}

#[derive(Serialize, JsonSchema)]
struct Row {
    area: &'static str,
    name: String,
    verdict: &'static str,
    seen: String,
    advice: Option<String>,
}

/// Formats the checks as JSON (contract 1).
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks at spaces.
    fn at_spaces(text: &str, columns: usize) -> Vec<String> {
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let last = lines.last_mut().unwrap();
            if last.is_empty() {
                last.push_str(word);
            } else if last.len() + 1 + word.len() <= columns {
                last.extend([" ", word]);
            } else {
                lines.push(word.to_owned());
            }
        }
        lines
    }

    #[test]
    fn texts_are_wrapped_below_where_they_begin() {
        let check = Check::new("sources", "start", Verdict::Failed, "word ".repeat(30).trim())
            .advise("do this ".repeat(12).trim());
        let empty = Check::new("sources", "nothing", Verdict::Ok, "");
        for columns in [60, 100] {
            let text = text(&[check.clone(), empty.clone()], columns, at_spaces);
            assert!(text.lines().all(|line| line.len() <= columns), "{text}");
            assert_eq!(text.matches("word").count(), 30);
            let begin = |word: &str| text.lines().find_map(|line| line.find(word)).unwrap();
            let texts = text.lines().filter(|line| line.trim_start().starts_with("word"));
            assert!(
                texts.clone().count() > 0
                    && texts.clone().all(|line| line.find("word") == Some(begin("word")))
            );
            assert!(text.contains("ok       nothing\n"), "{text}");
        }
    }
}
