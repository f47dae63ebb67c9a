//! Proves corrections: applies them to a copy of the files, judges it again, and keeps those that remove their faults.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;

use super::checks::NOT_KNOWN;
use super::edit::applied;
use super::place::{Text, line_starts};
use super::{Flaw, Source, Verdicts, search};
use crate::domain::Severity;

/// Files are judged again at most this often, and fewer times the larger they are.
const TRIALS: (usize, usize) = (8, 64);

/// Bytes that are judged again at most, as far as [`TRIALS`] allows.
const BYTES: usize = 8 << 20;

/// Said where a correction does not remove its fault.
const UNPROVEN: &str =
    " No corrected lines are printed: with them, the finding stayed or a new one appeared.";

/// Said where there were too many corrections to prove each.
const UNTESTED: &str =
    " No corrected lines are printed: they could not be tested beside faulty corrections.";

/// The faults of each kind in a deployment, those of them that a correction must not bring, and the documents that
/// cannot be read.
#[derive(Debug)]
struct Faults {
    flaws: BTreeMap<Key, usize>,
    grave: BTreeMap<Key, usize>,
    unreadable: usize,
}

/// The id of a fault, and its deployment.
type Key = (&'static str, String);

impl Faults {
    fn of(found: &Verdicts) -> Self {
        let counts = |of: &mut dyn FnMut(&&Flaw) -> bool| {
            let mut counts: BTreeMap<Key, usize> = BTreeMap::new();
            for flaw in found.flaws.iter().filter(of) {
                *counts.entry(key(flaw)).or_default() += 1;
            }
            counts
        };
        Self {
            flaws: counts(&mut |_| true),
            // Lesser ones may have been hidden behind the fault that is gone.
            grave: counts(&mut |flaw| {
                flaw.severity == Severity::Critical || flaw.id == NOT_KNOWN.id
            }),
            unreadable: found.unreadable.len(),
        }
    }
}

fn count(of: &BTreeMap<Key, usize>, key: &Key) -> usize {
    of.get(key).copied().unwrap_or(0)
}

fn key(flaw: &Flaw) -> Key {
    (flaw.id, flaw.deployment.clone())
}

/// Takes the corrections from `found` that do not remove their faults. Where all of them together do not, halves are
/// tried, so that few trials find one among many.
pub(super) fn keep_proven(text: Text<'_>, found: &mut Verdicts) {
    let corrected = |at: &usize| found.flaws.get(*at).is_some_and(|flaw| !flaw.edits.is_empty());
    let all: Vec<usize> = (0..found.flaws.len()).filter(corrected).collect();
    if all.is_empty() {
        return;
    }
    let before = Faults::of(found);
    let wrong = failing(text, found, &before, &all);
    if wrong.is_empty() {
        return;
    }
    let bytes: usize = text.sources.iter().map(|source| source.text.len()).sum();
    let mut trials = (BYTES / bytes.max(1)).clamp(TRIALS.0, TRIALS.1);
    let (suspects, mut kept): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|at| wrong.contains(&found.flaws[*at].deployment));
    let (mut unproven, mut untested) = (Vec::new(), Vec::new());
    let mut waiting = vec![suspects];
    while let Some(group) = waiting.pop() {
        if trials == 0 {
            untested.extend(group);
            continue;
        }
        trials -= 1;
        let tried = [kept.as_slice(), &group].concat();
        if failing(text, found, &before, &tried).is_empty() {
            kept = tried;
        } else if let [one] = *group {
            unproven.push(one);
        } else {
            let (first, second) = group.split_at(group.len().div_ceil(2));
            waiting.extend([second.to_vec(), first.to_vec()]);
        }
    }
    for (places, why) in [(unproven, UNPROVEN), (untested, UNTESTED)] {
        for at in places {
            found.flaws[at].edits.clear();
            found.flaws[at].fix.push_str(why);
        }
    }
}

/// Applies the corrections of the flaws at `chosen`. Returns the deployments in which one of these faults is still
/// there, or another came.
fn failing(
    text: Text<'_>,
    found: &Verdicts,
    before: &Faults,
    chosen: &[usize],
) -> BTreeSet<String> {
    let flaws = || chosen.iter().filter_map(|at| found.flaws.get(*at));
    let touched = || flaws().map(|flaw| flaw.deployment.clone()).collect::<BTreeSet<_>>();
    let Some(sources) = applied(text, flaws()) else { return touched() };
    if text.sources.iter().zip(&sources).any(|(old, new)| is_json(old) && !is_json(new)) {
        return touched();
    }
    let (judged, _) = search(&sources, &starts_of(&sources));
    let after = Faults::of(&judged);
    // A deployment that is not found any more has no faults either.
    let all_there =
        judged.deployments >= found.deployments && judged.routed.is_superset(&found.routed);
    if after.unreadable > before.unreadable || !all_there {
        return touched();
    }
    let mut cured: BTreeMap<_, usize> = BTreeMap::new();
    for flaw in flaws() {
        *cured.entry(key(flaw)).or_default() += 1;
    }
    let stays = cured
        .iter()
        .filter(|(key, cured)| count(&after.flaws, key) + **cured > count(&before.flaws, key));
    // Where requests were not routed by cached blocks before, nothing else was judged.
    let came = after
        .grave
        .iter()
        .filter(|(key, now)| **now > count(&before.grave, key) && found.routed.contains(&key.1));
    let wrong: BTreeSet<String> =
        stays.chain(came).map(|((_, deployment), _)| deployment.clone()).collect();
    let own: BTreeSet<String> = touched();
    // A file that several deployments share: any of them may have broken the other one.
    if wrong.is_subset(&own) { wrong } else { own }
}

/// Returns where the lines of each source start.
pub(super) fn starts_of(sources: &[Source]) -> Vec<Vec<usize>> {
    sources.iter().map(|file| line_starts(&file.text)).collect()
}

fn is_json(source: &Source) -> bool {
    source.text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<IgnoredAny>(&source.text).is_ok()
}
