//! Capacity and churn: figures with their inputs, and none where an input is missing.

use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::frame::{Frame, KubeChange, Origin};
use kvtop::report::{check, json};
use kvtop::simulator::{Scenario, SimConfig, Simulation};
use kvtop::snapshot::{MemoryRow, Snapshot};
use kvtop::tui::panels::memory;
use kvtop::tui::theme::Glyphs;
use kvtop::tui::widgets::canvas::Part;
use serde_json::Value;

use crate::support::{fixture, frames, played};

const NOW: Timestamp = Timestamp(1_795_224_204_000_000);

/// Returns the figure called `name` of the first rank.
fn figure(snapshot: &Snapshot, name: &str) -> Option<(f64, String)> {
    let row = snapshot.memory.first().unwrap();
    let figure = MemoryRow::FIGURES.iter().find(|figure| figure.name == name).unwrap();
    (figure.of)(row).as_ref().map(|known| (known.value, known.source.to_string()))
}

fn value(snapshot: &Snapshot, name: &str) -> f64 {
    figure(snapshot, name).unwrap_or_else(|| panic!("{name} is not known")).0
}

fn recorded(name: &str) -> Snapshot {
    played(&frames(&fixture(&format!("captures/{name}.frames.gz")))).1
}

/// The recording's workers hold 95 blocks of 96 and evict from then on.
#[test]
fn larger_caches_avoid_the_stores_whose_blocks_were_evicted_last() {
    for (version, expected) in
        [("0.9.0", [0.05, 0.13, 0.25, 0.31]), ("1.6.1", [0.03, 0.10, 0.30, 0.36])]
    {
        let snapshot = recorded(&format!("{version}-evict"));

        let curve = snapshot.curve.as_ref().unwrap();
        let shares: Vec<f64> =
            curve.points.iter().map(|point| (point.avoided * 100.0).round() / 100.0).collect();
        assert_eq!(shares, expected, "{version}");
        assert_eq!((curve.ranks, curve.capacity), (2, 192));
        assert!(curve.samples > 900 && curve.points.iter().all(|point| point.margin < 0.04));
        let (share, basis) = figure(&snapshot, "avoided_2").unwrap();
        assert!(
            (0.2..0.35).contains(&share) && basis.contains("capacity 96 blocks"),
            "{share} {basis}"
        );

        let told: Value = serde_json::from_str(&json::snapshot(&snapshot)).unwrap();
        assert_eq!(told["capacity_curve"]["points"][2]["factor"], 2.0);
        let churn = snapshot.findings.iter().find(|row| row.id == "KVT009").unwrap();
        let sentence = &churn.fix.as_ref().unwrap().sentence;
        assert!(sentence.contains("2x capacity avoids"), "{sentence}");
    }
}

#[test]
fn too_few_stores_give_no_curve() {
    let snapshot = recorded("0.9.0-mm_pub32_eng16");

    assert_eq!(snapshot.curve, None);
    assert_eq!(figure(&snapshot, "avoided_2"), None);
}

/// The users' deployment as recorded, one worker's start, and a scrape of the frontend.
fn deployment(lines: &[&str]) -> Snapshot {
    let list = |path: &str| -> Vec<Value> {
        let text = std::fs::read(fixture(&format!("kube/{path}.body.json"))).unwrap();
        let list: Value = serde_json::from_slice(&text).unwrap();
        list["items"].as_array().unwrap().clone()
    };
    let objects = [("ConfigMap", list("configmaps/list")), ("Pod", list("pods/list_gtc-demo"))];
    let mut frames: Vec<Frame> = Vec::new();
    for (kind, objects) in objects {
        for object in objects {
            let origin = Origin::Kube { kind: kind.into(), change: KubeChange::Listed };
            frames.push(Frame::new(NOW, origin, object.to_string()));
        }
    }
    let pod = "gtc-demo-0-trtllmworker-fhhcl";
    let lines = lines.iter().copied().chain(["KvEventPublisher for worker 7702713015953616"]);
    for line in lines {
        let origin =
            Origin::Log { namespace: "gtc-demo".into(), pod: pod.into(), container: "main".into() };
        frames.push(Frame::new(NOW, origin, line.to_owned()));
    }
    let chosen = "Selected worker: worker_id=7702713015953616 dp_rank=0, logit: 1.000, cached blocks: 0, \
                  tree size: 0";
    let log = Origin::Log {
        namespace: "gtc-demo".into(),
        pod: "gtc-demo-0-frontend-rmjwp".into(),
        container: "main".into(),
    };
    frames.push(Frame::new(NOW, log, chosen));
    let page = "dynamo_frontend_input_sequence_tokens_sum{model=\"m\"} 600000\n\
                dynamo_frontend_input_sequence_tokens_count{model=\"m\"} 100\n\
                dynamo_frontend_output_sequence_tokens_sum{model=\"m\"} 50000\n\
                dynamo_frontend_output_sequence_tokens_count{model=\"m\"} 100\n";
    let metrics =
        Origin::Metrics { pod: "gtc-demo-0-frontend-rmjwp".into(), url: "/metrics".into() };
    frames.push(Frame::new(NOW, metrics, page));
    played(&frames).1
}

