//! Pictures made by hand, for drawing. The numbers are invented, and consistent.

use std::sync::Arc;
use std::time::Duration;

use kvtop::domain::{Provenance, SourceName, SourceState, Timestamp, WorkerRank};
use kvtop::snapshot::{
    BlockSizes, CatchingUp, Counters, DemoState, Deployment, EventKind, EventRow, Feed, Felt,
    Gravity, InEngine, Knowledge, Latency, Limits, Playback, RateSet, Rates, RouterLoad,
    RouterSummary, Series, SeriesSet, Snapshot, SourceRow, Sourced, Totals, TreeSummary, WorkerRow,
};

/// 14:39:02.114 UTC of some day.
pub(crate) const NOW: Timestamp = Timestamp(1_771_425_542_114_000);

/// Returns a worker in good health.
pub(crate) fn worker(number: u64, pod: &str) -> WorkerRow {
    WorkerRow {
        reading: false,
        alias: format!("w{number}"),
        rank: WorkerRank::new(7_702_713_015_953_616 + number * 1_751, 0),
        pod: Some(pod.to_owned()),
        node: Some(String::from("node-a")),
        role: Some(String::from("worker")),
        gone: false,
        left: None,
        lives_on: None,
        knowledge: Knowledge::Complete,
        accepted: 9_102 + number * 77,
        held: 9_102 + number * 77,
        change: Some(3.0),
        tiers: [9_102 + number * 77, 0, 0, 0],
        belongs: kvtop::snapshot::Belongs::default(),
        live: Counters::default(),
        live_routed: 0,
        counters: Counters { stores: 5_520, stored_blocks: 11_040, ..Counters::default() },
        rates: rates(46.2, 45.1, 0.0),
        block_size: BlockSizes {
            proven: None,
            engine: Some(32),
            publisher: Some(32),
            card: Some(32),
            router: None,
        },
        used_blocks: None,
        capacity_blocks: None,
        kv_utilization: Some(sourced(0.62 + 0.07 * (number % 3) as f64)),
        kv_lately: Some(0.62 + 0.07 * (number % 3) as f64),
        hit_rate: Some(sourced(0.41)),
        routed: 206,
        routed_per_second: 0.55,
        mean_overlap: Some(58.3),
        in_engine: InEngine::default(),
        in_flight: Some(24 + number),
        last_event: Some(NOW.before(Duration::from_millis(400))),
        last_event_id: Some(11_041),
        ledger: kvtop::domain::RankLedger::default(),
        missing: 0,
        router_refused: 0,
        router_refuses: false,
        restarts: 0,
        load: Some(Sourced {
            value: RouterLoad { decode_blocks: 41, prefill_tokens: 0 },
            source: Provenance::told("kv_metrics of a router"),
            at: NOW,
        }),
        orphan_share: Some(0.002),
        stored_lately: wave(46.0, 12.0, 20, 3.0),
    }
}

fn sourced(value: f64) -> Sourced<f64> {
    Sourced { value, source: Provenance::told("metrics"), at: NOW }
}

fn rates(stores: f64, removals: f64, refused: f64) -> RateSet {
    let rates = Rates {
        stores,
        stored_blocks: stores,
        removals,
        refused,
        refused_blocks: refused,
        unknown_removals: refused,
    };
    RateSet { ten_seconds: rates, minute: rates, five_minutes: rates }
}

/// Returns a series that goes up and down around `middle`, unknown for the first tenth.
pub(crate) fn wave(middle: f64, swing: f64, points: usize, pace: f64) -> Series {
    let value = |at: usize| {
        let known = at >= points / 10;
        known.then(|| middle + swing * (at as f64 / pace).sin() + swing / 3.0 * (at as f64).cos())
    };
    Series { points: (0..points).map(value).collect() }
}

