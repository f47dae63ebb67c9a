//! A diagonal of the matrix for the binary itself: real sockets, a Kubernetes API, and who attaches late.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use kvtop::clock;
use kvtop::simulator::{SimConfig, Simulation, WorkerConfig};
use kvtop::wire::encode::Family;
use serde_json::Value;

use super::play::Plane;
use crate::story::verdict;
use crate::support::pty::Pty;
use crate::support::users_cluster::{BAD, GOOD, NAMESPACE, Past, UsersCluster, healthy};

/// When the deployment started, and when it broke.
const STARTED: Duration = Duration::from_secs(170);
const BROKE: Duration = Duration::from_secs(100);
/// How long after the cure somebody attaches: the workers restart one by one, six seconds apart, and until the last
/// of them is back the fault is still there.
const AFTER: Duration = Duration::from_secs(26);
/// How long a screen may take, on a machine that other tests have.
const PATIENCE: Duration = Duration::from_secs(90);
const SIZE: (u16, u16) = (140, 40);

/// A fault, what it is called, and what cures it.
struct Fault {
    id: &'static str,
    /// The lead of the screen while it lasts.
    leads: &'static str,
    breaks: fn(&mut Simulation),
    cure: fn(&mut Simulation),
}

const FAULTS: [Fault; 2] = [
    Fault {
        id: "KVT001",
        leads: "CRITICAL KVT001",
        breaks: |it| {
            it.deploy(&[BAD; 3]);
            it.restart_workers();
        },
        cure: |it| {
            it.deploy(&[GOOD; 3]);
            it.restart_workers();
        },
    },
    Fault {
        id: "KVT003",
        // The template has the flag that the pod of the silent worker lacks, so the fix looks half rolled out.
        leads: "RECOVERING KVT003",
        breaks: |it| {
            it.deploy(&[GOOD, GOOD, WorkerConfig { publishes: false, ..GOOD }]);
            it.restart_worker(2);
        },
        cure: |it| {
            it.deploy(&[GOOD; 3]);
            it.restart_worker(2);
        },
    },
];

/// What is wrong with what was said.
struct Judge {
    name: String,
    wrong: Vec<String>,
}

impl Judge {
    fn expect(&mut self, fine: bool, what: &str, said: impl Into<String>) {
        if !fine {
            self.wrong.push(format!("{}, {what}: {}", self.name, said.into()));
        }
    }
}

/// Returns status and findings of a `check` that attaches now, the worst first.
fn checked(cluster: &UsersCluster) -> (String, Vec<String>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "-o", "json", "--for", "20s"])
        .args(cluster.arguments(NAMESPACE))
        .env_remove("NATS_URL")
        .env_remove("NATS_SERVER")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let rows = report["findings"].as_array().cloned().unwrap_or_default();
    let loud = rows.iter().filter(|row| row["severity"] != "info" && row["advisory"] != true);
    let ids = loud.map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    let said = rows.iter().map(|row| format!("{} {}", row["id"], row["summary"]));
    let said = said.collect::<Vec<_>>().join("; ");
    (report["status"].as_str().unwrap_or("no report").to_owned(), ids, said)
}

/// Waits until the banner leads with `verdict`, such as `CRITICAL KVT001`; false if it never does.
fn leads_with(pty: &Pty, wanted: &str) -> bool {
    let until = clock::now().after(PATIENCE);
    while clock::now() < until {
        if verdict(&pty.screen(vt100::Screen::contents)) == wanted {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

fn meet(plane: Plane, fault: &Fault) -> Vec<String> {
    let family = match plane {
        Plane::Jetstream => Family::V0_9,
        Plane::Core => Family::V1_0,
        Plane::Zmq => Family::V1_6,
    };
    let past = Past::since(STARTED).then(BROKE, fault.breaks);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = SimConfig { family, ..healthy() };
    let cluster = runtime.block_on(UsersCluster::start(config, past));
    let name = format!("{} on {}", fault.id, plane.name());
    let mut judge = Judge { name, wrong: Vec::new() };
    let arguments = cluster.arguments(NAMESPACE);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let vars = [("NATS_URL", ""), ("NATS_SERVER", "")];
    let pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &vars, SIZE);

    let (status, ids, said) = checked(&cluster);
    let named = status == "CRITICAL" && ids.first().is_some_and(|id| id == fault.id);
    judge.expect(named, "check, attached late", format!("{status} {said}"));
    let seen = leads_with(&pty, fault.leads);
    judge.expect(seen, "screen, attached late", pty.screen(vt100::Screen::contents));

    cluster.act(fault.cure);
    std::thread::sleep(AFTER);
    let (status, ids, said) = checked(&cluster);
    let well = status == "OK" && ids.is_empty();
    judge.expect(well, "check, just after the cure", format!("{status} {said}"));
    let seen = leads_with(&pty, &format!("RESOLVED {}", fault.id));
    judge.expect(seen, "screen, after the cure", pty.screen(vt100::Screen::contents));
    pty.send("q");
    judge.wrong
}

#[test]
fn over_real_sockets_who_attaches_late_or_after_the_cure_is_told_the_truth() {
    let cases = Plane::ALL.into_iter().flat_map(|plane| FAULTS.iter().map(move |it| (plane, it)));
    let cases = Mutex::new(cases.collect::<Vec<_>>());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some((plane, fault)) = cases.lock().unwrap().pop() else { return };
                    let complaints = meet(plane, fault);
                    wrong.lock().unwrap().extend(complaints);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
