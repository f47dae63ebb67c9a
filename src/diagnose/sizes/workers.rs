//! Block sizes of workers, compared with those of others that serve the same.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::standing::About;
use crate::diagnose::evidence::{Evidence, Ground, MODELS, SizeClaim};
use crate::diagnose::phrase::{Phrase, phrase};
use crate::domain::{ClaimOf, Releases, Timestamp, WorkerId};
use crate::dynamo::{plane, release};

impl Evidence {
    /// Compares the sizes of workers that must agree, for each model separately. Each present worker has one
    /// claim: its live card, or else its start settings.
    pub fn sizes_by_worker(&self) -> Vec<SizesByWorker<'_>> {
        let models = self.models_served().into_iter().take(MODELS);
        models.flat_map(|model| self.sizes_of_model(model)).collect()
    }

    /// Returns true when prefill-only workers may have another size than the others; none while the release
    /// that decides this is unknown.
    pub fn prefill_apart(&self) -> Option<bool> {
        let Releases { least, most } = self.releases;
        if least.is_some_and(|least| least >= release::PREFILL_HAS_OWN_SIZE) {
            return Some(true);
        }
        most.is_some_and(|most| most < release::PREFILL_HAS_OWN_SIZE).then_some(false)
    }

    /// Returns the worker that joined or left last, if so recently that a rollout may be in progress.
    pub fn in_rollout(&self) -> Option<Phrase> {
        let settle = Duration::from_secs(self.thresholds.settle_seconds);
        let lately = |at: &Timestamp| at.after(settle) > self.at;
        let changes = self.ranks.iter().filter_map(|rank| {
            let at = if rank.gone { rank.left } else { rank.started }.filter(lately)?;
            Some((at, if rank.gone { "left" } else { "started" }, Self::name_of(rank)))
        });
        // Who attached after a worker had left knows it by the router's log alone.
        let removed = self.removed.filter(|(at, _)| lately(at)).into_iter();
        let removed = removed.map(|(at, id)| (at, "left", self.worker_name(id).to_string()));
        let changes = changes.chain(removed);
        let (at, did, name) = changes.max_by_key(|(at, ..)| *at)?;
        Some(phrase!("{} {} {} s ago", name, did, self.at.since(at).as_secs()))
    }

    /// Compares the sizes of the workers of `model`; where they differ, in each Dynamo namespace separately, because
    /// a router hashes for the workers of one: the sets of workers are named by it (dynamo-llm 1.6.1,
    /// `discovery/controller.rs`). 0.9 frontends that look at several ignore cards that differ from the first one
    /// (dynamo-llm 0.9.0, `discovery/watcher.rs:174`).
    fn sizes_of_model(&self, model: Option<&str>) -> Vec<SizesByWorker<'_>> {
        let all = self.sizes_among(model, |_| true);
        // Without model cards nothing assigns workers to models, and those of several may differ.
        let several = self.models_of_routers() > 1 || self.models_set > 1;
        let carded: HashSet<WorkerId> = self.models.iter().map(|(worker, _)| *worker).collect();
        let is_carded =
            |claim: &&SizeClaim| claim.worker.is_some_and(|worker| carded.contains(&worker));
        let unassigned = !all.claims.iter().all(is_carded);
        if model.is_none() && several && unassigned && !all.agrees() {
            let open = Some("the model card of every worker: only workers of one model must agree");
            return vec![SizesByWorker { open, ..all }];
        }
        let workers = || all.claims.iter().chain(&all.untold);
        let namespaces: BTreeSet<&str> =
            workers().filter_map(|claim| claim.dynamo_namespace.as_deref()).collect();
        if all.agrees() || namespaces.len() < 2 {
            return self.sizes_of_part(all, model, None);
        }
        // Pods tell the namespace without the suffix that a worker appends.
        let bases: BTreeSet<&str> =
            namespaces.iter().filter_map(|name| plane::without_suffix(name)).collect();
        let unplaced = workers()
            .any(|claim| claim.dynamo_namespace.as_deref().is_none_or(|name| bases.contains(name)));
        let open = if unplaced {
            Some("the Dynamo namespace of every worker: only workers of one must agree")
        } else if namespaces.len() > MODELS {
            Some("fewer Dynamo namespaces: 64 are compared")
        } else {
            None
        };
        let parts = namespaces.iter().take(MODELS).flat_map(|name| {
            let of_it = |claim: &SizeClaim| claim.dynamo_namespace.as_deref() == Some(*name);
            self.sizes_of_part(self.sizes_among(model, of_it), model, Some(name))
        });
        let mut parts: Vec<_> = parts.collect();
        if open.is_some() {
            parts.push(SizesByWorker { open, ..all });
        }
        parts
    }

    /// Splits `all`, the sizes of the workers of `model` and `namespace`, by prefill and the others, where these
    /// may differ.
    fn sizes_of_part<'a>(
        &'a self,
        all: SizesByWorker<'a>,
        model: Option<&str>,
        namespace: Option<&str>,
    ) -> Vec<SizesByWorker<'a>> {
        let apart = self.prefill_apart();
        if all.agrees() || apart == Some(false) {
            return vec![SizesByWorker {
                part: namespace.map(|name| name.to_owned().into()),
                namespaced: namespace.is_some(),
                ..all
            }];
        }
        let parts = [(false, "the others"), (true, "prefill")].map(|(prefill, part)| {
            let among = |claim: &SizeClaim| {
                let here = namespace.is_none() || claim.dynamo_namespace.as_deref() == namespace;
                here && claim.is_prefill() == Some(prefill)
            };
            let part = match namespace {
                Some(name) => format!("{part} of {name}").into(),
                None => Cow::Borrowed(part),
            };
            let namespaced = namespace.is_some();
            SizesByWorker { part: Some(part), namespaced, ..self.sizes_among(model, among) }
        });
        let placed = all.claims.iter().chain(&all.untold).all(|claim| claim.is_prefill().is_some());
        let agree = parts.iter().all(SizesByWorker::agrees);
        match (apart, placed) {
            // Sizes differ within one part, which no release allows.
            (_, true) if !agree => parts.into(),
            (Some(true), true) => parts.into(),
            (_, true) => {
                let open = "the Dynamo release: up to 1.4 prefill workers must use the same size as the others";
                vec![SizesByWorker { open: Some(open), ..all }]
            }
            // No worker is known to be prefill-only.
            (_, false) if parts[1].sizes.is_empty() => vec![all],
            (_, false) => {
                let open = "to know which workers are prefill-only: from Dynamo 1.5 these may use another size";
                vec![SizesByWorker { open: Some(open), ..all }]
            }
        }
    }

    /// Compares the sizes of the workers of `model` that are `among`; of all models if `model` is none.
    fn sizes_among(
        &self,
        model: Option<&str>,
        among: impl Fn(&SizeClaim) -> bool,
    ) -> SizesByWorker<'_> {
        let theirs = self.models.iter().filter(|(_, served)| Some(served.as_ref()) == model);
        let theirs: BTreeSet<WorkerId> = theirs.map(|(worker, _)| *worker).collect();
        let serves = |claim: &SizeClaim| {
            model.is_none() || claim.worker.is_some_and(|worker| theirs.contains(&worker))
        };
        // The card comes first: routers use it. The publisher's setting comes second.
        for of in [ClaimOf::Card, ClaimOf::Publisher] {
            let set = |claim: &&SizeClaim| {
                claim.ground > Ground::Default && serves(claim) && among(claim)
            };
            let claims: Vec<&SizeClaim> =
                self.best_by_subject(of).into_iter().filter(set).collect();
            if !claims.is_empty() {
                return self.compared(of, claims);
            }
        }
        SizesByWorker::default()
    }

    /// Compares cards with cards and start settings with start settings, since engines may change the size
    /// after the start (vLLM does for hybrid models).
    fn compared<'a>(&'a self, of: ClaimOf, claims: Vec<&'a SizeClaim>) -> SizesByWorker<'a> {
        let (mut judged, set): (Vec<_>, Vec<_>) =
            claims.into_iter().partition(|claim| claim.ground == Ground::Observed);
        // Where none serves, all are alike.
        let away =
            |claim: &&SizeClaim| claim.worker.is_some_and(|worker| self.unlisted.contains(&worker));
        let mut unlisted = None;
        if !judged.iter().all(away) {
            let tokens: BTreeSet<u32> =
                judged.iter().filter(|claim| !away(claim)).map(|claim| claim.tokens).collect();
            unlisted =
                judged.iter().find(|claim| away(claim) && !tokens.contains(&claim.tokens)).copied();
            judged.retain(|claim| !away(claim));
        }
        let mut untold = None;
        if judged.is_empty() {
            judged = set;
        } else {
            // Another worker with the same start setting has a card, and that card is compared.
            let subjects: HashSet<About<'_>> = judged.iter().map(|claim| claim.about()).collect();
            let alike = self.all_sizes_of(of).filter(|other| {
                other.ground < Ground::Observed && subjects.contains(&other.about())
            });
            let alike: BTreeSet<u32> = alike.map(|claim| claim.tokens).collect();
            let tokens: BTreeSet<u32> = judged.iter().map(|claim| claim.tokens).collect();
            let (same, other): (Vec<_>, Vec<_>) =
                set.into_iter().partition(|claim| tokens.contains(&claim.tokens));
            untold = other.into_iter().find(|claim| !alike.contains(&claim.tokens));
            judged.extend(same);
        }
        let mut sizes: Vec<(u32, BTreeSet<Arc<str>>)> = Vec::new();
        let names = self.worker_names();
        for claim in &judged {
            let known = claim.worker.and_then(|worker| names.get(&worker));
            let name = known.map_or_else(|| claim.who(self), |name| Arc::clone(name));
            match sizes.iter_mut().find(|(tokens, _)| *tokens == claim.tokens) {
                Some((_, names)) => drop(names.insert(name)),
                None => sizes.push((claim.tokens, BTreeSet::from([name]))),
            }
        }
        sizes.sort_by_key(|(tokens, names)| (std::cmp::Reverse(names.len()), *tokens));
        let sizes = sizes.into_iter().map(|(tokens, names)| (tokens, names.into_iter().collect()));
        SizesByWorker {
            sizes: sizes.collect(),
            claims: judged,
            untold,
            unlisted,
            ..SizesByWorker::default()
        }
    }
}

