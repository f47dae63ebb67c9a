//! Checks that only a manifest allows: misplaced, renamed and invalid settings, and workers that do not publish.

mod silent;
mod unknown;

use super::document::{Kind, Node};
use super::edit::{is_secret, sounds_secret};
use super::judge::Scene;
use super::manifest::Part;
use super::plan::{Plan, set};
use super::{Edit, Flaw};
use crate::diagnose::{self, Rule};
use crate::domain::{Claim, ClaimOf, ClaimValue, ClaimWhat, Release, Severity};
use crate::dynamo::router::{KV, MODES};
use crate::dynamo::settings::{self, OF_WORKERS};
use crate::dynamo::{Name, Setting, fill, release, variable};

/// A check of manifests alone.
#[derive(Clone, Copy, Debug)]
pub struct ManifestCheck {
    /// Its public id; never reused, and never that of a rule.
    pub id: &'static str,
    /// Its public name.
    pub name: &'static str,
    /// The description, with placeholders for Dynamo's names.
    about: &'static str,
    /// Differences between releases, with placeholders for Dynamo's names.
    versions: &'static str,
}

impl ManifestCheck {
    /// Returns the description: meaning, detection and fix.
    pub fn documentation(&self) -> String {
        fill(self.about)
    }
}

/// Every check of manifests that no rule of a live deployment has.
pub const CHECKS: &[ManifestCheck] = &[MISPLACED, NOT_READ, NO_TEXT, NOT_KNOWN];

const MISPLACED: ManifestCheck = ManifestCheck {
    id: "KVT101",
    name: "setting-misplaced",
    about: "A setting is on a component that does not read it. Either a router setting, such as {variable::ROUTER_MODE} \
            or {variable::KV_CACHE_BLOCK_SIZE}, is on a worker while the frontend lacks it, or a worker setting, such \
            as {variable::TRTLLM_KV_BLOCK_SIZE}, is on the frontend. Dynamo logs no warning. From 1.5 \
            on a worker with a router mode of its own reads router settings, which override the frontend's for it.\nDetected by kvtop lint. \
            Variables of the whole graph (spec.envs, spec.env) reach every component and are fine.\nMove the \
            setting.",
    versions: "Every version.",
};

const NOT_READ: ManifestCheck = ManifestCheck {
    id: "KVT102",
    name: "setting-not-read",
    about: "A variable has the name of another Dynamo version. Dynamo 1.0 renamed the router's variables \
            ({variable::KV_EVENTS} became {variable::ROUTER_USE_KV_EVENTS}, {variable::KV_OVERLAP_SCORE_WEIGHT} became \
            {variable::ROUTER_KV_OVERLAP_SCORE_WEIGHT}). From 1.2 on the weight is deprecated: \
            {variable::ROUTER_PREFILL_LOAD_SCALE} does the same, and the credit, 0 to 1, is how much of the cached blocks \
            counts.\nDetected by kvtop lint if the image tag names the version.\nUse the \
            name of that version.",
    versions: "The router's variables were renamed in 1.0, the weight in 1.2.",
};

const NO_TEXT: ManifestCheck = ManifestCheck {
    id: "KVT103",
    name: "value-not-text",
    about: "The value of an environment variable, or an argument, is a YAML number or boolean, but Kubernetes accepts \
            only strings: the API server rejects the object (\"cannot unmarshal number into Go struct field … of \
            type string\").\nDetected by kvtop lint.\nPut the value in quotes.",
    versions: "Kubernetes; independent of the Dynamo version.",
};

/// Overlap weights whose meaning no release changed.
const USUAL_WEIGHTS: [ClaimValue; 2] =
    [ClaimValue::Millionths(0), ClaimValue::Millionths(1_000_000)];

