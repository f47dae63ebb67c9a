//! Who may import whom: the table of docs/ARCHITECTURE.md, held by reading the sources.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

struct Layer {
    name: &'static str,
    /// Other layers it may import.
    layers: &'static [&'static str],
    /// External crates it may name.
    crates: &'static [&'static str],
}

const ANY: &[&str] = &["*"];

const LAYERS: &[Layer] = &[
    Layer { name: "domain", layers: &[], crates: &[] },
    Layer { name: "clock", layers: &["domain"], crates: &[] },
    Layer { name: "frame", layers: &["domain"], crates: &["bytes"] },
    Layer {
        name: "simulator",
        // Of `wire` only the encoders.
        layers: &["domain", "frame", "wire"],
        crates: &["serde_json", "xxhash_rust"],
    },
    Layer {
        name: "source",
        // Of `wire` only the encoder of health notes.
        layers: &["domain", "clock", "frame", "simulator", "wire"],
        crates: &[
            "async_nats",
            "bytes",
            "futures_util",
            "http",
            "http_body_util",
            "jiff",
            "k8s_openapi",
            "kube",
            "serde",
            "serde_json",
            "tokio",
            "xxhash_rust",
            "base64",
            "http",
            "http_body_util",
            "hyper",
            "hyper_util",
            "k8s_openapi",
            "kube",
        ],
    },
    Layer {
        name: "record",
        layers: &["domain", "frame"],
        crates: &["base64", "bytes", "flate2", "serde", "serde_json", "zstd"],
    },
    Layer {
        name: "wire",
        layers: &["domain", "frame"],
        crates: &[
            "bytes",
            "jiff",
            "prometheus_parse",
            "serde",
            "serde_json",
            "serde_saphyr",
            "wide",
            "xxhash_rust",
        ],
    },
    Layer { name: "mirror", layers: &["domain"], crates: &["prefetch_index", "wide"] },
    Layer { name: "metrics", layers: &["domain"], crates: &[] },
    Layer { name: "model", layers: &["domain"], crates: &[] },
    Layer { name: "attach", layers: &["domain", "model"], crates: &[] },
    Layer {
        name: "diagnose",
        layers: &["domain", "mirror", "model", "metrics"],
        crates: &["serde"],
    },
    Layer {
        name: "lint",
        layers: &["domain", "frame", "wire", "model", "diagnose"],
        crates: &["serde", "serde_json", "serde_saphyr"],
    },
    Layer { name: "snapshot", layers: &["domain"], crates: &[] },
    Layer {
        name: "engine",
        layers: &["domain", "frame", "wire", "mirror", "metrics", "model", "diagnose", "snapshot"],
        crates: &[],
    },
    Layer {
        name: "report",
        layers: &["domain", "snapshot", "lint"],
        crates: &["jiff", "serde", "serde_json"],
    },
    Layer {
        name: "tui",
        layers: &["domain", "snapshot"],
        crates: &["ratatui", "crossterm", "serde", "strsim", "toml", "tui_tree_widget"],
    },
    Layer { name: "cli", layers: &["domain"], crates: &["clap", "jiff"] },
    Layer { name: "config", layers: &["domain", "cli"], crates: &["strsim", "toml"] },
    Layer { name: "exit", layers: &["domain"], crates: &[] },
    Layer { name: "run", layers: ANY, crates: ANY },
];

/// Crates that every layer may name.
const EVERYWHERE: &[&str] = &["std", "core", "alloc", "thiserror", "crate", "self", "super"];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the layer of a file: the first part of its path below `src`.
fn layer_of(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap();
    let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
    first.strip_suffix(".rs").unwrap_or(first).to_owned()
}

/// Returns the source without comments and without what stands in quotes.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let mut quoted = false;
        for letter in line.chars() {
            if letter == '"' {
                quoted = !quoted;
            } else if !quoted {
                code.push(letter);
            }
        }
        code.push('\n');
    }
    code
}

/// Returns the names that stand before `::` in `code`, with `crate::x` given as `crate::x`.
fn paths_in(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(position) = rest.find("::") {
        let before: String = rest[..position]
            .chars()
            .rev()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .collect();
        let name: String = before.chars().rev().collect();
        let at_start = !rest[..position - name.len()].ends_with("::");
        let after: String = rest[position + 2..]
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .collect();
        if at_start && name == "crate" {
            found.push(format!("crate::{after}"));
        } else if at_start && name.chars().next().is_some_and(char::is_lowercase) {
            found.push(name);
        }
        rest = &rest[position + 2..];
    }
    found
}

#[test]
fn layers_import_only_what_the_table_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let manifest = std::fs::read_to_string(root.parent().unwrap().join("Cargo.toml")).unwrap();
    let externals: Vec<String> = manifest
        .split("[dependencies]")
        .nth(1)
        .unwrap()
        .split("\n[features]")
        .next()
        .unwrap()
        .lines()
        .filter_map(|line| Some(line.split_once(" = ")?.0.trim().replace('-', "_")))
        .collect();
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = String::new();
    for path in &files {
        let name = layer_of(&root, path);
        // Unit tests in files of their own may name what tests need.
        if ["main", "lib"].contains(&name.as_str())
            || path.ends_with("tests.rs")
            || path.parent().is_some_and(|folder| folder.ends_with("tests"))
        {
            continue;
        }
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
            writeln!(wrong, "{}: layer `{name}` is not in the table", path.display()).unwrap();
            continue;
        };
        let text = std::fs::read_to_string(path).unwrap();
        let code = code_of(text.split("#[cfg(test)]").next().unwrap());
        if code.contains("super::super") {
            writeln!(wrong, "{}: `super::super`; name the path from `crate`", path.display())
                .unwrap();
        }
        for used in paths_in(&code) {
            let allowed = match used.strip_prefix("crate::") {
                Some(other) => {
                    other == name || layer.layers == ANY || layer.layers.contains(&other)
                }
                None => {
                    EVERYWHERE.contains(&used.as_str())
                        || !externals.contains(&used)
                        || layer.crates == ANY
                        || layer.crates.contains(&used.as_str())
                }
            };
            if !allowed {
                writeln!(wrong, "{}: layer `{name}` may not name `{used}`", path.display())
                    .unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
