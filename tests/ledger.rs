//! What became of numbered messages: holes forbid `OK`, late messages close them, streams that say that all came
//! are believed as far as the frames agree.

use kvtop::domain::{HistoryNote, SourceName, SourceNote, SourceState, StreamLedger, Timestamp};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::report::check::Status;
use kvtop::snapshot::{CheckVerdict, Snapshot};
use kvtop::wire::health;

use crate::support::{fixture, frames, played, scratch};

pub(crate) const RECORDINGS: [&str; 5] =
    ["0.9.0-healthy", "0.9.0-dp", "1.0.2-healthy", "1.3.1-healthy", "1.6.1-default_healthy"];

pub(crate) fn capture(name: &str) -> Vec<Frame> {
    frames(&fixture(&format!("captures/{name}.frames.gz")))
}

pub(crate) fn is_event(frame: &Frame) -> bool {
    match &frame.origin {
        Origin::Nats { subject, .. } => subject.ends_with("kv-events"),
        Origin::Zmq { .. } => {
            let Body::Parts(parts) = &frame.body else { return false };
            String::from_utf8_lossy(&parts[0]).contains("kv-events")
        }
        _ => false,
    }
}

/// Takes every fifth event out, from the tenth on. Returns what is left and what was taken.
pub(crate) fn parted(all: &[Frame]) -> (Vec<Frame>, Vec<Frame>) {
    let mut number = 0;
    let (gone, left) = all.iter().cloned().partition(|frame| {
        number += usize::from(is_event(frame));
        is_event(frame) && number > 10 && number % 5 == 0
    });
    (left, gone)
}

pub(crate) fn is_noted(seen: &Snapshot) -> bool {
    let check = seen.checks.iter().find(|check| check.id == "KVT008").unwrap();
    check.verdict == CheckVerdict::Found
}

pub(crate) fn events_row(seen: &Snapshot) -> SourceState {
    let row = seen.sources.iter().find(|row| ["nats", "zmq"].contains(&row.name.as_str()));
    row.unwrap().state
}

#[test]
fn a_recording_that_lacks_a_fifth_of_its_events_is_not_ok() {
    for name in RECORDINGS {
        let whole = capture(name);
        let (left, gone) = parted(&whole);
        assert!(gone.len() > 5, "{name}: {} events", gone.len());
        let (_, seen) = played(&whole);
        assert_eq!(seen.ledger.hole, None, "{name}: {:?}", seen.ledger);

        let (_, seen) = played(&left);

        let hole = seen.ledger.hole.clone().unwrap_or_else(|| panic!("{name}: no hole"));
        // The last ones of each rank are followed by none that would tell.
        assert!(hole.messages + 4 >= gone.len() as u64, "{name}: {hole:?} of {}", gone.len());
        assert_ne!(Status::new(&seen), Status::Ok, "{name}");
        assert!(is_noted(&seen), "{name}");
    }
}

#[test]
fn a_hole_changes_the_state_of_its_source_at_once() {
    for name in RECORDINGS {
        let (left, gone) = parted(&capture(name));
        let first = gone[0].at;
        let until: Vec<Frame> =
            left.into_iter().filter(|it| it.at <= Timestamp(first.0 + 1_000_000)).collect();
        let (_, seen) = played(&until);
        let more = until.iter().filter(|it| is_event(it) && it.at > first).count();
        if more > 3 {
            assert_eq!(events_row(&seen), SourceState::Lossy, "{name}");
        }
    }
}

#[test]
fn messages_that_come_late_close_the_hole() {
    for name in RECORDINGS {
        let whole = capture(name);
        let (mut left, gone) = parted(&whole);
        let end = left.last().unwrap().at;
        left.extend(gone.into_iter().map(|frame| Frame { at: end, ..frame }));
        let (_, seen) = played(&left);

        assert_eq!(seen.ledger.hole, None, "{name}: {:?}", seen.ledger);
        let sum = |count: fn(&kvtop::domain::RankLedger) -> u64| -> u64 {
            seen.workers.iter().map(|row| count(&row.ledger)).sum()
        };
        assert_eq!(sum(|it| it.missing), 0, "{name}");
        assert!(sum(|it| it.reordered) > 5, "{name}");
    }
}

#[test]
fn neighbours_that_change_places_are_no_hole() {
    for name in RECORDINGS {
        let mut all = capture(name);
        let places: Vec<usize> = (0..all.len()).filter(|at| is_event(&all[*at])).collect();
        for pair in places[8..].chunks_exact(2).step_by(3) {
            let (from, to) = (all[pair[0]].at, all[pair[1]].at);
            all.swap(pair[0], pair[1]);
            (all[pair[0]].at, all[pair[1]].at) = (from, to);
        }
        let (_, seen) = played(&all);

        assert_eq!(seen.ledger.hole, None, "{name}: {:?}", seen.ledger);
        assert_eq!(events_row(&seen), SourceState::Live, "{name}");
    }
}

