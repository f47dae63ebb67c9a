//! Workers that were refused: to register, or by routers.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{CardRefused, RegistrationRefused, SetMade, Timestamp, WorkerId};

/// Most pods that are remembered.
const LIMIT: usize = 1024;

/// The last refusal of each pod, and of each model card.
#[derive(Debug, Default)]
pub struct Refused {
    pods: BTreeMap<Arc<str>, (RegistrationRefused, Timestamp)>,
    cards: BTreeMap<(Arc<str>, Option<WorkerId>), (CardRefused, Timestamp)>,
    /// When each router last made each set of workers of each model.
    sets: BTreeMap<[Arc<str>; 3], Timestamp>,
}

impl Refused {
    /// Notes that a pod was refused at `at`.
    pub fn note(&mut self, refused: &RegistrationRefused, at: Timestamp) {
        if self.pods.len() < LIMIT || self.pods.contains_key(&refused.pod) {
            self.pods.insert(Arc::clone(&refused.pod), (refused.clone(), at));
        }
    }

    /// Returns the last refusal of each pod, with its time.
    pub fn all(&self) -> impl Iterator<Item = &(RegistrationRefused, Timestamp)> {
        self.pods.values()
    }

    /// Notes that a router refused a worker's model card at `at`.
    pub fn note_card(&mut self, refused: &CardRefused, at: Timestamp) {
        let key = (Arc::clone(&refused.router), refused.worker);
        if self.cards.len() < LIMIT || self.cards.contains_key(&key) {
            self.cards.insert(key, (refused.clone(), at));
        }
    }

    /// Returns the last refusal of each worker's model card by each router, with its time.
    pub fn cards(&self) -> impl Iterator<Item = &(CardRefused, Timestamp)> {
        self.cards.values()
    }

    /// Notes that a router made a set of workers at `at`.
    pub fn note_set(&mut self, made: &SetMade, at: Timestamp) {
        let key = [&made.router, &made.model, &made.set].map(Arc::clone);
        if self.sets.len() < LIMIT || self.sets.contains_key(&key) {
            let last = self.sets.entry(key).or_insert(at);
            *last = at.max(*last);
        }
    }

    /// Returns when the router of `refused` last made the set that the worker would have joined.
    pub fn made(&self, refused: &CardRefused) -> Option<Timestamp> {
        let set = refused.set.as_ref()?;
        self.sets.get(&[&refused.router, &refused.model, set].map(Arc::clone)).copied()
    }
}
