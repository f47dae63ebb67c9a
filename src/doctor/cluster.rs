//! Checks of Kubernetes: API server, permissions and deployment.

use std::collections::BTreeMap;

use super::{Seen, row};
use crate::domain::{Role, SourceName, SourceState, Trouble};
use crate::report::doctor::{Check, Verdict};
use crate::snapshot::PodRow;
use crate::source::kube::{Refusal, Right, Standing};

const AREA: &str = "kubernetes";
const RIGHTS: &str = "rights";
const DEPLOYMENT: &str = "deployment";

/// The loss without each resource.
const LESS: [(&str, &str); 6] = [
    ("pods/log", "no warnings, decisions or capacity lines from logs"),
    (
        "pods",
        "no pods: no names, nodes, settings, logs or metrics; pass the NATS server with --nats-url",
    ),
    ("configmaps", "settings and variables in engine configuration files are unknown"),
    ("endpointslices.discovery.k8s.io", "the pods in discovery are unknown"),
    ("dynamographdeployments.nvidia.com", "settings in manifests are unknown"),
    (
        "dynamoworkermetadatas.nvidia.com",
        "registered block sizes, capacities and ranks are unknown",
    ),
];

/// The answers of a cluster's API server.
#[derive(Debug)]
pub struct Cluster {
    /// The place of its address and credentials, such as a context of a kubeconfig.
    pub origin: String,
    /// Its address.
    pub server: String,
    /// The namespace of the deployment.
    pub namespace: String,
    /// Its version, or why it did not answer.
    pub version: Result<String, String>,
    /// The rights that sources need; empty when it did not answer.
    pub rights: Vec<Right>,
}

pub(super) fn checks(cluster: &Cluster, seen: &Seen) -> Vec<Check> {
    let mut checks = vec![Check::new(AREA, "configuration", Verdict::Ok, cluster.origin.as_str())];
    let server = Check::new(AREA, "API server", Verdict::Ok, cluster.server.as_str());
    match &cluster.version {
        Ok(version) => {
            checks.push(Check { seen: format!("{}, {version}", cluster.server), ..server });
        }
        Err(refusal) => {
            checks.push(Check { verdict: Verdict::Failed, seen: refusal.clone(), ..server });
            return checks;
        }
    }
    let all = &cluster.rights;
    if let Some(why) = refused_credentials(all) {
        checks.push(Check::new(AREA, "credentials", Verdict::Failed, why));
        return checks;
    }
    checks.extend(installed(all));
    checks.extend(all.iter().filter_map(of_right));
    checks.extend(unasked(seen, all, &cluster.namespace));
    checks.extend(deployment(cluster, seen));
    checks
}

fn refused_credentials(all: &[Right]) -> Option<String> {
    all.iter().find_map(|right| match &right.standing {
        Standing::Failed(why @ (Refusal::Unauthorized | Refusal::NoCredentials(_))) => {
            Some(why.to_string())
        }
        _ => None,
    })
}

/// Returns which resources of Dynamo's the cluster has.
fn installed(all: &[Right]) -> Vec<Check> {
    let lists = all.iter().filter(|it| it.right.verb == "list");
    let dynamos = lists.filter(|it| it.right.resource.ends_with(".nvidia.com"));
    let check = |right: &Right| {
        let name = format!("CRD {}", right.right.resource);
        match &right.standing {
            Standing::NotInstalled => {
                let seen = "not installed in this cluster";
                let advice = "deployments created by the operator have it; without it kvtop relies on pods alone";
                Check::new(AREA, name, Verdict::Warning, seen).advise(advice)
            }
            Standing::Failed(why) if right.versions.is_empty() => {
                Check::new(AREA, name, Verdict::Unknown, why.to_string())
            }
            _ => Check::new(AREA, name, Verdict::Ok, right.versions.join(", ")),
        }
    };
    dynamos.map(check).collect()
}

/// Returns the check of a permission; none if the resource does not exist.
fn of_right(right: &Right) -> Option<Check> {
    let name = right.right.to_string();
    let place = format!("in namespace {}", right.right.namespace);
    let check = |verdict, seen: String| Check::new(RIGHTS, name, verdict, seen);
    Some(match &right.standing {
        Standing::Granted => check(Verdict::Ok, place),
        Standing::Missing => check(Verdict::Failed, format!("missing {place}")).advise(format!(
            "{}{}; grant the role that `kvtop rbac -n {}` prints",
            less(&right.right.resource),
            if right.right.verb == "watch" { " once they change" } else { "" },
            right.right.namespace
        )),
        Standing::NotInstalled => return None,
        Standing::Failed(why) => check(Verdict::Unknown, why.to_string()),
    })
}

fn less(resource: &str) -> &'static str {
    LESS.iter().find(|(known, _)| *known == resource).map_or("", |(_, less)| less)
}

/// Returns the checks of permissions that were not needed, or that only sources have used.
fn unasked(seen: &Seen, all: &[Right], home: &str) -> Vec<Check> {
    let asked = |resource: &str| all.iter().any(|right| *right.right.resource == *resource);
    let mut checks = Vec::new();
    for (resource, why) in
        [("configmaps", "no pod reads one"), ("pods/log", "no container has a log")]
    {
        if !asked(resource) {
            let name = format!("get on {resource}");
            checks.push(Check::new(RIGHTS, name, Verdict::Unknown, format!("not checked: {why}")));
        }
    }
    checks.extend(forwarding(seen, home));
    checks
}

