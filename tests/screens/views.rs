//! Every view over recorded scenarios, from frame to screen, with what the view asks of the engine.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use kvtop::domain::{SourceName, SourceState, Timestamp};
use kvtop::engine::Engine;
use kvtop::frame::{Body, Frame, KubeChange, Origin};
use kvtop::simulator::Scenario;
use kvtop::snapshot::{DemoState, Feed, Snapshot};
use kvtop::tui::judge::Named;
use kvtop::tui::shell::Shell;

use super::{draw, pictures, shell};
use crate::scenarios::engine;
use crate::support::{captures, fixture, frames, played};

const SIZES: [(u16, u16); 3] = [(120, 36), (80, 24), (60, 12)];

/// Somebody in front of a screen that follows an engine.
pub(super) struct Seat {
    pub(super) engine: Engine,
    pub(super) at: Timestamp,
    pub(super) feed: Feed,
    pub(super) shell: Shell,
    pub(super) picture: Snapshot,
    pub(super) size: (u16, u16),
}

impl Seat {
    pub(super) fn at(engine: Engine, at: Timestamp, feed: Feed, size: (u16, u16)) -> Self {
        let mut seat =
            Self { engine, at, feed, shell: shell(), picture: Snapshot::default(), size };
        seat.look();
        seat
    }

    pub(super) fn of_scenario(scenario: Scenario, size: (u16, u16)) -> Self {
        let (simulation, engine, at) = engine(scenario, 30);
        let feed = Feed::Demo(DemoState {
            scenario: scenario.name().to_owned(),
            about: simulation.about().to_owned(),
            fixed: false,
            fix: simulation.fix_text().unwrap_or_default(),
            mends: scenario.mends(),
            steps_taken: 0,
            next_step: scenario.step(0).map(|step| step.does),
            users: simulation.steering().users,
            mode: simulation.steering().mode.name(),
            workers: simulation.steering().workers,
            change: None,
        });
        Self::at(engine, at, feed, size)
    }

    pub(super) fn of_recording(wanted: &str, size: (u16, u16)) -> Self {
        let (_, path) = captures().into_iter().find(|(name, _)| name == wanted).unwrap();
        let frames = frames(&path);
        let (engine, _) = played(&frames);
        Self::at(engine, frames[frames.len() - 1].at, Feed::Live, size)
    }

    /// Begins anew, at a screen of another size.
    pub(super) fn sit_down(&mut self, size: (u16, u16)) {
        (self.shell, self.picture, self.size) = (shell(), Snapshot::default(), size);
        self.look();
    }

    /// Takes a picture that answers what is asked now.
    pub(super) fn look(&mut self) {
        self.shell.resize(self.size.0, self.size.1, &self.picture);
        // The first picture tells what there is to ask for, the second has the answer.
        for _ in 0..2 {
            let query = self.shell.query(&self.picture);
            self.picture = self.engine.snapshot(&query, self.at);
            self.picture.feed = self.feed.clone();
            self.shell.note_picture(&self.picture);
        }
    }

    pub(super) fn key(&mut self, code: KeyCode) {
        let event = KeyEvent::new(code, KeyModifiers::NONE);
        if let Some(command) = self.shell.command(event, &self.picture) {
            self.shell.update(command, &self.picture);
        }
        self.look();
    }

    pub(super) fn keys(&mut self, keys: &str) {
        for key in keys.chars() {
            self.key(match key {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                '\t' => KeyCode::Tab,
                key => KeyCode::Char(key),
            });
        }
    }

    pub(super) fn screen(&mut self) -> String {
        draw(&mut self.shell, &self.picture, self.size)
    }
}

