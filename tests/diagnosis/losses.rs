//! Events that are missing: to kvtop alone, or to the router.

use kvtop::domain::{SourceNote, SourceState, Timestamp};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::snapshot::{CheckVerdict, Snapshot};
use kvtop::wire::{self, Facts, health};

use crate::support::{fixture, frames, played};

fn capture(name: &str) -> Vec<Frame> {
    frames(&fixture(&format!("captures/{name}.frames.gz")))
}

fn is_event(frame: &Frame) -> bool {
    let Origin::Nats { subject, .. } = &frame.origin else { return false };
    subject.contains("kv-events") || subject.contains("kv_events")
}

fn is_log(frame: &Frame) -> bool {
    matches!(frame.origin, Origin::Log { .. })
}

/// Returns what is said of `id`: the verdict, then what is missing or found.
fn said(seen: &Snapshot, id: &str) -> (&'static str, String) {
    let check = seen.checks.iter().find(|check| check.id == id).unwrap();
    match &check.verdict {
        CheckVerdict::Found => ("found", check.note.clone()),
        CheckVerdict::Clear => ("clear", check.note.clone()),
        CheckVerdict::Unknown { missing } => ("unknown", missing.clone()),
    }
}

/// Leaves out the events from the share `from` to the share `to` of all, in hundredths.
fn without(frames: &[Frame], from: usize, to: usize) -> Vec<Frame> {
    let all = frames.iter().filter(|frame| is_event(frame)).count();
    let (from, to) = (all * from / 100, all * to / 100);
    let mut number = 0;
    let keep = |frame: &&Frame| {
        number += usize::from(is_event(frame));
        !is_event(frame) || !(from..to).contains(&(number - 1))
    };
    frames.iter().filter(keep).cloned().collect()
}

fn note(state: SourceState, interruptions: u64, at: Timestamp) -> Frame {
    let why = if state == SourceState::Live { "" } else { "the connection was lost" };
    let note = SourceNote { interruptions, ..SourceNote::new("nats", state, why, at) };
    let origin = Origin::Health { source: "nats".into() };
    Frame::new(at, origin, health::encode(&note))
}

#[test]
fn what_passes_by_while_kvtops_own_connection_is_away_is_not_lost() {
    let whole = capture("1.0.2-healthy");
    // No router is heard, that could say who lost it.
    let mut seen: Vec<Frame> = without(&whole, 40, 60);
    seen.retain(|frame| !is_log(frame));

    let (verdict, text) = said(&played(&seen).1, "KVT014");
    assert_eq!(verdict, "found", "{text}");

    let events: Vec<Timestamp> = whole.iter().filter(|it| is_event(it)).map(|it| it.at).collect();
    let (down, up) = (events[events.len() * 2 / 5], events[events.len() * 3 / 5 - 1]);
    seen.push(note(SourceState::Live, 0, whole[0].at));
    seen.push(note(SourceState::Down, 1, down));
    seen.push(note(SourceState::Live, 1, up));
    seen.sort_by_key(|frame| frame.at);
    let (_, seen) = played(&seen);

    let (verdict, text) = said(&seen, "KVT014");
    assert_eq!(verdict, "unknown", "{text}");
    assert!(text.starts_with("what passed by while kvtop's own connection was away: "), "{text}");
    let (verdict, text) = said(&seen, "KVT008");
    assert_eq!(verdict, "found", "{text}");
    assert!(text.contains("are missing: kvtop's connection was away"), "{text}");
}

#[test]
fn what_routers_do_not_miss_is_missing_to_kvtop_alone() {
    for name in ["1.0.2-healthy", "1.6.1-healthy", "1.0.2-evict", "1.6.1-evict", "0.9.0-evict"] {
        for (from, to) in [(20, 35), (40, 60), (30, 80), (50, 55)] {
            let (_, seen) = played(&without(&capture(name), from, to));

            for id in ["KVT014", "KVT020"] {
                let (verdict, text) = said(&seen, id);
                assert_ne!(verdict, "found", "{name} {from} {to}: {text}");
            }
            let (verdict, text) = said(&seen, "KVT008");
            assert_eq!(verdict, "found", "{name} {from} {to}: {text}");
        }
    }
    let (_, seen) = played(&without(&capture("1.0.2-evict"), 40, 60));
    assert!(said(&seen, "KVT014").1.starts_with("who lost them: "));
    assert_eq!(said(&seen, "KVT020").0, "unknown");
    assert_eq!(said(&played(&capture("1.0.2-evict")).1, "KVT020").0, "clear");
}

#[test]
fn a_message_that_cannot_be_read_is_not_missing() {
    for name in ["1.0.2-healthy", "1.6.1-healthy"] {
        let mut frames = capture(name);
        frames.retain(|frame| !is_log(frame));
        for frame in frames.iter_mut().filter(|frame| is_event(frame)).skip(10).take(3) {
            frame.body = Body::Whole(vec![0, 1, 2].into());
        }

        let (verdict, text) = said(&played(&frames).1, "KVT014");

        assert_eq!(verdict, "unknown", "{name}: {text}");
        assert_eq!(text, "what 3 messages say that could not be read", "{name}");
    }
}

#[test]
fn a_worker_that_only_routers_hear_leaves_the_mirror_incomplete() {
    for name in ["1.0.2-healthy", "1.6.1-healthy", "1.6.1-evict"] {
        let whole = capture(name);
        let worker = |frame: &Frame| {
            let mut facts = Facts::default();
            wire::decode(frame, &mut facts).ok()?;
            facts.kv.events().first().map(|event| event.rank.worker)
        };
        let one = whole.iter().find_map(worker).unwrap();
        let half: Vec<Frame> =
            whole.iter().filter(|frame| worker(frame) != Some(one)).cloned().collect();

        let (verdict, text) = said(&played(&half).1, "KVT008");

        assert_eq!(verdict, "found", "{name}: {text}");
        assert!(text.contains("ever came, though routers found blocks there for"), "{text}");
        let (_, text) = said(&played(&whole).1, "KVT008");
        assert!(!text.contains("ever came"), "{name}: {text}");
    }
}
