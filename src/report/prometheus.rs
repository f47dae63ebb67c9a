//! Metrics for Prometheus: of one check, and of deployments that `kvtop export` watches.
//!
//! Counters count what happened while kvtop watched, so that a restart of kvtop increases none of them; what was
//! read back from history is a gauge. Labels name what outlives a restart. Unknown figures are absent, never 0.

mod deployment;
mod page;
mod sources;
mod workers;

pub use page::{Kind, Page, Stated};

use page::{Labels, counter, gauge, info};

use super::check::Status;
use crate::snapshot::Snapshot;

/// The parts of a deployment that have series of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The deployment as a whole.
    Fleet,
    /// Each worker, its ranks added up.
    Worker,
    /// Each rank of each worker.
    Rank,
}

/// A watched deployment.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a> {
    /// Its state.
    pub snapshot: &'a Snapshot,
    /// Its Kubernetes namespace; none without Kubernetes.
    pub namespace: Option<&'a str>,
    /// True once its sources have answered and its history was read.
    pub ready: bool,
    /// False while labels may still change because discovery has not answered yet; then only its sources are shown.
    pub named: bool,
}

/// Figures of the process that serves the metrics; none where the system does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Process {
    /// Time on processors, in seconds.
    pub cpu_seconds: Option<f64>,
    /// Memory in use, in bytes.
    pub resident_bytes: Option<u64>,
    /// Address space in use, in bytes.
    pub virtual_bytes: Option<u64>,
    /// Its start, in seconds since 1970.
    pub start_seconds: Option<f64>,
    /// Open files.
    pub open_files: Option<u64>,
    /// The limit of open files.
    pub most_files: Option<u64>,
}

/// Returns the metrics of `watched` at `level`, and of the process itself.
pub fn export(watched: &[Watched<'_>], level: Level, process: &Process) -> Page {
    let mut page = Page::default();
    own(&mut page, process);
    for deployment in watched {
        let labels = deployment::labels(deployment.snapshot, deployment.namespace);
        let ready = gauge("kvtop_ready", "1 once sources have answered and history was read");
        page.put(&ready, &labels, deployment.ready);
        sources::put(&mut page, deployment.snapshot, &labels);
        if deployment.named {
            deployment::put(&mut page, deployment.snapshot, &labels);
            deployment::put_raises(&mut page, deployment.snapshot, &labels);
            deployment::put_counters(&mut page, deployment.snapshot, &labels);
            workers::put(&mut page, deployment.snapshot, deployment.namespace, level);
        }
        let seconds = deployment.snapshot.at.0 as f64 / 1e6;
        let when = gauge("kvtop_picture_timestamp_seconds", "Time at which the figures were taken");
        page.put(&when, &labels, seconds);
    }
    page
}

/// Returns the metrics of one check, in the text format.
pub fn check(snapshot: &Snapshot) -> String {
    let mut page = Page::default();
    let labels = deployment::labels(snapshot, None);
    deployment::put(&mut page, snapshot, &labels);
    deployment::put_mismatch(&mut page, snapshot, &labels);
    deployment::put_history(&mut page, snapshot, &labels);
    workers::put_sizes(&mut page, snapshot);
    page.text()
}

/// Returns metrics for a deployment that could not be looked at: nothing but that.
pub fn check_failed() -> String {
    let mut page = Page::default();
    deployment::put_status(&mut page, Status::Unknown, &Labels::default());
    page.text()
}

fn own(page: &mut Page, process: &Process) {
    let none = Labels::default();
    let build = info("kvtop_build", "The version of kvtop");
    page.put(&build, &none.with("version", env!("CARGO_PKG_VERSION")), 1_u8);
    let figures = [
        (
            counter("process_cpu_seconds_total", "Time on processors, in seconds"),
            process.cpu_seconds,
        ),
        (
            gauge("process_resident_memory_bytes", "Memory in use, in bytes"),
            process.resident_bytes.map(|bytes| bytes as f64),
        ),
        (
            gauge("process_virtual_memory_bytes", "Address space in use, in bytes"),
            process.virtual_bytes.map(|bytes| bytes as f64),
        ),
        (
            gauge("process_start_time_seconds", "Start of the process, in seconds since 1970"),
            process.start_seconds,
        ),
        (gauge("process_open_fds", "Open files"), process.open_files.map(|count| count as f64)),
        (
            gauge("process_max_fds", "The limit of open files"),
            process.most_files.map(|count| count as f64),
        ),
    ];
    for (family, value) in figures {
        if let Some(value) = value {
            page.put(&family, &none, value);
        }
    }
}
