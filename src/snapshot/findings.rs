//! Findings and checks.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{Grade, Medium, RolloutStage, Severity, Stake, Timestamp, Topic, WorkerId};

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidenceRow {
    /// The name of the quantity, such as `publisher_block_size`.
    pub kind: &'static str,
    /// The quantity with its subject, such as `publisher block size, w0`.
    pub claim: String,
    /// The observed value.
    pub value: String,
    /// The place that the value was read from.
    pub source: String,
    /// The kinds of places that the value was read from.
    pub media: Vec<Medium>,
    /// The start of the window that was counted; none for a value that is no count.
    pub since: Option<Timestamp>,
    /// The time of the value, and the end of its window; none for a value without a time.
    pub at: Option<Timestamp>,
    /// True for evidence against the finding.
    pub against: bool,
    /// The worker that it is about, where it is about one.
    pub worker: Option<WorkerId>,
}

/// The fix of a finding. Printed and copied, never applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixRow {
    /// The advice, in one sentence.
    pub sentence: String,
    /// A strategic merge patch, when the object to patch is known.
    pub yaml: Option<String>,
    /// A command that applies it, when the object to patch is known.
    pub kubectl: Option<String>,
    /// The restarts that follow.
    pub restarts: String,
    /// The check that it worked.
    pub verify: String,
    /// Its progress; none for a fix of which only the sentence is known.
    pub rollout: Option<RolloutRow>,
}

/// The progress of a fix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutRow {
    /// The stage.
    pub stage: RolloutStage,
    /// The last change of its objects; none while that is not known.
    pub applied: Option<Timestamp>,
    /// Pods that run with it.
    pub restarted: usize,
    /// Pods that it is about.
    pub pods: usize,
    /// Pods that run without it.
    pub waiting: Vec<Arc<str>>,
    /// Since when nothing shows the fault any more, until it is resolved.
    pub clean_since: Option<Timestamp>,
    /// True when the objects hold the fix: a finding may end without it.
    pub in_place: bool,
}

impl RolloutRow {
    /// Returns how far the fix has come, in a few words; none while it is not applied.
    pub fn text(&self) -> Option<String> {
        if !self.in_place {
            return None;
        }
        let at = self.applied.map_or(String::new(), |at| format!(" at {}", at.time_of_day()));
        let pods = match self.pods {
            0 => String::new(),
            pods => format!(", {} of {pods} pods restarted", self.restarted),
        };
        let pods = match self.pods.saturating_sub(self.restarted + self.waiting.len()) {
            0 => pods,
            away => format!("{pods}, {away} not back yet"),
        };
        Some(format!("fix applied{at}{pods}"))
    }
}

/// Something that is wrong, or was until just now.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingRow {
    /// Its public id, such as `KVT001`.
    pub id: &'static str,
    /// Its public name, such as `block-size-mismatch`.
    pub name: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// Its grade.
    pub grade: Grade,
    /// True when it changes nothing in effect: it is listed, and never decides how the deployment is.
    pub advisory: bool,
    /// The subject of its rule.
    pub topic: Topic,
    /// The fault, in one sentence with numbers.
    pub summary: String,
    /// The effect on requests, in one sentence.
    pub effect: String,
    /// Its evidence.
    pub evidence: Vec<EvidenceRow>,
    /// Observations that would disprove it.
    pub refuted_by: String,
    /// Other causes that were weighed, and why they lost.
    pub competing: Vec<String>,
    /// Its fix.
    pub fix: Option<FixRow>,
    /// The workers that it is about; none when it is about the whole deployment.
    pub subjects: Vec<WorkerId>,
    /// Ids of findings that are its consequences.
    pub explains: Vec<&'static str>,
    /// The time it was raised.
    pub raised: Timestamp,
    /// Since when nothing shows it any more; none while something does, and once it is resolved. It is
    /// resolved after half a minute of that.
    pub mending: Option<Timestamp>,
    /// The time it was resolved; none while it is true.
    pub resolved: Option<Timestamp>,
}

/// The answer of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// No fault found.
    Clear,
    /// Not known; never shown as good.
    Unknown {
        /// The missing input.
        missing: String,
    },
    /// Something is wrong; it is among the findings.
    Found,
}

/// A check and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRow {
    /// Its public id.
    pub id: &'static str,
    /// Its public name.
    pub name: &'static str,
    /// The subject of its rule.
    pub topic: Topic,
    /// True when its finding may be critical.
    pub may_be_critical: bool,
    /// The importance of its answer.
    pub stake: Stake,
    /// True while it cannot tell whether a fault that is seen will end by itself.
    pub suspects: bool,
    /// Its answer.
    pub verdict: CheckVerdict,
    /// A few words on how it is judged now, such as `2 of 2 workers publish`.
    pub note: String,
}

/// The amount of data behind the verdict, over the last minutes before the newest event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Set where everything could be looked at, and there was too little traffic to judge by.
    pub quiet: Option<Quiet>,
    /// Stores of workers that are there which routers say they refused because the parent is unknown.
    pub refusals: u64,
    /// Stores of workers that are there.
    pub stores: u64,
    /// The most ranks that are kept, where there are more: nothing is known of the others.
    pub rank_limit: Option<usize>,
}

/// A deployment with little or no traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// For how long nothing has happened, or been watched.
    pub still: Duration,
    /// True when that is long enough to call it idle.
    pub idle: bool,
    /// Requests that routers told of before that.
    pub requests: u64,
}
