//! Fresh attaches: the cluster is played up to a step, then `kvtop` meets it.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use kvtop::clock;
use kvtop::domain::Timestamp;
use kvtop::simulator::{EngineSettings, RouterMode, SimConfig, Simulation, Site};
use serde_json::Value;

use super::row;
use super::table::Row;
use crate::support::pty::Pty;
use crate::support::users_cluster::{BAD, GOOD, NAMESPACE, OTHERS, Past, UsersCluster, healthy};

/// How long a screen may take, on a machine that other builds have.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a verdict has to stay.
const STAYS: Duration = Duration::from_secs(4);
const SIZE: (u16, u16) = (140, 40);

/// A step and the moment in which it is met.
pub(super) struct Step {
    name: &'static str,
    config: SimConfig,
    past: Past,
    /// The name after `-n`.
    called: &'static str,
    wanted: Wanted,
}

/// What is to be said.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// Nothing is wrong.
    Healthy,
    /// This finding leads. The fix or its progress has these words, and the pods of these places are named,
    /// no others.
    Found { id: &'static str, status: &'static str, words: &'static [&'static str] },
    /// Nothing is wrong, and this finding is a note in these words.
    Note { id: &'static str, words: &'static str },
}

/// The deployment with the engines' settings in a `ConfigMap`.
const WITH_CONFIG_MAP: Site = Site { settings: EngineSettings::ConfigMap, ..Site::GTC_DEMO };

const KVT001: Wanted =
    Wanted::Found { id: "KVT001", status: "CRITICAL", words: &["--override-engine-args"] };

fn ago(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn since(seconds: u64) -> Past {
    Past::since(ago(seconds))
}

impl Past {
    /// Engines get blocks of 16 tokens, and all workers restart.
    fn broken(self, at: u64) -> Self {
        self.then(ago(at), |it| it.deploy(&[BAD; 3])).then(ago(at - 2), Simulation::restart_workers)
    }

    /// The right setting is written; nothing restarts.
    fn corrected(self, at: u64) -> Self {
        self.then(ago(at), |it| it.deploy(&[GOOD; 3]))
    }

    fn restarted(self, at: u64) -> Self {
        self.then(ago(at), Simulation::restart_workers)
    }

    fn switched(self, at: u64, mode: RouterMode) -> Self {
        self.then(ago(at), move |it| it.switch_mode(mode)).restarted(at - 2)
    }
}

fn with_config_map(config: SimConfig) -> SimConfig {
    SimConfig { site: &WITH_CONFIG_MAP, ..config }
}

fn step(name: &'static str, config: SimConfig, past: Past, wanted: Wanted) -> Step {
    Step { name, config, past, called: NAMESPACE, wanted }
}

fn found(id: &'static str, status: &'static str, words: &'static [&'static str]) -> Wanted {
    Wanted::Found { id, status, words }
}

/// Returns all steps.
pub(super) fn steps() -> Vec<Step> {
    let mut steps = incident();
    steps.extend(aftermath());
    steps
}

/// Returns the steps up to the fix.
fn incident() -> Vec<Step> {
    vec![
        step("a before the incident", healthy(), since(90), Wanted::Healthy),
        Step {
            called: "gtc-demo",
            ..step("a by its own name", healthy(), since(90), Wanted::Healthy)
        },
        step("b incident", healthy(), since(150).broken(100), KVT001),
        step(
            "b incident, ConfigMap",
            with_config_map(healthy()),
            since(150).broken(100),
            found("KVT001", "CRITICAL", &["trtllm-engine-config", "agg.yaml"]),
        ),
        step(
            "c declared 16",
            SimConfig { declared: Some(16), ..healthy() },
            since(90),
            Wanted::Note {
                id: "KVT016",
                words: "Frontend KV block size (16) does not match worker block size (32)",
            },
        ),
        step(
            "d fix applied",
            healthy(),
            since(200).broken(150).corrected(12),
            found("KVT001", "CRITICAL", &["0 of 3"]),
        ),
        step(
            "d fix applied, ConfigMap",
            with_config_map(healthy()),
            since(200).broken(150).corrected(12),
            found("KVT001", "CRITICAL", &["0 of 3"]),
        ),
        step(
            "e one restarted",
            healthy(),
            since(220).broken(170).corrected(30).then(ago(20), |it| it.restart_worker(0)),
            found("KVT001", "CRITICAL", &["1 of 3"]),
        ),
    ]
}