/// Compares what `keys` lead to at three sizes.
fn shown(name: &str, scenario: Scenario, keys: &str) {
    for size in SIZES {
        let mut seat = Seat::of_scenario(scenario, size);
        seat.keys(keys);
        let name = format!("{name}_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, seat.screen());
    }
}

#[test]
fn workers_in_a_table_and_one_by_itself() {
    shown("workers_healthy", Scenario::Healthy, "2");
    shown("workers_mismatch", Scenario::Mismatch, "2");
    shown("worker_healthy", Scenario::Healthy, "2j\n");
    shown("worker_mismatch", Scenario::Mismatch, "2\n");
}

#[test]
fn an_opened_worker_has_the_rows_of_a_small_screen_and_says_that_more_follow() {
    let mut seat = Seat::of_scenario(Scenario::Mismatch, (80, 24));
    seat.keys("2\n");
    for row in Arc::make_mut(&mut seat.picture.workers) {
        row.pod = Some("decode-worker".repeat(8));
    }

    let screen = seat.screen();
    let rows = screen.lines().filter(|line| line.starts_with('│')).count();
    assert!(rows >= 8, "{screen}");
    assert!(screen.contains(" more ▼"), "{screen}");
}

#[test]
fn a_silent_worker_is_not_called_healthy_while_no_source_lists_workers() {
    let mut picture = pictures::healthy();
    let row = |picture: &Snapshot| Named::new(picture).worker(&picture.workers[0]).word;
    let silent = picture.at.before(Duration::from_secs(13));
    Arc::make_mut(&mut picture.workers)[0].last_event = Some(silent);
    picture.sources[1].name = SourceName::Kubernetes;
    assert_eq!(row(&picture), "ok");

    picture.sources[1].state = SourceState::Down;
    assert_eq!(row(&picture), "not listed");
    // One that publishes is there.
    assert_eq!(Named::new(&picture).worker(&picture.workers[1]).word, "ok");
}

/// Of a cache that is too small, so that figures are known and some of them bad.
#[test]
fn the_memory_of_a_worker_is_beside_it_or_below_in_its_sheet() {
    for (size, keys) in [((120, 36), "2\n"), ((120, 36), "2\n\tz"), ((80, 24), "2\n")] {
        let mut seat = Seat::of_scenario(Scenario::Churn, size);
        seat.keys(keys);
        // Nothing else stands between the sheet's facts and its memory.
        while size.1 == 24 && !seat.screen().contains("max batch / capacity") {
            let before = seat.screen();
            seat.keys("j");
            assert_ne!(seat.screen(), before, "the sheet ends without its memory");
        }
        let zoomed = if keys.ends_with('z') { "_zoomed" } else { "" };
        insta::assert_snapshot!(format!("memory{zoomed}_{}x{}", size.0, size.1), seat.screen());
    }
}

#[test]
fn decisions_in_a_list_and_one_by_itself() {
    shown("routing_healthy", Scenario::Healthy, "4");
    shown("routing_mismatch", Scenario::Mismatch, "4");
    shown("decision_healthy", Scenario::Healthy, "4j\n");
    for (name, recording) in [("0.9", "0.9.0-evict"), ("1.6", "1.6.1-dp")] {
        let mut seat = Seat::of_recording(recording, (120, 36));
        seat.keys("4jj\n");
        insta::assert_snapshot!(format!("decision_{name}_120x36"), seat.screen());
    }
}

#[test]
fn a_selected_decision_stays_when_newer_ones_push_it_out_of_the_list() {
    let (mut simulation, engine, at) = engine(Scenario::Healthy, 10);
    let mut seat = Seat::at(engine, at, Feed::Live, (120, 36));
    seat.keys("4jj");
    let chosen = |seat: &mut Seat| {
        let screen = seat.screen();
        let line = screen.lines().find(|line| line.contains(" to w")).unwrap();
        line.split("──").next().unwrap().to_owned()
    };
    let before = chosen(&mut seat);
    // More decisions come than the list holds.
    seat.at = at.after(std::time::Duration::from_secs(40));
    seat.engine.ingest(&simulation.advance(seat.at));
    seat.look();
    assert!(seat.screen().contains("the selected one is older"), "{}", seat.screen());
    assert_eq!(chosen(&mut seat), before);
    seat.keys("g");
    assert!(seat.screen().contains("newest ▶"), "{}", seat.screen());
    assert_ne!(chosen(&mut seat), before);
}

#[test]
fn events_in_a_stream_and_one_with_its_frame() {
    shown("events_healthy", Scenario::Healthy, "5");
    shown("events_no_history", Scenario::NoHistory, "5");
    shown("events_orphans", Scenario::Mismatch, "5/orphan w:0\nkk");
    shown("events_wrapped", Scenario::NoHistory, "5wTkk");
    shown("event_healthy", Scenario::Healthy, "5kk\n");
    for (name, recording) in [("0.9", "0.9.0-evict"), ("1.6", "1.6.1-dp")] {
        let mut seat = Seat::of_recording(recording, (120, 36));
        seat.keys("5/ev:store\nkk\n");
        insta::assert_snapshot!(format!("event_{name}_120x36"), seat.screen());
    }
}

#[test]
fn a_filter_holds_while_it_is_typed_and_escape_takes_it_back() {
    let mut seat = Seat::of_scenario(Scenario::NoHistory, (120, 36));
    seat.keys("5/ev:remove");
    let screen = seat.screen();
    assert!(screen.contains("match ev:remove") && screen.contains("/ev:remove"), "{screen}");
    assert!(!screen.contains(" STORE ") && screen.contains(" REMOVE "), "{screen}");
    seat.keys("\u{1b}");
    assert!(seat.screen().contains(" STORE "), "{}", seat.screen());
    seat.keys("/!ev:remove\n");
    let screen = seat.screen();
    assert!(screen.contains("match !ev:remove") && !screen.contains(" REMOVE "), "{screen}");
    // The first Esc clears what was kept, the second leaves the view.
    seat.keys("\u{1b}");
    assert!(seat.screen().contains(" REMOVE "), "{}", seat.screen());
    seat.keys("\u{1b}");
    assert!(seat.screen().contains("[1 Overview]"), "{}", seat.screen());
}

#[test]
fn an_event_that_is_held_stays_while_more_come_and_following_goes_on() {
    let (mut simulation, engine, at) = engine(Scenario::Healthy, 10);
    let mut seat = Seat::at(engine, at, Feed::Live, (120, 36));
    assert!({
        seat.keys("5");
        seat.screen().contains("follow ●")
    });
    seat.keys("F");
    let selected = |seat: &mut Seat| {
        let screen = seat.screen();
        let line = screen.lines().find(|line| line.contains('▌')).unwrap();
        line.split("similar").next().unwrap()[..60].to_owned()
    };
    let before = selected(&mut seat);
    seat.at = at.after(std::time::Duration::from_secs(20));
    seat.engine.ingest(&simulation.advance(seat.at));
    seat.look();
    assert_eq!(selected(&mut seat), before);
    assert!(seat.screen().contains("newer below, F follows"), "{}", seat.screen());
    seat.keys("F");
    assert!(seat.screen().contains("follow ●"), "{}", seat.screen());
    assert_ne!(selected(&mut seat), before);
}

#[test]
fn what_is_copied_is_what_is_selected() {
    use kvtop::tui::command::Action;
    let copied = |keys: &str| {
        let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
        seat.keys(keys);
        let event = KeyEvent::new(KeyCode::Char('y'), KeyModifiers::NONE);
        let command = seat.shell.command(event, &seat.picture).unwrap();
        match seat.shell.update(command, &seat.picture) {
            Some(Action::Copy { text, .. }) => text,
            other => panic!("{keys}: {other:?}"),
        }
    };
    assert!(copied("2").contains("worker_id=7702713015953616 dp_rank=0 ok"), "{}", copied("2"));
    assert!(copied("4j").contains(" logit=") && copied("4j").contains("; w1 "), "{}", copied("4j"));
    let line = copied("5/ev:store\n");
    assert!(line.contains(" STORE ") && !line.contains('\n'), "{line}");
    let frame = copied("5/ev:store\nk\n");
    assert!(frame.contains("STORED w") && frame.contains("\"worker_id\""), "{frame}");
}

#[test]
fn the_frame_of_an_event_is_told_although_the_picture_is_held() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
    seat.keys("5 kk\n");
    let screen = seat.screen();
    assert!(screen.contains("frozen") && screen.contains("DECODED"), "{screen}");
    // The engine draws graphs of a worker that end when the picture was taken; of the tree, the picture has the hottest prefixes.
    seat.at = seat.at.after(std::time::Duration::from_secs(20));
    seat.keys("2\n");
    let screen = seat.screen();
    assert!(screen.contains("w0 KV blocks/s") && screen.contains(" -20s │"), "{screen}");
    seat.keys("3");
    assert!(seat.screen().contains("SUBTREE"), "the hottest prefixes are kept\n{}", seat.screen());
}

