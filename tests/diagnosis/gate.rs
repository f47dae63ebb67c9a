//! Every printed fix is applied to the objects that it was made from, and these are judged again: the finding
//! is gone, none is new, and on the way each pod that still runs with the old value is named.

pub(crate) mod apply;
pub(crate) mod objects;

use std::collections::{BTreeMap, BTreeSet};

use kvtop::domain::RolloutStage;
use kvtop::frame::{Frame, KubeChange};
use kvtop::snapshot::{CheckVerdict, FindingRow, Severity, Snapshot};
use serde_json::{Value, json};

use apply::{check_lines, patches};
use objects::{Deployment, SECOND, START, seen};

use super::settings::found;
use crate::support::{fixture, played};

/// Generated deployments that are judged.
const SEEDS: u64 = 400;

/// Later than the pods' start, earlier than any change.
const ATTACH: u64 = START + 60 * SECOND;

/// Findings whose fix can be a patch of the objects alone. What needs traffic to be found is tried in tests/gate and
/// tests/diagnosis/balance.rs.
const PATCHED: [&str; 7] = ["KVT001", "KVT002", "KVT005", "KVT006", "KVT013", "KVT016", "KVT017"];

/// Returns what is wrong, and notes whose fix is a patch.
fn ids(snapshot: &Snapshot) -> BTreeSet<&'static str> {
    let findings = snapshot.findings.iter();
    let told = findings.filter(|it| it.severity > Severity::Info || commands(it).is_some());
    told.map(|finding| finding.id).collect()
}

fn commands(finding: &FindingRow) -> Option<&str> {
    finding.fix.as_ref()?.kubectl.as_deref().filter(|text| text.contains(" patch "))
}

/// Applies a fix; says what is wrong with it.
fn tried(before: &Deployment, first: &Snapshot, finding: &FindingRow) -> Result<bool, String> {
    let Some(text) = commands(finding) else { return Ok(false) };
    if let Some(yaml) = finding.fix.as_ref().and_then(|fix| fix.yaml.as_deref()) {
        check_lines(yaml)?;
    }
    let patches = patches(text);
    let mut after = before.clone();
    after.apply(&patches)?;
    if after.clone().apply(&patches).is_ok() {
        return Err("it can be applied twice".to_owned());
    }
    let (_, between) = played(&after.frames(ATTACH + 30 * SECOND));
    let rollout = found(&between, finding.id).and_then(|it| it.fix.as_ref()?.rollout.as_ref());
    if let Some(early) = rollout.filter(|it| it.restarted > 0 && it.waiting.is_empty()) {
        return Err(format!("{} pods restarted before any did", early.restarted));
    }
    after.pods = after.fresh_pods(ATTACH + 60 * SECOND);
    let (_, second) = played(&after.frames(ATTACH + 120 * SECOND));
    if let Some(still) = ids(&second).get(finding.id) {
        return Err(format!("still: {}", found(&second, still).unwrap().summary));
    }
    // The declared size cannot be judged while workers use several, nor what routers share while they do not route: it
    // was as wrong before.
    let judged = |id: &str| {
        let mut checks = first.checks.iter();
        let check = checks.find(|check| check.id == id);
        check.is_some_and(|check| matches!(check.verdict, CheckVerdict::Clear))
    };
    let all = ids(&second);
    let mut new = all.difference(&ids(first)).copied().collect::<Vec<_>>().into_iter();
    match new.find(|id| !["KVT013", "KVT016"].contains(id) || judged(id)) {
        Some(new) => Err(format!("new: {new} {}", found(&second, new).unwrap().summary)),
        None => Ok(true),
    }
}

#[test]
fn every_fix_removes_its_finding_and_raises_no_other() {
    let mut applied: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in 1..=SEEDS {
        let before = Deployment::generated(seed);
        let (_, first) = played(&before.frames(ATTACH));
        for finding in &first.findings {
            match tried(&before, &first, finding) {
                Ok(tried) => *applied.entry(finding.id).or_default() += usize::from(tried),
                Err(why) => {
                    let fix = &finding.fix.as_ref().unwrap();
                    let commands = fix.kubectl.as_deref().unwrap_or_default();
                    let (id, summary) = (finding.id, &finding.summary);
                    wrong.push(format!(
                        "seed {seed}, {id}: {why}\n  {summary}\n  {}\n  {commands}\n  {}",
                        fix.sentence, before.graph
                    ));
                }
            }
        }
    }
    let some = wrong.iter().take(8).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {applied:?}:\n{some}", wrong.len());
    for id in PATCHED {
        assert!(applied.get(id).is_some_and(|count| *count >= 10), "{id}: {applied:?}");
    }
}

