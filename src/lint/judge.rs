//! Applies the rules of a live deployment to the evidence in a manifest.

mod declared;
mod planes;
mod routing;
mod sizes;

pub(in crate::lint) use planes::PLANES;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::checks;
use super::manifest::{Deployment, Part};
use super::place::Text;
use super::plan::Plan;
use super::{Flaw, Unjudged, Verdicts};
use crate::diagnose::{
    self, Belongs, Evidence, Finding, Ground, OfWorker, RankEvidence, RouterKind, Setting,
    SizeClaim, Verdict,
};
use crate::domain::{
    Claim, ClaimOf, ClaimValue, ClaimWhat, DpRank, Grade, Release, Releases, Role, Severity,
    Timestamp, WorkerId, WorkerRank,
};
use crate::model::{RequestTally, Tally};

/// One deployment while it is judged.
pub(super) struct Scene<'a, 'b> {
    pub(super) text: Text<'b>,
    pub(super) deployment: &'b Deployment<'a>,
    prefills: &'b Prefills<'b>,
}

/// The models of prefill workers: looked at for each worker, of which there may be many.
struct Prefills<'b> {
    models: BTreeSet<Option<&'b str>>,
}

impl<'b> Prefills<'b> {
    fn of(deployment: &'b Deployment<'_>) -> Self {
        let prefills = deployment.parts.iter().filter(|part| part.role == Role::Prefill);
        Self { models: prefills.map(Part::model).collect() }
    }

    /// Returns true if there may be one of this model.
    fn may_serve(&self, model: Option<&str>) -> bool {
        match model {
            None => !self.models.is_empty(),
            model => self.models.contains(&None) || self.models.contains(&model),
        }
    }
}

/// Judges one deployment.
pub(super) fn judge(text: Text<'_>, deployment: &Deployment<'_>, found: &mut Verdicts) {
    let prefills = Prefills::of(deployment);
    let scene = Scene { text, deployment, prefills: &prefills };
    checks::values(&scene, &mut found.flaws);
    checks::unknown_values(&scene, &mut found.flaws);
    scene.hidden(found);
    // Nothing below applies without KV-aware routing.
    let plan = Plan::new(&scene);
    scene.unsure(plan.is_kv, found);
    if !plan.is_kv {
        scene.declined(&plan, found);
        return;
    }
    found.routed.insert(deployment.name.clone());
    let mut evidence = scene.evidence(&plan);
    scene.sizes(&mut evidence, found);
    scene.declared(&evidence, &plan, found);
    scene.routing(&evidence, &plan, found);
    scene.reuse(&evidence, found);
    scene.planes(&plan, found);
    checks::run(&scene, &mut found.flaws);
}

impl<'a, 'b> Scene<'a, 'b> {
    /// Reports decisive settings that may be made in places that lint cannot read. Where nothing asks for KV-aware
    /// routing, that is the router mode alone.
    fn unsure(&self, is_kv: bool, found: &mut Verdicts) {
        const DECISIVE: [(&str, ClaimWhat, ClaimOf); 6] = [
            ("KVT005", ClaimWhat::RouterMode, ClaimOf::Router),
            ("KVT016", ClaimWhat::BlockSize, ClaimOf::Declared),
            ("KVT001", ClaimWhat::BlockSize, ClaimOf::Router),
            ("KVT001", ClaimWhat::BlockSize, ClaimOf::Engine),
            ("KVT001", ClaimWhat::BlockSize, ClaimOf::Publisher),
            ("KVT003", ClaimWhat::PublishesEvents, ClaimOf::Publisher),
        ];
        for part in &self.deployment.parts {
            let mut told: Vec<(&str, &str)> = Vec::new();
            let asked = |(_, what, _): &&(&str, ClaimWhat, ClaimOf)| {
                is_kv || (*what == ClaimWhat::RouterMode && part.role == Role::Frontend)
            };
            for &(id, what, of) in DECISIVE.iter().filter(asked) {
                let Some(by) = part.hides(what, of) else { continue };
                // Missing files and ConfigMaps are reported elsewhere.
                let named = part.unread.as_ref() == Some(by)
                    || part.hidden.iter().any(|map| by.ends_with(map.as_ref()));
                if named || told.contains(&(id, by)) {
                    continue;
                }
                told.push((id, by));
                let missing = format!("needs {by}, which may hold settings of {}", part.name);
                let deployment = self.deployment.name.clone();
                found.unjudged.push(Unjudged { deployment, id, missing });
            }
        }
    }