pub(super) const NOT_KNOWN: ManifestCheck = ManifestCheck {
    id: "KVT104",
    name: "value-not-known",
    about: "A routing setting or a block size has a value that Dynamo does not know. Modes are case-sensitive: \
            kv, not KV or kv-router. An unknown mode in {variable::ROUTER_MODE} silently means round-robin; as a flag \
            it is rejected. An invalid number, or a {flag::KV_EVENTS_CONFIG} that is not JSON, keeps the process from starting. From Dynamo 1.0 a boolean \
            variable is true for true, 1, yes and on, and false for everything else.\nDetected by kvtop lint. \
            Values with a $ or braces are skipped, because a template fills them in.\nUse a known value.",
    versions: "Every version; booleans from 1.0.",
};

/// Returns how the finding of a rule or check depends on the Dynamo version; empty when it does not.
pub(super) fn versions(id: &str) -> String {
    let check = || CHECKS.iter().find(|check| check.id == id).map(|check| check.versions);
    let versions = diagnose::rule(id).map(Rule::versions).or_else(check);
    versions.map(fill).unwrap_or_default()
}

pub(super) use unknown::unknown_values;

/// Runs the manifest checks on a deployment with KV-aware routing.
pub(super) fn run(scene: &Scene<'_, '_>, found: &mut Vec<Flaw>) {
    for (_, part) in scene.workers().filter(|_| is_heard(scene)) {
        silent::silent(scene, part, found);
    }
    for part in scene.engines() {
        misplaced(scene, part, found);
    }
    for part in scene.frontends() {
        of_workers(scene, part, found);
    }
    for part in scene.routers().filter(|part| Plan::routes(part)) {
        renamed(scene, part, found);
    }
}

/// Returns true when a router follows KV events, or none is shown.
fn is_heard(scene: &Scene<'_, '_>) -> bool {
    let follows = |part: &Part<'_>| {
        let claim = part.claims.get(&(ClaimWhat::KvEvents, ClaimOf::Router));
        claim.is_none_or(|claim| claim.value != ClaimValue::Flag(false))
    };
    scene.routers().next().is_none() || scene.routers().any(follows)
}

/// Returns the corrections that make silent workers publish, if no finding of theirs has them.
pub(super) fn publishing(scene: &Scene<'_, '_>) -> Vec<Edit> {
    if is_heard(scene) { Vec::new() } else { silent::publishing(scene) }
}

/// KVT101: settings of the router on a worker.
fn misplaced(scene: &Scene<'_, '_>, part: &Part<'_>, found: &mut Vec<Flaw>) {
    // With a mode of its own a worker's model card carries all of them.
    if scene.own_mode(part).is_some() {
        return;
    }
    for setting in settings::routing() {
        let names = setting.variables.iter().map(|name| name.text);
        let Some((name, entry)) = names
            .filter_map(|name| Some((name, part.variable(name)?)))
            .find(|(_, variable)| !is_shared(part, variable.list))
            .map(|(name, variable)| (name, variable.entry))
        else {
            continue;
        };
        let lacking: Vec<&Part<'_>> =
            scene.frontends().filter(|frontend| set(frontend, setting.what).is_none()).collect();
        let value = entry.get("value").map(Node::json);
        let value = value.map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
        let (Some(first), Some(value)) = (lacking.first(), value) else { continue };
        let place = (entry.line, entry.column);
        let harm = harm_of(setting, &value);
        let (fix, edits) = match harm {
            Some(harm) => (format!("Remove {name}: on {} {harm}.", first.name), Vec::new()),
            None => (
                format!("Set {name} on {}.", first.name),
                lacking
                    .iter()
                    .filter_map(|frontend| scene.text.set_env(frontend, name, &value))
                    .collect(),
            ),
        };
        found.push(Flaw {
            name: MISPLACED.name,
            severity: Severity::Warning,
            component: part.name.to_string(),
            summary: format!(
                "{name} is set on {}, which does not route, but not on {}.",
                part.name, first.name
            ),
            effect: if harm.is_some() { NO_EFFECT } else { effect_of(setting) }.to_owned(),
            template: part.template.map(str::to_owned),
            spots: vec![
                scene.text.spot(part.file, place, &format!("{name}={value}")),
                scene.text.spot(first.file, first.head, &format!("not set: {name}")),
            ],
            fix,
            edits,
            ..scene.blank(MISPLACED.id)
        });
    }
}

