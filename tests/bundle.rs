//! `kvtop bundle`: the real binary, unpacked with a reader of its own.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use kvtop::domain::Timestamp;
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use serde_json::Value;

use crate::support::{captures, frames, scratch};

/// Returns what a bundle holds, by name; the recording uncompressed.
pub(crate) fn unpacked(path: &Path) -> BTreeMap<String, String> {
    let file = std::fs::File::open(path).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).unwrap());
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        assert_eq!(entry.header().mode().unwrap(), 0o600);
        let name = entry.path().unwrap().display().to_string();
        let name = name.strip_prefix("kvtop-bundle/").unwrap().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if name == "recording.frames.zst" {
            bytes = zstd::decode_all(&*bytes).unwrap();
        }
        (name, String::from_utf8(bytes).unwrap())
    });
    entries.collect()
}

fn kvtop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).stdin(Stdio::null());
    command.env("KVTOP_NATS_URL", "nats://alice:PLANTED@localhost:4222");
    command.env_remove("KUBECONFIG").output().unwrap()
}

#[test]
fn a_bundle_of_a_recording_holds_it_and_its_verdict() {
    let folder = scratch();
    let (_, capture) = captures().swap_remove(0);
    let file = folder.join("ticket.tar.zst");
    let (from, to) = (capture.to_str().unwrap(), file.to_str().unwrap());

    let output = kvtop(&["bundle", "--replay", from, "-o", to]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let held = unpacked(&file);
    let names: Vec<&str> = held.keys().map(String::as_str).collect();
    let wanted = "README.txt about.json check.json check.txt config.txt recording.frames.zst \
                  snapshot.json";
    assert_eq!(names.join(" "), wanted);
    for (name, replayed) in [
        ("check.txt", kvtop(&["check", "--replay", from])),
        ("check.json", kvtop(&["check", "--replay", from, "-o", "json"])),
        ("snapshot.json", kvtop(&["snapshot", "--replay", from, "-o", "json"])),
    ] {
        assert_eq!(held[name], String::from_utf8(replayed.stdout).unwrap(), "{name}");
    }
    let copy = folder.join("copy.frames");
    std::fs::write(&copy, &held["recording.frames.zst"]).unwrap();
    assert_eq!(frames(&copy), frames(&capture).into_iter().map(without_text).collect::<Vec<_>>());
    let about: Value = serde_json::from_str(&held["about.json"]).unwrap();
    assert_eq!(about["recording"]["frames"], frames(&capture).len());
    assert_eq!(about["kvtop"], env!("CARGO_PKG_VERSION"));
    assert!(held["config.txt"].contains("nats://localhost:4222"), "{}", held["config.txt"]);
    assert!(held.values().all(|text| !text.contains("PLANTED")));
}

#[test]
fn a_bundle_replaces_nothing_and_leaves_nothing_half_done() {
    let folder = scratch();
    let (_, capture) = captures().swap_remove(0);
    let from = capture.to_str().unwrap();
    let there = folder.join("there.tar.zst");
    std::fs::write(&there, "mine").unwrap();
    let other = folder.join("other.zip");
    let missing = folder.join("missing.tar.zst");

    for (to, from, why) in [
        (&there, from, "exists"),
        (&other, from, "its name must end in .tar.zst"),
        (&missing, "no-such-file.frames", "no-such-file.frames"),
    ] {
        let output = kvtop(&["bundle", "--replay", from, "-o", to.to_str().unwrap()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    assert!(!other.exists() && !missing.exists());
}

/// Returns the frame as a bundle holds it: of log lines and discovery records only what a decoder reads.
fn without_text(frame: Frame) -> Frame {
    let kept = match (&frame.origin, &frame.body) {
        (Origin::Log { .. }, Body::Whole(line)) => {
            kvtop::wire::kept_of_log_line(&String::from_utf8_lossy(line))
        }
        (Origin::Etcd { put: true, .. }, Body::Whole(record)) => {
            kvtop::wire::kept_of_record(&serde_json::from_slice(record).unwrap()).to_string()
        }
        _ => return frame,
    };
    Frame { body: Body::Whole(kept.into()), ..frame }
}

#[test]
fn prompts_and_secrets_of_an_old_recording_are_in_no_output() {
    let folder = scratch();
    let file = folder.join("old.frames");
    let mut text = "{\"kvtop_frames\":1}\n".to_owned();
    for (at, line) in crate::logs::planted::lines().iter().enumerate() {
        let pod = if at % 2 == 0 { "frontend" } else { "worker" };
        let at = Timestamp(1_800_000_000_000_000 + at as u64);
        let frame = Frame::new(at, Origin::log("", pod), line.clone());
        text.push_str(&kvtop::record::encode(&frame));
        text.push('\n');
    }
    let card = serde_json::json!({
        "type": "Model", "instance_id": 7, "card_json": { "prompt_formatter": ["PLANTED"] },
    });
    let map = serde_json::json!({
        "kind": "ConfigMap", "metadata": { "name": "m", "namespace": "n" },
        "data": { "agg.yaml": "tokens_per_block: 32\nsystem: PLANTED\n", "GREETING": "PLANTED" },
    });
    let origins = [
        (Origin::Etcd { key: "v1/mdc/a/b/generate/7".into(), put: true }, card),
        (Origin::Kube { kind: "ConfigMap".into(), change: KubeChange::Listed }, map),
    ];
    for (origin, body) in origins {
        let frame = Frame::new(Timestamp(1_800_000_001_000_000), origin, body.to_string());
        text.push_str(&kvtop::record::encode(&frame));
        text.push('\n');
    }
    assert!(text.matches("PLANTED").count() > 60);
    std::fs::write(&file, text).unwrap();
    let from = file.to_str().unwrap();
    let bundle = folder.join("x.tar.zst");

    assert!(kvtop(&["bundle", "--replay", from, "-o", bundle.to_str().unwrap()]).status.success());

    let held = unpacked(&bundle);
    assert!(held.iter().all(|(_, text)| !text.contains("PLANTED")));
    let copy = folder.join("copy.frames");
    std::fs::write(&copy, &held["recording.frames.zst"]).unwrap();
    for frame in frames(&copy) {
        assert!(!kvtop::record::encode(&frame).contains("PLANTED"), "{frame:?}");
    }
    for arguments in [
        &["check", "--replay", from, "-o", "json"][..],
        &["check", "--replay", from],
        &["snapshot", "--replay", from, "-o", "json"],
        &["snapshot", "--replay", from, "-o", "html", "--view", "events"],
        &["snapshot", "--replay", from, "-o", "text", "--view", "sources"],
    ] {
        let output = kvtop(arguments);
        for text in [output.stdout, output.stderr] {
            assert!(!String::from_utf8_lossy(&text).contains("PLANTED"), "{arguments:?}");
        }
    }
}
