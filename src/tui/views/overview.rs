//! The deployment as a story: what is wrong, what users feel, what happened when, and to which worker.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{Choice, Picker, Reply, View, ViewContext, moved};
use crate::domain::{TreeNode, WorkerRank};
use crate::snapshot::{Ask, TreeQuery, ViewQuery};
use crate::tui::command::{self, Command, Pick, Scroll};
use crate::tui::layout::{Class, Layout, Needs, columns, table_rows, take_top};
use crate::tui::panels::headline::Figure;
use crate::tui::panels::{Look, PanelId, events, workers};
use crate::tui::text;

/// The view.
pub const VIEW: View = View {
    name: command::View::Overview,
    about: "is KV routing working?",
    home: PanelId::Workers,
    opened: |_| false,
    filter: None,
    arrange,
    ask,
    update,
    copy,
};

/// Columns from which on three panels stand side by side below the workers.
const WIDE: u16 = 160;
/// Rows of the table of workers besides these: names and frame.
const TABLE: u16 = 3;
/// Workers that are shown at once before the panels below them get more rows.
const FLEET: u16 = 16;
/// Rows of the router's facts with the frame.
const FACTS: u16 = 14;
/// Rows of a map of prefixes, at least and at most.
const MAP: (u16, u16) = (6, 20);
/// Levels of the tree that the map shows.
const LEVELS: u16 = 2;
/// Workers that the map shows at most.
const MAPPED: usize = 48;

/// A series that the timeline can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Blocks that are stored, rejected and evicted.
    #[default]
    Blocks,
    /// Cache hits.
    Hits,
    /// Time to first token.
    FirstToken,
    /// KV cache in use.
    InUse,
    /// Blocks in the index.
    Index,
    /// Decisions of routers.
    Decisions,
}

impl Shown {
    /// Every series, in the order in which the key walks them.
    pub const ALL: [Self; 6] =
        [Self::Blocks, Self::Hits, Self::FirstToken, Self::InUse, Self::Index, Self::Decisions];

    /// Returns the next one.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|shown| *shown == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// Returns its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Blocks => "Blocks per second",
            Self::Hits => "Cache hits %",
            Self::FirstToken => "Time to first token, s",
            Self::InUse => "KV cache in use %",
            Self::Index => "Blocks in the index",
            Self::Decisions => "Requests routed per second",
        }
    }

    /// Returns the value at the top of its axis; none where it fits the data.
    pub const fn top(self) -> Option<f64> {
        match self {
            Self::Hits | Self::InUse => Some(1.0),
            Self::Blocks | Self::FirstToken | Self::Index | Self::Decisions => None,
        }
    }

    /// Returns the least value at the top of its axis, where it fits the data.
    pub const fn least(self) -> f64 {
        match self {
            Self::FirstToken => 0.05,
            _ => 1.0,
        }
    }

    /// Returns how its values are written.
    pub const fn label(self) -> fn(f64) -> String {
        match self {
            Self::Hits | Self::InUse => text::whole_percent,
            Self::FirstToken => text::seconds,
            Self::Blocks | Self::Index | Self::Decisions => text::short,
        }
    }
}

/// State of the view between pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The series of the timeline.
    pub shown: Shown,
    /// The figures of the headline, in their order.
    pub headline: Vec<Figure>,
    /// True once a worker was selected, so that the panel below tells of it.
    pub follows_worker: bool,
}

impl Default for State {
    fn default() -> Self {
        let headline = Figure::USUAL.to_vec();
        Self { shown: Shown::default(), headline, follows_worker: false }
    }
}

/// Asks for the prefixes that are used most, where they are shown.
fn ask(look: &Look, view_context: &ViewContext<'_>, query: &mut ViewQuery) {
    if let Some(area) = view_context.layout.panel(PanelId::HeatMap) {
        query.ask = Ask::Tree(Box::new(TreeQuery {
            spread: [(TreeNode::Root, LEVELS)].into(),
            ranks: worst(view_context),
            ..super::tree::hottest(area.height.into())
        }));
    }
    // The timeline ends now, with a cursor in it, unless the moment is older than what it covers.
    if let Some(then) = query.until {
        let age = view_context.live_at.since(then);
        let slack = look.window / 10;
        let fits = age + slack <= look.window;
        query.until = if fits { None } else { Some(then.after(look.window / 2)) };
    }
}

