//! The engine: what becomes of frames, through encoded messages as workers send them.

use std::time::Duration;

use kvtop::domain::{
    Block, ClearScope, DpRank, HistoryNote, SequenceHash, SourceName, SourceNote, SourceState,
    Tier, Timestamp, TokensHash, TreeNode, WorkerId, WorkerRank,
};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Frame, KubeChange, Origin};
use kvtop::model::pod_worker_id;
use kvtop::snapshot::{Answer, Ask, Gravity, Knowledge, Snapshot, TreeQuery, ViewQuery};
use kvtop::wire::encode::{Change, Family, RouterEvent, envelope};
use kvtop::wire::health;

use crate::support::{fixture, frames};

const AT: Timestamp = Timestamp(1_771_252_733_000_000);
const CORE: &str = "namespace.dynamo.component.backend.kv-events";
const DURABLE: &str = "namespace-dynamo-component-backend-kv-events.kv-events";

fn blocks(from: u64, count: u64) -> Vec<Block> {
    (from..from + count)
        .map(|hash| Block { sequence: SequenceHash(hash), tokens: TokensHash(hash + 1_000_000) })
        .collect()
}

fn stored(
    rank: WorkerRank,
    event_id: u64,
    parent: Option<u64>,
    blocks: Vec<Block>,
) -> RouterEvent<'static> {
    let blocks: &'static [Block] = blocks.leak();
    let change = Change::Stored { parent: parent.map(SequenceHash), blocks };
    RouterEvent { rank, tier: Tier::Device, event_id, change }
}

fn cleared(rank: WorkerRank, event_id: u64) -> RouterEvent<'static> {
    RouterEvent { rank, tier: Tier::Device, event_id, change: Change::Cleared }
}

/// Returns the message with which `event` is published on NATS core.
fn core(event: &RouterEvent<'_>, family: Family, sequence: u64) -> Frame {
    let subject = if family.scopes_by_endpoint() {
        "namespace.dynamo.component.backend.endpoint.generate.kv-events"
    } else {
        CORE
    };
    let payload = event.payload(family);
    let body = envelope(event.rank.worker.0, sequence, AT.0 / 1000, "kv-events", &payload);
    Frame::new(AT, Origin::nats(subject), body)
}

fn after(frames: &[Frame]) -> (Engine, Snapshot) {
    let mut engine = Engine::new(EngineOptions::default());
    engine.ingest(frames);
    engine.settle();
    let snapshot = engine.snapshot(&ViewQuery::default(), AT);
    (engine, snapshot)
}

const W: WorkerRank = WorkerRank { worker: WorkerId(7), dp_rank: DpRank(0) };
const W1: WorkerRank = WorkerRank { worker: WorkerId(7), dp_rank: DpRank(1) };

#[test]
fn cleared_empties_every_rank_up_to_1_3_and_one_from_1_4() {
    for (family, scope) in [(Family::V1_2, ClearScope::Worker), (Family::V1_4, ClearScope::Rank)] {
        let (_, snapshot) = after(&[
            core(&stored(W, 1, None, blocks(10, 3)), family, 0),
            core(&stored(W1, 1, None, blocks(20, 2)), family, 0),
            core(&cleared(W, 2), family, 1),
        ]);

        let accepted: Vec<u64> = snapshot.workers.iter().map(|row| row.accepted).collect();
        let expected = if scope == ClearScope::Worker { [0, 0] } else { [0, 2] };
        assert_eq!(accepted, expected, "{family:?}");
    }
}

#[test]
fn a_worker_that_numbers_its_events_from_the_start_again_has_lost_its_blocks() {
    let family = Family::V1_2;
    let mut frames: Vec<Frame> = (0..20)
        .map(|n| core(&stored(W, n + 1, None, blocks(100 * (n + 1), 2)), family, n))
        .collect();
    frames.push(core(&stored(W, 1, None, blocks(9000, 3)), family, 0));

    let (_, snapshot) = after(&frames);

    assert_eq!(snapshot.workers[0].accepted, 3);
    assert_eq!(snapshot.workers[0].knowledge, Knowledge::Complete);
    assert!(snapshot.events.iter().any(|event| event.text.contains("started anew")));
    assert_eq!(snapshot.sources[0].gaps, 0, "a restart is no gap");
}

