//! Findings on the screen: order, counts, marks and grades.

use std::collections::BTreeSet;

use crate::domain::{Medium, RESOLVED_AFTER, Timestamp};
use crate::snapshot::{
    CheckVerdict, FindingRow, Grade, MemberState, RolloutRow, Severity, Snapshot, Standing,
};

use super::text;
use super::theme::{Glyphs, Role};

/// Columns of a deployment's name in the title.
const LABEL: usize = 40;

/// Identity of a finding's state: when one of these changes, the facts have changed.
pub type Fact = (&'static str, Severity, Grade, Timestamp);

/// The summary of findings that the banner shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alert<'a> {
    /// The most severe finding that is true.
    pub top: Option<&'a FindingRow>,
    /// The number of further findings grave enough for a banner.
    pub more: usize,
    /// The finding resolved last.
    pub resolved: Option<&'a FindingRow>,
}

/// Returns the findings that are true, the most severe first, and causes before consequences.
pub fn open(snapshot: &Snapshot) -> Vec<&FindingRow> {
    let mut open: Vec<_> =
        snapshot.findings.iter().filter(|finding| finding.resolved.is_none()).collect();
    open.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    open
}

/// Returns the findings that make a banner. Notes and mere advice do not.
fn loud(snapshot: &Snapshot) -> impl Iterator<Item = &FindingRow> {
    open(snapshot).into_iter().filter(|finding| finding.counts())
}

/// Returns what everybody must know at once.
pub fn alert(snapshot: &Snapshot) -> Alert<'_> {
    let mut loud = loud(snapshot);
    let top = loud.next();
    let past = snapshot.findings.iter().filter(|finding| finding.counts());
    let resolved = past.filter(|finding| finding.resolved.is_some());
    // Of equally severe ones the first: causes come before what followed from them.
    let resolved = resolved.min_by_key(|finding| std::cmp::Reverse(finding.severity));
    // The end of one fault is not the verdict where nothing is known of the others.
    let told = top.is_some() || snapshot.standing() != Standing::Unknown;
    let resolved = resolved.filter(|_| told);
    Alert { top, more: loud.count(), resolved }
}

/// Returns the facts behind the banner.
pub fn facts(snapshot: &Snapshot) -> Vec<Fact> {
    let fact = |row: &FindingRow| (row.id, row.severity, row.grade, row.raised);
    loud(snapshot).map(fact).collect()
}

/// Returns what tells one critical finding from another, for bells: one that comes back counts anew.
pub fn criticals(snapshot: &Snapshot) -> Vec<(&'static str, Timestamp)> {
    let critical = |row: &&FindingRow| row.severity == Severity::Critical && row.resolved.is_none();
    snapshot.findings.iter().filter(critical).map(|row| (row.id, row.raised)).collect()
}

/// Returns the title of the terminal: `✗ KVT001 gtc-demo – kvtop`.
pub fn title(snapshot: &Snapshot, glyphs: &Glyphs) -> String {
    if let Some(fleet) = &snapshot.fleet {
        let critical = fleet.count(MemberState::Critical);
        let mark =
            if critical > 0 { format!("{} {critical} ", glyphs.fail) } else { String::new() };
        return format!("{mark}fleet {} kvtop", glyphs.dash);
    }
    let mut title = String::new();
    if let Some(top) = alert(snapshot).top {
        title = format!("{} {} ", glyph(top.severity, glyphs), top.id);
    }
    let label = text::cut(&text::clean(&snapshot.deployment.label), LABEL, glyphs.ellipsis);
    if label.is_empty() { title + "kvtop" } else { format!("{title}{label} {} kvtop", glyphs.dash) }
}

/// Returns how many findings of that severity are true.
pub fn count(snapshot: &Snapshot, severity: Severity) -> usize {
    let of = |row: &&FindingRow| row.severity == severity && row.resolved.is_none();
    snapshot.findings.iter().filter(of).count()
}

/// Returns how many checks cannot tell.
pub fn unknown(snapshot: &Snapshot) -> usize {
    let unknown = |verdict: &CheckVerdict| matches!(verdict, CheckVerdict::Unknown { .. });
    snapshot.checks.iter().filter(|check| unknown(&check.verdict)).count()
}

/// Returns the mark of a severity.
pub const fn glyph(severity: Severity, glyphs: &Glyphs) -> &'static str {
    match severity {
        Severity::Critical => glyphs.fail,
        Severity::Warning => glyphs.warn,
        Severity::Info => glyphs.info,
    }
}

