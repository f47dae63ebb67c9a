//! The loop: waits for keys, pictures, signals and time, and draws when something changed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, EventStream, MouseEventKind};
use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::clipboard;
use super::export;
use super::ground::Late;
use super::links::Links;
use super::screen::Screen;
use super::signals::{self, Caught, Signals};
use super::{Exit, Hooks, TerminalError, TerminalOptions};
use crate::domain::{SourceState, Timestamp};
use crate::draw;
use crate::run::plan::background::Planner;
use crate::snapshot::{Feed, Snapshot, SourceRow, ViewQuery};
use crate::tui::command::{Action, Command, Format};
use crate::tui::findings;
use crate::tui::pacer::Pacer;
use crate::tui::planning::Planning;
use crate::tui::scope::Notice;
use crate::tui::shell::Shell;
use crate::tui::theme::Theme;

/// At most fifteen frames a second.
const FRAME_GAP: Duration = Duration::from_millis(67);
/// The interval at which ages are drawn anew while nothing else happens.
const AGE_TICK: Duration = Duration::from_secs(1);
/// The time limit of a hook.
const HOOK_TIME: Duration = Duration::from_secs(2);

/// The channels to and from everything else.
#[derive(Debug)]
pub(super) struct Wiring<H> {
    pub(super) pictures: watch::Receiver<Arc<Snapshot>>,
    pub(super) queries: watch::Sender<ViewQuery>,
    pub(super) actions: mpsc::Sender<Action>,
    /// Messages of the program; closed if there will be none.
    pub(super) notices: mpsc::Receiver<Notice>,
    pub(super) hooks: H,
}

/// An event for the screen.
enum Wake {
    Terminal(Option<io::Result<Event>>),
    Picture,
    NoMorePictures,
    Signal(Caught),
    Panic(String),
    Notice(Notice),
    Planning(Planning),
    Time,
}

/// The UI with the terminal that it draws on.
#[derive(Debug)]
pub(super) struct Ui<H> {
    // Fields are dropped in this order: keys before the screen.
    keys: EventStream,
    screen: Option<Screen>,
    wiring: Wiring<H>,
    options: TerminalOptions,
    shell: Shell,
    theme: Theme,
    links: Links,
    picture: Arc<Snapshot>,
    /// The title that the terminal has from us.
    title: String,
    /// The critical findings that were rung for.
    rung: Vec<(&'static str, Timestamp)>,
    pictures_end: bool,
    arrived: Instant,
    start: Instant,
    pacer: Pacer,
    signals: Signals,
    panics: mpsc::Receiver<String>,
    late: Late,
    planner: Planner,
}

impl<H: Hooks> Ui<H> {
    /// Takes the terminal. The theme is read first, so that its errors reach a usual screen.
    pub(super) fn enter(
        mut wiring: Wiring<H>,
        options: TerminalOptions,
        panics: mpsc::Receiver<String>,
    ) -> Result<Self, TerminalError> {
        let theme = options.themes.theme(&options.theme, options.level, options.glyphs);
        let theme = theme.map_err(TerminalError::Theme)?;
        let signals = Signals::listen().map_err(TerminalError::Signals)?;
        let screen = Screen::enter(options.mouse).map_err(TerminalError::Enter)?;
        let picture = Arc::clone(&wiring.pictures.borrow_and_update());
        let now = Instant::now();
        let mut shell = Shell::new(&options.theme, options.themes.names());
        shell.listen_to(options.keys.clone());
        shell.name_blocks(Arc::clone(&options.labels));
        shell.head_with(options.headline.clone());
        // It may be the only one for a while, as with a fleet that is read from a Prometheus.
        shell.note_picture(&picture);
        if options.tour {
            shell.begin_tour();
        }
        if let Some(window) = options.window {
            shell.begin_with(window);
        }
        Ok(Self {
            keys: EventStream::new(),
            screen: Some(screen),
            shell,
            wiring,
            links: Links::new(options.links.as_deref()),
            options,
            theme,
            picture,
            title: String::new(),
            rung: Vec::new(),
            pictures_end: false,
            arrived: now,
            start: now,
            pacer: Pacer::new(FRAME_GAP),
            signals,
            panics,
            late: Late::default(),
            planner: Planner::new(),
        })
    }

    /// Takes an answer of the terminal that comes late out of the keys.
    pub(super) fn expecting(self, late: Late) -> Self {
        Self { late, ..self }
    }

