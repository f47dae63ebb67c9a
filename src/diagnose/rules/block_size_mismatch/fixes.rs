//! What makes engine, publisher and router agree.

use std::sync::Arc;

use crate::diagnose::evidence::{Evidence, RouterKind, SizeClaim};
use crate::diagnose::fix::{Change, Fix, Part};
use crate::diagnose::knobs;
use crate::domain::{ClaimOf, Release};

pub(super) fn worker_fix(evidence: &Evidence, sizes: Option<(&SizeClaim, &SizeClaim)>) -> Fix {
    let publisher = sizes.map(|(publisher, _)| publisher.tokens);
    let publisher = publisher.or_else(|| evidence.worker_size().map(|claim| claim.tokens));
    let size = publisher.map_or("the size they publish".to_owned(), |size| size.to_string());
    let engine = match sizes {
        Some((_, engine)) => {
            format!(", or publish the engine's size (--kv-block-size {})", engine.tokens)
        }
        None => ", or publish the engine's size (--kv-block-size)".to_owned(),
    };
    Fix {
        sentence: format!(
            "Roll the workers one by one with tokens_per_block: {size} in the engine's configuration \
             (vLLM: --block-size {size}){engine}. Changing DYN_KV_CACHE_BLOCK_SIZE on the frontend does \
             not help."
        ),
        change: None,
        restarts: "every worker, one after the other; their caches start empty".into(),
    }
}

pub(super) fn router_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    if evidence.settings.router_kind == RouterKind::OwnSize {
        return own_router_fix(evidence, router, workers);
    }
    Fix {
        sentence: format!(
            "Roll the workers one by one with --kv-block-size {workers} (vLLM: --block-size {workers}), so \
             that their model cards say what they publish; the router takes its size from the card. A \
             router of its own (dynamo.router) needs {} {workers}.",
            evidence.knob_text(knobs::ROUTER_SIZE, "")
        ),
        change: None,
        restarts: "every worker, one after the other; their caches start empty".into(),
    }
}

/// A router with a size of its own is told another in the way in which it was told this one.
fn own_router_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    let claim = evidence.sizes_of(ClaimOf::Router).find(|claim| claim.tokens == router);
    let who = claim.map_or_else(|| Arc::from("the router"), |claim| claim.who(evidence));
    let name = claim.and_then(|claim| claim.source.rsplit_once(", ")).map_or("", |(_, name)| name);
    let variable = match (name.strip_prefix("env "), evidence.releases.least) {
        (Some(name), _) => Some(name.to_owned()),
        // Nobody told it anything, so that its version's variable is free to be set.
        (None, Some(least)) if !name.starts_with('-') && least >= Release::new(1, 0) => {
            Some("DYN_ROUTER_BLOCK_SIZE".to_owned())
        }
        (None, _) => None,
    };
    let sentence = match &variable {
        Some(variable) => {
            format!("Start {who} with {variable}={workers}; it hashes with {router} now.")
        }
        None => format!(
            "Start {who} with {} {workers}; it hashes with {router} now.",
            evidence.knob_text(knobs::ROUTER_SIZE, "")
        ),
    };
    let value = workers.to_string();
    Fix {
        sentence,
        change: variable.map(|name| Change::Env { on: Part::Router, name, value }),
        restarts: "the router; it reads its index anew".into(),
    }
}
