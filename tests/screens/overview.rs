//! The overview: verdict, figures, timeline, and what follows the selection.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use kvtop::domain::Role as PodRole;
use kvtop::simulator::Scenario;
use kvtop::snapshot::{DemoChange, DemoState, Feed, Felt, Flow, PodRow, Snapshot, Standing};
use kvtop::tui::command::{Action, Command, Edit, Past, Scroll, View};
use kvtop::tui::graph::gallery;
use kvtop::tui::markers;
use kvtop::tui::panels::headline::Figure;
use kvtop::tui::theme::{Glyphs, Level, Themes};
use kvtop::tui::widgets::canvas::Canvas;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::views::Seat;
use super::{draw, shell, text};
use crate::support::findings;
use crate::support::pictures::{NOW, healthy, mismatch};

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (200, 60), (60, 12)];

/// Returns the words of a screen, frames left out.
fn words(screen: &str) -> String {
    let plain = screen.replace(['║', '│', '\n'], " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn line<'a>(screen: &'a str, wanted: &str) -> &'a str {
    screen.lines().find(|line| line.contains(wanted)).unwrap_or_default()
}

#[test]
fn the_fix_is_whole_wherever_there_is_a_box() {
    let mut picture = findings::mismatch();
    let fix = picture.findings[0].fix.as_mut().unwrap();
    fix.sentence = String::from(
        "In --override-engine-args of TrtllmWorker, change tokens_per_block from 16 to 32, then do a \
         rolling restart of the three workers, one at a time, so that caches refill in between.",
    );
    let wanted = fix.sentence.clone();
    for width in [60, 80, 100, 120, 200] {
        for height in [22, 24, 30, 36, 60] {
            let screen = draw(&mut shell(), &picture, (width, height));
            assert!(words(&screen).contains(&wanted), "{width}x{height}\n{screen}");
            assert!(screen.contains("✗ w0"), "{width}x{height}\n{screen}");
        }
    }
}

/// Returns the row of the headline's figures, which begins with `first`.
fn headline(picture: &Snapshot, figures: &[Figure], size: (u16, u16), first: &str) -> String {
    let mut shell = shell();
    shell.head_with(figures.to_vec());
    let screen = draw(&mut shell, picture, size);
    let rows: Vec<&str> = screen.lines().collect();
    let at = rows.iter().position(|row| row.trim_start().starts_with(first)).unwrap();
    rows[at..rows.len().min(at + 2)].join("\n")
}

#[test]
fn the_headline_has_the_figures_that_were_chosen_and_drops_the_last() {
    let mut picture = healthy();
    let router = &mut picture.router;
    router.flow = Flow {
        prompt_tokens: Some(8_423.0),
        output_tokens: Some(1_204.0),
        offloaded: Some(12.0),
        onboarded: None,
    };
    router.counted.routed_to = Some(1);
    for row in Arc::make_mut(&mut picture.workers) {
        row.in_engine.running = Some(3);
    }
    let figures = [
        Figure::Workers,
        Figure::Tokens,
        Figure::Tiers,
        Figure::Running,
        Figure::Waiting,
        Figure::Registered,
        Figure::TtftP95,
        Figure::ItlP99,
        Figure::QueueP95,
        Figure::Hits,
    ];
    let of = |size| headline(&picture, &figures, size, "WORKERS");
    insta::assert_snapshot!("headline_80", of((80, 24)));
    insta::assert_snapshot!("headline_120", of((120, 36)));
    insta::assert_snapshot!("headline_200", of((200, 60)));
    // One worker does not report them: their sum is unknown, and not that of the others.
    Arc::make_mut(&mut picture.workers)[1].in_engine.running = None;
    for size in [(80, 24), (120, 36), (200, 60)] {
        let row =
            headline(&picture, &[Figure::Running, Figure::Waiting, Figure::Queue], size, "RUN");
        assert_eq!(row.matches('—').count(), 3, "{row}");
    }
}

#[test]
fn no_figure_of_the_headline_is_cut() {
    let picture = healthy();
    let whole = headline(&picture, &Figure::ALL, (600, 24), "CACHE");
    let whole = whole.lines().next().unwrap();
    for width in 60..200 {
        let row = headline(&picture, &Figure::ALL, (width, 24), "CACHE");
        let row = row.lines().next().unwrap();
        let last = row.split_whitespace().last().unwrap();
        assert!(whole.split_whitespace().any(|word| word == last), "{width}: {row}");
        assert!(row.chars().count() <= width.into(), "{width}: {row}");
    }
}

#[test]
fn figures_of_the_headline_are_picked_by_a_key() {
    let picture = healthy();
    let mut shell = shell();
    shell.update(Command::Figures, &picture);
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("✓ CACHE HITS") && screen.contains("  TOKENS/s"), "{screen}");
    // The first is taken away, and the second is then the first of the headline.
    shell.update(Command::Pick, &picture);
    shell.update(Command::Back, &picture);
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(!screen.contains("CACHE HITS") && screen.contains("TTFT p50 / p95"), "{screen}");
    shell.head_with(vec![Figure::Hits]);
    shell.update(Command::Figures, &picture);
    shell.update(Command::Pick, &picture);
    shell.update(Command::Back, &picture);
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("CACHE HITS"), "the last one stays: {screen}");
}