/// Returns the ranks that the map shows where there is no room for all: the worst first.
fn worst(view_context: &ViewContext<'_>) -> Vec<WorkerRank> {
    if view_context.snapshot.workers.len() <= MAPPED {
        return Vec::new();
    }
    let entries = workers::entries(view_context.snapshot, workers::Sort::default());
    entries.iter().take(MAPPED).map(|entry| entry.row.rank).collect()
}

/// Enter goes on where there is more about what is focused.
fn update(look: &mut Look, command: Command, view_context: &ViewContext<'_>) -> Reply {
    let focus = view_context.layout.focus(look.focus);
    match command {
        Command::NextGraph => {
            look.overview.shown = look.overview.shown.next();
            Reply::Done
        }
        Command::Figures => Reply::Pick(figures(look, 0)),
        Command::Picked(Pick::Figures, at) => {
            toggle(look, at);
            Reply::Pick(figures(look, at))
        }
        Command::Back if look.overview.follows_worker => {
            look.overview.follows_worker = false;
            Reply::Done
        }
        Command::Scroll(by) if focus == PanelId::Workers => select(look, by, view_context),
        Command::Open => {
            let view = match focus {
                PanelId::Workers | PanelId::Worker => {
                    look.workers.opened = look.overview.follows_worker;
                    command::View::Workers
                }
                PanelId::Timeline => command::View::Workers,
                PanelId::Router | PanelId::Decisions => command::View::Routing,
                PanelId::Events => command::View::Events,
                PanelId::HeatMap => command::View::Tree,
                _ => return Reply::Pass,
            };
            Reply::Go(view)
        }
        _ => Reply::Pass,
    }
}

/// Takes a figure of the headline away, unless it is the only one, or puts it last.
fn toggle(look: &mut Look, at: usize) {
    let shown = &mut look.overview.headline;
    let Some(figure) = Figure::ALL.get(at) else { return };
    if !shown.contains(figure) {
        shown.push(*figure);
    } else if shown.len() > 1 {
        shown.retain(|other| other != figure);
    }
}

/// Returns the figures that the headline can show.
fn figures(look: &Look, at: usize) -> Picker {
    let choice = |figure: Figure| {
        let on = look.overview.headline.contains(&figure);
        Choice { on: Some(on), ..Choice::new(figure.names()[0], figure.about()) }
    };
    let choices = Figure::ALL.into_iter().map(choice).collect();
    Picker { pick: Pick::Figures, title: "Figures of the headline", choices, at }
}

/// Selects another worker; what is known of it stands below.
fn select(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let entries = workers::entries(view_context.snapshot, workers::Sort::default());
    if entries.is_empty() {
        return Reply::Done;
    }
    let area = view_context.layout.panel(PanelId::Workers).unwrap_or_default();
    let framed = view_context.layout.framed;
    let page = workers::page(area, framed, entries.len(), !framed);
    let at = workers::position(&entries, look.workers.selected);
    // The first key selects what the eye is on: the first row.
    let at = if look.overview.follows_worker {
        moved(at, by, page, entries.len() - 1)
    } else {
        moved(0, if by == Scroll::Down { Scroll::Top } else { by }, page, entries.len() - 1)
    };
    look.workers.selected = entries.get(at).map(|entry| entry.row.rank);
    look.workers.first_line = 0;
    look.overview.follows_worker = true;
    look.first_worker = at / page.max(1) * page;
    Reply::Done
}

/// Copies the last event shown, where events are focused.
fn copy(look: &Look, view_context: &ViewContext<'_>) -> Option<String> {
    if view_context.layout.focus(look.focus) != PanelId::Events {
        return None;
    }
    let rows = &view_context.snapshot.events;
    let row = rows.get(rows.len().checked_sub(1 + events::later(rows, look.last_event))?)?;
    let (time, kind) = (text::clock_millis(row.at), row.kind.name());
    Some(format!("{time} {} {kind} {}", row.who, row.text))
}

fn arrange(layout: &mut Layout, rest: Rect, class: Class, needs: &Needs) {
    match class {
        Class::Full => full(layout, rest, needs),
        Class::Medium => medium(layout, rest, needs),
        Class::Compact => compact(layout, rest, needs),
        Class::Small | Class::Tiny => layout.panels.push((PanelId::Workers, rest)),
    }
}

