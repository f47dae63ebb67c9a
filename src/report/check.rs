//! Output of `kvtop check`: one line or JSON (contract 1).

mod fleet;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

pub(super) use fleet::FleetReport;
pub use fleet::{Checked, fleet_json, fleet_names, fleet_text, worst};

use super::json::{CONTRACT, Reading, RowOfMemory, Target, memory_ranks};
use crate::domain::{RESOLVED_AFTER, Stake, Timestamp, steers};
use crate::dynamo::plane::EVENTS_BY_ZMQ;
use crate::snapshot::{
    CheckRow, CheckVerdict, FindingRow, Knowledge, Lack, Quiet, RolloutRow, Severity, Snapshot,
    Standing, ranks_beyond,
};

/// The status of a deployment, in the words of monitoring systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No problem found.
    Ok,
    /// A problem that should be fixed.
    Warning,
    /// KV-aware routing does not work.
    Critical,
    /// Not enough data.
    Unknown,
}

impl Status {
    /// Returns the status of the deployment.
    pub fn new(snapshot: &Snapshot) -> Self {
        match snapshot.standing() {
            Standing::Ok => Self::Ok,
            Standing::Warning => Self::Warning,
            Standing::Critical => Self::Critical,
            Standing::Unknown => Self::Unknown,
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

fn is_open(check: &CheckRow) -> bool {
    matches!(check.verdict, CheckVerdict::Unknown { .. })
}

pub(super) fn active(snapshot: &Snapshot) -> impl Iterator<Item = &FindingRow> {
    snapshot.findings.iter().filter(|finding| finding.resolved.is_none())
}

/// Returns the one line with performance data.
pub fn text(snapshot: &Snapshot) -> String {
    let status = Status::new(snapshot);
    let found: Vec<String> = active(snapshot)
        .filter(|finding| finding.counts())
        .map(|finding| {
            format!(
                "{} {} ({}): {}{}{}",
                finding.id,
                finding.name,
                finding.grade.name(),
                finding.summary,
                workers(finding, snapshot),
                progress(finding, snapshot.at)
            )
        })
        .collect();
    let more = |first: &String| match found.len() {
        1 => first.clone(),
        count => format!("{first} (+{} more)", count - 1),
    };
    let said = match (found.first(), status) {
        // Something worse may be hidden.
        (Some(first), Status::Warning) if snapshot.lacks() => {
            let first = more(first);
            format!("{}. Not known: {}", first.trim_end_matches('.'), missing(snapshot))
        }
        (Some(first), _) => more(first),
        (None, Status::Unknown) => missing(snapshot),
        (None, _) => summary(snapshot),
    };
    let said = match snapshot.deployment.asked {
        Some(_) => format!("{}: {said}", snapshot.deployment.title("→")),
        None => said,
    };
    format!("KVTOP {} - {} | {}\n", status.name(), line(&said), perfdata(snapshot))
}

/// Returns the ids of the first workers that a finding names by aliases: those are of one process of kvtop.
fn workers(finding: &FindingRow, snapshot: &Snapshot) -> String {
    let rows = finding.subjects.iter().filter_map(|worker| {
        snapshot.workers.iter().find(|row| row.rank.worker == *worker && row.pod.is_none())
    });
    let named: Vec<String> =
        rows.take(3).map(|row| format!("{} is worker {}", row.alias, row.rank.worker.0)).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}

/// Returns the ids of active findings, one a line, the cause first.
pub fn names(snapshot: &Snapshot) -> String {
    active(snapshot).fold(String::new(), |text, finding| text + finding.id + "\n")
}

/// Returns the one line, then each active finding with its evidence and fix, and the state of each check.
pub fn wide(snapshot: &Snapshot) -> String {
    let mut lines = vec![text(snapshot)];
    for row in active(snapshot) {
        lines.push(format!(
            "{} {} ({}, {})\n  {}\n  {}\n",
            row.id,
            row.name,
            row.severity.name(),
            row.grade.name(),
            line(&row.summary),
            line(&row.effect),
        ));
        for proof in &row.evidence {
            let against = if proof.against { " (speaks against it)" } else { "" };
            let (claim, value) = (line(&proof.claim), line(&proof.value));
            lines.push(format!("  - {claim}: {value} [{}]{against}\n", line(&proof.source)));
        }
        if let Some(fix) = &row.fix {
            // Whoever applied it must not apply it again.
            let when = if row.mending.is_some() { "if it comes back" } else { "fix" };
            lines.push(format!("  {when}: {}\n", line(&fix.sentence)));
        }
        lines.push("\n".to_owned());
    }
    for check in &snapshot.checks {
        let (state, more) = match &check.verdict {
            CheckVerdict::Clear => ("clear", line(&check.note)),
            CheckVerdict::Found => ("FOUND", String::new()),
            CheckVerdict::Unknown { missing } => ("unknown", line(missing)),
        };
        let name = check.name;
        lines.push(format!("{} {name:28} {state:8} {more}", check.id).trim_end().to_owned() + "\n");
    }
    lines.concat()
}

/// Returns the one line for a deployment that could not be checked, with the reason.
pub fn text_failed(why: &str) -> String {
    format!("KVTOP {} - {}\n", Status::Unknown.name(), line(why))
}

/// Returns the progress of a finding's fix, to follow its summary.
fn progress(row: &FindingRow, at: Timestamp) -> String {
    let rollout = row.fix.as_ref().and_then(|fix| fix.rollout.as_ref());
    let mut said: Vec<String> = rollout.and_then(RolloutRow::text).into_iter().collect();
    if let Some(rollout) = rollout.filter(|it| !said.is_empty() && !it.waiting.is_empty()) {
        said.push(format!("still to restart: {}", rollout.waiting.join(", ")));
    }
    if let Some(since) = row.mending {
        let (clean, needed) = (at.since(since).as_secs(), RESOLVED_AFTER.as_secs());
        said.push(format!("no new evidence for {clean} of {needed} s"));
    }
    if said.is_empty() { String::new() } else { format!(" [{}]", said.join("; ")) }
}

/// Makes `text` safe for the line: a bar would begin the performance data, a line break would end it.
fn line(text: &str) -> String {
    text.replace('|', "/").chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

fn missing(snapshot: &Snapshot) -> String {
    match snapshot.lack() {
        Lack::Unread => super::incomplete(snapshot).join("; "),
        Lack::Silence => format!("no KV events over NATS; {EVENTS_BY_ZMQ}"),
        Lack::Down(row) => row.absence(),
        Lack::Hole(hole) => {
            let ago = snapshot.at.since(hole.last).as_secs();
            format!("{}, the last {ago} s ago; {}", hole.sentence(), hole.awaited(snapshot.at))
        }
        Lack::Ranks(limit) => ranks_beyond(limit),
        Lack::Check(missing) => match snapshot.kept_from() {
            Some(row) => format!("{missing}; {}", row.absence()),
            None => missing.to_owned(),
        },
        Lack::Everything => "no data yet".to_owned(),
    }
}

/// Describes the traffic of a deployment that has too little to judge by.
fn silence(quiet: &Quiet) -> String {
    if !quiet.idle {
        let noun = if quiet.requests == 1 { "request" } else { "requests" };
        return format!("little traffic: {} {noun} in the last 5 min", quiet.requests);
    }
    match quiet.still.as_secs() {
        seconds @ 0..120 => format!("no traffic for {seconds} s"),
        seconds => format!("no traffic for {} min", seconds / 60),
    }
}

fn summary(snapshot: &Snapshot) -> String {
    if let Some(quiet) = &snapshot.coverage.quiet {
        return format!("No problem found; {}{}", silence(quiet), unjudged(snapshot));
    }
    let notes = snapshot.checks.iter().filter(|check| check.stake == Stake::Core);
    let notes: Vec<&str> = notes.map(|check| check.note.as_str()).collect();
    let clear = |check: &&crate::snapshot::CheckRow| check.verdict == CheckVerdict::Clear;
    let count = snapshot.checks.iter().filter(clear).count();
    let found = snapshot.checks.iter().filter(|check| check.verdict == CheckVerdict::Found);
    let remarks = match found.count() {
        0 => String::new(),
        1 => ", 1 note".to_owned(),
        several => format!(", {several} notes"),
    };
    format!(
        "{count} of {} checks passed{}{remarks}. {}",
        snapshot.checks.len(),
        unjudged(snapshot),
        notes.join(" ")
    )
}

/// Describes how many checks lack data, and which of them would be critical.
fn unjudged(snapshot: &Snapshot) -> String {
    let open: Vec<&CheckRow> = snapshot.checks.iter().filter(|check| is_open(check)).collect();
    let grave = open.iter().filter(|check| check.may_be_critical).map(|check| check.id);
    let grave: Vec<&str> = grave.collect();
    let lack = match open.len() {
        0 => return String::new(),
        1 => "1 check does not have enough data yet".to_owned(),
        count => format!("{count} checks do not have enough data yet"),
    };
    match grave.as_slice() {
        [] => format!(", {lack}"),
        grave => format!(", {lack} (including {})", grave.join(", ")),
    }
}

fn perfdata(snapshot: &Snapshot) -> String {
    let counters = &snapshot.totals.counters;
    let counted = || active(snapshot).filter(|finding| finding.counts());
    let by = |severity| counted().filter(|finding| finding.severity == severity).count();
    let percent = |name: &str, share: Option<f64>| {
        share.map_or(String::new(), |share| format!(" {name}={:.1}%", share * 100.0))
    };
    // Blocks and orphans mean nothing without the complete history.
    let mut workers = snapshot.workers.iter().filter(|row| !row.gone);
    let whole = snapshot.ledger.hole.is_none();
    let known = whole && workers.all(|row| row.knowledge == Knowledge::Complete);
    let shares = [
        percent(
            "orphan_pct",
            snapshot.totals.rejected(snapshot.totals.orphan_share).filter(|_| whole),
        ),
        percent("kv_util", snapshot.totals.kv_utilization),
    ];
    let router = &snapshot.router;
    // Unknown figures are left out: a 0 would be read as a count.
    let events = snapshot.hears_events().then(|| {
        let (stores, empty) = (counters.stores, counters.empty_stores);
        let heard = format!(" stores={stores}c empty_stores={empty}c");
        if !known {
            return heard;
        }
        let (accepted, held) = (snapshot.tree.accepted_blocks, snapshot.tree.held_blocks);
        let (refused, unknown) = (counters.refused_stores, counters.unknown_removals);
        format!(
            " accepted={accepted} held={held}{heard} refused_stores={refused}c \
             unknown_removals={unknown}c"
        )
    });
    let requests = router.tells_of_requests().then(|| format!(" routed={}c", router.routed));
    let overlap = (router.tells_of_requests() || router.overlap_known > 0).then(|| {
        format!(" overlap_known={}c overlap_zero={}c", router.overlap_known, router.overlap_zero)
    });
    let known: String = [events, requests, overlap].into_iter().flatten().collect();
    let (critical, warnings) = (by(Severity::Critical), by(Severity::Warning));
    format!("critical={critical} warnings={warnings}{known}{}", shares.concat())
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Report<'a> {
    contract: u32,
    kvtop: &'static str,
    at: String,
    status: &'static str,
    exit: u8,
    error: Option<&'a str>,
    /// Seconds since the last traffic, where there is none or too little of it to judge.
    quiet_seconds: Option<u64>,
    target: Option<Target<'a>>,
    incomplete: Vec<String>,
    catching_up: Option<Reading>,
    findings: Vec<Finding<'a>>,
    checks: Vec<Check<'a>>,
    memory: Vec<RowOfMemory<'a>>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Finding<'a> {
    id: &'static str,
    name: &'static str,
    severity: &'static str,
    grade: &'static str,
    advisory: bool,
    summary: &'a str,
    effect: &'a str,
    evidence: Vec<Evidence<'a>>,
    refuted_by: &'a str,
    competing: &'a [String],
    fix: Option<Fix<'a>>,
    workers: Vec<String>,
    explains: &'a [&'static str],
    raised: String,
    mending: Option<String>,
    resolved: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Evidence<'a> {
    kind: &'static str,
    claim: &'a str,
    value: &'a str,
    source: &'a str,
    since: Option<String>,
    at: Option<String>,
    against: bool,
    worker: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Fix<'a> {
    sentence: &'a str,
    yaml: Option<&'a str>,
    kubectl: Option<&'a str>,
    restarts: &'a str,
    verify: &'a str,
    rollout: Option<Rollout<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct Rollout<'a> {
    stage: &'static str,
    applied: Option<String>,
    restarted: usize,
    pods: usize,
    waiting: &'a [Arc<str>],
    clean_since: Option<String>,
    clean_seconds: Option<u64>,
    clean_seconds_needed: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Check<'a> {
    id: &'static str,
    name: &'static str,
    verdict: &'static str,
    missing: Option<&'a str>,
    note: &'a str,
}

impl<'a> Check<'a> {
    fn new(check: &'a CheckRow) -> Self {
        let (verdict, missing) = match &check.verdict {
            CheckVerdict::Clear => ("clear", None),
            CheckVerdict::Found => ("found", None),
            CheckVerdict::Unknown { missing } => ("unknown", Some(missing.as_str())),
        };
        Self { id: check.id, name: check.name, verdict, missing, note: &check.note }
    }
}

/// Formats status and findings as the contract's JSON.
pub fn json(snapshot: &Snapshot) -> String {
    // Strings, numbers, lists and maps with string keys always serialize.
    serde_json::to_string_pretty(&Report::new(snapshot)).unwrap_or_default()
}

/// Formats the contract's JSON for a deployment that could not be checked, with the reason.
pub fn json_failed(why: &str, at: Timestamp) -> String {
    serde_json::to_string_pretty(&Report::failed(why, at)).unwrap_or_default()
}

impl<'a> Report<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let status = Status::new(snapshot);
        Self {
            contract: CONTRACT,
            kvtop: env!("CARGO_PKG_VERSION"),
            at: super::rfc3339(snapshot.at),
            status: status.name(),
            exit: status.exit(),
            error: None,
            quiet_seconds: snapshot.coverage.quiet.as_ref().map(|quiet| quiet.still.as_secs()),
            target: Some(Target::new(snapshot)),
            incomplete: super::incomplete(snapshot),
            catching_up: Reading::new(snapshot),
            findings: findings(snapshot),
            checks: checks(snapshot),
            memory: memory_ranks(snapshot),
        }
    }

    /// Returns the report on a deployment that could not be checked, with the reason.
    fn failed(why: &'a str, at: Timestamp) -> Self {
        let status = Status::Unknown;
        Self {
            contract: CONTRACT,
            kvtop: env!("CARGO_PKG_VERSION"),
            at: super::rfc3339(at),
            status: status.name(),
            exit: status.exit(),
            error: Some(why),
            quiet_seconds: None,
            target: None,
            incomplete: Vec::new(),
            catching_up: None,
            findings: Vec::new(),
            checks: Vec::new(),
            memory: Vec::new(),
        }
    }
}

/// Returns the findings of a snapshot, as the contract has them.
pub(super) fn findings(snapshot: &Snapshot) -> Vec<Finding<'_>> {
    snapshot.findings.iter().map(|row| finding(row, snapshot.at)).collect()
}

/// Returns the checks of a snapshot, as the contract has them.
pub(super) fn checks(snapshot: &Snapshot) -> Vec<Check<'_>> {
    snapshot.checks.iter().map(Check::new).collect()
}

