//! `kvtop export` over a real server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::nats::{Publisher, recording};
use crate::support::nats_server::NatsServer;
use crate::support::scratch;

struct Exporter {
    child: Child,
    address: String,
}

impl Exporter {
    fn of(url: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kvtop"))
            .args(["export", "--listen", "127.0.0.1:0", "--nats-url", url])
            .env("HOME", scratch())
            .env_remove("XDG_CONFIG_HOME")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Self { child, address }
    }

    fn ask(&self, request: &str) -> String {
        self.ask_within(request, Duration::from_secs(20))
    }

    /// Fails when the answer takes longer.
    fn ask_within(&self, request: &str, limit: Duration) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(limit)).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_of_every_worker_are_served_until_it_is_asked_to_end() {
    let messages = recording("0.9.0-healthy");
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages).await;
    let mut exporter = Exporter::of(&server.url());

    let mut page = String::new();
    for _ in 0..600 {
        page = exporter.ask("GET /metrics");
        let accepted = |count: &str| {
            page.lines().any(|line| {
                line.starts_with("kvtop_worker_accepted_blocks{") && line.ends_with(count)
            })
        };
        // 127 and 111 blocks, as the reference counted them.
        if accepted(" 127") && accepted(" 111") {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for line in [
        "kvtop_accepted_blocks 238",
        "kv_router_block_size_mismatch_total{finding=\"KVT001\"} 0",
        "kvtop_source_up{source=\"nats\"} 1",
        "# TYPE kvtop_worker_stores_total counter",
    ] {
        assert!(page.lines().any(|known| known == line), "{line}\n{page}");
    }
    // Nobody reports it here, so it is absent and not 0.
    assert!(!page.contains("kvtop_worker_kv_utilization_ratio"), "{page}");
    let body = page.split("\r\n\r\n").nth(1).unwrap();
    let names: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names.len(), "each family once");

    assert!(exporter.ask("POST /metrics").starts_with("HTTP/1.1 405"));
    assert!(exporter.ask("GET /engine/pause").starts_with("HTTP/1.1 404"));
    let pid = i32::try_from(exporter.child.id()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    assert_eq!(exporter.child.wait().unwrap().code(), Some(143));
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
        .args(["export", "--listen", &address, "--nats-url", "nats://127.0.0.1:1"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains(&format!("could not listen on {address}")), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_never_ask_do_not_keep_a_scrape_from_its_answer() {
    let server = NatsServer::with_jetstream();
    let exporter = Exporter::of(&server.url());
    let connect = || TcpStream::connect(&exporter.address).unwrap();
    let silent: Vec<_> = (0..300).map(|_| connect()).collect();
    let half: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = connect();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost").unwrap();
            stream
        })
        .collect();

    let answer = exporter.ask_within("GET /healthz", Duration::from_secs(4));

    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop((silent, half));
}
