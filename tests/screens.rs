//! Screens: text, styles, keys, and that nothing makes drawing fail.

mod banner;
mod filters;
mod findings;
mod foresight;
mod hostile;
mod matrix;
mod overview;
mod past;
mod picks;
mod sizes;
mod tiny;
mod tree;
mod views;
mod walks;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use kvtop::domain::Provenance;
use kvtop::snapshot::{Snapshot, Sourced};
use kvtop::tui::command::{Action, Command, ReplayCommand, Scroll, View};
use kvtop::tui::shell::Shell;
use kvtop::tui::theme::{Glyphs, Level, Theme, Themes};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::support::pictures;

const SIZES: [(u16, u16); 6] = [(160, 45), (120, 36), (80, 24), (60, 12), (40, 6), (20, 3)];

fn shell() -> Shell {
    Shell::new("terminal", Themes::default().names())
}

fn theme(level: Level, glyphs: &'static Glyphs) -> Theme {
    Themes::default().theme("terminal", level, glyphs).unwrap()
}

fn draw_with(shell: &mut Shell, picture: &Snapshot, size: (u16, u16), theme: &Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    shell.resize(size.0, size.1, picture);
    terminal.draw(|frame| shell.draw(picture, theme, frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn draw(shell: &mut Shell, picture: &Snapshot, size: (u16, u16)) -> String {
    text(&draw_with(shell, picture, size, &theme(Level::Sixteen, Glyphs::UNICODE)))
}

/// Returns the text of a fresh screen that shows `picture`.
pub(crate) fn drawn(picture: &Snapshot, width: u16, height: u16) -> String {
    draw(&mut shell(), picture, (width, height))
}

/// Returns the text of a fresh screen that shows `picture` in a view.
pub(crate) fn drawn_in(view: View, picture: &Snapshot, width: u16, height: u16) -> String {
    let mut shell = shell();
    shell.update(Command::Show(view), picture);
    draw(&mut shell, picture, (width, height))
}

fn rows(buffer: &Buffer) -> impl Iterator<Item = &[ratatui::buffer::Cell]> {
    buffer.content().chunks(usize::from(buffer.area().width))
}

/// Returns the characters, without what is blank at the end of rows.
fn text(buffer: &Buffer) -> String {
    let row = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
    };
    rows(buffer).map(row).collect::<Vec<_>>().join("\n")
}

/// Returns for each row where which style starts, blanks of the plain style left out.
fn styles(buffer: &Buffer) -> String {
    let mut out = String::new();
    for (y, cells) in rows(buffer).enumerate() {
        write!(out, "{y}:").unwrap();
        let mut before = None;
        for (x, cell) in cells.iter().enumerate() {
            let style = (cell.fg, cell.bg, cell.modifier);
            if before != Some(style) {
                write!(out, " {x} {:?}/{:?}/{:?}", style.0, style.1, style.2).unwrap();
                before = Some(style);
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn a_mismatch_at_every_size() {
    for size in SIZES {
        let screen = draw(&mut shell(), &pictures::mismatch(), size);
        insta::assert_snapshot!(format!("mismatch_{}x{}", size.0, size.1), screen);
    }
}

#[test]
fn good_health_at_every_size() {
    for size in SIZES {
        let screen = draw(&mut shell(), &pictures::healthy(), size);
        insta::assert_snapshot!(format!("healthy_{}x{}", size.0, size.1), screen);
    }
}

#[test]
fn other_pictures() {
    for (name, picture) in [
        ("late_attach", pictures::late_attach()),
        ("history_read_ahead", pictures::history_read_ahead()),
        ("replay", pictures::replay()),
        ("large", pictures::large()),
        ("nothing", Snapshot::default()),
    ] {
        for size in [(120, 36), (80, 24), (60, 12)] {
            let screen = draw(&mut shell(), &picture, size);
            insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), screen);
        }
    }
}

#[test]
fn figures_of_an_endpoint_that_stopped_answering_are_dimmed() {
    let mut picture = pictures::healthy();
    let at = picture.at.before(Duration::from_secs(16));
    for row in Arc::make_mut(&mut picture.workers) {
        let source = Provenance::Metrics(row.pod.as_deref().unwrap().into());
        let at = if row.alias == "w0" { at } else { picture.at };
        row.hit_rate = Some(Sourced { value: 0.87, source: source.clone(), at });
        row.kv_utilization = Some(Sourced { value: 0.54, source, at });
    }
    let theme = theme(Level::Sixteen, Glyphs::UNICODE);
    let buffer = draw_with(&mut shell(), &picture, (120, 36), &theme);
    let colour = |alias: &str, figure: &str| {
        let of = |cells: &[ratatui::buffer::Cell]| {
            let text: Vec<&str> = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
            let whole = text.concat();
            let at = whole.contains(alias).then(|| whole.find(figure)).flatten()?;
            let before = whole[..at].chars().count();
            Some(cells[before].fg)
        };
        rows(&buffer).find_map(of).unwrap()
    };

    for figure in ["87", "54"] {
        assert_ne!(colour("w0 ", figure), colour("w1 ", figure), "{figure}");
    }
}

#[test]
fn styles_of_a_mismatch() {
    for (level, name) in [(Level::Sixteen, "colour"), (Level::Mono, "no_color")] {
        for size in [(120, 36), (80, 24)] {
            let theme = theme(level, Glyphs::UNICODE);
            let buffer = draw_with(&mut shell(), &pictures::mismatch(), size, &theme);
            insta::assert_snapshot!(
                format!("styles_{name}_{}x{}", size.0, size.1),
                styles(&buffer)
            );
        }
    }
}

#[test]
fn ascii_is_ascii() {
    let theme = theme(Level::Mono, Glyphs::ASCII);
    for size in SIZES {
        for picture in [pictures::mismatch(), pictures::late_attach(), pictures::replay()] {
            let screen = text(&draw_with(&mut shell(), &picture, size, &theme));
            assert!(screen.is_ascii(), "{size:?}\n{screen}");
        }
    }
    for size in [(120, 36), (80, 24)] {
        let screen = text(&draw_with(&mut shell(), &pictures::mismatch(), size, &theme));
        insta::assert_snapshot!(format!("ascii_{}x{}", size.0, size.1), screen);
    }
}

#[test]
fn the_help_says_what_keys_and_columns_mean() {
    for (name, picture) in [("demo", pictures::mismatch()), ("replay", pictures::replay())] {
        let mut shell = shell();
        shell.update(Command::ToggleHelp, &picture);
        insta::assert_snapshot!(
            format!("help_{name}_120x36"),
            draw(&mut shell, &picture, (120, 36))
        );
    }
}

#[test]
fn a_late_attach_never_looks_like_a_fault() {
    let mut picture = pictures::late_attach();
    picture.sources.truncate(0);
    picture.sources.push(pictures::source("nats"));
    for size in SIZES {
        let screen = draw(&mut shell(), &picture, size);
        assert!(!screen.contains('✗') && !screen.contains('▲'), "{size:?}\n{screen}");
    }
}

#[test]
fn many_sources_leave_room_for_what_is_looked_at() {
    use kvtop::domain::SourceState;
    let mut picture = pictures::mismatch();
    let names = ["etcd", "jetstream", "kubernetes", "logs", "metrics", "nats", "simulator"];
    picture.sources = names.map(pictures::source).to_vec();
    for size in [(120, 36), (80, 24), (60, 12)] {
        let screen = draw(&mut shell(), &picture, size);
        let bar = screen.lines().next().unwrap();
        assert!(bar.contains("kvtop") && bar.contains("DEMO"), "{bar}");
    }
    picture.sources[4].state = SourceState::Down;
    picture.sources[4].why = String::from("connection refused");
    for size in [(120, 36), (80, 24)] {
        let screen = draw(&mut shell(), &picture, size);
        let bar = screen.lines().next().unwrap();
        assert!(bar.contains("metrics ✗ down") && bar.contains("✓6"), "{bar}");
    }
}

#[test]
fn sources_of_a_recording_are_not_called_live() {
    let screen = draw(&mut shell(), &pictures::replay(), (200, 60));
    let bar = screen.lines().next().unwrap();
    assert!(bar.contains("recorded") && !bar.contains("live"), "{bar}");
}

#[test]
fn a_frozen_picture_says_since_when_and_how_much_it_missed() {
    let mut shell = shell();
    let before = pictures::healthy();
    shell.update(Command::ToggleFreeze, &before);
    let mut after = pictures::mismatch();
    after.at = before.at.after(std::time::Duration::from_secs(12));
    after.frames = before.frames + 1_104;

    for size in [(120, 36), (80, 24), (60, 12)] {
        let screen = draw(&mut shell, &after, size);
        // How much is new gives way to the names of views, which fit in short at 80 columns.
        let said = if size.0 == 80 { "‖ frozen 12s" } else { "‖ frozen 12s, 1.1k new" };
        assert!(screen.contains(said), "{screen}");
        assert!(!screen.contains("99.6"), "{screen}");
    }
    shell.update(Command::ToggleFreeze, &after);
    assert!(draw(&mut shell, &after, (80, 24)).contains("99.6"));
}

#[test]
fn events_hold_on_to_a_number_and_not_to_a_row() {
    let mut shell = shell();
    let mut picture = pictures::healthy();
    let event = |number: u64| {
        let mut event = picture.events[0].clone();
        (event.number, event.text) = (number, format!("event {number:03}"));
        event
    };
    let all: Vec<_> = (0..200).map(event).collect();
    picture.events = all[..100].to_vec();
    draw(&mut shell, &picture, (80, 24));
    while !draw(&mut shell, &picture, (80, 24)).contains("newer below") {
        shell.update(Command::FocusNext, &picture);
        shell.update(Command::Scroll(Scroll::Up), &picture);
    }
    let before = draw(&mut shell, &picture, (80, 24));
    assert!(before.contains("event 098") && !before.contains("event 099"), "{before}");

    picture.events = all[20..150].to_vec();

    let later = draw(&mut shell, &picture, (80, 24));
    assert!(later.contains("event 098") && later.contains("51 newer below"), "{later}");
    shell.update(Command::Scroll(Scroll::Bottom), &picture);
    assert!(draw(&mut shell, &picture, (80, 24)).contains("event 149"));
}

#[test]
fn a_zoomed_panel_has_the_screen() {
    let mut shell = shell();
    let picture = pictures::large();
    shell.resize(80, 24, &picture);
    shell.update(Command::ToggleZoom, &picture);
    let screen = draw(&mut shell, &picture, (80, 24));
    assert!(screen.contains("1-17 of 40") && !screen.contains("Blocks per second"), "{screen}");
    shell.update(Command::Scroll(Scroll::Bottom), &picture);
    let screen = draw(&mut shell, &picture, (80, 24));
    assert!(screen.contains("-40 of 40"), "{screen}");
    shell.update(Command::Back, &picture);
    assert!(draw(&mut shell, &picture, (80, 24)).contains("Blocks per second"));
}

#[test]
fn commands_become_actions() {
    let mut shell = shell();
    let (demo, live) = (pictures::mismatch(), pictures::healthy());
    let step = Command::Replay(ReplayCommand::Step);
    shell.resize(80, 24, &live);
    assert_eq!(shell.update(Command::Quit, &live), Some(Action::Quit));
    assert_eq!(shell.update(Command::DemoFix, &demo), Some(Action::DemoFix));
    assert_eq!(shell.update(Command::DemoFix, &live), None);
    assert_eq!(shell.update(step, &pictures::replay()), Some(Action::Replay(ReplayCommand::Step)));
    let Some(Action::Query(query)) = shell.update(Command::WindowLonger, &live) else {
        panic!("a longer window is a new query");
    };
    assert_eq!(query.window.as_secs(), 900);
}

#[test]
fn the_command_line_suggests_completes_and_explains() {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    let mut shell = shell();
    let picture = pictures::mismatch();
    let press = |shell: &mut Shell, code| {
        let command = shell.command(KeyEvent::new(code, KeyModifiers::NONE), &picture)?;
        shell.update(command, &picture)
    };
    for c in ":theme da".chars() {
        press(&mut shell, KeyCode::Char(c));
    }
    let screen = draw(&mut shell, &pictures::mismatch(), (80, 24));
    assert!(screen.contains(":theme dark") && screen.contains("Enter: theme dark"), "{screen}");
    press(&mut shell, KeyCode::Tab);
    press(&mut shell, KeyCode::Enter);
    assert_eq!(shell.theme(), "dark");

    for c in ":theme sunrise".chars() {
        press(&mut shell, KeyCode::Char(c));
    }
    press(&mut shell, KeyCode::Enter);
    let screen = draw(&mut shell, &pictures::mismatch(), (80, 24));
    assert!(screen.contains("no theme `sunrise`; themes are"), "{screen}");

    // An empty line closes; a suggestion that is shown is taken.
    for code in [KeyCode::Char(':'), KeyCode::Enter] {
        assert_eq!(press(&mut shell, code), None);
    }
    for c in ":demo".chars() {
        press(&mut shell, KeyCode::Char(c));
    }
    assert_eq!(press(&mut shell, KeyCode::Enter), Some(Action::DemoFix));
}

#[test]
fn a_few_workers_are_all_shown_with_their_names() {
    let mut picture = crate::support::findings::mismatch();
    let all =
        |count: u64| (0..count).map(|n| pictures::worker(n, "pod-z")).collect::<Vec<_>>().into();
    for (count, least) in [(1, 30), (2, 30), (3, 36)] {
        picture.workers = all(count);
        for height in least..60 {
            for width in [100, 120, 160] {
                let screen = draw(&mut shell(), &picture, (width, height));
                let rows = screen.lines().filter(|line| line.contains(" pod-z ")).count();
                assert_eq!(rows as u64, count, "{width}x{height}\n{screen}");
                assert!(
                    screen.contains("REJ%") && !screen.contains(&format!(" of {count} ")),
                    "{screen}"
                );
            }
        }
    }
    // Where it pages, it says what is shown.
    picture.workers = all(40);
    for height in 18..60 {
        let screen = draw(&mut shell(), &picture, (120, height));
        let rows = screen.lines().filter(|line| line.contains(" pod-z ")).count();
        assert!(rows == 40 || screen.contains(&format!("1-{rows} of 40")), "{screen}");
    }
}

#[test]
fn what_proves_nothing_is_said_beside_its_number() {
    let mut picture = pictures::mismatch();
    (picture.totals.counters.stores, picture.totals.counters.empty_stores) = (99_999, 98_765);
    for width in 100..=160 {
        let screen = draw(&mut shell(), &picture, (width, 36));
        assert!(screen.contains("99,999, 98,765 empty"), "{screen}");
    }
    let screen = draw(&mut shell(), &picture, (140, 50));
    assert!(screen.contains("0.9 prints 0 on every miss"), "{screen}");
}

#[test]
fn nothing_in_the_help_is_cut_without_a_mark() {
    let picture = pictures::mismatch();
    let opened = |size| {
        let mut shell = shell();
        shell.update(Command::ToggleHelp, &picture);
        draw(&mut shell, &picture, size)
    };
    let whole = opened((200, 300));
    for size in [(30, 8), (24, 6), (40, 10), (60, 12)] {
        for line in opened(size).lines().filter_map(|line| line.strip_prefix('│')) {
            let said = line.trim_end_matches('│').trim().trim_start_matches('▌').trim();
            let words: Vec<&str> = said.split_whitespace().collect();
            let known =
                |line: &str| line.split_whitespace().any(|word| words.last() == Some(&word));
            assert!(said.ends_with('…') || words.is_empty() || whole.lines().any(known), "{said}");
        }
    }
    assert!(opened((30, 8)).contains('…'));
}

#[test]
fn the_tour_tells_what_there_is_to_see_on_small_screens_too() {
    let picture = crate::support::findings::mismatch();
    for (size, said) in
        [((60, 12), "Users, one router, a few workers."), ((40, 10), "Users, one router")]
    {
        let mut shell = shell();
        shell.begin_tour();
        let screen = draw(&mut shell, &picture, size);
        assert!(screen.contains(said) && screen.contains("next"), "{screen}");
        assert!(screen.contains("KVT001") && screen.contains("w0") && screen.contains("? help"));
        for _ in 1..10 {
            shell.update(Command::Tour(kvtop::tui::tour::Move::Next), &picture);
            let screen = draw(&mut shell, &picture, size);
            let last = screen.lines().rev().take(3).collect::<Vec<_>>().join(" ");
            assert!(last.split_whitespace().count() > 6, "{screen}");
        }
    }
}
