//! The parts of log lines that enter a frame: those that a decoder reads, and no others.

use std::collections::BTreeMap;
use std::path::Path;

use kvtop::domain::{Fact, Timestamp};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::wire::{Facts, decode, kept_of_log_line};

use crate::support::{captures, frames};

/// Returns the lines of every recording and fixture, one of each shape.
fn lines() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire/router-log");
    let fixtures = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let fixtures = fixtures.filter(|path| path.extension().is_some_and(|it| it == "frames"));
    let paths: Vec<_> = captures().into_iter().map(|(_, path)| path).chain(fixtures).collect();
    let mut shapes: BTreeMap<String, String> = BTreeMap::new();
    for frame in paths.iter().flat_map(|path| frames(path)) {
        let (Origin::Log { .. }, Body::Whole(body)) = (&frame.origin, &frame.body) else {
            continue;
        };
        let line = String::from_utf8_lossy(body).into_owned();
        let shape = line.replace(|letter: char| letter.is_ascii_digit(), "0");
        shapes.entry(shape.chars().take(200).collect()).or_insert(line);
    }
    shapes.into_values().collect()
}

/// Returns what `line` says.
fn said(line: &str) -> Vec<Fact> {
    let frame = Frame::new(Timestamp(1), Origin::log("", "pod"), line.to_owned());
    let mut facts = Facts::default();
    decode(&frame, &mut facts).unwrap();
    facts.other
}

#[test]
fn every_recorded_line_says_the_same_after_the_rest_of_it_is_removed() {
    let lines = lines();
    assert!(lines.len() > 100, "{}", lines.len());
    let mut read = 0;
    for line in &lines {
        let kept = kept_of_log_line(line);
        assert_eq!(said(&kept), said(line), "\n{line}\n{kept}");
        read += usize::from(!said(line).is_empty());
    }
    assert!(read > 50, "{read} of {} lines say something", lines.len());
}

#[test]
fn of_a_line_that_no_decoder_reads_the_text_is_removed() {
    let table = [
        (
            "2026-02-16T14:38:53.950961Z  INFO dynamo_llm::http::service: a question",
            "2026-02-16T14:38:53.950961Z  INFO dynamo_llm::http::service: [71 bytes, shape ",
        ),
        ("INFO 11-21 00:22:26 [core.py:58] a question", "INFO [43 bytes, shape "),
        (
            "[02/16/2026-14:38:53] [TRT-LLM] [I] a question",
            "[02/16/2026-14:38:53] [TRT-LLM] [I] [46 bytes, ",
        ),
        ("a question", "[10 bytes, shape "),
        ("WARN question: of a user", "WARN [24 bytes, shape "),
        ("ERROR eyJhbGciOiJIUzI1NiJ9.e30.x: refused", "ERROR [41 bytes, shape "),
        ("123-45-6789 is my number", "[24 bytes, shape "),
        (
            r#"{"time":"2026-02-16T14:38:53Z","level":"INFO","target":"dynamo_llm::http","message":"a question","user":"x"}"#,
            r#"{"level":"INFO","message":"[19 bytes, shape "#,
        ),
    ];
    for (line, expected) in table {
        let kept = kept_of_log_line(line);
        if line.starts_with('{') {
            assert!(!kept.contains("question") && kept.contains("dynamo_llm::http"), "{kept}");
        } else {
            assert!(kept.starts_with(expected), "{line}\n{kept}");
        }
        assert!(!kept.contains("question"), "{kept}");
    }
}

#[test]
fn of_a_line_that_a_decoder_reads_only_the_fields_it_uses_stay() {
    let line = "2026-02-16T14:38:53.950961Z  WARN http-request{prompt=\"a question\"}: \
                dynamo_llm::kv_router::indexer: Failed to find parent block; skipping store operation \
                worker_id=77 note=question parent_hash=Some(ExternalSequenceBlockHash(99)) num_blocks=3";

    let kept = kept_of_log_line(line);

    assert_eq!(
        kept,
        "2026-02-16T14:38:53.950961Z  WARN .. dynamo_llm::kv_router::indexer: Failed to find parent block; \
         skipping store .. worker_id=77 .. parent_hash=Some(ExternalSequenceBlockHash(99 .. num_blocks=3"
    );
    assert_eq!(said(&kept), said(line));
}

#[test]
fn lines_of_one_kind_have_one_digest() {
    let digest = |line: &str| kept_of_log_line(line).split_once("shape ").unwrap().1.to_owned();

    assert_eq!(digest("loaded 12 of 90 shards"), digest("loaded 7 of 1000 shards"));
    assert_ne!(digest("loaded 12 of 90 shards"), digest("loaded all shards"));
}
