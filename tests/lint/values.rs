//! Values that Dynamo does not know, and lines that go.

use kvtop::domain::Severity;
use kvtop::lint::{Verdicts, lint};
use kvtop::report;

use super::{corrected, linted, shown};
use kvtop::lint::Source;

/// A deployment of vLLM with these variables on its frontend.
fn with_env(release: &str, variables: &[(&str, &str)]) -> String {
    let entry = |(name, value): &(&str, &str)| {
        format!("        - name: {name}\n          value: \"{value}\"\n")
    };
    let envs: String = variables.iter().map(entry).collect();
    format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: v}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n{envs}      extraPodSpec: {{mainContainer: {{image: \
         a/vllm-runtime:{release}}}}}\n    W:\n      componentType: worker\n      extraPodSpec:\n        \
         mainContainer:\n          image: a/vllm-runtime:{release}\n          command: [python3, -m, \
         dynamo.vllm]\n          args: [--model, m, --block-size, \"16\"]\n"
    )
}

fn effects(found: &Verdicts) -> Vec<(&str, usize, &str)> {
    let unknown = found.flaws.iter().filter(|flaw| flaw.id == "KVT104");
    unknown.map(|flaw| (flaw.summary.as_str(), flaw.spots[0].line, flaw.effect.as_str())).collect()
}

const ROUND_ROBIN: &str = "The frontend silently routes by round-robin, not by cached blocks.";

#[test]
fn a_misspelt_mode_is_a_finding_and_hides_none() {
    for mode in ["KV", "kv-aware", "kv_router"] {
        let found = linted(&with_env("1.1.1", &[("DYN_ROUTER_MODE", mode)]));

        let summary = format!("DYN_ROUTER_MODE: \"{mode}\" is not a Dynamo router mode.");
        assert_eq!(effects(&found), [(summary.as_str(), 9, ROUND_ROBIN)]);
        assert_eq!(shown(&found), [("KVT003", 18), ("KVT104", 9)], "{found:?}");
        assert_eq!(report::lint::exit(&found), 1);
        let text = with_env("1.1.1", &[("DYN_ROUTER_MODE", mode)]);
        let sources = [Source { name: "quoted.yaml".into(), text }];
        assert_eq!(shown(&lint(&corrected(&sources, &found))), []);
    }
    let other = linted(&with_env("0.9.0", &[("DYN_ROUTER_MODE", "roundrobin")]));
    assert_eq!(effects(&other).len(), 1);
    assert!(other.flaws[0].fix.starts_with("Use one of round-robin, random, kv"), "{other:?}");
    for mode in ["kv", "random", "round-robin", "least-loaded", "$(MODE)", "{{ .Values.mode }}"] {
        let found = linted(&with_env("0.9.0", &[("DYN_ROUTER_MODE", mode)]));
        assert_eq!(effects(&found), [], "{mode}");
    }
    let flag = with_env("1.6.1", &[]).replace(
        "a/vllm-runtime:1.6.1}}\n    W",
        "a/vllm-runtime:1.6.1, args: [\"--router-mode=KV\"]}}\n    W",
    );
    assert_eq!(effects(&linted(&flag))[0].2, "The frontend does not start.");
}

#[test]
fn an_event_plane_that_dynamo_does_not_know_is_a_finding() {
    let found = linted(&with_env("1.6.1", &[("DYN_EVENT_PLANE", "NATS")]));

    let summary = "DYN_EVENT_PLANE: \"NATS\" is not an event plane of Dynamo.";
    assert_eq!(effects(&found), [(summary, 9, "The process does not start.")]);
    for plane in ["nats", "zmq", "", "$(PLANE)"] {
        assert_eq!(effects(&linted(&with_env("1.6.1", &[("DYN_EVENT_PLANE", plane)]))), []);
    }
}

