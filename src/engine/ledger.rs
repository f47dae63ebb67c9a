//! The ledger: what became of the messages that streams and publishers numbered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Fleet, Learner, Streams};
use crate::domain::{Plane, SourceName, SourceNote, StreamLedger, Timestamp, WorkerRank};
use crate::dynamo::plane;
use crate::frame::Origin;
use crate::model::{RankRecord, Step};
use crate::snapshot::{Hole, Ledger, StreamRow};

/// Most streams that are told apart.
const STREAMS: usize = 256;

/// The window that rules judge by: what was lost before it matters to no verdict.
const WINDOW: Duration = Duration::from_secs(300);

/// For so long after a loss its source is shown as lossy.
const LOSSY: Duration = Duration::from_secs(60);

/// What is known of one stream.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Frames of it that came.
    arrived: u64,
    /// How many had come, and how many its source had passed on by then, when the source was first heard.
    base: Option<(u64, u64)>,
    told: StreamLedger,
    /// Frames that its source passed on and that are not here.
    unseen: u64,
}

/// What is known of all streams, and of losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    /// Positions among `entries`.
    streams: BTreeMap<Arc<str>, usize>,
    entries: Vec<Account>,
    /// Frames that each source of events dropped.
    dropped: BTreeMap<SourceName, (u64, u64)>,
    /// Messages of streams that were lost, and when last.
    lost: u64,
    lost_at: Option<Timestamp>,
    /// Blocks that the mirror let go for want of memory.
    shed: u64,
}

