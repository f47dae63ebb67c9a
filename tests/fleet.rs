//! Several deployments at once: the fleet view, `check -A` and `export -A`, over a Kubernetes API with 21 of them.

mod recorded;
mod shards;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kvtop::clock;
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::simulator::{EngineSettings, Platform, Service, SimConfig, Simulation, Site};
use serde_json::{Value, json};

use crate::support::endpoint::{Endpoint, Manners};
use crate::support::exporter::Exporter;
use crate::support::kube_api::{FakeKube, LogState};
use crate::support::pty::Pty;
use crate::support::scratch;
use crate::support::users_cluster::{BAD, GOOD, healthy, objects};

/// Deployments at the start.
const COUNT: usize = 21;
/// The one whose workers publish blocks of another size than their engines make.
const FAULTY: usize = 7;
/// The one whose router can be neither read nor scraped.
const SILENT: usize = 13;

fn name(number: usize) -> &'static str {
    format!("team-{number:02}").leak()
}

/// A deployment with two workers, which differ in size from their engines where it is faulty.
fn deployment(number: usize) -> Simulation {
    let site = Site {
        kube_namespace: name(number),
        namespace: format!("{0}-{0}", name(number)).leak(),
        deployment: format!("chat-{number:02}").leak(),
        model: "Qwen/Qwen3-32B",
        platform: Platform::Grove,
        settings: EngineSettings::Override,
    };
    let worker = if number == FAULTY { BAD } else { GOOD };
    let config = SimConfig {
        site: Box::leak(Box::new(site)),
        workers: vec![worker; 2],
        repaired: vec![GOOD; 2],
        service: Service { concurrency: 4, ..Service::small() },
        ..healthy()
    };
    let start = clock::now().before(Duration::from_secs(90));
    Simulation::with(config, number as u64, start)
}

/// Returns what newer releases report beside what the simulated one does: the time in an engine's queue, and the
/// workers that a router has registered.
fn newer(pod: &str, seconds: u64) -> String {
    if pod.contains("frontend") {
        let name = "dynamo_component_router_worker_registered";
        let of = |worker| format!("{name}{{dp_rank=\"0\",router_worker_id=\"{worker}\"}} 1\n");
        return of(1) + &of(2);
    }
    let name = "trtllm_request_queue_time_seconds_bucket";
    format!("{name}{{le=\"0.5\"}} {seconds}\n{name}{{le=\"+Inf\"}} {seconds}\n")
}

/// The playing deployments.
struct Stage {
    kube: FakeKube,
    simulations: Vec<Simulation>,
    endpoints: BTreeMap<String, Endpoint>,
    /// True when pods report what newer releases do.
    newer: bool,
}

impl Stage {
    fn advance(&mut self) {
        let now = clock::now();
        for number in 0..self.simulations.len() {
            for frame in self.simulations[number].advance(now) {
                self.show(&frame);
            }
        }
    }

    fn add(&mut self, number: usize) {
        self.kube.object(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name(number) },
            "status": { "phase": "Active" },
        }));
        self.simulations.push(deployment(number));
    }

    /// Shows a frame as a cluster would; KV events go to a server that cannot be reached.
    fn show(&mut self, frame: &Frame) {
        let Body::Whole(body) = &frame.body else { return };
        let text = || String::from_utf8(body.to_vec()).unwrap();
        match &frame.origin {
            Origin::Log { pod, .. } => {
                self.kube.log_line_at(pod, "main", frame.at, &text());
            }
            Origin::Metrics { pod, .. } => {
                let more = if self.newer { newer(pod, frame.at.seconds()) } else { String::new() };
                let page = Manners::Text((text() + &more).leak());
                if let Some(endpoint) = self.endpoints.get(&**pod) {
                    endpoint.behave(page);
                    return;
                }
                let endpoint = Endpoint::start(page);
                let port = if pod.contains("frontend") { 8000 } else { 9090 };
                if !pod.starts_with(&format!("chat-{SILENT:02}-")) {
                    self.kube.forward(pod, port, endpoint.address);
                }
                self.endpoints.insert(pod.to_string(), endpoint);
            }
            Origin::Kube { kind, change } if *change != KubeChange::Deleted => {
                let mut object: Value = serde_json::from_slice(body).unwrap();
                if ["chat-02", "chat-04"].map(Value::from).contains(&object["metadata"]["name"]) {
                    object["metadata"]["labels"]["tier"] = "gold".into();
                }
                let pod = object["metadata"]["name"].as_str().unwrap().to_owned();
                if &**kind == "Pod" && pod.starts_with(&format!("chat-{SILENT:02}-")) {
                    self.kube.log_state(&pod, "main", LogState::KubeletDown);
                }
                objects::put(&self.kube, kind, object, frame.at);
            }
            _ => {}
        }
    }
}

