//! KVT013: routers do not act as one.

use crate::diagnose::fix::{Change, Part};
use crate::diagnose::knobs;
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
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
         adopted different block sizes are worse: the same request is hashed in two ways. \
         Judged by the sizes that frontends report in their metrics, by the number of routers \
         that route, and by the setting."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let claims: Vec<_> = evidence.sizes_of(ClaimOf::Router).collect();
        let mut sizes: Vec<u32> = claims.iter().map(|claim| claim.tokens).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.len() > 1 {
            let proofs = claims
                .iter()
                .map(|claim| claim.proof(format!("block size of {}", claim.who(evidence))));
            return Finding::new(
                Severity::Warning,
                Grade::ConfigOnly,
                format!("Routers hash with different block sizes: {sizes:?}."),
                proofs.collect(),
            )
            .means("Some routers find what others cannot.", "Frontends of different models.")
            .mended_by("Roll the frontends that adopted an old model card.", "those frontends")
            .into();
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

/// The variable that shares the load, in versions that read one.
fn replica_sync(evidence: &Evidence) -> Option<Change> {
    let name = evidence.knob(knobs::REPLICA_SYNC)?.strip_suffix("=true")?;
    let variable = Some(name.to_owned());
    Some(Change::Set {
        on: Part::Frontend,
        variable,
        flags: &[],
        inside: None,
        value: "true".to_owned(),
    })
}
