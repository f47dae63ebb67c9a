//! The program's own sources, for tests of how they are kept.

use std::path::{Path, PathBuf};

/// Returns every source file below `folder` of the checkout, by its path from there.
pub(crate) fn files(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    walk(&root.join(folder), &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

/// Returns the files below `folder` that are no unit tests, without comments and unit tests of their own.
pub(crate) fn code(folder: &str) -> Vec<(String, String)> {
    let tests = ["/tests.rs", "/tests/", "against_bash.rs"];
    let is_code = |(name, _): &(String, String)| !tests.iter().any(|part| name.contains(part));
    let own = |(name, text): (String, String)| {
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        (name, lines.collect::<Vec<_>>().join("\n"))
    };
    files(folder).into_iter().filter(is_code).map(own).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}
