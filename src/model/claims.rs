//! Claims about settings, each with its source, time and raw text. The strongest basis wins, then the newest claim.
//!
//! Kubernetes shows an object whole each time, so a frame replaces the earlier claims of its object. Claims of a
//! `ConfigMap` are made for each of its readers, whichever of the two came first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{Claim, ClaimOf, ClaimValue, ClaimWhat, Medium, Subject, Timestamp, WorkerId};

/// Most claims that are kept.
const CLAIM_LIMIT: usize = 16_384;

/// Claims that make room at once, so that a flood of them does not look for the oldest each time.
const EVICTED_AT_ONCE: usize = CLAIM_LIMIT / 16;

/// A claim with when it was first and last made.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredClaim {
    /// The claim.
    pub claim: Claim,
    /// The time it was made first, with this value.
    pub first: Timestamp,
    /// The time it was made last.
    pub last: Timestamp,
}

type Key = (ClaimWhat, ClaimOf, Subject, Arc<str>, Option<Arc<str>>);

/// Every claim; a later one of the same source about the same thing replaces the earlier.
#[derive(Debug, Default)]
pub struct Claims {
    kept: BTreeMap<Key, StoredClaim>,
    /// Claims that are void unless they are made again.
    doubted: BTreeSet<Key>,
    evicted: u64,
}

impl Claims {
    /// Notes a claim made at `at`.
    pub fn note(&mut self, claim: &Claim, at: Timestamp) {
        let source = Arc::clone(&claim.source);
        let key = (claim.what, claim.of, claim.subject.clone(), source, claim.model.clone());
        self.doubted.remove(&key);
        match self.kept.get_mut(&key) {
            Some(known) if known.claim.value == claim.value => {
                // The same value may be set elsewhere now. Of lines that repeat, the first is quoted.
                if claim.medium != Medium::Logs && known.claim != *claim {
                    known.claim = claim.clone();
                }
                known.last = at;
            }
            Some(known) => *known = StoredClaim { claim: claim.clone(), first: at, last: at },
            None => {
                if self.kept.len() >= CLAIM_LIMIT {
                    self.evict();
                }
                let stored = StoredClaim { claim: claim.clone(), first: at, last: at };
                self.kept.insert(key, stored);
            }
        }
    }

    /// Makes room: lets the claims go that were made least recently.
    fn evict(&mut self) {
        let mut times: Vec<Timestamp> = self.kept.values().map(|stored| stored.last).collect();
        let (_, bound, _) = times.select_nth_unstable(EVICTED_AT_ONCE - 1);
        let bound = *bound;
        let mut left = EVICTED_AT_ONCE;
        self.kept.retain(|_, stored| {
            let goes = left > 0 && stored.last <= bound;
            left -= usize::from(goes);
            !goes
        });
        self.evicted += EVICTED_AT_ONCE as u64;
    }

    /// Returns how many claims were let go because there are too many.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Doubts the claims that `about` picks: they are dropped by [`Claims::drop_doubted`] unless they
    /// are made again before.
    pub fn doubt(&mut self, about: impl Fn(&Claim) -> bool) {
        let doubted = self.kept.iter().filter(|(_, stored)| about(&stored.claim));
        self.doubted.extend(doubted.map(|(key, _)| key.clone()));
    }

    /// Drops the claims that were doubted and not made again.
    pub fn drop_doubted(&mut self) {
        for key in std::mem::take(&mut self.doubted) {
            self.kept.remove(&key);
        }
    }

    /// Drops the claims that `about` picks.
    pub fn forget(&mut self, about: impl Fn(&Claim) -> bool) {
        self.kept.retain(|_, stored| !about(&stored.claim));
    }

    /// Drops the claims of logs that `about` picks, if they were made last before `until`. Returns true if there were any.
    pub fn forget_logged(&mut self, until: Timestamp, about: impl Fn(&Claim) -> bool) -> bool {
        let before = self.kept.len();
        self.kept.retain(|_, stored| {
            let logged = stored.claim.medium == Medium::Logs && stored.last < until;
            !(logged && about(&stored.claim))
        });
        self.kept.len() < before
    }

