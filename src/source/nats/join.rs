//! Joins a stream's history with its live messages, without gaps or duplicates.
//!
//! Pure. A message of a core subscription carries no sequence number, so stored and live messages
//! are recognised by their payloads, per worker and rank: NATS keeps the order of one publisher, and
//! only that. Equal payloads do recur, therefore the order is compared and not a set.

use std::collections::HashMap;

/// The publisher of a message: worker id and dp rank, as far as they can be seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    worker: u64,
    dp_rank: u64,
}

/// The digest by which a payload is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mark(pub(super) u64);

impl Mark {
    /// Returns the mark of `payload`.
    pub(super) fn new(payload: &[u8]) -> Self {
        Self(xxhash_rust::xxh3::xxh3_64(payload))
    }
}

impl Lane {
    /// Returns the lane of the KV event `payload`.
    ///
    /// Looks for two numbers in the bytes and decodes nothing: the lane only serves to recognise
    /// messages. What does not look like an event shares one lane, in which order is kept as well.
    pub(super) fn new(payload: &[u8]) -> Self {
        let worker = number_after(payload, b"\"worker_id\":", Side::Front).unwrap_or_default();
        let dp_rank = number_after(payload, b"\"dp_rank\":", Side::Back).unwrap_or_default();
        Self { worker, dp_rank }
    }
}

/// From where a key is looked for: an event starts with its worker and ends with its rank.
#[derive(Clone, Copy)]
enum Side {
    Front,
    Back,
}

fn number_after(payload: &[u8], key: &[u8], side: Side) -> Option<u64> {
    let mut windows = payload.windows(key.len());
    let at = match side {
        Side::Front => windows.position(|window| window == key),
        Side::Back => windows.rposition(|window| window == key),
    }?;
    let digits = payload[at + key.len()..].iter().skip_while(|byte| **byte == b' ');
    let mut number = None;
    for digit in digits.take_while(|byte| byte.is_ascii_digit()) {
        let so_far: u64 = number.unwrap_or_default();
        number = Some(so_far.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?);
    }
    number
}

/// Returns the length of the longest suffix of `history` that equals a prefix of `live`.
///
/// That many messages at the start of `live` have been read from the stream already. Linear in both
/// (Knuth, Morris and Pratt's automaton of `live`, run over the end of `history`).
pub(super) fn overlap(history: &[Mark], live: &[Mark]) -> usize {
    if live.is_empty() {
        return 0;
    }
    let fallback = fallbacks(live);
    let mut matched = 0;
    for mark in &history[history.len().saturating_sub(live.len())..] {
        if matched == live.len() {
            matched = fallback[matched - 1];
        }
        while matched > 0 && live[matched] != *mark {
            matched = fallback[matched - 1];
        }
        if live[matched] == *mark {
            matched += 1;
        }
    }
    matched
}

/// Returns, for each prefix of `pattern`, the length of its longest border.
fn fallbacks(pattern: &[Mark]) -> Vec<usize> {
    let mut fallback = vec![0; pattern.len()];
    let mut border = 0;
    for at in 1..pattern.len() {
        while border > 0 && pattern[border] != pattern[at] {
            border = fallback[border - 1];
        }
        if pattern[border] == pattern[at] {
            border += 1;
        }
        fallback[at] = border;
    }
    fallback
}

/// Comparison of one lane's live messages with its stored ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Alignment {
    /// For each stored message, whether it was delivered.
    pub(super) delivered: Vec<bool>,
    /// For each delivered message, whether it is stored.
    pub(super) stored: Vec<bool>,
    /// Number of delivered messages at the end that are not stored (yet).
    pub(super) not_stored: usize,
}

