//! The view of findings: list and detail, at every size.

use kvtop::snapshot::{CheckVerdict, Snapshot};
use kvtop::tui::command::{Action, Command, Copied, Scroll, View};
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

type Make = fn() -> Snapshot;

#[test]
fn findings_of_all_kinds() {
    let pictures: [(&str, Make); 7] = [
        ("config_only", findings::config_only),
        ("two_criticals", findings::two_criticals),
        ("resolved", findings::resolved),
        ("unknown_only", findings::unknown_only),
        ("long_texts", findings::long_texts),
        ("hostile", findings::hostile),
        ("nothing", Snapshot::default),
    ];
    for (name, picture) in pictures {
        let picture = picture();
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
fn what_was_cured_is_listed_last_and_told_as_it_was() {
    let picture = findings::earlier();
    for size in [(120, 36), (80, 24)] {
        let mut shell = opened(&picture);
        shell.resize(size.0, size.1, &picture);
        shell.update(Command::Scroll(Scroll::Bottom), &picture);
        shell.update(Command::Scroll(Scroll::Up), &picture);
        let screen = draw(&mut shell, &picture, size);
        insta::assert_snapshot!(format!("finding_earlier_{}x{}", size.0, size.1), screen);
        assert!(screen.contains("earlier 2") && screen.contains("after 5m"), "{screen}");
    }
}

#[test]
fn every_item_can_be_reached_and_read_to_its_end() {
    for size in [(120, 36), (80, 24), (60, 12), (40, 10)] {
        let picture = findings::mismatch();
        let mut shell = opened(&picture);
        shell.resize(size.0, size.1, &picture);
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
    shell.resize(80, 24, &picture);
    shell.update(Command::Open, &picture);
    for _ in 0..3 {
        shell.update(Command::Scroll(Scroll::Down), &picture);
    }
    let screen = draw(&mut shell, &picture, (80, 24));
    // What is read has the view for itself, and the key that led there leads back.
    assert!(!screen.contains("WHAT") && !screen.contains("▌✗ KVT001"), "{screen}");
    assert!(screen.contains("Enter back") && screen.contains("EVIDENCE"), "{screen}");
    shell.update(Command::Back, &picture);
    shell.update(Command::Scroll(Scroll::Down), &picture);
    assert!(draw(&mut shell, &picture, (80, 24)).contains("▌▲ KVT010"));
    shell.update(Command::Back, &picture);
    assert!(draw(&mut shell, &picture, (80, 24)).contains("[1 Over]"));
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
    assert!(draw(&mut shell, &picture, (80, 24)).contains("[6 Find ✓]"));
}

/// Returns what `what` copies.
fn copied(shell: &mut Shell, what: Copied, picture: &Snapshot) -> Option<(String, String)> {
    match shell.update(Command::Copy(what), picture)? {
        Action::Copy { what, text } => Some((what, text)),
        Action::Query(_) => None,
        other => panic!("{other:?} is no copy"),
    }
}

#[test]
fn fixes_are_copied_from_every_view() {
    let picture = findings::two_criticals();
    let mut shell = shell();
    let (what, text) = copied(&mut shell, Copied::Fix, &picture).unwrap();
    assert_eq!(what, "commands of KVT001");
    assert!(text.starts_with("kubectl -n gtc-demo patch dynamographdeployment"), "{text}");
    let (what, text) = copied(&mut shell, Copied::Kubectl, &picture).unwrap();
    assert_eq!(what, "command of KVT001");
    assert!(text.starts_with("kubectl -n gtc-demo patch dynamographdeployment"), "{text}");

    let picture = findings::config_only();
    let (what, text) = copied(&mut shell, Copied::Fix, &picture).unwrap();
    assert_eq!(what, "fix of KVT016");
    assert!(text.starts_with("Set DYN_KV_CACHE_BLOCK_SIZE=32"), "{text}");
    assert_eq!(copied(&mut shell, Copied::Kubectl, &picture), None);
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("KVT016 has no command"), "{screen}");

    for nothing in [findings::resolved(), findings::unknown_only(), Snapshot::default()] {
        assert_eq!(copied(&mut shell, Copied::Fix, &nothing), None);
        assert!(draw(&mut shell, &nothing, (120, 36)).contains("there is no fix to copy"));
    }
}

#[test]
fn what_is_selected_is_what_is_copied() {
    let mut picture = findings::two_criticals();
    let mut shell = opened(&picture);
    shell.update(Command::Scroll(Scroll::Down), &picture);
    let (what, _) = copied(&mut shell, Copied::Fix, &picture).unwrap();
    assert_eq!(what, "commands of KVT003");
    let (_, text) = copied(&mut shell, Copied::Selection, &picture).unwrap();
    assert!(text.starts_with("KVT003 worker-silent CRITICAL LIKELY: "), "{text}");

    picture.findings.truncate(1);
    shell.update(Command::Show(View::Overview), &picture);
    assert_eq!(copied(&mut shell, Copied::Selection, &picture), None);
    while !matches!(copied(&mut shell, Copied::Selection, &picture), Some((_, text)) if text.contains("STORE"))
    {
        shell.update(Command::FocusNext, &picture);
    }
}

#[test]
fn nothing_that_a_shell_obeys_is_copied() {
    let picture = findings::hostile();
    for what in [Copied::Fix, Copied::Kubectl, Copied::Selection] {
        let (_, text) = copied(&mut opened(&picture), what, &picture).unwrap();
        assert!(
            !text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'),
            "{text:?}"
        );
    }
}

#[test]
fn a_finding_that_is_newer_than_the_held_picture_is_told() {
    let mut shell = shell();
    let before = crate::support::pictures::mismatch();
    shell.update(Command::ToggleFreeze, &before);
    let after = findings::mismatch();
    shell.update(Command::TopFinding, &after);
    let screen = draw(&mut shell, &after, (120, 36));
    assert!(screen.contains("KVT001 is newer than the frozen picture"), "{screen}");
    shell.update(Command::ToggleFreeze, &after);
    assert!(draw(&mut shell, &after, (120, 36)).contains("▌✗ KVT001"));
}

#[test]
fn evidence_is_short_in_the_list_and_whole_when_read() {
    let mut picture = findings::mismatch();
    let quoted = format!("32 tokens ({} the last word)", "a line of a log ".repeat(30));
    picture.findings[0].evidence[0].value = quoted;
    let mut shell = opened(&picture);
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("32 tokens") && screen.contains("FIX "), "{screen}");
    assert!(!screen.contains("last word"), "{screen}");
    shell.update(Command::Open, &picture);
    shell.update(Command::Scroll(Scroll::PageDown), &picture);
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains("last word"), "{screen}");
}

#[test]
fn who_waits_for_a_finding_is_shown_it_when_it_comes() {
    let (mut before, after) = (findings::unknown_only(), findings::mismatch());
    // The first of the list is one that is found later, and not as the first.
    before.checks.rotate_left(1);
    let mut shell = opened(&before);
    assert!(draw(&mut shell, &before, (120, 36)).contains("▌○ KVT002"));
    assert!(draw(&mut shell, &after, (120, 36)).contains("▌✗ KVT001"));

    // Who chose one keeps it.
    let mut shell = opened(&before);
    draw(&mut shell, &before, (120, 36));
    shell.update(Command::Scroll(Scroll::Down), &before);
    let screen = draw(&mut shell, &after, (120, 36));
    assert!(!screen.contains("▌✗ KVT001"), "{screen}");
}
