//! A real Prometheus, and its tool that checks metrics and rules.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::scratch;

/// Returns the program that `variable` names, or else `name` on the PATH or in target/tools.
fn binary(variable: &str, name: &str) -> PathBuf {
    if let Some(named) = std::env::var_os(variable) {
        return named.into();
    }
    let on_path = std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    let local = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools").join(name);
    on_path.or_else(|| Some(local).filter(|file| file.is_file())).unwrap_or_else(|| {
        panic!(
            "these tests need {name}: run tests/run, which gets it into target/tools, or set {variable}"
        )
    })
}

/// Runs `promtool` with `input` on its standard input.
pub(crate) fn promtool(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(binary("PROMTOOL_BIN", "promtool"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Fails with what `promtool` printed unless it found nothing.
pub(crate) fn holds(arguments: &[&str], input: &str) {
    let output = promtool(arguments, input);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {arguments:?}: {text}");
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A running Prometheus.
pub(crate) struct Prometheus {
    child: Child,
    port: u16,
    over_tls: bool,
}

impl Prometheus {
    /// Starts one that scrapes `targets` every second, and evaluates the rules in a file.
    pub(crate) fn scraping(targets: &[&str], rules: Option<&Path>) -> Self {
        let targets: Vec<String> = targets.iter().map(|target| format!("\"{target}\"")).collect();
        Self::with(&format!("[{{targets: [{}]}}]", targets.join(", ")), rules, None)
    }

    /// Starts one without targets whose API is served over TLS with the certificate and key in these files.
    pub(crate) fn over_tls(certificate: &Path, key: &Path) -> Self {
        let (certificate, key) = (certificate.display(), key.display());
        let text =
            format!("tls_server_config: {{cert_file: \"{certificate}\", key_file: \"{key}\"}}\n");
        let file = scratch().join("web.yml");
        std::fs::write(&file, text).unwrap();
        Self::with("[]", None, Some(&file))
    }

    /// Starts one that gives the metrics of each target a namespace.
    pub(crate) fn of_namespaces(targets: &[(&str, &str)]) -> Self {
        let of = |(target, namespace): &(&str, &str)| {
            format!("{{targets: [\"{target}\"], labels: {{namespace: \"{namespace}\"}}}}")
        };
        let targets: Vec<String> = targets.iter().map(of).collect();
        Self::with(&format!("[{}]", targets.join(", ")), None, None)
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.over_tls { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    fn with(targets: &str, rules: Option<&Path>, web: Option<&Path>) -> Self {
        let folder = scratch();
        let port = free_port();
        let config = folder.join("prometheus.yml");
        let rules =
            rules.map_or(String::new(), |path| format!("rule_files: [\"{}\"]\n", path.display()));
        let text = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n{rules}\
             scrape_configs:\n- job_name: kvtop\n  honor_labels: true\n  scrape_timeout: 1s\n  \
             static_configs: {targets}\n"
        );
        std::fs::write(&config, text).unwrap();
        let child = Command::new(binary("PROMETHEUS_BIN", "prometheus"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--log.level=error")
            .args(web.map(|file| format!("--web.config.file={}", file.display())))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut it = Self { child, port, over_tls: web.is_some() };
        for _ in 0..300 {
            // What speaks TLS is ready once it answers at all.
            if it.over_tls && TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return it;
            }
            if it.get("/-/ready").is_some_and(|answer| answer.contains(" 200 ")) {
                return it;
            }
            assert!(it.child.try_wait().unwrap().is_none(), "Prometheus ended");
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("Prometheus did not start");
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        socket.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        // Answers to this version of HTTP come in one piece.
        write!(socket, "GET {path} HTTP/1.0\r\nHost: x\r\n\r\n").ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// Returns the answer of its API; panics when that is an error.
    pub(crate) fn api(&self, path: &str) -> Value {
        let answer = self.get(path).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let value: Value =
            serde_json::from_str(body).unwrap_or_else(|_| panic!("{path}: {answer}"));
        assert_eq!(value["status"], "success", "{path}: {value}");
        value["data"].clone()
    }

    /// Returns the labels and values of what `query` finds now.
    pub(crate) fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let data = self.api(&format!("/api/v1/query?query={}", encoded(query)));
        let rows = data["result"].as_array().unwrap().iter();
        rows.map(|row| {
            let value = row["value"][1].as_str().unwrap().parse().unwrap();
            (row["metric"].clone(), value)
        })
        .collect()
    }

    /// Returns true when `query` finds nothing for three seconds: a rate needs two scrapes.
    pub(crate) fn finds_nothing(&self, query: &str) -> bool {
        (0..30).all(|_| {
            let empty = self.query(query).is_empty();
            if empty {
                std::thread::sleep(Duration::from_millis(100));
            }
            empty
        })
    }

    /// Returns the value of what `query` finds now, if that is one series.
    pub(crate) fn value(&self, query: &str) -> Option<f64> {
        match self.query(query).as_slice() {
            [(_, value)] => Some(*value),
            [] => None,
            more => panic!("{query}: {more:?}"),
        }
    }

    /// Waits until `query` is `expected`.
    pub(crate) fn wait_for(&self, query: &str, expected: f64) {
        self.wait(query, |value| (value - expected).abs() < 1e-9);
    }

    /// Waits until `query` has a value that `is` what it should be, and returns that.
    pub(crate) fn wait(&self, query: &str, is: impl Fn(f64) -> bool) -> f64 {
        let mut last = None;
        for _ in 0..300 {
            last = self.value(query);
            if let Some(value) = last.filter(|value| is(*value)) {
                return value;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{query} is {last:?}");
    }
}

fn encoded(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat()
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
