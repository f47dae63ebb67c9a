//! Output of `kvtop lint`: text, or JSON (contract 1).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::json::CONTRACT;
use crate::domain::{Grade, Severity, steers};
use crate::lint::{Edit, Flaw, Spot, Verdicts};

/// Exit code for findings of at least a warning.
const FOUND: u8 = 1;

/// Exit code for unreadable input, or input without a deployment.
const UNREAD: u8 = 3;

/// Returns the exit code: 0 clean, 1 findings, 3 unreadable input or no deployment.
pub fn exit(found: &Verdicts) -> u8 {
    if !found.unreadable.is_empty() || found.deployments == 0 {
        UNREAD
    } else if found.flaws.iter().any(|flaw| flaw.severity > Severity::Info) {
        FOUND
    } else {
        0
    }
}

/// Returns the ids of the findings, one a line, each once.
pub fn names(found: &Verdicts) -> String {
    let ids: BTreeSet<&str> = found.flaws.iter().map(|flaw| flaw.id).collect();
    ids.into_iter().fold(String::new(), |text, id| text + id + "\n")
}

/// Formats the findings as text.
pub fn text(found: &Verdicts) -> String {
    let mut page = String::new();
    for (file, bad) in &found.unreadable {
        let line = if bad.line == 0 { String::new() } else { format!(":{}", bad.line) };
        put(&mut page, format_args!("{file}{line}: cannot be read: {}\n\n", bad.why));
    }
    let mut printed = BTreeSet::new();
    for flaw in &found.flaws {
        one(&mut page, flaw, &mut printed);
    }
    for open in &found.unjudged {
        let of = if open.deployment.is_empty() { "" } else { " of " };
        put(
            &mut page,
            format_args!("not judged: {}{of}{}: {}\n", open.id, open.deployment, open.missing),
        );
    }
    for (file, line) in &found.fragments {
        put(
            &mut page,
            format_args!(
                "{file}:{line}: a fragment of a DynamoGraphDeployment, checked as if it were complete\n"
            ),
        );
    }
    put(&mut page, format_args!("{}\n", summary(found)));
    // Manifests may hold anything; what could steer a terminal stays off it.
    page.retain(|letter| letter == '\n' || letter == '\t' || !steers(letter));
    page
}

fn one<'a>(page: &mut String, flaw: &'a Flaw, printed: &mut BTreeSet<(&'a str, (usize, usize))>) {
    let (first, rest) = match flaw.spots.split_first() {
        Some((first, rest)) => (format!("{}: ", place(first)), rest),
        None => (String::new(), &[][..]),
    };
    let who = [flaw.deployment.as_str(), flaw.component.as_str()];
    let who: Vec<&str> = who.into_iter().filter(|name| !name.is_empty()).collect();
    put(
        page,
        format_args!(
            "{first}{} {} {}{} ({})\n",
            flaw.severity.name(),
            flaw.id,
            flaw.name,
            if flaw.grade == Grade::Likely { ", likely" } else { "" },
            who.join(", ")
        ),
    );
    put(page, format_args!("  {}\n  {}\n", flaw.summary, flaw.effect));
    let version = flaw.dynamo.as_ref().map_or_else(
        || "no image tag names the Dynamo version".to_owned(),
        |version| format!("the images contain Dynamo {version}"),
    );
    let gap = if flaw.versions.is_empty() { "" } else { " " };
    put(page, format_args!("  Versions: {}{gap}Here {version}.\n", flaw.versions));
    if let Some(spot) = flaw.spots.first() {
        put(page, format_args!("  Here: {}\n", spot.what));
    }
    for spot in rest {
        put(page, format_args!("  Also {}: {}\n", place(spot), spot.what));
    }
    if let Some(template) = &flaw.template {
        put(page, format_args!("  Rendered from {template}.\n"));
    }
    put(page, format_args!("  Fix: {}\n", flaw.fix));
    for edit in &flaw.edits {
        if edit.yaml.is_empty() && edit.lines.1 >= edit.lines.0 {
            put(page, format_args!("  {}\n", deletion(edit)));
            continue;
        }
        if !printed.insert((edit.file.as_ref(), edit.lines)) {
            put(page, format_args!("  {} as above\n", heading(edit)));
            continue;
        }
        put(page, format_args!("\n  {}:\n\n", heading(edit)));
        for line in edit.yaml.lines() {
            put(page, format_args!("{line}\n"));
        }
    }
    page.push('\n');
}

/// Describes the lines that a correction deletes.
fn deletion(edit: &Edit) -> String {
    let file = &edit.file;
    match edit.lines {
        (first, last) if first == last => format!("{file}: delete line {first}"),
        (first, last) => format!("{file}: delete lines {first} to {last}"),
    }
}