#[test]
fn a_worker_that_left_and_goes_on_is_drawn_as_the_finding_says_and_with_its_figures() {
    let mut all = frames(&fixture("live/healthy_102.frames.gz"));
    let first = all[0].at;
    let is_record = |frame: &&Frame| {
        matches!(&frame.origin, Origin::Kube { kind, .. } if **kind == *"DynamoWorkerMetadata")
            && matches!(&frame.body, Body::Whole(body) if body.windows(11).any(|it| it == b"kv-worker-2"))
    };
    let record = all.iter().find(is_record).unwrap().clone();
    let origin = Origin::Kube { kind: "DynamoWorkerMetadata".into(), change: KubeChange::Deleted };
    all.push(Frame { at: first.after(Duration::from_secs(2)), origin, ..record });
    all.sort_by_key(|frame| frame.at);
    let row = |seconds: u64| {
        let end = first.after(Duration::from_secs(seconds));
        let seen: Vec<Frame> = all.iter().filter(|frame| frame.at <= end).cloned().collect();
        let mut seat = Seat::at(played(&seen).0, end, Feed::Live, (120, 36));
        seat.keys("2");
        let screen = seat.screen();
        let row = screen.lines().find(|line| line.contains("kv-worker-2"));
        row.unwrap_or_else(|| panic!("{screen}")).to_owned()
    };

    let leaves = row(20);
    assert!(leaves.contains(" ∅ w") && leaves.contains(" gone "), "{leaves}");
    let goes_on = row(38);
    assert!(goes_on.contains(" ▲ w") && !goes_on.contains(" gone "), "{goes_on}");
    let quiet = row(120);
    assert!(quiet.contains(" ∅ w"), "{quiet}");
}