    /// Goes on until the user leaves or a signal ends it.
    pub(super) async fn run(mut self) -> Result<Exit, TerminalError> {
        self.draw()?;
        #[cfg(debug_assertions)]
        panic_for_tests();
        loop {
            let ended = match self.next().await {
                Wake::Terminal(Some(event)) => {
                    self.event(&event.map_err(TerminalError::Read)?).await?
                }
                // The terminal is gone, and says so before its signal arrives.
                Wake::Terminal(None) => Some(Exit::Signal(rustix::process::Signal::HUP.as_raw())),
                Wake::Signal(Caught::End(signal)) => Some(Exit::Signal(signal)),
                Wake::Signal(Caught::Stop) => self.suspend().await?,
                Wake::Picture => {
                    self.take_picture();
                    None
                }
                Wake::NoMorePictures => {
                    self.stopped();
                    None
                }
                Wake::Panic(line) => {
                    self.shell.tell(format!("a part of kvtop crashed: {line}"), true);
                    self.pacer.touch();
                    None
                }
                Wake::Notice(notice) => {
                    if let Notice::Elsewhere { mark, .. } = &notice {
                        self.mark(mark.as_deref().unwrap_or_default());
                    }
                    // A plan of what is no longer looked at is of no use.
                    if matches!(notice, Notice::Anew | Notice::Elsewhere { .. }) {
                        self.planner.forget();
                    }
                    self.shell.hear(notice);
                    self.pacer.touch();
                    None
                }
                Wake::Planning(planning) => {
                    self.shell.show_plan(planning);
                    self.pacer.touch();
                    None
                }
                Wake::Time => {
                    self.draw()?;
                    None
                }
            };
            if let Some(exit) = ended {
                if exit == Exit::Quit && self.pictures_end {
                    return Err(TerminalError::Stopped);
                }
                return Ok(exit);
            }
        }
    }

    async fn next(&mut self) -> Wake {
        let due = self.pacer.wait(self.start.elapsed());
        let age = || self.shell.ages(&self.picture).then_some(AGE_TICK);
        let pause = due.or_else(age);
        tokio::select! {
            biased;
            signal = self.signals.next() => Wake::Signal(signal),
            event = self.keys.next() => Wake::Terminal(event),
            Some(notice) = self.wiring.notices.recv() => Wake::Notice(notice),
            Some(line) = self.panics.recv() => Wake::Panic(line),
            planning = self.planner.next() => Wake::Planning(planning),
            () = rest(pause.unwrap_or_default()), if pause.is_some() => Wake::Time,
            changed = self.wiring.pictures.changed(), if !self.pictures_end => match changed {
                Ok(()) => Wake::Picture,
                Err(_) => Wake::NoMorePictures,
            },
        }
    }

    fn take_picture(&mut self) {
        self.picture = Arc::clone(&self.wiring.pictures.borrow_and_update());
        self.arrived = Instant::now();
        self.shell.note_picture(&self.picture);
        self.pacer.touch();
    }

    /// Shows permanently that no new pictures arrive, so nothing on the screen is live.
    fn stopped(&mut self) {
        self.pictures_end = true;
        let mut picture = Snapshot::clone(&self.picture);
        if let Feed::Replay(playback) = &mut picture.feed {
            playback.paused = true;
        }
        picture.sources = vec![SourceRow {
            name: "kvtop".into(),
            state: SourceState::Down,
            why: "engine stopped".to_owned(),
            troubles: Vec::new(),
            peers: None,
            retry_at: None,
            rtt: None,
            frames: 0,
            frames_per_second: 0.0,
            rejects: 0,
            gaps: 0,
            dropped: 0,
            drops_uncounted: false,
            interruptions: 0,
            last_frame: None,
            pending: false,
            history: None,
        }];
        self.picture = Arc::new(picture);
        self.pacer.touch();
    }

    async fn event(&mut self, event: &Event) -> Result<Option<Exit>, TerminalError> {
        match event {
            Event::Key(key) if self.late.takes(key) => Ok(None),
            Event::Key(key) => {
                let command = self.shell.command(*key, &self.picture);
                match command {
                    Some(command) => self.command(command).await,
                    None => Ok(None),
                }
            }
            // A terminal that shrank and grew again has lost what it showed, although its size is
            // the one that was drawn last.
            Event::Resize(..) => {
                if let Some(screen) = &mut self.screen {
                    screen.forget().map_err(TerminalError::Draw)?;
                }
                self.pacer.touch();
                Ok(None)
            }
            Event::Mouse(event) => {
                let picture = Arc::clone(&self.picture);
                // What moves nothing draws nothing.
                if !matches!(event.kind, MouseEventKind::Moved | MouseEventKind::Up(_)) {
                    self.pacer.urge();
                }
                let action = self.shell.point(*event, &picture, &self.theme);
                self.act(action).await
            }
            Event::Paste(text) => {
                self.pacer.urge();
                let picture = Arc::clone(&self.picture);
                let action = self.shell.paste(text, &picture);
                self.act(action).await
            }
            Event::FocusGained | Event::FocusLost => Ok(None),
        }
    }

