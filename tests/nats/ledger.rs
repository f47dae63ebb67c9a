//! Every message that a stream numbered was received, or is counted as lost: with cuts, short-lived messages,
//! full buffers and streams made anew.

use kvtop::domain::StreamLedger;

use super::*;
use crate::support::nats_server::NatsServer;
use crate::support::wire_cut::WireCut;

impl Attached {
    fn ledger(&self) -> StreamLedger {
        let history = self.notes.iter().rev().find_map(|note| note.history.as_ref());
        history.and_then(|history| history.ledger).unwrap_or_default()
    }

    /// Returns true once history is read and everything up to `published` is accounted for.
    fn accounts_for(&self, published: u64) -> bool {
        let history = self.notes.iter().rev().find_map(|note| note.history.as_ref());
        history.is_some_and(|history| history.complete) && self.ledger().published >= published
    }
}

fn events(numbers: std::ops::Range<u64>) -> Vec<Published> {
    numbers.map(|number| durable(event(number % 3, 0, number))).collect()
}

fn distinct(messages: &[Published]) -> usize {
    messages.iter().collect::<std::collections::HashSet<_>>().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stream_deletes_while_kvtop_is_cut_off_is_counted_to_the_message() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_short_stream(STREAM, Duration::from_secs(1)).await;
    let wire = WireCut::to(&server.host());
    let mut attached = Attached::to(&at(&wire.url()));
    attached.until_live().await;
    publisher.publish(&events(0..100)).await;
    attached.until_delivered(100).await;

    wire.cut();
    for batch in 0..25 {
        publisher.publish(&events(100 + batch * 20..120 + batch * 20)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    attached.linger(Duration::from_millis(100)).await;
    let known = attached.notes.len();
    wire.mend();
    attached.until("expected the ledger", |it| it.accounts_for(600)).await;

    publisher.publish(&events(600..700)).await;
    let delivered = |it: &Attached| it.delivered.len() as u64 + it.ledger().aged_out;
    attached.until("expected the rest", |it| delivered(it) >= 700).await;
    attached.until("expected the last note", |it| it.accounts_for(700)).await;
    let ledger = attached.ledger();
    report(&format!("{} of 700 messages aged out during the cut", ledger.aged_out));
    assert_eq!(ledger.received, attached.delivered.len() as u64);
    assert_eq!(distinct(&attached.delivered), attached.delivered.len());
    assert_eq!(ledger.received + ledger.aged_out, 700, "{ledger:?}");
    assert!((150..500).contains(&ledger.aged_out), "{ledger:?}");
    let news = &attached.notes[known..];
    let back = news.iter().position(|note| note.rtt_us.is_some()).unwrap();
    let told = news.iter().position(|note| note.state == SourceState::Lossy).unwrap();
    let late = news[told].at.since(news[back].at);
    assert!(late < Duration::from_secs(1), "the state changed {late:?} after the survey");
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cuts_closer_together_than_catching_up_takes_still_reach_the_end() {
    const MESSAGES: u64 = 12_000;
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    publisher.publish(&events(0..MESSAGES)).await;
    let wire = WireCut::to(&server.host());
    let mut attached = Attached::to(&at(&wire.url()));
    attached.until_live().await;
    let mut cuts = 0;
    while !attached.accounts_for(MESSAGES) {
        // Within one connection only a part of it can be read.
        let goal = attached.delivered.len() + 1_000;
        attached
            .until("expected to get on", |it| {
                it.delivered.len() >= goal || it.accounts_for(MESSAGES)
            })
            .await;
        wire.drop_connections();
        cuts += 1;
        publisher.publish(&events(MESSAGES + cuts..MESSAGES + cuts + 1)).await;
    }
    let all = events(0..MESSAGES + cuts + 1);
    attached.until_delivered(all.len() - 1).await;
    attached.linger(Duration::from_millis(300)).await;

    assert!(cuts >= 5, "{cuts} cuts");
    assert_eq!(distinct(&attached.delivered), attached.delivered.len());
    assert_eq!(attached.delivered.len(), all.len() - 1);
    assert!(attached.ledger().is_even(), "{:?}", attached.ledger());
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_messages_that_find_no_room_are_read_from_the_stream_again() {
    const MESSAGES: u64 = 2 * FRAME_BUFFER as u64;
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    let mut attached = Attached::to(&at(&server.url()));
    attached.until_live().await;
    publisher.publish(&events(0..50)).await;
    attached.until_delivered(50).await;

    // Nobody takes frames meanwhile, as when the engine hangs.
    publisher.publish(&events(50..MESSAGES)).await;
    tokio::time::sleep(Duration::from_millis(300)).await;

    attached.until_delivered(usize::try_from(MESSAGES).unwrap()).await;
    attached
        .until("expected the hole to close", |it| {
            let last = it.notes.last();
            it.accounts_for(MESSAGES) && last.is_some_and(|note| note.state == SourceState::Live)
        })
        .await;
    assert_eq!(distinct(&attached.delivered), attached.delivered.len());
    let ledger = attached.ledger();
    assert!(ledger.is_even() && ledger.refilled > 0, "{ledger:?}");
    assert_eq!(attached.notes.last().unwrap().dropped, 0);
    assert!(attached.notes.iter().any(|note| note.state == SourceState::Lossy));
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_made_anew_while_kvtop_is_cut_off_is_a_loss_that_nobody_can_count() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_stream(STREAM).await;
    let wire = WireCut::to(&server.host());
    let mut attached = Attached::to(&at(&wire.url()));
    attached.until_live().await;
    publisher.publish(&events(0..100)).await;
    attached.until_delivered(100).await;

    wire.cut();
    publisher.publish(&events(100..150)).await;
    publisher.make_anew(STREAM).await;
    publisher.publish(&events(200..230)).await;
    wire.mend();

    attached.until_delivered(130).await;
    attached.until("expected the loss", |it| it.ledger().uncounted == 1).await;
    assert!(attached.notes.iter().any(|note| note.state == SourceState::Lossy));
    attached.end().await;
}
