//! The config file and `kvtop config`, by the real binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::bless;
use crate::support::pty::Pty;
use crate::support::{fixture, scratch};

/// Runs kvtop for a user whose config folder is `home`.
pub(crate) fn kvtop(home: &Path, env: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvtop"));
    command.args(arguments).stdin(Stdio::null()).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("HOME", home).env("XDG_CONFIG_HOME", home).envs(env.iter().copied());
    command.output().unwrap()
}

fn home(config: &str) -> PathBuf {
    let home = scratch();
    std::fs::create_dir_all(home.join("kvtop")).unwrap();
    if !config.is_empty() {
        std::fs::write(home.join("kvtop/config.toml"), config).unwrap();
    }
    home
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn blocks_have_the_names_that_a_file_gives_them() {
    let home = scratch();
    std::fs::create_dir_all(home.join("kvtop")).unwrap();
    let vars = [("XDG_CONFIG_HOME", home.to_str().unwrap())];
    let tree = ["snapshot", "--demo", "healthy", "--for", "30s", "-o", "text", "--view", "tree"];
    let run = |arguments: &[&str]| {
        let output = kvtop(&home, &vars, arguments);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let (_, before) = run(&tree);
    let row = before.lines().find(|line| line.contains(" ▸ ")).unwrap();
    let hash = row.split_whitespace().find(|word| word.len() == 8).unwrap();
    let names = format!("{hash} = \"the system prompt\"\n");
    std::fs::write(home.join("kvtop/labels.toml"), names).unwrap();

    let (code, after) = run(&tree);

    assert_eq!(code, Some(0));
    assert!(after.contains(&format!("▸ {hash}  \"the system prompt\"")), "{after}");
    std::fs::write(home.join("kvtop/labels.toml"), "system = \"x\"\n").unwrap();
    for arguments in [&tree[..], &["config", "check"]] {
        let (code, text) = run(arguments);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("labels.toml") && text.contains("`system` is no hash"), "{text}");
    }
}

#[test]
fn init_writes_a_file_that_is_right_and_never_replaces_one() {
    let home = home("");
    let at = home.join("kvtop/config.toml");
    let none = kvtop(&home, &[], &["config", "check"]);
    assert!(text(&none).contains("kvtop config init"), "{}", text(&none));

    let output = kvtop(&home, &[], &["config", "init"]);

    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(text(&output).trim(), at.to_str().unwrap());
    assert_eq!(text(&kvtop(&home, &[], &["config", "path"])), text(&output));
    let check = kvtop(&home, &[], &["config", "check"]);
    assert_eq!(check.status.code(), Some(0));
    assert!(text(&check).contains("no errors, 0 settings"), "{}", text(&check));
    std::fs::write(&at, "bell = true\n").unwrap();
    let again = kvtop(&home, &[], &["config", "init"]);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&at).unwrap(), "bell = true\n");
}

#[test]
fn mistakes_are_all_named_and_stop_what_needs_settings() {
    let home = home("thme = \"nord\"\n\n[nats]\nurl = \"nats://me:topsecret@h:1\"\n");
    let file = fixture("captures/0.9.0-evict.frames.gz");
    let replay = ["stat", "--replay", file.to_str().unwrap(), "--count", "1"];

    for arguments in [&["config", "check"][..], &replay] {
        let output = kvtop(&home, &[], arguments);

        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let said = text(&output);
        assert!(said.contains("config.toml:1: unknown key `thme`"), "{said}");
        assert!(said.contains("did you mean `theme`?"), "{said}");
        assert!(said.contains("config.toml:4: `nats.url`: holds a login"), "{said}");
        assert!(!said.contains("topsecret"), "{said}");
    }
    // Monitoring systems take 1 for a warning.
    let check = kvtop(&home, &[], &["check", "--replay", file.to_str().unwrap()]);
    assert_eq!(check.status.code(), Some(3));
    assert!(text(&check).starts_with("KVTOP UNKNOWN - "), "{}", text(&check));
    assert_eq!(text(&check).lines().count(), 1);
    let explain = kvtop(&home, &[], &["explain", "KVT001"]);
    assert_eq!(explain.status.code(), Some(0));
}

