//! Fixes that give engine, publisher and router the same block size.

mod publisher;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnose::evidence::{Evidence, Ground, RankEvidence, RouterKind, SizeClaim};
use crate::diagnose::fix::{Change, Edit, Fix, Part, Restart};
use crate::diagnose::phrase::{Phrase, phrase};
use crate::domain::{Backend, ClaimOf, SetBy, WorkerId};
use crate::dynamo::{flag, release, settings, variable};
use publisher::{in_place, publisher_alone_differs, publisher_fix, stray_publisher_fix};

/// The restarts after a change of worker settings.
const WORKERS: &str = "rolling restart of every worker; each one loses its KV cache";

/// The restarts after a change of model cards.
const ALL_WORKERS: &str =
    "all workers stop before the first one starts again; each one loses its KV cache";

/// The cost of restarting one worker, and each of several.
const ALONE: &str = ", which loses its KV cache";
const EACH: &str = "; each one loses its KV cache";

/// Users' documents suggest this setting, so the fix states that it does not help.
fn frontend_will_not_do() -> Phrase {
    phrase!("Setting {} on the frontend will not fix this.", variable::KV_CACHE_BLOCK_SIZE)
}

/// Returns the fix if engine and publisher differ on workers of these `names`, or on all if there are none; `some` are
/// their ranks, where these are known. Also returns
/// the block size of all parts after the fix.
#[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
pub(super) fn worker_fix(
    evidence: &Evidence,
    sizes: Option<(&SizeClaim, &SizeClaim)>,
    some: &[&RankEvidence],
    names: &[String],
) -> (Fix, Option<u32>) {
    let frontend = frontend_will_not_do();
    let publisher = sizes.map(|(publisher, _)| publisher.tokens);
    let publisher = publisher.or_else(|| evidence.worker_size().map(|claim| claim.tokens));
    let on = wrong_components(evidence, some);
    let mut changes: Vec<Change> = Vec::new();
    if evidence.backend() == Some(Backend::TrtLlm) {
        changes = engine_changes(evidence, publisher, some, &on);
    }
    let state = EngineSetting::find(evidence, &changes);
    // Routers reject a worker whose flags differ from those of the other workers.
    if let (EngineSetting::Overridden(_) | EngineSetting::Unknown, Some((publisher, engine)), []) =
        (&state, sizes, names)
        && let Some(fix) =
            publisher_fix(evidence, publisher.tokens, engine.tokens, (&state, on.clone()))
    {
        return (fix, Some(engine.tokens));
    }
    // Where the other way is in the objects already, this one would give the sizes the other way round.
    if let (Some((publisher, engine)), []) = (sizes, names)
        && let Some(fix) = publisher_fix(evidence, publisher.tokens, engine.tokens, (&state, on))
        && evidence.objects.plan(&fix.changes).is_applied()
    {
        return (fix, Some(engine.tokens));
    }
    if let Some((publisher, engine)) = sizes.filter(|it| publisher_alone_differs(evidence, *it)) {
        return (stray_publisher_fix(evidence, publisher, engine, names), Some(engine.tokens));
    }
    let size = publisher.map_or(Phrase::from("the published size"), |size| phrase!("{}", size));
    let (all, one) = (names.is_empty(), names.len() == 1);
    let names = names.join(", ");
    let (restart, restarts) = if all {
        (Phrase::from("do a rolling restart of the workers"), WORKERS.into())
    } else {
        (
            phrase!("restart {}", names),
            phrase!("restart of {}{}", names, if one { ALONE } else { EACH }),
        )
    };
    let alternative = if all { alternative(evidence, sizes) } else { Phrase::default() };
    // The action comes first: small screens show little more.
    let sentence = match &state {
        EngineSetting::Overridden(place) => {
            let whose = if all { "the engines'" } else { names.as_str() };
            phrase!(
                "{} already sets the right size. Find the setting that overrides it in {} log, remove \
                 that setting and {}. {}",
                place,
                whose,
                restart,
                frontend
            )
        }
        EngineSetting::Open(instruction) | EngineSetting::Pending(instruction) => {
            phrase!("{}, then {}. {}{}", instruction, restart, frontend, alternative)
        }
        EngineSetting::Unknown => {
            let vllm = match evidence.backend() {
                Some(Backend::TrtLlm) => Phrase::default(),
                _ => phrase!(" (vLLM: {})", flag::BLOCK_SIZE),
            };
            let change = match sizes {
                Some((_, engine)) => {
                    phrase!("change tokens_per_block{} from {} to {}", vllm, engine.tokens, size)
                }
                None => phrase!("set tokens_per_block{} to {}", vllm, size),
            };
            phrase!(
                "In the engine's configuration, {}, then {}. {}{}",
                change,
                restart,
                frontend,
                alternative
            )
        }
    };
    if matches!(state, EngineSetting::Overridden(_)) {
        changes.clear();
    }
    (Fix { sentence, changes, restarts, ..Fix::default() }, publisher)
}

