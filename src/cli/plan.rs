//! `kvtop plan`: its arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::format::{Formats, Structured};
use super::value::{duration, whole};

/// `kvtop plan`.
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// Recording (.frames, .frames.zst or .frames.gz) [default: a live deployment]
    pub file: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text",
        value_parser = Formats::new(PLAN, PlanFormat::Structured))]
    pub output: PlanFormat,
    /// Use a simulated deployment; `--for` is simulated time
    #[arg(long, value_name = "SCENARIO", conflicts_with = "file")]
    pub demo: Option<String>,
    /// Seed of the simulated deployment
    #[arg(long, default_value_t = 1, requires = "demo", value_parser = whole)]
    pub seed: u64,
    /// Time to listen after reading history
    #[arg(long = "for", value_name = "TIME", default_value = "2m", value_parser = duration, conflicts_with = "file")]
    pub length: Duration,
    /// Longest wait for history and for sources to answer [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["file", "demo"])]
    pub wait: Option<Duration>,
    /// Questions to answer [default: all, or those whose values are given]
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub what: Vec<PlanQuestion>,
    /// Workers to add or remove [default: +1,-1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = step)]
    pub workers: Vec<i64>,
    /// Factors of the KV cache [default: 1.5]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = factor)]
    pub cache: Vec<f64>,
    /// Overlap weights [default: 0,0.5,2]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = setting)]
    pub weight: Vec<f64>,
    /// Router temperatures [default: 0.2,0.5]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = setting)]
    pub temperature: Vec<f64>,
    /// Tokens per block [default: 16,32,64]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub block_size: Vec<u32>,
    /// Drain this worker: its pod, the end of the pod's name, or its short name such as w0
    #[arg(long, value_name = "WORKER")]
    pub drain: Vec<String>,
    /// Simulations of each answer; their results give its range
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=32))]
    pub seeds: u64,
    /// Objective for the TTFT p95, which sets the ceiling [default: the configured one, or 600ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub objective: Option<Duration>,
    /// Conversations at once [default: the requests in flight]
    #[arg(long, value_parser = users)]
    pub users: Option<usize>,
    /// Simulated time of each measurement
    #[arg(long, value_name = "TIME", default_value = "4m", value_parser = duration)]
    pub simulate: Duration,
}

/// A group of questions of `kvtop plan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanQuestion {
    /// More workers, or fewer
    Workers,
    /// A larger KV cache
    Cache,
    /// Other overlap weights
    Weight,
    /// Other router temperatures
    Temperature,
    /// KV-aware routing against round-robin
    Mode,
    /// Other block sizes
    BlockSize,
    /// Only the present and its ceiling, no changes
    Now,
}

/// Output formats of `kvtop plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanFormat {
    /// A table, with the inputs and their basis
    Text,
    /// JSON, YAML or a template of JSON paths
    Structured(Structured),
}

const PLAN: &[(&str, &str, PlanFormat)] =
    &[("text", "A table, with the inputs and their basis", PlanFormat::Text)];

/// The most workers to add.
const MOST: i64 = 64;

fn step(text: &str) -> Result<i64, String> {
    let step = text.parse().map_err(|_| format!("`{text}` is not a number such as +1 or -1"))?;
    let fits = step != 0 && (-MOST..=MOST).contains(&step);
    if fits { Ok(step) } else { Err(format!("must be from -{MOST} to {MOST}, but not 0")) }
}

fn factor(text: &str) -> Result<f64, String> {
    within(text, 0.01, 100.0)
}

fn setting(text: &str) -> Result<f64, String> {
    within(text, 0.0, 100.0)
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    let fits = (least..=most).contains(&value);
    if fits { Ok(value) } else { Err(format!("must be between {least} and {most}")) }
}

/// The most conversations that are simulated.
const USERS: usize = 4_096;

fn users(text: &str) -> Result<usize, String> {
    let users = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    let fits = (1..=USERS).contains(&users);
    if fits { Ok(users) } else { Err(format!("must be from 1 to {USERS}")) }
}
