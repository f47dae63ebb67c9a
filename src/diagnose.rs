//! Diagnosis: findings, how sure they are, and their fixes.
//!
//! Rules are pure functions of [`Evidence`]; [`Diagnosis`] remembers what they raised. Knows nothing of
//! frames, screens or clocks.

mod evidence;
mod fix;
mod hysteresis;
mod measure;
mod objectives;
mod phrase;
mod proof;
mod rules;
mod setting_names;
mod sizes;
mod thresholds;
mod verdict;

pub use evidence::{
    AdvertisedPlane, Belongs, DownSource, Evidence, Ground, LoadEvidence, Member, OfWorker,
    PlaneEvidence, Pool, RankEvidence, Refusal, RefusedCard, Regret, Rejecting, RouterEvidence,
    RouterHits, RouterKind, Setting, Settings, Silence, SizeByCosts, SizeClaim, TreeEvidence,
    Unheard, Unreadable, Unregistered, Window, WorkerLoad, pools,
};
pub use fix::{
    Change, Changed, ClusterChoice, Edit, FileState, Fix, Objects, Part, Plan, PodState, Progress,
    Rendered, Restart, SizesInUse,
};
pub use hysteresis::{Check, Diagnosis, Raised};
pub use objectives::Objectives;
pub use phrase::{Phrase, Piece};
pub use proof::{Kind, Measure, Origin, Proof};
pub use rules::{RULES, frontend_size_only};
pub use thresholds::{Key, ThresholdError, Thresholds};
pub use verdict::{Finding, Verdict, workers_of};

use crate::domain::{Stake, Topic};

/// A rule. Must depend on nothing but the evidence, the time included.
pub trait Rule: Sync {
    /// Returns its public id, such as `KVT001`; never reused.
    fn id(&self) -> &'static str;

    /// Returns its public name, such as `block-size-mismatch`.
    fn name(&self) -> &'static str;

    /// Returns the description, with placeholders for Dynamo's names (see [`crate::dynamo::fill`]).
    fn about(&self) -> &'static str;

    /// Returns the description: meaning, detection and fix.
    fn documentation(&self) -> String {
        crate::dynamo::fill(self.about())
    }

    /// Returns the ids of findings that are consequences of this one, and are not shown beside it.
    fn explains(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the ids that this finding of the rule explains away; usually all of them.
    fn explains_by(&self, _finding: &Finding) -> &'static [&'static str] {
        self.explains()
    }

    /// Returns true when its consequences may be seen at workers that its findings do not name.
    fn explains_other_workers(&self) -> bool {
        false
    }

    /// Returns true for a finding without effect on routing: it is listed, but never decides the status of the deployment.
    fn is_advisory(&self, _finding: &Finding) -> bool {
        false
    }

    /// Returns false for findings that outlive every worker: about routers, settings, or kvtop itself.
    fn is_of_workers(&self) -> bool {
        true
    }

    /// Returns true for rules that are clear by KV events that came: while none can come, those of before say
    /// nothing of now.
    fn rests_on_events(&self) -> bool {
        false
    }

    /// Returns true for rules about what KV routers index and choose: where requests are routed otherwise, nothing is
    /// left to find.
    fn needs_kv_router(&self) -> bool {
        false
    }

    /// Returns true for rules whose findings may be critical.
    fn may_be_critical(&self) -> bool {
        false
    }

    /// Returns true for rules whose findings a moment can disprove, so that nobody has to wait for more of the same.
    fn is_refuted_at_once(&self) -> bool {
        false
    }

    /// Returns the subject of the rule's findings, where the screen marks what they concern.
    fn topic(&self) -> Topic {
        Topic::Other
    }

    /// Returns how the finding depends on the release, with placeholders as in [`Rule::about`]; empty when it does
    /// not.
    fn versions(&self) -> &'static str {
        ""
    }

    /// Returns how much depends on the rule's answer.
    fn stake(&self) -> Stake {
        Stake::Ordinary
    }

    /// Judges the evidence.
    fn judge(&self, evidence: &Evidence) -> Verdict;
}

/// Returns the rule with public id `id`, in capitals or not.
pub fn rule(id: &str) -> Option<&'static dyn Rule> {
    RULES.iter().copied().find(|rule| rule.id().eq_ignore_ascii_case(id))
}
