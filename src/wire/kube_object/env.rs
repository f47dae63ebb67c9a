//! The environment of a container: its own variables, and those that come from `ConfigMap`s.
//!
//! Contents of a Secret are never read. Variables of a `ConfigMap` are known once its own frame was read;
//! until then whatever it may set is unknown, and is no default.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::shell::{HIDDEN_MARK, Outer, Started, Variable};
use super::{list, shared, string};
use crate::domain::{ConfigMapUse, ConfigMaps, SECRET_PARTS, SecretRef, VariableKeys};

/// Most `ConfigMap`s that are followed for one container, most keys of one, and most Secrets named.
const SOURCE_LIMIT: usize = 64;

/// Limit of all variables together: that of a script.
const TEXT_LIMIT: usize = 64 << 10;

/// The value of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EnvValue {
    Plain(String),
    Secret(SecretRef),
    /// From somewhere that is not shown, or not yet.
    Elsewhere,
    /// A field of the pod that is not known here; one word whatever it is.
    Field,
}

/// The key of a `ConfigMap` that a variable comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lender {
    pub(super) config_map: Arc<str>,
    pub(super) key: Arc<str>,
}

/// The environment that an object gives a container.
#[derive(Clone, Debug, Default)]
pub(super) struct Env {
    values: BTreeMap<String, EnvValue>,
    lenders: BTreeMap<String, Lender>,
    wanted: BTreeMap<Arc<str>, VariableKeys>,
    /// A source of variables that are not known: any may be set.
    unseen: Option<Arc<str>>,
    /// The `ConfigMap`s that are not known.
    unread: BTreeSet<Arc<str>>,
    /// Secrets whose keys are variables.
    secrets: Vec<Arc<str>>,
}

impl Env {
    /// Adds what `envFrom` brings. Later sources win over earlier ones, and `env` wins over all, so that
    /// this comes first (Kubernetes, `makeEnvironmentVariables` of `pkg/kubelet/kubelet_pods.go`).
    pub(super) fn add_from(&mut self, sources: &Value, maps: &ConfigMaps) {
        for source in list(sources) {
            let prefix = string(source, "prefix").unwrap_or_default();
            if let Some(name) = string(&source["secretRef"], "name") {
                self.add_secret(name);
            }
            if let Some(name) = string(&source["configMapRef"], "name") {
                self.add_map(name, prefix, source["configMapRef"]["optional"] == true, maps);
            }
        }
    }

    /// Notes a Secret whose keys are variables.
    pub(super) fn add_secret(&mut self, name: &str) {
        if !name.is_empty() && self.secrets.len() < SOURCE_LIMIT {
            self.secrets.push(shared(name));
        }
    }

    fn add_map(&mut self, name: &str, prefix: &str, optional: bool, maps: &ConfigMaps) {
        // What a prefix makes a credential of is left alone.
        if is_credential(prefix) || !self.want(name, None) {
            return self.hide(name);
        }
        match maps.get(name) {
            Some(Some(variables)) => {
                for (key, value) in variables.iter() {
                    let variable = format!("{prefix}{key}");
                    if is_name(&variable) {
                        self.lend(variable, name, key, value.as_deref());
                    }
                }
            }
            Some(None) if optional => {}
            Some(None) | None => self.hide(name),
        }
    }

    /// Any variable may come from where nothing is shown, those of earlier sources included.
    fn hide(&mut self, name: &str) {
        self.unseen = Some(format!("ConfigMap {name}").into());
        self.unread.insert(shared(name));
        self.lenders.clear();
        self.values.values_mut().for_each(|value| *value = EnvValue::Elsewhere);
    }

    /// Adds the entries of a list of `env`; a later one of the same name wins. `field` resolves
    /// references to fields of the pod.
    pub(super) fn add(
        &mut self,
        entries: &Value,
        maps: &ConfigMaps,
        field: impl Fn(&str) -> Option<String>,
    ) {
        for entry in list(entries) {
            let Some(name) = string(entry, "name") else { continue };
            let from = &entry["valueFrom"];
            if let Some(value) = string(entry, "value") {
                let value = self.expanded(value);
                let known = !value.contains(HIDDEN_MARK);
                self.set(name, if known { EnvValue::Plain(value) } else { EnvValue::Elsewhere });
            } else if from["configMapKeyRef"].is_object() {
                self.add_key(name, &from["configMapKeyRef"], maps);
            } else {
                self.set(name, referred(from, &field));
            }
        }
    }

