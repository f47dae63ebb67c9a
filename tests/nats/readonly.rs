//! The source leaves no trace in the server, and asks for no more than it says.

use super::*;
use crate::support::nats_server::NatsServer;

/// Everything kvtop may publish on, and nothing else; everything it may subscribe to, likewise.
const ACCOUNTS: &str = r#"
accounts {
  dynamo {
    jetstream: enabled
    users: [
      { user: worker, password: worker }
      { user: kvtop, password: kvtop, permissions: {
          publish: ["$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*"]
          subscribe: ["*.kv-events", "namespace.>", "_INBOX.>"]
      } }
      { user: blind, password: blind, permissions: {
          publish: { deny: ">" }, subscribe: ["*.kv-events", "namespace.>", "_INBOX.>"]
      } }
      { user: deaf, password: deaf, permissions: {
          publish: ["$JS.API.>"], subscribe: ["_INBOX.>"]
      } }
      { user: half, password: half, permissions: {
          publish: { deny: ">" }, subscribe: ["namespace.>", "_INBOX.>"]
      } }
    ]
  }
}
"#;

fn url(server: &NatsServer, user: &str) -> String {
    format!("nats://{user}:{user}@{}", server.host())
}

async fn worker(server: &NatsServer) -> Publisher {
    let options =
        async_nats::ConnectOptions::with_user_and_password("worker".into(), "worker".into());
    Publisher::with(options, &server.url()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_permitted_requests_are_made_and_no_consumer_ever() {
    let messages = recording("0.9.0-healthy");
    let mut server = NatsServer::start(&["-js"], ACCOUNTS);
    let publisher = worker(&server).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages[..messages.len() / 2]).await;
    let history = messages[..messages.len() / 2].iter().filter(|(it, _)| is_durable(it)).count();
    let mut attached = Attached::to(&at(&url(&server, "kvtop")));
    attached.until_live().await;
    attached.until_delivered(history).await;
    publisher.publish(&messages[messages.len() / 2..]).await;
    attached.until_delivered(history + messages.len() / 2).await;

    server.restart();
    attached.linger(Duration::from_millis(500)).await;
    attached.until_live().await;
    attached.handle.desired.send_replace(Desired::Suspended);
    attached.wait_for(SourceState::Suspended).await;
    attached.handle.desired.send_replace(Desired::Running);
    attached.until_live().await;

    let publisher = worker(&server).await;
    let (stream, _) = messages.iter().find(|(subject, _)| is_durable(subject)).unwrap();
    let stream = stream.trim_end_matches(".kv-events");
    let asked = format!("$JS.API.CONSUMER.NAMES.{stream}");
    let reply = publisher.client.request(asked, "{}".into()).await.unwrap();
    let consumers: serde_json::Value = serde_json::from_slice(&reply.payload).unwrap();
    assert_eq!(consumers["total"], 0, "{consumers}");
    attached.end().await;
    let log = server.log();
    assert!(!log.contains("Permissions Violation"), "{log}");
    assert!(!log.contains("onsumer"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_may_not_ask_jetstream_still_gets_live_messages() {
    let messages = recording("0.9.0-healthy");
    let server = NatsServer::start(&["-js"], ACCOUNTS);
    let publisher = worker(&server).await;
    publisher.make_streams(&messages).await;
    let mut attached = Attached::to(&at(&url(&server, "blind")));
    attached.until_note("may not read JetStream").await;

    publisher.publish(&messages).await;

    attached.until_delivered(messages.len()).await;
    assert_eq!(lanes(&attached.delivered), lanes(&messages));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_may_not_subscribe_is_told_what_it_lacks_and_is_down() {
    let server = NatsServer::start(&["-js"], ACCOUNTS);
    let mut attached = Attached::to(&at(&url(&server, "deaf")));

    attached.until_note("may not subscribe to `*.kv-events` and `namespace.>`").await;

    let note = attached.notes.last().unwrap();
    assert_eq!(note.state, SourceState::Down, "{note:?}");
    assert!(note.why.contains("kvtop needs to subscribe to"), "{note:?}");
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_subject_of_two_is_enough_once_something_comes_by_it() {
    let server = NatsServer::start(&["-js"], ACCOUNTS);
    let mut attached = Attached::to(&at(&url(&server, "half")));
    attached.until_note("may not subscribe to `*.kv-events`; ").await;
    assert_eq!(attached.notes.last().unwrap().state, SourceState::Down);

    let messages = recording("1.2.1-healthy");
    worker(&server).await.publish(&messages).await;

    attached.until_delivered(messages.len()).await;
    attached.wait_for(SourceState::Lossy).await;
    attached.end().await;
}