    /// Drops what publishers said of block sizes before `until`, of themselves and in the same line of their engines,
    /// about the subjects that `about` picks.
    pub fn forget_notices(&mut self, until: Timestamp, about: impl Fn(&Subject) -> bool) {
        let logged = |stored: &StoredClaim| {
            stored.claim.medium == Medium::Logs
                && stored.last < until
                && about(&stored.claim.subject)
        };
        let of_publisher = |stored: &&StoredClaim| {
            (stored.claim.what, stored.claim.of) == (ClaimWhat::BlockSize, ClaimOf::Publisher)
        };
        let notices = self.kept.values().filter(of_publisher).filter(|stored| logged(stored));
        let times: BTreeSet<Timestamp> = notices.map(|stored| stored.last).collect();
        let sizes = [ClaimWhat::BlockSize, ClaimWhat::LargestBlock];
        self.kept.retain(|_, stored| {
            let told = sizes.contains(&stored.claim.what) && times.contains(&stored.last);
            !(told && logged(stored))
        });
    }

    /// Returns every claim, ordered by what it is about.
    pub fn all(&self) -> impl Iterator<Item = &StoredClaim> {
        self.kept.values()
    }

    /// Returns the claims about `what`, ordered by the part and by what they are about.
    pub fn of_kind(&self, what: ClaimWhat) -> impl Iterator<Item = &StoredClaim> {
        let first: Key =
            (what, ClaimOf::Engine, Subject::Worker(WorkerId(0)), Arc::default(), None);
        let same = self.kept.range(first..).take_while(move |(key, _)| key.0 == what);
        same.map(|(_, stored)| stored)
    }

    /// Returns the best count claimed about any of `subjects`: the one whose basis is nearest to what
    /// the process does, and of those the newest.
    pub fn count(
        &self,
        what: ClaimWhat,
        of: ClaimOf,
        subjects: &[Subject],
    ) -> Option<(u64, &StoredClaim)> {
        best_count(subjects.iter().flat_map(|subject| self.about(what, of, subject)))
    }

    /// Returns the best claim by any of `of` about any of `subjects`, whatever its value.
    pub fn best(
        &self,
        what: ClaimWhat,
        of: &[ClaimOf],
        subjects: &[Subject],
    ) -> Option<&StoredClaim> {
        let claims = of
            .iter()
            .flat_map(|of| subjects.iter().flat_map(move |subject| self.about(what, *of, subject)));
        claims.max_by_key(|stored| (stored.claim.basis, stored.last))
    }

    /// Returns the best count claimed about anybody.
    pub fn any_count(&self, what: ClaimWhat, of: ClaimOf) -> Option<(u64, &StoredClaim)> {
        let first = (what, of, Subject::Worker(WorkerId(0)), Arc::default(), None);
        let same = self.kept.range(first..).take_while(|(key, _)| (key.0, key.1) == (what, of));
        best_count(same.map(|(_, stored)| stored))
    }

    /// Returns the best count that is claimed for `model` by its name.
    pub fn count_of_model(&self, what: ClaimWhat, of: ClaimOf, model: &str) -> Option<u64> {
        let first: Key = (what, of, Subject::Worker(WorkerId(0)), Arc::default(), None);
        let same = self.kept.range(&first..).take_while(|(key, _)| (key.0, key.1) == (what, of));
        let same = same.map(|(_, stored)| stored);
        let own = same.filter(|stored| stored.claim.model.as_deref() == Some(model));
        best_count(own).map(|(count, _)| count)
    }

    /// Returns the best count claimed for `model`; for whichever, where claims name but one model.
    pub fn count_for(
        &self,
        what: ClaimWhat,
        of: ClaimOf,
        model: Option<&str>,
    ) -> Option<(u64, &StoredClaim)> {
        let first: Key = (what, of, Subject::Worker(WorkerId(0)), Arc::default(), None);
        let same = || {
            let rest = self.kept.range(&first..);
            let same = rest.take_while(|(key, _)| (key.0, key.1) == (what, of));
            same.map(|(_, stored)| stored)
        };
        let mut models = same().filter_map(|stored| stored.claim.model.as_deref());
        let named = models.next();
        let several = models.any(|other| Some(other) != named);
        let is_meant = |stored: &&StoredClaim| {
            !several || model.is_some() && stored.claim.model.as_deref() == model
        };
        best_count(same().filter(is_meant))
    }

    /// Returns the claims of the part `of` about `subject`.
    pub fn about(
        &self,
        what: ClaimWhat,
        of: ClaimOf,
        subject: &Subject,
    ) -> impl Iterator<Item = &StoredClaim> {
        let first = (what, of, subject.clone(), Arc::default(), None);
        let same = self
            .kept
            .range(first..)
            .take_while(move |(key, _)| (key.0, key.1) == (what, of) && key.2 == *subject);
        same.map(|(_, stored)| stored)
    }

