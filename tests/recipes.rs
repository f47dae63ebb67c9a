//! Each recipe of docs/CONTRIBUTING.md holds: adding one thing takes the edits that it names, and no other.

use std::collections::BTreeSet;

use kvtop::diagnose::RULES;
use kvtop::domain::{Backend, Fact, GaugeName, Role, Timestamp};
use kvtop::dynamo::{Kind, Setting, metric, settings};
use kvtop::frame::{Frame, KubeChange, Origin};
use kvtop::tui::keymap::BINDINGS;
use kvtop::wire::{Facts, decode, kept_of_scrape};
use serde_json::json;

use crate::support::sources;

/// Returns the words of `text` that start with `start`.
fn words<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    let found = text.match_indices(start).map(|(at, _)| {
        let rest = &text[at..];
        let end = rest[start.len()..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &rest[..end.map_or(rest.len(), |end| end + start.len())]
    });
    found.collect()
}

/// Returns which of the words that start with `start` the code of `folder` has outside of `homes`, as `file: word`.
fn strays(folder: &str, start: &str, homes: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in sources::code(folder) {
        if !homes.iter().any(|home| file.starts_with(home)) {
            found.extend(words(&text, start).into_iter().map(|word| format!("{file}: {word}")));
        }
    }
    found
}

fn page(name: &str) -> String {
    std::fs::read_to_string(format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Screen, report, lint and engine read a rule's metadata from the rule, so they need no edit for a new one. The
/// engine names one rule, whose behaviour it shares, and one exported metric is about three of them.
#[test]
fn a_finding_is_one_file_and_its_lines_in_the_list_of_rules() {
    // `lint` judges what only a manifest shows, by rules of its own choice.
    let homes = ["src/diagnose/rules/", "src/lint", "src/tui/graph/gallery.rs"];
    let homes = [&homes[..], &["src/report/prometheus/deployment.rs"]].concat();
    let expected = ["src/engine/picture/workers.rs: \"KVT001"];
    assert_eq!(strays("src", "\"KVT0", &homes), expected);

    let list = sources::code("src/diagnose");
    let (_, list) = list.iter().find(|(file, _)| file == "src/diagnose/rules.rs").unwrap();
    for (file, text) in sources::code("src/diagnose/rules") {
        for rule in text.match_indices("\nimpl Rule for ").map(|(at, _)| &text[at + 15..]) {
            let rule = rule.split_whitespace().next().unwrap();
            let stem = file.rsplit('/').next().unwrap().trim_end_matches(".rs");
            assert!(list.contains(&format!("mod {stem};")), "{stem}");
            assert!(list.contains(&format!("&{stem}::{rule},")), "{stem}::{rule}");
        }
    }
    let reference = page("reference/findings.md");
    for rule in RULES {
        assert!(
            reference.contains(&format!("## {} {}\n", rule.id(), rule.name())),
            "{}",
            rule.id()
        );
    }
}

/// Columns that the layout of the table treats in a way of their own: those that take spare room.
#[test]
fn a_worker_column_is_one_entry_of_the_list_of_columns() {
    let homes = ["src/tui/panels/workers/columns"];
    let others: BTreeSet<String> = strays("src", "Col::", &homes)
        .into_iter()
        .map(|stray| stray.rsplit(' ').next().unwrap().to_owned())
        .filter(|name| {
            name[5..].starts_with(|c: char| c.is_ascii_uppercase()) && name != "Col::ALL"
        })
        .collect();
    let spare = ["Col::Kv", "Col::Name", "Col::Node", "Col::State", "Col::Stores"];
    assert_eq!(others.iter().map(String::as_str).collect::<Vec<_>>(), spare);
}

/// Rules, decoders and lint compare with the constants of `dynamo::release`.
#[test]
fn a_release_has_its_numbers_in_the_tables_of_dynamo() {
    let homes = ["src/dynamo", "src/domain/version.rs"];
    for call in ["Release::new(", "Releases::from(", "Releases::up_to("] {
        let numbers = |text: &str| {
            let rest = text.match_indices(call).map(|(at, _)| &text[at + call.len()..]);
            rest.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).count()
        };
        for (file, text) in sources::code("src") {
            let home = homes.iter().any(|home| file.starts_with(home));
            assert!(home || numbers(&text) == 0, "{file} has a release number of its own");
        }
    }
    assert!(page("reference/dynamo.md").contains(&kvtop::dynamo::release::span()));
}

/// Returns a pod that runs `module` with `words`.
fn pod(module: &str, words: &[&str]) -> serde_json::Value {
    let command = [&["python3", "-m", module], words].concat();
    json!({
        "metadata": {
            "name": "w", "namespace": "n", "uid": "u",
            "labels": {"nvidia.com/dynamo-component-type": "worker", "nvidia.com/dynamo-graph-deployment-name": "g"},
        },
        "spec": {"containers": [{"name": "main", "image": "x/vllm-runtime:1.3.0", "command": command}]},
    })
}

/// Returns a value that `setting` takes, as words behind its flag.
fn value(setting: &Setting) -> Option<&'static str> {
    let events =
        "{\"publisher\":\"zmq\",\"enable_kv_cache_events\":true,\"endpoint\":\"tcp://*:5557\"}";
    match setting.kind {
        Kind::Count => Some("3"),
        Kind::Decimal => Some("0.5"),
        Kind::Text => Some("auto"),
        Kind::Switch => None,
        Kind::EventsConfig | Kind::EventsSwitch | Kind::EventsEndpoint => Some(events),
    }
}

