//! The moment that figures are compared with: "before" of a before and after.

use std::time::Duration;

use crate::domain::Timestamp;
use crate::snapshot::{Feed, FindingRow, Snapshot};

/// Figures are of the minute before them; a moment before a change has nothing of it.
const BEFORE: Duration = Duration::from_secs(1);

/// Returns the moment before the last change that somebody made or that a fix brought; none where nothing
/// changed that is still being told of.
pub(super) fn baseline(live: &Snapshot) -> Option<Timestamp> {
    let changed = match &live.feed {
        Feed::Demo(demo) => demo.change.as_ref().map(|change| change.at),
        Feed::Live | Feed::Replay(_) => None,
    };
    let changed = changed.or_else(|| live.findings.iter().find_map(began_to_heal));
    changed.map(|at| at.before(BEFORE))
}

/// Returns when what heals `finding`, or healed it, was applied, or was first seen.
fn began_to_heal(finding: &FindingRow) -> Option<Timestamp> {
    let rollout = finding.fix.as_ref().and_then(|fix| fix.rollout.as_ref());
    let heals = finding.mending.or(finding.resolved);
    rollout.and_then(|rollout| rollout.applied).or(heals)
}
