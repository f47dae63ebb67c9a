//! Keeps the last happenings, for people. A run of the same within a second is one entry.

use std::collections::VecDeque;

use super::frame_ring::FrameRing;
use crate::domain::{SourceName, Tier, Timestamp, WorkerId};
use crate::frame::Frame;
use crate::snapshot::{EventKind, EventRow, Gravity};

/// Entries that are kept.
const ENTRIES: usize = 2000;

/// Entries of a brief journal, which keeps no frames.
const BRIEF: usize = 32;

/// The number of last entries that may absorb one more of their kind.
const FOLD_DEPTH: usize = 12;

#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The frames behind the last entries.
    pub(super) frames: FrameRing,
    /// True where workers of several graph deployments are listened to: what is about one of them must
    /// not stand in an entry about another.
    pub(super) apart: bool,
    entries: VecDeque<EventRow>,
    /// The class of each entry, and the worker that it is about.
    classes: VecDeque<(&'static str, Option<WorkerId>)>,
    next: u64,
    /// The last entry about each rank's KV events of each class.
    recent: Vec<[Recent; KvClass::COUNT]>,
    brief: bool,
}

/// An entry that may absorb more of its rank and class.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    /// Its number, counted from 1.
    number: u64,
    second: u64,
}

/// A journal entry of KV events: events of one rank and class within a second are one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KvClass {
    /// A store whose parent is unknown.
    Refused,
    /// A store without blocks.
    Empty,
    Stored(Tier),
    /// A removal of unknown blocks.
    Unknown,
    Removed(Tier),
    Cleared,
}

impl KvClass {
    const COUNT: usize = 4 + 2 * Tier::ALL.len();

    const fn place(self) -> usize {
        match self {
            Self::Refused => 0,
            Self::Empty => 1,
            Self::Unknown => 2,
            Self::Cleared => 3,
            Self::Stored(tier) => 4 + tier.index(),
            Self::Removed(tier) => 4 + Tier::ALL.len() + tier.index(),
        }
    }

    const fn kind(self) -> EventKind {
        match self {
            Self::Refused | Self::Empty | Self::Stored(_) => EventKind::Store,
            Self::Unknown | Self::Removed(_) => EventKind::Remove,
            Self::Cleared => EventKind::Clear,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Empty => "empty",
            Self::Unknown => "unknown",
            Self::Cleared => "cleared",
            Self::Stored(tier) | Self::Removed(tier) => tier.name(),
        }
    }
}

/// A KV event for the journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct KvEntry<'a> {
    pub(super) at: Timestamp,
    /// The position of its rank among all.
    pub(super) rank: usize,
    pub(super) worker: WorkerId,
    pub(super) class: KvClass,
    pub(super) gravity: Gravity,
    pub(super) source: &'a SourceName,
    pub(super) frame: Option<&'a Frame>,
}

/// The parts that entries of one kind share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    pub(super) at: Timestamp,
    pub(super) who: &'a str,
    pub(super) kind: EventKind,
    pub(super) gravity: Gravity,
    pub(super) source: &'a SourceName,
    /// True for blocks that a router refuses, or would, because it does not know them.
    pub(super) orphan: bool,
    /// The worker that it is about; none for what is about none, or not known to be.
    pub(super) worker: Option<WorkerId>,
    /// The class of its text. Entries that say the same fold into one; without a class each stands.
    pub(super) class: &'static str,
}

impl Journal {
    /// Returns a journal that nobody reads back: it keeps a few entries, and no frames.
    pub(super) fn brief() -> Self {
        Self { brief: true, ..Self::default() }
    }

    /// Adds a KV event, or counts it onto the entry of its rank and class of the same second. `words`, its rank's
    /// name and its text, are asked for only when they are needed.
    ///
    /// Where so many ranks publish that the entry is gone within the second, the next one follows in the next
    /// second: entries that are gone before anybody sees them only cost time.
    pub(super) fn add_kv(&mut self, new: &KvEntry<'_>, words: impl FnOnce() -> (String, String)) {
        if self.recent.len() <= new.rank {
            self.recent.resize(new.rank + 1, [Recent::default(); KvClass::COUNT]);
        }
        let first = self.entries.front().map_or(self.next, |entry| entry.number);
        let recent = &mut self.recent[new.rank][new.class.place()];
        let second = new.at.seconds();
        if recent.number > 0 && recent.second == second {
            let place = recent.number.checked_sub(first + 1);
            let place = place.and_then(|place| usize::try_from(place).ok());
            match place.and_then(|place| self.entries.get_mut(place)) {
                Some(entry) if entry.gravity == new.gravity => {
                    entry.repeats += 1;
                    return;
                }
                Some(_) => {}
                None => return,
            }
        }
        *recent = Recent { number: self.next + 1, second };
        let (who, text) = words();
        let orphan = matches!(new.class, KvClass::Refused | KvClass::Unknown);
        let head = Head {
            at: new.at,
            who: &who,
            kind: new.class.kind(),
            gravity: new.gravity,
            source: new.source,
            orphan,
            worker: Some(new.worker),
            class: new.class.name(),
        };
        self.push(head, new.frame, text);
    }

