//! The etcd source.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kvtop::domain::SourceState;
use kvtop::source::etcd::{EtcdSpec, addresses, spawn};
use kvtop::source::nats::Secret;
use kvtop::source::reach::Reach;
use kvtop::source::{Desired, FRAME_BUFFER, SourceHandle};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::support::etcd::Etcd;

fn attached(url: &str, login: Option<(&str, &str)>) -> (SourceHandle, Delivered) {
    let (emitter, delivered) = Delivered::with_room(FRAME_BUFFER);
    let login = login.map(|(user, password)| (user.to_owned(), Secret::new(password.to_owned())));
    let spec = EtcdSpec::new(addresses(url).unwrap(), login, Reach::default());
    let spec = EtcdSpec { probe: Duration::from_millis(300), ..spec };
    (spawn(spec, emitter), delivered)
}

async fn until_state(delivered: &mut Delivered, expected: &BTreeMap<String, String>) {
    delivered.until("the records that there are", |it| state(it) == kept(expected)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_are_listed_and_followed_and_leases_that_end_take_theirs_along() {
    let etcd = Etcd::start();
    let mut expected = records();
    let all: Vec<(String, String)> = expected.clone().into_iter().collect();
    let (early, late) = all.split_at(all.len() / 2);
    etcd.put_leased(early);
    // What is no record of discovery is nobody's business.
    etcd.put("v1/secrets/token", "hunter2");
    etcd.put("v2/instances/x", "other");
    let (_handle, mut delivered) = attached(&etcd.url(), None);
    until_state(&mut delivered, &early.iter().cloned().collect()).await;

    let lease = etcd.put_leased(late);
    until_state(&mut delivered, &expected).await;
    etcd.put(&all[0].0, "{}");
    expected.insert(all[0].0.clone(), "{}".to_owned());
    etcd.delete(&all[1].0);
    expected.remove(&all[1].0);
    etcd.revoke(&lease);
    expected.retain(|key, _| !late.iter().any(|(late, _)| late == key));
    until_state(&mut delivered, &expected).await;
    delivered.until_noted("discovery records").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_while_etcd_was_away_or_forgot_is_told_once() {
    let mut etcd = Etcd::start();
    let mut expected = records();
    for (key, value) in &expected {
        etcd.put(key, value);
    }
    let (mut handle, mut delivered) = attached(&etcd.url(), None);
    until_state(&mut delivered, &expected).await;

    etcd.stop();
    let note = delivered.until_noted("127.0.0.1").await;
    assert_eq!(note.state, SourceState::Down);
    etcd.restart();
    let first = expected.pop_first().unwrap().0;
    etcd.delete(&first);
    until_state(&mut delivered, &expected).await;

    // Paused, so that the watch is behind what etcd keeps.
    handle.desired.send_replace(Desired::Suspended);
    drop(handle.state.wait_for(|state| *state == SourceState::Suspended).await);
    let second = expected.pop_first().unwrap().0;
    etcd.delete(&second);
    etcd.compact();
    handle.desired.send_replace(Desired::Running);
    until_state(&mut delivered, &expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_records_than_an_answer_holds_are_read_page_by_page() {
    let etcd = Etcd::start();
    let key = |number: u32| format!("v1/instances/dynamo/backend/generate/{number:x}");
    let expected: BTreeMap<String, String> = (0..1_203).map(|n| (key(n), n.to_string())).collect();
    let all: Vec<(String, String)> = expected.clone().into_iter().collect();
    etcd.put_leased(&all);
    let (_handle, mut delivered) = attached(&etcd.url(), None);
    until_state(&mut delivered, &expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_is_used_and_without_one_the_missing_right_is_named() {
    let mut etcd = Etcd::start();
    let expected = records();
    for (key, value) in &expected {
        etcd.put(key, value);
    }
    etcd.enable_logins();
    let (_handle, mut stranger) = attached(&etcd.url(), None);
    let note = stranger.until_noted("right to read the keys from `v1/`").await;
    assert_eq!(note.state, SourceState::Down);
    let (_handle, mut wrong) = attached(&etcd.url(), Some(("reader", "guess")));
    let note = wrong.until_noted("etcd says: ").await;
    assert!(!note.why.contains("guess"), "{}", note.why);

    let (_handle, mut reader) = attached(&etcd.url(), Some(("reader", "secret")));
    until_state(&mut reader, &expected).await;
}

/// Passes connections on to `port` and notes the first line of every request.
async fn listened_in(port: u16, lines: Arc<Mutex<Vec<String>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let lines = Arc::clone(&lines);
            tokio::spawn(async move {
                let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let (mut from, mut to) = client.split();
                let (mut answers, mut questions) = server.split();
                let ask = async {
                    let mut buffer = vec![0; 64 << 10];
                    while let Ok(read @ 1..) = from.read(&mut buffer).await {
                        let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                        let first = |line: &&str| line.contains(" HTTP/1.");
                        lines.lock().unwrap().extend(text.lines().filter(first).map(str::to_owned));
                        questions.write_all(&buffer[..read]).await.unwrap();
                    }
                };
                tokio::select! {
                    () = ask => {}
                    _ = tokio::io::copy(&mut answers, &mut to) => {}
                }
            });
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_ranges_watches_and_logins_is_ever_sent() {
    let mut etcd = Etcd::start();
    let mut expected = records();
    for (key, value) in &expected {
        etcd.put(key, value);
    }
    etcd.enable_logins();
    let lines = Arc::default();
    let url = listened_in(etcd.port(), Arc::clone(&lines)).await;
    let (mut handle, mut delivered) = attached(&url, Some(("reader", "secret")));
    until_state(&mut delivered, &expected).await;
    etcd.delete(&expected.pop_first().unwrap().0);
    until_state(&mut delivered, &expected).await;
    // Silence, in which etcd is asked whether it is there.
    delivered.during(Duration::from_millis(800)).await;
    handle.desired.send_replace(Desired::Stopped);
    drop(handle.state.wait_for(|state| *state == SourceState::Ended).await);

    let asked: std::collections::BTreeSet<String> = lines.lock().unwrap().iter().cloned().collect();
    let paths = ["/v3/auth/authenticate", "/v3/kv/range", "/v3/watch"];
    assert!(asked.iter().eq(&paths.map(|path| format!("POST {path} HTTP/1.1"))), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_etcd_is_named_with_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut line, _)) = listener.accept().await {
            // As a NATS server greets.
            drop(line.write_all(b"INFO {\"server_id\":\"x\"}\r\n").await);
            drop(line.read_to_end(&mut Vec::new()).await);
        }
    });
    let (_handle, mut delivered) = attached(&format!("http://{address}"), None);
    let note = delivered.until_noted("does not speak HTTP").await;
    assert_eq!(note.state, SourceState::Down);
    assert!(note.why.starts_with(&format!("{address}: ")), "{}", note.why);
}