/// Returns the other fix: publishers that take the engines' size.
fn alternative(evidence: &Evidence, sizes: Option<(&SizeClaim, &SizeClaim)>) -> Phrase {
    let size = sizes.map_or("set to the engine's size".into(), |(_, it)| it.tokens.to_string());
    let flag = flag::KV_BLOCK_SIZE;
    match frontend_too(evidence) {
        "" => phrase!(" Alternative: stop all workers and start them with {} {}.", flag, size),
        too => {
            phrase!(
                " Alternative: stop all workers.{} Then start them with {} {}.",
                too,
                flag,
                size
            )
        }
    }
}

/// Returns the components of `some` workers, or of all that are present.
fn wrong_components(evidence: &Evidence, some: &[&RankEvidence]) -> Part {
    let part = if some.is_empty() {
        evidence.components(evidence.present().map(|rank| rank.pod.as_ref()))
    } else {
        evidence.components(some.iter().map(|rank| rank.pod.as_ref()))
    };
    part.unwrap_or(Part::Workers)
}

/// Returns the changes that give the engines of each component their publishers' block size.
fn engine_changes(
    evidence: &Evidence,
    publisher: Option<u32>,
    some: &[&RankEvidence],
    on: &Part,
) -> Vec<Change> {
    let split = if some.is_empty() { evidence.split_workers() } else { Vec::new() };
    let mut sizes: BTreeMap<Arc<str>, u32> = BTreeMap::new();
    let pods = evidence.worker_pods();
    let pod_of = |worker| pods.get(&worker).copied().flatten().cloned();
    for (publisher, _) in &split {
        let Some(component) = component_of(evidence, publisher, pod_of) else {
            sizes.clear();
            break;
        };
        sizes.insert(component, publisher.tokens);
    }
    if sizes.is_empty() {
        let change = publisher.map(|tokens| Change::engine_size(on.clone(), tokens));
        return change.into_iter().collect();
    }
    let change = |(name, tokens)| Change::engine_size(Part::These(vec![name]), tokens);
    sizes.into_iter().map(change).collect()
}

/// Returns the component that a claim is about, given the pods of workers.
fn component_of(
    evidence: &Evidence,
    claim: &SizeClaim,
    pod_of: impl Fn(WorkerId) -> Option<Arc<str>>,
) -> Option<Arc<str>> {
    let pod = claim.pod.clone().or_else(|| pod_of(claim.worker?));
    let component = pod.and_then(|pod| evidence.objects.component_of(&pod).cloned());
    component.or_else(|| claim.component.clone())
}

/// The state of the engine's block size in the deployment's objects.
enum EngineSetting {
    /// Not set yet; holds the instruction that sets it.
    Open(String),
    /// Set, but pods that started earlier still run; holds the instruction that was followed.
    Pending(String),
    /// Set in this place, but engines that started with the setting use another size.
    Overridden(String),
    /// No known object sets it.
    Unknown,
}

