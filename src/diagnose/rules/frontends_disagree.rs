//! KVT013: routers do not act as one.

use std::collections::BTreeSet;

use crate::diagnose::fix::{Change, Part};
use crate::diagnose::knobs;
use crate::diagnose::rules::block_size_mismatch::BlockSizeMismatch;
use crate::diagnose::{Evidence, Finding, Proof, RouterKind, Rule, SizeClaim, Verdict};
use crate::domain::{ClaimOf, Grade, Severity};

pub(super) struct FrontendsDisagree;

impl Rule for FrontendsDisagree {
    fn id(&self) -> &'static str {
        "KVT013"
    }

    fn name(&self) -> &'static str {
        "frontends-disagree"
    }

    fn about(&self) -> &'static str {
        "Several routers share the workers, and each knows only the load that it caused itself: \
         without DYN_ROUTER_REPLICA_SYNC=true (0.9: --router-replica-sync) they pile onto the same worker. Frontends that \
         adopted different block sizes for one model are worse: the same request is hashed in two ways. \
         Judged by the sizes that frontends report in their metrics, by the number of routers \
         that route, and by the setting."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        if let Some(claims) = at_odds(evidence) {
            return sizes_differ(evidence, &claims);
        }
        let (seen, there) = (&evidence.router.pods, &evidence.router.replicas);
        let pods = if seen.len() >= there.len() { seen } else { there };
        let sync = evidence.settings.replica_sync.as_ref();
        match (pods.len(), sync) {
            (0, _) => Verdict::unknown("routers: neither logs nor pods show one that routes"),
            (1, _) if evidence.plane.logs_only => {
                Verdict::unknown("other routers: saved logs show one, and may leave others out")
            }
            (1, _) => Verdict::clear("one router routes"),
            (_, Some(set)) if set.value => Verdict::clear("routers share their load"),
            (_, None) => Verdict::unknown(format!(
                "whether routers share their load ({}): no pod or manifest of one was seen",
                evidence.knob_text(knobs::REPLICA_SYNC, "")
            )),
            (count, Some(set)) => Finding::new(
                Severity::Info,
                Grade::ConfigOnly,
                format!("{count} routers do not tell each other what they routed."),
                vec![
                    Proof::new(
                        "replica sync",
                        format!("off ({})", set.raw),
                        set.source.to_string(),
                    )
                    .at(set.at),
                    Proof::new("routers", pods.join(", "), "pods and logs").at(evidence.at),
                ],
            )
            .means("Each knows only the load that it caused.", "One router only.")
            .mended_by(
                format!("Give all frontends {}.", evidence.knob_text(knobs::REPLICA_SYNC, "")),
                evidence.frontend_restarts(),
            )
            .through(replica_sync(evidence))
            .into(),
        }
    }
}

/// Returns the sizes of routers for one model, when they differ. Each model has a size of its own; where
/// only some routers say which model theirs is of, nothing is compared unless there is but one.
fn at_odds(evidence: &Evidence) -> Option<Vec<&SizeClaim>> {
    let claims = evidence.best_by_subject(ClaimOf::Router);
    let models: BTreeSet<&str> = claims.iter().filter_map(|claim| claim.model.as_deref()).collect();
    let groups = if models.len() > 1 {
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
    groups.into_iter().find(differ)
}

/// Routers hash with different sizes. Where KVT001 names the one that is wrong, it says what to do.
fn sizes_differ(evidence: &Evidence, claims: &[&SizeClaim]) -> Verdict {
    let own = evidence.settings.router_kind == RouterKind::OwnSize;
    if own && let Verdict::Found(_) = BlockSizeMismatch.judge(evidence) {
        return Verdict::unknown("explained by KVT001; judged again once that is cured");
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
    // Where there is but one model its name says nothing.
    let of = match model.filter(|_| evidence.models_of_routers() > 1) {
        Some(model) => format!(" for {model}"),
        None => String::new(),
    };
    let named = sizes.iter().map(|(tokens, names)| format!("{tokens} ({})", names.join(", ")));
    let named = named.collect::<Vec<_>>().join("; ");
    let proofs = claims
        .iter()
        .take(16)
        .map(|claim| claim.proof(format!("block size of {}", claim.who(evidence))));
    let finding = Finding::new(
        Severity::Warning,
        Grade::ConfigOnly,
        format!("Routers hash with different block sizes{of}: {named}."),
        proofs.collect(),
    )
    .means("Some routers find what others cannot.", "Routers of different models.");
    match evidence.settings.router_kind {
        RouterKind::Frontend => finding
            .mended_by("Roll the frontends that adopted an old model card.", "those frontends"),
        RouterKind::OwnSize | RouterKind::Unknown => {
            let name = evidence.knob_text(knobs::ROUTER_SIZE, "");
            let sentence = match evidence.worker_size() {
                Some(claim) => format!("Start all routers with {name} {}.", claim.tokens),
                None => format!("Start all routers with their workers' block size ({name})."),
            };
            finding.mended_by(sentence, "those routers; they read their index anew")
        }
    }
    .into()
}

/// The variable that shares the load, in versions that read one.
fn replica_sync(evidence: &Evidence) -> Option<Change> {
    let name = evidence.knob(knobs::REPLICA_SYNC)?.strip_suffix("=true")?;
    let variable = Some(name.to_owned());
    Some(Change::Set { on: Part::Frontend, variable, flags: &[], value: "true".to_owned() })
}
