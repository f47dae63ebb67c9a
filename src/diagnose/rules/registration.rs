//! KVT012: discovery and traffic disagree about who is there.

use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity};

pub(super) struct Registration;

impl Rule for Registration {
    fn id(&self) -> &'static str {
        "KVT012"
    }

    fn name(&self) -> &'static str {
        "registration"
    }

    fn about(&self) -> &'static str {
        "A worker that left discovery is still routed to, or still publishes: a stale owner of \
         blocks, from a record that was not withdrawn or a process that outlived it. Requests \
         to it fail or wait. Judged by events or requests more than 30 seconds after a worker \
         left. Workers that publish without being registered are named too, where discovery is \
         seen at all."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        if evidence.plane.members == 0 && !evidence.ranks.iter().any(|rank| rank.left.is_some()) {
            return Verdict::unknown("discovery: no record of a worker was seen");
        }
        let grace = std::time::Duration::from_secs(30);
        let stale: Vec<_> = evidence
            .ranks
            .iter()
            .filter(|rank| rank.gone)
            .filter(|rank| {
                let late = rank.left.map(|left| left.after(grace));
                late.is_some_and(|late| rank.last_event.is_some_and(|last| last > late))
            })
            .collect();
        if stale.is_empty() {
            return Verdict::clear(format!("{} workers are registered", evidence.plane.members));
        }
        let names: Vec<String> = stale.iter().map(|rank| Evidence::name_of(rank)).collect();
        let proofs = stale.iter().map(|rank| {
            let name = Evidence::name_of(rank);
            let proof = Proof::new(format!("last event of {name}"), "after it left", "KV events");
            rank.last_event.map_or(proof.clone(), |at| proof.at(at))
        });
        Finding::new(
            Severity::Warning,
            Grade::Likely,
            format!("{} left discovery and still publishes.", names.join(", ")),
            proofs.collect(),
        )
        .means("Its blocks cannot be found, or requests go to a worker that is gone.", "A new registration.")
        .mended_by(
            "Look why the worker's record was withdrawn: lost lease, failing readiness, or a process that \
             outlived its pod; then roll that worker.",
            "that worker",
        )
        .into()
    }
}
