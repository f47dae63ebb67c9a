//! What closes a hole in the KV events: a cleared cache, a restart, or the next numbers of workers that lost nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use kvtop::domain::{Envelope, Fact, HistoryNote, SequenceHash, SourceName, SourceNote};
use kvtop::domain::{SourceState, StreamLedger, Tier, Timestamp, WorkerRank};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::report::check::{self, Status};
use kvtop::snapshot::Snapshot;
use kvtop::wire::encode::{Change, Family, RouterEvent, envelope};
use kvtop::wire::{self, Facts, health};

use crate::ledger::{RECORDINGS, capture, events_row, is_event, is_noted, parted};
use crate::support::{played, scratch};

/// A message that follows the last one of its rank.
struct Next {
    origin: Origin,
    body: Body,
    envelope: Option<Envelope>,
    event_id: u64,
    family: Family,
}

/// Returns the last message of each rank in a part of the recording `name`.
fn last_messages(name: &str, frames: &[Frame]) -> BTreeMap<WorkerRank, Next> {
    let family = *Family::ALL.iter().find(|family| name.starts_with(family.name())).unwrap();
    let mut last = BTreeMap::new();
    for frame in frames.iter().filter(|frame| is_event(frame)) {
        let mut facts = Facts::default();
        wire::decode(frame, &mut facts).unwrap();
        let envelope = facts.other.iter().find_map(|fact| match fact {
            Fact::Envelope { envelope, .. } => Some(*envelope),
            _ => None,
        });
        let event = facts.kv.events().last().unwrap();
        let (origin, body) = (frame.origin.clone(), frame.body.clone());
        let event_id = event.event_id;
        last.insert(event.rank, Next { origin, body, envelope, event_id, family });
    }
    last
}

impl Next {
    /// Returns the message that follows, with a change of `rank`'s cache and the number `event_id`.
    fn frame(&self, rank: WorkerRank, event_id: u64, change: Change<'_>, at: Timestamp) -> Frame {
        let event = RouterEvent { rank, tier: Tier::Device, event_id, change };
        let origin = self.origin.clone();
        let Some(Envelope { publisher, sequence }) = self.envelope else {
            return Frame::new(at, origin, event.json(self.family));
        };
        let payload = event.payload(self.family);
        let whole = envelope(publisher, sequence + 1, at.0 / 1_000, "kv-events", &payload);
        let body = match &self.body {
            Body::Whole(_) => Body::Whole(whole.into()),
            Body::Parts(parts) => {
                let length = u32::try_from(whole.len()).unwrap().to_be_bytes();
                let last = [&[1][..], &length, &whole].concat();
                let mut parts = parts.clone();
                parts[2] = (sequence + 1).to_be_bytes().to_vec().into();
                *parts.last_mut().unwrap() = last.into();
                Body::Parts(parts)
            }
        };
        Frame { at, time: None, origin, body }
    }

    fn cleared(&self, rank: WorkerRank, at: Timestamp) -> Frame {
        self.frame(rank, self.event_id + 1, Change::Cleared, at)
    }
}

/// Returns the frames without a fifth of the events, and a cleared cache of every rank a second later.
fn refilled(name: &str, left: &[Frame]) -> Vec<Frame> {
    let at = left.last().unwrap().at.after(Duration::from_secs(1));
    let mut all = left.to_vec();
    all.extend(last_messages(name, left).iter().map(|(rank, next)| next.cleared(*rank, at)));
    all
}

fn lacking(seen: &Snapshot) -> usize {
    seen.ledger.hole.as_ref().map_or(0, |hole| hole.lacking.len())
}

#[test]
fn a_cleared_cache_closes_the_hole_of_its_worker_at_once_and_of_no_other() {
    for name in RECORDINGS {
        let whole = capture(name);
        let (left, _) = parted(&whole);
        let (_, seen) = played(&left);
        let workers = lacking(&seen);
        assert!(workers > 0 && is_noted(&seen), "{name}: {:?}", seen.ledger.hole);
        assert!(!seen.tree.incomplete.is_empty(), "{name}: no index copy with a hole is complete");
        let line = check::text(&seen);
        let counted = ["accepted=", "refused_stores=", "orphan_pct="];
        assert!(counted.iter().all(|count| !line.contains(count)), "{name}: {line}");
        assert_eq!(events_row(&seen), SourceState::Lossy, "{name}");

        let all = refilled(name, &left);
        let (_, one) = played(&all[..=left.len()]);
        let (_, seen) = played(&all);

        let alone = last_messages(name, &left).len() == 1;
        assert!(alone || one.ledger.hole.is_some(), "{name}");
        assert_eq!(seen.ledger.hole, None, "{name}");
        assert_eq!(Status::new(&seen), Status::new(&played(&whole).1), "{name}");
        assert!(seen.tree.incomplete.is_empty(), "{name}: {:?}", seen.tree.incomplete);
        assert_eq!(events_row(&seen), SourceState::Live, "{name}");
    }
}

#[test]
fn a_worker_that_starts_anew_closes_its_hole_at_once() {
    for name in ["1.0.2-healthy", "1.3.1-healthy", "1.6.1-default_healthy"] {
        let (left, _) = parted(&capture(name));
        let at = left.last().unwrap().at.after(Duration::from_secs(1));
        let first = u64::from(name != "1.0.2-healthy");
        let mut all = left.clone();
        all.extend(
            last_messages(name, &left).iter().map(|(rank, next)| {
                next.frame(*rank, first, Change::Removed(&[SequenceHash(1)]), at)
            }),
        );

        let (_, seen) = played(&all);

        assert!(lacking(&played(&left).1) > 0, "{name}");
        assert_eq!(seen.ledger.hole, None, "{name}");
    }
}

