//! The moment that figures are compared with: "before" of a before and after.

use std::time::Duration;

use crate::domain::{RESOLVED_AFTER, Timestamp};
use crate::snapshot::{Feed, FindingRow, Snapshot};

/// Figures are of the minute before them; a moment before a change has nothing of it.
const BEFORE: Duration = Duration::from_secs(1);

/// The time that figures are of.
const SPAN: Duration = Duration::from_secs(60);

/// Pods restart one after the other: a fix works in part before nothing shows the finding any more.
const IN_PART: Duration = Duration::from_secs(60);

/// Returns the moment before the last change that somebody made or that a fix brought; none where nothing
/// changed that is still being told of.
pub(super) fn baseline(live: &Snapshot) -> Option<Timestamp> {
    let changed = match &live.feed {
        Feed::Demo(demo) => demo.change.as_ref().map(|change| change.at),
        Feed::Live | Feed::Replay(_) => None,
    };
    let changed = changed.map(|at| at.before(BEFORE));
    changed.or_else(|| live.findings.iter().find_map(|finding| while_it_was_true(finding, live)))
}

/// Returns a moment at which `finding` was true, before what heals it, or healed it, had an effect. None where figures of
/// that moment were also of the time before the fault, which kvtop watched: they would say nothing of it.
fn while_it_was_true(finding: &FindingRow, live: &Snapshot) -> Option<Timestamp> {
    let moment = before_its_cure(finding)?;
    let watched_before = finding.raised.since(live.since) > SPAN;
    (!watched_before || moment.since(finding.raised) >= SPAN).then_some(moment)
}

fn before_its_cure(finding: &FindingRow) -> Option<Timestamp> {
    let rollout = finding.fix.as_ref().and_then(|fix| fix.rollout.as_ref());
    if let Some(applied) = rollout.and_then(|rollout| rollout.applied) {
        return Some(applied.before(BEFORE));
    }
    // It is resolved half a minute after nothing shows it any more.
    let healed = finding.mending.or(finding.resolved.map(|at| at.before(RESOLVED_AFTER)))?;
    Some(healed.before(IN_PART).max(finding.raised))
}
