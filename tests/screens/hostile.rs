//! Any picture, any size, any keys: drawing does not fail.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use kvtop::domain::{Provenance, Timestamp, WorkerId, WorkerRank};
use kvtop::snapshot::{
    Answer, DecisionRow, EventDetail, Feed, FindingRow, FixRow, FrameView, Playback, PodRow,
    RoutingDetail, Series, Severity, ShareRow, Snapshot, Sourced, TermRow, WorkerDetail, WorkerRow,
};
use kvtop::tui::command::{Command, View};
use kvtop::tui::theme::{Glyphs, Level};
use proptest::prelude::*;

use crate::support::findings;

use super::{draw_with, pictures, shell, text, theme};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z0-9-]{0,70}",
        Just(String::from("\u{1b}[2J\u{1b}]0;x\u{7}")),
        Just(String::from("日本語ワーカー👩‍👩‍👧‍👦\u{202e}\u{200b}e\u{301}")),
        Just("é".repeat(300)),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        0.0..2.0,
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(-1.0),
        Just(1e300),
    ]
}

fn worker() -> impl Strategy<Value = WorkerRow> {
    let facts = (name(), proptest::option::of(name()), any::<[u64; 4]>(), number(), number());
    (facts, any::<bool>(), any::<Option<u32>>()).prop_map(
        |((alias, pod, counts, share, rate), gone, size)| {
            let mut row = pictures::worker(0, "pod");
            (row.alias, row.pod, row.gone) = (alias, pod, gone);
            row.rank = WorkerRank::new(counts[0], u32::from(counts[1] > u64::MAX / 2));
            (row.accepted, row.held) = (counts[2], counts[3]);
            row.orphan_share = Some(share);
            row.kv_utilization = Some(Sourced {
                value: share,
                source: Provenance::told(""),
                at: Timestamp(counts[0]),
            });
            row.rates.ten_seconds.stores = rate;
            row.routed_per_second = rate;
            row.mean_overlap = Some(rate);
            row.block_size.router = size;
            row.last_event = Some(Timestamp(counts[1]));
            row
        },
    )
}

fn series() -> impl Strategy<Value = Series> {
    proptest::collection::vec(proptest::option::of(number()), 0..50)
        .prop_map(|points| Series { points })
}

fn finding() -> impl Strategy<Value = FindingRow> {
    let base = prop_oneof![
        Just(findings::block_size()),
        Just(findings::pressure()),
        Just(findings::declared()),
    ];
    let texts = proptest::collection::vec(name(), 8);
    let severities = vec![Severity::Info, Severity::Warning, Severity::Critical];
    let severity = proptest::sample::select(severities);
    let times = (any::<u64>(), proptest::option::of(any::<u64>()));
    let some = any::<[bool; 3]>();
    (base, texts, severity, times, some).prop_map(|(mut row, texts, severity, times, some)| {
        row.severity = severity;
        (row.summary, row.effect) = (texts[0].clone(), texts[1].clone());
        row.refuted_by.clone_from(&texts[2]);
        row.competing = texts[3..5].to_vec();
        for evidence in &mut row.evidence {
            evidence.claim.clone_from(&texts[5]);
            evidence.value.clone_from(&texts[6]);
            evidence.source.clone_from(&texts[7]);
            evidence.at = some[0].then_some(Timestamp(times.0));
        }
        row.fix = some[1].then(|| FixRow {
            sentence: texts[0].clone(),
            yaml: some[2].then(|| texts[1..].join("\n")),
            kubectl: some[0].then(|| texts[2].clone()),
            restarts: texts[3].clone(),
            verify: texts[4].clone(),
            rollout: None,
        });
        (row.raised, row.resolved) = (Timestamp(times.0), times.1.map(Timestamp));
        row
    })
}

fn picture() -> impl Strategy<Value = Snapshot> {
    let found = proptest::collection::vec(finding(), 0..6);
    (seen(), found).prop_map(|(picture, found)| findings::with(picture, found))
}