#[test]
fn missing_messages_are_counted_said_and_make_the_mirror_incomplete() {
    let family = Family::V1_0;
    let (_, snapshot) = after(&[
        core(&stored(W, 0, None, blocks(10, 3)), family, 0),
        core(&stored(W, 5, Some(99), blocks(20, 3)), family, 4),
    ]);

    assert_eq!(snapshot.sources[0].gaps, 3);
    assert!(snapshot.tree.incomplete.iter().any(|why| why.contains("3 messages")));
    assert!(snapshot.events.iter().any(|it| it.text.contains("3 messages of kv-events")));
    assert_eq!(snapshot.workers[0].counters.refused_blocks, 3);
    assert_eq!((snapshot.workers[0].accepted, snapshot.workers[0].held), (3, 6));
    assert_eq!(snapshot.tree.orphan_roots, 1);
}

#[test]
fn numbers_of_messages_that_leap_are_restarts_and_never_overflow() {
    let frame = |(n, sequence): (u64, u64)| {
        core(&stored(W, n, None, blocks(10 * n, 1)), Family::V1_0, sequence)
    };
    let numbers = [0, u64::MAX, 0, u64::MAX, 1 << 32, 0, 1 << 32, 0, 1 << 32];
    let frames: Vec<Frame> = (0..).zip(numbers).map(frame).collect();

    let (_, snapshot) = after(&frames);

    assert_eq!(snapshot.sources[0].gaps, 2 * ((1 << 32) - 1));
}

#[test]
fn a_message_from_the_future_is_counted_now_and_leaves_the_rates_alone() {
    let second = |n: u64| Timestamp(AT.0 + n * 1_000_000);
    let message = |n: u64, time| {
        let body = stored(W, n, None, blocks(10 * n, 1)).json(Family::V0_9);
        let origin = Origin::Jetstream { stream: "s".into(), seq: n + 1, subject: DURABLE.into() };
        Frame { time: Some(time), ..Frame::new(second(n), origin, body) }
    };
    let mut engine = Engine::new(EngineOptions::default());
    engine.ingest(&[message(0, Timestamp(u64::MAX))]);
    let frames: Vec<Frame> = (1..30).map(|n| message(n, second(n))).collect();
    engine.ingest(&frames);

    let snapshot = engine.snapshot(&ViewQuery::default(), second(30));

    assert!((snapshot.totals.rates.ten_seconds.stores - 1.0).abs() < 0.2);
    assert!(snapshot.series.tree_size.points.iter().any(Option::is_some));
    assert_eq!(snapshot.workers[0].accepted, 30);
    assert_eq!((snapshot.rejects.count, snapshot.sources[0].rejects), (1, 1));
    assert!(snapshot.rejects.reasons[0].why.contains("after its arrival"));
}

#[test]
fn an_old_message_of_a_stream_does_not_thin_out_what_logs_say() {
    let origin = Origin::Jetstream { stream: "s".into(), seq: 1, subject: DURABLE.into() };
    let body = stored(W, 0, None, blocks(10, 1)).json(Family::V0_9);
    let hour_ago = Timestamp(AT.0 - 3_600_000_000);
    let old = Frame { time: Some(hour_ago), ..Frame::new(AT, origin, body) };
    let line = "WARN Failed to find parent block; skipping store operation worker_id=7 \
                dp_rank=0 id=1 parent_hash=Some(ExternalSequenceBlockHash(5)) num_blocks=1";
    let warning =
        |n: u64| Frame::new(Timestamp(AT.0 + n * 100_000), Origin::log("", "frontend"), line);
    let mut engine = Engine::new(EngineOptions::default());
    engine.ingest(&[old]);
    engine.ingest(&(0..30).map(warning).collect::<Vec<_>>());

    let snapshot = engine.snapshot(&ViewQuery::default(), Timestamp(AT.0 + 3_000_000));

    let router = &snapshot.router;
    let recent = (router.recent_parent_warnings, router.recent_remove_warnings, router.recent);
    assert_eq!(recent, (30, 0, Duration::from_secs(3)), "a count is of what was seen");
    assert!(snapshot.totals.rates.minute.stores < 0.1);
}

#[test]
fn events_stand_in_the_order_of_their_times_however_they_arrive() {
    let line = "WARN Failed to find block to remove; skipping remove operation worker_id=7 \
                dp_rank=0 id=1 block=Some(ExternalSequenceBlockHash(5))";
    let warning = |pod: &str, millis: u64| {
        Frame::new(Timestamp(AT.0 + millis * 1_000), Origin::log("", pod), line)
    };
    let mut engine = Engine::new(EngineOptions::default());
    engine.ingest(&[warning("a", 42), warning("b", 46), warning("c", 24), warning("d", 42)]);

    let snapshot = engine.snapshot(&ViewQuery::default(), Timestamp(AT.0 + 100_000));

    let events = snapshot.events.iter().filter(|row| row.text.contains("not found"));
    let order: Vec<&str> = events.map(|row| row.who.as_str()).collect();
    assert_eq!(order, ["c", "a", "d", "b"]);
}

