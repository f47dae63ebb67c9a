//! The view of what would help, over recordings whose workers evict, and where there is nothing to show yet.

use kvtop::simulator::Scenario;
use kvtop::snapshot::Snapshot;
use kvtop::tui::command::{Command, View};
use kvtop::tui::theme::{Glyphs, Level};

use super::views::Seat;
use super::{draw_with, shell, text, theme};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 36), (200, 60)];

#[test]
fn curve_drain_prefixes_and_copies_of_a_recording_with_evictions() {
    let mut seat = Seat::of_recording("1.6.1-evict", SIZES[0]);
    for size in SIZES {
        seat.sit_down(size);
        seat.keys("7");
        insta::assert_snapshot!(format!("foresight_evict_{}x{}", size.0, size.1), seat.screen());
    }
}

#[test]
fn the_demo_names_its_prefixes() {
    let mut seat = Seat::of_scenario(Scenario::Churn, SIZES[1]);
    seat.keys("7");
    insta::assert_snapshot!("foresight_churn_120x36", seat.screen());
}

#[test]
fn what_is_missing_is_said_in_place_of_empty_panels() {
    let mut seat = Seat::of_recording("0.9.0-mm_pub32_eng16", SIZES[1]);
    seat.keys("7");
    let screen = seat.screen();
    for said in [
        "not enough data yet: 0 of 200",
        "store events arrive empty: what workers hold is unknown",
        "no stores with blocks in the last 5",
    ] {
        assert!(screen.contains(said), "{said}\n{screen}");
    }

    let mut shell = shell();
    shell.update(Command::Show(View::Foresight), &Snapshot::default());
    let screen = super::draw(&mut shell, &Snapshot::default(), SIZES[1]);
    assert!(screen.contains("counting blocks"), "{screen}");
}

#[test]
fn it_needs_neither_colour_nor_unicode() {
    let mut seat = Seat::of_recording("1.6.1-evict", SIZES[0]);
    for size in SIZES {
        seat.sit_down(size);
        seat.keys("7");
        let theme = theme(Level::Mono, Glyphs::ASCII);
        let screen = text(&draw_with(&mut seat.shell, &seat.picture, size, &theme));
        let odd: String = screen.chars().filter(|letter| !letter.is_ascii()).collect();
        assert!(odd.is_empty(), "{odd}\n{screen}");
        assert!(screen.contains("ONLY HERE") && screen.contains("2x"), "{screen}");
    }
}

#[test]
fn the_selected_worker_has_its_own_curve_and_leads_to_its_row() {
    let mut seat = Seat::of_recording("1.6.1-evict", SIZES[1]);
    seat.keys("7");
    let order: Vec<String> = {
        let answers = seat.picture.foresight.as_ref().unwrap();
        answers.drain.iter().map(|row| row.alias.clone()).collect()
    };
    let heading = |screen: &str| {
        let row = screen.lines().find(|row| row.contains("ALL WORKERS")).unwrap().to_owned();
        row.split("│").nth(1).unwrap().split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(heading(&seat.screen()), order[0]);
    seat.keys("j");
    assert_eq!(heading(&seat.screen()), order[1]);
    let held = seat.screen();
    assert!(
        held.contains(&format!("rain of {}", order[1]))
            || held.contains(&format!("raining {}", order[1])),
        "{held}"
    );
    seat.keys("\n");
    let screen = seat.screen();
    assert!(screen.contains("[2 Workers]"), "{screen}");
}

#[test]
fn where_there_is_room_the_command_of_the_planner_stands_below() {
    let mut seat = Seat::of_scenario(Scenario::Churn, (200, 60));
    seat.keys("7");
    assert!(seat.screen().contains("kvtop plan --demo churn"), "{}", seat.screen());
}
