//! `kvtop report`: the page of an incident, from a recording.

use std::time::Duration;

use super::RunError;
use super::headless::tell_damage;
use super::memory;
use super::output::print;
use super::thresholds;
use crate::cli::{Offset, ReportArgs, ReportFormat, SourceArgs};
use crate::exit::Exit;
use crate::player::Player;
use crate::report::incident::{Incident, PageFormat};
use crate::snapshot::ViewQuery;

/// Moments that a page shows: a chart has about two columns for each.
const MOMENTS: u32 = 400;

/// The least time between two moments. Rules judge once a second.
const LEAST: Duration = Duration::from_secs(1);

pub(super) fn report(args: &ReportArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let limit = memory::of_mirror(source.max_memory());
    let mut player = Player::open(&args.file, limit, thresholds::chosen(source))?;
    let (begin, end) = (player.position(), player.end());
    let from = match args.from {
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
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let title = args
        .title
        .clone()
        .unwrap_or_else(|| format!("KV cache routing incident: {}", name.unwrap_or_default()));
    let format = match args.output {
        ReportFormat::Html => PageFormat::Html,
        ReportFormat::Md => PageFormat::Markdown,
    };
    print(&incident.page(&title, format))?;
    tell_damage(player.recording());
    Ok(Exit::Clean)
}