#[test]
fn models_in_one_scrape_are_counted_together() {
    let scrape = |n: u64| {
        let sample = |model, sum, count| {
            let name = "dynamo_frontend_time_to_first_token_seconds";
            format!(
                "{name}_sum{{model=\"{model}\"}} {sum}\n{name}_count{{model=\"{model}\"}} {count}\n\
                 dynamo_frontend_queued_requests{{model=\"{model}\"}} 5\n"
            )
        };
        let body = sample("a", 10 + n, 100 + 10 * n) + &sample("b", 1000 + n, 100 + n);
        let origin = Origin::Metrics { pod: "frontend".into(), url: "/metrics".into() };
        Frame::new(Timestamp(AT.0 + n * 1_000_000), origin, body)
    };

    let (_, snapshot) = after(&[scrape(0), scrape(1), scrape(2)]);

    let mean = snapshot.router.ttft_mean.unwrap();
    assert!((mean - 2.0 / 11.0).abs() < 1e-9, "{mean}");
    assert_eq!(snapshot.router.queued, Some(10));
}

#[test]
fn mixed_versions_are_noticed_whichever_comes_first() {
    let other = WorkerRank { worker: WorkerId(8), dp_rank: DpRank(0) };
    let plain = core(&stored(W, 1, None, blocks(10, 1)), Family::V1_0, 0);
    let tiered = core(&stored(other, 1, None, blocks(20, 1)), Family::V1_6, 0);
    for frames in [[plain.clone(), tiered.clone()], [tiered, plain]] {
        let (_, snapshot) = after(&frames);

        let said = snapshot.tree.incomplete.iter().any(|why| why.contains("are mixed"));
        assert!(said, "{:?}", snapshot.tree.incomplete);
    }
}

#[test]
fn entries_fold_only_when_they_say_the_same() {
    let line = |text: &str| Frame::new(AT, Origin::log("", "frontend"), text.to_owned());
    let note = |state: &str, why: &str| {
        let body = format!("{{\"state\":\"{state}\",\"why\":\"{why}\"}}");
        Frame::new(AT, Origin::Health { source: "nats".into() }, body)
    };
    let (_, snapshot) = after(&[
        note("connecting", "first"),
        note("connecting", "second"),
        line("WARN block_hash mismatch: sequence hashes should be uniform across workers"),
        line("WARN Event ID gap detected worker_id=1"),
        line("WARN Event ID gap detected worker_id=1"),
    ]);

    let found: Vec<_> =
        snapshot.events.iter().map(|row| (row.text.as_str(), row.repeats)).collect();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].0.contains("first") && found[1].0.contains("second"), "{found:?}");
    assert_eq!(found[3].1, 1, "{found:?}");
}

#[test]
fn missing_messages_withdraw_the_blame_until_the_cache_is_emptied() {
    let family = Family::V1_0;
    let other = WorkerRank { worker: WorkerId(8), dp_rank: DpRank(0) };
    let mut frames = vec![
        core(&stored(other, 0, None, blocks(50, 1)), family, 0),
        core(&stored(W, 0, None, blocks(10, 3)), family, 0),
        core(&stored(W, 1, Some(77), blocks(20, 1)), family, 1),
        core(&stored(W, 5, Some(99), blocks(30, 3)), family, 5),
    ];
    let (_, doubted) = after(&frames);
    frames.push(core(&cleared(W, 6), family, 6));
    let (_, known) = after(&frames);

    let refused: Vec<_> =
        doubted.events.iter().filter(|row| row.text.contains(", parent ")).collect();
    assert_eq!(refused[0].gravity, Gravity::Bad, "{refused:?}");
    assert_eq!(refused[1].gravity, Gravity::Notice, "{refused:?}");
    assert!(refused[1].text.contains("missing messages"), "{refused:?}");
    let knowledge = |row: usize| doubted.workers[row].knowledge;
    assert_eq!((knowledge(0), knowledge(1)), (Knowledge::Complete, Knowledge::SinceAttach));
    assert!(!doubted.tree.incomplete.iter().any(|why| why.contains("before kvtop attached")));
    assert_eq!(known.workers[1].knowledge, Knowledge::Complete);
}

