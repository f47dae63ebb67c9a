//! Playing a recording: position, speed, steps and seeks. A plain value; its owner tells the time.
//!
//! Frames only ever go forward. To go back, the recording is opened again and played to the place
//! with a fresh engine. An index has pictures to show until that is done.

mod index;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::index::Index;
use crate::cli::SPEEDS;
use crate::diagnose::Thresholds;
use crate::domain::Timestamp;
use crate::engine::{Engine, EngineOptions};
use crate::frame::{Burst, Frame, Origin};
use crate::record::{RecordError, Recording};
use crate::snapshot::{Playback, Snapshot};

/// A recording with the engine it is played into.
pub struct Player {
    path: PathBuf,
    recording: Recording,
    options: EngineOptions,
    engine: Box<Engine>,
    /// The next frame, read but not played.
    next: Option<Frame>,
    start: Timestamp,
    end: Timestamp,
    told_from: Timestamp,
    /// The position; between frames it moves with the time.
    position: Timestamp,
    speed: f64,
    paused: bool,
    index: Index,
    /// The moment that a jump leads to, until it is reached.
    goal: Option<Timestamp>,
}

impl Player {
    /// Opens the recording at `path`, reads it once to find its end, and stands at its beginning.
    pub fn open(
        path: &Path,
        memory_limit: usize,
        thresholds: Thresholds,
    ) -> Result<Self, RecordError> {
        let Bounds { start, end, told_from } = bounds(path)?;
        let recording = Recording::open(path)?;
        let options = options_for(&recording, path, memory_limit, thresholds);
        let index = Index::open(path, options.clone(), (start, end))?;
        let mut player = Self {
            path: path.to_owned(),
            engine: Box::new(Engine::new(options.clone())),
            options,
            recording,
            next: None,
            start,
            end,
            told_from,
            position: start,
            speed: 1.0,
            paused: false,
            index,
            goal: None,
        };
        player.next = player.recording.next_frame()?;
        player.play_to(start)?;
        Ok(player)
    }

    /// Returns the engine as of the position.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Returns the position.
    pub fn position(&self) -> Timestamp {
        self.position
    }

    /// Returns the time of the last frame.
    pub fn end(&self) -> Timestamp {
        self.end
    }

    /// Returns the time that graphs have something to tell of at the end.
    pub fn told(&self) -> Duration {
        self.end.since(self.told_from)
    }

    /// Returns the recording, as far as it was read.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Returns the time of the next frame.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.next.as_ref().map(|frame| frame.at)
    }

    /// Returns true while it stands still, because it was told to or because it is at the end.
    pub fn is_still(&self) -> bool {
        self.paused || self.at_end()
    }

    fn at_end(&self) -> bool {
        self.next.is_none() && self.position >= self.end
    }

    /// Stops, or goes on. At the end it starts over.
    pub fn toggle(&mut self) -> Result<(), RecordError> {
        if self.at_end() {
            self.rewind()?;
            self.paused = false;
        } else {
            self.paused = !self.paused;
        }
        Ok(())
    }

    /// Sets how many times faster than it happened it is played.
    pub fn set_speed(&mut self, speed: f64) {
        self.speed = speed.clamp(SPEEDS.0, SPEEDS.1);
    }

    /// Plays twice as fast as now.
    pub fn faster(&mut self) {
        self.set_speed(self.speed * 2.0);
    }

    /// Plays half as fast as now.
    pub fn slower(&mut self) {
        self.set_speed(self.speed / 2.0);
    }

    /// Stands still.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Plays the next frame and stands still there.
    pub fn step(&mut self) -> Result<(), RecordError> {
        self.paused = true;
        if let Some(frame) = self.next.take() {
            self.position = self.position.max(frame.at);
            self.engine.ingest(std::slice::from_ref(&frame));
            self.next = self.recording.next_frame()?;
        }
        Ok(())
    }

    /// Lets `passed` go by: plays what is due. Returns true when anything was played or moved.
    pub fn pass(&mut self, passed: Duration) -> Result<bool, RecordError> {
        if self.is_still() || self.goal.is_some() {
            return Ok(false);
        }
        let target = self.position.after(passed.mul_f64(self.speed)).min(self.end);
        self.play_to(target)?;
        Ok(true)
    }

    /// Sets out for `target`, both ways: [`Player::approach`] leads there.
    pub fn jump(&mut self, target: Timestamp) -> Result<(), RecordError> {
        let target = target.clamp(self.start, self.end);
        if target < self.position {
            // What stood still at the end does not begin to play.
            self.paused = self.is_still();
            self.reopen()?;
        }
        self.goal = Some(target);
        Ok(())
    }

    /// Returns the moment that a jump leads to, until it is reached.
    pub fn goal(&self) -> Option<Timestamp> {
        self.goal
    }

    /// Plays at most so many frames towards the goal of a jump.
    pub fn approach(&mut self, frames: usize) -> Result<(), RecordError> {
        let Some(goal) = self.goal else { return Ok(()) };
        let mut burst = Burst::default();
        for _ in 0..frames {
            let Some(frame) = self.next.take_if(|frame| frame.at <= goal) else { break };
            self.position = self.position.max(frame.at);
            if burst.push(frame) {
                self.engine.ingest(burst.frames());
                burst.clear();
            }
            self.next = self.recording.next_frame()?;
        }
        self.engine.ingest(burst.frames());
        if self.next.as_ref().is_none_or(|frame| frame.at > goal) {
            self.position = self.position.max(goal);
            self.engine.advance(self.position);
            self.goal = None;
        }
        Ok(())
    }

    /// Returns the picture of the index that is nearest to the goal of a jump.
    pub fn glimpse(&self) -> Option<&Arc<Snapshot>> {
        self.index.near(self.goal?)
    }

    /// Reads at most so many frames for the index. Returns true while there are more.
    pub fn read_index(&mut self, frames: usize) -> Result<bool, RecordError> {
        self.index.read(frames)
    }

    /// Returns true while the index does not cover the whole recording.
    pub fn is_indexing(&self) -> bool {
        self.index.is_unfinished()
    }

    /// Plays up to `target`, both ways.
    pub fn seek(&mut self, target: Timestamp) -> Result<(), RecordError> {
        let target = target.clamp(self.start, self.end);
        if target < self.position {
            // What stood still at the end does not begin to play.
            self.paused = self.is_still();
            self.rewind()?;
        }
        self.play_to(target)
    }

    /// Plays to the end.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        self.play_to(self.end)
    }

    fn rewind(&mut self) -> Result<(), RecordError> {
        self.reopen()?;
        self.play_to(self.start)
    }

    fn reopen(&mut self) -> Result<(), RecordError> {
        self.recording = Recording::open(&self.path)?;
        *self.engine = Engine::new(self.options.clone());
        self.next = self.recording.next_frame()?;
        self.position = self.start;
        Ok(())
    }

    fn play_to(&mut self, target: Timestamp) -> Result<(), RecordError> {
        self.goal = None;
        let mut burst = Burst::default();
        while let Some(frame) = self.next.take_if(|frame| frame.at <= target) {
            if burst.push(frame) {
                self.engine.ingest(burst.frames());
                burst.clear();
            }
            self.next = self.recording.next_frame()?;
        }
        self.engine.ingest(burst.frames());
        self.position = self.position.max(target);
        self.engine.advance(self.position);
        Ok(())
    }

    /// Returns the part of the way to `goal` that was played, in percent.
    fn progress(&self, goal: Timestamp) -> u8 {
        let way = goal.since(self.start).as_secs_f64().max(f64::MIN_POSITIVE);
        let done = self.position.since(self.start).as_secs_f64() / way * 100.0;
        // At most 100, and never negative.
        (0..100_u8).rev().find(|percent| f64::from(*percent) <= done).unwrap_or(0)
    }

    /// Returns how it stands.
    pub fn playback(&self) -> Playback {
        Playback {
            name: name_of(&self.path),
            start: self.start,
            end: self.end,
            position: self.goal.unwrap_or(self.position),
            seeking: self.goal.map(|goal| self.progress(goal)),
            known: self.index.newest().map(Arc::clone),
            speed: self.speed,
            paused: self.is_still(),
            bad_lines: self.recording.bad().count,
            first_bad_line: self.recording.bad().first_line,
            torn: self.recording.torn(),
        }
    }
}

