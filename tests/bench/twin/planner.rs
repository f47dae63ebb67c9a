//! The planner against measurements that its fit did not see: `cargo bench --bench twin -- plan`.
//!
//! Service times are fitted to the measured rows of up to 140 users, from rough first guesses. Then the planner
//! predicts the rows of 150 to 180 users, the ceiling, a fourth worker and other overlap weights. `--write` puts the
//! result into docs/FORESIGHT.md.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use kvtop::plan::{Change, Fitted, Job, Length, Outcome, Plan, Questions, Study};
use kvtop::simulator::{CACHE_TOKENS, RouterMode, Scenario, Service, SimConfig, WorkerConfig};

use super::compare::{Measured, measured};
use super::sweep::{LEVELS, MODES};
use super::{get, set};

/// The page, and the marks around what is written here.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/FORESIGHT.md");
const MARKS: [&str; 2] = ["<!-- planner -->\n", "<!-- /planner -->\n"];
/// The most users of rows that the fit sees, and the levels that it simulates.
const SEEN: usize = 140;
const FIT: [usize; 5] = [40, 70, 100, 120, 140];
/// First guesses, those of a model that was not fitted, and the first step of the search.
const GUESSES: [(&str, f64, f64); 8] = [
    ("weights", 18.5, 2.0),
    ("launches", 30.0, 6.0),
    ("prompt_token", 91.0, 12.0),
    ("network", 160.0, 25.0),
    ("stream", 0.0, 0.4),
    ("routed", 0.0, 0.3),
    ("answer", 830.0, 30.0),
    ("think", 1_150.0, 500.0),
];
/// Seeds of predictions.
const SEEDS: u64 = 5;
/// The times of a measurement while fitting, and of one that predicts.
const SHORT: Length =
    Length { warm_up: Duration::from_secs(60), measured: Duration::from_secs(120) };
const LONG: Length =
    Length { warm_up: Duration::from_secs(120), measured: Duration::from_secs(300) };
/// Between the TTFT p95 measured at 160 users (704 ms) and at 170 (1,256 ms).
const OBJECTIVE: Duration = Duration::from_secs(1);

/// Returns the measured deployment with these service times.
fn deployment(service: &Service, mode: RouterMode, users: usize) -> SimConfig {
    let capacity = CACHE_TOKENS / 32;
    let worker = WorkerConfig { engine: 32, publisher: 32, card: 32, capacity, publishes: true };
    SimConfig {
        workers: vec![worker; 3],
        warm_up: Duration::ZERO,
        mode,
        service: Service { concurrency: users, ..*service },
        ..SimConfig::new(Scenario::Healthy)
    }
}

/// Runs jobs on all cores, and returns their results in the order of the jobs.
fn run(jobs: &[Job]) -> Vec<kvtop::plan::Result> {
    let next = Mutex::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let place = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        *next - 1
                    };
                    let Some(job) = jobs.get(place) else { return };
                    let result = job.run(&|| true).unwrap();
                    done.lock().unwrap().push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Returns TTFT p50 and p95, time between tokens, tokens/s and hits, in the units of the measured table, each with its
/// place there.
fn cells(outcome: &Outcome) -> [(usize, f64); 5] {
    [
        (0, outcome.ttft_p50 * 1e3),
        (1, outcome.ttft_p95 * 1e3),
        (2, outcome.itl_mean * 1e3),
        (6, outcome.tokens),
        (7, outcome.hits * 1e2),
    ]
}

