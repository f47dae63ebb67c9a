//! One read of a stream's history: which numbers to ask for, and which messages are new.
//!
//! Two steps. What was passed on live since the last agreement is first compared with what the
//! stream stored since then, by marks alone; then the messages that are missing are fetched, and
//! everything after the comparison. On a first attach nothing was passed on, so there is only the
//! second step and every message is fetched once.

use std::collections::HashMap;

use super::join::{self, Lane, Mark};
use super::sent::Sent;

/// Marks that a comparison keeps at most (32 MiB). What lies beyond counts as missed.
const COMPARED: usize = 1 << 20;

/// The numbers to ask for next.
pub(super) type Seqs = Box<dyn Iterator<Item = u64> + Send>;

#[derive(Clone, Copy, Debug)]
struct Seen {
    seq: u64,
    lane: Lane,
    mark: Mark,
}

/// A read in progress.
#[derive(Debug)]
pub(super) struct Reading {
    first: u64,
    pub(super) last: u64,
    /// Messages that should have come live, and had not.
    pub(super) missed: u64,
    step: Step,
    /// Everything up to here has been passed on.
    reached: u64,
    /// Passed on live and found in the stream, in the order of the stream.
    matched: Vec<Seen>,
    /// Passed on live and not stored yet.
    not_stored: Vec<(Lane, Mark)>,
    /// The end of history by lane, after the last message that was passed on live.
    tail: HashMap<Lane, Vec<Mark>>,
}

#[derive(Debug)]
enum Step {
    Compare {
        sent: HashMap<Lane, Vec<Mark>>,
        next: HashMap<Lane, usize>,
        left: usize,
        seen: Vec<Seen>,
    },
    Fetch {
        missing: Vec<u64>,
        rest_from: u64,
    },
}

/// What a stored message means for the read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Pass it on.
    Emit,
    /// Only take note of it.
    Compared,
    /// The comparison is done: ask anew.
    AskAnew,
}

impl Reading {
    /// Starts to read `first` to `last`, given what was passed on live since the number before.
    pub(super) fn new(first: u64, last: u64, sent: &Sent) -> Self {
        let sent = sent.lanes();
        let left = sent.values().map(Vec::len).sum();
        let step = if left == 0 {
            Step::Fetch { missing: Vec::new(), rest_from: first }
        } else {
            Step::Compare { sent, next: HashMap::new(), left, seen: Vec::new() }
        };
        Self {
            first,
            last,
            missed: 0,
            step,
            reached: first.saturating_sub(1),
            matched: Vec::new(),
            not_stored: Vec::new(),
            tail: HashMap::new(),
        }
    }

    /// Returns the numbers to ask for in this step.
    pub(super) fn seqs(&self) -> Seqs {
        match &self.step {
            Step::Compare { .. } => Box::new(self.first..=self.last),
            Step::Fetch { missing, rest_from } => {
                Box::new(missing.clone().into_iter().chain(*rest_from..=self.last))
            }
        }
    }

    /// Takes the stored message `payload` with number `seq`.
    pub(super) fn take(&mut self, seq: u64, payload: &[u8]) -> Answer {
        let (lane, mark) = (Lane::of(payload), Mark::of(payload));
        match &mut self.step {
            Step::Compare { sent, next, left, seen } => {
                seen.push(Seen { seq, lane, mark });
                let at = next.entry(lane).or_default();
                if sent.get(&lane).and_then(|marks| marks.get(*at)) == Some(&mark) {
                    *at += 1;
                    *left -= 1;
                }
                if *left > 0 && seen.len() < COMPARED {
                    return Answer::Compared;
                }
                self.compared();
                Answer::AskAnew
            }
            Step::Fetch { rest_from, .. } => {
                if seq >= *rest_from {
                    self.tail.entry(lane).or_default().push(mark);
                }
                self.reached = seq;
                Answer::Emit
            }
        }
    }

    /// The numbers asked for have all been answered. Returns true when there is nothing left to ask.
    pub(super) fn exhausted(&mut self) -> bool {
        match &self.step {
            Step::Fetch { .. } => true,
            Step::Compare { .. } => {
                self.compared();
                false
            }
        }
    }

    fn compared(&mut self) {
        let fetch = Step::Fetch { missing: Vec::new(), rest_from: self.last + 1 };
        let Step::Compare { mut sent, seen, .. } = std::mem::replace(&mut self.step, fetch) else {
            return;
        };
        let mut stored: HashMap<Lane, Vec<Seen>> = HashMap::new();
        for one in &seen {
            stored.entry(one.lane).or_default().push(*one);
        }
        let mut missing = Vec::new();
        for (lane, stored) in stored {
            let marks: Vec<Mark> = stored.iter().map(|one| one.mark).collect();
            let sent = sent.remove(&lane).unwrap_or_default();
            let aligned = join::align(&sent, &marks);
            let pending = sent[sent.len() - aligned.not_stored..].iter();
            self.not_stored.extend(pending.map(|mark| (lane, *mark)));
            let after = aligned.delivered.iter().rposition(|done| *done).map_or(0, |at| at + 1);
            self.tail.insert(lane, marks[after..].to_vec());
            for (one, delivered) in stored.iter().zip(aligned.delivered) {
                if delivered { self.matched.push(*one) } else { missing.push(one.seq) }
            }
        }
        for (lane, marks) in sent {
            self.not_stored.extend(marks.into_iter().map(|mark| (lane, mark)));
        }
        missing.sort_unstable();
        self.matched.sort_unstable_by_key(|one| one.seq);
        self.missed = missing.len() as u64;
        let rest_from = seen.last().map_or(self.first, |one| one.seq + 1);
        self.step = Step::Fetch { missing, rest_from };
    }

    /// Ends the read. Returns how many live messages of each lane it has read already, given the
    /// marks of those that were held, and leaves in `sent` what the stream does not hold yet.
    ///
    /// With a loss among the held ones (`torn`), the end of history need not equal their start, and
    /// they are looked for one by one.
    pub(super) fn join(
        self,
        held: &HashMap<Lane, Vec<Mark>>,
        torn: bool,
        sent: &mut Sent,
    ) -> HashMap<Lane, usize> {
        sent.restart(self.not_stored);
        let already = |(lane, live): (&Lane, &Vec<Mark>)| {
            let history = self.tail.get(lane).map_or(&[][..], Vec::as_slice);
            let read = if torn {
                live.len() - join::align(live, history).not_stored
            } else {
                join::overlap(history, live)
            };
            (*lane, read)
        };
        held.iter().map(already).collect()
    }

    /// Breaks the read off. Returns the number up to which everything has been passed on, when it got
    /// that far, and leaves in `sent` what was passed on beyond.
    pub(super) fn break_off(self, sent: &mut Sent) -> Option<u64> {
        match self.step {
            Step::Compare { .. } => None,
            Step::Fetch { .. } => {
                let reached = self.reached;
                let beyond = self.matched.into_iter().filter(|one| one.seq > reached);
                sent.restart(beyond.map(|one| (one.lane, one.mark)).chain(self.not_stored));
                Some(reached)
            }
        }
    }
}
