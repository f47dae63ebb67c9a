//! Learns the rights there are by asking for what they allow: GET requests for little, whose
//! answers are thrown away. No access reviews: those are objects that are created.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use super::client::KubeClient;
use super::condition::MissingRight;
use super::refusal::Refusal;
use super::resource::{Resource, resources};
use crate::domain::ConfigMapUse;

/// For a second or two after its start an API server answers 403 to those who may.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(2);

/// The answer to a request that needs a right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was granted.
    Granted,
    /// The right is missing.
    Missing,
    /// There is no such resource in the cluster.
    NotInstalled,
    /// It failed for another reason, which says nothing of the right.
    Failed(Refusal),
}

/// A right that kvtop uses, and whether it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// Verb, resource and namespace.
    pub right: MissingRight,
    /// The versions in which the API serves the resource; none when that could not be learned.
    pub versions: Vec<String>,
    /// The answer.
    pub standing: Standing,
}

/// Asks for everything that the source watches, and for `config_maps`. Takes two seconds more when
/// something is forbidden.
pub async fn rights(client: &KubeClient, config_maps: &[ConfigMapUse]) -> Vec<Right> {
    let maps = config_maps.iter().map(Resource::config_map);
    let all = resources().into_iter().chain(maps);
    let asked = all.map(|resource| async move { of_resource(client, &resource).await });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Asks for one line of the log of a container.
pub async fn log_right(client: &KubeClient, namespace: &str, pod: &str, container: &str) -> Right {
    let path = format!(
        "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&tailLines=1&limitBytes=1"
    );
    let standing = patient(async || match client.get(&path).await {
        // A pod without a node, or a container that waits: whoever may not ask is told so before.
        Err(Refusal::Failed { status: 204 | 400, .. }) => Standing::Granted,
        answer => standing(answer.map(|_| ())),
    });
    let right =
        MissingRight { verb: "get", resource: "pods/log".into(), namespace: namespace.into() };
    Right { right, versions: vec!["v1".to_owned()], standing: standing.await }
}

async fn of_resource(client: &KubeClient, resource: &Resource) -> Vec<Right> {
    let right = |verb| MissingRight {
        verb,
        resource: resource.full_name().into(),
        namespace: Arc::clone(client.namespace()),
    };
    let versions = match resource.versions(client).await {
        Ok(versions) => versions,
        Err(refusal) => {
            let standing = standing(Err(refusal));
            return vec![Right { right: right("list"), versions: Vec::new(), standing }];
        }
    };
    let Some(version) = versions.first() else {
        let standing = Standing::NotInstalled;
        return vec![Right { right: right("list"), versions, standing }];
    };
    let path = resource.path(version, client.namespace());
    let list = format!("{path}limit=1");
    let listed = patient(async || standing(client.get(&list).await.map(|_| ()))).await;
    let watch = format!("{path}watch=true&timeoutSeconds=1");
    let watched = patient(async || {
        let limit = client.timeout();
        let late = || Refusal::Slow { server: Arc::clone(client.server()), limit };
        let opened = timeout(limit, client.open(&watch)).await.unwrap_or_else(|_| Err(late()));
        standing(opened.map(|_| ()))
    })
    .await;
    let told = [("list", listed), ("watch", watched)];
    told.into_iter()
        .map(|(verb, standing)| Right { right: right(verb), versions: versions.clone(), standing })
        .collect()
}

fn standing(answer: Result<(), Refusal>) -> Standing {
    match answer {
        Ok(()) => Standing::Granted,
        Err(Refusal::Forbidden(_)) => Standing::Missing,
        Err(Refusal::Missing(_)) => Standing::NotInstalled,
        Err(refusal) => Standing::Failed(refusal),
    }
}

/// Asks again before it believes that a right is missing.
async fn patient(ask: impl AsyncFn() -> Standing) -> Standing {
    match ask().await {
        Standing::Missing => {
            sleep(FORBIDDEN_PAUSE).await;
            ask().await
        }
        answer => answer,
    }
}
