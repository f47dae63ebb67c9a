//! The mirror beside the router's own index: speed, memory, stalls, and the same answers.
//!
//! `bench [--size 100k|1m|10m] [--workers N] [--reps N] [--engine]` prints `metric ours peer ratio goal PASS|FAIL` and ends with 1 when
//! a goal is missed. With `--engine` it measures the whole engine instead, from the bytes of messages.
//! Each implementation runs in a fresh process, the two of a pair one after the
//! other; rates are of the thread's CPU clock; ratios are medians of pairs.

#[path = "../bench/cache.rs"]
mod cache;
#[path = "../bench/engine.rs"]
mod engine;
#[path = "../bench/stream.rs"]
mod stream;
#[path = "../bench/subject.rs"]
mod subject;
#[path = "../bench/wire.rs"]
mod wire;
#[path = "../bench/workload.rs"]
mod workload;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use engine::OursEngine;
use rustix::time::{ClockId, clock_gettime};
use stream::{Event, Stream};
use subject::{Ours, Subject, Theirs};
use wire::{Format, OursDecoding, TheirsDecoding};
use workload::{Random, rank};

/// Events to a chunk.
const CHUNK: usize = 4096;

unsafe extern "C" {
    fn malloc_trim(pad: usize) -> i32;
}

/// How a figure is judged.
#[derive(Clone, Copy)]
enum Goal {
    /// Ours is at least this many times theirs.
    AtLeast(f64),
    /// Ours is at most this many times theirs.
    AtMost(f64),
    /// Ours is at most this.
    Below(f64),
    /// Ours equals theirs.
    Equal,
    /// Ours differs from theirs by at most this share.
    Within(f64),
    /// For information.
    None,
}

fn goals(workers: usize, lossy: bool) -> Vec<(&'static str, &'static str, Goal)> {
    if lossy {
        return vec![
            ("G16", "missing_parents", Goal::Equal),
            ("G16", "missing_blocks", Goal::Equal),
            ("G16", "size", Goal::Within(0.006)),
        ];
    }
    let lookup = if workers >= 128 { 0.5 } else { 1.2 };
    vec![
        ("G1", "churn_mblk_s", Goal::AtLeast(3.0)),
        ("G2", "fill_mblk_s", Goal::AtLeast(2.2)),
        ("G3", "bytes_per_entry", Goal::AtMost(0.5)),
        ("G6", "worst_chunk_ms", Goal::Below(10.0)),
        ("G6", "worst_slice_ms", Goal::Below(10.0)),
        ("G7", "lookup_p50_us", Goal::AtMost(lookup)),
        ("G7", "lookup_p99_us", Goal::AtMost(lookup)),
        ("G8", "remove_worker_ms", Goal::Below(1.0)),
        ("G16", "size", Goal::Equal),
        ("G16", "missing_parents", Goal::Equal),
        ("G16", "missing_blocks", Goal::Equal),
        ("G16", "scores_hash", Goal::Equal),
        ("", "blocks_per_store", Goal::None),
        ("", "events", Goal::None),
    ]
}

fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

fn resident() -> f64 {
    // SAFETY: malloc_trim takes no pointer and may be called at any time.
    unsafe { malloc_trim(0) };
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0);
    pages * 4096.0
}

/// Measures one implementation in this process and prints its figures.
fn child(subject: &mut dyn Subject, stream: &Path, loss: usize) {
    let before = resident();
    let mut blocks = [0_usize; 2];
    let mut churned = 0_u64;
    let mut spent = [Duration::ZERO; 2];
    let mut worst = Duration::ZERO;
    let (mut phase, mut waiting) = (0, 0);
    let mut queries = Vec::new();
    let mut random = Random(7);
    let (mut events, mut stores, mut stored_blocks) = (0_u64, 0_u64, 0);
    let mut apply = |subject: &mut dyn Subject, spent: &mut Duration| {
        let start = cpu();
        subject.apply();
        let took = cpu().saturating_sub(start);
        *spent += took;
        worst = worst.max(took);
    };
    for event in Stream::open(stream).expect("the stream was written") {
        match &event {
            Event::Query(tokens) => {
                queries.push(tokens.clone());
                continue;
            }
            Event::Full => {
                apply(subject, &mut spent[phase]);
                (phase, waiting) = (1, 0);
                continue;
            }
            _ if loss > 0 && random.below(1000) < loss => continue,
            Event::Stored { blocks: stored, .. } => {
                blocks[phase] += stored.len();
                (stores, stored_blocks) = (stores + 1, stored_blocks + stored.len());
            }
            Event::Removed { hashes, .. } => blocks[phase] += hashes.len(),
        }
        subject.decode(&event);
        events += 1;
        churned += u64::from(phase == 1);
        waiting += 1;
        if waiting == CHUNK {
            apply(subject, &mut spent[phase]);
            waiting = 0;
        }
    }
    apply(subject, &mut spent[phase]);
    while subject.slice() {}
    let prompts = queries.iter().map(Vec::len).sum::<usize>() * 8 + queries.len() * 24;
    let used = resident() - before - prompts as f64;
    let rate = |at: usize| blocks[at] as f64 / spent[at].as_secs_f64() / 1e6;
    let all = (blocks[0] + blocks[1]) as f64 / (spent[0] + spent[1]).as_secs_f64() / 1e6;
    println!("all_mblk_s={all:.2}");
    println!("fill_mblk_s={:.2}", rate(0));
    println!("churn_mblk_s={:.2}", rate(1));
    println!("churn_kevents_s={:.1}", churned as f64 / spent[1].as_secs_f64() / 1e3);
    println!("bytes_per_entry={:.1}", used / subject.size() as f64);
    println!("events={events}");
    println!("blocks_per_store={:.2}", stored_blocks as f64 / stores as f64);
    println!("size={}", subject.size());
    println!("missing_parents={}", subject.errors().0);
    println!("missing_blocks={}", subject.errors().1);
    println!("worst_chunk_ms={:.2}", worst.as_secs_f64() * 1e3);
    look_up(subject, &queries);
    remove(subject);
}