    /// Reports variables from `ConfigMap`s that were not given. The router mode may be one of them.
    fn hidden(&self, found: &mut Verdicts) {
        let parts = self.deployment.parts.iter();
        for part in parts.filter(|part| part.role.is_router() || part.role.has_kv_blocks()) {
            let id = if part.role.is_router() { "KVT005" } else { "KVT001" };
            for map in &part.hidden {
                let missing =
                    format!("needs ConfigMap {map}, which sets variables of {}", part.name);
                let deployment = self.deployment.name.clone();
                found.unjudged.push(Unjudged { deployment, id, missing });
            }
        }
    }

    /// Returns the parts that may route.
    pub(super) fn routers(&self) -> impl Iterator<Item = &'b Part<'a>> {
        self.deployment.parts.iter().filter(|part| part.role.is_router())
    }

    /// Returns the frontends.
    pub(super) fn frontends(&self) -> impl Iterator<Item = &'b Part<'a>> {
        self.routers().filter(|part| part.role == Role::Frontend)
    }

    /// Returns the workers with KV blocks that a router may look for, each with its id.
    pub(super) fn workers(&self) -> impl Iterator<Item = (WorkerId, &'b Part<'a>)> {
        let numbered = (0..).map(WorkerId).zip(&self.deployment.parts);
        numbered.filter(|(_, part)| part.role.has_kv_blocks())
    }

    /// Returns the parts with an engine.
    pub(super) fn engines(&self) -> impl Iterator<Item = &'b Part<'a>> {
        self.deployment.parts.iter().filter(|part| part.role.is_worker())
    }

    /// Returns true for a worker whose KV events count: one that computes prompts. Decode workers publish none by design,
    /// and those beside prefill workers of the same model may be such. A model that is not named may be any.
    pub(super) fn computes_prompts(&self, part: &Part<'_>) -> bool {
        if self.prefills.may_serve(part.model()) {
            part.role == Role::Prefill
        } else {
            part.role != Role::Decode
        }
    }

    fn worker(&self, worker: Option<WorkerId>) -> Option<&'b Part<'a>> {
        let at = usize::try_from(worker?.0).ok()?;
        self.deployment.parts.get(at).filter(|part| part.role.has_kv_blocks())
    }

    fn named(&self, name: Option<&Arc<str>>) -> Option<&'b Part<'a>> {
        self.deployment.parts.iter().find(|part| Some(&part.name) == name)
    }

    fn evidence(&self, plan: &Plan) -> Evidence {
        let mut evidence = Evidence { releases: self.releases(), ..Evidence::default() };
        for (worker, part) in self.workers() {
            evidence.ranks.push(rank(worker, part));
            for of in [ClaimOf::Engine, ClaimOf::Publisher, ClaimOf::Card] {
                evidence.sizes.extend(size(part, of, Some(worker)));
            }
            evidence.models.extend(part.model().map(|model| (worker, model.into())));
            let reuse = part.claims.get(&(ClaimWhat::PrefixReuse, ClaimOf::Engine));
            // Workers that only decode have no use for it.
            let reuse = reuse.filter(|_| self.computes_prompts(part));
            evidence.settings.prefix_reuse.extend(reuse.and_then(flag).map(|set| OfWorker {
                worker: Some(worker),
                who: Arc::clone(&part.name),
                set,
            }));
        }
        for part in self.routers() {
            evidence.sizes.extend(size(part, ClaimOf::Declared, None));
            evidence.sizes.extend(size(part, ClaimOf::Router, None));
        }
        evidence.settings.router_kind =
            if plan.has_own_size { RouterKind::OwnSize } else { RouterKind::Frontend };
        evidence
    }

    /// Returns the releases that the images are of, all of them together.
    fn releases(&self) -> Releases {
        let known = self.deployment.parts.iter().filter_map(Part::version);
        let known: Vec<_> = known.map(|(major, minor)| Release::new(major, minor)).collect();
        Releases { least: known.iter().min().copied(), most: known.iter().max().copied() }
    }

    /// Returns the version of a part: that of its own image, or the one that all others have.
    pub(super) fn version_of(&self, part: &Part<'_>) -> Option<(u32, u32)> {
        let mut known = self.deployment.parts.iter().filter_map(Part::version);
        let first = known.next();
        part.version().or_else(|| first.filter(|first| known.all(|other| other == *first)))
    }

    /// Returns the router mode that a worker's model card names; only workers of 1.5 and later take one.
    pub(super) fn own_mode<'p>(&self, part: &'p Part<'_>) -> Option<&'p Claim> {
        const FIRST: (u32, u32) = (1, 5);
        let claim = part.claims.get(&(ClaimWhat::RouterMode, ClaimOf::Card));
        claim.filter(|_| self.version_of(part).is_some_and(|version| version >= FIRST))
    }