/// Returns a note of the source of events, `lost` messages after the stream's `received`.
fn note(frames: &[Frame], received: u64, lost: u64, at: Timestamp) -> Frame {
    let Origin::Nats { subject, .. } = &frames.iter().find(|it| is_event(it)).unwrap().origin
    else {
        panic!("NATS")
    };
    let ledger = StreamLedger {
        published: received + lost,
        received,
        aged_out: lost,
        ..StreamLedger::default()
    };
    let history = HistoryNote {
        stream: subject.strip_suffix(".kv-events").unwrap().into(),
        first_seq: 1,
        last_seq: received + lost,
        read: 0,
        complete: true,
        keeps: None,
        ledger: Some(ledger),
    };
    let note = SourceNote {
        history: Some(history),
        ..SourceNote::new(SourceName::Nats, SourceState::Live, "", at)
    };
    Frame::new(at, Origin::Health { source: "nats".into() }, health::encode(&note))
}

/// Returns the places of the first event and of the one in the middle.
fn places(frames: &[Frame]) -> (usize, usize) {
    let places: Vec<usize> = (0..frames.len()).filter(|at| is_event(&frames[*at])).collect();
    (places[0], places[places.len() / 2])
}

#[test]
fn a_loss_of_unknown_messages_is_closed_by_the_next_number_of_every_worker() {
    let whole = capture("0.9.0-healthy");
    let (first, middle) = places(&whole);
    let before = whole[..middle].iter().filter(|it| is_event(it)).count() as u64;
    let mut until = whole[..first].to_vec();
    until.push(note(&whole, 0, 0, whole[first].at));
    until.extend_from_slice(&whole[first..middle]);
    until.push(note(&whole, before, 7, whole[middle - 1].at));
    let mut all = until.clone();
    all.extend_from_slice(&whole[middle..]);

    let (_, seen) = played(&until);
    let hole = seen.ledger.hole.clone().unwrap();
    assert_eq!((hole.messages, hole.lacking.len()), (7, 0));
    assert!(hole.unsure.len() > 1 && is_noted(&seen));
    assert_ne!(Status::new(&seen), Status::Ok);
    let text = kvtop::report::check::text(&seen);
    assert!(text.contains("7 KV events did not reach kvtop"), "{text}");

    // None of the workers lacks a number.
    let (_, seen) = played(&all);
    assert_eq!((seen.ledger.hole.as_ref(), Status::new(&seen)), (None, Status::Ok));
    assert!(!is_noted(&seen), "{:?}", seen.tree.incomplete);
}

#[test]
fn a_drop_that_nobody_can_count_is_closed_by_the_next_number_of_every_worker() {
    for name in ["1.0.2-healthy", "1.3.1-healthy"] {
        let whole = capture(name);
        let (first, middle) = places(&whole);
        let told = |dropped: u64, at: Timestamp| {
            let note = SourceNote {
                dropped,
                ..SourceNote::new(SourceName::Nats, SourceState::Live, "", at)
            };
            Frame::new(at, Origin::Health { source: "nats".into() }, health::encode(&note))
        };
        let mut until = whole[..first].to_vec();
        until.push(told(0, whole[first].at));
        until.extend_from_slice(&whole[first..middle]);
        until.push(told(3, whole[middle - 1].at));
        let mut all = until.clone();
        all.extend_from_slice(&whole[middle..]);

        let (_, seen) = played(&until);
        assert!(seen.ledger.hole.as_ref().is_some_and(|hole| hole.unsure.len() > 1), "{name}");
        assert_ne!(Status::new(&seen), Status::Ok, "{name}");

        let (_, seen) = played(&all);
        assert_eq!((seen.ledger.hole.as_ref(), Status::new(&seen)), (None, Status::Ok), "{name}");
    }
}

/// Runs `kvtop check` on a recording of `frames`. Returns its exit code and what it says.
fn checked(frames: &[Frame], name: &str) -> (Option<i32>, String) {
    let file = scratch().join(name);
    let mut text = "{\"kvtop_frames\":1}\n".to_owned();
    for frame in frames {
        text.push_str(&kvtop::record::encode(frame));
        text.push('\n');
    }
    std::fs::write(&file, text).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(["check", "--replay", file.to_str().unwrap()]).env("HOME", scratch());
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn check_of_a_recording_names_what_a_hole_waits_for_and_forgets_it_once_refilled() {
    let name = "1.0.2-healthy";
    let (left, _) = parted(&capture(name));
    let all = refilled(name, &left);
    // Who attaches after the hole knows nothing of it.
    let seam = left.len() - left.iter().rev().position(is_event).unwrap() - 1;
    let late: Vec<Frame> = left
        .iter()
        .enumerate()
        .filter(|(at, it)| *at >= seam || !is_event(it))
        .map(|(_, it)| it.clone())
        .collect();

    let (code, text) = checked(&left, "hole.frames");
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("did not reach kvtop") && text.contains("counts are right again after"),
        "{text}"
    );

    let (code, text) = checked(&all, "refilled.frames");
    assert_eq!(code, Some(0), "{text}");

    let (_, text) = checked(&late, "late.frames");
    assert!(!text.contains("did not reach kvtop"), "{text}");
}