#[test]
fn escape_sequences_in_names_and_reasons_never_reach_a_picture() {
    let health = |source: &str, body: &str| {
        Frame::new(AT, Origin::Health { source: source.into() }, body.to_owned())
    };
    let line = "Selected worker: worker_id=7 dp_rank=0, logit: 1.0, cached blocks: 0, tree size: 0, \
                total blocks: 5";
    let (_, snapshot) = after(&[
        Frame::new(AT, Origin::log("n", "\u{1b}]0;owned\u{7}\u{1b}[31mfrontend"), line),
        health("\u{1b}[31mevil", r#"{"state":"\u001b[2J\u001b[31mxx","why":"a"}"#),
        health("\u{1b}[32mbad", r#"{"state":"down","why":"\u001b[2Jwhy"}"#),
    ]);

    let everything = format!("{snapshot:?}");
    assert!(!everything.contains("u{1b}"), "{everything}");
    assert_eq!(snapshot.router.routers, ["frontend"]);
    assert!(snapshot.sources.iter().any(|row| row.name.as_str() == "bad" && row.why == "why"));
    assert!(!kvtop::report::text(&snapshot).contains('\u{1b}'));
}

#[test]
fn the_first_events_of_a_worker_prove_its_past_on_core_and_never_on_0_9() {
    let first = |family, id| after(&[core(&stored(W, id, None, blocks(10, 1)), family, 0)]).1;
    let durable =
        Frame::new(AT, Origin::nats(DURABLE), stored(W, 0, None, blocks(10, 1)).json(Family::V0_9));

    assert_eq!(first(Family::V1_0, 0).workers[0].knowledge, Knowledge::Complete);
    assert_eq!(first(Family::V1_0, 1).workers[0].knowledge, Knowledge::SinceAttach);
    assert_eq!(first(Family::V1_2, 1).workers[0].knowledge, Knowledge::Complete);
    assert_eq!(first(Family::V1_2, 2).workers[0].knowledge, Knowledge::SinceAttach);
    assert_eq!(after(&[durable]).1.workers[0].knowledge, Knowledge::SinceAttach);
}

#[test]
fn a_history_read_from_its_first_message_proves_the_past_and_an_aged_one_does_not() {
    let message = |seq| {
        let origin = Origin::Jetstream {
            stream: "namespace-dynamo-component-backend-kv-events".into(),
            seq,
            subject: DURABLE.into(),
        };
        Frame::new(AT, origin, stored(W, 3, Some(5), blocks(10, 1)).json(Family::V0_9))
    };

    let (_, whole) = after(&[message(1), message(2)]);
    let (_, aged) = after(&[message(400), message(401)]);

    assert_eq!(whole.workers[0].knowledge, Knowledge::Complete);
    assert_eq!(whole.events[0].gravity, Gravity::Bad);
    assert_eq!(aged.workers[0].knowledge, Knowledge::SinceAttach);
    assert_eq!(aged.events[0].gravity, Gravity::Notice);
}

#[test]
fn an_aged_history_has_all_of_a_worker_that_began_since_kvtop_listens() {
    let name = "gtc-demo-0-worker-x";
    let joined = WorkerRank { worker: pod_worker_id(name), ..W };
    let after_seconds = |seconds| AT.after(Duration::from_secs(seconds));
    let message = |rank, seq, at| {
        let origin = Origin::Jetstream {
            stream: "namespace-dynamo-component-backend-kv-events".into(),
            seq,
            subject: DURABLE.into(),
        };
        Frame::new(at, origin, stored(rank, 3, None, blocks(seq, 1)).json(Family::V0_9))
    };
    let pod = |started: &str, change| {
        let object = serde_json::json!({
            "metadata": {"name": name, "uid": "u",
                "labels": {"nvidia.com/dynamo-component-type": "worker"}},
            "spec": {"containers": [{"name": "main", "image": "vllm-runtime:0.9.0"}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "main", "ready": true,
                "restartCount": 0, "state": {"running": {"startedAt": started}}}]},
        });
        let origin = Origin::Kube { kind: "Pod".into(), change };
        Frame::new(after_seconds(10), origin, object.to_string())
    };
    let history = HistoryNote {
        stream: "namespace-dynamo-component-backend-kv-events".into(),
        first_seq: 400,
        last_seq: 400,
        read: 1,
        complete: true,
        keeps: None,
        ledger: None,
    };
    let live = SourceNote::new(SourceName::JetStream, SourceState::Live, "", AT);
    let live = health::encode(&SourceNote { history: Some(history), ..live });
    let live = Frame::new(AT, Origin::Health { source: "jetstream".into() }, live);
    let seen = |started| {
        after(&[
            live.clone(),
            message(W, 400, AT),
            pod(started, KubeChange::Listed),
            message(joined, 401, after_seconds(15)),
        ])
        .1
    };
    let knows = |seen: &Snapshot| seen.workers.iter().map(|row| row.knowledge).collect::<Vec<_>>();

    let later = seen("2026-02-16T14:39:03Z");
    assert_eq!(knows(&later), [Knowledge::SinceAttach, Knowledge::Complete]);
    assert!(later.tree.incomplete[0].starts_with("1 of 2 ranks: "), "{:?}", later.tree.incomplete);
    let earlier = seen("2026-02-16T14:38:03Z");
    assert_eq!(knows(&earlier), [Knowledge::SinceAttach; 2]);
}

/// What sources say of all that they passed on is not about an engine that gets the newest part of it.
#[test]
fn the_newest_part_of_a_history_proves_no_past_and_misses_nothing() {
    use kvtop::domain::{HistoryNote, SourceName, SourceNote, SourceState, StreamLedger};
    let stream = "namespace-dynamo-component-backend-kv-events";
    let note = |received| {
        let ledger = Some(StreamLedger { received, ..StreamLedger::default() });
        let history = HistoryNote {
            stream: stream.into(),
            first_seq: 1,
            last_seq: 100_000,
            read: received,
            complete: received == 100_000,
            keeps: None,
            ledger,
        };
        let said = SourceNote::new(SourceName::Nats, SourceState::Live, "", AT);
        let said = SourceNote { history: Some(history), ..said };
        let source = SourceName::Nats;
        Frame::new(AT, Origin::Health { source }, kvtop::wire::health::encode(&said))
    };
    let newest = |seq| {
        let origin = Origin::Jetstream { stream: stream.into(), seq, subject: DURABLE.into() };
        Frame::new(AT, origin, stored(W, seq, Some(5), blocks(seq, 1)).json(Family::V0_9))
    };
    let mut engine = Engine::ahead(EngineOptions::default());

    engine.ingest(&[note(0), newest(99_999), newest(100_000), note(60_000)]);

    let seen = engine.snapshot(&ViewQuery::default(), AT);
    assert_eq!(seen.workers[0].knowledge, Knowledge::SinceAttach);
    assert_eq!(seen.workers[0].counters.stores, 2);
    assert!(seen.ledger.hole.is_none(), "{:?}", seen.ledger);
    let behind = seen.catching_up.unwrap();
    assert_eq!((behind.percent(), behind.ahead), (60, true));

    // Others have read all of it; this one has not, and gives way within a moment.
    engine.ingest(&[note(100_000)]);
    let seen = engine.snapshot(&ViewQuery::default(), AT);
    assert!(seen.catching_up.is_some_and(|behind| behind.ahead));
}

/// A recording may hold what came live while its source connected before the history.
#[test]
fn live_messages_of_a_stream_wait_for_its_history() {
    let second = |seconds| AT.after(Duration::from_secs(seconds));
    let says = |state, at| {
        let note = SourceNote::new(SourceName::Nats, state, "", at);
        Frame::new(at, Origin::Health { source: SourceName::Nats }, health::encode(&note))
    };
    let event = |id| match id {
        5 => RouterEvent {
            change: Change::Removed(&[SequenceHash(4)]),
            ..stored(W, id, None, Vec::new())
        },
        _ => stored(W, id, id.checked_sub(1), blocks(id, 1)),
    };
    let live = |id| Frame::new(second(1), Origin::nats(DURABLE), event(id).json(Family::V0_9));
    let read_back = |id: u64| {
        let stream = "namespace-dynamo-component-backend-kv-events".into();
        let origin = Origin::Jetstream { stream, seq: id + 1, subject: DURABLE.into() };
        let body = event(id).json(Family::V0_9);
        Frame { time: Some(AT), ..Frame::new(second(1), origin, body) }
    };
    let connecting = [
        says(SourceState::Connecting, AT),
        read_back(0),
        live(4),
        read_back(1),
        live(5),
        read_back(2),
        read_back(3),
    ];
    for (end, at) in [(Some(says(SourceState::Live, second(2))), second(2)), (None, second(11))] {
        let mut engine = Engine::new(EngineOptions::default());
        engine.ingest(&connecting);
        assert_eq!(engine.snapshot(&ViewQuery::default(), second(1)).workers[0].accepted, 4);

        engine.ingest(end.as_slice());
        engine.advance(at);

        let seen = engine.snapshot(&ViewQuery::default(), at);
        let row = &seen.workers[0];
        assert_eq!((row.counters.stores, row.accepted, row.counters.refused_stores), (5, 4, 0));
        assert!(seen.ledger.hole.is_none(), "{:?}", seen.ledger);
    }
}

#[test]
fn a_worker_that_leaves_discovery_takes_its_blocks_along_after_its_last_events() {
    let etcd = |put| {
        let key = "v1/instances/dynamo/backend/generate/7".into();
        let body = r#"{"type":"Endpoint","component":"backend","endpoint":"generate",
            "namespace":"dynamo","instance_id":7,"transport":{"tcp":"a:1/7/generate"}}"#;
        Frame::new(AT, Origin::Etcd { key, put }, if put { body } else { "" })
    };
    let (mut engine, _) = after(&[
        etcd(true),
        core(&stored(W, 0, None, blocks(10, 3)), Family::V1_0, 0),
        etcd(false),
    ]);
    let left = engine.snapshot(&ViewQuery::default(), AT);
    engine.ingest(&[etcd(true), core(&stored(W, 1, None, blocks(10, 2)), Family::V1_0, 1)]);
    let back = engine.snapshot(&ViewQuery::default(), AT);

    assert!(left.workers[0].gone);
    assert_eq!((left.workers[0].accepted, left.totals.accepted), (0, 0));
    assert!(!back.workers[0].gone);
    assert_eq!(back.workers[0].accepted, 2);
}

