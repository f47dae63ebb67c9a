//! Decoding and applying together, from the bytes of messages.

use std::collections::HashMap;
use std::sync::Arc;

use dynamo_kv_router::protocols::RouterEvent;
use kvtop::domain::{SequenceHash, Tier, Timestamp, TokensHash, WorkerRank};
use kvtop::frame::{Frame, Origin};
use kvtop::wire::encode::{self, Change, Family};
use kvtop::wire::{self, Facts};
use serde::Deserialize;

use super::stream::Event;
use super::subject::{Ours, Subject, Theirs};
use super::workload::rank;

/// Events that are applied together, as in the engine.
const BURST: usize = 512;
pub const SUBJECT: &str = "namespace.dynamo.component.backend.endpoint.generate.kv-events";

/// How messages are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, as Dynamo 0.9 sends it.
    Json,
    /// An envelope and an array of events in `MessagePack`, as Dynamo 1.6 sends it.
    Msgpack,
}

/// The number of the last event of each worker: publishers count their own.
pub type Numbers = HashMap<u32, u64>;

impl Format {
    /// Returns the message of an event; none for what is no event.
    pub fn encode(self, event: &Event, numbers: &mut Numbers) -> Option<Vec<u8>> {
        let (worker, change) = match event {
            Event::Stored { worker, parent, blocks } => {
                (*worker, Change::Stored { parent: parent.map(SequenceHash), blocks })
            }
            Event::Removed { worker, hashes } => (*worker, Change::Removed(hashes)),
            Event::Full | Event::Query(_) => return None,
        };
        let count = numbers.entry(worker).or_default();
        *count += 1;
        let number = *count;
        let event = encode::RouterEvent {
            rank: rank(worker),
            tier: Tier::Device,
            event_id: number,
            change,
        };
        Some(match self {
            Self::Json => event.json(Family::V0_9).into_bytes(),
            Self::Msgpack => {
                let payload = event.payload(Family::V1_6);
                encode::envelope(
                    rank(worker).worker.0,
                    number,
                    1_700_000_000_000,
                    "kv-events",
                    &payload,
                )
            }
        })
    }
}

/// The mirror behind kvtop's decoders.
pub struct OursDecoding {
    format: Format,
    frames: Vec<Frame>,
    origin: Origin,
    facts: Facts,
    inner: Ours,
    numbers: Numbers,
}

impl OursDecoding {
    pub fn new(format: Format) -> Self {
        let origin = match format {
            Format::Json => Origin::Jetstream {
                stream: Arc::from("namespace-dynamo-component-backend-kv-events"),
                seq: 1,
                subject: Arc::from("namespace.dynamo.component.backend.kv-events"),
            },
            Format::Msgpack => {
                Origin::Nats { subject: Arc::from(SUBJECT), reply: None, headers: Vec::new() }
            }
        };
        let (frames, facts, inner) = (Vec::new(), Facts::default(), Ours::new());
        Self { format, frames, origin, facts, inner, numbers: Numbers::new() }
    }
}

impl Subject for OursDecoding {
    fn decode(&mut self, event: &Event) {
        self.inner.tally();
        if let Some(body) = self.format.encode(event, &mut self.numbers) {
            self.frames.push(Frame::new(Timestamp(0), self.origin.clone(), body));
        }
    }

    fn apply(&mut self) {
        let mut frames = std::mem::take(&mut self.frames);
        for frame in frames.drain(..) {
            wire::decode(&frame, &mut self.facts).expect("the frame can be read");
            // The engine learns these frame by frame.
            self.facts.other.clear();
            if self.facts.kv.events().len() >= BURST {
                self.inner.apply_batch(&self.facts.kv);
                self.facts.clear();
            }
        }
        self.inner.apply_batch(&self.facts.kv);
        self.facts.clear();
        self.frames = frames;
    }

    fn errors(&self) -> (u64, u64) {
        self.inner.errors()
    }

    fn size(&mut self) -> u64 {
        self.inner.size()
    }

    fn query(&mut self, tokens: &[TokensHash]) {
        self.inner.query(tokens);
    }

    fn scores(&mut self) -> Vec<(WorkerRank, u32)> {
        self.inner.scores()
    }

    fn remove_worker(&mut self, worker: WorkerRank) {
        self.inner.remove_worker(worker);
    }

    fn slice(&mut self) -> bool {
        self.inner.slice()
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "publisher_id")]
    _publisher: u64,
    #[serde(rename = "sequence")]
    _sequence: u64,
    #[serde(rename = "published_at")]
    _published: u64,
    #[serde(rename = "topic")]
    _topic: String,
    #[serde(borrow)]
    payload: &'a [u8],
}

/// The router's index behind the router's own types.
pub struct TheirsDecoding {
    format: Format,
    bodies: Vec<Vec<u8>>,
    inner: Theirs,
    numbers: Numbers,
}

impl TheirsDecoding {
    pub fn new(format: Format) -> Self {
        Self { format, bodies: Vec::new(), inner: Theirs::default(), numbers: Numbers::new() }
    }
}

impl Subject for TheirsDecoding {
    fn decode(&mut self, event: &Event) {
        self.bodies.extend(self.format.encode(event, &mut self.numbers));
    }

    fn apply(&mut self) {
        for body in self.bodies.drain(..) {
            match self.format {
                Format::Json => {
                    let event: RouterEvent =
                        serde_json::from_slice(&body).expect("the event can be read");
                    self.inner.apply_one(event);
                }
                Format::Msgpack => {
                    let envelope: Envelope<'_> =
                        rmp_serde::from_slice(&body).expect("the envelope can be read");
                    let events: Vec<RouterEvent> =
                        rmp_serde::from_slice(envelope.payload).expect("the events can be read");
                    events.into_iter().for_each(|event| self.inner.apply_one(event));
                }
            }
        }
    }

    fn errors(&self) -> (u64, u64) {
        self.inner.errors()
    }

    fn size(&mut self) -> u64 {
        self.inner.size()
    }

    fn query(&mut self, tokens: &[TokensHash]) {
        self.inner.query(tokens);
    }

    fn scores(&mut self) -> Vec<(WorkerRank, u32)> {
        self.inner.scores()
    }

    fn remove_worker(&mut self, worker: WorkerRank) {
        self.inner.remove_worker(worker);
    }

    fn slice(&mut self) -> bool {
        false
    }
}