/// The effect of a setting that nobody reads.
const NO_EFFECT: &str = "The setting has no effect.";

fn effect_of(setting: &Setting) -> &'static str {
    match setting.what {
        ClaimWhat::RouterMode => "Requests are routed without regard to cached blocks.",
        ClaimWhat::BlockSize => {
            "The setting has no effect: workers read their block size from their own flags."
        }
        _ => NO_EFFECT,
    }
}

/// Returns the harm that a setting would do where it is read; none for one that keeps KV-aware routing.
fn harm_of(setting: &Setting, value: &str) -> Option<&'static str> {
    match setting.what {
        ClaimWhat::RouterMode if MODES.contains(&value) && value != KV => {
            Some("it would route requests without regard to cached blocks")
        }
        ClaimWhat::KvEvents if value.parse::<bool>() == Ok(false) || value == "0" => {
            Some("the router would ignore KV events")
        }
        ClaimWhat::OverlapWeight | ClaimWhat::OverlapCredit if value.parse::<f64>() == Ok(0.0) => {
            Some("the router would ignore cached blocks")
        }
        _ => None,
    }
}

/// Returns true for a list of variables that all parts share.
fn is_shared(part: &Part<'_>, list: &Node) -> bool {
    let of_others = part.envs.iter().filter(|(owner, _)| !part.owns(owner));
    let mut lists = of_others.filter_map(|(owner, key)| owner.get(key));
    lists.any(|shared| std::ptr::eq(shared, list))
}

/// KVT101: settings of workers on a frontend.
fn of_workers(scene: &Scene<'_, '_>, part: &Part<'_>, found: &mut Vec<Flaw>) {
    for name in OF_WORKERS {
        let Some(variable) = part.variable(name) else { continue };
        let set = scene.workers().any(|(_, worker)| worker.variable(name).is_some());
        if set || is_shared(part, variable.list) {
            continue;
        }
        let place = (variable.entry.line, variable.entry.column);
        found.push(Flaw {
            name: MISPLACED.name,
            severity: Severity::Warning,
            component: part.name.to_string(),
            summary: format!("{name} is set on {}, which has no engine.", part.name),
            effect: NO_EFFECT.to_owned(),
            template: part.template.map(str::to_owned),
            spots: vec![scene.text.spot(part.file, place, name)],
            fix: format!("Set {name} on the workers."),
            ..scene.blank(MISPLACED.id)
        });
    }
}

/// KVT102: variables with the name of another version.
fn renamed(scene: &Scene<'_, '_>, part: &Part<'_>, found: &mut Vec<Flaw>) {
    let Some(version) = part.version() else { return };
    let release = Release::new(version.0, version.1);
    let read = |name: &&Name| name.may_be_read(Some(release));
    for setting in settings::routing() {
        // Where the credit is not read, the weight is.
        let others = settings::OVERLAP.iter().copied().flatten();
        let others = others.filter(|_| setting.what == ClaimWhat::OverlapCredit);
        let mut readable = setting.variables.iter().chain(others).filter(read);
        let read_name = readable.clone().find(|name| !name.alias).map_or("", |name| name.text);
        let mut unread = setting.variables.iter().filter(|name| !read(name));
        let given = unread.find_map(|name| Some((name.text, part.variable(name.text)?)));
        let better = readable.any(|name| part.variable(name.text).is_some());
        let Some((unread, variable)) = given.filter(|_| !better) else { continue };
        let value = variable.entry.string("value").unwrap_or_default();
        let flag = setting.flags.first().map_or("", |name| name.text);
        let name = if read_name.is_empty() { flag } else { read_name };
        let place = (variable.entry.line, variable.entry.column);
        let harm = harm_of(setting, value);
        let (fix, edits) = match harm {
            Some(harm) => (format!("Remove {unread}: as {name} {harm}."), Vec::new()),
            None if read_name.is_empty() => (format!("Set {name}."), Vec::new()),
            None => (
                format!("Set {name}."),
                scene.text.set_env(part, read_name, value).into_iter().collect(),
            ),
        };
        found.push(Flaw {
            name: NOT_READ.name,
            severity: Severity::Warning,
            component: part.name.to_string(),
            summary: format!("Dynamo {release} does not read {unread}; its name is {name} there."),
            effect: "The default applies instead.".to_owned(),
            template: part.template.map(str::to_owned),
            spots: vec![scene.text.spot(part.file, place, &format!("{unread}={value}"))],
            fix,
            edits,
            ..scene.blank(NOT_READ.id)
        });
    }
    found.extend(deprecated(scene, part, release));
}

