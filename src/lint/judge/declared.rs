//! KVT016: the block size that frontends declare.

use super::Scene;
use super::sizes::has_no_size;
use crate::diagnose::{self, Evidence, Ground, RouterKind, SizeClaim, Verdict};
use crate::domain::{Backend, Basis, ClaimOf, ClaimValue, ClaimWhat, Grade, Medium, Timestamp};
use crate::dynamo::{flag, variable};
use crate::lint::manifest::Part;
use crate::lint::plan::Plan;
use crate::lint::{Edit, Flaw, Spot, Unjudged, Verdicts};
use crate::wire;

impl Scene<'_, '_> {
    /// KVT016: compares the size declared on frontends with that of the workers.
    pub(super) fn declared(&self, evidence: &Evidence, plan: &Plan, found: &mut Verdicts) {
        let mut evidence = evidence.clone();
        let reads = self.frontends().any(Plan::hashes_with_declared);
        evidence.settings.router_kind = match (reads, plan.has_own_size) {
            (true, _) => RouterKind::OwnSize,
            (false, true) => RouterKind::Unknown,
            (false, false) => RouterKind::Frontend,
        };
        // With a standalone router, frontends need not declare a size.
        if plan.has_own_size && !reads && !self.frontends().any(declares) {
            return;
        }
        if self.frontends().next().is_none() || self.nobody_wrote_a_size() {
            return;
        }
        let supposed = self.supposed();
        evidence.sizes.extend(supposed.as_ref().map(|(_, claim)| claim.clone()));
        match diagnose::rule("KVT016").map(|rule| rule.judge(&evidence)) {
            Some(Verdict::Found(finding)) => {
                let mut flaw = self.flaw("KVT016", &finding);
                let worker = evidence.worker_size();
                let Some(tokens) = worker.map(|claim| claim.tokens) else { return };
                for part in self.frontends() {
                    let of = ClaimOf::Declared;
                    if part.count(ClaimWhat::BlockSize, of).is_some_and(|known| known != tokens) {
                        self.spot(&mut flaw, part, ClaimWhat::BlockSize, of);
                        flaw.edits.extend(self.set_declared(part, tokens));
                    }
                }
                match &supposed {
                    Some((spot, _)) => {
                        flaw.grade = Grade::Likely;
                        flaw.spots.push(spot.clone());
                        flaw.summary.push_str(" No worker was given; 32 is its engine's default.");
                    }
                    None => self.cite(&mut flaw, tokens, &evidence, found),
                }
                found.flaws.push(flaw);
            }
            Some(Verdict::Unknown { .. }) => {
                let worker = evidence.worker_size().is_none();
                let missing = if evidence.models_served().len() > 1 {
                    "needs one block size for the models' workers (they use several)"
                } else if evidence.several_sizes().is_some() {
                    "needs one block size for all workers (they use several)"
                } else if self.frontends().any(has_no_number) {
                    "needs a number as the frontend's declared size (KVT104)"
                } else if worker {
                    "needs the workers' block size (no given argument or configuration sets one)"
                } else {
                    "needs the source of the frontend's declared size (not among the given files)"
                };
                let deployment = self.deployment.name.clone();
                found.unjudged.push(Unjudged { deployment, id: "KVT016", missing: missing.into() });
            }
            Some(Verdict::Clear { .. }) | None => {}
        }
    }

