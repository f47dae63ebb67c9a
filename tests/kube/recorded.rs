//! Streams of a real kube-apiserver 1.36.2, replayed read by read as they came.

use kvtop::frame::KubeChange;
use serde_json::Value;

use super::{change, client, pace, watched_by};
use crate::support::kube_api::{FakeKube, Timeline, kind_of};

/// A watch: its resource, the list before it where that was recorded, and its name.
const WATCHES: [(&str, &str, &str); 6] = [
    ("pods", "pods/list_gtc-demo", "watch/pods_add_modify_delete"),
    ("pods", "", "restart/sigkill_watch"),
    ("dynamographdeployments", "", "watch/dgd_fix_applied_and_reverted"),
    ("dynamoworkermetadatas", "dwm/list", "watch/dwm_worker_deregisters_and_comes_back"),
    ("dynamoworkermetadatas", "", "dwm-real-0.9.0/watch_worker_sigterm"),
    ("dynamoworkermetadatas", "", "dwm-real-1.6.1/watch_worker_sigterm"),
];

/// Returns what a stream told: changes and names.
fn told(timeline: &Timeline) -> Vec<(KubeChange, String)> {
    let events = timeline.lines().into_iter().map(|line| {
        let event: Value = serde_json::from_str(&line).unwrap();
        let change = match event["type"].as_str() {
            Some("ADDED") => KubeChange::Added,
            Some("MODIFIED") => KubeChange::Modified,
            Some("DELETED") => KubeChange::Deleted,
            Some("BOOKMARK") => return None,
            other => panic!("unknown type {other:?}"),
        };
        let name = event["object"]["metadata"]["name"].as_str().unwrap();
        Some((change, name.to_owned()))
    });
    events.flatten().collect()
}

/// Returns how often `plural` was watched.
fn watches(kube: &FakeKube, plural: &str) -> usize {
    let asked = kube.requests().into_iter();
    asked.filter(|it| it.path.ends_with(plural) && it.query.contains("watch=true")).count()
}

#[tokio::test]
async fn recorded_watches_are_told_as_they_came_and_watched_again_after_their_end() {
    for (plural, list, recorded) in WATCHES {
        let kube = FakeKube::start();
        if !list.is_empty() {
            kube.load(list);
        }
        let mut expected = told(&kube.stream(&format!("/{plural}?watch=true"), recorded));
        if list.is_empty() {
            // What nobody listed is new, whatever the server calls it.
            for at in 0..expected.len() {
                let known = expected[..at].iter().any(|it| it.1 == expected[at].1);
                expected[at].0 = if known { expected[at].0 } else { KubeChange::Added };
            }
        }
        assert!(!expected.is_empty(), "{recorded}");

        let mut watched = watched_by(client(&kube).await, pace());
        let mut seen = Vec::new();
        while seen.len() < expected.len() {
            let frame = watched.next(recorded).await;
            let change = change(frame).filter(|it| kind_of(plural) == Some(it.0));
            seen.extend(
                change
                    .filter(|it| it.1 != KubeChange::Listed)
                    .map(|(_, change, name, _)| (change, name)),
            );
        }

        assert_eq!(seen, expected, "{recorded}");
        kube.cut_streams();
        while watches(&kube, plural) < 2 {
            watched.next("another watch").await;
        }
        watched.live().await;
    }
}
