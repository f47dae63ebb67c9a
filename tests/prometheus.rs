//! What `kvtop export` serves, read by a real Prometheus.

use std::collections::BTreeSet;

use crate::nats::{Publisher, recording};
use crate::support::exporter::{Exporter, asked, bytes_asked};
use crate::support::nats_server::NatsServer;
use crate::support::prometheus::{Prometheus, free_port, holds};

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

/// Waits until the exporter has read everything, and returns its page.
fn ready(exporter: &Exporter) -> String {
    for _ in 0..300 {
        if exporter.ask("GET /readyz").starts_with("HTTP/1.1 200") {
            return exporter.ask("GET /metrics");
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{}", exporter.ask("GET /readyz"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_exporter_increases_no_counter() {
    let messages = recording("0.9.0-healthy");
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages).await;
    let listen = format!("127.0.0.1:{}", free_port());
    let exporter = Exporter::at(&listen, &server.url(), &[]);
    ready(&exporter);
    let prometheus = Prometheus::scraping(&[&listen], None);
    let history =
        prometheus.wait("kvtop_seen_events{kind=\"stores\",when=\"history\"}", |count| count > 0.0);
    assert_eq!(prometheus.value("kvtop_stores_total"), Some(0.0), "history is no count");
    // The same again, now that somebody watches.
    publisher.publish(&messages).await;
    prometheus.wait_for("kvtop_stores_total", history);

    let first = prometheus.wait("process_start_time_seconds", |_| true);
    let before = kvtop::clock::now();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    drop(exporter);
    let exporter = Exporter::at(&listen, &server.url(), &[]);
    let page = ready(&exporter);
    prometheus.wait("process_start_time_seconds", |start| start > first);
    prometheus.wait_for("kvtop_ready", 1.0);
    prometheus.wait_for("kvtop_stores_total", 0.0);
    std::thread::sleep(std::time::Duration::from_secs(3));

    let window = format!("{}ms", kvtop::clock::now().since(before).as_millis());
    let counters: BTreeSet<&str> = body(&page)
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        // What kvtop did itself, it did again.
        .filter(|name| !["process_cpu_seconds_total", "kvtop_source_frames_total"].contains(name))
        .collect();
    assert!(counters.len() > 12, "{counters:?}");
    for counter in counters {
        for (labels, grown) in prometheus.query(&format!("increase({counter}[{window}])")) {
            assert!(grown.abs() < 1e-9, "{counter} {labels}: {grown}");
        }
    }
    // Workers keep their series, with labels that the new process gives as well.
    let workers = "count(kvtop_worker_stores_total) by (__name__)";
    assert_eq!(prometheus.value(workers), Some(2.0));
    let seen = format!(
        "count(count by (worker_id) (last_over_time(kvtop_worker_stores_total[{window}])))"
    );
    assert_eq!(prometheus.value(&seen), Some(2.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_formats_are_valid_at_every_level_and_compressed_on_request() {
    let messages = recording("0.9.0-dp");
    let server = NatsServer::with_jetstream();
    let publisher = Publisher::to(&server.url()).await;
    publisher.make_streams(&messages).await;
    publisher.publish(&messages).await;
    let mut sizes = Vec::new();
    for level in ["fleet", "worker", "rank"] {
        let exporter = Exporter::with(&server.url(), &["--metrics-level", level]);
        let page = ready(&exporter);
        holds(&["check", "metrics"], body(&page));
        assert!(page.contains("text/plain; version=0.0.4"), "{page}");
        assert_eq!(body(&page).contains("dp_rank="), level == "rank", "{page}");
        assert_eq!(body(&page).contains("worker_id="), level != "fleet", "{page}");
        assert!(!body(&page).contains("pod=") || body(&page).contains("kvtop_worker_info{"));
        sizes.push(body(&page).lines().filter(|line| !line.starts_with('#')).count());

        let open = asked(
            exporter.connect(),
            "GET /metrics",
            "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n",
        );
        assert!(open.contains("application/openmetrics-text; version=1.0.0"), "{open}");
        assert!(body(&open).ends_with("# EOF\n"), "{open}");
        assert!(body(&open).contains("# TYPE kvtop_finding_raises counter"), "{open}");
        assert!(body(&open).contains("# TYPE kvtop_build info"), "{open}");

        let packed = bytes_asked(exporter.connect(), "GET /metrics", "Accept-Encoding: gzip\r\n");
        let start = packed.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8_lossy(&packed[..start]).into_owned();
        assert!(head.contains("content-encoding: gzip"), "{head}");
        let mut text = String::new();
        std::io::Read::read_to_string(
            &mut flate2::read::GzDecoder::new(&packed[start..]),
            &mut text,
        )
        .unwrap();
        assert!(text.contains("kvtop_build_info{version="), "{text}");
        assert!(packed.len() * 4 < text.len(), "{} of {}", packed.len(), text.len());
    }
    assert!(sizes[0] < sizes[1] && sizes[1] < sizes[2], "{sizes:?}");
}

#[test]
fn an_exporter_without_a_server_lives_and_is_not_ready() {
    let exporter = Exporter::of("nats://127.0.0.1:1");

    let (live, ready) = (exporter.ask("GET /livez"), exporter.ask("GET /readyz"));
    let page = exporter.ask("GET /metrics");

    assert!(live.starts_with("HTTP/1.1 200"), "{live}");
    assert!(
        ready.starts_with("HTTP/1.1 503") && body(&ready).starts_with("not ready: "),
        "{ready}"
    );
    assert!(body(&page).contains("\nkvtop_ready 0\n"), "{page}");
    assert!(!body(&page).contains("kvtop_stores_total"), "unknown is absent: {page}");
}
