//! The answers: ranges over seeds, each beside the present.

use std::time::Duration;

use super::change::{Change, Questions};
use super::fit::{Fitted, Targets};
use super::inputs::Input;
use super::measure::{Job, Length, Outcome, Result};
use crate::simulator::SimConfig;

/// Deviations from what was observed that are pointed out.
const FAR: f64 = 0.25;
/// The same for percentiles by buckets, whose bounds are about a factor of two apart.
const FAR_BY_BUCKETS: f64 = 1.2;

/// Questions about a fitted deployment, ready to be simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// The deployment.
    pub fitted: Fitted,
    /// The changes, the present first.
    pub changes: Vec<Change>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The simulated time of a measurement.
    pub length: Length,
    /// The objective for 95 % of times to the first token, which sets the ceiling.
    pub objective: Duration,
}

impl Study {
    /// Returns the study of `questions`, with seeds from 1 to `seeds`.
    pub fn new(
        fitted: Fitted,
        questions: &Questions,
        seeds: u64,
        length: Length,
        objective: Duration,
    ) -> Self {
        let changes = questions.changes(&fitted.config);
        Self { fitted, changes, seeds: (1..=seeds).collect(), length, objective }
    }

    /// Returns every simulation that it takes; each can run on a thread of its own.
    pub fn jobs(&self) -> Vec<Job> {
        let each = |change: &Change| {
            let job = |seed: &u64| {
                let objective = Some(self.objective);
                Job::new(&self.fitted.config, *change, *seed, self.length, objective)
            };
            self.seeds.iter().filter_map(job).collect::<Vec<_>>()
        };
        self.changes.iter().flat_map(each).collect()
    }
}

/// The difference of a range to that of the present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// It is the present.
    Present,
    /// The ranges overlap: the difference may be chance.
    Within,
    /// The ranges do not overlap.
    Outside,
}

impl Marked {
    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Within => "within_spread",
            Self::Outside => "outside_spread",
        }
    }
}

/// A figure as a range over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The lowest.
    pub low: f64,
    /// The mean.
    pub mean: f64,
    /// The highest.
    pub high: f64,
    /// The mean less that of the present.
    pub difference: f64,
    /// The range against that of the present.
    pub marked: Marked,
}

impl Cell {
    /// Returns the range of `values`; none when there are none.
    fn new(values: &[f64], present: Option<&Self>) -> Option<Self> {
        let count = values.len() as f64;
        let low = values.iter().copied().min_by(f64::total_cmp)?;
        let high = values.iter().copied().max_by(f64::total_cmp)?;
        let mean = values.iter().sum::<f64>() / count;
        let (difference, marked) = match present {
            None => (0.0, Marked::Present),
            Some(now) => {
                // One seed has no spread to lie outside of.
                let apart = values.len() > 1 && (low > now.high || high < now.low);
                (mean - now.mean, if apart { Marked::Outside } else { Marked::Within })
            }
        };
        Some(Self { low, mean, high, difference, marked })
    }
}

/// The figures of one change.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The change.
    pub change: Change,
    /// Workers of the changed deployment.
    pub workers: usize,
    /// The name of the worker that is drained.
    pub drained: Option<String>,
    /// Share of prompt tokens that engines have cached, 0 to 1.
    pub hits: Cell,
    /// Time to the first token of half of the requests, in seconds.
    pub ttft_p50: Cell,
    /// The same of 95 % of them.
    pub ttft_p95: Cell,
    /// Generated tokens per second.
    pub tokens: Cell,
    /// Most conversations at once for which the objective is kept.
    pub ceiling: Option<Cell>,
    /// True when no larger number was tried with some seed.
    pub ceiling_at_least: bool,
    /// Share of the time in which the batch of a worker was full, 0 to 1.
    pub full: Cell,
}

impl Row {
    /// Returns the change in words.
    pub fn summary(&self) -> String {
        match self.change {
            Change::Now => "now".to_owned(),
            Change::SameSizes(size) => format!("block sizes all {size}"),
            Change::Workers(by) => {
                let plural = if self.workers == 1 { "" } else { "s" };
                format!("{} worker{plural} ({by:+})", self.workers)
            }
            Change::Cache(by) => format!("KV cache x{by}"),
            Change::Weight(weight) => format!("overlap weight {weight}"),
            Change::Temperature(temperature) => format!("temperature {temperature}"),
            Change::Mode(mode) => format!("{} routing", mode.name()),
            Change::BlockSize(size) => format!("block size {size}"),
            Change::Drain(_) => match &self.drained {
                Some(name) => format!("drain {name}"),
                None => "drain a worker".to_owned(),
            },
        }
    }
}

/// An observed figure beside the simulated one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Its name in reports.
    pub name: &'static str,
    /// Its unit: `s`, `share` or `per_second`.
    pub unit: &'static str,
    /// The observed value.
    pub observed: f64,
    /// The simulated one.
    pub simulated: Cell,
    /// True when the simulation was fitted to it.
    pub fitted: bool,
    /// True for percentiles of a histogram whose bounds are about a factor of two apart.
    pub coarse: bool,
}

