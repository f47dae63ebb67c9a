//! Events that are missing: to kvtop alone, or to the router.

use std::collections::HashSet;
use std::time::Duration;

use kvtop::diagnose::{Change, Evidence, Finding, Rejecting, Verdict};
use kvtop::domain::{
    Grade, KvKind, Plane, SequenceHash, SourceName, SourceNote, SourceState, Timestamp, WorkerRank,
};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::snapshot::{CheckVerdict, Knowledge, Snapshot, WorkerRow};
use kvtop::wire::{self, Facts, health};

use super::Chance;
use super::rules::healthy;
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
    let note = SourceNote { interruptions, ..SourceNote::new(SourceName::Nats, state, why, at) };
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
    assert!(text.starts_with("cannot tell: kvtop missed "), "{text}");
    let (verdict, text) = said(&seen, "KVT008");
    assert_eq!(verdict, "found", "{text}");
    assert!(text.contains("are missing: kvtop's connection was away"), "{text}");
}

#[test]
fn frames_that_kvtop_dropped_count_only_where_they_are_of_events_and_recent() {
    let mut seen: Vec<Frame> = without(&capture("1.0.2-healthy"), 40, 60);
    seen.retain(|frame| !is_log(frame));
    let (first, amid) = (seen[0].at, seen[seen.len() / 4].at);
    let with = |source: SourceName, at: Timestamp| {
        let state = SourceState::Live;
        let origin = Origin::Health { source: source.clone() };
        let note = SourceNote { dropped: 4, ..SourceNote::new(source, state, "", at) };
        let mut frames = seen.clone();
        frames.push(Frame::new(at, origin, health::encode(&note)));
        frames.sort_by_key(|frame| frame.at);
        said(&played(&frames).1, "KVT014")
    };

    let (verdict, text) = with(SourceName::Nats, amid);
    assert_eq!(verdict, "unknown", "{text}");
    assert_eq!(text, "cannot tell: kvtop itself lost 4 messages");
    let (verdict, text) = with(SourceName::Logs, amid);
    assert_eq!(verdict, "found", "{text}");
    let (verdict, text) = with(SourceName::Nats, first.before(Duration::from_secs(600)));
    assert_eq!(verdict, "found", "{text}");
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
    assert!(said(&seen, "KVT014").1.starts_with("cannot tell who lost events: "));
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
        assert_eq!(text, "cannot tell: 3 messages could not be decoded", "{name}");
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
        assert!(text.contains("ever arrived, although routers found blocks there for"), "{text}");
        let (_, text) = said(&played(&whole).1, "KVT008");
        assert!(!text.contains("ever arrived"), "{name}: {text}");
    }
}

/// Adds the warnings of a router that lost every event for which `lost` says so.
fn with_losses_at_router(whole: &[Frame], mut lost: impl FnMut() -> bool) -> (Vec<Frame>, usize) {
    let from = |it: &&Frame| matches!(&it.origin, Origin::Log { pod, .. } if &**pod == "frontend");
    let log = whole.iter().find(from).unwrap().origin.clone();
    let mut index: HashSet<(WorkerRank, SequenceHash)> = HashSet::new();
    let mut warnings = Vec::new();
    for frame in whole.iter().filter(|frame| is_event(frame)) {
        if lost() {
            continue;
        }
        let mut facts = Facts::default();
        wire::decode(frame, &mut facts).unwrap();
        for event in facts.kv.events() {
            let rank = event.rank;
            match &event.kind {
                KvKind::Stored { parent: Some(parent), blocks }
                    if !index.contains(&(rank, *parent)) =>
                {
                    let text = format!(
                        "WARN dynamo_kv_router::radix_tree: Failed to find parent block; skipping store \
                         operation worker_id=\"{}\" dp_rank={} id={} \
                         parent_hash=Some(ExternalSequenceBlockHash({})) num_blocks={}",
                        rank.worker.0,
                        rank.dp_rank.0,
                        event.event_id,
                        parent.0,
                        facts.kv.blocks_of(blocks).len()
                    );
                    let at = Timestamp(frame.at.0 + 900);
                    warnings.push(Frame::new(at, log.clone(), text.into_bytes()));
                }
                KvKind::Stored { blocks, .. } => {
                    let blocks = facts.kv.blocks_of(blocks).iter();
                    index.extend(blocks.map(|block| (rank, block.sequence)));
                }
                KvKind::Removed { hashes } => {
                    for hash in facts.kv.removed_of(hashes) {
                        index.remove(&(rank, *hash));
                    }
                }
                KvKind::Cleared { .. } => index.retain(|(of, _)| *of != rank),
            }
        }
    }
    let refused = warnings.len();
    let mut all = [whole, warnings.as_slice()].concat();
    all.sort_by_key(|frame| frame.at);
    (all, refused)
}

