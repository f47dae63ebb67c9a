//! Settings: the values in effect, and how many workers or pods have each.

use std::collections::BTreeMap;

use super::rows::{Counted, Row, RowState, Section, Value};
use super::state::{Claim, State};
use crate::report::plain_text;

/// A setting: whose, and which.
type Setting = (String, String);

/// Ways to know a setting, weakest first, as in the contract.
const BASES: [&str; 5] = ["default", "manifest", "file", "setting", "observed"];

/// The kind of subject that a claim is about. Claims about processes say what holds; a component's and a deployment's
/// are used only where no process has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Deployment,
    Component,
    Process,
}

pub(super) fn rows(a: &State, b: &State) -> Vec<Row> {
    let (a, b) = (in_effect(a), in_effect(b));
    let mut settings: Vec<&Setting> = a.keys().chain(b.keys()).collect();
    settings.sort();
    settings.dedup();
    let row = |setting: &Setting| {
        let value = |all: &BTreeMap<Setting, Vec<Counted>>| all.get(setting).cloned();
        let (a, b) = (value(&a), value(&b));
        let alike = a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| are_alike(a, b));
        let name = format!("{} {}", setting.0, setting.1);
        let row = Row::value(Section::Settings, &name, a.map(Value::Values), b.map(Value::Values))?;
        Some(Row { state: if alike { RowState::Same } else { row.state }, ..row })
    };
    settings.into_iter().filter_map(row).collect()
}

/// Returns true when a setting did not change. One value for all is the same setting, however many workers there are.
fn are_alike(a: &[Counted], b: &[Counted]) -> bool {
    match (a, b) {
        ([a], [b]) => a.value == b.value,
        _ => a == b,
    }
}

/// Returns the settings of a state, each with its values in order.
fn in_effect(state: &State) -> BTreeMap<Setting, Vec<Counted>> {
    let pods: BTreeMap<&str, &str> = state
        .pods
        .iter()
        .filter_map(|pod| Some((pod.name.as_str(), pod.worker.as_deref()?)))
        .collect();
    let workers = state.workers.iter().flatten();
    let gone: Vec<&str> =
        workers.filter(|worker| worker.gone).map(|worker| worker.id.as_str()).collect();
    let mut best: BTreeMap<Setting, BTreeMap<(Level, String), &Claim>> = BTreeMap::new();
    for claim in state.claims.iter().flatten() {
        let (level, subject) = subject(&claim.subject, &pods);
        if gone.contains(&subject.as_str()) {
            continue;
        }
        let of = best.entry((claim.of.clone(), claim.what.clone())).or_default();
        let known = of.entry((level, subject)).or_insert(claim);
        let weight = |claim: &Claim| {
            let basis = BASES.iter().position(|basis| *basis == claim.basis);
            (basis, claim.at.clone())
        };
        if weight(claim) >= weight(known) {
            *known = claim;
        }
    }
    let counted = best.into_iter().filter_map(|(setting, claims)| {
        let level = claims.keys().map(|(level, _)| *level).max()?;
        let mut values: BTreeMap<String, usize> = BTreeMap::new();
        for (_, claim) in claims.iter().filter(|((of, _), _)| *of == level) {
            *values.entry(shown(&claim.value)).or_default() += 1;
        }
        let values = values.into_iter().map(|(value, count)| Counted { value, count });
        Some((setting, values.collect()))
    });
    counted.collect()
}

/// Returns the subject of a claim; a worker is one subject, whether its pod or its id is named.
fn subject(named: &str, pods: &BTreeMap<&str, &str>) -> (Level, String) {
    let (kind, name) = named.split_once('/').unwrap_or((named, ""));
    match kind {
        "worker" => (Level::Process, name.to_owned()),
        "pod" => (Level::Process, (*pods.get(name).unwrap_or(&name)).to_owned()),
        "component" => (Level::Component, name.to_owned()),
        _ => (Level::Deployment, String::new()),
    }
}

fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => plain_text(text),
        other => plain_text(&other.to_string()),
    }
}
