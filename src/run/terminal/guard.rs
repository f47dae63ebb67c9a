//! A second process that gives the terminal back when kvtop ends without doing so itself: killed by SIGKILL,
//! out of memory, aborted, or with a stack that overflowed. None of these runs code in the process that dies.
//!
//! The guard waits at a pipe. It is told when the terminal is taken and when it is given back, and restores
//! the terminal only when the pipe ends in between. It leads a session of its own: a signal to kvtop's
//! process group does not reach it, and a process without this controlling terminal may change the modes of
//! the terminal although the shell is in the foreground again. While it is still starting it has a process
//! group of its own, because a shell that ends with kvtop also ends the foreground process group.
//!
//! It cannot help when it is killed as well (`kill -9` by name, the end of the container or the machine), or
//! when the terminal itself is gone.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

use rustix::process::{getsid, setpgid, setsid};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, Termios, tcgetattr, tcsetattr,
};

use super::screen;

/// The argument that makes a process the guard of its parent's terminal; the modes follow.
const ARGUMENT: &str = "--terminal-guard";

/// The terminal is kvtop's.
const TAKEN: u8 = b't';

/// The terminal is as it was.
const GIVEN_BACK: u8 = b'g';

static GUARD: Mutex<Option<Guard>> = Mutex::new(None);

struct Guard {
    pipe: ChildStdin,
    /// Kept so that the process is known to be ours; it ends with the pipe.
    _process: Child,
}

/// Tells the guard that the terminal is about to be taken, and starts one when there is none. Without a
/// guard kvtop works all the same, so failures are not told.
pub(super) fn taken() {
    let Ok(mut guard) = GUARD.try_lock() else { return };
    if guard.is_none() {
        *guard = start();
    }
    tell(guard.as_mut(), TAKEN);
}

/// Tells the guard that the terminal was given back.
pub(super) fn given_back() {
    // Whoever panics may hold the lock; the guard then restores what is restored already.
    if let Ok(mut guard) = GUARD.try_lock() {
        tell(guard.as_mut(), GIVEN_BACK);
    }
}

fn tell(guard: Option<&mut Guard>, state: u8) {
    if let Some(guard) = guard {
        drop(guard.pipe.write_all(&[state]));
    }
}

fn start() -> Option<Guard> {
    let modes = tcgetattr(io::stdout()).ok()?;
    let modes = [
        modes.input_modes.bits().to_string(),
        modes.output_modes.bits().to_string(),
        modes.local_modes.bits().to_string(),
    ];
    let mut process = Command::new(std::env::current_exe().ok()?)
        .args([ARGUMENT, &modes.join(":")])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()?;
    let pipe = process.stdin.take()?;
    Some(Guard { pipe, _process: process })
}

/// Returns true when the command line asks for a guard; then it did its work and the process may end.
pub fn stand(mut arguments: impl Iterator<Item = OsString>) -> bool {
    if arguments.nth(1).is_none_or(|argument| argument != ARGUMENT) {
        return false;
    }
    // Without a session of its own the guard can still write, which is better than nothing.
    let _session = lead_a_session().ok();
    let modes = arguments.next().unwrap_or_default();
    let mut state = [GIVEN_BACK; 16];
    let mut last = GIVEN_BACK;
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut state) {
            Ok(0) => break,
            Ok(count) => last = state[count - 1],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if last == TAKEN {
        screen::leave();
        restore_modes(&modes.to_string_lossy());
        let line = "kvtop: ended unexpectedly; the terminal was restored\r\n";
        drop(io::stdout().write_all(line.as_bytes()));
    }
    true
}

/// Leaves the shell's session. The leader of a process group cannot start a session, so the guard first joins the
/// shell's group. If the shell is gone, the session has lost its terminal already and the guard may stay in it.
fn lead_a_session() -> rustix::io::Result<()> {
    setpgid(None, Some(getsid(None)?))?;
    setsid().map(drop)
}

/// Gives the terminal the modes that it had before kvtop.
fn restore_modes(modes: &str) {
    if let Ok(mut current) = tcgetattr(io::stdout())
        && changed(&mut current, modes).is_some()
    {
        // A terminal that is gone cannot be helped.
        let _changed = tcsetattr(io::stdout(), OptionalActions::Now, &current).ok();
    }
}

fn changed(termios: &mut Termios, modes: &str) -> Option<()> {
    let mut parts = modes.split(':');
    termios.input_modes = InputModes::from_bits_retain(parts.next()?.parse().ok()?);
    termios.output_modes = OutputModes::from_bits_retain(parts.next()?.parse().ok()?);
    termios.local_modes = LocalModes::from_bits_retain(parts.next()?.parse().ok()?);
    Some(())
}
