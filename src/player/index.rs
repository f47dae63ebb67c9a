//! An index of a recording: pictures at even distances, taken by a second reading beside the one that plays.
//!
//! Frames change an engine in order, so that the exact state of a moment takes every frame before it. A jump shows the
//! nearest picture at once, and the exact one as soon as the frames before it were played.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::Timestamp;
use crate::engine::{Engine, EngineOptions};
use crate::frame::{Burst, Frame};
use crate::record::{RecordError, Recording};
use crate::snapshot::{Foresight, Snapshot, ViewQuery};

/// Pictures of a recording.
const PICTURES: u32 = 300;
/// Least time between two pictures.
const LEAST: Duration = Duration::from_secs(1);
/// Points of the graphs in a picture.
const POINTS: usize = 120;
/// Events in a picture.
const EVENTS: usize = 100;

/// The pictures of a recording, and the reading that takes them.
pub(super) struct Index {
    reading: Option<Reading>,
    pictures: Vec<Arc<Snapshot>>,
    every: Duration,
}

/// The reading that takes pictures.
struct Reading {
    recording: Recording,
    engine: Box<Engine>,
    next: Option<Frame>,
    due: Timestamp,
    end: Timestamp,
}

impl Index {
    /// Opens the recording at `path`, which has frames from `start` to `end`, for an index without pictures yet.
    pub(super) fn open(
        path: &Path,
        options: EngineOptions,
        (start, end): (Timestamp, Timestamp),
    ) -> Result<Self, RecordError> {
        let mut recording = Recording::open(path)?;
        let next = recording.next_frame()?;
        let every = (end.since(start) / PICTURES).max(LEAST);
        let engine = Box::new(Engine::new(options));
        let reading = Reading { recording, engine, next, due: start.after(every), end };
        Ok(Self { reading: Some(reading), pictures: Vec::new(), every })
    }

    /// Reads at most so many frames. Returns true while there are more.
    pub(super) fn read(&mut self, frames: usize) -> Result<bool, RecordError> {
        let Some(reading) = &mut self.reading else { return Ok(false) };
        let mut burst = Burst::default();
        for _ in 0..frames {
            let Some(frame) = reading.next.take() else { break };
            while reading.due < frame.at {
                reading.engine.ingest(burst.frames());
                burst.clear();
                let due = reading.due;
                self.pictures.push(picture(&mut reading.engine, due));
                reading.due = due.after(self.every);
            }
            if burst.push(frame) {
                reading.engine.ingest(burst.frames());
                burst.clear();
            }
            reading.next = reading.recording.next_frame()?;
        }
        reading.engine.ingest(burst.frames());
        if reading.next.is_some() {
            return Ok(true);
        }
        let end = reading.end;
        self.pictures.push(picture(&mut reading.engine, end));
        self.reading = None;
        Ok(false)
    }

    /// Returns true while there are frames to read.
    pub(super) fn is_unfinished(&self) -> bool {
        self.reading.is_some()
    }

    /// Returns the picture nearest to `at`; none where the reading has not come that far.
    pub(super) fn near(&self, at: Timestamp) -> Option<&Arc<Snapshot>> {
        let after = self.pictures.partition_point(|picture| picture.at < at);
        let older = after.checked_sub(1).and_then(|before| self.pictures.get(before));
        match (older, self.pictures.get(after)) {
            (Some(older), Some(newer)) => {
                Some(if at.since(older.at) <= newer.at.since(at) { older } else { newer })
            }
            (None, newer) => newer,
            (Some(older), None) => Some(older).filter(|older| at.since(older.at) <= self.every),
        }
    }

    /// Returns the last picture so far, which knows what has happened before.
    pub(super) fn newest(&self) -> Option<&Arc<Snapshot>> {
        self.pictures.last()
    }
}

fn picture(engine: &mut Engine, at: Timestamp) -> Arc<Snapshot> {
    engine.advance(at);
    let query = ViewQuery {
        points: POINTS,
        events: EVENTS,
        prefixes: true,
        foresight: Foresight::PICTURE,
        ..ViewQuery::default()
    };
    Arc::new(engine.snapshot(&query, at))
}
