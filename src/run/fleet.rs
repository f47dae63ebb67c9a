//! `kvtop -A`: one light watcher for each deployment, and the fleet that their rows make; or the rows that a
//! Prometheus has.
//!
//! A light watcher reads the objects of its deployment, and logs and metrics of its routers. It opens no event plane and
//! keeps no index copy, so it never calls a deployment healthy.

mod light;
mod recorded;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use super::RunError;
use super::live;
use super::memory;
use super::roster::{self, Roster};
use crate::attach::Place;
use crate::cli::SourceArgs;
use crate::clock;
use crate::domain::Timestamp;
use crate::frame::Frame;
use crate::snapshot::{Fleet, Member, MemberId};
use crate::source::forward::Forwarder;
use crate::source::kube::KubeClient;
use crate::source::{Budget, Desired, Emitter, SourceHandle};

use light::Light;

/// Time between two looks for new deployments.
const LIST_EVERY: Duration = Duration::from_secs(10);
/// Time between two pictures of the fleet, at least.
const PICTURE_EVERY: Duration = Duration::from_secs(1);
/// Deployments from which on watches are of the whole cluster: a few of them are no reason to hear of every pod.
const MANY: usize = 8;
/// Rows on their way to the fleet.
const ROWS: usize = 1024;

/// A row of a deployment, or the end of it.
type Row = (MemberId, Member);

/// The inputs that all light watchers share.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) budget: Arc<Budget>,
    pub(super) forwarder: Option<Forwarder>,
}

/// A running fleet. It ends when it is dropped.
pub(super) struct FleetWatch {
    /// The cluster's client; none for a fleet that is read from a Prometheus.
    pub(super) client: Option<KubeClient>,
    pub(super) shown: watch::Receiver<Arc<Fleet>>,
    /// The part of its past that is shown; none where there is no past.
    pub(super) asked: Option<watch::Sender<Asked>>,
    task: JoinHandle<()>,
}

/// The part of a fleet's past to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The moment; none for now.
    pub(super) moment: Option<Timestamp>,
    pub(super) span: Duration,
}

impl Drop for FleetWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts to watch every deployment that `args` name. Must be called within a runtime.
pub(super) async fn start(args: &SourceArgs) -> Result<FleetWatch, RunError> {
    if args.prometheus.is_some() {
        return recorded::start(args);
    }
    let args = roster::common(args);
    let client = live::connect(&args).await?;
    let roster = Roster::read(&client, &args).await?;
    let blank = Fleet { origin: client.origin().to_string(), ..Fleet::default() };
    let (show, shown) = watch::channel(Arc::new(blank));
    let (sender, rows) = mpsc::channel(ROWS);
    // Notes on port-forwards are for the sources that need one, which report that by themselves.
    let (nowhere, unheard) = mpsc::channel(1);
    let (forwarder, handle) = if args.no_port_forward {
        (None, None)
    } else {
        let (forwarder, handle) = Forwarder::spawn(client.clone(), Emitter::new(nowhere));
        (Some(forwarder), Some(handle))
    };
    let common = Common { budget: memory::budget(args.max_memory()), forwarder };
    let crew = Crew {
        client: client.clone(),
        sharing: client.sharing(),
        args,
        common,
        _forwarding: (handle, unheard),
        sender,
        members: BTreeMap::new(),
        unlisted: Vec::new(),
    };
    let task = tokio::spawn(crew.run(roster, rows, show));
    Ok(FleetWatch { client: Some(client), shown, asked: None, task })
}

/// The light watchers.
struct Crew {
    client: KubeClient,
    /// The same, with watches that are shared.
    sharing: KubeClient,
    args: SourceArgs,
    common: Common,
    /// The forwarder ends with these.
    _forwarding: (Option<SourceHandle>, mpsc::Receiver<Frame>),
    sender: mpsc::Sender<Row>,
    members: BTreeMap<MemberId, Watched>,
    unlisted: Vec<String>,
}

/// A watched deployment.
struct Watched {
    row: Member,
    task: JoinHandle<()>,
    sources: Vec<SourceHandle>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
        for source in &self.sources {
            source.desired.send_replace(Desired::Stopped);
        }
    }
}

impl Crew {
    async fn run(
        mut self,
        first: Roster,
        mut rows: mpsc::Receiver<Row>,
        show: watch::Sender<Arc<Fleet>>,
    ) {
        self.follow(first);
        let mut listing = tokio::time::interval_at(Instant::now() + LIST_EVERY, LIST_EVERY);
        let mut showing = tokio::time::interval(PICTURE_EVERY);
        showing.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut changed = true;
        loop {
            tokio::select! {
                Some((id, row)) = rows.recv() => {
                    if let Some(watched) = self.members.get_mut(&id) {
                        changed |= watched.row != row;
                        watched.row = row;
                    }
                }
                _ = listing.tick() => {
                    match Roster::read(&self.client, &self.args).await {
                        Ok(roster) => self.follow(roster),
                        // Deployments stay; their own sources report what they cannot reach.
                        Err(error) => self.unlisted = vec![crate::exit::chain(&error)],
                    }
                    changed = true;
                }
                _ = showing.tick(), if changed => {
                    changed = false;
                    if show.send(Arc::new(self.fleet())).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Starts watchers of new deployments, and ends those of deployments that are gone.
    fn follow(&mut self, roster: Roster) {
        let places: BTreeMap<MemberId, Place> =
            roster.places.into_iter().map(|place| (id_of(&place), place)).collect();
        self.unlisted = roster.unlisted;
        self.members.retain(|id, _| places.contains_key(id));
        let client = if places.len() < MANY { self.client.clone() } else { self.sharing.clone() };
        for (id, place) in places {
            if !self.members.contains_key(&id) {
                let watched = self.begin(id.clone(), &place, &client);
                self.members.insert(id, watched);
            }
        }
    }

    fn begin(&self, id: MemberId, place: &Place, client: &KubeClient) -> Watched {
        let (light, sources) = Light::open(id.clone(), place, client, &self.args, &self.common);
        let task = tokio::spawn(light.run(self.sender.clone()));
        Watched { row: Member::new(id), task, sources }
    }

    fn fleet(&self) -> Fleet {
        let members = self.members.values().map(|watched| watched.row.clone()).collect();
        let mut fleet = Fleet::new(clock::now(), self.client.origin().to_string(), members);
        fleet.unlisted.clone_from(&self.unlisted);
        fleet
    }
}

/// Returns the identity of the deployment at `place`.
pub(super) fn id_of(place: &Place) -> MemberId {
    MemberId {
        namespace: place.namespace.to_string(),
        dgd: place.dgd.clone(),
        dynamo_namespace: place.dynamo_namespace.clone(),
    }
}

/// Returns the place of the deployment `id`.
pub(super) fn place_of(id: &MemberId) -> Place {
    Place {
        namespace: id.namespace.as_str().into(),
        dgd: id.dgd.clone(),
        dynamo_namespace: id.dynamo_namespace.clone(),
    }
}
