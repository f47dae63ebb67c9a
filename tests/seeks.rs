//! Jumps in a recording: the moment is shown at once, and exactly as soon as its frames were played.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kvtop::clock;
use kvtop::diagnose::Thresholds;
use kvtop::domain::Timestamp;
use kvtop::frame::Frame;
use kvtop::player::Player;
use kvtop::record::{Header, RecordWriter};
use kvtop::snapshot::ViewQuery;

use crate::support::{fixture, frames, scratch};

const MEMORY: usize = 1 << 30;

fn open(path: &Path) -> Player {
    Player::open(path, MEMORY, Thresholds::default()).unwrap()
}

/// Returns a player whose index is complete.
fn indexed(path: &Path) -> Player {
    let mut player = open(path);
    while player.read_index(4_096).unwrap() {}
    player
}

/// Writes a capture again and again, each time later, until the file has so many bytes.
fn long(name: &str, bytes: u64) -> PathBuf {
    let path = scratch().join(name);
    let once: Vec<Frame> = frames(&fixture("captures/0.9.0-healthy.frames.gz"));
    let (first, last) = (once.first().unwrap().at, once.last().unwrap().at);
    let span = last.since(first) + Duration::from_secs(1);
    let mut writer = RecordWriter::create(&path, &Header::default()).unwrap();
    for round in 0_u32.. {
        for frame in &once {
            let at = frame.at.after(span * round);
            let time = frame.time.map(|time| time.after(span * round));
            writer.write(&Frame { at, time, ..frame.clone() }).unwrap();
        }
        writer.flush().unwrap();
        if std::fs::metadata(&path).unwrap().len() >= bytes {
            break;
        }
    }
    writer.finish().unwrap();
    path
}

#[test]
fn a_jump_shows_the_nearest_picture_until_the_exact_one_is_played() {
    let path = fixture("captures/0.9.0-evict.frames.gz");
    let mut player = indexed(&path);
    let (start, end) = (player.playback().start, player.end());
    player.finish().unwrap();
    let target = start.after(end.since(start) / 2);

    player.jump(target).unwrap();
    assert_eq!(player.goal(), Some(target));
    let near = player.glimpse().unwrap();
    let off = near.at.since(target).max(target.since(near.at));
    assert!(off <= Duration::from_secs(1), "{off:?}");
    assert!(!near.workers.is_empty() && near.prefixes.is_some());
    let playback = player.playback();
    assert!(playback.seeking.is_some() && playback.position == target);

    while player.goal().is_some() {
        player.approach(100).unwrap();
    }
    assert!(player.glimpse().is_none() && player.playback().seeking.is_none());
    let query = ViewQuery::default();
    let jumped = player.engine().snapshot(&query, target);
    let mut other = open(&path);
    other.seek(target).unwrap();
    let sought = other.engine().snapshot(&query, target);
    assert_eq!(jumped.workers, sought.workers);
    assert_eq!(jumped.frames, sought.frames);
    assert_eq!(jumped.findings, sought.findings);
}

#[test]
fn the_index_knows_the_events_of_the_whole_recording() {
    let mut player = open(&fixture("captures/0.9.0-mm_pub32_eng16.frames.gz"));
    assert!(player.playback().known.is_none() && player.is_indexing());
    while player.read_index(1_000).unwrap() {}
    let known = player.playback().known.unwrap();
    assert_eq!(known.at, player.end());
    assert!(known.findings.iter().any(|row| row.id == "KVT001"), "{:?}", known.findings);
    assert_eq!(player.position(), player.playback().start, "the player stands where it stood");
}

#[test]
fn a_jump_beyond_the_index_waits_for_its_frames() {
    let mut player = open(&fixture("captures/0.9.0-evict.frames.gz"));
    let end = player.end();
    player.jump(end).unwrap();
    assert!(player.glimpse().is_none(), "no picture of another time is shown instead");
    while player.goal().is_some() {
        player.approach(1_000).unwrap();
    }
    assert_eq!(player.position(), end);
}

/// Takes a minute in a release build: `cargo test --release --test main seeks -- --ignored --nocapture`.
#[test]
#[ignore = "writes and reads a recording of one gigabyte"]
#[expect(clippy::print_stdout, reason = "its figures are what it is for")]
fn by_hand_a_jump_in_a_recording_of_one_gigabyte_takes_under_half_a_second() {
    let path = long("gigabyte.frames", 1 << 30);
    let opening = clock::now();
    let mut player = open(&path);
    let opened = clock::now().since(opening);
    let indexing = clock::now();
    while player.read_index(4_096).unwrap() {}
    let indexed = clock::now().since(indexing);
    let (start, end) = (player.playback().start, player.end());
    let mut longest = Duration::ZERO;
    for share in [90, 10, 50, 75, 25] {
        let target: Timestamp = start.after(end.since(start) * share / 100);
        let began = clock::now();
        player.jump(target).unwrap();
        let shown = player.glimpse().map(|near| near.at);
        longest = longest.max(clock::now().since(began));
        assert!(shown.is_some());
        let exact = clock::now();
        while player.goal().is_some() {
            player.approach(256).unwrap();
        }
        println!(
            "to {share} %: shown after {longest:?}, exact after {:?}",
            clock::now().since(exact)
        );
    }
    println!("opened in {opened:?}, indexed in {indexed:?}");
    std::fs::remove_file(&path).unwrap();
    assert!(longest < Duration::from_millis(500), "{longest:?}");
}
