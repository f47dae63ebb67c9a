//! What makes engine, publisher and router agree.

use std::sync::Arc;

use crate::diagnose::evidence::{Evidence, Ground, RankEvidence, RouterKind, SizeClaim};
use crate::diagnose::fix::{Change, Fix, Part};
use crate::diagnose::knobs;
use crate::domain::{Backend, ClaimOf, Release};

/// What restarts when workers are set up anew.
const WORKERS: &str = "every worker, one after the other; their caches start empty";

/// What restarts when model cards change.
const ALL_WORKERS: &str =
    "every worker, all stopped before the first starts; their caches start empty";

/// What the users' documents say, and what it does not do.
const FRONTEND: &str = "Changing DYN_KV_CACHE_BLOCK_SIZE on the frontend does not help.";

/// Engine and publisher differ, of `some` workers, or of all when there are none. Also returns the block size
/// that everybody has then.
pub(super) fn worker_fix(
    evidence: &Evidence,
    sizes: Option<(&SizeClaim, &SizeClaim)>,
    some: &[&RankEvidence],
) -> (Fix, Option<u32>) {
    let publisher = sizes.map(|(publisher, _)| publisher.tokens);
    let publisher = publisher.or_else(|| evidence.worker_size().map(|claim| claim.tokens));
    let place = engine_setting(evidence, sizes, publisher, some);
    // What runs with other flags than the others' would be refused by routers.
    if let (Place::Elsewhere | Place::Already(_), Some((publisher, engine)), []) =
        (&place, sizes, some)
        && let Some(fix) = publisher_fix(evidence, publisher.tokens, engine.tokens, &place)
    {
        return (fix, Some(engine.tokens));
    }
    let size = publisher.map_or("the size they publish".to_owned(), |size| size.to_string());
    let names: Vec<String> = some.iter().map(|rank| Evidence::name_of(rank)).collect();
    let names = names.join(", ");
    let (roll, restarts) = if some.is_empty() {
        ("the workers".to_owned(), WORKERS.to_owned())
    } else {
        (names.clone(), format!("{names}; its cache starts empty"))
    };
    if let Place::Already(place) = &place {
        let whose = if some.is_empty() { "the engines'".to_owned() } else { format!("{names}'s") };
        let sentence = format!(
            "Find in {whose} log what overrides tokens_per_block: {size}, which {place} sets already, take \
             it away and roll {roll}. {FRONTEND}"
        );
        return (Fix { sentence, change: None, restarts }, publisher);
    }
    let (now, other) = match sizes {
        Some((_, engine)) => {
            (format!(" (now {})", engine.tokens), format!("--kv-block-size {}", engine.tokens))
        }
        None => (String::new(), "--kv-block-size".to_owned()),
    };
    let (place, change) = at_place(place, publisher, some.is_empty());
    let vllm = match evidence.backend() {
        Some(Backend::TrtLlm) => String::new(),
        _ => format!(" (vLLM: --block-size {size})"),
    };
    let or = if some.is_empty() {
        format!(", or stop all and publish the engine's size ({other})")
    } else {
        String::new()
    };
    // What to do comes first: what follows is cut where there is little room.
    let sentence =
        format!("Set tokens_per_block: {size}{now} {place}{vllm} and roll {roll}{or}. {FRONTEND}");
    (Fix { sentence, change, restarts }, publisher)
}

/// Returns where the engine's size is set, for people, and what sets it to that of the publisher, which other
/// workers of the same manifest have already unless it is of `all`.
fn at_place(place: Place<'_>, publisher: Option<u32>, all: bool) -> (String, Option<Change>) {
    match (place, publisher) {
        (Place::ConfigMap { name, key }, Some(size)) => {
            let text = format!("in ConfigMap {name}, key {key}");
            let lines = vec!["kv_cache_config:".to_owned(), format!("  tokens_per_block: {size}")];
            let config_map = name.into();
            (text, Some(Change::Config { config_map, key: key.into(), lines }))
        }
        (Place::Override, Some(size)) => {
            let change = Change::Set {
                on: Part::Workers,
                variable: None,
                flags: &["--override-engine-args"],
                inside: Some("tokens_per_block"),
                value: size.to_string(),
            };
            ("in --override-engine-args".to_owned(), all.then_some(change))
        }
        _ => ("in the engine's configuration".to_owned(), None),
    }
}

