//! The health notes of the source, and when they are due.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::clock;
use crate::domain::{HistoryNote, Reason, SourceName, SourceNote, SourceState, Timestamp};
use crate::source::Emitter;

/// A note is made at least this often.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);

/// While something changes all the time, such as the progress of a read, a note is made this often.
const PROGRESS: Duration = Duration::from_millis(250);

/// For so long after a loss the source says that it is lossy; the counts stay.
const LOSSY_FOR: Duration = Duration::from_secs(60);

/// The whereabouts of messages that were published while there was no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// In the streams, from which they will be read.
    InStreams,
    /// They are gone.
    Nowhere,
}

/// The state of the source, which it turns into notes.
pub(super) struct Status {
    name: SourceName,
    emitter: Emitter,
    shown: watch::Sender<SourceState>,
    dropped_last: u64,
    lost_at: Option<Timestamp>,
    loss: &'static str,
    told_at: Timestamp,
    changed: bool,
    state: SourceState,
    /// False once nobody receives frames any more.
    pub(super) heard: bool,
    why: Reason,
    retry: Option<Duration>,
    pub(super) rtt: Option<Duration>,
    /// Live messages that were held back for a join and did not fit.
    held_dropped: u64,
    drops_uncounted: u64,
    interruptions: u64,
    histories: BTreeMap<Arc<str>, HistoryNote>,
    /// The reason for a lossy source while messages that did not come are being read from their stream; else empty.
    hole: &'static str,
    /// True once the server told of its streams, or that there are none.
    surveyed: bool,
}

impl Status {
    pub(super) fn new(
        name: SourceName,
        emitter: Emitter,
        shown: watch::Sender<SourceState>,
    ) -> Self {
        Self {
            name,
            emitter,
            shown,
            dropped_last: 0,
            lost_at: None,
            loss: "",
            told_at: Timestamp(0),
            changed: true,
            state: SourceState::Connecting,
            heard: true,
            why: Reason::default(),
            retry: None,
            rtt: None,
            held_dropped: 0,
            drops_uncounted: 0,
            interruptions: 0,
            histories: BTreeMap::new(),
            hole: "",
            surveyed: false,
        }
    }

    /// Sets state and reason, and says so at once.
    pub(super) fn set(
        &mut self,
        state: SourceState,
        why: impl Into<Reason>,
        retry: Option<Duration>,
    ) {
        let why = why.into();
        if self.state != state || self.why != why || self.retry != retry {
            self.state = state;
            self.why = why;
            self.retry = retry;
            self.changed = true;
        }
        self.tell(clock::now());
        self.shown.send_if_modified(|shown| std::mem::replace(shown, state) != state);
    }

    /// Counts a time without connection. What was published meanwhile is lost unless a stream kept it.
    pub(super) fn interrupted(&mut self, kept: Kept) {
        self.interruptions += 1;
        self.changed = true;
        // That of the connection that is gone.
        self.rtt = None;
        if kept == Kept::Nowhere {
            self.lost("the connection was interrupted; what was published meanwhile is lost, since core NATS keeps nothing");
        }
    }

    /// Counts a loss that the stream has made good.
    pub(super) fn refilled(&mut self) {
        self.interruptions += 1;
        self.changed = true;
    }

    /// Counts a loss that only the client library knows the size of.
    pub(super) fn lost_uncounted(&mut self) {
        self.drops_uncounted += 1;
        self.lost("messages arrived faster than they could be taken from the client library");
    }

    /// Counts messages that were held back and did not fit.
    pub(super) fn lost_held(&mut self, count: u64) {
        self.held_dropped += count;
        self.lost("more messages arrived than can be held while looking for a stream");
    }

    /// Counts messages that a stream deleted before they could be read; its ledger has how many.
    pub(super) fn lost_in_stream(&mut self) {
        self.lost("the stream deleted messages before kvtop could read them");
    }

    /// Sets whether messages that did not come are being read from their stream.
    pub(super) fn hole(&mut self, open: bool) {
        let why =
            if open { "messages did not arrive; they are being read from the stream" } else { "" };
        self.changed |= std::mem::replace(&mut self.hole, why) != why;
    }

    fn lost(&mut self, why: &'static str) {
        self.lost_at = Some(clock::now());
        self.loss = why;
        self.changed = true;
    }

    /// Returns what was lost a short while ago, empty when nothing was.
    pub(super) fn loss(&self, now: Timestamp) -> &'static str {
        match self.lost_at {
            Some(at) if now.since(at) < LOSSY_FOR => self.loss,
            Some(_) | None => self.hole,
        }
    }

    /// Returns true when something was lost a short while ago.
    pub(super) fn is_lossy(&mut self, now: Timestamp) -> bool {
        let dropped = self.emitter.dropped();
        if dropped != self.dropped_last {
            self.dropped_last = dropped;
            self.lost(
                "frames arrived faster than they could be processed; those dropped are counted",
            );
        }
        !self.loss(now).is_empty()
    }

    /// Notes that it is known which streams there are to be read.
    pub(super) fn surveyed(&mut self) {
        self.changed |= !std::mem::replace(&mut self.surveyed, true);
    }

    /// Returns true once it is known which streams there are to be read.
    pub(super) const fn has_surveyed(&self) -> bool {
        self.surveyed
    }

    /// Records how far the read of a stream is.
    pub(super) fn history(&mut self, note: HistoryNote) {
        let finished = note.complete;
        self.histories.insert(Arc::clone(&note.stream), note);
        let now = clock::now();
        if finished || now.since(self.told_at) >= PROGRESS {
            self.changed = true;
            self.tell(now);
        }
    }

    /// Makes notes when something changed or the last ones are old.
    pub(super) fn tell(&mut self, now: Timestamp) {
        if !std::mem::take(&mut self.changed) && now.since(self.told_at) < HEARTBEAT {
            return;
        }
        self.told_at = now;
        // One note per stream: a note has room for one.
        let mut histories: Vec<_> = self.histories.values().cloned().map(Some).collect();
        if histories.is_empty() {
            histories.push(None);
        }
        for history in histories {
            let note = SourceNote {
                source: self.name.clone(),
                state: self.state,
                why: Arc::clone(&self.why.text),
                troubles: self.why.troubles.clone(),
                retry_ms: self.retry.map(|retry| micros(retry) / 1_000),
                rtt_us: self.rtt.map(micros),
                dropped: self.emitter.dropped() + self.held_dropped,
                drops_uncounted: self.drops_uncounted,
                interruptions: self.interruptions,
                pending: !self.surveyed && self.state != SourceState::Down,
                history,
                peers: None,
                unreached: Vec::new(),
                at: now,
            };
            self.heard &= self.emitter.note(&note);
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
