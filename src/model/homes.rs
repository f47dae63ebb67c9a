//! The Dynamo namespaces to whose workers each router sends requests, as its metrics and logs tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most routers that are remembered.
const ROUTERS: usize = 1024;

/// Most namespaces of a router that are told apart.
const NAMESPACES: usize = 16;

/// The namespaces of each router's workers.
#[derive(Debug, Default)]
pub struct Homes(BTreeMap<Arc<str>, BTreeSet<Arc<str>>>);

impl Homes {
    /// Notes that the router in `pod` has workers in `namespace`.
    pub fn note(&mut self, pod: &Arc<str>, namespace: &Arc<str>) {
        if self.0.len() >= ROUTERS && !self.0.contains_key(pod) {
            return;
        }
        let known = self.0.entry(Arc::clone(pod)).or_default();
        if known.len() < NAMESPACES {
            known.insert(Arc::clone(namespace));
        }
    }

    /// Returns the namespace of the workers of the router in `pod`; none where it is unknown or one of several.
    pub fn of(&self, pod: &str) -> Option<Arc<str>> {
        let known = self.0.get(pod).filter(|known| known.len() == 1)?;
        known.first().map(Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_of_several_namespaces_has_no_one_home() {
        let mut homes = Homes::default();
        let (pod, other): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        homes.note(&pod, &"one".into());
        homes.note(&other, &"one".into());
        homes.note(&other, &"two".into());

        assert_eq!(
            (homes.of("a").as_deref(), homes.of("b"), homes.of("c")),
            (Some("one"), None, None)
        );
    }
}
