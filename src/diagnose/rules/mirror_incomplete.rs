//! KVT008: kvtop itself does not know everything.

use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict};
use crate::domain::{Grade, Severity};

pub(super) struct MirrorIncomplete;

impl Rule for MirrorIncomplete {
    fn id(&self) -> &'static str {
        "KVT008"
    }

    fn name(&self) -> &'static str {
        "mirror-incomplete"
    }

    fn about(&self) -> &'static str {
        "What kvtop holds of the router's index may lack blocks: it attached after they were \
         stored, messages were lost on the way to it, or it reached its bound of memory. Then \
         its own count of refused stores proves nothing, and rules lean on what routers and \
         workers say. A note, no fault of the deployment. Attach earlier, read the stream from \
         its start, or give it more memory (--max-memory)."
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let reasons = &evidence.tree.incomplete;
        if evidence.router.tally.events == 0 {
            return Verdict::unknown("KV events: none came in this window");
        }
        if reasons.is_empty() {
            return Verdict::clear(format!(
                "{} blocks, from the first event on",
                evidence.tree.held
            ));
        }
        let proofs = reasons.iter().map(|why| Proof::new("mirror", why.clone(), "kvtop")).collect();
        Finding::new(
            Severity::Info,
            Grade::Confirmed,
            format!("kvtop does not know every block: {}.", reasons.join("; ")),
            proofs,
        )
        .means("None for requests. Orphans prove nothing while it lasts.", "A past that is known.")
        .into()
    }
}