/// Returns the steps after the fix, those of the router among them.
fn aftermath() -> Vec<Step> {
    vec![
        step(
            "f just after",
            healthy(),
            since(240).broken(190).corrected(40).restarted(26),
            Wanted::Healthy,
        ),
        step(
            "f five minutes after",
            healthy(),
            since(420).broken(390).corrected(330).restarted(325),
            Wanted::Healthy,
        ),
        step(
            "g router lost history",
            healthy(),
            since(300).then_purged(ago(60)),
            found("KVT007", "CRITICAL", &[]),
        ),
        step(
            "g workers restarted",
            healthy(),
            since(400).then_purged(ago(120)).restarted(90),
            Wanted::Healthy,
        ),
        step(
            "h round-robin",
            healthy(),
            since(200).switched(60, RouterMode::RoundRobin),
            found("KVT005", "WARNING", &["DYN_ROUTER_MODE"]),
        ),
        step(
            "h kv again",
            healthy(),
            since(300).switched(200, RouterMode::RoundRobin).switched(100, RouterMode::Kv),
            Wanted::Healthy,
        ),
    ]
}

/// Meets the cluster at `step` with a screen and with `check`.
pub(super) fn meet(step: Step) -> Vec<Row> {
    let Step { name, config, past, called, wanted } = step;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cluster = runtime.block_on(UsersCluster::start(config, past));
    let mut rows = Vec::new();
    std::thread::scope(|scope| {
        let screen = scope.spawn(|| on_screen(&cluster, name, called, wanted));
        let times = if name == "b incident" { 3 } else { 1 };
        let checks: Vec<Row> =
            (0..times).map(|_| in_check(&cluster, name, called, wanted)).collect();
        let mut first = checks[0].clone();
        for other in &checks[1..] {
            first.expect(other.verdict == first.verdict, format!("then: {}", other.verdict));
            first.wrong.extend(other.wrong.iter().cloned());
        }
        rows.push(first);
        rows.push(screen.join().unwrap());
    });
    rows
}

fn in_check(cluster: &UsersCluster, name: &'static str, called: &str, wanted: Wanted) -> Row {
    let mut row = row(name, "check", "fresh");
    let began = clock::now();
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "-o", "json", "--for", "4s"])
        .args(cluster.arguments(called))
        .env_remove("NATS_URL")
        .env_remove("NATS_SERVER")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    row.seconds = clock::now().since(began).as_secs_f64();
    keep(name, "check", &output.stdout);
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
        "no report".clone_into(&mut row.verdict);
        row.wrong.push(String::from_utf8_lossy(&output.stderr).into_owned());
        return row;
    };
    let empty = Vec::new();
    let findings = report["findings"].as_array().unwrap_or(&empty);
    let leads = findings.iter().find(|it| it["severity"] != "info");
    let status = report["status"].as_str().unwrap_or_default();
    row.verdict = match leads {
        Some(finding) => format!("{status} {}", finding["id"].as_str().unwrap()),
        None => status.to_owned(),
    };
    match wanted {
        Wanted::Healthy => row.expect(row.verdict == "OK", said(&report)),
        Wanted::Note { id, words } => {
            row.expect(row.verdict == "OK", said(&report));
            let note = findings.iter().find(|it| it["id"] == id);
            let told = note.and_then(|it| it["summary"].as_str()).unwrap_or_default();
            row.expect(told.contains(words), format!("the note of {id} is `{told}`"));
            row.verdict = format!("{}, note {id}", row.verdict);
        }
        Wanted::Found { id, status, words } => {
            row.expect(row.verdict == format!("{status} {id}"), said(&report));
            let whole = leads.map(Value::to_string).unwrap_or_default();
            for word in words {
                row.expect(tells(&whole, word), format!("no `{word}` in {}", said(&report)));
            }
            let text = leads.map(|it| it["summary"].to_string()).unwrap_or_default();
            only_wrong_pods_are_named(cluster, name, &text, &mut row);
        }
    }
    never_named(cluster, &report.to_string(), &mut row);
    row
}