#[test]
fn the_verdict_has_four_states() {
    let active = draw(&mut shell(), &findings::mismatch(), (120, 36));
    assert!(active.contains("CRITICAL KVT001") && active.contains("ACTIVE"), "{active}");

    let mut recovering = findings::mismatch();
    recovering.findings[0].mending = Some(NOW.before(Duration::from_secs(18)));
    recovering.felt = Felt { cached: Some(0.64), found: Some(0.9), ..recovering.felt };
    recovering.before = Some(Felt { cached: Some(0.11), found: Some(0.0), ..recovering.felt });
    for size in [(80, 24), (120, 36), (200, 60)] {
        let screen = draw(&mut shell(), &recovering, size);
        assert!(screen.contains("◐ RECOVERING KVT001"), "{screen}");
        assert!(screen.contains("18 of 30 s"), "{screen}");
        assert!(screen.contains("cache hits 11 → 64 %"), "{screen}");
        assert!(!screen.contains("CRITICAL"), "{screen}");
    }
    assert!(draw(&mut shell(), &recovering, (120, 36)).contains("▰▰▰▰▰▰▱▱▱▱"));

    let mut resolved = findings::resolved();
    resolved.before = Some(Felt { cached: Some(0.11), ..Felt::default() });
    let screen = draw(&mut shell(), &resolved, (120, 36));
    let said = line(&screen, "RESOLVED");
    assert!(said.contains("✓ RESOLVED") && said.contains(" after "), "{screen}");
    assert!(said.contains("cache hits 11 → 93 %"), "{screen}");

    let mut well = healthy();
    well.checks = findings::resolved().checks;
    well.checks.retain(|check| check.verdict == kvtop::snapshot::CheckVerdict::Clear);
    let screen = draw(&mut shell(), &well, (120, 36));
    let count = well.checks.len();
    let good = well.standing() == Standing::Ok;
    let wanted = if good { "✓ HEALTHY" } else { "NOT KNOWN YET" };
    assert!(
        line(&screen, wanted).contains(&format!("{count} of {count} checks clear")),
        "{screen}"
    );
}

#[test]
fn what_is_not_judged_is_never_called_healthy() {
    for picture in [Snapshot::default(), findings::unknown_only()] {
        let screen = draw(&mut shell(), &picture, (120, 36));
        assert!(!screen.contains("HEALTHY") && screen.contains("NOT KNOWN YET"), "{screen}");
    }
}