fn event(number: u64, millis: u64, who: &str, kind: EventKind, text: &str) -> EventRow {
    EventRow {
        number,
        at: NOW.before(Duration::from_millis(millis)),
        who: who.to_owned(),
        kind,
        text: text.to_owned(),
        gravity: Gravity::Normal,
        source: SourceName::Nats,
        repeats: 0,
        orphan: false,
    }
}

/// Returns a source that delivers.
pub(crate) fn source(name: &str) -> SourceRow {
    SourceRow {
        name: name.into(),
        state: SourceState::Live,
        why: String::new(),
        troubles: Vec::new(),
        peers: None,
        retry_at: None,
        rtt: Some(Duration::from_micros(800)),
        frames: 41_234,
        frames_per_second: 184.0,
        rejects: 0,
        gaps: 0,
        dropped: 0,
        drops_uncounted: false,
        interruptions: 0,
        last_frame: Some(NOW),
        pending: false,
        history: None,
    }
}

/// Returns a deployment of two workers on which KV routing works.
pub(crate) fn healthy() -> Snapshot {
    let workers = vec![worker(0, "trtllmworker-0-x7k2p"), worker(1, "trtllmworker-0-m4q9d")];
    let by_rank = workers
        .iter()
        .map(|row| (row.rank, wave(0.62 + 0.07 * f64::from(row.alias == "w1"), 0.05, 300, 11.0)))
        .collect();
    Snapshot {
        limits: Limits { pressure: 0.95, rejected: 0.05, empty: 0.5, stores: 20 },
        at: NOW,
        since: NOW.before(Duration::from_secs(460)),
        newest: Some(NOW.before(Duration::from_millis(200))),
        frames: 41_234,
        feed: Feed::Live,
        deployment: Deployment {
            label: String::from("gtc-demo"),
            version: Some(String::from("0.9")),
            version_source: Some(String::from("log")),
            namespace: Some(String::from("dynamo")),
            model: Some(String::from("a-model")),
            event_plane: Some(String::from("JetStream")),
            semantics: String::from("per block"),
            ..Deployment::default()
        },
        totals: Totals {
            counters: Counters { stores: 11_040, ..Counters::default() },
            rates: rates(92.4, 91.0, 0.2),
            accepted: 18_281,
            held: 18_281,
            kv_utilization: Some(0.65),
            orphan_share: Some(0.002),
            counted_share: None,
        },
        router: router(),
        felt: felt(),
        tree: tree(),
        sources: vec![source("nats"), source("k8s"), source("logs")],
        series: SeriesSet {
            until: None,
            window: Duration::from_secs(300),
            stores: wave(92.0, 14.0, 300, 7.0),
            stored_blocks: wave(92.0, 14.0, 300, 7.0),
            removals: wave(80.0, 10.0, 300, 9.0),
            refused: wave(0.2, 0.1, 300, 5.0),
            known_refused: wave(0.2, 0.1, 300, 5.0),
            routers_refused: wave(0.0, 0.0, 300, 5.0),
            refused_blocks: wave(0.2, 0.1, 300, 5.0),
            unknown_removals: wave(0.0, 0.0, 300, 5.0),
            tree_size: wave(18_000.0, 900.0, 300, 40.0),
            kv_utilization: wave(0.65, 0.04, 300, 11.0),
            kv_utilization_by_rank: by_rank,
            routed: wave(1.1, 0.4, 300, 6.0),
            hit_share: wave(0.8, 0.1, 300, 6.0),
            cached_share: wave(0.93, 0.02, 300, 30.0),
            ttft_p50: wave(0.31, 0.02, 300, 20.0),
            ttft_p95: wave(0.55, 0.06, 300, 17.0),
        },
        events: events(),
        workers: workers.into(),
        ..Snapshot::default()
    }
}

