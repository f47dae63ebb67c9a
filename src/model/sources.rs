//! Sources: what they report of themselves, what arrived, and what is missing by the publishers' own
//! numbers.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::numbers::{Numbers, Step};
use crate::domain::{
    DpRank, Envelope, FastMap, HistoryNote, SourceName, SourceNote, SourceState, Timestamp,
};
use crate::dynamo::plane;

/// Most sources that are told apart.
const SOURCE_LIMIT: usize = 256;

/// Most publishers whose numbers are followed; one is a worker's rank and topic.
const PUBLISHER_LIMIT: usize = 65_536;

/// A fall by more than this is a publisher that numbers from the start again; less is a duplicate.
const RESTART_FALL: u64 = 128;

/// No interruption loses as many messages: a jump over more is another publisher under the same id.
const RESTART_JUMP: u64 = 1 << 32;

/// The topic whose messages come in order: each publisher sends them from one task. Routers of 0.9 and 1.0 publish
/// `kv_metrics` from several.
const ORDERED: &str = plane::KV_EVENTS;

/// A message that so many later ones overtook is lost.
const OVERTAKEN: u64 = 32;

/// Most streams whose reading is followed.
const STREAM_LIMIT: usize = 256;

/// Messages that are fetched again while everything else is followed live.
const REFILL: u64 = 1_000;

/// The source that tells which connections are open. Each scrape may open one and close it.
const FORWARDS: SourceName = SourceName::PortForward;

/// Repeats within this window are no news; at most so many are remembered.
const LATELY: Duration = Duration::from_secs(600);
const SAID_LIMIT: usize = 1024;

/// One source.
#[derive(Clone, Debug, Default)]
pub struct SourceRecord {
    /// Its last note.
    pub note: Option<SourceNote>,
    /// Frames received.
    pub frames: u64,
    /// Frames that could not be read.
    pub rejects: u64,
    /// Messages missing by the publishers' numbers.
    pub gaps: u64,
    /// Since when it does not reach every publisher that it should.
    pub short_since: Option<Timestamp>,
    /// The last time it told of a lost connection, lost messages or a pause.
    pub interrupted: Option<Timestamp>,
    /// Since when it is live without a break; none while it is not.
    pub live_since: Option<Timestamp>,
    /// Arrival of the last frame.
    pub last_frame: Option<Timestamp>,
    /// Progress of reading the histories of its streams.
    pub readings: BTreeMap<Arc<str>, Reading>,
    /// A port-forward's last words on each connection, and their time.
    said: HashMap<String, Timestamp>,
}

/// Progress of reading a stream's history.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The last note about it.
    pub note: HistoryNote,
    /// The time of the note.
    pub at: Timestamp,
    /// The start of reading, and the messages read by then.
    pub began: (Timestamp, u64),
    /// True once the history had been read whole.
    pub was_whole: bool,
}

impl Reading {
    /// Returns how many messages there are to be read, as long as they matter: a stream that was read
    /// whole is followed live, and looked at again for single messages that did not come.
    pub fn behind(&self) -> u64 {
        let left = self.note.total().saturating_sub(self.note.read);
        let matters = !self.note.complete && (!self.was_whole || left > REFILL);
        if matters { left.max(1) } else { 0 }
    }

    /// Returns how many messages are read in a second; none until some were.
    pub fn speed(&self) -> Option<f64> {
        let (since, before) = self.began;
        let read = self.note.read.checked_sub(before).filter(|read| *read > 0)?;
        let span = self.at.since(since).as_secs_f64();
        (span > 0.0).then(|| read as f64 / span)
    }
}

impl SourceRecord {
    fn read(&mut self, note: &HistoryNote, at: Timestamp) {
        if !self.readings.contains_key(&note.stream) && self.readings.len() >= STREAM_LIMIT {
            return;
        }
        let new = || Reading { note: note.clone(), at, began: (at, note.read), was_whole: false };
        let reading = self.readings.entry(Arc::clone(&note.stream)).or_insert_with(new);
        if reading.note.complete && !note.complete || note.read < reading.began.1 {
            reading.began = (at, note.read);
        }
        reading.was_whole |= note.complete;
        reading.at = at;
        reading.note.clone_from(note);
    }

