//! From the address of a service, or of a pod, to a pod that is ready and a port of it.
//!
//! Owns the reading of Services, `EndpointSlice`s and, without the right to list those, pods.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{Destination, ForwardError, PodPort};
use crate::domain::{Reason, Trouble};
use crate::source::kube::{
    EndpointSlice, KubeClient, List, Pod, PortRef, Refusal, Service, ServicePort,
};

/// Returns what `host` and `port` name inside a cluster, seen from `home`; none for a name that is
/// none of a cluster's.
pub fn destination(host: &str, port: u16, home: &str) -> Option<Destination> {
    let host = host.trim_end_matches('.');
    if let Ok(ip) = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        let home = home.into();
        return (!ip.is_loopback()).then_some(Destination::Address { home, ip, port });
    }
    if host.is_empty() || host.contains(':') {
        return None;
    }
    let labels: Vec<&str> = host.split('.').collect();
    let service = |name: &str, namespace: &str| Destination::Service {
        namespace: namespace.into(),
        service: name.into(),
        port,
    };
    match labels.as_slice() {
        ["localhost"] => None,
        [name] => Some(service(name, home)),
        [name, namespace] | [name, namespace, "svc", ..] => Some(service(name, namespace)),
        // The name of one pod behind a headless service, as StatefulSets have them.
        [pod, _, namespace, "svc", ..] => Some(Destination::Pod(PodPort {
            namespace: (*namespace).into(),
            pod: (*pod).into(),
            port,
        })),
        _ => None,
    }
}

/// Returns a ready pod of `destination`.
pub(super) async fn resolve(
    client: &KubeClient,
    destination: &Destination,
) -> Result<PodPort, ForwardError> {
    let (namespace, service, port) = match destination {
        Destination::Pod(pod) => return Ok(pod.clone()),
        Destination::Service { namespace, service, port } => (namespace, service, *port),
        Destination::Address { home, ip, port } => {
            return with_address(client, home, *ip, *port).await;
        }
    };
    let path = format!("/api/v1/namespaces/{namespace}/services/{service}");
    let found = match get::<Service>(client, &path).await {
        Ok(found) => Some(found),
        Err(Refusal::Missing(_)) => {
            return Err(ForwardError::Nowhere(format!(
                "there is no service `{service}` in namespace `{namespace}`"
            )));
        }
        // The slices may tell all the same.
        Err(Refusal::Forbidden(_)) => None,
        Err(refusal) => return Err(refusal.into()),
    };
    let path = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices\
         ?labelSelector=kubernetes.io%2Fservice-name%3D{service}"
    );
    let listed = get::<List<EndpointSlice>>(client, &path).await;
    let picked = match (listed, &found) {
        (Ok(list), _) => in_slices(&list.items, found.as_ref(), port),
        (Err(Refusal::Forbidden(_)), Some(found)) => {
            in_pods(client, namespace, found, port).await?
        }
        (Err(Refusal::Forbidden(why)), None) => {
            let text = format!(
                "finding the pods of service `{service}` needs `get services` or \
                 `list endpointslices` in namespace `{namespace}`: {why}"
            );
            let trouble = Trouble::MayNotFindPods { namespace: Some(Arc::clone(namespace)) };
            return Err(ForwardError::Forbidden(Reason::new(trouble, text)));
        }
        (Err(refusal), _) => return Err(refusal.into()),
    };
    let nobody = || {
        ForwardError::Nowhere(format!(
            "service `{service}` in namespace `{namespace}` has no ready pod for port {port}"
        ))
    };
    let (pod, port) = picked.ok_or_else(nobody)?;
    Ok(PodPort { namespace: Arc::clone(namespace), pod, port })
}

