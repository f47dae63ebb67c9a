//! Markdown, for a chat or a ticket: what is wrong in words, then the screen as text.

use super::put;
use crate::snapshot::Snapshot;
use crate::tui::text::clean;

pub(super) fn page(snapshot: &Snapshot, screen: &str, title: &str) -> String {
    let mut page = String::new();
    put(&mut page, format_args!("# {title}\n\n"));
    let open = snapshot.findings.iter().filter(|finding| finding.resolved.is_none());
    let mut found = false;
    for finding in open {
        found = true;
        let (severity, grade) = (finding.severity.name(), finding.grade.name());
        let (id, name, summary) = (finding.id, finding.name, clean(&finding.summary));
        put(&mut page, format_args!("- **{id} {name}** ({severity}, {grade}): {summary}"));
        if let Some(fix) = &finding.fix {
            put(&mut page, format_args!(" Fix: {}", clean(&fix.sentence)));
        }
        page.push('\n');
    }
    if !found {
        page.push_str("No finding is open.\n");
    }
    // The screen may hold backticks of names; four of them never stand in a row there.
    put(&mut page, format_args!("\n````text\n{screen}````\n"));
    page
}
