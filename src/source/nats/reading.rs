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

/// Numbers that must have gone from the stream before the read leaves them out: more than are asked for at once.
const SKIP: u64 = 1024;

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
    pub(super) first: u64,
    pub(super) last: u64,
    /// Messages that should have come live, and had not.
    pub(super) missed: u64,
    /// Messages that had been passed on live when the read began.
    sent: u64,
    /// Stored messages that were read and passed on, or are none of KV events.
    taken: u64,
    step: Step,
    /// Everything up to here has been passed on.
    reached: u64,
    /// Passed on live and found in the stream, in the order of the stream.
    matched: Vec<Seen>,
    /// Passed on live before one that the stream holds, and not in the stream: it deleted them.
    passed_over: Vec<(Lane, Mark)>,
    /// Passed on live and not stored yet.
    not_stored: Vec<(Lane, Mark)>,
    /// Passed on live and taken for deleted, although the stream may be about to store them.
    presumed_deleted: Vec<(Lane, Mark)>,
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

/// The use of a stored message for the read.
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
        let total = sent.count();
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
            sent: total,
            taken: 0,
            step,
            reached: first.saturating_sub(1),
            matched: Vec::new(),
            passed_over: Vec::new(),
            not_stored: Vec::new(),
            presumed_deleted: Vec::new(),
            tail: HashMap::new(),
        }
    }

    /// Returns the numbers to ask for in this step.
    pub(super) fn seqs(&self) -> Seqs {
        match &self.step {
            Step::Compare { seen, .. } => {
                let next = seen.last().map_or(self.first, |one| one.seq + 1);
                Box::new(next.max(self.first)..=self.last)
            }
            Step::Fetch { missing, rest_from } => {
                Box::new(missing.clone().into_iter().chain(*rest_from..=self.last))
            }
        }
    }

    /// Returns true when nothing of the stream was passed on before.
    pub(super) fn is_first(&self) -> bool {
        self.sent == 0 && self.taken == 0 && matches!(self.step, Step::Fetch { .. })
    }

    /// Returns how many messages are still to be asked for.
    pub(super) fn left(&self) -> u64 {
        self.last.saturating_sub(self.reached)
    }

    /// Takes the stored message `payload` with number `seq`.
    pub(super) fn take(&mut self, seq: u64, payload: &[u8]) -> Answer {
        let (lane, mark) = (Lane::new(payload), Mark::new(payload));
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
                self.taken += 1;
                Answer::Emit
            }
        }
    }

    /// Takes the messages that were passed on live and that the last call of `vanished` took for deleted.
    pub(super) fn take_presumed(&mut self) -> Vec<(Lane, Mark)> {
        std::mem::take(&mut self.presumed_deleted)
    }

    /// Notes a stored message of another subject, which is not passed on.
    pub(super) fn pass_over(&mut self) {
        self.taken += 1;
    }

    /// Leaves out the numbers before `first`, which the stream holds no longer. Returns true when there were enough
    /// of them to ask anew.
    pub(super) fn skip_to(&mut self, first: u64) -> bool {
        let Step::Fetch { missing, rest_from } = &mut self.step else { return false };
        if first <= self.reached.saturating_add(SKIP) {
            return false;
        }
        missing.retain(|seq| *seq >= first);
        *rest_from = first.max(*rest_from);
        true
    }

    /// Returns true when the read was interrupted while it compared. It goes on over the next connection, since
    /// nothing is passed on meanwhile.
    pub(super) fn is_comparing(&self) -> bool {
        matches!(self.step, Step::Compare { .. })
    }

    /// Goes on with an interrupted comparison; the stream now holds `first` to `last`.
    pub(super) fn resume(&mut self, first: u64, last: u64) {
        self.first = self.first.max(first);
        self.last = self.last.max(last);
    }

    /// Returns how many messages after the number `after`, up to where the read got, were deleted before kvtop had
    /// them: neither read now nor passed on live.
    ///
    /// Messages that were passed on live and are not in the stream are taken for those that it deleted, before they
    /// are taken for some that it does not hold yet. Returns also how many were neither: these had been deleted by an
    /// earlier read's end.
    pub(super) fn vanished(&mut self, after: u64, finished: bool) -> (u64, u64) {
        let upto = if finished { self.last } else { self.reached };
        let matched = self.matched.iter().filter(|one| one.seq <= upto).count() as u64;
        let gone = upto.saturating_sub(after).saturating_sub(matched + self.taken);
        let unmatched = self.sent.saturating_sub(self.matched.len() as u64);
        let delivered = gone.min(unmatched);
        let passed_over = delivered.min(self.passed_over.len() as u64);
        let settled = delivered - passed_over;
        // The others are beyond what was read, and for the next read to account for.
        self.passed_over.drain(..usize::try_from(passed_over).unwrap_or(usize::MAX));
        let settled = usize::try_from(settled).unwrap_or(usize::MAX).min(self.not_stored.len());
        self.presumed_deleted.extend(self.not_stored.drain(..settled));
        let open = if finished { 0 } else { self.passed_over.len() };
        let earlier = unmatched.saturating_sub(delivered + (open + self.not_stored.len()) as u64);
        (gone - delivered, earlier)
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
            let (settled, pending) = sent.split_at(sent.len() - aligned.not_stored);
            self.not_stored.extend(pending.iter().map(|mark| (lane, *mark)));
            let there = stored.iter().zip(&aligned.delivered).filter(|(_, delivered)| **delivered);
            let mut there = there.map(|(one, _)| one.mark).peekable();
            let deleted = settled.iter().filter(|mark| there.next_if_eq(mark).is_none());
            self.passed_over.extend(deleted.map(|mark| (lane, *mark)));
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

    /// Ends the read. Returns for the live messages of each lane whether it has read them already, given the
    /// marks of those that were held, and leaves in `sent` what the stream does not hold yet.
    ///
    /// With a loss among the held ones (`torn`) the end of history need not equal their start, and they are looked
    /// for one by one; so are those of a lane without a common part in a stream that deletes its oldest messages.
    pub(super) fn join(
        self,
        held: &HashMap<Lane, Vec<Mark>>,
        torn: bool,
        sent: &mut Sent,
    ) -> HashMap<Lane, Vec<bool>> {
        sent.restart(self.not_stored);
        let already = |(lane, live): (&Lane, &Vec<Mark>)| {
            let history = self.tail.get(lane).map_or(&[][..], Vec::as_slice);
            let read = if torn {
                join::align(live, history).stored
            } else {
                match join::overlap(history, live) {
                    0 if self.first > 1 => join::align(live, history).stored,
                    read => (0..live.len()).map(|at| at < read).collect(),
                }
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
                let beyond = beyond.map(|one| (one.lane, one.mark));
                sent.restart(self.passed_over.into_iter().chain(beyond).chain(self.not_stored));
                Some(reached)
            }
        }
    }
}
