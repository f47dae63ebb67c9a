//! What is generated from the command line and the keys, and checked in.

use std::path::{Path, PathBuf};

use kvtop::cli::{KeysFormat, Shell};
use kvtop::run::manual;
use kvtop::tui::keymap::Keymap;

use crate::config::kvtop;
use crate::support::bless;
use crate::support::scratch;

#[test]
fn manual_pages_are_up_to_date() {
    let folder = Path::new("docs/man");
    let pages = manual::pages().unwrap();
    assert!(pages.len() > 10, "{}", pages.len());
    for (name, text) in &pages {
        bless::page(folder.join(format!("{name}.1")), text);
    }
    let known: Vec<PathBuf> =
        pages.iter().map(|(name, _)| folder.join(format!("{name}.1"))).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let of = path.strip_prefix(root).unwrap();
        assert!(known.iter().any(|page| page == of), "{} is of no command", of.display());
    }
}

#[test]
fn completions_are_up_to_date() {
    let files = [(Shell::Bash, "kvtop.bash"), (Shell::Zsh, "_kvtop"), (Shell::Fish, "kvtop.fish")];
    for (shell, name) in files {
        bless::page(Path::new("docs/completions").join(name), &manual::completion(shell));
    }
}

#[test]
fn the_reference_of_keys_is_generated() {
    let table = manual::key_list(KeysFormat::Md, &Keymap::default());
    let page = format!(
        "# Keys\n\nGenerated from the table of keys (`tests/bless` rewrites it); \
         `kvtop keys` prints the same,\nwith those of the config file, and `?` those of the view that is shown.\n\n{table}"
    );
    bless::page("docs/reference/keys.md", &page);
}

#[test]
fn the_binary_prints_them() {
    let home = scratch();
    let out = |arguments: &[&str]| {
        let output = kvtop(&home, &[], arguments);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    assert!(out(&["man"]).1.contains(".TH kvtop 1"));
    assert!(out(&["man", "check"]).1.contains("kvtop\\-check"));
    let (code, text) = out(&["man", "dance"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("unknown command `dance`; known commands: demo, "), "{text}");
    assert!(out(&["completions", "bash"]).1.contains("complete -F _kvtop"));
    assert_eq!(out(&["completions", "ksh"]).0, Some(2));
    assert!(out(&["keys"]).1.contains("toggle-freeze"));
}
