//! Lists other places to look in: namespaces of the cluster, contexts of the kubeconfig.

use super::client::KubeClient;
use super::error::KubeConfigError;
use super::refusal::Refusal;

/// Most namespaces that are asked for.
pub const NAMESPACE_LIMIT: usize = 500;

/// A context of the kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextPlace {
    /// Its name.
    pub name: String,
    /// The cluster that it leads to, by its name in the kubeconfig.
    pub cluster: String,
    /// Its namespace, where it names one.
    pub namespace: Option<String>,
}

impl KubeClient {
    /// Asks once for the namespaces of the cluster, which takes a right of its own. Returns them by name,
    /// and whether there are more than [`NAMESPACE_LIMIT`].
    pub async fn namespaces(&self) -> Result<(Vec<String>, bool), Refusal> {
        let path = format!("/api/v1/namespaces?limit={NAMESPACE_LIMIT}");
        let list = self.get_json(&path).await?;
        let items = list["items"].as_array().into_iter().flatten().take(NAMESPACE_LIMIT);
        let names = items.filter_map(|item| item["metadata"]["name"].as_str());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        let more = list["metadata"]["continue"].as_str().is_some_and(|token| !token.is_empty());
        Ok((names, more))
    }

    /// Reads the kubeconfig again and returns its contexts in their order; none with the service account
    /// of a pod.
    pub fn contexts(&self) -> Result<Vec<ContextPlace>, KubeConfigError> {
        let Some(kubeconfig) = self.options().kubeconfig()? else { return Ok(Vec::new()) };
        let place = |named: kube::config::NamedContext| {
            let (cluster, namespace) =
                named.context.map_or_else(Default::default, |it| (it.cluster, it.namespace));
            ContextPlace { name: named.name, cluster, namespace }
        };
        Ok(kubeconfig.contexts.into_iter().map(place).collect())
    }
}
