//! Looks up a deployment by name: its Kubernetes namespaces, and the part of each that belongs to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{Graph, Pod};

/// A place to attach to: a Kubernetes namespace, and which deployment in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The Kubernetes namespace.
    pub namespace: Arc<str>,
    /// The graph deployment; none when several share the Dynamo namespace, or pods have none.
    pub dgd: Option<String>,
    /// The Dynamo namespace, where it is what was named and no single graph deployment has it.
    pub dynamo_namespace: Option<String>,
}

impl Place {
    /// Describes the place, such as `graph deployment a in namespace b`.
    pub fn describe(&self) -> String {
        let namespace = &self.namespace;
        match (&self.dgd, &self.dynamo_namespace) {
            (Some(dgd), _) => format!("graph deployment {dgd} in namespace {namespace}"),
            (None, Some(name)) => format!("Dynamo namespace {name} in namespace {namespace}"),
            (None, None) => format!("namespace {namespace}"),
        }
    }
}

/// Returns where `name` is, one place for each Kubernetes namespace, sorted. A graph deployment of that
/// name wins over others of its Kubernetes namespace whose Dynamo namespace has it.
pub fn places(name: &str, graphs: &[Graph], pods: &[Pod]) -> Vec<Place> {
    let mut found: BTreeMap<&Arc<str>, Place> = BTreeMap::new();
    let place = |namespace: &Arc<str>, dgd: Option<&str>| Place {
        namespace: Arc::clone(namespace),
        dgd: dgd.map(str::to_owned),
        dynamo_namespace: dgd.is_none().then(|| name.to_owned()),
    };
    for graph in graphs.iter().filter(|graph| *graph.name == *name) {
        found.insert(&graph.namespace, place(&graph.namespace, Some(name)));
    }
    let mut sharing: BTreeMap<&Arc<str>, BTreeSet<Option<&str>>> = BTreeMap::new();
    let of_graphs = graphs
        .iter()
        .filter(|graph| graph.dynamo_namespace.as_deref() == Some(name))
        .map(|graph| (&graph.namespace, Some(graph.name.as_ref())));
    let of_pods = pods
        .iter()
        .filter(|pod| {
            pod.graph.as_deref() == Some(name) || pod.dynamo_namespace.as_deref() == Some(name)
        })
        .map(|pod| (&pod.namespace, pod.graph.as_deref()));
    for (namespace, graph) in of_graphs.chain(of_pods) {
        sharing.entry(namespace).or_default().insert(graph);
    }
    for (namespace, graphs) in sharing {
        let dgd = match graphs.iter().copied().collect::<Vec<_>>().as_slice() {
            [only] => *only,
            several => several.contains(&Some(name)).then_some(name),
        };
        found.entry(namespace).or_insert_with(|| place(namespace, dgd));
    }
    found.into_values().collect()
}

/// Returns every deployment, sorted: graph deployments, and Dynamo namespaces of pods without one.
pub fn deployments(graphs: &[Graph], pods: &[Pod]) -> Vec<Place> {
    let of_graphs = graphs.iter().map(|graph| Place {
        namespace: Arc::clone(&graph.namespace),
        dgd: Some(graph.name.to_string()),
        dynamo_namespace: None,
    });
    let of_pods = pods.iter().filter(|pod| pod.graph.is_none()).filter_map(|pod| {
        let dynamo_namespace = Some(pod.dynamo_namespace.as_ref()?.to_string());
        Some(Place { namespace: Arc::clone(&pod.namespace), dgd: None, dynamo_namespace })
    });
    let all: BTreeSet<Place> = of_graphs.chain(of_pods).collect();
    all.into_iter().collect()
}

/// Returns every name by which a deployment could have been given.
pub fn names(graphs: &[Graph], pods: &[Pod]) -> BTreeSet<String> {
    let of_graphs = graphs
        .iter()
        .flat_map(|graph| [Some(&graph.name), graph.dynamo_namespace.as_ref()])
        .flatten();
    let of_pods =
        pods.iter().flat_map(|pod| [pod.graph.as_ref(), pod.dynamo_namespace.as_ref()]).flatten();
    of_graphs.chain(of_pods).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(namespace: &str, name: &str, dynamo: &str) -> Graph {
        Graph {
            name: name.into(),
            namespace: namespace.into(),
            api: None,
            generation: None,
            changed: None,
            backend: None,
            dynamo_namespace: Some(dynamo.into()),
            components: Vec::new(),
        }
    }

    fn pod(namespace: &str, graph: Option<&str>, dynamo: &str) -> Pod {
        Pod {
            name: "p".into(),
            namespace: namespace.into(),
            graph: graph.map(Arc::from),
            dynamo_namespace: Some(dynamo.into()),
            ..Pod::default()
        }
    }

    fn described(name: &str, graphs: &[Graph], pods: &[Pod]) -> Vec<String> {
        places(name, graphs, pods).iter().map(Place::describe).collect()
    }

    #[test]
    fn a_deployment_is_found_by_its_name_and_by_its_dynamo_namespace() {
        let graphs = [graph("w", "gtc-demo", "gtc-demo"), graph("w", "other", "chat")];
        assert_eq!(
            described("gtc-demo", &graphs, &[]),
            ["graph deployment gtc-demo in namespace w"]
        );
        assert_eq!(described("chat", &graphs, &[]), ["graph deployment other in namespace w"]);
        assert!(described("w-gtc", &graphs, &[]).is_empty());
    }

    #[test]
    fn a_name_wins_over_the_dynamo_namespace_of_a_neighbour() {
        let graphs = [graph("w", "a", "b"), graph("w", "b", "c")];
        assert_eq!(described("b", &graphs, &[]), ["graph deployment b in namespace w"]);
    }

    #[test]
    fn a_shared_dynamo_namespace_is_one_place_and_each_kubernetes_namespace_another() {
        let graphs = [
            graph("w", "a", "dynamo"),
            graph("w", "b", "dynamo"),
            graph("x", "dynamo", "x-dynamo"),
        ];
        let pods = [pod("y", None, "dynamo"), pod("w", Some("a"), "dynamo")];
        assert_eq!(
            described("dynamo", &graphs, &pods),
            [
                "Dynamo namespace dynamo in namespace w",
                "graph deployment dynamo in namespace x",
                "Dynamo namespace dynamo in namespace y"
            ]
        );
    }
}
