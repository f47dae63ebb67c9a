//! Accepts connections and serves them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::http::{self, Socket};
use super::logs::Options;
use super::route::{Answer, From, answer, status};
use super::store::{Timeline, Wanted};
use super::{Shared, forward};

/// Binds before the runtime runs, so that the address is known.
pub(super) fn bind(address: SocketAddr) -> std::net::TcpListener {
    let listener = std::net::TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

/// Accepts while `listening` says so; the listener is closed while it does not.
pub(super) async fn run(
    shared: Arc<Shared>,
    first: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
) {
    let mut listening = shared.listening.subscribe();
    let address = first.local_addr().unwrap();
    let mut listener = Some(TcpListener::from_std(first).unwrap());
    loop {
        match &listener {
            Some(open) => tokio::select! {
                accepted = open.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    tokio::spawn(connection(Arc::clone(&shared), stream, tls.clone()));
                }
                changed = listening.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            },
            None => {
                if listening.changed().await.is_err() {
                    return;
                }
            }
        }
        let wanted = *listening.borrow_and_update();
        if !wanted {
            listener = None;
        } else if listener.is_none() {
            // Connections of before may still hold the port; tokio sets SO_REUSEADDR.
            listener = TcpListener::bind(address).await.ok();
            if listener.is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
                listening.mark_changed();
            }
        }
    }
}

async fn connection(shared: Arc<Shared>, stream: TcpStream, tls: Option<TlsAcceptor>) {
    let mut cut = shared.cut.subscribe();
    drop(stream.set_nodelay(true));
    let serve = async {
        let socket: Socket = match tls {
            Some(acceptor) => Box::new(acceptor.accept(stream).await?),
            None => Box::new(stream),
        };
        requests(Arc::clone(&shared), socket).await
    };
    tokio::select! {
        // Whoever hangs up in the middle is no concern of the server's.
        served = serve => drop(served),
        _ = cut.changed() => {}
    }
}

async fn requests(shared: Arc<Shared>, mut socket: Socket) -> io::Result<()> {
    let mut listening = shared.listening.subscribe();
    loop {
        // Idle connections are closed when the listener is.
        let read = tokio::select! {
            read = http::read(&mut socket) => read?,
            _ = listening.wait_for(|listening| !listening) => None,
        };
        let Some(head) = read else {
            return Ok(());
        };
        let delay = shared.state().delay;
        tokio::time::sleep(delay).await;
        let answer = answer(&mut shared.state(), &head);
        match answer {
            Answer::Now(response) => response.write(&mut socket).await?,
            Answer::Recorded(bytes) => {
                socket.write_all(&bytes).await?;
                socket.flush().await?;
                return socket.shutdown().await;
            }
            Answer::Timeline(timeline) => {
                let _open = Open::new(&shared);
                return replay(&mut socket, &timeline).await;
            }
            Answer::Watch { wanted, from, bookmarks, seconds } => {
                let _open = Open::new(&shared);
                let span = Duration::from_secs(seconds);
                watch(&shared, &mut socket, (&wanted, from, bookmarks), span).await?;
            }
            Answer::Log { pod, container, options } => {
                let _open = Open::new(&shared);
                log(&shared, &mut socket, (&pod, &container), &options).await?;
            }
            Answer::Forward(port) => {
                let _open = Open::new(&shared);
                return forward::serve(Arc::clone(&shared), socket, head, port).await;
            }
        }
    }
}

/// Sends what was recorded read by read, with pauses a tenth as long, and ends as it ended: without
/// a last chunk when none came.
async fn replay(socket: &mut Socket, timeline: &Timeline) -> io::Result<()> {
    let begin = tokio::time::Instant::now();
    for (seconds, _, text) in &timeline.recv {
        tokio::time::sleep_until(begin + Duration::from_secs_f64(seconds / 10.0)).await;
        socket.write_all(text.as_bytes()).await?;
        socket.flush().await?;
    }
    if !timeline.ended() {
        // Whoever recorded it went away, the server did not.
        while socket.read(&mut [0]).await? > 0 {}
    }
    socket.shutdown().await
}

/// Counts an open stream.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.state().open_streams += 1;
        Self(Arc::clone(shared))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.state().open_streams -= 1;
    }
}

/// Waits until there may be more to send; false when the stream is to end.
async fn more(
    socket: &mut Socket,
    changed: &mut watch::Receiver<u64>,
    ended: &mut watch::Receiver<u64>,
) -> io::Result<bool> {
    let mut byte = [0];
    tokio::select! {
        // A stream that has ended tells nothing that came later.
        biased;
        _ = ended.changed() => Ok(false),
        change = changed.changed() => Ok(change.is_ok()),
        // A client that reads a stream sends nothing but its end.
        read = socket.read(&mut byte) => match read? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(true),
        },
    }
}

async fn watch(
    shared: &Shared,
    socket: &mut Socket,
    (wanted, from, bookmarks): (&Wanted, From, bool),
    span: Duration,
) -> io::Result<()> {
    let mut changed = shared.changed.subscribe();
    let mut ended = shared.ended.subscribe();
    let end = tokio::time::Instant::now() + span;
    http::begin_chunks(socket, "application/json").await?;
    let (mut seen, first) = begin(shared, wanted, from);
    for line in &first {
        http::chunk(socket, line).await?;
    }
    while let Some(version) = seen {
        let (lines, last) = {
            let state = shared.state();
            let new = state.events.iter().filter(|event| event.version > version);
            let lines: Vec<_> = new.filter_map(|event| wanted.line(event, bookmarks)).collect();
            (lines, state.version.max(version))
        };
        seen = Some(last);
        for line in &lines {
            http::chunk(socket, line).await?;
        }
        let more = more(socket, &mut changed, &mut ended);
        match tokio::time::timeout_at(end, more).await {
            Ok(more) => {
                if !more? {
                    break;
                }
            }
            Err(_) => break,
        }
    }
    http::end_chunks(socket).await
}

/// Returns the version after which a watch continues, none when it ends at once, and what it begins
/// with.
fn begin(shared: &Shared, wanted: &Wanted, from: From) -> (Option<u64>, Vec<String>) {
    let state = shared.state();
    match from {
        From::Now => {
            let objects = state.list(wanted);
            let added = |object| format!("{}\n", json!({ "type": "ADDED", "object": object }));
            (Some(state.version), objects.into_iter().map(added).collect())
        }
        From::Version(version) if version < state.oldest => {
            let message = format!("too old resource version: {version} ({})", state.oldest);
            let object = status(410, "Expired", &message);
            (None, vec![format!("{}\n", json!({ "type": "ERROR", "object": object }))])
        }
        From::Version(version) => (Some(version), Vec::new()),
    }
}

async fn log(
    shared: &Shared,
    socket: &mut Socket,
    (pod, container): (&str, &str),
    options: &Options,
) -> io::Result<()> {
    let mut changed = shared.changed.subscribe();
    let mut ended = shared.ended.subscribe();
    http::begin_chunks(socket, "text/plain").await?;
    let mut next = shared.state().log(pod, container).first(options);
    loop {
        let (text, end, gone) = {
            let mut state = shared.state();
            let gone = state.find("Pod", pod).is_none();
            let log = state.log(pod, container);
            (log.text(next, options), log.end(), gone)
        };
        next = end;
        if !text.is_empty() {
            http::chunk(socket, &text).await?;
        }
        if !options.follow || gone || !more(socket, &mut changed, &mut ended).await? {
            return http::end_chunks(socket).await;
        }
    }
}
