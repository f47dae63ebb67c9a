//! What `kvtop check` prints: one line, JSON (contract 1) or metrics.

use std::fmt::Write as _;

use serde::Serialize;

use super::json::CONTRACT;
use crate::snapshot::{CheckVerdict, FindingRow, Severity, Snapshot};

/// The finding that says that kvtop cannot see: no failure of the deployment, and not good either.
const CANNOT_SEE: &str = "KVT004";

/// The check without which nothing is known of routing.
const CORE: &str = "KVT001";

/// The check for a router that refuses what workers have.
const HISTORY: &str = "KVT007";

/// Stores that a router must have refused before that is a sign.
const REFUSALS: u64 = 20;

/// How a deployment is, in the words of monitoring systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing is wrong.
    Ok,
    /// Something is worth mending.
    Warning,
    /// Routing does not do what it is there for.
    Critical,
    /// It cannot be told.
    Unknown,
}

impl Status {
    /// Returns how the deployment is.
    pub fn of(snapshot: &Snapshot) -> Self {
        let open = || active(snapshot);
        let unjudged = is_unknown(snapshot, CORE) || refuses_for_unknown_reasons(snapshot);
        if open().any(|finding| finding.severity == Severity::Critical) {
            Self::Critical
        } else if unjudged || open().any(|finding| finding.id == CANNOT_SEE) {
            Self::Unknown
        } else if open().any(|finding| finding.severity == Severity::Warning) {
            Self::Warning
        } else {
            Self::Ok
        }
    }

    /// Returns the exit code.
    pub const fn exit(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Warning => 1,
            Self::Critical => 2,
            Self::Unknown => 3,
        }
    }

    /// Returns the word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
            Self::Unknown => "UNKNOWN",
        }
    }
}

fn is_unknown(snapshot: &Snapshot, id: &str) -> bool {
    let check = snapshot.checks.iter().find(|check| check.id == id);
    check.is_none_or(|check| matches!(check.verdict, CheckVerdict::Unknown { .. }))
}

/// Returns true when routers refuse stores and it cannot be told why.
fn refuses_for_unknown_reasons(snapshot: &Snapshot) -> bool {
    let warnings = snapshot.router.log_parent_warnings.unwrap_or(0);
    warnings >= REFUSALS && is_unknown(snapshot, HISTORY)
}

fn active(snapshot: &Snapshot) -> impl Iterator<Item = &FindingRow> {
    snapshot.findings.iter().filter(|finding| finding.resolved.is_none())
}

/// Returns the one line with performance data.
pub fn text(snapshot: &Snapshot) -> String {
    let status = Status::of(snapshot);
    let found: Vec<String> = active(snapshot)
        .filter(|finding| finding.severity > Severity::Info)
        .map(|finding| {
            format!(
                "{} {} ({}): {}",
                finding.id,
                finding.name,
                finding.grade.name(),
                finding.summary
            )
        })
        .collect();
    let said = match (found.first(), status) {
        (Some(first), _) if found.len() == 1 => first.clone(),
        (Some(first), _) => format!("{first} (+{} more)", found.len() - 1),
        (None, Status::Unknown) => missing(snapshot),
        (None, _) => summary(snapshot),
    };
    // A bar begins the performance data.
    format!("KVTOP {} - {} | {}\n", status.name(), said.replace('|', "/"), perfdata(snapshot))
}

fn missing(snapshot: &Snapshot) -> String {
    let id = if is_unknown(snapshot, CORE) { CORE } else { HISTORY };
    let core = snapshot.checks.iter().find(|check| check.id == id);
    match core.map(|check| &check.verdict) {
        Some(CheckVerdict::Unknown { missing }) => missing.clone(),
        _ => "nothing was seen yet".to_owned(),
    }
}

