//! Logs that were saved, played into an engine: `kvtop check --logs`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::output::tell;
use super::{RunError, live};
use crate::cli::SourceArgs;
use crate::clock;
use crate::domain::Timestamp;
use crate::engine::{Engine, EngineOptions};
use crate::frame::Frame;
use crate::snapshot::{Snapshot, ViewQuery};
use crate::source::logs::{LogText, SavedLog};
use crate::wire::printable;

/// Lines taken in at once.
const LOT: usize = 1024;

/// Longest name of a file that stands for its pod.
const NAME_LIMIT: usize = 120;

/// Returns the state after all lines of `files` were read in the order of their times.
pub(super) fn at_the_end_of(files: &[PathBuf], args: &SourceArgs) -> Result<Snapshot, RunError> {
    let mut logs = files.iter().map(|path| Log::open(path)).collect::<Result<Vec<_>, _>>()?;
    let options = EngineOptions { logs_only: true, ..live::engine_options("logs", args) };
    let mut engine = Engine::new(options);
    let mut lot: Vec<Frame> = Vec::with_capacity(LOT);
    let mut at = None;
    let mut lines = 0_u64;
    // Times of several files go up and down; what the engine is given never goes back.
    while let Some(frame) = earliest(&mut logs)? {
        at = at.max(Some(frame.at));
        lines += 1;
        lot.push(frame);
        if lot.len() == LOT {
            engine.ingest(&lot);
            lot.clear();
        }
    }
    engine.ingest(&lot);
    engine.settle();
    let snapshot = engine.snapshot(&ViewQuery::default(), at.unwrap_or_else(clock::now));
    if !says_anything(&snapshot) {
        tell(&format!(
            "kvtop: none of {lines} lines is a known log line of a Dynamo router or worker"
        ));
    }
    Ok(snapshot)
}

/// Returns true when any line was of use.
fn says_anything(snapshot: &Snapshot) -> bool {
    let router = &snapshot.router;
    let warnings =
        router.log_parent_warnings.unwrap_or(0) + router.log_remove_warnings.unwrap_or(0);
    router.decisions + warnings + router.worker_log_warnings.unwrap_or(0) > 0
        || !snapshot.claims.is_empty()
}

/// Takes the line that was written first.
fn earliest(logs: &mut [Log]) -> Result<Option<Frame>, RunError> {
    let first = |log: &&mut Log| log.next.as_ref().map_or(Timestamp(u64::MAX), |next| next.at);
    match logs.iter_mut().filter(|log| log.next.is_some()).min_by_key(first) {
        Some(log) => log.take(),
        None => Ok(None),
    }
}

struct Log {
    path: PathBuf,
    lines: SavedLog,
    /// The next line, read but not taken.
    next: Option<Frame>,
}

impl Log {
    fn open(path: &Path) -> Result<Self, RunError> {
        let now = clock::now();
        let lines = if path.as_os_str() == "-" {
            SavedLog::new("stdin", io::stdin(), now, LogText::Read)
        } else {
            let file = File::open(path)
                .map_err(|source| RunError::Read { path: path.to_owned(), source })?;
            let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
            SavedLog::new(&printable(&name, NAME_LIMIT), file, now, LogText::Read)
        };
        let mut log = Self { path: path.to_owned(), lines, next: None };
        log.take()?;
        Ok(log)
    }

    fn take(&mut self) -> Result<Option<Frame>, RunError> {
        let failed = |source| RunError::Read { path: self.path.clone(), source };
        let next = self.lines.next_frame().map_err(failed)?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}
