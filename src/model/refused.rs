//! Workers that were refused: to register, or by routers.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{CardRefused, RegistrationRefused, Timestamp, WorkerId};

/// Most pods that are remembered.
const LIMIT: usize = 1024;

/// The last refusal of each pod, and of each model card.
#[derive(Debug, Default)]
pub struct Refused {
    pods: BTreeMap<Arc<str>, (RegistrationRefused, Timestamp)>,
    cards: BTreeMap<(Arc<str>, Option<WorkerId>), (CardRefused, Timestamp)>,
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
}
