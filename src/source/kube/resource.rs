//! The watched resources, with their paths in the API.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::client::KubeClient;
use super::refusal::Refusal;
use crate::domain::{ConfigMapUse, VariableKeys};

/// The group of Dynamo's own resources.
const NVIDIA: &str = "nvidia.com";

/// The owner of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Core,
    /// Built in, with its version.
    BuiltIn(&'static str, &'static str),
    /// Dynamo's, in whichever version is served.
    Dynamo,
}

/// One kind of object, or one object, to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) kind: &'static str,
    plural: &'static str,
    group: Group,
    labels: &'static str,
    /// Only the object of this name.
    name: Option<Arc<str>>,
    /// The keys of a `ConfigMap` that become variables.
    pub(super) variables: VariableKeys,
}

const fn resource(kind: &'static str, plural: &'static str, group: Group) -> Resource {
    let variables = VariableKeys::Named(BTreeSet::new());
    Resource { kind, plural, group, labels: "", name: None, variables }
}

/// Returns everything that is watched from the start.
pub(super) fn resources() -> [Resource; 4] {
    let mut slices =
        resource("EndpointSlice", "endpointslices", Group::BuiltIn("discovery.k8s.io", "v1"));
    // dynamo-runtime selects by this label alone (0.9.0 discovery/kube/daemon.rs:67).
    slices.labels = "nvidia.com%2Fdynamo-discovery-enabled%3Dtrue";
    [GRAPHS, PODS, slices, resource("DynamoWorkerMetadata", "dynamoworkermetadatas", Group::Dynamo)]
}

/// The graph deployments.
pub(super) const GRAPHS: Resource =
    resource("DynamoGraphDeployment", "dynamographdeployments", Group::Dynamo);

/// The pods.
pub(super) const PODS: Resource = resource("Pod", "pods", Group::Core);

impl Resource {
    /// Returns one `ConfigMap`.
    pub(super) fn config_map(used: &ConfigMapUse) -> Self {
        Self {
            name: Some(Arc::clone(&used.name)),
            variables: used.variables.clone(),
            ..resource("ConfigMap", "configmaps", Group::Core)
        }
    }

    /// Returns the name of the one object that it is about.
    pub(super) fn only(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns its name as in a Role and in messages.
    pub(super) fn full_name(&self) -> String {
        match self.group {
            Group::Core => self.plural.to_owned(),
            Group::BuiltIn(group, _) => format!("{}.{group}", self.plural),
            Group::Dynamo => format!("{}.{NVIDIA}", self.plural),
        }
    }

    /// Returns what tells its watch from others.
    pub(super) fn slot(&self) -> Arc<str> {
        match &self.name {
            Some(name) => format!("{}/{name}", self.plural).into(),
            None => self.plural.into(),
        }
    }

    /// Returns the `apiVersion` of its objects, served in `version`.
    pub(super) fn api_version(&self, version: &str) -> String {
        match self.group {
            Group::Core => version.to_owned(),
            Group::BuiltIn(group, _) => format!("{group}/{version}"),
            Group::Dynamo => format!("{NVIDIA}/{version}"),
        }
    }

    /// Returns the path of its list in `namespace`, with the selectors as its query.
    pub(super) fn path(&self, version: &str, namespace: &str) -> String {
        let namespace = encode(namespace);
        let root = self.root();
        let mut path = format!("{root}/{version}/namespaces/{namespace}/{}?", self.plural);
        if !self.labels.is_empty() {
            path = format!("{path}labelSelector={}&", self.labels);
        }
        if let Some(name) = &self.name {
            path = format!("{path}fieldSelector=metadata.name%3D{}&", encode(name));
        }
        path
    }

    /// Returns the path of its list in the whole cluster, with its labels, for more of a query to follow.
    pub(super) fn path_everywhere(&self, version: &str) -> String {
        let path = format!("{}/{version}/{}?", self.root(), self.plural);
        if self.labels.is_empty() { path } else { format!("{path}labelSelector={}&", self.labels) }
    }

    fn root(&self) -> String {
        match self.group {
            Group::Core => "/api".to_owned(),
            Group::BuiltIn(group, _) => format!("/apis/{group}"),
            Group::Dynamo => format!("/apis/{NVIDIA}"),
        }
    }

    /// Returns the versions in which it is served, the preferred one first; none when it is not
    /// installed.
    pub(super) async fn versions(&self, client: &KubeClient) -> Result<Vec<String>, Refusal> {
        match self.group {
            Group::Core => return Ok(vec!["v1".to_owned()]),
            Group::BuiltIn(_, version) => return Ok(vec![version.to_owned()]),
            Group::Dynamo => {}
        }
        let group = match client.get_json(&format!("/apis/{NVIDIA}")).await {
            Ok(group) => group,
            Err(Refusal::Missing(_)) => return Ok(Vec::new()),
            // Whoever may not ask for discovery may still ask for what all operators serve.
            Err(Refusal::Forbidden(_)) => return Ok(vec!["v1alpha1".to_owned()]),
            Err(refusal) => return Err(refusal),
        };
        let listed = group["versions"].as_array().into_iter().flatten();
        let mut versions: Vec<&str> =
            listed.filter_map(|version| version["version"].as_str()).collect();
        let preferred = group["preferredVersion"]["version"].as_str();
        // A stable sort: false, for the preferred one, comes first.
        versions.sort_by_key(|version| Some(*version) != preferred);
        let mut serving = Vec::new();
        for version in versions {
            if self.is_served(client, version).await? {
                serving.push(version.to_owned());
            }
        }
        Ok(serving)
    }

    async fn is_served(&self, client: &KubeClient, version: &str) -> Result<bool, Refusal> {
        match client.get_json(&format!("/apis/{NVIDIA}/{}", encode(version))).await {
            Ok(list) => {
                let mut resources = list["resources"].as_array().into_iter().flatten();
                Ok(resources.any(|resource| resource["name"] == self.plural))
            }
            Err(Refusal::Missing(_)) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }
}

/// Returns the namespaces that have graph deployments, as far as that may be known.
pub(super) async fn namespaces_with_dynamo(client: &KubeClient) -> Vec<String> {
    let Ok(versions) = GRAPHS.versions(client).await else {
        return Vec::new();
    };
    let Some(version) = versions.first() else {
        return Vec::new();
    };
    let path = format!("/apis/{NVIDIA}/{version}/{}?limit=500", GRAPHS.plural);
    let Ok(list) = client.get_json(&path).await else {
        return Vec::new();
    };
    let items = list["items"].as_array().into_iter().flatten();
    let mut names: Vec<String> = items
        .filter_map(|item| item["metadata"]["namespace"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Returns `text` for use in a path or query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
            encoded.extend([digit(byte >> 4), digit(byte & 15)]);
        }
    }
    encoded
}
