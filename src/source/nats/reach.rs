//! Detects that history reaches the live messages of a subscription.
//!
//! A server looks for subscribers first and stores a little later; how much later depends on its
//! load. So a message published just before a subscription is not live, and for a while no read of
//! the stream finds it either. What is live is therefore held until the stream holds it too: then it
//! holds all that came before.

use std::collections::{HashMap, HashSet};

use super::join::Lane;

/// Requests to a stream for live messages that it should hold. One that it never stores
/// holds up the others for so long.
pub(super) const LOOKS: u32 = 40;

/// The state of one subscription.
#[derive(Debug, Default)]
pub(super) struct Reach {
    proven: bool,
    /// Lanes of which no live message has been found, once there was one.
    due: Option<HashSet<Lane>>,
    looks: u32,
}

impl Reach {
    /// Returns that of a subscription with nothing to prove.
    pub(super) fn proven() -> Self {
        Self { proven: true, ..Self::default() }
    }

    /// Returns true once a live message may be passed on without a look at the stream.
    pub(super) const fn is_proven(&self) -> bool {
        self.proven
    }

    /// Returns true when history and live messages may be joined, given how many live messages of
    /// each lane history holds.
    ///
    /// With none there is nothing to get out of order. Lanes that are seen later owe nothing, so
    /// that this ends: one stream stores all lanes in one order.
    pub(super) fn joins(&mut self, read: &HashMap<Lane, Vec<bool>>) -> bool {
        if self.proven || read.is_empty() {
            return true;
        }
        let due = self.due.get_or_insert_with(|| read.keys().copied().collect());
        due.retain(|lane| !read.get(lane).is_some_and(|read| read.contains(&true)));
        self.looks += 1;
        self.proven = due.is_empty() || self.looks >= LOOKS;
        self.proven
    }
}