/// Returns the running pod whose address is `ip`: one of `home`, or of any namespace, where all may be
/// listed.
async fn with_address(
    client: &KubeClient,
    home: &str,
    ip: IpAddr,
    port: u16,
) -> Result<PodPort, ForwardError> {
    let query = format!("pods?fieldSelector=status.podIP%3D{ip}");
    let here: List<Pod> = get(client, &format!("/api/v1/namespaces/{home}/{query}")).await?;
    if let Some(found) = running(&here.items, port) {
        return Ok(found);
    }
    let elsewhere = match get::<List<Pod>>(client, &format!("/api/v1/{query}")).await {
        Ok(list) => running(&list.items, port),
        Err(Refusal::Forbidden(_)) => {
            return Err(ForwardError::Nowhere(format!(
                "no pod in namespace `{home}` has address {ip}, and pods of other namespaces may \
                 not be listed; name the server with --nats-url, or its service in NATS_SERVER"
            )));
        }
        Err(refusal) => return Err(refusal.into()),
    };
    elsewhere.ok_or_else(|| ForwardError::Nowhere(format!("no running pod has the address {ip}")))
}

/// Returns the first of `pods` that runs; those on their node's network share its address.
fn running(pods: &[Pod], port: u16) -> Option<PodPort> {
    let runs = |pod: &&Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let on_node = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false);
        phase == Some("Running") && !on_node
    };
    let pod = pods.iter().find(runs)?;
    let metadata = pod.metadata.as_ref()?;
    Some(PodPort {
        namespace: metadata.namespace.as_deref()?.into(),
        pod: metadata.name.as_deref()?.into(),
        port,
    })
}

fn port_of(service: &Service, port: u16) -> Option<&ServicePort> {
    let ports = service.spec.as_ref()?.ports.as_ref()?;
    ports.iter().find(|it| it.port == Some(i32::from(port)))
}

/// Returns the first pod, by name, that is ready in `slices`, and the port it has there.
fn in_slices(
    slices: &[EndpointSlice],
    service: Option<&Service>,
    port: u16,
) -> Option<(Arc<str>, u16)> {
    let spec = service.and_then(|service| port_of(service, port));
    let mut found: Vec<(Arc<str>, u16)> = Vec::new();
    for slice in slices {
        let ports = slice.ports.as_deref().unwrap_or_default();
        let named = match spec {
            Some(spec) => ports.iter().find(|it| {
                it.name.as_deref().unwrap_or_default() == spec.name.as_deref().unwrap_or_default()
            }),
            None if ports.len() == 1 => ports.first(),
            None => ports.iter().find(|it| it.port == Some(i32::from(port))),
        };
        let Some(port) = named.and_then(|it| u16::try_from(it.port?).ok()) else { continue };
        let ready = slice.endpoints.iter().flatten().filter(|endpoint| {
            endpoint.conditions.as_ref().and_then(|it| it.ready).unwrap_or(true)
        });
        found.extend(ready.filter_map(|endpoint| {
            let pod =
                endpoint.target_ref.as_ref().filter(|it| it.kind.as_deref() == Some("Pod"))?;
            Some((pod.name.as_deref()?.into(), port))
        }));
    }
    found.into_iter().min()
}

/// Returns the first pod, by name, that `service` selects and that is ready.
async fn in_pods(
    client: &KubeClient,
    namespace: &str,
    service: &Service,
    port: u16,
) -> Result<Option<(Arc<str>, u16)>, ForwardError> {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let Some(selector) = selector.filter(|selector| !selector.is_empty()) else { return Ok(None) };
    let labels = labels(selector);
    let path = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={labels}");
    let list = get::<List<Pod>>(client, &path).await?;
    let target = port_of(service, port).and_then(|spec| spec.target_port.clone());
    let target = target.unwrap_or(PortRef::Number(i32::from(port)));
    Ok(list.items.iter().filter_map(|pod| ready_pod(pod, &target)).min())
}

fn labels(selector: &BTreeMap<String, String>) -> String {
    // Names and values of labels have no other letter that would have to be written so.
    let pair = |(key, value): (&String, &String)| format!("{}%3D{value}", key.replace('/', "%2F"));
    selector.iter().map(pair).collect::<Vec<_>>().join("%2C")
}

async fn get<T: DeserializeOwned>(client: &KubeClient, path: &str) -> Result<T, Refusal> {
    let body = client.get(path).await?;
    serde_json::from_slice(&body).map_err(|error| Refusal::Unreadable(error.to_string()))
}