fn said(report: &Value) -> String {
    let mut text = report["status"].to_string();
    for finding in report["findings"].as_array().into_iter().flatten() {
        let [id, severity, summary] = ["id", "severity", "summary"].map(|key| &finding[key]);
        write!(text, "; {id} {severity} {summary}").unwrap();
    }
    text
}

fn on_screen(cluster: &UsersCluster, name: &'static str, called: &str, wanted: Wanted) -> Row {
    let mut row = row(name, "screen", "fresh");
    let arguments = cluster.arguments(called);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let vars = [("NATS_URL", ""), ("NATS_SERVER", "")];
    let began = clock::now();
    let pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &words, &vars, SIZE);
    let pods: Vec<String> = cluster.worker_pods();
    let shown = |screen: &str| is_shown(screen, wanted, &pods);
    row.seconds = match until(&pty, began, &shown) {
        Some(took) => took.as_secs_f64(),
        None => PATIENCE.as_secs_f64(),
    };
    let end = clock::now().after(STAYS);
    let mut left = None;
    while clock::now() < end {
        let screen = pty.screen(vt100::Screen::contents);
        if !shown(&screen) {
            left.get_or_insert(screen);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let screen = pty.screen(vt100::Screen::contents);
    keep(name, "screen", screen.as_bytes());
    row.verdict = verdict(&screen);
    if let Some(screen) = left {
        row.wrong.push(format!("it did not stay:\n{screen}"));
    }
    if let Wanted::Found { .. } = wanted {
        only_wrong_pods_are_named(cluster, name, &head(&screen), &mut row);
    }
    if name.starts_with("b ") {
        // New workers publish no blocks, and what those before them held is gone with them, whenever their events
        // are read.
        let held = screen.lines().find(|line| line.contains("index copy")).unwrap_or_default();
        row.expect(tells(held, "0 blocks"), held);
    }
    never_named(cluster, &screen, &mut row);
    pty.send("q");
    row
}

/// Returns true when the screen says what is wanted.
pub(super) fn is_shown(screen: &str, wanted: Wanted, pods: &[String]) -> bool {
    let alarmed = ["CRITICAL", "WARNING"].iter().any(|word| screen.contains(word));
    match wanted {
        Wanted::Healthy | Wanted::Note { .. } => {
            !alarmed && pods.iter().all(|pod| screen.contains(ending(pod)))
        }
        Wanted::Found { id, status, words } => {
            // Long flags may be wrapped or left out on a screen; the progress may not.
            let mut short = words.iter().filter(|word| word.contains(" of "));
            // While pods restart with the fix the screen says RECOVERING, and `check` how it is now.
            let rolls = words.contains(&"1 of 3") && screen.contains("RECOVERING");
            head(screen).contains(id)
                && (rolls || screen.contains(status))
                && short.all(|word| tells(screen, word))
        }
    }
}

/// Returns how long it took until the screen was as wanted, none when it never was.
pub(super) fn until(
    pty: &Pty,
    began: Timestamp,
    wanted: &dyn Fn(&str) -> bool,
) -> Option<Duration> {
    while clock::now().since(began) < PATIENCE {
        if wanted(&pty.screen(vt100::Screen::contents)) {
            return Some(clock::now().since(began));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Returns the random end of a pod's name, by which every short form of it can be told.
fn ending(pod: &str) -> &str {
    pod.rsplit('-').next().unwrap()
}

/// Returns the part of the screen above the workers' table.
pub(super) fn head(screen: &str) -> String {
    let end = screen.find("Workers 3").or_else(|| screen.find("─ Workers")).unwrap_or(screen.len());
    screen[..end].to_owned()
}

/// Returns true when `text` has `words`, and not as a part of longer numbers: `0 of 3` is not in
/// `350 of 355`.
pub(super) fn tells(text: &str, words: &str) -> bool {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == ',';
    text.match_indices(words).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + words.len()..]);
        !before.ends_with(is_number) && !after.starts_with(|letter: char| letter.is_ascii_digit())
    })
}

