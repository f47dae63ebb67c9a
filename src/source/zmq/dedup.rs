//! With several brokers every message comes once from each; it is passed on once.
//!
//! Told apart by the second and third part, publisher and sequence, as subscribers of Dynamo do
//! (dynamo-runtime 1.6.1, `transports/event_plane/mod.rs:249`). Reads nothing else of a message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Numbers before the newest one that are told apart; what is older came before.
const WINDOW: u64 = 1024;

/// Publishers that are followed at most; messages of others all pass.
const PUBLISHERS: usize = 16_384;

/// Longest topic that is followed.
const TOPIC: usize = 512;

/// The messages of one publisher on one topic that were passed on.
struct Lane {
    /// Times that the publisher numbered from the start again.
    epoch: u64,
    newest: u64,
    /// One bit for each of the numbers up to the newest.
    seen: [u64; 16],
    /// By broker: the epoch that it is in, and its last number.
    brokers: HashMap<usize, (u64, u64)>,
}

impl Lane {
    fn new(sequence: u64) -> Self {
        let mut lane = Self { epoch: 0, newest: sequence, seen: [0; 16], brokers: HashMap::new() };
        lane.mark(sequence);
        lane
    }

    fn bit(sequence: u64) -> (usize, u64) {
        let place = sequence % WINDOW;
        (usize::try_from(place / 64).unwrap_or(0), 1 << (place % 64))
    }

    fn mark(&mut self, sequence: u64) {
        let (word, bit) = Self::bit(sequence);
        self.seen[word] |= bit;
    }

    /// Returns true when this is the first time that `sequence` came.
    fn passes(&mut self, broker: usize, sequence: u64) -> bool {
        let (epoch, last) = self.brokers.get(&broker).copied().unwrap_or((self.epoch, 0));
        let known = self.brokers.contains_key(&broker);
        // A broker keeps the order: numbers that fall are a publisher that started again.
        let epoch = if known && sequence <= last { epoch + 1 } else { epoch };
        self.brokers.insert(broker, (epoch, sequence));
        if epoch > self.epoch {
            (self.epoch, self.newest, self.seen) = (epoch, sequence, [0; 16]);
            self.mark(sequence);
            return true;
        }
        if epoch < self.epoch {
            return false;
        }
        if sequence > self.newest {
            let steps = (sequence - self.newest).min(WINDOW);
            for step in 0..steps {
                let (word, bit) = Self::bit(sequence - step);
                self.seen[word] &= !bit;
            }
            self.newest = sequence;
        } else if self.newest - sequence >= WINDOW {
            return false;
        }
        let (word, bit) = Self::bit(sequence);
        let fresh = self.seen[word] & bit == 0;
        self.mark(sequence);
        fresh
    }
}

/// The messages that passed, of all publishers behind one set of brokers. Shared by their connections, which
/// all run on one thread.
#[derive(Default)]
pub(super) struct Shared(Mutex<HashMap<(Bytes, u64), Lane>>);

/// One broker's view of what passed.
pub(super) struct Filter {
    pub(super) shared: Arc<Shared>,
    pub(super) broker: usize,
}

impl Filter {
    /// Returns a view for a new connection to the same broker.
    pub(super) fn fresh(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), broker: self.broker }
    }

    /// Returns true for the first of equal messages, and for what is no message of Dynamo.
    pub(super) fn passes(&mut self, parts: &[Bytes]) -> bool {
        let [topic, publisher, sequence, ..] = parts else { return true };
        let number = |part: &Bytes| part.as_ref().try_into().map(u64::from_be_bytes);
        let (Ok(publisher), Ok(sequence)) = (number(publisher), number(sequence)) else {
            return true;
        };
        if topic.len() > TOPIC {
            return true;
        }
        let mut lanes = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = lanes.len() >= PUBLISHERS;
        // Looked up with a view of the message; only a new key is copied out of it.
        if let Some(lane) = lanes.get_mut(&(topic.clone(), publisher)) {
            return lane.passes(self.broker, sequence);
        }
        if !full {
            let mut lane = Lane::new(sequence);
            lane.brokers.insert(self.broker, (0, sequence));
            lanes.insert((Bytes::copy_from_slice(topic), publisher), lane);
        }
        true
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // After a new connection the broker may be anywhere. Publishers that nobody else passes on
        // are forgotten, so that one which numbers from the start again is heard.
        let mut lanes = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|_, lane| {
            lane.brokers.remove(&self.broker);
            !lane.brokers.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters() -> [Filter; 2] {
        let shared = Arc::<Shared>::default();
        [0, 1].map(|broker| Filter { shared: Arc::clone(&shared), broker })
    }

    fn passed(filters: &mut [Filter; 2], messages: &[(usize, u64)]) -> Vec<u64> {
        let mut passed = Vec::new();
        for (broker, sequence) in messages {
            let number = |value: u64| Bytes::copy_from_slice(&value.to_be_bytes());
            let parts = [Bytes::from_static(b"kv-events"), number(7), number(*sequence)];
            if filters[*broker].passes(&parts) {
                passed.push(*sequence);
            }
        }
        passed
    }

    #[test]
    fn each_message_passes_once_and_what_one_broker_lost_comes_from_the_other() {
        let mut both = filters();
        let messages = [(0, 3), (1, 3), (0, 4), (0, 7), (1, 4), (1, 5), (1, 6), (1, 7), (1, 8)];
        assert_eq!(passed(&mut both, &messages), [3, 4, 7, 5, 6, 8]);
    }

    #[test]
    fn a_publisher_that_starts_again_under_its_id_is_heard() {
        let mut both = filters();
        let messages = [(0, 8), (1, 8), (0, 9), (0, 0), (0, 1), (1, 9), (1, 0), (1, 1), (1, 2)];
        assert_eq!(passed(&mut both, &messages), [8, 9, 0, 1, 2]);
    }

    #[test]
    fn leaps_and_what_is_long_past_are_told_apart() {
        let mut both = filters();
        let messages = [(0, 5), (0, 5_000), (1, 5), (1, 4_990), (1, 5_000), (1, 5_001)];
        assert_eq!(passed(&mut both, &messages), [5, 5_000, 4_990, 5_001]);
    }

    #[test]
    fn a_publisher_of_its_own_that_was_lost_may_start_again() {
        let mut both = filters();
        assert_eq!(passed(&mut both, &[(0, 5), (0, 6)]), [5, 6]);
        both[0] = both[0].fresh();
        assert_eq!(passed(&mut both, &[(0, 0), (0, 5)]), [0, 5]);
    }

    #[test]
    fn what_is_no_message_of_dynamo_is_left_to_the_decoder() {
        let mut both = filters();
        let odd = [Bytes::from_static(b"kv-events"), Bytes::from_static(b"x"), Bytes::new()];
        assert!(both[0].passes(&odd) && both[1].passes(&odd) && both[0].passes(&[]));
    }
}
