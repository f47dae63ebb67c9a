//! The parts of the report, in the order in which a post-mortem asks for them.

use std::time::Duration;

use super::chart::{Curve, Mark};
use super::page::Block;
use super::{Incident, Moment, past};
use crate::domain::Timestamp;
use crate::report::rfc3339;
use crate::snapshot::{FindingRow, Standing};

/// Most starts of pods in the timeline.
const STARTS: usize = 40;

/// Most proofs that are listed of one finding.
const PROOFS: usize = 24;

pub(super) fn blocks(incident: &Incident, title: &str) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(1, title.to_owned())];
    summary(incident, &mut blocks);
    past::sources(incident, &mut blocks);
    timeline(incident, &mut blocks);
    felt(incident, &mut blocks);
    let curves: Vec<Curve> = incident.curves().into_iter().filter(Curve::is_known).collect();
    if !curves.is_empty() {
        blocks.push(Block::Heading(2, "Figures over time".to_owned()));
        blocks.push(Block::Text(
            "Solid line: a finding was raised. Dashed line: it was resolved.".to_owned(),
        ));
        blocks.push(Block::Charts(curves, marks(incident)));
    }
    for row in by_weight(incident) {
        finding(incident, row, &mut blocks);
    }
    unseen(incident, &mut blocks);
    blocks
}

/// Returns the findings, the heaviest first, and of these the earliest.
fn by_weight(incident: &Incident) -> Vec<&FindingRow> {
    let mut rows: Vec<_> = incident.findings.values().collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.severity), row.raised));
    rows
}

fn summary(incident: &Incident, blocks: &mut Vec<Block>) {
    let (Some(first), Some(last)) = (incident.moments.first(), incident.moments.last()) else {
        blocks.push(Block::Text("There is no moment to report.".to_owned()));
        return;
    };
    blocks.push(Block::Text(format!(
        "{} to {} ({}). Status at the end: {}.",
        rfc3339(first.at),
        rfc3339(last.at),
        span(last.at.since(first.at)),
        last.standing.map_or("UNKNOWN", standing)
    )));
    let mut rows = vec![vec!["Deployment".to_owned(), String::new()]];
    rows.extend(
        incident.deployment.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]),
    );
    let workers = last.workers.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    rows.push(vec!["Workers at the end".to_owned(), workers]);
    blocks.push(Block::Table(rows));
    let worst = by_weight(incident).into_iter().find(|row| row.counts());
    blocks.push(Block::Text(match worst {
        Some(row) => format!("{} {}: {} {}", row.id, row.name, row.summary, row.effect),
        None => "No finding was raised.".to_owned(),
    }));
}

fn timeline(incident: &Incident, blocks: &mut Vec<Block>) {
    let mut events: Vec<(Timestamp, String)> = Vec::new();
    for row in incident.findings.values() {
        events.push((row.raised, format!("{} raised: {} {}", severity(row), row.id, row.name)));
        if let Some(since) = past::evidence_since(incident, row) {
            events.push((since, format!("evidence of {} begins: {}", row.id, row.name)));
        }
        if let Some(applied) = row
            .fix
            .as_ref()
            .and_then(|fix| fix.rollout.as_ref())
            .and_then(|rollout| rollout.applied)
        {
            events.push((applied, format!("fix of {} applied", row.id)));
        }
        if let Some(resolved) = row.resolved {
            events.push((resolved, format!("resolved: {} {}", row.id, row.name)));
        }
    }
    for pair in incident.moments.windows(2) {
        let [before, after] = pair else { continue };
        if let (Some(before), Some(now)) = (before.workers, after.workers)
            && before != now
        {
            events.push((after.at, format!("workers: {before} to {now}")));
        }
    }
    let begin = incident.moments.first().map(|moment| moment.at);
    let started = incident.starts.iter().filter(|(at, _)| begin.is_some_and(|begin| *at >= begin));
    events.extend(started.take(STARTS).map(|(at, pod)| (*at, format!("pod {pod} started"))));
    if let Some(at) = incident.attached {
        events.push((at, "kvtop attached".to_owned()));
    }
    if events.is_empty() {
        return;
    }
    events.sort_by_key(|(at, _)| *at);
    blocks.push(Block::Heading(2, "Timeline".to_owned()));
    let mut rows = vec![vec!["Time (UTC)".to_owned(), "Event".to_owned()]];
    rows.extend(events.into_iter().map(|(at, text)| vec![at.time_of_day(), text]));
    blocks.push(Block::Table(rows));
}