fn seen() -> impl Strategy<Value = Snapshot> {
    let base = prop_oneof![
        Just(Snapshot::default()),
        Just(pictures::mismatch()),
        Just(pictures::late_attach()),
        Just(pictures::replay()),
    ];
    let workers = proptest::collection::vec(worker(), 0..30);
    let times = (any::<u64>(), any::<u64>(), any::<u64>());
    (base, workers, name(), times, series(), number()).prop_map(
        |(mut picture, workers, name, (at, newest, frames), series, rate)| {
            (picture.at, picture.newest, picture.frames) =
                (Timestamp(at), Some(Timestamp(newest)), frames);
            picture.workers = workers.into();
            picture.deployment.label.clone_from(&name);
            picture.router.routers = vec![name.clone()];
            picture.router.mean_logit = Some(rate);
            picture.router.ttft_mean = Some(rate);
            picture.router.overlap_known = frames;
            picture.tree.memory_bytes = at;
            picture.tree.incomplete = vec![name.clone()];
            picture.totals.rates.ten_seconds.stores = rate;
            for event in &mut picture.events {
                event.text.clone_from(&name);
                event.who.clone_from(&name);
                event.repeats = frames;
            }
            picture.decisions = vec![decision(&name, frames, rate); 3];
            picture.pods = vec![pod(&name, at)].into();
            picture.answer = answer(&picture, &name, rate, &series);
            for source in &mut picture.sources {
                source.why.clone_from(&name);
                source.dropped = frames;
                source.retry_at = Some(Timestamp(newest));
            }
            (picture.series.stores, picture.series.refused) = (series.clone(), series.clone());
            picture.series.stored_blocks = series.clone();
            picture.series.known_refused = series.clone();
            picture.series.refused_blocks = series.clone();
            picture.series.kv_utilization = series;
            if let Feed::Replay(playback) = &mut picture.feed {
                *playback = Playback {
                    name,
                    start: Timestamp(newest),
                    end: Timestamp(at),
                    position: Timestamp(frames),
                    speed: rate,
                    ..Playback::default()
                };
            }
            picture
        },
    )
}

fn decision(name: &str, count: u64, rate: f64) -> DecisionRow {
    let term = |rank| TermRow {
        rank,
        alias: name.to_owned(),
        logit: rate,
        weight: rate,
        prefill_blocks: rate,
        decode_blocks: -rate,
        cached_blocks: rate,
        credit: None,
    };
    DecisionRow {
        number: count,
        at: Timestamp(count),
        router: name.into(),
        request: Some(name.into()),
        worker: WorkerId(7),
        dp_rank: None,
        alias: name.to_owned(),
        logit: Some(rate),
        cached_blocks: Some(rate),
        tree_size: Some(count),
        prompt_blocks: Some(count),
        prompt_tokens: Some(count),
        terms: vec![term(WorkerRank::new(7, 0)), term(WorkerRank::new(8, 0))],
    }
}

fn pod(name: &str, at: u64) -> PodRow {
    PodRow {
        name: name.to_owned(),
        phase: name.to_owned(),
        trouble: Some(name.to_owned()),
        image: Some(name.to_owned()),
        started: Some(Timestamp(at)),
        restarts: at,
        ..PodRow::default()
    }
}

/// Returns an answer to any of the questions that views ask.
fn answer(picture: &Snapshot, name: &str, rate: f64, series: &Series) -> Answer {
    let rank = picture.workers.first().map_or(WorkerRank::new(7, 0), |row| row.rank);
    let event = EventDetail {
        number: picture.events.last().map_or(0, |row| row.number),
        frame: Some(FrameView {
            origin: name.to_owned(),
            at: Timestamp(1),
            time: Some(Timestamp(u64::MAX)),
            size: u64::MAX,
            cut: true,
            decoded: vec![name.to_owned(); 3],
            body: vec![name.to_owned(); 3],
        }),
        kept_frames: 1,
        kept_bytes: u64::MAX,
    };
    let share = ShareRow {
        rank,
        alias: name.to_owned(),
        routed: u64::MAX,
        per_second: rate,
        series: series.clone(),
    };
    let routing = RoutingDetail {
        decision: None,
        shares: vec![share; 9],
        more: 3,
        window: Duration::ZERO,
        ttft: series.clone(),
    };
    match picture.frames % 3 {
        0 => Answer::Event(Box::new(event)),
        1 => Answer::Routing(Box::new(routing)),
        _ => Answer::Worker(Box::new(WorkerDetail {
            rank,
            stores: series.clone(),
            stored_blocks: series.clone(),
            removals: series.clone(),
            refused: series.clone(),
            refused_blocks: series.clone(),
            unknown_removals: series.clone(),
            routed: series.clone(),
            accepted: series.clone(),
            kv_utilization: series.clone(),
            hit_rate: series.clone(),
            window: Duration::MAX,
        })),
    }
}