/// Returns the checks of port-forwards: the permission to open them, and to find their pods.
fn forwarding(seen: &Seen, home: &str) -> Vec<Check> {
    let name = "create on pods/portforward";
    let Some(row) = row(&seen.snapshot, &SourceName::PortForward) else {
        return vec![Check::new(RIGHTS, name, Verdict::Unknown, "not checked: not needed")];
    };
    let mut checks = Vec::new();
    let mut barred = None;
    for trouble in &row.troubles {
        match trouble {
            Trouble::MayNotFindPods { namespace } => {
                let advice = format!(
                    "servers behind a service are reachable only directly; {}",
                    role_for(namespace.as_deref(), home)
                );
                let missing = format!("missing, as is list on endpointslices: {}", row.why);
                let check = Check::new(RIGHTS, "get on services", Verdict::Failed, missing);
                checks.push(check.advise(advice));
            }
            Trouble::MayNotForward { namespace } => barred = Some(namespace),
            _ => {}
        }
    }
    let only_found_out = !checks.is_empty() && row.state != SourceState::Live;
    // The words of the source are about the refusal then.
    let open = row.peers.map_or(0, |peers| peers.reached);
    let words = if checks.is_empty() { row.why.clone() } else { format!("{open} open") };
    let why = words.as_str();
    checks.push(if let Some(namespace) = barred {
        Check::new(RIGHTS, name, Verdict::Failed, why).advise(format!(
            "cluster addresses are reachable only directly; {}",
            role_for(namespace.as_deref(), home)
        ))
    } else if why.is_empty() || only_found_out {
        Check::new(RIGHTS, name, Verdict::Unknown, "not checked: no pod to connect to was found")
    } else if row.state == SourceState::Live {
        Check::new(RIGHTS, name, Verdict::Ok, why)
    } else {
        Check::new(RIGHTS, name, Verdict::Warning, why)
    });
    checks
}

/// Returns the advice to grant the Role with a permission in the namespace `place`. The deployment's own namespace
/// may hold NATS as well: then there is one Role.
fn role_for(place: Option<&str>, home: &str) -> String {
    match place {
        Some(place) => {
            format!(
                "grant the role that `kvtop rbac -n {home} --port-forward --nats-namespace {place}` prints"
            )
        }
        None => format!("grant the role that `kvtop rbac -n {home} --port-forward` prints"),
    }
}

fn deployment(cluster: &Cluster, seen: &Seen) -> Vec<Check> {
    let mut checks = Vec::new();
    let graphs: Vec<&str> =
        seen.snapshot.deployment.graphs.iter().map(|graph| graph.name.as_str()).collect();
    let pods = &seen.snapshot.pods;
    let name = "graph deployments";
    checks.push(match graphs.as_slice() {
        [] => Check::new(DEPLOYMENT, name, Verdict::Unknown, "none found"),
        some => Check::new(DEPLOYMENT, name, Verdict::Ok, some.join(", ")),
    });
    let name = "Dynamo pods";
    let hidden = cluster.rights.iter().any(|it| {
        it.standing == Standing::Missing && (it.right.verb, &*it.right.resource) == ("list", "pods")
    });
    checks.push(if pods.is_empty() && hidden {
        Check::new(DEPLOYMENT, name, Verdict::Unknown, "no permission to list pods")
    } else if pods.is_empty() {
        let source = row(&seen.snapshot, &SourceName::Kubernetes);
        let named = source.filter(|row| row.troubles.contains(&Trouble::NoDeployment));
        let none = format!("none in namespace {}", cluster.namespace);
        let why = named.map_or(none.as_str(), |row| &row.why);
        Check::new(DEPLOYMENT, name, Verdict::Failed, why)
    } else {
        Check::new(DEPLOYMENT, name, Verdict::Ok, counted(pods))
    });
    let mut versions: Vec<&str> = pods.iter().filter_map(|pod| pod.version.as_deref()).collect();
    versions.sort_unstable();
    versions.dedup();
    let name = "Dynamo version";
    checks.push(match versions.as_slice() {
        [] => Check::new(DEPLOYMENT, name, Verdict::Unknown, "not named by any image tag"),
        [one] => Check::new(DEPLOYMENT, name, Verdict::Ok, *one),
        several => Check::new(DEPLOYMENT, name, Verdict::Warning, several.join(", "))
            .advise("all pods of a deployment should run one version"),
    });
    let notes = seen.wanted.iter().flat_map(|wanted| &wanted.notes);
    // Of pods there is a line already.
    checks.extend(notes.map(|note| Check::new(DEPLOYMENT, "note", Verdict::Warning, note)));
    checks
}

/// Returns how many pods there are of each role, and how many are ready.
fn counted(pods: &[PodRow]) -> String {
    let mut roles: BTreeMap<Role, (usize, usize)> = BTreeMap::new();
    for pod in pods {
        let (all, ready) = roles.entry(pod.role).or_default();
        *all += 1;
        *ready += usize::from(pod.ready);
    }
    let parts =
        roles.iter().map(|(role, (all, ready))| format!("{all} {} ({ready} ready)", role.name()));
    parts.collect::<Vec<_>>().join(", ")
}
