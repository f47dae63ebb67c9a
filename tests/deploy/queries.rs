//! Every query of dashboards and alert rules, against a real Prometheus that scrapes two exporters.

use std::collections::BTreeSet;

use kvtop::fleet::{Dashboard, dashboard};
use serde_json::Value;

use super::rules;
use crate::fleet::Cluster;
use crate::nats::{Publisher, recording};
use crate::support::exporter::Exporter;
use crate::support::nats_server::NatsServer;
use crate::support::prometheus::{Prometheus, free_port};

/// Returns the queries of a dashboard, with Grafana's variables filled in.
fn queries(which: Dashboard) -> Vec<String> {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(query) = fields.get("expr").and_then(Value::as_str) {
                    found.push(query.to_owned());
                }
                fields.values().for_each(|inner| walk(inner, found));
            }
            Value::Array(all) => all.iter().for_each(|inner| walk(inner, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(&serde_json::from_str(&dashboard(which)).unwrap(), &mut found);
    let variables = [
        ("$namespace", ".*"),
        ("$deployment", ".*"),
        ("$worker", ".*"),
        ("$__rate_interval", "30s"),
    ];
    for query in &mut found {
        for (name, value) in variables {
            *query = query.replace(name, value);
        }
        assert!(!query.contains('$'), "{query}");
    }
    found
}

/// Metrics that recordings of KV events alone do not fill: a deployment with pods and a frontend does.
const OF_FRONTENDS: [&str; 14] = [
    "requests_routed",
    "requests_in_flight",
    "kvtop_block_size_tokens",
    "kvtop_hit_ratio",
    "kvtop_cached_tokens_ratio",
    "kvtop_time_to_first_token_seconds",
    "kvtop_inter_token_latency_seconds",
    "kvtop_queue_time_seconds",
    "kvtop_router_workers",
    "kvtop_kv_utilization_ratio",
    "kvtop_requests_queued",
    "kvtop_router_log_warnings_total",
    "kvtop_worker_kv_utilization_ratio",
    "kvtop_worker_hit_ratio",
];

fn is_of_frontends(query: &str) -> bool {
    OF_FRONTENDS.iter().any(|metric| query.contains(metric))
}

/// Returns true for what needs a cache that was full for a while.
fn needs_evictions(query: &str) -> bool {
    query.contains("kvtop_avoided_store_ratio")
}

/// Holds that each query of the dashboards that is `meant` finds something.
fn every_query_answers(prometheus: &Prometheus, meant: impl Fn(&str) -> bool) {
    let mut known = BTreeSet::new();
    for name in prometheus.api("/api/v1/label/__name__/values").as_array().unwrap() {
        known.insert(name.as_str().unwrap().to_owned());
    }
    let mut empty = Vec::new();
    for which in Dashboard::ALL {
        for query in queries(which) {
            if meant(&query) && prometheus.finds_nothing(&query) {
                empty.push(query);
            }
        }
    }
    let reference = include_str!("../../docs/reference/metrics.md");
    assert!(empty.is_empty(), "{empty:#?}\n{known:?}");
    let listed = known.iter().map(String::as_str).filter(|name| name.starts_with("kv"));
    for metric in OF_FRONTENDS.into_iter().filter(|it| it.starts_with("kv")).chain(listed) {
        let named = reference.contains(&format!("`{metric}"));
        assert!(named, "{metric} is not in docs/reference/metrics.md");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dashboards_and_rules_tell_two_deployments_apart_through_a_restart() {
    let (_, file) = rules();
    let mut servers = Vec::new();
    for name in ["0.9.0-healthy", "0.9.0-mm_pub32_eng16"] {
        let messages = recording(name);
        let server = NatsServer::with_jetstream();
        let publisher = Publisher::to(&server.url()).await;
        publisher.make_streams(&messages).await;
        publisher.publish(&messages).await;
        servers.push((server, publisher, messages));
    }
    let ports: Vec<String> = (0..2).map(|_| format!("127.0.0.1:{}", free_port())).collect();
    let start =
        |at: usize| Exporter::at(&ports[at], &servers[at].0.url(), &["--metrics-level", "rank"]);
    let (healthy, broken) = (start(0), start(1));
    let targets: Vec<&str> = ports.iter().map(String::as_str).collect();
    let prometheus = Prometheus::scraping(&targets, Some(&file));
    for (_, publisher, messages) in &servers {
        publisher.publish(messages).await;
    }
    prometheus.wait_for("sum(kvtop_ready)", 2.0);
    prometheus.wait_for("sum(kvtop_finding{finding=\"KVT001\",severity=\"critical\"})", 1.0);
    prometheus.wait("count(kvtop_worker_stores_total > 0)", |workers| workers >= 2.0);

    every_query_answers(&prometheus, |query| !is_of_frontends(query) && !needs_evictions(query));

    // The rule about the mismatch is pending for the broken one alone, and nothing else alerts.
    prometheus.wait_for("count(ALERTS{alertname=\"KvtopBlockSizeMismatch\"})", 1.0);
    let alerts = prometheus.query("ALERTS{severity=~\"warning|critical\"}");
    let of_both: BTreeSet<&str> =
        alerts.iter().map(|(labels, _)| labels["alertname"].as_str().unwrap()).collect();
    assert_eq!(of_both, BTreeSet::from(["KvtopBlockSizeMismatch"]));

    // Killed: nothing is known of it, which is no fault of the deployment. Started again: the same verdict.
    drop(broken);
    prometheus.wait_for("count(up == 0)", 1.0);
    let broken = start(1);
    prometheus.wait_for("sum(up)", 2.0);
    prometheus.wait_for("sum(kvtop_finding{finding=\"KVT001\",severity=\"critical\"})", 1.0);
    let raised =
        prometheus.query("ALERTS{severity=\"critical\",alertname!=\"KvtopBlockSizeMismatch\"}");
    assert!(raised.is_empty(), "{raised:?}");
    drop((healthy, broken));
}

#[test]
fn dashboards_show_what_frontends_and_pods_report() {
    let cluster = Cluster::with(1, true);
    let listen = format!("127.0.0.1:{}", free_port());
    let arguments =
        ["-n", "team-00", "--kubeconfig", &cluster.kubeconfig, "--metrics-level", "rank"];
    let _exporter = Exporter::started(&listen, &arguments);
    let prometheus = Prometheus::scraping(&[&listen], None);
    prometheus.wait("sum(rate(kvtop_requests_routed_total[30s]))", |rate| rate > 0.0);
    prometheus.wait("kvtop_time_to_first_token_seconds{quantile=\"0.95\"}", |span| span > 0.0);
    prometheus.wait("kvtop_queue_time_seconds{quantile=\"0.99\"}", |span| span > 0.0);
    prometheus.wait_for("kvtop_router_workers", 2.0);
    prometheus.wait("count(kvtop_worker_requests_in_flight)", |workers| workers >= 2.0);

    every_query_answers(&prometheus, is_of_frontends);
}