/// A cluster that plays until it is dropped.
pub(crate) struct Cluster {
    stage: Arc<Mutex<Stage>>,
    ended: Arc<AtomicBool>,
    player: Option<std::thread::JoinHandle<()>>,
    pub(crate) kubeconfig: String,
}

impl Cluster {
    fn start() -> Self {
        Self::of(COUNT)
    }

    /// Starts one with so many deployments.
    pub(crate) fn of(count: usize) -> Self {
        Self::with(count, false)
    }

    /// Starts one with so many deployments, whose pods may report what newer releases do.
    pub(crate) fn with(count: usize, newer: bool) -> Self {
        let kube = FakeKube::start();
        let kubeconfig = kube.kubeconfig_in("east", "default").to_str().unwrap().to_owned();
        let (simulations, endpoints) = (Vec::new(), BTreeMap::new());
        let mut stage = Stage { kube, simulations, endpoints, newer };
        (0..count).for_each(|number| stage.add(number));
        stage.advance();
        let stage = Arc::new(Mutex::new(stage));
        let ended = Arc::new(AtomicBool::new(false));
        let player = std::thread::spawn({
            let (stage, ended) = (Arc::clone(&stage), Arc::clone(&ended));
            move || {
                while !ended.load(Ordering::Relaxed) {
                    stage.lock().unwrap().advance();
                    std::thread::sleep(Duration::from_millis(500));
                }
            }
        });
        Self { stage, ended, player: Some(player), kubeconfig }
    }

    fn screen(&self, size: (u16, u16)) -> Pty {
        let arguments = ["-A", "--kubeconfig", &self.kubeconfig];
        let vars = [("NATS_URL", ""), ("KUBECONFIG", "")];
        Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &vars, size)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(player) = self.player.take() {
            drop(player.join());
        }
    }
}

/// Returns the row of the deployment `number`.
fn row(screen: &str, number: usize) -> String {
    let of = |line: &&str| line.contains(&format!("chat-{number:02}"));
    screen.lines().find(of).unwrap_or_default().to_owned()
}

#[test]
fn a_fleet_shows_the_worst_deployment_first_and_calls_none_healthy() {
    let cluster = Cluster::start();
    for size in [(120, 36), (80, 24)] {
        let mut pty = cluster.screen(size);
        pty.wait_for("all deployments, judged", |screen| {
            screen.contains(&format!("{COUNT} deployments"))
                && row(screen, FAULTY).contains("critical")
                && !screen.contains("connecting")
                && screen.contains(" 1 unknown")
        });
        pty.wait_for("latencies", |screen| row(screen, 1).contains("ms") || size.0 < 100);
        let text = pty.screen(vt100::Screen::contents);
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("chat-")).collect();
        assert!(rows[0].contains("chat-07") && rows[0].contains("KVT001"), "{text}");
        assert!(rows[1].contains("chat-13") && rows[1].contains("unknown"), "{text}");
        assert!(rows[2].contains("no problem seen"), "{text}");
        assert!(!text.contains('✓') && !text.contains("HEALTHY"), "{text}");

        pty.send("\r");
        pty.wait_for("the faulty deployment", |screen| {
            screen.contains("KVT001") && screen.contains("[1") && !screen.contains("chat-00")
        });
        pty.send("\u{1b}");
        pty.wait_for("the fleet again", |screen| screen.contains("chat-00"));
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
    let others: BTreeSet<String> = cluster
        .stage
        .lock()
        .unwrap()
        .kube
        .requests()
        .into_iter()
        .filter(|request| request.method != "GET")
        .map(|request| format!("{} {}", request.method, request.path))
        .collect();
    assert!(others.iter().all(|request| request.ends_with("/portforward")), "{others:?}");
}

#[test]
fn deployments_come_and_go_while_the_fleet_is_shown() {
    let cluster = Cluster::start();
    let pty = cluster.screen((120, 36));
    pty.wait_for("the first deployments", |screen| screen.contains("21 deployments"));
    cluster.stage.lock().unwrap().add(COUNT);
    pty.wait_for("a new deployment", |screen| screen.contains("22 deployments"));
    cluster.stage.lock().unwrap().kube.delete("DynamoGraphDeployment", "chat-00");
    pty.wait_for("a deployment less", |screen| {
        screen.contains("21 deployments") && row(screen, 0).is_empty()
    });
}

#[test]
fn a_cluster_that_may_not_be_listed_says_what_is_not_shown() {
    let cluster = Cluster::start();
    cluster.stage.lock().unwrap().kube.deny("list", "dynamographdeployments");
    let pty = cluster.screen((80, 24));
    pty.wait_for("what is missing", |screen| {
        screen.contains("no deployment found") && screen.contains("not shown: ")
    });
}

