//! Reaching an address that may only exist inside a cluster: directly, or through a port-forward.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::domain::{Reason, Trouble};
use crate::source::forward::{
    Destination, ForwardError, Forwarded, Forwarder, PodPort, destination,
};
use crate::source::kube::deepest;
use crate::source::nats::Address;

/// Time for a direct connection, name resolution included. Inside a cluster it takes
/// milliseconds; outside, the wait is on the way of everything that follows.
const DIRECT: Duration = Duration::from_secs(1);

/// An address that has been reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The host to connect to.
    pub servers: Vec<Address>,
    /// The route to it, for people.
    pub provenance: String,
    /// The name of the server behind a forward, which its certificate is for.
    pub name: Option<String>,
}

/// The reason why an address cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReachError {
    /// It is none.
    #[error("`{0}` is not an address of NATS")]
    NoAddress(String),
    /// A direct connection fails, and nothing else may be tried.
    #[error("{address}: {direct}; port-forward is off")]
    Direct {
        /// The address, without credentials.
        address: String,
        /// The reason why not directly.
        direct: String,
    },
    /// A direct connection fails, and the address is none of the cluster.
    #[error("{address}: {direct}; it is not the name of a service of the cluster")]
    Foreign {
        /// The address, without credentials.
        address: String,
        /// The reason why not directly.
        direct: String,
    },
    /// Neither works.
    #[error("{address}: {direct}; through port-forward")]
    Forward {
        /// The address, without credentials.
        address: String,
        /// The reason why not directly.
        direct: String,
        /// The reason why not through a forward.
        #[source]
        forward: ForwardError,
    },
}

impl ReachError {
    /// Returns the kind of trouble, if the error is one with a remedy of its own.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Forward { forward, .. } => forward.trouble(),
            Self::NoAddress(_) | Self::Direct { .. } | Self::Foreign { .. } => None,
        }
    }
}

/// Returns how to reach the NATS servers at `url`, which may name several, separated by commas: as
/// they are when one of them answers, else through a forward. A service without namespace is one of
/// `home`.
///
/// The credentials in the address are left behind: they belong to whoever connects.
pub async fn nats(
    url: &str,
    home: &str,
    forwarder: Option<&Forwarder>,
) -> Result<Reached, ReachError> {
    let mut servers = Vec::new();
    for part in url.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let address = Address::parse(part).map(|(address, _)| address);
        // Not the text itself, which may hold a password.
        servers.push(address.ok_or_else(|| ReachError::NoAddress(hidden(part)))?);
    }
    let mut direct = "no address is given".to_owned();
    for address in &servers {
        match tcp(address.host()).await {
            Ok(_) => {
                let provenance = "directly".to_owned();
                return Ok(Reached { servers, provenance, name: None });
            }
            Err(error) => direct = error,
        }
    }
    let mut last = ReachError::NoAddress(hidden(url));
    for server in &servers {
        let (address, direct) = (server.host().to_owned(), direct.clone());
        let Some(forwarder) = forwarder else {
            return Err(ReachError::Direct { address, direct });
        };
        let Some(to) = split(server.host()).and_then(|(host, port)| destination(host, port, home))
        else {
            last = ReachError::Foreign { address, direct };
            continue;
        };
        match forwarder.listen(to).await {
            Ok(listening) => {
                let scheme = server.as_str().split("://").next().unwrap_or("nats");
                let local = format!("{scheme}://{}", listening.local);
                let found = Address::parse(&local).ok_or(ReachError::NoAddress(local))?.0;
                return Ok(Reached {
                    servers: vec![found],
                    provenance: format!("through port-forward to pod {}", listening.pod.pod),
                    name: split(server.host()).map(|(host, _)| host.to_owned()),
                });
            }
            Err(forward) => last = ReachError::Forward { address, direct, forward },
        }
    }
    Err(last)
}

/// Returns what stands behind the credentials of `url`.
fn hidden(url: &str) -> String {
    url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned()
}

/// Returns host and port of `host:port`; 4222 when there is none.
fn split(host: &str) -> Option<(&str, u16)> {
    match host.rsplit_once(':') {
        Some((name, port)) => Some((name, port.parse().ok()?)),
        None => Some((host, 4222)),
    }
}

async fn tcp(host: &str) -> Result<TcpStream, String> {
    let with_port =
        if split(host).is_some_and(|(name, _)| name.len() == host.len()) { ":4222" } else { "" };
    let address = format!("{host}{with_port}");
    match timeout(DIRECT, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => {
            // What is sent is small, and the answer is timed: without this each waits for the
            // acknowledgement of the one before, which is put off for 40 ms.
            stream.set_nodelay(true).map_err(|error| deepest(&error))?;
            Ok(stream)
        }
        Ok(Err(error)) => Err(deepest(&error)),
        Err(_) => Err(format!("no answer within {} s", DIRECT.as_secs())),
    }
}

/// Returns `ip` as it is written before a port.
pub(super) fn bracketed(ip: &str) -> String {
    if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() }
}

/// Routes to pods.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    forwarder: Option<Forwarder>,
    /// The namespace that services without one are in.
    home: Arc<str>,
}

impl Reach {
    /// Returns a way that also goes through `forwarder`, when there is one. A service without
    /// namespace is one of `home`.
    pub fn new(forwarder: Option<Forwarder>, home: Arc<str>) -> Self {
        Self { forwarder, home }
    }

    /// Connects to a port of `host`: directly, or else through a forward to the pod that it is, or to
    /// one behind the service that it names.
    pub(super) async fn connect(
        &self,
        host: &str,
        port: u16,
        pod: Option<&PodPort>,
    ) -> Result<Line, Reason> {
        let direct = match tcp(&format!("{}:{port}", bracketed(host))).await {
            Ok(stream) => return Ok(Line::Direct(stream)),
            Err(error) => error,
        };
        let to = match pod {
            Some(pod) => Some(Destination::Pod(pod.clone())),
            None => destination(host, port, &self.home),
        };
        let (Some(forwarder), Some(to)) = (&self.forwarder, to) else { return Err(direct.into()) };
        match forwarder.connect(to).await {
            Ok(stream) => Ok(Line::Forwarded(Box::new(stream))),
            Err(error) => {
                let text = format!("{direct}; through port-forward: {error}");
                Err(Reason { text: text.into(), troubles: error.trouble().into_iter().collect() })
            }
        }
    }
}

/// A connection to a pod.
pub(super) enum Line {
    Direct(TcpStream),
    Forwarded(Box<Forwarded>),
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Direct(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Forwarded(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Direct(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Forwarded(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Direct(stream) => Pin::new(stream).poll_flush(context),
            Self::Forwarded(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Direct(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Forwarded(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_sent_waits_for_no_acknowledgement() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let line = Reach::default().connect("127.0.0.1", port, None).await;
        let Ok(Line::Direct(stream)) = line else { panic!("no direct connection") };
        assert!(stream.nodelay().unwrap());
    }
}
