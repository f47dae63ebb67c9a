//! The KV events of one stream: live messages, its history, and how they become one sequence.
//!
//! Owns what is held back while history is read. Talks to nobody: it is told what the stream holds
//! and what came, and says what to ask for and what to pass on.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::domain::{HistoryNote, Timestamp};
use crate::dynamo::plane;
use crate::frame::{Body, Frame, Origin};
use crate::source::{Ahead, Emitter, Offer};

use super::account::Account;
use super::ahead::{AheadRead, LONG};
use super::join::{Lane, Mark};
use super::presumed::Presumed;
use super::reach::Reach;
use super::reading::{Answer, Reading, Seqs};
use super::sent::Sent;
use super::stream::{Extent, Stored};

/// Live messages held back at most: 13 s of 10 000 a second, which is longer than a history of a
/// million takes (PERFORMANCE G14).
const HELD_MESSAGES: usize = 131_072;

/// And their bytes.
const HELD_BYTES: usize = 128 << 20;

/// A live message, held back until history is read.
struct Held {
    frame: Frame,
    lane: Lane,
    mark: Mark,
    /// True once it was passed on ahead of the history.
    ahead: bool,
}

/// The state of a feed.
enum Phase {
    /// Live messages are held; what the stream holds now is not known.
    Asking,
    /// Live messages are held; history is being read.
    Reading(Box<Reading>),
    /// History is joined; what was held is on its way out.
    Flushing,
    /// Live messages pass through.
    Direct,
}

/// The result of comparing a feed with its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing is missing.
    Even,
    /// Messages seem to be missing; look again soon, since some may be on their way.
    Suspect,
    /// There is something to read.
    Read,
    /// There are other numbers to read than those that were asked for.
    Anew,
}

/// One stream's feed.
pub(super) struct Feed {
    pub(super) stream: Arc<str>,
    subject: Arc<str>,
    /// The time the stream was made; empty while no stream is known.
    created: String,
    /// Every message of the stream up to this number has been passed on.
    joined: u64,
    /// Passed on live since then.
    sent: Sent,
    phase: Phase,
    /// Messages that go ahead of a long history; none while it is not known to be long.
    ahead: Option<AheadRead>,
    held: VecDeque<Held>,
    held_bytes: usize,
    /// Number that came over a connection that is gone.
    stale: usize,
    suspect: bool,
    /// True when history reaches the live messages of this subscription.
    reach: Reach,
    /// Messages were lost among those held.
    torn: bool,
    /// Messages were lost since the last read began, so counts prove nothing.
    doubt: bool,
    /// The part of the stream that was read, over all reads.
    history: Option<HistoryNote>,
    /// A comparison that lost its connection.
    paused: Option<Box<Reading>>,
    account: Account,
    /// Messages that came live and that the stream seems to have deleted.
    presumed: Presumed,
    /// The last survey: last number, and messages passed on.
    surveyed: (u64, u64),
}

impl Feed {
    /// Returns the feed of `stream`, which asks before it passes anything on.
    pub(super) fn new(stream: &str) -> Self {
        Self {
            stream: stream.into(),
            subject: format!("{stream}{}", plane::KV_EVENTS_SUBJECT_END).into(),
            created: String::new(),
            joined: 0,
            sent: Sent::default(),
            phase: Phase::Asking,
            ahead: None,
            held: VecDeque::new(),
            held_bytes: 0,
            stale: 0,
            suspect: false,
            reach: Reach::default(),
            torn: false,
            doubt: false,
            history: None,
            paused: None,
            account: Account::default(),
            presumed: Presumed::default(),
            surveyed: (0, 0),
        }
    }