#[test]
fn check_has_a_line_for_each_deployment_and_the_worst_exit_code() {
    let cluster = Cluster::start();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
            .args(["check", "-A", "--for", "2s", "--wait", "12s", "--kubeconfig"])
            .arg(&cluster.kubeconfig)
            .args(arguments)
            .env("HOME", scratch())
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = run(&[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.starts_with("KVTOP CRITICAL - 21 deployments: 1 CRITICAL, 20 UNKNOWN | "),
        "{text}"
    );
    assert_eq!(text.lines().count(), COUNT + 1);
    let second = text.lines().nth(1).unwrap();
    assert!(second.starts_with("team-07/chat-07: KVTOP CRITICAL - KVT001 "), "{text}");
    let (code, text) = run(&["-o", "json"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &json["status"]), (Some(2), &json!("CRITICAL")));
    assert_eq!(json["deployments"].as_array().unwrap().len(), COUNT);
    assert_eq!(json["deployments"][FAULTY]["report"]["status"], "CRITICAL");
    crate::conventions::valid("check-fleet", [("21".to_owned(), json)].into_iter());
}

/// Returns the namespaces of the series `kvtop_ready` on a page of metrics.
fn namespaces(page: &str) -> BTreeSet<String> {
    let of = |line: &str| {
        let rest = line.strip_prefix("kvtop_ready{")?.split("namespace=\"").nth(1)?;
        Some(rest.split('"').next()?.to_owned())
    };
    page.lines().filter_map(of).collect()
}

#[test]
fn shards_of_exporters_watch_each_namespace_once() {
    let cluster = Cluster::start();
    let exporter = |more: &[&str]| {
        let arguments = [&["--kubeconfig", &cluster.kubeconfig], more].concat();
        Exporter::started("127.0.0.1:0", &arguments)
    };
    let shards = ["1/3", "2/3", "3/3"].map(|shard| exporter(&["-A", "--shard", shard]));
    let watched: Vec<BTreeSet<String>> =
        shards.iter().map(|it| namespaces(&it.ask("GET /metrics"))).collect();
    assert!(watched.iter().all(|names| !names.is_empty()), "{watched:?}");
    assert_eq!(watched.iter().map(BTreeSet::len).sum::<usize>(), COUNT, "{watched:?}");
    let all: BTreeSet<String> = watched.into_iter().flatten().collect();
    assert_eq!(all, (0..COUNT).map(|number| name(number).to_owned()).collect());

    let chosen = exporter(&["-A", "-l", "tier=gold"]);
    let page = chosen.ask("GET /metrics");
    assert_eq!(namespaces(&page), BTreeSet::from(["team-02".to_owned(), "team-04".to_owned()]));
    let named = exporter(&["-n", "team-03", "-n", "chat-05"]);
    let page = named.ask("GET /metrics");
    assert_eq!(namespaces(&page), BTreeSet::from(["team-03".to_owned(), "team-05".to_owned()]));
    let refused = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["record", "-o", "x.frames", "-n", "a", "-n", "b"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--namespace may be repeated"));
}

/// Returns the seconds on processors and the resident megabytes of a process.
fn usage(pid: u32) -> (f64, u64) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let stat = read("stat");
    // Behind the name, the state is the third field, and user and system time are the 14th and 15th (proc(5)).
    // Fields are counted, not numbers: without a terminal one of those between is -1.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11..=12].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    let pages: u64 = read("statm").split_whitespace().nth(1).unwrap().parse().unwrap();
    (ticks as f64 / 100.0, pages * 4096 / 1_000_000)
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
#[ignore = "measures 200 playing deployments, or KVTOP_DEPLOYMENTS, for six minutes; KVTOP_BIN names another build"]
fn a_fleet_of_200_deployments_costs_little() {
    let count =
        std::env::var("KVTOP_DEPLOYMENTS").ok().and_then(|it| it.parse().ok()).unwrap_or(200);
    let cluster = Cluster::of(count);
    let all = format!("{count} deployments");
    let program = std::env::var("KVTOP_BIN");
    let program = program.as_deref().unwrap_or(env!("CARGO_BIN_EXE_kvtop"));
    let vars = [("NATS_URL", ""), ("KUBECONFIG", "")];
    let arguments = ["-A", "--kubeconfig", &cluster.kubeconfig];
    let pty = Pty::spawn(program, &arguments, &vars, (160, 230));
    pty.wait_for("all deployments", |screen| screen.contains(&all));
    std::thread::sleep(Duration::from_secs(60));
    let (before, _) = usage(pty.pid());
    std::thread::sleep(Duration::from_secs(60));
    let (after, early) = usage(pty.pid());
    // Counts of the last five minutes are kept by time.
    std::thread::sleep(Duration::from_secs(240));
    let (_, megabytes) = usage(pty.pid());
    let connections = std::fs::read_dir(format!("/proc/{}/fd", pty.pid())).unwrap().count();
    let screen = pty.screen(vt100::Screen::contents);
    let core = (after - before) / 60.0 * 100.0;
    println!(
        "{screen}\n{core:.1} % of a core, {early} MB after two minutes, {megabytes} MB after six, {connections} file \
         handles"
    );
    assert!(screen.contains(&all), "{screen}");
}