#[test]
fn a_router_that_loses_events_while_it_runs_has_not_lost_its_history() {
    for name in ["1.0.2-restart_worker", "0.9.0-restart_worker", "1.6.1-healthy", "0.9.0-evict"] {
        let whole = capture(name);
        for seed in 1..=5 {
            let mut chance = Chance(seed);
            let (frames, refused) = with_losses_at_router(&whole, || chance.below(8) == 0);
            let (_, seen) = played(&frames);

            let (verdict, text) = said(&seen, "KVT007");
            assert_eq!(verdict, "clear", "{name} {seed}: {refused} refused: {text}");
            let (verdict, text) = said(&seen, "KVT014");
            if refused >= 20 {
                assert_eq!(verdict, "found", "{name} {seed}: {refused} refused: {text}");
                assert!(text.starts_with("Routers lose KV events: "), "{name} {seed}: {text}");
            }
        }
    }
}

#[test]
fn a_router_whose_start_nobody_saw_is_not_proven_to_lack_history() {
    let whole = capture("0.9.0-nohist");
    let starts = |frame: &Frame| {
        let Body::Whole(bytes) = &frame.body else { return false };
        is_log(frame) && String::from_utf8_lossy(bytes).contains("Starting HTTP(S) service")
    };
    let of = |frames: &[Frame]| {
        let (_, seen) = played(frames);
        let found = seen.findings.iter().find(|finding| finding.id == "KVT007");
        found.map(|finding| (finding.grade, finding.summary.clone()))
    };
    let unseen: Vec<Frame> = whole.iter().filter(|frame| !starts(frame)).cloned().collect();

    let (grade, summary) = of(&whole).unwrap();
    assert_eq!(grade, Grade::Confirmed);
    assert!(summary.contains("68 of 70 rejected stores"), "{summary}");
    assert_eq!(of(&unseen), None);
    assert_eq!(said(&played(&unseen).1, "KVT007").0, "unknown");
}

/// The share of rejected stores is that of the routers where kvtop's copy rejects nothing, however many they are.
#[test]
fn stores_that_routers_alone_reject_have_a_share() {
    let whole = capture("0.9.0-nohist");
    let rejects = |frame: &Frame| {
        let Body::Whole(bytes) = &frame.body else { return false };
        is_log(frame) && String::from_utf8_lossy(bytes).contains("Failed to find parent block")
    };
    let last = whole.iter().rposition(rejects).unwrap();
    let one = &whole[..=last];
    let twin = |frame: &Frame| {
        let mut other = frame.clone();
        if let Origin::Log { pod, .. } = &mut other.origin
            && pod.contains("frontend")
        {
            *pod = format!("{pod}-2").into();
            return vec![frame.clone(), other];
        }
        vec![other]
    };
    let two: Vec<Frame> = one.iter().flat_map(twin).collect();
    let shares = |frames: &[Frame]| {
        let (_, seen) = played(frames);
        let own: u64 = seen.workers.iter().map(|row| row.counters.refused_stores).sum();
        assert_eq!(own, 0);
        let rows: Vec<Option<f64>> = seen.workers.iter().map(|row| row.orphan_share).collect();
        (seen.totals.orphan_share.unwrap(), rows)
    };

    let (all, rows) = shares(one);
    assert!(all > 0.05 && all < 1.0, "{all}");
    assert!(rows.iter().all(|share| share.is_some_and(|share| share > 0.0)), "{rows:?}");
    assert_eq!(shares(&two), (all, rows));
}

