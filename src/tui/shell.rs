//! The UI's own state: what is open, focused, scrolled and held. Nothing of the deployment.

mod change;
mod copy;
mod edit;
mod fleet;
mod mouse;
mod past;
mod planning;
mod scope;
mod screen;
mod tour;
mod trail;
mod view;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::layout::Rect;

use super::command::{Action, Command, Scroll, Simulate, View};
use super::findings::Fact;
use super::history::History;
use super::keymap::{Focus, Keymap};
use super::labels::Labels;
use super::layout::{self, Below, Class, Layout, Needs, Strip};
use super::line;
use super::overlay::help;
use super::panels::headline::Figure;
use super::panels::{self, Look, PanelId};
use super::planning::Planning;
use super::views::{self, Picker};
use crate::snapshot::{Ask, Feed, Foresight, Snapshot, ViewQuery};

/// Events that every picture holds, so that a held one has them for every view.
const EVENTS: usize = 500;
/// Most letters of a pasted line that are typed.
const PASTED: usize = 1_000;
/// Decisions that every picture holds.
const DECISIONS: usize = 50;
/// Points of each graph, at least and at most.
const POINTS: (usize, usize) = (60, 600);

/// An overlay above the view.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    /// The help, with what is looked for in it.
    Help(help::Search),
    /// A list to pick from.
    Picker(Picker),
    /// The command line, with what was typed.
    Line(String),
    /// The filter of the view, with what it was before.
    Filter(String),
}

/// The direction in which the focus moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Next,
    Previous,
}

/// Something to tell until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    text: String,
    grave: bool,
}

/// The state of the UI.
#[derive(Clone, Debug)]
pub struct Shell {
    view: View,
    /// The view that was shown before.
    before: View,
    open: Open,
    look: Look,
    zoom: bool,
    themes: Vec<String>,
    theme: String,
    /// The picture that is shown instead of the newest.
    held: Option<past::Held>,
    history: History,
    /// The facts for which the banner has one row; it opens again when they change.
    collapsed: Vec<Fact>,
    message: Option<Message>,
    size: (u16, u16),
    lag: Duration,
    asked: Option<ViewQuery>,
    keys: Keymap,
    /// True once the graph deployments were offered by themselves, or one was chosen.
    offered: bool,
    /// The selected command of the palette.
    palette_at: usize,
    /// The step of the tour.
    tour: Option<usize>,
    /// The views that led to this one.
    trail: Vec<trail::Crumb>,
    /// The whole screen; the view has what the tour leaves.
    screen: (u16, u16),
    /// The selection in the fleet.
    fleet: panels::fleet::State,
    /// True when the deployment was picked from a fleet.
    from_fleet: bool,
    /// The last plan.
    planning: Planning,
}

impl Shell {
    /// Returns a shell that uses `theme`; `themes` are those that `t` goes through.
    pub fn new(theme: &str, themes: Vec<String>) -> Self {
        Self {
            view: View::Overview,
            before: View::Overview,
            open: Open::Nothing,
            look: first_look(),
            zoom: false,
            themes,
            theme: theme.to_owned(),
            held: None,
            history: History::default(),
            collapsed: Vec::new(),
            message: None,
            size: (80, 24),
            lag: Duration::ZERO,
            asked: None,
            keys: Keymap::default(),
            offered: false,
            palette_at: 0,
            tour: None,
            trail: Vec::new(),
            screen: (80, 24),
            fleet: panels::fleet::State::default(),
            from_fleet: false,
            planning: Planning::default(),
        }
    }

    /// Listens to these keys instead of the usual ones.
    pub fn listen_to(&mut self, keys: Keymap) {
        self.keys = keys;
    }

    /// Shows these names beside the hashes of blocks.
    pub fn name_blocks(&mut self, labels: Arc<Labels>) {
        self.look.tree.labels = labels;
    }

    /// Has graphs cover this time at first.
    pub const fn begin_with(&mut self, window: Duration) {
        self.look.window = window;
    }

    /// Shows these figures in the headline.
    pub fn head_with(&mut self, figures: Vec<Figure>) {
        self.look.overview.headline = figures;
    }

    /// Returns the picture that is shown while `live` is the newest.
    pub fn picture<'a>(&'a self, live: &'a Snapshot) -> &'a Snapshot {
        self.shown(live)
    }

