//! The comparison for people: what differs, then what is the same, counted.

use std::fmt::Write as _;

use super::findings::{FindingChange, Verdict};
use super::rows::{Row, RowState, Section};
use super::{Diff, Head};
use crate::report::incident::page::{Block, markdown as page};

/// Sections with their titles.
const SECTIONS: [(Section, &str); 8] = [
    (Section::Deployment, "Deployment"),
    (Section::Settings, "Settings"),
    (Section::Hits, "Cache hits, last minute"),
    (Section::Latency, "Latency, last minute"),
    (Section::Rates, "Rates, last minute"),
    (Section::Index, "Index"),
    (Section::Curve, "Capacity curve"),
    (Section::Workers, "Workers"),
];

/// Most rows of a section that are listed for people.
const LISTED: usize = 100;

/// A titled table with a row of column names.
type Table = (&'static str, Vec<Vec<String>>);

/// Returns the differences, section by section.
fn tables(diff: &Diff) -> Vec<Table> {
    let mut tables = Vec::new();
    let found: Vec<&FindingChange> =
        diff.findings.iter().filter(|change| is_found(change)).collect();
    if !found.is_empty() {
        let mut rows = vec![cells(["Finding", "Change", "Severity", "Summary"])];
        rows.extend(found.into_iter().map(|change| {
            let told = change.told();
            let severity = match (&change.a.severity, &change.b.severity) {
                (Some(a), Some(b)) if a != b => format!("{a} to {b}"),
                _ => told.severity.clone().unwrap_or_default(),
            };
            let name = format!("{} {}", change.id, change.name);
            let summary = told.summary.clone().unwrap_or_default();
            vec![name, change.state.word().to_owned(), severity, summary]
        }));
        tables.push(("Findings", rows));
    }
    for (section, title) in SECTIONS {
        let all = diff.rows.iter().filter(|row| row.section == section);
        let differing: Vec<&Row> = all.filter(|row| row.state != RowState::Same).collect();
        if differing.is_empty() {
            continue;
        }
        let mut rows = vec![cells(["", "A", "B", "Change"])];
        for row in differing.iter().take(LISTED) {
            let [a, b] = row.sides();
            let name = match &row.subject {
                Some(subject) => format!("{subject}: {}", row.name),
                None => row.name.clone(),
            };
            rows.push(vec![name, a, b, row.change()]);
        }
        if differing.len() > LISTED {
            let more = format!("{} more, see -o json", differing.len() - LISTED);
            rows.push(vec![more, String::new(), String::new(), String::new()]);
        }
        tables.push((title, rows));
    }
    tables
}

fn cells(row: [&str; 4]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}

fn is_found(change: &FindingChange) -> bool {
    change.told().verdict == Verdict::Found
}

/// Returns the sentences that end the output.
fn remarks(diff: &Diff) -> Vec<String> {
    let mut all = Vec::new();
    for (label, verdict) in [
        ("A", (|change| change.a.verdict) as fn(&FindingChange) -> Verdict),
        ("B", |change| change.b.verdict),
    ] {
        let open = diff.findings.iter().filter(|change| !is_found(change));
        let ids: Vec<&str> = open
            .filter(|change| verdict(change) == Verdict::Unknown)
            .map(|change| change.id.as_str())
            .collect();
        if !ids.is_empty() {
            all.push(format!("{label}: not enough data to judge {}", ids.join(", ")));
        }
    }
    all.extend(diff.lacking.iter().cloned());
    let counts = &diff.counts;
    all.push(if diff.same {
        format!("No difference: {} values and findings are the same.", counts.same)
    } else {
        format!(
            "{} changed, {} known on one side only, {} the same.",
            counts.changed, counts.unknown, counts.same
        )
    });
    all
}

fn head(label: &str, head: &Head) -> String {
    let kind = match head.kind {
        super::Kind::Recording => "recording",
        super::Kind::Snapshot => "snapshot",
    };
    let target = head.target.as_ref().map_or(String::new(), |name| format!(" of {name}"));
    format!("{label}: {} ({kind}{target}, {})", head.file, head.at)
}

pub(super) fn text(diff: &Diff) -> String {
    let mut text = format!("{}\n{}\n", head("A", &diff.a), head("B", &diff.b));
    for (title, rows) in tables(diff) {
        // Writing to a string does not fail.
        writeln!(text, "\n{}", title.to_uppercase()).unwrap_or_default();
        let columns = rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
            writeln!(text, "  {}", cells.collect::<String>().trim_end()).unwrap_or_default();
        }
    }
    text.push('\n');
    for remark in remarks(diff) {
        writeln!(text, "{remark}").unwrap_or_default();
    }
    text
}

pub(super) fn markdown(diff: &Diff) -> String {
    let mut blocks = vec![
        Block::Heading(1, "Comparison".to_owned()),
        Block::List(vec![head("A", &diff.a), head("B", &diff.b)]),
    ];
    for (title, rows) in tables(diff) {
        blocks.push(Block::Heading(2, title.to_owned()));
        blocks.push(Block::Table(rows));
    }
    blocks.extend(remarks(diff).into_iter().map(Block::Text));
    page(&blocks)
}