#[test]
fn a_model_card_makes_a_worker_and_takes_it_along_when_it_goes() {
    let card = |put| {
        let key = "v1/mdc/dynamo/backend/generate/7".into();
        let body = r#"{"type":"Model","component":"backend","endpoint":"generate",
            "namespace":"dynamo","instance_id":7,"card_json":{"kv_cache_block_size":16}}"#;
        Frame::new(AT, Origin::Etcd { key, put }, if put { body } else { "" })
    };

    let (mut engine, there) = after(&[card(true)]);
    engine.ingest(&[card(false)]);
    let left = engine.snapshot(&ViewQuery::default(), AT);
    engine.ingest(&[card(true)]);
    let late = engine.snapshot(&ViewQuery::default(), AT);

    assert!(!there.workers[0].gone);
    assert!(left.workers[0].gone);
    assert!(late.workers[0].gone, "a card alone brings no process back");
}

#[test]
fn a_share_above_all_of_it_is_of_another_unit_and_not_known() {
    let pod = "gtc-demo-0-worker-x";
    let worker = WorkerRank { worker: pod_worker_id(pod), ..W };
    let scrape = |share: &str| {
        let origin = Origin::Metrics { pod: pod.into(), url: "/metrics".into() };
        Frame::new(AT, origin, format!("vllm:kv_cache_usage_perc{{engine=\"0\"}} {share}\n"))
    };
    let seen = |share| {
        let event = core(&stored(worker, 1, None, blocks(10, 3)), Family::V1_6, 0);
        let mut engine = after(&[event]).0;
        engine.ingest(&[scrape(share)]);
        let snapshot = engine.snapshot(&ViewQuery::default(), AT);
        snapshot.workers[0].kv_utilization.as_ref().map(|used| used.value)
    };

    assert_eq!(seen("0.97"), Some(0.97));
    assert_eq!(seen("97"), None);
}

