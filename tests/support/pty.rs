//! A process in a pseudo-terminal, with a terminal emulator that answers as a terminal would.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// How long to wait for something, in steps: other builds may have the machine.
const STEPS: u32 = 3_000;
const STEP: Duration = Duration::from_millis(20);

/// Bytes that are kept of what the process writes.
const WRITTEN: usize = 1 << 20;

struct Terminal {
    emulator: vt100::Parser,
    questions: usize,
    /// The end of what the process wrote.
    written: Vec<u8>,
}

type Writer = Arc<Mutex<Box<dyn Write + Send>>>;

/// The process and its terminal. The process ends with it.
pub(crate) struct Pty {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Writer,
    terminal: Arc<Mutex<Terminal>>,
}

const fn size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn sides((columns, rows): (u16, u16)) -> (NonZeroU16, NonZeroU16) {
    (NonZeroU16::new(columns).unwrap(), NonZeroU16::new(rows).unwrap())
}

impl Pty {
    /// Starts `program` in a terminal of that size.
    pub(crate) fn spawn(
        program: &str,
        arguments: &[&str],
        vars: &[(&str, &str)],
        columns_rows: (u16, u16),
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns_rows)).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        for (name, value) in [("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8"), ("NO_COLOR", "")] {
            command.env(name, value);
        }
        command.env("RUST_BACKTRACE", "0");
        for (name, value) in vars {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let reader = pair.master.try_clone_reader().unwrap();
        let writer: Writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let (columns, rows) = sides(columns_rows);
        let emulator = vt100::Parser::new(rows, columns, 0);
        let terminal =
            Arc::new(Mutex::new(Terminal { emulator, questions: 0, written: Vec::new() }));
        thread::spawn({
            let (writer, terminal) = (Arc::clone(&writer), Arc::clone(&terminal));
            move || emulate(reader, &writer, &terminal)
        });
        Self { master: pair.master, child, writer, terminal }
    }

    /// Types `text`.
    pub(crate) fn send(&self, text: &str) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, columns_rows: (u16, u16)) {
        let mut terminal = self.terminal.lock().unwrap();
        let (columns, rows) = sides(columns_rows);
        terminal.emulator.screen_mut().set_size(rows, columns);
        self.master.resize(size(columns_rows)).unwrap();
    }

    /// Returns what `ask` says of the screen.
    pub(crate) fn screen<T>(&self, ask: impl FnOnce(&vt100::Screen) -> T) -> T {
        ask(self.terminal.lock().unwrap().emulator.screen())
    }

    /// Waits until the text of the screen is as wanted; fails with the screen when it never is.
    pub(crate) fn wait_for(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        self.wait_until(what, |screen| wanted(&screen.contents()));
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn wait_until(&self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        for _ in 0..STEPS {
            if self.screen(&wanted) {
                return;
            }
            thread::sleep(STEP);
        }
        let screen = self.screen(vt100::Screen::contents);
        panic!("waited in vain for {what}; on the screen:\n{screen}");
    }

    /// Returns how often the process asked where the cursor is.
    pub(crate) fn questions(&self) -> usize {
        self.terminal.lock().unwrap().questions
    }

    /// Waits until the process has written `bytes`, which need not show on the screen.
    pub(crate) fn wait_for_bytes(&self, what: &str, bytes: &[u8]) {
        for _ in 0..STEPS {
            let terminal = self.terminal.lock().unwrap();
            if terminal.written.windows(bytes.len()).any(|window| window == bytes) {
                return;
            }
            drop(terminal);
            thread::sleep(STEP);
        }
        let screen = self.screen(vt100::Screen::contents);
        panic!("waited in vain for {what}; on the screen:\n{screen}");
    }

    /// Returns the end of what the process wrote.
    pub(crate) fn written(&self) -> Vec<u8> {
        self.terminal.lock().unwrap().written.clone()
    }

    /// Returns the id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Returns the path of the terminal.
    pub(crate) fn tty(&self) -> PathBuf {
        self.master.tty_name().unwrap()
    }

    /// Waits for the end of the process; returns its exit code.
    pub(crate) fn exit_code(&mut self) -> u32 {
        for _ in 0..STEPS {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            thread::sleep(STEP);
        }
        panic!("it does not end; on the screen:\n{}", self.screen(vt100::Screen::contents));
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
    }
}

/// Feeds the emulator, and answers the question for the cursor's position.
fn emulate(mut reader: Box<dyn Read + Send>, writer: &Writer, terminal: &Mutex<Terminal>) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = reader.read(&mut bytes) {
        let mut terminal = terminal.lock().unwrap();
        terminal.emulator.process(&bytes[..count]);
        terminal.written.extend_from_slice(&bytes[..count]);
        let old = terminal.written.len().saturating_sub(WRITTEN);
        terminal.written.drain(..old);
        let asked = bytes[..count].windows(4).filter(|window| window == b"\x1b[6n").count();
        terminal.questions += asked;
        if asked > 0 {
            let (row, column) = terminal.emulator.screen().cursor_position();
            let answer = format!("\x1b[{};{}R", row + 1, column + 1);
            writer.lock().unwrap().write_all(answer.as_bytes()).unwrap();
        }
    }
}
