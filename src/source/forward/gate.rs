//! Admits requests to the API server by its earlier answers. Pure.
//!
//! A right belongs to a namespace. While nobody knows whether it is there, one asks and the others
//! wait; when it is not, nobody asks again before a minute has passed.

use crate::domain::Reason;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Time for which a refusal is remembered.
pub(super) const BELIEVED: Duration = Duration::from_secs(60);

/// The purpose of a right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) namespace: Arc<str>,
    /// Services need more rights than pods.
    pub(super) service: bool,
}

/// The next step of a caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn<T> {
    /// Ask, and say how it went with [`Gate::decide`].
    Ask(T),
    /// Nothing; the gate keeps it until somebody else's answer is there.
    Waits,
    /// Give up: the right is missing.
    Refused(T, Reason),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted,
    Refused(Reason),
    /// It failed for another reason.
    Unknown,
}

#[derive(Debug)]
enum Right<T> {
    Asking(Vec<T>),
    Granted,
    Refused { at: Instant, why: Reason },
}

/// The rights as far as they are known.
#[derive(Debug)]
pub(super) struct Gate<T> {
    rights: HashMap<Key, Right<T>>,
}

impl<T> Gate<T> {
    pub(super) fn new() -> Self {
        Self { rights: HashMap::new() }
    }

    /// Returns what whoever wants `item` should do.
    pub(super) fn ask(&mut self, key: &Key, now: Instant, item: T) -> Turn<T> {
        match self.rights.get_mut(key) {
            Some(Right::Granted) => Turn::Ask(item),
            Some(Right::Asking(waiting)) => {
                waiting.push(item);
                Turn::Waits
            }
            Some(Right::Refused { at, why }) if now.duration_since(*at) < BELIEVED => {
                Turn::Refused(item, why.clone())
            }
            Some(Right::Refused { .. }) | None => {
                self.rights.insert(key.clone(), Right::Asking(Vec::new()));
                Turn::Ask(item)
            }
        }
    }

    /// Takes note of an answer, and returns those who waited for it; they ask again.
    pub(super) fn decide(&mut self, key: &Key, now: Instant, answer: Answer) -> Vec<T> {
        let right = match answer {
            Answer::Granted => Some(Right::Granted),
            Answer::Refused(why) => Some(Right::Refused { at: now, why }),
            // A failure of one who may ask says nothing of the right.
            Answer::Unknown if matches!(self.rights.get(key), Some(Right::Granted)) => {
                Some(Right::Granted)
            }
            Answer::Unknown => None,
        };
        let before = match right {
            Some(right) => self.rights.insert(key.clone(), right),
            None => self.rights.remove(key),
        };
        match before {
            Some(Right::Asking(waiting)) => waiting,
            Some(Right::Granted | Right::Refused { .. }) | None => Vec::new(),
        }
    }

    /// Returns a missing right, and how long until it is asked for again.
    pub(super) fn refusal(&self, now: Instant) -> Option<(&Reason, Duration)> {
        self.rights.values().find_map(|right| match right {
            Right::Refused { at, why } => {
                let left = BELIEVED.saturating_sub(now.duration_since(*at));
                (!left.is_zero()).then_some((why, left))
            }
            Right::Asking(_) | Right::Granted => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str) -> Key {
        Key { namespace: namespace.into(), service: false }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_believed_for_a_minute_and_then_one_asks_again() {
        let mut gate = Gate::new();
        let start = Instant::now();
        assert_eq!(gate.ask(&key("a"), start, 1), Turn::Ask(1));
        assert_eq!(gate.ask(&key("a"), start, 2), Turn::Waits);
        assert_eq!(gate.decide(&key("a"), start, Answer::Refused("no".into())), [2]);
        let soon = start + Duration::from_secs(59);
        assert_eq!(gate.ask(&key("a"), soon, 3), Turn::Refused(3, "no".into()));
        assert_eq!(gate.refusal(soon), Some((&Reason::from("no"), Duration::from_secs(1))));
        let later = start + BELIEVED;
        assert_eq!(gate.ask(&key("a"), later, 4), Turn::Ask(4));
        assert_eq!(gate.ask(&key("a"), later, 5), Turn::Waits);
        assert_eq!(gate.decide(&key("a"), later, Answer::Granted), [5]);
        assert_eq!(gate.ask(&key("a"), later, 6), Turn::Ask(6));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_lets_the_next_one_ask_and_does_not_take_a_right_away() {
        let mut gate = Gate::new();
        let now = Instant::now();
        assert_eq!(gate.ask(&key("a"), now, 1), Turn::Ask(1));
        assert_eq!(gate.ask(&key("a"), now, 2), Turn::Waits);
        assert_eq!(gate.decide(&key("a"), now, Answer::Unknown), [2]);
        assert_eq!(gate.ask(&key("a"), now, 2), Turn::Ask(2));
        assert_eq!(gate.decide(&key("a"), now, Answer::Granted), [0; 0]);
        assert_eq!(gate.decide(&key("a"), now, Answer::Unknown), [0; 0]);
        assert_eq!(gate.ask(&key("a"), now, 3), Turn::Ask(3));
        assert_eq!(gate.ask(&key("b"), now, 4), Turn::Ask(4));
    }
}
