//! Conventions of the command line: formats of output, schemas, nearest words, examples, manual pages.

use std::path::{Path, PathBuf};
use std::process::Output;

use boon::{Compiler, Draft, Schemas};
use serde_json::Value;

use crate::config::kvtop;
use crate::support::{bless, captures, fixture, scratch};

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = kvtop(&scratch(), &[], arguments);
    let text = if stdout.is_empty() { stderr } else { stdout };
    (status.code(), String::from_utf8(text).unwrap())
}

/// Forbids fields that a schema does not know, which readers of the contract have to allow.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(strict);
            if fields.contains_key("properties") && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Value::Array(all) => all.iter_mut().for_each(strict),
        _ => {}
    }
}

/// Holds outputs against the schema of `kind`, each of whose fields must be in it.
pub(crate) fn valid(kind: &str, outputs: impl Iterator<Item = (String, Value)>) {
    let mut schema: Value = serde_json::from_str(&run(&["schema", kind]).1).unwrap();
    if kind != "config" {
        strict(&mut schema);
    }
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.add_resource("kvtop.json", schema).unwrap();
    let index = compiler.compile("kvtop.json", &mut schemas).unwrap();
    let mut count = 0;
    for (name, output) in outputs {
        let result = schemas.validate(&output, index);
        assert!(result.is_ok(), "{kind} {name}: {}", result.unwrap_err());
        count += 1;
    }
    assert!(count > 0, "{kind}");
}

fn json(arguments: &[&str]) -> Value {
    let (_, text) = run(arguments);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
}

/// Recordings of different versions and faults, one with Kubernetes.
fn recordings() -> Vec<(String, PathBuf)> {
    let mut all: Vec<_> = captures().into_iter().step_by(4).collect();
    all.push(("config-map".to_owned(), fixture("clusters/config-map.frames")));
    all
}

#[test]
fn schemas_are_committed_and_describe_every_field_of_real_outputs() {
    let kinds =
        "check check-fleet snapshot diff lint doctor plan curve decisions tree config".split(' ');
    for kind in kinds {
        let path = Path::new("docs/reference/schema").join(format!("{kind}.schema.json"));
        bless::page(path, &run(&["schema", kind]).1);
    }
    let of = |command: &'static str| {
        recordings().into_iter().map(move |(name, path)| {
            (name, json(&[command, "-o", "json", "--replay", path.to_str().unwrap()]))
        })
    };
    let missing =
        ("missing".to_owned(), json(&["check", "-o", "json", "--replay", "no-such-file"]));
    valid("check", of("check").chain([missing]));
    let demo = ["snapshot", "-o", "json", "--demo", "gtc-demo", "--for", "60s"];
    valid("snapshot", of("snapshot").chain([("demo".to_owned(), json(&demo))]));
    let manifests = fixture("lint");
    valid(
        "lint",
        [("folder".to_owned(), json(&["lint", "-o", "json", manifests.to_str().unwrap()]))]
            .into_iter(),
    );
    let doctor = ["doctor", "-o", "json", "--nats-url", "nats://127.0.0.1:1"];
    valid("doctor", [("unreachable".to_owned(), json(&doctor))].into_iter());
}

#[test]
fn the_schema_of_the_config_file_takes_what_kvtop_takes() {
    let template = run(&["config", "init", "--stdout"]).1;
    // Every setting, as the comments show it.
    let set: String = template
        .lines()
        .filter_map(|line| {
            let text = line.strip_prefix("# ").unwrap_or(line);
            let key = text.split(" = ").next().unwrap_or_default();
            let named = !key.is_empty()
                && key.chars().all(|it| it.is_ascii_alphanumeric() || "-_".contains(it));
            (text.starts_with('[') && text.ends_with(']') && !text.contains(' ')
                || text.contains(" = ") && named)
                .then(|| format!("{text}\n"))
        })
        .collect();
    let table: toml::Table = set.parse().unwrap_or_else(|error| panic!("{error}\n{set}"));
    assert!(table.len() > 10, "{set}");
    valid("config", [("template".to_owned(), serde_json::to_value(table).unwrap())].into_iter());
}

#[test]
fn yaml_says_what_json_says() {
    let path = fixture("captures/0.9.0-incident_load10.frames.gz");
    for command in ["check", "snapshot"] {
        let arguments = |format| [command, "-o", format, "--replay", path.to_str().unwrap()];
        let as_json = json(&arguments("json"));
        let (_, text) = run(&arguments("yaml"));
        let as_yaml: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(as_yaml, as_json, "{command}");
    }
}

