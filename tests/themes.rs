//! Themes by the real binary: the choice by the terminal's background, the user's own, and the checks.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::kvtop;
use crate::support::pty::Pty;
use crate::support::scratch;

const SIZE: (u16, u16) = (100, 30);
const QUESTION: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";
const LIGHT: vt100::Color = vt100::Color::Rgb(0xfb, 0xfb, 0xf8);
const DARK: vt100::Color = vt100::Color::Rgb(0x12, 0x16, 0x1c);

fn demo(colorfgbg: &str) -> Pty {
    let home = scratch();
    let vars = [
        ("COLORTERM", "truecolor"),
        ("COLORFGBG", colorfgbg),
        ("XDG_CONFIG_HOME", home.to_str().unwrap()),
    ];
    Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["demo", "--theme", "auto"], &vars, SIZE)
}

fn wait_for_ground(pty: &Pty, ground: vt100::Color) {
    pty.wait_for("the overview", |screen| screen.contains("? help"));
    pty.wait_until("the ground", |screen| {
        screen.cell(10, 1).is_some_and(|cell| cell.bgcolor() == ground)
    });
}

#[test]
fn the_background_is_taken_from_its_variable_without_asking() {
    for (value, ground) in [("0;15", LIGHT), ("15;0", DARK)] {
        let mut pty = demo(value);
        wait_for_ground(&pty, ground);
        assert!(!pty.written().windows(QUESTION.len()).any(|window| window == QUESTION));
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}

#[test]
fn a_terminal_that_tells_its_background_is_followed() {
    for (answer, ground) in [("ffff/fafa/f0f0", LIGHT), ("1e1e/1e1e/2e2e", DARK)] {
        let mut pty = demo("");
        pty.wait_for_bytes("the question", QUESTION);
        pty.send(&format!("\x1b]11;rgb:{answer}\x1b\\\x1b[?62;22c"));
        wait_for_ground(&pty, ground);
        assert!(pty.screen(|screen| screen.contents().contains("[1 Over")), "no key was heard");
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}

#[test]
fn a_terminal_that_does_not_answer_is_not_waited_for() {
    let start = kvtop::clock::now();
    let mut pty = demo("");
    wait_for_ground(&pty, DARK);
    assert!(kvtop::clock::now().since(start) < Duration::from_secs(15));

    // The answer comes after all; its letters are keys, and none of them may be heard.
    pty.send("\x1b]11;rgb:6666/6666/6666\x07\x1b[?62;22c");
    pty.send("?");
    pty.wait_for("the help", |screen| screen.contains("Esc closes"));
    pty.send("\x1b");
    pty.wait_for("the view from before", |screen| {
        screen.contains("[1 Over") && !screen.contains("Esc closes")
    });
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

fn home(themes: &[(&str, &str)]) -> PathBuf {
    let home = scratch();
    std::fs::create_dir_all(home.join("kvtop/themes")).unwrap();
    for (name, text) in themes {
        std::fs::write(home.join(format!("kvtop/themes/{name}.toml")), text).unwrap();
    }
    home
}

fn out(home: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = kvtop(home, &[], arguments);
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn a_theme_is_one_file_that_can_be_read_and_is_listed() {
    let home = home(&[]);
    let (code, text) = out(&home, &["themes", "check"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = out(&home, &["themes", "list"]);
    assert_eq!(code, Some(0));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/themes");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let themes = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let names: Vec<String> =
        themes.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert!(names.len() >= 14, "{names:?}");
    for name in names {
        assert!(text.lines().any(|line| line.split(' ').next() == Some(name.as_str())), "{name}");
    }
    let (code, text) = out(&home, &["themes", "show", "nord", "--color", "never"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("#2e3440") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn themes_of_the_user_are_used_and_their_mistakes_explained() {
    let home = home(&[
        ("mine", "inherits = \"dark\"\n[slots]\nmuted = \"#222222\"\n"),
        ("torn", "inherits = \n"),
    ]);
    let (_, text) = out(&home, &["themes", "list"]);
    assert!(text.contains("mine") && text.contains("yours"), "{text}");
    assert!(text.contains("torn") && text.contains("line 1"), "{text}");
    let (code, text) = out(&home, &["themes", "check", "mine"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("`muted` has a contrast of"), "{text}");
    let file = home.join("kvtop/themes/torn.toml");
    let (code, text) = out(&home, &["themes", "check", file.to_str().unwrap()]);
    assert_eq!((code, text.contains("theme `torn` cannot be read")), (Some(1), true), "{text}");
    let vars = [("XDG_CONFIG_HOME", home.to_str().unwrap())];
    let args = ["demo", "--theme", "torn"];
    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &args, &vars, SIZE);
    pty.wait_for("the reason", |screen| screen.contains("theme `torn` cannot be read"));
    assert_eq!(pty.exit_code(), 1);
    let (code, text) = out(&home, &["themes", "show", "sunrise"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("unknown theme `sunrise`") && text.contains("nord"), "{text}");
}