#[test]
fn show_says_what_holds_and_why() {
    let home = home("theme = \"dark\"\nmax-memory = \"2GiB\"\nglyphs = \"ascii\"\n");
    let env = [("KVTOP_GLYPHS", "unicode"), ("KVTOP_NATS_URL", "nats://me:topsecret@h:1")];

    let output = kvtop(&home, &env, &["config", "show", "--theme", "mono"]);

    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let said = text(&output);
    let row = |name: &str| {
        let row = said.lines().find(|line| line.split(' ').next() == Some(name));
        row.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("theme"), "theme mono --theme");
    assert_eq!(row("glyphs"), "glyphs unicode KVTOP_GLYPHS");
    assert_eq!(row("max-memory"), "max-memory 2GiB line 2 of the config file");
    assert_eq!(row("bell"), "bell false default");
    assert_eq!(row("nats.url"), "nats.url nats://h:1 KVTOP_NATS_URL");
}

#[test]
fn the_file_is_used_and_gives_way_to_the_environment() {
    let home = home("[nats]\nurl = \"nats://127.0.0.1:1\"\n");
    let arguments = ["snapshot", "--for", "100ms", "-o", "json"];

    let by_file = text(&kvtop(&home, &[], &arguments));
    let env = [("NATS_URL", "nats://127.0.0.2:2")];
    let by_variable = text(&kvtop(&home, &env, &arguments));

    assert!(by_file.contains("127.0.0.1:1"), "{by_file}");
    assert!(by_variable.contains("127.0.0.2:2"), "{by_variable}");
}

