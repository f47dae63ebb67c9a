//! KVT005: requests are not routed by cached blocks.

use std::sync::Arc;

use crate::diagnose::fix::{Change, Part};
use crate::diagnose::knobs::{self, ROUTER_MODES};
use crate::diagnose::{Evidence, Finding, Proof, Rule, Setting, Verdict};
use crate::domain::{Grade, Severity, thousands};

/// A temperature that sends fewer requests than this share to the dearer of two workers changes nothing.
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
        "Requests are not routed by what workers have cached: DYN_ROUTER_MODE is not kv on the \
         frontend (the default is round-robin, and a value that is not known counts as that), the weight of \
         the overlap is 0, a temperature above 0 makes the choice random to a degree (0.5: of two workers \
         the dearer one gets 12 % of requests, 1: 27 %; below 0.22 less than 1 %, a note), or there is a \
         single worker to choose from. Judged by \
         the frontend's settings, by the weight that its log prints, and by lines that name a \
         selected worker, which only the KV router writes. Set DYN_ROUTER_MODE=kv on the \
         Frontend, and leave weight 1 and temperature 0."
    }

    fn is_of_workers(&self) -> bool {
        false
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let settings = &evidence.settings;
        let routed = evidence.router.tally.routed;
        if let Some(mode) = evidence.other_mode() {
            let proof = Proof::new("router mode", mode.value.to_string(), mode.source.to_string());
            let summary = by_mode(mode);
            let finding = off(summary, Grade::ConfigOnly, proof.at(mode.at));
            let change = Some(variable("DYN_ROUTER_MODE", &["--router-mode"], "kv"));
            return set(finding, evidence, Some(mode), change, ("DYN_ROUTER_MODE=kv", "kv"));
        }
        let printed = evidence.router.weight.filter(|_| routed > 0);
        let weight = settings.overlap_weight.as_ref();
        let one = || evidence.set_on_frontend(knobs::OVERLAP, knobs::OVERLAP_FLAGS, "1.0");
        let text = evidence.knob_text(knobs::OVERLAP, "=1.0");
        if printed == Some(0.0) {
            let proof = Proof::new("weight of the overlap", "0", "routers' logs");
            let summary = "The router gives cached blocks no weight.";
            let finding = off(summary, Grade::Confirmed, proof);
            return set(finding, evidence, weight, one(), (&text, "1.0"));
        }
        if let Some(set_to) = weight
            && set_to.value <= 0.0
            && printed.is_none()
        {
            let proof = Proof::new("weight of the overlap", "0", set_to.source.to_string());
            let summary = "The router is set to give cached blocks no weight.";
            let finding = off(summary, Grade::ConfigOnly, proof.at(set_to.at));
            return set(finding, evidence, weight, one(), (&text, "1.0"));
        }
        if let Some(heat) = &settings.temperature
            && heat.value > 0.0
        {
            let finding = random(heat);
            let change = Some(variable("DYN_ROUTER_TEMPERATURE", &["--router-temperature"], "0"));
            return set(finding, evidence, Some(heat), change, ("DYN_ROUTER_TEMPERATURE=0", "0"));
        }
        let mut workers: Vec<_> = evidence.present().map(|rank| rank.rank).collect();
        workers.dedup();
        if routed > 0 && workers.len() == 1 && evidence.in_change().is_none() {
            let proof = Proof::new("ranks to choose from", "1", "KV events and discovery");
            return Finding::new(
                Severity::Info,
                Grade::Likely,
                "There is one worker only: the router has no choice.",
                vec![proof],
            )
            .means("Routing by cached blocks changes nothing.", "A second worker.")
            .into();
        }
        if routed == 0 {
            return Verdict::unknown(missing(evidence));
        }
        let (times, workers) = (thousands(routed), workers.len());
        Verdict::clear(format!("the KV router chose a worker {times} times, of {workers}"))
    }
}

/// Says what a mode other than `kv` does. One that is not known is round-robin where a variable sets it
/// (`frontend/main.py` of 0.9.0 to 1.6.1 ends in `else`), and refused as a flag.
fn by_mode(mode: &Setting<Arc<str>>) -> String {
    let value = &mode.value;
    if ROUTER_MODES.contains(&value.as_ref()) {
        return format!("The frontend routes by {value}, not by cached blocks.");
    }
    match mode.flag() {
        Some(flag) => format!("{flag} {value} is no mode of Dynamo's: a frontend refuses it."),
        None => format!(
            "DYN_ROUTER_MODE={value} is no mode of Dynamo's: the frontend routes by round-robin, and does \
             not say so."
        ),
    }
}

