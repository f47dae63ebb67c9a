//! The task that owns the open connections, the listeners and the rights.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::gate::{Answer, Gate, Key, Turn};
use super::pace::Pace;
use super::stream::{Forwarded, Open};
use super::{
    Command, Destination, Forward, ForwardError, Forwarder, Listening, PodPort, listener, place,
};
use crate::domain::{Peers, Reason, SourceState, Trouble};
use crate::source::Desired;
use crate::source::kube::{KubeClient, Refusal};
use crate::source::notes::Notes;

/// Longest time to find a pod and to open a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// For a second or two after its start an API server answers 403 to those who may.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(2);

/// For so long the last failure is shown.
const FAILURE_SHOWN: Duration = Duration::from_secs(30);

/// Somebody who waits for a connection.
struct Waiting {
    to: Destination,
    local: Option<SocketAddr>,
    reply: oneshot::Sender<Result<Forwarded, ForwardError>>,
}

/// A message of a task to the owner.
enum Report {
    Opened {
        key: Key,
        to: Destination,
        answer: Answer,
        forward: Option<(Forward, Weak<Open>)>,
        why: String,
    },
    Listens(Destination, SocketAddr),
    /// A task that had nothing to report.
    Done,
}

pub(super) struct Owner {
    client: KubeClient,
    /// The shared state of the listeners.
    forwarder: Forwarder,
    notes: Notes,
    shown: watch::Sender<Vec<Forward>>,
    wanted: watch::Receiver<Desired>,
    gate: Gate<Waiting>,
    pace: Pace<Waiting>,
    open: BTreeMap<u64, (Forward, Weak<Open>)>,
    opened: u64,
    listeners: HashMap<Destination, SocketAddr>,
    tasks: JoinSet<Report>,
    closed: Arc<Notify>,
    failure: Option<(Instant, String)>,
    interruptions: u64,
    /// Something has been asked for. Before that there is nothing to say.
    asked: bool,
}

impl Owner {
    pub(super) fn new(
        client: KubeClient,
        forwarder: Forwarder,
        notes: Notes,
        shown: watch::Sender<Vec<Forward>>,
        wanted: watch::Receiver<Desired>,
    ) -> Self {
        Self {
            client,
            forwarder,
            notes,
            shown,
            wanted,
            gate: Gate::new(),
            pace: Pace::new(),
            open: BTreeMap::new(),
            opened: 0,
            listeners: HashMap::new(),
            tasks: JoinSet::new(),
            closed: Arc::default(),
            failure: None,
            interruptions: 0,
            asked: false,
        }
    }

    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        while self.notes.heard {
            let wanted = *self.wanted.borrow_and_update();
            if wanted == Desired::Stopped {
                break;
            }
            self.prune();
            let retry = self.say(wanted);
            while let Some(next) = self.pace.next(Instant::now(), |it| !it.reply.is_closed()) {
                self.admit(next);
            }
            let due = [self.pace.wait(), retry].into_iter().flatten();
            let pause = due.fold(self.notes.next(), Duration::min);
            let closed = Arc::clone(&self.closed);
            tokio::select! {
                changed = self.wanted.changed() => if changed.is_err() { break },
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => break,
                },
                Some(report) = self.tasks.join_next() => self.note(report.unwrap_or(Report::Done)),
                () = closed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        drop(self.tasks);
        self.shown.send_replace(Vec::new());
        if self.asked {
            self.notes.ended();
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Open { to, local, reply } => self.take_turn(Waiting { to, local, reply }),
            Command::Listen { to, reply } => {
                let forwarder = self.forwarder.clone();
                let existing = self.listeners.get(&to).copied();
                let wanted = self.wanted.clone();
                self.tasks.spawn(listen(forwarder, to, existing, wanted, reply));
            }
            Command::Closed(None) => {}
            Command::Closed(Some(why)) => {
                self.interruptions += 1;
                self.failure = Some((Instant::now(), why.to_string()));
            }
        }
    }