    /// Returns a flaw as the rule with public id `id` words it.
    fn flaw(&self, id: &'static str, finding: &Finding) -> Flaw {
        let fix = finding.fix.as_ref().map_or(String::new(), |fix| fix.sentence.to_string());
        Flaw {
            name: diagnose::rule(id).map_or("", |rule| rule.name()),
            severity: finding.severity,
            grade: finding.grade,
            summary: finding.summary.to_string(),
            effect: finding.effect.to_string(),
            fix,
            ..self.blank(id)
        }
    }

    /// Returns a flaw of this deployment without words.
    pub(super) fn blank(&self, id: &'static str) -> Flaw {
        let oldest = self.deployment.parts.iter().filter_map(Part::version).min();
        Flaw {
            id,
            name: "",
            severity: Severity::Warning,
            grade: Grade::ConfigOnly,
            deployment: self.deployment.name.clone(),
            component: String::new(),
            summary: String::new(),
            effect: String::new(),
            versions: checks::versions(id),
            dynamo: oldest.map(named),
            template: None,
            spots: Vec::new(),
            fix: String::new(),
            edits: Vec::new(),
        }
    }

    /// Adds where a claim stands.
    pub(super) fn spot(&self, flaw: &mut Flaw, part: &Part<'_>, what: ClaimWhat, of: ClaimOf) {
        let Some(claim) = part.claims.get(&(what, of)) else { return };
        flaw.spots.push(self.text.of_claim(part, claim));
        if flaw.component.is_empty() {
            flaw.component = part.name.to_string();
            flaw.dynamo = self.version_of(part).map(named).or(flaw.dynamo.take());
        }
        if flaw.template.is_none() {
            flaw.template = part.template.map(str::to_owned);
        }
    }
}

/// Returns a release as its image is tagged.
fn named((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}

/// Returns the finding of the rule with public id `id`, if any.
fn raised(id: &str, evidence: &Evidence) -> Option<Finding> {
    match diagnose::rule(id)?.judge(evidence) {
        Verdict::Found(finding) => Some(*finding),
        Verdict::Clear { .. } | Verdict::Unknown { .. } => None,
    }
}

fn rank(worker: WorkerId, part: &Part<'_>) -> RankEvidence {
    RankEvidence {
        rank: WorkerRank { worker, dp_rank: DpRank(0) },
        name: Arc::clone(&part.name),
        pod: None,
        role: Some(part.role.name().into()),
        gone: false,
        left: None,
        started: None,
        backend: part.backend,
        registered: true,
        past_known: true,
        missing: 0,
        unmatched: 0,
        born: None,
        was_named: true,
        id_holes: 0,
        open_holes: 0,
        unpublished: 0,
        tally: Tally::default(),
        told: RequestTally::default(),
        unhit: 0,
        accepted: 0,
        held: 0,
        capacity: None,
        utilization: None,
        avoided: None,
        hit_rate: None,
        first_event: None,
        last_event: None,
        first_routed: None,
        last_routed: None,
        owed: None,
        belongs: Belongs::Here,
    }
}

/// Returns a size as evidence. In a manifest a default is as good as a setting: nothing else decides.
fn size(part: &Part<'_>, of: ClaimOf, worker: Option<WorkerId>) -> Option<SizeClaim> {
    let claim = part.claims.get(&(ClaimWhat::BlockSize, of))?;
    Some(SizeClaim {
        of,
        worker,
        pod: worker.is_none().then(|| Arc::clone(&part.name)),
        component: None,
        role: Some(part.role.name().into()),
        model: None,
        dynamo_namespace: None,
        tokens: part.count(ClaimWhat::BlockSize, of).filter(|tokens| *tokens > 0)?,
        ground: Ground::Setting,
        source: Arc::clone(&claim.source),
        raw: Arc::clone(&claim.raw),
        set_by: claim.set_by.clone(),
        medium: claim.medium,
        at: Timestamp::default(),
        last: Timestamp::default(),
    })
}

fn setting<T>(claim: &Claim, value: T) -> Setting<T> {
    Setting {
        value,
        ground: Ground::Setting,
        source: Arc::clone(&claim.source),
        raw: Arc::clone(&claim.raw),
        set_by: claim.set_by.clone(),
        medium: claim.medium,
        at: Timestamp::default(),
    }
}

fn flag(claim: &Claim) -> Option<Setting<bool>> {
    match claim.value {
        ClaimValue::Flag(value) => Some(setting(claim, value)),
        _ => None,
    }
}

fn text_of(claim: &Claim) -> Option<Setting<Arc<str>>> {
    match &claim.value {
        ClaimValue::Text(value) => Some(setting(claim, Arc::clone(value))),
        _ => None,
    }
}

fn decimal(claim: &Claim) -> Option<Setting<f64>> {
    match claim.value {
        ClaimValue::Millionths(value) => Some(setting(claim, value as f64 / 1e6)),
        ClaimValue::Count(value) => Some(setting(claim, value as f64)),
        _ => None,
    }
}