fn marks(incident: &Incident) -> Vec<Mark> {
    let rows = incident.findings.values().filter(|row| row.counts());
    rows.flat_map(|row| {
        let raised = Mark { at: row.raised, raised: true, id: row.id };
        let resolved = row.resolved.map(|at| Mark { at, raised: false, id: row.id });
        std::iter::once(raised).chain(resolved)
    })
    .collect()
}

/// Returns the moment, while `finding` was true, at which routers found least: it is told by the minute before, and the
/// last minute is that of the cure. Without requests it is the last one at which something was known to be wrong.
fn at_its_worst<'a>(moments: &'a [Moment], finding: &FindingRow) -> Option<&'a Moment> {
    let until = finding.resolved;
    let during = || {
        moments.iter().filter(|moment| {
            moment.at >= finding.raised && until.is_none_or(|resolved| moment.at < resolved)
        })
    };
    let wrong =
        |moment: &&Moment| matches!(moment.standing, Some(Standing::Critical | Standing::Warning));
    let found = during().filter(wrong).filter_map(|moment| Some((moment.found?, moment)));
    let least = found.min_by(|(a, of_a), (b, of_b)| a.total_cmp(b).then(of_b.at.cmp(&of_a.at)));
    least
        .map(|(_, moment)| moment)
        .or_else(|| during().rfind(wrong))
        .or_else(|| during().next_back())
}

/// Compares the figures that users feel: before the worst finding, while it was true, and at the end.
fn felt(incident: &Incident, blocks: &mut Vec<Block>) {
    let worst = by_weight(incident).into_iter().find(|row| row.counts());
    let mut columns: Vec<(&str, &Moment)> = Vec::new();
    let moments = &incident.moments;
    if incident.attached.is_some() {
        // Before it attached kvtop judged nothing, so figures are all that can be compared.
        columns.extend(past::earliest(incident).map(|moment| ("Earliest known", moment)));
    } else if let Some(worst) = worst {
        let well = |moment: &&Moment| {
            let wrong = [Some(Standing::Critical), Some(Standing::Warning)];
            moment.at < worst.raised && !wrong.contains(&moment.standing)
        };
        let before = moments.iter().rfind(well);
        let during = at_its_worst(moments, worst);
        columns.extend(before.map(|moment| ("Before", moment)));
        columns.extend(during.map(|moment| ("During", moment)));
    }
    let end = moments.last().filter(|_| {
        incident.attached.is_some() || worst.is_none_or(|worst| worst.resolved.is_some())
    });
    let name = match (incident.attached, worst) {
        (Some(_), _) => "Now",
        (None, Some(_)) => "After",
        (None, None) => "End",
    };
    columns.extend(end.map(|moment| (name, moment)));
    if columns.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, "Effect on users, in the minute before".to_owned()));
    let mut head = vec![String::new()];
    head.extend(
        columns.iter().map(|(name, moment)| format!("{name}, {}", moment.at.time_of_day())),
    );
    let mut rows = vec![head];
    for (name, figure) in FIGURES {
        let mut row = vec![(*name).to_owned()];
        let cell = |moment: &Moment| figure(moment).unwrap_or_else(|| "unknown".to_owned());
        row.extend(columns.iter().map(|(_, moment)| cell(moment)));
        rows.push(row);
    }
    blocks.push(Block::Table(rows));
}

type Shown = fn(&Moment) -> Option<String>;

const FIGURES: &[(&str, Shown)] = &[
    ("Status", |moment| Some(standing(moment.standing?).to_owned())),
    ("Cached prompt tokens", |moment| percent(moment.cached)),
    ("Requests with a cache hit", |moment| percent(moment.found)),
    ("TTFT p50 / p95", |moment| seconds(moment.first_token)),
    ("ITL p50 / p95", |moment| seconds(moment.inter_token)),
    ("Rejected stores", |moment| percent(moment.rejected)),
    ("Blocks in the index", |moment| Some(format!("{:.0}", moment.blocks?))),
    ("KV cache in use", |moment| percent(moment.used)),
    ("Requests", |moment| Some(format!("{:.1}/s", moment.requests?))),
    ("Workers", |moment| Some(moment.workers?.to_string())),
];