    /// Lets a connection be opened now or in its turn, unless its destination has just failed.
    fn take_turn(&mut self, waiting: Waiting) {
        self.asked = true;
        let now = Instant::now();
        if let Some((left, why)) = self.pace.pause(&waiting.to, now) {
            let why = format!("{why}; next attempt in {} s", left.as_secs() + 1);
            return drop(waiting.reply.send(Err(ForwardError::Failed(why))));
        }
        // Whatever everything else depends on does not queue.
        let first = !matches!(waiting.to, Destination::Pod(_));
        let admitted = if first { Some(waiting) } else { self.pace.admit(now, waiting) };
        if let Some(waiting) = admitted {
            self.admit(waiting);
        }
    }

    fn admit(&mut self, waiting: Waiting) {
        self.asked = true;
        if *self.wanted.borrow() != Desired::Running {
            // Whoever asked is gone when this fails.
            return drop(waiting.reply.send(Err(ForwardError::Paused)));
        }
        let key = key_of(&waiting.to);
        match self.gate.ask(&key, Instant::now(), waiting) {
            Turn::Ask(waiting) => {
                let open = Arc::new(Open(Arc::clone(&self.closed)));
                self.tasks.spawn(answer(self.client.clone(), key, waiting, open));
            }
            Turn::Waits => {}
            Turn::Refused(waiting, why) => {
                drop(waiting.reply.send(Err(ForwardError::Forbidden(why))));
            }
        }
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Done => {}
            Report::Listens(to, local) => {
                self.listeners.insert(to, local);
            }
            Report::Opened { key, to, answer, forward, why } => {
                let now = Instant::now();
                if matches!(to, Destination::Pod(_)) {
                    self.pace.ended(&to, now, (!why.is_empty()).then_some(why.as_str()));
                }
                self.failure = (!why.is_empty()).then_some((now, why));
                if let Some(forward) = forward {
                    self.opened += 1;
                    self.open.insert(self.opened, forward);
                }
                for waiting in self.gate.decide(&key, now, answer) {
                    self.admit(waiting);
                }
            }
        }
    }

    /// Forgets connections that are closed.
    fn prune(&mut self) {
        self.open.retain(|_, (_, open)| open.strong_count() > 0);
        let forwards: Vec<Forward> =
            self.open.values().map(|(forward, _)| forward.clone()).collect();
        self.shown.send_if_modified(|shown| {
            let differs = *shown != forwards;
            *shown = forwards;
            differs
        });
    }

    /// Says how it is. Returns the time until a refusal is forgotten, when there is one.
    fn say(&mut self, wanted: Desired) -> Option<Duration> {
        let now = Instant::now();
        self.failure.take_if(|(at, _)| now.duration_since(*at) >= FAILURE_SHOWN);
        let mut parts: Vec<String> = self.shown.borrow().iter().map(described).collect();
        let missing = self.gate.refusal(now);
        let failed = self.failure.as_ref().map(|(_, why)| why.as_str());
        let why = missing.map(|(why, _)| &*why.text).or(failed);
        parts.extend(why.map(str::to_owned));
        let state = match (wanted, why) {
            (Desired::Suspended, _) if self.open.is_empty() => SourceState::Suspended,
            (_, Some(_)) if self.open.is_empty() => SourceState::Down,
            _ => SourceState::Live,
        };
        let text = if parts.is_empty() { "nothing is open".to_owned() } else { parts.join("; ") };
        let left = missing.map(|(_, left)| left);
        // Whole seconds, so that a note is not news each time.
        let retry = left.map(|left| Duration::from_secs(left.as_secs() + 1));
        let troubles = missing.map(|(why, _)| why.troubles.clone()).unwrap_or_default();
        self.notes.set(state, Reason { text: text.into(), troubles }, retry);
        let open = self.open.len() as u64;
        self.notes.peers(Peers { wanted: open, reached: open }, Vec::new());
        self.notes.count(0, self.interruptions);
        if self.asked {
            self.notes.tell();
        }
        left
    }
}