/// Comparison of the block sizes of workers.
#[derive(Clone, Debug, Default)]
pub struct SizesByWorker<'a> {
    /// The sizes with the workers that have them, the most common size first.
    pub sizes: Vec<(u32, Vec<Arc<str>>)>,
    /// The claims behind these sizes, one for each worker.
    pub claims: Vec<&'a SizeClaim>,
    /// The start setting of a worker without a card, if it differs from the live cards of the others.
    pub untold: Option<&'a SizeClaim>,
    /// The model card of a worker whose instance is not in discovery, if its size differs from the others'.
    pub unlisted: Option<&'a SizeClaim>,
    /// The part of the workers, if parts may have different sizes.
    pub part: Option<Cow<'static, str>>,
    /// True for the workers of one of several Dynamo namespaces.
    pub namespaced: bool,
    /// The fact that is needed to know whether these workers must agree.
    pub open: Option<&'static str>,
}

impl SizesByWorker<'_> {
    fn agrees(&self) -> bool {
        self.sizes.len() < 2 && self.untold.is_none() && self.unlisted.is_none()
    }
}

impl SizeClaim {
    /// Returns true for a prefill-only worker; none if its role is unknown.
    pub fn is_prefill(&self) -> Option<bool> {
        // Roles in cards (from 1.3), component names in discovery (dynamo 0.9.0 to 1.6.1), and roles in manifests.
        const OTHERS: [&str; 5] = ["aggregated", "backend", "tensorrt_llm", "worker", "decode"];
        let role = self.role.as_deref()?.to_ascii_lowercase();
        if role.contains("prefill") {
            return Some(true);
        }
        OTHERS.iter().any(|other| role.contains(other)).then_some(false)
    }
}
