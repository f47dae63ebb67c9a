//! `kvtop bundle`: what a ticket needs, in one file: a recording, what was found, what kvtop could see,
//! and the settings. Nothing that is not in `record`, `check`, `snapshot`, `doctor` and `config show`.

mod archive;
mod tape;

use std::path::Path;
use std::time::Duration;

use archive::{Archive, Entry};
use serde_json::json;
use tape::Tape;

use super::RunError;
use super::doctor;
use super::ending;
use super::headless::{ended, follow, reach_within, take_each, tell_damage};
use super::live::{self, Live};
use super::memory;
use super::output::tell;
use super::ready::{self, Stage};
use super::removed;
use super::thresholds;
use super::waiting::Waiting;
use crate::cli::{BundleArgs, SourceArgs};
use crate::clock;
use crate::config::{Config, page};
use crate::domain::Timestamp;
use crate::engine::Engine;
use crate::exit::Exit;
use crate::frame::Burst;
use crate::player::options_for;
use crate::record::{FORMAT_VERSION, Header, Recording};
use crate::report::{self, doctor::Check};
use crate::snapshot::{Foresight, Snapshot, ViewQuery};
use crate::tui::text::wrap;

/// The contents of a bundle.
struct Gathered {
    snapshot: Snapshot,
    tape: Tape,
    /// The checks of `kvtop doctor`; none for a recording.
    doctor: Option<Vec<Check>>,
    /// Lines of a recording that could not be read.
    bad_lines: u64,
}

pub(super) async fn bundle(
    args: &BundleArgs,
    source: &SourceArgs,
    config: &Config,
) -> Result<Exit, RunError> {
    // Before anybody waits: a file that is there stays as it is.
    let archive = Archive::create(&args.output)?;
    let done = async {
        let gathered = match &args.replay {
            Some(path) => of_recording(path, source)?,
            None => of_deployment(args.length, source).await?,
        };
        write(archive, gathered, args.replay.is_some(), config)
    };
    let done: Result<u64, Failed> = done.await;
    if done.is_err() {
        // Half a bundle helps nobody.
        drop(std::fs::remove_file(&args.output));
    }
    let size = done.map_err(|error| error.named(&args.output))?;
    tell(&format!("kvtop: {} written, {} KiB", args.output.display(), size.div_ceil(1024)));
    Ok(Exit::Clean)
}

/// An error that leaves no bundle.
enum Failed {
    /// There is nothing to put into it.
    Gathering(RunError),
    /// The file cannot be written.
    Writing(std::io::Error),
}

impl<E: Into<RunError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Gathering(error.into())
    }
}

impl Failed {
    fn named(self, path: &Path) -> RunError {
        match self {
            Self::Gathering(error) => error,
            Self::Writing(source) => RunError::Write { path: path.to_owned(), source },
        }
    }
}

/// Plays a recording to its end, and copies it.
fn of_recording(path: &Path, source: &SourceArgs) -> Result<Gathered, Failed> {
    let mut recording = Recording::open(path)?;
    let options = options_for(
        &recording,
        path,
        memory::of_mirror(source.max_memory()),
        thresholds::chosen(source),
    );
    let mut engine = Engine::new(options);
    let mut tape = Tape::start(recording.header()).map_err(Failed::Writing)?;
    let mut burst = Burst::default();
    let mut at = Timestamp::default();
    while let Some(frame) = recording.next_frame()? {
        at = frame.at;
        // A recording of an earlier release holds whole lines, and a bundle is made to be passed on.
        let frame = if source.keep_log_text { frame } else { removed::without_text(frame) };
        if burst.push(frame) {
            engine.ingest(burst.frames());
            tape.take(burst.frames());
            burst.clear();
        }
    }
    engine.ingest(burst.frames());
    tape.take(burst.frames());
    engine.settle();
    tell_damage(&recording);
    let snapshot = engine.snapshot(&query(), at);
    Ok(Gathered { snapshot, tape, doctor: None, bad_lines: recording.bad().count })
}

