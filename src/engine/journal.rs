//! What happened last, for people. A run of the same within a second is one entry.

use std::collections::VecDeque;
use std::sync::Arc;

use super::kept::Kept;
use crate::domain::{Timestamp, WorkerId};
use crate::frame::Frame;
use crate::snapshot::{EventKind, EventRow, Gravity};

/// Entries that are kept.
const ENTRIES: usize = 2000;

/// How far back an entry may absorb one more of its kind.
const FOLD_DEPTH: usize = 12;

#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The frames behind the last entries.
    pub(super) kept: Kept,
    /// True where workers of several graph deployments are listened to: what is about one of them must
    /// not stand in an entry about another.
    pub(super) apart: bool,
    /// The frame that entries are made from now.
    pub(super) frame: Option<Frame>,
    entries: VecDeque<EventRow>,
    /// The class of each entry, and the worker that it is about.
    classes: VecDeque<(&'static str, Option<WorkerId>)>,
    next: u64,
}

/// What entries of one kind have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    pub(super) at: Timestamp,
    pub(super) who: &'a str,
    pub(super) kind: EventKind,
    pub(super) gravity: Gravity,
    pub(super) source: &'a Arc<str>,
    /// True for blocks that a router refuses, or would, because it does not know them.
    pub(super) orphan: bool,
    /// The worker that it is about; none for what is about none, or not known to be.
    pub(super) worker: Option<WorkerId>,
    /// What its text says. Entries that say the same fold into one; without a class each stands.
    pub(super) class: &'static str,
}

impl Journal {
    /// Adds an entry, or counts it onto one like it. `text` is asked for only when it is needed.
    pub(super) fn add(&mut self, head: Head<'_>, text: impl FnOnce() -> String) {
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
        if self.entries.len() >= ENTRIES {
            self.entries.pop_front();
            self.classes.pop_front();
        }
        self.classes.push_back((head.class, head.worker));
        self.entries.push_back(EventRow {
            number: self.next,
            at: head.at,
            who: head.who.to_owned(),
            kind: head.kind,
            text: text(),
            gravity: head.gravity,
            source: Arc::clone(head.source),
            repeats: 0,
            orphan: head.orphan,
        });
        if let Some(frame) = &self.frame {
            self.kept.keep(self.next, frame);
        }
        self.next += 1;
    }

    pub(super) fn reject(&mut self, at: Timestamp, source: &Arc<str>, why: &str) {
        let gravity = Gravity::Notice;
        // Each reason comes once.
        let head = Head {
            at,
            who: source,
            kind: EventKind::Reject,
            gravity,
            source,
            orphan: false,
            worker: None,
            class: "",
        };
        self.add(head, || format!("input that cannot be read: {why}"));
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
