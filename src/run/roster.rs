//! The deployments of a cluster, as far as they may be listed.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;

use super::RunError;
use super::place;
use crate::attach::{self, Place};
use crate::cli::SourceArgs;
use crate::domain::{Graph, Pod};
use crate::dynamo::label;
use crate::source::kube::{KubeClient, Refusal, Within};

/// Namespaces that are asked at once, where the whole cluster may not be listed.
const AT_ONCE: usize = 8;

/// Pods without a graph deployment that name a Dynamo namespace: deployments without the operator.
const LONE_PODS: [&str; 2] = [label::NAMESPACE, label::GRAPH_DEPLOYMENT_NAME];

/// Deployments, and the parts of the cluster that could not be looked into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Roster {
    pub(super) places: Vec<Place>,
    pub(super) unlisted: Vec<String>,
}

/// Returns `args` without the names of a single deployment, which a config file may have.
pub(super) fn common(args: &SourceArgs) -> SourceArgs {
    let single = SourceArgs { namespace: None, dgd: None, dynamo_namespace: None, ..args.clone() };
    SourceArgs { zmq: Vec::new(), indexer_url: None, ..single }
}

impl Roster {
    /// Lists the deployments that the names in `args` mean; all of the cluster when there is none.
    pub(super) async fn read(client: &KubeClient, args: &SourceArgs) -> Result<Self, RunError> {
        let selector = args.selector.as_deref();
        if args.namespaces.is_empty() {
            Self::all(client, selector).await
        } else {
            named(client, args).await
        }
    }

    async fn all(client: &KubeClient, selector: Option<&str>) -> Result<Self, RunError> {
        let mut roster = Self::default();
        let listed = client.graph_deployments_with(selector, Within::Cluster).await;
        let (graphs, pods) = match listed {
            Ok(bodies) => {
                let pods = roster.lone_pods(client, selector, Within::Cluster).await;
                (graphs(bodies), pods)
            }
            Err(Refusal::Forbidden(_)) => {
                let names = roster.namespaces(client).await;
                roster.each_of(client, selector, &names).await
            }
            Err(why) => return Err(RunError::Roster(Box::new(why))),
        };
        roster.places = attach::deployments(&graphs, &pods);
        Ok(roster)
    }

    /// Returns the namespaces that may be listed, or else those that the kubeconfig names for this cluster.
    async fn namespaces(&mut self, client: &KubeClient) -> Vec<String> {
        let mut names = BTreeSet::from([client.namespace().to_string()]);
        if let Ok((found, more)) = client.namespaces().await {
            if more {
                let limit = crate::source::kube::NAMESPACE_LIMIT;
                self.unlisted.push(format!("namespaces after the first {limit}"));
            }
            names.extend(found);
        } else {
            let hidden = "namespaces that the kubeconfig does not name (no permission to list)";
            self.unlisted.push(hidden.to_owned());
            names.extend(place::namespaces_of_contexts(client));
        }
        names.into_iter().collect()
    }

    async fn each_of(
        &mut self,
        client: &KubeClient,
        selector: Option<&str>,
        names: &[String],
    ) -> (Vec<Graph>, Vec<Pod>) {
        let selector = selector.map(str::to_owned);
        let looks: Vec<_> = names
            .iter()
            .map(|name| look_into(client.clone(), selector.clone(), name.clone()))
            .collect();
        let parts: Vec<_> = futures_util::stream::iter(looks).buffered(AT_ONCE).collect().await;
        let (mut graphs, mut pods) = (Vec::new(), Vec::new());
        for (found, lone, unlisted) in parts {
            graphs.extend(found);
            pods.extend(lone);
            self.unlisted.extend(unlisted);
        }
        (graphs, pods)
    }

    /// Returns pods of deployments without the operator.
    async fn lone_pods(
        &mut self,
        client: &KubeClient,
        selector: Option<&str>,
        within: Within<'_>,
    ) -> Vec<Pod> {
        match client.pods_labelled(LONE_PODS, selector, within).await {
            Ok(bodies) => bodies.into_iter().filter_map(place::pod).collect(),
            Err(refusal) => {
                let part = match within {
                    Within::Cluster => "pods of the whole cluster".to_owned(),
                    Within::Namespace(name) => format!("pods of namespace {name}"),
                };
                self.unlisted.push(format!("{part} ({refusal})"));
                Vec::new()
            }
        }
    }
}

/// Returns the graph deployments of a namespace, its pods without one, and what could not be listed of it.
async fn look_into(
    client: KubeClient,
    selector: Option<String>,
    name: String,
) -> (Vec<Graph>, Vec<Pod>, Vec<String>) {
    let (selector, within) = (selector.as_deref(), Within::Namespace(&name));
    let mut part = Roster::default();
    let found = match client.graph_deployments_with(selector, within).await {
        Ok(bodies) => graphs(bodies),
        Err(refusal) => {
            part.unlisted.push(format!("namespace {name} ({refusal})"));
            Vec::new()
        }
    };
    let pods = part.lone_pods(&client, selector, within).await;
    (found, pods, part.unlisted)
}

/// Lists the deployments that names on the command line mean.
async fn named(client: &KubeClient, args: &SourceArgs) -> Result<Roster, RunError> {
    let mut roster = Roster::default();
    for name in &args.namespaces {
        let one = SourceArgs { namespace: Some(name.clone()), ..args.clone() };
        let found = match place::find(client.clone(), &one).await {
            Ok(found) => found,
            Err(RunError::Ambiguous(ambiguous)) => {
                roster.places.extend(ambiguous.places);
                continue;
            }
            Err(error) => return Err(error),
        };
        let namespace = found.client.namespace();
        if found.args.dgd.is_some() || found.args.dynamo_namespace.is_some() {
            let (dgd, dynamo_namespace) = (found.args.dgd, found.args.dynamo_namespace);
            roster.places.push(Place { namespace: Arc::clone(namespace), dgd, dynamo_namespace });
            continue;
        }
        let selector = args.selector.as_deref();
        let (graphs, pods) = roster.each_of(client, selector, &[namespace.to_string()]).await;
        let mut found = attach::deployments(&graphs, &pods);
        if found.is_empty() && selector.is_none() {
            // It was named, so it is shown even while there is nothing in it.
            let namespace = Arc::clone(namespace);
            found.push(Place { namespace, dgd: None, dynamo_namespace: None });
        }
        roster.places.extend(found);
    }
    roster.places.sort();
    roster.places.dedup();
    Ok(roster)
}

fn graphs(bodies: Vec<Bytes>) -> Vec<Graph> {
    bodies.into_iter().filter_map(place::graph).collect()
}