fn summary(snapshot: &Snapshot) -> String {
    let notes = snapshot.checks.iter().filter(|check| check.id == CORE);
    let notes: Vec<&str> = notes.map(|check| check.note.as_str()).collect();
    let clear = |check: &&crate::snapshot::CheckRow| check.verdict == CheckVerdict::Clear;
    let count = snapshot.checks.iter().filter(clear).count();
    format!("{count} of {} checks are clear. {}", snapshot.checks.len(), notes.join(" "))
}

fn perfdata(snapshot: &Snapshot) -> String {
    let counters = &snapshot.totals.counters;
    let by = |severity| active(snapshot).filter(|finding| finding.severity == severity).count();
    format!(
        "critical={} warnings={} accepted={} held={} stores={}c empty_stores={}c refused_stores={}c \
         unknown_removals={}c routed={}c overlap_known={}c overlap_zero={}c",
        by(Severity::Critical),
        by(Severity::Warning),
        snapshot.tree.accepted_blocks,
        snapshot.tree.held_blocks,
        counters.stores,
        counters.empty_stores,
        counters.refused_stores,
        counters.unknown_removals,
        snapshot.router.routed,
        snapshot.router.overlap_known,
        snapshot.router.overlap_zero,
    )
}

#[derive(Serialize)]
struct Report<'a> {
    contract: u32,
    kvtop: &'static str,
    at: String,
    status: &'static str,
    exit: u8,
    findings: Vec<Finding<'a>>,
    checks: Vec<Check<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    id: &'static str,
    name: &'static str,
    severity: &'static str,
    grade: &'static str,
    summary: &'a str,
    effect: &'a str,
    evidence: Vec<Evidence<'a>>,
    refuted_by: &'a str,
    competing: &'a [String],
    fix: Option<Fix<'a>>,
    explains: &'a [&'static str],
    raised: String,
    resolved: Option<String>,
}

#[derive(Serialize)]
struct Evidence<'a> {
    claim: &'a str,
    value: &'a str,
    source: &'a str,
    at: Option<String>,
    against: bool,
}

#[derive(Serialize)]
struct Fix<'a> {
    sentence: &'a str,
    yaml: Option<&'a str>,
    kubectl: Option<&'a str>,
    restarts: &'a str,
    verify: &'a str,
}

#[derive(Serialize)]
struct Check<'a> {
    id: &'static str,
    name: &'static str,
    verdict: &'static str,
    missing: Option<&'a str>,
    note: &'a str,
}

/// Returns the contract's JSON of what is wrong.
pub fn json(snapshot: &Snapshot) -> String {
    let status = Status::of(snapshot);
    let report = Report {
        contract: CONTRACT,
        kvtop: env!("CARGO_PKG_VERSION"),
        at: super::rfc3339(snapshot.at),
        status: status.name(),
        exit: status.exit(),
        findings: snapshot.findings.iter().map(finding).collect(),
        checks: snapshot
            .checks
            .iter()
            .map(|check| {
                let (verdict, missing) = match &check.verdict {
                    CheckVerdict::Clear => ("clear", None),
                    CheckVerdict::Found => ("found", None),
                    CheckVerdict::Unknown { missing } => ("unknown", Some(missing.as_str())),
                };
                Check { id: check.id, name: check.name, verdict, missing, note: &check.note }
            })
            .collect(),
    };
    // Strings, numbers, lists and maps with string keys always serialize.
    serde_json::to_string_pretty(&report).unwrap_or_default()
}

fn finding(row: &FindingRow) -> Finding<'_> {
    Finding {
        id: row.id,
        name: row.name,
        severity: row.severity.name(),
        grade: row.grade.name(),
        summary: &row.summary,
        effect: &row.effect,
        evidence: row
            .evidence
            .iter()
            .map(|proof| Evidence {
                claim: &proof.claim,
                value: &proof.value,
                source: &proof.source,
                at: proof.at.map(super::rfc3339),
                against: proof.against,
            })
            .collect(),
        refuted_by: &row.refuted_by,
        competing: &row.competing,
        fix: row.fix.as_ref().map(|fix| Fix {
            sentence: &fix.sentence,
            yaml: fix.yaml.as_deref(),
            kubectl: fix.kubectl.as_deref(),
            restarts: &fix.restarts,
            verify: &fix.verify,
        }),
        explains: &row.explains,
        raised: super::rfc3339(row.raised),
        resolved: row.resolved.map(super::rfc3339),
    }
}

