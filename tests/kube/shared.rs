//! One watch of each kind of object in the whole cluster, shared by all who watch a namespace.

use std::collections::BTreeSet;

use kvtop::frame::KubeChange::{Added, Deleted, Modified};
use serde_json::json;

use super::{client, pace, watched_by};
use crate::support::kube_api::FakeKube;

const FRONTEND: &str = "gtc-demo-0-frontend-rmjwp";

/// Returns the paths of the watches that `kube` was asked for.
fn watches(kube: &FakeKube) -> BTreeSet<String> {
    let asked = kube.requests().into_iter().filter(|it| it.query.contains("watch=true"));
    asked.map(|it| it.path).collect()
}

#[tokio::test]
async fn all_who_share_hear_of_their_namespace_by_one_watch_of_each_kind() {
    let kube = FakeKube::demo();
    let client = client(&kube).await.sharing();
    let mut both = [watched_by(client.clone(), pace()), watched_by(client, pace())];
    for watched in &mut both {
        watched.live().await;
    }
    assert_eq!(watches(&kube).len(), 4);
    assert!(
        watches(&kube).iter().all(|path| !path.contains("/namespaces/")),
        "{:?}",
        watches(&kube)
    );
    assert_eq!(kube.open_streams(), 4);

    kube.object(json!({ "kind": "Pod", "metadata": { "name": "theirs", "namespace": "other" } }));
    kube.object(json!({ "kind": "Pod", "metadata": { "name": "new", "namespace": "gtc-demo" } }));
    kube.edit("Pod", FRONTEND, |pod| pod["status"]["phase"] = "Failed".into());
    for watched in &mut both {
        watched.change("Pod", Added, "new").await;
        watched.change("Pod", Modified, FRONTEND).await;
        let mut seen = watched.seen.iter().filter_map(super::change);
        assert!(seen.all(|(_, _, name, _)| name != "theirs"));
    }
}

#[tokio::test]
async fn changes_while_the_shared_watch_was_away_are_seen() {
    let kube = FakeKube::demo();
    let client = client(&kube).await.sharing();
    let mut watched = watched_by(client, pace());
    watched.live().await;

    kube.stop();
    watched.down().await;
    kube.delete("Pod", FRONTEND);
    kube.start_again();
    watched.change("Pod", Deleted, FRONTEND).await;
    watched.live().await;

    // A server that forgot its history makes everybody list again.
    kube.forget_history();
    kube.end_streams();
    kube.object(json!({ "kind": "Pod", "metadata": { "name": "late", "namespace": "gtc-demo" } }));
    watched.change("Pod", Added, "late").await;
}

#[tokio::test]
async fn without_the_right_to_watch_the_cluster_each_has_watches_of_its_own() {
    let kube = FakeKube::demo();
    kube.permit_only(
        "kind: Role\nmetadata:\n  name: viewer\n  namespace: gtc-demo\nrules:\n\
         - resources: [pods, endpointslices, dynamographdeployments, dynamoworkermetadatas]\n  \
         verbs: [get, list, watch]\n",
    );
    let mut watched = watched_by(client(&kube).await.sharing(), pace());
    watched.live().await;

    kube.object(json!({ "kind": "Pod", "metadata": { "name": "new", "namespace": "gtc-demo" } }));
    watched.change("Pod", Added, "new").await;
    let own = watches(&kube).iter().filter(|path| path.contains("/namespaces/gtc-demo/")).count();
    assert_eq!(own, 4, "{:?}", watches(&kube));
}