#[test]
fn figures_stand_on_every_screen_and_tell_what_was_before() {
    let mut picture = healthy();
    for size in SIZES {
        let screen = draw(&mut shell(), &picture, size);
        assert!(screen.contains("93 %") && screen.contains("0.31 / 0.55 s"), "{size:?}\n{screen}");
    }
    picture.before =
        Some(Felt { cached: Some(0.84), first_token: Some([0.36, 0.67]), ..Felt::default() });
    let screen = draw(&mut shell(), &picture, (160, 45));
    assert!(screen.contains("84 → 93 %"), "{screen}");
    assert!(screen.contains("0.36 / 0.67 → 0.31 / 0.55 s"), "{screen}");
}

#[test]
fn one_key_walks_the_series_of_the_timeline() {
    let (mut shell, picture) = (shell(), healthy());
    let titles =
        ["Cache hits %", "Time to first token", "KV cache in use %", "Blocks in the index"];
    for title in titles {
        shell.update(Command::NextGraph, &picture);
        let screen = draw(&mut shell, &picture, (120, 36));
        assert!(line(&screen, "other series").contains(title), "{screen}");
    }
    shell.update(Command::NextGraph, &picture);
    shell.update(Command::NextGraph, &picture);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("Blocks per second"));
}

#[test]
fn the_panel_below_follows_the_selected_worker() {
    let (mut shell, picture) = (shell(), healthy());
    assert!(draw(&mut shell, &picture, (120, 36)).contains("Router frontend-rmjwp"));
    shell.update(Command::Scroll(Scroll::Down), &picture);
    shell.update(Command::Scroll(Scroll::Down), &picture);
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("› w1 trtllmworker-0-m4q9d ─"), "{screen}");
    assert!(line(&screen, " w1 trtllm").contains('▌') || screen.contains("▌ ✓ w1"), "{screen}");
    shell.update(Command::Open, &picture);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("[2 Workers]"));
    shell.update(Command::Show(View::Overview), &picture);
    shell.update(Command::Back, &picture);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("Router frontend-rmjwp"));
}

#[test]
fn workers_that_start_together_are_one_marker_and_the_time_before_kvtop_has_none() {
    let mut picture = healthy();
    let ago = |seconds: u64| Some(NOW.before(Duration::from_secs(seconds)));
    let pod = |name: &str, role, started| PodRow {
        name: name.to_owned(),
        role,
        started,
        ..PodRow::default()
    };
    picture.pods = vec![
        pod("frontend-rmjwp", PodRole::Frontend, ago(300)),
        pod("trtllmworker-0-m4q9d", PodRole::Worker, ago(200)),
        pod("trtllmworker-0-x7k2p", PodRole::Worker, ago(210)),
    ]
    .into();
    let change =
        DemoChange { at: NOW.before(Duration::from_secs(60)), what: "80 → 90 users".into() };
    picture.feed = Feed::Demo(DemoState { change: Some(change), ..DemoState::default() });
    let said = |picture: &Snapshot| {
        let marks = markers::list(picture, Glyphs::UNICODE);
        marks.into_iter().map(|mark| mark.text).collect::<Vec<_>>()
    };
    assert_eq!(said(&picture), ["router started", "2 workers started", "80 → 90 users"]);
    let screen = draw(&mut shell(), &picture, (120, 36));
    assert!(line(&screen, "2 workers started").contains("80 → 90 users"), "{screen}");

    picture.since = NOW.before(Duration::from_secs(205));
    assert_eq!(said(&picture), ["w1 started", "80 → 90 users"]);
}

