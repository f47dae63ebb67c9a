use super::*;
use crate::domain::{
    ConfigSource, EngineFile, Graph, GraphApi, ManifestList, ManifestPart, RolloutStage, Timestamp,
};

fn list(path: &str, items: Option<&[&str]>) -> ManifestList {
    ManifestList {
        path: path.into(),
        items: items.map(|items| items.iter().map(|item| Arc::from(*item)).collect()),
        values: items.unwrap_or_default().iter().map(|_| Some("old".into())).collect(),
        present: items.is_some(),
    }
}

fn component(name: &str, role: Role, manifest: ManifestPart) -> Component {
    let (backend, ready, engine_file) = (None, None, None);
    let (name, replicas, variables_from) = (name.into(), Some(2), Vec::new());
    let nodes = None;
    let hidden = Vec::new();
    Component {
        name,
        role,
        backend,
        replicas,
        nodes,
        ready,
        engine_file,
        hidden,
        variables_from,
        manifest,
    }
}

fn graph(api: GraphApi, components: Vec<Component>) -> Graph {
    Graph {
        name: "demo".into(),
        namespace: "serving".into(),
        api: Some(api),
        generation: Some(3),
        changed: None,
        backend: None,
        dynamo_namespace: None,
        components,
    }
}

fn alpha(envs: Option<&[&str]>, args: Option<&[&str]>) -> Graph {
    let frontend = ManifestPart {
        variables: vec![list("/spec/services/Frontend/envs", envs)],
        ..ManifestPart::default()
    };
    let worker = "/spec/services/Worker/extraPodSpec/mainContainer";
    let worker = ManifestPart {
        variables: vec![list("/spec/services/Worker/envs", None)],
        words: vec![
            list(&format!("{worker}/command"), Some(&["python3", "-m", "dynamo.trtllm"])),
            list(&format!("{worker}/args"), args),
        ],
        ..ManifestPart::default()
    };
    graph(
        GraphApi::V1Alpha1,
        vec![
            component("Frontend", Role::Frontend, frontend),
            component("Worker", Role::Worker, worker),
        ],
    )
}

fn objects(graph: &Graph) -> Objects {
    let namespace = Some(Arc::clone(&graph.namespace));
    Objects { namespace, graph: Some(graph.clone()), ..Objects::default() }
}

fn set(on: Part, variable: Option<&str>, flags: &'static [&'static str]) -> Fix {
    let variable = variable.map(str::to_owned);
    let changes = vec![Change::Set { on, variable, flags, value: "32".into() }];
    Fix { sentence: "Set it.".into(), changes, restarts: "the frontend".into(), ..Fix::default() }
}

fn declared() -> Fix {
    set(Part::Frontend, Some("DYN_KV_CACHE_BLOCK_SIZE"), &["--kv-cache-block-size"])
}

fn rendered(fix: &Fix, graph: &Graph) -> Rendered {
    fix.render(&objects(graph), &SizesInUse::default(), false)
}

#[test]
fn commands_name_the_cluster_that_was_asked_for() {
    let mut objects = objects(&alpha(Some(&["DYN_ROUTER_MODE"]), None));
    objects.cluster = ClusterChoice {
        kubeconfig: Some("/home/me/kube config".into()),
        context: Some("arn:aws:eks:eu-1:1:cluster/prod".into()),
    };
    let rendered = declared().render(&objects, &SizesInUse::default(), false);

    let flags = "--kubeconfig='/home/me/kube config' --context='arn:aws:eks:eu-1:1:cluster/prod'";
    let command = rendered.kubectl.unwrap();
    assert!(command.starts_with(&format!("kubectl {flags} -n serving patch ")), "{command}");
    let check = format!("kvtop check {flags} -n serving --wait 2m");
    assert_eq!(rendered.verify, check);
}

