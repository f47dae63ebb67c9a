//! `kvtop lint`: what it finds in realistic manifests, that its corrections hold, and its exit codes.

mod commands;
mod defaults;
mod generated;
mod modes;
mod parts;
mod places;
mod proven;
mod publishing;
mod values;
mod written;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use kvtop::diagnose::RULES;
use kvtop::domain::Grade;
use kvtop::lint::{CHECKS, Source, Verdicts, lint};
use kvtop::report;
use serde_json::Value;

use crate::support::{fixture, scratch};

/// Every fixture: its files, and the findings in it with their lines, the gravest first.
const CASES: &[(&str, &[(&str, usize)])] = &[
    ("trtllm-agg-router.yaml", &[("KVT016", 14)]),
    ("trtllm-agg-router-mended.yaml", &[]),
    ("trtllm-configmap.yaml", &[("KVT001", 12), ("KVT016", 28)]),
    ("trtllm-disagg.yaml", &[("KVT003", 29), ("KVT001", 34), ("KVT016", 10)]),
    ("trtllm-v1beta1-clean.yaml", &[]),
    ("vllm-agg-router.yaml", &[]),
    ("vllm-disagg-sizes.yaml", &[]),
    (
        "vllm-upgraded.yaml",
        &[
            ("KVT003", 31),
            ("KVT002", 45),
            ("KVT003", 45),
            ("KVT016", 14),
            ("KVT102", 18),
            ("KVT005", 20),
            ("KVT005", 22),
            ("KVT017", 37),
            ("KVT013", 14),
        ],
    ),
    ("sglang-v1beta1.yaml", &[("KVT003", 34), ("KVT016", 17)]),
    ("sglang-clean.yaml", &[]),
    ("two-models.yaml", &[("KVT002", 48)]),
    ("wrong-service.yaml", &[("KVT016", 7), ("KVT101", 17), ("KVT101", 19), ("KVT103", 20)]),
    ("plain.yaml", &[]),
    ("vllm-not-enabled.yaml", &[("KVT003", 31), ("KVT016", 16)]),
    ("vllm-connects.yaml", &[("KVT003", 31)]),
    ("helm.yaml", &[("KVT006", 17)]),
    ("routers.yaml", &[("KVT001", 22), ("KVT001", 46), ("KVT006", 46), ("KVT016", 46)]),
    ("kubectl.json", &[("KVT003", 29), ("KVT017", 29)]),
    ("folder", &[("KVT017", 8)]),
    ("trtllm-shell.yaml", &[("KVT016", 13)]),
    ("trtllm-shell-mismatch.yaml", &[("KVT001", 44)]),
    ("sglang-config.yaml", &[("KVT016", 23)]),
    ("vllm-processor.yaml", &[("KVT001", 15), ("KVT016", 15)]),
];

/// Returns the texts of a fixture; the folder's in the order of their names.
fn sources(name: &str) -> Vec<Source> {
    let path = fixture(&format!("lint/{name}"));
    let files = if name == "folder" {
        vec![path.join("deploy.yaml"), path.join("engine_configs/qwen3/agg.yaml")]
    } else {
        vec![path]
    };
    let root = fixture("lint");
    let source = |file: &std::path::PathBuf| Source {
        name: file.strip_prefix(&root).unwrap().to_str().unwrap().into(),
        text: std::fs::read_to_string(file).unwrap(),
    };
    files.iter().map(source).collect()
}

fn shown(found: &Verdicts) -> Vec<(&str, usize)> {
    found.flaws.iter().map(|flaw| (flaw.id, flaw.spots[0].line)).collect()
}

#[test]
fn every_manifest_has_the_findings_it_was_written_for_and_no_other() {
    for (name, expected) in CASES {
        let found = lint(&sources(name));

        assert!(found.unreadable.is_empty(), "{name}: {:?}", found.unreadable);
        assert_eq!(shown(&found), *expected, "{name}");
        insta::assert_snapshot!(format!("lint_{name}"), report::lint::text(&found));
    }
}