fn key() -> impl Strategy<Value = KeyEvent> {
    let code = prop_oneof![
        proptest::char::range(' ', '~').prop_map(KeyCode::Char),
        proptest::char::range('1', '6').prop_map(KeyCode::Char),
        any::<char>().prop_map(KeyCode::Char),
        proptest::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
            KeyCode::BackTab,
            KeyCode::Backspace,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::PageUp,
            KeyCode::PageDown,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::F(1),
        ]),
    ];
    code.prop_map(|code| KeyEvent::new(code, KeyModifiers::NONE))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_picture_at_any_size_after_any_keys_is_drawn(
        first in picture(),
        second in picture(),
        sizes in proptest::collection::vec((1_u16..240, 1_u16..80), 1..4),
        keys in proptest::collection::vec(key(), 0..40),
        ascii in any::<bool>(),
    ) {
        let glyphs = if ascii { Glyphs::ASCII } else { Glyphs::UNICODE };
        let theme = theme(Level::Sixteen, glyphs);
        let mut shell = shell();
        shell.wait(Duration::from_secs(2));
        for (at, size) in sizes.into_iter().enumerate() {
            let picture = if at % 2 == 0 { &first } else { &second };
            for key in &keys {
                if let Some(command) = shell.command(*key, picture) {
                    shell.update(command, picture);
                }
            }
            let screen = text(&draw_with(&mut shell, picture, size, &theme));
            prop_assert!(!screen.chars().any(|c| c.is_control() && c != '\n'));
        }
    }
}

#[test]
fn every_small_size_is_drawn() {
    let theme = theme(Level::Mono, Glyphs::UNICODE);
    for picture in [
        pictures::mismatch(),
        pictures::replay(),
        findings::long_texts(),
        findings::hostile(),
        Snapshot::default(),
    ] {
        for width in 1..90 {
            for height in 1..14 {
                let mut shell = shell();
                draw_with(&mut shell, &picture, (width, height), &theme);
                shell.update(Command::TopFinding, &picture);
                draw_with(&mut shell, &picture, (width, height), &theme);
            }
        }
    }
}

/// Returns what stands in the row of the worst worker and is a number, with the marks beside it.
fn numbers(screen: &str) -> Vec<String> {
    let of_worst = |line: &&str| ["✗ w0 ", "○ w0 "].iter().any(|row| line.contains(row));
    let row = screen.lines().find(of_worst).unwrap_or_default();
    let is_number = |word: &&str| {
        word.chars().any(|c| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ".,+-%k✗≠…".contains(c))
    };
    row.split_whitespace().filter(is_number).map(|it| it.trim_end_matches('%').to_owned()).collect()
}

#[test]
fn no_number_of_a_worker_is_cut_at_any_width() {
    let picture = pictures::mismatch();
    for view in [View::Overview, View::Workers] {
        let drawn = |size| {
            let mut shell = shell();
            shell.update(Command::Show(view), &picture);
            super::draw(&mut shell, &picture, size)
        };
        let whole = numbers(&drawn((220, 60)));
        assert!(whole.len() > 5, "{whole:?}");
        for width in 20..=140 {
            for height in [4, 8, 12, 18, 24, 30, 36] {
                let screen = drawn((width, height));
                let shown = numbers(&screen);
                assert!(shown.iter().any(|it| it == "99.6"), "{width}x{height}\n{screen}");
                let cut: Vec<_> = shown.iter().filter(|it| !whole.contains(it)).collect();
                assert!(cut.is_empty(), "{cut:?} at {width}x{height}\n{screen}");
            }
        }
    }
}