fn ready_pod(pod: &Pod, port: &PortRef) -> Option<(Arc<str>, u16)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = (Some("Ready"), Some("True"));
    conditions.iter().find(|it| (it.kind.as_deref(), it.status.as_deref()) == ready)?;
    let number = match port {
        PortRef::Number(number) => *number,
        PortRef::Name(name) => {
            let containers = pod.spec.as_ref()?.containers.iter().flatten();
            let mut ports = containers.filter_map(|it| it.ports.as_ref()).flatten();
            ports.find(|it| it.name.as_ref() == Some(name))?.container_port?
        }
    };
    Some((pod.metadata.as_ref()?.name.as_deref()?.into(), u16::try_from(number).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_services_are_read_as_pods_write_them() {
        let service = |service: &str, namespace: &str| {
            Some(Destination::Service {
                namespace: namespace.into(),
                service: service.into(),
                port: 4222,
            })
        };
        let address = |ip: &str| {
            let ip = ip.parse().unwrap();
            Some(Destination::Address { home: "home".into(), ip, port: 4222 })
        };
        let table = [
            ("nats", service("nats", "home")),
            ("nats.sys", service("nats", "sys")),
            ("nats.sys.svc", service("nats", "sys")),
            ("nats.sys.svc.cluster.local", service("nats", "sys")),
            ("nats.sys.svc.corp.example.", service("nats", "sys")),
            (
                "nats-0.nats.sys.svc.cluster.local",
                Some(Destination::Pod(PodPort {
                    namespace: "sys".into(),
                    pod: "nats-0".into(),
                    port: 4222,
                })),
            ),
            ("nats.example.com", None),
            ("10.0.0.1", address("10.0.0.1")),
            ("[fd00::7]", address("fd00::7")),
            ("127.0.0.1", None),
            ("::1", None),
            ("localhost", None),
            ("", None),
        ];
        for (host, expected) in table {
            assert_eq!(destination(host, 4222, "home"), expected, "{host}");
        }
    }

    fn slice(ports: &serde_json::Value, pods: &[(&str, bool)]) -> EndpointSlice {
        let endpoints: Vec<_> = pods
            .iter()
            .map(|(name, ready)| {
                json!({"addresses": ["10.0.0.1"], "conditions": {"ready": ready},
                       "targetRef": {"kind": "Pod", "name": name}})
            })
            .collect();
        serde_json::from_value(json!({"addressType": "IPv4", "metadata": {},
                                      "endpoints": endpoints, "ports": ports}))
        .unwrap()
    }

    #[test]
    fn the_port_of_a_pod_is_found_by_the_name_of_the_services_port() {
        let ports = json!([{"name": "monitor", "port": 8222}, {"name": "client", "port": 4333}]);
        let slices = [slice(&ports, &[("nats-1", true), ("nats-0", false)])];
        let service: Service = serde_json::from_value(
            json!({"spec": {"ports": [{"name": "client", "port": 4222, "targetPort": "nats"}]}}),
        )
        .unwrap();
        let found = Some(("nats-1".into(), 4333));
        assert_eq!(in_slices(&slices, Some(&service), 4222), found);
        assert_eq!(in_slices(&slices, None, 4333), found);
        assert_eq!(in_slices(&slices, None, 4222), None);
        let gone = [slice(&ports, &[("nats-1", false)])];
        assert_eq!(in_slices(&gone, Some(&service), 4222), None);
    }

    #[test]
    fn a_pod_is_taken_when_it_is_ready_and_has_the_port() {
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "nats-0"},
            "spec": {"containers": [{"name": "nats", "ports": [{"name": "nats", "containerPort": 4222}]}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
        .unwrap();
        let named = PortRef::Name("nats".to_owned());
        assert_eq!(ready_pod(&pod, &named), Some(("nats-0".into(), 4222)));
        assert_eq!(ready_pod(&pod, &PortRef::Name("http".to_owned())), None);
        assert_eq!(ready_pod(&Pod::default(), &named), None);
    }
}