#[test]
fn the_users_deployment_has_room_for_far_more_than_it_runs() {
    let seen = deployment(&[
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 50.35 GiB for max tokens in paged KV cache (1319840).",
        "[TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 19.80 GiB, available \
         KV cache memory when calculating max tokens: 50.35 GiB, fraction is set 0.85, kv size is 40960. \
         device total memory 79.11 GiB",
    ]);

    assert!((value(&seen, "capacity_tokens") - 1_319_840.0).abs() < 0.5);
    assert!((value(&seen, "block_tokens") - 32.0).abs() < 0.5);
    assert!((value(&seen, "capacity_blocks") - 41_245.0).abs() < 0.5);
    // 80 layers, 8 heads over 4 GPUs, 128 wide, one byte each, keys and values.
    assert!((value(&seen, "token_bytes") - 40_960.0).abs() < 0.5);
    // 64 requests at once, 6000 tokens of prompt and 500 of answer on average.
    let (over, inputs) = figure(&seen, "over_commit").unwrap();
    assert!((over - 64.0 * 6500.0 / 1_319_840.0).abs() < 1e-9, "{over}");
    for input in ["64 requests at once", "6500 mean tokens", "1319840 tokens by log of"] {
        assert!(inputs.contains(input), "{input}: {inputs}");
    }
    assert_eq!(figure(&seen, "weight_bytes"), None, "no line says so");
    assert_eq!(figure(&seen, "residency"), None, "no event came");
}

#[test]
fn what_a_token_takes_follows_from_the_whole_when_nobody_says_it() {
    let seen = deployment(&[
        "INFO gpu_model_runner.py:2007] Model loading took 16.9 GiB and 12.5 seconds",
        "[MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV cache (220480).",
    ]);

    let (bytes, inputs) = figure(&seen, "token_bytes").unwrap();

    assert!((bytes - 26.91 * 1_073_741_824.0 / 220_480.0).abs() < 1.0, "{bytes}");
    assert!(inputs.contains(" / 220480 tokens by log of"), "{inputs}");
    assert!((value(&seen, "weight_bytes") - 16.9 * 1_073_741_824.0).abs() < 1.0);
    let nothing = deployment(&[]);
    for name in ["capacity_tokens", "token_bytes", "fill", "pressure", "over_commit"] {
        assert_eq!(figure(&nothing, name), None, "{name}");
    }
}

#[test]
fn what_engines_of_later_releases_print_is_read_too() {
    let vllm = deployment(&[
        "INFO 09-11 16:26:47 [gpu_worker.py:381] Initial free memory 93.95 GiB, reserved 40.5 GiB memory \
         for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling.",
        "INFO 09-11 16:26:48 [kv_cache_utils.py:2146] GPU KV cache size: 331,776 tokens",
    ]);
    let sglang = deployment(&[
        "[2026-08-17 16:52:10] Load weight end. elapsed=100.59 s, type=X, avail mem=97.27 GB, mem \
         usage=15.47 GB.",
        "[2026-08-17 16:52:19] max_total_num_tokens=331776, chunked_prefill_size=8192, \
         max_prefill_tokens=16384, max_running_requests=4096, context_len=169000, \
         available_gpu_mem=8.27 GB",
    ]);

    let expected = 40.5 * 1_073_741_824.0 / 331_776.0;
    assert!((value(&vllm, "token_bytes") - expected).abs() < 1.0, "{:?}", vllm.memory);
    assert!((value(&sglang, "capacity_tokens") - 331_776.0).abs() < 0.5);
    assert!((value(&sglang, "weight_bytes") - 15.47 * 1_073_741_824.0).abs() < 1.0);
    let (_, inputs) = figure(&sglang, "over_commit").unwrap();
    assert!(inputs.contains("4096 requests at once"), "{inputs}");
}

