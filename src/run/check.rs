//! `kvtop check` and `kvtop explain`.

mod several;

use std::time::Duration;

use super::RunError;
use super::ending;
use super::headless::{at_the_end_of, ended, follow, reach_within, take};
use super::live::{self, Live};
use super::log_files;
use super::output::{one_line, print, printable_lines, tell};
use super::ready::{self, Patience, Stage};
use super::structured::Shape;
use super::waiting::Waiting;
use crate::cli::{CheckArgs, CheckFormat, ExplainArgs, SourceArgs};
use crate::clock;
use crate::diagnose::RULES;
use crate::domain::Timestamp;
use crate::engine::Engine;
use crate::exit::Exit;
use crate::lint::CHECKS;
use crate::report;
use crate::snapshot::{Snapshot, ViewQuery};
use crate::tui::text;

/// Columns of an explanation.
const EXPLAINED: usize = 78;

/// Judges a deployment once and says so.
pub(super) async fn check(args: &CheckArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let shape = shape(args)?;
    if source.means_several() {
        return several::check(args, source, &shape).await;
    }
    let snapshot = match &args.replay {
        Some(path) => at_the_end_of(path, source).map(Box::new),
        None if log_files::alone(source) => log_files::at_the_end_of(source).map(Box::new),
        None => match listened(args, source, None).await {
            Ok(Ok(snapshot)) => Ok(snapshot),
            Ok(Err(exit)) => return Ok(exit),
            Err(error) => Err(error),
        },
    };
    let snapshot = match snapshot {
        Ok(snapshot) => snapshot,
        Err(error) => return unknown(args, &error),
    };
    let status = report::check::Status::new(&snapshot);
    print(&match args.output {
        CheckFormat::Text => report::check::text(&snapshot),
        CheckFormat::Wide => report::check::wide(&snapshot),
        CheckFormat::Name => report::check::names(&snapshot),
        CheckFormat::Prometheus => report::prometheus::check(&snapshot),
        CheckFormat::Structured(_) => shape.print(report::check::json(&snapshot)),
    })?;
    Ok(Exit::Check(status.exit()))
}

/// Returns the form of JSON data that was asked for.
fn shape(args: &CheckArgs) -> Result<Shape, RunError> {
    match &args.output {
        CheckFormat::Structured(format) => Shape::new(format),
        _ => Ok(Shape::Json),
    }
}

/// Prints, in the requested format, that the deployment could not be checked: unknown, neither good nor bad.
pub(super) fn unknown(args: &CheckArgs, error: &dyn std::error::Error) -> Result<Exit, RunError> {
    let why = printable_lines(&one_line(&crate::exit::chain(error)));
    let shape = shape(args)?;
    print(&match args.output {
        CheckFormat::Text | CheckFormat::Wide => report::check::text_failed(&why),
        CheckFormat::Name => {
            // Nothing was found, and nothing was looked at: the exit code says so, and a line for people.
            tell(&format!("kvtop: {why}"));
            String::new()
        }
        CheckFormat::Prometheus => report::prometheus::check_failed(),
        CheckFormat::Structured(_) => shape.print(report::check::json_failed(&why, clock::now())),
    })?;
    Ok(Exit::Check(3))
}

/// Listens to a live deployment until it can be judged, or with `--wait` until all is well.
///
/// `part` is one of several deployments, with the limit of its index copy; what it waits for is not reported.
async fn listened(
    args: &CheckArgs,
    source: &SourceArgs,
    part: Option<(Live, usize)>,
) -> Result<Result<Box<Snapshot>, Exit>, RunError> {
    let alone = part.is_none();
    let (live, mirror) = match part {
        Some((live, mirror)) => (live, Some(mirror)),
        None => (live::start(source).await?, None),
    };
    let Live { mut frames, sources, target, attach, .. } = live;
    let mut options = target.engine_options();
    options.memory_limit = mirror.unwrap_or(options.memory_limit);
    let mut engine = Engine::new(options);
    let started = clock::now();
    let mut ready: Option<Timestamp> = None;
    let mut waiting = Waiting::default();
    let patience = Patience::new(reach_within(source), args.wait);
    let ended = ended();
    tokio::pin!(ended);
    let snapshot = loop {
        tokio::select! {
            exit = &mut ended => return Ok(Err(exit)),
            () = take(&mut frames, &mut engine) => {}
        }
        follow(attach.as_ref(), &engine);
        let now = clock::now();
        let snapshot = engine.snapshot(&ViewQuery::default(), now);
        let stage = ready::stage(&snapshot, attach.as_ref());
        let most = patience.at(stage);
        if alone {
            waiting.say(&snapshot, attach.as_ref(), now.since(started), Some(most));
        }
        if ready.is_none() && stage == Stage::Ready {
            ready = Some(now);
        }
        let listened = ready.map(|ready| now.since(ready));
        let enough = match listened {
            Some(listened) => is_enough(args, &snapshot, listened),
            None => waiting.waited(&snapshot, started, now) >= most,
        };
        if enough {
            break snapshot;
        }
    };
    ending::stop(&sources).await;
    Ok(Ok(Box::new(snapshot)))
}

/// Returns true when there is nothing to wait for any more.
fn is_enough(args: &CheckArgs, snapshot: &Snapshot, listened: Duration) -> bool {
    let judged = listened >= args.length;
    match args.wait {
        None => judged,
        Some(wait) => {
            let well = report::check::Status::new(snapshot) == report::check::Status::Ok;
            (judged && well) || listened >= wait
        }
    }
}

/// Prints what a finding means.
pub(super) fn explain(args: &ExplainArgs) -> Result<Exit, RunError> {
    let Some(id) = &args.id else {
        print(&list())?;
        return Ok(Exit::Clean);
    };
    let Some(text) = explanation(id) else {
        let known = explained().into_iter().flat_map(|(id, name, _)| [id, name]).collect();
        return Err(RunError::Finding { id: id.clone(), known });
    };
    print(&text)?;
    Ok(Exit::Clean)
}

/// Returns id, name and description of every finding, by id.
pub(super) fn explained() -> Vec<(&'static str, &'static str, String)> {
    let rules = RULES.iter().map(|rule| {
        let mut about = rule.documentation();
        if !rule.explains().is_empty() {
            about += "\nConsequences, hidden while this finding is active: ";
            about += &(rule.explains().join(", ") + ".");
        }
        (rule.id(), rule.name(), about)
    });
    let checks = CHECKS.iter().map(|check| (check.id, check.name, check.documentation()));
    let mut known: Vec<_> = rules.chain(checks).collect();
    known.sort_unstable();
    known
}

/// Returns ids and names of all findings, one a line.
pub(super) fn list() -> String {
    let lines = explained().into_iter().map(|(id, name, _)| format!("{id}  {name}\n"));
    lines.collect::<Vec<_>>().concat()
}

/// Returns the description of a finding, given its id or name.
pub(super) fn explanation(id: &str) -> Option<String> {
    let all = explained();
    let (id, name, about) = all
        .iter()
        .find(|known| known.0.eq_ignore_ascii_case(id) || known.1.eq_ignore_ascii_case(id))?;
    Some(format!("{id} {name}\n\n{}", paragraphs(about)))
}

/// Wraps the description of a rule, each paragraph for itself, so that its lines fit any terminal.
fn paragraphs(about: &str) -> String {
    let paragraph = |text: &str| text::wrap(text, EXPLAINED).join("\n") + "\n";
    about.lines().map(paragraph).collect::<Vec<_>>().join("\n")
}
