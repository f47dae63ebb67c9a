//! The rules, one file each.

mod affinity;
mod approximate_mode;
mod blind;
mod block_size_declared;
mod block_size_mismatch;
mod cache_churn;
mod event_loss;
mod event_plane;
mod frontends_disagree;
mod hash_domain;
mod imbalance;
mod kv_pressure;
mod larger_cache;
mod mirror_incomplete;
mod momentary_overload;
mod phantom_blocks;
mod prefix_reuse;
mod registration;
mod router_mode;
mod router_without_history;
mod wire_skew;
mod worker_silent;
mod workers_disagree;

use super::Rule;
use super::evidence::{OfWorker, Settings};
use super::phrase::{Phrase, phrase};
use crate::domain::{ClaimOf, ClaimWhat};

/// Returns the summary of KVT016 if the fix of the finding `cause` changes the workers' block size.
pub fn frontend_size_only(declared: u32, worker: u32, cause: &str) -> Phrase {
    block_size_declared::frontend_only(declared, worker, cause)
}

/// Every rule, in the order in which findings of one severity are listed: causes first.
pub const RULES: &[&dyn Rule] = &[
    &block_size_mismatch::BlockSizeMismatch,
    &workers_disagree::WorkersDisagree,
    &wire_skew::WireSkew,
    &router_without_history::RouterWithoutHistory,
    &hash_domain::HashDomain,
    &event_plane::EventPlane,
    &worker_silent::WorkerSilent,
    &block_size_declared::BlockSizeDeclared,
    &router_mode::RouterMode,
    &approximate_mode::ApproximateMode,
    &event_loss::EventLoss,
    &cache_churn::CacheChurn,
    &kv_pressure::KvPressure,
    &imbalance::Imbalance,
    &momentary_overload::MomentaryOverload,
    &registration::Registration,
    &frontends_disagree::FrontendsDisagree,
    &prefix_reuse::PrefixReuse,
    &affinity::Affinity,
    &phantom_blocks::PhantomBlocks,
    &mirror_incomplete::MirrorIncomplete,
];

/// Returns that a frontend's setting is needed, and what keeps kvtop from it.
fn unseen(settings: &Settings, variable: &str, (what, of): (ClaimWhat, ClaimOf)) -> String {
    match settings.hidden(what, of) {
        hidden if hidden.is_empty() => {
            format!("needs the frontend's pod or manifest ({variable}), which kvtop has not seen")
        }
        hidden => format!("needs the frontend's setting ({variable}){hidden}"),
    }
}

/// Lists the names of workers, at most the first four.
fn names<T>(of: &[&OfWorker<T>]) -> Phrase {
    let names: Vec<&str> = of.iter().take(4).map(|of| of.who.as_ref()).collect();
    let others = if of.len() > 4 { " and others" } else { "" };
    phrase!("{}{}", names.join(", "), others)
}
