//! Verdicts of the rules, as rows of a snapshot.

use crate::diagnose::{Raised, Target, Verdict};
use crate::engine::Engine;
use crate::snapshot::{CheckRow, CheckVerdict, EvidenceRow, FindingRow, FixRow};

impl Engine {
    /// Returns what is wrong, as rows.
    pub(in crate::engine) fn findings(&self) -> Vec<FindingRow> {
        let target = self.target();
        self.verdicts().raised().into_iter().map(|raised| row(raised, target)).collect()
    }

    /// Returns true while the rule called `id` finds something that is not resolved.
    pub(in crate::engine) fn finds(&self, id: &str) -> bool {
        let mut raised = self.verdicts().raised().into_iter();
        raised.any(|raised| raised.rule.id() == id && raised.resolved.is_none())
    }

    /// Renders what came and went, when there is more of it.
    pub(super) fn remember_findings(&mut self) {
        if self.past.0 != self.diagnosis.passed() {
            let target = self.target();
            let rows = self.diagnosis.past().map(|raised| row(raised, target)).collect();
            self.past = (self.diagnosis.passed(), rows);
        }
    }

    /// Returns every check with its verdict, as rows by id.
    pub(in crate::engine) fn checks(&self) -> Vec<CheckRow> {
        let rows = self.verdicts().checks().into_iter().map(|check| {
            let (verdict, note) = match (check.verdict, check.explained_by) {
                (Verdict::Found(finding), Some(cause)) => {
                    let missing = format!("explained by {cause}; judged again once that is cured");
                    (CheckVerdict::Unknown { missing }, finding.summary.clone())
                }
                (Verdict::Found(finding), None) => (CheckVerdict::Found, finding.summary.clone()),
                (Verdict::Clear { note }, _) => (CheckVerdict::Clear, note.clone()),
                (Verdict::Unknown { missing }, _) => {
                    (CheckVerdict::Unknown { missing: missing.clone() }, String::new())
                }
            };
            CheckRow { id: check.rule.id(), name: check.rule.name(), verdict, note }
        });
        let mut rows: Vec<CheckRow> = rows.collect();
        rows.sort_by_key(|row| row.id);
        rows
    }
}

fn row(raised: Raised<'_>, target: Target<'_>) -> FindingRow {
    let finding = raised.finding;
    let proofs = finding.proofs.iter().map(|proof| EvidenceRow {
        claim: proof.claim.clone(),
        value: proof.value.clone(),
        source: proof.source.clone(),
        at: proof.at,
        against: proof.against,
    });
    FindingRow {
        id: raised.rule.id(),
        name: raised.rule.name(),
        severity: finding.severity,
        grade: finding.grade,
        advisory: raised.rule.is_advisory(finding),
        summary: finding.summary.clone(),
        effect: finding.effect.clone(),
        evidence: proofs.collect(),
        refuted_by: finding.refuted_by.clone(),
        competing: finding.competing.clone(),
        fix: finding.fix.as_ref().map(|fix| {
            let shown = fix.render(target);
            FixRow {
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
