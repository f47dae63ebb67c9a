//! A publisher of real libzmq, as Dynamo's workers are one: a process of its own, gone when dropped.
#![expect(clippy::expect_used, clippy::panic, reason = "without a publisher there is no test")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(40);

/// The parts of a message.
pub(crate) type Parts = Vec<Vec<u8>>;

/// A running publisher.
pub(crate) struct LibzmqPublisher {
    child: Child,
    stdin: Option<ChildStdin>,
    said: mpsc::Receiver<String>,
    /// What it said so far.
    pub(crate) heard: Vec<String>,
    port: u16,
}

/// Returns a Python that has libzmq.
fn python() -> PathBuf {
    let local = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/zmq/bin/python");
    let named = std::env::var_os("KVTOP_TEST_PYTHON").map(PathBuf::from);
    let candidates = [named, Some(local), Some("python3".into())];
    let works = |python: &PathBuf| {
        let tried = Command::new(python).args(["-c", "import zmq"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    };
    candidates.into_iter().flatten().find(works).expect(
        "these tests need a Python with pyzmq: run tests/run, which gets it into target/tools, or \
         set KVTOP_TEST_PYTHON",
    )
}

impl LibzmqPublisher {
    pub(crate) fn start() -> Self {
        Self::on(0)
    }

    /// Starts one on `port`; on any when it is 0.
    pub(crate) fn on(port: u16) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/publisher.py");
        let mut command = Command::new(python());
        command.arg(script).arg(port.to_string());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a publisher");
        let (sender, said) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut publisher = Self { child, stdin, said, heard: Vec::new(), port };
        let line = publisher.wait_for("port ");
        publisher.port = line.trim_start_matches("port ").parse().unwrap();
        publisher
    }

    /// Sends it a signal by name, such as STOP.
    pub(crate) fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        kill.args(["-s", name, &self.child.id().to_string()]);
        assert!(kill.status().is_ok_and(|status| status.success()), "kill -s {name}");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("tcp://127.0.0.1:{}", self.port)
    }

    /// Waits for the next line that starts with `what`.
    pub(crate) fn wait_for(&mut self, what: &str) -> String {
        loop {
            let Ok(line) = self.said.recv_timeout(PATIENCE) else {
                panic!("the publisher never said `{what}`: {:?}", self.heard);
            };
            self.heard.push(line.clone());
            if line.starts_with(what) {
                return line;
            }
        }
    }

    /// Returns everything that it said until it ended.
    pub(crate) fn everything(&mut self) -> &[String] {
        self.heard.extend(self.said.iter());
        &self.heard
    }

    /// Publishes `messages` in order, and returns once they are handed to libzmq.
    pub(crate) fn publish(&mut self, messages: &[Parts]) {
        let mut sent = 0;
        for lot in messages.chunks(500) {
            let text: String = lot.iter().map(line).collect();
            self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
            let until = sent + lot.len();
            while sent < until {
                let said = self.wait_for("sent ");
                sent += said.trim_start_matches("sent ").parse::<usize>().unwrap();
            }
        }
    }

    /// Ends it.
    pub(crate) fn stop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn line(parts: &Parts) -> String {
    let words: Vec<String> = parts
        .iter()
        .map(|part| if part.is_empty() { "-".to_owned() } else { STANDARD.encode(part) })
        .collect();
    words.join(" ") + "\n"
}

impl Drop for LibzmqPublisher {
    fn drop(&mut self) {
        self.stop();
    }
}
