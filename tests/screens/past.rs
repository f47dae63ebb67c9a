//! Going back in time: the picture of then, graphs that end then, and what is true now beside it.

use std::time::Duration;

use kvtop::simulator::{Scenario, Simulation};
use kvtop::snapshot::Feed;
use kvtop::tui::command::{Action, Command, Past, ReplayCommand};

use super::draw;
use super::views::Seat;
use crate::scenarios::engine;
use crate::support::pictures::NOW;
use crate::support::{findings, pictures};

/// Looks at a scenario for this many seconds, once a second.
fn watch(seat: &mut Seat, simulation: &mut Simulation, seconds: u64) {
    for _ in 0..seconds {
        seat.at = seat.at.after(Duration::from_secs(1));
        let frames = simulation.advance(seat.at);
        seat.engine.ingest(&frames);
        seat.look();
    }
}

/// Returns somebody who saw a mismatch for 40 s, mended it, and watched 100 s more.
fn mended(size: (u16, u16)) -> Seat {
    let (mut simulation, engine, at) = engine(Scenario::Mismatch, 30);
    let mut seat = Seat::at(engine, at, Feed::Live, size);
    watch(&mut seat, &mut simulation, 40);
    assert!(simulation.fix());
    watch(&mut seat, &mut simulation, 100);
    seat
}

#[test]
fn the_past_at_every_size() {
    for size in [(200, 60), (120, 36), (80, 24), (60, 12), (40, 6), (20, 3)] {
        let mut seat = mended(size);
        let now = seat.screen();
        seat.keys("{{");
        insta::assert_snapshot!(format!("past_{}x{}", size.0, size.1), seat.screen());
        assert!(seat.screen().contains("-2m"), "{}", seat.screen());
        seat.keys("0");
        assert_eq!(seat.screen(), now);
    }
}

#[test]
fn the_past_in_every_view() {
    for (view, keys) in
        [("workers", "2"), ("worker", "2\n"), ("routing", "4"), ("events", "5"), ("findings", "6")]
    {
        let mut seat = mended((120, 36));
        seat.keys("{{");
        seat.keys(keys);
        insta::assert_snapshot!(format!("past_{view}_120x36"), seat.screen());
    }
}

/// Pictures keep the hottest prefixes, so that map and tree of the past are of that moment.
#[test]
fn map_and_tree_of_the_past_are_those_of_that_moment() {
    let mut seat = mended((200, 60));
    let now = seat.screen();
    assert!(now.contains("Hot prefixes by worker"), "{now}");
    seat.keys("[[");
    assert!(seat.screen().contains("Hot prefixes by worker"), "{}", seat.screen());
    seat.keys("0");
    // Drains, copies and leading prefixes are kept with each picture as well.
    seat.keys("7");
    let now = seat.screen();
    assert!(now.contains("ONLY HERE"), "{now}");
    seat.keys("[[");
    let then = seat.screen();
    assert!(then.contains("ONLY HERE") && then != now, "{then}");
    seat.keys("0");
    let mut seat = mended((120, 36));
    seat.keys("3");
    let now = seat.screen();
    assert!(now.contains("SUBTREE"), "{now}");
    seat.keys("[[");
    let then = seat.screen();
    assert!(then.contains("SUBTREE") && then != now, "{then}");
    for keys in ["\n", "*", "l"] {
        seat.keys(keys);
        let said = "of the past only the hottest prefixes are kept; 0 returns to now";
        assert!(seat.screen().contains(said), "{}", seat.screen());
    }
    seat.keys("0");
    assert_eq!(seat.screen(), now);
}

#[test]
fn graphs_of_the_past_cover_the_time_that_is_wanted() {
    let mut seat = mended((120, 36));
    // The graphs of routing end at the moment; the timeline has a cursor in it.
    seat.keys("4{[[");
    let screen = seat.screen();
    assert!(screen.contains(" -1m20s │") && !screen.contains(" -2m20s  "), "{screen}");
    seat.keys("-");
    let screen = seat.screen();
    assert!(screen.contains(" -2m20s  ") && screen.contains(" -1m20s │"), "{screen}");
    assert!(screen.contains("window 1m"), "{screen}");
}

#[test]
fn steps_lead_back_ahead_and_to_now() {
    let mut seat = mended((120, 36));
    let moment = |seat: &mut Seat| {
        let screen = seat.screen();
        let line = screen.lines().find(|line| line.contains(" PAST "));
        line.map(|line| line.split_whitespace().nth(2).unwrap().to_owned())
    };
    assert_eq!(moment(&mut seat), None);
    seat.keys("[");
    assert_eq!(moment(&mut seat).as_deref(), Some("-10s"));
    seat.keys("[{");
    assert_eq!(moment(&mut seat).as_deref(), Some("-1m20s"));
    seat.keys("]");
    assert_eq!(moment(&mut seat).as_deref(), Some("-1m10s"));
    seat.keys("}}");
    assert_eq!(moment(&mut seat), None);
    seat.keys(":back 90s\n");
    assert_eq!(moment(&mut seat).as_deref(), Some("-1m30s"));
    seat.keys(":now\n");
    assert_eq!(moment(&mut seat), None);
    // The oldest is the first that was seen.
    seat.keys("{{{");
    assert_eq!(moment(&mut seat).as_deref(), Some("-2m20s"));
    assert!(seat.screen().contains("start of history"), "{}", seat.screen());
    seat.keys("[");
    assert!(seat.screen().contains("start of history"), "{}", seat.screen());
    seat.keys(" ");
    assert_eq!(moment(&mut seat), None);
}

#[test]
fn a_frozen_picture_can_be_the_start_of_the_way_back() {
    let (mut simulation, engine, at) = engine(Scenario::Healthy, 30);
    let mut seat = Seat::at(engine, at, Feed::Live, (120, 36));
    watch(&mut seat, &mut simulation, 30);
    seat.keys(" ");
    watch(&mut seat, &mut simulation, 20);
    assert!(seat.screen().contains("‖ frozen 20s"), "{}", seat.screen());
    assert!(seat.screen().contains(" -20s │"), "{}", seat.screen());
    seat.keys("[");
    assert!(seat.screen().contains("PAST -30s"), "{}", seat.screen());
}

#[test]
fn what_is_wrong_now_is_said_while_a_past_without_it_is_shown() {
    let mut shell = super::shell();
    let before = pictures::healthy();
    shell.note_picture(&before);
    let mut after = findings::mismatch();
    after.at = before.at.after(Duration::from_secs(30));
    shell.note_picture(&after);
    shell.update(kvtop::tui::command::Command::Past(kvtop::tui::command::Past::By(-10)), &after);
    for size in [(120, 36), (80, 24), (60, 12), (40, 6)] {
        let screen = draw(&mut shell, &after, size);
        assert!(screen.contains("KVT001") && screen.contains("-30s"), "{screen}");
        assert!(!screen.contains("99.6"), "the table is of then\n{screen}");
    }
}

#[test]
fn the_commands_of_the_past_wind_a_recording() {
    let mut shell = super::shell();
    let picture = pictures::replay();
    shell.note_picture(&picture);
    for (by, wanted) in [
        (Past::Ago(90), ReplayCommand::SeekBy(-90)),
        (Past::By(10), ReplayCommand::SeekBy(10)),
        (Past::At(NOW), ReplayCommand::SeekTo(NOW)),
        (Past::Now, ReplayCommand::SeekEnd),
    ] {
        let action = shell.update(Command::Past(by), &picture);
        assert_eq!(action, Some(Action::Replay(wanted)), "{by:?}");
    }
}
