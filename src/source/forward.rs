//! The port-forward: connections to pods through the API server, for those outside the cluster.
//!
//! Owns which connections are open, and what is known of the right to open some. Opens one only when
//! asked, lists each while it is open, and binds nothing but the loopback. Needs `get` and `create` on
//! `pods/portforward`; does not know what goes through.

mod gate;
mod listener;
mod owner;
mod pace;
mod place;
mod stream;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot, watch};

use crate::domain::{Reason, SourceName, SourceState, Trouble};
use crate::source::kube::{KubeClient, Refusal};
use crate::source::notes::Notes;
use crate::source::{Desired, Emitter, SourceHandle};

pub use place::destination;
pub use stream::Forwarded;

use owner::Owner;

/// The name in notes.
const NAME: SourceName = SourceName::PortForward;

/// Requests that wait for their turn; each comes from a task that waits for its answer.
const COMMANDS: usize = 256;

/// A port of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodPort {
    /// Kubernetes namespace.
    pub namespace: Arc<str>,
    /// Pod.
    pub pod: Arc<str>,
    /// Port of one of its containers.
    pub port: u16,
}

impl fmt::Display for PodPort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.pod, self.port)
    }
}

/// The target of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// A pod.
    Pod(PodPort),
    /// Any ready pod of a service.
    Service {
        /// Kubernetes namespace.
        namespace: Arc<str>,
        /// Service.
        service: Arc<str>,
        /// Port of the service, which may be another one than that of the pod.
        port: u16,
    },
    /// The pod that has an address.
    Address {
        /// Kubernetes namespace in which it is looked for first.
        home: Arc<str>,
        /// Address.
        ip: IpAddr,
        /// Port of one of its containers.
        port: u16,
    },
}

/// A connection that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Its target.
    pub pod: PodPort,
    /// The address on this machine that leads there; none for a connection within kvtop.
    pub local: Option<SocketAddr>,
}

/// A port of this machine that leads to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The address.
    pub local: SocketAddr,
    /// The pod it leads to now; the next connection may get another one of the same service.
    pub pod: PodPort,
}

/// The reason why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// The login lacks a permission.
    #[error("{0}")]
    Forbidden(Reason),
    /// There is nothing to connect to.
    #[error("{0}")]
    Nowhere(String),
    /// It did not work.
    #[error("{0}")]
    Failed(String),
    /// The forwarder has been told to pause or to end.
    #[error("port-forwards are paused")]
    Paused,
}

impl ForwardError {
    /// Returns the kind of trouble, if the error is one with a remedy of its own.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Forbidden(reason) => reason.troubles.first().cloned(),
            Self::Nowhere(_) | Self::Failed(_) | Self::Paused => None,
        }
    }
}

impl From<Refusal> for ForwardError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Forbidden(why) => {
                Self::Forbidden(Reason::new(Trouble::MayNotForward { namespace: None }, why))
            }
            Refusal::Missing(why) => Self::Nowhere(why),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Opens connections to pods. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Forwarder {
    commands: mpsc::Sender<Command>,
    shown: watch::Receiver<Vec<Forward>>,
}

/// A request to the owner.
enum Command {
    /// A connection; `local` is where its bytes come out on this machine.
    Open {
        to: Destination,
        local: Option<SocketAddr>,
        reply: oneshot::Sender<Result<Forwarded, ForwardError>>,
    },
    Listen {
        to: Destination,
        reply: oneshot::Sender<Result<Listening, ForwardError>>,
    },
    /// A connection of a listener ended; why, when it did not end well.
    Closed(Option<ForwardError>),
}

impl Forwarder {
    /// Starts a forwarder. Must be called within a runtime.
    ///
    /// It runs on a thread with a runtime of its own, so that nothing that the engine, the disk or
    /// the screen does keeps a forwarded socket waiting.
    pub fn spawn(client: KubeClient, emitter: Emitter) -> (Self, SourceHandle) {
        let name = NAME;
        let (desired, wanted) = watch::channel(Desired::Running);
        let (state_shown, state) = watch::channel(SourceState::Connecting);
        let (commands, asked) = mpsc::channel(COMMANDS);
        let (shown, forwards) = watch::channel(Vec::new());
        let forwarder = Self { commands, shown: forwards };
        let notes = Notes::new(name.clone(), emitter, state_shown);
        let owner = Owner::new(client, forwarder.clone(), notes, shown, wanted);
        let (ended_tx, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(NAME.to_string()).spawn(move || {
            // Without a runtime every request is answered with an error, since there is no owner.
            if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
                runtime.block_on(owner.run(asked));
            }
            drop(ended_tx);
        });
        let task = tokio::spawn(async move {
            if thread.is_ok() {
                // An error is the end of the thread, which is what is waited for.
                drop(ended.await);
            }
        });
        (forwarder, SourceHandle { name, desired, state, task })
    }

    /// Opens a connection to `to`, for use within kvtop.
    pub async fn connect(&self, to: Destination) -> Result<Forwarded, ForwardError> {
        self.open(to, None).await
    }

    /// Opens a port of the loopback that leads to `to`, after a first connection has worked. The same
    /// port is given to everybody who asks for the same destination.
    pub async fn listen(&self, to: Destination) -> Result<Listening, ForwardError> {
        let (reply, answer) = oneshot::channel();
        let asked = self.commands.send(Command::Listen { to, reply }).await;
        asked.map_err(|_| ForwardError::Paused)?;
        answer.await.map_err(|_| ForwardError::Paused)?
    }

    /// Returns what is open, now and as it changes.
    pub fn forwards(&self) -> watch::Receiver<Vec<Forward>> {
        self.shown.clone()
    }

    async fn open(
        &self,
        to: Destination,
        local: Option<SocketAddr>,
    ) -> Result<Forwarded, ForwardError> {
        let (reply, answer) = oneshot::channel();
        let asked = self.commands.send(Command::Open { to, local, reply }).await;
        asked.map_err(|_| ForwardError::Paused)?;
        answer.await.map_err(|_| ForwardError::Paused)?
    }

    async fn closed(&self, why: Option<ForwardError>) {
        // Nobody is left to be told.
        drop(self.commands.send(Command::Closed(why)).await);
    }
}