    /// Returns the best text claimed about anybody.
    pub fn text(&self, what: ClaimWhat) -> Option<(&Arc<str>, &StoredClaim)> {
        self.of_kind(what)
            .filter_map(|stored| match &stored.claim.value {
                ClaimValue::Text(value) => Some((value, stored)),
                ClaimValue::Count(_) | ClaimValue::Flag(_) | ClaimValue::Millionths(_) => None,
            })
            .max_by_key(|(_, stored)| (stored.claim.basis, stored.last))
    }
}

fn best_count<'a>(claims: impl Iterator<Item = &'a StoredClaim>) -> Option<(u64, &'a StoredClaim)> {
    claims
        .filter_map(|stored| match stored.claim.value {
            ClaimValue::Count(value) => Some((value, stored)),
            ClaimValue::Text(_) | ClaimValue::Flag(_) | ClaimValue::Millionths(_) => None,
        })
        .max_by_key(|(_, stored)| (stored.claim.basis, stored.last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Basis;
    use crate::domain::Medium;

    fn claim(basis: Basis, source: &str, value: u64) -> Claim {
        Claim {
            what: ClaimWhat::BlockSize,
            of: ClaimOf::Engine,
            subject: Subject::Pod("p".into()),
            model: None,
            value: ClaimValue::Count(value),
            basis,
            source: source.into(),
            raw: "".into(),
            set_by: None,
            medium: Medium::Settings,
        }
    }

    fn engine(claims: &Claims) -> Option<u64> {
        let subjects = [Subject::Worker(WorkerId(1)), Subject::Pod("p".into())];
        let found = claims.count(ClaimWhat::BlockSize, ClaimOf::Engine, &subjects);
        found.map(|(value, _)| value)
    }

    #[test]
    fn what_a_process_says_wins_over_what_it_was_told_and_that_over_defaults() {
        let mut claims = Claims::default();
        claims.note(&claim(Basis::Observed, "log", 64), Timestamp(1));
        claims.note(&claim(Basis::Setting, "args", 16), Timestamp(2));
        claims.note(&claim(Basis::Default, "default", 32), Timestamp(3));

        assert_eq!(engine(&claims), Some(64));
    }

    #[test]
    fn of_several_models_each_has_its_own_size() {
        let of = |model: &str, value| Claim {
            of: ClaimOf::Router,
            model: Some(model.into()),
            ..claim(Basis::Observed, "metrics", value)
        };
        let mut claims = Claims::default();
        let size = |claims: &Claims, model| {
            let found = claims.count_for(ClaimWhat::BlockSize, ClaimOf::Router, model);
            found.map(|(value, _)| value)
        };

        claims.note(&of("a", 16), Timestamp(1));
        assert_eq!((size(&claims, None), size(&claims, Some("other"))), (Some(16), Some(16)));
        claims.note(&of("b", 32), Timestamp(1));
        assert_eq!((size(&claims, Some("a")), size(&claims, Some("b"))), (Some(16), Some(32)));
        assert_eq!((size(&claims, None), size(&claims, Some("other"))), (None, None));
    }

    #[test]
    fn new_claims_take_the_place_of_the_oldest() {
        let mut claims = Claims::default();
        for n in 0..=CLAIM_LIMIT as u64 {
            claims.note(&claim(Basis::Setting, &format!("pod {n}"), n), Timestamp(n));
        }

        let oldest = claims.all().map(|stored| stored.last).min();

        assert_eq!(oldest, Some(Timestamp(EVICTED_AT_ONCE as u64)));
        assert_eq!(claims.evicted(), EVICTED_AT_ONCE as u64);
        assert!(claims.all().any(|stored| stored.last == Timestamp(CLAIM_LIMIT as u64)));
    }

    #[test]
    fn a_doubted_claim_lives_on_only_when_it_is_made_again() {
        let mut claims = Claims::default();
        claims.note(&claim(Basis::Setting, "env", 16), Timestamp(1));
        claims.note(&claim(Basis::Setting, "args", 32), Timestamp(2));

        claims.doubt(|claim| claim.basis == Basis::Setting);
        claims.note(&claim(Basis::Setting, "env", 16), Timestamp(3));
        claims.drop_doubted();

        assert_eq!(claims.all().count(), 1);
        assert_eq!(claims.all().next().unwrap().first, Timestamp(1));
    }
}
