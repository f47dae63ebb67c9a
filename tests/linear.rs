//! What takes time in proportion to its input: scanners of text from outside, which go no deeper for being nested, and
//! deployments, by their workers.
//!
//! No limit in seconds, which a busy machine would break: eight times the text may take at most 45 times the
//! processor time. What is quadratic takes sixty-four times as much.

mod deployments;

use std::path::Path;
use std::time::Duration;

use kvtop::config::file::Known;
use kvtop::config::{Config, Layers};
use kvtop::domain::Timestamp;
use kvtop::frame::{Frame, KubeChange, Origin};
use kvtop::snapshot::Gravity;
use kvtop::tui::filter::{Filter, Target};
use kvtop::tui::line;
use kvtop::tui::theme::Themes;
use kvtop::wire::{self, Facts};

const SMALL: usize = 8 << 10;
const LARGE: usize = 64 << 10;
const MOST: f64 = 45.0;

/// What a text is made of: a start, a piece that is repeated, an end.
const SHAPES: [(&str, &str, &str); 34] = [
    ("", "--model \"", ""),
    ("", "--model 'a ", ""),
    ("", "x=$x ", ""),
    ("", "word1 w0rd2 ", ""),
    ("", "a='", ""),
    ("", "a=\"", ""),
    ("", "\\\"", "\""),
    ("", "key: ", ""),
    ("", "key=value ", ""),
    ("", "worker_id=", ""),
    ("worker_id=\"", "7", "\""),
    ("", "Some(", ")"),
    ("", "[", "]"),
    ("", "{", "}"),
    ("", "(", ")"),
    ("", "{\"a\":", "}"),
    ("", "[[1,", ""),
    ("", "\\", ""),
    ("", " ", "x"),
    ("", "\t", "x"),
    ("", "a.", ""),
    ("", "a,", ""),
    ("", "- ", ""),
    ("", "a:\n ", ""),
    ("x: &a [a]\ny: [", "*a,", "]"),
    ("", "$(", ""),
    ("echo ", "${a:-", ""),
    ("", "`", ""),
    ("a=\"", "$", "\""),
    ("", "x;", ""),
    ("", "\u{e9}\u{202e}", ""),
    ("m{a=\"", "\\n", "\"} 1\n"),
    ("", "m{a=\"b\"} 1\n", ""),
    ("Failed to find parent block; skipping store operation ", "worker_id=\"1\" ", ""),
];

fn text((start, piece, end): (&str, &str, &str), length: usize) -> String {
    format!("{start}{}{end}", piece.repeat(length / piece.len()))
}

/// Returns the processor time of this thread, which other processes do not lengthen.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(told.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0))
}

/// The system counts by its ticks: what is measured takes at least two of them, where so many runs suffice.
const TICKS: Duration = Duration::from_millis(8);

/// Returns the processor time of a run, the mean of at most so many.
fn time_of(most: u32, text: &str, run: &dyn Fn(&str)) -> Duration {
    let before = processor_time();
    for times in 1..=most {
        run(text);
        let taken = processor_time().saturating_sub(before);
        if taken >= TICKS || times == most {
            return taken / times;
        }
    }
    Duration::ZERO
}

fn grows_in_proportion(name: &str, run: &dyn Fn(&str)) {
    for shape in SHAPES {
        let (small, large) = (text(shape, SMALL), text(shape, LARGE));
        let mut growth = f64::INFINITY;
        // What looks slow is measured again.
        for _ in 0..4 {
            let before = time_of(32, &small, run).max(TICKS / 32);
            growth = growth.min(time_of(4, &large, run).as_secs_f64() / before.as_secs_f64());
            if growth <= MOST {
                break;
            }
        }
        assert!(growth <= MOST, "{name} of {:?} takes {growth:.0} times as long", shape.1);
    }
}

fn decode(origin: Origin, body: impl Into<bytes::Bytes>) {
    let mut facts = Facts::default();
    // Whether it is read or refused does not matter here.
    drop(wire::decode(&Frame::new(Timestamp(1), origin, body), &mut facts));
}

#[test]
fn lines_of_logs() {
    grows_in_proportion("a log line", &|text| {
        let line = text.replace('\n', " ");
        decode(Origin::log("ns", "frontend"), line.clone());
        let kept = wire::kept_of_log_line(&line);
        decode(Origin::log("ns", "frontend"), kept);
        wire::described_log_line(&line);
        wire::begins_log_entry(&line);
    });
}

