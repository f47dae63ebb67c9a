//! The objects that a fix changes, and the pods that run from them.

use std::sync::Arc;

use super::component;
use super::shell::ClusterChoice;
use crate::domain::{Graph, ManifestPart, Role, Timestamp};

/// A deployment as Kubernetes shows it, as far as fixes are concerned.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// The cluster, where the user named it.
    pub cluster: ClusterChoice,
    /// The namespace in Kubernetes.
    pub namespace: Option<Arc<str>>,
    /// The graph deployment.
    pub graph: Option<Graph>,
    /// The name of the graph deployment, when the user had to choose one of several.
    pub chosen: Option<Arc<str>>,
    /// Configuration files of engines.
    pub files: Vec<FileState>,
    /// Pods, the oldest first.
    pub pods: Vec<PodState>,
}

/// A configuration file in a `ConfigMap`.
#[derive(Clone, Debug)]
pub struct FileState {
    /// The `ConfigMap`.
    pub config_map: Arc<str>,
    /// Its key.
    pub key: Arc<str>,
    /// The text; none when it is too long to be kept, or something was taken out of it.
    pub text: Option<Arc<str>>,
    /// The time of its last change, as far as that is known.
    pub changed: Option<Timestamp>,
}

/// A pod, with the settings that it was started with.
#[derive(Clone, Debug)]
pub struct PodState {
    /// Its name.
    pub name: Arc<str>,
    /// Its component.
    pub component: Option<Arc<str>>,
    /// Its role in the deployment.
    pub role: Role,
    /// Start of its main container.
    pub started: Option<Timestamp>,
    /// Its variables and its command.
    pub manifest: ManifestPart,
}

impl Objects {
    /// Returns true when a component's manifest sets this variable.
    pub fn declares(&self, variable: &str) -> bool {
        let components = self.graph.iter().flat_map(|graph| &graph.components);
        let lists = components.flat_map(|component| &component.manifest.variables);
        lists.flat_map(|list| list.items.iter().flatten()).any(|name| name.as_ref() == variable)
    }

    /// Returns true when a component's manifest has this flag.
    pub fn has_flag(&self, flag: &str) -> bool {
        let mut components = self.graph.iter().flat_map(|graph| &graph.components);
        components.any(|component| component::has_flag(&component.manifest, &[flag]))
    }

    /// Returns the component of a pod.
    pub fn component_of(&self, pod: &str) -> Option<&Arc<str>> {
        self.pods.iter().find(|known| known.name.as_ref() == pod)?.component.as_ref()
    }
}
