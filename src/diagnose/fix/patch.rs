//! A change of a graph deployment, as lines for its manifest and as a JSON patch.
//!
//! Custom resources know no strategic merge, and a plain merge replaces a list by the patch's: it would
//! drop every variable that is there, and in v1beta1 every other component. A JSON patch names the one
//! item, and fails without harm when the object is another one by then.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Change, shell};
use crate::domain::{Component, Graph, GraphApi, ManifestList};

/// Longest word that is compared as a whole; longer ones may have been shortened when they were read.
const WORD: usize = 256;

/// What is said of a flag and its value, which are two items of a list.
const BOTH: &str = "in place of this flag and its value; keep the others";

/// A change in both forms.
pub(super) struct Patch {
    pub(super) yaml: String,
    pub(super) kubectl: String,
}

/// One operation, and what it means to somebody who edits the manifest.
struct Step {
    operations: Vec<String>,
    path: Arc<str>,
    says: &'static str,
    lines: String,
}

/// Returns the patch of `components`; none when one of them cannot be changed safely.
pub(super) fn of(
    change: Option<&Change>,
    graph: &Graph,
    components: &[&Component],
) -> Option<Patch> {
    let Some(Change::Set { variable, flags, inside, value, .. }) = change else { return None };
    let api = graph.api?;
    let version = api.version();
    let mut operations = Vec::new();
    // Whoever changed the object since then moved what the patch points at.
    if let Some(generation) = graph.generation {
        operations
            .push(format!(r#"{{"op":"test","path":"/metadata/generation","value":{generation}}}"#));
    }
    let mut yaml = format!(
        "# DynamoGraphDeployment {} in namespace {} (nvidia.com/{version}).\n# Lines for its manifest. Do \
         not merge them as a patch: a merge drops the rest of the list.\n",
        graph.name, graph.namespace
    );
    for component in components {
        if let Some(place) = component.manifest.place {
            let name = json(&component.name);
            operations.push(format!(
                r#"{{"op":"test","path":"/spec/components/{place}/name","value":{name}}}"#
            ));
        }
        let guarded = graph.generation.is_some();
        let step = match inside {
            Some(key) => inside_json(component, flags, key, value)?,
            None => step(component, variable.as_deref(), flags, value, guarded)?,
        };
        let place = place(api, component, &step.path);
        let written = write!(yaml, "# {place}: {}\n{}", step.says, step.lines);
        // Writing to a string cannot fail.
        debug_assert!(written.is_ok());
        operations.extend(step.operations);
    }
    if components.is_empty() {
        return None;
    }
    let patch = format!("[{}]", operations.join(","));
    let kubectl = format!(
        "kubectl -n {} patch dynamographdeployments.{version}.nvidia.com {} --type=json -p {}",
        shell(&graph.namespace),
        shell(&graph.name),
        shell(&patch)
    );
    Some(Patch { yaml, kubectl })
}

fn step(
    component: &Component,
    variable: Option<&str>,
    flags: &[&str],
    value: &str,
    guarded: bool,
) -> Option<Step> {
    let manifest = &component.manifest;
    let long = |list: &ManifestList| list.present && list.items.is_none();
    if manifest.words.iter().chain(&manifest.variables).any(long) {
        return None;
    }
    if let Some(step) = manifest.words.iter().rev().find_map(|list| by_flag(list, flags, value)) {
        return Some(step);
    }
    let Some(name) = variable else {
        let (flag, list) = (flags.first()?, manifest.words.last()?);
        let words = [json(flag), json(value)];
        return Some(Step {
            operations: added(list, &words, guarded),
            path: Arc::clone(&list.path),
            says: "add",
            lines: format!("- {}\n", words.join("\n- ")),
        });
    };
    let entry = format!(r#"{{"name":{},"value":{}}}"#, json(name), json(value));
    let lines = format!("- name: {name}\n  value: {}\n", json(value));
    let known = manifest.variables.iter().rev().find_map(|list| {
        let names = list.items.as_ref()?;
        Some((list, names.iter().rposition(|known| known.as_ref() == name)?))
    });
    if let Some((list, at)) = known {
        let path = &list.path;
        let same = format!(r#"{{"op":"test","path":"{path}/{at}/name","value":{}}}"#, json(name));
        let set = format!(r#"{{"op":"replace","path":"{path}/{at}","value":{entry}}}"#);
        let operations = vec![same, set];
        return Some(Step {
            operations,
            path: Arc::clone(path),
            says: "in place of the one there",
            lines,
        });
    }
    let list = manifest.variables.first()?;
    let operations = added(list, &[entry], guarded);
    Some(Step { operations, path: Arc::clone(&list.path), says: "add", lines })
}

/// Gives a number inside a flag's JSON another value, and leaves the rest of it as it is.
fn inside_json(component: &Component, flags: &[&str], key: &str, value: &str) -> Option<Step> {
    let found = component.manifest.words.iter().rev().find_map(|list| {
        let words = list.items.as_ref()?;
        let at = words.iter().rposition(|word| flags.contains(&word.as_ref()))? + 1;
        let old = words.get(at).filter(|word| word.len() <= WORD)?;
        Some((list, at, old))
    });
    let (list, at, old) = found?;
    let start = old.find(&format!("\"{key}\""))? + key.len() + 2;
    let number = old[start..].find(|letter: char| letter.is_ascii_digit())? + start;
    let between = &old[start..number];
    if between.trim() != ":" || value.parse::<u64>().is_err() {
        return None;
    }
    let end = old[number..].find(|letter: char| !letter.is_ascii_digit()).map(|end| number + end);
    let new = format!("{}{value}{}", &old[..number], end.map_or("", |end| &old[end..]));
    let path = &list.path;
    let same = format!(r#"{{"op":"test","path":"{path}/{at}","value":{}}}"#, json(old));
    let set = format!(r#"{{"op":"replace","path":"{path}/{at}","value":{}}}"#, json(&new));
    let flag = list.items.as_ref().and_then(|words| words.get(at - 1))?;
    let lines = format!("- {}\n- {}\n", json(flag), json(&new));
    Some(Step { operations: vec![same, set], path: Arc::clone(path), says: BOTH, lines })
}

/// Returns the value that the manifest gives the last of these flags.
pub(super) fn value_of<'a>(component: &'a Component, flags: &[&str]) -> Option<&'a str> {
    component.manifest.words.iter().rev().find_map(|list| {
        let words = list.items.as_ref()?;
        let names = |word: &str| flags.contains(&word.split('=').next().unwrap_or_default());
        let at = words.iter().rposition(|word| names(word))?;
        let joined = words.get(at)?.split_once('=').map(|(_, value)| value);
        joined.or_else(|| words.get(at + 1).map(AsRef::as_ref))
    })
}

/// Gives a flag that is there another value.
fn by_flag(list: &ManifestList, flags: &[&str], value: &str) -> Option<Step> {
    let words = list.items.as_ref()?;
    let names = |word: &str| flags.iter().find(|flag| word.split('=').next() == Some(**flag));
    let at = words.iter().rposition(|word| names(word).is_some())?;
    let word = words.get(at).filter(|word| word.len() <= WORD)?;
    let (path, flag) = (&list.path, names(word)?);
    let same = format!(r#"{{"op":"test","path":"{path}/{at}","value":{}}}"#, json(word));
    let joined = json(&format!("{flag}={value}"));
    let (set, lines, says) = if word.contains('=') {
        let set = format!(r#"{{"op":"replace","path":"{path}/{at}","value":{joined}}}"#);
        (set, format!("- {joined}\n"), "in place of the item with this flag; keep the others")
    } else {
        let (at, value) = (at + 1, json(value));
        let op = if at < words.len() { "replace" } else { "add" };
        let lines = format!("- {}\n- {value}\n", json(flag));
        (format!(r#"{{"op":"{op}","path":"{path}/{at}","value":{value}}}"#), lines, BOTH)
    };
    Some(Step { operations: vec![same, set], path: Arc::clone(path), says, lines })
}

/// Appends `items` to a list, or makes it where there is none.
fn added(list: &ManifestList, items: &[String], guarded: bool) -> Vec<String> {
    let path = &list.path;
    if list.present {
        let add = |item: &String| format!(r#"{{"op":"add","path":"{path}/-","value":{item}}}"#);
        return items.iter().map(add).collect();
    }
    let make = format!(r#"{{"op":"add","path":"{path}","value":[{}]}}"#, items.join(","));
    // A list that came since then must not be replaced. The API server takes null for absent.
    let absent = format!(r#"{{"op":"test","path":"{path}","value":null}}"#);
    if guarded { vec![make] } else { vec![absent, make] }
}

/// Returns a JSON pointer as people write it.
fn place(api: GraphApi, component: &Component, path: &str) -> String {
    let mut text = String::new();
    let mut before = "";
    for part in path.split('/').skip(1) {
        let number = part.bytes().all(|byte| byte.is_ascii_digit());
        match (before, api) {
            ("components", GraphApi::V1Beta1) if number => {
                text.extend(["[name=", &component.name, "]"]);
            }
            ("containers", GraphApi::V1Beta1) if number => text.push_str("[name=main]"),
            _ => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(&part.replace("~1", "/").replace("~0", "~"));
            }
        }
        before = part;
    }
    text
}

/// Returns `text` as a JSON string, which is one of YAML too.
fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
