//! Commands without a screen: record, and what the others share.

use std::path::Path;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::RunError;
use super::ending;
use super::live::{self, Attach, Live, Target};
use super::memory;
use super::output::tell;
use super::ready::{self, Patience, Stage};
use super::recorder::Recorder;
use super::removed;
use super::thresholds;
use super::waiting::Waiting;
use crate::cli::{Offset, RecordArgs, SourceArgs};
use crate::clock;
use crate::domain::Timestamp;
use crate::engine::Engine;
use crate::exit::Exit;
use crate::frame::{Burst, Frame, Origin};
use crate::player::{Player, options_for};
use crate::record::{Header, Recording};
use crate::snapshot::{Snapshot, ViewQuery};

/// Frames taken in at once.
const LOT: usize = 1024;

/// The interval at which a live engine is looked at.
const STEP: Duration = Duration::from_millis(100);

/// The longest wait for a server before the state is printed without one.
const REACH_WITHIN: Duration = Duration::from_secs(10);

/// The interval at which rules judge when nothing comes.
const JUDGED_EVERY: Duration = Duration::from_secs(1);

/// Returns how long to wait for a server: until rules have an opinion on its silence, too.
pub(super) fn reach_within(source: &SourceArgs) -> Duration {
    let silence = Duration::from_secs(thresholds::chosen(source).unreached_seconds);
    REACH_WITHIN.max(silence) + JUDGED_EVERY
}

/// Waits until the process is asked to end, and returns how.
pub(super) async fn ended() -> Exit {
    let wait = |kind: SignalKind, number| async move {
        match signal(kind) {
            Ok(mut stream) => {
                stream.recv().await;
                Exit::Signal(number)
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        exit = wait(SignalKind::interrupt(), 2) => exit,
        exit = wait(SignalKind::terminate(), 15) => exit,
        exit = wait(SignalKind::hangup(), 1) => exit,
    }
}

/// Returns the state at the end of a recording.
pub(super) fn at_the_end_of(path: &Path, source: &SourceArgs) -> Result<Snapshot, RunError> {
    let (mut engine, at) = played(path, source)?;
    Ok(engine.snapshot(&ViewQuery::default(), at))
}

/// Time between two looks on the way to a moment of a recording.
const LOOK: Duration = Duration::from_secs(5);

/// Most pictures for one question: a search of the tree goes on from one to the next.
const LOOKS: usize = 200;

/// Returns the picture at a moment of a recording, its end by default.
pub(super) fn moment(
    path: &Path,
    at: Option<Offset>,
    query: &ViewQuery,
    source: &SourceArgs,
) -> Result<Snapshot, RunError> {
    let Some(at) = at else {
        let (mut engine, at) = played(path, source)?;
        return Ok(finished(&mut engine, query, at));
    };
    let limit = memory::of_mirror(source.max_memory());
    let mut player = Player::open(path, limit, thresholds::chosen(source))?;
    let (begin, end) = (player.position(), player.end());
    let target = match at {
        Offset::FromStart(after) => begin.after(after).min(end),
        Offset::BeforeEnd(before) => end.before(before).max(begin),
    };
    while player.position() < target {
        let next = player.position().after(LOOK).min(target);
        player.seek(next)?;
        if player.position() < next {
            break;
        }
    }
    player.engine().settle();
    let position = player.position();
    let snapshot = finished(player.engine(), query, position);
    tell_damage(player.recording());
    Ok(snapshot)
}

/// Returns a picture whose answer is complete, as far as that takes a bounded time.
pub(super) fn finished(engine: &mut Engine, query: &ViewQuery, at: Timestamp) -> Snapshot {
    let mut snapshot = engine.snapshot(query, at);
    for _ in 0..LOOKS {
        if !snapshot.answer.is_unfinished() {
            break;
        }
        snapshot = engine.snapshot(query, at);
    }
    snapshot
}

/// Plays a whole recording as fast as it can be read; returns its end, too.
pub(super) fn played(path: &Path, source: &SourceArgs) -> Result<(Engine, Timestamp), RunError> {
    let mut recording = Recording::open(path)?;
    let mut engine = Engine::new(options_for(
        &recording,
        path,
        memory::of_mirror(source.max_memory()),
        thresholds::chosen(source),
    ));
    let mut burst = Burst::default();
    let mut at = Timestamp::default();
    while let Some(frame) = recording.next_frame()? {
        at = frame.at;
        if burst.push(frame) {
            engine.ingest(burst.frames());
            burst.clear();
        }
    }
    engine.ingest(burst.frames());
    engine.settle();
    tell_damage(&recording);
    Ok((engine, at))
}

/// Reports the parts of a recording that could not be read.
pub(super) fn tell_damage(recording: &Recording) {
    let bad = recording.bad();
    if bad.count > 0 {
        let lines = if bad.count == 1 { "line" } else { "lines" };
        tell(&format!(
            "kvtop: {} {lines} of the recording could not be read; the first is line {}: {}",
            bad.count, bad.first_line, bad.first_error
        ));
    }
    if recording.torn() {
        tell(
            "kvtop: the recording is truncated, damaged or still being written; it ends within a line, which was dropped",
        );
    }
}

/// Listens to a live deployment for `length`, once what there is of history has been read, for which it
/// waits for up to `wait`.
pub(super) async fn listened(
    source: &SourceArgs,
    length: Duration,
    wait: Option<Duration>,
) -> Result<Result<(Box<Engine>, Timestamp), Exit>, RunError> {
    listened_with(source, length, wait, |_| {}).await
}

/// The same, and shows the frames to `look` as well.
pub(super) async fn listened_with(
    source: &SourceArgs,
    length: Duration,
    wait: Option<Duration>,
    mut look: impl FnMut(&[Frame]),
) -> Result<Result<(Box<Engine>, Timestamp), Exit>, RunError> {
    let Live { mut frames, sources, target, attach, .. } = live::start(source).await?;
    let mut engine = Engine::new(target.engine_options());
    let started = clock::now();
    let mut ready: Option<Timestamp> = None;
    let mut waiting = Waiting::default();
    let patience = Patience::new(reach_within(source), wait);
    let ended = ended();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            exit = &mut ended => return Ok(Err(exit)),
            () = take_each(&mut frames, &mut engine, &mut look) => {}
        }
        let now = clock::now();
        follow(attach.as_ref(), &engine);
        let snapshot = engine.snapshot(&ViewQuery::default(), now);
        let stage = ready::stage(&snapshot, attach.as_ref());
        let most = patience.at(stage);
        waiting.say(&snapshot, attach.as_ref(), now.since(started), Some(most));
        if ready.is_none() && stage == Stage::Ready {
            ready = Some(now);
        }
        let enough = match ready {
            Some(ready) => now.since(ready) >= length,
            None => waiting.waited(&snapshot, started, now) >= most,
        };
        if enough {
            break;
        }
    }
    ending::stop(&sources).await;
    engine.settle();
    Ok(Ok((Box::new(engine), clock::now())))
}

