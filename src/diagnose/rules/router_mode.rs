//! KVT005: KV-aware routing is off or weakened.

use std::sync::Arc;

use super::names;
use crate::diagnose::Origin;
use crate::diagnose::fix::{Change, Part};
use crate::diagnose::measure;
use crate::diagnose::phrase::{Count, Decimal, Phrase, phrase};
use crate::diagnose::{Evidence, Finding, Ground, OfWorker, Proof, Rule, Setting, Verdict};
use crate::domain::{ClaimOf, ClaimWhat, Grade, Severity, Topic};
use crate::dynamo::router::{KV, MODES};
use crate::dynamo::{flag, variable};

/// A temperature that sends less than this share of requests to the costlier of two workers is negligible.
const NEARLY_NEVER: f64 = 0.01;

pub(super) struct RouterMode;

impl Rule for RouterMode {
    fn id(&self) -> &'static str {
        "KVT005"
    }

    fn name(&self) -> &'static str {
        "router-not-kv"
    }

    fn about(&self) -> &'static str {
        "Requests are not routed by cached blocks, for one of these reasons. {variable::ROUTER_MODE} on the frontend is \
         not kv (the default is round-robin, and an unknown value counts as round-robin). The model card of a worker \
         names another mode, which overrides that of the frontend. The overlap weight is 0. A temperature above 0 makes the choice partly random (at 0.5 the costlier of two workers gets 12 % \
         of requests, at 1 it gets 27 %; below 0.22 the share is under 1 %, which is only a note). There is \
         only one worker to choose from.\nDetected by the frontend's settings, by model cards, by the weight in the router's \
         log, and by \"Selected worker\" lines: up to 1.2 only the KV router writes them, from 1.3 on they name the \
         mode.\nSet {variable::ROUTER_MODE}=kv on the \
         frontend, and leave weight 1 and temperature 0."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn versions(&self) -> &'static str {
        "Every version; the default is round-robin. Workers take router settings from 1.5 on."
    }

    fn topic(&self) -> Topic {
        Topic::RouterMode
    }

    #[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
    fn judge(&self, evidence: &Evidence) -> Verdict {
        let settings = &evidence.settings;
        let routed = evidence.router.tally.routed;
        let by_card = evidence.card_modes_but_kv();
        if let Some(first) = by_card.first() {
            return of_cards(&by_card, &first.set);
        }
        if let Some(mode) = evidence.other_mode() {
            let proof = Proof::new(measure::ROUTER_MODE, mode.value.to_string(), mode.origin());
            let summary = by_mode(mode);
            let finding = off(summary, Grade::ConfigOnly, proof.at(mode.at));
            let change = Some(variable(variable::ROUTER_MODE, &[flag::ROUTER_MODE], "kv"));
            let text = named(variable::ROUTER_MODE, "kv");
            return set(finding, evidence, Some(mode), change, (text, "kv"));
        }
        if let Some((pod, mode)) =
            settings.other_modes.first().filter(|_| !settings.only_card_modes)
        {
            let proof =
                Proof::new(measure::ROUTER_MODE, mode.value.to_string(), mode.origin()).at(mode.at);
            let finding = off(by_mode_of(pod, mode), Grade::ConfigOnly, proof);
            let change = Some(variable(variable::ROUTER_MODE, &[flag::ROUTER_MODE], "kv"));
            let text = named(variable::ROUTER_MODE, "kv");
            return set(finding, evidence, Some(mode), change, (text, "kv"));
        }
        let printed = if routed > 0 { evidence.router.weights.as_slice() } else { &[] };
        let weight = settings.overlap_weight.as_ref();
        let one = || evidence.set_overlap("1.0");
        let text = Phrase::from(evidence.overlap_text("1.0"));
        let word = evidence.overlap_word();
        let ignoring: Vec<&str> =
            printed.iter().filter(|(_, it)| *it == 0.0).map(|(pod, _)| pod.as_ref()).collect();
        if !ignoring.is_empty() {
            let proof = Proof::new(measure::OVERLAP_WEIGHT, "0", Origin::RouterLogs);
            let summary = if ignoring.len() == printed.len() {
                phrase!("The router ignores cached blocks: the {} is 0.", word)
            } else {
                let pods = ignoring.join(", ");
                phrase!("{} ignores cached blocks, unlike other routers: the {} is 0.", pods, word)
            };
            let finding = off(summary, Grade::Confirmed, proof);
            return set(finding, evidence, weight, one(), (text, "1.0"));
        }
        let has_printed = |pod: &Arc<str>| printed.iter().any(|(printing, _)| printing == pod);
        if let Some(set_to) = weight
            && set_to.value <= 0.0
            && (printed.is_empty() || evidence.router.pods.iter().any(|pod| !has_printed(pod)))
        {
            let proof = Proof::new(measure::OVERLAP_WEIGHT, "0", set_to.origin());
            let summary =
                phrase!("The router is configured to ignore cached blocks: the {} is 0.", word);
            let finding = off(summary, Grade::ConfigOnly, proof.at(set_to.at));
            return set(finding, evidence, weight, one(), (text, "1.0"));
        }
        if let Some(heat) = &settings.temperature
            && heat.value > 0.0
        {
            let finding = random(heat);
            let change =
                Some(variable(variable::ROUTER_TEMPERATURE, &[flag::ROUTER_TEMPERATURE], "0"));
            let text = named(variable::ROUTER_TEMPERATURE, "0");
            return set(finding, evidence, Some(heat), change, (text, "0"));
        }
        let mut workers: Vec<_> = evidence.present().map(|rank| rank.rank).collect();
        workers.dedup();
        if routed > 0 && workers.len() == 1 && evidence.in_change().is_none() {
            let source = if evidence.plane.logs_only {
                Origin::RouterLogs
            } else {
                Origin::Several(&[Origin::KvEvents, Origin::Discovery])
            };
            let proof = Proof::new(measure::RANKS, "1", source);
            return Finding::new(
                Severity::Info,
                Grade::Likely,
                "There is only one worker, so the router has no choice.",
                vec![proof],
            )
            .means("KV-aware routing has no effect.", "A second worker.")
            .into();
        }
        // A process that was replaced chose otherwise, but this one says that it routes by blocks.
        if routed == 0 && evidence.router.by_blocks {
            return Verdict::clear("routers started in mode kv, and no request came since");
        }
        if routed == 0 {
            return Verdict::unknown(missing(evidence));
        }
        let (times, workers) = (Count(routed), workers.len());
        Verdict::clear(phrase!("the KV router chose between {} workers {} times", workers, times))
    }
}

