//! The metrics source against endpoints of all manners.

use std::time::Duration;

use kvtop::domain::SourceState;
use kvtop::source::metrics::{MetricsLimits, ScrapeTarget, spawn_with};
use kvtop::source::reach::Reach;
use kvtop::source::{Desired, SourceHandle};
use tokio::sync::watch;

use crate::support::endpoint::{Endpoint, Manners};
use crate::support::frames::{Delivered, name};

const LIMITS: MetricsLimits = MetricsLimits {
    period: Duration::from_millis(100),
    connect: Duration::from_secs(4),
    timeout: Duration::from_millis(500),
    largest: 1 << 20,
    endpoints: 3,
};

fn target(pod: &str, endpoint: &Endpoint) -> ScrapeTarget {
    ScrapeTarget {
        namespace: name("gtc-demo"),
        pod: name(pod),
        ip: name("127.0.0.1"),
        port: endpoint.address.port(),
        path: name("/metrics"),
    }
}

struct Scraped {
    handle: SourceHandle,
    targets: watch::Sender<Vec<ScrapeTarget>>,
    delivered: Delivered,
}

fn scrape(targets: Vec<ScrapeTarget>) -> Scraped {
    let (emitter, delivered) = Delivered::with_room(1_000);
    let (targets, list) = watch::channel(targets);
    let handle = spawn_with(Reach::default(), emitter, list, LIMITS);
    Scraped { handle, targets, delivered }
}

#[tokio::test]
async fn endpoints_are_asked_again_and_again_over_one_connection_each_with_nothing_but_get() {
    let worker = Endpoint::start(Manners::Text("a 1\n"));
    let frontend = Endpoint::start(Manners::Closing("b 2\n"));
    let mut it = scrape(vec![target("worker", &worker), target("frontend", &frontend)]);

    it.delivered
        .until("expected five scrapes of each", |it| {
            it.scrapes("worker").len() >= 5 && it.scrapes("frontend").len() >= 5
        })
        .await;

    assert!(it.delivered.scrapes("worker").iter().all(|text| text == "a 1\n"));
    assert!(it.delivered.scrapes("frontend").iter().all(|text| text == "b 2\n"));
    let note = it.delivered.until_noted("2 of 2 endpoints answer").await;
    assert_eq!(note.state, SourceState::Live);
    assert_eq!(worker.connections(), 1);
    for head in worker.requests().iter().chain(&frontend.requests()) {
        assert!(head.starts_with("GET /metrics HTTP/1.1\n"), "{head}");
        assert!(!head.to_lowercase().contains("encoding"), "{head}");
    }
}

#[tokio::test]
async fn an_endpoint_of_bad_manners_is_named_with_the_reason_and_hides_no_other() {
    let table = [
        (Manners::Status("503 Service Unavailable"), "/metrics answered 503 Service Unavailable"),
        (Manners::Silent, "no answer within 0.5 s"),
        (Manners::Huge(2 << 20), "/metrics has more than 1 MiB"),
        (Manners::Endless, "/metrics has more than 1 MiB"),
        (Manners::Dripping, "no answer within 0.5 s"),
        (Manners::Cut, "/metrics was cut"),
    ];
    for (manners, reason) in table {
        let good = Endpoint::start(Manners::Text("a 1\n"));
        let bad = Endpoint::start(manners);
        let mut it = scrape(vec![target("good", &good), target("bad", &bad)]);

        let note = it.delivered.until_noted(reason).await;

        assert!(note.why.contains("bad: "), "{manners:?}: {}", note.why);
        it.delivered.until_noted("1 of 2 endpoints answer").await;
        assert!(it.delivered.scrapes("bad").is_empty(), "{manners:?}");
        bad.behave(Manners::Text("well\n"));
        it.delivered.until("expected it to recover", |it| !it.scrapes("bad").is_empty()).await;
    }
}

#[tokio::test]
async fn targets_come_and_go_and_there_is_a_bound() {
    let endpoint = Endpoint::start(Manners::Text("a 1\n"));
    let pods = ["a", "b", "c", "d"];
    let all: Vec<_> = pods.iter().map(|pod| target(pod, &endpoint)).collect();
    let mut it = scrape(Vec::new());
    it.delivered.until_noted("no endpoints to scrape yet").await;

    it.targets.send_replace(all.clone());
    let note = it.delivered.until_noted("3 of 4 endpoints answer").await;
    assert!(note.why.ends_with("at most 3 are scraped"), "{}", note.why);

    it.targets.send_replace(all[3..].to_vec());
    it.delivered.until_noted("1 of 1 endpoints answer").await;
    it.delivered.until("expected the fourth", |it| !it.scrapes("d").is_empty()).await;
}

#[tokio::test]
async fn nothing_is_asked_while_suspended_and_the_source_ends_when_told() {
    let endpoint = Endpoint::start(Manners::Text("a 1\n"));
    let mut it = scrape(vec![target("a", &endpoint)]);
    it.delivered.until("expected a scrape", |it| it.scrapes("a").len() > 1).await;

    it.handle.desired.send_replace(Desired::Suspended);
    it.handle.state.wait_for(|state| *state == SourceState::Suspended).await.unwrap();
    let before = endpoint.requests().len();
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(endpoint.requests().len(), before);

    it.handle.desired.send_replace(Desired::Running);
    it.delivered.until("expected more", |_| endpoint.requests().len() > before + 1).await;
    it.handle.desired.send_replace(Desired::Stopped);
    it.handle.task.await.unwrap();
    assert_eq!(*it.handle.state.borrow(), SourceState::Ended);
}

#[tokio::test]
async fn a_pod_that_cannot_be_reached_is_down_with_a_reason() {
    let endpoint = Endpoint::start(Manners::Silent);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut gone = target("gone", &endpoint);
    gone.port = free.local_addr().unwrap().port();
    drop(free);
    let mut it = scrape(vec![gone]);

    let note = it.delivered.until_noted("0 of 1 endpoints answer; gone: Connection refused").await;

    assert_eq!(note.state, SourceState::Down);
}
