//! The ledger: what became of the messages that streams and publishers numbered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::judge::WorkerNames;
use super::{Fleet, Learner, Streams};
use crate::domain::{Plane, SourceName, SourceNote, StreamLedger, Timestamp, WorkerRank};
use crate::dynamo::plane;
use crate::frame::Origin;
use crate::model::{RankHole, RankRecord, Step};
use crate::snapshot::{Hole, Ledger, StreamRow};

/// Most streams that are told apart.
const STREAMS: usize = 256;

/// The window that rules judge by: what was lost before it matters to no verdict.
const WINDOW: Duration = Duration::from_secs(300);

/// Numbers may tell of a loss that much before its source does.
const LOSS_LAG: Duration = Duration::from_secs(10);

/// For so long after a loss its source is shown as lossy.
const LOSSY: Duration = Duration::from_secs(60);

/// The account of one stream.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Frames of it that came.
    arrived: u64,
    /// Messages that had come, and that its source had passed on, when the source was first heard.
    base: Option<(u64, u64)>,
    told: StreamLedger,
    /// Frames that its source passed on and that are not here.
    unseen: u64,
    /// Lost messages that are made up for: those that can be counted, and losses that cannot.
    forgiven: (u64, u64),
}

impl Account {
    /// Returns its losses: those that can be counted, and those that cannot.
    fn losses(&self) -> (u64, u64) {
        let StreamLedger { aged_out, dropped, uncounted, .. } = self.told;
        (aged_out.saturating_add(dropped).saturating_add(self.unseen), uncounted)
    }

    /// Returns true when nothing is missing that is not made up for.
    fn is_even(&self) -> bool {
        self.told.missing == 0 && self.losses() == self.forgiven
    }
}

/// The accounts of all streams, and losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    /// Positions among `entries`.
    streams: BTreeMap<Arc<str>, usize>,
    entries: Vec<Account>,
    /// Frames that each source of events dropped.
    dropped: BTreeMap<SourceName, (u64, u64)>,
    /// Messages that were lost and not made up for, nobody knows whose, and when last.
    lost: u64,
    lost_at: Option<Timestamp>,
    /// True when no rank was known that they could have been of.
    is_unowned: bool,
    /// Blocks that the mirror dropped at the memory limit.
    shed: u64,
}

impl Accounts {
    /// Counts a frame of a stream. Returns the place of its account; none where frames are not accounted for.
    pub(super) fn arrived(&mut self, origin: &Origin) -> Option<usize> {
        let stream = match origin {
            Origin::Jetstream { stream, .. } => stream,
            Origin::Nats { subject, .. } => plane::stream_of(subject)?,
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
        if !known {
            account.forgiven = account.losses();
        }
        let due = arrived.saturating_add(ledger.received - received);
        let unseen = due.saturating_sub(account.arrived);
        let more = unseen.saturating_sub(account.unseen);
        account.unseen = unseen;
        // What was lost before the source was first heard is of the past.
        let gone = if known { gone(ledger).saturating_sub(gone(before)) } else { 0 };
        gone.saturating_add(more)
    }

    /// Notes at `at` that `count` messages were lost, nobody knows whose.
    fn lose(&mut self, count: u64, at: Timestamp, is_unowned: bool) {
        self.lost = self.lost.saturating_add(count);
        self.lost_at = Some(at);
        self.is_unowned |= is_unowned;
    }

    /// Forgets the losses so far: they are made up for.
    fn forgive(&mut self) {
        (self.lost, self.lost_at, self.is_unowned) = (0, None, false);
        for account in &mut self.entries {
            account.forgiven = account.losses();
        }
    }

    /// Returns how many messages were lost while no rank was known, and when last.
    fn unowned(&self) -> Option<(u64, Timestamp)> {
        self.lost_at.filter(|_| self.is_unowned).map(|last| (self.lost, last))
    }

    /// Returns how many messages are being read again, since they did not come live.
    fn open(&self) -> u64 {
        self.entries.iter().map(|account| account.told.missing).fold(0, u64::saturating_add)
    }
}

impl Learner<'_> {
    /// Takes in what a source says of losses.
    pub(super) fn account(&mut self, note: &SourceNote) {
        self.apply_kv();
        self.forget_closed_losses(note.at);
        if self.known.streams.history.is_partial() {
            return;
        }
        let told = note.history.as_ref().and_then(|history| Some((history, history.ledger?)));
        let streams = &mut self.known.streams;
        let lost =
            told.map_or(0, |(history, ledger)| streams.accounts.told(&history.stream, ledger));
        let drops = (note.dropped, note.drops_uncounted);
        let mut dropped = 0;
        if note.source.brings_events() {
            let before = streams.accounts.dropped.insert(note.source.clone(), drops);
            let (counted, uncounted) = before.unwrap_or_default();
            dropped = drops.0.saturating_sub(counted).max(drops.1.saturating_sub(uncounted));
        }
        if lost == 0 && dropped == 0 {
            return;
        }
        self.router_counts(note.at).dropped += dropped;
        if lost > 0 {
            self.known.streams.history.lose(lost, lost, note.at);
        }
        // Nobody knows whose messages these were.
        self.known.fleet.workers.doubt(None);
        let ranks = self.known.fleet.workers.ranks().iter().enumerate();
        let present = ranks.filter(|(_, record)| self.known.fleet.is_accountable(record));
        let present: Vec<usize> = present.map(|(index, _)| index).collect();
        for index in &present {
            if let Some(record) = self.known.fleet.workers.ranks_mut().get_mut(*index) {
                record.suspect(note.at);
            }
        }
        self.known.streams.accounts.lose(lost, note.at, present.is_empty());
    }

