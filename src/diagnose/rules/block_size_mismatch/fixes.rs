//! What makes engine, publisher and router agree.

use std::sync::Arc;

use crate::diagnose::evidence::{Evidence, RouterKind, SizeClaim};
use crate::diagnose::fix::{Change, Fix, Part};
use crate::diagnose::knobs;
use crate::domain::{Backend, ClaimOf, Release};

/// What restarts when workers are set up anew.
const WORKERS: &str = "every worker, one after the other; their caches start empty";

/// Engine and publisher of workers differ.
pub(super) fn worker_fix(evidence: &Evidence, sizes: Option<(&SizeClaim, &SizeClaim)>) -> Fix {
    let publisher = sizes.map(|(publisher, _)| publisher.tokens);
    let publisher = publisher.or_else(|| evidence.worker_size().map(|claim| claim.tokens));
    let size = publisher.map_or("the size they publish".to_owned(), |size| size.to_string());
    let (now, other) = match sizes {
        Some((_, engine)) => {
            (format!(" (now {})", engine.tokens), format!("--kv-block-size {}", engine.tokens))
        }
        None => (String::new(), "--kv-block-size".to_owned()),
    };
    let place = engine_setting(evidence, sizes);
    if let (Place::Elsewhere, Some((publisher, engine))) = (&place, sizes)
        && let Some(fix) = publisher_fix(evidence, publisher.tokens, engine.tokens)
    {
        return fix;
    }
    let (place, change) = match (place, publisher, sizes) {
        (Place::ConfigMap { name, key }, Some(size), _) => {
            let text = format!("in ConfigMap {name}, key {key}");
            let lines = vec!["kv_cache_config:".to_owned(), format!("  tokens_per_block: {size}")];
            let config_map = name.into();
            (text, Some(Change::Config { config_map, key: key.into(), lines }))
        }
        (Place::Override, Some(size), _) => {
            let change = Change::Set {
                on: Part::Workers,
                variable: None,
                flags: &["--override-engine-args"],
                inside: Some("tokens_per_block"),
                value: size.to_string(),
            };
            ("in --override-engine-args".to_owned(), Some(change))
        }
        _ => ("in the engine's configuration".to_owned(), None),
    };
    let vllm = match evidence.backend() {
        Some(Backend::TrtLlm) => String::new(),
        _ => format!(" (vLLM: --block-size {size})"),
    };
    Fix {
        // What to do comes first: what follows is cut where there is little room.
        sentence: format!(
            "Set tokens_per_block: {size}{now} {place}{vllm} and roll the workers one by one, or publish \
             the engine's size ({other}). Changing DYN_KV_CACHE_BLOCK_SIZE on the frontend does not help."
        ),
        change,
        restarts: WORKERS.into(),
    }
}

/// Publishes the engine's size, where one flag of the worker does that.
fn publisher_fix(evidence: &Evidence, publisher: u32, engine: u32) -> Option<Fix> {
    let change = worker_size_flag(evidence, engine, Part::Workers)?;
    let Change::Set { flags, .. } = &change else { return None };
    let flag = flags.first()?;
    let mut sentence = format!(
        "Roll the workers one by one with {flag} {engine}, the size of their engines' blocks"
    );
    let before = |minor| evidence.releases.least.is_none_or(|it| it < Release::new(1, minor));
    match evidence.backend()? {
        Backend::TrtLlm => {
            sentence.push_str(", or with tokens_per_block: ");
            sentence.push_str(&publisher.to_string());
            sentence.push_str(" in the engine's configuration");
        }
        // The engine's own size is followed from these on.
        Backend::Vllm if before(2) => sentence.push_str(", or with Dynamo 1.2 or later"),
        Backend::SgLang if before(5) => sentence.push_str(", or with Dynamo 1.5 or later"),
        Backend::Vllm | Backend::SgLang | Backend::Mocker => {}
    }
    sentence.push_str(". Changing DYN_KV_CACHE_BLOCK_SIZE on the frontend does not help.");
    Some(Fix { sentence, change: Some(change), restarts: WORKERS.into() })
}

/// Where the engine's size is set.
enum Place<'a> {
    ConfigMap { name: &'a str, key: &'a str },
    Override,
    Elsewhere,
}

fn engine_setting<'a>(
    evidence: &'a Evidence,
    sizes: Option<(&SizeClaim, &SizeClaim)>,
) -> Place<'a> {
    let of = |claim: &&SizeClaim| {
        sizes.is_none_or(|(_, engine)| (claim.worker, &claim.pod) == (engine.worker, &engine.pod))
    };
    let claims = evidence.sizes_of(ClaimOf::Engine).filter(of);
    let mut places = claims.filter_map(|claim| {
        let (place, name) = claim.source.rsplit_once(", ")?;
        match place.strip_prefix("ConfigMap ") {
            Some(map) => Some(Place::ConfigMap { name: map, key: name }),
            None => (name == "--override-engine-args").then_some(Place::Override),
        }
    });
    places.next().unwrap_or(Place::Elsewhere)
}

/// The flag that sets a worker's publisher and card, where one does.
pub(in crate::diagnose::rules) fn worker_size_flag(
    evidence: &Evidence,
    tokens: u32,
    on: Part,
) -> Option<Change> {
    let flags: &[&str] = match (evidence.backend()?, evidence.releases.most) {
        // From 1.4 on both follow the engine.
        (Backend::TrtLlm, Some(most)) if most < Release::new(1, 4) => &["--kv-block-size"],
        (Backend::Vllm, _) => &["--block-size"],
        (Backend::SgLang, _) => &["--page-size"],
        (Backend::TrtLlm | Backend::Mocker, _) => return None,
    };
    let value = tokens.to_string();
    Some(Change::Set { on, variable: None, flags, inside: None, value })
}

/// Router and workers differ.
pub(super) fn router_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    if evidence.settings.router_kind == RouterKind::OwnSize {
        return own_router_fix(evidence, router, workers);
    }
    let own = match evidence.settings.router_kind {
        RouterKind::Frontend => String::new(),
        RouterKind::OwnSize | RouterKind::Unknown => format!(
            " A router of its own (dynamo.router) needs {} {workers}.",
            evidence.knob_text(knobs::ROUTER_SIZE, "")
        ),
    };
    let flag = match evidence.backend() {
        Some(Backend::TrtLlm) => format!("--kv-block-size {workers}"),
        Some(Backend::Vllm | Backend::Mocker) => format!("--block-size {workers}"),
        Some(Backend::SgLang) => format!("--page-size {workers}"),
        None => format!("--kv-block-size {workers} (vLLM: --block-size {workers})"),
    };
    Fix {
        sentence: format!(
            "Roll the workers one by one with {flag}, so that their model cards say what they publish; \
             the router takes its size from the card.{own}"
        ),
        change: worker_size_flag(evidence, workers, Part::Workers),
        restarts: WORKERS.into(),
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
        change: variable.map(|name| Change::Set {
            on: Part::Router,
            variable: Some(name),
            flags: &["--block-size", "--router-block-size"],
            inside: None,
            value,
        }),
        restarts: "the router; it reads its index anew".into(),
    }
}