/// Returns the mean deviation from the rows that the fit sees; one that is off by half counts no more than that.
fn error(service: &Service, table: &Measured) -> f64 {
    let mut jobs = Vec::new();
    let mut rows = Vec::new();
    for (place, mode) in MODES.into_iter().enumerate() {
        for users in FIT {
            jobs.extend(Job::new(&deployment(service, mode, users), Change::Now, 1, SHORT, None));
            let level = LEVELS.iter().position(|level| *level == users).unwrap();
            rows.push(table[place][level]);
        }
    }
    let results = run(&jobs);
    let deviations = results.iter().zip(rows).flat_map(|(result, row)| {
        cells(&result.outcome).map(|(cell, value)| (value / row[cell] - 1.0).abs().min(0.5))
    });
    let all: Vec<f64> = deviations.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// Fits the service times to the rows of up to 140 users: changes one parameter after the other as long as the error
/// falls.
fn refit(table: &Measured) -> (Service, f64) {
    let mut service = Service::default();
    for (key, guess, _) in GUESSES {
        set(&mut service, key, guess);
    }
    let mut best = error(&service, table);
    eprintln!("{best:.4} first guesses");
    let mut scale = 2.0;
    for _ in 0..4 {
        for (key, _, step) in GUESSES {
            for sign in [1.0, -1.0] {
                loop {
                    let mut other = service;
                    set(&mut other, key, (get(&service, key) + sign * step * scale).max(0.0));
                    let found = error(&other, table);
                    if found >= best - 1e-4 {
                        break;
                    }
                    (best, service) = (found, other);
                    eprintln!("{best:.4} {key} = {:.3}", get(&service, key));
                }
            }
        }
        scale /= 2.0;
    }
    (service, best)
}

/// Fits, predicts and returns the section.
pub(crate) fn section() -> String {
    let table = measured();
    let (service, error) = refit(&table);
    let mut page = String::new();
    parameters(&mut page, &service, error).unwrap();
    rows(&mut page, &service, &table).unwrap();
    answers(&mut page, &service).unwrap();
    page
}

fn parameters(page: &mut String, service: &Service, error: f64) -> std::fmt::Result {
    writeln!(
        page,
        "Fitted to rows of up to {SEEN} users ({FIT:?}, both modes; mean deviation {:.1} %), beside the parameters of \
         the demo, which were fitted to all rows:\n",
        100.0 * error
    )?;
    writeln!(page, "| parameter | first guess | fitted to {SEEN} users | fitted to all rows |")?;
    writeln!(page, "|--|--|--|--|")?;
    for (key, guess, _) in GUESSES {
        let (part, all) = (get(service, key), get(&Service::default(), key));
        writeln!(page, "| {} | {guess} | {part:.2} | {all:.2} |", key.replace('_', " "))?;
    }
    writeln!(page)
}

/// Writes the rows that the fit did not see.
fn rows(page: &mut String, service: &Service, table: &Measured) -> std::fmt::Result {
    writeln!(
        page,
        "Rows that the fit did not see, measured → predicted (lowest to highest of {SEEDS} seeds):\n"
    )?;
    writeln!(page, "| users | routing | TTFT p50 | TTFT p95 | tokens/s | hit % |")?;
    writeln!(page, "|--|--|--|--|--|--|")?;
    for (level, users) in LEVELS.iter().enumerate().filter(|(_, users)| **users > SEEN) {
        for (place, mode) in MODES.into_iter().enumerate() {
            let config = deployment(service, mode, *users);
            let job = |seed| Job::new(&config, Change::Now, seed, LONG, None);
            let results = run(&(1..=SEEDS).filter_map(job).collect::<Vec<_>>());
            write!(page, "| {users} | {} |", mode.name())?;
            for cell in [0, 1, 3, 4] {
                let of = |result: &kvtop::plan::Result| cells(&result.outcome)[cell];
                let mut values: Vec<f64> = results.iter().map(|result| of(result).1).collect();
                values.sort_by(f64::total_cmp);
                let (low, high) = (values[0], values[values.len() - 1]);
                let was = table[place][level][of(&results[0]).0];
                let inside = was >= low * 0.85 && was <= high * 1.15;
                let miss = if inside { "" } else { " ✗" };
                write!(page, " {was} → {low:.0} to {high:.0}{miss} |")?;
            }
            writeln!(page)?;
        }
    }
    writeln!(page, "\n✗: the measured value is more than 15 % outside the predicted range.\n")
}

/// Writes the planner's own answers, at 180 users with KV-aware routing.
fn answers(page: &mut String, service: &Service) -> std::fmt::Result {
    let questions = Questions {
        workers: vec![1],
        weight: vec![0.0, 0.25, 0.5, 2.0],
        mode: true,
        ..Questions::none()
    };
    let fitted = Fitted::exactly(deployment(service, RouterMode::Kv, 180));
    let study = Study::new(fitted, &questions, SEEDS, LONG, OBJECTIVE);
    let plan = Plan::new(&study, &run(&study.jobs()));
    writeln!(
        page,
        "Answers of the planner at 180 users with KV-aware routing, lowest to highest of {SEEDS} seeds; the ceiling is \
         the most users with a TTFT p95 of at most {} ms (* outside the spread of \"now\"):\n",
        OBJECTIVE.as_millis()
    )?;
    writeln!(page, "| | hit % | TTFT p50 | TTFT p95 | tokens/s | ceiling |")?;
    writeln!(page, "|--|--|--|--|--|--|")?;
    for row in &plan.rows {
        let name = match row.change {
            Change::Now => "now: 3 workers, weight 1".to_owned(),
            Change::Workers(_) => format!("{} workers", row.workers),
            Change::Weight(weight) => format!("overlap weight {weight}"),
            Change::Mode(mode) => mode.name().to_owned(),
            other => format!("{other:?}"),
        };
        write!(page, "| {name} |")?;
        let cells = [(Some(row.hits), 1e2), (Some(row.ttft_p50), 1e3), (Some(row.ttft_p95), 1e3)];
        let more = [(Some(row.tokens), 1.0), (row.ceiling, 1.0)];
        for (cell, unit) in cells.into_iter().chain(more) {
            let Some(cell) = cell else { continue };
            let mark = if cell.marked == kvtop::plan::Marked::Outside { " *" } else { "" };
            write!(page, " {:.0} to {:.0}{mark} |", cell.low * unit, cell.high * unit)?;
        }
        writeln!(page)?;
    }
    Ok(())
}

/// Writes `section` into the page, between its marks.
pub(crate) fn write(section: &str) {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).unwrap();
    let (_, after) = rest.split_once(MARKS[1]).unwrap();
    std::fs::write(PAGE, format!("{before}{}{section}{}{after}", MARKS[0], MARKS[1])).unwrap();
}
