//! Block sizes that workers' logs tell: as a size, or as the tokens of one block.

use std::sync::Arc;

use crate::domain::{
    Basis, BlockSizeNotice, Claim, ClaimOf, ClaimValue, ClaimWhat, Medium, SourceName, Subject,
    Timestamp,
};
use crate::engine::journal::Head;
use crate::engine::{Fleet, Learner};
use crate::snapshot::{EventKind, Gravity};

impl Learner<'_> {
    pub(super) fn block_sizes(
        &mut self,
        notice: &BlockSizeNotice,
        at: Timestamp,
        source: &SourceName,
    ) {
        let (publisher, engine) = (notice.publisher.tokens(), notice.engine.tokens());
        let subjects = self.known.fleet.subjects_in(&notice.pod);
        if let Some(subject) = subjects.first() {
            let size = ClaimWhat::BlockSize;
            self.known
                .fleet
                .claims
                .note(&claim_from(notice, subject, size, ClaimOf::Publisher, publisher), at);
            if notice.whole {
                self.known
                    .fleet
                    .claims
                    .note(&claim_from(notice, subject, size, ClaimOf::Engine, engine), at);
            } else {
                self.block_seen(notice, &subjects, at);
            }
        }
        let (kind, gravity) = (EventKind::Warning, Gravity::Bad);
        let head = Head {
            at,
            who: &notice.pod,
            kind,
            gravity,
            source,
            orphan: false,
            worker: None,
            class: "block sizes",
        };
        self.known.record.journal.add(head, self.frame, || {
            format!("publisher wants blocks of {publisher} tokens, engine sends {engine}")
        });
    }

    /// Takes in the tokens of one block. They are the engine's size when they are the most that were seen
    /// and a power of two, as every size of `TensorRT-LLM` is (`kernels/kvCacheUtils.h`: "tokensPerBlock
    /// must be power of 2"); the end of a prompt has any number of them.
    fn block_seen(&mut self, notice: &BlockSizeNotice, subjects: &[Subject], at: Timestamp) {
        let tokens = u64::from(notice.engine.tokens());
        let largest =
            self.known.fleet.claims.count(ClaimWhat::LargestBlock, ClaimOf::Engine, subjects);
        if largest.is_some_and(|(largest, _)| largest > tokens) {
            return;
        }
        let Some(subject) = subjects.first() else { return };
        let claim =
            |what| claim_from(notice, subject, what, ClaimOf::Engine, notice.engine.tokens());
        self.known.fleet.claims.note(&claim(ClaimWhat::LargestBlock), at);
        let known = self.known.fleet.claims.count(ClaimWhat::BlockSize, ClaimOf::Engine, subjects);
        let known = known.filter(|(_, stored)| stored.claim.basis == Basis::Observed);
        let known = known.map(|(known, _)| known);
        // What the log said of a smaller size is refuted, whether this block is full or not.
        if known.is_some_and(|known| known < tokens) {
            self.known.fleet.claims.forget(|claim| {
                (claim.what, claim.of) == (ClaimWhat::BlockSize, ClaimOf::Engine)
                    && claim.basis == Basis::Observed
                    && subjects.contains(&claim.subject)
            });
        }
        if tokens.is_power_of_two() && known.is_none_or(|known| known <= tokens) {
            self.known.fleet.claims.note(&claim(ClaimWhat::BlockSize), at);
        }
    }

    /// Forgets the blocks seen of an engine whose log says its size anew: it started again, or overrides
    /// what it was told.
    pub(super) fn engine_size_said(&mut self, claim: &Claim) {
        let Subject::Pod(pod) = &claim.subject else { return };
        let is_size = (claim.what, claim.of) == (ClaimWhat::BlockSize, ClaimOf::Engine);
        if !is_size || claim.basis != Basis::Observed {
            return;
        }
        let subjects = self.known.fleet.subjects_in(pod);
        if self
            .known
            .fleet
            .claims
            .count(ClaimWhat::LargestBlock, ClaimOf::Engine, &subjects)
            .is_some()
        {
            self.known.fleet.claims.forget(|known| {
                known.of == ClaimOf::Engine
                    && [ClaimWhat::LargestBlock, ClaimWhat::BlockSize].contains(&known.what)
                    && known.source == claim.source
                    && subjects.contains(&known.subject)
            });
        }
    }

    /// Notes a model that a worker serves.
    pub(super) fn served(&mut self, claim: &Claim) {
        let (ClaimWhat::Model, Subject::Worker(_), ClaimValue::Text(model)) =
            (claim.what, &claim.subject, &claim.value)
        else {
            return;
        };
        self.known.fleet.served.note_model(model);
    }
}

impl Fleet {
    /// Returns how claims speak of what runs in `pod`: the worker first, where it is known.
    pub(in crate::engine) fn subjects_in(&self, pod: &Arc<str>) -> Vec<Subject> {
        let worker = self.workers.in_pod(pod).map(Subject::Worker);
        worker.into_iter().chain([Subject::Pod(Arc::clone(pod))]).collect()
    }
}

/// Returns what a line about an engine's block says.
fn claim_from(
    notice: &BlockSizeNotice,
    subject: &Subject,
    what: ClaimWhat,
    of: ClaimOf,
    tokens: u32,
) -> Claim {
    Claim {
        what,
        of,
        subject: subject.clone(),
        model: None,
        value: ClaimValue::Count(u64::from(tokens)),
        basis: Basis::Observed,
        source: format!("log of {}", notice.pod).into(),
        raw: Arc::clone(&notice.raw),
        set_by: None,
        medium: Medium::Logs,
    }
}
