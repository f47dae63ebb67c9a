//! The source's task: starts and stops watches, and speaks for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::client::KubeClient;
use super::condition::{Board, MissingRight, Report};
use super::refusal::Refusal;
use super::resource::{Resource, namespaces_with_dynamo, resources};
use super::status::Status;
use super::watch::Watch;
use super::{KubeSpec, Pace};
use crate::domain::{ConfigMapUse, SourceState};
use crate::source::{Desired, Emitter};

/// Reports of a few dozen watches; they wait when it is full.
const REPORTS: usize = 64;

/// Namespaces that are named when this one has no Dynamo.
const NAMED: usize = 5;

/// Inputs of the source, and its outputs besides frames.
pub(super) struct Outside {
    pub(super) wanted: watch::Receiver<Desired>,
    pub(super) config_maps: watch::Receiver<BTreeSet<ConfigMapUse>>,
    pub(super) missing: watch::Sender<Arc<[MissingRight]>>,
}

/// The source.
pub(super) struct Source {
    client: KubeClient,
    emitter: Emitter,
    pace: Pace,
    outside: Outside,
    status: Status,
    board: Board,
    reports: (mpsc::Sender<Report>, mpsc::Receiver<Report>),
    /// Watches that do not run, with what they know.
    parked: Vec<Watch>,
    running: JoinSet<Watch>,
    /// The running watches, with handles to stop them.
    stops: BTreeMap<Arc<str>, (Resource, watch::Sender<bool>)>,
}

/// Events of a session besides those of its watches.
enum Asked {
    /// The answers of the server, and their times.
    Probe(Result<Duration, Refusal>),
    /// The namespaces with a deployment.
    Namespaces(Vec<String>),
    /// Credentials were renewed, or could not be.
    Renewed,
}

impl Source {
    pub(super) fn new(
        spec: KubeSpec,
        emitter: Emitter,
        outside: Outside,
        shown: watch::Sender<SourceState>,
    ) -> Self {
        let status = Status::new(spec.name, emitter.clone(), shown);
        let mut source = Self {
            client: spec.client,
            emitter,
            pace: spec.pace,
            outside,
            status,
            board: Board::default(),
            reports: mpsc::channel(REPORTS),
            parked: Vec::new(),
            running: JoinSet::new(),
            stops: BTreeMap::new(),
        };
        source.parked = resources().into_iter().map(|resource| source.watch_of(resource)).collect();
        source
    }

    fn watch_of(&self, resource: Resource) -> Watch {
        let client = self.client.clone();
        Watch::new(resource, client, self.emitter.clone(), self.reports.0.clone(), self.pace)
    }

    pub(super) async fn run(mut self) {
        loop {
            let wanted = *self.outside.wanted.borrow_and_update();
            if self.outside.wanted.has_changed().is_err() || !self.status.heard {
                break;
            }
            match wanted {
                Desired::Stopped => break,
                Desired::Suspended => {
                    self.status.set(SourceState::Suspended);
                    drop(self.outside.wanted.changed().await);
                }
                Desired::Running => self.session().await,
            }
        }
        self.status.set(SourceState::Ended);
    }

    /// Runs all watches until something else is wanted.
    async fn session(&mut self) {
        self.status.set(SourceState::Connecting);
        for watch in std::mem::take(&mut self.parked) {
            self.start(watch);
        }
        self.follow_config_maps();
        self.follow().await;
        for (_, stop) in self.stops.values() {
            stop.send_replace(true);
        }
        self.stops.clear();
        while let Some(watch) = self.running.join_next().await {
            self.parked.extend(watch);
        }
        self.board = Board::default();
        while self.reports.1.try_recv().is_ok() {}
    }

    async fn follow(&mut self) {
        let mut tick = interval(self.pace.look);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut asked: JoinSet<Asked> = JoinSet::new();
        let mut errands = Errands::default();
        asked.spawn(probe(self.client.clone(), Duration::ZERO));
        while self.status.heard {
            tokio::select! {
                changed = self.outside.wanted.changed() => {
                    if changed.is_err() || *self.outside.wanted.borrow() != Desired::Running {
                        return;
                    }
                }
                Some(report) = self.reports.1.recv() => self.board.put(report),
                Ok(()) = self.outside.config_maps.changed() => self.follow_config_maps(),
                Some(Ok(answer)) = asked.join_next() => self.answered(answer, &mut errands, &mut asked),
                Some(ended) = self.running.join_next() => self.ended(ended.ok()),
                _ = tick.tick() => {}
            }
            errands.ask(self, &mut asked);
            self.tell();
        }
    }

