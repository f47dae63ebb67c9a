//! The terminal's life: enter, draw when something changed, suspend, leave it as it was.
//!
//! [`run`] is the future to block on, on the main thread: a terminal that blocks (Ctrl-S, a dead
//! connection) then stops nothing but this future. Sources and engine run in tasks of their own.

mod clipboard;
mod export;
mod ground;
mod guard;
mod links;
mod panics;
mod screen;
mod signals;
mod ui;

pub use guard::stand as stand_guard;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::domain::steers;
use crate::snapshot::{Snapshot, ViewQuery};
use crate::tui::command::Action;
use crate::tui::keymap::Keymap;
use crate::tui::labels::Labels;
use crate::tui::panels::headline::Figure;
use crate::tui::scope::Notice;
use crate::tui::theme::{Glyphs, Level, ThemeError, Themes};

/// The capabilities of the terminal, and the user's settings for it.
#[derive(Clone, Debug)]
pub struct TerminalOptions {
    /// The name of the theme; [`AUTO`] stands for one of the two below.
    pub theme: String,
    /// The theme for a dark ground, and the one for a light ground.
    pub by_ground: [String; 2],
    /// Every theme there is.
    pub themes: Themes,
    /// Names that people gave to blocks.
    pub labels: Arc<Labels>,
    /// The number of colours that the terminal shows.
    pub level: Level,
    /// The characters to draw with.
    pub glyphs: &'static Glyphs,
    /// The keys.
    pub keys: Keymap,
    /// True while the mouse is the screen's and not the terminal's.
    pub mouse: bool,
    /// True to begin with the tour of the demo.
    pub tour: bool,
    /// Time that graphs cover at first, when another than usual is wanted.
    pub window: Option<Duration>,
    /// The figures of the headline.
    pub headline: Vec<Figure>,
    /// The notification of the desktop for each new critical finding.
    pub notify: Notify,
    /// The beginning of addresses that the ids of findings lead to; none without links.
    pub links: Option<String>,
    /// True to ring once for each new critical finding.
    pub bell: bool,
    /// Gets a line for each panic outside of the UI; the screen says it as well.
    pub panics: Option<mpsc::Sender<String>>,
}

/// The name that stands for the theme of the terminal's background.
pub const AUTO: &str = "auto";

/// The sequence that asks the terminal for a notification of the desktop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notify {
    /// Not at all.
    #[default]
    Off,
    /// By OSC 9, as iTerm2, `WezTerm` and kitty know it.
    Osc9,
    /// By OSC 777, as foot and urxvt know it.
    Osc777,
}

impl Notify {
    /// Returns the escape sequence of a notification, or nothing if it is off. Control characters in `text` are removed.
    fn sequence(self, text: &str) -> String {
        let text: String = text.chars().filter(|letter| !steers(*letter)).collect();
        match self {
            Self::Off => String::new(),
            Self::Osc9 => format!("\u{1b}]9;kvtop: {text}\u{7}"),
            // Semicolons separate title and text.
            Self::Osc777 => format!("\u{1b}]777;notify;kvtop;{}\u{7}", text.replace(';', ",")),
        }
    }
}

/// The steps around a stop. A stopped subscriber that stays subscribed throttles the
/// publishers, so sources unsubscribe first.
pub trait Hooks {
    /// Unsubscribes the sources. It is given two seconds.
    fn before_stop(&mut self) -> impl Future<Output = ()>;

    /// Subscribes them again. It is given two seconds.
    fn after_continue(&mut self) -> impl Future<Output = ()>;
}

/// Hooks that do nothing, for feeds that nobody publishes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    async fn before_stop(&mut self) {}

    async fn after_continue(&mut self) {}
}

/// The reason why the UI ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The user left.
    Quit,
    /// This signal ended it.
    Signal(i32),
}

impl Exit {
    /// Returns the exit code, as shells count it: 130, 143 or 129 for a signal.
    pub fn code(self) -> u8 {
        match self {
            Self::Quit => 0,
            Self::Signal(signal) => u8::try_from(128_i32.saturating_add(signal)).unwrap_or(u8::MAX),
        }
    }
}

/// An error after which the UI cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// Raw mode or the alternate screen is not to be had.
    #[error("could not set up the terminal")]
    Enter(#[source] io::Error),
    /// The terminal does not take what is drawn.
    #[error("could not draw")]
    Draw(#[source] io::Error),
    /// The terminal gives no keys.
    #[error("could not read keys")]
    Read(#[source] io::Error),
    /// Signals cannot be waited for.
    #[error("could not listen for signals")]
    Signals(#[source] io::Error),
    /// The process cannot stop itself.
    #[error("could not suspend")]
    Suspend(#[source] io::Error),
    /// The engine stopped; the last picture stayed until the user left.
    #[error("the engine stopped")]
    Stopped,
    /// The theme cannot be used.
    #[error("could not use the theme")]
    Theme(#[source] ThemeError),
}

/// Shows `pictures` until the user leaves or a signal ends it, and restores the terminal in every
/// case, panics of this thread included.
pub async fn run<H: Hooks>(
    pictures: watch::Receiver<Arc<Snapshot>>,
    queries: watch::Sender<ViewQuery>,
    actions: mpsc::Sender<Action>,
    notices: mpsc::Receiver<Notice>,
    mut options: TerminalOptions,
    hooks: H,
) -> Result<Exit, TerminalError> {
    let late = choose_theme(&mut options);
    let guard = panics::install(options.panics.clone());
    let _watch = signals::Watch::start().map_err(TerminalError::Signals)?;
    let wiring = ui::Wiring { pictures, queries, actions, notices, hooks };
    let ended = ui::Ui::enter(wiring, options, guard)?.expecting(late).run().await;
    panics::uninstall();
    ended
}

/// Puts the theme of the terminal's ground in the place of [`AUTO`]; returns what to do with an answer
/// that comes late.
fn choose_theme(options: &mut TerminalOptions) -> ground::Late {
    if options.theme != AUTO {
        return ground::Late::default();
    }
    // Without colours the ground makes no difference.
    let asked = (options.level > Level::Mono).then(|| {
        let colorfgbg = std::env::var("COLORFGBG").unwrap_or_default();
        ground::find(&colorfgbg)
    });
    let light = asked.is_some_and(|found| found.light == Some(true));
    options.theme.clone_from(&options.by_ground[usize::from(light)]);
    ground::Late::new(asked.is_some_and(|found| found.late))
}