/// Returns the finding for workers whose model card asks for another mode. It overrides the mode of every frontend for
/// these workers (dynamo-llm 1.6.1, `discovery/watcher.rs`, `effective_router_config`).
fn of_cards(workers: &[&OfWorker<Arc<str>>], mode: &Setting<Arc<str>>) -> Verdict {
    let proof = Proof::new(measure::ROUTER_MODE, mode.value.to_string(), mode.origin());
    let summary = phrase!(
        "Frontends route to {} by {}, not by cached blocks: the model cards of these workers override their router mode.",
        names(workers),
        mode.value
    );
    let sentence =
        phrase!("Set {}=kv on these workers, or remove it from them.", variable::ROUTER_MODE);
    let change = Change::Set {
        on: Part::OddWorkers,
        variable: Some(variable::ROUTER_MODE.to_owned()),
        flags: &[flag::ROUTER_MODE],
        value: KV.to_owned(),
    };
    let cost = "rolling restart of these workers; each one loses its KV cache";
    let seen = mode.ground == Ground::Observed;
    let grade = if seen { Grade::Confirmed } else { Grade::ConfigOnly };
    let finding = off(summary, grade, proof.at(mode.at)).mended_by(sentence, cost);
    finding.through(vec![change]).into()
}

/// Describes the effect of a mode other than `kv`. An unknown mode means round-robin if a variable sets it
/// (`frontend/main.py` of 0.9.0 to 1.6.1 ends in `else`), and is rejected as a flag.
fn by_mode(mode: &Setting<Arc<str>>) -> Phrase {
    let value = &mode.value;
    if MODES.contains(&value.as_ref()) {
        return phrase!("The frontend routes by {}, not by cached blocks.", value);
    }
    match mode.flag() {
        Some(flag) => {
            phrase!("{} {} is not a Dynamo router mode: the frontend will not start.", flag, value)
        }
        None => phrase!(
            "{}={} is not a Dynamo router mode: the frontend silently routes by round-robin.",
            variable::ROUTER_MODE,
            value
        ),
    }
}

/// Describes the effect of a mode other than `kv` on one of several frontends.
fn by_mode_of(pod: &str, mode: &Setting<Arc<str>>) -> Phrase {
    if MODES.contains(&mode.value.as_ref()) {
        return phrase!(
            "{} routes by {}, not by cached blocks, unlike other routers.",
            pod,
            mode.value
        );
    }
    phrase!("{} has a router mode that Dynamo does not know: {}.", pod, mode.value)
}