impl EngineSetting {
    fn find(evidence: &Evidence, changes: &[Change]) -> Self {
        let plan = evidence.objects.plan(changes);
        if plan.edits.is_empty() || !plan.complete {
            return Self::Unknown;
        }
        let open: Vec<String> = plan.open().map(Edit::instruction).collect();
        if !open.is_empty() {
            return Self::Open(capital(&open.join(", and ")));
        }
        let progress = evidence.objects.progress(&plan, &evidence.sizes_in_use());
        let places: Vec<String> = plan.edits.iter().map(Edit::place).collect();
        let places = places.join(", ");
        if progress.overridden && progress.waiting.is_empty() {
            Self::Overridden(capital(&places))
        } else {
            let done: Vec<String> = plan.edits.iter().map(Edit::instruction).collect();
            Self::Pending(capital(&done.join(", and ")))
        }
    }
}

/// Returns a sentence's beginning with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns the sentence about the frontend's restart when model cards change; it follows the stop of the workers.
/// Routers reject a worker whose card differs from the known one (the checksum covers the size; 1.0 asks to drain all
/// old workers), so all workers stop first. The router of 0.9 keeps its size for as long as it runs (dynamo-llm 0.9.0,
/// `discovery/model_manager.rs`: "KV Router block size mismatch!").
fn frontend_too(evidence: &Evidence) -> &'static str {
    let old = evidence.releases.least.map(|least| least < release::ROUTERS_TAKE_NEW_SIZES);
    match (evidence.settings.router_kind, old) {
        (RouterKind::OwnSize, _) | (_, Some(false)) => "",
        (_, Some(true)) => " Restart the frontend, because its router keeps its block size.",
        (_, None) => " Restart a 0.9 frontend, because its router keeps its block size.",
    }
}

/// Returns how pods restart when their model cards change. Cards of two sizes must not exist at the same time,
/// and the router of 0.9 keeps the first size that it saw.
fn restart_of_cards(evidence: &Evidence) -> Restart {
    let new = release::ROUTERS_TAKE_NEW_SIZES;
    let old = evidence.releases.least.is_none_or(|least| least < new);
    let own = evidence.settings.router_kind == RouterKind::OwnSize;
    Restart::Together { frontends: old && !own }
}

/// Returns the flag that sets the block size of a worker's publisher and model card, if there is one.
pub(in crate::diagnose::rules) fn worker_size_flag(
    evidence: &Evidence,
    tokens: u32,
    on: Part,
) -> Option<Change> {
    let flags: &[&str] = match (evidence.backend()?, evidence.releases.most) {
        (Backend::TrtLlm, Some(most)) if most < release::TRTLLM_SIZE_FROM_ENGINE => {
            &[flag::KV_BLOCK_SIZE]
        }
        (Backend::Vllm, _) => &[flag::BLOCK_SIZE],
        (Backend::SgLang, _) => &[flag::PAGE_SIZE],
        (Backend::TrtLlm | Backend::Mocker, _) => return None,
    };
    let value = tokens.to_string();
    Some(Change::Set { on, variable: None, flags, value })
}

/// Returns the fix if router and workers use different block sizes.
#[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
pub(super) fn router_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    if evidence.settings.router_kind == RouterKind::OwnSize {
        // The chat processor of such a frontend hashes with the declared size.
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
        RouterKind::Frontend => Phrase::default(),
        RouterKind::OwnSize | RouterKind::Unknown => phrase!(
            " A standalone router (dynamo.router) needs {} {}.",
            evidence.knob_text(settings::ROUTER_SIZE, ""),
            workers
        ),
    };
    let flag = match evidence.backend() {
        Some(Backend::TrtLlm) => {
            phrase!("{} {}", flag::KV_BLOCK_SIZE, workers)
        }
        Some(Backend::Vllm | Backend::Mocker) => {
            phrase!("{} {}", flag::BLOCK_SIZE, workers)
        }
        Some(Backend::SgLang) => {
            phrase!("{} {}", flag::PAGE_SIZE, workers)
        }
        None => {
            phrase!("{} {} (vLLM: {} {})", flag::KV_BLOCK_SIZE, workers, flag::BLOCK_SIZE, workers)
        }
    };
    let change = worker_size_flag(evidence, workers, wrong_components(evidence, &[]));
    let set = match &change {
        Some(Change::Set { flags, .. }) => in_place(evidence, flags, workers),
        _ => None,
    };
    if let Some(set) = set {
        let who = set.who(evidence);
        let sentence = phrase!(
            "{} is already set on {}, but its model card says {}, and the router uses the card's \
             size. Stop all workers.{} Then start the workers, so that each one registers a card with {}.",
            flag,
            who,
            router,
            frontend_too(evidence),
            workers
        );
        return Fix { sentence, restarts: ALL_WORKERS.into(), ..Fix::default() };
    }
    Fix {
        sentence: phrase!(
            "Stop all workers.{} Then start the workers with {}, so that their model cards match the published \
             block size. The router uses the card's size and rejects workers whose cards differ.{}",
            frontend_too(evidence),
            flag,
            own
        ),
        changes: change.into_iter().collect(),
        restart: restart_of_cards(evidence),
        restarts: ALL_WORKERS.into(),
    }
}

