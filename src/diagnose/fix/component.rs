//! Settings of a component's manifest: their values, and the operations that change them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::patch::{Operation, appended};
use super::text::{self, Format};
use crate::domain::{ManifestList, ManifestPart};

/// The longest word that is compared as a whole; longer ones were truncated when read.
const WORD: usize = 2048;

/// Advice on a flag and its value, which are two items of a list.
const BOTH: &str = "replace this flag and its value; leave the other args";

/// A change of one list of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) operations: Vec<Operation>,
    /// The list.
    pub(super) path: Arc<str>,
    /// Instructions for the lines.
    pub(super) says: &'static str,
    pub(super) lines: String,
    /// The value until then.
    pub(super) was: Option<String>,
    /// The flag or variable, as it is written there.
    pub(super) name: String,
}

/// Returns true when everything that a fix may change of it is known.
pub(super) fn is_known(manifest: &ManifestPart) -> bool {
    let long = |list: &ManifestList| list.present && list.items.is_none();
    !manifest.words.iter().chain(&manifest.variables).any(long)
}

/// Returns where one of these flags stands: the last one counts.
fn flag_at(manifest: &ManifestPart, flags: &[&str]) -> Option<(usize, usize)> {
    let names = |word: &Arc<str>| flags.contains(&word.split('=').next().unwrap_or_default());
    let lists = manifest.words.iter().enumerate().rev();
    let mut found =
        lists.filter_map(|(at, list)| Some((at, list.items.as_ref()?.iter().rposition(names)?)));
    found.next()
}

fn variable_at(manifest: &ManifestPart, name: &str) -> Option<(usize, usize)> {
    let lists = manifest.variables.iter().enumerate();
    let mut found = lists.filter_map(|(at, list)| {
        let names = list.items.as_ref()?;
        Some((at, names.iter().rposition(|known| known.as_ref() == name)?))
    });
    if manifest.first_wins { found.next() } else { found.next_back() }
}

fn words(list: &ManifestList) -> &[Arc<str>] {
    list.items.as_deref().unwrap_or_default()
}

/// Returns the value that the manifest gives the last of these flags.
pub(super) fn flag_value<'a>(manifest: &'a ManifestPart, flags: &[&str]) -> Option<&'a str> {
    let (list, at) = flag_at(manifest, flags)?;
    let words = words(&manifest.words[list]);
    let joined = words[at].split_once('=').map(|(_, value)| value);
    joined.or_else(|| words.get(at + 1).map(AsRef::as_ref))
}

/// Returns true when a shell's script names one of these flags: it wins, and its value is not read here.
fn is_scripted(manifest: &ManifestPart, flags: &[&str]) -> bool {
    manifest.scripted.iter().any(|flag| flags.contains(&flag.as_ref()))
}

/// Returns the value of a setting: of the flag, which wins, or else of the variable.
pub(super) fn value<'a>(
    manifest: &'a ManifestPart,
    variable: Option<&str>,
    flags: &[&str],
) -> Option<&'a str> {
    flag_value(manifest, flags).or_else(|| {
        if is_scripted(manifest, flags) {
            return None;
        }
        let (list, at) = variable_at(manifest, variable?)?;
        manifest.variables[list].values.get(at)?.as_deref()
    })
}

/// Returns true when one of these flags stands there.
pub(super) fn has_flag(manifest: &ManifestPart, flags: &[&str]) -> bool {
    flag_at(manifest, flags).is_some() || is_scripted(manifest, flags)
}

/// Gives a setting a value: by the flag, where the manifest gives one, since flags win; else by the
/// variable; else by the first of the flags. The manifest is then as the object will be.
pub(super) fn set(
    manifest: &mut ManifestPart,
    variable: Option<&str>,
    flags: &[&str],
    value: &str,
    guarded: bool,
) -> Option<Step> {
    if !is_known(manifest) {
        return None;
    }
    if let Some((list, at)) = flag_at(manifest, flags) {
        return set_flag(&mut manifest.words[list], at, value);
    }
    if is_scripted(manifest, flags) {
        return None;
    }
    let Some(name) = variable else {
        let flag = flags.first()?;
        return add_words(manifest, &[flag, value], guarded);
    };
    set_variable(manifest, name, value, guarded)
}

/// Adds a flag without a value, or takes one away.
pub(super) fn switch(
    manifest: &mut ManifestPart,
    flags: &[&str],
    on: bool,
    guarded: bool,
) -> Option<Step> {
    if !is_known(manifest) {
        return None;
    }
    if on {
        return add_words(manifest, &[flags.first()?], guarded);
    }
    let (list, at) = flag_at(manifest, flags)?;
    let list = &mut manifest.words[list];
    let word = words(list).get(at).filter(|word| word.len() <= WORD)?.to_string();
    let path = format!("{}/{at}", list.path);
    list.items.as_mut()?.remove(at);
    Some(Step {
        operations: vec![Operation::test(path.clone(), word.clone()), Operation::Remove { path }],
        path: Arc::clone(&list.path),
        says: "remove this item",
        lines: format!("# - {}\n", json!(word)),
        was: Some(word.clone()),
        name: word,
    })
}