/// Adds notes that tell of a stream of which everything was passed on: one before the events, one after.
fn with_ledger(all: &[Frame], lost: u64) -> Vec<Frame> {
    let of = |frame: &&Frame| is_event(frame);
    let events = all.iter().filter(of).count() as u64;
    let Origin::Nats { subject, .. } = &all.iter().find(of).unwrap().origin else { panic!("NATS") };
    let stream = subject.strip_suffix(".kv-events").unwrap();
    let note = |received: u64, aged_out: u64, at: Timestamp| {
        let history = HistoryNote {
            stream: stream.into(),
            first_seq: 1,
            last_seq: received + aged_out,
            read: 0,
            complete: true,
            keeps: None,
            ledger: Some(StreamLedger {
                published: received + aged_out,
                received,
                aged_out,
                ..StreamLedger::default()
            }),
        };
        let note = SourceNote {
            history: Some(history),
            ..SourceNote::new(SourceName::Nats, SourceState::Live, "", at)
        };
        Frame::new(at, Origin::Health { source: "nats".into() }, health::encode(&note))
    };
    let first = all.iter().find(of).unwrap().at;
    let mut noted = vec![note(0, 0, first)];
    noted.extend(all.iter().cloned());
    noted.push(note(events, lost, all.last().unwrap().at));
    noted.sort_by_key(|frame| frame.at);
    noted
}

#[test]
fn numbers_that_are_missing_though_a_whole_stream_came_were_never_published() {
    let (left, _) = parted(&capture("0.9.0-healthy"));
    let (_, seen) = played(&with_ledger(&left, 0));

    assert_eq!(seen.ledger.hole, None, "{:?}", seen.ledger);
    assert!(seen.workers.iter().any(|row| row.ledger.missing > 0));
    assert_ne!(Status::new(&seen), Status::Unknown);
}

#[test]
fn what_a_stream_deleted_unread_forbids_ok() {
    let whole = capture("0.9.0-healthy");
    let (_, before) = played(&with_ledger(&whole, 0));
    let (_, seen) = played(&with_ledger(&whole, 7));

    assert_eq!((&before.ledger.hole, Status::new(&before)), (&None, Status::Ok));
    assert_eq!(seen.ledger.hole.as_ref().map(|hole| hole.messages), Some(7));
    assert_eq!(Status::new(&seen), Status::Unknown);
    assert!(is_noted(&seen));
    let text = kvtop::report::check::text(&seen);
    assert!(text.contains("7 KV events did not reach kvtop, the last 0 s ago"), "{text}");
}

#[test]
fn frames_that_a_source_passed_on_and_a_recording_lacks_are_missed() {
    let whole = with_ledger(&capture("0.9.0-healthy"), 0);
    let (left, gone) = parted(&whole);
    let (_, seen) = played(&left);

    let count = gone.len() as u64;
    assert_eq!(seen.ledger.streams[0].unseen, count);
    assert!(seen.ledger.hole.as_ref().is_some_and(|hole| hole.messages >= count));
    assert_ne!(Status::new(&seen), Status::Ok, "{}", kvtop::report::check::text(&seen));
}

#[test]
fn while_history_is_read_no_worker_is_healthy_and_no_count_is_0() {
    let whole = capture("0.9.0-healthy");
    let stream = "namespace-dynamo-component-backend-kv-events";
    let history = HistoryNote {
        stream: stream.into(),
        first_seq: 1,
        last_seq: 100_000,
        read: 14_000,
        complete: false,
        keeps: None,
        ledger: None,
    };
    let at = whole.last().unwrap().at;
    let note = SourceNote {
        history: Some(history),
        ..SourceNote::new(SourceName::Nats, SourceState::Live, "", at)
    };
    let note = Frame::new(at, Origin::Health { source: "nats".into() }, health::encode(&note));
    let file = scratch().join("behind.frames");
    let mut text = "{\"kvtop_frames\":1}\n".to_owned();
    for frame in whole.iter().chain([&note]) {
        text.push_str(&kvtop::record::encode(frame));
        text.push('\n');
    }
    std::fs::write(&file, text).unwrap();
    let shown = |format: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kvtop"));
        command.args(["snapshot", "--replay", file.to_str().unwrap()]).args(format);
        String::from_utf8(command.env("HOME", scratch()).output().unwrap().stdout).unwrap()
    };

    let report: serde_json::Value = serde_json::from_str(&shown(&["-o", "json"])).unwrap();

    assert_eq!(report["catching_up"]["percent"], 14);
    let workers = report["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2);
    for worker in workers {
        for count in ["accepted", "held", "stores"] {
            assert!(worker[count].is_null(), "{count}: {worker}");
        }
    }
    let screen = shown(&["-o", "text", "--view", "workers"]);
    assert!(screen.contains("reading history"), "{screen}");
    assert!(!screen.contains("✓ ok"), "{screen}");
    let overview = shown(&["-o", "text"]);
    assert_eq!(overview.matches("○ not known yet").count(), 2, "{overview}");
}