    async fn command(&mut self, command: Command) -> Result<Option<Exit>, TerminalError> {
        self.pacer.urge();
        let picture = Arc::clone(&self.picture);
        let action = self.shell.update(command, &picture);
        self.follow_theme();
        self.act(action).await
    }

    /// Does what the screen asks for.
    async fn act(&mut self, action: Option<Action>) -> Result<Option<Exit>, TerminalError> {
        match action {
            None => {}
            Some(Action::Quit) => return Ok(Some(Exit::Quit)),
            Some(Action::Suspend) => return self.suspend().await,
            Some(Action::ToggleMouse) => {
                self.options.mouse = !self.options.mouse;
                let mouse = self.options.mouse;
                if let Some(screen) = &mut self.screen {
                    screen.take_mouse(mouse).map_err(TerminalError::Draw)?;
                }
                let said = if mouse {
                    "the mouse is kvtop's: Shift and drag selects text in most terminals"
                } else {
                    "the mouse is the terminal's: drag selects text"
                };
                self.shell.tell(said, false);
            }
            Some(Action::Redraw) => {
                if let Some(screen) = &mut self.screen {
                    screen.forget().map_err(TerminalError::Draw)?;
                }
            }
            Some(Action::Query(query)) => self.ask(query),
            Some(Action::Copy { what, text }) => self.copy(&what, &text)?,
            Some(Action::Export(format)) => self.export(format),
            Some(Action::TogglePlan { drain }) => {
                self.planner.toggle(self.shell.picture(&self.picture), drain);
            }
            Some(
                action @ (Action::DemoFix
                | Action::Simulate(_)
                | Action::Replay(_)
                | Action::LookAt(_)),
            ) => {
                self.pass_on(action);
            }
        }
        Ok(None)
    }

    /// Puts `text` on the clipboard and into a file, and says so: nothing tells whether the terminal
    /// took it.
    fn copy(&mut self, what: &str, text: &str) -> Result<(), TerminalError> {
        let in_tmux = std::env::var_os("TMUX").is_some_and(|value| !value.is_empty());
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        let home = path("HOME");
        let file = clipboard::file(path("XDG_STATE_HOME"), home.clone());
        if in_tmux {
            clipboard::tell_tmux(text);
        }
        let sent = clipboard::sequence(text).map_err(io::Error::other);
        if let Some(screen) = &mut self.screen {
            sent.and_then(|bytes| screen.send(&bytes)).map_err(TerminalError::Draw)?;
        }
        let copied = format!("copied {} bytes: {what}", text.len());
        let written = file.as_deref().map(|file| (file, clipboard::write(file, text)));
        match written {
            Some((file, Ok(()))) => {
                let file = clipboard::shown(file, home.as_deref());
                self.shell.tell(format!("{copied}; also in {file}"), false);
            }
            Some((file, Err(error))) => {
                let file = clipboard::shown(file, home.as_deref());
                self.shell.tell(format!("{copied}; could not write {file}: {error}"), true);
            }
            None => self.shell.tell(format!("{copied}; no home directory for a file"), true),
        }
        Ok(())
    }

    /// Writes the view into a file, and says where.
    fn export(&mut self, format: Format) {
        let options = &self.options;
        let theme = draw::theme_for_files(&options.theme, &options.themes, options.glyphs);
        let size = self.screen.as_ref().and_then(|screen| screen.size().ok()).unwrap_or((120, 36));
        let shown = self.shell.picture(&self.picture);
        let written = theme.map_err(io::Error::other).and_then(|theme| {
            let text = draw::render(&self.shell, &self.picture, &theme, size, format);
            export::write(shown, format, &text)
        });
        match written {
            Ok(path) => self.shell.tell(format!("written: {path}"), false),
            Err(why) => self.shell.tell(format!("not written: {why}"), true),
        }
    }

    /// Passes `action` to whoever feeds the pictures. The channel is never full in practice.
    fn pass_on(&mut self, action: Action) {
        if self.wiring.actions.try_send(action).is_err() {
            self.shell.tell("not possible now", true);
        }
    }