    /// Takes in what it says of itself. Returns true when that is news.
    pub fn say(&mut self, note: &SourceNote) -> bool {
        if let Some(history) = &note.history {
            self.read(history, note.at);
        }
        let before = self.note.replace(note.clone());
        if stopped(before.as_ref(), note) {
            self.interrupted = self.interrupted.max(Some(note.at));
        }
        let hears = note.peers.is_none_or(|peers| peers.reached > 0 || peers.wanted == 0);
        let live = hears && matches!(note.state, SourceState::Live | SourceState::Lossy);
        let since = self.live_since.filter(|_| self.interrupted != Some(note.at));
        self.live_since = live.then(|| since.unwrap_or(note.at));
        let same = |before: &SourceNote| before.state == note.state && before.why == note.why;
        if before.as_ref().is_some_and(same) {
            return false;
        }
        note.source != FORWARDS || self.tells_more(note)
    }

    /// Returns true when a part of `note` was not said lately.
    fn tells_more(&mut self, note: &SourceNote) -> bool {
        self.said.retain(|_, at| note.at.since(*at) < LATELY);
        let mut more = false;
        for part in note.why.split("; ") {
            let said = format!("{} {part}", note.state.name());
            let known = self.said.contains_key(&said);
            if known || self.said.len() < SAID_LIMIT {
                more |= !known;
                self.said.insert(said, note.at);
            }
        }
        more
    }
}

/// Returns true when `note` tells of messages that passed by unheard since the note before.
fn stopped(before: Option<&SourceNote>, note: &SourceNote) -> bool {
    let told = before.map_or((0, 0, 0), lost_by);
    let paused = note.state == SourceState::Suspended;
    let down = before.is_some_and(|it| it.state == SourceState::Live)
        && [SourceState::Down, SourceState::Connecting, SourceState::Lossy].contains(&note.state);
    lost_by(note) > told || paused || down
}

fn lost_by(note: &SourceNote) -> (u64, u64, u64) {
    (note.interruptions, note.dropped, note.drops_uncounted)
}

/// All sources by name.
#[derive(Debug, Default)]
pub struct Sources {
    records: BTreeMap<SourceName, SourceRecord>,
    /// By number of the topic and publisher.
    publishers: FastMap<(u8, u64), Numbers>,
    /// The time each was heard last.
    heard: FastMap<(u8, u64), Timestamp>,
    /// The same for each rank of a publisher.
    ranks: FastMap<(u8, u64, u32), Numbers>,
    /// Publishers of topics whose messages may overtake each other.
    loose: FastMap<(u8, u64), Vec<Loose>>,
}

/// The numbers of a publisher whose messages may overtake each other.
#[derive(Debug, Default)]
struct Loose {
    last: u64,
    /// Numbers before the last that did not come yet.
    open: Vec<u64>,
    /// Numbers between the one that it leapt from and its first; missing once that one does not go on.
    leapt: u64,
    /// Messages since it leapt.
    heard: u64,
}

/// Messages after a leap by which another counter of the same publisher would have gone on.
const LEFT: u64 = 64;

/// Most counters of one publisher on a topic. The frontend of a disaggregated deployment publishes `kv-hit-rate` of two
/// routers under one id, each with numbers of its own (seen in 0.9.0).
const COUNTERS: usize = 4;

/// Moves on to the message numbered `now` of a publisher with these counters, and returns how many are missing for good.
fn follow_any(counters: &mut Vec<Loose>, now: u64) -> u64 {
    let Some(at) = counters.iter().position(|counter| counter.is_near(now)) else {
        // Numbers that fall far begin anew. A leap may be another counter.
        let before = counters.iter().map(|counter| counter.last).filter(|last| *last < now).max();
        let ahead = before.map_or(0, |before| now - before);
        let leapt = if ahead <= RESTART_JUMP { ahead.saturating_sub(1) } else { 0 };
        if counters.len() >= COUNTERS {
            counters.remove(0);
        }
        counters.push(Loose { last: now, leapt, ..Loose::default() });
        return 0;
    };
    // Where one goes on, what came after it leapt from none.
    for later in counters.iter_mut().skip(at + 1) {
        later.leapt = 0;
    }
    let counter = &mut counters[at];
    counter.heard += 1;
    let mut missing = counter.follow(now);
    if counter.leapt > 0 && counter.heard >= LEFT {
        missing += std::mem::take(&mut counter.leapt);
        counters.drain(..at);
    }
    missing
}

impl Loose {
    /// Returns true for a number that follows, or was overtaken.
    fn is_near(&self, now: u64) -> bool {
        let (behind, ahead) = (self.last.saturating_sub(now), now.saturating_sub(self.last));
        ahead <= OVERTAKEN && behind <= RESTART_FALL && now > 0
    }

