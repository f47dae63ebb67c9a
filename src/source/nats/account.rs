//! The ledger of one stream, as its feed keeps it.

use crate::domain::StreamLedger;

use super::reading::Reading;
use super::stream::Extent;

/// The counts of a stream's messages by their fate.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) counts: StreamLedger,
    /// Messages numbered by deleted streams of this name.
    earlier: u64,
    /// The last number of the stream.
    last_seq: u64,
    /// Everything up to this number had been accounted for when the read began.
    read_after: u64,
    /// Messages that the stream deleted since then, at the least; counted once the read is done.
    going: u64,
    /// Losses that were told of.
    told: u64,
    /// True from the loss of a connection to the next look at the stream.
    away: bool,
    /// True once history was read to its end.
    pub(super) was_whole: bool,
}

impl Account {
    /// Notes that the connection is gone.
    pub(super) fn disconnected(&mut self) {
        self.away = true;
    }

    /// Notes that the feed looks at a stream that it did not know, where it knew another one (`known`) or none.
    pub(super) fn begin(&mut self, known: bool, extent: &Extent) {
        if known {
            self.earlier += self.last_seq;
            // What the other one stored last went with it.
            self.counts.uncounted += u64::from(self.away);
        } else {
            self.counts.before += extent.first_seq.saturating_sub(1);
        }
    }

    /// Notes what the stream holds.
    pub(super) fn found(&mut self, extent: &Extent) {
        self.away = false;
        self.last_seq = extent.last_seq;
    }

    /// Notes that a read begins behind the number `joined`, with `gone` messages that the stream deleted since, of
    /// which `sent` may have come live.
    pub(super) fn read_from(&mut self, joined: u64, gone: u64, sent: u64) {
        self.read_after = joined;
        self.going = gone.saturating_sub(sent);
    }

    /// Notes that everything that was missing has been read.
    pub(super) fn refilled(&mut self, missed: u64) {
        self.counts.refilled += missed.max(self.counts.missing);
        self.counts.missing = 0;
    }

    /// Counts what the stream deleted before it could be read, of the numbers that `reading` went through, and
    /// returns how many these are.
    pub(super) fn settle(&mut self, reading: &mut Reading, finished: bool) -> u64 {
        let (vanished, earlier) = reading.vanished(self.read_after, finished);
        self.refund(earlier);
        self.going = 0;
        // What went while history was read for the first time is of the time before kvtop attached.
        let whole = self.was_whole;
        let count = if whole { &mut self.counts.aged_out } else { &mut self.counts.before };
        *count += vanished;
        vanished
    }

    /// Takes back so many messages that were counted as deleted: they came live.
    pub(super) fn refund(&mut self, count: u64) {
        let aged = count.min(self.counts.aged_out);
        self.counts.aged_out -= aged;
        self.counts.before -= (count - aged).min(self.counts.before);
        self.told = self.told.saturating_sub(aged);
    }

    /// Notes that the stream holds a message that had come live and was taken for deleted: in its place it deleted
    /// one that never came.
    pub(super) fn was_stored(&mut self) {
        let count =
            if self.was_whole { &mut self.counts.aged_out } else { &mut self.counts.before };
        *count += 1;
    }

    /// Returns how many messages were lost for good since this was asked last. Those whose number is not known
    /// count as one.
    pub(super) fn news_of_loss(&mut self) -> u64 {
        let lost = self.counts.aged_out + self.going + self.counts.uncounted;
        lost.saturating_sub(std::mem::replace(&mut self.told, lost))
    }

    /// Returns the ledger.
    pub(super) fn ledger(&self) -> StreamLedger {
        let mut counts = self.counts;
        counts.aged_out += self.going;
        let known = counts.before + counts.received + counts.other + counts.lost();
        // Messages are passed on a moment before they are stored.
        counts.published = known.max(self.earlier + self.last_seq);
        counts
    }
}
