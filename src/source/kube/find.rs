//! Namespaces and deployments beyond the namespace looked at, as far as they may be listed.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::client::KubeClient;
use super::options::KubeOptions;
use super::refusal::Refusal;
use super::resource::{GRAPHS, PODS, Resource, encode};

/// Most objects that are looked through for a name.
const MOST: usize = 5000;

/// Objects that are asked for at once.
const PAGE: usize = 500;

/// The place to look in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within<'a> {
    /// In the whole cluster, which takes a right in the whole cluster.
    Cluster,
    /// In one namespace.
    Namespace(&'a str),
}

impl KubeClient {
    /// Returns a client of the same server that looks at `namespace`.
    #[must_use]
    pub fn at(&self, namespace: &str) -> Self {
        let options = KubeOptions {
            namespace: Some(namespace.to_owned()),
            ..KubeOptions::clone(self.options())
        };
        self.looking_at(namespace, Arc::new(options))
    }

    /// Returns whether there is a namespace `name`.
    pub async fn has_namespace(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(&format!("/api/v1/namespaces/{}", encode(name))).await {
            Ok(_) => Ok(true),
            Err(Refusal::Missing(_)) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    /// Returns whether there is a pod in namespace `name`.
    pub async fn has_pods(&self, name: &str) -> Result<bool, Refusal> {
        let path = PODS.path("v1", name) + "limit=1";
        let list = self.get_json(&path).await?;
        Ok(list["items"].as_array().is_some_and(|items| !items.is_empty()))
    }

    /// Returns the graph deployments, each as its JSON; none where their kind is not installed.
    pub async fn graph_deployments(&self, within: Within<'_>) -> Result<Vec<Bytes>, Refusal> {
        self.graph_deployments_with(None, within).await
    }

    /// Returns those that the labels of `selector` choose, as kubectl writes them.
    pub async fn graph_deployments_with(
        &self,
        selector: Option<&str>,
        within: Within<'_>,
    ) -> Result<Vec<Bytes>, Refusal> {
        let versions = GRAPHS.versions(self).await?;
        let Some(version) = versions.first() else { return Ok(Vec::new()) };
        let selector = selector.map(|labels| format!("labelSelector={}&", encode(labels)));
        self.all_of(&GRAPHS, version, within, &selector.unwrap_or_default()).await
    }

    /// Returns the pods whose `label` is `value`, each as its JSON.
    pub async fn pods_with(
        &self,
        label: &str,
        value: &str,
        within: Within<'_>,
    ) -> Result<Vec<Bytes>, Refusal> {
        let selector = format!("labelSelector={}%3D{}&", encode(label), encode(value));
        self.all_of(&PODS, "v1", within, &selector).await
    }

    /// Returns the pods that have the label `has` and lack the label `lacks`, of those that the labels of `selector`
    /// choose, each as its JSON.
    pub async fn pods_labelled(
        &self,
        [has, lacks]: [&str; 2],
        selector: Option<&str>,
        within: Within<'_>,
    ) -> Result<Vec<Bytes>, Refusal> {
        let more = selector.map_or(String::new(), |labels| format!(",{labels}"));
        let selector = format!("labelSelector={}&", encode(&format!("{has},!{lacks}{more}")));
        self.all_of(&PODS, "v1", within, &selector).await
    }

    async fn all_of(
        &self,
        resource: &Resource,
        version: &str,
        within: Within<'_>,
        selector: &str,
    ) -> Result<Vec<Bytes>, Refusal> {
        let path = match within {
            Within::Cluster => resource.path_everywhere(version),
            Within::Namespace(name) => resource.path(version, name),
        };
        let mut found = Vec::new();
        let mut next = String::new();
        loop {
            let page = format!("{path}{selector}limit={PAGE}{next}");
            let mut list = match self.get_json(&page).await {
                Err(Refusal::Missing(_)) => return Ok(found),
                answer => answer?,
            };
            let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
            found.extend(items.iter().filter_map(whole));
            match list["metadata"]["continue"].as_str() {
                Some(token) if !token.is_empty() && found.len() < MOST => {
                    next = format!("&continue={}", encode(token));
                }
                _ => return Ok(found),
            }
        }
    }
}

fn whole(object: &Value) -> Option<Bytes> {
    serde_json::to_vec(object).ok().map(Bytes::from)
}