/// Returns what is wrong as metrics.
pub fn prometheus(snapshot: &Snapshot) -> String {
    let mut page = String::new();
    let found = |id: &str| u8::from(active(snapshot).any(|finding| finding.id == id));
    family(&mut page, "kvtop_check_status", "gauge", "0 good, 1 warning, 2 critical, 3 unknown");
    sample(&mut page, "kvtop_check_status", "", Status::of(snapshot).exit());
    let name = "kv_router_block_size_mismatch_total";
    family(&mut page, name, "counter", "Block size mismatches found, by finding");
    for id in ["KVT001", "KVT002", "KVT016"] {
        sample(&mut page, name, &format!("finding=\"{id}\""), found(id));
    }
    family(&mut page, "kvtop_finding", "gauge", "1 while the finding is true");
    for check in &snapshot.checks {
        let labels = format!("finding=\"{}\",name=\"{}\"", check.id, check.name);
        sample(&mut page, "kvtop_finding", &labels, found(check.id));
    }
    family(&mut page, "kvtop_check_unknown", "gauge", "1 while a check lacks evidence");
    for check in &snapshot.checks {
        let unknown = u8::from(matches!(check.verdict, CheckVerdict::Unknown { .. }));
        sample(&mut page, "kvtop_check_unknown", &format!("finding=\"{}\"", check.id), unknown);
    }
    counters(&mut page, snapshot);
    page
}

fn counters(page: &mut String, snapshot: &Snapshot) {
    let (totals, router) = (&snapshot.totals.counters, &snapshot.router);
    let rows: [(&str, &str, u64); 12] = [
        ("kvtop_stores_total", "Stored events", totals.stores),
        ("kvtop_empty_stores_total", "Stored events without blocks", totals.empty_stores),
        ("kvtop_stored_blocks_total", "Blocks in stored events", totals.stored_blocks),
        ("kvtop_refused_stores_total", "Stores under an unknown parent", totals.refused_stores),
        ("kvtop_refused_blocks_total", "Blocks in refused stores", totals.refused_blocks),
        ("kvtop_removed_blocks_total", "Removed hashes", totals.removed_blocks),
        ("kvtop_unknown_removals_total", "Removed hashes not held", totals.unknown_removals),
        ("kvtop_cleared_total", "Cleared events", totals.cleared),
        ("kvtop_requests_routed_total", "Requests routed", router.routed),
        ("kvtop_overlap_known_total", "Requests whose overlap is known", router.overlap_known),
        ("kvtop_overlap_zero_total", "Of those, the ones without overlap", router.overlap_zero),
        ("kvtop_rejects_total", "Input that could not be read", snapshot.rejects.count),
    ];
    for (name, help, value) in rows {
        family(page, name, "counter", help);
        sample(page, name, "", value);
    }
    for (name, help, value) in [
        ("kvtop_accepted_blocks", "Blocks as a router counts them", snapshot.tree.accepted_blocks),
        ("kvtop_held_blocks", "Blocks that workers hold", snapshot.tree.held_blocks),
        ("kvtop_orphan_blocks", "Blocks under missing parents", snapshot.tree.orphan_blocks),
    ] {
        family(page, name, "gauge", help);
        sample(page, name, "", value);
    }
}

fn family(page: &mut String, name: &str, kind: &str, help: &str) {
    put(page, format_args!("# HELP {name} {help}.\n# TYPE {name} {kind}\n"));
}

fn sample(page: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    if labels.is_empty() {
        put(page, format_args!("{name} {value}\n"));
    } else {
        put(page, format_args!("{name}{{{labels}}} {value}\n"));
    }
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    page.write_fmt(text).unwrap_or_default();
}
