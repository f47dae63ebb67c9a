//! Ten thousand workers in two hundred namespaces, watched by five exporters of which each takes a shard.
//!
//! Build it for release, which takes some minutes, so that the players leave the processors to the exporter:
//! `cargo test --release --test main -- --ignored --nocapture fleet::shards`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::Ipv4Addr;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kvtop::clock;
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::simulator::{EngineSettings, Platform, Service, SimConfig, Simulation, Site};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use xxhash_rust::xxh3::xxh3_64;

use super::usage;
use crate::nats::Publisher;
use crate::support::exporter::{Exporter, bytes_asked};
use crate::support::kube_api::FakeKube;
use crate::support::nats_server::NatsServer;
use crate::support::scratch;
use crate::support::users_cluster::{GOOD, healthy, objects};

const NAMESPACES: u64 = 200;
/// Workers of a namespace, unless `KVTOP_SHARD_WORKERS` names fewer.
const WORKERS: usize = 50;
/// Users of a namespace: they send three requests a second, and a router writes a line about each worker for each.
const USERS: usize = 20;
const SHARDS: u64 = 5;

/// Time between two scrapes: the default of Prometheus Operator is twice as long.
const SCRAPE: Duration = Duration::from_secs(15);

/// Time between two steps of the stage: each wakes all who follow a log.
const STEP: Duration = Duration::from_millis(500);

/// Measured scrapes of each shard.
const SCRAPES: u32 = 4;

fn namespace(number: u64) -> &'static str {
    format!("group-{number:03}").leak()
}

/// Returns a healthy deployment that started so long ago.
fn deployment(number: u64, workers: usize, ago: Duration) -> Simulation {
    let site = Site {
        kube_namespace: namespace(number),
        namespace: format!("{0}-{0}", namespace(number)).leak(),
        deployment: format!("serve-{number:03}").leak(),
        model: "Qwen/Qwen3-32B",
        platform: Platform::Grove,
        settings: EngineSettings::Override,
    };
    let config = SimConfig {
        site: Box::leak(Box::new(site)),
        workers: vec![GOOD; workers],
        repaired: vec![GOOD; workers],
        service: Service { concurrency: USERS, ..Service::small() },
        ..healthy()
    };
    Simulation::with(config, number, clock::now().before(ago))
}

/// Pages of metrics by address, as pods serve them.
type Pages = Arc<Mutex<BTreeMap<Ipv4Addr, Arc<str>>>>;

/// Serves the page of `ip` at `port`.
async fn serve(ip: Ipv4Addr, port: u16, pages: Pages) {
    let listener = TcpListener::bind((ip, port)).await.unwrap();
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                clients.spawn(answer(accepted.unwrap().0, ip, Arc::clone(&pages)));
            }
            // A client that breaks off is its own affair.
            Some(_) = clients.join_next() => {}
        }
    }
}

