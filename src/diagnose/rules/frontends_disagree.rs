//! KVT013: several routers do not share load, or hash with different block sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diagnose::Origin;
use crate::diagnose::fix::{Change, Part};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Phrase, phrase};
use crate::diagnose::rules::block_size_mismatch::BlockSizeMismatch;
use crate::diagnose::{Evidence, Finding, Proof, RouterKind, Rule, SizeClaim, Verdict};
use crate::domain::{ClaimOf, Grade, Severity};
use crate::dynamo::{flag, settings};

pub(super) struct FrontendsDisagree;

impl Rule for FrontendsDisagree {
    fn id(&self) -> &'static str {
        "KVT013"
    }

    fn name(&self) -> &'static str {
        "frontends-disagree"
    }

    fn about(&self) -> &'static str {
        "Several routers use the same workers, but each one knows only the load of its own requests. Without \
         {variable::ROUTER_REPLICA_SYNC}=true (0.9: {flag::ROUTER_REPLICA_SYNC}) they overload the same worker. Frontends \
         with different block sizes for one model are worse: they hash the same request in two ways.\nDetected \
         by the block sizes in the frontends' metrics, the number of active routers, and the setting.\nStart all \
         frontends with {variable::ROUTER_REPLICA_SYNC}=true (0.9: {flag::ROUTER_REPLICA_SYNC})."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn versions(&self) -> &'static str {
        "0.9: {flag::ROUTER_REPLICA_SYNC}. From 1.0 also {variable::ROUTER_REPLICA_SYNC}."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        if let Some(claims) = at_odds(evidence) {
            if follow_namespaces(evidence, &claims) {
                return Verdict::unknown(
                    "needs the Dynamo namespace of each router: there are workers of several",
                );
            }
            return sizes_differ(evidence, &claims);
        }
        let (seen, there) = (&evidence.router.pods, &evidence.router.replicas);
        let pods = if seen.len() >= there.len() { seen } else { there };
        let sync = evidence.settings.replica_sync.as_ref();
        match (pods.len(), sync) {
            (0, _) => Verdict::unknown("needs a router that routes (none in logs or pods)"),
            (1, _) if evidence.plane.logs_only => {
                Verdict::unknown("cannot tell: saved logs show one router, but may omit others")
            }
            (1, _) => Verdict::clear("only one router chooses workers by cached blocks"),
            (_, Some(set)) if set.value => {
                Verdict::clear("routers share load (replica sync is on)")
            }
            _ if apart(evidence, pods) => Verdict::unknown(
                "needs the deployment of each router: there are workers of several",
            ),
            (_, None) => Verdict::unknown(phrase!(
                "needs a router's pod or manifest ({}), which kvtop has not seen",
                evidence.replica_sync()
            )),
            (count, Some(set)) => Finding::new(
                Severity::Info,
                Grade::ConfigOnly,
                phrase!("{} routers are not sharing load (replica sync is off).", count),
                vec![
                    Proof::new(measure::REPLICA_SYNC, phrase!("off ({})", set.raw), set.origin())
                        .at(set.at),
                    Proof::new(
                        measure::ROUTERS,
                        pods.join(", "),
                        Origin::Several(&[Origin::Pods, Origin::Logs]),
                    )
                    .at(evidence.at),
                ],
            )
            .means("Each router knows only the load of its own requests.", "A single router.")
            .mended_by(
                if denies(evidence) {
                    phrase!(
                        "Start all frontends with {} and without {}.",
                        evidence.replica_sync(),
                        flag::NO_ROUTER_REPLICA_SYNC
                    )
                } else {
                    phrase!("Start all frontends with {}.", evidence.replica_sync())
                },
                evidence.frontend_restarts(),
            )
            .through(replica_sync(evidence))
            .into(),
        }
    }
}

/// Returns the block sizes of routers for one model if they differ. Each model has its own size. If only some
/// routers name their model, sizes are compared only when there is a single model.
fn at_odds(evidence: &Evidence) -> Option<Vec<&SizeClaim>> {
    let claims = evidence.best_by_subject(ClaimOf::Router);
    let models: BTreeSet<&str> = claims.iter().filter_map(|claim| claim.model.as_deref()).collect();
    let groups: Vec<Vec<&SizeClaim>> = if models.len() > 1 {
        let of = |model: Option<&str>| {
            claims.iter().copied().filter(|claim| claim.model.as_deref() == model).collect()
        };
        models.into_iter().map(Some).chain([None]).map(of).collect()
    } else {
        vec![claims]
    };
    let differ = |group: &Vec<&SizeClaim>| {
        group.first().is_some_and(|first| group.iter().any(|it| it.tokens != first.tokens))
    };
    // Each Dynamo namespace has routers of its own.
    let apart = groups.into_iter().flat_map(|group| {
        let mut of: BTreeMap<Option<&str>, Vec<&SizeClaim>> = BTreeMap::new();
        for claim in group {
            of.entry(claim.dynamo_namespace.as_deref()).or_default().push(claim);
        }
        of.into_values()
    });
    apart.into_iter().find(differ)
}