fn simulated(scenario: Scenario, history: bool) -> Snapshot {
    let mut config = SimConfig::new(scenario);
    config.history = history;
    let mut simulation = Simulation::with(config, 3, NOW);
    let frames = simulation.advance(NOW.after(Duration::from_secs(60)));
    played(&frames).1
}

#[test]
fn a_cache_that_is_too_small_keeps_blocks_for_seconds_and_stores_them_again() {
    let (churn, healthy) = (simulated(Scenario::Churn, true), simulated(Scenario::Healthy, true));

    let row = &churn.memory[0];
    let (held, stored) = (churn.workers[0].held as f64, value(&churn, "stored_per_second"));
    assert!((value(&churn, "residency") - held / stored).abs() < 1e-9);
    assert!(value(&churn, "residency") < 60.0, "{row:?}");
    assert!(value(&churn, "returned") > 0.2 && value(&churn, "pressure") > 1.2, "{row:?}");
    assert!(
        value(&healthy, "returned") < value(&churn, "returned") / 2.0,
        "{:?}",
        healthy.memory[0]
    );
    let late = simulated(Scenario::Churn, false);
    assert_eq!(figure(&late, "residency"), None, "what it held before is not known");
    assert!(figure(&late, "stored_per_second").is_some());
}

#[test]
fn a_worker_that_just_came_is_measured_from_its_first_event_on() {
    let mut config = SimConfig::new(Scenario::Mismatch);
    config.history = true;
    let mut simulation = Simulation::with(config, 3, NOW);
    let before = NOW.after(Duration::from_secs(400));
    let mut frames = simulation.advance(before);
    simulation.fix();
    let now = before.after(Duration::from_secs(200));
    frames.extend(simulation.advance(now));
    let seen = played(&frames).1;

    let young: Vec<&MemoryRow> =
        seen.memory.iter().filter(|row| row.stored_per_second.is_some()).collect();
    assert!(!young.is_empty());
    for row in young {
        let stored = row.stored_per_second.as_ref().unwrap();
        let seconds: f64 = stored
            .source
            .to_string()
            .split(" in ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(seconds <= 200.0, "older than it is: {stored:?}");
        let stays = row.residency.as_ref().unwrap();
        assert!(stays.value <= seconds + 1.0, "longer than it has lived: {stays:?}");
    }
}

#[test]
fn what_engines_hold_is_not_known_where_stores_hold_no_blocks() {
    let seen = simulated(Scenario::Mismatch, true);
    assert!(seen.findings.iter().any(|finding| finding.id == "KVT001"));

    assert!(seen.workers[0].counters.empty_stores > 0);
    for name in ["fill", "residency"] {
        assert_eq!(figure(&seen, name), None, "{name}");
    }
    assert!(figure(&seen, "capacity_blocks").is_some());
}

#[test]
fn both_reports_hold_the_figures() {
    let churn = simulated(Scenario::Churn, true);
    let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };

    for report in [read(&json::snapshot(&churn)), read(&check::json(&churn))] {
        let rows = report["memory"].as_array().unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0]["worker"], "w0");
        let room = &rows[0]["figures"]["capacity_blocks"];
        assert_eq!((&room["value"], &room["unit"]), (&384.0.into(), &"blocks".into()));
        assert!(rows[0]["figures"]["weight_bytes"].is_null());
    }
}

#[test]
fn the_panel_shows_each_figure_with_its_inputs_or_what_it_needs() {
    let churn = simulated(Scenario::Churn, true);
    let figures = memory::figures(&churn.memory[0], 100, Glyphs::UNICODE);

    let line = |parts: &Vec<Part>| -> String {
        parts.iter().map(|part| part.text.as_str()).collect::<String>().trim_end().to_owned()
    };
    let text: Vec<String> = figures.iter().map(line).collect();
    insta::assert_snapshot!("panel", text.join("\n"));
}
