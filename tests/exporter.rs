//! `kvtop export` over a real server.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto::ring,
};

use crate::nats::{Publisher, recording};
use crate::support::exporter::{Exporter, asked};
use crate::support::nats_server::NatsServer;
use crate::support::scratch;

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
        "kvtop_ready 1",
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

    let stream = exporter.connect();
    stream.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
    let answer = asked(stream, "GET /healthz", "");

    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop((silent, half));
}

/// Connects over TLS as a client that trusts `authority`, and returns the answer to a request.
fn over_tls(
    exporter: &Exporter,
    authority: &rcgen::Certificate,
    request: &str,
    head: &str,
) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = exporter.connect();
    while client.is_handshaking() {
        client.complete_io(&mut stream)?;
    }
    Ok(asked(StreamOwned::new(client, stream), request, head))
}

#[test]
fn over_tls_only_a_scrape_with_the_token_gets_the_page() {
    let (key, own_key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap();
    let names = vec!["localhost".to_owned()];
    let issuer = Issuer::new(params, key);
    let own = CertificateParams::new(names).unwrap().signed_by(&own_key, &issuer).unwrap();
    let folder = scratch();
    let file = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let cert = file("tls.crt", own.pem());
    let secret = file("tls.key", own_key.serialize_pem());
    let token = file("token", "s3cret-token\n".to_owned());
    let server = NatsServer::with_jetstream();
    let arguments =
        ["--tls-cert", cert.as_str(), "--tls-key", secret.as_str(), "--token-file", token.as_str()];
    let exporter = Exporter::with(&server.url(), &arguments);
    let ask = |request, head: &str| over_tls(&exporter, &authority, request, head).unwrap();

    let mut page = String::new();
    for _ in 0..100 {
        page = ask("GET /metrics", "Authorization: Bearer s3cret-token\r\n");
        if page.starts_with("HTTP/1.1 200") {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(page.contains("kvtop_source_up{source=\"nats\"}"), "{page}");
    let long = format!("Authorization: Bearer {}\r\n", "s3cret-token".repeat(100));
    for head in ["", "Authorization: Bearer s3cret-tokem\r\n", "Authorization: Basic x\r\n", &long]
    {
        let answer = ask("GET /metrics", head);
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        let (about, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(body.is_empty() && about.contains("www-authenticate: Bearer"), "{answer}");
    }
    assert!(ask("GET /healthz", "").starts_with("HTTP/1.1 200"), "a probe has no token");
    assert!(ask("GET /other", "").starts_with("HTTP/1.1 401"));
    // Without TLS nothing is said, and a handshake that stalls keeps nobody from an answer.
    assert!(!exporter.ask("GET /metrics").starts_with("HTTP/1.1 200"));
    let stalled: Vec<_> =
        (0..200).map(|_| TcpStream::connect(&exporter.address).unwrap()).collect();
    assert!(ask("GET /healthz", "").starts_with("HTTP/1.1 200"));
    drop(stalled);
    let other = CertificateParams::new(vec!["other".to_owned()]).unwrap();
    let stranger = other.self_signed(&KeyPair::generate().unwrap()).unwrap();
    assert!(over_tls(&exporter, &stranger, "GET /healthz", "").is_err(), "another authority");
}

#[test]
fn files_of_tls_and_token_that_cannot_be_used_are_named() {
    let folder = scratch();
    let empty = folder.join("empty");
    std::fs::write(&empty, "\n").unwrap();
    let empty = empty.to_str().unwrap();
    let table: [(&[&str], &str); 4] = [
        (&["--token-file", empty], "it is empty"),
        (&["--token-file", "/none"], "could not use the token in `/none`"),
        (&["--tls-cert", empty, "--tls-key", empty], "could not use the"),
        (&["--tls-cert", empty], "--tls-key"),
    ];
    for (arguments, expected) in table {
        let output = Command::new(env!("CARGO_BIN_EXE_kvtop"))
            .args(["export", "--listen", "127.0.0.1:0", "--nats-url", "nats://127.0.0.1:1"])
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}
