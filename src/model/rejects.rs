//! Input that could not be read, counted by reason, with the first sample of each.

use std::collections::BTreeMap;

use crate::domain::Timestamp;

/// Most reasons that are told apart.
const REASON_LIMIT: usize = 64;

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectRecord {
    /// The number of times.
    pub count: u64,
    /// The first time.
    pub first: Timestamp,
    /// The start of the first one, made printable.
    pub sample: String,
}

/// Every reason.
#[derive(Debug, Default)]
pub struct RejectLog {
    count: u64,
    live: u64,
    reasons: BTreeMap<(&'static str, String), RejectRecord>,
}

impl RejectLog {
    /// Counts one; `sample` is asked for only when the reason is new and there is
    /// room for it. Returns true when it is.
    pub fn note(
        &mut self,
        origin: &'static str,
        why: &str,
        at: Timestamp,
        sample: impl FnOnce() -> String,
    ) -> bool {
        self.count += 1;
        let key = (origin, why.to_owned());
        if let Some(known) = self.reasons.get_mut(&key) {
            known.count += 1;
            return false;
        }
        if self.reasons.len() >= REASON_LIMIT {
            return false;
        }
        self.reasons.insert(key, RejectRecord { count: 1, first: at, sample: sample() });
        true
    }

    /// Counts one that arrived while kvtop was watching.
    pub fn note_live(&mut self) {
        self.live += 1;
    }

    /// Returns how many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns how many happened while kvtop was watching.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Returns each reason with its origin.
    pub fn reasons(&self) -> impl Iterator<Item = (&'static str, &str, &RejectRecord)> {
        self.reasons.iter().map(|((origin, why), record)| (*origin, why.as_str(), record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_without_end_are_counted_and_not_told() {
        let mut log = RejectLog::default();
        let mut note = |n: usize| log.note("nats", &n.to_string(), Timestamp(0), String::new);

        let told = (0..1000).filter(|n| note(*n)).count();

        assert_eq!((told, log.count(), log.reasons().count()), (REASON_LIMIT, 1000, REASON_LIMIT));
    }
}