    /// Forgets losses once every rank that they may have hit is known to have lost nothing, or holds nothing of that
    /// time any more.
    fn forget_closed_losses(&mut self, at: Timestamp) {
        let accounts = &mut self.known.streams.accounts;
        let Some(lost_at) = accounts.lost_at else { return };
        let waits = accounts.is_unowned && at.since(lost_at) <= WINDOW;
        let since = lost_at.before(LOSS_LAG);
        let is_open = |hole: RankHole| hole.unsure || hole.last >= since;
        let mut ranks = self.known.fleet.workers.ranks().iter();
        let open =
            |it: &RankRecord| it.hole.is_some_and(is_open) && self.known.fleet.is_accountable(it);
        if !waits && !ranks.any(open) {
            accounts.forgive();
        }
    }

    /// Doubts what ranks hold once the mirror let blocks go: removals of these are unknown to kvtop alone.
    pub(super) fn doubt_what_was_shed(&mut self) {
        let shed = self.known.index.mirror.totals().shed_blocks;
        if shed > std::mem::replace(&mut self.known.streams.accounts.shed, shed) {
            self.known.fleet.workers.doubt_shed();
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
        let followed = record.ledger.received > 0;
        match step {
            Step::Again => return,
            Step::Next | Step::Restart => {}
            Step::Hole(missing) => {
                record.ledger.missing = record.ledger.missing.saturating_add(missing);
            }
            Step::Late => {
                record.ledger.reordered += 1;
                record.ledger.missing = record.ledger.missing.saturating_sub(1);
                self.known.streams.history.find();
            }
        }
        record.ledger.received += 1;
        record.stepped(step, followed, at);
        if step == Step::Late {
            let counts = self.router_counts(at);
            counts.lost = counts.lost.saturating_sub(1);
            if let Some(record) = self.known.streams.sources.record(source) {
                record.gaps = record.gaps.saturating_sub(1);
            }
        }
    }
}

impl Fleet {
    /// Returns true for a rank whose losses matter: its worker is there, and is looked at.
    fn is_accountable(&self, record: &RankRecord) -> bool {
        self.is_there(record.rank.worker)
    }
}

/// Returns how many messages of a rank did not come lately, by the numbers of the event plane (Dynamo 1.0 on).
pub(super) fn missing_messages(record: &RankRecord, at: Timestamp) -> u64 {
    let numbered = record.ids.received() == 0;
    let recent = |loss: &RankHole| numbered && at.since(loss.last) <= WINDOW;
    let hole = record.hole.filter(|_| numbered);
    hole.into_iter().chain(record.loss.filter(recent)).map(|it| it.messages).max().unwrap_or(0)
}

impl Streams {
    /// Returns true when streams say that every message they stored reached kvtop: a number that is missing all the
    /// same was never published. Losses that are made up for do not count.
    fn ids_are_upstream(&self) -> bool {
        let told = || self.accounts.entries.iter().filter(|account| account.base.is_some());
        told().next().is_some() && told().all(Account::is_even)
    }