#[test]
fn workers_are_filtered_by_name_place_and_state() {
    let mut picture = pictures::large();
    Arc::make_mut(&mut picture.workers)[3].node = Some(String::from("node-b"));
    let mut shell = shell();
    shell.resize(120, 36, &picture);
    let type_in = |shell: &mut Shell, keys: &str| {
        for key in keys.chars() {
            let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
            let command = shell.command(KeyEvent::new(code, KeyModifiers::NONE), &picture).unwrap();
            shell.update(command, &picture);
        }
        draw(shell, &picture, (120, 36))
    };
    let screen = type_in(&mut shell, "2/node-b\n");
    assert!(screen.contains("Workers, 1 of 40 match node-b"), "{screen}");
    let screen = type_in(&mut shell, "/ bad");
    assert!(screen.contains("0 of 40 match node-b bad"), "{screen}");
    shell.update(kvtop::tui::command::Command::Back, &picture);
    shell.update(kvtop::tui::command::Command::Back, &picture);
    let mut finding = crate::support::findings::mismatch().findings.remove(0);
    finding.subjects = vec![picture.workers[17].rank.worker];
    let picture = Snapshot { findings: vec![finding], ..picture };
    for key in "/bad".chars() {
        let event = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
        shell.update(shell.command(event, &picture).unwrap(), &picture);
    }
    let screen = draw(&mut shell, &picture, (120, 36));
    // It has two ranks.
    assert!(screen.contains("Workers, 2 of 40 match bad") && screen.contains("31.0"), "{screen}");
}