#[test]
fn a_mode_is_read_as_dynamo_reads_it() {
    let of = |release: &str, mode: &str| linted(&with_env(release, &[("DYN_ROUTER_MODE", mode)]));
    // Python compares it with its spaces.
    for mode in [" kv", "kv "] {
        let found = of("0.9.0", mode);
        let summary = format!("DYN_ROUTER_MODE: \"{mode}\" is not a Dynamo router mode.");
        assert_eq!(effects(&found), [(summary.as_str(), 9, ROUND_ROBIN)]);
    }
    let refused = of("1.6.1", "KV");
    assert_eq!(effects(&refused)[0].2, "The frontend does not start.");
    // An unknown mode is round-robin up to then, which is what this one means.
    let meant = of("0.9.0", "round_robin");
    assert_eq!((effects(&meant).len(), report::lint::exit(&meant)), (1, 0), "{meant:?}");
    assert_eq!(meant.flaws[0].fix, "Use round-robin.");
    assert_eq!(report::lint::exit(&of("1.6.1", "round_robin")), 1);
}

#[test]
fn an_empty_block_size_is_no_number() {
    let variables = [("DYN_ROUTER_MODE", "kv"), ("DYN_KV_CACHE_BLOCK_SIZE", "")];
    let found = linted(&with_env("1.1.1", &variables));

    let summary = "DYN_KV_CACHE_BLOCK_SIZE: \"\" is not a whole number.";
    assert_eq!(effects(&found), [(summary, 11, "The process does not start.")]);
}

/// A worker of one engine beside a frontend that routes by cached blocks.
fn with_worker(labels: &str, engine: &str, environment: &str, arguments: &str) -> String {
    format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: v}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs: [{{name: DYN_ROUTER_MODE, value: kv}}]\n      \
         extraPodSpec: {{mainContainer: {{image: a/{engine}-runtime:1.6.1}}}}\n    W:\n      componentType: worker\n      \
         {labels}\n      envs: [{environment}]\n      extraPodSpec:\n        mainContainer:\n          image: \
         a/{engine}-runtime:1.6.1\n          command: [python3, -m, dynamo.{engine}]\n          args: [{arguments}]\n"
    )
}

#[test]
fn a_worker_is_what_its_engine_is_told_to_be_whatever_its_label_says() {
    let silent = |text: &str| linted(text).flaws.iter().any(|flaw| flaw.id == "KVT003");
    let label = "subComponentType: decode";

    assert!(silent(&with_worker(label, "vllm", "", "--model, m")));
    let flag = "--model, m, --disaggregation-mode, decode";
    assert!(!silent(&with_worker(label, "vllm", "", flag)));
    let variable = "{name: DYN_VLLM_DISAGGREGATION_MODE, value: decode}";
    assert!(!silent(&with_worker("replicas: 1", "vllm", variable, "--model, m")));
}

#[test]
fn a_file_of_a_config_map_is_read_whatever_its_key_is_called() {
    let text = |key: &str| {
        let volume = format!(
            "{{name: c, configMap: {{name: engine, items: [{{key: {key}, path: agg.yaml}}]}}}}"
        );
        let worker = with_worker(
            "replicas: 1",
            "trtllm",
            "",
            "--model-path, m, --extra-engine-args, /c/agg.yaml",
        );
        let worker = worker.replace(
            "        mainContainer:\n          image",
            &format!(
                "        volumes: [{volume}]\n        mainContainer:\n          volumeMounts: [{{name: c, mountPath: /c}}]\n          image"
            ),
        );
        let config = "kv_cache_config:\n      tokens_per_block: 64\n";
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: engine}}\ndata:\n  {key}: |\n    {config}---\n{worker}"
        )
    };

    let sizes = |key: &str| {
        let found = linted(&text(key));
        let ids: Vec<&str> = shown(&found).into_iter().map(|(id, _)| id).collect();
        ids.into_iter().filter(|id| *id == "KVT016").count()
    };
    assert_eq!((sizes("agg.yaml"), sizes("engine"), sizes("agg.conf")), (1, 1, 1));
}

