//! Rows of the fleet view, read back from the metrics that exporters serve.
//!
//! A Prometheus keeps the last value of what is no longer scraped, so a value alone proves nothing: figures must be
//! fresh, and a deployment that had metrics an hour ago and has none now is unknown rather than gone.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::diagnose::{RULES, rule};
use crate::domain::{Severity, Timestamp};
use crate::snapshot::{FleetPoint, Member, MemberId, MemberState, Worst};

/// Finds what is true of each deployment: its status and its findings.
pub const STATES: &str = "{__name__=~\"kvtop_status|kvtop_finding\"} == 1";

/// Finds figures of each deployment.
pub const FIGURES: &str = "{__name__=~\"kvtop_ready|kvtop_picture_timestamp_seconds|kvtop_deployment_info|\
                           kvtop_workers|kvtop_hit_ratio|kvtop_cached_tokens_ratio|kvtop_source_up|\
                           kvtop_finding_raised_timestamp_seconds|kvtop_time_to_first_token_seconds\"}";

/// Finds the time of the last figures of each deployment that had some within an hour.
pub const LAST: &str =
    "max by (namespace, deployment) (max_over_time(kvtop_picture_timestamp_seconds[1h]))";

/// Finds how many deployments have each status.
pub const COURSE: &str =
    "count by (status) (max by (namespace, deployment, status) (kvtop_status == 1))";

/// Figures older than this say nothing about now.
const STALE: Duration = Duration::from_secs(180);

/// A series and its value at one moment.
#[derive(Clone, Debug, PartialEq)]
struct Sample<'a> {
    labels: &'a Value,
    value: f64,
}

impl Sample<'_> {
    fn label(&self, name: &str) -> &str {
        self.labels[name].as_str().unwrap_or_default()
    }

    fn key(&self) -> (String, String) {
        (self.label("namespace").to_owned(), self.label("deployment").to_owned())
    }
}

/// Returns the samples of an instant query's `data`.
fn samples(data: &Value) -> impl Iterator<Item = Sample<'_>> {
    data["result"].as_array().into_iter().flatten().filter_map(|row| {
        let value: f64 = row["value"][1].as_str()?.parse().ok()?;
        Some(Sample { labels: &row["metric"], value })
    })
}

/// What is known of one deployment.
#[derive(Debug, Default)]
struct Known {
    statuses: Vec<String>,
    findings: Vec<(String, Severity)>,
    raised: BTreeMap<String, f64>,
    ready: Option<bool>,
    taken: Option<f64>,
    down: Vec<String>,
    member: Member,
}

/// Returns a row for each deployment that the answers to [`STATES`], [`FIGURES`] and [`LAST`] tell of at `now`.
pub fn members(states: &Value, figures: &Value, last: &Value, now: Timestamp) -> Vec<Member> {
    let mut all: BTreeMap<(String, String), Known> = BTreeMap::new();
    for sample in samples(last) {
        all.entry(sample.key()).or_default().taken = Some(sample.value);
    }
    for sample in samples(states) {
        let known = all.entry(sample.key()).or_default();
        match (sample.label("__name__"), severity(sample.label("severity"))) {
            ("kvtop_status", _) => known.statuses.push(sample.label("status").to_owned()),
            (_, Some(severity)) => {
                known.findings.push((sample.label("finding").to_owned(), severity));
            }
            (_, None) => {}
        }
    }
    for sample in samples(figures) {
        note(all.entry(sample.key()).or_default(), &sample);
    }
    all.into_iter().map(|(key, known)| known.row(key, now)).collect()
}

fn severity(name: &str) -> Option<Severity> {
    [Severity::Warning, Severity::Critical].into_iter().find(|known| known.name() == name)
}

