//! KVT008: kvtop's copy of the router's index is incomplete.

use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Phrase, phrase};
use crate::diagnose::{Evidence, Finding, Proof, RankEvidence, Rule, Verdict};
use crate::domain::{Grade, Severity};

/// The largest number of workers that a sentence names.
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
        "kvtop's copy of the router's index may lack blocks. Reasons: kvtop connected after they were stored; \
         messages to kvtop were lost; no event of a worker arrived although routers find blocks there; or kvtop \
         reached its memory limit. The rejected stores that kvtop counts then prove nothing, and rules rely on \
         the reports of routers and workers. This is a note about kvtop, not a fault of the deployment.\nStart \
         kvtop earlier, read the stream from its start, or raise --max-memory."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn rests_on_events(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        if evidence.router.tally.events == 0 {
            return Verdict::unknown("needs KV events (none in this window)");
        }
        let mut reasons: Vec<Phrase> = evidence.tree.incomplete.iter().map(Phrase::from).collect();
        reasons.extend(unheard(evidence));
        reasons.extend(missed(evidence));
        if reasons.is_empty() {
            return Verdict::clear(phrase!(
                "index copy complete: {} blocks",
                Count(evidence.tree.held)
            ));
        }
        let proofs = reasons
            .iter()
            .map(|why| Proof::new(measure::INDEX_COPY, why.clone(), Origin::Kvtop))
            .collect();
        Finding::new(
            Severity::Info,
            Grade::Confirmed,
            phrase!(
                "kvtop's copy of the index is incomplete: {}.",
                Phrase::joined("; ", reasons.iter().cloned())
            ),
            proofs,
        )
        .means(
            "Requests are unaffected. Until the copy is complete, its orphan counts prove nothing.",
            "A complete history of every worker.",
        )
        .into()
    }
}

/// Names workers of which KV events did not reach kvtop, by their numbers.
fn missed(evidence: &Evidence) -> Option<Phrase> {
    let ranks: Vec<&RankEvidence> = evidence.present().filter(|rank| rank.open_holes > 0).collect();
    let had = evidence.hears_router() && ranks.iter().all(|rank| evidence.may_be_own_loss(rank));
    let had = if had { "; routers had them" } else { "" };
    let count: u64 = ranks.iter().map(|rank| rank.open_holes).sum();
    let names: Vec<String> =
        ranks.iter().take(MOST_NAMED).map(|rank| Evidence::name_of(rank)).collect();
    (count > 0).then(|| {
        phrase!(
            "{} of {} did not reach kvtop, by their numbers{}",
            events(count),
            names.join(", "),
            had
        )
    })
}

fn events(count: u64) -> Phrase {
    if count == 1 { "1 KV event".into() } else { phrase!("{} KV events", Count(count)) }
}

/// Names workers whose KV events never reached kvtop, although routers find their blocks.
fn unheard(evidence: &Evidence) -> Option<Phrase> {
    let found = |rank: &&RankEvidence| {
        let overlap = rank.tally.requests.overlap();
        rank.last_event.is_none() && rank.held == 0 && overlap.known > overlap.zero
    };
    let ranks: Vec<&RankEvidence> = evidence.present().filter(found).collect();
    let first: Vec<String> =
        ranks.iter().take(MOST_NAMED).map(|rank| Evidence::name_of(rank)).collect();
    let more = match ranks.len().saturating_sub(MOST_NAMED) {
        0 => Phrase::default(),
        more => phrase!(" and {} more", more),
    };
    let overlaps = ranks.iter().map(|rank| rank.tally.requests.overlap());
    let hits: u64 = overlaps.map(|overlap| overlap.known - overlap.zero).sum();
    (!ranks.is_empty()).then(|| {
        phrase!(
            "no KV event of {}{} ever arrived, although routers found blocks there for {} requests",
            first.join(", "),
            more,
            Count(hits)
        )
    })
}
