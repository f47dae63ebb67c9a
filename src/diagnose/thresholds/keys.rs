//! The names of the thresholds, for configuration files and documentation.

use super::Thresholds;

/// One threshold.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name, which is that of its field.
    pub name: &'static str,
    /// Its unit: `count`, `seconds`, `share` (0 to 1) or `factor`.
    pub unit: &'static str,
    /// The smallest value that makes sense.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Its meaning.
    pub meaning: &'static str,
    get: fn(&Thresholds) -> f64,
    set: fn(&mut Thresholds, f64),
}

/// A setting that is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum ThresholdError {
    /// There is none of this name.
    Unknown {
        /// The name.
        name: String,
        /// The name that is most like it.
        nearest: &'static str,
    },
    /// The value makes no sense.
    Range {
        /// The threshold.
        name: &'static str,
        /// The value.
        value: f64,
        /// The smallest that does.
        least: f64,
        /// The largest.
        most: f64,
        /// True when it must be a whole number.
        whole: bool,
    },
}

impl std::fmt::Display for ThresholdError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown { name, nearest } => {
                write!(out, "unknown threshold `{name}`; did you mean `{nearest}`?")
            }
            Self::Range { name, value, least, most, whole } => {
                let kind = if *whole { "a whole number" } else { "a number" };
                write!(out, "`{name}` is {value}; it must be {kind} from {least} to {most}")
            }
        }
    }
}

impl std::error::Error for ThresholdError {}

impl Key {
    /// Returns the default value.
    pub fn default(&self) -> f64 {
        (self.get)(&Thresholds::default())
    }

    /// Returns the value in `thresholds`.
    pub fn value(&self, thresholds: &Thresholds) -> f64 {
        (self.get)(thresholds)
    }
}

macro_rules! count {
    ($name:ident, $unit:literal, $least:literal, $meaning:literal) => {
        Key {
            name: stringify!($name),
            unit: $unit,
            least: $least,
            most: 1e9,
            meaning: $meaning,
            get: |thresholds| thresholds.$name as f64,
            set: |thresholds, value| thresholds.$name = whole(value),
        }
    };
}

