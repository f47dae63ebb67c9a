//! Copying: by OSC 52 to the terminal's clipboard, through tmux where there is one, and to a file for
//! terminals that ignore it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use crossterm::Command;
use crossterm::clipboard::CopyToClipboard;

/// The file's name below the state folder of the user.
const FILE: &str = "kvtop/clip.txt";

/// Returns the bytes that put `text` on the clipboard of the terminal.
pub(super) fn sequence(text: &str) -> Result<String, std::fmt::Error> {
    let mut sequence = String::new();
    CopyToClipboard::to_clipboard_from(text).write_ansi(&mut sequence)?;
    Ok(sequence)
}

/// Gives `text` to the tmux around us, which passes it on to its own terminal. By default tmux ignores
/// OSC 52 from within (`set-clipboard external`). Nothing waits for it: it is one of three ways.
pub(super) fn tell_tmux(text: &str) {
    let text = text.to_owned();
    let told = move || {
        let mut tmux = process::Command::new("tmux");
        tmux.args(["load-buffer", "-w", "-"]);
        tmux.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = tmux.spawn()?;
        let written = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
        child.wait()?;
        written.unwrap_or(Ok(()))
    };
    // A tmux that is too old for `-w`, or gone, leaves OSC 52 and the file.
    drop(tokio::task::spawn_blocking(told));
}

/// Returns the file, by the values of `XDG_STATE_HOME` and `HOME`; none without either.
pub(super) fn file(state: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let state = state.filter(|path| path.is_absolute());
    let base = state.or_else(|| {
        let home = home.filter(|path| path.is_absolute())?;
        Some(home.join(".local/state"))
    })?;
    Some(base.join(FILE))
}

/// Writes `text` to `path`, readable for nobody else. What was there before is replaced as a whole, so
/// that a link of that name is never followed.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let fresh = folder.join(format!(".clip.{}", std::process::id()));
    // One that was left behind by a process that had the same id.
    drop(fs::remove_file(&fresh));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    let written = file
        .set_permissions(fs::Permissions::from_mode(0o600))
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        drop(fs::remove_file(&fresh));
    }
    written
}

/// Returns `path` as people write it, the home folder as `~`.
pub(super) fn shown(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_osc_52() {
        assert_eq!(sequence("hello").unwrap(), "\u{1b}]52;c;aGVsbG8=\u{1b}\\");
    }

    #[test]
    fn the_file_is_below_the_state_folder() {
        let path = |path: &str| Some(PathBuf::from(path));
        assert_eq!(file(path("/state"), path("/home/a")), path("/state/kvtop/clip.txt"));
        let home = path("/home/a/.local/state/kvtop/clip.txt");
        assert_eq!(file(None, path("/home/a")), home);
        assert_eq!(file(path("relative"), path("/home/a")), home);
        assert_eq!(file(path(""), None), None);
        assert_eq!(
            shown(&home.unwrap(), Some(Path::new("/home/a"))),
            "~/.local/state/kvtop/clip.txt"
        );
    }

    #[test]
    fn the_file_is_private_and_no_link_is_followed() {
        let folder = std::env::temp_dir().join(format!("kvtop-clip-{}", std::process::id()));
        let path = folder.join("deep/clip.txt");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("other"), "untouched").unwrap();
        std::os::unix::fs::symlink(folder.join("other"), &path).unwrap();

        write(&path, "first, and longer").unwrap();
        write(&path, "second").unwrap();

        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_to_string(folder.join("other")).unwrap(), "untouched");
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
