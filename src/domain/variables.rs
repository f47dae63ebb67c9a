//! Variables that processes take from `ConfigMap`s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Keys of a `ConfigMap` that are variables of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VariableKeys {
    /// These, and maybe none.
    Named(BTreeSet<Arc<str>>),
    /// All of them (`envFrom`).
    All,
}

impl Default for VariableKeys {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

/// A `ConfigMap`, and what of it is read besides configuration files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigMapUse {
    /// Its name.
    pub name: Arc<str>,
    /// The keys that become variables.
    pub variables: VariableKeys,
}

impl From<&str> for ConfigMapUse {
    /// Only configuration files are read.
    fn from(name: &str) -> Self {
        Self { name: name.into(), variables: VariableKeys::default() }
    }
}

/// The content of a `ConfigMap`, by key; none for a value that was not passed on.
pub type Variables = BTreeMap<Arc<str>, Option<Arc<str>>>;

/// The known `ConfigMap`s, by name; none for one that does not exist.
pub type ConfigMaps = BTreeMap<Arc<str>, Option<Arc<Variables>>>;

/// The content of a `ConfigMap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMap {
    /// Its name.
    pub name: Arc<str>,
    /// Its content; none when it is gone.
    pub variables: Option<Arc<Variables>>,
}
