//! Figures of the whole deployment: identity, hits, latencies, rates, index and capacity curve.

use std::collections::BTreeMap;

use super::rows::{Row, Section, Unit, Value};
use super::state::{Component, Rate, State};

/// A figure of a state; none while it is unknown.
type Figure = fn(&State) -> Option<f64>;

/// The figures, in the order of the output.
const FIGURES: &[(Section, &str, Unit, Figure)] = &[
    (Section::Hits, "cached prompt tokens", Unit::Share, |it| it.hits.cached_prompt_tokens),
    (Section::Hits, "requests with a cache hit", Unit::Share, |it| it.hits.requests_with_hit),
    (Section::Latency, "TTFT p50", Unit::Seconds, |it| Some(it.router.ttft?.p50)),
    (Section::Latency, "TTFT p95", Unit::Seconds, |it| Some(it.router.ttft?.p95)),
    (Section::Latency, "TTFT p99", Unit::Seconds, |it| it.router.ttft?.p99),
    (Section::Latency, "ITL p50", Unit::Seconds, |it| Some(it.router.itl?.p50)),
    (Section::Latency, "ITL p95", Unit::Seconds, |it| Some(it.router.itl?.p95)),
    (Section::Latency, "ITL p99", Unit::Seconds, |it| it.router.itl?.p99),
    (Section::Latency, "request duration p50", Unit::Seconds, |it| {
        Some(it.router.request_duration?.p50)
    }),
    (Section::Latency, "request duration p95", Unit::Seconds, |it| {
        Some(it.router.request_duration?.p95)
    }),
    (Section::Latency, "queue time p50", Unit::Seconds, |it| Some(it.router.queue_time?.p50)),
    (Section::Latency, "queue time p95", Unit::Seconds, |it| Some(it.router.queue_time?.p95)),
    (Section::Latency, "queue time p99", Unit::Seconds, |it| it.router.queue_time?.p99),
    (Section::Rates, "requests", Unit::PerSecond, |it| it.router.requests_per_second),
    (Section::Rates, "queued requests", Unit::Count, |it| it.router.queued),
    (Section::Rates, "stores", Unit::PerSecond, |it| rate(it, |rate| rate.stores)),
    (Section::Rates, "removals", Unit::PerSecond, |it| rate(it, |rate| rate.removals)),
    (Section::Rates, "rejected stores", Unit::PerSecond, |it| rate(it, |rate| rate.refused)),
    (Section::Rates, "unknown removals", Unit::PerSecond, |it| {
        rate(it, |rate| rate.unknown_removals)
    }),
    (Section::Index, "blocks accepted", Unit::Count, |it| it.tree.accepted),
    (Section::Index, "blocks held", Unit::Count, |it| it.tree.held),
    (Section::Index, "different blocks", Unit::Count, |it| it.tree.distinct),
    (Section::Index, "blocks without a known parent", Unit::Count, |it| it.tree.orphan),
    (Section::Index, "KV cache in use, mean of workers", Unit::Share, utilization),
    (Section::Workers, "workers", Unit::Count, |it| Some(it.present()?.len() as f64)),
    (Section::Workers, "workers registered with routers", Unit::Count, |it| {
        it.router.registered_workers
    }),
];

/// Returns the sum of a rate over the workers that are there, in the last minute.
fn rate(state: &State, of: impl Fn(&Rate) -> f64) -> Option<f64> {
    let rates =
        state.present()?.into_iter().map(|worker| Some(of(worker.rates.as_ref()?.get("1m")?)));
    rates.sum()
}

fn utilization(state: &State) -> Option<f64> {
    let all = state.present()?;
    let known: Option<Vec<f64>> = all.iter().map(|worker| worker.kv_utilization).collect();
    known.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
}

pub(super) fn rows(a: &State, b: &State) -> Vec<Row> {
    let words = [
        ("status", a.status.clone(), b.status.clone()),
        ("Dynamo", a.dynamo.version.clone(), b.dynamo.version.clone()),
        ("Dynamo namespace", a.dynamo.namespace.clone(), b.dynamo.namespace.clone()),
        ("model", a.dynamo.model.clone(), b.dynamo.model.clone()),
        ("event plane", a.dynamo.event_plane.clone(), b.dynamo.event_plane.clone()),
    ];
    let words = words
        .iter()
        .filter_map(|(name, a, b)| Row::text(Section::Deployment, name, a.as_ref(), b.as_ref()));
    let figures = FIGURES.iter().filter_map(|(section, name, unit, figure)| {
        Row::number(*section, name, *unit, figure(a), figure(b))
    });
    words.chain(replicas(a, b)).chain(figures).chain(curve(a, b)).collect()
}

/// Compares the components of graph deployments.
fn replicas(a: &State, b: &State) -> Vec<Row> {
    let list = |state: &State| -> BTreeMap<String, Component> {
        let dgds = state.dynamo.dgds.iter();
        let named = dgds.flat_map(|dgd| {
            dgd.components.iter().map(|it| (format!("{}/{}", dgd.name, it.name), it.clone()))
        });
        named.collect()
    };
    let (a, b) = (list(a), list(b));
    // Without graph deployments Kubernetes was not read, so nothing is known of their components.
    let known = [!a.is_empty(), !b.is_empty()];
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    let mut rows = Vec::new();
    for name in names {
        let side = |all: &BTreeMap<String, Component>, known: bool| {
            let count =
                |count: Option<f64>| count.map_or("unknown".to_owned(), |it| it.to_string());
            match all.get(name) {
                Some(it) => {
                    Some(Value::Text(format!("{} of {}", count(it.ready), count(it.replicas))))
                }
                None => known.then(|| Value::Text("absent".to_owned())),
            }
        };
        let row = Row::value(
            Section::Deployment,
            "ready replicas",
            side(&a, known[0]),
            side(&b, known[1]),
        );
        rows.extend(row.map(|row| row.about(name)));
    }
    rows
}

/// Compares the capacity curves, point by point.
fn curve(a: &State, b: &State) -> Vec<Row> {
    let points = |state: &State| state.capacity_curve.as_ref().map(|curve| curve.points.clone());
    let (a, b) = (points(a).unwrap_or_default(), points(b).unwrap_or_default());
    let mut factors: Vec<f64> = a.iter().chain(&b).map(|point| point.factor).collect();
    factors.sort_by(f64::total_cmp);
    factors.dedup();
    let row = |factor: f64| {
        let at = |all: &[super::state::Point]| {
            all.iter().find(|point| point.factor.total_cmp(&factor).is_eq()).copied()
        };
        let (a, b) = (at(&a), at(&b));
        let share = |point: Option<super::state::Point>| point.map(|point| point.avoided_share);
        let name = format!("stores avoided by {factor}x cache");
        let row = Row::number(Section::Curve, &name, Unit::Share, share(a), share(b))?;
        let margin = |point: Option<super::state::Point>| point.map(|point| point.margin);
        Some(Row { a_margin: margin(a), b_margin: margin(b), ..row })
    };
    factors.into_iter().filter_map(row).collect()
}
