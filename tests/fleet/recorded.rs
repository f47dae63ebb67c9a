//! The fleet view of a real Prometheus that scrapes exporters.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use crate::nats::{Publisher, recording};
use crate::support::exporter::Exporter;
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
