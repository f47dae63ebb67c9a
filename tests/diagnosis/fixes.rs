//! Printed commands, applied to the recorded manifests they are meant for: nothing gets lost.

use kvtop::frame::Frame;
use serde_json::{Value, json};

use super::settings::{Namespace, found};
use crate::support::{fixture, frames, played};

/// Applies the patch of a printed `kubectl patch --type=json` as an API server does (RFC 6902).
fn applied(command: &str, object: &Value) -> Value {
    let (_, quoted) = command.split_once("--type=json -p ").unwrap();
    let quoted = quoted.strip_prefix('\'').unwrap().strip_suffix('\'').unwrap();
    let operations: Vec<Value> = serde_json::from_str(&quoted.replace(r"'\''", "'")).unwrap();
    let mut object = object.clone();
    for operation in &operations {
        let path = operation["path"].as_str().unwrap();
        let value = &operation["value"];
        match operation["op"].as_str().unwrap() {
            "test" => assert_eq!(object.pointer(path).unwrap_or(&Value::Null), value, "{path}"),
            "replace" => *object.pointer_mut(path).unwrap() = value.clone(),
            "add" => {
                let (parent, key) = path.rsplit_once('/').unwrap();
                let parent = object.pointer_mut(parent).unwrap();
                match parent {
                    Value::Array(items) if key == "-" => items.push(value.clone()),
                    Value::Object(fields) => drop(fields.insert(key.to_owned(), value.clone())),
                    other => panic!("{path} in {other}"),
                }
            }
            other => panic!("{other}"),
        }
    }
    object
}

fn command(namespace: &Namespace, id: &str) -> String {
    let seen = namespace.seen();
    let fix = found(&seen, id).unwrap().fix.as_ref().unwrap().clone();
    fix.kubectl.clone().unwrap_or_else(|| panic!("{fix:?}"))
}

const NEW: &str = "DYN_KV_CACHE_BLOCK_SIZE";

#[test]
fn the_users_frontend_gets_a_variable_and_keeps_the_others() {
    let recorded = Namespace::recorded();
    let command = command(&recorded, "KVT016");

    let after = applied(&command, &recorded.graphs[0]);

    assert!(
        command.starts_with("kubectl -n gtc-demo patch dynamographdeployments.v1alpha1.nvidia.com")
    );
    let mut expected = recorded.graphs[0].clone();
    let envs = expected.pointer_mut("/spec/services/Frontend/envs").unwrap();
    envs.as_array_mut().unwrap().push(json!({"name": NEW, "value": "32"}));
    assert_eq!(after, expected);
}

#[test]
fn a_variable_that_is_there_is_changed_and_a_missing_list_is_made() {
    let mut set = Namespace::recorded();
    let envs = "/spec/services/Frontend/envs";
    let list = json!([{"name": NEW, "value": "16"}, {"name": "DYN_ROUTER_MODE", "value": "kv"}]);
    *set.graphs[0].pointer_mut(envs).unwrap() = list;
    let mut none = Namespace::recorded();
    let frontend = none.graphs[0].pointer_mut("/spec/services/Frontend").unwrap();
    frontend.as_object_mut().unwrap().remove("envs");

    let set = applied(&command(&set, "KVT016"), &set.graphs[0]);
    let none = applied(&command(&none, "KVT016"), &none.graphs[0]);

    let expected =
        json!([{"name": NEW, "value": "32"}, {"name": "DYN_ROUTER_MODE", "value": "kv"}]);
    assert_eq!(set.pointer(envs), Some(&expected));
    assert_eq!(none.pointer(envs), Some(&json!([{"name": NEW, "value": "32"}])));
}

#[test]
fn a_recorded_deployment_of_v1beta1_keeps_its_components() {
    let recorded = frames(&fixture("clusters/v1beta1.frames"));
    let kvtop::frame::Body::Whole(bytes) = &recorded[0].body else { panic!("it has parts") };
    let mut object: Value = serde_json::from_slice(bytes).unwrap();
    // Its engine's configuration is in the image, where nobody sees it; without it a default holds.
    let args = "/spec/components/1/podTemplate/spec/containers/0/args";
    let args = object.pointer_mut(args).unwrap().as_array_mut().unwrap();
    let file = args.iter().position(|word| word == "--extra-engine-args").unwrap();
    args.drain(file..=file + 1);
    let (_, seen) =
        played(&[Frame::new(recorded[0].at, recorded[0].origin.clone(), object.to_string())]);
    let fix = found(&seen, "KVT016").and_then(|finding| finding.fix.clone()).unwrap();

    let after = applied(fix.kubectl.as_deref().unwrap(), &object);

    let mut expected = object;
    let env = "/spec/components/0/podTemplate/spec/containers/0/env";
    let list = expected.pointer_mut(env).unwrap().as_array_mut().unwrap();
    list.push(json!({"name": NEW, "value": "32"}));
    assert_eq!(after, expected);
}

#[test]
fn a_size_of_a_config_map_is_mended_there() {
    let mut split = Namespace::recorded();
    for config in &mut split.configs {
        if let Some(file) = config["data"].get_mut("agg.yaml") {
            *file = "kv_cache_config:\n  tokens_per_block: 64\n".into();
        }
    }
    let seen = split.seen();

    let finding = found(&seen, "KVT001").unwrap();
    let fix = finding.fix.as_ref().unwrap();

    let place = "In ConfigMap trtllm-engine-config, key agg.yaml, change tokens_per_block from 64 to 32, then";
    assert!(fix.sentence.clone().starts_with(place), "{}", fix.sentence);
    let command = fix.kubectl.as_ref().unwrap();
    let patch = "kubectl -n gtc-demo patch configmap trtllm-engine-config --type=json -p '[{\"op\":\"test\",\
                 \"path\":\"/data/agg.yaml\",\"value\":\"kv_cache_config:\\n  tokens_per_block: 64\\n\"},";
    assert!(command.starts_with(patch), "{command}");
    assert!(command.contains("kubectl -n gtc-demo delete pod"), "{command}");
}
