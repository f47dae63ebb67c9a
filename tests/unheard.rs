//! What nobody tells of is not known, and never 0: a real recording without its events, and one without
//! its routers' words.

use std::path::{Path, PathBuf};

use kvtop::domain::{SourceName, SourceNote, SourceState, Timestamp};
use kvtop::frame::{Frame, KubeChange, Origin};
use kvtop::record::{Header, RecordWriter};
use kvtop::wire::health;
use serde_json::Value;

use crate::config::kvtop;
use crate::support::{fixture, frames, played, scratch};

/// Returns the path of a recording of those frames of a healthy deployment that `kept` chooses.
fn without(kept: impl Fn(&Frame) -> bool) -> PathBuf {
    let path = scratch().join("some.frames");
    let mut writer = RecordWriter::create(&path, &Header::default()).unwrap();
    let all = frames(&fixture("captures/0.9.0-healthy.frames.gz"));
    for frame in all.iter().filter(|frame| kept(frame)) {
        writer.write(frame).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn shown(recording: &Path, arguments: &[&str]) -> String {
    let mut all = vec!["snapshot", "--replay", recording.to_str().unwrap()];
    all.extend(arguments);
    let output = kvtop(&scratch(), &[], &all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns what stands in column `name` of the table of all workers.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|column| *column == name).unwrap();
    lines.map(|cells| cells[at].to_owned()).collect()
}

#[test]
fn without_a_router_s_log_no_request_is_counted() {
    let file = without(|frame| {
        let routing = matches!(&frame.origin, Origin::Nats { subject, .. }
            if subject.contains("hit-rate"));
        !matches!(frame.origin, Origin::Log { .. }) && !routing
    });
    let csv = shown(&file, &["-o", "csv"]);
    assert_eq!(column(&csv, "routed"), ["-", "-"], "{csv}");
    assert_eq!(column(&csv, "stores").iter().filter(|count| *count == "-").count(), 0, "{csv}");
    let json: Value = serde_json::from_str(&shown(&file, &["-o", "json"])).unwrap();
    assert!(json["workers"][0]["routed"].is_null(), "{json}");
    assert!(json["workers"][0]["stores"].as_u64().unwrap() > 0, "{json}");
    let screen = shown(&file, &["-o", "text", "--size", "160x40", "--view", "workers"]);
    let names = screen.lines().position(|line| line.contains("ROUTED/s")).unwrap();
    let row = screen.lines().nth(names + 1).unwrap();
    assert!(row.contains('—') && screen.contains("no router's log is read"), "{screen}");
}

#[test]
fn without_events_no_block_is_counted() {
    let file = without(|frame| matches!(frame.origin, Origin::Log { .. } | Origin::Etcd { .. }));
    let csv = shown(&file, &["-o", "csv"]);
    for name in ["cached", "held", "stores", "rejected", "removed", "unknown"] {
        assert_eq!(column(&csv, name), ["-", "-"], "{csv}");
    }
    let json: Value = serde_json::from_str(&shown(&file, &["-o", "json"])).unwrap();
    let worker = &json["workers"][0];
    for name in ["accepted", "held", "stores", "unknown_removals", "rates"] {
        assert!(worker[name].is_null(), "{name}: {worker}");
    }
    assert!(json["tree"]["accepted_blocks"].is_null() && worker["routed"].as_u64().unwrap() > 0);
    let screen = shown(&file, &["-o", "text", "--size", "160x40"]);
    assert!(screen.contains("no KV events received"), "{screen}");
    let tree = shown(&file, &["-o", "text", "--size", "160x40", "--view", "tree"]);
    assert!(tree.contains("No KV events received"), "{tree}");
}

#[test]
fn a_router_whose_log_is_followed_and_empty_is_not_said_to_be_unread() {
    let pods: Value = serde_json::from_slice(
        &std::fs::read(fixture("kube/pods/list_gtc-demo.body.json")).unwrap(),
    )
    .unwrap();
    let at = Timestamp(1_795_224_204_000_000);
    let shown = |why: &str| {
        let note = SourceNote::new(SourceName::Logs, SourceState::Live, why, at);
        let listed = || Origin::Kube { kind: "Pod".into(), change: KubeChange::Listed };
        let items = pods["items"].as_array().unwrap();
        let mut all: Vec<Frame> =
            items.iter().map(|pod| Frame::new(at, listed(), pod.to_string())).collect();
        let health = Origin::Health { source: "logs".into() };
        all.push(Frame::new(at, health, health::encode(&note)));
        crate::screens::drawn(&played(&all).1, 120, 36)
    };

    assert!(shown("3 of 3 logs followed").contains("no router logged anything yet"));
    assert!(shown("2 of 3 logs followed").contains("no router's log is read"));
}

#[test]
fn a_silent_server_is_said_to_be_no_proof_of_an_idle_deployment() {
    let path = scratch().join("silent.frames");
    let mut writer = RecordWriter::create(&path, &Header::default()).unwrap();
    for seconds in [0, 5, 9] {
        let at = Timestamp(1_000_000 * (100 + seconds));
        let origin = Origin::Health { source: "nats".into() };
        let frame = Frame::new(at, origin, "{\"state\":\"live\"}".to_owned());
        writer.write(&frame).unwrap();
    }
    writer.finish().unwrap();
    let before = shown(&path, &["-o", "text", "--size", "80x24"]);
    assert!(before.contains("no worker seen yet"), "{before}");

    let mut all = frames(&path);
    let later = Frame { at: Timestamp(112_000_000), ..all[2].clone() };
    all.push(later);
    let path = scratch().join("later.frames");
    let mut writer = RecordWriter::create(&path, &Header::default()).unwrap();
    for frame in &all {
        writer.write(frame).unwrap();
    }
    writer.finish().unwrap();

    for size in ["80x24", "120x36"] {
        for view in ["overview", "workers"] {
            let screen = shown(&path, &["-o", "text", "--size", size, "--view", view]);
            for part in ["from Dynamo 1.3 on events use ZMQ", "--etcd-url"] {
                assert!(screen.contains(part), "no `{part}`:\n{screen}");
            }
        }
    }
}