fn percent(share: Option<f64>) -> Option<String> {
    Some(format!("{:.0} %", share? * 100.0))
}

fn seconds(pair: Option<[f64; 2]>) -> Option<String> {
    let [half, most] = pair?;
    Some(if most < 0.1 {
        format!("{:.1} / {:.1} ms", half * 1_000.0, most * 1_000.0)
    } else {
        format!("{half:.2} / {most:.2} s")
    })
}

fn finding(incident: &Incident, row: &FindingRow, blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading(2, format!("{} {}", row.id, row.name)));
    let end = row.resolved.map_or_else(
        || match incident.attached {
            Some(_) => "not resolved".to_owned(),
            None => "not resolved by the end of the recording".to_owned(),
        },
        |at| format!("resolved {}", rfc3339(at)),
    );
    blocks.push(Block::Text(format!(
        "{}, {}. Raised {}, {end}.",
        severity(row),
        row.grade.name(),
        rfc3339(row.raised)
    )));
    if let Some(since) = past::evidence_since(incident, row) {
        blocks.push(Block::Text(format!(
            "kvtop was not attached before {}; the counts behind this finding begin {}.",
            incident.attached.map_or(String::new(), rfc3339),
            rfc3339(since)
        )));
    }
    blocks.push(Block::Text(format!("{} {}", row.summary, row.effect)));
    let mut rows = vec![["Evidence", "Value", "Source", "Time (UTC)"].map(str::to_owned).to_vec()];
    for proof in row.evidence.iter().take(PROOFS) {
        let claim =
            if proof.against { format!("{} (against)", proof.claim) } else { proof.claim.clone() };
        let at = proof.at.map_or(String::new(), Timestamp::time_of_day);
        rows.push(vec![claim, proof.value.clone(), proof.source.clone(), at]);
    }
    if rows.len() > 1 {
        blocks.push(Block::Table(rows));
    }
    if row.evidence.len() > PROOFS {
        blocks.push(Block::Text(format!("{} more are not listed.", row.evidence.len() - PROOFS)));
    }
    if !row.competing.is_empty() {
        blocks.push(Block::Heading(3, "Alternatives ruled out".to_owned()));
        blocks.push(Block::List(row.competing.clone()));
    }
    if !row.refuted_by.is_empty() {
        blocks.push(Block::Heading(3, "Would disprove this".to_owned()));
        blocks.push(Block::Text(row.refuted_by.clone()));
    }
    let Some(fix) = &row.fix else { return };
    blocks.push(Block::Heading(3, "Fix".to_owned()));
    blocks.push(Block::Text(fix.sentence.clone()));
    blocks.extend(fix.kubectl.clone().map(Block::Code));
    if !fix.restarts.is_empty() {
        blocks.push(Block::Text(format!("Impact: {}", fix.restarts)));
    }
    if !fix.verify.is_empty() {
        blocks.push(Block::Text(format!("Verify: {}", fix.verify)));
    }
    if let Some(text) = fix.rollout.as_ref().and_then(crate::snapshot::RolloutRow::text) {
        blocks.push(Block::Text(format!("Rollout: {text}")));
    }
}

fn unseen(incident: &Incident, blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading(2, "Not seen".to_owned()));
    if incident.unseen.is_empty() && incident.unknown.is_empty() {
        blocks.push(Block::Text("Nothing is known to be missing.".to_owned()));
        return;
    }
    if !incident.unseen.is_empty() {
        blocks.push(Block::List(incident.unseen.clone()));
    }
    if !incident.unknown.is_empty() {
        blocks.push(Block::Text("These checks had not enough data at the end:".to_owned()));
        let rows = incident.unknown.iter().map(|(id, missing)| vec![id.clone(), missing.clone()]);
        let head = vec!["Check".to_owned(), "Missing".to_owned()];
        blocks.push(Block::Table(std::iter::once(head).chain(rows).collect()));
    }
}

fn severity(row: &FindingRow) -> String {
    row.severity.name().to_uppercase()
}

/// Returns a time span in its two largest units.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Ok => "OK",
        Standing::Warning => "WARNING",
        Standing::Critical => "CRITICAL",
        Standing::Unknown => "UNKNOWN",
    }
}