    /// Returns true while it is not known what the stream holds.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.phase, Phase::Asking)
    }

    /// Returns true while live messages wait for another look at a stream that is there.
    pub(super) fn wants_look(&self) -> bool {
        self.is_asking() && self.is_durable() && self.held.len() > self.stale
    }

    /// Returns true when a stream keeps what is missed.
    pub(super) fn is_durable(&self) -> bool {
        !self.created.is_empty()
    }

    /// Returns true while held messages wait for room.
    pub(super) fn is_flushing(&self) -> bool {
        matches!(self.phase, Phase::Flushing)
    }

    /// Returns true when live messages were lost and the stream has not been asked for them yet.
    pub(super) fn is_doubted(&self) -> bool {
        self.doubt && matches!(self.phase, Phase::Direct)
    }

    /// Returns true while messages that did not come live are being read from the stream.
    pub(super) fn has_hole(&self) -> bool {
        self.is_durable() && (self.account.counts.missing > 0 || self.is_doubted())
    }

    /// Returns how many messages were lost for good since this was asked last. Those whose number is not known
    /// count as one.
    pub(super) fn news_of_loss(&mut self) -> u64 {
        self.account.news_of_loss()
    }

    /// Takes a live message: passes it on or holds it. Returns how many messages did not fit.
    pub(super) fn live(&mut self, frame: Frame, payload: &[u8], emitter: &Emitter) -> u64 {
        let (lane, mark) = (Lane::new(payload), Mark::new(payload));
        if matches!(self.phase, Phase::Direct) && self.reach.is_proven() {
            self.pass_joined(&frame, emitter);
            self.pass_on(frame, lane, mark, emitter);
            return 0;
        }
        if !self.reach.is_proven() && matches!(self.phase, Phase::Direct | Phase::Flushing) {
            self.phase = Phase::Asking;
        }
        if self.held.len() >= HELD_MESSAGES || self.held_bytes + payload.len() > HELD_BYTES {
            // Whatever the stream keeps is fetched after the join, when the counts disagree.
            self.lost();
            let dropped = u64::from(self.created.is_empty());
            self.account.counts.dropped += dropped;
            return dropped;
        }
        self.held_bytes += payload.len();
        self.held.push_back(Held { frame, lane, mark, ahead: false });
        0
    }

    /// Live messages were lost, nobody knows which.
    pub(super) fn lost(&mut self) {
        self.end_ahead();
        self.torn = !matches!(self.phase, Phase::Direct);
        self.doubt = true;
    }

    /// Begins with a stream that was not known.
    fn begin(&mut self, extent: &Extent) {
        let known = self.is_durable();
        self.account.begin(known, extent);
        self.created.clone_from(&extent.created);
        self.paused = None;
        self.presumed = Presumed::default();
        self.joined = if known { 0 } else { extent.first_seq.saturating_sub(1) };
        self.history = None;
        // What was passed on may or may not be in this one: compare.
        self.doubt = true;
    }

    /// Takes what the stream holds, as of now.
    pub(super) fn found(&mut self, extent: &Extent) -> Standing {
        if self.created != extent.created {
            self.begin(extent);
        }
        self.account.found(extent);
        match &mut self.phase {
            Phase::Reading(reading) => {
                let skips = reading.skip_to(extent.first_seq);
                return if skips { Standing::Anew } else { Standing::Even };
            }
            Phase::Flushing => return Standing::Even,
            Phase::Asking => {}
            Phase::Direct => match self.compare(extent) {
                Standing::Read => {}
                other => return other,
            },
        }
        if extent.last_seq < self.joined {
            // The server lost the end of its store; what it stores from now on counts from there.
            self.joined = extent.last_seq;
            self.sent.settle(0);
        }
        // The stream has these, and what was missed after them.
        for held in self.held.drain(..std::mem::take(&mut self.stale)) {
            self.held_bytes = self.held_bytes.saturating_sub(held.frame.len());
        }
        let first = extent.first_seq.max(self.joined + 1);
        let gone = (first - 1).saturating_sub(self.joined);
        self.account.read_from(self.joined, gone, self.sent.count());
        let reading = match self.paused.take() {
            Some(mut reading) => {
                reading.resume(first, extent.last_seq);
                reading
            }
            None => Box::new(Reading::new(first, extent.last_seq, &self.sent)),
        };
        if self.account.was_whole && matches!(self.phase, Phase::Direct) {
            // What did not come live, of what was published since both agreed.
            let due = extent.last_seq.saturating_sub(self.joined + gone);
            self.account.counts.missing = due.saturating_sub(self.sent.count());
        }
        self.phase = Phase::Reading(reading);
        self.doubt = false;
        let history = self.history.get_or_insert_with(|| HistoryNote {
            stream: Arc::clone(&self.stream),
            first_seq: extent.first_seq.max(1),
            last_seq: extent.last_seq,
            read: 0,
            complete: false,
            keeps: None,
            ledger: None,
        });
        (history.last_seq, history.keeps) = (extent.last_seq, extent.keeps);
        history.complete = false;
        Standing::Read
    }

    /// Compares the growth of the stream with what was passed on.
    fn compare(&mut self, extent: &Extent) -> Standing {
        if self.doubt || extent.last_seq < self.joined {
            return Standing::Read;
        }
        let (grown, passed) = (extent.last_seq - self.joined, self.sent.count());
        if passed < grown {
            return if std::mem::replace(&mut self.suspect, true) {
                Standing::Read
            } else {
                Standing::Suspect
            };
        }
        self.suspect = false;
        // Messages are passed on a moment before they are stored, so a surplus is normal; one that
        // stays while nothing moves was never stored.
        let at_rest = self.surveyed == (extent.last_seq, passed);
        if passed == grown || at_rest {
            // Or it was stored, and deleted before the stream was asked for it.
            self.account.refund(passed - grown);
            self.sent.settle(0);
            self.joined = extent.last_seq;
            self.presumed.agreed();
        } else if self.sent.is_long() {
            self.sent.settle(passed - grown);
            self.joined = extent.last_seq;
        }
        self.surveyed = (extent.last_seq, self.sent.count());
        Standing::Even
    }

    /// There is no such stream, or no way to read it: what comes live is all there is.
    pub(super) fn absent(&mut self) {
        self.reach = Reach::proven();
        self.paused = None;
        if self.is_asking() {
            self.stale = 0;
            self.phase = Phase::Flushing;
        }
    }

    /// Returns the numbers to ask the stream for.
    pub(super) fn seqs(&self) -> Option<Seqs> {
        match &self.phase {
            Phase::Reading(reading) => Some(reading.seqs()),
            Phase::Asking | Phase::Flushing | Phase::Direct => None,
        }
    }

    /// Returns true at the begin of a first read that takes long.
    pub(super) fn begins_long_read(&self) -> bool {
        matches!(&self.phase, Phase::Reading(reading) if reading.is_first() && reading.left() > LONG)
    }

    /// Begins with the newest messages where a first read begins; what is passed on already goes ahead from now on.
    pub(super) fn begin_ahead(&mut self) {
        if self.ahead.is_some() {
            return;
        }
        self.ahead = match &self.phase {
            Phase::Reading(reading) if reading.is_first() => {
                Some(AheadRead::new(reading.first, reading.last))
            }
            Phase::Flushing | Phase::Direct => Some(AheadRead::Joined),
            Phase::Reading(_) | Phase::Asking => None,
        };
    }

    /// Returns true while what is passed on ahead is more than what is passed on.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead.is_some() && !matches!(self.phase, Phase::Direct)
    }

    /// Returns true once something that should have gone ahead did not.
    pub(super) fn is_broken_ahead(&self) -> bool {
        matches!(self.ahead, Some(AheadRead::Broken))
    }

    /// Nothing more goes ahead.
    pub(super) fn end_ahead(&mut self) {
        if self.ahead.is_some() {
            self.ahead = Some(AheadRead::Broken);
        }
    }

    /// Returns the numbers of the newest messages to ask the stream for.
    pub(super) fn seqs_ahead(&self) -> Option<Seqs> {
        self.ahead.as_ref()?.seqs()
    }

    /// Takes one of the newest messages.
    pub(super) fn stored_ahead(&mut self, message: Stored, now: Timestamp, emitter: &Emitter) {
        let Some(AheadRead::Newest(reading)) = &mut self.ahead else { return };
        if *message.subject != *self.subject {
            return;
        }
        reading.take(message.seq, &message.payload);
        let frame = stored_frame(&self.stream, &self.subject, message, now);
        self.pass_ahead(frame, emitter);
    }

    /// The newest messages have all been read.
    pub(super) fn exhausted_ahead(&mut self) {
        let lanes = self.held_lanes();
        let torn = self.torn;
        if let Some(ahead) = &mut self.ahead {
            ahead.read(&lanes, torn);
        }
    }

    /// Passes on the live messages that wait for the history, as far as there is room.
    pub(super) fn flush_ahead(&mut self, emitter: &Emitter) {
        while emitter.has_room_ahead()
            && let Some(AheadRead::Live { looked_at, stored }) = &mut self.ahead
            && let Some(held) = self.held.get_mut(*looked_at)
        {
            *looked_at += 1;
            held.ahead = true;
            let read = stored.get_mut(&held.lane).and_then(Iterator::next);
            let frame = held.frame.clone();
            if read != Some(true) {
                self.pass_ahead(frame, emitter);
            }
        }
    }

    /// Passes `frame` on before the history. Where that fails the history alone is left.
    fn pass_ahead(&mut self, frame: Frame, emitter: &Emitter) {
        if emitter.offer_ahead(Ahead::Frame(frame)) != Offer::Taken {
            self.end_ahead();
        }
    }

    /// Takes a stored message that was asked for. Returns true when to ask for other numbers.
    pub(super) fn stored(&mut self, message: Stored, now: Timestamp, emitter: &Emitter) -> bool {
        let Phase::Reading(reading) = &mut self.phase else { return false };
        if *message.subject != *self.subject {
            reading.pass_over();
            self.account.counts.other += 1;
            return false;
        }
        match reading.take(message.seq, &message.payload) {
            Answer::Compared => false,
            Answer::AskAnew => true,
            Answer::Emit => {
                if let Some(history) = &mut self.history {
                    history.read += 1;
                }
                if self.presumed.take(Lane::new(&message.payload), Mark::new(&message.payload)) {
                    self.account.was_stored();
                    return false;
                }
                let frame = stored_frame(&self.stream, &self.subject, message, now);
                match emitter.offer(frame) {
                    Offer::Taken => self.account.counts.received += 1,
                    Offer::Full => {
                        emitter.count_drop();
                        self.account.counts.dropped += 1;
                    }
                    Offer::Unheard => {}
                }
                false
            }
        }
    }

    /// Everything asked for has been answered. Returns how many messages had been missed live, once
    /// history is joined to what was held; none when there is more to ask for.
    pub(super) fn exhausted(&mut self) -> Option<u64> {
        let Phase::Reading(reading) = &mut self.phase else { return None };
        if !reading.exhausted() {
            return None;
        }
        let Phase::Reading(mut reading) = std::mem::replace(&mut self.phase, Phase::Asking) else {
            return None;
        };
        let (last, missed) = (reading.last, reading.missed);
        let vanished = self.account.settle(&mut reading, true);
        self.presumed.add(reading.take_presumed());
        self.account.refilled(missed);
        let lanes = self.held_lanes();
        let torn = self.torn || vanished > 0;
        let read = reading.join(&lanes, torn, &mut self.sent);
        self.joined = self.joined.max(last);
        if let Some(ahead @ (AheadRead::Newest(_) | AheadRead::Live { .. })) = &mut self.ahead {
            *ahead = AheadRead::Joined;
        }
        if self.reach.joins(&read) {
            self.phase = Phase::Flushing;
            self.torn = false;
            self.account.was_whole = true;
            if let Some(history) = &mut self.history {
                history.complete = true;
            }
        }
        let mut read: HashMap<Lane, _> =
            read.into_iter().map(|(lane, read)| (lane, read.into_iter())).collect();
        self.held.retain(|held| {
            read.get_mut(&held.lane).and_then(Iterator::next).is_none_or(|already| !already)
        });
        self.held_bytes = self.held.iter().map(|held| held.frame.len()).sum();
        Some(missed)
    }

    /// Returns the marks of what is held, by lane.
    fn held_lanes(&self) -> HashMap<Lane, Vec<Mark>> {
        let mut lanes: HashMap<Lane, Vec<Mark>> = HashMap::new();
        for held in &self.held {
            lanes.entry(held.lane).or_default().push(held.mark);
        }
        lanes
    }

    /// Passes on what was held, as far as there is room.
    pub(super) fn flush(&mut self, emitter: &Emitter) {
        while self.is_flushing() && emitter.has_room() {
            match self.held.pop_front() {
                Some(held) => self.pass(held, emitter),
                None => self.phase = Phase::Direct,
            }
        }
    }

    fn pass(&mut self, held: Held, emitter: &Emitter) {
        self.held_bytes = self.held_bytes.saturating_sub(held.frame.len());
        if !held.ahead {
            self.pass_joined(&held.frame, emitter);
        }
        self.pass_on(held.frame, held.lane, held.mark, emitter);
    }

    /// Passes on ahead what is passed on, while other histories are still to be read.
    fn pass_joined(&mut self, frame: &Frame, emitter: &Emitter) {
        if matches!(self.ahead, Some(AheadRead::Joined)) {
            self.pass_ahead(frame.clone(), emitter);
        }
    }

    /// Passes a live message on. Without room it is lost, unless a stream keeps it: then it is read from there.
    fn pass_on(&mut self, frame: Frame, lane: Lane, mark: Mark, emitter: &Emitter) {
        match emitter.offer(frame) {
            Offer::Taken => {
                self.sent.push(lane, mark);
                self.account.counts.received += 1;
            }
            Offer::Full if self.is_durable() => self.lost(),
            Offer::Full => {
                emitter.count_drop();
                self.account.counts.dropped += 1;
            }
            Offer::Unheard => {}
        }
    }

    /// The connection is gone. What was held stays until it is known whether a stream keeps it.
    pub(super) fn disconnected(&mut self) {
        if let Phase::Reading(mut reading) = std::mem::replace(&mut self.phase, Phase::Asking) {
            if reading.is_comparing() {
                self.paused = Some(reading);
            } else {
                self.account.settle(&mut reading, false);
                self.presumed.add(reading.take_presumed());
                if let Some(reached) = reading.break_off(&mut self.sent) {
                    self.joined = self.joined.max(reached);
                }
            }
        }
        self.end_ahead();
        self.account.disconnected();
        self.stale = self.held.len();
        self.suspect = false;
        self.reach = Reach::default();
    }

    /// Returns what was read of the stream so far and what became of its messages, when there is one.
    pub(super) fn history(&self) -> Option<HistoryNote> {
        let ledger = Some(self.account.ledger());
        self.history.clone().map(|note| HistoryNote { ledger, ..note })
    }
}

/// Returns the frame of a stored message.
fn stored_frame(stream: &Arc<str>, subject: &Arc<str>, message: Stored, now: Timestamp) -> Frame {
    let origin = Origin::Jetstream {
        stream: Arc::clone(stream),
        seq: message.seq,
        subject: Arc::clone(subject),
    };
    Frame { at: now, time: message.time, origin, body: Body::Whole(message.payload) }
}

#[cfg(test)]
mod tests;