/// Notes a figure. Of several exporters of a deployment the one that lags or fails counts.
fn note(known: &mut Known, sample: &Sample<'_>) {
    let value = sample.value;
    let text = |name| Some(sample.label(name).to_owned()).filter(|text| !text.is_empty());
    let member = &mut known.member;
    match sample.label("__name__") {
        "kvtop_ready" => known.ready = Some(known.ready.unwrap_or(true) && value > 0.0),
        "kvtop_source_up" if value == 0.0 => known.down.push(sample.label("source").to_owned()),
        "kvtop_finding_raised_timestamp_seconds" => {
            known.raised.insert(sample.label("finding").to_owned(), value);
        }
        "kvtop_deployment_info" => {
            member.model = text("model");
            member.version = text("dynamo_version");
            member.plane = text("event_plane");
            member.id.dynamo_namespace = text("dynamo_namespace");
        }
        "kvtop_workers" if value >= 0.0 => {
            let count = whole(value);
            member.workers = Some((count, count));
        }
        "kvtop_hit_ratio" => member.hits = Some(value),
        "kvtop_cached_tokens_ratio" => member.hits = member.hits.or(Some(value)),
        "kvtop_time_to_first_token_seconds" if sample.label("quantile") == "0.95" => {
            member.first_token = Some(value);
        }
        _ => {}
    }
}

impl Known {
    fn row(self, (namespace, deployment): (String, String), now: Timestamp) -> Member {
        let age = self.taken.map(|taken| now.since(moment(taken)));
        let is = |status: &str| self.statuses.iter().any(|known| known == status);
        let span = |age: Duration| match age.as_secs() {
            seconds @ 0..120 => format!("{seconds} s"),
            seconds => format!("{} min", seconds / 60),
        };
        let unknown = |missing: String| (MemberState::Unknown, missing);
        let (state, missing) = match age {
            Some(age) if self.ready.is_none() => unknown(format!(
                "no metrics for {}: its exporter is down, or it was deleted",
                span(age)
            )),
            Some(age) if age > STALE => {
                unknown(format!("its figures are {} old: its exporter hangs", span(age)))
            }
            None => unknown("its exporter does not tell when its figures were taken".to_owned()),
            _ if is("critical") => (MemberState::Critical, String::new()),
            _ if is("warning") => (MemberState::Warning, String::new()),
            _ if self.ready == Some(false) => {
                (MemberState::Connecting, "its exporter has not read everything yet".to_owned())
            }
            _ if is("unknown") && self.down.is_empty() => {
                unknown("its exporter has too little data to judge".to_owned())
            }
            _ if is("unknown") => unknown(format!("down: {}", self.down.join(", "))),
            _ if is("ok") => (MemberState::Healthy, String::new()),
            _ => unknown("its exporter serves no status".to_owned()),
        };
        let judged = matches!(state, MemberState::Critical | MemberState::Warning);
        let worst = judged.then(|| self.worst()).flatten();
        // Figures of the past are no figures of now.
        let member =
            if state == MemberState::Unknown { unmeasured(&self.member) } else { self.member };
        let dgd = Some(deployment).filter(|name| !name.is_empty());
        let id = MemberId { namespace, dgd, ..member.id };
        Member { id, state, worst, missing, ..member }
    }

    /// Returns the worst finding; of those that are equally bad the cause, which rules are ordered by.
    fn worst(&self) -> Option<Worst> {
        let gravest = self.findings.iter().map(|(_, severity)| *severity).max()?;
        let has = |id: &str| self.findings.iter().any(|known| known == &(id.to_owned(), gravest));
        let rule = rule(RULES.iter().find(|rule| has(rule.id()))?.id())?;
        let mut ids: Vec<&str> = self.findings.iter().map(|(id, _)| id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let raised = self.raised.get(rule.id()).copied();
        Some(Worst {
            id: rule.id(),
            name: rule.name(),
            severity: gravest,
            summary: rule.documentation().lines().next().unwrap_or_default().to_owned(),
            since: raised.map(moment),
            more: ids.len() - 1,
        })
    }
}

/// Returns the moment so many seconds after 1970.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn moment(seconds: f64) -> Timestamp {
    Timestamp((seconds * 1e6).clamp(0.0, 1e18) as u64)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn whole(value: f64) -> usize {
    value.round().clamp(0.0, 1e9) as usize
}

fn unmeasured(member: &Member) -> Member {
    Member { workers: None, hits: None, first_token: None, ..member.clone() }
}

/// Returns how many deployments were in each state over time, from the answer to [`COURSE`]; moments without any
/// metrics are left out.
pub fn course(data: &Value) -> Vec<FleetPoint> {
    let mut points: BTreeMap<u64, FleetPoint> = BTreeMap::new();
    for row in data["result"].as_array().into_iter().flatten() {
        let state = match row["metric"]["status"].as_str() {
            Some("critical") => MemberState::Critical,
            Some("warning") => MemberState::Warning,
            Some("ok") => MemberState::Healthy,
            _ => MemberState::Unknown,
        };
        for value in row["values"].as_array().into_iter().flatten() {
            let at = value[0].as_f64().map(|at| moment(at).0);
            let count = value[1].as_str().and_then(|count| count.parse::<f64>().ok());
            let (Some(at), Some(count)) = (at, count) else { continue };
            let point = points
                .entry(at)
                .or_insert_with(|| FleetPoint { at: Timestamp(at), ..FleetPoint::default() });
            if count > 0.0 {
                point.worst = point.worst.map_or(Some(state), |worst| Some(worst.min(state)));
            }
        }
    }
    points.into_values().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000_000);