/// Makes every correction, each text once.
fn corrected(sources: &[Source], found: &Verdicts) -> Vec<Source> {
    let mut made = sources.to_vec();
    for source in &mut made {
        let edits = found.flaws.iter().flat_map(|flaw| &flaw.edits);
        let mut regions: BTreeMap<(usize, usize), &str> = BTreeMap::new();
        for edit in edits.filter(|edit| edit.file == source.name) {
            let known = regions.insert(edit.lines, &edit.yaml);
            assert!(known.is_none_or(|known| known == edit.yaml), "two texts for one place");
        }
        let lines: Vec<&str> = source.text.split_inclusive('\n').collect();
        let (mut text, mut next) = (String::new(), 1);
        for ((first, last), yaml) in regions {
            assert!(first >= next, "{}: corrections overlap at {first}", source.name);
            text.extend(lines[next - 1..first - 1].iter().copied());
            text.push_str(yaml);
            next = last + 1;
        }
        text.extend(lines[next - 1..].iter().copied());
        source.text = text;
    }
    made
}

/// Returns the findings of which each has one more than was `known`.
fn new_ones(known: &Verdicts, now: &Verdicts) -> Vec<(&'static str, String)> {
    let of = |found: &Verdicts| -> Vec<(&'static str, String)> {
        found.flaws.iter().map(|flaw| (flaw.id, flaw.component.clone())).collect()
    };
    let known = of(known);
    of(now).into_iter().filter(|one| !known.contains(one)).collect()
}

#[test]
fn a_correction_that_is_made_alone_brings_no_finding() {
    const HALVED: &str = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: t}\nspec:\n  \
                          services:\n    Frontend:\n      componentType: frontend\n      envs:\n        - {name: \
                          DYN_ROUTER_MODE, value: kv}\n        - {name: DYN_ROUTER_USE_KV_EVENTS, value: \"false\"}\n      \
                          extraPodSpec: {mainContainer: {image: a/vllm-runtime:1.2.1}}\n    W:\n      componentType: \
                          worker\n      extraPodSpec:\n        mainContainer:\n          image: \
                          a/vllm-runtime:1.2.1\n          command: [python3, -m, dynamo.vllm]\n          args: [--model, \
                          m, --block-size, \"32\"]\n";
    let halved = vec![Source { name: "halved.yaml".into(), text: HALVED.into() }];
    for sources in CASES.iter().map(|(name, _)| sources(name)).chain([halved]) {
        let found = lint(&sources);
        for flaw in &found.flaws {
            let mut alone = Verdicts::default();
            alone.flaws.push(flaw.clone());
            let now = lint(&corrected(&sources, &alone));
            let (id, name) = (flaw.id, &sources[0].name);
            assert_eq!(new_ones(&found, &now), [], "{name}: the correction of {id} alone");
        }
    }
}

/// Counts every scalar of a text, its keys included.
fn scalars(text: &str) -> BTreeMap<String, usize> {
    fn count(value: &Value, found: &mut BTreeMap<String, usize>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| count(item, found)),
            Value::Object(entries) => {
                for (key, inner) in entries {
                    *found.entry(format!("{key}:")).or_default() += 1;
                    count(inner, found);
                }
            }
            scalar => *found.entry(scalar.to_string()).or_default() += 1,
        }
    }
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let mut found = BTreeMap::new();
    for document in &documents {
        count(document, &mut found);
    }
    found
}

#[test]
fn corrections_mend_what_they_are_for_and_drop_nothing() {
    for (name, expected) in CASES {
        let before = sources(name);
        let found = lint(&before);
        let after = corrected(&before, &found);
        let left = lint(&after);

        let edits: usize = found.flaws.iter().map(|flaw| flaw.edits.len()).sum();
        assert!(left.unreadable.is_empty(), "{name}: {:?}", left.unreadable);
        assert!(edits > 0 || expected.is_empty(), "{name}: nothing is corrected");
        // Variables of another version, or of another component, are left where they were.
        let stays = |id: &str| ["KVT101", "KVT102"].contains(&id);
        let open: Vec<_> = shown(&left).into_iter().filter(|(id, _)| !stays(id)).collect();
        assert!(open.is_empty(), "{name}: {open:?}\n{}", after[0].text);
        let (mut gone, mut kept) = (0, 0);
        for (old, new) in before.iter().zip(&after) {
            let new = scalars(&new.text);
            for (scalar, count) in scalars(&old.text) {
                let there = new.get(&scalar).copied().unwrap_or_default();
                gone += count.saturating_sub(there);
                kept += count.min(there);
            }
            let comments = |text: &str| text.matches("# ").count();
            assert_eq!(comments(&old.text), comments(&after[0].text).max(comments(&old.text)));
        }
        assert!(gone <= edits && kept > 10, "{name}: {gone} of the old values are gone");
    }
}