    /// Returns the numbers of KV events of a rank that did not come lately and may have been published (Dynamo 0.9),
    /// and how many of these nothing made up for.
    pub(super) fn missing_ids(&self, record: &RankRecord, at: Timestamp) -> (u64, u64) {
        let numbered = record.ids.received() > 0 && !self.ids_are_upstream();
        let loss = record.loss.filter(|loss| numbered && at.since(loss.last) <= WINDOW);
        let hole = record.hole.filter(|_| numbered);
        let open = hole.map_or(0, |hole| hole.messages);
        (loss.map_or(0, |loss| loss.messages).max(open), open)
    }

    /// Returns how many numbers of KV events the publisher of a rank skipped (Dynamo 0.9): lately, or not made up for.
    pub(super) fn unpublished(&self, record: &RankRecord, at: Timestamp) -> u64 {
        let numbered = record.ids.received() > 0 && self.ids_are_upstream();
        let loss = record.loss.filter(|loss| numbered && at.since(loss.last) <= WINDOW);
        let hole = record.hole.filter(|_| numbered);
        loss.into_iter().chain(hole).map(|it| it.messages).max().unwrap_or(0)
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

    /// Returns the ranks of which KV events are missing, or may be.
    fn holes<'a>(
        &'a self,
        fleet: &'a Fleet,
    ) -> impl Iterator<Item = (&'a RankRecord, RankHole)> + 'a {
        let upstream = self.ids_are_upstream();
        let ranks = fleet.workers.ranks().iter();
        let open = ranks.filter_map(|record| Some((record, record.hole?)));
        let open = open.filter(move |(record, _)| !(upstream && record.ids.received() > 0));
        open.filter(|(record, _)| fleet.is_accountable(record))
    }

    /// Returns true while KV events are missing that nothing made up for.
    pub(super) fn lacks_events(&self, fleet: &Fleet, at: Timestamp) -> bool {
        let unowned = self.accounts.unowned().filter(|(_, last)| at.since(*last) <= WINDOW);
        unowned.is_some() || self.accounts.open() > 0 || self.holes(fleet).next().is_some()
    }

    /// Returns what is missing, as far as it matters to the verdicts of `at`.
    pub(super) fn hole(&self, fleet: &Fleet, at: Timestamp) -> Option<Hole> {
        let recent = |last: Timestamp| at.since(last) <= WINDOW;
        let mut hole = Hole::default();
        let (mut lacking, mut unsure) = (BTreeSet::new(), BTreeSet::new());
        for (record, open) in self.holes(fleet).filter(|(_, open)| recent(open.last)) {
            hole.messages = hole.messages.saturating_add(open.messages);
            hole.last = hole.last.max(open.last);
            let waits = if open.messages > 0 { &mut lacking } else { &mut unsure };
            waits.insert(record.rank.worker);
        }
        if !(lacking.is_empty() && unsure.is_empty()) {
            let names = WorkerNames::new(&fleet.workers);
            let sorted = |workers: BTreeSet<_>| {
                let mut all: Vec<_> = workers.into_iter().map(|it| names.get(it)).collect();
                all.sort_unstable();
                all.dedup();
                all
            };
            (hole.lacking, hole.unsure) = (sorted(lacking), sorted(unsure));
        }
        // Until numbers tell whose they were, the sum is known and no more.
        let lost = (self.accounts.lost, self.accounts.lost_at.unwrap_or_default());
        let lost = Some(lost).filter(|_| !hole.unsure.is_empty()).or(self.accounts.unowned());
        if let Some((count, last)) = lost.filter(|(_, last)| recent(*last)) {
            hole.messages = hole.messages.max(count);
            hole.last = hole.last.max(last);
        }
        let refilling = self.accounts.open();
        if refilling > 0 {
            hole.messages = hole.messages.max(refilling);
            hole.last = at;
            hole.refilling = true;
        }
        hole.until = hole.last.after(WINDOW);
        (hole.last > Timestamp::default()).then_some(hole)
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