impl Accounts {
    /// Counts a frame of a stream. Returns the place of its account; none where frames are not accounted for.
    pub(super) fn arrived(&mut self, origin: &Origin) -> Option<usize> {
        let stream = match origin {
            Origin::Jetstream { stream, .. } => stream,
            Origin::Nats { subject, .. } => {
                match subject.strip_suffix(plane::KV_EVENTS_SUBJECT_END) {
                    Some(stream) if stream.ends_with(plane::STREAM_END) => stream,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let place = self.place_of(stream)?;
        self.arrived_at(place);
        Some(place)
    }

    /// Counts a frame of the stream at `place`.
    pub(super) fn arrived_at(&mut self, place: usize) {
        if let Some(account) = self.entries.get_mut(place) {
            account.arrived += 1;
        }
    }

    /// Returns the place of a stream's account, made when it is new; none when there are too many.
    fn place_of(&mut self, stream: &str) -> Option<usize> {
        if let Some(place) = self.streams.get(stream) {
            return Some(*place);
        }
        if self.streams.len() >= STREAMS {
            return None;
        }
        self.entries.push(Account::default());
        self.streams.insert(stream.into(), self.entries.len() - 1);
        Some(self.entries.len() - 1)
    }

    /// Takes in what its source says of a stream, and returns how many messages are lost that were not before.
    fn told(&mut self, stream: &Arc<str>, ledger: StreamLedger) -> u64 {
        let place = self.place_of(stream);
        let Some(account) = place.and_then(|place| self.entries.get_mut(place)) else { return 0 };
        let gone = |ledger: StreamLedger| ledger.aged_out.saturating_add(ledger.uncounted);
        let known = account.base.is_some();
        let (arrived, received) = match account.base {
            Some(base) if base.1 <= ledger.received => base,
            // The source began anew, or is heard for the first time.
            _ => *account.base.insert((account.arrived, ledger.received)),
        };
        let before = account.told;
        account.told = ledger;
        let due = arrived.saturating_add(ledger.received - received);
        let unseen = due.saturating_sub(account.arrived);
        let more = unseen.saturating_sub(account.unseen);
        account.unseen = unseen;
        // What was lost before the source was first heard is of the past.
        let gone = if known { gone(ledger).saturating_sub(gone(before)) } else { 0 };
        gone.saturating_add(more)
    }

    /// Returns how many messages are being read again, since they did not come live.
    fn open(&self) -> u64 {
        self.entries.iter().map(|account| account.told.missing).fold(0, u64::saturating_add)
    }
}

impl Learner<'_> {
    /// Takes in what a source says of losses.
    pub(super) fn account(&mut self, note: &SourceNote) {
        let told = note.history.as_ref().and_then(|history| Some((history, history.ledger?)));
        let lost = told.map_or(0, |(history, ledger)| {
            self.known.streams.accounts.told(&history.stream, ledger)
        });
        if lost > 0 {
            self.known.streams.accounts.lost =
                self.known.streams.accounts.lost.saturating_add(lost);
            self.known.streams.accounts.lost_at = Some(note.at);
            self.known.streams.history.lost = self.known.streams.history.lost.saturating_add(lost);
            self.known.streams.history.missed =
                self.known.streams.history.missed.saturating_add(lost);
        }
        let drops = (note.dropped, note.drops_uncounted);
        let of_events = note.source.brings_events();
        let before = of_events
            .then(|| self.known.streams.accounts.dropped.insert(note.source.clone(), drops));
        let dropped = before.flatten().is_some_and(|before| drops > before);
        if dropped {
            self.known.streams.accounts.lost_at = Some(note.at);
        }
        self.apply_kv();
        if lost > 0 || dropped {
            self.known.fleet.workers.doubt(None);
        }
        if told.is_some() {
            let upstream = self.known.streams.ids_are_upstream();
            for record in self.known.fleet.workers.ranks_mut() {
                record.id_holes = if upstream { 0 } else { record.ids.missing() };
            }
        }
    }

    /// Doubts what ranks hold once the mirror let blocks go: removals of these are unknown to kvtop alone.
    pub(super) fn doubt_what_was_shed(&mut self) {
        let shed = self.known.index.mirror.totals().shed_blocks;
        if shed > std::mem::replace(&mut self.known.streams.accounts.shed, shed) {
            self.known.fleet.workers.doubt(None);
        }
    }

    /// Counts a numbered message of `rank`.
    pub(super) fn numbered(
        &mut self,
        rank: WorkerRank,
        step: Step,
        source: &SourceName,
        at: Timestamp,
    ) {
        let Some(record) = self.known.fleet.workers.rank_mut(rank) else { return };
        match step {
            Step::Again => return,
            Step::Next | Step::Restart => {}
            Step::Hole(missing) => {
                record.ledger.missing = record.ledger.missing.saturating_add(missing);
                record.hole_at = Some(at);
            }
            Step::Late => {
                record.ledger.reordered += 1;
                record.ledger.missing = record.ledger.missing.saturating_sub(1);
                record.missing = record.missing.saturating_sub(1);
                if record.ledger.missing == 0 {
                    record.hole_at = None;
                }
                self.known.streams.history.lost = self.known.streams.history.lost.saturating_sub(1);
                self.known.streams.history.missed =
                    self.known.streams.history.missed.min(self.known.streams.history.lost);
            }
        }
        record.ledger.received += 1;
        if step == Step::Late {
            let counts = self.router_counts(at);
            counts.lost = counts.lost.saturating_sub(1);
            if let Some(record) = self.known.streams.sources.record(source) {
                record.gaps = record.gaps.saturating_sub(1);
            }
            if self.known.streams.history.lost == 0 {
                self.known.fleet.workers.trust(rank);
            }
        }
    }
}

impl Streams {
    /// Returns true when streams say that every message they stored reached kvtop: a number that is missing all the
    /// same was never published.
    pub(super) fn ids_are_upstream(&self) -> bool {
        let told = || self.accounts.entries.iter().filter(|account| account.base.is_some());
        told().next().is_some()
            && told().all(|account| account.told.is_even() && account.unseen == 0)
    }

    /// Returns the ledger at `at`.
    pub(super) fn ledger(&self, fleet: &Fleet, at: Timestamp) -> Ledger {
        let account = |place: &usize| self.accounts.entries.get(*place);
        let streams = self.accounts.streams.iter();
        let streams = streams.filter_map(|(name, place)| Some((name, account(place)?)));
        let streams = streams.filter(|(_, account)| account.base.is_some());
        let streams = streams.map(|(name, account)| StreamRow {
            name: name.to_string(),
            counts: account.told,
            unseen: account.unseen,
        });
        Ledger { streams: streams.collect(), hole: self.hole(fleet, at) }
    }

    /// Returns what is missing, as far as it matters to the verdicts of `at`.
    pub(super) fn hole(&self, fleet: &Fleet, at: Timestamp) -> Option<Hole> {
        let upstream = self.ids_are_upstream();
        let open = |record: &&RankRecord| {
            let gone = fleet.workers.worker(record.rank.worker).is_some_and(|worker| worker.gone);
            let foreign = fleet.is_foreign_worker(record.rank.worker);
            !(gone || foreign || upstream && record.ids.missing() > 0)
        };
        let ranks = fleet.workers.ranks().iter().filter(open);
        let ranks = ranks.filter_map(|record| Some((record.ledger.missing, record.hole_at?)));
        let streams = self.accounts.lost_at.map(|last| (self.accounts.lost, last));
        let refilling = Some((self.accounts.open(), at)).filter(|(count, _)| *count > 0);
        let all = ranks.chain(streams).chain(refilling);
        let recent = all.filter(|(_, last)| at.since(*last) <= WINDOW);
        recent.fold(None, |sum: Option<Hole>, (count, last)| {
            let sum = sum.unwrap_or_default();
            let messages = sum.messages.saturating_add(count);
            Some(Hole { messages, last: sum.last.max(last) })
        })
    }

    /// Returns true for the source by which KV events come.
    pub(super) fn brings_events(&self, source: &SourceName) -> bool {
        *source == self.deployment.plane.map_or(SourceName::Nats, Plane::source)
    }

    /// Returns how many messages of a source of events were lost a moment ago.
    pub(super) fn lossy(&self, fleet: &Fleet, at: Timestamp) -> Option<Hole> {
        self.hole(fleet, at).filter(|hole| at.since(hole.last) <= LOSSY)
    }
}