/// Listens to a live deployment for `length`, once what there is of history has been read.
async fn of_deployment(length: Duration, source: &SourceArgs) -> Result<Gathered, Failed> {
    let mut live = live::start(source).await?;
    let header = Header {
        captured: format!("kvtop {} bundle", env!("CARGO_PKG_VERSION")),
        redacted: removed::removed(source),
        ..Header::default()
    };
    let header = header.of_target(&live.target.recorded());
    let mut tape = Tape::start(&header).map_err(Failed::Writing)?;
    tell(&format!("kvtop: listening to {}; press Ctrl-C to stop early", live.target.title()));
    let snapshot = listened(&mut live, &mut tape, length, source).await;
    let checks = doctor::found(&live, &snapshot).await;
    ending::stop(&live.sources).await;
    Ok(Gathered { snapshot, tape, doctor: Some(checks), bad_lines: 0 })
}

async fn listened(
    live: &mut Live,
    tape: &mut Tape,
    length: Duration,
    source: &SourceArgs,
) -> Snapshot {
    let mut engine = Engine::new(live.target.engine_options());
    let started = clock::now();
    let mut ready: Option<Timestamp> = None;
    let mut waiting = Waiting::default();
    let patience = length.max(reach_within(source));
    let ended = ended();
    tokio::pin!(ended);
    loop {
        let over = tokio::select! {
            _ = &mut ended => true,
            () = take_each(&mut live.frames, &mut engine, |lot| tape.take(lot)) => false,
        };
        let now = clock::now();
        follow(live.attach.as_ref(), &engine);
        let snapshot = engine.snapshot(&ViewQuery::default(), now);
        waiting.say(&snapshot, live.attach.as_ref(), now.since(started), Some(patience));
        if ready.is_none() && ready::stage(&snapshot, live.attach.as_ref()) == Stage::Ready {
            ready = Some(now);
        }
        let enough = match ready {
            Some(ready) => now.since(ready) >= length,
            None => waiting.waited(&snapshot, started, now) >= patience,
        };
        if enough || over {
            engine.settle();
            return engine.snapshot(&query(), now);
        }
    }
}

/// Returns the question that `snapshot -o json` asks too.
fn query() -> ViewQuery {
    ViewQuery { foresight: Foresight::REPORT, ..ViewQuery::default() }
}

/// Writes everything, and returns how large the file is, in bytes.
fn write(
    mut archive: Archive,
    gathered: Gathered,
    replayed: bool,
    config: &Config,
) -> Result<u64, Failed> {
    let Gathered { snapshot, tape, doctor, bad_lines } = gathered;
    let tape = tape.end().map_err(Failed::Writing)?;
    let about = json!({
        "contract": report::json::CONTRACT,
        "kvtop": env!("CARGO_PKG_VERSION"),
        "made": report::rfc3339(clock::now()),
        "system": { "os": std::env::consts::OS, "arch": std::env::consts::ARCH },
        "of": if replayed { "recording" } else { "deployment" },
        "recording": {
            "format": FORMAT_VERSION,
            "frames": tape.frames,
            "left_out": tape.left_out,
            "bad_lines": bad_lines,
        },
    });
    let mut entries = vec![
        Entry::text("README.txt", README.to_owned()),
        Entry::text("about.json", format!("{about:#}\n")),
        Entry::text("check.txt", report::check::text(&snapshot)),
        Entry::text("check.json", report::check::json(&snapshot) + "\n"),
        Entry::text("snapshot.json", report::json::snapshot(&snapshot) + "\n"),
        Entry::text("config.txt", page::listing(config)),
    ];
    if let Some(checks) = doctor {
        let text = report::doctor::text(&checks, doctor::COLUMNS, wrap);
        entries.push(Entry::text("doctor.txt", text));
        entries.push(Entry::text("doctor.json", report::doctor::json(&checks) + "\n"));
    }
    entries.push(Entry { name: "recording.frames.zst", bytes: tape.bytes });
    archive.append(entries, clock::now()).and_then(|()| archive.finish()).map_err(Failed::Writing)
}

const README: &str = "\
Data that kvtop collected from one deployment.

about.json            versions, and how much of the recording is here
check.txt, check.json what is wrong, with the evidence
snapshot.json         workers, router, tree and sources at the end
doctor.txt, .json     connectivity and permissions (absent if made from a recording)
config.txt            effective settings, without credentials
recording.frames.zst  everything that arrived: kvtop replay recording.frames.zst

Secrets and prompts are left out where kvtop knows them; names of pods, images and hosts are here. Look
through it before you pass it on: zstd -dc recording.frames.zst | less
";
