//! A light watcher: the objects of one deployment, and logs and metrics of its routers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::super::cluster::{self, ClusterSpec, EtcdOptions, Limits, PortForward};
use super::super::live::{Attach, Target};
use super::super::place::{self, Found};
use super::super::ready;
use super::super::removed;
use super::{Common, Row};
use crate::attach::{Choice, Place, Wanted};
use crate::cli::SourceArgs;
use crate::clock;
use crate::domain::{SourceName, SourceState, Timestamp, Trouble};
use crate::engine::{Engine, EngineOptions};
use crate::frame::Frame;
use crate::snapshot::{Member, MemberId, Snapshot, ViewQuery};
use crate::source::kube::{KubeClient, Pace};
use crate::source::logs::LogLimits;
use crate::source::metrics::MetricsLimits;
use crate::source::nats::NatsOptions;
use crate::source::{Emitter, FRAME_BUFFER, SourceHandle};

/// Time between two lots of frames of a deployment.
const LOT_EVERY: Duration = Duration::from_secs(5);
/// The same while it is new, so that a fleet appears at once, and for how many lots.
const FIRST_LOTS: (Duration, u32) = (Duration::from_millis(250), 20);
/// Frames taken in at once.
const LOT: usize = 1024;
/// A row is made this often even if nothing arrives: rates and ages change with time.
const ROW_EVERY: Duration = Duration::from_secs(10);
/// Time between two scrapes of a router: Prometheus' own default is no shorter.
const SCRAPE_EVERY: Duration = Duration::from_secs(15);
/// Time for a connection to a router. Port-forwards of a fleet are opened one after another.
const CONNECT: Duration = Duration::from_secs(60);
/// Time between two looks whether the API server answers.
const PROBE_EVERY: Duration = Duration::from_secs(30);
/// The past of a router's log that is read: the longest window of a rule, and of that the newest lines.
const RECENT: (Duration, u64) = (Duration::from_secs(300), 2_000);
/// Memory for the index copy, which stays empty without KV events.
const MIRROR: usize = 1 << 20;

/// A light watcher.
pub(super) struct Light {
    id: MemberId,
    frames: mpsc::Receiver<Frame>,
    engine: Engine,
    attach: Attach,
}

impl Light {
    /// Opens the sources of the deployment at `place`; returns them with its watcher. Must be called within a runtime.
    pub(super) fn open(
        id: MemberId,
        place: &Place,
        client: &KubeClient,
        args: &SourceArgs,
        common: &Common,
    ) -> (Self, Vec<SourceHandle>) {
        let Found { client, args, .. } = place::at(client, args, place, &place.namespace);
        let (sender, frames) = mpsc::channel(FRAME_BUFFER);
        let namespace = Arc::clone(client.namespace());
        let (wanted, followed) = watch::channel(Wanted::default());
        let source = cluster::spawn(ClusterSpec {
            client,
            emitter: Emitter::within(sender, Arc::clone(&common.budget)),
            nats: NatsOptions::default(),
            nats_named: true,
            etcd: EtcdOptions { addresses: None, login: None },
            zmq_named: true,
            port_forward: common.forwarder.clone().map_or(PortForward::Never, PortForward::Shared),
            limits: limits(&args),
            dynamo_namespace: args.dynamo_namespace.as_deref().map(Into::into),
            wanted: followed,
        });
        let choice = Choice {
            dgd: args.dgd.clone(),
            dynamo_namespace: args.dynamo_namespace.clone(),
            deep: false,
            light: true,
        };
        let target = Target::new(namespace.to_string(), &args);
        let engine = Engine::new(EngineOptions {
            logs_only: true,
            brief: true,
            memory_limit: MIRROR,
            ..target.engine_options()
        });
        let attach = Attach { namespace: Some(namespace), choice, wanted };
        (Self { id, frames, engine, attach }, vec![source])
    }

    /// Takes in frames and sends rows until nobody wants them.
    pub(super) async fn run(mut self, rows: mpsc::Sender<Row>) {
        let mut lot = Vec::new();
        let (mut round, mut last) = (0_u32, Timestamp::default());
        loop {
            let pause = if round < FIRST_LOTS.1 { FIRST_LOTS.0 } else { LOT_EVERY };
            round = round.saturating_add(1);
            tokio::time::sleep(pause).await;
            let mut heard = false;
            while let Ok(frame) = self.frames.try_recv() {
                lot.push(frame);
                if lot.len() == LOT {
                    self.engine.ingest(&lot);
                    lot.clear();
                    heard = true;
                    tokio::task::yield_now().await;
                }
            }
            if !lot.is_empty() {
                self.engine.ingest(&lot);
                heard = true;
            }
            // The first lot holds the past of logs, and none needs as much room again.
            lot = Vec::new();
            let now = clock::now();
            if !heard && now.since(last) < ROW_EVERY {
                continue;
            }
            last = now;
            self.engine.advance(now);
            self.attach.update(&self.engine);
            let row = self.row(now);
            if rows.send((self.id.clone(), row)).await.is_err() {
                return;
            }
        }
    }

    fn row(&mut self, now: Timestamp) -> Member {
        let query = ViewQuery { points: 1, events: 0, decisions: 0, ..ViewQuery::default() };
        let snapshot = self.engine.snapshot(&query, now);
        let answered = ready::have_answered(&snapshot, &self.attach.wanted.borrow());
        Member::from_parts(self.id.clone(), &snapshot, lists_pods(&snapshot), answered)
    }
}

/// Returns how much is read of a deployment of which there are hundreds.
fn limits(args: &SourceArgs) -> Limits {
    let all = Limits::default();
    Limits {
        logs: LogLimits {
            recent: RECENT.0,
            recent_lines: RECENT.1,
            text: removed::log_text(args),
            ..all.logs
        },
        metrics: MetricsLimits { period: SCRAPE_EVERY, connect: CONNECT, ..all.metrics },
        kubernetes: Pace { probe: PROBE_EVERY, look: LOT_EVERY, ..all.kubernetes },
    }
}

/// Returns true once the pods of the namespace were listed.
fn lists_pods(snapshot: &Snapshot) -> bool {
    let row = snapshot.sources.iter().find(|row| row.name == SourceName::Kubernetes);
    row.is_some_and(|row| {
        row.state == SourceState::Live && !row.troubles.contains(&Trouble::PodsHidden)
    })
}
