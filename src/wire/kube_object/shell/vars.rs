//! The state of a script: variables, parameters, the working directory and files it wrote.
//!
//! All are entries of one map, so that a branch that may or may not run is undone or merged as a whole.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Arg;

/// The entry of the parameters, `$1` and on.
pub(super) const PARAMETERS: &str = "@";

/// The entry of the working directory.
pub(super) const DIRECTORY: &str = "/";

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(Arc<str>),
    List(Arc<Vec<Arg>>),
    /// Not set, for sure.
    Unset,
    /// `one` when it cannot be split into several words.
    Hidden {
        by: Arc<str>,
        one: bool,
    },
}

/// The export of a variable to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Export {
    No,
    Maybe,
    Yes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) exported: Export,
    /// The time it was set; entries from before a loss are unknown.
    at: u64,
}

/// The changes of one branch, and of those beside it.
#[derive(Debug, Default)]
pub(super) struct Branches {
    undo: Vec<(String, Option<Entry>)>,
    merged: HashMap<String, Merged>,
    live: usize,
}

#[derive(Debug)]
struct Merged {
    before: Option<Entry>,
    /// In how many branches it was set, and to what when that is the same in all.
    count: usize,
    value: Option<Entry>,
    /// True when it is exported behind each of them; none when that differs.
    exported: Option<Export>,
}

#[derive(Debug, Default)]
pub(super) struct Vars {
    map: HashMap<String, Entry>,
    stack: Vec<Branches>,
    clock: u64,
    /// Entries from before are unknown, and so is what has no entry.
    lost: Option<(u64, Arc<str>)>,
}

