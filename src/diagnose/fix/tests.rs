use super::*;
use crate::domain::{GraphApi, ManifestList, ManifestPart};

fn list(path: &str, items: Option<&[&str]>) -> ManifestList {
    ManifestList {
        path: path.into(),
        items: items.map(|items| items.iter().map(|item| Arc::from(*item)).collect()),
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
        backend: None,
        dynamo_namespace: None,
        components,
    }
}

fn alpha(envs: Option<&[&str]>, args: Option<&[&str]>) -> Graph {
    let frontend = ManifestPart {
        place: None,
        variables: vec![list("/spec/services/Frontend/envs", envs)],
        words: Vec::new(),
    };
    let worker = "/spec/services/Worker/extraPodSpec/mainContainer";
    let worker = ManifestPart {
        place: None,
        variables: vec![list("/spec/services/Worker/envs", None)],
        words: vec![
            list(&format!("{worker}/command"), Some(&["python3", "-m", "dynamo.trtllm"])),
            list(&format!("{worker}/args"), args),
        ],
    };
    graph(
        GraphApi::V1Alpha1,
        vec![
            component("Frontend", Role::Frontend, frontend),
            component("Worker", Role::Worker, worker),
        ],
    )
}

fn set(on: Part, variable: Option<&str>, flags: &'static [&'static str]) -> Fix {
    let variable = variable.map(str::to_owned);
    let change = Change::Set { on, variable, flags, inside: None, value: "32".into() };
    Fix { sentence: "Set it.".into(), change: Some(change), restarts: "the frontend".into() }
}

fn declared() -> Fix {
    set(Part::Frontend, Some("DYN_KV_CACHE_BLOCK_SIZE"), &["--kv-cache-block-size"])
}

fn rendered(fix: &Fix, graph: &Graph) -> Rendered {
    fix.render(Target { namespace: Some("serving"), graph: Some(graph), chosen: None })
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
            "# DynamoGraphDeployment demo in namespace serving (nvidia.com/v1alpha1).\n# Lines for its \
             manifest. Do not merge them as a patch: a merge drops the rest of the list.\n# \
             spec.services.Frontend.envs: add\n- name: DYN_KV_CACHE_BLOCK_SIZE\n  value: \"32\"\n"
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
        words: Vec::new(),
    };
    let graph = graph(GraphApi::V1Beta1, vec![component("Frontend", Role::Frontend, manifest)]);
    let rendered = rendered(&declared(), &graph);
    let (yaml, kubectl) = (rendered.yaml.unwrap(), rendered.kubectl.unwrap());

    assert!(kubectl.contains("dynamographdeployments.v1beta1.nvidia.com demo"), "{kubectl}");
    let test = r#"{"op":"test","path":"/spec/components/1/name","value":"Frontend"}"#;
    let add = r#"{"op":"add","path":"/spec/components/1/podTemplate/spec/containers/0/env/-""#;
    assert!(kubectl.find(test).unwrap() < kubectl.find(add).unwrap(), "{kubectl}");
    let place =
        "# spec.components[name=Frontend].podTemplate.spec.containers[name=main].env: add\n";
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
    assert!(
        restarts.ends_with("Worker: 2 pods, each of which loads its model again"),
        "{restarts}"
    );
}

#[test]
fn a_number_inside_the_engines_json_is_changed_and_nothing_else() {
    let change = Change::Set {
        on: Part::Workers,
        variable: None,
        flags: &["--override-engine-args"],
        inside: Some("tokens_per_block"),
        value: "32".into(),
    };
    let fix = Fix { change: Some(change), ..Fix::default() };
    let old = r#"{"kv_cache_config":{"tokens_per_block": 16,"dtype":"fp8"}}"#;
    let of = |args: &[&str]| rendered(&fix, &alpha(None, Some(args))).kubectl;

    let kubectl = of(&["--override-engine-args", old]).unwrap();

    let new = r#"{\"kv_cache_config\":{\"tokens_per_block\": 32,\"dtype\":\"fp8\"}}"#;
    assert!(kubectl.contains(&format!(r#"args/1","value":"{new}""#)), "{kubectl}");
    assert_eq!(of(&["--override-engine-args", "{}"]), None);
    assert_eq!(of(&["--model", "m"]), None);
}

#[test]
fn a_file_of_a_config_map_is_named_with_its_key() {
    let change = Change::Config {
        config_map: "engine".into(),
        key: "agg.yaml".into(),
        lines: vec!["kv_cache_config:".into(), "  tokens_per_block: 32".into()],
    };
    let fix = Fix { change: Some(change), ..Fix::default() };

    let rendered = fix.render(Target { namespace: Some("serving"), ..Target::default() });

    let command = "kubectl -n serving edit configmap engine  # then roll the workers";
    assert_eq!(rendered.kubectl.as_deref(), Some(command));
    assert!(rendered.yaml.unwrap().starts_with("# ConfigMap engine, key agg.yaml;"));
}

#[test]
fn names_from_outside_stay_words_of_the_shell() {
    let mut graph = alpha(Some(&[]), None);
    graph.name = "x'; rm -rf /; '".into();
    let kubectl = rendered(&declared(), &graph).kubectl.unwrap();

    assert!(kubectl.contains(r"nvidia.com 'x'\''; rm -rf /; '\''' --type=json"), "{kubectl}");
}

#[test]
fn pods_are_rolled_one_by_one_and_unknown_targets_leave_the_sentence() {
    let roll = Change::Roll { pods: vec!["w-a".into(), "w-b".into()] };
    let fix = Fix { sentence: "Roll.".into(), change: Some(roll), restarts: "workers".into() };
    let mut long = alpha(Some(&[]), None);
    long.components[0].manifest.variables[0].items = None;

    let known = fix.render(Target { namespace: Some("serving"), ..Target::default() });
    let unknown = fix.render(Target::default());

    assert_eq!(
        known.kubectl.as_deref(),
        Some("kubectl -n serving delete pod w-a  # when its successor is ready, the next: w-b")
    );
    assert_eq!((known.yaml, unknown.kubectl, unknown.yaml), (None, None, None));
    assert_eq!(unknown.verify, "kvtop check --wait 2m, with the flags that name the deployment");
    let chosen = fix.render(Target { chosen: Some("demo"), ..Target::default() });
    assert_eq!(
        chosen.verify,
        "kvtop check --dgd demo --wait 2m, with the flags that name the deployment"
    );
    assert_eq!(rendered(&declared(), &long).kubectl, None, "a list that is not known");
}
