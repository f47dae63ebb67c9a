//! Health notes of the sources that speak to pods, and when they are due.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::clock;
use crate::domain::{
    Peers, Reason, SourceName, SourceNote, SourceState, Timestamp, Unreached, steers,
};
use crate::source::Emitter;

/// A note is made at least this often.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);

/// While something changes all the time, a note is made this often.
const PROGRESS: Duration = Duration::from_millis(250);

/// Longest text of a reason: one line of a screen, and some more in its overlay.
const LONGEST_WHY: usize = 400;

/// The state of a source, which it turns into notes.
pub(super) struct Notes {
    name: SourceName,
    emitter: Emitter,
    shown: watch::Sender<SourceState>,
    state: SourceState,
    why: Reason,
    unreached: Vec<Unreached>,
    retry: Option<Duration>,
    round_trip: Option<Duration>,
    peers: Option<Peers>,
    pending: bool,
    dropped: u64,
    interruptions: u64,
    told_at: Timestamp,
    changed: bool,
    /// False once nobody receives frames any more.
    pub(super) heard: bool,
}

impl Notes {
    pub(super) fn new(
        name: SourceName,
        emitter: Emitter,
        shown: watch::Sender<SourceState>,
    ) -> Self {
        Self {
            name,
            emitter,
            shown,
            state: SourceState::Connecting,
            why: Reason::default(),
            unreached: Vec::new(),
            retry: None,
            round_trip: None,
            peers: None,
            pending: false,
            dropped: 0,
            interruptions: 0,
            told_at: Timestamp(0),
            changed: true,
            heard: true,
        }
    }

    /// Sets state, reason and the wait before the next attempt.
    pub(super) fn set(
        &mut self,
        state: SourceState,
        why: impl Into<Reason>,
        retry: Option<Duration>,
    ) {
        let why: Reason = why.into();
        let short = shortened(&why.text);
        let why = why.worded(short);
        if self.state != state || self.why != why || self.retry != retry {
            self.changed = true;
            self.state = state;
            self.why = why;
            self.retry = retry;
        }
        self.shown.send_if_modified(|shown| std::mem::replace(shown, state) != state);
    }

    /// Sets the round trip, which is told along with the next note.
    pub(super) fn round_trip(&mut self, span: Option<Duration>) {
        self.round_trip = span;
    }

    /// Sets how many publishers are reached, and the first that are not.
    pub(super) fn peers(&mut self, peers: Peers, unreached: Vec<Unreached>) {
        self.changed |= self.peers != Some(peers) || self.unreached != unreached;
        self.peers = Some(peers);
        self.unreached = unreached;
    }

    /// Sets if a part of the past that can be read has not been read yet.
    pub(super) fn pending(&mut self, pending: bool) {
        self.changed |= self.pending != pending;
        self.pending = pending;
    }

    /// Sets how many frames were dropped, and how often something was interrupted.
    pub(super) fn count(&mut self, dropped: u64, interruptions: u64) {
        self.changed |= self.dropped != dropped || self.interruptions != interruptions;
        self.dropped = dropped;
        self.interruptions = interruptions;
    }

    /// Makes a note when something changed, at most four a second, or when the last one is old.
    pub(super) fn tell(&mut self) {
        let now = clock::now();
        let since = now.since(self.told_at);
        if since < if self.changed { PROGRESS } else { HEARTBEAT } {
            return;
        }
        self.tell_now(now);
    }

    /// Makes a note now, whatever was told before.
    pub(super) fn tell_at_once(&mut self) {
        self.tell_now(clock::now());
    }

    /// Returns how long it may be until [`Self::tell`] has something to say, should nothing happen.
    pub(super) fn next(&self) -> Duration {
        if self.changed { PROGRESS } else { HEARTBEAT }
    }

    /// Says how it ended.
    pub(super) fn ended(&mut self) {
        self.set(SourceState::Ended, "", None);
        self.tell_now(clock::now());
    }

    fn tell_now(&mut self, now: Timestamp) {
        self.changed = false;
        self.told_at = now;
        let note = SourceNote {
            source: self.name.clone(),
            state: self.state,
            why: Arc::clone(&self.why.text),
            troubles: self.why.troubles.clone(),
            retry_ms: self.retry.map(|retry| u64::try_from(retry.as_millis()).unwrap_or(u64::MAX)),
            rtt_us: self.round_trip.map(|span| u64::try_from(span.as_micros()).unwrap_or(u64::MAX)),
            dropped: self.dropped,
            drops_uncounted: 0,
            interruptions: self.interruptions,
            pending: self.pending,
            history: None,
            peers: self.peers,
            unreached: self.unreached.clone(),
            at: now,
        };
        self.heard &= self.emitter.note(&note);
    }
}

/// Returns `text` on one line, without control characters, and cut when it is long.
pub(super) fn shortened(text: &str) -> String {
    let mut clean: String = text
        .chars()
        .map(|letter| if steers(letter) { ' ' } else { letter })
        .take(LONGEST_WHY + 1)
        .collect();
    if clean.chars().count() > LONGEST_WHY {
        clean.pop();
        clean.push('…');
    }
    clean.trim().to_owned()
}

/// Returns `3 of 4 <what>`, and the first reasons why not the others.
pub(super) fn how_many(done: usize, of: usize, what: &str, reasons: &[String]) -> String {
    let mut text = format!("{done} of {of} {what}");
    for reason in reasons.iter().take(3) {
        text.push_str("; ");
        text.push_str(reason);
    }
    if reasons.len() > 3 {
        let more = format!("; and {} more", reasons.len() - 3);
        text.push_str(&more);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_without_control_characters_and_not_endless() {
        assert_eq!(shortened(" a\nb\u{1b}[31mc "), "a b [31mc");
        assert_eq!(shortened(&"x".repeat(1_000)).chars().count(), LONGEST_WHY + 1);
    }

    #[test]
    fn the_first_three_reasons_are_named_and_the_others_counted() {
        let reasons: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(how_many(1, 6, "pods", &reasons), "1 of 6 pods; a; b; c; and 2 more");
        assert_eq!(how_many(2, 2, "pods", &[]), "2 of 2 pods");
    }
}