#[test]
fn who_attached_late_knows_the_share_of_rejected_stores_from_routers_alone() {
    let whole = capture("0.9.0-nohist");
    let rejects = |frame: &Frame| {
        let Body::Whole(bytes) = &frame.body else { return false };
        is_log(frame) && String::from_utf8_lossy(bytes).contains("Failed to find parent block")
    };
    let first = whole.iter().position(rejects).unwrap();
    let last = whole.iter().rposition(rejects).unwrap();
    let shares = |frames: &[Frame]| {
        let (_, seen) = played(frames);
        let late = |row: &WorkerRow| row.knowledge == Knowledge::SinceAttach;
        assert!(seen.workers.iter().all(late));
        let rows: Vec<Option<f64>> = seen.workers.iter().map(|row| row.orphan_share).collect();
        (seen.totals.orphan_share, rows)
    };
    let late = &whole[first..=last];
    let unheard: Vec<Frame> = late.iter().filter(|frame| !is_log(frame)).cloned().collect();

    let (all, rows) = shares(late);
    assert!(all.is_some_and(|share| share > 0.05 && share < 1.0), "{all:?}");
    assert!(rows.iter().all(|share| share.is_some_and(|share| share > 0.0)), "{rows:?}");
    // kvtop's own copy lacks as many parents, which proves nothing.
    let (all, rows) = shares(&unheard);
    assert_eq!(all, None);
    assert!(rows.iter().all(Option::is_none), "{rows:?}");
}

