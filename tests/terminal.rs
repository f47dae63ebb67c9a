//! The life of the terminal, in a pseudo-terminal: whatever ends `kvtop demo`, a usable terminal is
//! left behind.

use std::fs::File;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};

use crate::support::pty::Pty;

/// What ends kvtop also where letters are text, as in the help.
const CTRL_C: &str = "\u{3}";

const SIZE: (u16, u16) = (120, 36);

fn demo() -> Pty {
    let pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["demo"], &[], SIZE);
    pty.wait_for("the overview", |screen| {
        screen.contains("kvtop") && screen.contains("Workers") && screen.contains("? help")
    });
    pty
}

fn signal(pty: &Pty, signal: Signal) {
    let pid = i32::try_from(pty.pid()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Starts the demo as a shell does, of which the session then is: when a session's leader dies, the kernel hangs its
/// terminal up, and whoever wants to give it back can no longer write to it.
fn demo_in_a_shell(vars: &[(&str, &str)]) -> Pty {
    let script = "\"$0\" demo; exit $?";
    Pty::spawn("sh", &["-c", script, env!("CARGO_BIN_EXE_kvtop")], vars, SIZE)
}

/// Fails when the terminal is not as it was before.
fn assert_restored(pty: &Pty) {
    pty.wait_until("the usual screen", |screen| !screen.alternate_screen());
    pty.wait_until("a cursor", |screen| !screen.hide_cursor());
    // The modes come back after what is drawn.
    let tty = File::open(pty.tty()).unwrap();
    let usual = LocalModes::ICANON | LocalModes::ECHO;
    pty.wait_until("the usual modes", |_| tcgetattr(&tty).unwrap().local_modes.contains(usual));
}

#[test]
fn q_leaves_a_usable_terminal() {
    let mut pty = demo();
    assert!(pty.screen(|screen| screen.alternate_screen() && screen.hide_cursor()));

    pty.send("q");

    assert_restored(&pty);
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn help_opens_and_closes() {
    let mut pty = demo();
    pty.send("?");
    pty.wait_for("the help", |screen| screen.contains("Esc closes"));
    pty.send("\u{1b}");
    pty.wait_for("no help", |screen| !screen.contains("Esc closes"));
    pty.send("\u{3}");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn space_freezes_and_says_so() {
    let mut pty = demo();
    pty.send(" ");
    pty.wait_for("a frozen picture", |screen| screen.contains("frozen"));
    pty.send(" ");
    pty.wait_for("a live picture", |screen| !screen.contains("frozen"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn the_past_is_shown_beside_a_timeline_that_goes_on() {
    let mut pty = demo();
    pty.wait_for("something to see", |screen| screen.contains("▶ live"));
    // Nothing is kept before workers are known and history is read.
    let is_past = || pty.screen(|screen| screen.contents().contains("‖ PAST -"));
    for _ in 0..100 {
        if is_past() {
            break;
        }
        pty.send(":back 0s\r");
        std::thread::sleep(Duration::from_millis(200));
    }
    pty.wait_for("a picture of the past", |screen| screen.contains("‖ PAST -"));
    // The timeline goes on to now, and the rest of the screen is of that moment.
    pty.wait_for("what was then", |screen| {
        screen.contains(" then ") && screen.contains("Blocks per second")
    });
    pty.send("3");
    pty.wait_for("the tree of then", |screen| {
        screen.contains("SUBTREE") && screen.contains("PAST")
    });
    pty.send("0");
    pty.wait_for("the tree of now", |screen| {
        screen.contains("SUBTREE") && !screen.contains("PAST")
    });
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

/// Opens the planner, and waits until there is enough to plan from.
fn plan(pty: &Pty) {
    // The moment of the last refusal.
    let refused = |screen: &str| {
        let moment = screen.split("Asked at ").nth(1)?;
        Some(moment.chars().take(8).collect::<String>())
    };
    pty.send("7");
    pty.wait_for("the view with its key", |screen| screen.contains("P plan"));
    let mut before = None;
    for _ in 0..200 {
        pty.send("P");
        // One more key before the reply would stop what this one starts. A loaded machine makes few pictures: a second
        // refusal of the same one looks like the first, so that nobody waits for it forever.
        let replied = (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            pty.screen(|screen| {
                let screen = screen.contents();
                screen.contains(" stops") || refused(&screen).is_some_and(|now| Some(now) != before)
            })
        });
        before = pty.screen(|screen| refused(&screen.contents()));
        if replied && before.is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1_500));
    }
    panic!("no plan:\n{}", pty.screen(vt100::Screen::contents));
}

#[test]
fn a_plan_runs_beside_the_screen_until_a_key_stops_it() {
    let mut pty = demo();
    plan(&pty);
    pty.send("1");
    pty.wait_for("the overview, which goes on", |screen| {
        screen.contains("[1 Overview]") && screen.contains("live")
    });
    pty.send("7");
    pty.wait_for("the plan, which runs", |screen| screen.contains(" stops"));

    pty.send("P");

    pty.wait_for("the end of the plan", |screen| {
        screen.contains("Stopped. The figures were those at ")
    });
    pty.send("\u{1b}");
    pty.wait_for("the other panels", |screen| screen.contains("Top prefixes"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn quitting_does_not_wait_for_a_plan() {
    let mut pty = demo();
    plan(&pty);
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_plan_ends_with_ranges_beside_what_was_observed() {
    let arguments = ["demo", "healthy"];
    let pty =
        Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &[("KVTOP_TEST_PLAN", "1")], SIZE);
    pty.wait_for("the overview", |screen| screen.contains("? help"));
    pty.send("7");
    pty.wait_for("a worker to drain", |screen| {
        screen.lines().any(|line| line.contains("w0  ") && line.contains('%'))
    });
    plan(&pty);
    pty.wait_for("the first answer", |screen| screen.contains("now  "));
    for _ in 0..18 {
        // A loaded machine takes its time for all of them.
        let done = pty.screen(|screen| screen.contents().contains("Plan for the deployment at"));
        if done {
            break;
        }
        std::thread::sleep(Duration::from_secs(10));
    }
    pty.wait_for("the result", |screen| screen.contains("Plan for the deployment at "));
    pty.wait_for("the rows", |screen| {
        let row = |words: &str| screen.lines().any(|line| line.contains(words));
        row("observed  ") && row("3 workers (+1)") && row("round-robin routing") && row("drain ")
    });
}

#[test]
fn a_storm_of_sizes_ends_in_a_whole_screen() {
    let mut pty = demo();
    for step in 0..40_u16 {
        pty.resize((1 + step * 37 % 200, 1 + step * 11 % 60));
        std::thread::sleep(Duration::from_millis(15));
    }
    pty.resize((80, 24));
    pty.wait_for("the overview at 80x24", |screen| {
        let rows: Vec<&str> = screen.lines().collect();
        rows.first().is_some_and(|row| row.contains("kvtop"))
            && rows.get(23).is_some_and(|row| row.contains("? help"))
    });
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn signals_restore_the_terminal_and_name_themselves() {
    for (number, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut pty = demo();

        signal(&pty, number);

        assert_restored(&pty);
        assert_eq!(pty.exit_code(), code, "{number:?}");
    }
}

#[test]
fn redrawing_asks_the_terminal_nothing() {
    let mut pty = demo();
    pty.send("\u{c}");
    pty.send("?");
    pty.wait_for("the help", |screen| screen.contains("Esc closes"));
    assert_eq!(pty.questions(), 0);
    pty.send(CTRL_C);
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn ctrl_z_suspends_and_fg_brings_it_back() {
    let mut pty =
        Pty::spawn("bash", &["--norc", "--noprofile", "-i"], &[("PS1", "prompt> ")], SIZE);
    pty.wait_for("a prompt", |screen| screen.contains("prompt>"));
    pty.send(&format!("{} demo; echo left $?\r", env!("CARGO_BIN_EXE_kvtop")));
    pty.wait_until("the overview", vt100::Screen::alternate_screen);
    pty.wait_for("the overview", |screen| screen.contains("? help"));

    pty.send("\u{1a}");

    pty.wait_for("the shell", |screen| screen.contains("Stopped"));
    assert!(pty.screen(|screen| !screen.alternate_screen() && !screen.hide_cursor()));
    pty.send("echo still $((40 + 2))\r");
    pty.wait_for("an answer", |screen| screen.contains("still 42"));
    // A key that is typed ahead reaches kvtop by itself, without a second one behind it.
    pty.send("fg\r?");
    pty.wait_for("a key typed ahead", |screen| screen.contains("Esc closes"));
    pty.send("?");
    pty.wait_until("kvtop again", |screen| screen.alternate_screen() && screen.hide_cursor());
    pty.wait_for("the overview again", |screen| {
        screen.contains("Workers") && screen.contains("? help")
    });
    pty.send("?");
    pty.wait_for("keys that work", |screen| screen.contains("Esc closes"));
    pty.send(CTRL_C);
    pty.wait_for("the shell", |screen| screen.contains("still 42"));
    pty.send("exit\r");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_stop_from_outside_is_the_same() {
    let mut pty = demo();
    signal(&pty, Signal::TSTP);
    pty.wait_until("the usual screen", |screen| !screen.alternate_screen());
    // Being continued before having stopped would be lost.
    std::thread::sleep(Duration::from_millis(300));
    signal(&pty, Signal::CONT);
    pty.wait_until("kvtop again", |screen| screen.alternate_screen() && screen.hide_cursor());
    pty.wait_for("the overview again", |screen| screen.contains("? help"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[cfg(debug_assertions)]
#[test]
fn a_panic_of_the_ui_restores_the_terminal_and_is_printed() {
    let vars = [("KVTOP_TEST_PANIC", "ui")];
    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["demo"], &vars, SIZE);
    pty.wait_for("the message", |screen| screen.contains("asked for by a test"));
    assert_restored(&pty);
    assert_eq!(pty.exit_code(), 101);
}

#[cfg(debug_assertions)]
#[test]
fn a_panic_of_a_task_is_told_and_the_ui_goes_on() {
    let vars = [("KVTOP_TEST_PANIC", "task")];
    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["demo"], &vars, SIZE);
    pty.wait_for("the line", |screen| screen.contains("a part of kvtop crashed: asked for"));
    assert!(pty.screen(|screen| screen.alternate_screen() && screen.hide_cursor()));
    pty.send("?");
    pty.wait_for("the help", |screen| screen.contains("Esc closes"));
    pty.send(CTRL_C);
    assert_restored(&pty);
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_kill_that_cannot_be_caught_leaves_a_usable_terminal() {
    let mut pty = demo_in_a_shell(&[]);
    pty.wait_for("the overview", |screen| screen.contains("Workers") && screen.contains("? help"));
    let shell = pty.pid();
    let child = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();

    let kvtop = Pid::from_raw(child.trim().parse().unwrap()).unwrap();
    kill_process(kvtop, Signal::KILL).unwrap();

    assert_restored(&pty);
    pty.wait_for("the reason", |screen| screen.contains("kvtop: ended unexpectedly"));
    assert_ne!(pty.exit_code(), 0);
}

#[cfg(debug_assertions)]
#[test]
fn an_abort_and_a_stack_overflow_leave_a_usable_terminal() {
    for what in ["abort", "overflow"] {
        let mut pty = demo_in_a_shell(&[("KVTOP_TEST_PANIC", what)]);
        pty.wait_for("the reason", |screen| screen.contains("kvtop: ended unexpectedly"));
        assert_restored(&pty);
        assert_ne!(pty.exit_code(), 0, "{what}");
    }
}

#[test]
fn ids_of_findings_are_links_where_pages_are_named_and_the_terminal_has_colours() {
    let shown = |vars: &[(&str, &str)]| {
        let vars = [&[("KVTOP_LINKS", "https://docs.example/")], vars].concat();
        let pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["demo", "mismatch"], &vars, SIZE);
        pty.wait_for("the finding", |screen| screen.contains("KVT001"));
        // What the terminal shows is the same: the sequence takes no columns.
        pty.written()
    };
    let link = b"\x1b]8;id=KVT001;https://docs.example/KVT001\x1b\\K\x1b]8;;\x1b\\";
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(&shown(&[]), link));
    for plain in [("NO_COLOR", "1"), ("TERM", "linux"), ("KVTOP_LINKS", "")] {
        assert!(!has(&shown(&[plain]), b"\x1b]8;"), "{plain:?}");
    }
}

#[test]
fn the_title_is_ours_while_it_runs_and_given_back_after() {
    let mut pty = demo();
    pty.wait_for_bytes("the title to be kept", b"\x1b[22;2t");
    pty.wait_for_bytes("a title", " – kvtop\x07".as_bytes());
    assert!(!pty.written().ends_with(b"\x1b[23;2t"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    pty.wait_for_bytes("the title to be given back", b"\x1b]2;\x07\x1b[23;2t");
}

#[test]
fn copying_reaches_the_terminal_and_a_private_file() {
    use std::os::unix::fs::PermissionsExt;
    let state = crate::support::scratch();
    let vars = [("XDG_STATE_HOME", state.to_str().unwrap()), ("TMUX", "")];
    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["demo", "healthy"], &vars, SIZE);
    let file = state.join("kvtop/clip.txt");
    pty.wait_for("events", |screen| screen.contains("Events") && screen.contains("STORE"));
    pty.send("y");
    pty.wait_for("nothing to copy", |screen| screen.contains("nothing selected"));
    assert!(!file.exists());

    pty.send("\u{1b}[Z");
    // Colours alone show which panel has the focus; a key that comes before it copies nothing.
    let copied = |screen: &str| screen.contains("copied ") && screen.contains("clip.txt");
    for _ in 0..20 {
        pty.send("y");
        std::thread::sleep(std::time::Duration::from_millis(500));
        if pty.screen(|screen| copied(&screen.contents())) {
            break;
        }
    }

    pty.wait_for("a copy", copied);
    pty.wait_for_bytes("OSC 52", b"\x1b]52;c;");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.len() > 12 && !text.contains('\n'), "{text:?}");
    let said = format!("copied {} bytes: selection", text.len());
    pty.wait_for("how much", |screen| screen.contains(&said));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[cfg(debug_assertions)]
#[test]
fn an_engine_that_stopped_is_said_for_good_and_is_a_failure() {
    let file = crate::support::fixture("captures/0.9.0-evict.frames.gz");
    let arguments = ["replay", file.to_str().unwrap()];
    let vars = [("KVTOP_TEST_PANIC", "engine")];
    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &vars, SIZE);
    let said = |screen: &str| screen.lines().next().unwrap_or_default().contains("engine stopped");
    pty.wait_for("the status row", said);
    pty.send("?");
    pty.wait_for("the help", |screen| screen.contains("Esc closes"));
    pty.send("\u{1b}");
    pty.wait_for("the status row still", said);
    pty.send(CTRL_C);
    assert_restored(&pty);
    assert_eq!(pty.exit_code(), 1);
}

#[test]
fn a_terminal_that_takes_nothing_does_not_hold_up_the_end() {
    use rustix::termios::{Action, tcflow};
    let mut pty = demo();
    let tty = File::open(pty.tty()).unwrap();
    tcflow(&tty, Action::OOff).unwrap();
    // The next picture blocks.
    std::thread::sleep(Duration::from_millis(1500));

    let start = kvtop::clock::now();
    signal(&pty, Signal::TERM);

    assert_eq!(pty.exit_code(), 143);
    assert!(kvtop::clock::now().since(start) < Duration::from_secs(20));
    let modes = tcgetattr(&tty).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "{modes:?}");
}

#[test]
fn colours_that_are_asked_for_always_overrule_the_environment() {
    for (color, wanted) in [("always", true), ("auto", false)] {
        let vars = [("NO_COLOR", "1")];
        let arguments = ["demo", "--theme", "nord", "--color", color];
        let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &vars, SIZE);
        pty.wait_for("the overview", |screen| screen.contains("? help"));
        let coloured = pty.screen(|screen| {
            let cells = (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (y, x)));
            let mut shown = cells.filter_map(|(y, x)| screen.cell(y, x));
            shown.any(|cell| cell.fgcolor() != vt100::Color::Default)
        });
        assert_eq!(coloured, wanted, "--color {color}");
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}
