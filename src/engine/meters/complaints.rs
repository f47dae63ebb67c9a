//! Stores of one rank that routers reject: all routers of its model reject the same ones, each in its own log.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::Timestamp;
use crate::metrics::{CountSeries, RANK_HISTORY};

/// Most routers of a rank that are told apart; rejections of further ones are not counted.
const LIMIT: usize = 16;

/// A router that was silent for so long makes room for another.
const SILENT: Duration = Duration::from_secs(5);

/// Seconds over which routers are compared.
const SPAN: u64 = 60;

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
    /// Notes that the router in `pod` rejected a store at `at`. Returns true when it rejected more within a minute than
    /// was `counted` of that minute: logs are read one after another, so that no order tells which lines are about one
    /// store.
    pub(super) fn note(&mut self, pod: &Arc<str>, at: Timestamp, counted: &CountSeries) -> bool {
        let second = at.seconds();
        let Some(place) = self.place_of(pod, at) else { return false };
        let complaint = &mut self.0[place];
        complaint.last = complaint.last.max(at);
        complaint.counts.add(at, 1);
        let first = (second + 1).saturating_sub(SPAN);
        // The series forgets old counts, so that nothing tells which of these stores another log told already.
        counted.remembers(first) && complaint.counts.sum(first, second) > counted.sum(first, second)
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
    fn counted(rejections: &[(usize, &[u64])]) -> u64 {
        let (mut complaints, mut series) = (Complaints::default(), CountSeries::new(RANK_HISTORY));
        let mut count = 0;
        for (pod, seconds) in rejections {
            for second in *seconds {
                let at = Timestamp(second * 1_000_000);
                if complaints.note(&Arc::from(format!("frontend-{pod}")), at, &series) {
                    series.add(at, 1);
                    count += 1;
                }
            }
        }
        count
    }

    #[test]
    fn a_store_that_several_routers_reject_counts_once() {
        assert_eq!(counted(&[(0, &[100, 100, 101]), (1, &[100, 100, 101])]), 3, "log after log");
        assert_eq!(counted(&[(0, &[100]), (1, &[100]), (0, &[100]), (1, &[100])]), 2, "by turns");
        assert_eq!(counted(&[(0, &[100]), (1, &[100, 100, 101])]), 3, "one rejects more");
        assert_eq!(
            counted(&[(0, &[100]), (1, &[101]), (0, &[109]), (1, &[110])]),
            2,
            "a moment apart"
        );
    }

    #[test]
    fn logs_of_an_hour_that_are_read_one_after_another_count_once() {
        let hour: Vec<u64> = (1_000..4_600).collect();
        assert_eq!(counted(&[(0, hour.as_slice()), (1, hour.as_slice())]), 3_600);
    }

    #[test]
    fn routers_that_went_make_room_for_others() {
        let before: Vec<(usize, &[u64])> = (0..LIMIT).map(|pod| (pod, [100].as_slice())).collect();
        assert_eq!(counted(&[before.as_slice(), &[(99, &[101, 102])]].concat()), 1, "no room yet");
        assert_eq!(counted(&[before.as_slice(), &[(99, &[110, 111])]].concat()), 2);
    }
}