#[test]
fn a_variable_is_appended_to_those_that_are_there() {
    let rendered = rendered(&declared(), &alpha(Some(&["DYN_ROUTER_MODE"]), None));

    assert_eq!(
        rendered.kubectl.as_deref(),
        Some(
            "kubectl -n serving patch dynamographdeployments.v1alpha1.nvidia.com demo --type=json -p \
             '[{\"op\":\"test\",\"path\":\"/metadata/generation\",\"value\":3},{\"op\":\"add\",\"path\":\
             \"/spec/services/Frontend/envs/-\",\"value\":{\"name\":\"DYN_KV_CACHE_BLOCK_SIZE\",\
             \"value\":\"32\"}}]'"
        )
    );
    assert_eq!(
        rendered.yaml.as_deref(),
        Some(
            "# DynamoGraphDeployment demo in namespace serving (nvidia.com/v1alpha1). Paste into the \
             manifest.\n# Do not apply as a merge patch: it would replace whole lists.\n# \
             spec.services.Frontend.envs: append to the list\n- name: DYN_KV_CACHE_BLOCK_SIZE\n  value: \
             \"32\"\n"
        )
    );
    assert_eq!(rendered.restarts, "the frontend; Frontend: 2 pods, no model to load");
    assert_eq!(rendered.verify, "kvtop check -n serving --wait 2m");
}

