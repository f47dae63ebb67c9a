//! Adds the counts of a burst of KV events to their ranks once for each rank, since the counts and series of ranks lie
//! far apart in memory.

use super::Fleet;
use super::known::Times;
use super::kv::Followed;
use super::meters::Meters;
use crate::domain::{Counters, Timestamp};
use crate::model::Slot;

/// Events that count in the same places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    second: u64,
    slot: Slot,
    /// They happened while kvtop watched.
    live: bool,
    /// They belong to the present incarnation of their rank.
    present: bool,
}

/// Counts of one rank that are not added to it yet.
#[derive(Clone, Debug, Default)]
struct Part {
    place: Option<(Place, Timestamp)>,
    counters: Counters,
    followed: Followed,
}

/// Counts of all ranks that are not added yet, by position among the workers' ranks.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    parts: Vec<Part>,
    /// The ranks that have any.
    touched: Vec<usize>,
}

/// Where the counts go.
pub(super) struct Counts<'a> {
    pub(super) times: &'a mut Times,
    pub(super) fleet: &'a mut Fleet,
    pub(super) meters: &'a mut Meters,
}

impl Gathered {
    /// Counts an event of the rank at `index`.
    pub(super) fn add(
        &mut self,
        index: usize,
        at: Timestamp,
        counted: &Counters,
        followed: Followed,
        to: &mut Counts<'_>,
    ) {
        let Some(rank) = to.fleet.workers.ranks().get(index) else { return };
        let place = Place {
            second: at.seconds(),
            slot: to.times.slots.slot(at),
            live: to.times.is_live(at),
            present: at >= rank.born,
        };
        if self.parts.len() <= index {
            self.parts.resize(index + 1, Part::default());
        }
        let part = &mut self.parts[index];
        match part.place {
            Some((of, _)) if of == place => {}
            Some(_) => part.settle(index, to),
            None => self.touched.push(index),
        }
        part.place = Some((place, at));
        part.counters.add(counted);
        part.followed.add(followed);
    }

    /// Passes on everything that was gathered.
    pub(super) fn settle(&mut self, mut to: Counts<'_>) {
        for index in self.touched.drain(..) {
            self.parts[index].settle(index, &mut to);
        }
    }
}

impl Part {
    fn settle(&mut self, index: usize, to: &mut Counts<'_>) {
        let Self { place, counters, followed } = std::mem::take(self);
        let Some((place, at)) = place else { return };
        let Some(rank) = to.fleet.workers.ranks_mut().get_mut(index) else { return };
        rank.counters.add(&counters);
        if place.live {
            rank.live.add(&counters);
        }
        if let Some(tally) = rank.kv_counts(place.slot, at) {
            tally.counters.add(&counters);
            followed.add_to(tally);
        }
        let times = [
            counters.stores,
            counters.removed_blocks,
            counters.refused_stores,
            counters.unknown_removals,
            counters.stored_blocks,
            counters.refused_blocks,
            followed.known_refused,
        ];
        let times = times.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        to.meters.count_kv(index, at, times);
    }
}