/// Returns the role of a severity.
pub const fn role(severity: Severity) -> Role {
    match severity {
        Severity::Critical => Role::Crit,
        Severity::Warning => Role::Warn,
        Severity::Info => Role::Fg,
    }
}

/// Returns the word for a severity.
pub const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "CRITICAL",
        Severity::Warning => "WARNING",
        Severity::Info => "INFO",
    }
}

/// Returns the progress of a finding that nothing shows any more, until it is resolved.
pub fn mending(finding: &FindingRow, now: Timestamp) -> Option<String> {
    let since = finding.mending.filter(|_| finding.resolved.is_none())?;
    let (clean, needed) =
        (now.since(since).min(RESOLVED_AFTER).as_secs(), RESOLVED_AFTER.as_secs());
    let clean = format!("no new evidence for {clean} of {needed} s");
    let rollout = finding.fix.as_ref().and_then(|fix| fix.rollout.as_ref());
    Some(match rollout.and_then(RolloutRow::text) {
        Some(rollout) => format!("{clean}; {rollout}"),
        None => clean,
    })
}

/// Returns how sure a finding is and by what: `CONFIRMED: config + events`.
pub fn grade(finding: &FindingRow) -> String {
    let name = finding.grade.name();
    let kinds = kinds(finding);
    match (finding.grade, kinds.as_slice()) {
        (Grade::ConfigOnly, _) | (_, []) => name.to_owned(),
        (Grade::Likely, [one]) => format!("{name}: {one} only"),
        (Grade::Likely | Grade::Confirmed, several) => format!("{name}: {}", several.join(" + ")),
    }
}

/// Returns the kinds of places whose evidence speaks for a finding.
pub fn kinds(finding: &FindingRow) -> Vec<&'static str> {
    let speaking = finding.evidence.iter().filter(|row| !row.against);
    let media: BTreeSet<Medium> = speaking.flat_map(|row| row.media.iter().copied()).collect();
    media.into_iter().map(Medium::name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &'static str, severity: Severity, raised: u64) -> FindingRow {
        FindingRow {
            id,
            name: "a-name",
            severity,
            grade: Grade::Likely,
            advisory: false,
            topic: crate::domain::Topic::Other,
            summary: String::new(),
            effect: String::new(),
            evidence: Vec::new(),
            refuted_by: String::new(),
            competing: Vec::new(),
            fix: None,
            subjects: Vec::new(),
            explains: Vec::new(),
            raised: Timestamp(raised),
            mending: None,
            resolved: None,
        }
    }

    #[test]
    fn a_critical_finding_that_comes_back_is_a_new_one() {
        let mut snapshot = Snapshot {
            findings: vec![finding("KVT010", Severity::Warning, 1)],
            ..Snapshot::default()
        };
        assert_eq!(criticals(&snapshot), []);
        snapshot.findings.push(finding("KVT001", Severity::Critical, 2));
        let before = criticals(&snapshot);
        snapshot.findings[1].summary = String::from("with another number");
        assert_eq!(criticals(&snapshot), before);
        snapshot.findings[1].resolved = Some(Timestamp(3));
        assert_eq!(criticals(&snapshot), []);
        snapshot.findings[1] = finding("KVT001", Severity::Critical, 4);
        assert_ne!(criticals(&snapshot), before);
    }

    #[test]
    fn the_title_names_the_worst_and_holds_nothing_a_terminal_obeys() {
        let mut snapshot = Snapshot::default();
        assert_eq!(title(&snapshot, Glyphs::UNICODE), "kvtop");
        snapshot.deployment.label = String::from("gtc-demo");
        assert_eq!(title(&snapshot, Glyphs::UNICODE), "gtc-demo – kvtop");
        snapshot.findings =
            vec![finding("KVT010", Severity::Warning, 1), finding("KVT001", Severity::Critical, 2)];
        assert_eq!(title(&snapshot, Glyphs::UNICODE), "✗ KVT001 gtc-demo – kvtop");
        assert_eq!(title(&snapshot, Glyphs::ASCII), "x KVT001 gtc-demo - kvtop");
        snapshot.deployment.label = String::from("a\u{7}\u{1b}]2;b\n");
        assert!(!title(&snapshot, Glyphs::UNICODE).chars().any(char::is_control));
    }
}