fn look_up(subject: &mut dyn Subject, queries: &[Vec<kvtop::domain::TokensHash>]) {
    let mut hasher = DefaultHasher::new();
    let mut times = Vec::new();
    for tokens in queries {
        subject.query(tokens);
        let start = Instant::now();
        let mut scores = subject.scores();
        times.push(start.elapsed().as_secs_f64() * 1e6);
        scores.sort_unstable();
        scores.hash(&mut hasher);
    }
    times.sort_by(f64::total_cmp);
    println!("lookup_p50_us={:.2}", times[times.len() / 2]);
    println!("lookup_p99_us={:.2}", times[times.len() * 99 / 100]);
    println!("scores_hash={}", hasher.finish() >> 12);
}

fn remove(subject: &mut dyn Subject) {
    let start = Instant::now();
    subject.remove_worker(rank(0));
    let size = subject.size();
    println!("remove_worker_ms={:.4}", start.elapsed().as_secs_f64() * 1e3);
    println!("size_after={size}");
    let mut worst = Duration::ZERO;
    loop {
        let start = cpu();
        let more = subject.slice();
        worst = worst.max(cpu().saturating_sub(start));
        if !more {
            break;
        }
    }
    println!("worst_slice_ms={:.2}", worst.as_secs_f64() * 1e3);
}

type Figures = BTreeMap<String, f64>;

