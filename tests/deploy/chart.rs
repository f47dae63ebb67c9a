//! The Helm chart, rendered by the few expressions of Helm that it uses. Helm itself is not needed.

use std::collections::BTreeMap;

use kvtop::fleet;
use kvtop::source::kube::rbac::{RbacParts, role};
use serde_json::Value;

use super::{check_objects, documents};

/// Renders one template. Fails on any expression that the chart is not known to use.
fn rendered(text: &str, values: &Value, files: &BTreeMap<String, String>) -> String {
    let value = |path: &str| {
        let path = path.strip_prefix(".Values.")?;
        let found = path.split('.').try_fold(values, |value, part| value.get(part))?;
        Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
    };
    let mut out = String::new();
    let mut shown = vec![true];
    for line in text.lines() {
        if let Some(asked) = line.strip_prefix("{{- if ") {
            let asked = value(asked.strip_suffix(" }}").unwrap()).unwrap();
            shown.push(!["", "false"].contains(&asked.as_str()));
        } else if line == "{{- end }}" {
            shown.pop();
        } else if shown.iter().all(|it| *it) {
            if let Some(file) = line.strip_prefix("{{ .Files.Get \"") {
                let (name, rest) = file.split_once('"').unwrap();
                let by: usize = rest
                    .split_once("| indent ")
                    .unwrap()
                    .1
                    .trim_end_matches(" }}")
                    .parse()
                    .unwrap();
                let text = files[name]
                    .replace("KVTOP_RUNBOOKS/", "http://kvtop.gtc-demo.svc:9478/explain/");
                for line in text.lines() {
                    out.extend([&" ".repeat(by), line, "\n"]);
                }
                continue;
            }
            let mut rest = line;
            while let Some((before, after)) = rest.split_once("{{ ") {
                let (expression, after) = after.split_once(" }}").unwrap();
                out.push_str(before);
                let filled = match expression {
                    ".Release.Namespace" => "gtc-demo".to_owned(),
                    ".Values.image.tag | default .Chart.AppVersion" => "1.2.3".to_owned(),
                    path => value(path).unwrap_or_else(|| panic!("{path}")),
                };
                out.push_str(&filled);
                rest = after;
            }
            out.push_str(rest);
            out.push('\n');
        }
    }
    assert_eq!(shown, [true], "an if without an end");
    out
}

#[test]
fn the_chart_renders_to_objects_that_the_api_knows_with_and_without_each_part() {
    let files: BTreeMap<String, String> =
        fleet::chart(|namespace| role(namespace, &RbacParts::default()))
            .into_iter()
            .map(|file| (file.path, file.text))
            .collect();
    let defaults: Value = documents(&files["values.yaml"]).remove(0);
    let render = |values: &Value| {
        let templates = files.iter().filter(|(path, _)| path.starts_with("templates/"));
        let objects: Vec<Value> =
            templates.flat_map(|(_, text)| documents(&rendered(text, values, &files))).collect();
        (check_objects(&objects), objects)
    };

    let (kinds, objects) = render(&defaults);
    assert_eq!(kinds.len(), 8, "{kinds:?}");
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "kvtop:1.2.3");
    assert!(!container["args"].to_string().contains("--dgd"), "{container}");
    let rules = objects.iter().find(|object| object["kind"] == "PrometheusRule").unwrap();
    assert!(rules["spec"]["groups"][0]["rules"][0]["annotations"]["summary"].is_string());
    // The same rules as `kvtop deploy` prints.
    assert_eq!(rules["spec"], documents(&super::rules().0)[0]);

    let mut other = defaults.clone();
    other["dgd"] = "gtc".into();
    other["podMonitor"]["enabled"] = false.into();
    other["serviceMonitor"]["enabled"] = true.into();
    other["rules"]["enabled"] = false.into();
    other["dashboards"]["enabled"] = false.into();
    let (kinds, objects) = render(&other);
    assert!(kinds.contains(&"ServiceMonitor".to_owned()) && kinds.len() == 6, "{kinds:?}");
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert!(container["args"].to_string().contains("--dgd=gtc"), "{container}");
}