fn heading(edit: &Edit) -> String {
    let file = &edit.file;
    match edit.lines {
        (first, last) if last < first => format!("{file}: insert before line {first}"),
        (first, last) if first == last => format!("{file}: line {first} becomes"),
        (first, last) => format!("{file}: lines {first} to {last} become"),
    }
}

fn place(spot: &Spot) -> String {
    format!("{}:{}", spot.file, spot.line)
}

fn summary(found: &Verdicts) -> String {
    let by = |severity| found.flaws.iter().filter(|flaw| flaw.severity == severity).count();
    let several =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    if found.deployments == 0 {
        let documents = several(found.documents, "document");
        return format!(
            "No Dynamo deployment in {documents}: nothing was checked. Pass a DynamoGraphDeployment, or pipe \
             `helm template` into `kvtop lint -`."
        );
    }
    let rows = [
        (by(Severity::Critical), "critical finding"),
        (by(Severity::Warning), "warning"),
        (by(Severity::Info), "note"),
    ];
    let counted: Vec<String> = rows
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| several(count, name))
        .collect();
    let counted = if counted.is_empty() { "no findings".to_owned() } else { counted.join(", ") };
    let pieces = found.fragments.len();
    let whole = found.deployments.saturating_sub(pieces);
    let kinds = [(whole, "deployment"), (pieces, "fragment of a deployment")];
    let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
    let judged = kinds.map(|(count, name)| match (count, name.split_once(" of ")) {
        (1, _) | (_, None) => several(count, name),
        (_, Some((one, of))) => format!("{} of {of}", several(count, one)),
    });
    format!(
        "{} in {}: {counted}.",
        judged.collect::<Vec<_>>().join(" and "),
        several(found.documents, "document")
    )
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Report<'a> {
    contract: u32,
    kvtop: &'static str,
    exit: u8,
    documents: usize,
    deployments: usize,
    fragments: Vec<Piece<'a>>,
    findings: Vec<Finding<'a>>,
    unjudged: Vec<Open<'a>>,
    unreadable: Vec<Bad<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Piece<'a> {
    file: &'a str,
    line: usize,
}

#[derive(Serialize, JsonSchema)]
struct Finding<'a> {
    id: &'static str,
    name: &'static str,
    severity: &'static str,
    grade: &'static str,
    deployment: &'a str,
    component: &'a str,
    summary: &'a str,
    effect: &'a str,
    versions: &'a str,
    dynamo: Option<&'a str>,
    template: Option<&'a str>,
    places: Vec<Place<'a>>,
    fix: Fix<'a>,
}

#[derive(Serialize, JsonSchema)]
struct Place<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    what: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct Fix<'a> {
    sentence: &'a str,
    edits: Vec<Change<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Change<'a> {
    file: &'a str,
    first_line: usize,
    last_line: usize,
    yaml: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct Open<'a> {
    id: &'static str,
    deployment: &'a str,
    missing: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct Bad<'a> {
    file: &'a str,
    line: Option<usize>,
    why: &'a str,
}

/// Formats the findings as the contract's JSON.
pub fn json(found: &Verdicts) -> String {
    let report = Report {
        contract: CONTRACT,
        kvtop: env!("CARGO_PKG_VERSION"),
        exit: exit(found),
        documents: found.documents,
        deployments: found.deployments,
        fragments: found.fragments.iter().map(|(file, line)| Piece { file, line: *line }).collect(),
        findings: found.flaws.iter().map(finding).collect(),
        unjudged: found
            .unjudged
            .iter()
            .map(|open| Open { id: open.id, deployment: &open.deployment, missing: &open.missing })
            .collect(),
        unreadable: found
            .unreadable
            .iter()
            .map(|(file, bad)| Bad {
                file,
                line: Some(bad.line).filter(|line| *line > 0),
                why: &bad.why,
            })
            .collect(),
    };
    // Strings, numbers and lists always serialize.
    serde_json::to_string_pretty(&report).unwrap_or_default()
}

fn finding(flaw: &Flaw) -> Finding<'_> {
    Finding {
        id: flaw.id,
        name: flaw.name,
        severity: flaw.severity.name(),
        grade: flaw.grade.name(),
        deployment: &flaw.deployment,
        component: &flaw.component,
        summary: &flaw.summary,
        effect: &flaw.effect,
        versions: &flaw.versions,
        dynamo: flaw.dynamo.as_deref(),
        template: flaw.template.as_deref(),
        places: flaw.spots.iter().map(shown_place).collect(),
        fix: Fix { sentence: &flaw.fix, edits: flaw.edits.iter().map(change).collect() },
    }
}

fn shown_place(spot: &Spot) -> Place<'_> {
    Place { file: &spot.file, line: spot.line, column: spot.column, what: &spot.what }
}

fn change(edit: &Edit) -> Change<'_> {
    Change { file: &edit.file, first_line: edit.lines.0, last_line: edit.lines.1, yaml: &edit.yaml }
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    page.write_fmt(text).unwrap_or_default();
}
