//! Turns a snapshot into a simulated deployment, and says of each input how it is known.

mod requests;
mod settings;

pub(super) use requests::TURNS_NAME;

use std::time::Duration;

use super::inputs::{Basis, Input};
use super::{RANKS, USERS};
use crate::domain::{ClaimValue, ClaimWhat, Role, Subject};
use crate::simulator::{Scenario, Service, SimConfig, WorkerConfig};
use crate::snapshot::{ClaimRow, Snapshot, WorkerRow};

/// The name of the default that stands in for unknown inputs.
pub(super) const DEFAULT: &str = "default: Llama 3.1 70B in FP8 on H200 (docs/DEMO.md)";

/// Inputs that the user gives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Given {
    /// Conversations at once.
    pub users: Option<usize>,
}

/// The figures that the simulation of the present should reproduce; none where nothing reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Targets {
    /// Share of prompt tokens that engines had cached, 0 to 1.
    pub hits: Option<f64>,
    /// Mean time to the first token, in seconds.
    pub ttft_mean: Option<f64>,
    /// Times to the first token of half of the requests and of 95 %, in seconds, by a histogram's buckets.
    pub ttft: Option<[f64; 2]>,
    /// Mean time between two tokens, in seconds.
    pub itl_mean: Option<f64>,
    /// Answered requests per second.
    pub requests: Option<f64>,
}

/// A deployment as the simulation understands it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The set-up of the simulation.
    pub config: SimConfig,
    /// Its inputs with their basis.
    pub inputs: Vec<Input>,
    /// The figures to reproduce.
    pub targets: Targets,
    /// The workers, in the order of their places in the simulation: short name and pod.
    pub workers: Vec<(String, Option<String>)>,
}

/// The reason why no plan can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// No worker is known.
    NoWorkers,
    /// More ranks than are simulated.
    TooManyRanks(usize),
    /// Prompts and answers are computed by different workers.
    Disaggregated,
    /// The workers serve several models.
    SeveralModels,
    /// The number of requests at once is not known.
    NoLoad,
    /// Requests are in flight, but none was answered.
    NoTraffic,
    /// The length of prompts is not known.
    NoPrompts,
    /// More conversations than are simulated.
    TooManyUsers(usize),
}

impl Impossible {
    /// Returns it as one sentence, with what would help.
    pub fn sentence(self) -> String {
        match self {
            Self::NoWorkers => "No plan: no worker is known, so there is nothing to simulate.".into(),
            Self::TooManyRanks(ranks) => {
                format!("No plan: {ranks} ranks are present, but at most {RANKS} can be simulated.")
            }
            Self::Disaggregated => "No plan: prefill and decode run on different workers, which the service model \
                                    does not simulate."
                .into(),
            Self::SeveralModels => "No plan: the workers serve several models, which the service model does not \
                                    simulate; choose one deployment with --dgd."
                .into(),
            Self::NoLoad => "No plan: requests in flight are unknown, because no worker's metrics report them; \
                             pass --users."
                .into(),
            Self::NoTraffic => "No plan: no request was in flight or answered in the last minute; observe the deployment \
                                under load."
                .into(),
            Self::NoPrompts => "No plan: prompt lengths are unknown; they need the frontend's metrics or at least 20 \
                                routing decisions with lengths."
                .into(),
            Self::TooManyUsers(users) => format!(
                "No plan: {users} conversations at once are present, but at most {USERS} can be simulated."
            ),
        }
    }
}

