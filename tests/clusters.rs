//! What kvtop claims of whole deployments that Kubernetes shows, before any event or log.

use kvtop::report::json;
use serde_json::{Value, json};

use crate::support::{fixture, frames, played};

/// Returns what matters here of `kvtop snapshot -o json`: pods, graph deployments and claims.
fn shown(name: &str) -> Value {
    let frames = frames(&fixture(&format!("clusters/{name}.frames")));
    let (_, snapshot) = played(&frames);
    assert_eq!(snapshot.rejects.count, 0, "{name}: {:?}", snapshot.rejects);
    let mut report: Value = serde_json::from_str(&json::snapshot(&snapshot)).unwrap();
    let workers: Vec<Value> = report["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|worker| {
            json!({
                "alias": worker["alias"], "pod": worker["pod"], "node": worker["node"],
                "role": worker["role"], "block_size": worker["block_size"],
                "capacity_blocks": worker["capacity_blocks"],
            })
        })
        .collect();
    for claim in report["claims"].as_array_mut().unwrap() {
        claim.as_object_mut().unwrap().remove("at");
    }
    json!({
        "dynamo": report["dynamo"], "workers": workers, "pods": report["pods"],
        "claims": report["claims"],
    })
}

#[test]
fn claims_of_whole_deployments_are_as_written_down() {
    let mut names: Vec<String> = std::fs::read_dir(fixture("clusters"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    for name in names {
        let report = serde_json::to_string_pretty(&shown(&name)).unwrap();
        insta::assert_snapshot!(name, report);
    }
}
