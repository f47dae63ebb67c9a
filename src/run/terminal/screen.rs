//! The terminal in raw mode with the alternate screen, and the way back.

use std::io::{self, Stdout, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::{Print, ResetColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap,
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal};

use super::guard;

/// Room for one frame of any usual size, so that it is one write.
const FRAME_BYTES: usize = 64 * 1024;

/// Asks for buttons, the wheel and drags, in SGR coordinates. Mere movements would wake the screen for nothing.
const MOUSE: &str = "\u{1b}[?1000h\u{1b}[?1002h\u{1b}[?1006h";
/// Gives the mouse back.
const NO_MOUSE: &str = "\u{1b}[?1006l\u{1b}[?1002l\u{1b}[?1000l";

/// True while the terminal is ours. The panic hook and the guard both restore, once.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back, if it was taken. A terminal that is gone cannot be helped, so failures
/// are not told.
pub(super) fn restore() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    leave();
    drop(disable_raw_mode());
    guard::given_back();
}

/// Writes the sequences that undo those of [`Screen::enter`].
pub(super) fn leave() {
    let mut out = io::stdout();
    drop(execute!(
        out,
        EndSynchronizedUpdate,
        // A terminal that keeps no titles is left without ours.
        Print("\u{1b}]2;\u{7}\u{1b}[23;2t"),
        ResetColor,
        EnableLineWrap,
        DisableBracketedPaste,
        Print(NO_MOUSE),
        LeaveAlternateScreen,
        Show
    ));
}

/// Gives the terminal its usual modes back, without writing to it.
pub(super) fn cook() {
    drop(disable_raw_mode());
}

/// Collects what is written to one frame, and passes it on at once.
#[derive(Debug)]
struct FrameWriter {
    out: Stdout,
    bytes: Vec<u8>,
    held: Arc<AtomicBool>,
}

impl Write for FrameWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // ratatui flushes in the middle of a frame, when it hides the cursor.
        if self.held.load(Ordering::Relaxed) {
            return Ok(());
        }
        let written = self.out.write_all(&self.bytes);
        self.bytes.clear();
        written?;
        self.out.flush()
    }
}

/// The terminal while it is ours. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<FrameWriter>>,
    held: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal: raw mode, alternate screen, no cursor, and the mouse where it is wanted.
    pub(super) fn enter(mouse: bool) -> io::Result<Self> {
        let held = Arc::new(AtomicBool::new(false));
        let bytes = Vec::with_capacity(FRAME_BYTES);
        let writer = FrameWriter { out: io::stdout(), bytes, held: Arc::clone(&held) };
        let terminal = Terminal::new(CrosstermBackend::new(writer))?;
        let mut screen = Self { terminal, held };
        guard::taken();
        ENTERED.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(
            screen.terminal.backend_mut(),
            // The title is kept until the terminal is given back.
            Print("\u{1b}[22;2t"),
            EnterAlternateScreen,
            // Pasted text is no sequence of keys.
            EnableBracketedPaste,
            DisableLineWrap,
            Clear(ClearType::All),
            MoveTo(0, 0),
            Hide
        )?;
        if mouse {
            screen.take_mouse(true)?;
        }
        Ok(screen)
    }

    /// Takes the mouse, or gives it back to the terminal.
    pub(super) fn take_mouse(&mut self, wanted: bool) -> io::Result<()> {
        self.send(if wanted { MOUSE } else { NO_MOUSE })
    }

    /// Returns the size in columns and rows.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Draws a frame as one synchronized update, in one write.
    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.held.store(true, Ordering::Relaxed);
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(render).map(drop);
        self.held.store(false, Ordering::Relaxed);
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        drawn
    }

    /// Gives the terminal a title. It must be free of control characters.
    pub(super) fn title(&mut self, title: &str) -> io::Result<()> {
        self.send(&format!("\u{1b}]2;{title}\u{7}"))
    }

    /// Sends `bytes` to the terminal as they are; they must not move the cursor.
    pub(super) fn send(&mut self, bytes: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        backend.write_all(bytes.as_bytes())?;
        io::Write::flush(backend)
    }

    /// Makes the next frame write every cell. `Terminal::clear` would ask for the cursor's position,
    /// and the stream of keys would eat the answer.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect { x: 0, y: 0, width: size.width, height: size.height })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}
