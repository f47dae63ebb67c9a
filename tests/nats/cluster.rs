//! A cluster of three servers that keeps the stream three times, and loses one of them.

use super::*;
use crate::support::nats_server::NatsServer;

/// Starts three servers that know each other.
fn three() -> Vec<NatsServer> {
    let ports: Vec<u16> = {
        let held: Vec<_> =
            (0..3).map(|_| std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
        held.iter().map(|it| it.local_addr().unwrap().port()).collect()
    };
    let url = |port: &u16| format!("nats://127.0.0.1:{port}");
    let routes = ports.iter().map(url).collect::<Vec<_>>().join(",");
    let start = |(number, port): (usize, &u16)| {
        let (name, own) = (format!("n{number}"), url(port));
        let named = ["-js", "--name", &name, "--cluster_name", "c"];
        NatsServer::start(&[&named[..], &["--cluster", &own, "--routes", &routes]].concat(), "")
    };
    ports.iter().enumerate().map(start).collect()
}

impl Publisher {
    /// Makes a stream that every server of the cluster keeps; a cluster needs a while to agree.
    async fn make_replicated(&self, stream: &str) {
        let end = tokio::time::Instant::now() + PATIENCE;
        while let Err(error) = self.jetstream.create_stream(stream_config(stream, 3)).await {
            assert!(tokio::time::Instant::now() < end, "{error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until the stream has a leader again.
    async fn until_led(&self) {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            let led = match self.jetstream.get_stream(STREAM).await {
                Ok(stream) => {
                    let cluster = stream.cached_info().cluster.as_ref();
                    cluster.is_some_and(|cluster| cluster.leader.is_some())
                }
                Err(_) => false,
            };
            if led {
                return;
            }
            assert!(tokio::time::Instant::now() < end, "no leader");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Returns the numbers of events.
fn numbers(messages: &[Published]) -> Vec<u64> {
    let number = |payload: &[u8]| {
        let event: serde_json::Value = serde_json::from_slice(payload).unwrap();
        event["event"]["event_id"].as_u64().unwrap()
    };
    messages.iter().map(|(_, payload)| number(payload)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_loses_the_server_kvtop_was_on_loses_no_event() {
    let mut servers = three();
    let publisher = Publisher::to(&servers[1].url()).await;
    publisher.make_replicated(STREAM).await;
    let messages: Vec<Published> = (0..600).map(|number| durable(event(7, 0, number))).collect();
    publisher.until_led().await;
    publisher.publish(&messages[..200]).await;

    let both = format!("{},{}", servers[0].url(), servers[2].url());
    let mut attached = Attached::to(&at(&both));
    attached.until_delivered(200).await;
    publisher.publish(&messages[200..400]).await;
    attached.until_delivered(400).await;
    // One of the two is that of the source.
    servers[0].crash();
    attached.linger(Duration::from_millis(300)).await;
    servers[0].restart();
    publisher.until_led().await;
    servers[2].crash();
    publisher.until_led().await;
    publisher.publish(&messages[400..]).await;

    attached.until_delivered(600).await;
    attached.linger(Duration::from_millis(700)).await;
    assert_eq!(numbers(&attached.delivered), (0..600).collect::<Vec<_>>());
    assert!(attached.notes.last().unwrap().interruptions >= 1);
    attached.end().await;
}
