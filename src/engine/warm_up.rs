//! The past from the dump of a standalone indexer, joined to what came live meanwhile.
//!
//! A dump is of some moment between the question and the answer. Whatever came since before the
//! question is applied once more on top of it: then the last event about a block decides, and where
//! there is none, the dump.

use std::collections::BTreeSet;

use super::Learner;
use super::journal::Head;
use super::kv::copy_event;
use crate::domain::{Counters, KvBatch, SourceName, SourceNote, SourceState, WorkerRank};
use crate::frame::Frame;
use crate::mirror::Semantics;
use crate::snapshot::{EventKind, Gravity};
use crate::wire;

/// The source that asks for a dump.
const SOURCE: SourceName = SourceName::Indexer;

/// Most events that are kept while an answer is awaited. With more, the past stays unknown.
const EVENTS: usize = 100_000;

/// Frames that came while an answer is awaited.
#[derive(Debug, Default)]
pub(super) struct WarmUp {
    awaited: bool,
    overflowed: bool,
    live: KvBatch,
}

impl WarmUp {
    /// Keeps `batch` while an answer is awaited.
    pub(super) fn keep(&mut self, batch: &KvBatch) {
        if !self.awaited || self.overflowed {
            return;
        }
        if self.live.events().len() + batch.events().len() > EVENTS {
            (self.overflowed, self.live) = (true, KvBatch::default());
            return;
        }
        for event in batch.events() {
            copy_event(event, batch, &mut self.live);
        }
    }
}

impl Learner<'_> {
    /// Notes what the source that asks for a dump says of itself.
    pub(super) fn await_dump(&mut self, note: &SourceNote) {
        if note.source != SOURCE {
            return;
        }
        let asks = note.state == SourceState::Connecting;
        if asks && !self.known.index.warm_up.awaited {
            self.apply_kv();
            self.known.index.warm_up = WarmUp { awaited: true, ..WarmUp::default() };
        } else if matches!(note.state, SourceState::Down | SourceState::Ended) {
            self.known.index.warm_up = WarmUp::default();
        }
    }

    /// Takes the dump in `frame` as the past of the ranks in it.
    pub(super) fn take_dump(&mut self, frame: &Frame, source: &SourceName) {
        self.apply_kv();
        let warm_up = std::mem::take(&mut self.known.index.warm_up);
        let decoded = wire::decode(frame, &mut self.pending.facts);
        let dump = std::mem::take(&mut self.pending.facts.kv);
        if let Err(reject) = decoded {
            return self.note_reject(frame, &reject.why, source);
        }
        if !warm_up.awaited || warm_up.overflowed {
            let why = if warm_up.awaited {
                "indexer dump: more came live than is kept for it"
            } else {
                "indexer dump: the recording does not hold the moment of the question"
            };
            return self.note_reject(frame, why, source);
        }
        let ranks: BTreeSet<WorkerRank> = dump.events().iter().map(|event| event.rank).collect();
        let mut joined = KvBatch::default();
        for event in warm_up.live.events().iter().filter(|event| ranks.contains(&event.rank)) {
            copy_event(event, &warm_up.live, &mut joined);
        }
        let tick = u32::try_from(self.known.times.cursor.seconds()).unwrap_or(u32::MAX);
        if self.known.streams.deployment.shape.is_none() {
            // No event told the version yet, but indexers have `/dump` from 1.1 on.
            self.choose_mirror(Semantics::EdgeTruncating);
        }
        for rank in &ranks {
            self.known.index.mirror.forget_rank(*rank);
        }
        for batch in [&dump, &joined] {
            self.pending.outcomes.clear();
            self.known.index.mirror.apply(batch, tick, &mut self.pending.outcomes);
        }
        for rank in &ranks {
            if let Some(record) = self.known.fleet.workers.rank_mut(*rank) {
                record.is_known();
                // Their parents are in the dump, so that these rejections prove no loss.
                absolve(&mut record.counters);
                record.kv.correct(|tally| {
                    absolve(&mut tally.counters);
                    tally.known_refused = 0;
                });
            }
        }
        let head = Head {
            at: frame.happened(),
            who: source.as_str(),
            kind: EventKind::Source,
            gravity: Gravity::Normal,
            source,
            orphan: false,
            worker: None,
            class: "",
        };
        let (blocks, count) = (dump.blocks().len(), ranks.len());
        self.known
            .record
            .journal
            .add(head, self.frame, || format!("{blocks} blocks of {count} ranks were read"));
    }
}

fn absolve(counters: &mut Counters) {
    (counters.refused_stores, counters.refused_blocks) = (0, 0);
    counters.unknown_removals = 0;
}
