//! Variables in `ConfigMap`s, within bounds.

use std::sync::Arc;

use crate::domain::{ConfigMap, ConfigMaps, Variables};

/// Most `ConfigMap`s that are known.
const MAP_LIMIT: usize = 4096;

/// Most bytes of all their keys and values.
const BYTE_LIMIT: usize = 8 << 20;

/// The `ConfigMap`s that processes take variables from.
#[derive(Debug, Default)]
pub struct KnownMaps {
    maps: ConfigMaps,
    bytes: usize,
}

impl KnownMaps {
    /// Notes what a `ConfigMap` sets. Returns true when that is news. One that is too much is unknown.
    pub fn set(&mut self, map: &ConfigMap) -> bool {
        let before = self.maps.get(&map.name);
        if before == Some(&map.variables) {
            return false;
        }
        let is_new = before.is_none();
        let bytes =
            self.bytes - size(before.and_then(Option::as_ref)) + size(map.variables.as_ref());
        if bytes > BYTE_LIMIT || (is_new && self.maps.len() >= MAP_LIMIT) {
            self.bytes -= size(self.maps.remove(&map.name).flatten().as_ref());
            return !is_new;
        }
        self.bytes = bytes;
        self.maps.insert(Arc::clone(&map.name), map.variables.clone());
        true
    }

    /// Returns them by name.
    pub fn all(&self) -> &ConfigMaps {
        &self.maps
    }
}

fn size(variables: Option<&Arc<Variables>>) -> usize {
    let one = |(key, value): (&Arc<str>, &Option<Arc<str>>)| {
        key.len() + value.as_ref().map_or(0, |value| value.len())
    };
    variables.map_or(0, |variables| variables.iter().map(one).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_unknown_and_what_is_gone_is_known_to_be() {
        let map = |value: usize| {
            let value: Arc<str> = "x".repeat(value).into();
            let variables = Variables::from([("k".into(), Some(value))]);
            ConfigMap { name: "m".into(), variables: Some(Arc::new(variables)) }
        };
        let mut known = KnownMaps::default();

        assert!(known.set(&map(10)) && !known.set(&map(10)));
        assert!(known.set(&map(BYTE_LIMIT)));
        assert_eq!((known.all().len(), known.bytes), (0, 0));
        assert!(!known.set(&map(BYTE_LIMIT)));
        assert!(known.set(&ConfigMap { name: "m".into(), variables: None }));
        assert_eq!(known.all().get("m"), Some(&None));
    }
}