fn router() -> RouterSummary {
    RouterSummary {
        routers: vec![String::from("frontend-rmjwp")],
        decisions: 412,
        decisions_zero_overlap: 37,
        routed: 412,
        routed_per_second: 1.1,
        overlap_known: 412,
        overlap_zero: 37,
        mean_logit: Some(61.7),
        last_tree_size: Some(9_102),
        overlap_weight: Some(1.0),
        log_parent_warnings: Some(0),
        log_remove_warnings: Some(3),
        ttft_mean: Some(0.31),
        queued: Some(0),
        ttft: Some(latency(0.31, 0.55)),
        itl: Some(latency(0.029, 0.033)),
        duration: None,
        ..RouterSummary::default()
    }
}

fn felt() -> Felt {
    Felt {
        cached: Some(0.93),
        found: Some(0.91),
        first_token: Some([0.31, 0.55]),
        inter_token: Some([0.029, 0.033]),
    }
}

fn latency(p50: f64, p95: f64) -> Latency {
    let window = Duration::from_secs(60);
    let p99 = p95 * 1.25;
    let (beyond, p99_beyond) = (false, false);
    Latency { p50, p95, beyond, p99, p99_beyond, count: 66, window, objective: None }
}

fn tree() -> TreeSummary {
    TreeSummary {
        accepted_blocks: 18_281,
        held_blocks: 18_281,
        distinct_blocks: 13_002,
        edges: 611,
        memory_bytes: 2_400_000,
        memory_limit: 1 << 30,
        ..TreeSummary::default()
    }
}

fn events() -> Vec<EventRow> {
    let mut events = Vec::new();
    for number in 0..40 {
        let millis = (40 - number) * 90;
        events.push(match number % 4 {
            0 => event(number, millis, "w0", EventKind::Store, "2 blocks after a31f09c2"),
            1 => event(number, millis, "w1", EventKind::Remove, "6 blocks"),
            2 => event(
                number,
                millis,
                "frontend-rmjwp",
                EventKind::Route,
                "to w0, logit 38.7, 112 cached",
            ),
            _ => event(number, millis, "w1", EventKind::Store, "1 block after 77be01d4"),
        });
    }
    events
}

/// Returns the same deployment with block sizes that do not match, as the demo shows it.
pub(crate) fn mismatch() -> Snapshot {
    let mut picture = healthy();
    picture.feed = Feed::Demo(DemoState {
        scenario: String::from("mismatch"),
        about: String::from("Workers publish 32-token blocks, their engines have 16."),
        fix: String::from("Workers restart with --kv-block-size 16."),
        mends: "block-size-mismatch",
        next_step: Some("applies the fix"),
        ..DemoState::default()
    });
    picture.deployment.label = String::from("demo");
    for (row, used) in Arc::make_mut(&mut picture.workers).iter_mut().zip([0.92, 0.99]) {
        row.accepted = 0;
        row.held = 8_960;
        row.rates = rates(46.2, 45.1, 46.0);
        row.orphan_share = Some(0.996);
        row.block_size = BlockSizes {
            engine: Some(16),
            publisher: Some(32),
            card: Some(32),
            router: Some(16),
            ..row.block_size
        };
        row.kv_utilization = Some(sourced(used));
        row.kv_lately = Some(used);
        row.mean_overlap = Some(0.0);
        row.hit_rate = None;
    }
    picture.totals.accepted = 0;
    picture.totals.held = 17_920;
    picture.totals.orphan_share = Some(0.996);
    picture.totals.kv_utilization = Some(0.955);
    picture.totals.rates = rates(92.4, 91.0, 92.0);
    picture.series.refused = picture.series.stores.clone();
    picture.series.known_refused = picture.series.stores.clone();
    picture.series.refused_blocks = picture.series.stores.clone();
    picture.series.tree_size = wave(0.0, 0.0, 300, 40.0);
    picture.router.overlap_zero = 412;
    picture.router.last_tree_size = Some(0);
    picture.router.log_parent_warnings = Some(41_234);
    picture.router.log_remove_warnings = Some(40_112);
    picture.router.recent_parent_warnings = 5_404;
    picture.router.recent_remove_warnings = 5_369;
    picture.router.recent = Duration::from_secs(59);
    picture.tree = TreeSummary {
        held_blocks: 17_920,
        orphan_roots: 412,
        orphan_blocks: 17_920,
        memory_bytes: 2_400_000,
        memory_limit: 1 << 30,
        ..TreeSummary::default()
    };
    for row in picture.events.iter_mut().filter(|row| row.kind == EventKind::Store) {
        row.gravity = Gravity::Bad;
        row.text = String::from("parent a31f09c2 not in tree");
        row.repeats = row.number % 3 * 42;
    }
    picture.sources.truncate(1);
    picture.sources[0].name = SourceName::Simulator;
    picture
}