    fn add_key(&mut self, variable: &str, from: &Value, maps: &ConfigMaps) {
        let (Some(map), Some(key)) = (string(from, "name"), string(from, "key")) else {
            return self.set(variable, EnvValue::Elsewhere);
        };
        // The value of a credential is not asked for, wherever it stands.
        if is_credential(variable) || !self.want(map, Some(key)) {
            return self.set(variable, EnvValue::Elsewhere);
        }
        let known = maps.get(map).map(|variables| variables.as_ref().and_then(|all| all.get(key)));
        match known {
            Some(Some(value)) => {
                self.lend(variable.to_owned(), map, &shared(key), value.as_deref());
            }
            // It is left out then, and what `envFrom` brings stays.
            Some(None) if from["optional"] == true => {}
            Some(None) | None => {
                self.unread.insert(shared(map));
                self.set(variable, EnvValue::Elsewhere);
            }
        }
    }

    fn set(&mut self, name: &str, value: EnvValue) {
        self.lenders.remove(name);
        self.values.insert(name.to_owned(), value);
    }

    fn lend(&mut self, variable: String, map: &str, key: &Arc<str>, value: Option<&str>) {
        match value {
            Some(value) => {
                let lender = Lender { config_map: shared(map), key: shared(key) };
                self.lenders.insert(variable.clone(), lender);
                self.values.insert(variable, EnvValue::Plain(value.to_owned()));
            }
            None => self.set(&variable, EnvValue::Elsewhere),
        }
    }

    /// Notes that `key` of `map`, or all of it, is needed. Returns false when that is too much.
    fn want(&mut self, map: &str, key: Option<&str>) -> bool {
        if self.wanted.len() >= SOURCE_LIMIT && !self.wanted.contains_key(map) {
            return false;
        }
        let keys = self.wanted.entry(shared(map)).or_default();
        match (keys, key) {
            (VariableKeys::All, _) => {}
            (keys, None) => *keys = VariableKeys::All,
            (VariableKeys::Named(names), Some(key)) => {
                if names.len() >= SOURCE_LIMIT && !names.contains(key) {
                    return false;
                }
                names.insert(shared(key));
            }
        }
        true
    }

    /// Returns the environment that a script with this one gave to a process that it started.
    pub(super) fn of_started(&self, started: &Started) -> Self {
        let mut env = self.clone();
        let any = started.any_variable.as_ref();
        for name in self.values.keys().filter(|name| !started.variables.contains_key(*name)) {
            match any {
                Some(_) => env.set(name, EnvValue::Elsewhere),
                None => env.remove(name),
            }
        }
        for (name, variable) in &started.variables {
            match variable {
                Variable::Text(text) if self.plain(name) == Some(text) => {}
                Variable::Text(text) => env.set(name, EnvValue::Plain(text.to_string())),
                Variable::Unset => env.remove(name),
                Variable::Hidden { .. } => {
                    if self.values.get(name).is_none_or(|value| matches!(value, EnvValue::Plain(_)))
                    {
                        env.set(name, EnvValue::Elsewhere);
                    }
                }
            }
        }
        env.unseen = any.cloned();
        env
    }

    /// Returns what is the same in both.
    pub(super) fn common(mut self, other: &Self) -> Self {
        let names: BTreeSet<String> =
            self.values.keys().chain(other.values.keys()).cloned().collect();
        for name in names {
            if self.values.get(&name) != other.values.get(&name) {
                self.set(&name, EnvValue::Elsewhere);
            }
        }
        self.unseen = self.unseen.or_else(|| other.unseen.clone());
        self
    }

    fn remove(&mut self, name: &str) {
        self.lenders.remove(name);
        self.values.remove(name);
    }