#[test]
fn views_are_reached_by_digit_by_name_and_from_the_panel_that_tells_of_them() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
    let shown = |seat: &mut Seat| {
        let screen = seat.screen();
        let row = screen.lines().find(|line| line.contains("Overview")).unwrap();
        row.split(['[', ']']).nth(1).unwrap().to_owned()
    };
    for view in kvtop::tui::views::built() {
        seat.keys(&view.name.number().to_string());
        let wanted = format!("{} {}", view.name.number(), view.name.name());
        assert!(shown(&mut seat).starts_with(&wanted), "{}", seat.screen());
        seat.keys(&format!("1:view {}\n", view.name.word()));
        assert!(shown(&mut seat).starts_with(&wanted), "{}", seat.screen());
    }
    seat.keys("1\n");
    assert_eq!(shown(&mut seat), "2 Workers");
    seat.key(KeyCode::Backspace);
    assert_eq!(shown(&mut seat), "1 Overview");
    seat.keys("5");
    seat.key(KeyCode::Backspace);
    seat.key(KeyCode::Backspace);
    assert_eq!(shown(&mut seat), "5 Events");
}

#[test]
fn the_help_is_narrowed_by_typing_and_enter_runs_what_is_selected() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
    // A letter that is a key elsewhere is text here; the view's own keys come first.
    seat.keys("2?qj");
    assert!(seat.screen().contains("no match"), "{}", seat.screen());
    seat.key(KeyCode::Backspace);
    seat.key(KeyCode::Backspace);
    seat.keys("order");
    insta::assert_snapshot!("help_narrowed_120x36", seat.screen());
    seat.keys("\n");
    assert!(seat.screen().contains("Sort by"), "{}", seat.screen());
    // Commands are found as well as keys, whatever the order of words.
    seat.keys("\u{1b}?events view\n");
    assert!(seat.screen().contains("[5 Events]"), "{}", seat.screen());
    // The pointer moves with arrows; what only explains runs nothing and stays open.
    seat.keys("?freeze");
    seat.key(KeyCode::Enter);
    assert!(seat.screen().contains("frozen"), "{}", seat.screen());
    seat.keys("?not reported\n");
    assert!(seat.screen().contains("(not 0)"), "{}", seat.screen());
    // The first Esc takes back what was typed, the second closes.
    seat.keys("\u{1b}");
    assert!(seat.screen().contains("type to search"), "{}", seat.screen());
    seat.key(KeyCode::End);
    seat.key(KeyCode::Up);
    seat.key(KeyCode::Down);
    seat.keys("\n");
    assert!(!seat.screen().contains("type to search"), "{}", seat.screen());
}

#[test]
fn a_held_picture_says_so_in_every_view_and_shows_what_it_has() {
    for size in SIZES {
        let mut seat = Seat::of_scenario(Scenario::Healthy, size);
        seat.keys("4 ");
        seat.at = seat.at.after(std::time::Duration::from_secs(12));
        seat.picture.at = seat.at;
        seat.picture.frames += 1_104;
        for key in ["1", "2", "4", "5", "6", "7"] {
            let event =
                KeyEvent::new(KeyCode::Char(key.chars().next().unwrap()), KeyModifiers::NONE);
            let command = seat.shell.command(event, &seat.picture).unwrap();
            seat.shell.update(command, &seat.picture);
            let screen = seat.screen();
            // How much is new gives way to the names of views, which fit in short at 80 columns.
            let said = if size.0 == 80 { "‖ frozen 12s" } else { "‖ frozen 12s, 1.1k new" };
            assert!(screen.contains(said), "{key} {size:?}\n{screen}");
        }
    }
}

#[test]
fn ranks_of_a_worker_stand_together() {
    let mut seat = Seat::of_recording("0.9.0-dp", (120, 36));
    seat.keys("2j\n");
    for _ in 0..12 {
        seat.keys("j");
    }
    let screen = seat.screen();
    insta::assert_snapshot!("worker_ranks_120x36", screen);
}