/// Returns the fix if cards and workers agree, but the router still hashes with another size: a configured one,
/// or that of an earlier card.
fn stray_router_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    let restarts = evidence.frontend_restarts().into();
    let declares = |claim: &&SizeClaim| claim.tokens == router && claim.ground > Ground::Default;
    if evidence.sizes_of(ClaimOf::Declared).any(|claim| declares(&claim)) {
        return declared_fix(evidence, router, workers);
    }
    let sentence = phrase!(
        "Restart the frontend: model cards say {}, but its router still hashes with {} (a router \
         of Dynamo 0.9 or 1.0 keeps the size of the first card it saw). A standalone router (dynamo.router) \
         needs {} {} instead.",
        workers,
        router,
        evidence.knob_text(settings::ROUTER_SIZE, ""),
        workers
    );
    Fix { sentence, restarts, ..Fix::default() }
}

/// Returns the fix if the frontend hashes with the block size declared on it.
fn declared_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    let sentence = phrase!(
        "Set {}={} on the frontend: its router hashes with the declared {}, \
         not with the model cards' {}.",
        variable::KV_CACHE_BLOCK_SIZE,
        workers,
        router,
        workers
    );
    let changes = vec![Change::Set {
        on: Part::Frontend,
        variable: Some(variable::KV_CACHE_BLOCK_SIZE.to_owned()),
        flags: &[flag::KV_CACHE_BLOCK_SIZE],
        value: workers.to_string(),
    }];
    Fix { sentence, changes, restarts: evidence.frontend_restarts().into(), ..Fix::default() }
}

/// Returns the fix for a standalone router: a new value for the setting that it was started with.
fn own_router_fix(evidence: &Evidence, router: u32, workers: u32) -> Fix {
    let claim = evidence.sizes_of(ClaimOf::Router).find(|claim| claim.tokens == router);
    let who = claim.map_or_else(|| Arc::from("the router"), |claim| claim.who(evidence));
    let set_by = claim.and_then(|claim| claim.set_by.as_ref());
    let variable = match (set_by, evidence.releases.least) {
        (Some(SetBy::Variable { name, .. }), _) => Some(name.to_string()),
        // No setting names a size, so the variable of this version can be set.
        (None, Some(least)) if least >= release::ROUTER_SIZE_VARIABLE => {
            Some(variable::ROUTER_BLOCK_SIZE.to_owned())
        }
        (Some(SetBy::Flag(_)) | None, _) => None,
    };
    let sentence = match &variable {
        Some(variable) => {
            phrase!("Restart {} with {}={} instead of {}.", who, variable, workers, router)
        }
        None => phrase!(
            "Restart {} with {} {} instead of {}.",
            who,
            evidence.knob_text(settings::ROUTER_SIZE, ""),
            workers,
            router
        ),
    };
    let value = workers.to_string();
    Fix {
        sentence,
        changes: vec![Change::Set {
            on: Part::Router,
            variable,
            flags: &[flag::BLOCK_SIZE, flag::ROUTER_BLOCK_SIZE],
            value,
        }],
        restarts: "restart of the router, which rebuilds its index".into(),
        ..Fix::default()
    }
}
