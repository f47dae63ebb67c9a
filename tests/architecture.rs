//! Layers import only what the table in `architecture/layers.rs` allows; the sources are parsed to see it.

mod layers;
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use layers::{ANY, CORE_STD, LAYERS, Layer};
use modules::{Crate, Files, Named};

/// Parts of the standard library with which code waits, shares, reads a clock or touches the machine.
const GUARDED: &[&str] = &["env", "fs", "net", "os", "process", "sync", "thread", "time"];

/// Of those, plain values: addresses, lengths of time, shared ownership, constants made on first use.
const HARMLESS: &[&str] = &[
    "net::IpAddr",
    "net::Ipv4Addr",
    "net::Ipv6Addr",
    "net::SocketAddr",
    "sync::Arc",
    "sync::LazyLock",
    "sync::Weak",
    "time::Duration",
];

fn sources(dir: &Path, below: &Path, found: &mut Files) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let relative = below.join(path.file_name().unwrap());
        if path.is_dir() {
            sources(&path, &relative, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(relative, std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn checkout() -> Files {
    let mut files = Files::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&root, Path::new(""), &mut files);
    files
}

/// The names that a path may start with, and whether only tests may use them.
fn externals() -> BTreeMap<String, bool> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest: toml::Table = std::fs::read_to_string(manifest).unwrap().parse().unwrap();
    let mut names = BTreeMap::new();
    for (section, for_tests) in [("dev-dependencies", true), ("dependencies", false)] {
        for name in manifest[section].as_table().unwrap().keys() {
            names.insert(name.replace('-', "_"), for_tests);
        }
    }
    names
}

/// Returns the row of the table that a module belongs to: the one with the longest matching name.
fn layer_of(path: &[String]) -> Option<&'static Layer> {
    let name = path.join("/");
    let within = |layer: &&Layer| {
        name == layer.name
            || name.strip_prefix(layer.name).is_some_and(|rest| rest.starts_with('/'))
    };
    LAYERS.iter().filter(within).max_by_key(|layer| layer.name.len())
}

