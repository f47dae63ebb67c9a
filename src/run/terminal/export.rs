//! Writing a view into a file: in the current folder, or in the state folder where that cannot be
//! written.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::clipboard;
use crate::config::paths;
use crate::report;
use crate::snapshot::Snapshot;
use crate::tui::command::Format;

/// Files of the same second and name are told apart up to here.
const MOST: u32 = 100;
/// Longest name of a deployment within the name of a file.
const LABEL: usize = 60;

/// Writes `text` and returns where, as people write it.
pub(super) fn write(snapshot: &Snapshot, format: Format, text: &str) -> io::Result<String> {
    let env = |name: &str| std::env::var(name).ok();
    let here = std::env::current_dir()?;
    let name = name(snapshot);
    let path = match create(&here, &name, format, text) {
        Ok(path) => path,
        // Folders of containers are often read-only.
        Err(error) => {
            let state = paths::state(&env).ok_or(error)?.join("exports");
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&state)?;
            create(&state, &name, format, text)?
        }
    };
    let home = env("HOME").map(PathBuf::from);
    Ok(clipboard::shown(&path, home.as_deref()))
}

/// Returns the name of a file without its ending: deployment and time.
fn name(snapshot: &Snapshot) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let label: String = snapshot.deployment.label.chars().map(plain).take(LABEL).collect();
    let label = label.trim_matches(['-', '.']);
    let at = report::rfc3339(snapshot.at);
    // 2026-11-20T14:39:02.114Z becomes 20261120T143902Z.
    let seconds = at.split('.').next().unwrap_or_default();
    let at: String = seconds.chars().filter(char::is_ascii_alphanumeric).collect();
    let parts = ["kvtop", label, at.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let end = if at.is_empty() { "" } else { "Z" };
    parts.join("-") + end
}

/// Writes a file that only its owner may read, and that was not there before.
fn create(folder: &Path, name: &str, format: Format, text: &str) -> io::Result<PathBuf> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for number in 1..=MOST {
        let again = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{name}{again}.{}", format.word()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => return file.write_all(text.as_bytes()).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn names_hold_deployment_and_time_and_never_leave_the_folder() {
        let mut snapshot = Snapshot { at: Timestamp(1_771_425_542_114_000), ..Snapshot::default() };
        snapshot.deployment.label = String::from("../../etc/gtc demo");
        assert_eq!(name(&snapshot), "kvtop-etc-gtc-demo-20260218T143902Z");
        snapshot.deployment.label.clear();
        snapshot.at = Timestamp(u64::MAX);
        assert_eq!(name(&snapshot), "kvtop");
    }

    #[test]
    fn nothing_is_written_over() {
        let folder = std::env::temp_dir().join(format!("kvtop-export-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = create(&folder, "a", Format::Svg, "one").unwrap();
        let second = create(&folder, "a", Format::Svg, "two").unwrap();
        assert_eq!(second.file_name().unwrap(), "a-2.svg");
        assert_eq!(std::fs::read_to_string(first).unwrap(), "one");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
