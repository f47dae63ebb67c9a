//! What a command without a screen waits for, said once to whoever sits in front of it.

use std::time::Duration;

use super::headless::tell;
use crate::domain::{SourceState, Timestamp};
use crate::snapshot::Snapshot;

/// After this long a person wonders.
const LONG: Duration = Duration::from_secs(1);

/// A wait for the first source.
#[derive(Debug)]
pub(super) struct Waiting {
    since: Timestamp,
    told: bool,
}

impl Waiting {
    pub(super) fn new(since: Timestamp) -> Self {
        Self { since, told: false }
    }

    /// Returns true when it is time to call [`look`](Self::look).
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        !self.told && now.since(self.since) >= LONG
    }

    /// Says what does not deliver yet, if nothing does. Says it once.
    pub(super) fn look(&mut self, snapshot: &Snapshot) {
        self.told = true;
        if let Some(missing) = missing(snapshot) {
            tell(&format!("kvtop: still waiting: {missing}"));
        }
    }
}

/// Returns what every source says, when none delivers.
fn missing(snapshot: &Snapshot) -> Option<String> {
    let live = |state| matches!(state, SourceState::Live | SourceState::Lossy);
    if snapshot.sources.iter().any(|source| live(source.state)) {
        return None;
    }
    let told = snapshot.sources.iter().map(|source| {
        let why = if source.why.is_empty() { "" } else { ", " };
        format!("{} is {}{why}{}", source.name, source.state.name(), source.why)
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { Some("no source has answered".to_owned()) } else { Some(told.join("; ")) }
}