    fn tell(&mut self) {
        if self.board.has_dynamo() {
            self.board.empty = None;
        }
        let rights: Arc<[MissingRight]> = self.board.missing_rights().into();
        self.outside.missing.send_if_modified(|shown| {
            let is_new = **shown != *rights;
            *shown = rights;
            is_new
        });
        self.status.tell(self.board.summary());
    }

    fn start(&mut self, watch: Watch) {
        let (stop, stopped) = watch::channel(false);
        self.stops.insert(watch.resource.slot(), (watch.resource.clone(), stop));
        self.running.spawn(watch.run(stopped));
    }

    /// Watches the `ConfigMap`s that are wanted, and no others. One of which more is wanted is asked for
    /// again: what of it was not wanted was left out.
    fn follow_config_maps(&mut self) {
        let wanted: Vec<Resource> = {
            let uses = self.outside.config_maps.borrow_and_update();
            uses.iter().map(Resource::config_map).collect()
        };
        let slots: BTreeSet<Arc<str>> = wanted.iter().map(Resource::slot).collect();
        self.stops.retain(|slot, (resource, stop)| {
            let stays = !slot.starts_with("configmaps/") || wanted.contains(resource);
            if !stays {
                stop.send_replace(true);
            }
            if !stays && !slots.contains(slot) {
                self.board.remove(slot);
            }
            stays
        });
        for resource in wanted {
            if !self.stops.contains_key(&resource.slot()) {
                let watch = self.watch_of(resource);
                self.start(watch);
            }
        }
    }

    /// A watch ended by itself when nobody receives frames, else because it is not wanted any more.
    fn ended(&mut self, watch: Option<Watch>) {
        let Some(watch) = watch else {
            return;
        };
        let slot = watch.resource.slot();
        if self.stops.contains_key(&slot) {
            self.status.heard = self.emitter.is_heard();
        } else {
            self.board.remove(&slot);
        }
    }

    fn answered(&mut self, answer: Asked, errands: &mut Errands, asked: &mut JoinSet<Asked>) {
        match answer {
            Asked::Probe(result) => {
                self.status.rtt = result.as_ref().ok().copied();
                let lost = result.err().filter(Refusal::is_loss);
                // One answer that is late may be chance.
                self.board.deaf = lost.as_ref().filter(|_| errands.missed).map(ToString::to_string);
                errands.missed = lost.is_some();
                let pause = if lost.is_some() { self.pace.first } else { self.pace.probe };
                asked.spawn(probe(self.client.clone(), pause.min(self.pace.probe)));
            }
            Asked::Namespaces(names) => {
                errands.searching = false;
                let here = self.client.namespace();
                let mut why = format!("no Dynamo deployment in namespace {here}");
                if names.is_empty() {
                    why.push_str(": name another one with -n");
                } else {
                    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
                    let more = if names.len() > NAMED { ", …" } else { "" };
                    why = format!("{why}; there is one in {}{more}: use -n", shown.join(", "));
                }
                self.board.empty = Some(why);
            }
            Asked::Renewed => errands.renewing = false,
        }
    }
}

/// Requests in progress, so that none is made twice.
#[derive(Debug, Default)]
struct Errands {
    missed: bool,
    searching: bool,
    renewing: bool,
    renewed: Option<Instant>,
}

impl Errands {
    /// Asks what the state of the source calls for.
    fn ask(&mut self, source: &Source, asked: &mut JoinSet<Asked>) {
        let board = &source.board;
        let is_complete = source.stops.len() <= board.count();
        if board.is_settled()
            && is_complete
            && !board.has_dynamo()
            && !board.is_blind()
            && board.empty.is_none()
            && !self.searching
        {
            self.searching = true;
            let client = source.client.clone();
            asked.spawn(async move { Asked::Namespaces(namespaces_with_dynamo(&client).await) });
        }
        let due = self.renewed.is_none_or(|at| at.elapsed() >= source.pace.last);
        if (board.is_unauthorized() || source.client.is_expiring()) && due && !self.renewing {
            self.renewing = true;
            self.renewed = Some(Instant::now());
            let client = source.client.clone();
            asked.spawn(async move {
                // While they cannot be, the watches go on saying that theirs are refused.
                drop(client.renew().await);
                Asked::Renewed
            });
        }
    }
}

/// Asks the server for its version after `pause`; everyone may.
async fn probe(client: KubeClient, pause: Duration) -> Asked {
    sleep(pause).await;
    let began = Instant::now();
    let version = client.version().await;
    Asked::Probe(version.map(|_| began.elapsed()))
}