#[test]
fn sglang_publishes_where_a_publisher_is_named() {
    let silent = |config: &str| {
        let arguments = format!("--model-path, m, --kv-events-config, '{config}'");
        let found = linted(&with_worker("replicas: 1", "sglang", "", &arguments));
        found.flaws.iter().any(|flaw| flaw.id == "KVT003")
    };

    assert!(silent(r#"{"enable_kv_cache_events":true}"#));
    assert!(silent(r#"{"publisher":"null","endpoint":"tcp://*:5557"}"#));
    assert!(!silent(r#"{"publisher":"zmq","endpoint":"tcp://*:5557"}"#));
}

#[test]
fn numbers_and_switches_that_are_none_are_findings() {
    let mode = ("DYN_ROUTER_MODE", "kv");
    let of = |release: &str, name: &str, value: &str| {
        let found = linted(&with_env(release, &[mode, (name, value)]));
        let told = effects(&found).first().map(|it| (it.0.to_owned(), it.1, it.2.to_owned()));
        (told, found)
    };
    let stops = "The process does not start.".to_owned();

    let (told, found) = of("0.9.0", "DYN_ROUTER_TEMPERATURE", "0,5");
    let summary = "DYN_ROUTER_TEMPERATURE: \"0,5\" is not a number.".to_owned();
    assert_eq!(told, Some((summary, 11, stops.clone())));
    assert!(found.flaws[0].edits[0].yaml.contains("value: \"0.5\""), "{found:?}");
    for size in ["sixteen", "0x10", "16.0"] {
        let (told, found) = of("1.1.1", "DYN_KV_CACHE_BLOCK_SIZE", size);
        let summary = format!("DYN_KV_CACHE_BLOCK_SIZE: \"{size}\" is not a whole number.");
        assert_eq!(told, Some((summary, 11, stops.clone())));
        let open = found.unjudged.iter().find(|open| open.id == "KVT016").unwrap();
        assert!(open.missing.ends_with("declared size (KVT104)"), "{open:?}");
    }
    assert_eq!(of("1.1.1", "DYN_KV_CACHE_BLOCK_SIZE", " 1_6 ").0, None);
    let (told, _) = of("1.1.1", "DYN_ROUTER_USE_KV_EVENTS", "enabled");
    assert_eq!(told.unwrap().2, "The value counts as false.");
    let (told, _) = of("0.9.0", "DYN_KV_EVENTS", "enabled");
    assert_eq!(told.unwrap().2, "The effect in this version is unknown.");
    let worker = with_env("1.1.1", &[mode]).replace("--block-size, \"16\"", "--block-size, big");
    assert_eq!(
        effects(&linted(&worker)),
        [("--block-size: \"big\" is not a whole number.", 18, &*stops)]
    );
}

#[test]
fn a_line_that_goes_is_said_to_go_and_a_comment_says_what_it_was_said_of() {
    let text = with_env("0.9.0", &[("DYN_ROUTER_MODE", "kv"), ("DYN_ROUTER_TEMPERATURE", "0.5")])
        .replace("\"0.5\"\n", "\"0.5\"  # Add some randomness\n")
        .replace("dynamo.vllm", "dynamo.sglang")
        .replace(
            "args: [--model, m, --block-size, \"16\"]",
            "args:\n            - --page-size=16\n            - --kv-events-config\n            - \
             '{\"publisher\":\"zmq\"}'\n            - --disable-radix-cache",
        );
    let found = linted(&text);

    let page = report::lint::text(&found);

    assert_eq!(shown(&found), [("KVT005", 11), ("KVT017", 24)], "{page}");
    assert!(page.contains("\n  quoted.yaml: delete line 24\n"), "{page}");
    assert!(!page.contains("line 24 becomes"), "{page}");
    assert!(page.contains("value: \"0.0\"  # was \"0.5\": Add some randomness\n"), "{page}");
    let sources = [Source { name: "quoted.yaml".into(), text }];
    assert_eq!(shown(&lint(&corrected(&sources, &found))), []);
}

#[test]
fn an_overlay_that_is_not_built_is_not_taken_for_what_it_names() {
    let text = with_env("1.1.1", &[("DYN_ROUTER_MODE", "round-robin")]);
    let of = |overlay: &str| {
        let source = |name: &str, text: &str| Source { name: name.into(), text: text.to_owned() };
        lint(&[source("base/dgd.yaml", &text), source("over/kustomization.yaml", overlay)])
    };

    let found = of("resources: [../base]\npatches:\n- path: patch.yaml\n");
    assert_eq!(found.unreadable.len(), 1, "{found:?}");
    assert!(found.unreadable[0].1.why.contains("kubectl kustomize"), "{found:?}");
    assert_eq!(report::lint::exit(&found), 3);
    assert!(of("resources: [../base]\n").unreadable.is_empty());
}

#[test]
fn a_worker_has_a_router_mode_of_its_own_from_1_5_on() {
    let of = |release: &str, frontend: &[(&str, &str)], mode: &str| {
        let own = format!("        - {{name: DYN_ROUTER_MODE, value: {mode}}}\n");
        let text = with_env(release, frontend).replace(
            "    W:\n      componentType: worker\n",
            &format!("    W:\n      componentType: worker\n      envs:\n{own}"),
        );
        let text = text.replace("[--model, m,", "[--model, m, --kv-events-config, '{\"publisher\": \"zmq\", \"topic\": \"kv-events\", \"enable_kv_cache_events\": true}',");
        (linted(&text), text)
    };
    let kv = [("DYN_ROUTER_MODE", "kv")];

    let (other, text) = of("1.5.1", &kv, "round-robin");
    assert_eq!(shown(&other), [("KVT005", 15)], "{other:?}");
    assert!(
        other.flaws[0].summary.contains("the model cards of these workers override"),
        "{other:?}"
    );
    let sources = [Source { name: "quoted.yaml".into(), text }];
    assert_eq!(shown(&lint(&corrected(&sources, &other))), []);

    for frontend in [&kv[..], &[("DYN_ROUTER_MODE", "round-robin")], &[]] {
        assert_eq!(shown(&of("1.6.1", frontend, "kv").0), [], "{frontend:?}");
    }
    // Their model cards carry all settings of the router.
    for (name, value, id) in [
        ("DYN_ROUTER_USE_KV_EVENTS", "false", "KVT006"),
        ("DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT", "0", "KVT005"),
    ] {
        let frontend = [kv[0], (name, value)];
        assert_eq!(shown(&of("1.6.1", &frontend, "kv").0), [], "{name}");
        let read = of("1.4.2", &frontend, "kv").0;
        assert!(shown(&read).iter().any(|(found, _)| *found == id), "{name}: {read:?}");
    }
    // Workers of older releases do not read it.
    assert_eq!(shown(&of("1.4.2", &kv, "round-robin").0), []);
    assert!(shown(&of("1.4.2", &[], "kv").0).iter().any(|(id, _)| *id == "KVT101"));
}

#[test]
fn a_setting_that_nobody_reads_and_that_would_do_harm_is_to_be_removed() {
    let kv = ("DYN_ROUTER_MODE", "kv");
    let of_worker = |name: &str, value: &str| {
        let own = format!("      envs:\n        - {{name: {name}, value: \"{value}\"}}\n");
        let text = with_env("1.4.2", &[kv]).replace(
            "    W:\n      componentType: worker\n",
            &format!("    W:\n      componentType: worker\n{own}"),
        );
        linted(&text)
    };
    let misplaced = |found: &Verdicts, id: &str| {
        let flaw = found.flaws.iter().find(|flaw| flaw.id == id);
        flaw.map(|flaw| (flaw.fix.clone(), flaw.edits.len())).unwrap()
    };

    assert_eq!(
        misplaced(&of_worker("DYN_ROUTER_USE_KV_EVENTS", "false"), "KVT101"),
        (
            "Remove DYN_ROUTER_USE_KV_EVENTS: on Frontend the router would ignore KV events."
                .into(),
            0
        )
    );
    let kept = misplaced(&of_worker("DYN_ROUTER_USE_KV_EVENTS", "true"), "KVT101");
    assert_eq!(kept, ("Set DYN_ROUTER_USE_KV_EVENTS on Frontend.".into(), 1));

    let renamed = |value: &str| {
        let found = linted(&with_env("1.6.1", &[kv, ("DYN_KV_EVENTS", value)]));
        misplaced(&found, "KVT102")
    };
    let (fix, edits) = renamed("false");
    assert!(fix.starts_with("Remove DYN_KV_EVENTS: as ") && edits == 0, "{fix}");
    let (fix, edits) = renamed("true");
    assert!(fix.starts_with("Set ") && edits == 1, "{fix}");
}

#[test]
fn flags_named_after_keys_of_tensorrt_llm_are_read_and_changed() {
    const KEYS: &str = "--trtllm.kv_cache_config";
    let of = |args: &str| {
        let image = "image: a/tensorrtllm-runtime:1.2.1";
        let text = format!(
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: t}}\nspec:\n  services:\n    \
             Frontend:\n      componentType: frontend\n      envs:\n        - {{name: DYN_ROUTER_MODE, value: kv}}\n        \
             - {{name: DYN_KV_CACHE_BLOCK_SIZE, value: \"32\"}}\n      extraPodSpec: {{mainContainer: {{{image}}}}}\n    \
             W:\n      componentType: worker\n      extraPodSpec:\n        mainContainer:\n          {image}\n          \
             command: [python3, -m, dynamo.trtllm]\n          args: [--model-path, m, --publish-events-and-metrics, \
             --kv-block-size, \"32\", {args}]\n"
        );
        (linted(&text), text)
    };
    assert_eq!(shown(&of(&format!("{KEYS}.tokens_per_block, \"32\"")).0), []);
    for args in [
        format!("{KEYS}.tokens_per_block, \"64\""),
        format!("{KEYS}.enable_block_reuse, \"false\""),
        "--kv-block-size, \"64\", --trtllm.max_batch_size, \"8\"".to_owned(),
    ] {
        let (found, text) = of(&args);
        assert!(!shown(&found).is_empty(), "{args}");
        let sources = [Source { name: "quoted.yaml".into(), text }];
        let corrected = corrected(&sources, &found);
        assert!(!corrected[0].text.contains("--override-engine-args"), "{}", corrected[0].text);
        assert_eq!(shown(&lint(&corrected)), [], "{}", corrected[0].text);
    }
}

#[test]
fn a_gateway_plugin_of_0_9_has_the_size_of_the_operator_where_none_is_set() {
    let of = |release: &str, size: u32| {
        let image = |name: &str| format!("image: nvcr.io/nvidia/ai-dynamo/{name}:{release}");
        linted(&format!(
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: t}}\nspec:\n  services:\n    \
             Epp:\n      componentType: epp\n      extraPodSpec: {{mainContainer: {{{}}}}}\n    W:\n      componentType: \
             worker\n      extraPodSpec:\n        mainContainer:\n          {}\n          command: [python3, -m, \
             dynamo.trtllm]\n          args: [--model-path, m, --publish-events-and-metrics, --kv-block-size, \"{size}\", \
             --override-engine-args, '{{\"kv_cache_config\":{{\"tokens_per_block\":{size}}}}}']\n",
            image("dynamo-epp"),
            image("tensorrtllm-runtime"),
        ))
    };

    let found = of("0.9.0", 32);
    assert_eq!(shown(&found), [("KVT001", 6)], "{found:?}");
    assert_eq!(
        found.flaws[0].fix,
        "On Epp, set DYN_KV_BLOCK_SIZE to 32, the block size that workers publish."
    );
    assert_eq!(shown(&of("0.9.0", 16)), []);
    // From 1.0 on it takes the size of the model card.
    assert_eq!(shown(&of("1.0.1", 32)), []);
}

/// A deployment of vLLM with these variables on its frontend and on its worker, which publishes.
fn with_planes(release: &str, frontend: &[(&str, &str)], worker: &[(&str, &str)]) -> String {
    let frontend = [&[("DYN_ROUTER_MODE", "kv")], frontend].concat();
    let text = with_env(release, &frontend);
    let entry = |(name, value): &(&str, &str)| {
        format!("        - name: {name}\n          value: \"{value}\"\n")
    };
    let envs: String = worker.iter().map(entry).collect();
    let envs = if envs.is_empty() { envs } else { format!("      envs:\n{envs}") };
    text.replace("    W:\n", &format!("    W:\n{envs}")).replace(
        "\"16\"]",
        "\"16\", --kv-events-config, '{\"publisher\": \"zmq\", \"endpoint\": \"tcp://*:5557\", \"enable_kv_cache_events\": true}']",
    )
}

/// A router on another event plane hears no KV event, which nothing says (KVT019 on a live deployment).
#[test]
fn event_planes_of_router_and_workers_are_compared() {
    let plane = "DYN_EVENT_PLANE";
    for (release, frontend, worker, said) in [
        ("1.6.1", Some("nats"), Some("zmq"), Some(("NATS", "ZMQ", "zmq", "Frontend"))),
        ("1.6.1", Some("zmq"), Some("nats"), Some(("ZMQ", "NATS", "nats", "Frontend"))),
        // A default on one side: NATS up to 1.2, and ZMQ from 1.3 on.
        ("1.6.1", Some("nats"), None, Some(("NATS", "ZMQ", "zmq", "Frontend"))),
        ("1.6.1", None, Some("nats"), Some(("ZMQ", "NATS", "nats", "Frontend"))),
        ("1.1.1", None, Some("zmq"), Some(("NATS", "ZMQ", "zmq", "Frontend"))),
        ("1.1.1", None, Some("nats"), None),
        ("1.6.1", Some("nats"), Some("nats"), None),
        ("1.6.1", None, Some("zmq"), None),
        ("1.6.1", None, None, None),
        // Events of 0.9 take JetStream whatever the plane is.
        ("0.9.0", Some("nats"), Some("zmq"), None),
        ("1.6.1", Some("$(PLANE)"), Some("zmq"), None),
    ] {
        let set = |value: Option<&'static str>| -> Vec<(&str, &str)> {
            value.map(|value| (plane, value)).into_iter().collect()
        };
        let text = with_planes(release, &set(frontend), &set(worker));
        let found = linted(&text);
        let flaws: Vec<_> = found.flaws.iter().filter(|flaw| flaw.id == "KVT019").collect();
        let Some((listens, publishes, to, whom)) = said else {
            assert!(flaws.is_empty(), "{release} {frontend:?} {worker:?}: {flaws:?}");
            continue;
        };
        assert_eq!(flaws.len(), 1, "{release} {frontend:?} {worker:?}: {found:?}");
        let summary = format!(
            "Frontend listens for KV events over {listens}, but W publishes them over {publishes}."
        );
        assert_eq!(flaws[0].summary, summary);
        assert!(flaws[0].versions.contains("the default is NATS up to 1.2"), "{flaws:?}");
        assert_eq!(flaws[0].fix, format!("Set DYN_EVENT_PLANE={to} on {whom}."));
        let sources = [Source { name: "quoted.yaml".into(), text }];
        assert_eq!(shown(&lint(&corrected(&sources, &found))), [], "{found:?}");
    }
    let durable = [(plane, "nats"), ("DYN_ROUTER_DURABLE_KV_EVENTS", "true")];
    assert_eq!(shown(&linted(&with_planes("1.1.1", &durable, &[(plane, "zmq")]))), []);
    // From 1.4 on nothing reads that variable.
    let found = linted(&with_planes("1.6.1", &durable, &[(plane, "zmq")]));
    assert!(found.flaws.iter().any(|flaw| flaw.id == "KVT019"), "{found:?}");
    let off = [(plane, "nats"), ("DYN_ROUTER_USE_KV_EVENTS", "false")];
    let found = linted(&with_planes("1.6.1", &off, &[(plane, "zmq")]));
    assert!(found.flaws.iter().all(|flaw| flaw.id != "KVT019"), "{found:?}");
}

/// Where workers differ among themselves, those that differ from the router change.
#[test]
fn a_worker_on_another_event_plane_than_the_others_is_the_one_that_changes() {
    let text = with_planes("1.6.1", &[("DYN_EVENT_PLANE", "nats")], &[("DYN_EVENT_PLANE", "nats")]);
    let (_, worker) = text.split_once("    W:\n").unwrap();
    let odd = worker.replace("\"nats\"", "\"zmq\"");
    let text = format!("{text}    Odd:\n{odd}");
    let found = linted(&text);
    assert_eq!(found.flaws[0].fix, "Set DYN_EVENT_PLANE=nats on Odd.", "{found:?}");
    assert_eq!(
        found.flaws[0].summary,
        "Frontend listens for KV events over NATS, but Odd publishes them over ZMQ."
    );
    let sources = [Source { name: "quoted.yaml".into(), text }];
    assert_eq!(shown(&lint(&corrected(&sources, &found))), []);
}

#[test]
fn up_to_1_1_a_service_and_its_graph_win_over_the_container() {
    let of = |release: &str, graph: &str, service: &str, container: &str| {
        let name = if release == "0.9.0" { "DYN_KV_EVENTS" } else { "DYN_ROUTER_USE_KV_EVENTS" };
        let list = |follows: &str| match follows {
            "" => " []".to_owned(),
            follows => format!("\n            - {{name: {name}, value: \"{follows}\"}}"),
        };
        let (graph, service, container) = (list(graph), list(service), list(container));
        let text = format!(
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: o}}\nspec:\n  \
             envs:{graph}\n  services:\n    Frontend:\n      componentType: frontend\n      envs:{service}\n      \
             extraPodSpec:\n        mainContainer:\n          image: a/sglang-runtime:{release}\n          \
             command: [python3, -m, dynamo.frontend]\n          args: \
             [--router-mode, kv]\n          env:{container}\n    W:\n      componentType: worker\n      \
             extraPodSpec:\n        mainContainer:\n          \
             image: a/sglang-runtime:{release}\n          command: [python3, -m, dynamo.sglang]\n          args: \
             [--model-path, m, --page-size, \"64\", --kv-events-config, \
             '{{\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:5557\"}}']\n"
        );
        (linted(&text), text)
    };
    // By release: what graph, service and container say of KV events, and whether the router follows them.
    let cases = [
        ("0.9.0", "true", "", "false", true),
        ("0.9.0", "false", "", "true", false),
        ("1.1.0", "false", "true", "false", true),
        ("1.1.0", "true", "false", "true", false),
        ("1.2.1", "false", "false", "true", true),
        ("1.2.1", "true", "true", "false", false),
        ("1.6.1", "false", "true", "", true),
    ];
    for case @ (release, graph, service, container, follows) in cases {
        let (found, text) = of(release, graph, service, container);

        let ids: Vec<&str> = shown(&found).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids.contains(&"KVT006"), !follows, "{case:?}: {ids:?}");
        let sources = [Source { name: "quoted.yaml".into(), text }];
        let corrected = corrected(&sources, &found);
        let after = lint(&corrected);
        let is_left = shown(&after).iter().any(|(id, _)| *id == "KVT006");
        assert!(!is_left, "{case:?}: {}", corrected[0].text);
    }
}

/// Returns a graph of one frontend with these `variables` and one vLLM worker with these arguments and variables.
fn vllm(release: &str, variables: &str, args: &str, of_worker: &str) -> Verdicts {
    linted(&format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: v}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs: [{variables}]\n      extraPodSpec: {{mainContainer: \
         {{image: a/vllm-runtime:{release}}}}}\n    W:\n      componentType: worker\n      envs: [{of_worker}]\n      \
         extraPodSpec:\n        mainContainer:\n          image: a/vllm-runtime:{release}\n          command: \
         [python3, -m, dynamo.vllm]\n          args: [--model, m, --block-size, \"16\"{args}]\n"
    ))
}

const PUBLISHES: &str =
    r#", --kv-events-config, '{"enable_kv_cache_events":true,"publisher":"zmq"}'"#;
const KV_MODE: &str = "{name: DYN_ROUTER_MODE, value: kv}";

#[test]
fn silent_workers_of_a_frontend_that_routes_otherwise_are_no_more_than_a_warning() {
    let severity = |found: &Verdicts| {
        found.flaws.iter().find(|flaw| flaw.id == "KVT003").map(|flaw| flaw.severity)
    };
    let declared = "{name: DYN_KV_CACHE_BLOCK_SIZE, value: \"16\"}";

    let missing = vllm("1.5.1", declared, "", "");
    assert_eq!(severity(&missing), Some(Severity::Warning), "{missing:?}");
    assert!(missing.flaws.iter().any(|flaw| flaw.id == "KVT005"), "{missing:?}");
    let routed = vllm("1.5.1", KV_MODE, "", "");
    assert_eq!(severity(&routed), Some(Severity::Critical), "{routed:?}");
}

#[test]
fn the_credit_is_a_share_and_the_weight_a_scale_of_the_load() {
    let with = |name: &str, value: &str| {
        vllm("1.5.1", &format!("{KV_MODE}, {{name: {name}, value: \"{value}\"}}"), PUBLISHES, "")
    };
    for (credit, wrong) in [("1.0", false), ("0", false), ("2.0", true), ("-0.5", true)] {
        let found = with("DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT", credit);
        let known = shown(&found).iter().all(|(id, _)| *id != "KVT104");
        assert_eq!(known, !wrong, "{credit}: {found:?}");
    }
    let found = with("DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT", "2.0");
    let note = found.flaws.iter().find(|flaw| flaw.id == "KVT102").unwrap();
    assert!(note.summary.ends_with("DYN_ROUTER_PREFILL_LOAD_SCALE does the same."), "{note:?}");
}

#[test]
fn comments_are_no_content_however_many_there_are() {
    let comments = "      # why\n".repeat(2000);
    let text = format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: c}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n{comments}      - {KV_MODE}\n      extraPodSpec: \
         {{mainContainer: {{image: a/vllm-runtime:1.5.1}}}}\n    W:\n      componentType: worker\n      \
         extraPodSpec:\n        mainContainer:\n          image: a/vllm-runtime:1.5.1\n          command: [python3, \
         -m, dynamo.vllm]\n          args: [--model, m, --block-size, \"16\"]\n"
    );
    let found = linted(&text);

    assert!(found.unreadable.is_empty(), "{:?}", found.unreadable);
    assert!(shown(&found).iter().any(|(id, _)| *id == "KVT003"), "{found:?}");
}