/// Suggests the next command, if a person reads the terminal.
pub(super) fn follow(attach: Option<&Attach>, engine: &Engine) {
    if let Some(attach) = attach {
        attach.update(engine);
    }
}

/// Takes in what arrives during one step.
pub(super) async fn take(frames: &mut mpsc::Receiver<Frame>, engine: &mut Engine) {
    take_each(frames, engine, |_| {}).await;
}

/// Takes in what arrives during one step, and shows it to `look` as well.
pub(super) async fn take_each(
    frames: &mut mpsc::Receiver<Frame>,
    engine: &mut Engine,
    mut look: impl FnMut(&[Frame]),
) {
    let mut lot = Vec::with_capacity(LOT);
    let step = tokio::time::sleep(STEP);
    tokio::pin!(step);
    let mut open = true;
    loop {
        tokio::select! {
            () = &mut step => return,
            count = frames.recv_many(&mut lot, LOT), if open => {
                open = count > 0;
                engine.ingest(&lot);
                look(&lot);
                lot.clear();
            }
        }
    }
}

fn header(args: &RecordArgs, source: &SourceArgs, target: &Target) -> Header {
    let header = Header {
        captured: format!("kvtop {} record", env!("CARGO_PKG_VERSION")),
        note: args.note.clone(),
        redacted: removed::removed(source),
        ..Header::default()
    };
    header.of_target(&target.recorded())
}

pub(super) async fn record(args: &RecordArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    // Of what cannot be looked at there is no recording.
    let Live { mut frames, sources, target, attach, .. } = live::start(source).await?;
    let mut recorder = match Recorder::start(&args.output, &header(args, source, &target)) {
        Ok(recorder) => recorder,
        Err(error) => {
            ending::stop(&sources).await;
            return Err(error.into());
        }
    };
    tell(&format!(
        "kvtop: recording {} to {}; press Ctrl-C to stop",
        target.title(),
        args.output.display()
    ));
    let ended = ended();
    let time_is_up = async {
        match args.length {
            Some(length) => tokio::time::sleep(length).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(ended, time_is_up);
    let mut lot = Vec::with_capacity(LOT);
    let mut engine = Engine::new(target.engine_options());
    let mut writing = true;
    let (mut told, mut heard, started) = (Waiting::default(), 0_u64, Instant::now());
    let mut look = tokio::time::interval(Duration::from_secs(1));
    while writing {
        tokio::select! {
            _ = &mut ended => break,
            () = &mut time_is_up => break,
            _ = look.tick() => {
                let snapshot = engine.snapshot(&ViewQuery::default(), clock::now());
                told.say(&snapshot, attach.as_ref(), started.elapsed(), None);
            }
            count = frames.recv_many(&mut lot, LOT) => {
                let is_note = |frame: &Frame| matches!(frame.origin, Origin::Health { .. });
                heard += lot.iter().filter(|frame| !is_note(frame)).count() as u64;
                if attach.is_some() {
                    // What is found in the cluster decides what else is recorded.
                    engine.ingest(&lot);
                    follow(attach.as_ref(), &engine);
                } else {
                    // How the sources are doing is all that is told meanwhile.
                    let notes = lot.iter().filter(|frame| is_note(frame)).cloned();
                    engine.ingest(&notes.collect::<Vec<_>>());
                }
                writing = count > 0 && lot.drain(..).all(|frame| recorder.record(&frame));
            }
        }
    }
    ending::stop(&sources).await;
    let dropped = recorder.dropped();
    let written = recorder.finish()?;
    recorded(&args.output, written, heard, dropped);
    Ok(Exit::Clean)
}

/// Summarises a recording: written frames, frames with data, and lost frames.
fn recorded(path: &Path, written: u64, heard: u64, dropped: u64) {
    tell(&format!("kvtop: {written} frames written to {}", path.display()));
    if heard == 0 {
        tell("kvtop: no data received; the recording contains only the state of the sources");
    }
    if dropped > 0 {
        tell(&format!("kvtop: {dropped} frames were lost because the disk was too slow"));
    }
}