fn without_history(past_known: bool) -> Finding {
    let mut evidence = healthy();
    evidence.router.began = Some(Timestamp(50_000_000));
    for (place, second) in [(0, 10), (1, 60)] {
        evidence.ranks[place].started = Some(Timestamp(second * 1_000_000));
        evidence.ranks[place].past_known = past_known;
    }
    let tally = &mut evidence.router.tally;
    tally.parent_full = 150;
    if past_known {
        (tally.parent_held, tally.parent_before) = (150, 150);
    } else {
        // Most stores of workers that are older than the router.
        evidence.ranks[1].started = Some(Timestamp(20_000_000));
    }
    match kvtop::diagnose::rule("KVT007").unwrap().judge(&evidence) {
        Verdict::Found(finding) => *finding,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_workers_older_than_the_router_are_to_be_restarted() {
    let rolled = |finding: Finding| match finding.fix.unwrap().changes.remove(0) {
        Change::Roll { pods } => pods.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };

    assert_eq!(rolled(without_history(true)), ["worker-1"]);
    assert_eq!(rolled(without_history(false)), ["worker-1", "worker-2"]);
}

#[test]
fn parents_from_before_kvtop_attached_are_unknown_and_not_none() {
    let claims = |finding: Finding| -> Vec<String> {
        let of_parents = |claim: &String| claim.starts_with("of those, parents");
        finding.proofs.iter().map(|proof| proof.kind.to_string()).filter(of_parents).collect()
    };

    assert_eq!(claims(without_history(true)).len(), 2);
    assert!(claims(without_history(false)).is_empty());
}

#[test]
fn a_few_rejected_stores_are_few_once_they_were_counted_for_a_while() {
    let verdict = |past_known: bool, seconds: u64| {
        let mut evidence = healthy();
        for rank in &mut evidence.ranks {
            rank.past_known = past_known;
        }
        evidence.attached = Timestamp(evidence.at.0 - seconds * 1_000_000);
        evidence.router.tally.parent_full = 9;
        kvtop::diagnose::rule("KVT007").unwrap().judge(&evidence)
    };

    let Verdict::Unknown { missing, .. } = verdict(false, 3) else { panic!() };
    assert!(missing.to_string().starts_with("needs 28 s more of events: "), "{missing}");
    assert!(matches!(verdict(false, 30), Verdict::Clear { .. }));
    assert!(matches!(verdict(true, 3), Verdict::Clear { .. }), "they are known to be lost events");
}

/// A reason not to take rejected stores for lost history.
type Doubt = fn(&mut Evidence);

#[test]
fn a_few_rejected_stores_are_lost_history_where_the_stream_had_forgotten_the_workers_start() {
    // Both workers are older than the router by 40 and 30 s.
    let met = |rejected: u64| {
        let mut evidence = healthy();
        let began = Timestamp(50_000_000);
        (evidence.plane.name, evidence.plane.keeps) =
            (Some(Plane::JetStream), Some(Duration::from_secs(5)));
        evidence.router.rejecting =
            Some(Rejecting { routers: 1, began, after: Duration::from_secs(2) });
        for (rank, second) in evidence.ranks.iter_mut().zip([10, 20]) {
            rank.started = Some(Timestamp(second * 1_000_000));
            rank.past_known = false;
            rank.tally.refusals.parent_full = rejected / 2;
        }
        evidence.router.tally.parent_full = rejected;
        evidence
    };
    let judge = |evidence: &Evidence| kvtop::diagnose::rule("KVT007").unwrap().judge(evidence);
    let stores = healthy().total().kv.full_stores();
    let few = stores / 5;
    assert!(few >= 40, "{stores}");

    let Verdict::Found(found) = judge(&met(few)) else { panic!() };
    assert_eq!(found.grade, Grade::Likely);
    let said = |id: &str| {
        let proof = found.proofs.iter().find(|proof| proof.kind.measure.id == id).unwrap();
        format!("{}: {} [{}]", proof.kind, proof.value, proof.source)
    };
    assert_eq!(said("stream_keeps"), "time for which the stream keeps KV events: 5 s [JetStream]");
    assert!(said("router_start").contains("40 s after the first worker"));
    assert!(said("first_rejected").contains("2 s after the first request"));

    // Each is a reason to think of lost events, or not to know.
    let doubts: [(&str, Doubt); 12] = [
        ("the stream had the younger worker's first events", |it| {
            it.plane.keeps = Some(Duration::from_secs(35));
        }),
        ("nobody knows for how long it keeps them", |it| it.plane.keeps = None),
        ("it is not where events come from", |it| it.plane.name = Some(Plane::NatsCore)),
        ("the router's start is not known", |it| it.router.rejecting = None),
        ("it rejected nothing for a while", |it| {
            let rejecting = it.router.rejecting.as_mut().unwrap();
            rejecting.after = Duration::from_secs(90);
        }),
        ("the oldest router is older than a worker", |it| {
            it.router.rejecting.as_mut().unwrap().began = Timestamp(15_000_000);
        }),
        ("each of several routers rejects few", |it| {
            it.router.rejecting.as_mut().unwrap().routers = 3;
        }),
        ("numbers are missing", |it| it.ranks[0].id_holes = 1),
        ("messages are missing", |it| it.ranks[1].missing = 1),
        ("a publisher lost events", |it| it.ranks[1].unpublished = 1),
        ("the router saw gaps", |it| it.router.tally.gaps = 1),
        ("what kvtop knows wholly and lacks too was never published", |it| {
            it.ranks.iter_mut().for_each(|rank| rank.past_known = true);
        }),
    ];
    for (why, doubt) in doubts {
        let mut evidence = met(few);
        doubt(&mut evidence);
        assert!(!matches!(judge(&evidence), Verdict::Found(_)), "{why}");
    }
    assert!(matches!(judge(&met(stores / 25)), Verdict::Clear { .. }), "so few are lost events");
}

#[test]
fn workers_of_another_namespace_that_were_heard_first_are_counted_as_nobody() {
    let all = frames(&fixture("live/after_roll_fresh_090.frames.gz"));
    let foreign = |frame: &Frame| {
        let Origin::Nats { subject, .. } = &frame.origin else { return None };
        let Body::Whole(bytes) = &frame.body else { return None };
        let subject = subject.strip_prefix("namespace-dynamo-").filter(|_| is_event(frame))?;
        let subject = format!("namespace-zebra-{subject}").into();
        // Other workers: no id begins with a 9 here.
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let text = text.replacen(r#""worker_id":"#, r#""worker_id":9"#, 1);
        Some(Frame::new(
            all[0].at,
            Origin::Nats { subject, reply: None, headers: Vec::new() },
            text,
        ))
    };
    let mut both: Vec<Frame> = all.iter().filter_map(foreign).take(200).collect();
    assert_eq!(both.len(), 200);
    both.extend(all.iter().cloned());
    let end = all[all.len() / 2].at;
    let checks = |frames: &[Frame]| {
        let until: Vec<Frame> = frames.iter().filter(|frame| frame.at <= end).cloned().collect();
        let (_, seen) = played(&until);
        // These count messages, which came before anybody knew whose they are.
        let counts = ["KVT004", "KVT019"];
        let others = seen.checks.iter().filter(|check| !counts.contains(&check.id));
        others.map(|check| format!("{check:?}")).collect::<Vec<_>>()
    };

    assert_eq!(checks(&both), checks(&all));
}