#[test]
fn names_and_templates_select_and_wide_shows_more() {
    let path = fixture("captures/0.9.0-incident_load10.frames.gz");
    let of = |command, format| run(&[command, "-o", format, "--replay", path.to_str().unwrap()]);
    let (code, names) = of("check", "name");
    assert_eq!(code, Some(2));
    assert_eq!(names.lines().next(), Some("KVT001"));
    let (code, found) =
        of("check", "jsonpath={.status} {.findings[0].id}: {.findings[0].severity}");
    assert_eq!((code, found.as_str()), (Some(2), "CRITICAL KVT001: critical\n"));
    let (_, lines) = of("check", "jsonpath={range .checks[*]}{.id} {.verdict}{\"\\n\"}{end}");
    assert!(lines.contains("KVT001 found\n") && lines.lines().count() > 15, "{lines}");
    let (_, wide) = of("check", "wide");
    assert!(wide.starts_with("KVTOP CRITICAL") && wide.contains("\n  fix: "), "{wide}");
    assert!(wide.contains("KVT001 block-size-mismatch          FOUND"), "{wide}");
    let (_, table) = of("snapshot", "table");
    let (_, wide) = of("snapshot", "wide");
    let head = |text: &str| text.lines().next().unwrap().to_owned();
    assert!(
        head(&wide).starts_with(head(&table).as_str()) && head(&wide).contains("MODEL"),
        "{wide}"
    );
    let (_, ids) = of("snapshot", "name");
    let from_json = json(&["snapshot", "-o", "json", "--replay", path.to_str().unwrap()]);
    let known: Vec<&str> = from_json["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.lines().collect::<Vec<_>>(), known);
    let manifests = fixture("lint");
    let (_, ids) = run(&["lint", "-o", "name", manifests.to_str().unwrap()]);
    assert!(!ids.is_empty() && ids.lines().all(|id| id.starts_with("KV")), "{ids}");
}

#[test]
fn a_word_that_is_not_known_is_a_usage_error_and_the_nearest_one_is_named() {
    let table: [(&[&str], i32, &str); 8] = [
        (&["explain", "KVT0O1"], 2, "did you mean `KVT"),
        (&["explain", "block-size-mismach"], 2, "did you mean `block-size-mismatch`?"),
        (&["demo", "mismtch"], 2, "did you mean `mismatch`?"),
        (
            &["snapshot", "--demo", "healthy", "--for", "1s", "-o", "svg", "--view", "overvew"],
            2,
            "did you mean `overview`?",
        ),
        (&["man", "chek"], 2, "did you mean `check`?"),
        (&["themes", "show", "nrod"], 2, "did you mean `nord`?"),
        (&["snapshot", "-o", "yml"], 2, "yaml"),
        (&["snapshot", "-o", "jsonpath={.a", "--demo", "healthy"], 2, "a brace is not closed"),
    ];
    for (arguments, expected, said) in table {
        let (code, text) = run(arguments);
        assert_eq!(code, Some(expected), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
    // Monitoring takes 2 for critical.
    let (code, text) = run(&["check", "-o", "jsonpath={", "--replay", "x"]);
    assert_eq!(code, Some(3), "{text}");
}

#[test]
fn help_is_in_groups_with_examples_that_the_command_line_takes() {
    let (_, help) = run(&["check", "--help"]);
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
    assert!(at("\nKubernetes:") < at("\nNATS:") && at("\nNATS:") < at("\nExamples:"), "{help}");
    let mut count = 0;
    for command in [
        "",
        "demo",
        "replay",
        "record",
        "snapshot",
        "stat",
        "check",
        "lint",
        "explain",
        "doctor",
        "bundle",
        "rbac",
        "export",
        "deploy",
        "mcp",
        "report",
        "diff",
        "schema",
        "themes",
        "keys",
        "completions",
        "man",
        "config",
    ] {
        let examples = kvtop::cli::examples(command);
        assert!(!examples.is_empty(), "{command}");
        for (line, _) in examples {
            let Some(own) = line.split(" | ").find(|part| part.starts_with("kvtop")) else {
                // A line for the file of a shell.
                continue;
            };
            let words = own.split(" > ").next().unwrap().split(' ');
            let words = words.map(|word| word.replace('\'', "").replace("ADDRESS", "127.0.0.1:1"));
            let read = kvtop::cli::Cli::read(words.map(Into::into));
            assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
            count += 1;
        }
    }
    assert!(count > 30);
    let (_, page) = run(&["man", "check"]);
    for section in ["EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"] {
        assert!(page.contains(&format!(".SH \"{section}\"")), "{section}: {page}");
    }
}
