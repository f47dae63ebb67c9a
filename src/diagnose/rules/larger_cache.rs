//! The effect of a larger KV cache, for the findings that ask for one.

use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Decimal, Phrase, phrase};
use crate::diagnose::{Evidence, Origin, Proof};
use crate::model::Avoided;

/// Positions of twice and three times the capacity in [`Avoided::FACTORS`].
const TWICE: usize = 2;
const THREE_TIMES: usize = 3;

/// A share of stored blocks below this one is no help.
const HELPS: f64 = 0.01;

/// Returns a sentence with the stored blocks that more capacity would avoid, to follow a fix; empty while too little
/// is known.
pub(super) fn effect(evidence: &Evidence) -> Phrase {
    let avoided = evidence.avoided();
    match (avoided.share(TWICE), avoided.share(THREE_TIMES)) {
        (Some(_), Some(most)) if most < HELPS => {
            " Even 3x capacity avoids less than 1 % of stored blocks.".into()
        }
        (Some(twice), Some(most)) => phrase!(
            " 2x capacity avoids {} % of stored blocks, 3x {} %.",
            Decimal(twice * 100.0, 0),
            Decimal(most * 100.0, 0)
        ),
        _ => Phrase::default(),
    }
}

/// Returns the whole curve as evidence; none while too little is known.
pub(super) fn proof(evidence: &Evidence) -> Option<Proof> {
    let avoided = evidence.avoided();
    let points = Avoided::FACTORS.iter().enumerate().map(|(index, factor)| {
        let (share, margin) = (avoided.share(index)?, avoided.margin(index)?);
        Some(phrase!(
            "{}x: {} % (margin {})",
            Decimal(*factor, 2),
            Decimal(share * 100.0, 1),
            Decimal(margin * 100.0, 1)
        ))
    });
    let points: Option<Vec<Phrase>> = points.collect();
    let value =
        phrase!("{}, of {} sampled blocks", Phrase::joined(", ", points?), Count(avoided.samples));
    Some(Proof::new(measure::BLOCKS_AVOIDED, value, Origin::KvEvents).at(evidence.at))
}
