//! What a rule says.

use super::evidence::RankEvidence;
use super::fix::{Change, Fix};
use crate::domain::{Grade, Severity, Timestamp, WorkerId};

/// What a rule says of the evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Looked at and found good.
    Clear {
        /// A few words on what was looked at.
        note: String,
    },
    /// The evidence does not decide; never shown as good.
    Unknown {
        /// What is missing.
        missing: String,
    },
    /// Something is wrong.
    Found(Box<Finding>),
}

impl Verdict {
    /// Returns the verdict that all is well.
    pub fn clear(note: impl Into<String>) -> Self {
        Self::Clear { note: note.into() }
    }

    /// Returns the verdict that something is missing.
    pub fn unknown(missing: impl Into<String>) -> Self {
        Self::Unknown { missing: missing.into() }
    }

    /// Returns it, judged at `at`, with `counted` as the time of evidence that has no time of its own, or that of
    /// being judged.
    #[must_use]
    pub(super) fn dated(mut self, at: Timestamp, counted: Timestamp) -> Self {
        if let Self::Found(finding) = &mut self {
            for proof in &mut finding.proofs {
                if proof.at.is_none_or(|own| own == at) {
                    proof.at = Some(counted);
                }
            }
        }
        self
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub grade: Grade,
    /// What is wrong, in one sentence with numbers.
    pub summary: String,
    /// What it does to requests.
    pub effect: String,
    /// What it rests on, and what speaks against it.
    pub proofs: Vec<Proof>,
    /// What would refute it.
    pub refuted_by: String,
    /// Other causes that were weighed, and why they lost.
    pub competing: Vec<String>,
    /// What mends it.
    pub fix: Option<Fix>,
    /// The workers that it is about; none when it is about the whole deployment.
    pub subjects: Vec<WorkerId>,
}

impl Finding {
    /// Returns a finding that rests on `proofs`.
    pub fn new(
        severity: Severity,
        grade: Grade,
        summary: impl Into<String>,
        proofs: Vec<Proof>,
    ) -> Self {
        Self {
            severity,
            grade,
            summary: summary.into(),
            effect: String::new(),
            proofs,
            refuted_by: String::new(),
            competing: Vec::new(),
            fix: None,
            subjects: Vec::new(),
        }
    }

    /// Returns it as one about `ranks` alone.
    #[must_use]
    pub fn about<'a>(mut self, ranks: impl IntoIterator<Item = &'a RankEvidence>) -> Self {
        self.subjects = workers_of(ranks);
        self
    }

    /// Returns it with what it does to requests, and what would refute it.
    #[must_use]
    pub fn means(mut self, effect: impl Into<String>, refuted_by: impl Into<String>) -> Self {
        self.effect = effect.into();
        self.refuted_by = refuted_by.into();
        self
    }

    /// Returns it with another cause that was weighed.
    #[must_use]
    pub fn rather_than(mut self, cause: impl Into<String>) -> Self {
        self.competing.push(cause.into());
        self
    }

    /// Returns it with what mends it, and what restarts because of that.
    #[must_use]
    pub fn mended_by(mut self, sentence: impl Into<String>, restarts: impl Into<String>) -> Self {
        let (sentence, restarts) = (sentence.into(), restarts.into());
        let fix = Fix { sentence, restarts, ..Fix::default() };
        self.fix = Some(fix);
        self
    }

    /// Returns it with what mends it in a form for machines, where that is known.
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

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What it is about.
    pub claim: String,
    /// What was seen.
    pub value: String,
    /// Where.
    pub source: String,
    /// When; none for what has no time.
    pub at: Option<Timestamp>,
    /// True when it speaks against the finding.
    pub against: bool,
    /// The worker that it is about, where it is about one.
    pub worker: Option<WorkerId>,
}

impl Proof {
    /// Returns evidence for a finding.
    pub fn new(
        claim: impl Into<String>,
        value: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        Self {
            claim: claim.into(),
            value: value.into(),
            source: source.into(),
            at: None,
            against: false,
            worker: None,
        }
    }

    /// Returns the evidence as one about a worker.
    #[must_use]
    pub fn of_worker(mut self, worker: impl Into<Option<WorkerId>>) -> Self {
        self.worker = worker.into();
        self
    }

    /// Returns the evidence with the time at which it was seen.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// Returns the evidence with the time at which it was last heard of, where that is known.
    #[must_use]
    pub fn heard(mut self, last: Option<Timestamp>) -> Self {
        self.at = last.or(self.at);
        self
    }

    /// Returns it as evidence against the finding.
    #[must_use]
    pub fn against(mut self) -> Self {
        self.against = true;
        self
    }
}
