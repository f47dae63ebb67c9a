//! Workers on which publishing of KV events is not enabled.

use crate::diagnose;
use crate::domain::{Backend, ClaimOf, ClaimValue, ClaimWhat, SetBy, Severity};
use crate::dynamo::{engine, flag};
use crate::lint::edit::holds_token;
use crate::lint::judge::Scene;
use crate::lint::manifest::Part;
use crate::lint::plan::{Plan, publishes};
use crate::lint::{Edit, Flaw};

/// Returns the corrections that make silent workers publish.
pub(super) fn publishing(scene: &Scene<'_, '_>) -> Vec<Edit> {
    let workers = scene.workers().map(|(_, part)| part);
    let silent = workers.filter(|part| scene.computes_prompts(part) && !part.words().is_empty());
    silent.filter_map(|part| mend_silence(scene, part, scene.version_of(part))?.2).collect()
}

/// KVT003 in a manifest: a worker on which publishing is not enabled.
pub(super) fn silent(scene: &Scene<'_, '_>, part: &Part<'_>, found: &mut Vec<Flaw>) {
    let claimed = publishes(part).is_some();
    let unknown = part.unread.is_some()
        || part.hides(ClaimWhat::PublishesEvents, ClaimOf::Publisher).is_some();
    // The command that an image starts by default is unknown.
    if !scene.computes_prompts(part) || part.words().is_empty() || (unknown && !claimed) {
        return;
    }
    let version = scene.version_of(part);
    let Some((severity, fix, edit)) = mend_silence(scene, part, version) else { return };
    // Nobody misses the events yet where no router chooses by cached blocks (KVT005).
    let routes = scene.routers().next().is_none() || scene.routers().any(Plan::routes);
    let by_cards = scene.workers().any(|(_, part)| scene.own_mode(part).is_some());
    let severity = if routes || by_cards { severity } else { Severity::Warning };
    let engine = part.backend.map_or("engine", Backend::title);
    let unsure = if severity == Severity::Warning && version.is_none() {
        " in Dynamo 1.1 and later (the image tag names no version)"
    } else {
        ""
    };
    let mut flaw = Flaw {
        name: diagnose::rule("KVT003").map_or("", |rule| rule.name()),
        severity,
        component: part.name.to_string(),
        summary: format!("{} ({engine}) does not publish KV events{unsure}.", part.name),
        effect: effect(version, routes || by_cards),
        fix,
        edits: edit.into_iter().collect(),
        versions: versions(part.backend),
        dynamo: version.map(|(major, minor)| format!("{major}.{minor}")),
        ..scene.blank("KVT003")
    };
    scene.spot(&mut flaw, part, ClaimWhat::PublishesEvents, ClaimOf::Publisher);
    if flaw.spots.is_empty() {
        let place = part.place_for_more();
        flaw.spots.push(scene.text.spot(
            part.file,
            place,
            &format!("not set: {}", flag::KV_EVENTS_CONFIG),
        ));
        flaw.template = part.template.map(str::to_owned);
    }
    found.push(flaw);
}

/// The release from which on routers warn of workers that publish nothing.
const WARNS: (u32, u32) = (1, 4);

/// Returns what a router does about workers that publish nothing (dynamo-llm 1.4.2,
/// `kv_router/indexer/recovery/source_health.rs`; before, nothing).
fn effect(version: Option<(u32, u32)>, missed: bool) -> String {
    if !missed {
        return "Once a router chooses workers by cached blocks, it assumes that these have empty caches."
            .to_owned();
    }
    let logs = match version {
        Some(version) if version >= WARNS => "and logs a warning 30 s after its start",
        Some(_) => "and logs no warning",
        None => "and logs a warning only from 1.4 on",
    };
    format!(
        "The router assumes that these workers have empty caches, never finds their blocks, {logs}."
    )
}