fn rollout(row: &RolloutRow, at: Timestamp) -> Rollout<'_> {
    Rollout {
        stage: row.stage.name(),
        applied: row.applied.map(super::rfc3339),
        restarted: row.restarted,
        pods: row.pods,
        waiting: &row.waiting,
        clean_since: row.clean_since.map(super::rfc3339),
        clean_seconds: row.clean_since.map(|since| at.since(since).as_secs()),
        clean_seconds_needed: RESOLVED_AFTER.as_secs(),
    }
}

fn finding(row: &FindingRow, at: Timestamp) -> Finding<'_> {
    Finding {
        id: row.id,
        name: row.name,
        severity: row.severity.name(),
        grade: row.grade.name(),
        advisory: row.advisory,
        summary: &row.summary,
        effect: &row.effect,
        evidence: row
            .evidence
            .iter()
            .map(|proof| Evidence {
                kind: proof.kind,
                claim: &proof.claim,
                value: &proof.value,
                source: &proof.source,
                since: proof.since.map(super::rfc3339),
                at: proof.at.map(super::rfc3339),
                against: proof.against,
                worker: proof.worker.map(|worker| worker.0.to_string()),
            })
            .collect(),
        refuted_by: &row.refuted_by,
        competing: &row.competing,
        fix: row.fix.as_ref().map(|fix| Fix {
            rollout: fix.rollout.as_ref().map(|it| rollout(it, at)),
            sentence: &fix.sentence,
            yaml: fix.yaml.as_deref(),
            kubectl: fix.kubectl.as_deref(),
            restarts: &fix.restarts,
            verify: &fix.verify,
        }),
        workers: row.subjects.iter().map(|worker| worker.0.to_string()).collect(),
        explains: &row.explains,
        raised: super::rfc3339(row.raised),
        mending: row.mending.map(super::rfc3339),
        resolved: row.resolved.map(super::rfc3339),
    }
}
