//! Progress of a fix: which objects contain it, and which pods were started with it.
//!
//! A process runs with the settings that existed when it started. Later changes are pending for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::objects::{Objects, PodState};
use super::plan::{Changed, Edit, Plan};
use crate::diagnose::evidence::{Evidence, Ground, SizeClaim};
use crate::domain::{ClaimOf, RolloutStage, Timestamp, WorkerId};

/// The block size of each pod's engine, as observed on the running process.
#[derive(Clone, Debug, Default)]
pub struct SizesInUse(BTreeMap<Arc<str>, u32>);

impl SizesInUse {
    /// Takes the sizes of claims about engines that the running processes made, given the pods of workers.
    pub fn from_claims<'a>(
        claims: impl Iterator<Item = &'a SizeClaim>,
        pod_of: impl Fn(WorkerId) -> Option<Arc<str>>,
    ) -> Self {
        let observed = claims.filter(|claim| claim.ground == Ground::Observed);
        let mut newest: Vec<&SizeClaim> = observed.collect();
        newest.sort_by_key(|claim| claim.last);
        let size = |claim: &SizeClaim| {
            Some((claim.pod.clone().or_else(|| pod_of(claim.worker?))?, claim.tokens))
        };
        Self(newest.into_iter().filter_map(size).collect())
    }
}

impl Evidence {
    /// Returns the block sizes that engines use, by pod.
    pub(in crate::diagnose) fn sizes_in_use(&self) -> SizesInUse {
        let pods = self.worker_pods();
        let pod_of = |worker| pods.get(&worker).copied().flatten().cloned();
        SizesInUse::from_claims(self.sizes_of(ClaimOf::Engine), pod_of)
    }
}

/// The progress of a fix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The stage.
    pub stage: RolloutStage,
    /// The last change of its objects, where that is known.
    pub applied: Option<Timestamp>,
    /// Pods that run with it.
    pub restarted: Vec<Arc<str>>,
    /// Pods that run without it.
    pub waiting: Vec<Arc<str>>,
    /// Pods that are not there yet, of those that the manifest asks for.
    pub missing: usize,
    /// True when pods apparently started with the fix, but still behave as before.
    pub overridden: bool,
}

impl Progress {
    /// Returns how many pods the fix is about.
    pub fn pods(&self) -> usize {
        self.restarted.len() + self.waiting.len() + self.missing
    }
}

/// The state of an edit in a running pod.
enum Runs {
    With,
    Without,
    /// Started with the edit, but behaves differently.
    Otherwise,
}

impl Objects {
    /// Returns the progress of `plan`.
    pub fn progress(&self, plan: &Plan, in_use: &SizesInUse) -> Progress {
        let mut progress = Progress::default();
        let started = plan.edits.iter().any(|edit| edit.in_place);
        if !started {
            return progress;
        }
        let changed = plan.edits.iter().filter(|edit| edit.in_place);
        progress.applied = changed.filter_map(|edit| self.changed(edit)).max();
        for pod in &self.pods {
            let edits = plan.edits.iter().filter(|edit| edit.concerns(pod));
            let runs: Vec<Runs> = edits.map(|edit| self.runs(edit, pod, in_use)).collect();
            if runs.is_empty() {
                continue;
            }
            progress.overridden |= runs.iter().any(|runs| matches!(runs, Runs::Otherwise));
            let without = runs.iter().any(|runs| matches!(runs, Runs::Without));
            let list = if without { &mut progress.waiting } else { &mut progress.restarted };
            list.push(Arc::clone(&pod.name));
        }
        progress.missing = self.missing(plan);
        // If no pod restarted since the change, the rollout has not begun.
        let any = !progress.restarted.is_empty();
        let done = progress.waiting.is_empty() && progress.missing == 0;
        progress.stage = match (plan.is_applied(), done) {
            (false, _) => RolloutStage::NotApplied,
            (true, true) => RolloutStage::Restarted,
            (true, false) if any => RolloutStage::Restarting,
            (true, false) => RolloutStage::Applied,
        };
        progress
    }

    /// Returns how many pods are not there yet, of those that the manifest asks for in components that `plan` changes.
    fn missing(&self, plan: &Plan) -> usize {
        let changed =
            |name: &Arc<str>| plan.edits.iter().any(|edit| edit.components.contains(name));
        let components = self.graph.iter().flat_map(|graph| &graph.components);
        let lacks = components.filter(|it| changed(&it.name)).filter_map(|it| {
            let wanted = it.replicas?.saturating_mul(it.nodes.unwrap_or(1));
            let pods = self.pods.iter().filter(|pod| pod.component.as_ref() == Some(&it.name));
            Some(usize::try_from(wanted).unwrap_or(0).saturating_sub(pods.count()))
        });
        lacks.sum()
    }

    /// Returns when the object of an edit was changed last.
    fn changed(&self, edit: &Edit) -> Option<Timestamp> {
        match &edit.object {
            Changed::Graph { .. } => self.graph.as_ref()?.changed,
            Changed::ConfigMap { name, key } => {
                let mut files = self.files.iter();
                files.find(|file| (&file.config_map, &file.key) == (name, key))?.changed
            }
        }
    }

    fn runs(&self, edit: &Edit, pod: &PodState, in_use: &SizesInUse) -> Runs {
        if !edit.in_place {
            return match edit.runs_in(pod) {
                Some(true) => Runs::With,
                _ => Runs::Without,
            };
        }
        let wanted = edit.engine_size();
        let used = in_use.0.get(&pod.name).filter(|_| wanted.is_some());
        let since = self.changed(edit).zip(pod.started);
        match (edit.runs_in(pod), used) {
            (Some(false), _) => Runs::Without,
            (_, Some(used)) if Some(*used) == wanted => Runs::With,
            (Some(true), Some(_)) => Runs::Otherwise,
            (Some(true), None) => Runs::With,
            (None, used) => match (since, used) {
                (Some((changed, started)), _) if started < changed => Runs::Without,
                (Some(_), Some(_)) => Runs::Otherwise,
                (Some(_), None) => Runs::With,
                // The order is unknown, and the finding that is still there means "without".
                (None, _) => Runs::Without,
            },
        }
    }
}