macro_rules! number {
    ($name:ident, $unit:literal, $least:literal, $most:literal, $meaning:literal) => {
        Key {
            name: stringify!($name),
            unit: $unit,
            least: $least,
            most: $most,
            meaning: $meaning,
            get: |thresholds| thresholds.$name,
            set: |thresholds, value| thresholds.$name = value,
        }
    };
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: 0 to 1e9")]
fn whole(value: f64) -> u64 {
    value as u64
}

impl Thresholds {
    /// Every threshold.
    pub const KEYS: &[Key] = &[
        count!(min_stores, "count", 1.0, "Store events needed before their share is judged."),
        number!(
            empty_share,
            "share",
            0.0,
            1.0,
            "Share of empty store events above which a publisher rejects its engine's blocks."
        ),
        number!(
            empty_share_well,
            "share",
            0.0,
            1.0,
            "Share of empty store events below which a publisher is healthy."
        ),
        count!(
            min_removals,
            "count",
            1.0,
            "Removals, all of unknown blocks, that prove missing store events."
        ),
        count!(min_routed_removals, "count", 1.0, "Requests that must have been routed for this."),
        count!(
            min_blind,
            "count",
            1.0,
            "Requests without a cache hit that prove a router finds no blocks."
        ),
        count!(min_held, "count", 1.0, "Blocks that workers must hold for this."),
        count!(min_reuse, "count", 1.0, "Store events that must show prefix reuse for this."),
        count!(
            min_parent_warnings,
            "count",
            1.0,
            "Warnings about unknown parents that prove a router without \
                                                   history."
        ),
        count!(
            min_lengths,
            "count",
            1.0,
            "Prompts of known length after which the publisher's block size counts as unknown."
        ),
        number!(
            all_share,
            "share",
            0.0,
            1.0,
            "Least share of rejected stores that a cause must explain if history or events are incomplete."
        ),
        count!(
            min_silent_routed,
            "count",
            1.0,
            "Requests that a silent worker must have received."
        ),
        count!(min_silent_routed_unseen, "count", 1.0, "The same if no router logs cache hits."),
        count!(
            min_decisions,
            "count",
            1.0,
            "Decisions needed to judge load balance and worker choice."
        ),
        count!(
            settle_seconds,
            "seconds",
            0.0,
            "Seconds after a worker joined or left before workers are compared."
        ),
        number!(
            loss_share,
            "share",
            0.0,
            1.0,
            "Share of rejected stores above which events or history count as lost."
        ),
        number!(
            gap_share,
            "share",
            0.0,
            1.0,
            "Share of missing messages above which events count as lost."
        ),
        number!(
            return_share,
            "share",
            0.0,
            1.0,
            "Share of stored blocks that had been evicted within the previous 10 minutes."
        ),
        count!(min_sampled, "count", 1.0, "Sampled blocks needed to judge this share."),
        number!(
            pressure,
            "share",
            0.0,
            1.0,
            "KV utilization above which a worker is under pressure, 0 to 1."
        ),
        number!(gini, "share", 0.0, 1.0, "Inequality of requests between workers (Gini), 0 to 1."),
        number!(regret, "share", 0.0, 1.0, "Share of cached blocks ignored because of load."),
        number!(
            forgone,
            "share",
            0.0,
            1.0,
            "Share of cached blocks ignored that the default weight would have used."
        ),
        number!(phantom, "factor", 1.0, 10.0, "Factor by which a rank may exceed its capacity."),
        count!(
            min_decode_failed,
            "count",
            1.0,
            "Log lines of workers that cannot decode their engines' events."
        ),
        count!(min_unreadable, "count", 1.0, "Messages that cannot be decoded."),
        number!(unreadable_share, "share", 0.0, 1.0, "Share of messages that cannot be decoded."),
        count!(
            unreached_seconds,
            "seconds",
            1.0,
            "Seconds for which a publisher must be unreachable from kvtop."
        ),
        number!(
            tail,
            "factor",
            1.0,
            100.0,
            "Ratio of the 95th percentile to the median of the time to first token above which a few requests \
             wait long."
        ),
        count!(min_timed, "count", 1.0, "Requests needed to judge latency percentiles."),
    ];

    /// Sets the threshold called `name`.
    ///
    /// # Errors
    ///
    /// An unknown name, or a value that makes no sense for it; nothing is set then.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), ThresholdError> {
        let Some(key) = Self::KEYS.iter().find(|key| key.name == name) else {
            let nearest = Self::KEYS.iter().min_by_key(|key| distance(key.name, name));
            let nearest = nearest.map_or("", |key| key.name);
            return Err(ThresholdError::Unknown { name: name.to_owned(), nearest });
        };
        let (name, least, most) = (key.name, key.least, key.most);
        let whole = ["count", "seconds"].contains(&key.unit);
        if !(least..=most).contains(&value) || (whole && value.fract() != 0.0) {
            return Err(ThresholdError::Range { name, value, least, most, whole });
        }
        (key.set)(self, value);
        Ok(())
    }

    /// Returns the defaults with what `table` sets.
    ///
    /// # Errors
    ///
    /// Everything that is refused, in the table's order.
    pub fn from_table<'a>(
        table: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<Self, Vec<ThresholdError>> {
        let mut thresholds = Self::default();
        let set = table.into_iter().filter_map(|(name, value)| thresholds.set(name, value).err());
        let refused: Vec<ThresholdError> = set.collect();
        if refused.is_empty() { Ok(thresholds) } else { Err(refused) }
    }
}

/// Returns how many letters differ between two names (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, wanted) in other.iter().enumerate() {
            let same = diagonal + usize::from(letter != *wanted);
            diagonal = row[column + 1];
            row[column + 1] = same.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_can_be_set_and_has_a_default_within_its_range() {
        for key in Thresholds::KEYS {
            let mut thresholds = Thresholds::default();
            thresholds.set(key.name, key.most).unwrap();

            assert!((key.value(&thresholds) - key.most).abs() < 1e-9, "{}", key.name);
            assert!((key.least..=key.most).contains(&key.default()), "{}", key.name);
            assert!(key.meaning.ends_with('.'), "{}", key.name);
        }
        // As many as there are fields of eight bytes.
        assert_eq!(Thresholds::KEYS.len(), size_of::<Thresholds>() / 8);
    }

    #[test]
    fn what_is_unknown_or_out_of_range_is_refused_with_a_hint() {
        let table = [("gini", 0.5), ("min_store", 5.0), ("pressure", 95.0), ("min_held", 2.5)];

        let refused = Thresholds::from_table(table).unwrap_err();

        let said: Vec<String> = refused.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "unknown threshold `min_store`; did you mean `min_stores`?",
                "`pressure` is 95; it must be a number from 0 to 1",
                "`min_held` is 2.5; it must be a whole number from 1 to 1000000000",
            ]
        );
        let set = Thresholds::from_table([("gini", 0.5)]).unwrap();
        assert_eq!(set, Thresholds { gini: 0.5, ..Thresholds::default() });
        assert!(Thresholds::from_table([("gini", f64::NAN)]).is_err());
    }
}
