//! Block sizes of workers, compared with each other.

use kvtop::diagnose::Verdict;
use kvtop::domain::{Timestamp, WorkerId};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::snapshot::{CheckVerdict, Snapshot};

use super::settings::found;
use crate::support::{fixture, frames, played};

/// The recorded namespace whose objects of `kind` are rewritten; none drops the object.
fn rewritten(edit: impl Fn(&str, &str) -> Option<String>) -> Snapshot {
    let mut changed = Vec::new();
    for frame in frames(&fixture("clusters/config-map.frames")) {
        let (Origin::Kube { kind, .. }, Body::Whole(bytes)) = (&frame.origin, &frame.body) else {
            changed.push(frame);
            continue;
        };
        let Some(text) = edit(kind, std::str::from_utf8(bytes).unwrap()) else { continue };
        changed.push(Frame::new(frame.at, frame.origin.clone(), text));
    }
    played(&changed).1
}

/// The same workers under vLLM, started with blocks of 16; their cards say `card`.
fn vllm(kind: &str, text: &str, card: u32) -> String {
    match kind {
        "Pod" | "DynamoGraphDeployment" => text
            .replace("tensorrtllm-runtime:0.9.0", "vllm-runtime:1.1.1")
            .replace("dynamo.trtllm", "dynamo.vllm")
            .replace("\"--extra-engine-args\"", "\"--block-size\"")
            .replace("\"/engine-config/agg.yaml\"", "\"16\"")
            .replace("\"--publish-events-and-metrics\"", "\"--enforce-eager\""),
        "DynamoWorkerMetadata" => {
            let said = |colon: &str| format!("\"kv_cache_block_size\"{colon}");
            text.replace(&format!("{}32", said(":")), &format!("{}{card}", said(":")))
                .replace(&format!("{}32", said(": ")), &format!("{}{card}", said(": ")))
        }
        _ => text.to_owned(),
    }
}

fn verdict(seen: &Snapshot) -> (CheckVerdict, String) {
    let check = seen.checks.iter().find(|check| check.id == "KVT002").unwrap();
    (check.verdict.clone(), check.note.clone())
}

#[test]
fn a_worker_whose_engine_changed_the_size_does_not_disagree_with_itself() {
    // vLLM aligns the blocks of hybrid models, whatever the flag says.
    let seen = rewritten(|kind, text| Some(vllm(kind, text, 528)));

    assert!(found(&seen, "KVT002").is_none(), "{:?}", found(&seen, "KVT002"));
    let (said, note) = verdict(&seen);
    assert_eq!(said, CheckVerdict::Clear);
    assert_eq!(note, "Auto-configured KV block size: 528 (from worker reports)");
    // Nor do its row and its flag: the card is what is in effect.
    for row in seen.workers.iter().filter(|row| row.pod.is_some()) {
        let sizes = (row.block_size.engine, row.block_size.publisher, row.block_size.card);
        assert_eq!(sizes, (Some(528), Some(528), Some(528)), "{row:?}");
    }
}

#[test]
fn a_worker_without_a_card_is_compared_with_what_others_were_started_with() {
    let missing = |kind: &str, text: &str| kind == "DynamoWorkerMetadata" && text.contains("mj7km");
    let alike = rewritten(|kind, text| (!missing(kind, text)).then(|| vllm(kind, text, 528)));
    let unlike = rewritten(|kind, text| {
        let other = kind == "Pod" && text.contains("\"name\":\"gtc-demo-0-trtllmworker-mj7km\"");
        let other = other || text.contains("\"name\": \"gtc-demo-0-trtllmworker-mj7km\"");
        let text = (!missing(kind, text)).then(|| vllm(kind, text, 528))?;
        Some(if other { text.replace("\"16\"", "\"64\"") } else { text })
    });

    assert_eq!(verdict(&alike).0, CheckVerdict::Clear);
    let (CheckVerdict::Unknown { missing }, _) = verdict(&unlike) else {
        panic!("{:?}", verdict(&unlike))
    };
    assert!(missing.contains("started with 64") && missing.contains("say 528"), "{missing}");
}

#[test]
fn the_odd_ones_are_told_by_the_flag_of_their_engine_in_their_manifest() {
    let seen = played(&frames(&fixture("clusters/vllm.frames"))).1;

    let fix = found(&seen, "KVT002").unwrap().fix.as_ref().unwrap();

    let odd = "Restart vllm-agg-router-crashworker-fcd76796b-nfqw2 with --block-size 16, as the other workers have.";
    assert_eq!(fix.sentence, odd);
    let (yaml, kubectl) = (fix.yaml.as_ref().unwrap(), fix.kubectl.as_ref().unwrap());
    assert!(yaml.contains("- \"--block-size\"\n- \"16\""), "{yaml}");
    assert!(kubectl.contains("CrashWorker") && !kubectl.contains("kv-block-size"), "{kubectl}");
    // The others have that size, or nobody set one: they need not load their model again.
    for other in ["VllmWorker", "PendingWorker", "PullWorker"] {
        assert!(!kubectl.contains(other) && !fix.restarts.clone().contains(other), "{kubectl}");
    }
}