/// Aligns `sent`, delivered live in this order, with `stored`, what the stream has since then.
///
/// A message that was delivered and does not occur in the rest of the stream was never stored (the
/// server went down in between) and is passed over.
pub(super) fn align(sent: &[Mark], stored: &[Mark]) -> Alignment {
    let mut ahead: HashMap<Mark, usize> = HashMap::new();
    for mark in stored {
        *ahead.entry(*mark).or_default() += 1;
    }
    let mut delivered = Vec::with_capacity(stored.len());
    let mut found = vec![false; sent.len()];
    let (mut next, mut after_last_match) = (0, 0);
    for mark in stored {
        while next < sent.len() && ahead.get(&sent[next]).is_none_or(|count| *count == 0) {
            next += 1;
        }
        let matches = sent.get(next) == Some(mark);
        if matches {
            found[next] = true;
            next += 1;
            after_last_match = next;
        }
        delivered.push(matches);
        if let Some(count) = ahead.get_mut(mark) {
            *count -= 1;
        }
    }
    Alignment { delivered, stored: found, not_stored: sent.len() - after_last_match }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marks(text: &str) -> Vec<Mark> {
        text.bytes().map(|byte| Mark(u64::from(byte))).collect()
    }

    #[test]
    fn the_overlap_is_the_longest_suffix_that_is_a_prefix() {
        let table = [
            ("", "", 0),
            ("abc", "", 0),
            ("", "abc", 0),
            ("abc", "cde", 1),
            ("abc", "abc", 3),
            ("abcabc", "abcx", 3),
            ("abc", "bcd", 2),
            ("abc", "xbc", 0),
            ("aaa", "aa", 2),
            ("aa", "aaaa", 2),
            ("xab", "abab", 2),
            ("xabab", "ababab", 4),
        ];
        for (history, live, expected) in table {
            assert_eq!(overlap(&marks(history), &marks(live)), expected, "{history} | {live}");
        }
    }

    #[test]
    fn what_was_delivered_is_recognised_in_order_and_what_was_missed_is_not() {
        let table: [(&str, &str, &[bool], usize); 8] = [
            ("", "ab", &[false, false], 0),
            ("ab", "ab", &[true, true], 0),
            ("ac", "abc", &[true, false, true], 0),
            ("bca", "abca", &[false, true, true, true], 0),
            ("axb", "ab", &[true, true], 0),
            ("abx", "ab", &[true, true], 1),
            ("xy", "ab", &[false, false], 2),
            ("aa", "aaa", &[true, true, false], 0),
        ];
        for (sent, stored, delivered, not_stored) in table {
            let found = align(&marks(sent), &marks(stored));
            let seen = (found.delivered.as_slice(), found.not_stored);
            assert_eq!(seen, (delivered, not_stored), "{sent} | {stored}");
            let matched = |flags: &[bool]| flags.iter().filter(|it| **it).count();
            assert_eq!(matched(&found.stored), matched(delivered), "{sent} | {stored}");
        }
    }

    #[test]
    fn a_lane_is_read_from_the_bytes_of_an_event() {
        let table: [(&str, u64, u64); 5] = [
            (
                r#"{"worker_id":17311721292689259968,"event":{"dp_rank":3}}"#,
                17_311_721_292_689_259_968,
                3,
            ),
            (r#"{"worker_id": 7, "event": {"dp_rank": 1}}"#, 7, 1),
            (r#"{"worker_id":7}"#, 7, 0),
            (r#"{"worker_id":99999999999999999999999}"#, 0, 0),
            ("", 0, 0),
        ];
        for (payload, worker, dp_rank) in table {
            assert_eq!(Lane::new(payload.as_bytes()), Lane { worker, dp_rank }, "{payload}");
        }
    }

    fn letters(longest: usize) -> impl Strategy<Value = Vec<Mark>> {
        prop::collection::vec((0..3_u64).prop_map(Mark), 0..longest)
    }

    proptest! {
        #[test]
        fn the_overlap_equals_that_of_the_naive_search(history in letters(12), live in letters(12)) {
            let naive = (0..=history.len().min(live.len()))
                .rev()
                .find(|length| history.ends_with(&live[..*length]))
                .unwrap_or_default();
            prop_assert_eq!(overlap(&history, &live), naive);
        }

        #[test]
        fn joining_distinct_messages_loses_none_and_doubles_none(
            total in 0..60_usize, read in 0..60_usize, subscribed in 0..60_usize,
        ) {
            let all: Vec<Mark> = (0..total as u64).map(Mark).collect();
            let history = &all[..read.min(total)];
            let live = &all[subscribed.min(history.len())..];
            let mut joined = history.to_vec();
            joined.extend(&live[overlap(history, live)..]);
            prop_assert_eq!(joined, all);
        }

        #[test]
        fn a_refill_restores_exactly_what_was_lost(stored in letters(24), kept in any::<u32>()) {
            let sent: Vec<Mark> = stored.iter().enumerate()
                .filter(|(at, _)| kept >> at & 1 == 1).map(|(_, mark)| *mark).collect();
            let aligned = align(&sent, &stored);
            let mut all = sent.clone();
            all.extend(stored.iter().zip(&aligned.delivered).filter(|(_, done)| !**done).map(|(mark, _)| *mark));
            let mut expected = stored.clone();
            all.sort_by_key(|mark| mark.0);
            expected.sort_by_key(|mark| mark.0);
            prop_assert_eq!(all, expected);
            prop_assert_eq!(aligned.not_stored, 0);
        }

        #[test]
        fn any_bytes_have_a_lane(payload in prop::collection::vec(any::<u8>(), 0..64)) {
            let _lane = Lane::new(&payload);
        }
    }
}