#[test]
fn lower_tiers_are_kept_apart_and_do_not_count_as_cached() {
    let mut host = stored(W, 2, None, blocks(50, 4));
    host.tier = Tier::HostPinned;

    let (_, snapshot) = after(&[
        core(&stored(W, 1, None, blocks(10, 3)), Family::V1_6, 0),
        core(&host, Family::V1_6, 1),
    ]);

    assert_eq!(snapshot.workers[0].accepted, 3);
    assert_eq!(snapshot.workers[0].tiers, [3, 4, 0, 0]);
    assert_eq!(snapshot.tree.accepted_blocks, 3);
}

#[test]
fn what_a_source_says_of_itself_is_shown_with_its_reason() {
    let down = SourceNote::new(SourceName::Nats, SourceState::Down, "no route to host", AT);
    let counts = SourceNote { dropped: 12, drops_uncounted: 1, interruptions: 2, ..down };
    let note = SourceNote { retry_ms: Some(4000), ..counts };
    let origin = Origin::Health { source: "nats".into() };

    let (_, snapshot) = after(&[Frame::new(AT, origin, health::encode(&note))]);

    let row = &snapshot.sources[0];
    assert_eq!((row.state, row.why.as_str()), (SourceState::Down, "no route to host"));
    assert_eq!((row.dropped, row.drops_uncounted, row.interruptions), (12, true, 2));
    assert!(snapshot.tree.incomplete.iter().any(|why| why.contains("at least 12 frames of nats")));
}