#[test]
fn what_is_picked_sorts_the_table_and_chooses_its_columns() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
    seat.keys("2s");
    insta::assert_snapshot!("workers_sort_120x36", seat.screen());
    // Down to the name, which sorts from the first letter on.
    seat.keys("j\n");
    assert!(seat.screen().contains("sort: WORKER▼"), "{}", seat.screen());
    seat.keys("S");
    let screen = seat.screen();
    let row = |alias: &str| screen.lines().position(|line| line.contains(alias)).unwrap();
    assert!(screen.contains("sort: WORKER▲") && row(" w1 ") < row(" w0 "), "{screen}");
    seat.keys("c");
    insta::assert_snapshot!("workers_columns_120x36", seat.screen());
    // The state goes in, the id goes out.
    seat.keys("j j \u{1b}");
    let screen = seat.screen();
    assert!(screen.contains("STATE") && !screen.contains("  ID "), "{screen}");
}

#[test]
fn a_selected_worker_stays_selected_where_workers_are_paged() {
    let mut picture = pictures::large();
    let mut shell = shell();
    shell.resize(120, 36, &picture);
    let press = |shell: &mut Shell, picture: &Snapshot, key| {
        let event = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
        let command = shell.command(event, picture).unwrap();
        shell.update(command, picture);
    };
    press(&mut shell, &picture, '2');
    for _ in 0..15 {
        press(&mut shell, &picture, 'j');
    }
    let screen = draw(&mut shell, &picture, (120, 36));
    assert!(screen.contains(" of 40") && screen.contains("total"), "{screen}");
    let selected = |screen: &str| {
        let line = screen.lines().find(|line| line.contains('▌')).unwrap();
        line.split('…').next().unwrap().to_owned()
    };
    let before = selected(&screen);
    Arc::make_mut(&mut picture.workers)[39].orphan_share = Some(0.9);
    assert_eq!(selected(&draw(&mut shell, &picture, (120, 36))), before);
}