#[test]
fn corrections_do_not_depend_on_what_stands_before_or_on_line_ends() {
    for (name, _) in CASES.iter().filter(|(name, _)| name.ends_with("yaml")) {
        let plain = sources(name);
        let expected = corrected(&plain, &lint(&plain)).remove(0).text;
        for before in ["# Größe ≠ 16 ✓\n", "ключ: \"值\"\n---\n"] {
            let mut moved = plain.clone();
            moved[0].text.insert_str(0, before);
            let text = corrected(&moved, &lint(&moved)).remove(0).text;
            assert_eq!(text.strip_prefix(before), Some(expected.as_str()), "{name}");
        }
        let mut windows = plain.clone();
        windows[0].text = windows[0].text.replace('\n', "\r\n");
        let text = corrected(&windows, &lint(&windows)).remove(0).text;
        assert_eq!(text.replace("\r\n", "\n"), expected, "{name}");
    }
}

#[test]
fn deployments_of_one_name_in_several_files_are_not_mixed_up() {
    let one = |folder: &str, name: &str, size: u32| {
        let text = sources(name)[0].text.replace("\"32\"", &format!("\"{size}\""));
        Source { name: format!("{folder}/deploy.yaml").into(), text }
    };
    // The ConfigMap of each folder is its own, and so is each graph deployment.
    let mut other = one("prod", "trtllm-configmap.yaml", 64);
    other.text = other.text.replace("tokens_per_block: 64", "tokens_per_block: 32");

    let both = lint(&[one("dev", "trtllm-configmap.yaml", 32), other]);

    let shown: Vec<_> = both.flaws.iter().map(|flaw| (flaw.id, &*flaw.spots[0].file)).collect();
    let (dev, prod) = ("dev/deploy.yaml", "prod/deploy.yaml");
    assert_eq!(shown, [("KVT001", dev), ("KVT016", dev), ("KVT016", prod)]);
    assert_eq!(both.deployments, 2);
}

#[test]
fn what_was_not_given_is_said_and_never_taken_for_well() {
    let mut source = sources("trtllm-configmap.yaml").remove(0);
    let second = source.text.find("---").unwrap();
    source.text.drain(..second);

    let found = lint(&[source]);

    let missing: Vec<_> = found.unjudged.iter().map(|open| (open.id, &*open.missing)).collect();
    let expected = "needs /engine-config/agg.yaml, the engine configuration of TrtllmWorker";
    assert_eq!(missing, [("KVT001", expected)]);
    assert!(
        report::lint::text(&found).contains("not judged: KVT001 of demo: needs /engine-config")
    );
}

#[test]
fn whatever_is_cut_or_turned_into_something_else_is_read_without_harm() {
    for (name, _) in CASES {
        let whole = sources(name);
        let lines: Vec<&str> = whole[0].text.split_inclusive('\n').collect();
        for skipped in 0..lines.len() {
            let without = |other: &str| {
                let (before, after) = (lines[..skipped].concat(), lines[skipped + 1..].concat());
                format!("{before}{other}{after}")
            };
            let key = lines[skipped].split(':').next().unwrap();
            for other in ["", &format!("{key}: 7\n"), &format!("{key}: [x, {{y: z}}]\n"), "- é\n"]
            {
                let text = without(other);
                let found = lint(&[Source { name: "x.yaml".into(), text: text.clone() }]);
                let last = text.lines().count() + 1;
                for edit in found.flaws.iter().flat_map(|flaw| &flaw.edits) {
                    assert!(edit.lines.0 <= last && edit.lines.1 <= last, "{name} {skipped}");
                }
            }
        }
    }
}