fn described(forward: &Forward) -> String {
    match forward.local {
        Some(local) => format!("{} on {local}", forward.pod),
        None => forward.pod.to_string(),
    }
}

fn key_of(to: &Destination) -> Key {
    match to {
        Destination::Pod(pod) => Key { namespace: Arc::clone(&pod.namespace), service: false },
        Destination::Service { namespace, .. } => {
            Key { namespace: Arc::clone(namespace), service: true }
        }
        // Its namespace is not known before it is found.
        Destination::Address { ip, .. } => Key { namespace: ip.to_string().into(), service: false },
    }
}

/// Opens a connection and hands it to whoever waits.
async fn answer(client: KubeClient, key: Key, waiting: Waiting, open: Arc<Open>) -> Report {
    let alive = Arc::downgrade(&open);
    let mut tried = attempt(&client, &waiting.to, Arc::clone(&open)).await;
    if matches!(tried, Err(ForwardError::Forbidden(_))) {
        tokio::time::sleep(FORBIDDEN_PAUSE).await;
        tried = attempt(&client, &waiting.to, Arc::clone(&open)).await;
    }
    drop(open);
    let (answer, why) = match &tried {
        Ok(_) => (Answer::Granted, String::new()),
        Err(ForwardError::Forbidden(why)) => (Answer::Refused(why.clone()), String::new()),
        Err(error) => (Answer::Unknown, error.to_string()),
    };
    let forward = tried
        .as_ref()
        .ok()
        .map(|forwarded| (Forward { pod: forwarded.pod.clone(), local: waiting.local }, alive));
    // Whoever asked may have given up; then the connection closes at once.
    let to = waiting.to;
    drop(waiting.reply.send(tried));
    Report::Opened { key, to, answer, forward, why }
}

async fn attempt(
    client: &KubeClient,
    to: &Destination,
    open: Arc<Open>,
) -> Result<Forwarded, ForwardError> {
    let opening = async {
        let pod = place::resolve(client, to).await?;
        Forwarded::open(client, &pod, open).await.map_err(|refusal| explained(refusal, &pod))
    };
    let waited = PATIENCE.as_secs();
    let late = || format!("the API server did not answer within {waited} s");
    timeout(PATIENCE, opening).await.map_err(|_| ForwardError::Failed(late()))?
}

fn explained(refusal: Refusal, pod: &PodPort) -> ForwardError {
    match refusal {
        // With one of the two rights the server's own words may end at the colon.
        Refusal::Forbidden(why) => {
            let text = format!(
                "a port-forward needs `get` and `create` on `pods/portforward` in namespace `{}`: {}",
                pod.namespace,
                why.trim_end_matches([' ', ':'])
            );
            let namespace = Some(Arc::clone(&pod.namespace));
            ForwardError::Forbidden(Reason::new(Trouble::MayNotForward { namespace }, text))
        }
        other => other.into(),
    }
}

async fn listen(
    forwarder: Forwarder,
    to: Destination,
    existing: Option<SocketAddr>,
    wanted: watch::Receiver<Desired>,
    reply: oneshot::Sender<Result<Listening, ForwardError>>,
) -> Report {
    let bound = match existing {
        Some(local) => Ok((None, local)),
        None => listener::bind().await.map(|(listener, local)| (Some(listener), local)),
    };
    let primed = match bound {
        Ok((listener, local)) => {
            listener::prime(&forwarder, &to, local).await.map(|first| (listener, local, first))
        }
        Err(error) => Err(ForwardError::Failed(format!("could not listen on 127.0.0.1: {error}"))),
    };
    match primed {
        Err(error) => {
            drop(reply.send(Err(error)));
            Report::Done
        }
        Ok((listener, local, first)) => {
            let pod = first.get_ref().pod.clone();
            drop(reply.send(Ok(Listening { local, pod })));
            if let Some(listener) = listener {
                let served = listener::serve(forwarder, listener, to.clone(), Some(first), wanted);
                tokio::spawn(served);
            }
            Report::Listens(to, local)
        }
    }
}