#[test]
fn a_file_that_was_asked_for_must_be_there() {
    let home = home("");
    let output = kvtop(&home, &[], &["stat", "--config", "/nowhere/config.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("`/nowhere/config.toml`"), "{}", text(&output));
}

#[test]
fn keys_can_be_changed_and_clashes_name_their_line() {
    let other = home("[keys]\ntoggle-help = \"F2\"\nquit = [\"V\", \"F10\"]\n");
    let vars = [("XDG_CONFIG_HOME", other.to_str().unwrap())];
    let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &["demo"], &vars, (120, 36));
    pty.wait_for("the hints", |screen| screen.contains("F2 help") && screen.contains("V quit"));
    pty.send("q?");
    pty.send("\u{1b}OQ");
    pty.wait_for("the help", |screen| screen.contains("Esc closes"));
    pty.send("\u{1b}OQ");
    pty.wait_for("no help", |screen| !screen.contains("Esc closes"));
    pty.send("V");
    assert_eq!(pty.exit_code(), 0);

    let printed = kvtop(&other, &[], &["keys"]);
    let line = |name: &str| {
        let said = text(&printed);
        said.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned()
    };
    assert_eq!(printed.status.code(), Some(0));
    assert!(line("toggle-help").starts_with("F2 "), "{}", line("toggle-help"));
    assert!(line(" quit ").starts_with("V F10 "), "{}", line(" quit "));

    let unknown = home("[keys]\nfreeze = \"f\"\n");
    // The names of actions are told although the file is wrong.
    let printed = kvtop(&unknown, &[], &["keys"]);
    assert_eq!(printed.status.code(), Some(1));
    let said = text(&printed);
    assert!(said.contains("toggle-freeze") && said.contains("config.toml:2"), "{said}");
    let said = text(&kvtop(&unknown, &[], &["config", "check"]));
    assert!(said.contains("config.toml:2: unknown key `keys.freeze`"), "{said}");
    assert!(said.contains("`keys.toggle-freeze`"), "{said}");
    let clash = home("[keys]\ntoggle-freeze = \"z\"\n");
    let output = kvtop(&clash, &[], &["config", "check"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output);
    let why = "config.toml:2: `keys.toggle-freeze`: `z` is already the key of `toggle-zoom`";
    assert!(said.contains(why), "{said}");
}

#[test]
fn the_file_chooses_the_figures_of_the_headline() {
    let chosen = home(
        "headline = [\"workers\", \"ttft-p95\", \"itl-p95\", \"queue-p95\", \"tokens\", \"running\", \
         \"waiting\", \"tiers\", \"registered\", \"hits\"]\n",
    );
    let vars = [("XDG_CONFIG_HOME", chosen.to_str().unwrap())];
    let names = ["WORKERS", "TTFT p95", "ITL p95", "QUEUE p95"];
    for (size, shown, hidden) in [
        ((80, 24), &names[..], &["CACHE HITS", "REJECTED"][..]),
        ((120, 36), &names[..], &["REJECTED"][..]),
        ((200, 60), &["WORKERS", "TOKENS/s", "RUNNING", "CACHE HITS"][..], &["REJECTED"][..]),
    ] {
        let arguments = ["demo", "healthy"];
        let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &vars, size);
        let row = |screen: &str| {
            screen.lines().find(|line| line.contains("WORKERS")).unwrap_or_default().to_owned()
        };
        pty.wait_for("the figures in their order", |screen| {
            let places: Vec<_> = shown.iter().map(|name| row(screen).find(name)).collect();
            places.iter().all(Option::is_some) && places.is_sorted()
        });
        let row = row(&pty.screen(vt100::Screen::contents));
        assert!(hidden.iter().all(|name| !row.contains(name)), "{row}");
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }

    let wrong = home("theme = \"dark\"\nheadline = [\"hits\", \"itl-59\"]\n");
    let said = text(&kvtop(&wrong, &[], &["config", "check"]));
    assert!(said.contains("config.toml:2: `headline`: `itl-59` is none of hits, "), "{said}");
    assert!(said.contains("did you mean `itl-p95`?"), "{said}");
    let variable = [("KVTOP_HEADLINE", "kv tiers")];
    let said = text(&kvtop(&wrong, &variable, &["config", "show", "--config", "/dev/null"]));
    let row = said.lines().find(|line| line.starts_with("headline")).unwrap_or_default();
    assert!(row.contains("kv tiers") && row.ends_with("KVTOP_HEADLINE"), "{said}");
}

#[test]
fn thresholds_move_the_lines_of_rules() {
    let file = fixture("captures/0.9.0-mm_pub32_eng16.frames.gz");
    let check = ["check", "--replay", file.to_str().unwrap()];
    let usual = kvtop(&home(""), &[], &check);
    assert_eq!(usual.status.code(), Some(2), "{}", text(&usual));

    // No recording holds this many stores.
    let of_stores = "store events arrived empty";
    assert!(text(&usual).contains(of_stores), "{}", text(&usual));
    let blunt = kvtop(&home("[thresholds]\nmin-stores = 1000000000\n"), &[], &check);
    assert!(!text(&blunt).contains(of_stores), "{}", text(&blunt));

    for (config, why) in [
        ("[thresholds]\nmin-store = 3\n", "config.toml:2: unknown key `thresholds.min-store`"),
        ("[thresholds]\nmin-stores = 0.5\n", "config.toml:2: `thresholds.min-stores`"),
        ("[thresholds]\n\ngini = -1\n", "config.toml:3: `thresholds.gini`: `-1` is no number"),
    ] {
        let output = kvtop(&home(config), &[], &["config", "check"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output).contains(why), "{}", text(&output));
    }
}

#[test]
fn the_reference_of_settings_is_generated() {
    bless::page("docs/reference/config.md", &kvtop::run::settings::manual());
}

#[test]
fn a_context_is_marked_with_its_colour() {
    let kube = crate::support::kube_api::FakeKube::demo();
    let file = kube.kubeconfig();
    let arguments = ["--kubeconfig", file.to_str().unwrap()];
    for (config, ground) in [
        ("theme = \"terminal\"\n[contexts.fake]\ncolor = \"red\"\n", vt100::Color::Idx(1)),
        ("theme = \"terminal\"\n[contexts.other]\ncolor = \"red\"\n", vt100::Color::Default),
    ] {
        let home = home(config);
        let vars = [("XDG_CONFIG_HOME", home.to_str().unwrap())];
        let mut pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &arguments, &vars, (120, 36));
        pty.wait_for("the status bar", |screen| {
            screen.lines().next().is_some_and(|row| row.contains("kvtop") && row.contains("RO"))
        });
        pty.wait_until("the ground", |screen| {
            screen.cell(0, 2).is_some_and(|cell| cell.bgcolor() == ground)
        });
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}

#[test]
fn every_mistake_of_a_file_is_told_at_once() {
    let home = home(
        "theme = 3\ntheme-dark = \"zzz\"\nnamespace = \"Bad NS\"\nthme = \"x\"\nbell = \"a\\u001b[31mb\"\n\
         [nats]\nurl = \"foo://x\"\n[keys]\ntoggle-freeze = \"F99\"\nquit = \"Space\"\n\
         [thresholds]\nempty-share = 5\n",
    );
    let output = kvtop(&home, &[], &["config", "check"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(!said.contains('\u{1b}'), "{said:?}");
    for line in [1, 2, 3, 4, 5, 7, 9, 10, 12] {
        assert!(said.contains(&format!("config.toml:{line}: ")), "{line}: {said}");
    }

    let set = kvtop(&self::home(""), &[("KVTOP_THEME", "zzz")], &["config", "show"]);
    assert_eq!(set.status.code(), Some(1), "{}", text(&set));
}
