//! A played cluster: the graph deployment `gtc-demo` of Dynamo 0.9.0 with Grove in namespace
//! `dynamo-workload`, three TensorRT-LLM workers, and another team's faulty deployment on the same NATS.
//!
//! Two simulations say what happens. Their frames become what a real cluster would show: KV events in
//! `JetStream` on a real nats-server, lines of pods' logs, pages of metrics, objects of the Kubernetes API.
//! The past is simulated in no time and stored with the times it would have; from then on it plays in real
//! time. The token of the kubeconfig may do what `kvtop rbac` prints, and nothing else.

pub(crate) mod objects;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kvtop::clock;
use kvtop::domain::Timestamp;
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::simulator::{
    EngineSettings, Platform, Scenario, Service, SimConfig, Simulation, Site, WorkerConfig,
};
use kvtop::wire::encode::Family;
use serde_json::Value;

use super::aged_stream;
use super::endpoint::{Endpoint, Manners};
use super::kube_api::FakeKube;
use super::libzmq::LibzmqPublisher;
use super::nats_server::NatsServer;
use super::zmq_plane;
use crate::nats::{Published, Publisher};

/// The Kubernetes namespace of the deployment, which has another name than the deployment.
pub(crate) const NAMESPACE: &str = "dynamo-workload";

/// Another team's deployment on the same platform: nothing of it may ever be shown.
pub(crate) const OTHERS: Site = Site {
    kube_namespace: "research",
    namespace: "research-chat-lab",
    deployment: "chat-lab",
    model: "Qwen/Qwen3-32B",
    platform: Platform::Grove,
    settings: EngineSettings::Override,
};

/// A worker whose sizes agree.
pub(crate) const GOOD: WorkerConfig =
    WorkerConfig { engine: 32, publisher: 32, card: 32, capacity: 4_764, publishes: true };
/// A worker of the incident: it publishes blocks of 32 tokens, its engine makes blocks of 16.
pub(crate) const BAD: WorkerConfig = WorkerConfig { engine: 16, capacity: 2 * 4_764, ..GOOD };

/// How often frames of the present are played.
const STEP: Duration = Duration::from_millis(50);

/// Returns the users' deployment before anything goes wrong.
pub(crate) fn healthy() -> SimConfig {
    SimConfig {
        site: &Site::GTC_DEMO,
        workers: vec![GOOD; 3],
        repaired: vec![GOOD; 3],
        declared: None,
        warm_up: Duration::ZERO,
        service: Service { concurrency: 38, ..Service::small() },
        ..SimConfig::new(Scenario::Healthy)
    }
}

/// Something that happens to the users' deployment.
pub(crate) type Act = Box<dyn Fn(&mut Simulation) + Send>;

/// What has happened by now: how long ago, and what.
#[derive(Default)]
pub(crate) struct Past {
    acts: Vec<(Duration, Act)>,
    /// How long ago the router emptied the stream at its start.
    purged: Option<Duration>,
    began: Duration,
}

impl Past {
    /// Returns a past in which the deployment started `ago`.
    pub(crate) fn since(ago: Duration) -> Self {
        Self { began: ago, ..Self::default() }
    }

    /// Adds what happened `ago`.
    pub(crate) fn then(
        mut self,
        ago: Duration,
        act: impl Fn(&mut Simulation) + Send + 'static,
    ) -> Self {
        self.acts.push((ago, Box::new(act)));
        self
    }

    /// Adds that the router restarted `ago` and emptied the stream.
    pub(crate) fn then_purged(mut self, ago: Duration) -> Self {
        self.purged = Some(ago);
        self.then(ago, Simulation::lose_router_history)
    }
}

/// What both simulations and their surroundings share.
struct Stage {
    kube: FakeKube,
    simulations: [Simulation; 2],
    endpoints: BTreeMap<String, Endpoint>,
    zmq: Option<ZmqPlane>,
}

/// The publishers of the users' workers where events travel over ZMQ, each a process with a real socket.
#[derive(Default)]
struct ZmqPlane {
    sockets: BTreeMap<u64, LibzmqPublisher>,
    /// The last record of each pod.
    records: BTreeMap<String, Frame>,
    /// False while the past is made, in which nobody listens.
    is_live: bool,
}

impl ZmqPlane {
    /// Returns a record with the addresses where its publishers really listen.
    fn record(&mut self, frame: &Frame) -> Frame {
        let sockets = &mut self.sockets;
        zmq_plane::record(frame.clone(), &mut |publisher| {
            sockets.entry(publisher).or_insert_with(LibzmqPublisher::start).endpoint()
        })
    }

    fn publish(&mut self, frame: &Frame) {
        let Some((publisher, parts)) = zmq_plane::message(frame) else { return };
        if let Some(socket) = self.sockets.get_mut(&publisher) {
            socket.publish(&[parts]);
        }
    }
}