/// The entry of a name in the map.
pub(super) enum Known<'a> {
    Value(&'a Value),
    /// It has no entry, and nothing happened that could have set it.
    Absent,
    /// Something happened that may have set it.
    Lost(&'a Arc<str>),
}

impl Vars {
    pub(super) fn get(&self, name: &str) -> Known<'_> {
        match (self.map.get(name), &self.lost) {
            (Some(entry), Some((since, by))) if entry.at <= *since && !is_inner(name) => {
                Known::Lost(by)
            }
            (Some(entry), _) => Known::Value(&entry.value),
            (None, Some((_, by))) if !is_inner(name) => Known::Lost(by),
            (None, _) => Known::Absent,
        }
    }

    /// Returns why any variable may have any value.
    pub(super) fn lost(&self) -> Option<&Arc<str>> {
        self.lost.as_ref().map(|(_, by)| by)
    }

    /// Returns the names and values of what processes get; no value where they may not get it.
    pub(super) fn exported(&self) -> impl Iterator<Item = (&String, Option<&Value>)> {
        let since = self.lost.as_ref().map(|(since, _)| *since);
        let known = self.map.iter().filter(move |(_, entry)| {
            entry.exported > Export::No && since.is_none_or(|since| entry.at > since)
        });
        known.map(|(name, entry)| {
            (name, Some(&entry.value).filter(|_| entry.exported == Export::Yes))
        })
    }

    /// Returns every entry whose name begins with `prefix`.
    pub(super) fn beginning<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let entries = self.map.iter();
        entries.filter_map(move |(name, entry)| Some((name.strip_prefix(prefix)?, &entry.value)))
    }

    /// Exports a variable as soon as it is set.
    pub(super) fn will_export(&mut self, name: &str) {
        self.set(&format!("export:{name}"), Value::Unset, false);
    }

    /// Takes a variable away.
    pub(super) fn unset(&mut self, name: &str) {
        self.put(&format!("export:{name}"), None);
        self.clock += 1;
        let at = self.clock;
        self.put(name, Some(Entry { value: Value::Unset, exported: Export::No, at }));
    }

    /// Sets an entry. One that is exported stays so.
    pub(super) fn set(&mut self, name: &str, value: Value, export: bool) {
        let lost = self.lost.as_ref().map_or(0, |(since, _)| *since);
        let known = match self.map.get(name) {
            Some(entry) if entry.at > lost => entry.exported,
            // Something may have exported it, or taken it away.
            _ if lost > 0 => Export::Maybe,
            Some(entry) => entry.exported,
            None => Export::No,
        };
        let marked = match self.map.get(&format!("export:{name}")).map(|entry| &entry.value) {
            Some(Value::Unset) => Export::Yes,
            Some(_) => Export::Maybe,
            None => Export::No,
        };
        // `set -a`.
        let all = match self.map.get("set:a").filter(|_| !is_inner(name)).map(|it| &it.value) {
            Some(Value::Text(_)) => Export::Yes,
            Some(Value::Hidden { .. }) => Export::Maybe,
            Some(Value::Unset | Value::List(_)) | None => Export::No,
        };
        let exported = if export { Export::Yes } else { known.max(marked).max(all) };
        self.clock += 1;
        self.put(name, Some(Entry { value, exported, at: self.clock }));
    }

    fn put(&mut self, name: &str, entry: Option<Entry>) {
        let before = match entry {
            Some(entry) => self.map.insert(name.to_owned(), entry),
            None => self.map.remove(name),
        };
        if let Some(top) = self.stack.last_mut() {
            top.undo.push((name.to_owned(), before));
        }
    }

    /// Something happened that may have set any variable.
    pub(super) fn lose(&mut self, by: &Arc<str>) {
        self.clock += 1;
        self.lost = Some((self.clock, Arc::clone(by)));
    }

    /// Begins what is only seen with whatever may have been set before it. Returns what to give to
    /// [`Vars::dawn`].
    pub(super) fn dusk(&mut self, by: &Arc<str>) -> Option<(u64, Arc<str>)> {
        let before = self.lost.clone();
        self.lose(by);
        before
    }

    pub(super) fn dawn(&mut self, before: Option<(u64, Arc<str>)>) {
        self.lost = before;
    }

    /// Begins a construct of branches.
    pub(super) fn enter(&mut self) {
        self.stack.push(Branches::default());
    }

    /// Moves what was set since the last branch out of the construct. Returns false when that is nothing.
    pub(super) fn settle(&mut self) -> bool {
        let Some(mut top) = self.stack.pop() else { return false };
        let undo = std::mem::take(&mut top.undo);
        let any = !undo.is_empty();
        if let Some(parent) = self.stack.last_mut() {
            parent.undo.extend(undo);
        }
        self.stack.push(top);
        any
    }

    /// Ends a branch: takes back what it set, and remembers it when the branch goes on behind the construct.
    pub(super) fn end_branch(&mut self, live: bool) {
        let Some(mut top) = self.stack.pop() else { return };
        let undo = std::mem::take(&mut top.undo);
        if live {
            top.live += 1;
            let mut seen: HashSet<&str> = HashSet::new();
            for (name, before) in undo.iter().filter(|(name, _)| seen.insert(name.as_str())) {
                let now = self.map.get(name);
                let same = |known: &Option<Entry>| match (known, now) {
                    (Some(a), Some(b)) => a.value == b.value && a.exported == b.exported,
                    (None, None) => true,
                    _ => false,
                };
                let fresh = || Merged {
                    before: before.clone(),
                    count: 0,
                    value: now.cloned(),
                    exported: Some(export_of(now)),
                };
                let merged = top.merged.entry(name.clone()).or_insert_with(fresh);
                merged.exported = merged.exported.filter(|known| *known == export_of(now));
                merged.count += 1;
                if merged.count > 1 && !same(&merged.value) {
                    merged.count = usize::MAX / 2;
                }
            }
        }
        for (name, before) in undo.into_iter().rev() {
            match before {
                Some(entry) => self.map.insert(name, entry),
                None => self.map.remove(&name),
            };
        }
        self.stack.push(top);
    }

    /// Ends a construct, of which one branch ran for sure when it is `exhaustive`.
    pub(super) fn leave(&mut self, exhaustive: bool) {
        let Some(top) = self.stack.pop() else { return };
        for (name, merged) in top.merged {
            let in_all = exhaustive && merged.count == top.live;
            let value = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.value.clone());
            let before = export_of(merged.before.as_ref());
            let exported = match merged.exported {
                Some(export) if in_all || export == before => export,
                _ => Export::Maybe,
            };
            // Branches in which it stays as it was count as well.
            let everywhere = exhaustive && merged.count >= top.live;
            let exported = if everywhere && merged.exported == Some(exported) || exported == before
            {
                exported
            } else {
                Export::Maybe
            };
            let same = merged.count <= top.live && value(&merged.before) == value(&merged.value);
            self.clock += 1;
            let at = self.clock;
            if in_all {
                let value = value(&merged.value);
                self.put(&name, value.map(|value| Entry { value, exported, at }));
            } else if !same || exported != before {
                let by = format!("${name}, which depends on a condition").into();
                let value = match value(&merged.before).filter(|_| same) {
                    Some(value) => value,
                    None => Value::Hidden { by, one: false },
                };
                self.put(&name, Some(Entry { value, exported, at }));
            }
        }
    }

    /// Ends a construct of one branch that ran for sure.
    pub(super) fn commit(&mut self) {
        let Some(top) = self.stack.pop() else { return };
        if let Some(parent) = self.stack.last_mut() {
            parent.undo.extend(top.undo);
        }
    }
}

fn export_of(entry: Option<&Entry>) -> Export {
    entry.map_or(Export::No, |entry| entry.exported)
}

/// Returns true for entries that are no variables: only what is understood changes these.
fn is_inner(name: &str) -> bool {
    name == PARAMETERS || name == DIRECTORY || name.contains(':')
}
