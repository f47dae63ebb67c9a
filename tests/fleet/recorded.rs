//! The fleet view of a real Prometheus that scrapes exporters.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use crate::nats::{Publisher, recording};
use crate::support::exporter::Exporter;
use crate::support::kube_api::tls::Identity;
use crate::support::nats_server::NatsServer;
use crate::support::prometheus::{Prometheus, free_port};
use crate::support::pty::Pty;
use crate::support::scratch;

fn screen(arguments: &[&str]) -> Pty {
    let vars = [("NATS_URL", ""), ("KUBECONFIG", "")];
    Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &[&["-A"], arguments].concat(), &vars, (120, 24))
}

/// Returns the row of the deployment in `namespace`.
fn row(screen: &str, namespace: &str) -> String {
    screen.lines().find(|line| line.contains(namespace)).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prometheus_shows_the_fleet_and_what_falls_silent_is_unknown() {
    let mut servers = Vec::new();
    for name in ["0.9.0-healthy", "0.9.0-mm_pub32_eng16"] {
        let messages = recording(name);
        let server = NatsServer::with_jetstream();
        let publisher = Publisher::to(&server.url()).await;
        publisher.make_streams(&messages).await;
        publisher.publish(&messages).await;
        servers.push((server, publisher, messages));
    }
    let ports: Vec<String> = (0..2).map(|_| format!("127.0.0.1:{}", free_port())).collect();
    let healthy = Exporter::at(&ports[0], &servers[0].0.url(), &[]);
    let _broken = Exporter::at(&ports[1], &servers[1].0.url(), &[]);
    let prometheus =
        Prometheus::of_namespaces(&[(&ports[0], "team-east"), (&ports[1], "team-west")]);
    for (_, publisher, messages) in &servers {
        publisher.publish(messages).await;
    }
    prometheus.wait_for("sum(kvtop_ready)", 2.0);
    prometheus.wait_for("kvtop_status{namespace=\"team-east\",status=\"ok\"}", 1.0);
    prometheus.wait_for("kvtop_status{namespace=\"team-west\",status=\"critical\"}", 1.0);

    let url = prometheus.url();
    let mut pty = screen(&["--prometheus", &url]);
    pty.wait_for("both deployments, the worst first", |screen| {
        let rows: Vec<&str> = screen.lines().filter(|line| line.contains("team-")).collect();
        rows.len() == 2
            && rows[0].contains("team-west")
            && rows[0].contains("KVT001")
            && row(screen, "team-east").contains("healthy")
    });
    // An hour ago nothing was scraped, which is not the same as no problem.
    pty.send("-");
    pty.wait_for("one hour", |screen| screen.contains("-1h"));
    for _ in 0..30 {
        pty.send("\u{1b}[D");
        std::thread::sleep(Duration::from_secs(1));
        if pty.screen(vt100::Screen::contents).contains("at that time") {
            break;
        }
    }
    pty.wait_for("a time without metrics", |screen| {
        screen.contains("at that time") && !screen.contains("healthy")
    });
    pty.send("0");
    pty.wait_for("now", |screen| row(screen, "team-east").contains("healthy"));

    drop(healthy);
    prometheus.wait_for("count(up == 0)", 1.0);
    // Asks at once instead of at the next of its regular times.
    pty.send("0");
    pty.wait_for("what is silent", |screen| {
        let row = row(screen, "team-east");
        row.contains("unknown") && !row.contains("healthy")
    });
    drop(prometheus);
    pty.send("0");
    pty.wait_for("nothing is known without Prometheus", |screen| {
        screen.contains("could not reach Prometheus at") && screen.contains("2 unknown")
    });
    let text = pty.screen(vt100::Screen::contents);
    assert!(!text.contains("healthy") && !text.contains("critical"), "{text}");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_prometheus_without_metrics_of_kvtop_shows_no_deployment() {
    let empty = Prometheus::scraping(&[], None);
    let pty = screen(&["--prometheus", &empty.url()]);
    pty.wait_for("why nothing is shown", |screen| {
        screen.contains("no deployment found") && screen.contains("has no metrics of kvtop")
    });
}

/// A Prometheus behind TLS answers whoever trusts its authority; everybody else reads one sentence that says why.
#[test]
fn over_tls_the_authority_of_prometheus_is_trusted_when_it_is_named() {
    let (own, other) = (Identity::generate(), Identity::generate());
    let folder = scratch();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let certificate = file("tls.crt", &own.pem.0);
    let prometheus = Prometheus::over_tls(&certificate, &file("tls.key", &own.pem.1));
    let url = prometheus.url();
    let authority = |name, text| file(name, text).display().to_string();
    let (right, wrong) = (authority("right.pem", &own.ca), authority("wrong.pem", &other.ca));
    let empty = authority("empty.pem", "no certificate\n");

    let pty = screen(&["--prometheus", &url, "--prometheus-ca", &right]);
    pty.wait_for("an answer over TLS", |screen| screen.contains("has no metrics of kvtop"));
    for untrusting in
        [&["--prometheus", &url, "--prometheus-ca", &wrong][..], &["--prometheus", &url]]
    {
        let pty = screen(untrusting);
        pty.wait_for("the unknown authority", |screen| {
            screen.contains("is not trusted: pass its authority with --prometheus-ca")
        });
    }
    let mut pty = screen(&["--prometheus", &url, "--prometheus-ca", &empty]);
    pty.wait_for("the file without a certificate", |screen| {
        let text: String = screen.split_whitespace().collect();
        text.contains("couldnotuse--prometheus") && text.contains("empty.pem")
    });
    assert_ne!(pty.exit_code(), 0);
}

/// The row of a Prometheus leads to the deployment itself, which Kubernetes then shows.
#[test]
fn a_row_of_a_prometheus_is_entered_by_way_of_kubernetes() {
    let cluster = super::Cluster::of(3);
    let listen = format!("127.0.0.1:{}", free_port());
    let watched = ["-n", "chat-01", "-n", "chat-02", "--kubeconfig", &cluster.kubeconfig];
    let _exporter = Exporter::started(&listen, &watched);
    let prometheus = Prometheus::scraping(&[&listen], None);
    prometheus.wait_for("count(kvtop_status{status=\"unknown\"})", 2.0);
    let url = prometheus.url();

    let pty = screen(&["--prometheus", &url, "--kubeconfig", &cluster.kubeconfig]);
    pty.wait_for("both rows", |screen| {
        row(screen, "team-01").contains("chat-01") && row(screen, "team-02").contains("chat-02")
    });
    // The second row.
    pty.send("j\r");
    pty.wait_for("the deployment", |screen| {
        screen.contains("chat-02") && !screen.contains("team-01") && screen.contains("Workers")
    });
    pty.send("\u{1b}");
    pty.wait_for("the fleet again", |screen| screen.contains("team-01"));

    // Without a cluster the row stays where it is, and one sentence says why.
    let nowhere = scratch().join("none");
    let pty = screen(&["--prometheus", &url, "--kubeconfig", nowhere.to_str().unwrap()]);
    pty.wait_for("both rows without a cluster", |screen| screen.contains("team-02"));
    pty.send("\r");
    pty.wait_for("why it cannot be entered", |screen| {
        screen.contains("kubeconfig") && screen.contains("team-02")
    });
}

#[test]
fn a_token_is_sent_and_a_refused_one_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut head, mut part) = (String::new(), [0; 4096]);
            while !head.contains("\r\n\r\n") {
                let count = stream.read(&mut part).unwrap_or(0);
                if count == 0 {
                    break;
                }
                head.push_str(&String::from_utf8_lossy(&part[..count]));
            }
            assert!(head.starts_with("GET /api/v1/query") || head.is_empty(), "{head}");
            let admitted = head.to_lowercase().contains("authorization: bearer s3cret");
            let (status, body) = if admitted {
                ("200 OK", r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#)
            } else {
                ("401 Unauthorized", "no")
            };
            drop(write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            ));
        }
    });
    let token = scratch().join("token");
    std::fs::write(&token, "s3cret\n").unwrap();
    let pty = screen(&["--prometheus", &url]);
    pty.wait_for("the refusal", |screen| {
        screen.contains("401") && screen.contains("--prometheus-token-file")
    });
    let with = ["--prometheus", &url, "--prometheus-token-file", token.to_str().unwrap()];
    let pty = screen(&with);
    pty.wait_for("an answer", |screen| screen.contains("has no metrics of kvtop"));
}
