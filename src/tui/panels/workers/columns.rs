//! The columns of the table of workers: [`Col`] names them, [`Spec`] describes one.
//!
//! `list.rs` has one entry for each column. Table, sums, sorting, the pickers of columns and orders, and the help
//! read the entries, so a column is added there and nowhere else.

mod list;

use std::collections::BTreeSet;

use super::Entry;
use super::cells::{Pen, plain};
use crate::snapshot::Snapshot;
use crate::tui::theme::Glyphs;
use crate::tui::widgets::canvas::Part;
use crate::tui::widgets::table::{Align, Column};

pub use list::Col;

/// Widths that depend on contents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Widths {
    /// Of the names, cut or not.
    pub name: usize,
    /// Of the block sizes.
    pub sizes: usize,
    /// Of the ranks.
    pub rank: usize,
    /// Of the nodes.
    pub node: usize,
    /// Of REJ%, with or without a word.
    pub orphans: usize,
}

/// The tables that show a column until somebody chooses columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// Every table; the column cannot be taken away.
    Always,
    /// The overview, whose rows need room for graphs, and the view of workers.
    Overview,
    /// The view of workers.
    Workers,
    /// None.
    Chosen,
}

/// The width of a column.
#[derive(Clone, Copy)]
enum Width {
    Fixed(usize),
    Fitting(fn(&Widths, &Glyphs) -> usize),
}

