//! KVT008: kvtop itself does not know everything.

use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity, thousands};

/// Most workers that are named.
const MOST_NAMED: usize = 4;

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
         stored, messages were lost on the way to it, no event of a worker came at all though \
         routers find blocks there, or it reached its bound of memory. Then its own count of refused stores proves nothing, and rules lean on what routers and \
         workers say. A note, no fault of the deployment. Attach earlier, read the stream from \
         its start, or give it more memory (--max-memory)."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        if evidence.router.tally.events == 0 {
            return Verdict::unknown("KV events: none came in this window");
        }
        let mut reasons = evidence.tree.incomplete.clone();
        reasons.extend(unheard(evidence));
        reasons.extend(missed(evidence));
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

/// Names workers of which KV events did not reach kvtop, by their numbers.
fn missed(evidence: &Evidence) -> Option<String> {
    let ranks: Vec<&RankEvidence> = evidence.present().filter(|rank| rank.id_holes > 0).collect();
    let had = evidence.hears_router() && ranks.iter().all(|rank| evidence.may_be_own_loss(rank));
    let had = if had { "; routers had them" } else { "" };
    let count: u64 = ranks.iter().map(|rank| rank.id_holes).sum();
    let names: Vec<String> =
        ranks.iter().take(MOST_NAMED).map(|rank| Evidence::name_of(rank)).collect();
    (count > 0).then(|| {
        format!(
            "{} KV events of {} did not reach kvtop, by their numbers{had}",
            thousands(count),
            names.join(", ")
        )
    })
}

/// Names workers of which no KV event ever came, though routers find blocks with them: routers hear what
/// kvtop does not.
fn unheard(evidence: &Evidence) -> Option<String> {
    let found = |rank: &&RankEvidence| {
        let overlap = rank.tally.overlap();
        rank.last_event.is_none() && rank.held == 0 && overlap.known > overlap.zero
    };
    let ranks: Vec<&RankEvidence> = evidence.present().filter(found).collect();
    let first: Vec<String> =
        ranks.iter().take(MOST_NAMED).map(|rank| Evidence::name_of(rank)).collect();
    let more = match ranks.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let overlaps = ranks.iter().map(|rank| rank.tally.overlap());
    let hits: u64 = overlaps.map(|overlap| overlap.known - overlap.zero).sum();
    (!ranks.is_empty()).then(|| {
        format!(
            "no KV event of {}{more} ever came, though routers found blocks there for {} requests",
            first.join(", "),
            thousands(hits)
        )
    })
}