/// The running cluster.
pub(crate) struct UsersCluster {
    stage: Arc<Mutex<Stage>>,
    server: NatsServer,
    kubeconfig: PathBuf,
    ended: Arc<AtomicBool>,
    player: Option<std::thread::JoinHandle<()>>,
}

impl UsersCluster {
    /// Starts the cluster of `config` with this past; from now on it plays in real time.
    pub(crate) async fn start(config: SimConfig, past: Past) -> Self {
        let now = clock::now();
        let boot = now.before(past.began);
        let others = SimConfig {
            site: &OTHERS,
            workers: vec![WorkerConfig { publisher: 64, card: 64, ..BAD }; 2],
            service: Service { concurrency: 13, ..Service::small() },
            ..healthy()
        };
        let mut stage = Stage {
            kube: FakeKube::start(),
            zmq: (config.family == Family::V1_6).then(ZmqPlane::default),
            simulations: [Simulation::with(config, 11, boot), Simulation::with(others, 12, boot)],
            endpoints: BTreeMap::new(),
        };
        let mut server = NatsServer::with_jetstream();
        objects::surroundings(&stage.kube, server.host().parse().unwrap());
        let mut stored: BTreeMap<String, Vec<(Timestamp, Published)>> = BTreeMap::new();
        let mut take = |stage: &mut Stage, to: Timestamp| {
            for (frame, published) in stage.advance(to) {
                if let Some(stream) = published.0.strip_suffix(".kv-events")
                    && !stream.contains('.')
                {
                    stored.entry(stream.to_owned()).or_default().push((frame, published));
                }
            }
        };
        for (ago, act) in &past.acts {
            take(&mut stage, now.before(*ago));
            act(&mut stage.simulations[0]);
        }
        take(&mut stage, clock::now());
        stage.open_sockets();
        let purged = past.purged.map(|ago| now.before(ago));
        store(&mut server, &stored, purged).await;
        let printed = printed_roles();
        stage.kube.permit_only(&printed);
        let kubeconfig = stage.kube.kubeconfig_in("do-nyc2-gtc-demo", NAMESPACE);
        let stage = Arc::new(Mutex::new(stage));
        let ended = Arc::new(AtomicBool::new(false));
        let player = std::thread::spawn({
            let (stage, ended, url) = (Arc::clone(&stage), Arc::clone(&ended), server.url());
            move || play(&stage, &ended, &url)
        });
        Self { stage, server, kubeconfig, ended, player: Some(player) }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap()
    }

    /// Does something to the users' deployment now.
    pub(crate) fn act(&self, act: impl FnOnce(&mut Simulation)) {
        act(&mut self.stage().simulations[0]);
    }

    /// The router restarts now, and empties the stream.
    pub(crate) async fn restart_router_without_history(&self) {
        let publisher = Publisher::to(&self.server.url()).await;
        self.act(Simulation::lose_router_history);
        publisher.purge("namespace-gtc-demo-component-tensorrt-llm-kv-events").await;
    }

    /// Returns the names of the users' worker pods that run, in the order of their places.
    pub(crate) fn worker_pods(&self) -> Vec<String> {
        self.stage().simulations[0].worker_pods()
    }

    /// Returns the ids of the other deployment's workers.
    pub(crate) fn others_ids(&self) -> Vec<String> {
        let ranks = self.stage().simulations[1].truth();
        ranks.iter().map(|truth| truth.rank.worker.0.to_string()).collect()
    }

    /// Returns the arguments that name the deployment, as `-n NAME`.
    pub(crate) fn arguments(&self, name: &str) -> Vec<String> {
        ["-n", name, "--kubeconfig", self.kubeconfig.to_str().unwrap()].map(str::to_owned).to_vec()
    }
}

impl Drop for UsersCluster {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(player) = self.player.take() {
            drop(player.join());
        }
    }
}