/// Answers every request of `client` with the page of `ip`.
async fn answer(mut client: TcpStream, ip: Ipv4Addr, pages: Pages) -> io::Result<()> {
    let (mut request, mut bytes) = (Vec::new(), [0; 2048]);
    while let count @ 1.. = client.read(&mut bytes).await? {
        request.extend_from_slice(&bytes[..count]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        request.clear();
        let page = pages.lock().unwrap().get(&ip).cloned().unwrap_or_default();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
        client.write_all(&[head.as_bytes(), page.as_bytes()].concat()).await?;
    }
    Ok(())
}

/// Namespaces that play, beside those that only exist, and what they publish.
struct Stage {
    kube: FakeKube,
    simulations: Vec<Simulation>,
    pages: Pages,
    addresses: BTreeMap<String, Ipv4Addr>,
    streams: BTreeSet<String>,
    /// The address of the server that pods publish to, as their environment names it.
    nats: String,
    published: u64,
    /// They end with the stage.
    servers: JoinSet<()>,
}

impl Stage {
    /// Returns a stage with so many namespaces, of which those play that `plays` names, with so many workers each.
    /// All publish to the server `nats`.
    fn new(
        nats: &str,
        namespaces: u64,
        workers: usize,
        ago: Duration,
        plays: impl Fn(&str) -> bool,
    ) -> Self {
        let kube = FakeKube::start();
        let mut simulations = Vec::new();
        for at in 0..namespaces {
            let name = namespace(at);
            kube.object(json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
                "status": { "phase": "Active" },
            }));
            let mut simulation = deployment(at, workers, ago);
            if plays(name) {
                simulations.push(simulation);
                continue;
            }
            for frame in simulation.advance(simulation.start()) {
                if matches!(&frame.origin, Origin::Kube { kind, .. } if &**kind == "DynamoGraphDeployment")
                {
                    object(&kube, &frame, None, nats);
                }
            }
        }
        let (pages, addresses) = (Pages::default(), BTreeMap::new());
        let (streams, servers) = (BTreeSet::new(), JoinSet::new());
        let nats = nats.to_owned();
        Self { kube, simulations, pages, addresses, streams, nats, published: 0, servers }
    }

    /// Shows what happened until now. Log lines arrive together: each change wakes every open log of the API.
    async fn advance(&mut self, publisher: &Publisher) {
        let now = clock::now();
        let frames: Vec<Frame> =
            self.simulations.iter_mut().flat_map(|it| it.advance(now)).collect();
        let mut lines = Vec::new();
        let mut messages = Vec::new();
        for frame in frames {
            let Body::Whole(body) = &frame.body else { continue };
            let text = || String::from_utf8_lossy(body).into_owned();
            match &frame.origin {
                Origin::Log { pod, .. } => lines.push((pod.to_string(), frame.at, text())),
                Origin::Nats { subject, .. } => messages.push((subject.to_string(), body.to_vec())),
                Origin::Metrics { pod, .. } => {
                    let address = self.address(pod);
                    self.pages.lock().unwrap().insert(address, text().into());
                }
                Origin::Kube { change, .. } if *change != KubeChange::Deleted => {
                    let ip = Self::pod_of(&frame).map(|pod| self.address(&pod));
                    object(&self.kube, &frame, ip, &self.nats);
                }
                _ => {}
            }
        }
        self.kube.log_lines(&lines);
        self.published += messages.len() as u64;
        let new = messages.iter().any(|(subject, _)| self.streams.insert(subject.clone()));
        if new {
            publisher.make_streams(&messages).await;
        }
        publisher.publish(&messages).await;
    }

    /// Plays for so long.
    async fn play(&mut self, publisher: &Publisher, span: Duration) {
        let begun = clock::now();
        while clock::now().since(begun) < span {
            self.advance(publisher).await;
            tokio::time::sleep(STEP).await;
        }
    }

    fn pod_of(frame: &Frame) -> Option<String> {
        let (Origin::Kube { kind, .. }, Body::Whole(body)) = (&frame.origin, &frame.body) else {
            return None;
        };
        let object: Value = serde_json::from_slice(body).unwrap();
        (&**kind == "Pod").then(|| object["metadata"]["name"].as_str().unwrap().to_owned())
    }

    /// Returns the address of a pod, which serves its page from then on.
    fn address(&mut self, pod: &str) -> Ipv4Addr {
        if let Some(known) = self.addresses.get(pod) {
            return *known;
        }
        let number = u16::try_from(self.addresses.len() + 1).unwrap().to_be_bytes();
        // Tests of other processes have other addresses.
        let own = 64 + u8::try_from(std::process::id() % 128).unwrap();
        let address = Ipv4Addr::new(127, own, number[0], number[1]);
        let port = if pod.contains("frontend") { 8000 } else { 9090 };
        self.servers.spawn(serve(address, port, Arc::clone(&self.pages)));
        self.addresses.insert(pod.to_owned(), address);
        address
    }
}

/// Adds or changes an object; pods name the server `nats`.
fn object(kube: &FakeKube, frame: &Frame, ip: Option<Ipv4Addr>, nats: &str) {
    let (Origin::Kube { kind, .. }, Body::Whole(body)) = (&frame.origin, &frame.body) else {
        return;
    };
    let mut object: Value = serde_json::from_slice(body).unwrap();
    for container in object["spec"]["containers"].as_array_mut().into_iter().flatten() {
        for variable in container["env"].as_array_mut().into_iter().flatten() {
            if variable["name"] == "NATS_SERVER" {
                variable["value"] = nats.into();
            }
        }
    }
    let ip = ip.map_or_else(|| "127.9.9.9".to_owned(), |ip| ip.to_string());
    objects::put_at(kube, kind, object, frame.at, &ip);
}

/// Returns the sum of the samples of `family` whose labels contain `label`.
fn sum(page: &str, family: &str, label: &str) -> f64 {
    let of = |line: &str| {
        let rest = line.strip_prefix(family)?;
        let (labels, value) = rest.rsplit_once(' ')?;
        let named = rest.starts_with(['{', ' ']) && labels.contains(label);
        named.then(|| value.parse::<f64>().unwrap_or(f64::NAN))
    };
    page.lines().filter_map(of).sum()
}

/// Returns the shards to measure.
fn wanted() -> Vec<u64> {
    let named = std::env::var("KVTOP_SHARDS").unwrap_or_default();
    let named: Vec<u64> = named.split(',').filter_map(|number| number.parse().ok()).collect();
    if named.is_empty() { (1..=SHARDS).collect() } else { named }
}

