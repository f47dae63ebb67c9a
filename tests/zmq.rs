//! The ZMQ source against publishers of real libzmq, and against sockets that misbehave.
#![expect(clippy::expect_used, reason = "a failed expectation should stop the test")]

mod cluster;
mod deep;
mod harm;
mod hostile;
mod screen;

use std::collections::BTreeMap;
use std::time::Duration;

use kvtop::domain::{SourceNote, SourceState};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::source::reach::Reach;
use kvtop::source::zmq::{Endpoint, ZmqLimits, ZmqSpec, ZmqTarget, spawn};
use kvtop::source::{Desired, FRAME_BUFFER, SourceHandle};
use tokio::sync::watch;

use crate::support::frames::Delivered;
use crate::support::libzmq::{LibzmqPublisher, Parts};
use crate::support::{fixture, frames};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns what was published in the recording `name`, by the address that published it.
pub(crate) fn recording(name: &str) -> BTreeMap<String, Vec<Parts>> {
    let mut by_endpoint: BTreeMap<String, Vec<Parts>> = BTreeMap::new();
    for frame in frames(&fixture(&format!("captures/{name}.frames.gz"))) {
        if let (Origin::Zmq { endpoint }, Body::Parts(parts)) = (&frame.origin, &frame.body) {
            let parts = parts.iter().map(|part| part.to_vec()).collect();
            by_endpoint.entry(endpoint.to_string()).or_default().push(parts);
        }
    }
    assert!(!by_endpoint.is_empty(), "{name} holds no ZMQ messages");
    by_endpoint
}

/// Returns the messages with KV events of `1.6.1-default_healthy`, by publisher.
fn kv_events() -> Vec<Vec<Parts>> {
    let all = recording("1.6.1-default_healthy").into_values();
    let lists: Vec<_> = all.filter(|messages| messages[0][0] == b"kv-events").collect();
    assert_eq!(lists.len(), 2, "two workers publish KV events");
    lists
}

pub(crate) fn target(endpoint: &str) -> ZmqTarget {
    let endpoint = Endpoint::parse(endpoint).unwrap();
    ZmqTarget {
        endpoint,
        pod: None,
        broker: false,
        events: true,
        engine: false,
        from: "a test".into(),
    }
}

/// Limits at which a test need not wait long.
fn quick() -> ZmqLimits {
    ZmqLimits {
        retry_first: Duration::from_millis(50),
        retry_last: Duration::from_millis(200),
        ..ZmqLimits::default()
    }
}

/// A source under test.
pub(crate) struct Attached {
    handle: SourceHandle,
    targets: watch::Sender<Vec<ZmqTarget>>,
    delivered: Delivered,
}

impl Attached {
    fn to(endpoints: &[&str]) -> Self {
        let targets = endpoints.iter().map(|endpoint| target(endpoint)).collect();
        Self::with(targets, quick(), FRAME_BUFFER)
    }

    fn with(targets: Vec<ZmqTarget>, limits: ZmqLimits, room: usize) -> Self {
        let (emitter, delivered) = Delivered::with_room(room);
        let (targets, given) = watch::channel(targets);
        let spec = ZmqSpec { limits, ..ZmqSpec::new(Reach::default(), None) };
        Self { handle: spawn(spec, emitter, given), targets, delivered }
    }

    fn messages(&self) -> Vec<Parts> {
        let parts = |frame: &Frame| match &frame.body {
            Body::Parts(parts) => parts.iter().map(|part| part.to_vec()).collect(),
            Body::Whole(_) => Vec::new(),
        };
        self.delivered.frames.iter().map(parts).collect()
    }

    async fn until_delivered(&mut self, count: usize) {
        let what = format!("expected {count} messages");
        self.delivered.until(&what, |it| it.frames.len() >= count).await;
    }

    async fn until_noted(&mut self, text: &str) -> SourceNote {
        self.delivered.until_noted(text).await
    }

    async fn tell(&mut self, desired: Desired, until: SourceState) {
        self.handle.desired.send_replace(desired);
        let waited = self.handle.state.wait_for(|now| *now == until);
        drop(tokio::time::timeout(PATIENCE, waited).await.expect("a state in time").unwrap());
    }

