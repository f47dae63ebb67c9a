//! Notes about the state of the source.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::condition::Summary;
use crate::clock;
use crate::domain::{Reason, SourceName, SourceNote, SourceState, Timestamp};
use crate::source::Emitter;

/// A note is made at least this often.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// For so long after a loss the source says that it is lossy; the counts stay.
const LOSSY_FOR: Duration = Duration::from_secs(60);

/// The state of the source, which it turns into notes.
pub(super) struct Status {
    name: SourceName,
    emitter: Emitter,
    shown: watch::Sender<SourceState>,
    dropped: u64,
    lost_at: Option<Timestamp>,
    said: Option<Summary>,
    told_at: Timestamp,
    was_live: bool,
    interruptions: u64,
    pub(super) rtt: Option<Duration>,
    /// False once nobody receives frames any more.
    pub(super) heard: bool,
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
            dropped: 0,
            lost_at: None,
            said: None,
            told_at: Timestamp(0),
            was_live: false,
            interruptions: 0,
            rtt: None,
            heard: true,
        }
    }

    /// Says that the source is in `state`, of its own accord.
    pub(super) fn set(&mut self, state: SourceState) {
        self.tell(Summary { state, why: Reason::default(), retry: None });
    }

    /// Makes a note when `summary` is new or the last note is old.
    pub(super) fn tell(&mut self, mut summary: Summary) {
        let now = clock::now();
        if self.is_lossy(now) && summary.state == SourceState::Live {
            summary.state = SourceState::Lossy;
            let lost =
                "frames arrived faster than they could be processed; those dropped are counted";
            let text = join(lost, &summary.why.text);
            summary.why = summary.why.worded(text);
        }
        let is_new = self.said.as_ref() != Some(&summary);
        if !is_new && now.since(self.told_at) < HEARTBEAT {
            return;
        }
        self.count(summary.state);
        self.told_at = now;
        let note = SourceNote {
            source: self.name.clone(),
            state: summary.state,
            why: Arc::clone(&summary.why.text),
            troubles: summary.why.troubles.clone(),
            retry_ms: summary.retry.map(|retry| micros(retry) / 1_000),
            rtt_us: self.rtt.map(micros),
            dropped: self.dropped,
            drops_uncounted: 0,
            interruptions: self.interruptions,
            pending: false,
            history: None,
            peers: None,
            unreached: Vec::new(),
            at: now,
        };
        self.heard &= self.emitter.note(&note);
        self.shown.send_if_modified(|shown| std::mem::replace(shown, note.state) != note.state);
        self.said = Some(summary);
    }

    fn count(&mut self, state: SourceState) {
        match state {
            SourceState::Live | SourceState::Lossy => self.was_live = true,
            SourceState::Down => {
                self.interruptions += u64::from(std::mem::take(&mut self.was_live));
            }
            SourceState::Connecting | SourceState::Suspended | SourceState::Ended => {}
        }
    }

    fn is_lossy(&mut self, now: Timestamp) -> bool {
        let dropped = self.emitter.dropped();
        if dropped != self.dropped {
            self.dropped = dropped;
            self.lost_at = Some(now);
        }
        self.lost_at.is_some_and(|at| now.since(at) < LOSSY_FOR)
    }
}

fn join(first: &str, second: &str) -> String {
    if second.is_empty() { first.to_owned() } else { format!("{first}; {second}") }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
