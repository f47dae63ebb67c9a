//! Events of the deployment as marks on a time axis: workers that came or went, routers that started, findings
//! that were raised or resolved, changes that somebody made.

use std::time::Duration;

use super::findings;
use super::graph::timeline::Marker;
use super::text;
use super::theme::{Glyphs, Role};
use crate::domain::{Role as PodRole, Timestamp};
use crate::snapshot::{Feed, FindingRow, Playback, Snapshot, WorkerRow};

/// Workers that start or leave within this time of each other are one marker.
const TOGETHER: Duration = Duration::from_secs(20);

/// Returns the marks to jump to, oldest first: of a recording also those after its position.
pub fn known(snapshot: &Snapshot, glyphs: &'static Glyphs) -> Vec<Marker> {
    match &snapshot.feed {
        Feed::Replay(Playback { known: Some(known), .. }) => {
            let mut all = list(known, glyphs);
            all.extend(list(snapshot, glyphs));
            all.sort_by_key(|marker| marker.at);
            all.dedup();
            all
        }
        _ => list(snapshot, glyphs),
    }
}

/// Returns the marks of `snapshot`, oldest first.
pub fn list(snapshot: &Snapshot, glyphs: &'static Glyphs) -> Vec<Marker> {
    let mut markers = Vec::new();
    let began = snapshot.since;
    let starts = snapshot.workers.iter().filter_map(|row| Some((started(snapshot, row)?, row)));
    let starts: Vec<_> = starts.filter(|(at, _)| *at > began).collect();
    grouped(&mut markers, starts, (glyphs.restart, Role::Key), "started");
    let gone = snapshot.workers.iter().filter_map(|row| Some((row.left?, row)));
    grouped(&mut markers, gone.collect(), (glyphs.gone, Role::Muted), "left");
    for pod in snapshot.pods.iter().filter(|pod| pod.role == PodRole::Frontend) {
        if let Some(at) = pod.started.filter(|at| *at > began) {
            markers.push(marker(at, glyphs.restart, "router started", Role::Key));
        }
    }
    for finding in snapshot.findings.iter().chain(snapshot.past.iter()) {
        if finding.counts() {
            of_finding(&mut markers, finding, glyphs);
        }
    }
    if let Feed::Demo(demo) = &snapshot.feed
        && let Some(change) = &demo.change
    {
        markers.push(marker(change.at, glyphs.play, change.what.clone(), Role::Key));
    }
    markers.sort_by_key(|marker| marker.at);
    markers.dedup();
    markers
}

fn marker(at: Timestamp, glyph: &'static str, text: impl Into<String>, role: Role) -> Marker {
    Marker { at, glyph, text: text.into(), role }
}

fn of_finding(markers: &mut Vec<Marker>, finding: &FindingRow, glyphs: &'static Glyphs) {
    let (glyph, role) =
        (findings::glyph(finding.severity, glyphs), findings::role(finding.severity));
    markers.push(marker(finding.raised, glyph, finding.id, role));
    let rollout = finding.fix.as_ref().and_then(|fix| fix.rollout.as_ref());
    if let Some(at) = rollout.and_then(|rollout| rollout.applied).filter(|at| *at > finding.raised)
    {
        markers.push(marker(at, glyphs.play, "fix applied", Role::Key));
    }
    if let Some(at) = finding.resolved {
        markers.push(marker(at, glyphs.ok, format!("{} resolved", finding.id), Role::Resolved));
    }
}

/// Returns when the pod of a worker started.
fn started(snapshot: &Snapshot, row: &WorkerRow) -> Option<Timestamp> {
    let name = row.pod.as_ref()?;
    let at = snapshot.pods.binary_search_by(|pod| pod.name.cmp(name)).ok()?;
    snapshot.pods.get(at)?.started.filter(|_| !row.gone)
}

/// Adds a marker for each group of workers to which the same happened at about the same time.
fn grouped(
    markers: &mut Vec<Marker>,
    mut rows: Vec<(Timestamp, &WorkerRow)>,
    (glyph, role): (&'static str, Role),
    what: &str,
) {
    rows.sort_by_key(|(at, _)| *at);
    let groups = rows.chunk_by(|(before, _), (after, _)| after.since(*before) <= TOGETHER);
    for group in groups {
        let Some((at, first)) = group.first() else { continue };
        let who = match group.len() {
            1 => text::clean(&first.alias).into_owned(),
            several => format!("{several} workers"),
        };
        markers.push(marker(*at, glyph, format!("{who} {what}"), role));
    }
}
