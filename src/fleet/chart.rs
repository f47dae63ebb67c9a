//! A Helm chart: the manifests with Helm's expressions where a plan has values.

use super::manifests::{deployment, service};
use super::{Dashboard, Monitor, Plan, dashboard, rules};

/// A file of the chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFile {
    /// Its path in the chart's folder.
    pub path: String,
    /// Its content.
    pub text: String,
}

const VALUES: &str = "\
# Container image; build it from docs/deploy/Dockerfile. The tag is the chart's version when empty.
image:
  repository: kvtop
  tag: \"\"
# Series for the deployment alone (fleet), each worker (worker), or each rank (rank).
metricsLevel: worker
# Graph deployment to watch; all of the namespace when empty.
dgd: \"\"
# PodMonitor of the Prometheus operator.
podMonitor:
  enabled: true
# ServiceMonitor of the Prometheus operator; enable one of the two.
serviceMonitor:
  enabled: false
# PrometheusRule with one alert for each finding. runbookUrl is what links to runbooks begin with; the exporter itself
# serves them when it is empty.
rules:
  enabled: true
  runbookUrl: \"\"
# ConfigMap that the sidecar of Grafana loads.
dashboards:
  enabled: true
";

const MONITOR: &str = "\
{{- if .Values.KEY.enabled }}
apiVersion: monitoring.coreos.com/v1
kind: KIND
metadata:
  name: kvtop
  namespace: \"{{ .Release.Namespace }}\"
  labels:
    app.kubernetes.io/name: kvtop
    app.kubernetes.io/component: exporter
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: kvtop
      app.kubernetes.io/component: exporter
  ENDPOINTS:
  - port: metrics
    path: /metrics
    interval: 15s
    honorLabels: true
{{- end }}
";

/// Stands for the address of runbooks in the file of rules; the template fills it in.
const RUNBOOKS: &str = "KVTOP_RUNBOOKS/";

const RULES: &str = "\
{{- if .Values.rules.enabled }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: kvtop
  namespace: \"{{ .Release.Namespace }}\"
  labels:
    app.kubernetes.io/name: kvtop
    app.kubernetes.io/component: exporter
    role: \"alert-rules\"
spec:
{{ .Files.Get \"files/rules.yaml\" | replace \"KVTOP_RUNBOOKS/\" (.Values.rules.runbookUrl | default (printf \"http://kvtop.%s.svc:9478/explain/\" .Release.Namespace)) | indent 2 }}
{{- end }}
";

/// Returns every file of the chart; `rights` returns the manifests of the rights in a namespace.
pub fn chart(rights: impl Fn(&str) -> String) -> Vec<ChartFile> {
    let plan = Plan {
        namespace: "{{ .Release.Namespace }}".to_owned(),
        dgd: Some("{{ .Values.dgd }}".to_owned()),
        everywhere: false,
        selector: None,
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
            .to_owned(),
        level: "{{ .Values.metricsLevel }}".to_owned(),
        monitor: Monitor::Pod,
        runbooks: RUNBOOKS.to_owned(),
    };
    let version = env!("CARGO_PKG_VERSION");
    let about = format!(
        "apiVersion: v2\nname: kvtop\ndescription: Metrics and alerts for KV-cache-aware routing in NVIDIA Dynamo\n\
         type: application\nversion: {version}\nappVersion: \"{version}\"\n"
    );
    let monitor = |key: &str, kind: &str, endpoints: &str| {
        MONITOR.replace("KEY", key).replace("KIND", kind).replace("ENDPOINTS", endpoints)
    };
    let boards: Vec<String> = Dashboard::ALL
        .into_iter()
        .map(|which| {
            let file = which.file();
            format!("  {file}: |\n{{{{ .Files.Get \"files/{file}\" | indent 4 }}}}\n")
        })
        .collect();
    let boards = boards.concat();
    let boards = format!(
        "{{{{- if .Values.dashboards.enabled }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
         name: kvtop-dashboards\n  namespace: \"{{{{ .Release.Namespace }}}}\"\n  labels:\n    \
         app.kubernetes.io/name: kvtop\n    grafana_dashboard: \"1\"\ndata:\n{boards}{{{{- end }}}}\n"
    );
    // An empty name would be taken for a name.
    let argument = "        - \"--dgd={{ .Values.dgd }}\"\n";
    let optional = format!("{{{{- if .Values.dgd }}}}\n{argument}{{{{- end }}}}\n");
    let mut files = vec![
        ("Chart.yaml", about),
        ("values.yaml", VALUES.to_owned()),
        ("templates/rbac.yaml", rights("{{ .Release.Namespace }}")),
        ("templates/deployment.yaml", deployment(&plan).replace(argument, &optional)),
        ("templates/service.yaml", service(&plan)),
        ("templates/podmonitor.yaml", monitor("podMonitor", "PodMonitor", "podMetricsEndpoints")),
        ("templates/servicemonitor.yaml", monitor("serviceMonitor", "ServiceMonitor", "endpoints")),
        ("templates/rules.yaml", RULES.to_owned()),
        ("templates/dashboards.yaml", boards),
        ("files/rules.yaml", rules(RUNBOOKS)),
    ]
    .into_iter()
    .map(|(path, text)| ChartFile { path: path.to_owned(), text })
    .collect::<Vec<_>>();
    files.extend(Dashboard::ALL.into_iter().map(|which| ChartFile {
        path: format!("files/{}", which.file()),
        text: dashboard(which),
    }));
    files
}
