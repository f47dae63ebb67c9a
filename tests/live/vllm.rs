//! A real vLLM (CPU build, tiny model, random weights) under Dynamo 1.6.1: kvtop's counts against the engines'.
//!
//! Runs where `KVTOP_LIVE_VLLM` names a folder that `tests/live/install` has filled; about three minutes.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kvtop::clock;
use serde_json::Value;

use crate::support::scratch;

const WORKERS: u16 = 2;
const BLOCK_SIZE: u64 = 32;
const MODEL: &str = "tiny";
const FRONTEND: &str = "http://127.0.0.1:15800";

/// How long engines may take to load on a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);

fn engine(worker: u16) -> String {
    format!("tcp://127.0.0.1:{}", 20_080 + worker)
}

fn system(worker: u16) -> String {
    format!("http://127.0.0.1:{}", 15_880 + worker)
}

/// Processes that end with the test.
struct Stage {
    root: PathBuf,
    folder: PathBuf,
    running: Vec<Child>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in &mut self.running {
            let group = format!("-{}", child.id());
            drop(Command::new("kill").args(["-TERM", "--", &group]).status());
        }
        std::thread::sleep(Duration::from_secs(3));
        for child in &mut self.running {
            let group = format!("-{}", child.id());
            drop(Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status());
            drop(child.wait());
        }
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live").join(name)
}

impl Stage {
    fn python(&self) -> Command {
        Command::new(self.root.join("venv/bin/python"))
    }

    /// Starts a part of Dynamo in a process group of its own.
    fn start(&mut self, name: &str, arguments: &[&str], variables: &[(&str, String)]) {
        use std::os::unix::process::CommandExt as _;
        let log = File::create(self.folder.join(format!("{name}.log"))).unwrap();
        let mut command = self.python();
        command.args(arguments).args(["--discovery-backend", "file", "--request-plane", "tcp"]);
        for loopback in [
            "DYN_TCP_RPC_HOST",
            "DYN_SYSTEM_HOST",
            "DYN_HTTP_HOST",
            "DYN_EVENT_PLANE_HOST",
            "VLLM_HOST_IP",
        ] {
            command.env(loopback, "127.0.0.1");
        }
        command
            .env("DYN_FILE_KV", self.folder.join("discovery"))
            .env("HF_HUB_OFFLINE", "1")
            .env("VLLM_NO_USAGE_STATS", "1")
            .env("VLLM_CPU_KVCACHE_SPACE", "1")
            .env("VLLM_CPU_OMP_THREADS_BIND", "nobind")
            .env("OMP_NUM_THREADS", "1")
            .env("GLOO_SOCKET_IFNAME", "lo")
            .envs(variables.iter().map(|(name, value)| (*name, value)));
        let child = command.stdin(Stdio::null()).stderr(log.try_clone().unwrap()).stdout(log);
        self.running.push(child.process_group(0).spawn().unwrap());
    }

    fn up(root: PathBuf) -> Self {
        let mut stage = Self { root, folder: scratch(), running: Vec::new() };
        let model = stage.root.join("model").display().to_string();
        for worker in 1..=WORKERS {
            let events = format!(
                r#"{{"enable_kv_cache_events":true,"publisher":"zmq","topic":"kv-events","endpoint":"tcp://*:{}"}}"#,
                20_080 + worker
            );
            let arguments = [
                "-m",
                "dynamo.vllm",
                "--model",
                &model,
                "--served-model-name",
                MODEL,
                "--load-format",
                "dummy",
                "--dtype",
                "bfloat16",
                "--max-model-len",
                "2000",
                "--enforce-eager",
                "--enable-prefix-caching",
                "--num-gpu-blocks-override",
                "64",
                "--block-size",
                "32",
                "--kv-events-config",
                &events,
            ];
            let port = |first: u16| (first + worker).to_string();
            let variables = [
                ("DYN_SYSTEM_PORT", port(15_880)),
                ("VLLM_PORT", (21_000 + 100 * worker).to_string()),
            ];
            stage.start(&format!("worker{worker}"), &arguments, &variables);
        }
        let frontend = [
            "-m",
            "dynamo.frontend",
            "--http-port",
            "15800",
            "--http-host",
            "127.0.0.1",
            "--router-mode",
            "kv",
        ];
        stage.start("frontend", &frontend, &[]);
        let until = clock::now().after(PATIENCE);
        while stage.registered() < usize::from(WORKERS)
            || !get(&format!("{FRONTEND}/v1/models")).contains(MODEL)
        {
            let ended = stage.running.iter_mut().any(|child| child.try_wait().unwrap().is_some());
            assert!(!ended && clock::now() < until, "see the logs in {}", stage.folder.display());
            std::thread::sleep(Duration::from_secs(1));
        }
        stage
    }

    /// Returns how many workers have an endpoint for requests.
    fn registered(&self) -> usize {
        let folder = self.folder.join("discovery/v1/instances");
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|it| it.file_name().to_string_lossy().contains("generate")).count()
    }

    fn ask(&self) {
        let status = self.python().arg(script("ask.py")).args([FRONTEND, MODEL]).status().unwrap();
        assert!(status.success());
    }
}

