//! Gathering of arrivals: at high rates a thread that is woken for each message costs more than the messages.

use std::time::Duration;

/// Messages a second from which on arrivals are gathered. Below that each is handed on at once.
const BUSY: f64 = 300.0;

/// The window in which arrivals are gathered: 50 in a second.
const GATHER: Duration = Duration::from_millis(20);

/// The time over which the rate is measured.
const WINDOW: Duration = Duration::from_millis(100);

/// More than this at once is a flood, which is taken as fast as it comes.
const FLOOD: usize = 4096;

/// Decides whether the next arrivals may gather. Times are spans since any one start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// The start of the present window, and its arrivals.
    began: Duration,
    count: usize,
    busy: bool,
}

impl Pace {
    /// Counts what was taken at `now`. Returns how long the next arrivals may gather; none when they are to be
    /// taken at once.
    pub fn taken(&mut self, count: usize, now: Duration) -> Option<Duration> {
        self.count += count;
        let span = now.saturating_sub(self.began);
        if span >= WINDOW {
            self.busy = self.count as f64 >= BUSY * span.as_secs_f64();
            (self.began, self.count) = (now, 0);
        }
        (self.busy && count < FLOOD).then_some(GATHER)
    }

    /// Returns true while arrivals are gathered.
    pub fn is_busy(&self) -> bool {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `each` messages every `gap` milliseconds for a second, and returns how often they were made to gather.
    fn gathered(each: usize, gap: u64) -> usize {
        let mut pace = Pace::default();
        let times = (0..1000 / gap).map(|step| Duration::from_millis(1000 + step * gap));
        times.filter(|now| pace.taken(each, *now).is_some()).count()
    }

    #[test]
    fn single_messages_are_taken_at_once_and_streams_of_them_gather() {
        assert_eq!(gathered(1, 5), 0, "200 a second");
        assert!(gathered(2, 2) > 400, "1000 a second");
        assert!(gathered(100, 2) > 400, "50 000 a second");
        assert_eq!(gathered(5000, 10), 0, "a flood");
    }

    #[test]
    fn the_first_message_after_a_silence_ends_the_gathering() {
        let mut pace = Pace::default();
        for step in 0..100 {
            pace.taken(10, Duration::from_millis(1000 + step * 2));
        }
        assert!(pace.is_busy());

        assert_eq!(pace.taken(1, Duration::from_secs(60)), None);
    }
}
