//! A port of this machine's loopback that leads to a pod, for clients that want an address.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::stream::Forwarded;
use super::{Destination, ForwardError, Forwarder};
use crate::source::Desired;

/// Connections through one listener: the client's, and the next one while the last is being closed.
/// Anybody on this machine can connect to the loopback, so there is a bound.
const CONNECTIONS: usize = 2;

/// A client that does not take what has come for so long is cut off. The server behind the forward
/// must not wait for kvtop: while it does, a NATS server slows its publishers (36-fold, PERFORMANCE
/// section 4), and by itself it would end that only after 10 s. The NATS reader has a thread that does
/// nothing else; when it takes nothing for half a second, it or the machine is frozen.
const STALLED: Duration = Duration::from_millis(500);

/// Longest time for a pod to accept the client's data.
const UNTAKEN: Duration = Duration::from_secs(10);

/// Time for a server to send something first, as NATS does, or to refuse.
const GREETING: Duration = Duration::from_secs(2);

/// The connection that has shown the way to be open is kept this long for the first client.
const PRIMED_FOR: Duration = Duration::from_secs(5);

/// One read.
const CHUNK: usize = 64 << 10;

/// A connection whose first bytes may have been looked at.
pub(super) type Primed = BufReader<Forwarded>;

/// Opens a connection to `to` and waits until it is known to lead somewhere.
pub(super) async fn prime(
    forwarder: &Forwarder,
    to: &Destination,
    local: SocketAddr,
) -> Result<Primed, ForwardError> {
    let mut stream = BufReader::new(forwarder.open(to.clone(), Some(local)).await?);
    match timeout(GREETING, stream.fill_buf()).await {
        Ok(Ok([])) => Err(ForwardError::Failed("the pod closed the connection".to_owned())),
        Ok(Err(error)) => Err(ForwardError::Failed(error.to_string())),
        // A server that waits for its client says nothing.
        Ok(Ok(_)) | Err(_) => Ok(stream),
    }
}

/// Returns a listener on a free port of the loopback.
pub(super) async fn bind() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let local = listener.local_addr()?;
    Ok((listener, local))
}

/// Forwards the connections of `listener` to `to`, which is resolved for each of them anew: when a
/// pod is gone, the next connection gets another one.
pub(super) async fn serve(
    forwarder: Forwarder,
    listener: TcpListener,
    to: Destination,
    first: Option<Primed>,
    wanted: watch::Receiver<Desired>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let Ok(local) = listener.local_addr() else { return };
    let mut first = first;
    loop {
        let accepted = if first.is_some() {
            let Ok(accepted) = timeout(PRIMED_FOR, listener.accept()).await else {
                first = None;
                continue;
            };
            accepted
        } else {
            listener.accept().await
        };
        let Ok((client, _)) = accepted else {
            // Out of file descriptors; there may be some again soon.
            tokio::time::sleep(GREETING).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (forwarder, to, first) = (forwarder.clone(), to.clone(), first.take());
        let mut wanted = wanted.clone();
        tokio::spawn(async move {
            let pumped = async {
                let pod = match first {
                    Some(pod) => pod,
                    None => BufReader::new(forwarder.open(to, Some(local)).await?),
                };
                pump(client, pod).await.map_err(|error| ForwardError::Failed(error.to_string()))
            };
            let stopped = wanted.wait_for(|wanted| *wanted != Desired::Running);
            let end = tokio::select! {
                end = pumped => end,
                _ = stopped => Ok(()),
            };
            drop(place);
            forwarder.closed(end.err()).await;
        });
    }
}

/// Copies both ways until one side ends or the client stalls.
async fn pump(client: TcpStream, pod: Primed) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_pod, to_pod) = tokio::io::split(pod);
    tokio::select! {
        end = copy(from_pod, to_client, STALLED) => end,
        end = copy(from_client, to_pod, UNTAKEN) => end,
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    patience: Duration,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = from.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
        // The deadline is for each piece that is taken, not for the whole chunk.
        let mut rest = &chunk[..length];
        while !rest.is_empty() {
            let stalled = || {
                let why = format!("cut off: nothing was taken for {} s", patience.as_secs_f32());
                io::Error::new(io::ErrorKind::TimedOut, why)
            };
            let written = timeout(patience, to.write(rest)).await.map_err(|_| stalled())??;
            if written == 0 {
                return Ok(());
            }
            rest = &rest[written..];
        }
        to.flush().await?;
    }
}
