//! `[thresholds]` of the config file as the numbers that rules compare with. The file writes their names
//! with hyphens, as all of its keys.

use crate::cli::SourceArgs;
use crate::config::page::Threshold;
use crate::diagnose::{ThresholdError, Thresholds};

/// Returns the names.
pub(super) fn names() -> Vec<String> {
    Thresholds::KEYS.iter().map(|key| key.name.replace('_', "-")).collect()
}

/// Returns the entry of each threshold in the reference.
pub(super) fn listed() -> Vec<Threshold> {
    let about = |key: &crate::diagnose::Key| Threshold {
        name: key.name.replace('_', "-"),
        default: key.default().to_string(),
        unit: key.unit,
        meaning: key.meaning,
    };
    Thresholds::KEYS.iter().map(about).collect()
}

/// Sets one of them; returns why it cannot have that value.
pub(super) fn set(thresholds: &mut Thresholds, name: &str, text: &str) -> Result<(), String> {
    let value = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    thresholds.set(&name.replace('-', "_"), value).map_err(|error| match error {
        ThresholdError::Range { least, most, whole, .. } => {
            let kind = if whole { "a whole number" } else { "a number" };
            format!("`{text}` is not {kind} from {least} to {most}")
        }
        unknown @ ThresholdError::Unknown { .. } => unknown.to_string(),
    })
}

/// Returns the effective thresholds.
pub(super) fn chosen(source: &SourceArgs) -> Thresholds {
    let mut thresholds = Thresholds::default();
    for (name, text) in &source.thresholds {
        // Checked when the settings were read.
        drop(set(&mut thresholds, name, text));
    }
    thresholds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_threshold_can_be_set_to_its_default() {
        for Threshold { name, default, .. } in listed() {
            let mut thresholds = Thresholds::default();
            assert_eq!(set(&mut thresholds, &name, &default), Ok(()), "{name}");
            assert_eq!(thresholds, Thresholds::default(), "{name}");
        }
    }

    #[test]
    fn counts_are_whole_and_shares_may_be_written_without_a_point() {
        let mut thresholds = Thresholds::default();
        let why = set(&mut thresholds, "min-stores", "7.5").unwrap_err();
        assert!(why.contains("`7.5` is not a whole number from"), "{why}");
        assert_eq!(set(&mut thresholds, "gini", "1"), Ok(()));
        assert!((thresholds.gini - 1.0).abs() < f64::EPSILON);
        assert_eq!(set(&mut thresholds, "min-stores", "7"), Ok(()));
        assert_eq!(thresholds.min_stores, 7);
    }
}
