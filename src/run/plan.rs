//! `kvtop plan`: fits the service model to a deployment and simulates changes, spread over threads.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

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
use crate::plan::{self, Fitted, Given, Job, Length, Plan, Questions, Rescored, Study};
use crate::report;
use crate::snapshot::{Snapshot, ViewQuery};

/// Decisions from which prompt lengths are fitted, at most.
const DECISIONS: usize = 1_000;
/// The shortest and the longest warm-up: caches fill within it, or the plan says how long they had.
const WARM_UP: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(300));
/// The simulated time with which inputs are fitted, at most.
const FITTING: Duration = Duration::from_secs(90);

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
    let rescored = rescored(args, &snapshot);
    let objectives = Objectives { ttft_p95: source.ttft_p95, ..Objectives::default() };
    let objective =
        args.objective.unwrap_or_else(|| Duration::from_secs_f64(objectives.ttft_seconds()));
    let (seeds, simulate) = (args.seeds, args.simulate);
    let answered = tokio::task::spawn_blocking(move || {
        let study = prepared(fitted, &questions, seeds, simulate, objective);
        let jobs = study.jobs();
        Plan::new(&study, &spread(&jobs))
    });
    let plan = tokio::select! {
        exit = ended() => return Ok(exit),
        plan = answered => plan.map_err(|error| RunError::Start(error.into()))?,
    };
    print(&match &shape {
        Some(shape) => shape.print(report::plan::json(&plan, &snapshot, &rescored)),
        None => report::plan::text(&plan, &snapshot) + &report::plan::decisions(&rescored),
    })?;
    Ok(Exit::Clean)
}

/// Returns the picture from which a plan is made.
fn seen(engine: &mut Engine, at: Timestamp) -> Snapshot {
    let query = ViewQuery { decisions: DECISIONS, points: 1, ..ViewQuery::default() };
    engine.snapshot(&query, at)
}

/// Re-scores the decisions with the asked weights and temperatures.
fn rescored(args: &PlanArgs, snapshot: &Snapshot) -> Rescored {
    let all = Questions::default();
    let or = |given: &Vec<f64>, default: Vec<f64>| {
        if given.is_empty() { default } else { given.clone() }
    };
    let weight = snapshot.router.overlap_weight.unwrap_or(1.0);
    let (weights, heats) = (or(&args.weight, all.weight), or(&args.temperature, all.temperature));
    plan::rescore(snapshot, &weights, &heats, weight)
}

/// Prints, in the requested format, why there is no plan; the decisions that were seen can be re-scored without one.
fn refuse(
    why: &str,
    snapshot: &Snapshot,
    args: &PlanArgs,
    shape: Option<&Shape>,
) -> Result<Exit, RunError> {
    let rescored = rescored(args, snapshot);
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
    let all = Questions::default();
    let mut asked = if args.what.is_empty() && !values { all.clone() } else { Questions::none() };
    for what in &args.what {
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
        let place = fitted.place_of(name);
        asked
            .drain
            .push(place.ok_or_else(|| format!("No plan: no single worker is called `{name}`."))?);
    }
    Ok(asked)
}

/// Fits what only simulations can fit, and returns the study.
pub(super) fn prepared(
    mut fitted: Fitted,
    questions: &Questions,
    seeds: u64,
    simulate: Duration,
    objective: Duration,
) -> Study {
    let short = Length { warm_up: WARM_UP.0.min(simulate), measured: FITTING.min(simulate) };
    plan::calibrate(&mut fitted, short);
    let warm_up = fitted.turnover().clamp(WARM_UP.0, WARM_UP.1).min(simulate * 2);
    let length = Length { warm_up, measured: simulate };
    Study::new(fitted, questions, seeds, length, objective)
}

/// Runs jobs, as many at a time as there are cores.
pub(super) fn spread(jobs: &[Job]) -> Vec<plan::Result> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    let next = Mutex::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = {
                        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
                        *next += 1;
                        *next - 1
                    };
                    let Some(job) = jobs.get(place) else { return };
                    let result = job.run();
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}
