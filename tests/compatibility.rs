//! docs/COMPATIBILITY.md names tests and recordings that exist, and leaves no cell empty.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::captures;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns letters with the tests they stand for.
fn legend(page: &str) -> BTreeMap<&str, &str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(": `"))
        .filter_map(|(letter, test)| Some((letter, test.strip_suffix('`')?)))
        .collect()
}

/// Returns the cells of every table, without heads and first columns.
fn cells(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let is_head = |row: &&str| row.starts_with("| release") || row.starts_with("| what");
    rows.filter(|row| !is_head(row) && !row.starts_with("|---"))
        .flat_map(|row| row.trim_matches('|').split('|').skip(1).map(str::trim))
        .collect()
}

/// Returns the files that the module of a test may be in.
fn files(module: &[&str]) -> Vec<PathBuf> {
    let path = module.join("/");
    ["tests", "src"]
        .iter()
        .flat_map(|folder| {
            let base = root().join(folder).join(&path);
            // Tests of a unit are in its file, or in one of their own.
            [base.with_extension("rs"), base.parent().unwrap().with_extension("rs")]
        })
        .collect()
}

fn exists(test: &str) -> bool {
    let parts: Vec<&str> = test.split("::").collect();
    let (name, module) = parts.split_last().unwrap();
    let sources = files(module).into_iter();
    let mut sources = sources.filter_map(|file| std::fs::read_to_string(file).ok());
    let wanted = format!("fn {name}(");
    sources.any(|text| {
        let Some((before, _)) = text.split_once(&wanted) else { return false };
        let above = before.lines().rev().find(|line| line.trim_start().starts_with("#["));
        above.is_some_and(|line| line.contains("test"))
    })
}

#[test]
fn every_cell_names_tests_and_recordings_that_exist_or_says_that_there_are_none() {
    let page = std::fs::read_to_string(root().join("docs/COMPATIBILITY.md")).unwrap();
    let legend = legend(&page);
    let recordings: BTreeSet<String> = captures().into_iter().map(|(name, _)| name).collect();
    let mut used = BTreeSet::new();

    for (letter, test) in &legend {
        assert!(exists(test), "{letter}: there is no test `{test}`");
    }
    let cells = cells(&page);
    assert!(cells.len() > 100, "{}", cells.len());
    for cell in cells {
        if ["untested", "none"].contains(&cell) {
            continue;
        }
        assert!(!cell.is_empty(), "an empty cell");
        for word in cell.split(' ') {
            if let Some(name) = word.strip_prefix('`').and_then(|word| word.strip_suffix('`')) {
                assert!(recordings.contains(name), "there is no recording `{name}`");
            } else {
                assert!(legend.contains_key(word), "`{word}` in `{cell}` stands for nothing");
                used.insert(word);
            }
        }
    }
    let unused: Vec<_> = legend.keys().filter(|letter| !used.contains(*letter)).collect();
    assert!(unused.is_empty(), "no cell names {unused:?}");
}

#[test]
fn a_test_that_does_not_exist_is_noticed() {
    assert!(exists("compatibility::a_test_that_does_not_exist_is_noticed"));
    assert!(exists(
        "attach::zmq::tests::publishers_of_chosen_pods_are_found_those_with_events_first"
    ));
    assert!(!exists("compatibility::nothing_of_the_kind"));
    // A function that is no test does not count.
    assert!(!exists("compatibility::legend"));
}
