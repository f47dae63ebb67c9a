//! Grafana dashboards of a fleet, a deployment and its workers.

use serde_json::{Value, json};

/// The dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dashboard {
    /// Every deployment.
    Fleet,
    /// One deployment.
    Deployment,
    /// The workers of a deployment.
    Worker,
}

impl Dashboard {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fleet, Self::Deployment, Self::Worker];

    const fn name(self) -> &'static str {
        match self {
            Self::Fleet => "fleet",
            Self::Deployment => "deployment",
            Self::Worker => "worker",
        }
    }

    /// Returns the name of its file.
    pub fn file(self) -> String {
        format!("kvtop-{}.json", self.name())
    }
}

/// Narrows a query to the chosen deployments.
const CHOSEN: &str = "namespace=~\"$namespace\",deployment=~\"$deployment\"";

/// Columns of Grafana's grid.
const COLUMNS: u64 = 24;

/// Joins pods, which are in the info metric alone; ranks join by their number at the level that has them.
const JOINED: &str =
    "* on (namespace, worker_id, dp_rank) group_left (pod) kvtop_worker_info{CHOSEN}";

/// A panel of a dashboard. In its queries `CHOSEN` stands for the chosen deployments, `WORKER` for the chosen workers
/// as well, `JOINED` for the join with pods.
struct Panel {
    title: &'static str,
    /// The kind of panel in Grafana.
    kind: &'static str,
    /// The unit in Grafana.
    unit: &'static str,
    /// Columns and rows.
    size: (u64, u64),
    /// Queries with their legends.
    queries: &'static [(&'static str, &'static str)],
}

const fn panel(
    title: &'static str,
    kind: &'static str,
    unit: &'static str,
    size: (u64, u64),
    queries: &'static [(&'static str, &'static str)],
) -> Panel {
    Panel { title, kind, unit, size, queries }
}

/// Returns a query with its placeholders filled in.
fn filled(query: &str) -> String {
    query
        .replace("JOINED", JOINED)
        .replace("WORKER", "CHOSEN,worker_id=~\"$worker\"")
        .replace("CHOSEN", CHOSEN)
}

const HALF: (u64, u64) = (12, 8);
const THIRD: (u64, u64) = (8, 8);
const BOTH: &str = "{{namespace}}/{{deployment}}";