/// Says what a temperature does.
fn random(heat: &Setting<f64>) -> Finding {
    // Costs are divided by the spread from the cheapest worker to the dearest, so that the odds of these
    // two depend on the temperature alone (dynamo-kv-router 1.6.1, `scheduling/selector/reference.rs`).
    let share = 1.0 / (1.0 + (1.0 / heat.value).exp());
    let value = heat.value.to_string();
    let proof = Proof::new("router temperature", value, heat.source.to_string()).at(heat.at);
    let temperature = heat.value;
    if share < NEARLY_NEVER {
        let summary = format!(
            "The router chooses with some randomness (temperature {temperature}): among workers whose costs \
             are nearly the same."
        );
        return Finding::new(Severity::Info, Grade::ConfigOnly, summary, vec![proof])
            .means("Where one worker is clearly cheaper, it is taken.", "Temperature 0.");
    }
    let percent = share * 100.0;
    let summary = format!(
        "The router chooses with randomness (temperature {temperature}): of two workers the dearer one gets \
         {percent:.0} % of requests."
    );
    let means = "Where loads are equal, these go where less of their prefix is cached. With more workers \
                 there are more of them.";
    Finding::new(Severity::Warning, Grade::ConfigOnly, summary, vec![proof])
        .means(means, "Temperature 0.")
}

/// Returns what there is too little of where no request was seen.
fn missing(evidence: &Evidence) -> &'static str {
    let mode = evidence.settings.router_mode.as_ref();
    if mode.is_some_and(|mode| mode.value.as_ref() == "kv") {
        "requests: the router is set to kv, and no log line names a selected worker yet"
    } else {
        "the frontend's settings, or a log line that names a selected worker"
    }
}

fn off(summary: impl Into<String>, grade: Grade, proof: Proof) -> Finding {
    Finding::new(Severity::Warning, grade, summary, vec![proof])
        .means("Requests go where their prefix is cached by chance only.", "Another setting.")
}

/// Returns the finding with the setting that mends it: of the flag, where one set it.
fn set<T>(
    finding: Finding,
    evidence: &Evidence,
    was: Option<&Setting<T>>,
    change: Option<Change>,
    (text, value): (&str, &str),
) -> Verdict {
    let sentence = match was.and_then(Setting::flag) {
        Some(flag) => format!("Start the frontend with {flag} {value}."),
        None => format!("Set {text} on the frontend."),
    };
    let mut changes: Vec<Change> = change.into_iter().collect();
    let more: Vec<Change> =
        wrong(evidence).into_iter().filter(|change| !changes.contains(change)).collect();
    let mut sentence = sentence;
    // A fix that leaves another of these settings wrong changes nothing for requests.
    if !changes.is_empty() {
        for change in more {
            if let Change::Set { variable: Some(name), value, .. } = &change {
                sentence.extend([" Also set ", name, "=", value, "."]);
            }
            changes.push(change);
        }
    }
    finding.mended_by(sentence, evidence.frontend_restarts()).through(changes).into()
}

/// Returns what changes each setting that keeps the router from choosing by cached blocks.
fn wrong(evidence: &Evidence) -> Vec<Change> {
    let settings = &evidence.settings;
    let mode = settings.router_mode.as_ref().is_some_and(|mode| mode.value.as_ref() != "kv");
    let light = settings.overlap_weight.as_ref().is_some_and(|weight| weight.value <= 0.0);
    let hot = settings.temperature.as_ref().is_some_and(|heat| heat.value > 0.0);
    let mode = mode.then(|| variable("DYN_ROUTER_MODE", &["--router-mode"], "kv"));
    let light = if light {
        evidence.set_on_frontend(knobs::OVERLAP, knobs::OVERLAP_FLAGS, "1.0")
    } else {
        None
    };
    let hot = hot.then(|| variable("DYN_ROUTER_TEMPERATURE", &["--router-temperature"], "0"));
    mode.into_iter().chain(light).chain(hot).collect()
}

fn variable(name: &str, flags: &'static [&'static str], value: &str) -> Change {
    let variable = Some(name.to_owned());
    Change::Set { on: Part::Frontend, variable, flags, value: value.to_owned() }
}
