//! Delays of the source before it asks again.

use std::time::Duration;

/// The waits of a Kubernetes source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// After the first failure.
    pub first: Duration,
    /// After many failures.
    pub last: Duration,
    /// Before it asks again for what is forbidden or not installed.
    pub slow: Duration,
    /// Time during which a 403 counts as the start of a server, whose first answers are 403 to everyone.
    pub grace: Duration,
    /// Between two questions whether the server still answers.
    pub probe: Duration,
    /// Between two looks at its own state when nothing happens.
    pub look: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            last: Duration::from_secs(5),
            slow: Duration::from_secs(30),
            grace: Duration::from_secs(2),
            probe: Duration::from_secs(5),
            look: Duration::from_secs(1),
        }
    }
}

impl Pace {
    /// Returns the wait after `failures` in a row.
    pub(super) fn after(&self, failures: u32) -> Duration {
        self.first.saturating_mul(1 << failures.min(8)).min(self.last)
    }

    /// Returns the wait before a list that a watch asked for, after as many in a row: short for the
    /// first, which is part of the work, and then as after failures.
    pub(super) fn before_list(&self, failures: u32) -> Duration {
        let wait = self.after(failures);
        if failures == 0 { wait / 5 } else { wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_that_always_wants_a_list_gets_one_ever_more_rarely() {
        let pace = Pace::default();

        let waits: Vec<u128> = (0..7).map(|it| pace.before_list(it).as_millis()).collect();

        assert_eq!(waits, [50, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
    }
}
