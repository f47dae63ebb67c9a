//! Every simulated fault is named within a minute, on every seed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use kvtop::simulator::{Hashing, PublisherKind, Scenario, SimConfig, Simulation, WorkerConfig};
use kvtop::wire::encode::Family;

use super::{START, Watch, critical, wrong};
use crate::support::bless;

/// Seeds for each fault.
const SEEDS: u64 = 20;

/// A fault, and what it must be called.
struct Fault {
    name: &'static str,
    id: &'static str,
    config: fn(u64) -> SimConfig,
}

fn base(seed: u64) -> SimConfig {
    let mut config = SimConfig::new(Scenario::Healthy);
    config.warm_up = Duration::from_secs(10 + seed % 7);
    config.history = seed.is_multiple_of(2);
    config.service.concurrency = 32 + 6 * usize::try_from(seed % 4).unwrap();
    config
}

fn of(scenario: Scenario, seed: u64) -> SimConfig {
    let mut config = SimConfig::new(scenario);
    config.warm_up = Duration::from_secs(20 + seed % 7);
    config
}

fn workers(config: &mut SimConfig, change: fn(&mut WorkerConfig)) {
    config.workers.iter_mut().for_each(change);
}

const FAULTS: &[Fault] = &[
    Fault { name: "healthy", id: "", config: base },
    Fault {
        name: "engine smaller than publisher, TensorRT-LLM",
        id: "KVT001",
        config: |seed| {
            let mut config = base(seed);
            workers(&mut config, |worker| worker.engine = 16);
            config
        },
    },
    Fault {
        name: "engine larger than publisher, TensorRT-LLM",
        id: "KVT001",
        config: |seed| {
            let mut config = base(seed);
            workers(&mut config, |worker| (worker.engine, worker.capacity) = (64, 60));
            config
        },
    },
    Fault {
        name: "engine and publisher differ, vLLM",
        id: "KVT001",
        config: |seed| {
            let mut config = base(seed);
            config.publisher = PublisherKind::Relay;
            config.family = if seed.is_multiple_of(3) { Family::V1_0 } else { Family::V0_9 };
            workers(&mut config, |worker| (worker.publisher, worker.card) = (16, 16));
            config
        },
    },
    Fault {
        name: "router hashes with another size",
        id: "KVT001",
        config: |seed| {
            let mut config = of(Scenario::RouterMismatch, seed);
            config.history = true;
            config
        },
    },
    Fault {
        name: "workers of two sizes",
        id: "KVT002",
        config: |seed| {
            let mut config = base(seed);
            let last = config.workers.last_mut().unwrap();
            (last.engine, last.publisher, last.card) = (64, 64, 64);
            config
        },
    },
    Fault { name: "silent worker", id: "KVT003", config: |seed| of(Scenario::Silent, seed) },
    Fault {
        name: "router without history",
        id: "KVT007",
        config: |seed| of(Scenario::NoHistory, seed),
    },
    Fault {
        name: "cache too small",
        id: "KVT009",
        config: |seed| {
            let mut config = of(Scenario::Churn, seed);
            workers(&mut config, |worker| worker.capacity = 200);
            config
        },
    },
    Fault {
        name: "router hashes otherwise, sizes agree",
        id: "KVT015",
        config: |seed| {
            let mut config = base(seed);
            (config.hashing, config.history) = (Hashing::Otherwise, true);
            config
        },
    },
    Fault {
        name: "router weighs what is cached at a tenth",
        id: "KVT018",
        config: |seed| {
            let mut config = base(seed);
            config.weight = 0.1;
            config.workers = vec![config.workers[0]; 4];
            config.repaired = config.workers.clone();
            config
        },
    },
    Fault {
        name: "events lost before they are published",
        id: "KVT014",
        config: |seed| {
            let mut config = base(seed);
            config.family = Family::V1_0;
            config.history = true;
            config.loss = 0.15;
            config
        },
    },
];

/// Returns what a fault was called in the end, and after how many seconds.
fn called(fault: &Fault, seed: u64) -> (String, Option<u64>) {
    let mut simulation = Simulation::with((fault.config)(seed), seed, START);
    let mut watch = Watch::new();
    let mut first = None;
    let mut last = String::new();
    for seconds in (0..=60).step_by(10) {
        let at = START.after(Duration::from_secs(seconds));
        let snapshot = watch.look(&simulation.advance(at), at);
        last = wrong(&snapshot).first().map_or_else(String::new, |finding| finding.id.to_owned());
        let mut others = critical(&snapshot).into_iter().filter(|id| *id != fault.id);
        if let Some(other) = others.next() {
            return (other.to_owned(), None);
        }
        if last == fault.id && first.is_none() {
            first = Some(seconds);
        }
        // A cause that was named is not taken back.
        if first.is_some() && !fault.id.is_empty() {
            break;
        }
    }
    (last, first)
}

#[test]
fn every_simulated_fault_is_named_within_a_minute() {
    let mut page = String::from(
        "# How well kvtop tells faults apart\n\nWritten by `tests/diagnosis/detection.rs` \
         (`tests/bless diagnosis` rewrites it). Each fault is simulated with 20 seeds, some \
         with history and some as a late attach, and looked at every 10 simulated seconds for a minute. Each \
         cell counts runs in which that finding ranked first; `–` means no warning or worse.\n\n",
    );
    let mut columns: Vec<&str> = FAULTS.iter().map(|fault| fault.id).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut rows = String::new();
    let mut wrong = Vec::new();
    for fault in FAULTS {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut latest = 0;
        for seed in 0..SEEDS {
            let (id, after) = called(fault, seed);
            latest = latest.max(after.unwrap_or(60));
            if id != fault.id {
                wrong.push(format!("{}, seed {seed}: {id}", fault.name));
            }
            *counts.entry(id).or_default() += 1;
        }
        let shown = |id: &&str| counts.get(*id).map_or(String::new(), u64::to_string);
        let cells: Vec<String> = columns.iter().map(shown).collect();
        let known: u64 = columns.iter().filter_map(|id| counts.get(*id)).sum();
        let other = if known < SEEDS { (SEEDS - known).to_string() } else { String::new() };
        let latest = if fault.id.is_empty() { "–".to_owned() } else { format!("{latest} s") };
        writeln!(rows, "| {} | {} | {other} | {latest} |", fault.name, cells.join(" | ")).unwrap();
    }
    let heads: Vec<&str> = columns.iter().map(|id| if id.is_empty() { "–" } else { *id }).collect();
    writeln!(page, "| fault | {} | other | named within |", heads.join(" | ")).unwrap();
    writeln!(page, "|{}", "---|".repeat(heads.len() + 3)).unwrap();
    page.push_str(&rows);
    page.push_str(
        "\nThe recordings of real deployments are judged in `tests/diagnosis/captures.rs`, whole and by \
         their second halves; 200 healthy simulations with bursts, rolls and late attaches in \
         `tests/diagnosis/alarms.rs`.\n",
    );
    assert!(wrong.is_empty(), "{page}\n{}", wrong.join("\n"));
    // The rest of the page is that of tests/gate.rs and tests/story.rs.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DIAGNOSIS.md");
    let known = std::fs::read_to_string(file).unwrap_or_default();
    page.extend(known.find("\n## At any moment").map(|at| &known[at..]));
    bless::page("docs/DIAGNOSIS.md", &page);
}