#[test]
fn the_whole_screen_shows_the_moment_under_the_cursor() {
    let mut shell = shell();
    let before = findings::mismatch();
    let after = |seconds: u64| Snapshot {
        at: NOW.after(Duration::from_secs(seconds)),
        frames: before.frames + seconds,
        ..healthy()
    };
    shell.note_picture(&before);
    for second in 1..60 {
        shell.note_picture(&after(second));
    }
    let live = after(60);
    assert!(!draw(&mut shell, &live, (120, 36)).contains("KVT001"));

    shell.update(Command::Past(Past::At(NOW)), &live);
    let screen = draw(&mut shell, &live, (120, 36));
    assert!(screen.contains("CRITICAL KVT001"), "the verdict of then\n{screen}");
    assert!(line(&screen, "PAST").contains("now:"), "{screen}");
    assert!(screen.contains("14:39:02"), "{screen}");

    shell.update(Command::Past(Past::Step(1)), &live);
    assert!(!draw(&mut shell, &live, (120, 36)).contains("CRITICAL KVT001"));
    shell.update(Command::Past(Past::Now), &live);
    assert!(!draw(&mut shell, &live, (120, 36)).contains("PAST"));
}

#[test]
fn a_recording_is_wound_to_markers_and_by_the_cursor() {
    let (mut shell, mut picture) = (shell(), findings::mismatch());
    picture.feed = Feed::Replay(kvtop::snapshot::Playback::default());
    let seek = |action: Option<Action>| match action {
        Some(Action::Replay(command)) => format!("{command:?}"),
        other => format!("{other:?}"),
    };
    let to = shell.update(Command::Past(Past::Marker(-1)), &picture);
    assert!(seek(to).starts_with("SeekTo"), "the finding was raised before");
    let step = shell.update(Command::Past(Past::Step(-1)), &picture);
    assert_eq!(seek(step), "SeekBy(-3)");
}

fn mouse(kind: MouseEventKind, column: u16, row: u16) -> MouseEvent {
    MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }
}

/// Returns where `wanted` begins on the screen.
fn place(screen: &str, wanted: &str) -> (u16, u16) {
    let found = screen.lines().enumerate().find_map(|(y, line)| {
        let at = line.find(wanted)?;
        Some((line[..at].chars().count(), y))
    });
    let (x, y) = found.unwrap_or_else(|| panic!("no {wanted}\n{screen}"));
    (u16::try_from(x).unwrap(), u16::try_from(y).unwrap())
}

#[test]
fn the_mouse_reaches_tabs_rows_headers_the_wheel_and_the_timeline() {
    const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);
    let theme = super::theme(Level::Mono, Glyphs::UNICODE);
    let (mut shell, picture) = (shell(), healthy());
    let screen = draw(&mut shell, &picture, (120, 36));
    for (name, tab) in
        [("2 Workers", "[2 Workers]"), ("4 Routing", "[4 Routing]"), ("6 Findings", "[6 Findings")]
    {
        let (x, y) = place(&screen, name);
        shell.point(mouse(CLICK, x + 3, y), &picture, &theme);
        let shown = draw(&mut shell, &picture, (120, 36));
        assert!(shown.contains(tab), "{shown}");
    }
    shell.update(Command::Show(View::Overview), &picture);

    let (x, y) = place(&screen, "w1 trtllm");
    shell.point(mouse(CLICK, x, y), &picture, &theme);
    let shown = draw(&mut shell, &picture, (120, 36));
    assert!(shown.contains("› w1 trtllmworker-0-m4q9d ─"), "{shown}");
    shell.point(mouse(CLICK, x, y), &picture, &theme);
    assert!(
        draw(&mut shell, &picture, (120, 36)).contains("[2 Workers]"),
        "a second click opens it"
    );
    shell.update(Command::Back, &picture);
    let back = draw(&mut shell, &picture, (120, 36));
    assert!(back.contains("[1 Overview]"), "Esc leads back the way that one came\n{back}");
    shell.update(Command::Show(View::Workers), &picture);

    let table = draw(&mut shell, &picture, (120, 36));
    let (x, y) = place(&table, "CACHED");
    shell.point(mouse(CLICK, x + 1, y), &picture, &theme);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("sort: CACHED▼"));
    shell.point(mouse(CLICK, x + 1, y), &picture, &theme);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("sort: CACHED▲"));

    shell.update(Command::Show(View::Overview), &picture);
    for second in 0..120 {
        let at = NOW.before(Duration::from_secs(120 - second));
        shell.note_picture(&Snapshot { at, frames: second, ..healthy() });
    }
    let screen = draw(&mut shell, &picture, (120, 36));
    let (x, y) = place(&screen, "now ");
    shell.point(mouse(CLICK, x - 20, y - 2), &picture, &theme);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("PAST -"));
    shell.point(mouse(MouseEventKind::Drag(MouseButton::Left), x + 2, y - 2), &picture, &theme);
    assert!(!draw(&mut shell, &picture, (120, 36)).contains("PAST -"), "the right end is now");

    let (x, y) = place(&screen, "─ Events");
    shell.point(mouse(MouseEventKind::ScrollUp, x + 3, y + 2), &picture, &theme);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("newer below"));
}

