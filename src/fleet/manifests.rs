//! Kubernetes manifests of the exporter.

use super::{Dashboard, PORT, dashboard, indented, quoted, rules};

/// The selector of the exporter's pod for Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    /// A `PodMonitor` of the Prometheus operator.
    Pod,
    /// A `ServiceMonitor` of the Prometheus operator.
    Service,
    /// Neither, nor a `PrometheusRule`: Prometheus is configured otherwise.
    None,
}

/// The objects to deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The namespace that is watched, unless all of them are, in which the exporter runs as well.
    pub namespace: String,
    /// The graph deployment that is watched; all of the namespace when none.
    pub dgd: Option<String>,
    /// True to watch every namespace of the cluster.
    pub everywhere: bool,
    /// The labels of the graph deployments that are watched; all of them when none.
    pub selector: Option<String>,
    /// The container image.
    pub image: String,
    /// The level of the metrics.
    pub level: String,
    /// The way in which Prometheus finds the exporter.
    pub monitor: Monitor,
    /// The prefix of links to runbooks.
    pub runbooks: String,
}

/// The share of the container's memory that is kvtop's own limit.
const MEMORY: &str = "896MiB";

/// The rest of the container: probes, resources, and no right that it does not need.
const CONTAINER: &str = "        livenessProbe:
          httpGet:
            path: /livez
            port: metrics
          periodSeconds: 10
          timeoutSeconds: 5
          failureThreshold: 6
        readinessProbe:
          httpGet:
            path: /readyz
            port: metrics
          periodSeconds: 5
          timeoutSeconds: 5
        resources:
          requests:
            cpu: 100m
            memory: 256Mi
          limits:
            memory: 1Gi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
";

impl Plan {
    /// Returns the arguments of the container.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "export".to_owned(),
            format!("--listen=:{PORT}"),
            if self.everywhere {
                "--all-namespaces".to_owned()
            } else {
                format!("--namespace={}", self.namespace)
            },
            format!("--metrics-level={}", self.level),
            format!("--max-memory={}", MEMORY),
        ];
        arguments.extend(self.dgd.as_ref().map(|name| format!("--dgd={name}")));
        arguments.extend(self.selector.as_ref().map(|labels| format!("--selector={labels}")));
        arguments
    }
}

/// Returns the manifests of `plan`, with the rights in `rights`, for `kubectl apply -f -`.
pub fn manifests(plan: &Plan, rights: &str) -> String {
    let mut parts = vec![rights.trim_end().to_owned() + "\n", deployment(plan), service(plan)];
    match plan.monitor {
        Monitor::Pod => parts.push(monitor(plan, "PodMonitor", "podMetricsEndpoints")),
        Monitor::Service => parts.push(monitor(plan, "ServiceMonitor", "endpoints")),
        Monitor::None => {}
    }
    if plan.monitor != Monitor::None {
        let spec = indented(&rules(&plan.runbooks), 2);
        let head = object(
            "monitoring.coreos.com/v1",
            "PrometheusRule",
            "kvtop",
            plan,
            &[("role", "alert-rules")],
        );
        parts.push(format!("{head}spec:\n{spec}"));
    }
    parts.push(dashboards(plan));
    parts.join("---\n")
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().concat()
}

/// Returns the head of an object with the labels that all of them have, and more.
fn object(version: &str, kind: &str, name: &str, plan: &Plan, more: &[(&str, &str)]) -> String {
    let more = lines(more.iter().map(|(key, value)| format!("    {key}: {}\n", quoted(value))));
    format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: {}\n  labels:\n    \
         app.kubernetes.io/name: kvtop\n    app.kubernetes.io/component: exporter\n{more}",
        quoted(&plan.namespace)
    )
}

pub(super) fn deployment(plan: &Plan) -> String {
    let arguments = plan.arguments();
    let arguments = lines(arguments.iter().map(|word| format!("        - {}\n", quoted(word))));
    let head = object("apps/v1", "Deployment", "kvtop", plan, &[]);
    let image = quoted(&plan.image);
    format!(
        "{head}spec:
  # One watcher: a second one would read the same events again.
  replicas: 1
  strategy:
    type: Recreate
  selector:
    matchLabels:
      app.kubernetes.io/name: kvtop
      app.kubernetes.io/component: exporter
  template:
    metadata:
      labels:
        app.kubernetes.io/name: kvtop
        app.kubernetes.io/component: exporter
    spec:
      serviceAccountName: kvtop
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: kvtop
        image: {image}
        args:
{arguments}        ports:
        - name: metrics
          containerPort: {PORT}
{CONTAINER}"
    )
}

pub(super) fn service(plan: &Plan) -> String {
    let head = object("v1", "Service", "kvtop", plan, &[]);
    format!(
        "{head}spec:
  selector:
    app.kubernetes.io/name: kvtop
    app.kubernetes.io/component: exporter
  ports:
  - name: metrics
    port: {PORT}
    targetPort: metrics
"
    )
}

/// Returns a monitor. Labels are honoured, so that `namespace` stays that of the deployment.
fn monitor(plan: &Plan, kind: &str, endpoints: &str) -> String {
    let head = object("monitoring.coreos.com/v1", kind, "kvtop", plan, &[]);
    format!(
        "{head}spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: kvtop
      app.kubernetes.io/component: exporter
  {endpoints}:
  - port: metrics
    path: /metrics
    interval: 15s
    honorLabels: true
"
    )
}

/// Returns a `ConfigMap` that Grafana's sidecar loads.
fn dashboards(plan: &Plan) -> String {
    let head = object("v1", "ConfigMap", "kvtop-dashboards", plan, &[("grafana_dashboard", "1")]);
    let file =
        |which: Dashboard| format!("  {}: |\n{}", which.file(), indented(&dashboard(which), 4));
    let files = lines(Dashboard::ALL.into_iter().map(file));
    format!("{head}data:\n{files}")
}