    fn ask(&self, query: ViewQuery) {
        self.wiring.queries.send_replace(query);
    }

    /// Uses the theme that the shell names now; one that cannot be read changes nothing.
    fn follow_theme(&mut self) {
        if self.shell.theme() == self.options.theme {
            return;
        }
        let options = &mut self.options;
        match options.themes.theme(self.shell.theme(), options.level, options.glyphs) {
            Ok(theme) => {
                self.theme = theme;
                self.shell.theme().clone_into(&mut options.theme);
            }
            Err(why) => {
                self.shell.keep_theme(&options.theme);
                self.shell.tell(why.to_string(), true);
            }
        }
    }

    /// Marks the program's name with the colour of another context.
    fn mark(&mut self, colour: &str) {
        let options = &mut self.options;
        options.themes.mark(colour);
        // It could be read before.
        if let Ok(theme) = options.themes.theme(&options.theme, options.level, options.glyphs) {
            self.theme = theme;
        }
    }

    fn draw(&mut self) -> Result<(), TerminalError> {
        let Some(screen) = &mut self.screen else { return Ok(()) };
        let (width, height) = screen.size().map_err(TerminalError::Draw)?;
        let action = self.shell.resize(width, height, &self.picture);
        self.shell.wait(self.arrived.elapsed());
        let title = findings::title(&self.picture, self.options.glyphs);
        if title != self.title {
            screen.title(&title).map_err(TerminalError::Draw)?;
            self.title.clone_from(&title);
        }
        let criticals = findings::criticals(&self.picture);
        if criticals.iter().any(|critical| !self.rung.contains(critical)) {
            let mut alarm = self.options.notify.sequence(&title);
            if self.options.bell {
                alarm.push('\u{7}');
            }
            if !alarm.is_empty() {
                screen.send(&alarm).map_err(TerminalError::Draw)?;
            }
        }
        self.rung = criticals;
        let (shell, picture, theme) = (&self.shell, &self.picture, &self.theme);
        let links = &self.links;
        let drawn = screen.draw(|frame| {
            shell.draw(picture, theme, frame);
            links.mark(frame.buffer_mut());
        });
        drawn.map_err(TerminalError::Draw)?;
        if let Some(Action::Query(query)) = action {
            self.ask(query);
        }
        self.pacer.drawn(self.start.elapsed());
        Ok(())
    }

    /// Gives the terminal back, stops the process, and takes the terminal again once continued.
    async fn suspend(&mut self) -> Result<Option<Exit>, TerminalError> {
        // The stream of keys stays: a dropped one leaves a wake-up behind that hides the first key
        // from its successor until a second key comes.
        //
        // A hook that takes too long must not keep the user waiting.
        drop(timeout(HOOK_TIME, self.wiring.hooks.before_stop()).await);
        self.screen = None;
        self.title.clear();
        let mut continued = signals::continued().map_err(TerminalError::Suspend)?;
        let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
        stopped.map_err(|error| TerminalError::Suspend(error.into()))?;
        // The kernel stops this thread a moment after the first one, and until then it must not take the terminal.
        drop(timeout(HOOK_TIME, continued.recv()).await);
        self.screen = Some(Screen::enter(self.options.mouse).map_err(TerminalError::Enter)?);
        self.pacer.touch();
        self.draw()?;
        drop(timeout(HOOK_TIME, self.wiring.hooks.after_continue()).await);
        Ok(None)
    }
}

/// Waits for so long. No time at all is not left to a timer: a worker that makes a large picture looks at none until it
/// is done.
async fn rest(pause: Duration) {
    if !pause.is_zero() {
        sleep(pause).await;
    }
}

/// Panics where tests want it.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "tests look at what a panic leaves behind")]
fn panic_for_tests() {
    match std::env::var("KVTOP_TEST_PANIC").as_deref() {
        Ok("ui") => panic!("asked for by a test"),
        Ok("task") => drop(tokio::spawn(async { panic!("asked for by a test") })),
        Ok("abort") => drop(std::thread::spawn(std::process::abort)),
        Ok("overflow") => drop(std::thread::spawn(|| std::hint::black_box(deeper(1)))),
        _ => {}
    }
}

/// Overflows the stack.
#[cfg(debug_assertions)]
#[expect(unconditional_recursion, reason = "that is its purpose")]
fn deeper(level: u64) -> u64 {
    std::hint::black_box(deeper(level + 1)) + level
}
