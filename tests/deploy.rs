//! What `kvtop deploy` prints: manifests, alert rules, dashboards and the chart, held by the types of a real API
//! server, `promtool` and a real Prometheus.

mod chart;
mod queries;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kvtop::diagnose::RULES;
use kvtop::domain::Stake;
use kvtop::fleet::{self, Dashboard};
use kvtop::source::kube::rbac::{RbacParts, role};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::support::bless;
use crate::support::prometheus::holds;
use crate::support::scratch;

/// Runs `kvtop deploy` without a cluster to ask.
fn deploy(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .arg("deploy")
        .args(arguments)
        .env("HOME", scratch())
        .env_remove("KUBECONFIG")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Reads the documents of a YAML stream.
fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple::<Value>(text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .into_iter()
        .filter(|document| !document.is_null())
        .collect()
}

/// Holds that the API knows every field of `object`: what it does not know is lost on the way through its types.
fn known<T: DeserializeOwned + Serialize>(object: &Value) {
    let read: T = serde_json::from_value(object.clone()).unwrap();
    let again = serde_json::to_value(read).unwrap();
    assert_eq!(&again, object);
}

fn check_objects(objects: &[Value]) -> Vec<String> {
    let mut kinds = Vec::new();
    for object in objects {
        let kind = object["kind"].as_str().unwrap();
        match kind {
            "Deployment" => known::<Deployment>(object),
            "ServiceAccount" => known::<ServiceAccount>(object),
            "Role" => known::<Role>(object),
            "RoleBinding" => known::<RoleBinding>(object),
            "Service" => known::<Service>(object),
            "ConfigMap" => known::<ConfigMap>(object),
            // Types of the Prometheus operator, whose schema no package here has.
            "PodMonitor" | "ServiceMonitor" | "PrometheusRule" => {
                assert_eq!(object["apiVersion"], "monitoring.coreos.com/v1");
            }
            other => panic!("{other}"),
        }
        assert_eq!(object["metadata"]["namespace"], "gtc-demo", "{object}");
        kinds.push(kind.to_owned());
    }
    kinds
}

#[test]
fn manifests_hold_only_what_the_api_knows_and_the_command_line_takes() {
    let objects = documents(&deploy(&["-n", "gtc-demo", "--dgd", "gtc", "--secret", "nats-login"]));

    let kinds = check_objects(&objects);

    for kind in
        ["ServiceAccount", "Deployment", "Service", "PodMonitor", "PrometheusRule", "ConfigMap"]
    {
        assert_eq!(kinds.iter().filter(|known| *known == kind).count(), 1, "{kind}: {kinds:?}");
    }
    let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let pod = &of("Deployment")["spec"]["template"];
    assert_eq!(pod["metadata"]["labels"], of("Deployment")["spec"]["selector"]["matchLabels"]);
    assert_eq!(pod["metadata"]["labels"], of("Service")["spec"]["selector"]);
    assert_eq!(pod["metadata"]["labels"], of("PodMonitor")["spec"]["selector"]["matchLabels"]);
    assert_eq!(pod["spec"]["serviceAccountName"], of("ServiceAccount")["metadata"]["name"]);
    let container = &pod["spec"]["containers"][0];
    let words = container["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let words = std::iter::once("kvtop").chain(words).map(std::ffi::OsString::from);
    let read = kvtop::cli::Cli::read(words).unwrap();
    assert_eq!(read.source.namespace.as_deref(), Some("gtc-demo"));
    assert_eq!(read.source.dgd.as_deref(), Some("gtc"));
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    // Every rule of the rights reads; none writes.
    let roles = objects.iter().filter(|object| object["kind"] == "Role");
    let verbs = roles.flat_map(|role| role["rules"].as_array().unwrap()).flat_map(|rule| {
        rule["verbs"].as_array().unwrap().iter().map(|verb| verb.as_str().unwrap())
    });
    assert!(verbs.clone().count() > 5);
    assert!(verbs.clone().all(|verb| ["get", "list", "watch"].contains(&verb)));
}

#[test]
fn an_exporter_of_all_namespaces_gets_rights_in_the_cluster() {
    let text = deploy(&["-A", "-l", "team=search"]);
    let objects = documents(&text);
    let of = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).count();
    assert_eq!((of("ClusterRole"), of("ClusterRoleBinding"), of("Role")), (1, 1, 0), "{text}");
    let pod = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let words = pod["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    let words = words.iter().map(|word| word.as_str().unwrap());
    let words = std::iter::once("kvtop").chain(words).map(std::ffi::OsString::from);
    let read = kvtop::cli::Cli::read(words).unwrap();
    assert!(read.source.all_namespaces);
    assert_eq!(read.source.selector.as_deref(), Some("team=search"));
    let binding = objects.iter().find(|object| object["kind"] == "ClusterRoleBinding").unwrap();
    let account = objects.iter().find(|object| object["kind"] == "ServiceAccount").unwrap();
    assert_eq!(binding["subjects"][0]["namespace"], account["metadata"]["namespace"]);
}

#[test]
fn a_monitor_is_printed_as_it_is_wanted() {
    let kinds =
        |kind: &str| check_objects(&documents(&deploy(&["-n", "gtc-demo", "--monitor", kind])));
    assert!(kinds("service").contains(&"ServiceMonitor".to_owned()));
    let none = kinds("none");
    assert!(
        !none.iter().any(|kind| kind.ends_with("Monitor") || kind == "PrometheusRule"),
        "{none:?}"
    );
}

/// The alert rules, and where they are kept.
fn rules() -> (String, std::path::PathBuf) {
    let text = deploy(&["rules", "-n", "gtc-demo"]);
    let path = scratch().join("rules.yaml");
    std::fs::write(&path, &text).unwrap();
    (text, path)
}

#[test]
fn every_finding_alerts_when_it_lasts_and_ignorance_never_does() {
    let (text, path) = rules();
    holds(&["check", "rules", path.to_str().unwrap()], "");
    let mut cases = format!("rule_files: [{}]\nevaluation_interval: 30s\ntests:\n", path.display());
    for rule in RULES.iter().filter(|rule| rule.stake() != Stake::Sight) {
        let (id, name, alert) = (rule.id(), rule.name(), fleet::alert_name(*rule));
        assert!(text.contains(&format!("explain/{id}\"")), "{id} has no runbook");
        let labels = format!("namespace=\"a\",deployment=\"b\",finding=\"{id}\",name=\"{name}\"");
        for severity in ["info", "warning", "critical"] {
            let fires = severity != "info";
            writeln!(
                cases,
                "- interval: 30s\n  input_series:\n  - series: 'kvtop_finding{{{labels},severity=\"{severity}\",pod=\"x\"}}'\n    \
                 values: '0 1x6 _x4'\n  - series: 'kvtop_finding{{{labels},severity=\"{severity}\",pod=\"y\"}}'\n    \
                 values: '_x6 1x20'\n  alert_rule_test:\n  - eval_time: 1m\n    alertname: {alert}\n    exp_alerts: []\n  \
                 - eval_time: 5m\n    alertname: {alert}\n    exp_alerts: {}",
                if fires { "" } else { "[]" }
            )
            .unwrap();
            if fires {
                let annotations = annotations(&text, &alert, "a", "b");
                writeln!(
                    cases,
                    "    - exp_labels: {{namespace: a, deployment: b, finding: {id}, name: {name}, severity: {severity}}}\n      \
                     exp_annotations: {annotations}"
                )
                .unwrap();
            }
        }
    }
    // A check that cannot tell, a deployment that is unknown, and an exporter that is not ready: for information only.
    cases.push_str(
        "- interval: 30s\n  input_series:\n  - series: 'kvtop_status{namespace=\"a\",deployment=\"b\",status=\"unknown\"}'\n    \
         values: '1x80'\n  - series: 'kvtop_ready{namespace=\"a\",deployment=\"b\"}'\n    values: '0x80'\n",
    );
    for rule in RULES {
        let id = rule.id();
        writeln!(
            cases,
            "  - series: 'kvtop_check{{namespace=\"a\",deployment=\"b\",finding=\"{id}\",state=\"unknown\"}}'\n    values: '1x80'"
        )
        .unwrap();
    }
    cases.push_str(
        "  promql_expr_test:\n  - expr: count(ALERTS{severity!=\"info\"})\n    eval_time: 35m\n    exp_samples: []\n  \
         - expr: count(ALERTS{severity=\"info\",alertstate=\"firing\"})\n    eval_time: 35m\n    exp_samples: [{labels: '{}', value: 2}]\n",
    );
    let file = scratch().join("cases.yaml");
    std::fs::write(&file, &cases).unwrap();
    holds(&["test", "rules", file.to_str().unwrap()], "");
}

#[test]
fn twice_the_cache_is_suggested_where_it_was_worth_it_for_half_an_hour() {
    let (text, path) = rules();
    let mut suggestions =
        format!("rule_files: [{}]\nevaluation_interval: 30s\ntests:\n", path.display());
    // Three times the cache says nothing of twice.
    let suggested = annotations(&text, fleet::capacity_alert(), "c", "d");
    let suggested = suggested.to_string().replace("{{ $value | humanizePercentage }}", "25%");
    let none = "exp_alerts: []";
    let fires = format!(
        "exp_alerts: [{{exp_labels: {{namespace: c, deployment: d, severity: info}}, exp_annotations: {suggested}}}]"
    );
    for (capacity, share, minutes, expected) in [
        (2, 0.25, 20, none),
        (2, 0.25, 40, fires.as_str()),
        (2, 0.19, 40, none),
        (3, 0.6, 40, none),
    ] {
        writeln!(
            suggestions,
            "- interval: 30s\n  input_series:\n  - series: 'kvtop_avoided_store_ratio{{namespace=\"c\",deployment=\"d\",\
             capacity=\"{capacity}\"}}'\n    values: '{share}x100'\n  alert_rule_test:\n  - eval_time: {minutes}m\n    \
             alertname: {}\n    {expected}",
            fleet::capacity_alert()
        )
        .unwrap();
    }
    let file = scratch().join("suggestions.yaml");
    std::fs::write(&file, &suggestions).unwrap();
    holds(&["test", "rules", file.to_str().unwrap()], "");
}

/// Returns the annotations of an alert, filled in, as JSON.
fn annotations(rules: &str, alert: &str, namespace: &str, deployment: &str) -> Value {
    let parsed = documents(rules);
    let groups = parsed[0]["groups"].as_array().unwrap();
    let mut all = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
    let found = all.find(|rule| rule["alert"] == alert).unwrap();
    let text = found["annotations"].to_string();
    let text = text.replace("{{ $labels.namespace }}", namespace);
    serde_json::from_str(&text.replace("{{ $labels.deployment }}", deployment)).unwrap()
}

#[test]
fn the_committed_files_are_what_the_program_prints() {
    let folder = Path::new("docs/deploy");
    for path in ["dashboards", "runbooks", "chart/templates", "chart/files"] {
        std::fs::create_dir_all(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(path))
            .unwrap();
    }
    bless::page(folder.join("manifests.yaml"), &deploy(&["-n", "gtc-demo"]));
    bless::page(folder.join("rules.yaml"), &rules().0);
    for (which, part) in Dashboard::ALL.into_iter().zip(["fleet", "deployment", "worker"]) {
        let printed = deploy(&[&format!("dashboard-{part}")]);
        assert_eq!(printed, fleet::dashboard(which));
        bless::page(folder.join("dashboards").join(which.file()), &printed);
    }
    for rule in RULES {
        bless::page(folder.join(format!("runbooks/{}.md", rule.id())), &fleet::runbook(*rule));
    }
    bless::page(folder.join("runbooks/capacity.md"), &fleet::capacity_runbook());
    for file in fleet::chart(|namespace| role(namespace, &RbacParts::default())) {
        bless::page(folder.join("chart").join(&file.path), &file.text);
    }
}
