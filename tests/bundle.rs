//! `kvtop bundle`: the real binary, unpacked with a reader of its own.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

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
    assert_eq!(frames(&copy), frames(&capture));
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
        (&other, from, "name it `.tar.zst`"),
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