#[test]
fn the_users_example_is_corrected_in_their_words() {
    let found = lint(&sources("trtllm-agg-router.yaml"));

    let flaw = &found.flaws[0];
    assert!(flaw.summary.starts_with(
        "Frontend KV block size (16) does not match worker block size (32). Set \
         DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend"
    ));
    let expected = "      envs:\n        - name: DYN_ROUTER_MODE\n          value: kv\n        - name: \
                    DYN_KV_CACHE_BLOCK_SIZE\n          value: \"32\"\n";
    assert_eq!((flaw.edits[0].lines, flaw.edits[0].yaml.as_str()), ((14, 16), expected));
}

#[test]
fn secrets_beside_a_correction_are_not_repeated() {
    let found = lint(&sources("trtllm-disagg.yaml"));

    for page in [report::lint::text(&found), report::lint::json(&found)] {
        assert!(page.contains("DYN_KV_CACHE_BLOCK_SIZE"), "{page}");
        assert!(!page.contains("hf_not_for_logs"), "{page}");
    }
}

#[test]
fn no_style_of_a_manifest_brings_a_secret_into_the_lines_of_a_correction() {
    let manifest = |worker: &str, frontend: &str| {
        format!(
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: g}}\n\
             spec:\n  services:\n    Frontend:\n      componentType: frontend\n{frontend}\
             \x20     extraPodSpec: {{mainContainer: {{image: \"nvcr.io/x/vllm-runtime:0.9.0\"}}}}\n\
             \x20   Worker:\n      componentType: worker\n      extraPodSpec:\n        mainContainer:\n\
             \x20         image: nvcr.io/x/vllm-runtime:0.9.0\n{worker}"
        )
    };
    let flow = r#"          args: ["-m", "dynamo.vllm", "--model", "Q", "--block-size", "32", "--api-key", "SECRET1", "--hf-token=SECRET2", '{"x":{"api_key":"SECRET3"}}', "http://u:SECRET4@h"]
"#;
    let block = "          args:\n            - \"-m\"\n            - dynamo.vllm\n            - --block-size\n\
                 \x20           - \"32\"\n            - --api-key\n            - SECRET1\n\
                 \x20           - --proxy=http://u:SECRET2@h\n            # - --password=SECRET3\n";
    let script = "          command: [sh, -c]\n          args:\n            - |\n\
                  \x20             HF_TOKEN=SECRET1 python3 -m dynamo.vllm --block-size 32 --api-key \\\n\
                  \x20               SECRET2 --clientSecret SECRET3\n";
    let one_line = r#"          command: [sh, -c]
          args: ["python3 -m dynamo.vllm --block-size 32 --api-key SECRET1 --url nats://u:SECRET2@h"]
"#;
    let env = "{name: DYN_ROUTER_MODE, value: kv}, {name: DB_URL, value: \"postgres://u:SECRET5@h/d\"}, \
               {name: HF_TOKEN, value: SECRET6}, {name: SSH_KEY, value: SECRET7}";
    let flow_envs = format!("      envs: [{env}]\n");
    let block_envs = format!("      envs:\n        - {}\n", env.replace("}, {", "}\n        - {"));
    let wide = "      envs:\n        - name: DYN_ROUTER_MODE\n          value: kv\n        - name: DB_URL\n\
                \x20         value: postgres://u:SECRET5@h/d\n        - name: X\n          value: |\n\
                \x20           password: SECRET6\n";
    for worker in [flow, block, script, one_line] {
        for frontend in [&flow_envs, &block_envs, wide] {
            let text = manifest(worker, frontend);
            let value: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
            let json = serde_json::to_string(&value).unwrap();
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            for text in [text, json, pretty] {
                let found = lint(&[Source { name: "x".into(), text: text.clone() }]);
                assert!(!found.flaws.is_empty(), "{text}");
                for page in [report::lint::text(&found), report::lint::json(&found)] {
                    assert!(!page.contains("SECRET"), "{text}\n{page}");
                }
            }
        }
    }
}

#[test]
fn names_of_secrets_do_not_hide_a_correction() {
    let text = sources("trtllm-agg-router.yaml")[0].text.replace(
        "          value: kv\n",
        "          value: kv\n        - name: HF_TOKEN\n          valueFrom:\n            secretKeyRef:\n\
         \x20             name: hf-token-secret\n              key: HF_TOKEN\n",
    );
    let found = lint(&[Source { name: "x".into(), text }]);
    assert!(found.flaws[0].edits[0].yaml.contains("hf-token-secret"), "{:?}", found.flaws[0]);
}

#[test]
fn a_manifest_cannot_steer_the_terminal() {
    let text = sources("trtllm-agg-router.yaml")[0]
        .text
        .replace("name: trtllm-agg-router", "name: \"a\\e[2Jb\\u202Ec\"")
        .replace("TRTLLMWorker", "\"W\\a\\u009B31m\"");
    let source = Source { name: "x.yaml".into(), text };

    let page = report::lint::text(&lint(&[source]));

    assert!(page.contains("KVT016"), "{page}");
    assert!(!page.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{page:?}");
}

#[test]
fn ids_of_manifests_alone_are_none_of_a_rule() {
    for check in CHECKS {
        assert!(RULES.iter().all(|rule| rule.id() != check.id && rule.name() != check.name));
        let text = check.documentation();
        assert!(text.len() > 100 && text.ends_with('.') && !text.contains("::"), "{}", check.id);
        let output = kvtop(&["explain", &check.id.to_lowercase()], "");
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).starts_with(&format!("{} {}\n\n", check.id, check.name)));
    }
}

fn kvtop(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).env("HOME", scratch()).current_dir(fixture("lint"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A refused command line does not read it.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn exit_codes_tell_clean_found_and_unread_apart() {
    let binary = scratch().join("binary.yaml");
    std::fs::write(&binary, b"a: 1\nb: \xff\n").unwrap();
    let huge = scratch().join("huge.yaml");
    std::fs::write(&huge, "# much\n".repeat(3 << 20)).unwrap();
    let empty = scratch().join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let [binary, huge, empty] = [&binary, &huge, &empty].map(|path| path.to_str().unwrap());
    let cases: &[(&[&str], i32, &str)] = &[
        (&["trtllm-agg-router-mended.yaml"], 0, "1 deployment in 1 document: no findings."),
        (&["trtllm-agg-router.yaml"], 1, "trtllm-agg-router.yaml:14: warning KVT016"),
        (&["folder"], 1, "folder/engine_configs/qwen3/agg.yaml:8: warning KVT017"),
        (&["unreadable.yaml"], 3, "unreadable.yaml:4: cannot be read: an unrendered template"),
        (&["unreadable.yaml"], 3, "unreadable.yaml:9: cannot be read: "),
        (&["plain.yaml", "no-such.yaml"], 3, "no-such.yaml: cannot be read: No such file"),
        (&["folder/engine_configs"], 3, "No Dynamo deployment in 1 document"),
        (&[binary], 3, "binary.yaml:2: cannot be read: the text is not UTF-8"),
        (&[huge], 3, "huge.yaml: cannot be read: larger than 16 MiB"),
        (&[empty], 3, "no .yaml, .yml or .json file in this directory"),
        (&[], 3, ""),
        (&["-o", "xml", "plain.yaml"], 3, ""),
    ];
    for (arguments, code, expected) in cases {
        let arguments: Vec<&str> =
            std::iter::once("lint").chain(arguments.iter().copied()).collect();
        let output = kvtop(&arguments, "");

        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {}", stdout(&output));
        assert!(stdout(&output).contains(expected), "{arguments:?}: {}", stdout(&output));
    }
}

#[test]
fn helm_output_is_read_from_standard_input_and_its_template_is_named() {
    let text = std::fs::read_to_string(fixture("lint/helm.yaml")).unwrap();

    let output = kvtop(&["lint", "-", "-o", "json"], &text);

    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["contract"], 1);
    assert_eq!(report["exit"], 1);
    assert_eq!(report["findings"][0]["template"], "inference/templates/graph.yaml");
    assert_eq!(report["findings"][0]["places"][0]["file"], "<stdin>");
    insta::assert_snapshot!("lint_json", serde_json::to_string_pretty(&report).unwrap());
}

#[test]
fn a_declared_size_is_held_against_what_workers_really_say() {
    let declaring_8 = |name: &str| {
        let mut sources = sources(name);
        for source in &mut sources {
            source.text = source.text.replacen("value: \"32\"", "value: \"8\"", 1);
        }
        lint(&sources)
    };
    for name in
        ["two-models.yaml", "trtllm-configmap.yaml", "trtllm-disagg.yaml", "vllm-upgraded.yaml"]
    {
        let found = declaring_8(name);
        for flaw in found.flaws.iter().filter(|flaw| flaw.id == "KVT016") {
            let (_, rest) = flaw.summary.split_once("worker block size (").unwrap();
            let (size, _) = rest.split_once(')').unwrap();
            let cited = flaw.spots.last().unwrap();
            assert!(cited.what.contains(size), "{name}: {} but {}", flaw.summary, cited.what);
            let mended = found.flaws.iter().any(|it| it.id == "KVT001" || it.id == "KVT002");
            assert_eq!(flaw.summary.contains("as the fix of KVT00"), mended, "{}", flaw.summary);
        }
    }
}

#[test]
fn prefill_workers_may_have_a_size_of_their_own_from_1_5() {
    let of = |release: &str| {
        let mut sources = sources("vllm-disagg-sizes.yaml");
        let tag = format!("vllm-runtime:{release}");
        sources[0].text = sources[0].text.replace("vllm-runtime:1.6.1", &tag);
        lint(&sources)
    };
    let open = |found: &Verdicts, id: &str| {
        let open = found.unjudged.iter().find(|open| open.id == id);
        open.map(|open| open.missing.clone())
    };

    assert_eq!(shown(&of("1.5.0")), []);
    assert_eq!(shown(&of("1.4.1")), [("KVT002", 31)]);
    let unknown = of("my-tag");
    assert_eq!(shown(&unknown), []);
    assert!(
        open(&unknown, "KVT002").unwrap().starts_with("needs the Dynamo release"),
        "{unknown:?}"
    );
    let missing = "needs one block size for all workers (they use several)";
    assert_eq!(open(&of("1.5.0"), "KVT016").as_deref(), Some(missing));
}

#[test]
fn a_worker_of_vllm_is_not_told_a_setting_of_another_engine() {
    let manifest = |size: u32| {
        format!(
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: v}}\nspec:\n  \
             services:\n    Frontend:\n      componentType: frontend\n      envs:\n        - {{name: \
             DYN_ROUTER_MODE, value: kv}}\n        - {{name: DYN_KV_CACHE_BLOCK_SIZE, value: \"{size}\"}}\n      \
             extraPodSpec: {{mainContainer: {{image: a/vllm-runtime:0.9.0}}}}\n    Worker:\n      \
             componentType: worker\n      extraPodSpec:\n        mainContainer:\n          image: \
             a/vllm-runtime:0.9.0\n          command: [python3, -m, dynamo.vllm]\n          args: [--block-size, \
             \"16\"]\n"
        )
    };
    let found = lint(&[Source { name: "v.yaml".into(), text: manifest(32) }]);

    let flaw = found.flaws.iter().find(|flaw| flaw.id == "KVT016").unwrap();

    assert!(flaw.summary.ends_with("or configure --block-size=32 on workers."), "{}", flaw.summary);
}

/// Lints one text.
fn linted(text: &str) -> Verdicts {
    lint(&[Source { name: "quoted.yaml".into(), text: text.to_owned() }])
}

#[test]
fn what_documents_quote_of_a_deployment_is_judged_with_its_own_lines() {
    let bare = "Frontend:\n  componentType: frontend\n  replicas: 1\n  extraPodSpec:\n    mainContainer:\n      \
                image: my-registry/tensorrtllm-runtime:my-tag\n  envs:\n    - name: DYN_ROUTER_MODE\n      value: kv\n";
    let worker = "TRTLLMWorker:\n  componentType: worker\n  extraPodSpec:\n    mainContainer:\n      image: \
                  a/tensorrtllm-runtime:0.9.0\n      args: [python3, -m, dynamo.trtllm, --publish-events-and-metrics, \
                  --kv-block-size, \"32\"]\n";
    let indented = |text: &str| format!("  {}\n", text.trim_end().replace('\n', "\n  "));
    let services = format!("services:\n{}{}", indented(bare), indented(worker));

    let alone = linted(bare);
    let both = linted(&format!("# quoted\n{bare}{worker}"));
    let spec = linted(&services);

    assert_eq!(alone.fragments, [("quoted.yaml".into(), 1)]);
    assert_eq!((alone.deployments, report::lint::exit(&alone)), (1, 1), "{alone:?}");
    assert_eq!(shown(&alone), [("KVT016", 7)], "the worker is supposed to have its default");
    let flaw = &alone.flaws[0];
    assert_eq!(flaw.grade, Grade::Likely);
    assert!(flaw.summary.ends_with("No worker was given; 32 is its engine's default."), "{flaw:?}");
    let image = flaw.spots.last().unwrap();
    assert!(image.line == 6 && image.what.contains("tensorrtllm-runtime"), "{image:?}");
    assert!(flaw.edits[0].yaml.contains("DYN_KV_CACHE_BLOCK_SIZE"), "{flaw:?}");
    assert!(
        report::lint::text(&alone).contains("block-size-declared, likely (fragment, Frontend)")
    );
    // Other engines' frontends have the default of those, and what somebody set is no default.
    let vllm = linted(&bare.replace("tensorrtllm", "vllm"));
    let declares =
        linted(&format!("{bare}    - name: DYN_KV_CACHE_BLOCK_SIZE\n      value: \"64\"\n"));
    for found in [&vllm, &declares] {
        assert_eq!((shown(found), report::lint::exit(found)), (Vec::new(), 0), "{found:?}");
        assert!(
            found.unjudged[0].missing.starts_with("needs the workers' block size"),
            "{found:?}"
        );
    }
    assert!(both.flaws.iter().chain(&spec.flaws).all(|flaw| flaw.grade == Grade::ConfigOnly));
    for (found, line) in [(&both, 8), (&spec, 8)] {
        assert_eq!(shown(found), [("KVT016", line)], "{found:?}");
        assert_eq!(found.flaws[0].component, "Frontend");
        assert_eq!(found.fragments.len(), 1);
    }
    let page = report::lint::text(&both);
    assert!(page.contains("quoted.yaml:2: a fragment of a DynamoGraphDeployment"), "{page}");
    assert!(page.ends_with("1 fragment of a deployment in 1 document: 1 warning.\n"), "{page}");
    let untyped = "services:\n  Frontend:\n    envs:\n      - {name: DYN_ROUTER_MODE, value: kv}\n";
    assert_eq!(linted(untyped).unjudged[0].id, "KVT016");
    // The correction fits into the quoted text.
    let sources = [Source { name: "quoted.yaml".into(), text: services }];
    let mended = corrected(&sources, &spec);
    assert_eq!(shown(&lint(&mended)), []);
    assert!(mended[0].text.contains("DYN_KV_CACHE_BLOCK_SIZE"), "{}", mended[0].text);
}

#[test]
fn components_of_the_newer_form_are_a_fragment_too() {
    let found = linted(
        "components:\n- name: Frontend\n  type: frontend\n  podTemplate:\n    spec:\n      containers:\n      \
         - name: main\n        image: a/vllm-runtime:1.6.1\n        env:\n        - {name: DYN_ROUTER_MODE, value: \
         kv}\n        - {name: DYN_KV_CACHE_BLOCK_SIZE, value: 32}\n",
    );

    assert_eq!(shown(&found), [("KVT103", 11)], "{found:?}");
    assert_eq!(found.fragments.len(), 1);
}

#[test]
fn other_documents_without_a_kind_are_no_fragment() {
    let compose = "services:\n  web:\n    image: nginx\n    environment: {A: b}\n";
    let mixed = "services:\n  web:\n    image: nginx\n  Frontend:\n    componentType: frontend\n";
    let values = "frontend:\n  envs:\n    - {name: DYN_ROUTER_MODE, value: kv}\n";
    let list = "components:\n  - name: a\n    version: 1\n";
    let engine = "kv_cache_config:\n  tokens_per_block: 32\n";
    let variables = "envs:\n  - {name: DYN_ROUTER_MODE, value: kv}\n";
    for text in [compose, mixed, values, list, engine, variables, "services: {}\n", "a: b\n"] {
        let found = linted(text);

        assert_eq!((found.deployments, report::lint::exit(&found)), (0, 3), "{text}");
        assert!(found.fragments.is_empty(), "{text}");
    }
}

#[test]
fn variables_of_config_maps_count_where_they_are_given() {
    let mut deployment = sources("helm.yaml").remove(0);
    let graph = deployment.text.find("# Source: inference/templates/graph.yaml").unwrap();
    deployment.text.replace_range(..graph, "");
    // This release sets a block size of 16 where nobody does.
    deployment.text = deployment.text.replace(":1.4.0", ":1.0.2");
    let map = |size: &str| Source {
        name: "router-env.yaml".into(),
        text: format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: router-env\ndata:\n  \
             DYN_ROUTER_MODE: kv\n  DYN_KV_CACHE_BLOCK_SIZE: \"{size}\"\n"
        ),
    };
    let declared = |sources: &[Source]| {
        let found = lint(sources);
        let flaw = found.flaws.into_iter().find(|flaw| flaw.id == "KVT016")?;
        let spots = flaw.spots.iter().map(|spot| format!("{}:{}", spot.file, spot.line));
        Some((spots.collect::<Vec<_>>(), flaw.edits.len()))
    };

    assert_eq!(declared(&[deployment.clone()]), None, "what the map sets is not known");
    let open = lint(&[deployment.clone()]).unjudged;
    let missing = "needs ConfigMap router-env, which sets variables of Frontend";
    assert!(open.iter().any(|open| open.missing == missing), "{open:?}");
    assert_eq!(declared(&[deployment.clone(), map("16")]), None);
    let (spots, edits) = declared(&[deployment, map("32")]).unwrap();
    assert!(spots.contains(&"router-env.yaml:7".to_owned()), "{spots:?}");
    assert_eq!(edits, 1);
}

/// Files nested deeper than any stack is: block and flow style, JSON, lists, keys.
#[test]
fn nesting_without_end_is_refused_with_its_line_on_a_stack_of_one_mebibyte() {
    let folder = scratch();
    for levels in [50, 65, 300, 3_000, 100_000] {
        let repeat = |text: &str| text.repeat(levels);
        let rows: Vec<String> =
            (0..levels.min(2_000)).map(|at| format!("{}a:", " ".repeat(at))).collect();
        let table = [
            ("flow.yaml", format!("a: {}1{}\n", repeat("{a: "), repeat("}"))),
            ("list.yaml", format!("# one\na: {}1{}\n", repeat("["), repeat("]"))),
            ("block.yaml", rows.join("\n")),
            ("dash.yaml", format!("{}b\n", repeat("- "))),
            ("key.yaml", format!("{}b\n", repeat("? "))),
            ("json.json", format!("{}1{}", repeat("{\"a\":"), repeat("}"))),
            ("open.json", repeat("{\"a\":[")),
        ];
        for (name, text) in table {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            let command = format!(
                "ulimit -s 1024; exec {} lint {}",
                env!("CARGO_BIN_EXE_kvtop"),
                path.display()
            );
            let output = Command::new("sh").args(["-c", &command]).output().unwrap();

            let said = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.code().is_some_and(|code| code <= 3),
                "{name} {levels}: {output:?}"
            );
            if levels > 64 && !name.starts_with("open") {
                assert!(said.contains("nested deeper than 64 levels"), "{name} {levels}: {said}");
                assert!(said.contains(name), "{said}");
            }
        }
    }
}

/// A variable would change nothing beside a flag that denies the same.
#[test]
fn a_flag_that_denies_replica_sync_is_replaced() {
    let text = "Frontend:\n  componentType: frontend\n  replicas: 2\n  extraPodSpec:\n    mainContainer:\n      image: \
                a/vllm-runtime:1.6.1\n      args: [python3, -m, dynamo.frontend, --router-mode, kv, \
                --no-router-replica-sync]\n";

    let denied = linted(text);

    let flaw = denied.flaws.iter().find(|flaw| flaw.id == "KVT013").unwrap();
    let [edit] = flaw.edits.as_slice() else { panic!("{flaw:?}") };
    assert!(edit.yaml.contains("kv, --router-replica-sync]"), "{}", edit.yaml);
}
