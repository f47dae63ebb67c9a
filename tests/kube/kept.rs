//! Objects say the same to decoders before and after words that kvtop does not read were replaced.

use std::path::Path;

use kvtop::domain::{Fact, ManifestPart, Timestamp};
use kvtop::frame::{Frame, KubeChange, Origin};
use kvtop::source::decoders::kept_of_object;
use kvtop::wire::{self, Facts};
use serde_json::{Value, json};

fn fixtures(folder: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        for part in text.split("\n---") {
            let Ok(value) = serde_saphyr::from_str::<Value>(part) else { continue };
            match value["items"].as_array() {
                Some(items) => found.extend(items.clone()),
                None => found.push(value),
            }
        }
    }
    found
}

/// Returns what decoders make of an object, but for the words of its manifest.
fn read(kind: &str, object: &Value) -> Vec<String> {
    let mut facts = Facts::default();
    let origin = Origin::Kube { kind: kind.into(), change: KubeChange::Listed };
    wire::decode(&Frame::new(Timestamp(1), origin, object.to_string()), &mut facts).unwrap();
    let told = facts.other.into_iter().map(|fact| match fact {
        Fact::Graph(mut graph) => {
            graph.components.iter_mut().for_each(|it| it.manifest = ManifestPart::default());
            format!("{graph:?}")
        }
        Fact::Pod(mut pod) => {
            pod.manifest = ManifestPart::default();
            format!("{pod:?}")
        }
        fact => format!("{fact:?}"),
    });
    told.collect()
}

#[test]
fn decoders_read_the_same_in_what_is_kept_of_an_object() {
    let mut count = 0;
    for (kind, folder) in [
        ("Pod", "kube/pods"),
        ("DynamoGraphDeployment", "kube/dgd"),
        ("DynamoGraphDeployment", "lint"),
        ("DynamoGraphDeployment", "lint/folder"),
    ] {
        for mut object in fixtures(folder) {
            if object["kind"].is_null() {
                object["kind"] = kind.into();
            }
            if object["kind"] != kind || object["spec"].is_null() {
                continue;
            }
            if object["apiVersion"].is_null() {
                object["apiVersion"] = "v1".into();
            }
            let kept = kept_of_object(kind, object.clone()).unwrap();
            assert_eq!(read(kind, &kept), read(kind, &object), "{folder}\n{object:#}\n{kept:#}");
            count += 1;
        }
    }
    assert!(count > 12, "{count}");
}

/// Ways in which containers start an engine, each with words that kvtop does not read.
#[test]
fn settings_are_found_beside_words_that_are_left_out() {
    let scripts = [
        "set -e; ROLE=blue; if [ \"$ROLE\" = blue ]; then S=32; else S=64; fi; exec python3 -m dynamo.vllm --who me --block-size $S",
        "if [ \"$KIND\" = green ]; then S=32; else S=64; fi; python3 -m dynamo.vllm --block-size $S --hint 'some words'",
        "ARGS=(--who \"you and me\" --block-size 32 --model $MODEL_PATH); python3 -m dynamo.vllm \"${ARGS[@]}\"",
        "case \"$1\" in first) S=32;; *) S=16;; esac; python3 -m dynamo.vllm --note x --block-size \"$S\" # a remark",
        "f() { echo starting \"$1\"; }; f it; cd /work && python3 -m dynamo.vllm $EXTRA --note=it --block-size=32",
        "printf 'kv_cache_config:\\n  tokens_per_block: 32\\nnote: hi\\n' > cfg.yaml; python3 -m dynamo.trtllm --extra-engine-args cfg.yaml --tip 'be good'",
        "cat > /tmp/c.yaml <<END\nkv_cache_config:\n  tokens_per_block: 32\n  what: ever\nEND\npython3 -m dynamo.trtllm --extra-engine-args /tmp/c.yaml",
        "python3 -m dynamo.trtllm --override-engine-args '{\"kv_cache_config\":{\"tokens_per_block\":32,\"x\":\"y\"}}' --say hello there",
    ];
    for script in scripts {
        for shell in ["bash", "sh"] {
            let object = json!({
                "kind": "Pod", "apiVersion": "v1",
                "metadata": {"name": "w", "namespace": "n", "uid": "1",
                    "labels": {"nvidia.com/dynamo-component-type": "worker"}},
                "spec": {"containers": [{"name": "main", "image": "vllm-runtime:0.9.0",
                    "command": [shell, "-c", script, "--"], "args": ["first"],
                    "env": [
                        {"name": "KIND", "value": "green"},
                        {"name": "MODEL_PATH", "value": "Qwen/Qwen3"},
                        {"name": "EXTRA", "value": "--max-num-seqs 8 --tune it"},
                    ]}]},
            });
            let kept = kept_of_object("Pod", object.clone()).unwrap();
            assert_eq!(read("Pod", &kept), read("Pod", &object), "{script}\n{kept:#}");
        }
    }
}
