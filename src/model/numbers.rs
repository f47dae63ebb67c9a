//! The numbers that publishers give their messages, and the holes in them.

/// Holes that are told apart, so that a late message can close one. Of more, only the sum is kept.
const HOLES: usize = 64;

/// A fall by more than this is a publisher that numbers from the start again; less is a duplicate.
const RESTART_FALL: u64 = 128;

/// A larger leap is another publisher under the same id: no interruption loses as many messages.
const RESTART_LEAP: u64 = 1 << 32;

/// The meaning of a number for those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next one, or the first of a publisher.
    Next,
    /// It came before.
    Again,
    /// It was overtaken, and had been taken for missing.
    Late,
    /// So many before it did not come.
    Hole(u64),
    /// The publisher numbers from the start again.
    Restart,
}

/// The numbers of one publisher's messages.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    last: Option<u64>,
    /// First and last number of each hole.
    open: Vec<(u64, u64)>,
    received: u64,
    missing: u64,
    reordered: u64,
}

impl Numbers {
    /// Follows the message numbered `number`. A leap over `limit` numbers or more is a restart.
    pub fn follow(&mut self, number: u64, limit: u64) -> Step {
        let Some(last) = self.last else {
            self.last = Some(number);
            self.received += 1;
            return Step::Next;
        };
        if number == last {
            return Step::Again;
        }
        if number < last {
            return self.fall(number, last);
        }
        self.last = Some(number);
        self.received += 1;
        let ahead = number - last;
        if ahead == 1 {
            return Step::Next;
        }
        if ahead > limit.min(RESTART_LEAP) {
            return Step::Restart;
        }
        self.missing = self.missing.saturating_add(ahead - 1);
        if self.open.len() == HOLES {
            self.open.remove(0);
        }
        self.open.push((last + 1, number - 1));
        Step::Hole(ahead - 1)
    }

    fn fall(&mut self, number: u64, last: u64) -> Step {
        let found = self.open.iter().position(|(from, to)| (*from..=*to).contains(&number));
        if let Some(place) = found {
            let (from, to) = self.open.remove(place);
            if number < to {
                self.open.insert(place, (number + 1, to));
            }
            if from < number {
                self.open.insert(place, (from, number - 1));
            }
            self.open.truncate(HOLES);
            self.received += 1;
            self.reordered += 1;
            self.missing = self.missing.saturating_sub(1);
            return Step::Late;
        }
        if number == 0 || last - number > RESTART_FALL {
            self.last = Some(number);
            self.received += 1;
            // What the one before had not sent can come no more; what it had is still missing.
            self.open.clear();
            return Step::Restart;
        }
        Step::Again
    }

    /// Forgets holes: what is missing of an earlier incarnation matters no more.
    pub fn settle(&mut self) {
        self.open.clear();
        self.missing = 0;
    }

    /// Returns how many messages came, each counted once.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns how many did not come.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Returns how many came after later ones.
    pub fn reordered(&self) -> u64 {
        self.reordered
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn followed(numbers: &[u64]) -> Numbers {
        let mut known = Numbers::default();
        for number in numbers {
            known.follow(*number, u64::MAX);
        }
        known
    }

    #[test]
    fn a_hole_is_open_until_the_last_of_its_messages_came() {
        let mut numbers = followed(&[5, 6, 10]);
        assert_eq!((numbers.received(), numbers.missing()), (3, 3));

        for late in [8, 7] {
            assert_eq!(numbers.follow(late, u64::MAX), Step::Late);
            assert!(numbers.missing() > 0);
        }
        assert_eq!(numbers.follow(9, u64::MAX), Step::Late);

        assert_eq!((numbers.received(), numbers.missing(), numbers.reordered()), (6, 0, 3));
        assert_eq!(numbers.follow(9, u64::MAX), Step::Again);
        assert_eq!(numbers.follow(11, u64::MAX), Step::Next);
    }

    #[test]
    fn a_restart_opens_no_hole() {
        let table: [(&[u64], Step); 5] = [
            (&[1, 2, 0], Step::Restart),
            (&[900, 3], Step::Restart),
            (&[0, u64::MAX], Step::Restart),
            (&[4, 3], Step::Again),
            (&[4, 4], Step::Again),
        ];
        for (numbers, expected) in table {
            let (last, before) = numbers.split_last().unwrap();
            let mut known = followed(before);
            assert_eq!(known.follow(*last, u64::MAX), expected, "{numbers:?}");
            assert_eq!(known.missing(), 0, "{numbers:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_lost_or_overtaken_is_counted_to_the_message(
            fates in prop::collection::vec(0..6_usize, 2..80),
        ) {
            // 0: lost; else delayed by so many places.
            let mut order: Vec<(usize, u64)> = fates.iter().enumerate()
                .filter(|(at, fate)| **fate > 0 || *at == 0)
                .map(|(at, fate)| (at + fate.saturating_sub(1) * usize::from(at > 0), at as u64))
                .collect();
            order.sort_by_key(|(place, _)| *place);
            let numbers = followed(&order.iter().map(|(_, number)| *number).collect::<Vec<_>>());
            let highest = order.iter().map(|(_, number)| *number).max().unwrap();
            let lost = highest + 1 - order.len() as u64;

            prop_assert_eq!(numbers.received(), order.len() as u64);
            prop_assert_eq!(numbers.missing(), lost);
        }
    }
}
