//! Plans for assistants: fewer questions and shorter simulations than those of `kvtop plan`, because a client waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::tools::{Answer, Call};
use crate::cli::PlanQuestion;
use crate::diagnose::Objectives;
use crate::plan::{self, Given};
use crate::report;
use crate::run::plan as command;
use crate::run::plan::simulate::{self, Terms, threads};
use crate::snapshot::Snapshot;

/// The questions that are answered unless others are asked.
const USUAL: [PlanQuestion; 3] = [PlanQuestion::Workers, PlanQuestion::Cache, PlanQuestion::Mode];
/// The simulated time of each measurement.
const SIMULATE: Duration = Duration::from_secs(120);
/// Cores that are left to the engine.
const SPARE: usize = 1;

/// Stops simulations once nobody waits for them.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Answers a call from `snapshot`. A plan that cannot be made is an answer, which says why.
pub(super) async fn answer(
    call: &Call,
    snapshot: &Snapshot,
    ttft_p95: Option<Duration>,
) -> Result<Answer, String> {
    let rescored = command::rescored(&[], &[], snapshot);
    let impossible = |why: &str| json(&report::plan::json_impossible(why, snapshot, &rescored));
    let fitted = match plan::fit(snapshot, &Given { users: call.users }) {
        Ok(fitted) => fitted,
        Err(why) => return Ok(impossible(&why.sentence())),
    };
    let what = if call.questions.is_empty() { &USUAL[..] } else { &call.questions };
    let mut questions = command::asked(what);
    if let Some(name) = &call.drain {
        match command::drained(name, &fitted) {
            Ok(place) => questions.drain.push(place),
            Err(why) => return Ok(impossible(&why)),
        }
    }
    let objectives = Objectives { ttft_p95, ..Objectives::default() };
    let objective = Duration::from_secs_f64(objectives.ttft_seconds());
    let terms = Terms::usual(SIMULATE, objective);
    let stop = StopOnDrop::default();
    let stopped = Arc::clone(&stop.0);
    let simulated = tokio::task::spawn_blocking(move || {
        let go_on = || !stopped.load(Ordering::Relaxed);
        simulate::answer(fitted, &questions, &terms, threads(SPARE), &go_on, &|_| {})
    });
    let plan = simulated.await.map_err(|_| "the simulation failed; this is a bug".to_owned())?;
    drop(stop);
    let plan = plan.ok_or("kvtop is stopping")?;
    Ok(json(&report::plan::json(&plan, snapshot, &rescored)))
}

fn json(text: &str) -> Answer {
    // The JSON was written by this process, so it can be read.
    Answer::Json(serde_json::from_str(text).unwrap_or_default())
}
