//! The verdict of a rule: clear, unknown or found.

use super::evidence::RankEvidence;
use super::fix::{Change, Fix};
use super::phrase::Phrase;
use super::proof::Proof;
use crate::domain::{Grade, Severity, Timestamp, WorkerId};

/// The verdict of a rule on the evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Checked and found healthy.
    Clear {
        /// A short note on the evidence.
        note: Phrase,
    },
    /// The evidence does not decide; never shown as healthy.
    Unknown {
        /// The input that would decide, as a phrase such as "needs KV events (none so far)".
        missing: Phrase,
        /// True where a fault is seen that may end by itself, as a rollout does: until then nothing is well.
        suspects: bool,
    },
    /// Something is wrong.
    Found(Box<Finding>),
}

impl Verdict {
    /// Returns the verdict that the check passed.
    pub fn clear(note: impl Into<Phrase>) -> Self {
        Self::Clear { note: note.into() }
    }

    /// Returns the verdict that the evidence does not decide, for want of `missing`.
    pub fn unknown(missing: impl Into<Phrase>) -> Self {
        Self::Unknown { missing: missing.into(), suspects: false }
    }

    /// Returns the verdict that a fault is seen which may end by itself; `missing` is waited for.
    pub fn suspected(missing: impl Into<Phrase>) -> Self {
        Self::Unknown { missing: missing.into(), suspects: true }
    }

    /// Returns the verdict with the window of the counts, and its end as their time: that of all proofs without a
    /// time, or with the time `at` of the judgement.
    #[must_use]
    pub(super) fn dated(mut self, at: Timestamp, (since, counted): (Timestamp, Timestamp)) -> Self {
        if let Self::Found(finding) = &mut self {
            for proof in &mut finding.proofs {
                if proof.at.is_none_or(|own| own == at) {
                    (proof.since, proof.at) = (Some(since), Some(counted));
                }
            }
        }
        self
    }
}

/// A fault, with evidence and fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The severity of the fault.
    pub severity: Severity,
    /// The grade of the finding.
    pub grade: Grade,
    /// The fault, in one or two sentences with numbers.
    pub summary: Phrase,
    /// The effect on requests.
    pub effect: Phrase,
    /// Evidence for the finding, and against it.
    pub proofs: Vec<Proof>,
    /// An observation that would disprove the finding.
    pub refuted_by: Phrase,
    /// Alternative causes, and why they were ruled out.
    pub competing: Vec<Phrase>,
    /// The fix.
    pub fix: Option<Fix>,
    /// The workers concerned; empty if the finding is about the whole deployment.
    pub subjects: Vec<WorkerId>,
    /// True for a fault that is there whatever else is wrong, such as a setting: no other finding explains it.
    pub by_itself: bool,
    /// True for a fault of the routers that run now: it ends once all of them are replaced.
    pub of_routers: bool,
}

impl Finding {
    /// Returns a finding that rests on `proofs`.
    pub fn new(
        severity: Severity,
        grade: Grade,
        summary: impl Into<Phrase>,
        proofs: Vec<Proof>,
    ) -> Self {
        Self {
            severity,
            grade,
            summary: summary.into(),
            effect: Phrase::default(),
            proofs,
            refuted_by: Phrase::default(),
            competing: Vec::new(),
            fix: None,
            subjects: Vec::new(),
            by_itself: false,
            of_routers: false,
        }
    }

    /// Returns the finding as one that no other finding explains.
    #[must_use]
    pub fn by_itself(mut self) -> Self {
        self.by_itself = true;
        self
    }

    /// Returns the finding as a fault of the routers that run now.
    #[must_use]
    pub fn of_routers(mut self) -> Self {
        self.of_routers = true;
        self
    }

    /// Returns the finding restricted to `ranks`.
    #[must_use]
    pub fn about<'a>(mut self, ranks: impl IntoIterator<Item = &'a RankEvidence>) -> Self {
        self.subjects = workers_of(ranks);
        self
    }

    /// Returns the finding with its effect on requests, and an observation that would disprove it.
    #[must_use]
    pub fn means(mut self, effect: impl Into<Phrase>, refuted_by: impl Into<Phrase>) -> Self {
        self.effect = effect.into();
        self.refuted_by = refuted_by.into();
        self
    }

    /// Returns the finding with an alternative cause that was ruled out.
    #[must_use]
    pub fn rather_than(mut self, cause: impl Into<Phrase>) -> Self {
        self.competing.push(cause.into());
        self
    }

    /// Returns the finding with its fix, and the restarts that the fix causes.
    #[must_use]
    pub fn mended_by(mut self, sentence: impl Into<Phrase>, restarts: impl Into<Phrase>) -> Self {
        let (sentence, restarts) = (sentence.into(), restarts.into());
        let fix = Fix { sentence, restarts, ..Fix::default() };
        self.fix = Some(fix);
        self
    }

    /// Returns the finding with its fix as machine-readable changes, where these are known.
    #[must_use]
    pub fn through(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        if let Some(fix) = &mut self.fix {
            fix.changes = changes.into_iter().collect();
        }
        self
    }
}

/// Returns the workers of `ranks`, each once.
pub fn workers_of<'a>(ranks: impl IntoIterator<Item = &'a RankEvidence>) -> Vec<WorkerId> {
    let mut workers: Vec<WorkerId> = ranks.into_iter().map(|rank| rank.rank.worker).collect();
    workers.sort_unstable();
    workers.dedup();
    workers
}

impl From<Finding> for Verdict {
    fn from(finding: Finding) -> Self {
        Self::Found(Box::new(finding))
    }
}