    /// Moves on to a message near the last, numbered `now`, and returns how many are missing for good.
    fn follow(&mut self, now: u64) -> u64 {
        self.open.retain(|number| *number != now);
        if now <= self.last {
            return 0;
        }
        self.open.extend(self.last + 1..now);
        self.last = now;
        let before = self.open.len();
        self.open.retain(|number| now - number <= OVERTAKEN);
        (before - self.open.len()) as u64
    }
}

impl Sources {
    /// Returns the record of the source `name`, made when it is new.
    pub fn record(&mut self, name: &SourceName) -> Option<&mut SourceRecord> {
        if !self.records.contains_key(name) && self.records.len() >= SOURCE_LIMIT {
            return None;
        }
        Some(self.records.entry(name.clone()).or_default())
    }

    /// Returns the record of the source `name`, once it has one.
    pub fn get(&self, name: &SourceName) -> Option<&SourceRecord> {
        self.records.get(name)
    }

    /// Returns every source, by name.
    pub fn all(&self) -> impl Iterator<Item = (&SourceName, &SourceRecord)> {
        self.records.iter()
    }

    /// Notes that a message of `publisher` on `topic` came by `source` at `at`. Returns true when that source
    /// was interrupted since the one before: what is missing in between passed kvtop by, and may have
    /// reached everybody else.
    pub fn was_away(
        &mut self,
        topic: &'static str,
        publisher: u64,
        source: &SourceName,
        at: Timestamp,
    ) -> bool {
        let interrupted = self.records.get(source).and_then(|record| record.interrupted);
        let key = (number_of(topic), publisher);
        if let Some(last) = self.heard.get_mut(&key) {
            return interrupted >= Some(std::mem::replace(last, at));
        }
        if self.heard.len() < PUBLISHER_LIMIT {
            self.heard.insert(key, at);
        }
        interrupted.is_some()
    }

    /// Follows a publisher's numbers on a topic and returns what the message means for those
    /// before it. Numbers that start again, fall far or leap are a restart, not a gap; numbers from the near past
    /// are duplicates, or messages that were overtaken.
    ///
    /// Ranks of a process may share its id and number their messages together or each by itself.
    /// Nothing tells which, so that only what is missing both ways is missing.
    pub fn follow(
        &mut self,
        topic: &'static str,
        envelope: Envelope,
        rank: Option<DpRank>,
    ) -> Step {
        let Envelope { publisher, sequence } = envelope;
        let number = number_of(topic);
        if topic != ORDERED {
            let full = self.loose.len() >= PUBLISHER_LIMIT;
            let missing = match self.loose.entry((number, publisher)) {
                Entry::Occupied(mut known) => follow_any(known.get_mut(), sequence),
                Entry::Vacant(new) if !full => {
                    new.insert(vec![Loose { last: sequence, ..Loose::default() }]);
                    0
                }
                Entry::Vacant(_) => 0,
            };
            return if missing > 0 { Step::Hole(missing) } else { Step::Next };
        }
        let together = step(&mut self.publishers, (number, publisher), sequence);
        let Some(rank) = rank else { return together };
        let alone = step(&mut self.ranks, (number, publisher, rank.0), sequence);
        match (together, alone) {
            (Step::Hole(together), Step::Hole(alone)) => Step::Hole(together.min(alone)),
            (Step::Hole(_), other) | (other, Step::Hole(_)) => match other {
                Step::Late => Step::Next,
                other => other,
            },
            (Step::Late, Step::Late) => Step::Late,
            (Step::Late, other) | (other, _) => other,
        }
    }
}

/// Returns the place of a topic among those that kvtop reads.
fn number_of(topic: &str) -> u8 {
    let place = plane::TOPICS.iter().position(|known| *known == topic);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}

