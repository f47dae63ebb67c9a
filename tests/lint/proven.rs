//! Corrections that do not remove their findings are not printed, and neither are secrets.

use kvtop::lint::{Source, Verdicts, lint};

use super::{corrected, linted, shown};

/// A deployment of TensorRT-LLM 1.0, which publishes blocks of the worker's `args`, and what stands behind it.
fn manifest(args: &str, rest: &str) -> String {
    format!(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: v}}\nspec:\n  services:\n    \
         Frontend:\n      componentType: frontend\n      envs:\n        - name: DYN_ROUTER_MODE\n          value: kv\n      \
         extraPodSpec: {{mainContainer: {{image: a/tensorrtllm-runtime:1.0.0}}}}\n    W:\n      componentType: worker\n      \
         extraPodSpec:\n        mainContainer:\n          image: a/tensorrtllm-runtime:1.0.0\n          command: [python3, -m, \
         dynamo.trtllm]\n          args:\n{args}{rest}"
    )
}

fn flaws<'a>(found: &'a Verdicts, id: &str) -> Vec<&'a kvtop::lint::Flaw> {
    found.flaws.iter().filter(|flaw| flaw.id == id).collect()
}

#[test]
fn a_size_below_a_mark_is_named_and_no_line_is_printed_that_swallows_the_next() {
    let args = "            - --publish-events-and-metrics\n            - --kv-block-size\n            - >-\n              \
                64\n            - --max-num-tokens\n            - \"8192\"\n";
    let found = linted(&manifest(args, ""));
    let flaw = flaws(&found, "KVT001")[0];
    assert!(flaw.edits.is_empty(), "{flaw:?}");
}

#[test]
fn a_number_among_arguments_is_a_finding_and_is_read_all_the_same() {
    let args = "            - --publish-events-and-metrics\n            - --kv-block-size\n            - 64\n";
    let sources = [Source { name: "quoted.yaml".into(), text: manifest(args, "") }];
    let found = lint(&sources);
    assert_eq!(shown(&found), [("KVT001", 18), ("KVT016", 8), ("KVT103", 21)], "{found:?}");
    assert_eq!(
        flaws(&found, "KVT103")[0].summary,
        "The value of --kv-block-size is not a string: 64."
    );
    assert_eq!(shown(&lint(&corrected(&sources, &found))), []);
}

#[test]
fn an_engine_behind_a_proxy_is_judged() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec:\n  template:\n    spec:\n      containers:\n        \
                - name: istio-proxy\n          image: istio/proxyv2:1.20\n        - name: engine\n          image: \
                a/tensorrtllm-runtime:1.0.0\n          args: [-m, dynamo.trtllm, --publish-events-and-metrics, \
                --kv-block-size, \"64\"]\n";
    assert_eq!(shown(&linted(text)).first().map(|(id, _)| *id), Some("KVT001"));
}

#[test]
fn a_config_map_of_two_workers_is_not_corrected_for_one_of_them() {
    let worker = |name: &str, size: &str| {
        format!(
            "    {name}:\n      componentType: worker\n      extraPodSpec:\n        volumes: [{{name: e, configMap: {{name: \
             engine}}}}]\n        mainContainer:\n          image: a/tensorrtllm-runtime:1.0.0\n          volumeMounts: \
             [{{name: e, mountPath: /e}}]\n          args: [-m, dynamo.trtllm, --publish-events-and-metrics, \
             --extra-engine-args, /e/a.yaml, --kv-block-size, \"{size}\"]\n"
        )
    };
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: engine}\ndata:\n  a.yaml: |\n    kv_cache_config:\n      \
                tokens_per_block: 64\n---\napiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: v}\n\
                spec:\n  services:\n    Frontend:\n      componentType: frontend\n      envs:\n        - name: DYN_ROUTER_MODE\n          \
                value: kv\n      extraPodSpec: {mainContainer: {image: a/tensorrtllm-runtime:1.0.0}}\n";
    let sources = [Source {
        name: "quoted.yaml".into(),
        text: format!("{head}{}{}", worker("A", "32"), worker("B", "64")),
    }];
    let found = lint(&sources);
    assert_eq!(flaws(&found, "KVT001").len(), 1, "{found:?}");
    let again = lint(&corrected(&sources, &found));
    assert!(flaws(&again, "KVT001").len() <= 1, "{again:?}");
    assert!(!found.flaws.iter().any(|flaw| flaw.edits.iter().any(|edit| edit.lines.0 == 7)));
}