#[test]
fn vllm_takes_the_keys_of_a_json_flag_one_by_one() {
    let with = |on: &str| {
        let flag = "--kv-events-config";
        let args = format!(
            ", {flag}.enable_kv_cache_events, \"{on}\", {flag}.publisher=zmq, {flag}.endpoint, \"tcp://*:20080\""
        );
        vllm("1.2.0", KV_MODE, &args, "")
    };
    let silent = |found: &Verdicts| shown(found).iter().any(|(id, _)| *id == "KVT003");

    assert!(!silent(&with("True")) && silent(&with("False")), "{:?}", with("True"));
}

#[test]
fn workloads_of_different_dynamo_namespaces_never_meet() {
    let workload = |name: &str, told: &str, command: &str| {
        let env = match told {
            "" => String::new(),
            told => format!("\n        env: [{{name: DYN_NAMESPACE, value: {told}}}]"),
        };
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: p}}\nspec:\n  \
             template:\n    spec:\n      containers:\n      - name: c\n        image: \
             a/dynamo/vllm-runtime:1.2.0\n        command: [python3, -m, {command}]{env}\n"
        )
    };
    let worker =
        |size: u32| format!("dynamo.vllm, --model, m, --block-size, \"{size}\"{PUBLISHES}");
    let frontend = "dynamo.frontend, --router-mode, kv";
    let of = |seen_by_first: &str| {
        let text = [
            workload("fa", seen_by_first, frontend),
            workload("wa", "a", &worker(16)),
            workload("fb", "b", frontend),
            workload("wb", "b", &worker(32)),
        ];
        linted(&text.concat())
    };

    let apart = of("a");
    assert!(shown(&apart).iter().all(|(id, _)| *id != "KVT002"), "{apart:?}");
    // A frontend without a namespace sees the workers of all.
    let met = of("");
    assert!(shown(&met).iter().any(|(id, _)| *id == "KVT002"), "{met:?}");
}

#[test]
fn blocks_of_a_model_with_latent_attention_depend_on_the_gpu() {
    let of = |model: &str, published: &str| {
        linted(&format!(
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: l}}\nspec:\n  services:\n    \
             Frontend:\n      componentType: frontend\n      envs: [{KV_MODE}]\n      extraPodSpec: {{mainContainer: \
             {{image: a/tensorrtllm-runtime:1.0.0}}}}\n    W:\n      componentType: worker\n      extraPodSpec:\n        \
             mainContainer:\n          image: a/tensorrtllm-runtime:1.0.0\n          command: [python3, -m, \
             dynamo.trtllm]\n          args: [--model-path, {model}, --kv-block-size, \"{published}\", \
             --publish-events-and-metrics]\n"
        ))
    };
    let differs = |found: &Verdicts| shown(found).iter().any(|(id, _)| *id == "KVT001");

    for size in ["32", "64"] {
        let found = of("deepseek-ai/DeepSeek-R1", size);
        assert!(!differs(&found) && !found.unjudged.is_empty(), "{size}: {found:?}");
    }
    assert!(differs(&of("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "64")));
    assert!(!differs(&of("nvidia/Llama-3.3-70B-Instruct-FP8", "32")));
}
