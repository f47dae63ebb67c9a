//! Commands with a screen: the live one and replay.
//!
//! The screen is the future that the main thread runs; engine and sources are tasks. A terminal that
//! blocks therefore stops the screen alone.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::RunError;
use super::driver;
use super::ending;
use super::fleet::{self, FleetWatch};
use super::live::{self, Live};
use super::memory;
use super::place::Ambiguous;
use super::session::{Running, Screen, Sessions};
use super::settings;
use super::terminal::{self, Hooks, NoHooks, Notify, TerminalOptions};
use super::thresholds;
use crate::cli::{Offset, ReplayArgs, SourceArgs};
use crate::config::setting as known;
use crate::config::{Config, Origin};
use crate::exit::Exit;
use crate::player::Player;
use crate::simulator::Scenario;
use crate::snapshot::{Snapshot, ViewQuery};
use crate::source::Desired;
use crate::source::kube::KubeClient;
use crate::tui::command::Action;
use crate::tui::line::{self, WINDOWS};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Level};

/// Actions wait for the root at most this many deep; a person cannot type faster.
pub(super) const ACTIONS: usize = 16;

/// The first thing to show.
enum Started {
    /// A deployment.
    Live(Box<Live>),
    /// A name that means several.
    Undecided(Box<Ambiguous>),
    /// All of them.
    Fleet(FleetWatch),
}

/// Shows a running deployment, or a fleet of them.
pub(super) async fn live(source: &SourceArgs, config: &Config) -> Result<Exit, RunError> {
    let mut options = options(config)?;
    let started = if source.means_several() {
        Started::Fleet(fleet::start(source).await?)
    } else {
        match live::show(source).await {
            Err(RunError::Ambiguous(ambiguous)) => Started::Undecided(ambiguous),
            started => Started::Live(Box::new(started?)),
        }
    };
    let client = match &started {
        Started::Live(live) => live.client.as_ref(),
        Started::Undecided(ambiguous) => Some(&ambiguous.client),
        Started::Fleet(fleet) => fleet.client.as_ref(),
    };
    let context = client.and_then(KubeClient::context);
    if let Some(colour) = context.and_then(|name| config.context_color(name)) {
        options.themes.mark(colour);
    }
    let (pictures, shown) = watch::channel(Arc::new(Snapshot::default()));
    let (queries, asked) = watch::channel(ViewQuery::default());
    let (actions, wanted) = mpsc::channel(ACTIONS);
    let (told, notices) = mpsc::channel(ACTIONS);
    let screen = Screen { pictures, queries: asked, notices: told };
    let (sessions, running) = match started {
        Started::Live(live) => Sessions::begin(*live, config.clone(), screen),
        Started::Undecided(ambiguous) => {
            Sessions::undecided(*ambiguous, source, config.clone(), screen)
        }
        Started::Fleet(fleet) => Sessions::among(fleet, source, config.clone(), screen),
    };
    let sessions = tokio::spawn(sessions.run(wanted));
    let sources = Sources(running);
    let exit = terminal::run(shown, queries, actions, notices, options, sources.clone()).await;
    sessions.abort();
    // Whatever it was doing, it starts no other sources from now on.
    drop(sessions.await);
    sources.stop().await;
    Ok(exit_of(exit?))
}