fn curl(arguments: &[&str]) -> String {
    let output = Command::new("curl").args(["-s", "-m", "20"]).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn get(url: &str) -> String {
    curl(&[url])
}

/// Returns the sum of a metric on a page.
fn metric(page: &str, name: &str) -> f64 {
    let lines = page.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// Returns the prompt tokens that an engine found in its cache and looked up in it since it started.
fn looked_up(worker: u16) -> [f64; 2] {
    let page = get(&format!("{}/metrics", system(worker)));
    ["vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"]
        .map(|name| metric(&page, name))
}

/// Counts what engines say, apart from kvtop.
struct Tap {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Tap {
    fn start(stage: &Stage) -> Self {
        let endpoints = (1..=WORKERS).map(engine);
        let mut child = stage
            .python()
            .arg(script("tap.py"))
            .args(endpoints)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn counts(&mut self) -> Vec<Value> {
        writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
        let mut count = || {
            let mut line = String::new();
            self.lines.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        (0..WORKERS).map(|_| count()).collect()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Plays the recording to its end and compares each worker with the engine that it was linked to.
fn compare(stage: &Stage, record: &Path, tap: &mut Tap, before: &[[f64; 2]]) {
    let engines = tap.counts();
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["snapshot", "-o", "json", "--replay"])
        .arg(record)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let claims = report["claims"].as_array().unwrap();
    for (number, truth) in (1..=WORKERS).zip(engines) {
        let source = format!("KV events of the engine at {}", engine(number));
        let claim = claims.iter().find(|it| it["source"] == source.as_str()).unwrap();
        assert_eq!(
            (&claim["value"], &truth["block_size"]),
            (&BLOCK_SIZE.into(), &BLOCK_SIZE.into())
        );
        let id = claim["subject"].as_str().unwrap().strip_prefix("worker/").unwrap();
        let worker =
            report["workers"].as_array().unwrap().iter().find(|it| it["id"] == id).unwrap();
        assert_eq!(worker["held"], truth["held"], "blocks held: {worker}");
        assert_eq!(worker["accepted"], truth["held"], "blocks in the index: {worker}");
        assert_eq!(worker["cleared"], truth["cleared"], "clears: {worker}");
        assert_eq!(worker["capacity_blocks"], 64, "{worker}");
        let [found, asked] = looked_up(number);
        let [found_before, asked_before] = before[usize::from(number - 1)];
        let (asked, found) = (asked - asked_before, found - found_before);
        let seen = worker["hit_rate"].as_f64().unwrap();
        let share = found / asked;
        assert!(asked > 0.0 && (seen - share).abs() < 1e-6, "hits: {seen}, the engine {share}");
    }
    let text = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["check", "--replay"])
        .arg(record)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        !text.contains("CRITICAL") && !text.contains("WARNING"),
        "{text} ({})",
        stage.folder.display()
    );
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test should say so")]
fn blocks_hits_and_clears_are_those_of_the_engines() {
    let Some(root) = std::env::var_os("KVTOP_LIVE_VLLM") else {
        eprintln!("skipped: KVTOP_LIVE_VLLM names no folder that tests/live/install has filled");
        return;
    };
    let stage = Stage::up(root.into());
    let mut tap = Tap::start(&stage);
    let recorded = |name: &str, act: &dyn Fn()| {
        let record = stage.folder.join(name);
        let mut arguments = vec![
            "--discovery-dir".to_owned(),
            stage.folder.join("discovery").display().to_string(),
        ];
        arguments.extend(["--frontend-url".to_owned(), FRONTEND.to_owned()]);
        for worker in 1..=WORKERS {
            arguments.extend([
                "--engine".to_owned(),
                engine(worker),
                "--frontend-url".to_owned(),
                system(worker),
            ]);
        }
        let mut kvtop = Command::new(env!("CARGO_BIN_EXE_kvtop"))
            .args(["record", "-o"])
            .arg(&record)
            .args(arguments)
            .env_remove("NATS_URL")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(5));
        act();
        // Metrics are read every five seconds.
        std::thread::sleep(Duration::from_secs(12));
        drop(Command::new("kill").args(["-INT", &kvtop.id().to_string()]).status());
        assert!(kvtop.wait().unwrap().success());
        record
    };

    let counted = || (1..=WORKERS).map(looked_up).collect::<Vec<_>>();
    let before = counted();
    let filled = recorded("filled.frames", &|| stage.ask());
    compare(&stage, &filled, &mut tap, &before);

    let before = counted();
    let flushed = recorded("flushed.frames", &|| {
        for worker in 1..=WORKERS {
            let url = format!("{}/engine/flush_cache", system(worker));
            curl(&["-X", "POST", "-H", "content-type: application/json", "-d", "{}", &url]);
        }
        // vLLM says that it cleared its cache with the next step.
        stage.ask();
    });
    compare(&stage, &flushed, &mut tap, &before);
}