/// Follows the number `now` of `key`.
fn step<K: Eq + std::hash::Hash>(known: &mut FastMap<K, Numbers>, key: K, now: u64) -> Step {
    if let Some(numbers) = known.get_mut(&key) {
        return numbers.follow(now, RESTART_JUMP);
    }
    if known.len() < PUBLISHER_LIMIT {
        known.entry(key).or_default().follow(now, RESTART_JUMP);
    }
    Step::Next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SourceState;

    #[test]
    fn connections_that_open_and_close_again_and_again_are_news_once() {
        let news = |source: SourceName, minutes: u64, said: &[(SourceState, &str)]| -> usize {
            let mut record = SourceRecord::default();
            let notes = (0..minutes * 12).flat_map(|scrape| {
                let at = Timestamp(scrape * 5_000_000);
                said.iter().map(move |(state, why)| (at, *state, *why))
            });
            let note = |(at, state, why): (Timestamp, SourceState, &str)| {
                SourceNote::new(source.clone(), state, why, at)
            };
            notes.map(note).filter(|note| record.say(note)).count()
        };
        let nats = (SourceState::Live, "nats-0:4222 on 127.0.0.1:4");
        let scrape = (SourceState::Live, "nats-0:4222 on 127.0.0.1:4; worker-1:9090");
        let failed =
            (SourceState::Live, "nats-0:4222 on 127.0.0.1:4; nothing listens on port 9090");

        assert_eq!(news(FORWARDS, 30, &[nats, scrape, failed]), 3);
        assert_eq!(
            news(SourceName::Nats, 30, &[nats, scrape, failed]),
            3 * 30 * 12,
            "others tell each"
        );
        // A change of its state is news as well.
        let lost = (SourceState::Down, "nothing listens on port 9090");
        assert_eq!(news(FORWARDS, 1, &[nats, lost]), 2);
    }

    fn missing(step: Step) -> u64 {
        if let Step::Hole(count) = step { count } else { 0 }
    }

    #[test]
    fn holes_in_a_publishers_numbers_are_counted_once() {
        let topic = "kv-events";
        let mut sources = Sources::default();
        let mut follow = |publisher, sequence| {
            missing(sources.follow(topic, Envelope { publisher, sequence }, None))
        };

        // Late attach is no gap, neither is another publisher, a duplicate or a restart.
        let found: Vec<u64> = [(1, 40), (1, 41), (2, 0), (1, 44), (1, 44), (1, 43), (1, 0), (1, 1)]
            .into_iter()
            .map(|(publisher, sequence)| follow(publisher, sequence))
            .collect();

        assert_eq!(found, [0, 0, 0, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn two_counters_under_one_id_lose_nothing_and_a_leap_that_is_not_continued_is_a_loss() {
        let missing_of = |numbers: Vec<u64>| -> u64 {
            let mut sources = Sources::default();
            let envelopes = numbers.into_iter().map(|sequence| Envelope { publisher: 7, sequence });
            envelopes.map(|it| missing(sources.follow("kv-hit-rate", it, None))).sum()
        };
        let both = (0..400).flat_map(|at| [9_000 + 2 * at, 9_001 + 2 * at, 300 + at]).collect();
        assert_eq!(missing_of(both), 0);
        assert_eq!(missing_of((1..50).chain(550..700).collect()), 500);
    }

    #[test]
    fn messages_that_overtake_each_other_are_not_missing() {
        let mut sources = Sources::default();
        let mut follow = |sequence| {
            let envelope = Envelope { publisher: 1, sequence };
            missing(sources.follow("kv_metrics", envelope, None))
        };

        let reordered: u64 = [272, 273, 275, 274, 278, 276, 277].into_iter().map(&mut follow).sum();
        assert_eq!(reordered, 0);
        let lost: u64 = (280..330).map(&mut follow).sum();
        assert_eq!(lost, 1, "number 279 never came");
    }

    #[test]
    fn a_leap_and_a_far_fall_are_restarts() {
        let topic = "kv-events";
        let mut sources = Sources::default();
        let found: Vec<u64> = [0, u64::MAX, 0, u64::MAX, 900, 903, 4, 6]
            .into_iter()
            .map(|sequence| Envelope { publisher: 1, sequence })
            .map(|envelope| missing(sources.follow(topic, envelope, None)))
            .collect();

        assert_eq!(found, [0, 0, 0, 0, 0, 2, 0, 1]);
    }

    #[test]
    fn ranks_that_share_a_publisher_have_no_gaps_whichever_way_they_number() {
        let topic = "kv-events";
        let gaps = |messages: &[(u32, u64)]| -> u64 {
            let mut sources = Sources::default();
            let mut follow = |(rank, sequence): &(u32, u64)| {
                let envelope = Envelope { publisher: 1, sequence: *sequence };
                missing(sources.follow(topic, envelope, Some(DpRank(*rank))))
            };
            messages.iter().map(&mut follow).sum()
        };

        assert_eq!(gaps(&[(0, 0), (1, 1), (0, 2), (0, 3), (1, 4)]), 0);
        assert_eq!(gaps(&[(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (0, 4), (1, 1), (0, 5)]), 0);
        assert_eq!(gaps(&[(0, 0), (0, 1), (0, 5)]), 3);
    }
}