    /// Returns the same without what lies over the view.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self { open: Open::Nothing, message: None, ..self.clone() }
    }

    /// Returns the name of the theme to draw with.
    pub fn theme(&self) -> &str {
        &self.theme
    }

    /// Goes back to the theme called `name`, because another cannot be used.
    pub fn keep_theme(&mut self, name: &str) {
        name.clone_into(&mut self.theme);
    }

    /// Returns what pictures should hold: as many points as the screen can show, and what the view
    /// needs. `live` tells what there is to ask for.
    pub fn query(&self, live: &Snapshot) -> ViewQuery {
        let dots = usize::from(self.size.0);
        let mut query = ViewQuery {
            window: self.look.window,
            until: self.held.as_ref().map(|held| held.picture.at),
            compare: change::baseline(live),
            points: dots.clamp(POINTS.0, POINTS.1),
            events: EVENTS,
            decisions: DECISIONS,
            prefixes: true,
            foresight: Foresight::PICTURE,
            ask: Ask::Nothing,
        };
        let layout = self.layout(self.area(), live);
        (views::view(self.view).ask)(&self.look, &self.view_context(live, &layout), &mut query);
        if self.is_past() && matches!(query.ask, Ask::Tree(_)) {
            query.ask = Ask::Nothing;
        }
        query
    }

    /// Notes the size of the screen; returns a query when the last one no longer fits.
    pub fn resize(&mut self, width: u16, height: u16, live: &Snapshot) -> Option<Action> {
        self.screen = (width, height);
        self.size = self.divided(self.screen).0;
        self.ask(live)
    }

    /// Notes how long ago the picture arrived, so that ages go on while nothing else does.
    pub fn wait(&mut self, since_picture: Duration) {
        self.lag = since_picture;
    }

    /// Says `text` in the footer until the next key.
    pub fn tell(&mut self, text: impl Into<String>, grave: bool) {
        self.message = Some(Message { text: text.into(), grave });
    }

    /// Returns true when something on the screen ages while no picture arrives.
    pub fn ages(&self, snapshot: &Snapshot) -> bool {
        let counts = snapshot.frames > 0 || self.held.is_some() || snapshot.fleet.is_some();
        !matches!(snapshot.feed, Feed::Replay(_)) && counts
    }

    /// Returns what a key means now.
    pub fn command(&self, event: KeyEvent, snapshot: &Snapshot) -> Option<Command> {
        self.keys.command(self.focus(snapshot), event)
    }

    /// Types the first line of what was pasted into the open field. Elsewhere it would be taken for keys, so it is
    /// ignored.
    pub fn paste(&mut self, text: &str, snapshot: &Snapshot) -> Option<Action> {
        let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
        let mut action = None;
        for letter in line.chars().filter(|letter| !letter.is_control()).take(PASTED) {
            let Some(typed) = self.keys.typed(self.focus(snapshot), letter) else {
                let says = "pasted text was ignored: press / first to filter, or : for a command";
                self.tell(says, false);
                return action;
            };
            action = self.update(typed, snapshot).or(action);
        }
        action
    }

    /// Applies `command`; returns what the program has to do, if anything.
    pub fn update(&mut self, command: Command, snapshot: &Snapshot) -> Option<Action> {
        self.message = None;
        let action = match self.obey_in_fleet(command, snapshot) {
            ControlFlow::Break(action) => action,
            ControlFlow::Continue(()) => self.obey(command, snapshot),
        };
        // What is asked for first depends on the size of the screen.
        action.or_else(|| self.asked.is_some().then(|| self.ask(snapshot)).flatten())
    }

    fn obey(&mut self, command: Command, snapshot: &Snapshot) -> Option<Action> {
        match command {
            Command::Quit => return Some(Action::Quit),
            Command::Suspend => return Some(Action::Suspend),
            Command::Redraw => return Some(Action::Redraw),
            Command::DemoFix => return self.demo_fix(snapshot),
            Command::Simulate(what) => return self.simulate(what, snapshot),
            Command::Replay(command) => return Some(Action::Replay(command)),
            Command::Window(window) => self.look.window = window,
            Command::WindowLonger => self.step_window(true),
            Command::WindowShorter => self.step_window(false),
            Command::Edit(edit) => return self.edit(edit, snapshot),
            Command::ToggleHelp if matches!(self.open, Open::Help(_)) => self.open = Open::Nothing,
            Command::ToggleHelp => self.open = Open::Help(help::Search::default()),
            Command::ToggleMouse => return Some(Action::ToggleMouse),
            Command::OpenLine => self.open_line(""),
            Command::Tour(by) => return self.move_tour(by, snapshot),
            Command::OpenExport => self.open_line("export "),
            Command::Export(format) => return Some(Action::Export(format)),
            Command::OpenFind => self.open_line("find "),
            Command::Find(_) | Command::OnlyWorker(_) => {
                self.show(View::Tree);
                self.offer(command, snapshot);
            }
            Command::Back => return self.back(snapshot),
            Command::Show(view) => self.visit(view),
            Command::PreviousView => self.visit(self.before),
            Command::TopFinding => self.top_finding(snapshot),
            Command::Copy(what) => return self.copy(what, snapshot),
            Command::ToggleFreeze => self.toggle_freeze(snapshot),
            Command::Past(by) => return self.go_back(by, snapshot),
            Command::FocusNext => self.move_focus(snapshot, Turn::Next),
            Command::FocusPrevious => self.move_focus(snapshot, Turn::Previous),
            Command::Scroll(by) => self.scroll(by, snapshot),
            Command::ToggleZoom => self.zoom = !self.zoom,
            Command::ToggleBanner => self.toggle_banner(snapshot),
            Command::NextTheme => self.next_theme(),
            Command::Theme(at) => self.use_theme(at),
            Command::OpenFilter => self.open_filter(snapshot),
            Command::Pick => return self.pick(snapshot),
            Command::LookAt(scope) => return self.pick_scope(scope, snapshot),
            Command::Plan => return self.toggle_plan(snapshot),
            // What is left is the view's.
            Command::Open
            | Command::Follow
            | Command::Wrap
            | Command::NextGraph
            | Command::Times
            | Command::Lines
            | Command::Sort
            | Command::SortReversed
            | Command::Columns
            | Command::Figures
            | Command::Picked(..)
            | Command::Heard
            | Command::WorkerTree
            | Command::Tree(_) => {
                self.offer(command, snapshot);
            }
        }
        None
    }

    /// Returns what is open, which decides the meaning of keys.
    fn focus(&self, snapshot: &Snapshot) -> Focus {
        match &self.open {
            Open::Help(_) => Focus::Help,
            Open::Picker(_) => Focus::Picker,
            Open::Line(_) => Focus::Line,
            Open::Filter(_) => Focus::Filter,
            Open::Nothing => self.view_focus(snapshot),
        }
    }

    /// Opens the command line with something typed already.
    fn open_line(&mut self, typed: &str) {
        self.open = Open::Line(typed.to_owned());
        self.palette_at = 0;
    }

    fn demo_fix(&mut self, snapshot: &Snapshot) -> Option<Action> {
        match &snapshot.feed {
            Feed::Demo(demo) if demo.fixed => self.tell("the fix is applied already", false),
            Feed::Demo(demo) if demo.fix.is_empty() => {
                self.tell("this scenario has nothing to fix", false);
            }
            Feed::Demo(_) => return Some(Action::DemoFix),
            Feed::Live | Feed::Replay(_) => self.tell("only a demo can be fixed", true),
        }
        None
    }

    fn simulate(&mut self, what: Simulate, snapshot: &Snapshot) -> Option<Action> {
        match &snapshot.feed {
            Feed::Demo(_) => Some(Action::Simulate(what)),
            Feed::Live | Feed::Replay(_) => {
                self.tell("only a demo can be changed", true);
                None
            }
        }
    }

    fn next_theme(&mut self) {
        let at = self.themes.iter().position(|name| *name == self.theme);
        self.use_theme(at.map_or(0, |at| (at + 1) % self.themes.len().max(1)));
    }

    fn use_theme(&mut self, at: usize) {
        if let Some(name) = self.themes.get(at).cloned() {
            self.tell(format!("theme {name}"), false);
            self.theme = name;
        }
    }

    fn step_window(&mut self, longer: bool) {
        let (mut windows, now) = (line::WINDOWS.into_iter(), self.look.window);
        let next = if longer {
            windows.find(|window| *window > now)
        } else {
            windows.rfind(|window| *window < now)
        };
        match (next, longer) {
            (Some(next), _) => self.look.window = next,
            (None, true) => self.tell("graphs cover no more time than this", false),
            (None, false) => self.tell("graphs cover no less time than this", false),
        }
    }

    fn ask(&mut self, live: &Snapshot) -> Option<Action> {
        let query = self.query(live);
        (self.asked.as_ref() != Some(&query)).then(|| {
            self.asked = Some(query.clone());
            Action::Query(query)
        })
    }

    /// Scrolls what is open, or what the view has focused.
    fn scroll(&mut self, by: Scroll, live: &Snapshot) {
        let page = usize::from(self.size.1.saturating_sub(views::scroll::AROUND)).max(1);
        if let Open::Help(search) = &self.open {
            let last = self.book(live).count(&search.typed).saturating_sub(1);
            let at = views::moved(search.at, by, page, last);
            self.open = Open::Help(help::Search { at, ..search.clone() });
        } else if matches!(self.open, Open::Line(_)) {
            let last = self.palette(live).len().saturating_sub(1);
            self.palette_at = views::moved(self.palette_at, by, page, last);
        } else if let Open::Picker(picker) = &mut self.open {
            let last = picker.choices.len().saturating_sub(1);
            picker.at = views::moved(picker.at, by, page, last);
        } else if !self.offer(Command::Scroll(by), live) {
            let mut look = self.look.clone();
            let layout = self.layout(self.area(), live);
            views::scroll::panel(&mut look, by, &self.view_context(live, &layout));
            self.look = look;
        }
    }

    fn move_focus(&mut self, snapshot: &Snapshot, turn: Turn) {
        let shown = layout::arrange(self.area(), &self.needs(self.area(), snapshot));
        let focus = shown.focus(self.look.focus);
        // Figures take no keys, and would leave the screen empty if they had it for themselves.
        let panels: Vec<PanelId> =
            shown.panels.iter().map(|(id, _)| *id).filter(|id| *id != PanelId::Headline).collect();
        let at = panels.iter().position(|id| *id == focus).unwrap_or(0);
        let count = panels.len().max(1);
        let next = match turn {
            Turn::Next => at + 1,
            Turn::Previous => at + count - 1,
        } % count;
        if let Some(id) = panels.get(next) {
            self.look.focus = *id;
        }
    }

    /// Returns what the layout must make room for.
    fn needs(&self, area: Rect, live: &Snapshot) -> Needs {
        let shown = self.shown(live);
        Needs {
            view: self.view,
            findings: shown.findings.len() + shown.checks.len(),
            workers: match self.view {
                // Those that left come last, and scroll.
                View::Overview => shown.workers.iter().filter(|row| !row.gone).count(),
                _ => shown.workers.len(),
            },
            opened: (views::view(self.view).opened)(&self.look),
            strip: match live.feed {
                Feed::Live => Strip::None,
                Feed::Demo(_) => Strip::Demo,
                Feed::Replay(_) => Strip::Replay,
            },
            below: Below {
                selected: self.look.overview.follows_worker,
                prefixes: shown.tree.accepted_blocks > 0
                    && (!self.is_past() || shown.prefixes.is_some()),
            },
            banner: self.banner(area, live).all(),
            past: self.is_past(),
            zoom: None,
        }
    }

    /// Returns the layout: all panels, or the focused one alone.
    fn layout(&self, area: Rect, live: &Snapshot) -> Layout {
        let all = self.needs(area, live);
        let layout = layout::arrange(area, &all);
        if !self.zoom || layout::class(area) == Class::Tiny {
            return layout;
        }
        layout::arrange(area, &Needs { zoom: Some(layout.focus(self.look.focus)), ..all })
    }

    const fn area(&self) -> Rect {
        Rect { x: 0, y: 0, width: self.size.0, height: self.size.1 }
    }

    /// Returns the picture to show: the one that is held, or the newest.
    fn shown<'a>(&'a self, live: &'a Snapshot) -> &'a Snapshot {
        let tells = layout::class(self.area()) != Class::Tiny || !self.is_past();
        self.held.as_ref().filter(|_| tells).map_or(live, |held| &held.picture)
    }
}

/// Returns what is remembered at first.
fn first_look() -> Look {
    Look {
        focus: PanelId::Workers,
        window: ViewQuery::default().window,
        first_worker: 0,
        first_router: 0,
        last_event: None,
        overview: views::overview::State::default(),
        workers: views::workers::State::default(),
        routing: views::routing::State::default(),
        events: views::events::State::default(),
        findings: views::findings::State::default(),
        foresight: views::foresight::State::default(),
        tree: views::tree::State::default(),
    }
}