/// Publishes the engine's size, where one flag of the worker does that.
fn publisher_fix(
    evidence: &Evidence,
    publisher: u32,
    engine: u32,
    place: &Place<'_>,
) -> Option<Fix> {
    let change = worker_size_flag(evidence, engine, Part::Workers)?;
    let Change::Set { flags, .. } = &change else { return None };
    let flag = flags.first()?;
    if let Some(set) = in_place(evidence, flags, engine) {
        return Some(overridden(evidence, set, (publisher, engine), flag));
    }
    let mut sentence = format!(
        "Stop all workers, then start them with {flag} {engine}, the size of their engines' blocks"
    );
    let before = |minor| evidence.releases.least.is_none_or(|it| it < Release::new(1, minor));
    match (evidence.backend()?, place) {
        (Backend::TrtLlm, Place::Already(place)) => {
            let size = format!("; {place} sets tokens_per_block: {publisher} already, and ");
            sentence.push_str(&size);
            sentence.push_str("something overrides it, which the engines' log may name");
        }
        (Backend::TrtLlm, _) => {
            sentence.push_str(", or roll them one by one with tokens_per_block: ");
            sentence.push_str(&publisher.to_string());
            sentence.push_str(" in the engine's configuration");
        }
        // The engine's own size is followed from these on.
        (Backend::Vllm, _) if before(2) => sentence.push_str(", or with Dynamo 1.2 or later"),
        (Backend::SgLang, _) if before(5) => sentence.push_str(", or with Dynamo 1.5 or later"),
        (Backend::Vllm | Backend::SgLang | Backend::Mocker, _) => {}
    }
    for end in [".", frontend_too(evidence), " ", FRONTEND] {
        sentence.push_str(end);
    }
    Some(Fix { sentence, change: Some(change), restarts: ALL_WORKERS.into() })
}

/// Returns the setting by one of `flags` that asks for `tokens` already.
fn in_place<'a>(evidence: &'a Evidence, flags: &[&str], tokens: u32) -> Option<&'a SizeClaim> {
    let by_flag = |claim: &&SizeClaim| {
        let name = claim.source.rsplit_once(", ").map_or("", |(_, name)| name);
        claim.tokens == tokens && flags.contains(&name)
    };
    let of = [ClaimOf::Publisher, ClaimOf::Engine, ClaimOf::Card];
    of.into_iter().find_map(|of| evidence.all_sizes_of(of).find(by_flag))
}

/// The flag asks for the engine's size already, and the publisher has another one all the same.
fn overridden(
    evidence: &Evidence,
    set: &SizeClaim,
    (publisher, engine): (u32, u32),
    flag: &str,
) -> Fix {
    let who = set.who(evidence);
    let log = evidence.sizes_of(ClaimOf::Publisher).find(|claim| claim.tokens == publisher);
    let seen = log.map_or_else(String::new, |claim| format!(" ({})", claim.source));
    let upgrade = match (evidence.backend(), evidence.releases.least) {
        (Some(Backend::Vllm), Some(least)) if least < Release::new(1, 2) => {
            "Upgrade to Dynamo 1.2 or later, where the publisher takes the engine's size"
        }
        (Some(Backend::SgLang), Some(least)) if least < Release::new(1, 5) => {
            "Upgrade to Dynamo 1.5 or later, where the publisher takes the engine's size"
        }
        _ => {
            "Find what overrides the publisher's size, such as a wrapper script or a patched image"
        }
    };
    let sentence = format!(
        "{flag} {engine} is already set on {who}, but its publisher uses {publisher}{seen}. {upgrade}, then \
         restart that worker; or start it with {flag} {publisher}, if its engine supports that size. {FRONTEND}"
    );
    Fix { sentence, change: None, restarts: format!("{who}; its KV cache starts empty") }
}

/// Returns what else starts anew where model cards change. Routers refuse a worker whose card differs from the one
/// that they know (its checksum covers the size; 1.0 asks to drain all old workers), so that all workers stop
/// first. The router of 0.9 keeps its size for as long as it runs (dynamo-llm 0.9.0,
/// `discovery/model_manager.rs`: "KV Router block size mismatch!").
fn frontend_too(evidence: &Evidence) -> &'static str {
    let old = evidence.releases.least.map(|least| least < Release::new(1, 0));
    match (evidence.settings.router_kind, old) {
        (RouterKind::OwnSize, _) | (_, Some(false)) => "",
        (_, Some(true)) => " Restart the frontend in between: its router keeps its size.",
        (_, None) => " Restart a frontend of 0.9 in between: its router keeps its size.",
    }
}

/// Where the engine's size is set.
enum Place<'a> {
    ConfigMap {
        name: &'a str,
        key: &'a str,
    },
    Override,
    /// The place, for people: it sets the publisher's size, which is not what the engine has.
    Already(String),
    Elsewhere,
}

