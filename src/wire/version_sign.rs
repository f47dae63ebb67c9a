//! Signs of a release, in model cards, discovery records, metrics and logs.
//!
//! A field that is there tells the oldest release, one that is missing the newest, if it is never left out.

use serde_json::Value;

use crate::domain::{Fact, Release, Releases, Subject, VersionSign};
use crate::dynamo::sign;

/// Returns the sign of a model card.
pub(super) fn of_card(card: &Value, subject: Subject) -> Option<Fact> {
    let runtime = card.get("runtime_config")?;
    let has = |key: &str| runtime.get(key).is_some();
    let newest = sign::RUNTIME_FIELDS.iter().find(|(key, _)| has(key)).map(|(_, release)| *release);
    let (field, release) = sign::CARD_FIELD;
    let by_card = card.get(field).map(|_| release);
    let most = sign::NEVER_LEFT_OUT.iter().find(|(key, _)| !has(key)).map(|(_, before)| *before);
    made(subject, Releases { least: newest.max(by_card), most }, "model card")
}

/// Returns the sign of the record of an endpoint.
pub(super) fn of_endpoint(record: &Value, subject: Subject) -> Option<Fact> {
    let mut fields = sign::ENDPOINT_FIELDS.iter();
    let (_, release) = fields.find(|(key, _)| record.get(key).is_some())?;
    made(subject, Releases { least: Some(*release), most: None }, "discovery record")
}

/// Returns the release that brought the metric of this line, when it is a sign.
pub(super) fn of_metric(line: &str) -> Option<Release> {
    let name = line.split(['{', ' ']).next()?;
    sign::METRICS.iter().find(|(metric, _)| *metric == name).map(|(_, release)| *release)
}

/// Returns the sign of metrics, the newest of which came with `release`.
pub(super) fn of_metrics(release: Option<Release>, subject: Subject) -> Option<Fact> {
    made(subject, Releases { least: release, most: None }, "metrics")
}

/// Returns the sign of a line of a log that names a choice of the router, or a warning of its index; `has`
/// returns true for a text that is in the line.
pub(super) fn of_line(has: impl Fn(&str) -> bool, subject: Subject) -> Option<Fact> {
    let (old, choice) = (sign::OLD_INDEX, has(sign::CHOICE));
    let mut words = sign::CHOICE_WORDS.iter();
    let releases = match () {
        () if has(old.0) => old.1,
        () if choice => words.find(|(word, _)| has(word)).map(|(_, releases)| *releases)?,
        () if has(sign::ROUTER_CRATE.0) => sign::ROUTER_CRATE.1,
        () => return None,
    };
    made(subject, releases, "log")
}

fn made(subject: Subject, releases: Releases, by: &'static str) -> Option<Fact> {
    (!releases.is_open()).then_some(Fact::Sign(VersionSign { subject, releases, by }))
}
