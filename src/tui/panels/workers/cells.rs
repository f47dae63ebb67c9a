//! The cells of each column, for one worker and for the row of totals.

use std::time::Duration;

use super::{BAR, COURSE, Entry, WARMING};
use crate::domain::Tier;
use crate::snapshot::{Sourced, WorkerRow};
use crate::tui::judge::{self, State};
use crate::tui::panels::PanelContext;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Part, part};
use crate::tui::widgets::{gauge, sparkline};

/// Endpoints are scraped every 5 s; what is older than three scrapes is dimmed.
const FRESH: Duration = Duration::from_secs(15);

/// Columns that have a graph beside their number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Graphs {
    /// A bar beside KV%.
    pub(super) bar: bool,
    /// The course of the last minutes beside STORE/s.
    pub(super) course: bool,
}

/// The context in which cells are written.
#[derive(Clone, Copy)]
pub(super) struct Pen<'a> {
    pub(super) context: &'a PanelContext<'a>,
    pub(super) glyphs: &'static Glyphs,
    /// Columns of the table.
    pub(super) room: usize,
    /// Columns of the names.
    pub(super) name: usize,
    /// Columns of the block sizes.
    pub(super) sizes: usize,
    /// Columns that have a graph beside their number.
    pub(super) graphs: Graphs,
    /// True when KV events would be seen if there were any, so that 0 is a count.
    pub(super) events: bool,
    /// True when routers tell what they routed.
    pub(super) requests: bool,
}

/// Returns a cell in the colour of plain text.
pub(super) fn plain(text: String) -> Part {
    part(text, Role::Fg)
}

impl Pen<'_> {
    pub(super) fn count(&self, value: Option<u64>) -> Part {
        self.known(value.map(text::count))
    }

    pub(super) fn tier(&self, tier: Tier) -> String {
        let blocks = self.context.snapshot.workers.iter().map(|row| row.tiers[tier as usize]);
        text::count(blocks.fold(0, u64::saturating_add))
    }

    /// Returns a count of blocks, marked as a lower bound unless `is_whole`.
    pub(super) fn least(&self, blocks: u64, is_whole: bool) -> String {
        let count = text::count(blocks);
        if is_whole { count } else { format!("{}{count}", self.glyphs.least) }
    }

    /// Returns the blocks of all workers, marked as a lower bound unless all of each one's blocks are known.
    pub(super) fn least_of_all(&self, blocks: u64) -> String {
        self.least(blocks, self.context.snapshot.workers.iter().all(WorkerRow::is_whole))
    }

    pub(super) fn sum(&self, value: fn(&WorkerRow) -> Option<u64>) -> Part {
        let rows = self.context.snapshot.workers.iter().filter(|row| !row.gone);
        let sum = rows.map(value).reduce(|a, b| Some(a?.saturating_add(b?))).flatten();
        self.known(sum.map(text::count))
    }

    pub(super) fn known(&self, value: Option<String>) -> Part {
        value.map_or_else(|| part(self.glyphs.none, Role::Muted), |value| part(value, Role::Fg))
    }

    /// Returns what `write` makes of a value, dimmed where it was scraped a while ago. What is published
    /// says when it changes, and is no older for that.
    pub(super) fn by_age<T: Copy>(
        &self,
        value: Option<&Sourced<T>>,
        write: impl Fn(Option<T>) -> Part,
    ) -> Part {
        let part = write(value.map(|value| value.value));
        let old = value.is_some_and(|value| {
            value.source.is_scraped() && self.context.now.since(value.at) > FRESH
        });
        if old { Part { role: Role::Muted, ..part } } else { part }
    }

    /// Writes a share of KV blocks in use, in the colour of what the worker is judged by: the use that lasted.
    pub(super) fn usage(&self, share: Option<f64>, worker: Option<&WorkerRow>) -> Part {
        let role = |share: f64| {
            let lasting = worker.and_then(|row| row.kv_lately).unwrap_or(share);
            judge::usage(self.context.snapshot, worker, lasting)
        };
        match share {
            None => self.known(None),
            Some(share) if self.graphs.bar => {
                let percent = text::whole_percent(share);
                let bar = gauge::bar(share, BAR, self.glyphs);
                part(format!("{bar} {percent:>3}%"), role(share))
            }
            Some(share) => part(text::whole_percent(share), role(share)),
        }
    }

    /// Writes blocks stored per second, with their course over the last minutes where there is room.
    pub(super) fn stores(&self, row: &WorkerRow, rate: f64) -> Part {
        let rate = text::short(rate);
        if !self.graphs.course {
            return part(rate, Role::Fg);
        }
        let points = &row.stored_lately.points;
        let course = sparkline::cells(points, COURSE, sparkline::largest(points, 1.0), self.glyphs);
        part(format!("{course} {rate:>7}"), Role::Fg)
    }

    pub(super) fn block_size(&self, entry: &Entry<'_>) -> Part {
        let said = sizes(entry, self.glyphs);
        let role = entry.size.map_or(Role::Fg, State::role);
        if entry.row.is_away() {
            return part(text::cut(&said, self.sizes, self.glyphs.ellipsis), Role::Muted);
        }
        match judge::sizes(&entry.row.block_size).len() {
            0 if entry.size.is_none() => self.known(None),
            0 | 1 => part(said, role),
            _ if text::width(&said) <= self.sizes => part(said, role),
            several => {
                let mark = entry.size.map_or("", |state| state.glyph(self.glyphs));
                part(format!("{several} {mark}"), role)
            }
        }
    }

    pub(super) fn orphans(&self, entry: &Entry<'_>) -> Part {
        let row = entry.row;
        if row.is_away() {
            return part("gone", Role::Muted);
        }
        let limit = self.context.snapshot.limits.rejected;
        match judge::rejected(row) {
            Some(share) => {
                let role = match judge::figure(share >= limit, entry.verdict.state) {
                    State::Ok if !row.is_whole() => Role::Unknown,
                    State::Ok => Role::Fg,
                    state => state.role(),
                };
                part(text::percent(share), role)
            }
            _ if row.is_whole() || row.reading || row.last_event.is_none() => self.known(None),
            _ if self.room >= WARMING => {
                part(format!("{} warming", self.glyphs.unknown), Role::Unknown)
            }
            _ => part(self.glyphs.unknown, Role::Unknown),
        }
    }
}

/// Returns the block sizes claimed for a worker: `32`, or `32≠16`, with the mark of the finding that is about them.
pub(super) fn sizes(entry: &Entry<'_>, glyphs: &Glyphs) -> String {
    let sizes: Vec<String> =
        judge::sizes(&entry.row.block_size).iter().map(u32::to_string).collect();
    let said = if sizes.is_empty() { glyphs.none.to_owned() } else { sizes.join(glyphs.differs) };
    said + entry.size.map_or("", |state| state.glyph(glyphs))
}

/// Returns the columns that [`name`] takes.
pub(super) fn name_width(row: &WorkerRow) -> usize {
    let of = |said: &str| text::width(&text::clean(said));
    of(&row.alias) + row.pod.as_deref().map_or(0, |pod| of(pod) + 1)
}

/// Returns its short name and its pod.
pub(super) fn name(row: &WorkerRow) -> String {
    let alias = text::clean(&row.alias);
    match &row.pod {
        Some(pod) => format!("{alias} {}", text::clean(pod)),
        None => alias.into_owned(),
    }
}