/// Returns every path that the table does not allow, and every permission that no code needs.
fn violations(files: &Files) -> Vec<String> {
    let known = externals();
    let names: Vec<String> = known.keys().cloned().collect();
    let read = Crate::read(files, &["lib.rs", "main.rs"], &names);
    let mut wrong: Vec<String> =
        read.orphans.iter().map(|path| format!("{}: no module", path.display())).collect();
    let mut used: BTreeSet<(&str, String)> = BTreeSet::new();
    for named in read.named() {
        let Some(layer) = layer_of(&named.module) else {
            if named.module.first().is_some_and(|first| first != "run") {
                wrong.push(format!(
                    "{}: `{}` is in no layer",
                    named.place,
                    named.module.join("::")
                ));
            }
            continue;
        };
        if let Some(what) = forbidden(layer, &named, &known, &mut used) {
            wrong.push(format!("{}: layer `{}` may not name `{what}`", named.place, layer.name));
        }
    }
    for layer in LAYERS {
        for allowed in [layer.layers, layer.crates, layer.std, layer.in_tests].concat() {
            if allowed != "*" && !used.contains(&(layer.name, allowed.to_owned())) {
                wrong.push(format!(
                    "layer `{}` is allowed `{allowed}` and does not use it",
                    layer.name
                ));
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    wrong
}

/// Returns what of `named` the layer may not name, and notes the permissions that it uses.
fn forbidden(
    layer: &'static Layer,
    named: &Named,
    externals: &BTreeMap<String, bool>,
    used: &mut BTreeSet<(&'static str, String)>,
) -> Option<String> {
    let (first, rest) = named.path.split_first()?;
    let mut may = |list: &[&str], what: &str| {
        let found = list == ANY || list.contains(&what);
        if found {
            used.insert((layer.name, what.to_owned()));
        }
        found
    };
    let mut allowed =
        |list: &[&str], what: &str| may(list, what) || (named.test && may(layer.in_tests, what));
    match first.as_str() {
        "crate" => {
            if rest.first().is_some_and(|part| part == "*") {
                return (layer.layers != ANY).then(|| "crate::*".to_owned());
            }
            let other = layer_of(rest)?;
            let own = other.name == layer.name;
            (!own && !allowed(layer.layers, other.name)).then(|| format!("crate::{}", other.name))
        }
        "std" | "core" | "alloc" => {
            let part = rest.first()?;
            if !GUARDED.contains(&part.as_str()) {
                return None;
            }
            let item = rest.get(1).map_or(part.clone(), |item| format!("{part}::{item}"));
            if rest.len() == 1 || HARMLESS.contains(&item.as_str()) {
                return None;
            }
            let all = named.test || allowed(layer.std, part) || allowed(layer.std, &item);
            (!all).then(|| format!("std::{item}"))
        }
        name => {
            let for_tests = *externals.get(name)?;
            let fine = (for_tests && named.test)
                || ["thiserror"].contains(&name)
                || allowed(layer.crates, name);
            (!fine).then(|| name.to_owned())
        }
    }
}

#[test]
fn layers_import_only_what_the_table_allows() {
    let wrong = violations(&checkout());
    let mut report = String::new();
    for line in &wrong {
        writeln!(report, "{line}").unwrap();
    }
    assert!(wrong.is_empty(), "\n{report}");
}

/// Returns the complaints about the file at `path` of a small crate that has every layer, when it holds `text`.
fn complaints(path: &str, text: &str) -> Vec<String> {
    let mut files = Files::new();
    let mut declare = |parent: &str, child: &str| {
        writeln!(files.entry(parent.into()).or_default(), "mod {child};").unwrap();
    };
    for layer in LAYERS.iter().filter(|layer| !layer.name.contains('/')) {
        declare("lib.rs", layer.name);
    }
    if let Some((layer, file)) = path.split_once('/') {
        declare(&format!("{layer}.rs"), file.strip_suffix(".rs").unwrap());
    }
    for layer in LAYERS {
        files.entry(format!("{}.rs", layer.name).into()).or_default();
    }
    files.entry(path.into()).or_default().push_str(text);
    files.entry("main.rs".into()).or_default();
    let place = format!("src/{path}");
    violations(&files).into_iter().filter(|line| line.starts_with(&place)).collect()
}

#[test]
fn an_upward_import_is_found_however_it_is_written() {
    let cases = [
        ("mirror/tree.rs", "use crate::engine::Engine;"),
        ("mirror/tree.rs", "use super::super::engine::Engine;"),
        ("mirror.rs", "use super::engine;"),
        ("mirror.rs", "use crate as root; fn f(_: root::engine::Engine) {}"),
        ("mirror.rs", "use super as up; fn f(_: up::engine::Engine) {}"),
        ("mirror.rs", "extern crate self as own; fn f(_: own::engine::Engine) {}"),
        ("mirror.rs", "use crate::*;"),
        ("mirror.rs", "fn f() { println!(\"{}\", crate::engine::SIZE); }"),
        ("mirror.rs", "macro_rules! m { () => { $crate::engine::SIZE } }"),
        ("mirror.rs", "#[cfg(test)] mod more { use crate::engine::Engine; }"),
        ("model/tally.rs", "const A: u8 = <crate::tui::text::X as Y>::Z;"),
        ("wire.rs", "use crate::{domain::{self}, source::{Emitter as E}};"),
        ("diagnose/rules.rs", "use tokio as t;"),
        ("diagnose/rules.rs", "extern crate tokio as t; fn f() { t::spawn(g()); }"),
    ];
    for (path, text) in cases {
        assert!(!complaints(path, text).is_empty(), "not found in {path}: {text}");
    }
}

#[test]
fn an_import_in_a_file_of_unit_tests_is_found() {
    let found = complaints("mirror/tests.rs", "use crate::tui::text;");

    assert_eq!(found, ["src/mirror/tests.rs:1: layer `mirror` may not name `crate::tui`"]);
}

#[test]
fn the_core_has_no_thread_lock_file_or_clock() {
    let cases = [
        "use std::sync::Mutex;",
        "use std::{sync::{Arc, RwLock as Lock}};",
        "use std::sync::*;",
        "fn f() { std::thread::spawn(|| ()); }",
        "use std as s; fn f() { s::fs::read(\"x\"); }",
        "fn f() -> std::time::Instant { std::time::Instant::now() }",
        "use std::time::{self, Duration}; fn f() { time::SystemTime::now(); }",
        "fn f() { std::env::var(\"HOME\"); }",
    ];
    let core = [
        "domain", "wire", "mirror", "model", "metrics", "diagnose", "engine", "snapshot", "doctor",
    ];
    for layer in core {
        for text in cases {
            let found = complaints(&format!("{layer}.rs"), text);
            assert!(!found.is_empty(), "not found in {layer}: {text}");
        }
    }
    let pure: Vec<&str> = LAYERS.iter().filter(|l| l.std == CORE_STD).map(|l| l.name).collect();
    assert!(pure.len() > 8, "{pure:?}");
}

#[test]
fn what_a_layer_may_name_is_no_violation() {
    let cases = [
        ("engine.rs", "use super::mirror as index; fn f(_: index::Mirror) {}"),
        ("mirror.rs", "use std::sync::Arc as Shared; use std::time;"),
        ("wire.rs", "fn f() { let crate_name = \"crate::engine\"; } // crate::engine"),
    ];
    for (path, text) in cases {
        assert_eq!(complaints(path, text), Vec::<String>::new(), "{path}: {text}");
    }
}

#[test]
fn every_direct_dependency_has_a_reason_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("docs/DEPENDENCIES.md")).unwrap();
    let rows: BTreeSet<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .flat_map(|names| names.split(", "))
        .collect();
    let manifest: toml::Table =
        std::fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let named = manifest["dependencies"].as_table().unwrap();
    let missing: Vec<&String> = named.keys().filter(|name| !rows.contains(name.as_str())).collect();

    assert!(missing.is_empty(), "no row in docs/DEPENDENCIES.md: {missing:?}");
    assert_eq!(rows.len() - 1, named.len(), "rows without a dependency");
}
