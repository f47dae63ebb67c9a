//! The banner: on every view, at every size, as long as it is true.

use std::fmt::Write as _;

use kvtop::snapshot::Snapshot;
use kvtop::tui::command::{Command, View};
use kvtop::tui::keymap::Keymap;
use kvtop::tui::theme::{Glyphs, Level};

use super::{SIZES, draw, draw_with, drawn_in, shell, styles, text, theme};
use crate::support::findings;

#[test]
fn what_is_wrong_at_every_size() {
    for size in SIZES {
        let screen = draw(&mut shell(), &findings::mismatch(), size);
        insta::assert_snapshot!(format!("banner_{}x{}", size.0, size.1), screen);
    }
}

/// A name, and the picture of that name.
type Kind = (&'static str, fn() -> Snapshot);

#[test]
fn banners_of_all_kinds() {
    let kinds: [Kind; 6] = [
        ("config_only", findings::config_only),
        ("two_criticals", findings::two_criticals),
        ("resolved", findings::resolved),
        ("unknown_only", findings::unknown_only),
        ("long_texts", findings::long_texts),
        ("hostile", findings::hostile),
    ];
    for (name, picture) in kinds {
        let picture = picture();
        let mut out = String::new();
        for size in SIZES {
            let rows = if size.1 >= 30 { 6 } else { 4 };
            let screen = draw(&mut shell(), &picture, size);
            let top: Vec<_> = screen.lines().take(rows).collect();
            writeln!(out, "{}x{}\n{}\n", size.0, size.1, top.join("\n")).unwrap();
        }
        insta::assert_snapshot!(format!("banner_{name}"), out);
    }
}

#[test]
fn b_makes_it_small_until_the_facts_change() {
    let mut shell = shell();
    let before = findings::mismatch();
    for size in [(120, 36), (80, 24)] {
        shell.update(Command::ToggleBanner, &before);
        let screen = draw(&mut shell, &before, size);
        assert!(screen.lines().nth(1).unwrap().starts_with("✗ "), "{screen}");
        assert!(!screen.contains("FIX") && screen.contains("b open"), "{screen}");

        let mut after = before.clone();
        after.findings[0].summary = String::from("The same with another number.");
        assert!(!draw(&mut shell, &after, size).contains("FIX"));
        after.findings[1].severity = kvtop::snapshot::Severity::Critical;
        assert!(draw(&mut shell, &after, size).contains("FIX"));

        assert!(!draw(&mut shell, &before, size).contains("FIX"));
        shell.update(Command::ToggleBanner, &before);
        assert!(draw(&mut shell, &before, size).contains("FIX"));
    }
}

#[test]
fn neither_help_nor_zoom_nor_freezing_hides_it() {
    let mut shell = shell();
    let before = crate::support::pictures::mismatch();
    shell.update(Command::ToggleFreeze, &before);
    shell.update(Command::ToggleZoom, &before);
    for size in SIZES {
        let screen = draw(&mut shell, &findings::mismatch(), size);
        assert!(screen.contains("KVT001"), "{screen}");
    }
    let screen = draw(&mut shell, &findings::mismatch(), (20, 3));
    assert!(screen.contains("‖ frozen"), "{screen}");
}

#[test]
fn every_screen_that_has_a_row_says_what_is_wrong() {
    let picture = findings::mismatch();
    for width in 8..130 {
        for height in 1..40 {
            let screen = draw(&mut shell(), &picture, (width, height));
            assert!(screen.contains("KVT001"), "{width}x{height}\n{screen}");
            let wide = width >= 20;
            assert!(height < 2 || !wide || screen.contains("✗ w0"), "{width}x{height}\n{screen}");
        }
    }
}

#[test]
fn nobody_restarts_a_frontend_for_a_setting_that_it_does_not_read() {
    let picture = findings::config_only();
    for (width, height) in [
        (80, 16),
        (80, 24),
        (80, 29),
        (100, 24),
        (60, 30),
        (80, 36),
        (100, 30),
        (120, 36),
        (200, 60),
    ] {
        let screen = draw(&mut shell(), &picture, (width, height));
        assert!(screen.contains("does not read it"), "{width}x{height}\n{screen}");
        let words = screen.replace(['║', '\n'], " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = words.contains(&picture.findings[0].summary);
        assert!(whole || height < 30, "{width}x{height}\n{screen}");
    }
}

#[test]
fn what_is_good_to_know_makes_no_banner_and_is_named_beside_the_verdict() {
    let mut picture = findings::config_only();
    picture.findings[0].severity = kvtop::snapshot::Severity::Info;
    let screen = draw(&mut shell(), &picture, (120, 36));
    let named: Vec<&str> = screen.lines().filter(|line| line.contains("KVT016")).collect();
    assert!(matches!(named.as_slice(), [line] if line.contains("1 note: KVT016")), "{screen}");
}

#[test]
fn without_colour_or_in_ascii_words_carry_it() {
    for (level, name) in [(Level::Sixteen, "colour"), (Level::Mono, "no_color")] {
        let theme = theme(level, Glyphs::UNICODE);
        let mut out = String::new();
        for size in [(120, 36), (80, 24), (60, 12)] {
            for picture in [findings::mismatch(), findings::config_only(), findings::resolved()] {
                let all = styles(&draw_with(&mut shell(), &picture, size, &theme));
                let rows: Vec<_> = all.lines().skip(1).take(4).collect();
                writeln!(out, "{}x{}\n{}", size.0, size.1, rows.join("\n")).unwrap();
            }
        }
        insta::assert_snapshot!(format!("banner_styles_{name}"), out);
    }
    let theme = theme(Level::Mono, Glyphs::ASCII);
    let mut out = String::new();
    for size in SIZES {
        for picture in [findings::mismatch(), findings::config_only(), findings::resolved()] {
            let screen = text(&draw_with(&mut shell(), &picture, size, &theme));
            assert!(screen.is_ascii(), "{size:?}\n{screen}");
            let rows: Vec<_> = screen.lines().skip(1).take(4).collect();
            writeln!(out, "{}x{}\n{}", size.0, size.1, rows.join("\n")).unwrap();
        }
    }
    insta::assert_snapshot!("banner_ascii", out);
}

#[test]
fn workers_that_evidence_is_about_are_marked() {
    let row = |picture: &kvtop::snapshot::Snapshot, alias: &str| {
        let screen = drawn_in(View::Workers, picture, 190, 45);
        screen.lines().find(|line| line.contains(&format!(" {alias} trtllm"))).unwrap().to_owned()
    };
    let mut picture = findings::config_only();
    let first = row(&picture, "w0");
    assert!(first.contains("▲ w0") && first.contains("KVT016"), "{first}");
    assert!(row(&picture, "w0").contains(" 32▲ "));
    assert!(row(&picture, "w1").contains("✓ w1") && row(&picture, "w1").contains(" 32 "));

    picture.findings[0].evidence[1].worker = Some(picture.workers[1].rank.worker);
    assert!(row(&picture, "w0").contains("✓ w0") && row(&picture, "w1").contains("▲ w1"));

    picture.findings[0].evidence[1].against = true;
    assert!(row(&picture, "w1").contains("✓ w1"));

    let other = kvtop::snapshot::FindingRow { id: "KVT010", ..findings::pressure() };
    let picture = findings::with(crate::support::pictures::healthy(), vec![other]);
    assert!(row(&picture, "w1").contains("▲ w1") && row(&picture, "w1").contains(" 32 "));

    let screen = draw(&mut shell(), &findings::config_only(), (20, 3));
    assert!(screen.contains("▲ w0 KVT016"), "{screen}");
}

#[test]
fn keys_of_ones_own_are_named_wherever_a_key_is() {
    let own = [
        ("copy-fix", "F5"),
        ("copy-kubectl", "F6"),
        ("top-finding", "F7"),
        ("toggle-banner", "F8"),
        ("demo-fix", "F9"),
    ];
    let changes = own.map(|(name, key)| (name.to_owned(), vec![key.to_owned()]));
    let mut shell = shell();
    shell.listen_to(Keymap::with(&changes).unwrap());
    let picture = findings::two_criticals();
    let screen = draw(&mut shell, &picture, (120, 36));
    for said in ["F5 copy", "F7 evidence", "F8 collapse", "more (F7)", "F9 applies the fix"] {
        assert!(screen.contains(said), "{said}\n{screen}");
    }
    let small = draw(&mut shell, &picture, (80, 24));
    assert!(small.contains("F5 copy") && !small.contains("Y copy"), "{small}");
    shell.update(Command::ToggleBanner, &picture);
    assert!(draw(&mut shell, &picture, (120, 36)).contains("F8 open"));
    shell.update(Command::TopFinding, &picture);
    shell.update(Command::ToggleZoom, &picture);
    shell.update(Command::Open, &picture);
    let finding = draw(&mut shell, &picture, (160, 60));
    assert!(finding.contains("F5 copies the"), "{finding}");

    shell.begin_tour();
    let mut told = String::new();
    for _ in 0..15 {
        told += &draw(&mut shell, &picture, (160, 45));
        shell.update(Command::Tour(kvtop::tui::tour::Move::Next), &picture);
    }
    for said in ["F5 copies the commands", "The fix (F5)", "Evidence (F7)", "Apply it (F9)"] {
        assert!(told.contains(said), "{said}");
    }
}

#[test]
fn a_finding_without_new_evidence_is_recovering() {
    let mut picture = findings::mismatch();
    picture.findings[0].mending =
        Some(crate::support::pictures::NOW.before(std::time::Duration::from_secs(12)));
    let said = "no new evidence for 12 of 30 s";
    for size in [(80, 24), (120, 36), (200, 60)] {
        let screen = draw(&mut shell(), &picture, size);
        assert!(screen.contains("KVT001") && screen.contains(said), "{screen}");
    }
    picture.findings[0].mending = None;
    assert!(!draw(&mut shell(), &picture, (200, 60)).contains("RECOVERING"));
}

#[test]
fn a_long_fix_has_a_second_row_where_there_is_room() {
    let mut picture = findings::mismatch();
    let fix = picture.findings[0].fix.as_mut().unwrap();
    fix.sentence = format!("{}and the end of it.", "Start the workers anew. ".repeat(6));
    assert!(draw(&mut shell(), &picture, (120, 36)).contains("and the end of it."));
    let small = draw(&mut shell(), &picture, (80, 24));
    assert!(small.contains("CONFIRMED") && small.contains("Y copy"), "{small}");
}

#[test]
fn sizes_that_differ_are_named_on_the_smallest_screens() {
    let picture = findings::mismatch();
    let row = |width, height| {
        let screen = draw(&mut shell(), &picture, (width, height));
        let row = screen.lines().find(|line| line.contains("KVT001")).unwrap_or_default();
        row.to_owned()
    };
    for (width, height) in [(60, 12), (40, 6), (20, 3), (19, 2), (80, 12), (60, 16)] {
        let row = row(width, height);
        assert!(row.contains("16") && row.contains('≠') && row.contains("32"), "{row}");
    }
    for width in 14..130 {
        for height in [1, 3, 12, 16, 24] {
            // A box names them below its upper edge.
            let boxed = width >= 60 && height >= 22;
            let all = || draw(&mut shell(), &picture, (width, height));
            let row = if boxed { all() } else { row(width, height) };
            assert!(row.contains("16") && row.contains("32"), "{width}x{height} {row}");
        }
    }
    // What is about to be resolved says so instead.
    let mut mending = picture.clone();
    mending.findings[0].mending = Some(crate::support::pictures::NOW);
    let screen = draw(&mut shell(), &mending, (60, 12));
    let row = screen.lines().find(|line| line.contains("KVT001")).unwrap();
    assert!(!row.contains('≠'), "{row}");
}

#[test]
fn a_cure_says_what_users_feel_on_small_screens_and_not_only_what_is_better() {
    let mut picture = findings::resolved();
    let mut before = picture.felt;
    (before.found, before.cached, before.first_token) = (Some(0.0), Some(0.85), Some([0.4, 0.82]));
    picture.before = Some(before);
    (picture.felt.found, picture.felt.cached, picture.felt.first_token) =
        (Some(0.66), Some(0.83), Some([0.6, 2.96]));
    let line = |size| {
        let screen = draw(&mut shell(), &picture, size);
        screen.lines().find(|line| line.contains("RESOLVED")).unwrap().to_owned()
    };

    let wide = line((120, 36));
    assert!(wide.contains("TTFT p95 0.82 → 2.96 s") && wide.contains("85 → 83 %"), "{wide}");
    let small = line((80, 24));
    assert!(
        small.contains("finds 0 → 66 %") && small.contains("TTFT p95 0.82 → 2.96 s"),
        "{small}"
    );
}

#[test]
fn what_is_not_known_is_not_hidden_by_what_was_cured() {
    let mut picture = findings::resolved();
    assert!(draw(&mut shell(), &picture, (120, 36)).contains("RESOLVED"));

    picture.coverage.rank_limit = Some(1);
    let screen = draw(&mut shell(), &picture, (120, 36));
    assert!(screen.contains("NOT KNOWN YET") && !screen.contains("RESOLVED"), "{screen}");
    let wide = draw(&mut shell(), &picture, (200, 60));
    assert!(wide.contains("last finding: KVT001"), "{wide}");
}
