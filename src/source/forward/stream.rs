//! One forwarded connection to a port of a pod: a WebSocket in the subprotocol `v4.channel.k8s.io`.
//!
//! Each message begins with the number of its channel: 0 for the connection's bytes, 1 for what the kubelet says went
//! wrong. The first message of each channel repeats the port. No task and no buffer stands between this and the
//! socket: a fleet keeps hundreds of connections.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

use super::PodPort;
use crate::source::kube::{KubeClient, Refusal};

/// The subprotocol.
const PROTOCOL: &str = "v4.channel.k8s.io";

/// The channel of the connection's bytes.
const DATA: u8 = 0;

/// Bytes that are read from the socket at once. The buffer takes twice as much, a fleet has a forward for each of its
/// pods, and longer messages make room for themselves.
const READ_BUFFER: usize = 4 << 10;

/// Longest message to a pod.
const LONGEST: usize = 16 << 10;

/// A connection to a port of a pod. Closed when dropped.
///
/// Whoever does not read it holds back the API server, the kubelet and then the pod, as with a connection of its own.
/// Whoever cannot promise to read it must drop it.
pub struct Forwarded {
    /// The pod.
    pub pod: PodPort,
    socket: WebSocketStream<TokioIo<Upgraded>>,
    /// Bytes that came and were not read yet.
    rest: Bytes,
    /// The channels whose first message has come.
    begun: [bool; 2],
    /// The kubelet's reason why the port cannot be used.
    trouble: Option<String>,
    ended: bool,
    /// Held while the connection is open.
    _open: Arc<Open>,
}

/// Tells whoever lists the open connections that this one is gone.
#[derive(Debug)]
pub(super) struct Open(pub(super) Arc<Notify>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Forwarded {
    /// Opens a connection.
    pub(super) async fn open(
        client: &KubeClient,
        pod: &PodPort,
        open: Arc<Open>,
    ) -> Result<Self, Refusal> {
        let PodPort { namespace, pod: name, port } = pod;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/portforward?ports={port}");
        let upgraded = TokioIo::new(client.upgrade(&path, PROTOCOL).await?);
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER).write_buffer_size(0);
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        let (rest, trouble, ended) = (Bytes::new(), None, false);
        let begun = [false; 2];
        Ok(Self { pod: pod.clone(), socket, rest, begun, trouble, ended, _open: open })
    }

    /// Takes in a message.
    fn take(&mut self, mut message: Bytes) -> io::Result<()> {
        if message.len() < 2 {
            return Ok(());
        }
        let content = message.split_off(1);
        let channel = message[0];
        let Some(begun) = self.begun.get_mut(usize::from(channel)) else {
            return Err(io::Error::other(format!(
                "a message on channel {channel}, which is not open"
            )));
        };
        if !std::mem::replace(begun, true) {
            if *content != self.pod.port.to_le_bytes() {
                return Err(io::Error::other("the answer is about another port"));
            }
        } else if channel == DATA {
            self.rest = content;
        } else {
            self.trouble = Some(String::from_utf8_lossy(&content).into_owned());
        }
        Ok(())
    }

    /// Fails once the kubelet has said that the port cannot be used.
    fn usable(&self) -> io::Result<()> {
        match &self.trouble {
            Some(text) if text.contains("refused") => Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                format!("nothing listens on port {} of pod {}", self.pod.port, self.pod.pod),
            )),
            Some(text) => Err(io::Error::other(text.clone())),
            None => Ok(()),
        }
    }
}

impl AsyncRead for Forwarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if !self.rest.is_empty() {
                let count = self.rest.len().min(buffer.remaining());
                buffer.put_slice(&self.rest.split_to(count));
                return Poll::Ready(Ok(()));
            }
            self.usable()?;
            if self.ended {
                return Poll::Ready(Ok(()));
            }
            match ready!(self.socket.poll_next_unpin(context)) {
                Some(Ok(Message::Binary(message))) => self.take(message)?,
                Some(Ok(Message::Close(_)) | Err(_)) | None => self.ended = true,
                Some(Ok(_)) => {}
            }
        }
    }
}

impl AsyncWrite for Forwarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.usable()?;
        ready!(self.socket.poll_ready_unpin(context)).map_err(io::Error::other)?;
        let part = &bytes[..bytes.len().min(LONGEST)];
        let message = [&[DATA], part].concat();
        self.socket.start_send_unpin(Message::binary(message)).map_err(io::Error::other)?;
        // The next write, flush or read sends the rest, once the socket takes more.
        if let Poll::Ready(Err(error)) = self.socket.poll_flush_unpin(context) {
            return Poll::Ready(Err(io::Error::other(error)));
        }
        Poll::Ready(Ok(part.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_flush_unpin(context).map_err(io::Error::other)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.ended = true;
        self.socket.poll_close_unpin(context).map_err(io::Error::other)
    }
}
