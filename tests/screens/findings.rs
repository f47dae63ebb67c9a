//! The view of findings: list and detail, at every size.

use kvtop::snapshot::{CheckVerdict, Snapshot};
use kvtop::tui::command::{Command, Scroll, View};
use kvtop::tui::shell::Shell;
use kvtop::tui::theme::{Glyphs, Level};

use super::{SIZES, draw, draw_with, shell, styles, text, theme};
use crate::support::findings;

/// Returns a shell that shows the findings.
fn opened(picture: &Snapshot) -> Shell {
    let mut shell = shell();
    shell.update(Command::TopFinding, picture);
    shell
}

#[test]
fn a_finding_at_every_size() {
    let picture = findings::mismatch();
    for size in SIZES {
        let screen = draw(&mut opened(&picture), &picture, size);
        insta::assert_snapshot!(format!("finding_{}x{}", size.0, size.1), screen);
    }
}

#[test]
fn findings_of_all_kinds() {
    for (name, picture) in [
        ("config_only", findings::config_only()),
        ("two_criticals", findings::two_criticals()),
        ("resolved", findings::resolved()),
        ("unknown_only", findings::unknown_only()),
        ("long_texts", findings::long_texts()),
        ("hostile", findings::hostile()),
        ("nothing", Snapshot::default()),
    ] {
        for size in [(120, 36), (80, 24)] {
            let screen = draw(&mut opened(&picture), &picture, size);
            insta::assert_snapshot!(format!("finding_{name}_{}x{}", size.0, size.1), screen);
        }
    }
}

#[test]
fn without_colour_or_in_ascii_it_says_the_same() {
    let picture = findings::two_criticals();
    for (level, name) in [(Level::Sixteen, "colour"), (Level::Mono, "no_color")] {
        let theme = theme(level, Glyphs::UNICODE);
        let buffer = draw_with(&mut opened(&picture), &picture, (120, 36), &theme);
        insta::assert_snapshot!(format!("finding_styles_{name}"), styles(&buffer));
    }
    let theme = theme(Level::Mono, Glyphs::ASCII);
    for size in SIZES {
        let screen = text(&draw_with(&mut opened(&picture), &picture, size, &theme));
        assert!(screen.is_ascii(), "{size:?}\n{screen}");
        if size == (120, 36) {
            insta::assert_snapshot!("finding_ascii_120x36", screen);
        }
    }
}

#[test]
fn the_selection_holds_on_to_a_finding_and_not_to_a_row() {
    let mut picture = findings::mismatch();
    let mut shell = opened(&picture);
    shell.update(Command::Scroll(Scroll::Down), &picture);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("▌▲ KVT010"));

    picture.findings.insert(0, findings::two_criticals().findings[2].clone());
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("▌▲ KVT010") && screen.contains("+2 more"), "{screen}");

    picture.findings.retain(|finding| finding.id != "KVT010");
    picture.checks.retain(|check| check.id != "KVT010");
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("▌✗ KVT003"), "{screen}");
}

#[test]
fn every_item_can_be_reached_and_read_to_its_end() {
    for size in [(120, 36), (80, 24), (60, 12), (40, 10)] {
        let picture = findings::mismatch();
        let mut shell = opened(&picture);
        shell.resize(size.0, size.1);
        for _ in 0..40 {
            shell.update(Command::Scroll(Scroll::PageDown), &picture);
        }
        let screen = draw(&mut shell, &picture, size);
        assert!(screen.contains("follow from it"), "{size:?}\n{screen}");
        for id in ["KVT010", "KVT005", "KVT006", "KVT016", "KVT002", "KVT003", "KVT004"] {
            shell.update(Command::Scroll(Scroll::Down), &picture);
            let screen = draw(&mut shell, &picture, size);
            let shown = screen.lines().any(|line| line.contains('▌') && line.contains(id));
            assert!(shown, "{size:?} {id}\n{screen}");
        }
        shell.update(Command::Scroll(Scroll::Bottom), &picture);
        assert!(draw(&mut shell, &picture, size).contains("▌✓ KVT014"));
    }
}

#[test]
fn enter_reads_and_esc_goes_back_step_by_step() {
    let picture = findings::mismatch();
    let mut shell = opened(&picture);
    shell.resize(80, 24);
    shell.update(Command::Open, &picture);
    for _ in 0..3 {
        shell.update(Command::Scroll(Scroll::Down), &picture);
    }
    let screen = draw(&mut shell, &picture, (80, 24));
    assert!(!screen.contains("WHAT") && screen.contains("▌✗ KVT001"), "{screen}");
    shell.update(Command::Back, &picture);
    shell.update(Command::Scroll(Scroll::Down), &picture);
    assert!(draw(&mut shell, &picture, (80, 24)).contains("▌▲ KVT010"));
    shell.update(Command::Back, &picture);
    assert!(draw(&mut shell, &picture, (80, 24)).contains("[1 Overview]"));
}

#[test]
fn the_tab_counts_and_never_calls_the_unknown_good() {
    let tab = |picture: &Snapshot| {
        let screen = draw(&mut shell(), picture, (120, 36));
        screen.lines().find(|line| line.contains("6 Findings")).unwrap().trim_end().to_owned()
    };
    assert!(tab(&findings::two_criticals()).contains("6 Findings ✗2 ▲1"));
    assert!(tab(&findings::unknown_only()).contains("6 Findings ○10"));
    let mut picture = findings::resolved();
    assert!(tab(&picture).contains("6 Findings ○3"));
    picture.checks.retain(|check| check.verdict == CheckVerdict::Clear);
    assert!(tab(&picture).contains("6 Findings ✓"));
    assert!(!tab(&Snapshot::default()).contains('✓'));
    let mut shell = shell();
    shell.update(Command::Show(View::Findings), &picture);
    assert!(draw(&mut shell, &picture, (80, 24)).contains("[6 Findings ✓]"));
}
