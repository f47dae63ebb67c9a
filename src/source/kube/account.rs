//! The service account that Kubernetes mounts into pods, read as if it were a kubeconfig.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use kube::config::{
    AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};

use super::error::KubeConfigError;

/// The folder in which Kubernetes mounts it.
pub(super) const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The only name there is in the kubeconfig made of it.
const NAME: &str = "pod";

/// Returns true when this process looks like one in a pod.
pub(super) fn is_likely(mount: &Path) -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
        || fs::exists(mount.join("token")).unwrap_or(false)
}

/// Returns the account in `mount` as a kubeconfig. The token stays in its file: the kubelet rotates
/// it, and it is read again with it.
///
/// # Errors
///
/// Fails when the environment does not name the API server or a file is missing.
pub(super) fn kubeconfig(mount: &Path) -> Result<Kubeconfig, KubeConfigError> {
    let name = |name: &'static str| {
        std::env::var(name).map_err(|_| unusable(format!("{name} is not set")))
    };
    let host = name("KUBERNETES_SERVICE_HOST")?;
    let server = format!("https://{}:{}", bracketed(&host), name("KUBERNETES_SERVICE_PORT")?);
    let file = |name: &str| {
        let path = mount.join(name).display().to_string();
        match fs::read_to_string(&path) {
            Ok(text) => Ok((path, text)),
            Err(error) => Err(unusable(format!("{path}: {error}"))),
        }
    };
    let (token, _) = file("token")?;
    let (authority, _) = file("ca.crt")?;
    let (_, namespace) = file("namespace")?;
    Ok(Kubeconfig {
        current_context: Some(NAME.to_owned()),
        clusters: vec![NamedCluster {
            name: NAME.to_owned(),
            cluster: Some(Cluster {
                server: Some(server),
                certificate_authority: Some(authority),
                ..Cluster::default()
            }),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: NAME.to_owned(),
            auth_info: Some(AuthInfo { token_file: Some(token), ..AuthInfo::default() }),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: NAME.to_owned(),
            context: Some(Context {
                cluster: NAME.to_owned(),
                user: Some(NAME.to_owned()),
                namespace: Some(namespace.trim().to_owned()),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        ..Kubeconfig::default()
    })
}

/// Returns `host` as URLs write it.
fn bracketed(host: &str) -> String {
    match host.parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}

fn unusable(why: String) -> KubeConfigError {
    KubeConfigError::ServiceAccount { why }
}

#[cfg(test)]
mod tests {
    use super::bracketed;

    #[test]
    fn addresses_of_both_families_and_names_are_hosts_of_urls() {
        assert_eq!(bracketed("10.0.0.1"), "10.0.0.1");
        assert_eq!(bracketed("fd00::1"), "[fd00::1]");
        assert_eq!(bracketed("kubernetes.default.svc"), "kubernetes.default.svc");
    }
}
