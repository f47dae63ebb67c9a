//! `kvtop report`: the page of an incident, from a recording or from what a live deployment still tells.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::RunError;
use super::headless::{listened_with, tell_damage};
use super::memory;
use super::output::print;
use super::thresholds;
use crate::cli::{Offset, ReportArgs, ReportFormat, SourceArgs};
use crate::clock;
use crate::domain::{SourceName, Timestamp};
use crate::engine::source_name;
use crate::exit::Exit;
use crate::frame::{Frame, Origin};
use crate::player::Player;
use crate::report::incident::{Covered, Incident, PageFormat, REACH};
use crate::snapshot::ViewQuery;

/// Moments that a page shows: a chart has about two columns for each.
const MOMENTS: u32 = 400;

/// The least time between two moments. Rules judge once a second.
const LEAST: Duration = Duration::from_secs(1);

pub(super) async fn report(args: &ReportArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let (incident, name) = match (&args.file, args.last) {
        (Some(path), _) => recorded(path, args, source)?,
        (None, last) => match live(args, source, last.unwrap_or(REACH)).await? {
            Ok(found) => found,
            Err(exit) => return Ok(exit),
        },
    };
    let title = args.title.clone().unwrap_or_else(|| format!("KV cache routing incident: {name}"));
    let format = match args.output {
        ReportFormat::Html => PageFormat::Html,
        ReportFormat::Md => PageFormat::Markdown,
    };
    print(&incident.page(&title, format))?;
    Ok(Exit::Clean)
}

/// Plays a recording, and returns its moments and its name.
fn recorded(
    path: &Path,
    args: &ReportArgs,
    source: &SourceArgs,
) -> Result<(Incident, String), RunError> {
    let limit = memory::of_mirror(source.max_memory());
    let mut player = Player::open(path, limit, thresholds::chosen(source))?;
    let (begin, end) = (player.position(), player.end());
    let from = match args.from.or(args.last.map(Offset::BeforeEnd)) {
        None => begin,
        Some(Offset::FromStart(after)) => begin.after(after).min(end),
        Some(Offset::BeforeEnd(before)) => end.before(before).max(begin),
    };
    let step = (end.since(from) / MOMENTS).max(LEAST);
    let mut incident = Incident::default();
    let query = ViewQuery { points: 1, events: 0, decisions: 0, ..ViewQuery::default() };
    // Rules judge on the way, so that everything is raised at its own time.
    while player.position() < end {
        let bound = if player.position() < from { from } else { end };
        let next = player.position().after(step.min(Duration::from_secs(5))).min(bound);
        player.seek(next)?;
        let at = player.position();
        let snapshot = player.engine().snapshot(&query, at);
        if at >= end {
            incident.end(&snapshot);
        } else if at >= from && incident.is_due(at, step) {
            incident.note(&snapshot);
        }
        if at < next {
            break;
        }
    }
    tell_damage(player.recording());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok((incident, name.unwrap_or_default()))
}

/// Attaches, reads what the deployment still has of its past, and returns its moments and its name.
async fn live(
    args: &ReportArgs,
    source: &SourceArgs,
    last: Duration,
) -> Result<Result<(Incident, String), Exit>, RunError> {
    let source = SourceArgs { log_reach: Some(last), ..source.clone() };
    let attached = clock::now();
    let mut coverage = Coverage { begin: attached.before(last), sources: BTreeMap::new() };
    let heard = listened_with(&source, args.length, args.wait, |frames| {
        for frame in frames {
            coverage.note(frame);
        }
    });
    let (mut engine, at) = match heard.await? {
        Ok(heard) => heard,
        Err(exit) => return Ok(Err(exit)),
    };
    let window = at.since(attached.before(last)).min(REACH);
    let points = window.as_secs().clamp(1, u64::from(MOMENTS));
    let query = ViewQuery {
        window,
        points: usize::try_from(points).unwrap_or(1),
        events: 0,
        decisions: 0,
        ..ViewQuery::default()
    };
    let snapshot = engine.snapshot(&query, at);
    let mut incident = Incident::default();
    if last > REACH {
        incident.lacks("Figures over time reach back one hour at most.".to_owned());
    }
    incident.attached(&snapshot, coverage.into_rows(), attached);
    Ok(Ok((incident, snapshot.deployment.title("\u{2192}"))))
}

/// The time that each source covers, from `begin` on.
struct Coverage {
    begin: Timestamp,
    sources: BTreeMap<SourceName, Covered>,
}

impl Coverage {
    fn note(&mut self, frame: &Frame) {
        let at = frame.happened();
        // The start of a log is read too, however old it is.
        if at < self.begin || matches!(frame.origin, Origin::Health { .. }) {
            return;
        }
        let source = source_name(&frame.origin);
        let known = self.sources.entry(source.clone()).or_insert_with(|| Covered {
            source,
            first: at,
            last: at,
            messages: 0,
        });
        known.first = known.first.min(at);
        known.last = known.last.max(at);
        known.messages += 1;
    }

    fn into_rows(self) -> Vec<Covered> {
        self.sources.into_values().collect()
    }
}
