//! Counters of pods that count what passes through them: tokens, and blocks between tiers.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use crate::domain::GaugeName;

/// Most counters that are followed.
const LIMIT: usize = 65_536;

/// Moves of blocks between tiers: their counter, from where, and to where.
const MOVES: [(GaugeName, &str, &str); 7] = [
    (GaugeName::DeviceToHost, "device", "host"),
    (GaugeName::HostToDisk, "host", "disk"),
    (GaugeName::DeviceToDisk, "device", "disk"),
    (GaugeName::DeviceToObject, "device", "object"),
    (GaugeName::HostToDevice, "host", "device"),
    (GaugeName::DiskToDevice, "disk", "device"),
    (GaugeName::ObjectToDevice, "object", "device"),
];

/// Counters of tokens.
const TOKENS: [GaugeName; 3] =
    [GaugeName::OutputTokens, GaugeName::OutputTokenSum, GaugeName::InputTokenSum];

/// What passed through all pods since kvtop watches.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    last: BTreeMap<(Arc<str>, GaugeName), f64>,
    grown: BTreeMap<GaugeName, f64>,
}

impl Traffic {
    /// Takes in a counter of `pod`. What it counted before it was first seen is of another time.
    pub fn take(&mut self, pod: &Arc<str>, name: GaugeName, value: f64) {
        let moves = MOVES.iter().any(|(counter, ..)| *counter == name);
        if !(moves || TOKENS.contains(&name)) || value < 0.0 {
            return;
        }
        let known = self.last.len();
        let last = match self.last.entry((Arc::clone(pod), name)) {
            Entry::Vacant(_) if known >= LIMIT => return,
            Entry::Vacant(new) => *new.insert(value),
            Entry::Occupied(mut known) => known.insert(value),
        };
        // A counter that fell began again at zero with its process.
        let by = if value < last { value } else { value - last };
        *self.grown.entry(name).or_default() += by;
    }

    /// Returns the tokens of prompts; none where nobody counts them.
    pub fn prompt_tokens(&self) -> Option<f64> {
        self.grown(GaugeName::InputTokenSum)
    }

    /// Returns the tokens generated; of releases that do not count while they generate, those of complete answers.
    pub fn output_tokens(&self) -> Option<f64> {
        self.grown(GaugeName::OutputTokens).or_else(|| self.grown(GaugeName::OutputTokenSum))
    }

    /// Returns the blocks that were moved between tiers: from where, to where, and how many.
    pub fn moved(&self) -> impl Iterator<Item = (&'static str, &'static str, f64)> {
        MOVES.into_iter().filter_map(|(name, from, to)| Some((from, to, self.grown(name)?)))
    }

    fn grown(&self, name: GaugeName) -> Option<f64> {
        self.grown.get(&name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_pods_are_followed_from_when_they_are_first_seen() {
        let mut traffic = Traffic::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let name = GaugeName::OutputTokens;
        assert_eq!(traffic.grown(name), None);
        for (pod, value) in [(&a, 100.0), (&b, 50.0), (&a, 130.0), (&b, 10.0)] {
            traffic.take(pod, name, value);
        }
        // 30 more of the one, and 10 since the other began again.
        assert_eq!(traffic.grown(name), Some(40.0));
        assert_eq!(traffic.grown(GaugeName::DeviceToHost), None);
    }
}
