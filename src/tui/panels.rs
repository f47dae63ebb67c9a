//! The panels, and the bars around them. Each draws one part of a picture into one rectangle.

pub mod banner;
pub mod bars;
pub mod charts;
pub mod events;
pub mod findings;
pub mod fleet;
pub mod footer;
pub mod foresight;
pub mod headline;
pub mod heatmap;
pub mod memory;
pub mod reader;
pub mod router;
pub mod routing;
pub mod status;
pub mod stream;
pub mod timeline;
pub mod tree;
pub mod worker;
pub mod workers;

use std::time::Duration;

use ratatui::layout::Rect;

use super::judge;
use super::keymap::Keymap;
use super::planning::Planning;
use super::text;
use super::theme::{Glyphs, Role};
use super::views;
use super::widgets::canvas::{Canvas, Part};
use super::widgets::panel::{self, Heading};
use crate::domain::Timestamp;
use crate::snapshot::{Answer, Feed, Snapshot, WorkerRow};

/// Columns of a deployment's name in a trail.
const LABEL: usize = 20;

/// A panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PanelId {
    /// The table of workers.
    #[default]
    Workers,
    /// The table of workers to select from.
    WorkerTable,
    /// The selected worker.
    Worker,
    /// Its memory: what it has room for, and how long it keeps what it holds.
    WorkerMemory,
    /// Its Blocks by KV events per second.
    WorkerTraffic,
    /// Its cached blocks.
    WorkerBlocks,
    /// Its KV utilization and its hit rate.
    WorkerShares,
    /// The list of decisions.
    Decisions,
    /// The selected decision.
    Decision,
    /// The share of requests of each worker.
    Shares,
    /// Decisions per second by worker.
    RoutedRates,
    /// Time to first token.
    Ttft,
    /// Share of requests with overlap.
    Hits,
    /// The figures that users feel, and those of the cache.
    Headline,
    /// One series over time, with what happened.
    Timeline,
    /// The hottest prefixes against the workers that cache them.
    HeatMap,
    /// Router and mirror.
    Router,
    /// The stream of events.
    Stream,
    /// The selected event.
    Event,
    /// The last events.
    Events,
    /// The list of findings and checks.
    Findings,
    /// The one that is selected.
    Finding,
    /// The tree of cached prefixes.
    Tree,
    /// The prefix that is selected.
    Prefix,
    /// Stores that a larger cache avoids.
    Curve,
    /// Blocks that the drain of a worker loses.
    Drain,
    /// The prefixes with most demand.
    Leaders,
    /// Blocks that several ranks hold, and where prefixes land.
    Copies,
    /// The effects of changes, by simulation.
    Planner,
}

/// State of the UI that panels may know: the part that views share, and the part of each view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The panel that keys act on.
    pub focus: PanelId,
    /// The time that graphs cover.
    pub window: Duration,
    /// First row shown of the worker table.
    pub first_worker: usize,
    /// First row shown of the router panel.
    pub first_router: usize,
    /// Number of the last event shown; none to follow the newest.
    pub last_event: Option<u64>,
    /// Of the overview.
    pub overview: views::overview::State,
    /// Of the view of workers.
    pub workers: views::workers::State,
    /// Of the view of routing.
    pub routing: views::routing::State,
    /// Of the view of events.
    pub events: views::events::State,
    /// Of the view of findings.
    pub findings: views::findings::State,
    /// Of the view of what would help.
    pub foresight: views::foresight::State,
    /// Of the view of the tree.
    pub tree: views::tree::State,
}

/// All that a panel is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct PanelContext<'a> {
    /// The picture to show.
    pub snapshot: &'a Snapshot,
    /// The time that ages are counted from.
    pub now: Timestamp,
    /// State of the UI.
    pub look: &'a Look,
    /// True when panels have frames.
    pub framed: bool,
    /// The answer of the engine: the picture's own, or that of the newest picture for frames, which do not change.
    pub answer: &'a Answer,
    /// True while the picture is held, so that nothing more will come.
    pub held: bool,
    /// True while it is one of the past.
    pub past: bool,
    /// Time between the end of its graphs and now.
    pub age: Duration,
    /// The keys that hold.
    pub keys: &'a Keymap,
    /// The series that the panels of the overview share, and where in them the screen stands.
    pub timeline: timeline::Course<'a>,
    /// The panels on the screen: what one of them tells, another need not.
    pub panels: &'a [(PanelId, Rect)],
    /// The last plan.
    pub planning: &'a Planning,
}