/// Returns the deployment of a snapshot, with what is not known taken from named defaults.
///
/// # Errors
/// When something is missing that no default can stand in for.
pub fn fit(snapshot: &Snapshot, given: &Given) -> Result<Fitted, Impossible> {
    let rows: Vec<&WorkerRow> = snapshot.workers.iter().filter(|row| !row.gone).collect();
    let first = *rows.first().ok_or(Impossible::NoWorkers)?;
    if rows.len() > RANKS {
        return Err(Impossible::TooManyRanks(rows.len()));
    }
    if is_split(snapshot, &rows) {
        return Err(Impossible::Disaggregated);
    }
    let models = || rows.iter().filter_map(|row| row.belongs.model.as_deref());
    if models().any(|model| Some(model) != models().next()) {
        return Err(Impossible::SeveralModels);
    }
    let mut inputs = Vec::new();
    let (workers, names) = settings::workers(snapshot, &rows, &mut inputs);
    let of_first = rows.iter().filter(|row| row.rank.worker == first.rank.worker).count();
    let dp_ranks = u32::try_from(of_first).unwrap_or(1);
    if dp_ranks > 1 {
        let from = "workers' KV events";
        let ranks = f64::from(dp_ranks);
        inputs.push(Input::new("ranks per worker", ranks, "", Basis::Observed, from));
    }
    let mut config = SimConfig {
        router: settings::router_size(snapshot, &workers),
        workers,
        dp_ranks,
        warm_up: Duration::ZERO,
        ..SimConfig::new(Scenario::Healthy)
    };
    config.repaired.clone_from(&config.workers);
    settings::router(snapshot, &mut config, &mut inputs);
    let count = u32::try_from(config.workers.len()).unwrap_or(u32::MAX);
    config.service = Service::fleet(count, Service::default().passages);
    config.service.batch_limit = settings::batch_limit(snapshot, &rows, &mut inputs);
    let targets = requests::fit(snapshot, given, &mut config.service, &mut inputs)?;
    if config.service.concurrency > USERS {
        return Err(Impossible::TooManyUsers(config.service.concurrency));
    }
    Ok(Fitted { config, inputs, targets, workers: names })
}

/// Returns true where prompts and answers are computed by different workers: by their pods' roles, their component in
/// discovery, or their model cards.
fn is_split(snapshot: &Snapshot, rows: &[&WorkerRow]) -> bool {
    let parts = [Role::Prefill, Role::Decode].map(Role::name);
    let by_pod = |row: &&WorkerRow| row.role.as_deref().is_some_and(|role| parts.contains(&role));
    let by_component = |row: &&WorkerRow| row.belongs.component.as_deref() == Some(parts[0]);
    let by_card = |row: &ClaimRow| {
        let present = |worker: &WorkerRow| row.claim.subject == Subject::Worker(worker.rank.worker);
        let part = match &row.claim.value {
            ClaimValue::Text(part) => parts.contains(&part.as_ref()),
            _ => false,
        };
        row.claim.what == ClaimWhat::WorkerType && part && rows.iter().any(|row| present(row))
    };
    rows.iter().any(by_pod) || rows.iter().any(by_component) || snapshot.claims.iter().any(by_card)
}

impl Fitted {
    /// Returns the fitted scenario of a simulation whose set-up is known: every input is observed.
    pub fn exactly(config: SimConfig) -> Self {
        let workers = (0..config.workers.len()).map(|place| (format!("w{place}"), None)).collect();
        Self { config, inputs: Vec::new(), targets: Targets::default(), workers }
    }

    /// Returns the place of the worker that is called `name`: its short name, its pod, or the end of the pod's name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        let exact = self
            .workers
            .iter()
            .position(|(alias, pod)| alias == name || pod.as_deref() == Some(name));
        let ends = |(_, pod): &(String, Option<String>)| {
            pod.as_deref().is_some_and(|pod| !name.is_empty() && pod.ends_with(name))
        };
        let mut near = (0..self.workers.len()).filter(|place| ends(&self.workers[*place]));
        exact.or_else(|| near.next().filter(|_| near.next().is_none()))
    }

    /// Returns the time in which the caches of all workers are filled with new tokens: an estimate from the observed rate
    /// of requests, or else the longest there is.
    pub fn turnover(&self) -> Duration {
        let tokens = |worker: &WorkerConfig| worker.capacity * worker.engine as usize;
        let ranks = f64::from(self.config.dp_ranks.max(1));
        let capacity = self.config.workers.iter().map(tokens).sum::<usize>() as f64 * ranks;
        let shape = &self.config.service.conversations;
        let first = (shape.passage.0 + shape.passage.1) as f64 / 2.0 * shape.alone;
        let question = (shape.question.0 + shape.question.1) as f64 / 2.0;
        let turns = (shape.turns.0 + shape.turns.1) as f64 / 2.0;
        let new = self.config.service.answer + question + first / turns.max(1.0);
        let seconds = self.targets.requests.map(|rate| capacity / (rate * new).max(1e-3));
        Duration::from_secs_f64(seconds.unwrap_or(f64::INFINITY).min(86_400.0))
    }
}