fn versions(backend: Option<Backend>) -> String {
    let (both, events) = (flag::PUBLISH_EVENTS_AND_METRICS, flag::PUBLISH_KV_EVENTS);
    let config = flag::KV_EVENTS_CONFIG;
    match backend {
        Some(Backend::TrtLlm) => {
            format!("TensorRT-LLM publishes only with {both} (up to 1.2) or {events} (from 1.3).")
        }
        Some(Backend::Vllm) => {
            format!("vLLM publishes by default up to 1.0, and only with {config} from 1.1.")
        }
        _ => format!("SGLang publishes only with {config}, in every version."),
    }
}

/// Finds an engine that sends its events to its own address instead of binding it.
fn connects_to_itself(
    scene: &Scene<'_, '_>,
    part: &Part<'_>,
) -> Option<(Severity, String, Option<Edit>)> {
    let claim = part.claims.get(&(ClaimWhat::EventEndpoint, ClaimOf::Engine))?;
    let ClaimValue::Text(address) = &claim.value else { return None };
    if engine::is_bound(address) {
        return None;
    }
    let (flag, bound) = (flag::KV_EVENTS_CONFIG, engine::bound(address));
    let from = if holds_token(address) { String::new() } else { format!(" from {address}") };
    let fix = format!(
        "In {flag}, change the endpoint{from} to {bound}: {} connects to an address without * instead of \
         binding it, so no event leaves the engine.",
        part.backend.map_or("the engine", Backend::title)
    );
    let edit = scene.text.replace_in_flag(part, flag, (address, &bound));
    Some((Severity::Critical, fix, edit))
}

fn mend_silence(
    scene: &Scene<'_, '_>,
    part: &Part<'_>,
    version: Option<(u32, u32)>,
) -> Option<(Severity, String, Option<Edit>)> {
    let text = scene.text;
    let flag = flag::KV_EVENTS_CONFIG;
    match part.backend? {
        Backend::TrtLlm => {
            if publishes(part) != Some(false) {
                return None;
            }
            let split = version.is_some_and(|version| version >= (1, 3));
            let on = if split { flag::PUBLISH_KV_EVENTS } else { flag::PUBLISH_EVENTS_AND_METRICS };
            let claim = part.claims.get(&(ClaimWhat::PublishesEvents, ClaimOf::Publisher))?;
            let edit = match &claim.set_by {
                Some(SetBy::Variable { name, .. }) => text.set_env(part, name, "true"),
                Some(SetBy::Flag(name)) if name.starts_with("--no-") => {
                    text.replace_flag(part, name, Some(on))
                }
                Some(SetBy::Flag(_)) | None => text.set_flag(part, &[on], None),
            };
            Some((Severity::Critical, format!("Start the workers with {on}."), edit))
        }
        Backend::Vllm => {
            let asked = text.flag(part, &[flag]).is_some();
            let severity = match (publishes(part), version) {
                (Some(true), _) => return connects_to_itself(scene, part),
                // The value of the flag is unknown.
                (None, _) if asked => return None,
                (None, Some(version)) if version < (1, 1) => return None,
                (None, None) => Severity::Warning,
                (Some(false), _) | (None, Some(_)) => Severity::Critical,
            };
            let config = engine::events_config(Backend::Vllm, engine::VLLM_EVENT_PORT)?;
            let edit = text.set_flag(part, &[flag], Some(&config));
            Some((severity, format!("Start the workers with {flag} '{config}'."), edit))
        }
        Backend::SgLang => {
            if publishes(part) == Some(true) {
                return connects_to_itself(scene, part);
            }
            if publishes(part).is_none() && text.flag(part, &[flag]).is_some() {
                return None;
            }
            let config = engine::events_config(Backend::SgLang, engine::VLLM_EVENT_PORT)?;
            let edit = text.set_flag(part, &[flag], Some(&config));
            let fix = format!("Start the workers with {flag} '{config}'.");
            Some((Severity::Critical, fix, edit))
        }
        Backend::Mocker => None,
    }
}
