//! Block sizes of workers, compared with those of others that serve the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::diagnose::evidence::{Evidence, Ground, SizeClaim};
use crate::domain::{ClaimOf, Release, Releases, Timestamp};

/// From this one on a router for prefill takes the size of the prefill workers' own card; before, that of
/// the decode workers (DIAGNOSES F26).
const PREFILL_APART: Release = Release::new(1, 5);

impl Evidence {
    /// Returns how the sizes of workers that are to agree compare, for each model apart: of each worker that
    /// is present one claim, its live card before what it was started with.
    pub fn sizes_by_worker(&self) -> Vec<SizesByWorker<'_>> {
        self.models_served().into_iter().flat_map(|model| self.sizes_of_model(model)).collect()
    }

    /// Returns true when workers that compute prompts only may have another size than the others, none
    /// when the release that decides it is not known.
    pub fn prefill_apart(&self) -> Option<bool> {
        let Releases { least, most } = self.releases;
        if least.is_some_and(|least| least >= PREFILL_APART) {
            return Some(true);
        }
        most.is_some_and(|most| most < PREFILL_APART).then_some(false)
    }

    /// Returns the worker that came or left last, while that is so short ago that a rollout may be under way.
    pub fn in_rollout(&self) -> Option<String> {
        let settle = Duration::from_secs(self.thresholds.settle_seconds);
        let lately = |at: &Timestamp| at.after(settle) > self.at;
        let changes = self.ranks.iter().filter_map(|rank| {
            let at = if rank.gone { rank.left } else { rank.started }.filter(lately)?;
            Some((at, if rank.gone { "left" } else { "started" }, Self::name_of(rank)))
        });
        let (at, did, name) = changes.max_by_key(|(at, ..)| *at)?;
        Some(format!("{name} {did} {} s ago", self.at.since(at).as_secs()))
    }

    fn sizes_of_model(&self, model: Option<&str>) -> Vec<SizesByWorker<'_>> {
        let all = self.sizes_among(model, |_| true);
        let apart = self.prefill_apart();
        if all.agrees() || apart == Some(false) {
            return vec![all];
        }
        let parts =
            [(false, "the others"), (true, "prefill")].map(|(prefill, part)| SizesByWorker {
                part: Some(part),
                ..self.sizes_among(model, |claim| claim.is_prefill() == Some(prefill))
            });
        let placed = all.claims.iter().chain(&all.untold).all(|claim| claim.is_prefill().is_some());
        let agree = parts.iter().all(SizesByWorker::agrees);
        match (apart, placed) {
            // Within a part they differ, whatever the release.
            (_, true) if !agree => parts.into(),
            (Some(true), true) => parts.into(),
            (_, true) => {
                let open = "Dynamo's release: up to 1.4 prefill workers must use the others' size";
                vec![SizesByWorker { open: Some(open), ..all }]
            }
            // Nobody says that any of them computes prompts only.
            (_, false) if parts[1].sizes.is_empty() => vec![all],
            (_, false) => {
                let open = "which workers compute prompts only: from Dynamo 1.5 these have a size of \
                            their own";
                vec![SizesByWorker { open: Some(open), ..all }]
            }
        }
    }

    /// Compares the sizes of the workers of `model` that are `among`, of all models when it is none.
    fn sizes_among(
        &self,
        model: Option<&str>,
        among: impl Fn(&SizeClaim) -> bool,
    ) -> SizesByWorker<'_> {
        let serves = |claim: &SizeClaim| {
            let mut models = self.models.iter().filter(|(worker, _)| claim.worker == Some(*worker));
            model.is_none_or(|model| models.any(|(_, served)| served.as_ref() == model))
        };
        // A worker's card is what it agreed to be routed by; its publisher what it does.
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

    /// Compares like with like: what a worker was started with is not yet what its card will say, since
    /// engines may change the size (vLLM does for hybrid models).
    fn compared<'a>(&'a self, of: ClaimOf, claims: Vec<&'a SizeClaim>) -> SizesByWorker<'a> {
        let (mut judged, set): (Vec<_>, Vec<_>) =
            claims.into_iter().partition(|claim| claim.ground == Ground::Observed);
        let mut untold = None;
        if judged.is_empty() {
            judged = set;
        } else {
            // Another worker that was started alike has a card, and its card is judged.
            let alike = |claim: &SizeClaim| {
                self.all_sizes_of(of).any(|other| {
                    other.ground < Ground::Observed
                        && other.tokens == claim.tokens
                        && judged.iter().any(|known| known.about() == other.about())
                })
            };
            let (same, other): (Vec<_>, Vec<_>) = set
                .into_iter()
                .partition(|claim| judged.iter().any(|it| it.tokens == claim.tokens));
            untold = other.into_iter().find(|claim| !alike(claim));
            judged.extend(same);
        }
        let mut sizes: Vec<(u32, BTreeSet<Arc<str>>)> = Vec::new();
        for claim in &judged {
            let name = claim.who(self);
            match sizes.iter_mut().find(|(tokens, _)| *tokens == claim.tokens) {
                Some((_, names)) => drop(names.insert(name)),
                None => sizes.push((claim.tokens, BTreeSet::from([name]))),
            }
        }
        sizes.sort_by_key(|(tokens, names)| (std::cmp::Reverse(names.len()), *tokens));
        let sizes = sizes.into_iter().map(|(tokens, names)| (tokens, names.into_iter().collect()));
        SizesByWorker { sizes: sizes.collect(), claims: judged, untold, ..SizesByWorker::default() }
    }
}

/// How the block sizes of workers compare.
#[derive(Clone, Debug, Default)]
pub struct SizesByWorker<'a> {
    /// The sizes with the workers that have them, the one of most workers first.
    pub sizes: Vec<(u32, Vec<Arc<str>>)>,
    /// The claims that say so, one for each worker.
    pub claims: Vec<&'a SizeClaim>,
    /// What a worker was started with, where that differs from the live cards of others.
    pub untold: Option<&'a SizeClaim>,
    /// Which part of the workers these are, where parts have a size each.
    pub part: Option<&'static str>,
    /// What is missing to tell whether these are to agree.
    pub open: Option<&'static str>,
}

impl SizesByWorker<'_> {
    fn agrees(&self) -> bool {
        self.sizes.len() < 2 && self.untold.is_none()
    }
}

impl SizeClaim {
    /// Returns true when it is of a worker that computes prompts only, none when that is not known.
    pub fn is_prefill(&self) -> Option<bool> {
        // What cards say from 1.3 on, components as discovery names them (dynamo 0.9.0 to 1.6.1), and roles as
        // manifests do.
        const OTHERS: [&str; 5] = ["aggregated", "backend", "tensorrt_llm", "worker", "decode"];
        let role = self.role.as_deref()?.to_ascii_lowercase();
        if role.contains("prefill") {
            return Some(true);
        }
        OTHERS.iter().any(|other| role.contains(other)).then_some(false)
    }
}
