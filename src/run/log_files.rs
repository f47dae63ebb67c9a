//! Logs in files: played into an engine where there is nothing else, or followed beside live sources.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::output::tell;
use super::{RunError, live, removed};
use crate::cli::SourceArgs;
use crate::clock;
use crate::domain::Timestamp;
use crate::engine::{Engine, EngineOptions};
use crate::frame::Frame;
use crate::snapshot::{Snapshot, ViewQuery};
use crate::source::logs::{self, LogFile, LogText, SavedLog};
use crate::source::{Emitter, SourceHandle};
use crate::wire::printable;

/// Lines taken in at once.
const LOT: usize = 1024;

/// Longest name of a file that stands for its pod.
const NAME_LIMIT: usize = 120;

/// Returns true when the command line names logs and no live source.
pub(super) fn alone(args: &SourceArgs) -> bool {
    let cluster = [&args.namespace, &args.context, &args.dgd].iter().any(|flag| flag.is_some());
    let nats = args.nats_url.is_some() || args.nats_context.is_some();
    let discovery = args.etcd_url.is_some() || args.discovery_dir.is_some();
    let http = !args.frontend_url.is_empty() || args.indexer_url.is_some();
    let live = cluster || args.kubeconfig.is_some() || nats || discovery || http;
    !args.logs.is_empty() && !live && args.zmq.is_empty()
}

/// Starts to follow the logs that `args` name; none when they name none.
pub(super) fn followed(args: &SourceArgs, emitter: &Emitter) -> Option<SourceHandle> {
    let file = |path: &PathBuf| LogFile {
        name: name_of(path).into(),
        path: Some(path.clone()).filter(|path| path.as_os_str() != "-"),
    };
    let files: Vec<LogFile> = args.logs.iter().map(file).collect();
    let text = removed::log_text(args);
    (!files.is_empty()).then(|| logs::follow_files(files, text, emitter.clone()))
}

/// Returns the name that stands for the pod of a file's lines.
fn name_of(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    printable(&name, NAME_LIMIT).to_string()
}

/// Returns the state after all lines of the logs were read in the order of their times.
pub(super) fn at_the_end_of(args: &SourceArgs) -> Result<Snapshot, RunError> {
    let mut logs = args.logs.iter().map(|path| Log::open(path)).collect::<Result<Vec<_>, _>>()?;
    let options =
        EngineOptions { logs_only: true, logs_named: true, ..live::engine_options("logs", args) };
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
            SavedLog::new(&name_of(path), io::stdin(), now, LogText::Read)
        } else {
            let failed = |source| RunError::Read { path: path.to_owned(), source };
            let kind = std::fs::metadata(path).map_err(failed)?.file_type();
            if kind.is_dir() {
                let name = path.display();
                let why = format!("is a directory; pass its files: --logs {name}/*.log");
                return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, why)));
            }
            // A device such as /dev/zero has no end.
            if kind.is_char_device() {
                return Err(failed(io::Error::other("a device is no log")));
            }
            let file = File::open(path).map_err(failed)?;
            SavedLog::new(&name_of(path), file, now, LogText::Read)
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
