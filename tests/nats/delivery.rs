//! Nothing is lost and nothing comes twice, whenever the source attaches.

use super::*;
use crate::support::nats_server::NatsServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_published_while_attached_arrives_unchanged() {
    for name in ["1.0.2-healthy", "0.9.0-dp"] {
        let messages = recording(name);
        let server = NatsServer::with_jetstream();
        let publisher = Publisher::to(&server.url()).await;
        publisher.make_streams(&messages).await;
        let mut attached = Attached::to(&at(&server.url()));
        attached.until_live().await;

        publisher.publish(&messages).await;

        attached.until_delivered(messages.len()).await;
        attached.linger(Duration::from_millis(400)).await;
        assert_eq!(lanes(&attached.delivered), lanes(&messages), "{name}");
        attached.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_is_read_when_attached_late_and_joined_while_publishing() {
    for name in ["0.9.0-healthy", "0.9.0-incident_load10"] {
        let messages: Vec<Published> =
            recording(name).into_iter().filter(|(subject, _)| is_durable(subject)).collect();
        let server = NatsServer::with_jetstream();
        let publisher = Publisher::to(&server.url()).await;
        publisher.make_streams(&messages).await;
        let (early, late) = messages.split_at(messages.len() / 2);
        publisher.publish(early).await;

        let mut attached = Attached::to(&at(&server.url()));
        // No waiting: the join must cope with messages that arrive while history is read.
        publisher.publish(late).await;

        attached.until_delivered(messages.len()).await;
        attached.linger(Duration::from_millis(400)).await;
        assert_eq!(lanes(&attached.delivered), lanes(&messages), "{name}");
        let history = attached.notes.iter().filter_map(|note| note.history.as_ref()).next_back();
        let history = history.unwrap();
        assert!(history.complete && history.first_seq == 1);
        assert_eq!(history.keeps, Some(Duration::from_secs(3600)));
        attached.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_restart_loses_nothing_that_the_stream_keeps() {
    let messages: Vec<Published> =
        recording("0.9.0-incident_load10").into_iter().filter(|(it, _)| is_durable(it)).collect();
    let third = messages.len() / 3;
    let mut server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages[..third]).await;
    let mut attached = Attached::to(&at(&server.url()));
    publisher.publish(&messages[third..third + 50]).await;
    attached.until_delivered(third + 50).await;

    server.restart();
    // Published before the source is back: only the stream has these.
    let publisher = Publisher::to(&server.url()).await;
    publisher.publish(&messages[third + 50..2 * third]).await;
    publisher.publish(&messages[2 * third..]).await;

    attached.until_delivered(messages.len()).await;
    attached.linger(Duration::from_millis(700)).await;
    assert_eq!(lanes(&attached.delivered), lanes(&messages));
    assert!(attached.notes.last().unwrap().interruptions >= 1);
    assert!(attached.notes.iter().any(|note| note.state == SourceState::Down));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn suspending_unsubscribes_and_resuming_catches_up() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    let messages: Vec<Published> = (0..300).map(|number| durable(event(7, 0, number))).collect();
    let mut attached = Attached::to(&at(&server.url()));
    attached.until_live().await;
    publisher.publish(&messages[..100]).await;
    attached.until_delivered(100).await;

    attached.handle.desired.send_replace(Desired::Suspended);
    attached.wait_for(SourceState::Suspended).await;
    publisher.publish(&messages[100..200]).await;
    attached.linger(Duration::from_millis(200)).await;
    assert_eq!(attached.delivered.len(), 100);

    attached.handle.desired.send_replace(Desired::Running);
    attached.until_delivered(200).await;
    publisher.publish(&messages[200..]).await;
    attached.until_delivered(300).await;
    attached.linger(Duration::from_millis(300)).await;
    assert_eq!(attached.delivered, messages);
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_payloads_are_delivered_as_often_as_they_were_published() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    let mut attached = Attached::to(&at(&server.url()));
    attached.until_live().await;
    let same = vec![durable(event(7, 0, 1)); 40];

    publisher.publish(&same).await;
    attached.until_delivered(40).await;
    attached.handle.desired.send_replace(Desired::Suspended);
    attached.wait_for(SourceState::Suspended).await;
    publisher.publish(&same[..25]).await;
    attached.handle.desired.send_replace(Desired::Running);

    attached.until_delivered(65).await;
    attached.linger(Duration::from_millis(700)).await;
    assert_eq!(attached.delivered.len(), 65);
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_history_with_holes_is_read_whole() {
    const MESSAGES: u64 = 50_000;
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    let messages: Vec<Published> =
        (0..MESSAGES).map(|number| durable(event(number % 4, 0, number))).collect();
    publisher.publish(&messages).await;
    let stream = publisher.jetstream.get_stream(STREAM).await.unwrap();
    let holes = [2_u64, 3, 1_000, 25_000, MESSAGES];
    for seq in holes {
        stream.delete_message(seq).await.unwrap();
    }
    let expected: Vec<Published> = (1..=MESSAGES)
        .zip(messages)
        .filter(|(seq, _)| !holes.contains(seq))
        .map(|(_, message)| message)
        .collect();

    let started = tokio::time::Instant::now();
    let mut attached = Attached::to(&at(&server.url()));
    attached.until_delivered(expected.len()).await;
    let took = started.elapsed();

    attached.linger(Duration::from_millis(300)).await;
    assert_eq!(attached.delivered, expected);
    let dropped = attached.notes.last().unwrap().dropped;
    assert_eq!(dropped, 0);
    report(&format!("50 000 stored messages read in {took:?}"));
    attached.end().await;
}

/// Nobody takes frames until the newest messages came, so that the order is no matter of speed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_screen_gets_the_newest_of_a_long_history_and_live_messages_before_the_rest() {
    const MESSAGES: u64 = 50_000;
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    let stored: Vec<Published> =
        (0..MESSAGES).map(|number| durable(event(number % 4, 0, number))).collect();
    publisher.publish(&stored).await;
    let (mut attached, mut ahead) = Attached::as_a_screen(&at(&server.url()));
    let next = async |ahead: &mut mpsc::Receiver<Ahead>| {
        tokio::time::timeout(PATIENCE, ahead.recv()).await.expect("news in time").unwrap()
    };
    let payload = |news: Ahead| match news {
        Ahead::Frame(Frame { body: Body::Whole(payload), .. }) => payload.to_vec(),
        other => panic!("{other:?}"),
    };

    let first = payload(next(&mut ahead).await);
    let begin = stored.iter().position(|(_, payload)| *payload == first).unwrap();
    assert!(begin > stored.len() / 2, "the newest part begins at {begin}");
    for (_, expected) in &stored[begin + 1..] {
        assert_eq!(payload(next(&mut ahead).await), *expected);
    }
    let live = vec![durable(event(9, 0, 0))];
    publisher.publish(&live).await;
    assert_eq!(payload(next(&mut ahead).await), live[0].1);
    assert!(attached.frames.len() < stored.len() / 2, "the rest waits for room");

    attached.until_delivered(stored.len() + live.len()).await;
    assert_eq!(lanes(&attached.delivered), lanes(&[stored, live].concat()));
    assert!(matches!(next(&mut ahead).await, Ahead::Over));
    attached.end().await;
}

/// Whichever of the two is read first, what is live goes ahead until both have been read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_long_history_a_short_one_goes_ahead_too() {
    const LONG: u64 = 50_000;
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    let short = STREAM.replace("backend", "prefill");
    publisher.make_stream(STREAM).await;
    publisher.make_stream(&short).await;
    let of_short = |number| (format!("{short}.kv-events"), event(9, 0, number));
    let stored: Vec<Published> = (0..LONG).map(|number| durable(event(1, 0, number))).collect();
    publisher.publish(&stored).await;
    publisher.publish(&[of_short(0), of_short(1)]).await;
    let (mut attached, mut ahead) = Attached::as_a_screen(&at(&server.url()));
    let mut seen = Vec::new();
    for number in 0..6 {
        while !seen.contains(&of_short(number).1) {
            let told = tokio::time::timeout(PATIENCE, ahead.recv()).await;
            match told.expect("news in time").unwrap() {
                Ahead::Frame(Frame { body: Body::Whole(payload), .. }) => {
                    seen.push(payload.to_vec());
                }
                other => panic!("{other:?} before {number}"),
            }
        }
        if number > 0 {
            publisher.publish(&[of_short(number + 1)]).await;
        }
    }
    assert!(attached.frames.len() < stored.len() / 2, "the rest waits for room");

    let looks_on = tokio::spawn(async move { while ahead.recv().await.is_some() {} });
    attached.until_delivered(stored.len() + 7).await;

    looks_on.abort();
    assert_eq!(attached.delivered.len(), stored.len() + 7);
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_while_a_long_history_is_read_ends_what_goes_ahead() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    let stored: Vec<Published> = (0..50_000).map(|number| durable(event(1, 0, number))).collect();
    publisher.publish(&stored).await;
    let (mut attached, mut ahead) = Attached::as_a_screen(&at(&server.url()));
    assert!(matches!(ahead.recv().await, Some(Ahead::Frame(_))));

    attached.handle.desired.send_replace(Desired::Suspended);

    let over = async { while !matches!(ahead.recv().await, Some(Ahead::Over)) {} };
    tokio::time::timeout(PATIENCE, over).await.expect("an end in time");
    attached.handle.desired.send_replace(Desired::Running);
    attached.until_delivered(stored.len()).await;
    assert_eq!(attached.delivered, stored);
    assert!(ahead.try_recv().is_err(), "it does not begin again");
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_history_is_not_read_ahead() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    publisher.publish(&[durable(event(1, 0, 0))]).await;
    let (mut attached, mut ahead) = Attached::as_a_screen(&at(&server.url()));

    attached.until_delivered(1).await;

    let told = tokio::time::timeout(PATIENCE, ahead.recv()).await.expect("in time");
    assert!(matches!(told, Some(Ahead::Over)));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_jetstream_live_messages_come_and_the_note_says_what_is_missing() {
    let messages = recording("1.0.2-healthy");
    let mut server = NatsServer::start(&[], "");
    let mut attached = Attached::to(&at(&server.url()));
    attached.until_note("no JetStream").await;
    let publisher = Publisher::to(&server.url()).await;
    publisher.publish(&messages).await;
    attached.until_delivered(messages.len()).await;

    server.restart();
    attached
        .until("expected to be back, lossy", |it| {
            it.notes.last().is_some_and(|note| {
                note.state == SourceState::Lossy && note.interruptions == 1 && note.rtt_us.is_some()
            })
        })
        .await;

    let publisher = Publisher::to(&server.url()).await;
    publisher.publish(&messages).await;
    attached.until_delivered(2 * messages.len()).await;
    assert_eq!(lanes(&attached.delivered[messages.len()..]), lanes(&messages));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_made_later_is_joined_without_loss() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    let mut attached = Attached::to(&at(&server.url()));
    attached.until_live().await;
    let messages: Vec<Published> = (0..200).map(|number| durable(event(1, 0, number))).collect();

    publisher.make_stream(STREAM).await;
    publisher.publish(&messages).await;

    attached.until_delivered(200).await;
    attached.linger(Duration::from_millis(700)).await;
    assert_eq!(attached.delivered, messages);
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_given_dynamo_namespace_is_delivered() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    let stream = |namespace: &str| format!("namespace-{namespace}-component-backend-kv-events");
    let plane = |namespace: &str| format!("namespace.{namespace}.component.backend.kv-events");
    let mut messages = Vec::new();
    for namespace in ["mine", "other"] {
        publisher.make_stream(&stream(namespace)).await;
        messages.push((format!("{}.kv-events", stream(namespace)), event(1, 0, 1)));
        messages.push((plane(namespace), b"\x85".to_vec()));
    }
    let mut attached = Attached::with_namespace(&at(&server.url()), Some("mine"));
    attached.until_live().await;

    publisher.publish(&messages).await;

    attached.until_delivered(2).await;
    attached.linger(Duration::from_millis(500)).await;
    assert_eq!(lanes(&attached.delivered), lanes(&messages[..2]));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_that_find_no_room_are_counted_and_the_source_says_it_is_lossy() {
    const MESSAGES: usize = 3 * FRAME_BUFFER;
    let server = NatsServer::start(&[], "");
    let publisher = Publisher::to(&server.url()).await;
    let mut attached = Attached::to(&at(&server.url()));
    attached.until_live().await;
    let subject = "namespace.dynamo.component.backend.kv-events".to_owned();

    // Nobody takes frames meanwhile, as when the engine hangs.
    publisher.publish(&vec![(subject, b"\x85".to_vec()); MESSAGES]).await;
    tokio::time::sleep(Duration::from_millis(500)).await;

    attached
        .until("expected every message delivered or counted", |it| {
            it.notes.last().is_some_and(|note| {
                note.state == SourceState::Lossy
                    && it.delivered.len() as u64 + note.dropped >= MESSAGES as u64
            })
        })
        .await;
    assert!(attached.delivered.len() < MESSAGES);
    assert_eq!(attached.others.dropped(), 0, "a loss belongs to one source");
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_applications_publish_beside_dynamo_is_not_kept() {
    let events: Vec<Published> = recording("1.0.2-healthy")
        .into_iter()
        .filter(|(it, _)| it.ends_with(".kv-events"))
        .collect();
    let prompt =
        ("namespace.dynamo.endpoint.generate.chat".to_owned(), b"{\"prompt\":\"secret\"}".to_vec());
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    let mut attached = Attached::to(&at(&server.url()));
    attached.until_live().await;

    publisher.publish(&[prompt.clone(), events[0].clone()]).await;

    attached.until_delivered(2).await;
    let kept = lanes(&[(prompt.0, Vec::new()), events[0].clone()]);
    assert_eq!(lanes(&attached.delivered), kept);
    attached.end().await;
}