/// Returns the finding for a router temperature above 0.
fn random(heat: &Setting<f64>) -> Finding {
    // Costs are divided by the spread between the cheapest and the costliest worker, so the odds of these two
    // depend on the temperature alone (dynamo-kv-router 1.6.1, `scheduling/selector/reference.rs`).
    let share = 1.0 / (1.0 + (1.0 / heat.value).exp());
    let value = heat.value.to_string();
    let proof = Proof::new(measure::ROUTER_TEMPERATURE, value, heat.origin()).at(heat.at);
    let temperature = heat.value;
    if share < NEARLY_NEVER {
        let summary = phrase!(
            "The router chooses slightly at random (temperature {}), but only among workers of \
             nearly equal cost.",
            temperature
        );
        return Finding::new(Severity::Info, Grade::ConfigOnly, summary, vec![proof])
            .means("Little: a clearly cheaper worker is still chosen.", "Temperature 0.");
    }
    let percent = share * 100.0;
    let summary = phrase!(
        "The router chooses at random to a degree (temperature {}): the costlier of two workers gets \
         {} % of requests.",
        temperature,
        Decimal(percent, 0)
    );
    let means = "At equal load, these requests go to a worker with less of their prefix cached. More workers \
                 mean more such requests.";
    Finding::new(Severity::Warning, Grade::ConfigOnly, summary, vec![proof])
        .means(means, "Temperature 0.")
}

/// Returns the input that is needed if no request was seen.
fn missing(evidence: &Evidence) -> Phrase {
    let mode = evidence.settings.router_mode.as_ref();
    if mode.is_some_and(|mode| mode.value.as_ref() == "kv") {
        Phrase::from(if evidence.router.heard.routed.is_some() {
            "needs requests: the router mode is kv, but none has been routed to a worker that is there lately"
        } else {
            "needs requests: the router mode is kv, but kvtop has seen no choice of a worker"
        })
    } else {
        let hidden = evidence.settings.hidden(ClaimWhat::RouterMode, ClaimOf::Router);
        phrase!("needs the frontend's settings, or a \"Selected worker\" line in its log{}", hidden)
    }
}

fn off(summary: impl Into<Phrase>, grade: Grade, proof: Proof) -> Finding {
    Finding::new(Severity::Warning, grade, summary, vec![proof]).means(
        "Requests reach the worker that has their prefix cached only by luck.",
        "Another setting.",
    )
}

/// Adds the fix to a finding: a new value for the flag, or else for the variable.
fn named(variable: &str, value: &str) -> Phrase {
    phrase!("{}={}", variable, value)
}

fn set<T>(
    finding: Finding,
    evidence: &Evidence,
    was: Option<&Setting<T>>,
    change: Option<Change>,
    (text, value): (Phrase, &str),
) -> Verdict {
    let sentence = match was.and_then(Setting::flag) {
        Some(flag) => phrase!("Restart the frontend with {} {}.", flag, value),
        None => phrase!("Set {} on the frontend.", text),
    };
    let mut changes: Vec<Change> = change.into_iter().collect();
    let more: Vec<Change> =
        wrong(evidence).into_iter().filter(|change| !changes.contains(change)).collect();
    let mut sentence = sentence;
    // A fix must change all wrong settings at once to have an effect on requests.
    if !changes.is_empty() {
        for change in more {
            if let Change::Set { variable: Some(name), value, .. } = &change {
                sentence.push(phrase!(" Also set {}={}.", name, value));
            }
            changes.push(change);
        }
    }
    finding.mended_by(sentence, evidence.frontend_restarts()).through(changes).into()
}

/// Returns a change for each setting that keeps the router from choosing by cached blocks.
fn wrong(evidence: &Evidence) -> Vec<Change> {
    let settings = &evidence.settings;
    let mode = settings.router_mode.as_ref().is_some_and(|mode| mode.value.as_ref() != "kv");
    let light = settings.overlap_weight.as_ref().is_some_and(|weight| weight.value <= 0.0);
    let hot = settings.temperature.as_ref().is_some_and(|heat| heat.value > 0.0);
    let mode = mode.then(|| variable(variable::ROUTER_MODE, &[flag::ROUTER_MODE], "kv"));
    let light = if light { evidence.set_overlap("1.0") } else { None };
    let hot = hot.then(|| variable(variable::ROUTER_TEMPERATURE, &[flag::ROUTER_TEMPERATURE], "0"));
    mode.into_iter().chain(light).chain(hot).collect()
}

fn variable(name: &str, flags: &'static [&'static str], value: &str) -> Change {
    let variable = Some(name.to_owned());
    Change::Set { on: Part::Frontend, variable, flags, value: value.to_owned() }
}
