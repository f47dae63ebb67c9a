//! How much of each request routers found cached, counted by who says so.

use std::collections::BTreeSet;

use crate::domain::WorkerId;

/// Counts of requests whose overlap with a worker's blocks is known.
pub trait Counted: Copy + Default {
    /// Counts a request that overlaps in so many blocks.
    fn note(&mut self, blocks: f64);
    /// Adds `other` to `self`.
    fn add(&mut self, other: &Self);
    /// Returns the number of requests.
    fn known(&self) -> u64;
}

/// Requests and their overlaps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlap {
    /// The number.
    pub known: u64,
    /// Those that overlap with nothing.
    pub zero: u64,
    /// Sum of their overlaps in blocks.
    pub blocks: f64,
}

impl Counted for Overlap {
    fn note(&mut self, blocks: f64) {
        self.known += 1;
        self.zero += u64::from(blocks <= 0.0);
        self.blocks += blocks;
    }

    fn add(&mut self, other: &Self) {
        self.known += other.known;
        self.zero += other.zero;
        self.blocks += other.blocks;
    }

    fn known(&self) -> u64 {
        self.known
    }
}

/// Requests, and those of them that overlap with nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookup {
    /// The number.
    pub known: u64,
    /// Those that overlap with nothing.
    pub zero: u64,
}

impl Counted for Lookup {
    fn note(&mut self, blocks: f64) {
        self.known += 1;
        self.zero += u64::from(blocks <= 0.0);
    }

    fn add(&mut self, other: &Self) {
        self.known += other.known;
        self.zero += other.zero;
    }

    fn known(&self) -> u64 {
        self.known
    }
}

/// The sources of a request's overlap. A version may say it in more than one way, so the ways are
/// counted apart and never added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlapBy {
    /// The line that names the selected worker.
    Decision,
    /// The line at the end of the request.
    Completion,
    /// The event `kv-hit-rate` (Dynamo 0.9).
    Event,
    /// The event with which routers tell each other of a request (replica sync, up to 1.1).
    Request,
}

impl OverlapBy {
    /// Everybody who may say so.
    pub const ALL: [Self; 4] = [Self::Decision, Self::Completion, Self::Event, Self::Request];
}

/// Counts by who says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToldBy<C>([C; OverlapBy::ALL.len()]);

/// Overlaps by who says so.
pub type Overlaps = ToldBy<Overlap>;

/// Lookups by who says so.
pub type Lookups = ToldBy<Lookup>;

impl<C: Counted> ToldBy<C> {
    /// Counts a request that overlaps in so many blocks.
    pub fn note(&mut self, by: OverlapBy, blocks: f64) {
        self.0[by as usize].note(blocks);
    }

    /// Returns the counts of whoever spoke about most requests.
    pub fn best(&self) -> C {
        let [first, rest @ ..] = self.0;
        let more = |best: C, next: C| if next.known() > best.known() { next } else { best };
        rest.into_iter().fold(first, more)
    }

    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        for (sum, part) in self.0.iter_mut().zip(&other.0) {
            sum.add(part);
        }
    }

    /// Returns true when `by` spoke about most requests.
    pub fn is_best(&self, by: OverlapBy) -> bool {
        self.0[by as usize].known() == self.best().known()
    }
}

/// The cached blocks that one router found since its process started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    all: Overlaps,
    since_hit: Overlaps,
    /// The first workers that it chose.
    workers: BTreeSet<WorkerId>,
}

/// Most workers of a router that are kept: some are enough to tell whether another chooses among the same.
const WORKERS: usize = 256;

impl Found {
    /// Counts a request that overlaps in so many blocks of `worker`, unless it is `excused` from hitting anything.
    pub fn note_unless(&mut self, excused: bool, by: OverlapBy, worker: WorkerId, blocks: f64) {
        if excused {
            return;
        }
        self.all.note(by, blocks);
        self.since_hit.note_since_hit(by, blocks);
        if self.workers.len() < WORKERS {
            self.workers.insert(worker);
        }
    }

    /// Returns the first workers that were chosen.
    pub fn workers(&self) -> &BTreeSet<WorkerId> {
        &self.workers
    }

    /// Returns the counts of all requests.
    pub fn all(&self) -> Overlap {
        self.all.best()
    }

    /// Returns the number of requests since the last cache hit.
    pub fn unhit(&self) -> u64 {
        self.since_hit.best().known
    }
}

impl Overlaps {
    /// Counts a request that overlaps in so many blocks; a cache hit sets the count back to 0.
    pub fn note_since_hit(&mut self, by: OverlapBy, blocks: f64) {
        if blocks > 0.0 {
            self.0[by as usize] = Overlap::default();
        } else {
            self.note(by, blocks);
        }
    }

    /// Returns the counts since `base`.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        let mut parts = [Overlap::default(); OverlapBy::ALL.len()];
        for (part, (now, then)) in parts.iter_mut().zip(self.0.iter().zip(&base.0)) {
            *part = Overlap {
                known: now.known.saturating_sub(then.known),
                zero: now.zero.saturating_sub(then.zero),
                blocks: (now.blocks - then.blocks).max(0.0),
            };
        }
        Self(parts)
    }
}
