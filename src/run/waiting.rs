//! Messages of commands without a screen while they wait: sources that are down, and ambiguous names.

use std::collections::BTreeSet;
use std::time::Duration;

use super::live::Attach;
use super::output::tell;
use crate::domain::{SourceName, SourceState, Timestamp, Trouble};
use crate::snapshot::{Snapshot, SourceRow};

/// Sources without which there is nothing to print.
const NEEDED: [SourceName; 3] = [SourceName::Kubernetes, SourceName::Nats, SourceName::Zmq];

/// The wait before missing parts of a namespace are reported.
const PATIENCE: Duration = Duration::from_millis(1500);

/// The largest number of messages, so that changing states do not flood a terminal.
const MOST: usize = 24;

/// The messages that were already printed.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    told: BTreeSet<String>,
    /// The time of the first picture with anything in it.
    heard: Option<Timestamp>,
}

impl Waiting {
    /// Returns for how long servers that do not answer were waited for at `now`. Rules that wait for
    /// somebody to answer count from the first frame, which comes after `started`; whoever gives up
    /// must not do so a moment before they speak.
    pub(super) fn waited(
        &mut self,
        snapshot: &Snapshot,
        started: Timestamp,
        now: Timestamp,
    ) -> Duration {
        if self.heard.is_none() && snapshot.frames > 0 {
            self.heard = Some(now);
        }
        now.since(self.heard.unwrap_or(started))
    }

    /// Says what is new about the sources of `snapshot`, for which one waits for `patience` if not for
    /// ever, and about the choice of a deployment.
    pub(super) fn say(
        &mut self,
        snapshot: &Snapshot,
        attach: Option<&Attach>,
        waited: Duration,
        patience: Option<Duration>,
    ) {
        let down = |row: &&SourceRow| NEEDED.contains(&row.name) && row.state == SourceState::Down;
        for row in snapshot.sources.iter().filter(down) {
            let why = if row.why.is_empty() { "down" } else { row.why.as_str() };
            let more = patience.map_or_else(
                || "retrying until it answers".to_owned(),
                |patience| format!("retrying for up to {} s", patience.as_secs()),
            );
            self.once(&format!("{}: {why}; {more}", row.name));
        }
        let Some(attach) = attach.filter(|_| waited >= PATIENCE) else { return };
        let cluster = snapshot.sources.iter().find(|row| row.name == SourceName::Kubernetes);
        // What was not listed may be there.
        if cluster.is_some_and(|row| row.state == SourceState::Down) {
            return;
        }
        let listed = cluster.filter(|row| row.state == SourceState::Live);
        if let Some(row) = listed.filter(|row| !row.why.is_empty()) {
            self.once(&format!("{}: {}", row.name, row.why));
        }
        // A list that failed is not an empty one.
        let hides = [Trouble::PodsHidden, Trouble::PartlyUnanswered];
        let shown = listed.is_some_and(|row| !row.troubles.iter().any(|it| hides.contains(it)));
        let (notes, empty) = {
            let seen = attach.wanted.borrow();
            (seen.notes.clone(), seen.empty.clone())
        };
        for note in notes.iter().chain(empty.iter().filter(|_| shown)) {
            self.once(note);
        }
    }

    fn once(&mut self, sentence: &str) {
        if self.told.len() < MOST && self.told.insert(sentence.to_owned()) {
            tell(&format!("kvtop: {sentence}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use crate::frame::{Frame, Origin};
    use crate::snapshot::ViewQuery;

    #[test]
    fn nobody_gives_up_before_rules_may_speak() {
        let mut engine = Engine::new(EngineOptions::default());
        let (mut waiting, started) = (Waiting::default(), Timestamp(1_000_000));
        let mut at = |millis| {
            let now = started.after(Duration::from_millis(millis));
            if millis == 300 {
                let origin = Origin::Health { source: "discovery".into() };
                engine.ingest(&[Frame::new(now, origin, "{\"state\":\"live\"}".to_owned())]);
            }
            waiting.waited(&engine.snapshot(&ViewQuery::default(), now), started, now)
        };
        assert_eq!(at(200), Duration::from_millis(200));
        assert_eq!(at(300), Duration::ZERO);
        assert_eq!(at(10_000), Duration::from_millis(9_700));
    }
}