    async fn end(mut self) {
        self.tell(Desired::Stopped, SourceState::Ended).await;
        self.handle.task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_arrives_in_order_and_unchanged() {
    let lists = kv_events();
    let mut publishers: Vec<_> = lists.iter().map(|_| LibzmqPublisher::start()).collect();
    let endpoints: Vec<String> = publishers.iter().map(LibzmqPublisher::endpoint).collect();
    let mut attached = Attached::to(&endpoints.iter().map(String::as_str).collect::<Vec<_>>());

    for (publisher, messages) in publishers.iter_mut().zip(&lists) {
        publisher.wait_for("subscribed kv-events");
        publisher.publish(messages);
    }
    attached.until_delivered(lists.iter().map(Vec::len).sum()).await;

    for (endpoint, messages) in endpoints.iter().zip(&lists) {
        let of_one = |frame: &&Frame| matches!(&frame.origin, Origin::Zmq { endpoint: of } if **of == **endpoint);
        let found: Vec<&Frame> = attached.delivered.frames.iter().filter(of_one).collect();
        assert_eq!(found.len(), messages.len());
        for (frame, message) in found.iter().zip(messages) {
            let Body::Parts(parts) = &frame.body else { panic!("one part only") };
            assert!(parts.iter().map(AsRef::as_ref).eq(message.iter().map(Vec::as_slice)));
        }
    }
    let note = attached.until_noted("2 of 2 publishers connected").await;
    assert_eq!((note.state, note.dropped), (SourceState::Live, 0));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_that_nobody_reads_are_left_to_the_publisher() {
    let mut publisher = LibzmqPublisher::start();
    let mut attached = Attached::to(&[&publisher.endpoint()]);
    publisher.wait_for("subscribed namespace.");
    let named = |topic: &[u8]| vec![topic.to_vec(), vec![0; 8], vec![0; 8], vec![1]];

    publisher.publish(&[
        named(b"forward-pass-metrics"),
        named(b"kv_metrics"),
        named(b"session_affinity_events"),
        named(b"namespace.a.component.b.endpoint.c.kv-events"),
    ]);
    attached.until_delivered(2).await;

    let topics: Vec<Vec<u8>> =
        attached.messages().into_iter().map(|parts| parts[0].clone()).collect();
    assert_eq!(topics, [&b"kv_metrics"[..], b"namespace.a.component.b.endpoint.c.kv-events"]);
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_an_engine_that_was_named_by_mistake_enter_no_frame() {
    let mut publisher = LibzmqPublisher::start();
    let mut attached = Attached::to(&[&publisher.endpoint()]);
    publisher.wait_for("subscribed kv-events");

    publisher.publish(&[vec![b"kv-events".to_vec(), vec![0; 8], b"tokens".to_vec()]]);
    attached.until_delivered(1).await;

    assert_eq!(attached.messages(), [vec![b"kv-events".to_vec(), vec![0; 8]]]);
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_publisher_is_named_and_its_return_is_heard() {
    let lists = kv_events();
    let mut publisher = LibzmqPublisher::start();
    let endpoint = publisher.endpoint();
    let mut attached = Attached::to(&[&endpoint]);
    publisher.wait_for("subscribed kv-events");
    publisher.publish(&lists[0][..5]);
    attached.until_delivered(5).await;

    publisher.stop();
    let note = attached.until_noted(&format!("0 of 1 publishers connected; {endpoint}: ")).await;
    assert_eq!((note.state, note.interruptions), (SourceState::Down, 1));

    let mut publisher = LibzmqPublisher::on(publisher.port());
    publisher.wait_for("subscribed kv-events");
    publisher.publish(&lists[0][5..8]);
    attached.until_delivered(8).await;
    let note = attached.until_noted("1 of 1 publishers connected").await;
    assert_eq!((note.state, note.interruptions), (SourceState::Lossy, 1));
    assert!(note.why.contains("ZMQ keeps nothing"), "{}", note.why);
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publisher_that_ends_for_good_is_no_loss() {
    let mut publishers = [LibzmqPublisher::start(), LibzmqPublisher::start()];
    let endpoints = [publishers[0].endpoint(), publishers[1].endpoint()];
    let mut attached = Attached::to(&[&endpoints[0], &endpoints[1]]);
    for publisher in &mut publishers {
        publisher.wait_for("subscribed kv-events");
    }
    attached.until_noted("2 of 2 publishers connected").await;

    publishers[0].stop();
    let note = attached.until_noted("1 of 2 publishers connected").await;
    assert_eq!((note.state, note.interruptions), (SourceState::Live, 1));

    attached.targets.send_replace(vec![target(&endpoints[1])]);
    let note = attached.until_noted("1 of 1 publishers connected").await;
    assert_eq!((note.state, note.interruptions), (SourceState::Live, 1));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishers_come_and_go_as_discovery_says() {
    let mut publishers = [LibzmqPublisher::start(), LibzmqPublisher::start()];
    let endpoints = [publishers[0].endpoint(), publishers[1].endpoint()];
    let mut attached = Attached::to(&[&endpoints[0]]);
    publishers[0].wait_for("subscribed kv-events");

    attached.targets.send_replace(vec![target(&endpoints[1])]);
    publishers[1].wait_for("subscribed kv-events");
    publishers[0].wait_for("disconnected");
    attached.until_noted("1 of 1 publishers connected").await;

    attached.targets.send_replace(Vec::new());
    publishers[1].wait_for("disconnected");
    let note = attached.until_noted("no publisher is known yet").await;
    assert_eq!((note.state, note.interruptions), (SourceState::Connecting, 0));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_brokers_each_message_is_taken_once() {
    let messages = kv_events().remove(0);
    let mut brokers = [LibzmqPublisher::start(), LibzmqPublisher::start()];
    let targets =
        brokers.iter().map(|broker| ZmqTarget { broker: true, ..target(&broker.endpoint()) });
    let mut attached = Attached::with(targets.collect(), quick(), FRAME_BUFFER);
    for broker in &mut brokers {
        broker.wait_for("subscribed namespace.");
    }

    // The first lost the fourth message, the second everything up to the second one.
    let (some, others) = ([&messages[..3], &messages[4..]].concat(), &messages[2..]);
    brokers[0].publish(&some);
    brokers[1].publish(others);
    attached.until_delivered(messages.len()).await;
    attached.delivered.during(Duration::from_millis(300)).await;

    let mut found = attached.messages();
    found.sort();
    let mut expected = messages;
    expected.sort();
    assert!(found == expected, "{} of {}", found.len(), expected.len());
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_is_dropped_and_counted() {
    let mut publisher = LibzmqPublisher::start();
    let room = 64;
    let mut attached = Attached::with(vec![target(&publisher.endpoint())], quick(), room);
    publisher.wait_for("subscribed kv-events");
    let message = vec![b"kv-events".to_vec(), vec![0; 8], vec![0; 8], vec![7; 200]];

    // Nothing is received here before all is published.
    publisher.publish(&vec![message; 20_000]);
    let what = "every message delivered or counted";
    let all = |it: &Delivered| {
        it.notes.last().is_some_and(|note| it.frames.len() as u64 + note.dropped >= 20_000)
    };
    attached.delivered.until(what, all).await;

    let note = attached.delivered.notes.last().unwrap();
    assert!(note.dropped > 0 && note.state == SourceState::Lossy, "{note:?}");
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publisher_that_pauses_is_heard_again_when_it_goes_on() {
    let messages = kv_events().remove(0);
    let mut publisher = LibzmqPublisher::start();
    let limits = ZmqLimits {
        heartbeat: Duration::from_millis(50),
        patience: Duration::from_millis(300),
        retry_behind: Duration::from_millis(100),
        ..quick()
    };
    let mut attached = Attached::with(vec![target(&publisher.endpoint())], limits, FRAME_BUFFER);
    publisher.wait_for("subscribed kv-events");
    publisher.publish(&messages[..2]);
    attached.until_delivered(2).await;

    publisher.signal("STOP");
    let note = attached.until_noted("disconnected, so that the publisher need not hold them").await;
    assert_eq!((note.state, note.interruptions), (SourceState::Down, 1));
    publisher.signal("CONT");
    publisher.wait_for("subscribed kv-events");
    publisher.publish(&messages[2..4]);
    attached.until_delivered(4).await;

    assert_eq!(attached.messages(), messages[..4]);
    let note = attached.until_noted("what was published meanwhile is lost").await;
    assert_eq!(note.state, SourceState::Lossy);
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_disconnects_first_and_connects_again_after() {
    let messages = kv_events().remove(0);
    let mut publisher = LibzmqPublisher::start();
    let mut attached = Attached::to(&[&publisher.endpoint()]);
    publisher.wait_for("subscribed kv-events");

    attached.tell(Desired::Suspended, SourceState::Suspended).await;
    publisher.wait_for("disconnected");
    publisher.publish(&messages[..3]);
    attached.handle.desired.send_replace(Desired::Running);
    publisher.wait_for("subscribed kv-events");
    publisher.publish(&messages[3..5]);
    attached.until_delivered(2).await;

    assert_eq!(attached.messages(), messages[3..5]);
    attached.end().await;
    publisher.wait_for("disconnected");
}
