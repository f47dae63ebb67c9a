//! Terminals of hardly any columns and rows: whatever is open, it is drawn.

use kvtop::snapshot::Snapshot;
use kvtop::tui::command::{Command, View};
use kvtop::tui::scope::Scope;
use kvtop::tui::shell::Shell;
use kvtop::tui::theme::{Glyphs, Level};
use kvtop::tui::tour::Move;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::{shell, theme};
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