/// KVT102 again: the overlap weight, which is read, but deprecated.
fn deprecated(scene: &Scene<'_, '_>, part: &Part<'_>, release: Release) -> Option<Flaw> {
    // A weight of 0 takes away the credit too, which KVT005 is about; 1 is the default.
    let is_own = |claim: &&Claim| !USUAL_WEIGHTS.contains(&claim.value);
    set(part, ClaimWhat::OverlapWeight)
        .filter(is_own)
        .filter(|_| release >= release::WEIGHT_IS_DEPRECATED)?;
    let mut flaw = Flaw {
            name: NOT_READ.name,
            severity: Severity::Info,
            component: part.name.to_string(),
            summary: format!(
                "The overlap weight is deprecated in Dynamo {release}; {} does the same.",
                variable::ROUTER_PREFILL_LOAD_SCALE
            ),
            effect: "The value has the same effect as before: prompts to be computed count that many times as much \
                     as blocks that decode."
                .to_owned(),
            fix: format!(
                "Set {} instead. {}, 0 to 1, is something else: the share of cached blocks that counts.",
                variable::ROUTER_PREFILL_LOAD_SCALE,
                variable::ROUTER_KV_OVERLAP_SCORE_CREDIT
            ),
            ..scene.blank(NOT_READ.id)
        };
    scene.spot(&mut flaw, part, ClaimWhat::OverlapWeight, ClaimOf::Router);
    Some(flaw)
}

/// KVT103: values that are not strings, in any deployment.
pub(super) fn values(scene: &Scene<'_, '_>, found: &mut Vec<Flaw>) {
    let mut seen: Vec<(usize, usize, usize)> = Vec::new();
    let mut add = |part: &Part<'_>, (first, value): (usize, &Node), of: &str, open: bool| {
        let place = (part.file, value.line, value.column);
        if !matches!(value.value, Kind::Number(_) | Kind::Bool(_)) || seen.contains(&place) {
            return;
        }
        seen.push(place);
        let (said, what) = match (open, of.is_empty()) {
            (true, _) => (String::new(), of.to_owned()),
            (false, true) => (format!(": {}", value.json()), value.json().to_string()),
            (false, false) => (format!(": {}", value.json()), format!("{of}: {}", value.json())),
        };
        let subject =
            if of.is_empty() { "An argument".to_owned() } else { format!("The value of {of}") };
        found.push(Flaw {
            name: NO_TEXT.name,
            severity: Severity::Warning,
            component: part.name.to_string(),
            summary: format!("{subject} is not a string{said}."),
            effect: "Kubernetes rejects the object.".to_owned(),
            template: part.template.map(str::to_owned),
            spots: vec![scene.text.spot(part.file, (value.line, value.column), &what)],
            fix: "Put the value in quotes.".to_owned(),
            edits: scene.text.quote(part.file, value, (first, value.line)).into_iter().collect(),
            ..scene.blank(NO_TEXT.id)
        });
    };
    for part in &scene.deployment.parts {
        for (owner, key) in &part.envs {
            for entry in owner.get(key).map_or(&[][..], Node::items) {
                if let (Some(name), Some(value)) = (entry.string("name"), entry.get("value")) {
                    add(
                        part,
                        (entry.line, value),
                        name,
                        is_secret(name, &value.json().to_string()),
                    );
                }
            }
        }
        let words = part.words();
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| words[before].text());
            let flag = before.filter(|word| word.starts_with("--") && !word.contains('='));
            add(part, (word.line, word), flag.unwrap_or_default(), flag.is_some_and(sounds_secret));
        }
    }
}