/// Returns true when routers of which nobody knows the namespace may have workers in different ones: those of the
/// deployment have just these sizes, or there are workers of other deployments.
fn follow_namespaces(evidence: &Evidence, claims: &[&SizeClaim]) -> bool {
    let of = namespaces(evidence);
    let unplaced = claims.iter().any(|claim| claim.dynamo_namespace.is_none());
    let alike = || claims.iter().all(|claim| of.iter().any(|(_, tokens)| *tokens == claim.tokens));
    unplaced && (evidence.has_foreign || several(&of) && alike())
}

/// Returns true when nobody knows the deployment of the routers that choose workers, and there are workers of several.
fn apart(evidence: &Evidence, pods: &[Arc<str>]) -> bool {
    let unplaced = evidence.router.unplaced && evidence.router.pods == pods;
    unplaced && (evidence.has_foreign || several(&namespaces(evidence)))
}

/// Returns the Dynamo namespaces of workers, with the block sizes of each.
fn namespaces(evidence: &Evidence) -> BTreeSet<(Arc<str>, u32)> {
    let workers = evidence.best_by_subject(ClaimOf::Card).into_iter();
    workers.filter_map(|it| Some((it.dynamo_namespace.clone()?, it.tokens))).collect()
}

fn several(of: &BTreeSet<(Arc<str>, u32)>) -> bool {
    of.first().zip(of.last()).is_some_and(|((first, _), (last, _))| first != last)
}

/// Returns the finding for routers that hash with different sizes. If KVT001 names the wrong one, its fix applies.
fn sizes_differ(evidence: &Evidence, claims: &[&SizeClaim]) -> Verdict {
    let own = evidence.settings.router_kind == RouterKind::OwnSize;
    if own && let Verdict::Found(_) = BlockSizeMismatch.judge(evidence) {
        return Verdict::unknown("explained by KVT001; will be judged again once KVT001 is fixed");
    }
    let mut sizes: Vec<(u32, Vec<String>)> = Vec::new();
    for claim in claims {
        let who = claim.who(evidence).to_string();
        match sizes.iter_mut().find(|(tokens, _)| *tokens == claim.tokens) {
            Some((_, names)) => names.push(who),
            None => sizes.push((claim.tokens, vec![who])),
        }
    }
    sizes.sort_unstable();
    let model = claims.first().and_then(|claim| claim.model.as_deref());
    // A single model needs no name.
    let of = match model.filter(|_| evidence.models_of_routers() > 1) {
        Some(model) => phrase!(" for {}", model),
        None => Phrase::default(),
    };
    let named = sizes.iter().map(|(tokens, names)| phrase!("{} ({})", tokens, names.join(", ")));
    let named = Phrase::joined("; ", named);
    let proofs = claims
        .iter()
        .take(16)
        .map(|claim| claim.proof(measure::BLOCK_SIZE_OF.of(claim.who(evidence))));
    let finding = Finding::new(
        Severity::Warning,
        Grade::ConfigOnly,
        phrase!("Routers hash with different block sizes{}: {}.", of, named),
        proofs.collect(),
    )
    .means(
        "Some routers find cached blocks that others cannot.",
        "Routers that serve different models.",
    );
    match evidence.settings.router_kind {
        RouterKind::Frontend => finding.mended_by(
            "Restart the frontends that still use an old model card.",
            "restart of those frontends",
        ),
        RouterKind::OwnSize | RouterKind::Unknown => {
            let name = evidence.knob_text(settings::ROUTER_SIZE, "");
            let sentence = match evidence.worker_size() {
                Some(claim) => phrase!("Start all routers with {} {}.", name, claim.tokens),
                None => phrase!("Start all routers with their workers' block size ({}).", name),
            };
            finding.mended_by(sentence, "restart of those routers, which rebuild their index")
        }
    }
    .into()
}

/// Returns true when a flag denies replica sync: it wins over the variable.
fn denies(evidence: &Evidence) -> bool {
    let denied = Some(flag::NO_ROUTER_REPLICA_SYNC);
    evidence.settings.replica_sync.as_ref().is_some_and(|set| set.flag() == denied)
        || evidence.objects.has_flag(flag::NO_ROUTER_REPLICA_SYNC)
}

/// Returns the changes that turn replica sync on, if the name of the setting is known.
fn replica_sync(evidence: &Evidence) -> Vec<Change> {
    let Some(name) = evidence.knob(settings::REPLICA_SYNC) else { return Vec::new() };
    let switch = |flags, present| Change::Switch { on: Part::Frontend, flags, present };
    let off = denies(evidence).then(|| switch(&[flag::NO_ROUTER_REPLICA_SYNC], false));
    let on = if name == flag::ROUTER_REPLICA_SYNC {
        switch(&[flag::ROUTER_REPLICA_SYNC], true)
    } else {
        let (variable, value) = (Some(name.to_owned()), "true".to_owned());
        Change::Set { on: Part::Frontend, variable, flags: &[], value }
    };
    off.into_iter().chain([on]).collect()
}