#[test]
fn a_variable_that_is_there_is_replaced_in_its_place() {
    let names = ["DYN_ROUTER_MODE", "DYN_KV_CACHE_BLOCK_SIZE", "HF_HOME"];
    let kubectl = rendered(&declared(), &alpha(Some(&names), None)).kubectl.unwrap();

    let test = r#"{"op":"test","path":"/spec/services/Frontend/envs/1/name","value":"DYN_KV_CACHE_BLOCK_SIZE"}"#;
    assert!(kubectl.contains(test), "{kubectl}");
    assert!(kubectl.contains(r#""op":"replace","path":"/spec/services/Frontend/envs/1""#));
}

#[test]
fn a_list_that_is_missing_is_made_and_never_replaced() {
    let guarded = rendered(&declared(), &alpha(None, None)).kubectl.unwrap();
    let mut unknown = alpha(None, None);
    unknown.generation = None;
    let careful = rendered(&declared(), &unknown).kubectl.unwrap();

    let make = r#"{"op":"add","path":"/spec/services/Frontend/envs","value":[{"name""#;
    assert!(guarded.contains(make) && guarded.contains("/metadata/generation"), "{guarded}");
    let absent = r#"{"op":"test","path":"/spec/services/Frontend/envs","value":null},"#;
    assert!(careful.contains(&format!("{absent}{make}")), "{careful}");
}

#[test]
fn a_component_of_v1beta1_is_named_before_its_place_is_used() {
    let container = "/spec/components/1/podTemplate/spec/containers/0";
    let manifest = ManifestPart {
        place: Some(1),
        variables: vec![list(&format!("{container}/env"), Some(&["DYN_ROUTER_MODE"]))],
        ..ManifestPart::default()
    };
    let graph = graph(GraphApi::V1Beta1, vec![component("Frontend", Role::Frontend, manifest)]);
    let rendered = rendered(&declared(), &graph);
    let (yaml, kubectl) = (rendered.yaml.unwrap(), rendered.kubectl.unwrap());

    assert!(kubectl.contains("dynamographdeployments.v1beta1.nvidia.com demo"), "{kubectl}");
    let test = r#"{"op":"test","path":"/spec/components/1/name","value":"Frontend"}"#;
    let add = r#"{"op":"add","path":"/spec/components/1/podTemplate/spec/containers/0/env/-""#;
    assert!(kubectl.find(test).unwrap() < kubectl.find(add).unwrap(), "{kubectl}");
    let place = "# spec.components[name=Frontend].podTemplate.spec.containers[name=main].env: append to the list\n";
    assert!(yaml.contains(place), "{yaml}");
}

#[test]
fn a_flag_is_changed_where_it_stands_and_added_where_it_does_not() {
    let fix = set(Part::Workers, None, &["--kv-block-size"]);
    let of = |args: &[&str]| rendered(&fix, &alpha(None, Some(args))).kubectl.unwrap();
    let args = "/spec/services/Worker/extraPodSpec/mainContainer/args";

    let apart = of(&["--model", "m", "--kv-block-size", "16"]);
    let joined = of(&["--kv-block-size=16"]);
    let absent = of(&["--model", "m"]);

    assert!(
        apart.contains(&format!(r#"{{"op":"test","path":"{args}/2","value":"--kv-block-size"}}"#))
    );
    assert!(apart.contains(&format!(r#"{{"op":"replace","path":"{args}/3","value":"32"}}"#)));
    assert!(joined.contains(r#""value":"--kv-block-size=32""#), "{joined}");
    let add = |value: &str| format!(r#"{{"op":"add","path":"{args}/-","value":"{value}"}}"#);
    assert!(absent.contains(&format!("{},{}", add("--kv-block-size"), add("32"))), "{absent}");
    let restarts = rendered(&fix, &alpha(None, Some(&[]))).restarts;
    assert!(restarts.ends_with("Worker: 2 pods, each reloads its model"), "{restarts}");
}

fn engine(on: Part) -> Fix {
    Fix { changes: vec![Change::engine_size(on, 32)], ..Fix::default() }
}

#[test]
fn a_number_inside_the_engines_json_is_changed_and_nothing_else() {
    let old = r#"{"kv_cache_config":{"tokens_per_block": 16,"dtype":"fp8"}}"#;
    let of = |args: &[&str]| rendered(&engine(Part::Workers), &alpha(None, Some(args))).kubectl;

    let there = of(&["--override-engine-args", old]).unwrap();
    let missing =
        of(&["--override-engine-args", r#"{"kv_cache_config":{"dtype":"fp8"}}"#]).unwrap();
    let alone = of(&["--model", "m"]).unwrap();

    let new = r#"{\"kv_cache_config\":{\"tokens_per_block\": 32,\"dtype\":\"fp8\"}}"#;
    assert!(there.contains(&format!(r#"args/1","value":"{new}""#)), "{there}");
    let new = r#"{\"kv_cache_config\":{\"tokens_per_block\":32,\"dtype\":\"fp8\"}}"#;
    assert!(missing.contains(&format!(r#"args/1","value":"{new}""#)), "{missing}");
    let new = r#"{\"kv_cache_config\":{\"tokens_per_block\":32}}"#;
    assert!(alone.contains(&format!(r#"args/-","value":"{new}""#)), "{alone}");
    assert_eq!(of(&["--override-engine-args", "{not json"]), None);
}

#[test]
fn a_flag_named_after_a_key_of_the_engine_stays_a_flag() {
    let of = |args: &[&str]| rendered(&engine(Part::Workers), &alpha(None, Some(args))).kubectl;

    let there = of(&["--trtllm.kv_cache_config.tokens_per_block", "16"]).unwrap();
    let other = of(&["--trtllm.max_batch_size", "16"]).unwrap();

    assert!(there.contains(r#"args/1","value":"32""#), "{there}");
    let flag = "--trtllm.kv_cache_config.tokens_per_block";
    assert!(other.contains(&format!(r#"args/-","value":"{flag}""#)), "{other}");
    assert!(!other.contains("--override-engine-args"), "{other}");
}

/// Workers that compute prompts and workers that generate, each with a file.
fn disaggregated(texts: [&str; 2]) -> Objects {
    let mut graph = alpha(Some(&[]), Some(&["--model", "m"]));
    let mut decode = graph.components[1].clone();
    let mut files = Vec::new();
    for (at, text) in texts.into_iter().enumerate() {
        let (config_map, key): (Arc<str>, Arc<str>) =
            ("engine".into(), format!("{at}.yaml").into());
        let source =
            ConfigSource::ConfigMap { name: Arc::clone(&config_map), key: Arc::clone(&key) };
        let component = if at == 0 { &mut graph.components[1] } else { &mut decode };
        component.engine_file = Some(EngineFile {
            path: "/e".into(),
            source,
            engine: crate::domain::Backend::TrtLlm,
            overridden: Vec::new(),
            otherwise: Vec::new(),
            followed: false,
        });
        files.push(FileState { config_map, key, text: Some(text.into()), changed: None });
    }
    decode.name = "Decode".into();
    graph.components.push(decode);
    let pods = [("p-a", "Worker"), ("d-a", "Decode"), ("d-b", "Decode")];
    let pods = pods.map(|(name, component)| PodState {
        name: name.into(),
        component: Some(component.into()),
        role: Role::Worker,
        started: Some(Timestamp(5_000_000)),
        manifest: ManifestPart::default(),
    });
    Objects { files, pods: pods.into(), ..objects(&graph) }
}

#[test]
fn every_file_of_a_disaggregated_deployment_is_changed_and_its_readers_restart() {
    let sixteen = "kv_cache_config:\n  tokens_per_block: 16\n";
    let objects = disaggregated([sixteen, "kv_cache_config: {dtype: fp8}\n"]);
    let fix = engine(Part::Workers);

    let shown = fix.render(&objects, &SizesInUse::default(), false);

    let command = shown.kubectl.unwrap();
    assert!(command.starts_with("kubectl -n serving patch configmap engine --type=json -p '["));
    for part in [
        r#"{"op":"test","path":"/data/0.yaml","value":"kv_cache_config:\n  tokens_per_block: 16\n"}"#,
        r#"{"op":"replace","path":"/data/0.yaml","value":"kv_cache_config:\n  tokens_per_block: 32\n"}"#,
        r#""value":"kv_cache_config: {tokens_per_block: 32, dtype: fp8}\n"}"#,
        "&&\nsleep 10 &&\nfor pod in p-a d-a d-b; do\n  kubectl -n serving delete pod \"$pod\"",
    ] {
        assert!(command.contains(part), "{part} in {command}");
    }
    let yaml = shown.yaml.unwrap();
    let whole = "# ConfigMap engine, key 0.yaml: replace these lines; leave the others\nkv_cache_config:\n  \
                 tokens_per_block: 32\n";
    assert!(yaml.contains(whole), "{yaml}");
}

#[test]
fn what_is_in_place_is_said_with_the_pods_that_started_before() {
    let text = "kv_cache_config:\n  tokens_per_block: 32\n";
    let mut objects = disaggregated([text, text]);
    for file in &mut objects.files {
        file.changed = Some(Timestamp(9_000_000));
    }
    objects.pods[0].started = Some(Timestamp(10_000_000));
    let fix = engine(Part::Workers);

    let shown = fix.render(&objects, &SizesInUse::default(), false);

    let progress = shown.progress.unwrap();
    assert_eq!(progress.stage, RolloutStage::Restarting);
    assert_eq!(progress.applied, Some(Timestamp(9_000_000)));
    assert_eq!(progress.waiting.join(" "), "d-a d-b");
    // Of two prefill workers one has no pod yet.
    let said = "Already set since 00:00:09Z: tokens_per_block: 32 in ConfigMap engine, key 0.yaml, \
                tokens_per_block: 32 in ConfigMap engine, key 1.yaml. 1 of 4 pods run with it. Restart, one at \
                a time: d-a, d-b.";
    assert_eq!(shown.sentence, said);
    assert_eq!(shown.yaml, None);
    assert!(shown.kubectl.unwrap().starts_with("for pod in d-a d-b; do\n"));
}

#[test]
fn pods_whose_arguments_differ_from_the_template_are_not_rolled_yet() {
    let graph = alpha(Some(&[]), Some(&["--kv-block-size", "32"]));
    let mut objects = objects(&graph);
    for (name, size) in [("w-a", "16"), ("w-b", "32")] {
        let mut manifest = graph.components[1].manifest.clone();
        manifest.words[1] = list("/spec/containers/0/args", Some(&["--kv-block-size", size]));
        objects.pods.push(PodState {
            name: name.into(),
            component: Some("Worker".into()),
            role: Role::Worker,
            started: None,
            manifest,
        });
    }
    let mut fix = set(Part::Workers, None, &["--kv-block-size"]);
    fix.restart = Restart::Together { frontends: true };

    let shown = fix.render(&objects, &SizesInUse::default(), false);

    assert_eq!(shown.progress.unwrap().waiting.join(" "), "w-a");
    let said = "Already set: --kv-block-size 32 on Worker. 1 of 2 pods run with it. Restart w-a. Restart the frontend \
                too, because its router keeps its block size.";
    assert_eq!(shown.sentence, said);
    let command = "kubectl -n serving delete pod w-a --ignore-not-found";
    assert_eq!(shown.kubectl.as_deref(), Some(command));
}

#[test]
fn flags_without_a_value_are_added_and_taken_away() {
    let switch = |present| Fix {
        changes: vec![Change::Switch { on: Part::Workers, flags: &["--publish"], present }],
        ..Fix::default()
    };
    let args: &[&str] = &["--publish", "--model", "m"];

    let on = rendered(&switch(true), &alpha(None, Some(&["--model", "m"]))).kubectl.unwrap();
    let off = rendered(&switch(false), &alpha(None, Some(args))).kubectl.unwrap();
    let there = rendered(&switch(true), &alpha(None, Some(args)));

    assert!(on.contains(r#"args/-","value":"--publish""#), "{on}");
    assert!(off.contains(r#"{"op":"remove","path":"#) && off.contains(r#"args/0"}"#), "{off}");
    assert!(there.kubectl.is_none() && there.sentence.starts_with("Already set"), "{there:?}");
}

#[test]
fn names_from_outside_never_reach_a_command() {
    for name in ["x'; rm -rf /; '", "--help", "", "A", "a b"] {
        let mut graph = alpha(Some(&[]), None);
        graph.name = name.into();
        let shown = rendered(&declared(), &graph);
        assert_eq!(shown.kubectl, None, "{name}");
        assert!(shown.yaml.is_some());
    }
}

#[test]
fn a_service_name_cannot_break_out_of_the_patch() {
    let mut graph = alpha(Some(&[]), None);
    let name = "F\"},{\"op\":\"remove\",\"path\":\"/spec'$(id)";
    graph.components[0].name = name.into();
    let list = &mut graph.components[0].manifest.variables[0];
    list.path = format!("/spec/services/{}/envs", patch::pointer(name)).into();

    let command = rendered(&declared(), &graph).kubectl.unwrap();

    let (_, quoted) = command.split_once("-p ").unwrap();
    let json = quoted.trim_matches('\'').replace(r"'\''", "'");
    let operations: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(operations.len(), 2, "{operations:?}");
    assert!(!operations.iter().any(|it| it["op"] == "remove"));
}

#[test]
fn pods_are_rolled_one_by_one_and_unknown_targets_leave_the_sentence() {
    let changes = vec![Change::Roll { pods: vec!["w-a".into(), "w-b".into()] }];
    let fix = Fix { sentence: "Roll.".into(), changes, ..Fix::default() };
    let mut long = alpha(Some(&[]), None);
    long.components[0].manifest.variables[0].items = None;
    let nowhere = Objects::default();

    let known = rendered(&fix, &long);
    let unknown = fix.render(&nowhere, &SizesInUse::default(), false);

    let wait = "wait --for=condition=Ready pod -l nvidia.com/dynamo-graph-deployment-name=demo";
    let command = known.kubectl.unwrap();
    assert!(command.starts_with("for pod in w-a w-b; do\n") && command.contains(wait), "{command}");
    assert_eq!((known.yaml, unknown.kubectl, unknown.yaml), (None, None, None));
    assert_eq!(unknown.verify, "kvtop check --wait 2m (add the options for your deployment)");
    let chosen = Objects { chosen: Some("demo".into()), ..Objects::default() };
    assert_eq!(
        fix.render(&chosen, &SizesInUse::default(), false).verify,
        "kvtop check --dgd demo --wait 2m (add the options for your deployment)"
    );
    assert_eq!(rendered(&declared(), &long).kubectl, None, "a list that is not known");
}