/// Returns what `kvtop rbac` prints for somebody outside the cluster.
fn printed_roles() -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    let arguments =
        ["rbac", "-n", NAMESPACE, "--port-forward", "--nats-namespace", "dynamo-system"];
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Fills the streams of a server with messages that have these times.
async fn store(
    server: &mut NatsServer,
    stored: &BTreeMap<String, Vec<(Timestamp, Published)>>,
    purged: Option<Timestamp>,
) {
    let publisher = Publisher::to(&server.url()).await;
    let users = "namespace-gtc-demo-component-tensorrt-llm-kv-events";
    let mut aged = Vec::new();
    for (stream, messages) in stored {
        let all: Vec<Published> = messages.iter().map(|(_, message)| message.clone()).collect();
        publisher.make_streams(&all[..1]).await;
        let purged = purged.filter(|_| stream == users);
        let gone = purged.map_or(0, |at| messages.partition_point(|(time, _)| *time < at));
        publisher.publish(&all[..gone]).await;
        if gone > 0 {
            publisher.purge(stream).await;
        }
        publisher.publish(&all[gone..]).await;
        let (first, last) = publisher.range(stream).await;
        assert_eq!(last + 1 - first, (all.len() - gone) as u64, "messages in {stream}");
        let times: Vec<Timestamp> = messages[gone..].iter().map(|(time, _)| *time).collect();
        aged.push((stream, first, times));
    }
    drop(publisher);
    server.stop();
    for (stream, first, times) in aged {
        aged_stream::set_times(&server.store(), stream, first, &times);
    }
    server.restart();
    let publisher = Publisher::to(&server.url()).await;
    for (stream, messages) in stored {
        let (_, last) = publisher.range(stream).await;
        assert_eq!(last, messages.len() as u64, "{stream} after the restart: {}", server.log());
    }
}

/// Plays the present until it is to end.
fn play(stage: &Mutex<Stage>, ended: &AtomicBool, url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let publisher = runtime.block_on(Publisher::to(url));
    while !ended.load(Ordering::Relaxed) {
        let messages: Vec<Published> = stage
            .lock()
            .unwrap()
            .advance(clock::now())
            .into_iter()
            .map(|(_, published)| published)
            .collect();
        runtime.block_on(publisher.publish(&messages));
        std::thread::sleep(STEP);
    }
}

impl Stage {
    /// Moves both simulations to `to`. What they publish is returned, everything else is shown at once.
    fn advance(&mut self, to: Timestamp) -> Vec<(Timestamp, Published)> {
        let mut published = Vec::new();
        for place in 0..self.simulations.len() {
            let frames = self.simulations[place].advance(to);
            for frame in frames {
                if place == 0 && self.is_on_zmq(&frame) {
                    continue;
                }
                if let Some(message) = self.show(&frame) {
                    published.push(message);
                }
            }
        }
        published
    }

    /// Publishes what the users' workers publish over ZMQ, and shows where they do. Returns false for all else.
    fn is_on_zmq(&mut self, frame: &Frame) -> bool {
        let Some(plane) = &mut self.zmq else { return false };
        let (Origin::Nats { .. }, true) = (&frame.origin, plane.is_live) else {
            let Origin::Kube { kind, change } = &frame.origin else {
                return matches!(frame.origin, Origin::Nats { .. });
            };
            if &**kind != "DynamoWorkerMetadata" {
                return false;
            }
            let Body::Whole(body) = &frame.body else { return false };
            let object: Value = serde_json::from_slice(body).unwrap();
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            if *change == KubeChange::Deleted {
                plane.records.remove(&name);
                return false;
            }
            plane.records.insert(name, frame.clone());
            if plane.is_live {
                let shown = plane.record(frame);
                drop(self.show(&shown));
            }
            return true;
        };
        plane.publish(frame);
        true
    }

    /// Opens the sockets of the workers that are there once the past is made.
    fn open_sockets(&mut self) {
        let Some(plane) = &mut self.zmq else { return };
        plane.is_live = true;
        let records: Vec<Frame> = plane.records.values().cloned().collect();
        for frame in records {
            self.is_on_zmq(&frame);
        }
    }

    fn show(&mut self, frame: &Frame) -> Option<(Timestamp, Published)> {
        let Body::Whole(body) = &frame.body else { return None };
        let text = || String::from_utf8(body.to_vec()).unwrap();
        match &frame.origin {
            Origin::Nats { subject, .. } => {
                return Some((frame.at, (subject.to_string(), body.to_vec())));
            }
            Origin::Log { pod, .. } => {
                self.kube.log_line_at(pod, "main", frame.at, &text());
            }
            Origin::Metrics { pod, .. } => self.serve(pod, text()),
            Origin::Kube { kind, change } => {
                let object: Value = serde_json::from_slice(body).unwrap();
                match change {
                    KubeChange::Deleted => {
                        objects::remove(&self.kube, kind, &object);
                    }
                    _ => objects::put(&self.kube, kind, object, frame.at),
                }
            }
            other => panic!("the played cluster has no {}", other.kind()),
        }
        None
    }

    /// Serves `text` as the metrics of `pod`, which only a port-forward leads to.
    fn serve(&mut self, pod: &str, text: String) {
        // A page every five seconds: what is lost until the test ends is a megabyte.
        let page = Manners::Text(text.leak());
        if let Some(endpoint) = self.endpoints.get(pod) {
            endpoint.behave(page);
            return;
        }
        let endpoint = Endpoint::start(page);
        let port = if pod.contains("frontend") { 8000 } else { 9090 };
        self.kube.forward(pod, port, endpoint.address);
        self.endpoints.insert(pod.to_owned(), endpoint);
    }
}