/// Figures, the timeline over the whole width, workers, and what follows the selection.
fn full(layout: &mut Layout, mut rest: Rect, needs: &Needs) {
    let tall = if rest.height >= 22 { 3 } else { 1 };
    let headline = take_top(&mut rest, tall);
    let timeline = (rest.height / 10 * 3 + 1).clamp(7, 16);
    let timeline = take_top(&mut rest, timeline);
    // Many workers page, so that something stays below them.
    let below = if rest.height >= 14 { 6 } else { 0 };
    let fleet = if rest.height >= TABLE + FLEET + FACTS { TABLE + FLEET } else { TABLE + 3 };
    let most = rest.height.saturating_sub(below).min((rest.height / 2).max(fleet));
    let workers = take_top(&mut rest, table_rows(needs.workers.max(2), TABLE).min(most));
    layout.panels.push((PanelId::Workers, workers));
    layout.panels.push((PanelId::Timeline, timeline));
    layout.panels.push((PanelId::Headline, headline));
    if rest.height < 4 {
        grow_last(layout, rest);
        return;
    }
    let context = if needs.below.selected { PanelId::Worker } else { PanelId::Router };
    if rest.width >= WIDE {
        return beside(layout, rest, context, needs.below.prefixes);
    }
    if rest.height >= FACTS + MAP.0 && needs.below.prefixes {
        let height = (rest.height - FACTS).min(MAP.1);
        let map = take_top(&mut rest, height);
        layout.panels.push((PanelId::HeatMap, map));
    }
    let half = rest.width / 2;
    layout.panels.push((context, columns(rest, 0, half)));
    layout.panels.push((PanelId::Events, columns(rest, half, rest.width - half)));
}

/// Gives rows that are too few for a panel to the workers above them.
fn grow_last(layout: &mut Layout, rest: Rect) {
    if let Some((_, area)) = layout.panels.iter_mut().find(|(id, _)| *id == PanelId::Workers) {
        area.height += rest.height;
    }
}

/// Places the context of the selection, the map of prefixes where there are any, and events side by side.
fn beside(layout: &mut Layout, rest: Rect, context: PanelId, prefixes: bool) {
    let side = if prefixes { rest.width / 10 * 3 } else { rest.width / 2 };
    let middle = if prefixes { rest.width - 2 * side } else { 0 };
    let mut left = columns(rest, 0, side);
    if context == PanelId::Router && rest.height >= FACTS + 6 {
        let facts = take_top(&mut left, FACTS);
        layout.panels.push((context, facts));
        layout.panels.push((PanelId::Decisions, left));
    } else {
        layout.panels.push((context, left));
    }
    if prefixes {
        layout.panels.push((PanelId::HeatMap, columns(rest, side, middle)));
    }
    let last = rest.width - side - middle;
    layout.panels.push((PanelId::Events, columns(rest, side + middle, last)));
}

/// The same in fewer columns or rows: figures in one row, and events without a frame where rows are short.
fn medium(layout: &mut Layout, mut rest: Rect, needs: &Needs) {
    let headline = take_top(&mut rest, 1);
    let workers = table_rows(needs.workers.max(2), TABLE);
    let timeline = (rest.height / 3).clamp(5, 9);
    let most = rest.height.saturating_sub(timeline).max(TABLE + 1);
    let timeline = take_top(&mut rest, timeline);
    let table = take_top(&mut rest, workers.min(most));
    layout.panels.push((PanelId::Workers, table));
    layout.panels.push((PanelId::Timeline, timeline));
    layout.panels.push((PanelId::Headline, headline));
    if rest.height >= FACTS + 6 || needs.below.selected && rest.height >= 8 {
        let context = if needs.below.selected { PanelId::Worker } else { PanelId::Router };
        let height = FACTS.min(rest.height.saturating_sub(3));
        let facts = take_top(&mut rest, height);
        layout.panels.push((context, facts));
    }
    if rest.height > 0 {
        layout.panels.push((PanelId::Events, rest));
    }
}

/// Figures in one row, every worker, and events with what is left.
fn compact(layout: &mut Layout, mut rest: Rect, needs: &Needs) {
    let headline = take_top(&mut rest, 1);
    let most = rest.height.saturating_sub(2);
    let table = take_top(&mut rest, table_rows(needs.workers, 2).min(most));
    layout.panels.push((PanelId::Workers, table));
    layout.panels.push((PanelId::Headline, headline));
    if rest.height >= 7 {
        let timeline = take_top(&mut rest, 4);
        layout.panels.push((PanelId::Timeline, timeline));
    }
    layout.panels.push((PanelId::Events, rest));
}

/// Returns by how much one step of the cursor moves, where graphs cover `window`.
pub fn step(window: Duration) -> u64 {
    (window.as_secs() / 100).max(1)
}