    /// Returns it as a script begins with it, in a working directory.
    pub(super) fn outer(&self, directory: Option<&str>) -> Outer {
        let variable = |(name, value): (&String, &EnvValue)| {
            let by = || format!("${name}").into();
            let variable = match value {
                EnvValue::Plain(value) => Variable::Text(value.as_str().into()),
                EnvValue::Secret(_) | EnvValue::Elsewhere => {
                    Variable::Hidden { by: by(), one: false }
                }
                EnvValue::Field => Variable::Hidden { by: by(), one: true },
            };
            (name.clone(), variable)
        };
        Outer {
            variables: self.values.iter().map(variable).collect(),
            any: self.unseen.clone(),
            directory: directory.map(str::to_owned),
            files: BTreeMap::new(),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&EnvValue> {
        self.values.get(name)
    }

    pub(super) fn plain(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(EnvValue::Plain(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns where the value of a variable was read, when that is a `ConfigMap`.
    pub(super) fn lender(&self, name: &str) -> Option<&Lender> {
        self.lenders.get(name)
    }

    /// Returns where any variable may be set that is not known.
    pub(super) fn hidden(&self) -> Option<&Arc<str>> {
        self.unseen.as_ref()
    }

    /// Returns the Secrets whose keys are variables.
    pub(super) fn secrets(&self) -> &[Arc<str>] {
        &self.secrets
    }

    /// Returns the `ConfigMap`s that variables come from and that are not known.
    pub(super) fn unread(&self) -> impl Iterator<Item = &Arc<str>> {
        self.unread.iter()
    }

    /// Returns the `ConfigMap`s that variables come from.
    pub(super) fn sources(&self) -> Vec<ConfigMapUse> {
        let one = |(name, variables): (&Arc<str>, &VariableKeys)| ConfigMapUse {
            name: Arc::clone(name),
            variables: variables.clone(),
        };
        self.wanted.iter().map(one).collect()
    }

    /// Replaces `$(NAME)` as Kubernetes does: by variables that stand before, else not at all; `$$` is one
    /// dollar (`third_party/forked/golang/expansion/expand.go`). A mark stands for what is not shown.
    pub(super) fn expanded(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('$') {
            out.push_str(&rest[..start]);
            rest = &rest[start + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
                continue;
            }
            let inside = rest.strip_prefix('(').and_then(|inside| inside.split_once(')'));
            let value = inside.map(|(name, after)| (self.values.get(name), name, after));
            match value {
                Some((Some(EnvValue::Plain(value)), _, after))
                    if out.len() + value.len() < TEXT_LIMIT =>
                {
                    out.push_str(value);
                    rest = after;
                }
                Some((Some(_), _, after)) => {
                    out.push(HIDDEN_MARK);
                    rest = after;
                }
                Some((None, _, after)) if self.unseen.is_some() => {
                    out.push(HIDDEN_MARK);
                    rest = after;
                }
                Some((None, name, after)) => {
                    out.push_str("$(");
                    out.push_str(name);
                    out.push(')');
                    rest = after;
                }
                None => out.push('$'),
            }
        }
        out.push_str(rest);
        out
    }
}

fn referred(from: &Value, field: &impl Fn(&str) -> Option<String>) -> EnvValue {
    let secret = &from["secretKeyRef"];
    if let (Some(name), Some(key)) = (string(secret, "name"), string(secret, "key")) {
        return EnvValue::Secret(SecretRef { name: shared(name), key: shared(key) });
    }
    if from["fieldRef"].is_object() || from["resourceFieldRef"].is_object() {
        let path = string(&from["fieldRef"], "fieldPath");
        return path.and_then(field).map_or(EnvValue::Field, EnvValue::Plain);
    }
    EnvValue::Elsewhere
}

/// Returns true for names that hold a credential.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// Returns true for what Kubernetes takes as the name of a variable; it skips other keys (`IsEnvVarName`).
fn is_name(text: &str) -> bool {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(inside)
}

#[cfg(test)]
mod tests;