/// A column: its words, its place in the table, and how its cells are written.
#[derive(Clone, Copy)]
struct Spec {
    title: &'static str,
    /// The title where it is a glyph.
    glyph: Option<fn(&Glyphs) -> &'static str>,
    about: &'static str,
    shown: Shown,
    width: Width,
    /// Priority when room is short: the lowest goes first.
    rank: u8,
    align: Align,
    /// True for values measured while a worker is present; a worker that left has none.
    measured: bool,
    /// True for values that only KV events provide.
    of_events: bool,
    /// True for values that only routers' logs or events provide.
    of_requests: bool,
    /// Returns false while the column would say nothing about any worker.
    useful: fn(&Snapshot) -> bool,
    /// The number to sort by, itself none where it is unknown; none where workers cannot be sorted by the column.
    number: Option<fn(&Entry<'_>) -> Option<f64>>,
    cell: fn(&Pen<'_>, &Entry<'_>) -> Part,
    /// The cell in the row of sums; none where a sum means nothing.
    total: Option<fn(&Pen<'_>) -> Part>,
}

impl Spec {
    /// Returns a column of numbers that is shown once somebody chooses it.
    const fn new(
        title: &'static str,
        about: &'static str,
        cell: fn(&Pen<'_>, &Entry<'_>) -> Part,
    ) -> Self {
        Self {
            title,
            glyph: None,
            about,
            shown: Shown::Chosen,
            width: Width::Fixed(7),
            rank: 11,
            align: Align::Right,
            measured: false,
            of_events: false,
            of_requests: false,
            useful: |_| true,
            number: None,
            cell,
            total: None,
        }
    }

    const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    /// Sets the width, and how long the column stays when room is short.
    const fn wide(self, width: usize, rank: u8) -> Self {
        Self { width: Width::Fixed(width), rank, ..self }
    }

    /// Sets a width that depends on contents, and how long the column stays when room is short.
    const fn fitting(self, width: fn(&Widths, &Glyphs) -> usize, rank: u8) -> Self {
        Self { width: Width::Fitting(width), rank, ..self }
    }

    const fn titled(self, glyph: fn(&Glyphs) -> &'static str) -> Self {
        Self { glyph: Some(glyph), ..self }
    }

    const fn left(self) -> Self {
        Self { align: Align::Left, ..self }
    }

    const fn measured(self) -> Self {
        Self { measured: true, ..self }
    }

    const fn of_events(self) -> Self {
        Self { of_events: true, ..self }
    }

    const fn of_requests(self) -> Self {
        Self { of_requests: true, ..self }
    }

    const fn when(self, useful: fn(&Snapshot) -> bool) -> Self {
        Self { useful, ..self }
    }

    const fn sorted_by(self, number: fn(&Entry<'_>) -> Option<f64>) -> Self {
        Self { number: Some(number), ..self }
    }

    /// Allows sorting where the table knows the order of the column itself.
    const fn sorted(self) -> Self {
        Self { number: Some(|_| None), ..self }
    }

    const fn total(self, total: fn(&Pen<'_>) -> Part) -> Self {
        Self { total: Some(total), ..self }
    }
}

impl Col {
    /// Returns the columns that the view of workers shows until somebody chooses.
    pub fn usual() -> BTreeSet<Self> {
        Self::ALL.iter().copied().filter(|col| col.spec().shown != Shown::Chosen).collect()
    }

    /// Returns the columns of the overview, which leaves room for graphs.
    pub fn essential() -> BTreeSet<Self> {
        let essential = |col: &Self| matches!(col.spec().shown, Shown::Always | Shown::Overview);
        Self::ALL.iter().copied().filter(essential).collect()
    }

    /// Returns the meaning of its values.
    pub fn about(self) -> &'static str {
        self.spec().about
    }

    /// Returns its title.
    pub fn title(self, glyphs: &Glyphs) -> &'static str {
        let spec = self.spec();
        spec.glyph.map_or(spec.title, |glyph| glyph(glyphs))
    }

    /// Returns true where it cannot be taken away.
    pub fn is_fixed(self) -> bool {
        self.spec().shown == Shown::Always
    }

    /// Returns true where it has something to say about at least one worker.
    pub(super) fn is_useful(self, snapshot: &Snapshot) -> bool {
        (self.spec().useful)(snapshot)
    }

    /// Returns the column with its width, and how long it stays when room is short. One that somebody
    /// chose stays longer than those that are usual.
    pub fn column(self, widths: &Widths, glyphs: &Glyphs) -> Column {
        let spec = self.spec();
        let width = match spec.width {
            Width::Fixed(width) => width,
            Width::Fitting(width) => width(widths, glyphs),
        };
        Column { title: self.title(glyphs), width, align: spec.align, rank: spec.rank }
    }

    /// Returns the number to sort by; none where it is not known, or for texts.
    pub fn number(self, entry: &Entry<'_>) -> Option<f64> {
        let spec = self.spec();
        let number = spec.number.filter(|_| !(entry.row.is_away() && spec.measured))?;
        number(entry)
    }

    /// Returns true where sorting by it makes sense.
    pub fn sorts(self) -> bool {
        self.spec().number.is_some()
    }
}

impl Pen<'_> {
    /// Returns the cell of a column for one worker.
    pub(super) fn cell(&self, col: Col, entry: &Entry<'_>) -> Part {
        let spec = col.spec();
        let early = entry.row.reading && self.lacks_events(spec);
        if (entry.row.is_away() && spec.measured) || early || !self.is_provided(spec) {
            return self.known(None);
        }
        (spec.cell)(self, entry)
    }

    /// Returns the cell of a column for all workers together.
    pub(super) fn total(&self, col: Col) -> Part {
        let spec = col.spec();
        if self.lacks_events(spec) || !self.is_provided(spec) {
            return self.known(None);
        }
        spec.total.map_or_else(|| plain(String::new()), |total| total(self))
    }

    /// Returns true when a column counts events that are still to be read.
    fn lacks_events(&self, spec: &Spec) -> bool {
        spec.of_events && self.context.snapshot.catching_up.is_some_and(|behind| !behind.ahead)
    }

    /// Returns true when the sources that provide a column's values are open.
    fn is_provided(&self, spec: &Spec) -> bool {
        (self.events || !spec.of_events) && (self.requests || !spec.of_requests)
    }
}