/// Changes a number inside a flag's, or a variable's, JSON.
pub(super) fn set_inside(
    manifest: &mut ManifestPart,
    (variable, flags): (&str, &[&str]),
    path: &str,
    value: &str,
    guarded: bool,
) -> Option<Step> {
    if !is_known(manifest) {
        return None;
    }
    let old = self::value(manifest, Some(variable), flags)?;
    let edited = Some(old).filter(|old| old.len() <= WORD);
    let edited = edited.and_then(|old| text::set(old, path, value, Format::Json))?;
    let step = set(manifest, Some(variable), flags, &edited.text, guarded)?;
    Some(Step { was: edited.was, ..step })
}

/// Gives a flag that is there another value.
fn set_flag(list: &mut ManifestList, at: usize, value: &str) -> Option<Step> {
    let path = list.path.to_string();
    let words = list.items.as_mut()?;
    let word = words.get(at).filter(|word| word.len() <= WORD)?.to_string();
    let same = Operation::test(format!("{path}/{at}"), word.clone());
    let mut step = Step { path: Arc::clone(&list.path), ..Step::default() };
    if let Some((flag, old)) = word.split_once('=') {
        let joined = format!("{flag}={value}");
        step.operations = vec![same, Operation::replace(format!("{path}/{at}"), joined.clone())];
        step.lines = format!("- {}\n", json!(joined));
        step.says = "replace the item with this flag; leave the others";
        (step.was, step.name) = (Some(old.to_owned()), flag.to_owned());
        words[at] = joined.into();
        return Some(step);
    }
    step.lines = format!("- {}\n- {}\n", json!(word), json!(value));
    step.says = BOTH;
    let place = format!("{path}/{}", at + 1);
    match words.get_mut(at + 1) {
        Some(old) if old.len() <= WORD => {
            let known = Operation::test(place.clone(), old.to_string());
            step.operations = vec![same, known, Operation::replace(place, value)];
            step.was = Some(old.to_string());
            *old = value.into();
        }
        Some(_) => return None,
        None => {
            step.operations = vec![same, Operation::add(place, value)];
            words.push(value.into());
        }
    }
    step.name = word;
    Some(step)
}

fn add_words(manifest: &mut ManifestPart, words: &[&str], guarded: bool) -> Option<Step> {
    let list = manifest.words.last_mut()?;
    let items: Vec<Value> = words.iter().map(|word| json!(word)).collect();
    let mut lines = String::new();
    for item in &items {
        lines.extend(["- ", &item.to_string(), "\n"]);
    }
    let says = if list.present { "append to the list" } else { "add this list" };
    if !list.present {
        lines = headed(list, &lines);
    }
    let operations = appended(list, items, guarded);
    list.present = true;
    list.items.get_or_insert_default().extend(words.iter().map(|word| Arc::from(*word)));
    let name = words.first()?.to_string();
    Some(Step { operations, path: Arc::clone(&list.path), says, lines, was: None, name })
}

fn set_variable(
    manifest: &mut ManifestPart,
    name: &str,
    value: &str,
    guarded: bool,
) -> Option<Step> {
    let entry = json!({ "name": name, "value": value });
    let lines = format!("- name: {name}\n  value: {}\n", json!(value));
    if let Some((list, at)) = variable_at(manifest, name) {
        let list = &mut manifest.variables[list];
        let (path, old) = (&list.path, list.values.get_mut(at)?);
        let mut operations = vec![Operation::test(format!("{path}/{at}/name"), name)];
        // Part of what is kept of a long value is no value.
        let whole = old.as_ref().filter(|old| !old.is_empty() && old.len() <= WORD);
        let was = whole.map(ToString::to_string);
        let known = was.clone().map(|was| Operation::test(format!("{path}/{at}/value"), was));
        operations.extend(known);
        operations.push(Operation::replace(format!("{path}/{at}"), entry));
        *old = Some(value.into());
        let says = "replace the item with this name";
        return Some(Step {
            operations,
            path: Arc::clone(path),
            says,
            lines,
            was,
            name: name.to_owned(),
        });
    }
    let list = manifest.variables.first_mut()?;
    let (says, lines) = if list.present {
        ("append to the list", lines)
    } else {
        ("add this list", headed(list, &lines))
    };
    let operations = appended(list, vec![entry], guarded);
    list.present = true;
    list.items.get_or_insert_default().push(name.into());
    list.values.push(Some(value.into()));
    Some(Step {
        operations,
        path: Arc::clone(&list.path),
        says,
        lines,
        was: None,
        name: name.to_owned(),
    })
}

/// Returns the lines of a list with its name.
fn headed(list: &ManifestList, lines: &str) -> String {
    let name = list.path.rsplit('/').next().unwrap_or_default();
    format!("{name}:\n{lines}")
}
