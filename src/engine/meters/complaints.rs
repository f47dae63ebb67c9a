//! Stores of one rank that routers reject: all routers of its model reject the same ones, each in its own log.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::Timestamp;
use crate::metrics::{CountSeries, RANK_HISTORY};

/// Most routers of a rank that are told apart. Others reject nothing that these do not.
const LIMIT: usize = 4;

/// A router that was silent for so long makes room for another.
const SILENT: Duration = Duration::from_secs(5);

/// One router's rejections.
#[derive(Clone, Debug)]
struct Complaint {
    pod: Arc<str>,
    last: Timestamp,
    counts: CountSeries,
}

/// The rejections of one rank's stores, by router.
#[derive(Clone, Debug, Default)]
pub(super) struct Complaints(Vec<Complaint>);

impl Complaints {
    /// Notes that the router in `pod` rejected a store at `at`. Returns true unless another router rejected as many in
    /// that second: logs are read one after another, so that no order tells which lines are about one store.
    pub(super) fn note(&mut self, pod: &Arc<str>, at: Timestamp) -> bool {
        let second = at.seconds();
        let Some(own) = self.place_of(pod, at) else { return false };
        let complaint = &mut self.0[own];
        complaint.last = complaint.last.max(at);
        complaint.counts.add(at, 1);
        let count = complaint.counts.sum(second, second);
        let others = self.0.iter().enumerate().filter(|(place, _)| *place != own);
        others.into_iter().all(|(_, other)| other.counts.sum(second, second) < count)
    }

    /// Returns the place of a router, made when it is new; none where there is no room.
    fn place_of(&mut self, pod: &Arc<str>, at: Timestamp) -> Option<usize> {
        if let Some(place) = self.0.iter().position(|known| known.pod == *pod) {
            return Some(place);
        }
        let new =
            Complaint { pod: Arc::clone(pod), last: at, counts: CountSeries::new(RANK_HISTORY) };
        if self.0.len() < LIMIT {
            self.0.push(new);
            return Some(self.0.len() - 1);
        }
        let (place, quietest) = self.0.iter_mut().enumerate().min_by_key(|(_, it)| it.last)?;
        if at.since(quietest.last) < SILENT {
            return None;
        }
        *quietest = new;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many stores are counted of these rejections: routers by number, each with its seconds.
    fn counted(rejections: &[(usize, &[u64])]) -> usize {
        let mut complaints = Complaints::default();
        let told = rejections.iter().flat_map(|(pod, seconds)| {
            seconds.iter().map(move |second| (format!("frontend-{pod}"), *second))
        });
        let mut note = |(pod, second): &(String, u64)| {
            complaints.note(&Arc::from(pod.as_str()), Timestamp(second * 1_000_000))
        };
        told.collect::<Vec<_>>().iter().filter(|it| note(it)).count()
    }

    #[test]
    fn a_store_that_several_routers_reject_counts_once() {
        assert_eq!(counted(&[(0, &[100, 100, 101]), (1, &[100, 100, 101])]), 3, "log after log");
        assert_eq!(counted(&[(0, &[100]), (1, &[100]), (0, &[100]), (1, &[100])]), 2, "by turns");
        assert_eq!(counted(&[(0, &[100]), (1, &[100, 100, 101])]), 3, "one rejects more");
    }

    #[test]
    fn routers_that_went_make_room_and_more_of_them_reject_nothing_else() {
        let (before, after): (Vec<_>, Vec<_>) = (0..LIMIT)
            .map(|pod| ((pod, [100].as_slice()), (LIMIT + pod, [110].as_slice())))
            .unzip();
        assert_eq!(counted(&[before.as_slice(), after.as_slice()].concat()), 2);
        assert_eq!(counted(&[before.as_slice(), &[(9, &[101, 102])]].concat()), 1);
    }
}