    fn data(rows: &[(&str, Value, f64)]) -> Value {
        let row = |(name, labels, value): &(&str, Value, f64)| {
            let mut metric = labels.clone();
            metric["__name__"] = json!(name);
            json!({ "metric": metric, "value": [0, value.to_string()] })
        };
        json!({ "result": rows.iter().map(row).collect::<Vec<_>>() })
    }

    fn row(age: f64, ready: f64, status: &str) -> Member {
        let own = json!({ "namespace": "a", "deployment": "x" });
        let stated = json!({ "namespace": "a", "deployment": "x", "status": status });
        let taken = NOW.0 as f64 / 1e6 - age;
        let figures = data(&[("kvtop_ready", own.clone(), ready)]);
        let last = data(&[("", own, taken)]);
        let found = data(&[("kvtop_status", stated, 1.0)]);
        members(&found, &figures, &last, NOW).remove(0)
    }

    #[test]
    fn only_fresh_figures_of_a_ready_exporter_make_a_healthy_row() {
        assert_eq!(row(10.0, 1.0, "ok").state, MemberState::Healthy);
        assert_eq!(row(10.0, 0.0, "ok").state, MemberState::Connecting);
        assert_eq!(row(10.0, 1.0, "unknown").state, MemberState::Unknown);
        assert_eq!(row(10.0, 1.0, "").state, MemberState::Unknown);
        assert_eq!(row(400.0, 1.0, "ok").state, MemberState::Unknown);
        assert_eq!(row(400.0, 1.0, "critical").state, MemberState::Unknown);
    }

    #[test]
    fn a_deployment_that_lost_its_metrics_is_unknown_and_not_gone() {
        let own = json!({ "namespace": "a", "deployment": "x" });
        let last = data(&[("", own, NOW.0 as f64 / 1e6 - 600.0)]);
        let none = data(&[]);

        let rows = members(&none, &none, &last, NOW);

        assert_eq!((rows.len(), rows[0].state), (1, MemberState::Unknown));
        assert!(rows[0].missing.contains("no metrics for 10 min"), "{}", rows[0].missing);
    }

    #[test]
    fn the_cause_is_shown_of_findings_that_are_equally_bad() {
        let of = |id: &str| json!({ "namespace": "a", "finding": id, "severity": "critical" });
        let status = json!({ "namespace": "a", "status": "critical" });
        let found = data(&[
            ("kvtop_finding", of("KVT007"), 1.0),
            ("kvtop_finding", of("KVT001"), 1.0),
            ("kvtop_status", status, 1.0),
        ]);
        let own = json!({ "namespace": "a" });
        let figures = data(&[("kvtop_ready", own.clone(), 1.0)]);
        let last = data(&[("", own, NOW.0 as f64 / 1e6)]);

        let rows = members(&found, &figures, &last, NOW);

        let worst = rows[0].worst.as_ref().unwrap();
        assert_eq!((worst.id, worst.more, rows[0].state), ("KVT001", 1, MemberState::Critical));
    }

    #[test]
    fn a_moment_of_the_past_has_the_state_of_its_worst_deployment() {
        let course = course(&json!({ "result": [
            { "metric": { "status": "ok" }, "values": [[1.0, "3"], [2.0, "2"]] },
            { "metric": { "status": "critical" }, "values": [[2.0, "1"]] },
        ] }));

        let worst: Vec<_> = course.iter().map(|point| point.worst).collect();
        assert_eq!(worst, [Some(MemberState::Healthy), Some(MemberState::Critical)]);
    }
}