    /// Adds an entry made from `frame`, or counts it onto one like it. `text` is asked for only when it is needed.
    pub(super) fn add(
        &mut self,
        head: Head<'_>,
        frame: Option<&Frame>,
        text: impl FnOnce() -> String,
    ) {
        let second = head.at.seconds();
        let apart = self.apart;
        let entries = self.entries.iter_mut().zip(&self.classes).rev().take(FOLD_DEPTH);
        let alike =
            entries.map(|(entry, known)| (entry, *known)).find(|(entry, (class, worker))| {
                !class.is_empty()
                    && *class == head.class
                    && (!apart || *worker == head.worker)
                    && entry.at.seconds() == second
                    && entry.kind == head.kind
                    && entry.gravity == head.gravity
                    && entry.who == head.who
            });
        if let Some((entry, _)) = alike {
            entry.repeats += 1;
            return;
        }
        self.push(head, frame, text());
    }

    fn push(&mut self, head: Head<'_>, frame: Option<&Frame>, text: String) {
        if self.entries.len() >= if self.brief { BRIEF } else { ENTRIES } {
            self.entries.pop_front();
            self.classes.pop_front();
        }
        self.classes.push_back((head.class, head.worker));
        self.entries.push_back(EventRow {
            number: self.next,
            at: head.at,
            who: head.who.to_owned(),
            kind: head.kind,
            text,
            gravity: head.gravity,
            source: head.source.clone(),
            repeats: 0,
            orphan: head.orphan,
        });
        if let Some(frame) = frame.filter(|_| !self.brief) {
            self.frames.keep(self.next, frame);
        }
        self.next += 1;
    }

    pub(super) fn reject(&mut self, at: Timestamp, source: &SourceName, frame: &Frame, why: &str) {
        let gravity = Gravity::Notice;
        // Each reason comes once.
        let head = Head {
            at,
            who: source.as_str(),
            kind: EventKind::Reject,
            gravity,
            source,
            orphan: false,
            worker: None,
            class: "",
        };
        self.add(head, Some(frame), || format!("input that cannot be read: {why}"));
    }

    /// Returns the last `count` entries whose worker and subject are `wanted`, in the order of their
    /// times: some sources deliver later than others. Those of one time stay as they came.
    pub(super) fn last(
        &self,
        count: usize,
        wanted: impl Fn(Option<WorkerId>, &str) -> bool,
    ) -> Vec<EventRow> {
        let all = self.entries.iter().zip(&self.classes).rev();
        let ours = all.filter(|(entry, (_, worker))| wanted(*worker, &entry.who));
        let mut last: Vec<EventRow> = ours.take(count).map(|(entry, _)| entry.clone()).collect();
        last.reverse();
        last.sort_by_key(|entry| entry.at);
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_a_rank_fold_within_a_second_whoever_comes_between() {
        let mut journal = Journal::default();
        let source = SourceName::Nats;
        for step in 0..3_000_u64 {
            let rank = usize::try_from(step % 100).unwrap();
            let entry = KvEntry {
                at: Timestamp(step * 1_000),
                rank,
                worker: WorkerId(rank as u64),
                class: KvClass::Stored(Tier::Device),
                gravity: Gravity::Normal,
                source: &source,
                frame: None,
            };
            journal.add_kv(&entry, || (format!("w{rank}"), String::new()));
        }

        let rows = journal.last(usize::MAX, |_, _| true);
        assert_eq!(rows.len(), 300, "one for each rank and second");
        assert!(rows.iter().all(|row| row.repeats == 9));
    }

    #[test]
    fn ranks_that_are_more_than_entries_have_one_entry_a_second() {
        let mut journal = Journal::default();
        let source = SourceName::Nats;
        let mut made = 0;
        for step in 0..40_000_usize {
            let entry = KvEntry {
                at: Timestamp(step as u64 * 100),
                rank: step % 5_000,
                worker: WorkerId(0),
                class: KvClass::Stored(Tier::Device),
                gravity: Gravity::Normal,
                source: &source,
                frame: None,
            };
            journal.add_kv(&entry, || {
                made += 1;
                (String::new(), String::new())
            });
        }

        assert_eq!(made, 20_000, "5,000 ranks in each of four seconds");
        assert_eq!(journal.last(usize::MAX, |_, _| true).len(), ENTRIES);
    }
}
