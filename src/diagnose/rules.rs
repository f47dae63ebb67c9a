//! The rules, one file each.

mod blind;
mod block_size_declared;
mod block_size_mismatch;
mod hash_domain;
mod router_without_history;
mod worker_silent;
mod workers_disagree;

use super::Rule;

/// Every rule, in the order in which findings of one severity are listed: causes first.
pub const RULES: &[&dyn Rule] = &[
    &block_size_mismatch::BlockSizeMismatch,
    &workers_disagree::WorkersDisagree,
    &router_without_history::RouterWithoutHistory,
    &hash_domain::HashDomain,
    &worker_silent::WorkerSilent,
    &block_size_declared::BlockSizeDeclared,
];