/// A scrape of a frontend that adopted these sizes.
fn frontend(pod: &str, seconds: u64, sizes: &[(&str, u32)]) -> Frame {
    let line = |(model, size): &(&str, u32)| {
        format!("dynamo_frontend_model_kv_cache_block_size{{model=\"{model}\"}} {size}\n")
    };
    let origin = Origin::Metrics { pod: pod.into(), url: "/metrics".into() };
    Frame::new(Timestamp(seconds * 1_000_000), origin, sizes.iter().map(line).collect::<String>())
}

#[test]
fn a_frontend_of_two_models_has_a_size_for_each() {
    let said = |scrapes: &[Frame]| {
        let (_, seen) = played(scrapes);
        let finding = found(&seen, "KVT013").filter(|finding| finding.resolved.is_none());
        finding.map(|finding| finding.summary.clone())
    };
    let both = [("llama", 16), ("qwen", 32)];

    assert_eq!(said(&[frontend("a", 1, &both), frontend("b", 2, &both)]), None);
    assert_eq!(said(&[frontend("a", 1, &both), frontend("b", 2, &[("llama", 16)])]), None);
    let named = "Routers hash with different block sizes for qwen: 32 (a); 64 (b).";
    let odd = frontend("b", 2, &[("llama", 16), ("qwen", 64)]);
    assert_eq!(said(&[frontend("a", 1, &both), odd]).as_deref(), Some(named));
    let one = "Routers hash with different block sizes: 16 (a); 32 (b).";
    let split = [frontend("a", 1, &[("llama", 16)]), frontend("b", 2, &[("llama", 32)])];
    assert_eq!(said(&split).as_deref(), Some(one));
    // A model that is served no more takes its size along.
    // All within a second: a finding that was raised is resolved by proof alone.
    let odd = frontend("b", 1, &[("llama", 16), ("qwen", 64)]);
    let left = [frontend("a", 1, &both), odd, frontend("b", 1, &[("llama", 16)])];
    assert_eq!(said(&left), None);
}

#[test]
fn a_worker_is_routed_by_the_size_of_its_own_model() {
    let card = |worker: u64, model: &str, size: u32| {
        let value = serde_json::json!({
            "type": "Model", "component": "backend", "endpoint": "generate",
            "namespace": "dynamo", "instance_id": worker,
            "card_json": { "kv_cache_block_size": size, "display_name": model },
        });
        let key = format!("v1/mdc/dynamo/backend/generate/{worker:x}").into();
        Frame::new(Timestamp(1), Origin::Etcd { key, put: true }, value.to_string())
    };
    let told = frontend("a", 1, &[("llama", 16), ("qwen", 32)]);

    let (_, seen) = played(&[card(7, "llama", 16), card(8, "qwen", 32), card(9, "x", 8), told]);

    let sizes = seen.workers.iter().map(|row| (row.block_size.card, row.block_size.router));
    let expected = [(Some(16), Some(16)), (Some(32), Some(32)), (Some(8), None)];
    assert_eq!(sizes.collect::<Vec<_>>(), expected);
}

/// The recording of `release`, in which one of two workers says by its card that it computes prompts only, in
/// blocks of 32 tokens.
fn with_prefill(release: &str) -> Snapshot {
    let mut changed = Vec::new();
    for frame in frames(&fixture(&format!("captures/{release}-healthy.frames.gz"))) {
        let (Origin::Etcd { key, .. }, Body::Whole(bytes)) = (&frame.origin, &frame.body) else {
            changed.push(frame);
            continue;
        };
        let Ok(mut card) = serde_json::from_slice::<serde_json::Value>(bytes) else { continue };
        if key.starts_with("v1/mdc/") && key.ends_with("08") {
            card["card_json"]["worker_type"] = "prefill".into();
            card["card_json"]["kv_cache_block_size"] = 32.into();
        }
        changed.push(Frame::new(frame.at, frame.origin.clone(), card.to_string()));
    }
    played(&changed).1
}

#[test]
fn a_card_says_which_workers_compute_prompts_only() {
    let (said, note) = verdict(&with_prefill("1.6.1"));

    assert_eq!(said, CheckVerdict::Clear);
    assert_eq!(
        note,
        "Auto-configured KV block sizes: 16 (the others), 32 (prefill) (from worker reports)"
    );
}

#[test]
fn more_models_than_are_looked_at_one_by_one_are_unknown_not_clear() {
    let served = |models: u64| {
        let mut evidence = super::rules::healthy();
        let one = |model| (WorkerId(model), format!("model-{model}").into());
        evidence.models = (1..=models).map(one).collect();
        let rule = kvtop::diagnose::rule("KVT001").unwrap();
        matches!(rule.judge(&evidence), Verdict::Unknown { .. })
    };
    assert!(!served(2));
    assert!(served(65));
}
