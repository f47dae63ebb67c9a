//! `kvtop plan`: fits the service model to a deployment and simulates changes.

pub(super) mod background;
mod progress;
pub(super) mod simulate;

use std::time::Duration;

use self::progress::ProgressLine;
use self::simulate::{Terms, threads};

use super::RunError;
use super::headless::{ended, listened, played};
use super::output::{print, tell};
use super::screen;
use super::snapshot::watched;
use super::structured::Shape;
use crate::cli::{PlanArgs, PlanFormat, PlanQuestion, SourceArgs};
use crate::diagnose::Objectives;
use crate::domain::Timestamp;
use crate::engine::Engine;
use crate::exit::Exit;
use crate::plan::{self, Fitted, Given, Questions, Rescored};
use crate::report;
use crate::snapshot::{Snapshot, ViewQuery};

/// The largest number of workers that an error names.
const MOST_NAMED: usize = 8;

/// Answers what would help.
pub(super) async fn plan(args: &PlanArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let shape = match &args.output {
        PlanFormat::Structured(format) => Some(Shape::new(format)?),
        PlanFormat::Text => None,
    };
    let (mut engine, at) = match (&args.file, &args.demo) {
        (Some(path), _) => {
            let (engine, at) = played(path, source)?;
            (Box::new(engine), at)
        }
        (None, Some(name)) => {
            let scenario = screen::scenario(name)?;
            let (engine, _, at) = watched(scenario, args.seed, args.length, source);
            (Box::new(engine), at)
        }
        (None, None) => match listened(source, args.length, args.wait).await? {
            Ok(seen) => seen,
            Err(exit) => return Ok(exit),
        },
    };
    let snapshot = seen(&mut engine, at);
    let fitted = match plan::fit(&snapshot, &Given { users: args.users }) {
        Ok(fitted) => fitted,
        Err(why) => return refuse(&why.sentence(), &snapshot, args, shape.as_ref()),
    };
    let questions = match questions(args, &fitted) {
        Ok(questions) => questions,
        Err(why) => return refuse(&why, &snapshot, args, shape.as_ref()),
    };
    let rescored = rescored(&args.weight, &args.temperature, &snapshot);
    let objectives = Objectives { ttft_p95: source.ttft_p95, ..Objectives::default() };
    let objective =
        args.objective.unwrap_or_else(|| Duration::from_secs_f64(objectives.ttft_seconds()));
    let terms = Terms { seeds: args.seeds, simulate: args.simulate, objective };
    let answered = tokio::task::spawn_blocking(move || {
        let line = ProgressLine::new();
        simulate::answer(fitted, &questions, &terms, threads(0), &|| true, &|step| line.show(&step))
    });
    let plan = tokio::select! {
        exit = ended() => return Ok(exit),
        plan = answered => plan.map_err(|error| RunError::Start(error.into()))?,
    };
    // Nothing stops it but the end of the process.
    let Some(plan) = plan else { return Ok(Exit::Clean) };
    print(&match &shape {
        Some(shape) => shape.print(report::plan::json(&plan, &snapshot, &rescored)),
        None => report::plan::text(&plan, &snapshot) + &report::plan::decisions(&rescored),
    })?;
    Ok(Exit::Clean)
}

/// Returns the picture from which a plan is made.
fn seen(engine: &mut Engine, at: Timestamp) -> Snapshot {
    engine.snapshot(&query(), at)
}

/// Returns the query of a picture from which a plan is made.
pub(super) fn query() -> ViewQuery {
    ViewQuery { decisions: plan::DECISIONS, points: 1, ..ViewQuery::default() }
}

/// Re-scores the decisions with these weights and temperatures; with the usual ones where none are given.
pub(super) fn rescored(weights: &[f64], temperatures: &[f64], snapshot: &Snapshot) -> Rescored {
    let usual = Questions::default();
    let weights = if weights.is_empty() { &usual.weight } else { weights };
    let heats = if temperatures.is_empty() { &usual.temperature } else { temperatures };
    plan::rescore(snapshot, weights, heats, snapshot.router.overlap_weight.unwrap_or(1.0))
}

/// Prints, in the requested format, why there is no plan; the decisions that were seen can be re-scored without one.
fn refuse(
    why: &str,
    snapshot: &Snapshot,
    args: &PlanArgs,
    shape: Option<&Shape>,
) -> Result<Exit, RunError> {
    let rescored = rescored(&args.weight, &args.temperature, snapshot);
    if let Some(shape) = shape {
        print(&shape.print(report::plan::json_impossible(why, snapshot, &rescored)))?;
    } else {
        tell(&format!("kvtop: {why}"));
        print(report::plan::decisions(&rescored).trim_start())?;
    }
    Ok(Exit::Check(3))
}

/// Returns the questions that the command line asks; an error for a worker that is not there.
fn questions(args: &PlanArgs, fitted: &Fitted) -> Result<Questions, String> {
    let values = !(args.workers.is_empty()
        && args.cache.is_empty()
        && args.weight.is_empty()
        && args.temperature.is_empty()
        && args.block_size.is_empty()
        && args.drain.is_empty());
    let mut asked =
        if args.what.is_empty() && !values { Questions::default() } else { asked(&args.what) };
    let given = |values: &Vec<f64>, into: &mut Vec<f64>| {
        if !values.is_empty() {
            into.clone_from(values);
        }
    };
    given(&args.cache, &mut asked.cache);
    given(&args.weight, &mut asked.weight);
    given(&args.temperature, &mut asked.temperature);
    if !args.workers.is_empty() {
        asked.workers.clone_from(&args.workers);
    }
    if !args.block_size.is_empty() {
        asked.block_size.clone_from(&args.block_size);
    }
    for name in &args.drain {
        asked.drain.push(drained(name, fitted)?);
    }
    Ok(asked)
}

/// Returns groups of questions with their usual values.
pub(super) fn asked(what: &[PlanQuestion]) -> Questions {
    let all = Questions::default();
    let mut asked = Questions::none();
    for what in what {
        match what {
            PlanQuestion::Workers => asked.workers.clone_from(&all.workers),
            PlanQuestion::Cache => asked.cache.clone_from(&all.cache),
            PlanQuestion::Weight => asked.weight.clone_from(&all.weight),
            PlanQuestion::Temperature => asked.temperature.clone_from(&all.temperature),
            PlanQuestion::Mode => asked.mode = true,
            PlanQuestion::BlockSize => asked.block_size.clone_from(&all.block_size),
            PlanQuestion::Now => {}
        }
    }
    asked
}

/// Returns the place of the worker called `name`, or why there is none.
pub(super) fn drained(name: &str, fitted: &Fitted) -> Result<usize, String> {
    fitted.place_of(name).ok_or_else(|| {
        let shown = |(alias, pod): &(String, Option<String>)| match pod {
            Some(pod) => format!("{alias} ({pod})"),
            None => alias.clone(),
        };
        let known: Vec<String> = fitted.workers.iter().take(MOST_NAMED).map(shown).collect();
        let more = fitted.workers.len() - known.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("No plan: no single worker is called `{name}`; known: {}{more}.", known.join(", "))
    })
}