    /// Returns true where neither a frontend nor a worker was given a size: none can differ from another one.
    fn nobody_wrote_a_size(&self) -> bool {
        let hides = |part: &Part<'_>| {
            part.hides(ClaimWhat::BlockSize, ClaimOf::Declared).is_some() || !part.hidden.is_empty()
        };
        self.workers().next().is_some()
            && self.workers().all(|(_, part)| has_no_size(part))
            && !self.frontends().any(|part| declares(part) || hides(part))
    }

    /// Returns the assumed size for a deployment without workers and without a declared size: TensorRT-LLM's
    /// default, if the frontend's image is of that engine
    /// (`--kv-block-size`, ai-dynamo 0.9.0, `trtllm/utils/trtllm_utils.py:187`; `tokens_per_block` from 1.4).
    fn supposed(&self) -> Option<(Spot, SizeClaim)> {
        if self.workers().next().is_some() {
            return None;
        }
        let image = |part: &Part<'_>| {
            let (key, image) = part.container?.entry("image")?;
            let of = wire::backend_of_image(image.text()?);
            let what = format!("{}; tokens_per_block is 32 by default", image.text()?);
            let spot = self.text.spot(part.file, (key.line, key.column), &what);
            (of == Some(Backend::TrtLlm)).then_some(spot)
        };
        let unset = |part: &&Part<'_>| {
            let claim = part.claims.get(&(ClaimWhat::BlockSize, ClaimOf::Declared));
            claim.is_some_and(|claim| claim.basis == Basis::Default)
        };
        let spot = self.frontends().filter(unset).find_map(image)?;
        let claim = SizeClaim {
            of: ClaimOf::Engine,
            worker: None,
            pod: None,
            component: None,
            role: None,
            model: None,
            dynamo_namespace: None,
            tokens: 32,
            ground: Ground::Default,
            source: "default of TensorRT-LLM".into(),
            raw: spot.what.as_str().into(),
            set_by: None,
            medium: Medium::Settings,
            at: Timestamp::default(),
            last: Timestamp::default(),
        };
        Some((spot, claim))
    }

    /// Cites the setting behind `tokens`. If another finding's fix changes the workers' size, the summary
    /// leaves the workers to that fix.
    fn cite(&self, flaw: &mut Flaw, tokens: u32, evidence: &Evidence, found: &Verdicts) {
        let says =
            |part: &Part<'_>, of: &ClaimOf| part.count(ClaimWhat::BlockSize, *of) == Some(tokens);
        let of = [ClaimOf::Publisher, ClaimOf::Engine, ClaimOf::Card];
        let saying = self
            .workers()
            .filter_map(|(_, part)| of.into_iter().find(|of| says(part, of)).map(|of| (part, of)));
        let by_default = |(part, of): &(&Part<'_>, ClaimOf)| {
            let claim = part.claims.get(&(ClaimWhat::BlockSize, *of));
            claim.is_some_and(|claim| claim.basis == Basis::Default)
        };
        if let Some((part, of)) = saying.min_by_key(by_default) {
            self.spot(flaw, part, ClaimWhat::BlockSize, of);
        }
        let mended = ["KVT001", "KVT002"].into_iter().find(|id| {
            let mut known = found.flaws.iter();
            known.any(|it| it.id == *id && it.deployment == flaw.deployment)
        });
        // The rule itself has left the workers to KVT001 if that is found.
        let by_rule = diagnose::rule("KVT001").map(|rule| rule.judge(evidence));
        let declared = |part: &Part<'_>| part.count(ClaimWhat::BlockSize, ClaimOf::Declared);
        let declared = self.frontends().filter_map(declared).find(|known| *known != tokens);
        if let (Some(id), Some(declared)) = (mended, declared)
            && !matches!(by_rule, Some(Verdict::Found(_)))
        {
            flaw.summary = diagnose::frontend_size_only(declared, tokens, id).to_string();
        }
    }

    pub(super) fn set_declared(&self, part: &Part<'_>, tokens: u32) -> Option<Edit> {
        let flags = [flag::KV_CACHE_BLOCK_SIZE];
        let tokens = tokens.to_string();
        if self.text.flag(part, &flags).is_some() {
            return self.text.set_flag(part, &flags, Some(&tokens));
        }
        self.text.set_env(part, variable::KV_CACHE_BLOCK_SIZE, &tokens)
    }
}

/// Returns true for frontends that were given a size to declare.
fn declares(part: &Part<'_>) -> bool {
    let claim = part.claims.get(&(ClaimWhat::BlockSize, ClaimOf::Declared));
    claim.is_some_and(|claim| claim.basis != Basis::Default)
}

/// Returns true for frontends whose declared size is not a number.
fn has_no_number(part: &Part<'_>) -> bool {
    let claim = part.claims.get(&(ClaimWhat::BlockSize, ClaimOf::Declared));
    claim.is_some_and(|claim| matches!(claim.value, ClaimValue::Text(_)))
}