/// Returns a healthy deployment just after kvtop attached: orphans that prove nothing.
pub(crate) fn late_attach() -> Snapshot {
    let mut picture = healthy();
    for row in Arc::make_mut(&mut picture.workers) {
        row.knowledge = Knowledge::SinceAttach;
        row.orphan_share = None;
        row.rates = rates(46.2, 45.1, 38.0);
        row.held = row.accepted + 2_000;
    }
    picture.totals.orphan_share = None;
    picture.totals.rates = rates(92.4, 91.0, 76.0);
    picture.totals.held += 4_000;
    picture.series.refused = wave(76.0, 9.0, 300, 7.0);
    picture.series.known_refused = wave(76.0, 9.0, 300, 7.0);
    picture.series.refused_blocks = wave(76.0, 9.0, 300, 7.0);
    picture.series.kv_utilization = Series { points: vec![None; 300] };
    picture.series.kv_utilization_by_rank.clear();
    picture.totals.kv_utilization = None;
    for row in Arc::make_mut(&mut picture.workers) {
        row.kv_utilization = None;
        row.kv_lately = None;
    }
    picture.tree.orphan_roots = 318;
    picture.tree.orphan_blocks = 4_000;
    picture.tree.incomplete = vec![String::from("attached late: blocks from before are unknown")];
    picture.router.log_parent_warnings = None;
    picture.router.log_remove_warnings = None;
    picture.sources[2].state = SourceState::Down;
    picture.sources[2].why = String::from("pods/log is forbidden");
    picture.sources[2].retry_at = Some(NOW.after(Duration::from_secs(4)));
    picture.sources[0].gaps = 3;
    picture
}

/// Returns the present of a deployment whose long history is still being read.
pub(crate) fn history_read_ahead() -> Snapshot {
    let mut picture = late_attach();
    for row in Arc::make_mut(&mut picture.workers) {
        row.reading = true;
    }
    let left = Some(Duration::from_secs(8));
    picture.catching_up = Some(CatchingUp { read: 340_000, total: 1_000_000, left, ahead: true });
    picture.tree.incomplete = vec![String::from("2 of 2 ranks: older blocks are still to be read")];
    picture
}

/// Returns a recording of the healthy deployment, a third played.
pub(crate) fn replay() -> Snapshot {
    let mut picture = healthy();
    picture.feed = Feed::Replay(Playback {
        name: String::from("incident-0412.frames.zst"),
        start: NOW.before(Duration::from_secs(120)),
        end: NOW.after(Duration::from_secs(240)),
        position: NOW,
        seeking: None,
        known: None,
        speed: 4.0,
        paused: false,
        bad_lines: 0,
        first_bad_line: 0,
        torn: true,
    });
    picture.deployment.label = String::from("incident-0412");
    picture
}

/// Returns many workers, with more than one rank each.
pub(crate) fn large() -> Snapshot {
    let mut picture = healthy();
    picture.workers = (0..40)
        .map(|number| {
            let mut row = worker(number / 2, &format!("vllm-decode-worker-{}-abcde", number / 2));
            row.rank = WorkerRank::new(9_000_000_000_000_000 + number / 2, (number % 2) as u32);
            if number == 17 {
                row.orphan_share = Some(0.31);
            }
            if number == 30 {
                row.gone = true;
            }
            row
        })
        .collect::<Vec<_>>()
        .into();
    picture
}
