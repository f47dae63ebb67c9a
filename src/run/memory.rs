//! The bound on the memory of the process: how it is shared out, and a thread that watches over it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::source::Budget;

/// Memory of the process besides the index copy and frames in flight: program, screens, what is kept of the past
/// and of objects, buffers of connections.
const FIXED: usize = 96 << 20;

/// The longest and the shortest time between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_millis(5));

/// Bytes that a connection on the same machine may bring in a second, at most.
const FASTEST: usize = 2 << 30;

/// Time for sources to let go of what they hold.
const PATIENCE: Duration = Duration::from_secs(1);

/// Growth beyond what was left after an alarm that raises the next one.
const AGAIN: usize = 16 << 20;

/// Size of a page in `/proc/self/statm`.
const PAGE: usize = 4096;

/// Returns the bytes that frames on their way may take, of `limit` for the process.
fn in_flight(limit: usize) -> usize {
    (limit / 8).clamp(8 << 20, 256 << 20)
}

/// Returns the bytes that the index copy may take, of `limit` for the process.
pub(super) fn of_mirror(limit: usize) -> usize {
    limit.saturating_sub(in_flight(limit) + FIXED).max(limit / 4)
}

/// Returns the budget of sources in a process that may take `limit` bytes, and watches over it: when the process
/// takes more, sources are told to let go of what they buffer. Frames are counted exactly; a client library that
/// buffers an endless message is not.
pub(super) fn budget(limit: usize) -> Arc<Budget> {
    let budget = Arc::new(Budget::new(in_flight(limit)));
    let watched = Arc::downgrade(&budget);
    let named = std::thread::Builder::new().name("memory".to_owned());
    // Without a thread memory is bounded by what is counted.
    drop(named.spawn(move || watch(limit, &watched)));
    budget
}

fn watch(limit: usize, budget: &Weak<Budget>) {
    let (mut floor, mut patience) = (0_usize, Duration::ZERO);
    loop {
        // Nothing tells on other systems than Linux.
        let Some(used) = resident() else { return };
        let Some(budget) = budget.upgrade() else { return };
        let pause = until_next(limit, used);
        if budget.is_swamped() {
            budget.raise_alarm();
        } else if used <= limit {
            (floor, patience) = (0, Duration::ZERO);
        } else if !patience.is_zero() {
            // What is left when sources had time to let go is not theirs.
            patience = patience.saturating_sub(pause);
            floor = used;
        } else if used > floor.saturating_add(AGAIN) {
            budget.raise_alarm();
            patience = PATIENCE;
        }
        drop(budget);
        std::thread::sleep(pause);
    }
}

/// Returns the time to the next look: the limit cannot be passed by much before it, and far from the limit the
/// process is left to sleep.
fn until_next(limit: usize, used: usize) -> Duration {
    let (longest, shortest) = PAUSES;
    let room = limit.saturating_sub(used) as f64 / FASTEST as f64;
    Duration::from_secs_f64(room).clamp(shortest, longest)
}

/// Returns the bytes of memory that the process takes.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_rare_far_from_the_limit_and_frequent_near_it() {
        assert_eq!(until_next(2 << 30, 40 << 20), PAUSES.0);
        assert_eq!(until_next(1 << 30, 2 << 30), PAUSES.1);
        assert_eq!(until_next(128 << 20, 64 << 20), Duration::from_secs_f64(0.031_25));
    }

    #[test]
    fn the_shares_fit_into_the_whole() {
        for limit in [512 << 20, 1 << 30, 4 << 30] {
            assert!(of_mirror(limit) + in_flight(limit) + FIXED <= limit, "{limit}");
            assert!(of_mirror(limit) >= limit / 2, "{limit}");
        }
        assert_eq!(of_mirror(64 << 20), 16 << 20);
    }
}
