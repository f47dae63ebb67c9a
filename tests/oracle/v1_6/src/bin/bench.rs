//! The mirror beside the router's own index: speed, memory, stalls, and the same answers.
//!
//! `bench [--size 1m|10m] [--reps N]` prints `metric ours peer ratio goal PASS|FAIL` and ends with 1 when
//! a goal is missed. Each implementation runs in a fresh process, the two of a pair one after the
//! other; rates are of the thread's CPU clock; ratios are medians of pairs. A goal for decoding and
//! applying together belongs into `GOALS` as soon as the child measures it.

#[path = "../bench/cache.rs"]
mod cache;
#[path = "../bench/stream.rs"]
mod stream;
#[path = "../bench/subject.rs"]
mod subject;
#[path = "../bench/workload.rs"]
mod workload;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stream::{Event, Stream};
use subject::{Ours, Subject, Theirs};
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
    println!("fill_mblk_s={:.2}", rate(0));
    println!("churn_mblk_s={:.2}", rate(1));
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

fn bench(entries: usize, workers: usize, reps: usize, loss: usize) -> bool {
    let stream: PathBuf =
        std::env::temp_dir().join(format!("kvtop-bench2-{entries}-{workers}.stream"));
    let notes = stream.with_extension("txt");
    if !notes.exists() {
        let seen = workload::write(&stream, entries, workers).expect("the stream can be written");
        std::fs::write(&notes, seen.to_string()).expect("the notes can be written");
    }
    let pairs: Vec<(Figures, Figures)> = (0..reps)
        .map(|_| {
            let theirs = measure("peer", &stream, loss);
            (measure("ours", &stream, loss), theirs)
        })
        .collect();
    println!("# {entries} entries, {workers} workers, {reps} pairs, {loss} of 1000 events lost");
    println!("# {}", std::fs::read_to_string(&notes).unwrap_or_default());
    let judged = goals(workers, loss > 0).into_iter();
    judged.map(|(id, name, goal)| judge(id, name, goal, &pairs)).fold(true, |all, met| all & met)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [child_word, who, stream, loss] = words.as_slice()
        && child_word == "child"
    {
        let loss = loss.parse().unwrap_or(0);
        if who == "ours" {
            child(&mut Ours::new(), Path::new(stream), loss);
        } else {
            child(&mut Theirs::default(), Path::new(stream), loss);
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
    if let Some(workers) = only {
        let met = bench(entries, workers, reps, 0);
        return if met { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut met = bench(entries, 128, reps, 0);
    met &= bench(entries, 16, reps, 0);
    met &= bench(entries, 128, 1, 10);
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