/// Returns the scenario called `name`.
pub(super) fn scenario(name: &str) -> Result<Scenario, RunError> {
    Scenario::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.name()).collect();
        RunError::Scenario { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Shows a recording.
pub(super) async fn replay(
    args: &ReplayArgs,
    source: &SourceArgs,
    config: &Config,
) -> Result<Exit, RunError> {
    let mut player = Player::open(
        &args.file,
        memory::of_mirror(source.max_memory()),
        thresholds::chosen(source),
    )?;
    let mut options = options(config)?;
    if config.origin(known::WINDOW) == Origin::Default {
        options.window = line::fitting(player.told());
    }
    player.set_speed(args.speed);
    match args.at {
        None => {}
        Some(Offset::FromStart(span)) => player.seek(player.playback().start.after(span))?,
        Some(Offset::BeforeEnd(span)) => player.seek(player.end().before(span))?,
    }
    if args.paused {
        player.pause();
    }
    let (pictures, shown) = watch::channel(Arc::new(Snapshot::default()));
    let (queries, asked) = watch::channel(ViewQuery::default());
    let (actions, mut wanted) = mpsc::channel(ACTIONS);
    let (commands, obeyed) = mpsc::channel(ACTIONS);
    tokio::spawn(driver::replay(player, obeyed, pictures, asked));
    let pass_on = tokio::spawn(async move {
        while let Some(action) = wanted.recv().await {
            if let Action::Replay(command) = action
                && commands.send(command).await.is_err()
            {
                return;
            }
        }
    });
    let (_, notices) = mpsc::channel(1);
    let exit = terminal::run(shown, queries, actions, notices, options, NoHooks).await;
    pass_on.abort();
    Ok(exit_of(exit?))
}

/// The sources that run at the moment, around a stop of the process.
#[derive(Clone)]
pub(super) struct Sources(pub(super) watch::Receiver<Running>);

impl Sources {
    fn now(&self) -> Running {
        Arc::clone(&self.0.borrow())
    }

    pub(super) async fn stop(&self) {
        ending::stop(&self.now()).await;
    }
}

impl Hooks for Sources {
    async fn before_stop(&mut self) {
        ending::pause(&self.now().iter().collect::<Vec<_>>()).await;
    }

    async fn after_continue(&mut self) {
        for source in self.now().iter() {
            source.desired.send_replace(Desired::Running);
        }
    }
}

pub(super) fn exit_of(exit: terminal::Exit) -> Exit {
    match exit {
        terminal::Exit::Quit => Exit::Clean,
        terminal::Exit::Signal(_) => Exit::Signal(exit.code().saturating_sub(128)),
    }
}

/// Returns how many colours to use, by the environment and what was asked for.
pub(super) fn level(color: Option<&str>) -> Level {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let of_terminal =
        |no_color: &str| Level::for_terminal(no_color, &env("COLORTERM"), &env("TERM"));
    match color {
        Some("always") => of_terminal(""),
        Some("never") => Level::Mono,
        _ => of_terminal(&env("NO_COLOR")),
    }
}

/// Returns the terminal settings for the screen, if the output is a terminal.
pub(super) fn options(config: &Config) -> Result<TerminalOptions, RunError> {
    if !io::stdout().is_terminal() {
        return Err(RunError::NoScreen("the output, a file or a pipe,"));
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return Err(RunError::NoScreen("this terminal (TERM=dumb)"));
    }
    if config.text(known::COLOR) == Some("always") {
        // Who writes to the terminal asks NO_COLOR by itself.
        crossterm::style::force_color_output(true);
    }
    described(config)
}

/// Returns what links of findings begin with: as configured, else the repository's pages once the package names a
/// repository. A terminal without colours, or the kernel's own console, would show the sequence or ignore it.
fn links(level: Level, configured: Option<&str>) -> Option<String> {
    let plain = std::env::var_os("TERM").is_some_and(|term| term == "linux");
    if level == Level::Mono || plain {
        return None;
    }
    let repository = env!("CARGO_PKG_REPOSITORY");
    let own = || format!("{repository}/blob/HEAD/docs/deploy/runbooks/{{id}}.md");
    configured.map(str::to_owned).or_else(|| (!repository.is_empty()).then(own))
}

/// Returns the capabilities of the terminal, from its environment and the options.
pub(super) fn described(config: &Config) -> Result<TerminalOptions, RunError> {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let level = level(config.text(known::COLOR));
    // The first that is set decides, as for the C library.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(env);
    let glyphs = match config.text(known::GLYPHS) {
        Some("unicode") => Glyphs::UNICODE,
        Some("ascii") => Glyphs::ASCII,
        _ => Glyphs::for_locale(locale.iter().map(String::as_str)),
    };
    let window = config.text(known::WINDOW).unwrap_or_default();
    Ok(TerminalOptions {
        theme: config.text(known::THEME).unwrap_or_default().to_owned(),
        by_ground: [known::THEME_DARK, known::THEME_LIGHT]
            .map(|setting| config.text(setting).unwrap_or_default().to_owned()),
        themes: settings::themes(),
        labels: settings::labels()?,
        level,
        glyphs,
        keys: settings::keymap(config)?,
        tour: false,
        window: WINDOWS.into_iter().find(|span| text::span(*span) == window),
        headline: settings::headline(config),
        mouse: config.flag(known::MOUSE),
        bell: config.flag(known::BELL),
        notify: match config.text(known::NOTIFY) {
            Some("osc9") => Notify::Osc9,
            Some("osc777") => Notify::Osc777,
            _ => Notify::Off,
        },
        links: links(level, config.text(known::LINKS)),
        panics: None,
    })
}