#[test]
fn the_mouse_selects_rows_of_every_list_and_a_second_click_opens_them() {
    const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);
    let theme = super::theme(Level::Mono, Glyphs::UNICODE);
    let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
    let click = |seat: &mut Seat, wanted: &str| {
        let screen = seat.screen();
        let (x, y) = place(&screen, wanted);
        let picture = seat.picture.clone();
        seat.shell.point(mouse(CLICK, x, y), &picture, &theme);
        seat.look();
        seat.screen()
    };
    seat.keys("6");
    let shown = click(&mut seat, "KVT009");
    assert!(shown.contains("▌✓ KVT009"), "{shown}");
    seat.keys("5 ");
    let row = seat.screen().lines().nth(12).unwrap().to_owned();
    let time: String = row.chars().skip(4).take(12).collect();
    let shown = click(&mut seat, &time);
    assert!(shown.lines().nth(12).unwrap().contains('▌') || shown.contains(&format!("▌ {time}")));
    let shown = click(&mut seat, &format!("▌ {time}"));
    assert!(shown.contains("DECODED"), "{shown}");
    seat.key(KeyCode::Esc);
    seat.keys(" 3");
    let (_, y) = place(&seat.screen(), "▸");
    let shown = click(&mut seat, "▸");
    assert!(shown.lines().nth(y.into()).unwrap().contains('▌'), "{shown}");
    seat.keys("1:");
    let shown = click(&mut seat, "copy kubectl");
    assert!(!shown.contains("─ Commands ─"), "a click runs the command\n{shown}");
}

#[test]
fn escape_leads_back_from_the_prefix_over_the_worker_to_the_deployment() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
    seat.keys("jj\n");
    assert!(seat.screen().contains("─ healthy › w1 ") && seat.screen().contains("[2 Workers]"));
    seat.keys("w");
    assert!(seat.screen().contains("─ healthy › w1 › Prefixes "), "{}", seat.screen());
    seat.keys("jd");
    assert!(seat.screen().contains("─ healthy › w1 › "), "{}", seat.screen());
    seat.key(KeyCode::Esc);
    assert!(seat.screen().contains("─ healthy › w1 › Prefixes "), "{}", seat.screen());
    seat.key(KeyCode::Esc);
    assert!(seat.screen().contains("─ healthy › w1 ") && seat.screen().contains("[2 Workers]"));
    seat.key(KeyCode::Esc);
    assert!(seat.screen().contains("[1 Overview]"), "{}", seat.screen());
}

#[test]
fn log_lines_are_shown_as_they_were_written() {
    let mut seat = Seat::of_scenario(Scenario::Mismatch, (160, 36));
    seat.keys("5l");
    let screen = seat.screen();
    assert!(screen.contains("─ Log lines, "), "{screen}");
    assert!(screen.contains("WARN dynamo_llm::kv_router"), "{screen}");
    seat.keys("l");
    assert!(seat.screen().contains("─ Events, last "), "{}", seat.screen());
}