/// Three workers of TensorRT-LLM with blocks of 32 tokens, engines with 16 by a `ConfigMap` or an argument.
fn mismatched(by_file: bool) -> Deployment {
    let file = json!({ "agg.yaml": "kv_cache_config:\n  tokens_per_block: 16\n" });
    let (engine, volumes) = if by_file {
        (
            ["--extra-engine-args", "/engine/agg.yaml"],
            json!([{ "name": "e", "configMap": { "name": "engine" } }]),
        )
    } else {
        (["--override-engine-args", r#"{"kv_cache_config":{"tokens_per_block":16}}"#], json!([]))
    };
    let image = "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.9.0";
    let mut made = Deployment {
        graph: json!({
            "apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment",
            "metadata": { "name": "demo", "namespace": "serving", "generation": 3 },
            "spec": { "services": {
                "Frontend": {
                    "componentType": "frontend", "replicas": 1,
                    "envs": [
                        { "name": "DYN_ROUTER_MODE", "value": "kv" },
                        { "name": "DYN_KV_CACHE_BLOCK_SIZE", "value": "32" },
                    ],
                    "extraPodSpec": { "mainContainer": { "image": image, "command": ["python3", "-m", "dynamo.frontend"] } },
                },
                "Worker": {
                    "componentType": "worker", "replicas": 3,
                    "extraPodSpec": {
                        "mainContainer": {
                            "image": image,
                            "command": ["python3", "-m", "dynamo.trtllm"],
                            "args": ["--model-path", "m", "--kv-block-size", "32", "--publish-events-and-metrics", engine[0], engine[1]],
                            "volumeMounts": [{ "name": "e", "mountPath": "/engine" }],
                        },
                        "volumes": volumes,
                    },
                },
            } },
        }),
        maps: Vec::new(),
        pods: Vec::new(),
    };
    if by_file {
        made.maps.push(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "engine", "namespace": "serving" }, "data": file,
        }));
    }
    made.pods = made.fresh_pods(START);
    made
}

/// Returns what was changed, as frames of a watch.
fn modified(deployment: &Deployment, at: u64) -> Vec<Frame> {
    let mut frames =
        vec![seen("DynamoGraphDeployment", KubeChange::Modified, &deployment.graph, at)];
    frames.extend(deployment.maps.iter().map(|it| seen("ConfigMap", KubeChange::Modified, it, at)));
    frames
}

/// Returns the graph deployments of a manifest, each with the `ConfigMap`s beside it and the pods that an operator
/// makes of it.
fn of_manifest(text: &str) -> Vec<Deployment> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let of = |kind: &'static str| documents.iter().filter(move |it| it["kind"] == kind).cloned();
    let mut maps: Vec<Value> = of("ConfigMap").collect();
    for map in &mut maps {
        map["metadata"]["namespace"] = "serving".into();
    }
    let made = of("DynamoGraphDeployment").map(|mut graph| {
        let metadata = &mut graph["metadata"];
        metadata["name"] = "demo".into();
        metadata["namespace"] = "serving".into();
        metadata["generation"] = 3.into();
        let mut made = Deployment { graph, maps: maps.clone(), pods: Vec::new() };
        made.pods = made.fresh_pods(START);
        made
    });
    made.collect()
}