fn engine_setting<'a>(
    evidence: &'a Evidence,
    sizes: Option<(&SizeClaim, &SizeClaim)>,
    publisher: Option<u32>,
    some: &[&RankEvidence],
) -> Place<'a> {
    let of = |claim: &&SizeClaim| match sizes {
        Some((_, engine)) => (claim.worker, &claim.pod) == (engine.worker, &engine.pod),
        None => some.is_empty() || some.iter().any(|rank| claim.worker == Some(rank.rank.worker)),
    };
    let mut already = None;
    // What is overridden is in place all the same.
    for claim in evidence.all_sizes_of(ClaimOf::Engine).filter(of) {
        let Some((place, name)) = claim.source.rsplit_once(", ") else { continue };
        let map = place.strip_prefix("ConfigMap ");
        if map.is_none() && name != "--override-engine-args" {
            continue;
        }
        // What sets another size than the one to be changed is not what set that.
        let sets = sizes
            .map_or(publisher != Some(claim.tokens), |(_, engine)| claim.tokens == engine.tokens);
        match map {
            Some(map) if sets => return Place::ConfigMap { name: map, key: name },
            None if sets => return Place::Override,
            Some(map) if publisher == Some(claim.tokens) => {
                already = Some(format!("ConfigMap {map}, key {name}"));
            }
            None if publisher == Some(claim.tokens) => already = Some(name.to_owned()),
            _ => {}
        }
    }
    already.map_or(Place::Elsewhere, Place::Already)
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
        // A frontend whose chat processor hashes with the declared size.
        let router_of = |claim: &&SizeClaim| claim.tokens == router;
        let own = evidence.sizes_of(ClaimOf::Router).find(router_of);
        let declares = |claim: &SizeClaim| own.is_some_and(|own| own.about() == claim.about());
        if evidence.sizes_of(ClaimOf::Declared).any(declares) {
            return declared_fix(evidence, router, workers);
        }
        return own_router_fix(evidence, router, workers);
    }
    let card = evidence.agreed(ClaimOf::Card).filter(|card| card.ground == Ground::Observed);
    if card.is_some_and(|card| card.tokens == workers) {
        return stray_router_fix(evidence, router, workers);
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
    let change = worker_size_flag(evidence, workers, Part::Workers);
    let set = match &change {
        Some(Change::Set { flags, .. }) => in_place(evidence, flags, workers),
        _ => None,
    };
    if let Some(set) = set {
        let who = set.who(evidence);
        let sentence = format!(
            "{flag} is already set on {who}, but its model card says {router}, and the router takes its size \
             from the card. Restart all workers together so that each registers a card of {workers}.{}",
            frontend_too(evidence)
        );
        return Fix { sentence, change: None, restarts: ALL_WORKERS.into() };
    }
    Fix {
        sentence: format!(
            "Stop all workers, then start them with {flag}, so that their model cards say what they publish: \
             the router takes its size from the card, and refuses a worker whose card differs.{}{own}",
            frontend_too(evidence)
        ),
        change,
        restarts: ALL_WORKERS.into(),
    }
}

/// The cards say what workers publish, and the router hashes with another size all the same: with one that it
/// was told, or with that of an earlier card.
fn stray_router_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    let restarts = evidence.frontend_restarts();
    let declares = |claim: &&SizeClaim| claim.tokens == router && claim.ground > Ground::Default;
    if evidence.sizes_of(ClaimOf::Declared).any(|claim| declares(&claim)) {
        return declared_fix(evidence, router, workers);
    }
    let sentence = format!(
        "Restart the frontend: model cards say {workers}, but its router still hashes with {router} (a router of \
         Dynamo 0.9 keeps the size of the first card that it saw). A router of its own (dynamo.router) needs {} \
         {workers} instead.",
        evidence.knob_text(knobs::ROUTER_SIZE, "")
    );
    Fix { sentence, change: None, restarts }
}

/// The frontend hashes with the size that is declared on it.
fn declared_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    let sentence = format!(
        "Set DYN_KV_CACHE_BLOCK_SIZE={workers} on the frontend: its router hashes with the {router} declared \
         there, not with the {workers} of the model cards."
    );
    let change = Some(Change::Set {
        on: Part::Frontend,
        variable: Some("DYN_KV_CACHE_BLOCK_SIZE".to_owned()),
        flags: &["--kv-cache-block-size"],
        inside: None,
        value: workers.to_string(),
    });
    Fix { sentence, change, restarts: evidence.frontend_restarts() }
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
