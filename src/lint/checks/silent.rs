//! Workers on which publishing of KV events is not enabled.

use crate::diagnose;
use crate::domain::{Backend, ClaimOf, ClaimWhat, Role, Severity};
use crate::lint::judge::Scene;
use crate::lint::manifest::Part;
use crate::lint::place::variable;
use crate::lint::plan::publishes;
use crate::lint::{Edit, Flaw};

/// The event configuration that vLLM workers need.
const EVENTS_CONFIG: &str = r#"{"enable_kv_cache_events":true,"publisher":"zmq","topic":"kv-events","endpoint":"tcp://*:20080"}"#;

/// The event configuration that `SGLang` workers need; the engine has no switch to enable events.
const PUBLISHER_CONFIG: &str =
    r#"{"publisher":"zmq","topic":"kv-events","endpoint":"tcp://*:20080"}"#;

/// Returns the corrections that make silent workers publish.
pub(super) fn publishing(scene: &Scene<'_, '_>) -> Vec<Edit> {
    let workers = scene.workers().map(|(_, part)| part);
    let silent = workers.filter(|part| part.role != Role::Decode && !part.words().is_empty());
    silent.filter_map(|part| mend_silence(scene, part, scene.version_of(part))?.2).collect()
}

/// KVT003 in a manifest: a worker on which publishing is not enabled.
pub(super) fn silent(scene: &Scene<'_, '_>, part: &Part<'_>, found: &mut Vec<Flaw>) {
    let claimed = publishes(part).is_some();
    let unknown = part.unread.is_some()
        || part.hides(ClaimWhat::PublishesEvents, ClaimOf::Publisher).is_some();
    // Decode workers publish nothing by design; the command that an image starts by default is unknown.
    if part.role == Role::Decode || part.words().is_empty() || (unknown && !claimed) {
        return;
    }
    let version = scene.version_of(part);
    let Some((severity, fix, edit)) = mend_silence(scene, part, version) else { return };
    let engine = part.backend.map_or("engine", Backend::title);
    let unsure = if severity == Severity::Warning {
        " in Dynamo 1.1 and later (the image tag names no version)"
    } else {
        ""
    };
    let mut flaw = Flaw {
        name: diagnose::rule("KVT003").map_or("", |rule| rule.name()),
        severity,
        component: part.name.to_string(),
        summary: format!("{} ({engine}) does not publish KV events{unsure}.", part.name),
        effect: "The router assumes that these workers have empty caches, never finds their blocks, and logs no \
                 warning."
            .to_owned(),
        fix,
        edits: edit.into_iter().collect(),
        versions: versions(part.backend).to_owned(),
        dynamo: version.map(|(major, minor)| format!("{major}.{minor}")),
        ..scene.blank("KVT003")
    };
    scene.spot(&mut flaw, part, ClaimWhat::PublishesEvents, ClaimOf::Publisher);
    if flaw.spots.is_empty() {
        let place = part.place_for_more();
        flaw.spots.push(scene.text.spot(part.file, place, "not set: --kv-events-config"));
        flaw.template = part.template.map(str::to_owned);
    }
    found.push(flaw);
}

fn versions(backend: Option<Backend>) -> &'static str {
    match backend {
        Some(Backend::TrtLlm) => {
            "TensorRT-LLM publishes only with --publish-events-and-metrics (up to 1.2) or --publish-kv-events \
             (from 1.3)."
        }
        Some(Backend::Vllm) => {
            "vLLM publishes by default up to 1.0, and only with --kv-events-config from 1.1."
        }
        _ => "SGLang publishes only with --kv-events-config, in every version.",
    }
}

fn mend_silence(
    scene: &Scene<'_, '_>,
    part: &Part<'_>,
    version: Option<(u32, u32)>,
) -> Option<(Severity, String, Option<Edit>)> {
    let text = scene.text;
    let flag = "--kv-events-config";
    match part.backend? {
        Backend::TrtLlm => {
            if publishes(part) != Some(false) {
                return None;
            }
            let split = version.is_some_and(|version| version >= (1, 3));
            let on = if split { "--publish-kv-events" } else { "--publish-events-and-metrics" };
            let claim = part.claims.get(&(ClaimWhat::PublishesEvents, ClaimOf::Publisher))?;
            let label = claim.source.rsplit(", ").next().unwrap_or_default();
            let edit = match variable(label) {
                Some(name) => text.set_env(part, name, "true"),
                None if label.starts_with("--no-") => text.replace_flag(part, label, Some(on)),
                None => text.set_flag(part, &[on], None),
            };
            Some((Severity::Critical, format!("Start the workers with {on}."), edit))
        }
        Backend::Vllm => {
            let asked = text.flag(part, &[flag]).is_some();
            let severity = match (publishes(part), version) {
                (Some(true), _) => return None,
                // The value of the flag is unknown.
                (None, _) if asked => return None,
                (None, Some(version)) if version < (1, 1) => return None,
                (None, None) => Severity::Warning,
                (Some(false), _) | (None, Some(_)) => Severity::Critical,
            };
            let edit = text.set_flag(part, &[flag], Some(EVENTS_CONFIG));
            Some((severity, format!("Start the workers with {flag} '{EVENTS_CONFIG}'."), edit))
        }
        Backend::SgLang => {
            if publishes(part) == Some(true)
                || (publishes(part).is_none() && text.flag(part, &[flag]).is_some())
            {
                return None;
            }
            let edit = text.set_flag(part, &[flag], Some(PUBLISHER_CONFIG));
            let fix = format!("Start the workers with {flag} '{PUBLISHER_CONFIG}'.");
            Some((Severity::Critical, fix, edit))
        }
        Backend::Mocker => None,
    }
}