#[test]
fn pages_of_metrics() {
    grows_in_proportion("a scrape", &|text| {
        let origin = || Origin::Metrics { pod: "w".into(), url: "/metrics".into() };
        decode(origin(), text.to_owned());
        decode(origin(), wire::kept_of_scrape(text.as_bytes()));
    });
}

#[test]
fn engine_settings_in_yaml() {
    grows_in_proportion("a settings file", &|text| {
        let map = serde_json::json!({
            "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}, "data": {"engine.yaml": text},
        });
        let origin = Origin::Kube { kind: "ConfigMap".into(), change: KubeChange::Listed };
        decode(origin, map.to_string());
    });
}

#[test]
fn commands_of_containers() {
    grows_in_proportion("a command", &|text| {
        let pod = serde_json::json!({
            "kind": "Pod", "metadata": {"name": "w", "namespace": "n"},
            "spec": {"containers": [{"name": "main", "command": ["bash", "-c", text]}]},
        });
        decode(Origin::Kube { kind: "Pod".into(), change: KubeChange::Listed }, pod.to_string());
    });
}

#[test]
fn what_sources_keep_of_objects() {
    let kept = |kind, object| drop(kvtop::source::decoders::kept_of_object(kind, object));
    grows_in_proportion("what is kept of a script", &|text| {
        kept(
            "Pod",
            serde_json::json!({
                "metadata": {"name": "w", "namespace": "n"},
                "spec": {"containers": [{"name": "main", "command": ["bash", "-c", text]}]},
            }),
        );
    });
    grows_in_proportion("what is kept of a variable", &|text| {
        kept(
            "Pod",
            serde_json::json!({
                "metadata": {"name": "w", "namespace": "n"},
                "spec": {"containers": [{"name": "main", "env": [{"name": "X", "value": text}],
                    "args": ["--model $X", text]}]},
            }),
        );
    });
    grows_in_proportion("what is kept of a file", &|text| {
        kept("ConfigMap", serde_json::json!({ "data": {"agg.yaml": text, "notes": text} }));
    });
    grows_in_proportion("what is kept of a redacted line", &|text| {
        kvtop::source::decoders::redacted_line(&text.replace('\n', " "));
    });
}

#[test]
fn streams_that_come_in_small_pieces() {
    grows_in_proportion("a watch of etcd", &|text| {
        kvtop::source::decoders::etcd_answers(text.as_bytes(), 64);
    });
    grows_in_proportion("a ZMQ publisher", &|text| {
        let long = [&[2_u8, 0, 0, 0, 0, 0, 1, 0, 0][..], text.as_bytes()].concat();
        kvtop::source::decoders::zmq_pieces(&long, 64);
        kvtop::source::decoders::zmq_pieces(text.as_bytes(), 64);
    });
}

#[test]
fn themes_and_configuration() {
    grows_in_proportion("a theme", &|text| {
        let mut themes = Themes::default();
        themes.insert("t", text);
        drop(themes.check("t"));
    });
    grows_in_proportion("a configuration", &|text| {
        let known = Known::default();
        let file = Some((Path::new("c.toml"), text));
        let layers =
            Layers { file, known: &known, env: &|_| None, flags: &[], other_cluster: false };
        drop(Config::layered(&layers));
    });
}

#[test]
fn filters_and_the_command_line_of_the_screen() {
    grows_in_proportion("a filter", &|text| {
        let row = Target {
            who: "w0",
            kind: "store",
            source: "nats",
            text: "4 blocks",
            gravity: Gravity::Normal,
            orphan: false,
        };
        let typed: String = text.chars().take(LARGE).collect();
        let filter = Filter::new(&typed);
        assert!(filter.matches(&row) || !filter.is_empty());
    });
    grows_in_proportion("a command line", &|text| {
        let themes = ["dark".to_owned()];
        drop(line::parse(text, &themes, true));
        line::taken(text, &themes, true);
    });
}

#[test]
fn notes_and_records() {
    grows_in_proportion("a record", &|text| {
        decode(Origin::Health { source: "nats".into() }, text.to_owned());
        let key = "v1/instances/dynamo/backend/generate/1";
        decode(Origin::Etcd { key: key.into(), put: true }, text.to_owned());
        decode(Origin::nats("a-kv-events.kv-events"), text.to_owned());
        decode(Origin::nats("namespace.a.component.b.kv-events"), text.to_owned());
        wire::readable(text.as_bytes());
        wire::printable(text, LARGE);
    });
}