#[test]
fn no_output_holds_a_password_or_a_token_that_stands_where_a_setting_should() {
    let token = "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ";
    let text = manifest("            - --publish-events-and-metrics\n", "").replace(
        "          value: kv\n",
        &format!(
            "          value: kv\n        - name: DB_PASSWORD\n          value: 73317331\n        - name: \
             DYN_KV_CACHE_BLOCK_SIZE\n          value: \"{token}\"\n"
        ),
    );
    let found = linted(&text);
    assert_eq!(flaws(&found, "KVT103").len() + flaws(&found, "KVT104").len(), 2, "{found:?}");
    let said = kvtop::report::lint::text(&found);
    assert!(!said.contains("73317331") && !said.contains(token), "{said}");
}

#[test]
fn a_router_mode_that_cannot_be_read_is_said_to_be_unknown() {
    let text = manifest("            - --publish-events-and-metrics\n", "").replace(
        "          value: kv\n",
        "          valueFrom: {secretKeyRef: {name: s, key: k}}\n",
    );
    let found = linted(&text);
    assert_eq!(found.unjudged.iter().map(|it| it.id).collect::<Vec<_>>(), ["KVT005"], "{found:?}");
}

/// Logins, tokens and prompts as scripts hold them beside a command of Dynamo.
const BESIDE: [&str; 16] = [
    "curl -u admin:CANARY https://h/x;",
    "sshpass -p CANARY ssh h;",
    "export SLACK=xoxb-1234567890123-CANARY;",
    "export G=gho_CANARY0123456789abc;",
    "export DB='Server=db;Uid=a;Pwd=CANARY';",
    "mysql -pCANARY -h db;",
    "redis-cli -a CANARY;",
    "export PGPASS=CANARY;",
    "wget --header 'X-Auth: CANARY' h;",
    "export SIG='https://b.blob/x?sv=1&sig=CANARY';",
    "echo you are a helpful CANARY;",
    "export MYPW=CANARY;",
    "PIN=CANARY",
    "login --user a --pass CANARY;",
    "x --pw CANARY;",
    "printf CANARY |",
];

#[test]
fn no_line_of_a_script_is_repeated_that_does_more_than_run_dynamo() {
    let script = |before: &str| {
        let args = format!(
            "            - |\n              {before} exec python3 -m dynamo.trtllm --publish-events-and-metrics \
             --kv-block-size 64\n"
        );
        manifest(&args, "").replace("[python3, -m, dynamo.trtllm]", "[bash, -c]")
    };
    for before in BESIDE {
        let found = linted(&script(before));
        let said = kvtop::report::lint::text(&found) + &kvtop::report::lint::json(&found);
        assert!(!flaws(&found, "KVT001").is_empty(), "{before}: {found:?}");
        assert!(!said.contains("CANARY"), "{before}: {said}");
    }
    let harmless = "ulimit -n 65536 && export HF_HOME=/models;";
    let found = linted(&script(harmless));
    assert!(kvtop::report::lint::text(&found).contains("--kv-block-size 32\n"), "{found:?}");
}

#[test]
fn corrections_in_the_same_lines_are_printed_with_each_other_unless_there_are_many() {
    let with = |workers: usize| {
        let worker = |number: usize| {
            let size = if number.is_multiple_of(3) { 32 } else { 16 };
            format!(
                "    W{number}:\n      componentType: worker\n      extraPodSpec: {{mainContainer: {{image: \
                 a/vllm-runtime:1.6.1, command: [python3, -m, dynamo.vllm], args: [--model, m, --block-size, \
                 \"{size}\"]}}}}\n"
            )
        };
        let workers: String = (0..workers).map(worker).collect();
        let text = format!(
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: v}}\nspec:\n  services:\n    \
             Frontend:\n      componentType: frontend\n      envs:\n        - name: DYN_ROUTER_MODE\n          value: \
             kv\n      extraPodSpec: {{mainContainer: {{image: a/vllm-runtime:1.6.1}}}}\n{workers}"
        );
        let sources = [Source { name: "many.yaml".into(), text }];
        let found = lint(&sources);
        let silent: Vec<(usize, bool)> = flaws(&found, "KVT003")
            .into_iter()
            .map(|flaw| (flaw.edits.len(), flaw.fix.contains("a part of the correction of KVT002")))
            .collect();
        let again = lint(&corrected(&sources, &found));
        assert!(shown(&again).is_empty(), "{again:?}");
        silent
    };

    // Two of six workers have the other size, and every worker is silent.
    let few = with(6);
    assert!(few.iter().all(|(_, refers)| !refers) && few.iter().any(|(edits, _)| *edits == 2));

    let many = with(90);
    assert!(many.iter().all(|(edits, _)| *edits == 1), "{many:?}");
    assert_eq!(many.iter().filter(|(_, refers)| *refers).count(), 30);
}
