//! Claims about settings, each kept with its source, time and raw text.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{Claim, ClaimOf, ClaimValue, ClaimWhat, Subject, Timestamp, WorkerId};

/// Most claims that are kept.
const CLAIM_LIMIT: usize = 4096;

/// A claim with when it was first and last made.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredClaim {
    /// The claim.
    pub claim: Claim,
    /// When it was made first, with this value.
    pub first: Timestamp,
    /// When it was made last.
    pub last: Timestamp,
}

type Key = (ClaimWhat, ClaimOf, Subject, Arc<str>);

/// Every claim; a later one of the same source about the same thing replaces the earlier.
#[derive(Debug, Default)]
pub struct Claims {
    claims: BTreeMap<Key, StoredClaim>,
}

impl Claims {
    /// Notes a claim made at `at`.
    pub fn note(&mut self, claim: &Claim, at: Timestamp) {
        let key = (claim.what, claim.of, claim.subject.clone(), Arc::clone(&claim.source));
        let full = self.claims.len() >= CLAIM_LIMIT;
        match self.claims.get_mut(&key) {
            Some(known) if known.claim.value == claim.value => known.last = at,
            Some(known) => *known = StoredClaim { claim: claim.clone(), first: at, last: at },
            None if full => {}
            None => {
                let stored = StoredClaim { claim: claim.clone(), first: at, last: at };
                self.claims.insert(key, stored);
            }
        }
    }

    /// Returns every claim, ordered by what it is about.
    pub fn all(&self) -> impl Iterator<Item = &StoredClaim> {
        self.claims.values()
    }

    /// Returns the newest count claimed about `worker`, or about its pod.
    pub fn count(
        &self,
        what: ClaimWhat,
        of: ClaimOf,
        worker: WorkerId,
        pod: Option<&str>,
    ) -> Option<(u64, &StoredClaim)> {
        let about = |subject: &Subject| match subject {
            Subject::Worker(id) => *id == worker,
            Subject::Pod(name) => pod == Some(name.as_ref()),
            Subject::Deployment => true,
        };
        self.newest(what, of, about)
    }

    /// Returns the newest count claimed about anybody.
    pub fn any_count(&self, what: ClaimWhat, of: ClaimOf) -> Option<(u64, &StoredClaim)> {
        self.newest(what, of, |_| true)
    }

    fn newest(
        &self,
        what: ClaimWhat,
        of: ClaimOf,
        about: impl Fn(&Subject) -> bool,
    ) -> Option<(u64, &StoredClaim)> {
        self.claims
            .values()
            .filter(|stored| stored.claim.what == what && stored.claim.of == of)
            .filter(|stored| about(&stored.claim.subject))
            .filter_map(|stored| match stored.claim.value {
                ClaimValue::Count(value) => Some((value, stored)),
                ClaimValue::Text(_) => None,
            })
            .max_by_key(|(_, stored)| stored.last)
    }

    /// Returns the newest text claimed about anybody.
    pub fn text(&self, what: ClaimWhat) -> Option<(&Arc<str>, &StoredClaim)> {
        self.claims
            .values()
            .filter(|stored| stored.claim.what == what)
            .filter_map(|stored| match &stored.claim.value {
                ClaimValue::Text(value) => Some((value, stored)),
                ClaimValue::Count(_) => None,
            })
            .max_by_key(|(_, stored)| stored.last)
    }
}
