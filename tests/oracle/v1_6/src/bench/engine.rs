//! Bytes into the whole engine: rates, journal, reuse of prefixes, kept frames, and a diagnosis each second.

use std::collections::HashMap;
use std::sync::Arc;

use kvtop::domain::{Timestamp, TokensHash, WorkerRank};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Frame, Origin};
use kvtop::snapshot::ViewQuery;

use super::stream::Event;
use super::subject::Subject;
use super::wire::{Format, Numbers};

/// Frames that are taken in at once, as many as the live driver hands over at high rates.
const LOT: usize = 1024;
/// Events a second on the stream's own clock: the highest rate of the live goals.
pub const RATE: u64 = 50_000;
/// When the stream begins.
const START: u64 = 1_771_252_733_000_000;

/// The engine behind its front door.
pub struct OursEngine {
    format: Format,
    origin: Origin,
    numbers: Numbers,
    engine: Engine,
    frames: Vec<Frame>,
    count: u64,
}

impl OursEngine {
    pub fn new(format: Format) -> Self {
        let subject = match format {
            Format::Json => "namespace-dynamo-component-backend-kv-events.kv-events",
            Format::Msgpack => super::wire::SUBJECT,
        };
        Self {
            format,
            origin: Origin::Nats { subject: Arc::from(subject), reply: None, headers: Vec::new() },
            numbers: HashMap::new(),
            engine: Engine::new(EngineOptions { memory_limit: usize::MAX, ..EngineOptions::default() }),
            frames: Vec::new(),
            count: 0,
        }
    }

    fn at(&self) -> Timestamp {
        Timestamp(START + self.count * 1_000_000 / RATE)
    }
}

impl Subject for OursEngine {
    fn decode(&mut self, event: &Event) {
        if let Some(body) = self.format.encode(event, &mut self.numbers) {
            self.frames.push(Frame::new(self.at(), self.origin.clone(), body));
            self.count += 1;
        }
    }

    fn apply(&mut self) {
        for lot in self.frames.chunks(LOT) {
            self.engine.ingest(lot);
        }
        self.frames.clear();
    }

    /// Judges by what rows of workers say: routers refuse the same events.
    fn errors(&self) -> (u64, u64) {
        (0, 0)
    }

    fn size(&mut self) -> u64 {
        let at = self.at();
        self.engine.snapshot(&ViewQuery::default(), at).tree.accepted_blocks
    }

    fn query(&mut self, _: &[TokensHash]) {}

    fn scores(&mut self) -> Vec<(WorkerRank, u32)> {
        Vec::new()
    }

    fn remove_worker(&mut self, _: WorkerRank) {}

    fn slice(&mut self) -> bool {
        let at = self.at();
        self.engine.advance(at)
    }
}