/// Plays until the exporter shows every worker and has read everything; returns how long that took.
async fn until_ready(
    stage: &mut Stage,
    workers: usize,
    publisher: &Publisher,
    exporter: &Exporter,
) -> Duration {
    let begun = clock::now();
    let (namespaces, workers) = (stage.simulations.len(), stage.simulations.len() * workers);
    loop {
        stage.play(publisher, Duration::from_secs(5)).await;
        let page = exporter.ask("GET /metrics");
        let found = (sum(&page, "kvtop_ready", ""), sum(&page, "kvtop_workers", ""));
        let passed = clock::now().since(begun);
        if found == (namespaces as f64, workers as f64) {
            return passed;
        }
        assert!(passed < Duration::from_secs(300), "{found:?} of {namespaces}, {workers}");
    }
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
async fn measure(number: u64, workers: usize, program: &str) {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    let ours = |name: &str| xxh3_64(name.as_bytes()) % SHARDS == number - 1;
    let mut stage = Stage::new(&server.url(), NAMESPACES, workers, Duration::from_secs(5), ours);
    stage.advance(&publisher).await;
    let kubeconfig = stage.kube.kubeconfig_in("east", "default").display().to_string();
    let of = format!("{number}/{SHARDS}");
    // Named with --nats-url, one server would send each watcher the events of all namespaces.
    let all = ["-A", "--shard", &of, "--kubeconfig", &kubeconfig];
    let arguments = [&all[..], &["--no-port-forward"]].concat();
    let exporter = Exporter::of_program(program, "127.0.0.1:0", &arguments);
    let ready = until_ready(&mut stage, workers, &publisher, &exporter).await;

    let ((cpu, _), start, before) = (usage(exporter.child.id()), clock::now(), stage.published);
    let (own, _) = usage(std::process::id());
    let (mut scrape, mut packed) = (Duration::ZERO, 0);
    for _ in 0..SCRAPES {
        stage.play(&publisher, SCRAPE).await;
        let asked = clock::now();
        let head = "Accept-Encoding: gzip\r\n";
        packed = bytes_asked(exporter.connect(), "GET /metrics", head).len();
        scrape = scrape.max(clock::now().since(asked));
    }
    let seconds = clock::now().since(start).as_secs_f64();
    let stage_share = (usage(std::process::id()).0 - own) / seconds * 100.0;
    let (after, megabytes) = usage(exporter.child.id());
    let sent = stage.published - before;
    // The last messages are on their way while the last page is written.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let page = exporter.ask("GET /metrics");
    let fate = |fate: &str| sum(&page, "kvtop_stream_messages", &format!("fate=\"{fate}\""));
    let lost = ["dropped", "missing", "unseen"].map(fate);
    let dropped = sum(&page, "kvtop_source_dropped_total", "");
    println!(
        "shard {of}: {} namespaces, {} workers, {:.0} messages/s: {:.1} % of a core, {megabytes} MB; ready after {} \
         s; page of {:.1} MB, {:.2} MB compressed, within {} ms; {dropped} frames dropped; of {} stream messages \
         {lost:?} dropped, missing, unseen; the stage took {stage_share:.0} %",
        stage.simulations.len(),
        stage.simulations.len() * workers,
        sent as f64 / seconds,
        (after - cpu) / seconds * 100.0,
        ready.as_secs(),
        page.len() as f64 / 1e6,
        packed as f64 / 1e6,
        scrape.as_millis(),
        fate("published"),
    );
    for line in page.lines().filter(|line| line.starts_with("kvtop_source_dropped_total")) {
        if !line.ends_with(" 0") {
            println!("  {line}");
        }
    }
    assert!(sent > 0 && fate("published") > 0.0);
    assert!(dropped + lost.iter().sum::<f64>() < 0.5, "{dropped} {lost:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "plays 2,000 workers for two minutes, five times; KVTOP_SHARDS=1,2 names the shards, KVTOP_BIN another build"]
async fn shards_of_ten_thousand_workers_drop_nothing() {
    let program = std::env::var("KVTOP_BIN");
    let program = program.as_deref().unwrap_or(env!("CARGO_BIN_EXE_kvtop"));
    let workers = std::env::var("KVTOP_SHARD_WORKERS").ok().and_then(|count| count.parse().ok());
    for number in wanted() {
        measure(number, workers.unwrap_or(WORKERS), program).await;
    }
}

/// Whoever reads KV events of every deployment may call it OK, which the fleet view never does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_calls_a_deployment_ok_once_its_events_are_read() {
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    let mut stage = Stage::new(&server.url(), 2, 3, Duration::from_secs(90), |_| true);
    stage.advance(&publisher).await;
    let kubeconfig = stage.kube.kubeconfig_in("east", "default").display().to_string();
    let mut check = tokio::process::Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "-A", "--for", "5s", "--wait", "40s", "--no-port-forward"])
        .args(["--kubeconfig", &kubeconfig, "--nats-url", &server.url()])
        .env("HOME", scratch())
        .env_remove("XDG_CONFIG_HOME")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while check.try_wait().unwrap().is_none() {
        stage.advance(&publisher).await;
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let output = check.wait_with_output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("KVTOP OK - 2 deployments: 2 OK | "), "{text}");
    for row in ["group-000/serve-000: KVTOP OK - ", "group-001/serve-001: KVTOP OK - "] {
        assert!(text.contains(row), "{text}");
    }
}
