//! The environment of a container: its own variables, and those that come from `ConfigMap`s.
//!
//! What a Secret holds is never read. What a `ConfigMap` sets is known once its own frame was read;
//! until then whatever it may set is unknown, and is no default.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::shell::Variables as Words;
use super::{list, shared, string};
use crate::domain::{ConfigMapUse, ConfigMaps, SECRET_PARTS, SecretRef, VariableKeys};

/// Most `ConfigMap`s that are followed for one container, most keys of one, and most Secrets named.
const SOURCE_LIMIT: usize = 64;

/// What variables may add up to is as bounded as a script.
const TEXT_LIMIT: usize = 64 << 10;

/// The value of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EnvValue {
    Plain(String),
    Secret(SecretRef),
    /// From somewhere that is not shown, or not yet.
    Elsewhere,
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
    /// True when variables come from a `ConfigMap` that is not known: any may be set.
    unseen: bool,
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
        self.unseen = true;
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
                let value = EnvValue::Plain(self.expanded(value));
                self.set(name, value);
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

    /// Sets a variable as a script does.
    pub(super) fn assign(&mut self, name: &str, value: String) {
        self.set(name, EnvValue::Plain(value));
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

    /// Returns true when any variable that is not known may be set all the same.
    pub(super) fn may_hide(&self) -> bool {
        self.unseen
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

    /// Replaces `$(NAME)` as Kubernetes does: by variables that stand before, else not at all.
    pub(super) fn expanded(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("$(") {
            let Some(length) = rest[start..].find(')') else { break };
            let name = &rest[start + 2..start + length];
            out.push_str(&rest[..start]);
            match self.plain(name) {
                Some(value) if out.len() + value.len() < TEXT_LIMIT => out.push_str(value),
                _ => out.push_str(&rest[start..=start + length]),
            }
            rest = &rest[start + length + 1..];
        }
        out.push_str(rest);
        out
    }

    pub(super) fn variables(&self) -> Words {
        let plain = |(name, value): (&String, &EnvValue)| match value {
            EnvValue::Plain(value) => Some((name.clone(), value.clone())),
            EnvValue::Secret(_) | EnvValue::Elsewhere => None,
        };
        self.values.iter().filter_map(plain).collect()
    }
}

fn referred(from: &Value, field: &impl Fn(&str) -> Option<String>) -> EnvValue {
    let secret = &from["secretKeyRef"];
    if let (Some(name), Some(key)) = (string(secret, "name"), string(secret, "key")) {
        return EnvValue::Secret(SecretRef { name: shared(name), key: shared(key) });
    }
    let path = string(&from["fieldRef"], "fieldPath");
    path.and_then(field).map_or(EnvValue::Elsewhere, EnvValue::Plain)
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
