//! Workers that were refused to register.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{RegistrationRefused, Timestamp};

/// Most pods that are remembered.
const LIMIT: usize = 1024;

/// The last refusal of each pod.
#[derive(Debug, Default)]
pub struct Refused {
    pods: BTreeMap<Arc<str>, (RegistrationRefused, Timestamp)>,
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
}
