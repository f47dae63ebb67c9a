//! One forwarded connection to a port of a pod.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::Notify;

use super::PodPort;
use crate::source::kube::{KubeClient, Refusal};

/// A connection to a port of a pod. Closed when dropped.
///
/// Between it and the socket are at most 1 MiB in each direction; whoever does not read it holds back
/// the API server, the kubelet and then the pod, as with a connection of its own. Whoever cannot
/// promise to read it must drop it.
pub struct Forwarded {
    /// The pod.
    pub pod: PodPort,
    stream: DuplexStream,
    trouble: Trouble,
    forwarder: Portforwarder,
    /// Held while the connection is open.
    _open: Arc<Open>,
}

type Trouble = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

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
        let pods: Api<Pod> = Api::namespaced(client.client(), &pod.namespace);
        let opened = pods.portforward(&pod.pod, &[pod.port]).await;
        let mut forwarder = opened.map_err(|error| match error {
            kube::Error::Api(status) => {
                Refusal::of_answer(status.code, None, status.message.as_bytes())
            }
            other => Refusal::of_transport(&other, client.server()),
        })?;
        let stream = forwarder.take_stream(pod.port);
        let trouble = forwarder.take_error(pod.port);
        let (Some(stream), Some(trouble)) = (stream, trouble) else {
            return Err(Refusal::Unreadable("the client gave no stream".to_owned()));
        };
        let trouble: Trouble = Box::pin(trouble);
        Ok(Self { pod: pod.clone(), stream, trouble, forwarder, _open: open })
    }

    /// Fails once the kubelet has said that the port cannot be used.
    fn poll_trouble(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let Poll::Ready(said) = self.trouble.as_mut().poll(context) else { return Ok(()) };
        // What is said once is said to everybody who asks.
        self.trouble = Box::pin(std::future::ready(said.clone()));
        match said {
            Some(text) if text.contains("refused") => Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                format!("nothing listens on port {} of pod {}", self.pod.port, self.pod.pod),
            )),
            Some(text) => Err(io::Error::other(text)),
            None => Ok(()),
        }
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.forwarder.abort();
    }
}

impl AsyncRead for Forwarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_trouble(context)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() && buffer.filled().len() == before {
            // The reason for the end comes before the end.
            self.poll_trouble(context)?;
        }
        read
    }
}

impl AsyncWrite for Forwarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