/// Source, decoder and reference take flags from the tables, so an entry is all that a flag needs.
#[test]
fn an_engine_flag_is_one_entry_of_its_engine() {
    let reference = page("reference/dynamo.md");
    let engines = [
        (Backend::TrtLlm, "dynamo.trtllm"),
        (Backend::Vllm, "dynamo.vllm"),
        (Backend::SgLang, "dynamo.sglang"),
        (Backend::Mocker, "dynamo.mocker"),
    ];
    let mut flags = 0;
    for (engine, module) in engines {
        for setting in settings::rows(Role::Worker, Some(engine)).into_iter().flatten() {
            for name in setting.flags.iter().map(|name| name.text) {
                assert!(reference.contains(&format!("`{name}`")), "{name}");
                let words: Vec<&str> = [name].into_iter().chain(value(setting)).collect();
                let object = pod(module, &words);
                let kept = kvtop::source::decoders::kept_of_object("Pod", object).unwrap();
                for word in &words {
                    assert!(
                        kept.to_string().contains(word.trim_start_matches('{'))
                            || word.starts_with('{'),
                        "{name}: {kept}"
                    );
                }
                let origin = Origin::Kube { kind: "Pod".into(), change: KubeChange::Added };
                let frame = Frame::new(Timestamp(1), origin, kept.to_string());
                let mut facts = Facts::default();
                decode(&frame, &mut facts).unwrap();
                let claimed = facts.other.iter().any(|fact| {
                    matches!(fact, Fact::Claim(claim) if claim.what == setting.what && setting.of.contains(&claim.of))
                });
                assert!(claimed, "{module} {words:?} sets {:?}: {:?}", setting.what, facts.other);
                flags += 1;
            }
        }
    }
    assert!(flags > 40, "{flags}");
}

/// No layer but those that carry frames knows where a frame came from, so a new origin ends at the decoders.
#[test]
fn a_source_is_known_to_no_rule_screen_or_report() {
    let homes = [
        "src/engine",
        "src/frame.rs",
        "src/lint",
        "src/player",
        "src/record",
        "src/run",
        "src/simulator",
        "src/source",
        "src/wire",
    ];
    let strays = strays("src", "Origin::Kube", &homes);
    assert!(!strays.iter().any(|stray| stray.ends_with("Origin::Kube")), "{strays:?}");
    let listed = page("RECORDING.md");
    let frame =
        sources::code("src").into_iter().find(|(file, _)| file == "src/frame.rs").unwrap().1;
    let body = frame.split("pub enum Origin {").nth(1).unwrap().split("\n}").next().unwrap();
    let variants = body.lines().filter_map(|line| {
        let name = line.strip_prefix("    ")?.strip_suffix(" {")?;
        name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| name.to_lowercase())
    });
    let variants: Vec<String> = variants.collect();
    assert!(variants.len() > 8, "{variants:?}");
    for name in variants {
        assert!(listed.contains(&format!("`{name}`")), "{name} has no row in docs/RECORDING.md");
    }
}

/// Help, footer, `kvtop keys`, the config file and the reference read the rows of the table.
#[test]
fn a_key_is_one_row_of_the_table_of_keys() {
    let homes = ["src/tui/keymap"];
    let strays = strays("src/tui", "KeyCode::", &homes);
    assert!(strays.is_empty(), "keys outside of the table: {strays:?}");
    let reference = page("reference/keys.md");
    for binding in BINDINGS.iter().filter(|binding| !binding.help.is_empty()) {
        assert!(reference.contains(binding.help), "{}", binding.help);
    }
}

/// A metric passes the filter of its source, is decoded, and stands in the reference.
#[test]
fn a_metric_is_one_line_of_the_table_of_metrics() {
    let reference = page("reference/dynamo.md");
    for (name, gauge) in metric::GAUGES {
        assert!(reference.contains(&format!("| `{name}` | {} |", gauge.about())), "{name}");
        let scrape = format!("{name}{{num_gpu_blocks=\"7\",dynamo_endpoint=\"generate\"}} 7\n");
        let kept = kept_of_scrape(scrape.as_bytes());
        let origin = Origin::Metrics { pod: "w".into(), url: "/metrics".into() };
        let mut facts = Facts::default();
        decode(&Frame::new(Timestamp(1), origin, kept), &mut facts).unwrap();
        let found = facts.other.iter().any(|fact| {
            matches!(fact, Fact::Gauge(read) if read.name == *gauge && read.value.to_bits() == 7f64.to_bits())
        });
        assert!(found, "{name}: {:?}", facts.other);
    }
    let homes = [
        "src/domain/gauge.rs",
        "src/dynamo/metric.rs",
        "src/model",
        "src/engine/learn",
        "src/wire/prometheus_text",
    ];
    let strays = strays("src", "GaugeName::", &homes);
    let known = ["src/dynamo/reference.rs: GaugeName::about"];
    assert_eq!(strays, known);
    let mut words: Vec<&str> = GaugeName::ALL.iter().map(|gauge| gauge.about()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), GaugeName::ALL.len());
}
