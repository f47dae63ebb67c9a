//! `kvtop snapshot`: the state once, of a deployment, a recording or a simulation.

use std::sync::Arc;
use std::time::Duration;

use super::RunError;
use super::headless::{listened, played};
use super::output::{print, tell};
use super::structured::Shape;
use super::{demo, live, screen, settings};
use crate::cli::{SnapshotArgs, SnapshotFormat, SourceArgs};
use crate::config::Config;
use crate::config::setting as known;
use crate::domain::Timestamp;
use crate::draw::Drawing;
use crate::engine::Engine;
use crate::exit::Exit;
use crate::report;
use crate::simulator::{Scenario, Simulation};
use crate::snapshot::{Feed, Foresight, Snapshot, ViewQuery};
use crate::tui::command::Format;
use crate::tui::theme::Glyphs;
use crate::tui::views::{self, View};

/// The start of simulated deployments: any fixed time makes the same seed give the same picture.
const START: Timestamp = Timestamp(1_771_425_300_000_000);
/// Time between two looks at a simulation: findings are raised and resolved at looks.
const LOOK: Duration = Duration::from_millis(500);

/// The origin of a state.
struct State {
    engine: Box<Engine>,
    at: Timestamp,
    feed: Feed,
    /// Names of blocks that a simulation brings along.
    labels: String,
    /// False for a deployment of which nothing was heard.
    always: bool,
}

pub(super) async fn snapshot(
    args: &SnapshotArgs,
    source: &SourceArgs,
    config: &Config,
) -> Result<Exit, RunError> {
    // Mistakes are told before anybody waits.
    let view = view(args)?;
    let shape = match &args.output {
        SnapshotFormat::Structured(format) => Shape::new(format)?,
        _ => Shape::Json,
    };
    let format = match &args.output {
        SnapshotFormat::Svg => Some(Format::Svg),
        SnapshotFormat::Html => Some(Format::Html),
        SnapshotFormat::Text => Some(Format::Text),
        _ => None,
    };
    let drawing = format.map(|format| drawing(args, view, config).map(|drawing| (drawing, format)));
    let drawing = drawing.transpose()?;
    let mut state = match (&args.replay, &args.demo) {
        (Some(path), _) => {
            let (engine, at) = played(path, source)?;
            State {
                engine: Box::new(engine),
                at,
                feed: Feed::Live,
                labels: String::new(),
                always: true,
            }
        }
        (None, Some(scenario)) => simulated(scenario, args, source)?,
        (None, None) => match listened(source, args.length, args.wait).await? {
            Ok((engine, at)) => {
                State { engine, at, feed: Feed::Live, labels: String::new(), always: false }
            }
            Err(exit) => return Ok(exit),
        },
    };
    let (snapshot, page) = match drawing {
        Some((mut drawing, format)) => {
            drawing.name_blocks(settings::with_labels(&settings::labels()?, &state.labels));
            if args.replay.is_some() {
                let since = state.engine.snapshot(&ViewQuery::default(), state.at).since;
                drawing.fit(state.at.since(since));
            }
            let snapshot = drawing.picture(&mut state.engine, &state.feed, state.at);
            let page = drawing.render(&snapshot, format);
            (snapshot, page)
        }
        None => written(&mut state, &args.output, &shape)?,
    };
    print(&page)?;
    let reached = state.always || snapshot.sources.iter().any(|source| source.frames > 0);
    for unread in report::incomplete(&snapshot).iter().filter(|_| !state.always) {
        tell(&format!("kvtop: {unread}; use --wait to wait longer"));
    }
    let whole = state.always || report::incomplete(&snapshot).is_empty();
    Ok(match (reached, whole) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Check(3),
        (true, true) => Exit::Clean,
    })
}

fn written(
    state: &mut State,
    format: &SnapshotFormat,
    shape: &Shape,
) -> Result<(Snapshot, String), RunError> {
    let mut query = ViewQuery::default();
    if matches!(format, SnapshotFormat::Structured(_)) {
        query.foresight = Foresight::REPORT;
    }
    let mut snapshot = state.engine.snapshot(&query, state.at);
    if let Some(answers) = &mut snapshot.foresight {
        let labels = settings::with_labels(&settings::labels()?, &state.labels);
        let leaders = &mut Arc::make_mut(answers).leaders;
        for row in leaders.rows.iter_mut().chain(&mut leaders.common) {
            row.label = labels.label(&row.node).map(ToOwned::to_owned);
        }
    }
    let page = match format {
        SnapshotFormat::Structured(_) => shape.print(report::json::snapshot(&snapshot)),
        SnapshotFormat::Wide => report::wide(&snapshot),
        SnapshotFormat::Name => names(&snapshot),
        SnapshotFormat::Csv => report::csv(&snapshot),
        SnapshotFormat::Md => report::markdown(&snapshot),
        _ => report::text(&snapshot),
    };
    Ok((snapshot, page))
}

/// Returns the ids of the workers that are there, one a line.
fn names(snapshot: &Snapshot) -> String {
    let mut ids: Vec<_> =
        snapshot.workers.iter().filter(|row| !row.gone).map(|row| row.rank.worker).collect();
    ids.dedup();
    ids.into_iter().map(|id| format!("{id}\n")).collect::<Vec<_>>().concat()
}

fn view(args: &SnapshotArgs) -> Result<&'static View, RunError> {
    views::built().find(|view| view.name.word() == args.view).ok_or_else(|| {
        let known = views::built().map(|view| view.name.word()).collect::<Vec<_>>().join(", ");
        RunError::View { name: args.view.clone(), known }
    })
}

fn drawing(args: &SnapshotArgs, view: &View, config: &Config) -> Result<Drawing, RunError> {
    let glyphs = match config.text(known::GLYPHS) {
        Some("ascii") => Glyphs::ASCII,
        // A file is read anywhere, so the locale says nothing.
        _ => Glyphs::UNICODE,
    };
    let theme = config.text(known::THEME).unwrap_or_default();
    // A file has no background to go by.
    let auto = if theme == super::terminal::AUTO { config.text(known::THEME_DARK) } else { None };
    let theme = auto.unwrap_or(theme);
    let mut drawing = Drawing::new(view.name, args.size, theme, &settings::themes(), glyphs)?;
    drawing.head_with(settings::headline(config));
    Ok(drawing)
}

/// Runs a simulation for as long as was asked for, of its own time.
fn simulated(name: &str, args: &SnapshotArgs, source: &SourceArgs) -> Result<State, RunError> {
    let scenario = screen::scenario(name)?;
    let (engine, simulation, at) = watched(scenario, args.seed, args.length, source);
    let feed = demo::untouched(&simulation);
    let labels = simulation.labels();
    Ok(State { engine: Box::new(engine), at, feed, labels, always: true })
}

/// Watches a simulation for `length`. Returns the engine that did, the simulation and its time.
pub(super) fn watched(
    scenario: Scenario,
    seed: u64,
    length: Duration,
    source: &SourceArgs,
) -> (Engine, Simulation, Timestamp) {
    let mut simulation = Simulation::new(scenario, seed, START);
    let mut engine = Engine::new(live::engine_options(scenario.name(), source));
    let end = START.after(length);
    let query = ViewQuery { points: 1, events: 0, decisions: 0, ..ViewQuery::default() };
    let mut at = START;
    while at < end {
        at = at.after(LOOK).min(end);
        engine.ingest(&simulation.advance(at));
        engine.advance(at);
        engine.snapshot(&query, at);
    }
    engine.settle();
    (engine, simulation, at)
}