#[test]
fn models_are_shown_where_there_are_several() {
    let mut picture = pictures::healthy();
    let head = |picture: &Snapshot| {
        let screen = draw(&mut shell(), picture, (120, 36));
        let at = screen.lines().position(|line| line.contains("CACHED ")).unwrap();
        screen.lines().skip(at).take(3).map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    for row in Arc::make_mut(&mut picture.workers) {
        row.belongs.model = Some("Qwen/Qwen3-0.6B".into());
    }
    assert!(!head(&picture).contains("MODEL"));

    // Names come from outside.
    Arc::make_mut(&mut picture.workers)[1].belongs.model = Some("org/other\u{1b}[2J".into());

    let shown = head(&picture);
    let said = ["MODEL", " Qwen3-0.6B", " other"].map(|word| shown.contains(word));
    assert!(said == [true; 3] && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn nodes_are_shown_where_there_is_room_for_them() {
    let picture = pictures::healthy();
    let row = |size| {
        let screen = draw(&mut shell(), &picture, size);
        let names = screen.lines().position(|line| line.contains("STORE/s")).unwrap();
        let lines: Vec<_> = screen.lines().skip(names).take(2).map(str::to_owned).collect();
        lines.join("\n")
    };

    let wide = row((200, 60));
    assert!(wide.contains("NODE") && wide.contains("node-a"), "{wide}");
    assert!(!row((120, 36)).contains("NODE"));
}

#[test]
fn numbers_end_where_their_columns_end_however_large_they_are() {
    let mut picture = pictures::healthy();
    for (row, count) in Arc::make_mut(&mut picture.workers).iter_mut().zip([u64::MAX, 999_999]) {
        (row.accepted, row.held, row.tiers) = (count, count - 1, [count; 4]);
        (row.missing, row.last_event_id) = (count, Some(count));
        row.change = Some(-(count as f64));
        row.rates.ten_seconds.stored_blocks = count as f64;
        row.rates.ten_seconds.removals = 9_999.4;
        row.rates.ten_seconds.unknown_removals = 99_999.4;
        row.routed_per_second = 123_456.0;
        row.mean_overlap = Some(99_999.4);
        row.kv_utilization.as_mut().unwrap().value = 1.0;
        row.kv_lately = Some(1.0);
        let load = row.load.as_mut().unwrap();
        load.value.decode_blocks = count;
    }
    picture.totals.held = 1;
    let mut shell = shell();
    shell.resize(400, 36, &picture);
    let mut press = |key| {
        let event = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
        let command = shell.command(event, &picture).unwrap();
        shell.update(command, &picture);
    };
    // Every column is shown but those of pods, of which there are none.
    for key in "2c".chars() {
        press(key);
    }
    for key in "j jjjjjjjjjjjjjjjjjj j j j j j j j j j j j j".chars() {
        press(key);
    }
    shell.update(kvtop::tui::command::Command::Back, &picture);
    let screen = draw(&mut shell, &picture, (400, 36));
    let lines: Vec<Vec<char>> = screen.lines().map(|line| line.chars().collect()).collect();
    let names = lines.iter().position(|line| line.iter().collect::<String>().contains("EVICT/s"));
    let names = names.unwrap();
    for title in [
        "CACHED", "HELD", "Δ/s", "STORE/s", "EVICT/s", "ROUTED/s", "OVLP", "UNKN/s", "DECODE",
        "HOST", "DISK", "EVID", "GAPS",
    ] {
        let title: Vec<char> = title.chars().collect();
        let start = lines[names].windows(title.len()).position(|part| part == title);
        let end = start.unwrap_or_else(|| panic!("{title:?} in\n{screen}")) + title.len();
        for line in &lines[names + 1..names + 3] {
            assert!(line[end - 1] != ' ' && line[end] == ' ', "{title:?}\n{screen}");
        }
    }
}

#[test]
fn what_is_opened_offers_no_key_of_the_list_behind_it() {
    for (view, of_list) in
        [("2", &["s sort", "c columns", "/ filter"][..]), ("4", &["/ filter"]), ("5", &[])]
    {
        let mut seat = Seat::of_scenario(Scenario::Healthy, (160, 45));
        seat.keys(view);
        let footer = |seat: &mut Seat| seat.screen().lines().last().unwrap().to_owned();
        let list = footer(&mut seat);
        assert!(
            list.contains("Enter open") && of_list.iter().all(|it| list.contains(it)),
            "{list}"
        );
        seat.keys("\n");
        let opened = footer(&mut seat);
        assert!(opened.contains("Enter back"), "{opened}");
        assert!(!of_list.iter().any(|it| opened.contains(it)), "{opened}");
        seat.keys("\n");
        assert_eq!(footer(&mut seat), list);
    }
}

/// Returns the row of the sources and of what is looked at.
fn status(text: &str) -> &str {
    text.lines().next().unwrap()
}

#[test]
fn the_version_is_shown_at_any_size_of_work_also_while_a_source_fails() {
    for mut picture in [pictures::healthy(), pictures::replay(), pictures::late_attach()] {
        picture.deployment.version = Some("1.6.1".to_owned());
        for size in [(80, 24), (120, 36), (200, 60)] {
            let text = draw(&mut shell(), &picture, size);
            assert!(status(&text).contains("dynamo 1.6.1"), "{text}");
        }
    }
}

#[test]
fn what_is_known_of_the_past_is_said_by_number() {
    let why = "held at most 78 % of the blocks that engines report in use; 2 of 2 ranks: blocks stored before \
               kvtop attached are unknown";
    let mut picture = pictures::late_attach();
    picture.tree.incomplete = vec![why.to_owned()];
    for size in [(120, 36), (200, 60)] {
        let text = draw(&mut shell(), &picture, size);
        assert!(text.contains("○ held at most 78 % of the blocks"), "{text}");
    }
    // Where there are rows left nothing of it is cut.
    let text = draw(&mut shell(), &picture, (200, 60));
    let whole = ["report in use; 2 of 2", "stored before kvtop", "attached are unknown"];
    assert!(whole.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn lines_that_could_not_be_read_are_shown_with_the_number_of_the_first() {
    let mut picture = pictures::replay();
    let Feed::Replay(playback) = &mut picture.feed else { panic!("a replay") };
    (playback.bad_lines, playback.first_bad_line) = (3, 17);
    assert!(draw(&mut shell(), &picture, (80, 24)).contains("3 bad lines, first 17"));
    let Feed::Replay(playback) = &mut picture.feed else { panic!("a replay") };
    playback.bad_lines = 1;
    assert!(draw(&mut shell(), &picture, (80, 24)).contains("▲ bad line 17"));
}

#[test]
fn no_number_of_an_event_is_cut() {
    let mut seat = Seat::of_scenario(Scenario::Mismatch, (120, 36));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for width in 60..=160 {
        for height in [12, 24, 36] {
            seat.sit_down((width, height));
            let known: Vec<String> =
                seat.picture.events.iter().flat_map(|row| words(&row.text)).collect();
            let screen = draw(&mut seat.shell, &seat.picture, (width, height));
            let mut said = screen.lines().filter_map(|line| line.split("ROUTE").nth(1));
            let is_number = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
            let cut = said.find(|said| {
                let said = words(said.split('│').next().unwrap_or_default());
                said.iter().filter(|word| is_number(word)).any(|word| !known.contains(word))
            });
            assert_eq!(cut, None, "{width}x{height}\n{screen}");
        }
    }
}

#[test]
fn the_same_claim_is_told_once() {
    let mut seat = Seat::of_scenario(Scenario::Mismatch, (120, 200));
    seat.keys("2\n");
    let screen = seat.screen();
    // A default of the release holds for a worker and for its pod.
    assert_eq!(screen.matches("event plane of").count(), 1, "{screen}");
    assert_eq!(screen.matches("local indexer").count(), 2, "of publisher and of card\n{screen}");
}

#[test]
fn a_letter_opens_what_enter_opens() {
    for view in ["2", "4", "5", "6"] {
        let mut by_enter = Seat::of_scenario(Scenario::Mismatch, (120, 36));
        let mut by_letter = Seat::of_scenario(Scenario::Mismatch, (120, 36));
        by_enter.keys(view);
        by_letter.keys(view);
        let list = by_letter.screen();
        by_enter.keys("\n");
        by_letter.keys("d");
        assert_eq!(by_letter.screen(), by_enter.screen());
        assert_ne!(by_letter.screen(), list);
    }
}

#[test]
fn a_worker_leads_to_what_was_heard_of_it() {
    for keys in ["2jL", "2j\nL"] {
        let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
        seat.keys(keys);
        let screen = seat.screen();
        assert!(screen.contains("w:1"), "{screen}");
        assert!(screen.contains(" w1 ") && !screen.contains(" w0  store"), "{screen}");
    }
}

#[test]
fn a_graph_of_one_worker_says_how_much_is_kept() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, (120, 36));
    seat.keys("2\n");
    assert!(!seat.screen().contains("kept"), "{}", seat.screen());
    seat.keys("++");
    assert!(seat.screen().contains("w0 KV blocks/s, 5m kept"), "{}", seat.screen());
    seat.keys("4");
    assert!(seat.screen().contains("Decisions/s by worker, 5m kept"), "{}", seat.screen());
}

#[test]
fn columns_are_called_alike_in_the_table_and_where_they_are_picked() {
    let mut seat = Seat::of_scenario(Scenario::Healthy, (160, 45));
    for key in ["s", "c"] {
        seat.keys("2");
        seat.keys(key);
        let screen = seat.screen();
        assert!(screen.contains("Δ/s ") && !screen.contains("d/s "), "{screen}");
        seat.keys("\u{1b}");
    }
}
