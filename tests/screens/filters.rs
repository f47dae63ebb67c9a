//! Filters: what each view filters by, and where there is nothing to filter.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use kvtop::simulator::Scenario;
use kvtop::snapshot::Snapshot;
use kvtop::tui::shell::Shell;

use super::draw;
use super::views::Seat;
use crate::support::findings;

/// Returns the rows of the panel whose title begins like this, without its frame.
fn panel(screen: &str, title: &str) -> Vec<String> {
    let lines = screen.lines().skip_while(|line| !line.contains(title));
    let rows = lines.skip(1).take_while(|line| !line.starts_with(['└', '├', '╰']));
    rows.map(str::to_owned).collect()
}

#[test]
fn decisions_are_filtered_by_worker_pod_request_and_overlap() {
    let mut seat = Seat::of_scenario(Scenario::NoHistory, (80, 24));
    seat.keys("4/w:1");
    let screen = seat.screen();
    assert!(screen.contains("match w:1") && screen.contains("/w:1"), "{screen}");
    let rows = panel(&screen, "match w:1");
    let named = |rows: &[String], name: &str| rows.iter().filter(|row| row.contains(name)).count();
    assert!(named(&rows, " w1 ") > 2 && named(&rows, " w0 ") == 0, "{screen}");

    // What is kept goes on with Esc, and Esc then leaves the view.
    seat.keys("\n");
    assert!(!seat.screen().contains("/w:1") && seat.screen().contains("match w:1"));
    seat.key(KeyCode::Esc);
    let screen = seat.screen();
    assert!(screen.contains("Decisions, last") && screen.contains(" w0 "), "{screen}");
    seat.key(KeyCode::Esc);
    assert!(seat.screen().contains("[1 Over]"), "{}", seat.screen());

    seat.keys("4");
    let row = seat.picture.decisions.last().unwrap().clone();
    let worker = seat.picture.workers.iter().find(|it| it.rank.worker == row.worker).unwrap();
    for wanted in [worker.pod.clone().unwrap().as_str(), &row.router] {
        seat.keys(&format!("/{wanted}\n"));
        assert!(seat.screen().contains(&format!(" match {wanted}")), "{}", seat.screen());
        assert!(!seat.screen().contains("Decisions, 0 of"), "{wanted}: {}", seat.screen());
        seat.key(KeyCode::Esc);
    }
    seat.keys("/warn\n");
    let none = seat.picture.decisions.iter().filter(|row| row.cached_blocks == Some(0.0)).count();
    assert!(
        none > 0 && seat.screen().contains(&format!("Decisions, {none} of")),
        "{}",
        seat.screen()
    );
    seat.keys("/ nosuch\n");
    assert!(seat.screen().contains("no decision matches; Esc clears the filter"));
    seat.keys("\n");
    assert!(seat.screen().contains("no decision to open"), "{}", seat.screen());
}

#[test]
fn what_a_filter_hides_is_neither_selected_nor_opened() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
    seat.keys("4jjj/!w:0\n");
    let pointed = |seat: &mut Seat| {
        let screen = seat.screen();
        screen
            .lines()
            .find(|line| line.contains('▌'))
            .unwrap_or_else(|| panic!("{screen}"))
            .to_owned()
    };
    assert!(!pointed(&mut seat).contains(" w0 "), "{}", seat.screen());
    for _ in 0..6 {
        seat.keys("j");
        let row = pointed(&mut seat);
        assert!(!row.contains(" w0 "), "{row}");
        let time = row.split(' ').find(|word| word.contains(':')).unwrap().to_owned();
        assert!(seat.screen().contains(&format!("─ {time}")), "{time}\n{}", seat.screen());
    }
    let before = pointed(&mut seat);
    seat.keys("\n");
    let time = before.split(' ').find(|word| word.contains(':')).unwrap();
    assert!(seat.screen().contains(&format!("─ {time}")), "{}", seat.screen());
}

fn press(shell: &mut Shell, picture: &Snapshot, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            key => KeyCode::Char(key),
        };
        let event = KeyEvent::new(code, KeyModifiers::NONE);
        if let Some(command) = shell.command(event, picture) {
            shell.update(command, picture);
        }
    }
}

#[test]
fn findings_are_filtered_by_id_grade_severity_worker_source_and_words() {
    let mut picture = findings::two_criticals();
    // Evidence names one worker in the one, and none in the other.
    picture.findings[1].evidence.retain(|row| row.claim.ends_with("w1"));
    picture.findings[2].evidence.clear();
    let listed = picture.findings.len() + picture.checks.len() - 3;
    for (typed, count, selected) in [
        ("kvt003", 1, "KVT003"),
        ("confirmed bad", 1, "KVT001"),
        // What was selected matches, and stays.
        ("likely", 2, "KVT010"),
        ("w:1", 3, "KVT010"),
        ("w:0", 0, ""),
        ("src:metrics", 1, "KVT010"),
        ("warn !bad", 1, "KVT010"),
        ("unknown", 3, "KVT005"),
        ("SERVES", 1, "KVT003"),
    ] {
        for size in [(120, 36), (80, 24)] {
            let mut shell = super::shell();
            press(&mut shell, &picture, &format!("6jj/{typed}\n"));
            let screen = draw(&mut shell, &picture, size);
            assert!(screen.contains(&format!("Findings, {count} of {listed} match")), "{screen}");
            if count == 0 {
                continue;
            }
            let pointed = screen.lines().find(|line| line.contains('▌')).unwrap();
            assert!(pointed.contains(selected), "{typed}: {pointed}\n{screen}");
            let opened = screen.lines().any(|line| line.contains(&format!("─ {selected} ")));
            assert!(opened, "{typed}: {screen}");
        }
    }
}

#[test]
fn a_filter_of_findings_is_cleared_by_escape_and_by_the_way_to_the_worst() {
    let picture = findings::two_criticals();
    let mut shell = super::shell();
    press(&mut shell, &picture, "6/nosuch\n");
    let screen = draw(&mut shell, &picture, (80, 24));
    assert!(screen.contains("nothing matches; Esc clears the filter"), "{screen}");
    press(&mut shell, &picture, "\u{1b}");
    let screen = draw(&mut shell, &picture, (80, 24));
    assert!(screen.contains("Findings 3 (2 critical)"), "{screen}");
    press(&mut shell, &picture, "/nosuch\nf");
    let screen = draw(&mut shell, &picture, (80, 24));
    assert!(screen.contains("Findings 3 (2 critical)") && screen.contains("▌✗ KVT001"), "{screen}");
}

#[test]
fn the_filter_key_leads_to_the_list() {
    let last = |seat: &mut Seat| seat.screen().lines().last().unwrap().trim().to_owned();
    for (keys, size) in [
        ("/", (120, 36)),
        ("2\n/", (120, 36)),
        ("2\n/", (80, 24)),
        ("2\tz/", (120, 36)),
        ("4\n/", (120, 36)),
        ("4\n/", (60, 12)),
        ("5\n/", (80, 24)),
        ("6\n/", (60, 12)),
    ] {
        let mut seat = Seat::of_scenario(Scenario::Healthy, size);
        seat.keys(keys);
        seat.keys("w:1");
        assert!(last(&mut seat).starts_with("/w:1"), "{keys:?} at {size:?}: {}", last(&mut seat));
        let titled = size.0 < 80 || seat.screen().contains("match w:1");
        assert!(titled, "{keys:?} at {size:?}\n{}", seat.screen());
    }
}
