//! `[thresholds]` of the config file as the numbers that rules compare with.

use serde_json::{Map, Value};

use crate::cli::SourceArgs;
use crate::diagnose::Thresholds;

/// Returns every threshold by name.
fn table(thresholds: &Thresholds) -> Map<String, Value> {
    match serde_json::to_value(thresholds) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    }
}

/// Returns the names.
pub(super) fn names() -> Vec<String> {
    table(&Thresholds::default()).keys().cloned().collect()
}

/// Returns names and defaults.
pub(super) fn listed() -> Vec<(String, String)> {
    let table = table(&Thresholds::default());
    table.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// Sets one of them; returns why it cannot have that value.
pub(super) fn set(thresholds: &mut Thresholds, name: &str, text: &str) -> Result<(), String> {
    let wrong = || format!("`{text}` does not fit; it must be a whole number");
    let mut table = table(thresholds);
    let value = serde_json::from_str(text).map_err(|_| wrong())?;
    table.insert(name.to_owned(), value);
    *thresholds = serde_json::from_value(Value::Object(table)).map_err(|_| wrong())?;
    Ok(())
}

/// Returns what holds.
pub(super) fn of(source: &SourceArgs) -> Thresholds {
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
        for (name, text) in listed() {
            let mut thresholds = Thresholds::default();
            assert_eq!(set(&mut thresholds, &name, &text), Ok(()), "{name}");
            assert_eq!(thresholds, Thresholds::default(), "{name}");
        }
    }

    #[test]
    fn counts_are_whole_and_shares_may_be_written_without_a_point() {
        let mut thresholds = Thresholds::default();
        assert!(set(&mut thresholds, "min-stores", "0.5").is_err());
        assert_eq!(set(&mut thresholds, "gini", "1"), Ok(()));
        assert!((thresholds.gini - 1.0).abs() < f64::EPSILON);
        assert_eq!(set(&mut thresholds, "min-stores", "7"), Ok(()));
        assert_eq!(thresholds.min_stores, 7);
    }
}
