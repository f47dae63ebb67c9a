//! Why a log is not followed, in words; and what is asked of the API.

use super::*;
use crate::support::kube_api::LogState;

#[tokio::test]
async fn a_log_that_cannot_be_read_is_named_with_the_reason_and_followed_once_it_can() {
    let table = [
        (LogState::Pending, "not on a node yet"),
        (LogState::Waiting, "is waiting to start: trying and failing to pull image"),
        (LogState::KubeletDown, "connect: connection refused"),
    ];
    for (state, reason) in table {
        let kube = FakeKube::demo();
        kube.log_state(WORKER, "main", state);
        let mut it = follow(&kube, &[frontend(), worker()]).await;

        let note = it.delivered.until_noted(reason).await;
        assert!(note.why.contains(WORKER), "{}", note.why);
        it.delivered.until_noted("1 of 2 logs followed").await;

        kube.log_state(WORKER, "main", LogState::Served);
        it.delivered.until_noted("2 of 2 logs followed").await;
    }
}

#[tokio::test]
async fn a_pod_that_is_gone_is_said_to_be_gone() {
    let kube = FakeKube::demo();
    let mut it = follow(&kube, &[frontend(), worker()]).await;
    it.delivered.until_noted("2 of 2 logs followed").await;

    kube.delete("Pod", WORKER);

    let note = it.delivered.until_noted("1 of 2 logs followed").await;
    assert_eq!(note.state, SourceState::Live);
    assert!(note.why.contains(WORKER), "{}", note.why);
}

#[tokio::test]
async fn an_api_that_refuses_everybody_while_it_starts_is_not_believed() {
    let kube = FakeKube::demo();
    kube.deny_everything_for(Duration::from_millis(900));
    let mut it = follow(&kube, &[frontend()]).await;

    it.delivered.until_noted("1 of 1 logs followed").await;

    assert!(it.delivered.notes.iter().all(|note| !note.why.contains("permi")));
}

#[tokio::test]
async fn a_missing_right_is_named_and_not_asked_for_all_the_time() {
    let kube = FakeKube::demo();
    kube.deny("get", "pods/log");
    let mut it = follow(&kube, &[frontend()]).await;

    let note = it.delivered.until_noted("`get pods/log` is not permitted").await;
    assert_eq!(note.state, SourceState::Down);
    let before = kube.requests().len();
    it.delivered.during(Duration::from_secs(2)).await;
    assert_eq!(kube.requests().len(), before);
}

#[tokio::test]
async fn only_logs_and_the_pods_they_belong_to_are_asked_for_with_get() {
    let kube = FakeKube::demo();
    let mut it = follow(&kube, &[frontend(), worker()]).await;
    // The worker's start has been asked for, then what follows of both.
    it.until_open(&kube, 3).await;
    kube.end_streams();
    it.until_open(&kube, 5).await;

    let pods = "/api/v1/namespaces/gtc-demo/pods";
    let mut expected = Vec::new();
    for pod in [FRONTEND, WORKER] {
        expected.extend([format!("GET {pods}/{pod}"), format!("GET {pods}/{pod}/log")]);
    }
    let mut asked: Vec<String> =
        kube.requests().iter().map(|it| format!("{} {}", it.method, it.path)).collect();
    asked.sort();
    asked.dedup();
    assert_eq!(asked, expected);
}
