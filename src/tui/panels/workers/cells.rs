//! The cells of each column, for one worker and for the row of totals.

use std::time::Duration;

use super::columns::Col;
use super::{BAR, COURSE, Entry, WARMING};
use crate::domain::Tier;
use crate::snapshot::{Sourced, WorkerRow};
use crate::tui::judge::{self, State};
use crate::tui::panels::Scene;
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
    pub(super) scene: &'a Scene<'a>,
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

impl Pen<'_> {
    pub(super) fn cell(&self, col: Col, entry: &Entry<'_>) -> Part {
        let row = entry.row;
        let rates = &row.rates.ten_seconds;
        let (state, word) = (entry.verdict.state, entry.verdict.word);
        let plain = |text: String| part(text, Role::Fg);
        let count = |value: Option<u64>| self.known(value.map(text::count));
        let short = |value: Option<f64>| self.known(value.map(text::short));
        let early = row.reading && col.is_of_events();
        if (row.gone && col.is_measured()) || early || !self.is_told(col) {
            return self.known(None);
        }
        match col {
            Col::Mark => part(state.glyph(self.glyphs), state.role()),
            Col::Name => {
                let role = if row.gone { Role::Muted } else { Role::Fg };
                part(text::cut_middle(&name(row), self.name, self.glyphs.ellipsis), role)
            }
            Col::State => part(word, state.role()),
            Col::Id => {
                let end = row.rank.worker.0 % 10_000;
                part(format!("{}{end:04}", self.glyphs.ellipsis), Role::Muted)
            }
            Col::Rank => plain(row.rank.dp_rank.0.to_string()),
            Col::Size => self.block_size(entry),
            Col::Cached => plain(text::count(row.accepted)),
            Col::Held => plain(text::count(row.held)),
            Col::Change => self.known(row.change.map(text::signed)),
            Col::Kv => self.by_age(row.kv_utilization.as_ref(), |it| self.usage(it, Some(row))),
            Col::Stores => self.stores(row, rates.stored_blocks),
            Col::Evicts => plain(text::short(rates.removals)),
            Col::Orphans => self.orphans(entry),
            Col::Hits => {
                self.by_age(row.hit_rate.as_ref(), |rate| self.known(rate.map(text::whole_percent)))
            }
            Col::InFlight => count(row.in_flight),
            Col::Routed => plain(text::short(row.routed_per_second)),
            Col::Overlap => short(row.mean_overlap),
            Col::Last => self.known(row.last_event.map(|at| self.scene.age(at))),
            Col::Unknown => plain(text::short(rates.unknown_removals)),
            Col::Active => self.by_age(row.used_blocks.as_ref(), count),
            Col::Total => count(row.capacity_blocks.as_ref().map(|room| room.value)),
            Col::Decode => {
                self.by_age(row.load.as_ref(), |load| count(load.map(|load| load.decode_blocks)))
            }
            Col::Host => plain(text::count(row.tiers[Tier::HostPinned as usize])),
            Col::Disk => plain(text::count(row.tiers[Tier::Disk as usize])),
            Col::EventId => count(row.last_event_id),
            Col::Gaps => {
                let role = if row.missing > 0 { Role::Warn } else { Role::Fg };
                part(text::count(row.missing), role)
            }
            Col::Restarts => count(entry.pod.map(|pod| pod.restarts)),
            Col::Age => {
                let started = entry.pod.and_then(|pod| pod.started);
                self.known(started.map(|at| self.scene.age(at)))
            }
            Col::Role => self.known(row.role.clone()),
            Col::Node => self.known(row.node.clone()),
        }
    }

    /// Returns what stands in a column for all workers together.
    pub(super) fn total(&self, col: Col) -> Part {
        let snapshot = self.scene.snapshot;
        let totals = &snapshot.totals;
        let rates = &totals.rates.ten_seconds;
        let plain = |text: String| part(text, Role::Fg);
        let rows = || snapshot.workers.iter();
        let early = snapshot.catching_up.is_some() && col.is_of_events();
        if early || !self.is_told(col) {
            return self.known(None);
        }
        match col {
            Col::Name => part("total", Role::Title),
            Col::Cached => plain(text::count(totals.accepted)),
            Col::Held => plain(text::count(totals.held)),
            Col::Change => {
                let changes = rows().filter(|row| !row.gone).map(|row| row.change);
                let sum = changes.reduce(|a, b| Some(a? + b?)).flatten();
                self.known(sum.map(text::signed))
            }
            Col::Kv => self.usage(totals.kv_utilization, None),
            Col::Stores => plain(text::short(rates.stored_blocks)),
            Col::Evicts => plain(text::short(rates.removals)),
            Col::Orphans => match (self.scene.orphans(), self.scene.orphan_share()) {
                (State::Gone | State::Unknown, _) | (_, None) => self.known(None),
                (State::Ok, Some(share)) => plain(text::percent(share)),
                (state, Some(share)) => part(text::percent(share), state.role()),
            },
            Col::Routed => plain(text::short(snapshot.router.routed_per_second)),
            Col::Last => {
                let last = rows().filter_map(|row| row.last_event).max();
                self.known(last.map(|at| self.scene.age(at)))
            }
            Col::Unknown => plain(text::short(rates.unknown_removals)),
            Col::Gaps => {
                plain(text::count(rows().map(|row| row.missing).fold(0, u64::saturating_add)))
            }
            Col::Host => plain(self.tier(Tier::HostPinned)),
            Col::Disk => plain(self.tier(Tier::Disk)),
            // Sums where every worker reports one.
            Col::Active => self.sum(|row| row.used_blocks.as_ref().map(|used| used.value)),
            Col::InFlight => self.sum(|row| row.in_flight),
            Col::Total => self.sum(|row| row.capacity_blocks.as_ref().map(|room| room.value)),
            Col::Decode => self.sum(|row| row.load.as_ref().map(|load| load.value.decode_blocks)),
            Col::Mark
            | Col::State
            | Col::Id
            | Col::Rank
            | Col::Size
            | Col::Hits
            | Col::Overlap
            | Col::EventId
            | Col::Restarts
            | Col::Age
            | Col::Role
            | Col::Node => plain(String::new()),
        }
    }

    fn is_told(&self, col: Col) -> bool {
        (self.events || !col.is_of_events()) && (self.requests || col != Col::Routed)
    }

    fn tier(&self, tier: Tier) -> String {
        let blocks = self.scene.snapshot.workers.iter().map(|row| row.tiers[tier as usize]);
        text::count(blocks.fold(0, u64::saturating_add))
    }

    fn sum(&self, value: fn(&WorkerRow) -> Option<u64>) -> Part {
        let rows = self.scene.snapshot.workers.iter().filter(|row| !row.gone);
        let sum = rows.map(value).reduce(|a, b| Some(a?.saturating_add(b?))).flatten();
        self.known(sum.map(text::count))
    }

    pub(super) fn known(&self, value: Option<String>) -> Part {
        value.map_or_else(|| part(self.glyphs.none, Role::Muted), |value| part(value, Role::Fg))
    }

    /// Returns what `write` makes of a value, dimmed where it was scraped a while ago. What is published
    /// says when it changes, and is no older for that.
    fn by_age<T: Copy>(
        &self,
        value: Option<&Sourced<T>>,
        write: impl Fn(Option<T>) -> Part,
    ) -> Part {
        let part = write(value.map(|value| value.value));
        let old = value.is_some_and(|value| {
            let scraped = value.source.starts_with("metrics of ");
            scraped && self.scene.now.since(value.at) > FRESH
        });
        if old { Part { role: Role::Muted, ..part } } else { part }
    }

    /// Writes a share of KV blocks in use, in the colour of what the worker is judged by: the use that lasted.
    fn usage(&self, share: Option<f64>, worker: Option<&WorkerRow>) -> Part {
        let role = |share: f64| {
            let lasting = worker.and_then(|row| row.kv_lately).unwrap_or(share);
            judge::usage(self.scene.snapshot, worker, lasting)
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
    fn stores(&self, row: &WorkerRow, rate: f64) -> Part {
        let rate = text::short(rate);
        if !self.graphs.course {
            return part(rate, Role::Fg);
        }
        let points = &row.stored_lately.points;
        let course = sparkline::cells(points, COURSE, sparkline::largest(points, 1.0), self.glyphs);
        part(format!("{course} {rate:>7}"), Role::Fg)
    }

    fn block_size(&self, entry: &Entry<'_>) -> Part {
        let said = sizes(entry, self.glyphs);
        let role = entry.size.map_or(Role::Fg, State::role);
        if entry.row.gone {
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

    fn orphans(&self, entry: &Entry<'_>) -> Part {
        if entry.row.gone {
            return part("gone", Role::Muted);
        }
        let limit = self.scene.snapshot.limits.rejected;
        match judge::rejected(entry.row) {
            Some(share) => {
                let state = judge::figure(share >= limit, entry.verdict.state);
                let role = if state == State::Ok { Role::Fg } else { state.role() };
                part(text::percent(share), role)
            }
            _ if entry.verdict.word != "warming" => self.known(None),
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

/// Returns its short name and its pod.
pub(super) fn name(row: &WorkerRow) -> String {
    let alias = text::clean(&row.alias);
    match &row.pod {
        Some(pod) => format!("{alias} {}", text::clean(pod)),
        None => alias.into_owned(),
    }
}