#[test]
fn the_frame_behind_an_event_is_kept_and_decoded() {
    let first = core(&stored(W, 1, None, blocks(1, 2)), Family::V1_0, 0);
    let second = core(&stored(W, 2, Some(99), blocks(3, 1)), Family::V1_0, 1);
    let (mut engine, picture) = after(&[first, second.clone()]);
    let row = picture.events.iter().find(|row| row.orphan).unwrap();

    let query = ViewQuery { ask: Ask::Event(row.number), ..ViewQuery::default() };
    let Answer::Event(detail) = engine.snapshot(&query, AT).answer else { panic!("no answer") };

    let frame = detail.frame.unwrap();
    assert_eq!((detail.number, frame.size, frame.cut), (row.number, second.len() as u64, false));
    assert!(frame.origin.contains("kv-events"), "{}", frame.origin);
    let words = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let decoded: Vec<String> = frame.decoded.iter().map(words).collect();
    for said in ["STORED w0", "event 2", "parent 0000000000000063"] {
        assert!(decoded.iter().any(|line| line == said), "{said}: {decoded:?}");
    }
    let block = format!("block {:016x}", 3);
    assert!(decoded.iter().any(|line| line.starts_with(&block)), "{decoded:?}");
}

#[test]
fn a_frame_that_cannot_be_read_is_kept_with_its_event() {
    let odd = Frame::new(AT, Origin::nats("namespace.x.component.y.kv-events"), &b"\x00odd"[..]);
    let (mut engine, picture) = after(&[odd]);
    let row = picture.events.iter().find(|row| row.text.contains("cannot be read")).unwrap();

    let query = ViewQuery { ask: Ask::Event(row.number), ..ViewQuery::default() };
    let Answer::Event(detail) = engine.snapshot(&query, AT).answer else { panic!("no answer") };

    let frame = detail.frame.unwrap();
    assert!(frame.decoded[0].starts_with("cannot be read"), "{:?}", frame.decoded);
    assert!(frame.body[0].contains("6f 64 64"), "{:?}", frame.body);
}

/// What a router publishes of a request with replica sync, as of 1.2.
fn asked(chain: &[u64], sequence: u64) -> Frame {
    fn text(out: &mut Vec<u8>, text: &str) {
        out.extend([0xd9, u8::try_from(text.len()).unwrap()]);
        out.extend(text.as_bytes());
    }
    let mut out = vec![0x84];
    text(&mut out, "request_id");
    text(&mut out, &format!("request {sequence}"));
    text(&mut out, "worker");
    out.push(0x82);
    text(&mut out, "worker_id");
    out.push(7);
    text(&mut out, "dp_rank");
    out.push(0);
    text(&mut out, "data");
    out.push(0x81);
    text(&mut out, "AddRequest");
    out.push(0x81);
    text(&mut out, "token_sequence");
    out.extend([0xdc, 0, u8::try_from(chain.len()).unwrap()]);
    for hash in chain {
        out.push(0xcf);
        out.extend(hash.to_be_bytes());
    }
    text(&mut out, "router_id");
    out.push(9);
    let topic = "active_sequences_events";
    let subject = format!("namespace.dynamo.component.backend.{topic}");
    let body = envelope(9, sequence, AT.0 / 1000, topic, &out);
    Frame::new(AT, Origin::nats(subject.as_str()), body)
}

/// Returns the hashes of a request that begins with the blocks of these tokens.
fn chain(tokens: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut chain: Vec<u64> = Vec::new();
    for own in tokens {
        let before = chain.last().copied();
        chain.push(
            before.map_or(own, |before| kvtop::wire::chain::chained(before, TokensHash(own))),
        );
    }
    chain
}

