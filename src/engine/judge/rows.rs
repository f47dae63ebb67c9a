//! Verdicts of the rules, as rows of a snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Verdicts;
use crate::diagnose::{Objects, Progress, Raised, SizesInUse, Verdict};
use crate::domain::{RolloutStage, Timestamp};
use crate::engine::Setup;
use crate::snapshot::{CheckRow, CheckVerdict, EvidenceRow, FindingRow, FixRow, RolloutRow};

impl Verdicts {
    /// Returns what is wrong, as rows.
    pub(in crate::engine) fn findings(&self, setup: &Setup<'_>) -> Vec<FindingRow> {
        let (objects, sizes) = (self.objects.get(), setup.sizes_in_use());
        let raised = self.last().raised().into_iter();
        raised.map(|raised| row(raised, &objects, &sizes)).collect()
    }

    /// Returns true while the rule called `id` finds something that is not resolved.
    pub(in crate::engine) fn finds(&self, id: &str) -> bool {
        let mut raised = self.last().raised().into_iter();
        raised.any(|raised| raised.rule.id() == id && raised.resolved.is_none())
    }

    /// Renders what came and went, when there is more of it.
    pub(super) fn remember_findings(&mut self, setup: &Setup<'_>) {
        if self.past.0 != self.diagnosis.passed() {
            let (objects, sizes) = (self.objects.get(), setup.sizes_in_use());
            let past = self.diagnosis.past();
            let rows = past.map(|raised| row(raised, &objects, &sizes)).collect();
            self.past = (self.diagnosis.passed(), rows);
        }
    }

    /// Returns the findings that came and went.
    pub(in crate::engine) fn past(&self) -> Arc<[FindingRow]> {
        Arc::clone(&self.past.1)
    }

    /// Returns how often each finding was raised.
    pub(in crate::engine) fn raises(&self) -> BTreeMap<&'static str, u64> {
        self.last().checks().into_iter().map(|check| (check.rule.id(), check.raises)).collect()
    }

    /// Returns every check with its verdict, as rows by id.
    pub(in crate::engine) fn checks(&self) -> Vec<CheckRow> {
        let rows = self.last().checks().into_iter().map(|check| {
            let (verdict, note) = match (check.verdict, check.explained_by) {
                (Verdict::Found(finding), Some(cause)) => {
                    let missing =
                        format!("explained by {cause}; will be judged again once {cause} is fixed");
                    (CheckVerdict::Unknown { missing }, finding.summary.to_string())
                }
                (Verdict::Found(finding), None) => {
                    (CheckVerdict::Found, finding.summary.to_string())
                }
                (Verdict::Clear { note }, _) => (CheckVerdict::Clear, note.to_string()),
                (Verdict::Unknown { missing, .. }, _) => {
                    (CheckVerdict::Unknown { missing: missing.to_string() }, String::new())
                }
            };
            CheckRow {
                id: check.rule.id(),
                name: check.rule.name(),
                topic: check.rule.topic(),
                may_be_critical: check.rule.may_be_critical(),
                stake: check.rule.stake(),
                suspects: matches!(check.verdict, Verdict::Unknown { suspects: true, .. }),
                verdict,
                note,
            }
        });
        let mut rows: Vec<CheckRow> = rows.collect();
        rows.sort_by_key(|row| row.id);
        rows
    }
}

fn row(raised: Raised<'_>, objects: &Objects, sizes: &SizesInUse) -> FindingRow {
    let finding = raised.finding;
    let (mending, resolved) = (raised.mending, raised.resolved);
    let proofs = finding.proofs.iter().map(|proof| EvidenceRow {
        kind: proof.kind.measure.id,
        claim: proof.kind.to_string(),
        value: proof.value.to_string(),
        source: proof.source.to_string(),
        media: proof.source.media(),
        since: proof.since,
        at: proof.at,
        against: proof.against,
        worker: proof.worker,
    });
    FindingRow {
        id: raised.rule.id(),
        name: raised.rule.name(),
        severity: finding.severity,
        grade: finding.grade,
        advisory: raised.rule.is_advisory(finding),
        topic: raised.rule.topic(),
        summary: finding.summary.to_string(),
        effect: finding.effect.to_string(),
        evidence: proofs.collect(),
        refuted_by: finding.refuted_by.to_string(),
        competing: finding.competing.iter().map(ToString::to_string).collect(),
        fix: finding.fix.as_ref().map(|fix| {
            let shown = fix.render(objects, sizes, resolved.is_some());
            FixRow {
                rollout: shown.progress.map(|progress| rollout(progress, mending, resolved)),
                sentence: shown.sentence,
                yaml: shown.yaml,
                kubectl: shown.kubectl,
                restarts: shown.restarts,
                verify: shown.verify,
            }
        }),
        subjects: finding.subjects.clone(),
        explains: raised.explains,
        raised: raised.raised,
        mending: raised.mending,
        resolved: raised.resolved,
    }
}

/// Returns how far a fix has come: what the objects and pods show, and then what the rule says.
fn rollout(
    progress: Progress,
    mending: Option<Timestamp>,
    resolved: Option<Timestamp>,
) -> RolloutRow {
    let in_place = progress.stage != RolloutStage::NotApplied;
    let stage = match (resolved, mending) {
        (Some(_), _) => RolloutStage::Resolved,
        (None, Some(_)) => RolloutStage::Verifying,
        (None, None) => progress.stage,
    };
    RolloutRow {
        stage,
        applied: progress.applied,
        restarted: progress.restarted.len(),
        pods: progress.pods(),
        waiting: progress.waiting,
        clean_since: mending.filter(|_| resolved.is_none()),
        in_place,
    }
}