#[test]
fn every_fix_for_a_manifest_removes_its_finding_and_raises_no_other() {
    let mut applied: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(fixture("lint")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Templates and texts that are no YAML have no objects.
        let yaml = path.extension().is_some_and(|it| it == "yaml");
        if !yaml || ["helm.yaml", "unreadable.yaml"].contains(&name.as_str()) {
            continue;
        }
        for before in of_manifest(&std::fs::read_to_string(&path).unwrap()) {
            let (_, first) = played(&before.frames(ATTACH));
            for finding in &first.findings {
                match tried(&before, &first, finding) {
                    Ok(tried) => *applied.entry(finding.id).or_default() += usize::from(tried),
                    Err(why) => wrong.push(format!("{name}, {}: {why}", finding.id)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{applied:?}:\n{}", wrong.join("\n"));
    let total: usize = applied.values().sum();
    assert!(total >= 8, "{applied:?}");
}

fn rollout(snapshot: &Snapshot) -> (RolloutStage, usize, usize, Vec<String>) {
    let finding = found(snapshot, "KVT001").unwrap();
    let fix = finding.fix.as_ref().unwrap();
    let row = fix.rollout.as_ref().unwrap();
    let waiting = row.waiting.iter().map(ToString::to_string).collect();
    (row.stage, row.restarted, row.pods, waiting)
}

/// Until the successor of a pod is there, the fix is still about three of which `done` restarted.
fn assert_between(frames: &[Frame], done: usize) {
    let (_, between) = played(frames);
    let (_, restarted, pods, _) = rollout(&between);
    assert_eq!((restarted, pods), (done, 3));
}

#[test]
fn a_rollout_is_followed_pod_by_pod_by_who_watches_and_by_who_comes_late() {
    for by_file in [true, false] {
        let before = mismatched(by_file);
        let mut frames = before.frames(ATTACH);
        let (_, first) = played(&frames);
        let text = commands(found(&first, "KVT001").unwrap()).unwrap();
        let deleted = text.contains("kubectl -n serving delete pod");
        assert_eq!(
            deleted, by_file,
            "the operator does not restart what reads a ConfigMap: {text}"
        );
        assert_eq!(rollout(&first).0, RolloutStage::NotApplied);

        let mut after = before.clone();
        after.apply(&patches(text)).unwrap();
        let patched = ATTACH + 30 * SECOND;
        frames.extend(modified(&after, patched));
        let stamp = jiff::Timestamp::from_microsecond(i64::try_from(patched).unwrap()).unwrap();
        for object in after.maps.iter_mut().chain([&mut after.graph]) {
            object["metadata"]["managedFields"] = json!([{ "time": stamp.to_string() }]);
        }
        let old: Vec<String> = before.pods[1..]
            .iter()
            .map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned())
            .collect();
        let fresh = after.fresh_pods(patched + 30 * SECOND);
        for done in 0..=3 {
            let at = patched + (60 + done as u64) * SECOND;
            if done > 0 {
                frames.push(seen("Pod", KubeChange::Deleted, &before.pods[done], at));
                assert_between(&frames, done - 1);
                frames.push(seen("Pod", KubeChange::Added, &fresh[done], at));
            }
            let mut now = after.clone();
            now.pods = [&before.pods[..1], &fresh[1..=done], &before.pods[done + 1..]].concat();
            let (_, watching) = played(&frames);
            let (_, late) = played(&now.frames(at));
            if done == 3 {
                assert!(found(&late, "KVT001").is_none(), "{:?}", found(&late, "KVT001"));
                continue;
            }
            let stage = if done == 0 { RolloutStage::Applied } else { RolloutStage::Restarting };
            for (who, snapshot) in [("watching", &watching), ("late", &late)] {
                let Some(finding) = found(snapshot, "KVT001") else {
                    // What engines read before kvtop came, nobody can know by configuration alone.
                    assert!(by_file && who == "late", "{who}, {done} done");
                    continue;
                };
                let waiting = old[done..].to_vec();
                assert_eq!(rollout(snapshot), (stage, done, 3, waiting), "{who} {by_file}");
                let fix = finding.fix.as_ref().unwrap();
                let said = format!("{done} of 3 pods run with it. Restart");
                assert!(fix.sentence.clone().contains(&said), "{who}: {}", fix.sentence);
                assert!(fix.sentence.clone().contains("Already set since "), "{}", fix.sentence);
                let command = fix.kubectl.as_ref().unwrap();
                assert!(command.contains(&old[2]) && !command.contains(" patch "), "{command}");
                let text = kvtop::report::check::text(snapshot);
                assert!(text.contains("fix applied at "), "{text}");
                assert!(text.contains(&format!("{done} of 3 pods restarted")), "{text}");
            }
        }
    }
}