impl Check {
    /// Returns the deviation of the simulated mean, as a share of the observed value.
    pub fn deviation(&self) -> f64 {
        if self.observed > 0.0 { self.simulated.mean / self.observed - 1.0 } else { 0.0 }
    }

    /// Returns true where the simulation deviates so much that the figure should not be relied on.
    pub fn is_far_off(&self) -> bool {
        let bound = if self.coarse { FAR_BY_BUCKETS } else { FAR };
        // Half as long is as far off as twice as long.
        let ratio = (1.0 + self.deviation()).max(1e-9);
        ratio.max(1.0 / ratio) - 1.0 > bound
    }
}

/// The answers of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The inputs with their basis.
    pub inputs: Vec<Input>,
    /// The observed figures of the present.
    pub observed: Targets,
    /// The observed figures beside those of the simulated present.
    pub checks: Vec<Check>,
    /// The rows, the present first.
    pub rows: Vec<Row>,
    /// Conversations at once in the present.
    pub users: usize,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The simulated time of a measurement.
    pub length: Length,
    /// The objective behind the ceilings.
    pub objective: Duration,
}

impl Plan {
    /// Returns the answers of `study`, given the results of its jobs in any order. While some are missing, its rows end
    /// before the first change that lacks one.
    pub fn new(study: &Study, results: &[Result]) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        for change in &study.changes {
            let mut own: Vec<&Result> = results.iter().filter(|it| it.change == *change).collect();
            if own.len() < study.seeds.len() {
                break;
            }
            own.sort_by_key(|result| result.seed);
            rows.extend(row(study, *change, &own, rows.first()));
        }
        let now: Vec<&Result> = results.iter().filter(|it| it.change == Change::Now).collect();
        let outcomes: Vec<Outcome> = now.iter().map(|result| result.outcome).collect();
        Self {
            inputs: study.fitted.inputs.clone(),
            observed: study.fitted.targets,
            checks: checks(&study.fitted.targets, &outcomes),
            rows,
            users: study.fitted.config.service.concurrency,
            seeds: study.seeds.clone(),
            length: study.length,
            objective: study.objective,
        }
    }
}

fn row(study: &Study, change: Change, own: &[&Result], now: Option<&Row>) -> Option<Row> {
    let config: SimConfig = change.apply(&study.fitted.config)?;
    let values = |of: fn(&Outcome) -> f64| -> Vec<f64> {
        own.iter().map(|result| of(&result.outcome)).collect()
    };
    let cell = |of: fn(&Outcome) -> f64, present: Option<&Cell>| Cell::new(&values(of), present);
    let ceilings: Vec<f64> =
        own.iter().filter_map(|result| Some(result.ceiling?.users as f64)).collect();
    Some(Row {
        change,
        workers: config.workers.len(),
        drained: change.drained().and_then(|place| {
            let (alias, pod) = study.fitted.workers.get(place)?;
            Some(pod.clone().unwrap_or_else(|| alias.clone()))
        }),
        hits: cell(|it| it.hits, now.map(|row| &row.hits))?,
        ttft_p50: cell(|it| it.ttft_p50, now.map(|row| &row.ttft_p50))?,
        ttft_p95: cell(|it| it.ttft_p95, now.map(|row| &row.ttft_p95))?,
        tokens: cell(|it| it.tokens, now.map(|row| &row.tokens))?,
        full: cell(|it| it.full, now.map(|row| &row.full))?,
        ceiling: Cell::new(&ceilings, now.and_then(|row| row.ceiling.as_ref())),
        ceiling_at_least: own.iter().any(|it| it.ceiling.is_some_and(|found| found.at_least)),
    })
}

fn checks(targets: &Targets, outcomes: &[Outcome]) -> Vec<Check> {
    let ttft = |place: usize| targets.ttft.map(|both| both[place]);
    let check = |name, unit, observed: Option<f64>, of: fn(&Outcome) -> f64| {
        let values: Vec<f64> = outcomes.iter().map(of).collect();
        let simulated = Cell::new(&values, None)?;
        Some(Check { name, unit, observed: observed?, simulated, fitted: false, coarse: false })
    };
    let fitted = [
        check("cached share of prompts", "share", targets.hits, |it| it.hits),
        check("TTFT mean", "s", targets.ttft_mean, |it| it.ttft_mean),
        check("time between tokens, mean", "s", targets.itl_mean, |it| it.itl_mean),
    ];
    let coarse = [
        check("TTFT p50, by buckets", "s", ttft(0), |it| it.ttft_p50),
        check("TTFT p95, by buckets", "s", ttft(1), |it| it.ttft_p95),
    ];
    let other = check("requests", "per_second", targets.requests, |it| it.requests);
    let fitted = fitted.into_iter().flatten().map(|it| Check { fitted: true, ..it });
    let coarse = coarse.into_iter().flatten().map(|it| Check { coarse: true, ..it });
    fitted.chain(coarse).chain(other).collect()
}
