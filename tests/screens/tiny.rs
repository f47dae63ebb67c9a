//! Terminals of hardly any columns and rows: whatever is open, it is drawn.

use kvtop::snapshot::Snapshot;
use kvtop::tui::command::{Command, View};
use kvtop::tui::scope::Scope;
use kvtop::tui::shell::Shell;
use kvtop::tui::theme::{Glyphs, Level};
use kvtop::tui::tour::Move;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::{draw, shell, theme};
use crate::support::{findings, pictures};

/// Draws at every size from one cell to 26 columns and 9 rows.
fn draw_small(shell: &mut Shell, picture: &Snapshot) {
    let theme = theme(Level::Mono, Glyphs::UNICODE);
    for height in 1..=9 {
        for width in 1..=26 {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            shell.resize(width, height, picture);
            terminal.draw(|frame| shell.draw(picture, &theme, frame)).unwrap();
        }
    }
}

fn pictures() -> [Snapshot; 5] {
    [
        findings::mismatch(),
        findings::two_criticals(),
        findings::long_texts(),
        pictures::replay(),
        Snapshot::default(),
    ]
}

#[test]
fn every_step_of_the_tour() {
    for picture in pictures() {
        let mut shell = shell();
        shell.begin_tour();
        for _ in 0..12 {
            draw_small(&mut shell, &picture);
            shell.update(Command::Tour(Move::Next), &picture);
        }
    }
}

#[test]
fn a_step_of_the_tour_is_told_whole_where_there_are_two_rows_for_it() {
    for picture in [findings::mismatch(), findings::long_texts()] {
        for (size, strip) in [((40, 10), 3), ((60, 12), 4), ((80, 14), 5), ((80, 24), 7)] {
            let mut shell = shell();
            shell.begin_tour();
            for _ in 0..10 {
                let screen = draw(&mut shell, &picture, size);
                let rows: Vec<&str> = screen.lines().skip(usize::from(size.1) - strip).collect();
                assert!(rows[0].contains("/13"), "{size:?}\n{screen}");
                assert!(!rows.iter().any(|row| row.contains('…')), "{size:?}\n{screen}");
                assert!(rows.iter().filter(|row| !row.trim().is_empty()).count() > 2, "{screen}");
                shell.update(Command::Tour(Move::Next), &picture);
            }
        }
    }
}

#[test]
fn every_view_and_what_opens_over_it() {
    let over = [
        Command::Redraw,
        Command::ToggleHelp,
        Command::OpenLine,
        Command::OpenFilter,
        Command::OpenFind,
        Command::OpenExport,
        Command::Sort,
        Command::Columns,
        Command::LookAt(Scope::Namespace),
        Command::ToggleZoom,
        Command::Open,
        Command::ToggleBanner,
    ];
    for picture in [findings::long_texts(), Snapshot::default()] {
        for view in View::ALL {
            for open in &over {
                let mut shell = shell();
                shell.update(Command::Show(view), &picture);
                shell.update(*open, &picture);
                draw_small(&mut shell, &picture);
            }
        }
    }
}