/// Returns what the screen leads with.
pub(crate) fn verdict(screen: &str) -> String {
    let head = head(screen);
    let mut lines = head.lines().skip_while(|line| !line.contains("KVT"));
    let first = lines.next().unwrap_or_default();
    let next = lines.next().unwrap_or_default();
    let id = first.find("KVT").and_then(|at| first.get(at..at + 6));
    let states = ["RECOVERING", "RESOLVED", "CRITICAL", "WARNING"];
    let state = states.iter().find(|state| {
        first.contains(**state) || (**state == "RECOVERING" && next.contains(**state))
    });
    match (state, id) {
        (Some(state), Some(id)) => format!("{state} {id}"),
        _ => "healthy".to_owned(),
    }
}

/// Where not every pod is wrong, only those that are may be named.
fn only_wrong_pods_are_named(cluster: &UsersCluster, name: &str, text: &str, row: &mut Row) {
    if !name.starts_with("e ") {
        return;
    }
    let pods = cluster.worker_pods();
    for (place, pod) in pods.iter().enumerate() {
        let named = text.contains(ending(pod));
        row.expect(named == (place != 0), format!("{pod} named: {named}"));
    }
}

/// Nothing of the other team's deployment may be named.
fn never_named(cluster: &UsersCluster, text: &str, row: &mut Row) {
    let mut names = vec![
        OTHERS.deployment.to_owned(),
        OTHERS.kube_namespace.to_owned(),
        OTHERS.model.to_owned(),
    ];
    names.extend(cluster.others_ids());
    for name in names {
        row.expect(!text.contains(&name), format!("`{name}` is of the other deployment"));
    }
}

/// Keeps what was said in the folder `STORY_DUMP`, for people.
pub(super) fn keep(step: &str, face: &str, text: &[u8]) {
    if let Some(folder) = std::env::var_os("STORY_DUMP") {
        let name = format!("{}.{face}", step.replace([' ', ','], "-"));
        std::fs::write(std::path::Path::new(&folder).join(name), text).unwrap();
    }
}

/// Keeps the cluster up for a person.
#[expect(clippy::print_stderr, reason = "a person reads how to attach")]
pub(super) fn stage() {
    let wanted = std::env::var("STORY_STEP").unwrap_or_else(|_| "b incident".to_owned());
    let step = steps().into_iter().find(|step| step.name == wanted).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cluster = runtime.block_on(UsersCluster::start(step.config, step.past));
    eprintln!("kvtop {}", cluster.arguments("gtc-demo").join(" "));
    for _ in 0..600 {
        for (file, act) in [
            ("deploy", (|it: &mut Simulation| it.deploy(&[GOOD; 3])) as fn(&mut Simulation)),
            ("restart", Simulation::restart_workers),
            ("restart-0", |it| it.restart_worker(0)),
            ("lose", Simulation::lose_router_history),
            ("round-robin", |it| it.switch_mode(RouterMode::RoundRobin)),
            ("kv", |it| it.switch_mode(RouterMode::Kv)),
        ] {
            let path = std::env::temp_dir().join("story-stage").join(file);
            if std::fs::remove_file(path).is_ok() {
                cluster.act(act);
            }
        }
        if std::env::temp_dir().join("story-stage/end").exists() {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}