impl PanelContext<'_> {
    /// Returns true when panel `id` is on the screen as well.
    fn shows(&self, id: PanelId) -> bool {
        self.panels.iter().any(|(shown, _)| *shown == id)
    }

    /// Draws the frame of `id`, if there are frames; returns what is inside.
    fn frame(
        &self,
        canvas: &mut Canvas<'_>,
        area: Rect,
        id: PanelId,
        title: impl Into<String>,
        notes: Vec<Part>,
    ) -> Rect {
        if !self.framed {
            return canvas.clip(area);
        }
        let focused = self.look.focus == id;
        panel::draw(canvas, area, &Heading { title: title.into(), notes, focused })
    }

    /// Returns a title that says where one is: the deployment, and each step below it.
    fn trail(&self, steps: &[&str], glyphs: &Glyphs) -> String {
        let label = text::clean(&self.snapshot.deployment.label);
        let label = text::cut_middle(&label, LABEL, glyphs.ellipsis);
        let all = [label.as_str()].into_iter().chain(steps.iter().copied());
        let named: Vec<&str> = all.filter(|step| !step.is_empty()).collect();
        named.join(&format!(" {} ", glyphs.step))
    }

    /// Returns true when nothing newer will come into the picture by itself: it is held, or of a
    /// recording that does not play.
    fn is_still(&self) -> bool {
        let paused = matches!(&self.snapshot.feed, Feed::Replay(playback) if playback.paused);
        self.held || paused
    }

    /// Returns what a list at its newest row says: that it goes on, with the mark `on`, or why not.
    fn newest(&self, on: &'static str, glyphs: &Glyphs) -> (&'static str, &'static str) {
        match (&self.snapshot.feed, self.is_still()) {
            (_, false) => ("newest", on),
            (_, true) if self.past => ("newest then", glyphs.pause),
            (_, true) if self.held => ("newest when frozen", glyphs.pause),
            (Feed::Replay(it), true) if it.position >= it.end => ("at the end", glyphs.pause),
            (_, true) => ("newest so far, paused", glyphs.pause),
        }
    }

    /// Returns how old something was at the time of the picture, in at most four columns.
    fn age(&self, at: Timestamp) -> String {
        let age = text::age(self.now.since(at));
        if self.held && age == text::JUST_NOW { String::from("then") } else { age }
    }

    /// Returns what a graph of one worker adds to its title where it covers less than what is wanted.
    fn kept(&self, window: Duration) -> String {
        let cut = self.snapshot.series.window > window;
        if cut { format!(", {} kept", text::span(window)) } else { String::new() }
    }

    /// Says that an answer is not in the picture, when it will not come: it is on its way otherwise.
    fn unanswered(&self, canvas: &mut Canvas<'_>, area: Rect) {
        // Graphs of the time of a held picture come together with the answer.
        if self.held && self.snapshot.series.until == Some(self.snapshot.at) {
            let said = if self.past { "not kept of the past" } else { "not in the held picture" };
            canvas.put(area, 0, area.height / 2, said, Role::Muted);
        }
    }

    /// Returns true while orphans prove nothing, because earlier blocks of a worker are not known.
    fn is_warming(&self) -> bool {
        self.snapshot.is_warming()
    }

    /// Returns what a panel about one worker says where none is chosen.
    fn no_worker(&self) -> &'static str {
        if self.snapshot.workers.is_empty() { "No worker yet" } else { "No worker matches" }
    }

    /// Returns refused stores as a share of stores over the last minute, of the workers that are there;
    /// none without stores, or while the share of one worker is unknown.
    fn orphan_share(&self) -> Option<f64> {
        let (mut stores, mut refused) = (0.0, 0.0);
        let storing = |row: &&WorkerRow| !row.gone && row.rates.minute.stores > 0.0;
        for row in self.snapshot.workers.iter().filter(storing) {
            stores += row.rates.minute.stores;
            refused += row.rates.minute.stores * row.orphan_share?;
        }
        (stores > 0.0).then(|| (refused / stores).min(1.0))
    }

    /// Returns the share of rejected stores and its state; none while it is unknown. A small share is not called good
    /// while earlier blocks of workers are unknown.
    fn orphans(&self) -> Option<(f64, judge::State)> {
        let share = self.snapshot.totals.rejected(self.orphan_share());
        let share = share.filter(|_| self.snapshot.catching_up.is_none())?;
        let beyond = share >= self.snapshot.limits.rejected;
        let state = match judge::figure(beyond, judge::deployment(self.snapshot)) {
            judge::State::Ok if self.is_warming() => judge::State::Unknown,
            state => state,
        };
        Some((share, state))
    }
}

/// Draws panel `id` into `area`.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, id: PanelId, context: &PanelContext<'_>) {
    match id {
        PanelId::Workers => workers::draw(canvas, area, context),
        PanelId::WorkerTable => workers::choose(canvas, area, context),
        PanelId::Worker => worker::draw(canvas, area, context),
        PanelId::WorkerMemory => memory::draw(canvas, area, context),
        PanelId::WorkerTraffic => worker::traffic(canvas, area, context),
        PanelId::WorkerBlocks => worker::blocks(canvas, area, context),
        PanelId::WorkerShares => worker::shares(canvas, area, context),
        PanelId::Decisions => routing::list(canvas, area, context),
        PanelId::Decision => routing::decision(canvas, area, context),
        PanelId::Shares => routing::shares(canvas, area, context),
        PanelId::RoutedRates => routing::rates(canvas, area, context),
        PanelId::Ttft => routing::ttft(canvas, area, context),
        PanelId::Stream => stream::draw(canvas, area, context),
        PanelId::Event => stream::event(canvas, area, context),
        PanelId::Hits => charts::hits(canvas, area, context),
        PanelId::Headline => headline::draw(canvas, area, context),
        PanelId::Timeline => timeline::draw(canvas, area, context),
        PanelId::HeatMap => heatmap::draw(canvas, area, context),
        PanelId::Router => router::draw(canvas, area, context),
        PanelId::Events => events::draw(canvas, area, context),
        PanelId::Findings => findings::draw(canvas, area, context),
        PanelId::Finding => findings::detail::draw(canvas, area, context),
        PanelId::Tree => tree::draw(canvas, area, context),
        PanelId::Prefix => tree::detail::draw(canvas, area, context),
        PanelId::Curve => foresight::curve::draw(canvas, area, context),
        PanelId::Drain => foresight::drain::draw(canvas, area, context),
        PanelId::Leaders => foresight::leaders::draw(canvas, area, context),
        PanelId::Copies => foresight::copies::draw(canvas, area, context),
        PanelId::Planner => foresight::planner::draw(canvas, area, context),
    }
}
