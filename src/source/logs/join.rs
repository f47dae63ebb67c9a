//! Joining a log that is asked for again to what has been passed on. Pure.
//!
//! `sinceTime` has a grain of one second, so the last second comes twice. Its lines are recognised by
//! time, which has nanoseconds, and text; both may recur, therefore occurrences are counted.

use std::collections::HashMap;

use jiff::Timestamp;

use super::lines::Stamped;

/// Lines of the newest second that are remembered. A log of more lines a second than that shows
/// some of them twice after a cut.
const REMEMBERED: usize = 1 << 17;

/// The part of one container's log that has been passed on.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// The newest second seen, since the epoch.
    second: i64,
    /// Occurrences of each line from that second on.
    passed: HashMap<Mark, u32>,
    /// Those of them that a repeated answer may still repeat.
    expected: HashMap<Mark, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mark {
    time: i128,
    text: u64,
}

impl Joined {
    /// Returns the second from which on the log must be asked for again; none before the first line.
    pub(super) fn since(&self) -> Option<Timestamp> {
        (self.second != 0).then(|| Timestamp::from_second(self.second).ok()).flatten()
    }

    /// Expects the lines from [`Self::since`] on to come once more.
    pub(super) fn again(&mut self) {
        self.expected = self.passed.clone();
    }

    /// Returns true when `line` has not been passed on yet, and takes note of it.
    ///
    /// Lines without a time are always new: only a kubelet that ignores `timestamps` sends them.
    pub(super) fn is_new(&mut self, line: &Stamped) -> bool {
        let Some(time) = line.time else { return true };
        let mark =
            Mark { time: time.as_nanosecond(), text: xxhash_rust::xxh3::xxh3_64(&line.text) };
        if let Some(left) = self.expected.get_mut(&mark) {
            *left -= 1;
            if *left == 0 {
                self.expected.remove(&mark);
            }
            return false;
        }
        let second = time.as_second();
        if second > self.second {
            self.second = second;
            let from = i128::from(second) * 1_000_000_000;
            self.passed.retain(|mark, _| mark.time >= from);
            self.expected.retain(|mark, _| mark.time >= from);
        }
        if second >= self.second && self.passed.len() < REMEMBERED {
            *self.passed.entry(mark).or_default() += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn line(tenths: u64, text: u8) -> Stamped {
        let time = Timestamp::from_millisecond(i64::try_from(1_000_000 + tenths * 100).unwrap());
        Stamped { time: time.ok(), text: Bytes::copy_from_slice(&[text]) }
    }

    #[test]
    fn before_the_first_line_there_is_no_second_to_ask_for() {
        assert_eq!(Joined::default().since(), None);
    }

    #[test]
    fn a_line_without_time_is_never_a_duplicate() {
        let mut joined = Joined::default();
        let bare = Stamped { time: None, text: Bytes::from_static(b"x") };
        assert!(joined.is_new(&bare));
        joined.again();
        assert!(joined.is_new(&bare));
    }

    proptest! {
        #[test]
        fn a_log_that_is_cut_and_asked_for_again_loses_no_line_and_doubles_none(
            steps in prop::collection::vec((0..4_u64, 0..3_u8), 1..60),
            cuts in prop::collection::vec(0..60_usize, 0..4),
        ) {
            let mut now = 0;
            let log: Vec<Stamped> = steps.iter().map(|(step, text)| { now += step; line(now, *text) }).collect();
            let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut.min(log.len())).collect();
            ends.sort_unstable();
            ends.push(log.len());
            let mut joined = Joined::default();
            let mut passed = Vec::new();
            for end in ends {
                let since = joined.since();
                joined.again();
                passed.extend(log[..end].iter().filter(|line| line.time >= since)
                    .filter(|line| joined.is_new(line)).cloned());
            }
            prop_assert_eq!(passed, log);
        }
    }
}