#[test]
fn the_palette_lists_what_fits_and_arrows_walk_it() {
    let (mut shell, picture) = (shell(), healthy());
    shell.update(Command::OpenLine, &picture);
    for letter in "thdk".chars() {
        shell.update(Command::Edit(Edit::Insert(letter)), &picture);
    }
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("─ Commands ─") && screen.contains("theme dark"), "{screen}");
    shell.update(Command::Edit(Edit::Submit), &picture);
    assert_eq!(shell.theme(), "dark");

    shell.update(Command::OpenLine, &picture);
    for letter in "view".chars() {
        shell.update(Command::Edit(Edit::Insert(letter)), &picture);
    }
    shell.update(Command::Scroll(Scroll::Down), &picture);
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("▌ view workers"), "{screen}");
    shell.update(Command::Edit(Edit::Submit), &picture);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("[2 Workers]"));
}

#[test]
fn no_panel_of_a_large_screen_is_mostly_empty() {
    for scenario in [Scenario::GtcDemo, Scenario::Healthy] {
        let mut seat = Seat::of_scenario(scenario, (200, 60));
        let screen = seat.screen();
        let blank = screen.lines().filter(|line| {
            let inside = line.replace(['│', '║'], " ");
            !line.trim().is_empty() && inside.trim().is_empty()
        });
        assert!(blank.count() <= 3, "{}\n{screen}", scenario.name());
        for panel in ["Events", "Workers", "Blocks per second", "Decisions"] {
            assert!(screen.contains(panel), "{panel}\n{screen}");
        }
        // Where nothing is cached there is nothing to map.
        let cached = scenario == Scenario::Healthy;
        assert_eq!(screen.contains("Hot prefixes by worker"), cached, "{screen}");
        insta::assert_snapshot!(format!("overview_{}_200x60", scenario.name()), screen);
    }
}

#[test]
fn every_graph_in_every_mode() {
    let modes = [
        ("truecolour", "dark", Level::True, Glyphs::UNICODE),
        ("256", "dark", Level::TwoHundred, Glyphs::UNICODE),
        ("16", "terminal", Level::Sixteen, Glyphs::UNICODE),
        ("mono", "terminal", Level::Mono, Glyphs::UNICODE),
        ("ascii", "terminal", Level::Mono, Glyphs::ASCII),
    ];
    let (width, height) = gallery::SIZE;
    let area = Rect::new(0, 0, width, height);
    for (name, theme, level, glyphs) in modes {
        let theme = Themes::default().theme(theme, level, glyphs).unwrap();
        let mut buffer = Buffer::empty(area);
        let mut canvas = Canvas::new(&mut buffer, &theme);
        canvas.clear(area);
        gallery::draw(&mut canvas, area);
        let said = text(&buffer);
        assert!(name != "ascii" || said.is_ascii(), "{said}");
        insta::assert_snapshot!(format!("gallery_{name}"), said);
    }
}

#[test]
fn a_demo_names_its_load_and_what_the_last_change_did() {
    let mut picture = mismatch();
    picture.findings = Vec::new();
    let change =
        DemoChange { at: NOW.before(Duration::from_secs(40)), what: "80 → 90 users".into() };
    picture.feed = Feed::Demo(DemoState {
        scenario: String::from("gtc-demo"),
        users: 90,
        mode: "kv",
        workers: 3,
        change: Some(change),
        ..DemoState::default()
    });
    picture.before = Some(Felt { cached: Some(0.90), ..Felt::default() });
    let screen = draw(&mut shell(), &picture, (160, 45));
    assert!(screen.contains("<> 90 users  R kv routing  W 3 workers"), "{screen}");
    assert!(screen.contains("80 → 90 users 40s ago: cache hits 90 → 93 %"), "{screen}");
}