/// The times of a recording.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    /// Of the first frame.
    start: Timestamp,
    /// Of the last one.
    end: Timestamp,
    /// Time of the first message of NATS or ZMQ, with which graphs begin. A stream has a past.
    told_from: Timestamp,
}

fn bounds(path: &Path) -> Result<Bounds, RecordError> {
    let mut recording = Recording::open(path)?;
    let mut bounds: Option<Bounds> = None;
    while let Some(frame) = recording.next_frame()? {
        let known =
            bounds.get_or_insert(Bounds { start: frame.at, end: frame.at, told_from: frame.at });
        known.end = frame.at;
        if matches!(frame.origin, Origin::Nats { .. } | Origin::Zmq { .. }) {
            known.told_from = known.told_from.min(frame.happened());
        }
    }
    Ok(bounds.unwrap_or_default())
}

/// Returns what an engine for this recording is told.
pub fn options_for(
    recording: &Recording,
    path: &Path,
    memory_limit: usize,
    thresholds: Thresholds,
) -> EngineOptions {
    let version = recording.header().dynamo.clone();
    let target = recording.header().target();
    EngineOptions {
        dgd: target.dgd,
        dynamo_namespace: target.dynamo_namespace,
        logs_named: target.logs_named,
        logs_only: target.logs_only,
        label: name_of(path),
        version: (!version.is_empty())
            .then(|| (crate::wire::printable(&version, 20).into_owned(), "recording".to_owned())),
        memory_limit,
        thresholds,
        ..EngineOptions::default()
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    crate::wire::printable(&name.unwrap_or_default(), 120).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_back_from_the_end_stands_still_and_plays_on_when_told() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/captures/0.9.0-evict.frames.gz");
        let mut player = Player::open(Path::new(path), 1 << 30, Thresholds::default()).unwrap();
        let back = |player: &Player| player.position().before(Duration::from_secs(10));
        player.finish().unwrap();
        let target = back(&player);
        player.seek(target).unwrap();
        assert!(player.is_still());
        assert!(!player.pass(Duration::from_secs(1)).unwrap());
        assert_eq!(player.position(), target);
        player.toggle().unwrap();
        assert!(player.pass(Duration::from_secs(1)).unwrap() && !player.is_still());
        // While it plays, it plays on from there.
        let target = back(&player);
        player.seek(target).unwrap();
        assert!(!player.is_still());
    }
}
