//! Sockets that are no publishers, or bad ones.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// The greeting of a publisher of ZMTP 3.1 with the NULL mechanism.
fn greeting(mechanism: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    (bytes[0], bytes[8], bytes[9], bytes[10], bytes[11]) = (0xff, 1, 0x7f, 3, 1);
    bytes[12..12 + mechanism.len()].copy_from_slice(mechanism);
    bytes
}

fn command(body: &[u8]) -> Vec<u8> {
    [&[4, u8::try_from(body.len()).unwrap()], body].concat()
}

fn ready(kind: &str) -> Vec<u8> {
    let length = u8::try_from(kind.len()).unwrap();
    command(&[b"\x05READY\x0bSocket-Type\0\0\0", &[length][..], kind.as_bytes()].concat())
}

/// A port that answers every connection with `bytes` and keeps it open.
async fn answering(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("tcp://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            // The other side may have closed it already.
            drop(socket.write_all(&bytes).await);
            open.push(socket);
        }
    });
    endpoint
}

/// Returns what the source says of a socket that sends `bytes`.
async fn verdict(bytes: Vec<u8>, text: &str) -> SourceNote {
    let endpoint = answering(bytes).await;
    let limits = ZmqLimits { handshake: Duration::from_millis(400), ..quick() };
    let mut attached = Attached::with(vec![target(&endpoint)], limits, FRAME_BUFFER);
    let note = attached.until_noted(text).await;
    attached.end().await;
    note
}

#[tokio::test]
async fn a_socket_that_is_no_publisher_is_named_as_what_it_is() {
    let open = [greeting(b"NULL"), ready("PUB")].concat();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
            "it is no ZMQ socket",
        ),
        (greeting(b"CURVE"), "security mechanism CURVE"),
        ([greeting(b"NULL"), ready("ROUTER")].concat(), "it is a ROUTER socket"),
        (Vec::new(), "does not answer as a ZMQ socket does"),
        (
            [open.clone(), vec![2, 0x7f, 255, 255, 255, 255, 255, 255, 255]].concat(),
            "more than 16777216 bytes",
        ),
        ([open.clone(), [1, 0].repeat(40)].concat(), "more than 16 parts"),
        ([open.clone(), vec![0x80, 1, 2]].concat(), "unknown flags"),
        ([open, command(b"\x05ERROR\x04no\x1b!")].concat(), "it refuses: no !"),
    ];
    for (bytes, text) in cases {
        let note = verdict(bytes, text).await;
        assert!(!note.why.contains('\u{1b}'), "{}", note.why);
    }
}

/// A publisher of our own, up to its subscriptions.
async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut socket, _) = listener.accept().await.unwrap();
    socket.write_all(&[greeting(b"NULL"), ready("PUB")].concat()).await.unwrap();
    socket
}

/// Everything that a subscriber says until it has said `count` commands and messages.
async fn said(socket: &mut TcpStream, count: usize) -> Vec<(u8, Vec<u8>)> {
    let mut greeting = [0; 64];
    socket.read_exact(&mut greeting).await.unwrap();
    let mut found = Vec::new();
    while found.len() < count {
        let flags = socket.read_u8().await.unwrap();
        let length = socket.read_u8().await.unwrap();
        let mut body = vec![0; usize::from(length)];
        socket.read_exact(&mut body).await.unwrap();
        found.push((flags, body));
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_subscriptions_and_heartbeats_is_ever_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("tcp://{}", listener.local_addr().unwrap());
    let limits = ZmqLimits { heartbeat: Duration::from_millis(50), ..quick() };
    let attached = Attached::with(vec![target(&endpoint)], limits, FRAME_BUFFER);
    let mut socket = accept(&listener).await;

    let subscriptions: Vec<Vec<u8>> =
        ["kv-events", "kv_metrics", "kv-hit-rate", "active_sequences_events", "namespace."]
            .map(|topic| [&[1], topic.as_bytes()].concat())
            .into();
    let first = said(&mut socket, 7).await;
    assert_eq!(first[0], (4, [&b"\x05READY\x0bSocket-Type\0\0\0\x03SUB"[..]].concat()));
    assert!(
        first[1..6]
            .iter()
            .map(|(flags, body)| (*flags, body))
            .eq(subscriptions.iter().map(|body| (0, body)))
    );
    // Silent for ten seconds, kvtop is to be given up.
    assert_eq!(first[6], (4, b"\x04PING\0\x64".to_vec()));
    socket.write_all(&[command(b"\x04PONG"), command(b"\x04PING\0\0me")].concat()).await.unwrap();
    let mut rest = [0; 18];
    socket.read_exact(&mut rest).await.unwrap();
    assert_eq!(&rest, b"\x04\x07\x04PONGme\x04\x07\x04PING\0\x64");
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kvtop_disconnects_when_messages_come_too_late() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("tcp://{}", listener.local_addr().unwrap());
    let limits = ZmqLimits {
        heartbeat: Duration::from_millis(50),
        patience: Duration::from_millis(300),
        ..quick()
    };
    let mut attached = Attached::with(vec![target(&endpoint)], limits, FRAME_BUFFER);
    let mut socket = accept(&listener).await;
    // Messages come, but the answer to the heartbeat is stuck behind others that never do.
    let message = b"\x01\x09kv-events\x01\x00\x01\x00\x00\x01x";
    let talk = tokio::spawn(async move {
        while socket.write_all(message).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });

    let note = attached.until_noted("disconnected, so that the publisher need not hold them").await;
    assert_eq!((note.state, note.interruptions), (SourceState::Down, 1));
    drop(tokio::time::timeout(PATIENCE, talk).await.expect("the socket is closed"));
    attached.end().await;
}