/// Returns a dashboard as JSON, for Grafana's import or its sidecar.
pub fn dashboard(which: Dashboard) -> String {
    let (title, panels) = match which {
        Dashboard::Fleet => ("kvtop / fleet", FLEET),
        Dashboard::Deployment => ("kvtop / deployment", DEPLOYMENT),
        Dashboard::Worker => ("kvtop / workers", WORKERS),
    };
    let links: Vec<Value> = Dashboard::ALL
        .into_iter()
        .filter(|other| *other != which)
        .map(|other| {
            json!({
                "title": other.name(), "type": "link", "includeVars": true, "keepTime": true,
                "url": format!("/d/kvtop-{}", other.name()),
            })
        })
        .collect();
    let page = json!({
        "uid": format!("kvtop-{}", which.name()),
        "title": title,
        "tags": ["kvtop"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "links": links,
        "templating": {"list": variables(which)},
        "panels": placed(panels),
    });
    // A value always serializes.
    serde_json::to_string_pretty(&page).unwrap_or_default() + "\n"
}

fn variables(which: Dashboard) -> Vec<Value> {
    let variable = |name: &str, query: &str| {
        json!({
            "name": name, "type": "query", "datasource": {"type": "prometheus", "uid": "$datasource"},
            "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1,
            "multi": true, "includeAll": true, "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        })
    };
    let mut all = vec![
        json!({"name": "datasource", "type": "datasource", "query": "prometheus"}),
        variable("namespace", "label_values(kvtop_ready, namespace)"),
        variable("deployment", "label_values(kvtop_ready{namespace=~\"$namespace\"}, deployment)"),
    ];
    if which == Dashboard::Worker {
        let query = format!("label_values(kvtop_worker_info{{{CHOSEN}}}, worker_id)");
        all.push(variable("worker", &query));
    }
    all
}

/// Returns the panels from left to right and down, each with a number and its place.
fn placed(panels: &[Panel]) -> Vec<Value> {
    let (mut x, mut y, mut high) = (0, 0, 0);
    let mut all = Vec::new();
    for (number, panel) in panels.iter().enumerate() {
        let (wide, tall) = panel.size;
        if x + wide > COLUMNS {
            (x, y, high) = (0, y + high, 0);
        }
        let targets = panel.queries.iter().zip('A'..).map(|((query, legend), letter)| {
            let table = panel.kind == "table";
            json!({
                "refId": letter.to_string(), "expr": filled(query), "legendFormat": legend,
                "instant": table || panel.kind == "stat",
                "format": if table { "table" } else { "time_series" },
            })
        });
        all.push(json!({
            "id": number + 1, "title": panel.title, "type": panel.kind,
            "datasource": {"type": "prometheus", "uid": "$datasource"},
            "gridPos": {"x": x, "y": y, "w": wide, "h": tall},
            "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
            "targets": targets.collect::<Vec<_>>(),
        }));
        x += wide;
        high = high.max(tall);
    }
    all
}

const FLEET: &[Panel] = &[
    panel(
        "Deployments by status",
        "stat",
        "short",
        (8, 5),
        &[("sum by (status) (kvtop_status{CHOSEN})", "{{status}}")],
    ),
    panel("Workers", "stat", "short", (8, 5), &[("sum(kvtop_workers{CHOSEN})", "workers")]),
    panel(
        "Requests routed",
        "stat",
        "reqps",
        (8, 5),
        &[("sum(rate(kvtop_requests_routed_total{CHOSEN}[$__rate_interval]))", "requests")],
    ),
    panel(
        "Active findings",
        "table",
        "short",
        (24, 8),
        &[(
            "max by (namespace, deployment, finding, name, severity) (kvtop_finding{CHOSEN} == 1)",
            "",
        )],
    ),
    panel(
        "Requests with a cache hit",
        "timeseries",
        "percentunit",
        HALF,
        &[("max by (namespace, deployment) (kvtop_hit_ratio{CHOSEN})", BOTH)],
    ),
    panel(
        "Time to first token, p95",
        "timeseries",
        "s",
        HALF,
        &[(
            "max by (namespace, deployment) (kvtop_time_to_first_token_seconds{CHOSEN,quantile=\"0.95\"})",
            BOTH,
        )],
    ),
    panel(
        "KV cache in use",
        "timeseries",
        "percentunit",
        HALF,
        &[("max by (namespace, deployment) (kvtop_kv_utilization_ratio{CHOSEN})", BOTH)],
    ),
    panel(
        "Data that kvtop missed",
        "timeseries",
        "short",
        HALF,
        &[
            (
                "sum by (namespace, deployment) (increase(kvtop_source_dropped_total{CHOSEN}[$__rate_interval]))",
                "dropped {{namespace}}/{{deployment}}",
            ),
            (
                "sum by (namespace, deployment) (increase(kvtop_source_gaps_total{CHOSEN}[$__rate_interval]))",
                "missing {{namespace}}/{{deployment}}",
            ),
        ],
    ),
    panel(
        "Memory of kvtop",
        "timeseries",
        "bytes",
        HALF,
        &[(
            "process_resident_memory_bytes * on (instance) group_left (version) kvtop_build_info",
            "{{instance}} {{version}}",
        )],
    ),
    panel(
        "Processor time of kvtop",
        "timeseries",
        "percentunit",
        HALF,
        &[(
            "rate(process_cpu_seconds_total[$__rate_interval]) * on (instance) group_left (version) kvtop_build_info",
            "{{instance}}",
        )],
    ),
];

const DEPLOYMENT: &[Panel] = &[
    panel(
        "Status",
        "state-timeline",
        "short",
        HALF,
        &[("max by (status) (kvtop_status{CHOSEN})", "{{status}}")],
    ),
    panel(
        "Findings",
        "state-timeline",
        "short",
        HALF,
        &[(
            "max by (finding, name, severity) (kvtop_finding{CHOSEN} == 1)",
            "{{finding}} {{name}} ({{severity}})",
        )],
    ),
    panel(
        "Cache hits",
        "timeseries",
        "percentunit",
        THIRD,
        &[
            ("max(kvtop_hit_ratio{CHOSEN})", "requests with a hit"),
            ("max(kvtop_cached_tokens_ratio{CHOSEN})", "prompt tokens cached"),
        ],
    ),
    panel(
        "Time to first token",
        "timeseries",
        "s",
        THIRD,
        &[(
            "max by (quantile) (kvtop_time_to_first_token_seconds{CHOSEN})",
            "quantile {{quantile}}",
        )],
    ),
    panel(
        "Time between tokens",
        "timeseries",
        "s",
        THIRD,
        &[(
            "max by (quantile) (kvtop_inter_token_latency_seconds{CHOSEN})",
            "quantile {{quantile}}",
        )],
    ),
    panel(
        "Time in engines' queues",
        "timeseries",
        "s",
        THIRD,
        &[("max by (quantile) (kvtop_queue_time_seconds{CHOSEN})", "quantile {{quantile}}")],
    ),
    panel(
        "Workers known to routers",
        "timeseries",
        "short",
        THIRD,
        &[
            ("min(kvtop_router_workers{CHOSEN})", "registered with the router that has the fewest"),
            ("sum(kvtop_workers{CHOSEN})", "there"),
        ],
    ),
    panel(
        "Store events",
        "timeseries",
        "short",
        HALF,
        &[
            ("sum(rate(kvtop_stores_total{CHOSEN}[$__rate_interval]))", "stores"),
            ("sum(rate(kvtop_empty_stores_total{CHOSEN}[$__rate_interval]))", "empty"),
            ("sum(rate(kvtop_refused_stores_total{CHOSEN}[$__rate_interval]))", "rejected"),
        ],
    ),
    panel(
        "Blocks",
        "timeseries",
        "short",
        HALF,
        &[
            ("sum(kvtop_accepted_blocks{CHOSEN})", "accepted by the index"),
            ("sum(kvtop_held_blocks{CHOSEN})", "held by workers"),
            ("sum(kvtop_orphan_blocks{CHOSEN})", "with a missing parent"),
        ],
    ),
    panel(
        "Router warnings",
        "timeseries",
        "short",
        THIRD,
        &[(
            "sum by (kind) (rate(kvtop_router_log_warnings_total{CHOSEN}[$__rate_interval]))",
            "{{kind}}",
        )],
    ),
    panel(
        "Requests",
        "timeseries",
        "short",
        THIRD,
        &[
            ("sum(rate(kvtop_requests_routed_total{CHOSEN}[$__rate_interval]))", "routed/s"),
            ("sum(kvtop_requests_queued{CHOSEN})", "queued"),
        ],
    ),
    panel(
        "KV cache in use",
        "timeseries",
        "percentunit",
        THIRD,
        &[("max(kvtop_kv_utilization_ratio{CHOSEN})", "mean of workers")],
    ),
    panel(
        "Stores that a larger KV cache would avoid",
        "timeseries",
        "percentunit",
        THIRD,
        &[("max by (capacity) (kvtop_avoided_store_ratio{CHOSEN})", "{{capacity}}x")],
    ),
    panel(
        "Sources of kvtop",
        "state-timeline",
        "short",
        THIRD,
        &[("min by (source) (kvtop_source_up{CHOSEN})", "{{source}}")],
    ),
    panel(
        "Checks that cannot tell",
        "table",
        "short",
        THIRD,
        &[("max by (finding, name) (kvtop_check{CHOSEN,state=\"unknown\"} == 1)", "")],
    ),
];

const LEGEND: &str = "{{pod}} {{worker_id}} {{dp_rank}}";

const WORKERS: &[Panel] = &[
    panel(
        "Blocks held",
        "timeseries",
        "short",
        HALF,
        &[("kvtop_worker_held_blocks{WORKER} JOINED", LEGEND)],
    ),
    panel(
        "KV cache in use",
        "timeseries",
        "percentunit",
        HALF,
        &[("kvtop_worker_kv_utilization_ratio{WORKER} JOINED", LEGEND)],
    ),
    panel(
        "Requests routed",
        "timeseries",
        "reqps",
        HALF,
        &[("rate(kvtop_worker_requests_routed_total{WORKER}[$__rate_interval]) JOINED", LEGEND)],
    ),
    panel(
        "Requests in flight",
        "timeseries",
        "short",
        HALF,
        &[("kvtop_worker_requests_in_flight{WORKER} JOINED", LEGEND)],
    ),
    panel(
        "Store events",
        "timeseries",
        "short",
        HALF,
        &[("rate(kvtop_worker_stores_total{WORKER}[$__rate_interval]) JOINED", LEGEND)],
    ),
    panel(
        "Empty store events",
        "timeseries",
        "short",
        HALF,
        &[("rate(kvtop_worker_empty_stores_total{WORKER}[$__rate_interval]) JOINED", LEGEND)],
    ),
    panel(
        "Rejected stores, last minute",
        "timeseries",
        "percentunit",
        HALF,
        &[("kvtop_worker_orphan_ratio{WORKER} JOINED", LEGEND)],
    ),
    panel(
        "Prompt tokens found in the cache",
        "timeseries",
        "percentunit",
        HALF,
        &[("kvtop_worker_hit_ratio{WORKER} JOINED", LEGEND)],
    ),
    panel(
        "Time since the last KV event",
        "timeseries",
        "s",
        HALF,
        &[("(time() - kvtop_worker_last_event_timestamp_seconds{WORKER}) JOINED", LEGEND)],
    ),
    panel(
        "Block sizes",
        "table",
        "short",
        HALF,
        &[("max by (component, worker_id, of) (kvtop_block_size_tokens{WORKER})", "")],
    ),
];