#[test]
fn hits_of_a_prefix_are_counted_where_routers_tell_of_their_requests() {
    let family = Family::V1_2;
    let tokens = |blocks: std::ops::Range<u64>| blocks.map(|hash| hash + 1_000_000);
    // A prompt of four blocks, and two that go on after its second.
    let mut frames = vec![
        core(&stored(W, 1, None, blocks(10, 4)), family, 0),
        core(&stored(W, 2, Some(11), blocks(20, 2)), family, 1),
        core(&stored(W, 3, Some(11), blocks(30, 2)), family, 2),
    ];
    let of = |frames: &[Frame]| {
        let (mut engine, _) = after(frames);
        let spread = [(TreeNode::Root, 8)].into();
        let query = TreeQuery { spread, around: 50, ..TreeQuery::default() };
        let query = ViewQuery { ask: Ask::Tree(Box::new(query)), ..ViewQuery::default() };
        let Answer::Tree(page) = engine.snapshot(&query, AT).answer else { panic!() };
        let rows = page.rows.into_iter().map(|row| {
            let first = match row.place.node {
                TreeNode::Block(block) => block.sequence.0,
                _ => 0,
            };
            (first, row.hits)
        });
        rows.collect::<std::collections::BTreeMap<_, _>>()
    };
    assert!(of(&frames).values().all(Option::is_none), "nobody told of a request");

    // Hashes that do not chain as known prove nothing.
    frames.push(asked(&[1, 2, 3], 0));
    assert!(of(&frames).values().all(Option::is_none));

    for n in 0..6 {
        frames.push(asked(&chain(tokens(10..12).chain(tokens(20..22)).chain([n, n])), 1 + n));
    }
    for n in 0..3 {
        frames.push(asked(&chain(tokens(10..12).chain(tokens(30..31)).chain([n])), 7 + n));
    }
    // Ends amid a run, and one that shares nothing.
    frames.push(asked(&chain(tokens(10..11)), 10));
    frames.push(asked(&chain([5, 6]), 11));
    let hits = of(&frames);
    let ratio = |head: u64| hits[&head].unwrap() / hits[&0].unwrap();
    assert!(hits[&0].unwrap() > 0.0);
    for (head, requests) in [(0, 10.0), (10, 10.0), (20, 6.0), (30, 3.0), (12, 0.0)] {
        assert!((ratio(head) - requests / 10.0).abs() < 1e-3, "{head}: {hits:?}");
    }
}

/// A choice of 1.6, of the prefill or of the decode router.
fn choice(part: &str, request: &str, worker: u64, cached: f64) -> String {
    format!(
        "2026-02-16T14:38:53.5Z  INFO dynamo_kv_router::scheduling::selector: Selected worker router_mode=\"kv\" \
         request_id=\"{request}\" worker_id={worker} worker_type={part} dp_rank=0 logit=8.8 \
         effective_cached_blocks={cached:.1} total_kv_blocks=Some(4096)"
    )
}

#[test]
fn a_request_that_is_prefilled_and_decoded_apart_is_one_request() {
    let at = Timestamp(1_771_252_733_600_000);
    let origin =
        Origin::Log { namespace: "".into(), pod: "frontend".into(), container: "main".into() };
    let lines = [
        choice("prefill", "a", 1, 0.0),
        choice("decode", "a", 2, 0.0),
        choice("prefill", "b", 1, 12.0),
        choice("decode", "b", 2, 0.0),
        // A short prompt that the decode worker prefills itself.
        choice("decode", "c", 2, 3.0),
    ];
    let frames: Vec<Frame> =
        lines.iter().map(|line| Frame::new(at, origin.clone(), line.clone())).collect();
    let mut engine = Engine::new(EngineOptions::default());
    engine.ingest(&frames);
    engine.advance(at);
    let router = engine.snapshot(&ViewQuery::default(), at).router;

    assert_eq!((router.decisions, router.routed), (5, 3), "{router:#?}");
    assert_eq!((router.overlap_known, router.overlap_zero), (3, 1), "{router:#?}");
}

/// Both stand on one screen.
#[test]
fn what_users_felt_is_what_is_said_of_the_router_also_right_after_a_scrape() {
    let all = frames(&fixture("live/healthy_102.frames.gz"));
    let mut engine = Engine::new(EngineOptions::default());
    let (mut from, mut at, mut seen) = (0, all[0].at, 0);
    while from < all.len() {
        at = at.after(Duration::from_millis(200));
        let until = all.partition_point(|frame| frame.at <= at);
        engine.ingest(&all[from..until]);
        engine.advance(at);
        from = until;
        let snapshot = engine.snapshot(&ViewQuery::default(), at);
        let router = snapshot.router.ttft.as_ref().map(|ttft| [ttft.p50, ttft.p95]);
        assert_eq!(snapshot.felt.first_token, router, "{at:?}");
        seen += usize::from(router.is_some());
    }
    assert!(seen > 100, "{seen}");
}