fn measure(who: &str, stream: &Path, loss: usize) -> Figures {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args(["child", who, &stream.to_string_lossy(), &loss.to_string()])
        .env("RUST_LOG", "off")
        .output()
        .expect("this program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let figure = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    assert!(output.status.success(), "{who} failed: {}", String::from_utf8_lossy(&output.stderr));
    text.lines().filter_map(figure).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Judges one figure over all pairs. Prints its line, returns whether the goal is met.
fn judge(id: &str, name: &str, goal: Goal, pairs: &[(Figures, Figures)]) -> bool {
    let of = |figures: &Figures| figures.get(name).copied().unwrap_or(f64::NAN);
    let ours = median(pairs.iter().map(|(ours, _)| of(ours)).collect());
    let theirs = median(pairs.iter().map(|(_, theirs)| of(theirs)).collect());
    let ratio = median(pairs.iter().map(|(ours, theirs)| of(ours) / of(theirs)).collect());
    let (text, met) = match goal {
        Goal::AtLeast(least) => (format!(">={least}x"), ratio >= least),
        Goal::AtMost(most) => (format!("<={most}x"), ratio <= most),
        Goal::Below(most) => (format!("<={most}"), ours <= most),
        Goal::Equal => {
            ("equal".to_owned(), pairs.iter().all(|(ours, theirs)| of(ours) == of(theirs)))
        }
        Goal::Within(share) => (format!("+-{:.1}%", share * 100.0), (ratio - 1.0).abs() <= share),
        Goal::None => ("-".to_owned(), true),
    };
    let verdict = if met { "PASS" } else { "FAIL" };
    println!("{id:4} {name:17} {ours:>20.3} {theirs:>20.3} {ratio:>7.3} {text:>8} {verdict}");
    met
}

/// Writes the stream unless it is there, returns where it is and what it is like.
fn prepare(entries: usize, workers: usize) -> (PathBuf, String) {
    let stream: PathBuf =
        std::env::temp_dir().join(format!("kvtop-bench2-{entries}-{workers}.stream"));
    let notes = stream.with_extension("txt");
    if !notes.exists() {
        let seen = workload::write(&stream, entries, workers).expect("the stream can be written");
        std::fs::write(&notes, seen.to_string()).expect("the notes can be written");
    }
    let seen = std::fs::read_to_string(&notes).unwrap_or_default();
    (stream, seen)
}

fn pairs(what: &str, stream: &Path, reps: usize, loss: usize) -> Vec<(Figures, Figures)> {
    let pair = |_| {
        let theirs = measure(&format!("peer{what}"), stream, loss);
        (measure(&format!("ours{what}"), stream, loss), theirs)
    };
    (0..reps).map(pair).collect()
}

/// Measures decoding and applying together.
fn bench_wire(entries: usize, workers: usize, reps: usize) -> bool {
    let (stream, _) = prepare(entries, workers);
    println!("# {entries} entries, {workers} workers, {reps} pairs, from bytes");
    let mut met = true;
    for (what, least) in [("-json", 2.5), ("-msgpack", 3.5)] {
        let pairs = pairs(what, &stream, reps, 0);
        println!("# {}", &what[1..]);
        met &= judge("G4", "all_mblk_s", Goal::AtLeast(least), &pairs);
        met &= judge("G4", "size", Goal::Equal, &pairs);
    }
    met
}

/// Measures the whole engine, from bytes.
fn bench_engine(entries: usize, workers: usize, reps: usize) -> bool {
    let (stream, _) = prepare(entries, workers);
    println!("# {entries} entries, {workers} workers, {reps} pairs, from bytes into the engine");
    println!("# diagnosed every {} events", engine::RATE);
    let mut met = true;
    for what in ["-engine-json", "-engine-msgpack"] {
        let pairs = pairs(what, &stream, reps, 0);
        println!("# {}", &what[1..]);
        for (name, goal) in [
            ("churn_mblk_s", Goal::AtLeast(2.0)),
            ("fill_mblk_s", Goal::None),
            ("churn_kevents_s", Goal::None),
            ("worst_chunk_ms", Goal::None),
            ("size", Goal::Equal),
        ] {
            met &= judge("G18", name, goal, &pairs);
        }
    }
    met
}

fn bench(entries: usize, workers: usize, reps: usize, loss: usize) -> bool {
    let (stream, seen) = prepare(entries, workers);
    let pairs = pairs("", &stream, reps, loss);
    println!("# {entries} entries, {workers} workers, {reps} pairs, {loss} of 1000 events lost");
    println!("# {seen}");
    let judged = goals(workers, loss > 0).into_iter();
    judged.map(|(id, name, goal)| judge(id, name, goal, &pairs)).fold(true, |all, met| all & met)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [child_word, who, stream, loss] = words.as_slice()
        && child_word == "child"
    {
        let loss = loss.parse().unwrap_or(0);
        let stream = Path::new(stream);
        match who.as_str() {
            "ours" => child(&mut Ours::new(), stream, loss),
            "ours-json" => child(&mut OursDecoding::new(Format::Json), stream, loss),
            "ours-msgpack" => child(&mut OursDecoding::new(Format::Msgpack), stream, loss),
            "ours-engine-json" => child(&mut OursEngine::new(Format::Json), stream, loss),
            "ours-engine-msgpack" => child(&mut OursEngine::new(Format::Msgpack), stream, loss),
            "peer-json" | "peer-engine-json" => child(&mut TheirsDecoding::new(Format::Json), stream, loss),
            "peer-msgpack" | "peer-engine-msgpack" => child(&mut TheirsDecoding::new(Format::Msgpack), stream, loss),
            _ => child(&mut Theirs::default(), stream, loss),
        }
        return ExitCode::SUCCESS;
    }
    let after =
        |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let reps = after("--reps").and_then(|reps| reps.parse().ok()).unwrap_or(3);
    let entries = match after("--size").map(String::as_str) {
        Some("10m") => 10_000_000,
        Some("100k") => 100_000,
        _ => 1_000_000,
    };
    let only = after("--workers").and_then(|workers| workers.parse().ok());
    if words.iter().any(|word| word == "--engine") {
        let met = bench_engine(entries, only.unwrap_or(128), reps);
        return if met { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Some(workers) = only {
        let mut met = bench(entries, workers, reps, 0);
        if entries < 10_000_000 {
            met &= bench_wire(entries, workers, reps);
        }
        return if met { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut met = bench(entries, 128, reps, 0);
    met &= bench(entries, 16, reps, 0);
    met &= bench(entries, 128, 1, 10);
    if entries < 10_000_000 {
        met &= bench_wire(entries, 128, reps);
        met &= bench_wire(entries, 16, reps);
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
