//! The view of what would help, over recordings whose workers evict, and where there is nothing to show yet.

use std::sync::Arc;
use std::time::Duration;

use kvtop::domain::Timestamp;
use kvtop::plan::{Given, Impossible, Length, Plan, Questions, Study, fit};
use kvtop::simulator::Scenario;
use kvtop::snapshot::Snapshot;
use kvtop::tui::command::{Action, Command, Copied, Scroll, View};
use kvtop::tui::planning::{Planning, Stage};
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

/// Returns a plan for a picture, from simulations of seconds.
fn planned(picture: &Snapshot) -> Plan {
    let fitted = fit(picture, &Given::default()).unwrap();
    let questions =
        Questions { workers: vec![1, -1], mode: true, drain: vec![0], ..Questions::none() };
    let length = Length { warm_up: Duration::from_secs(5), measured: Duration::from_secs(10) };
    let study = Study::new(fitted, &questions, 2, length, Duration::from_millis(600));
    let results: Vec<_> = study.jobs().iter().map(|job| job.run(&|| true).unwrap()).collect();
    Plan::new(&study, &results)
}

#[test]
fn the_planner_shows_how_far_it_is_then_ranges_with_what_they_rest_on() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, SIZES[1]);
    let at = seat.at;
    let plan = Arc::new(planned(&seat.picture));
    let mut first = Plan::clone(&plan);
    first.rows.truncate(2);
    let stages = [
        ("idle", Stage::Idle, None),
        ("fitting", Stage::Fitting, None),
        ("simulating", Stage::Simulating { done: 5, of: 12 }, Some(Arc::new(first))),
        ("done", Stage::Done, Some(plan)),
        ("impossible", Stage::Impossible(Impossible::NoLoad), None),
    ];
    for size in SIZES {
        for (name, stage, plan) in stages.clone() {
            seat.sit_down(size);
            seat.keys("7P");
            seat.shell.show_plan(Planning { at, stage, plan });
            let shown = name == "done" || size == SIZES[0];
            let screen = seat.screen();
            if shown {
                insta::assert_snapshot!(format!("planner_{name}_{}x{}", size.0, size.1), screen);
            }
        }
    }
}

#[test]
fn the_key_of_the_planner_opens_it_then_starts_and_stops() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, SIZES[0]);
    seat.keys("7");
    let picture = seat.picture.clone();
    let mut press = |stage: Option<Stage>| {
        if let Some(stage) = stage {
            seat.shell.show_plan(Planning { at: Timestamp(1), stage, plan: None });
        }
        seat.shell.update(Command::Plan, &picture)
    };

    let start = press(None);
    let stop = press(Some(Stage::Fitting));

    assert!(matches!(&start, Some(Action::TogglePlan { drain: Some(_) })), "{start:?}");
    assert_eq!(start, stop);
    seat.keys("\u{1b}");
    assert!(seat.screen().contains("ONLY HERE"), "{}", seat.screen());
    // What runs or has ended is shown first.
    let opened = seat.shell.update(Command::Plan, &seat.picture);
    assert!(!matches!(opened, Some(Action::TogglePlan { .. })), "{opened:?}");
    assert!(seat.screen().contains("Fitting service times"), "{}", seat.screen());
    // A plan that ends while another view is shown says so.
    seat.keys("1");
    seat.shell.show_plan(Planning { at: Timestamp(1), stage: Stage::Done, plan: None });
    assert!(seat.screen().contains("the plan is ready: view 7, P"), "{}", seat.screen());
}

#[test]
fn a_plan_scrolls_to_its_last_input_and_is_copied_whole() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, SIZES[0]);
    let plan = Arc::new(planned(&seat.picture));
    seat.keys("7P");
    seat.shell.show_plan(Planning { at: seat.at, stage: Stage::Done, plan: Some(plan) });
    assert!(seat.screen().contains("3 workers (+1)"), "{}", seat.screen());

    seat.shell.update(Command::Scroll(Scroll::Bottom), &seat.picture);

    let screen = seat.screen();
    assert!(screen.contains("assumed") && !screen.contains("3 workers (+1)"), "{screen}");
    let copied = seat.shell.update(Command::Copy(Copied::Selection), &seat.picture);
    let Some(Action::Copy { text, .. }) = copied else { panic!("{copied:?}") };
    for words in ["observed", "3 workers (+1)", "INPUTS, "] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}
