//! The columns that the table of workers has room for.

use std::collections::BTreeSet;

use super::room::least;
use super::{BAR, COURSE, Col, Entry, Widths, is_shown, is_usual};
use crate::tui::panels::PanelContext;
use crate::tui::theme::Glyphs;
use crate::tui::widgets::table::{Column, Table};

/// The columns of a table with their widths. All workers decide them, so that columns stay while somebody
/// scrolls.
pub(super) struct Plan {
    pub(super) cols: Vec<Col>,
    pub(super) columns: Vec<Column>,
    /// Positions of the columns that have room.
    kept: Vec<usize>,
    pub(super) widths: Widths,
    pub(super) bar: bool,
    pub(super) course: bool,
}

impl Plan {
    pub(super) fn new(
        entries: &[Entry<'_>],
        wanted: &BTreeSet<Col>,
        room: usize,
        context: &PanelContext<'_>,
        glyphs: &'static Glyphs,
    ) -> Self {
        let mut cols: Vec<Col> =
            Col::ALL.iter().copied().filter(|col| is_shown(*col, wanted, context)).collect();
        let (mut widths, longest) = least(entries, room, glyphs);
        if is_usual(wanted) && entries.iter().any(|entry| entry.row.node.is_some()) {
            // Where it takes no room from anything else.
            let whole = Widths { name: longest, ..widths };
            let all = cols.iter().chain([&Col::Node]);
            let all = all.map(|col| col.column(&whole, glyphs).width + 1);
            if all.sum::<usize>() + BAR + COURSE <= room {
                cols.push(Col::Node);
            }
        }
        let least = widths.name;
        let fitting = Table { columns: laid_out(&cols, &widths, glyphs), ..Table::default() };
        let kept = fitting.fitting(room);
        let used: usize = kept.iter().map(|&at| fitting.columns[at].width + 1).sum();
        let mut spare = (room + 1).saturating_sub(used);
        let place =
            |wanted: Col| cols.iter().position(|col| *col == wanted).filter(|at| kept.contains(at));
        let bar = place(Col::Kv).filter(|_| spare > BAR);
        if bar.is_some() {
            spare -= BAR + 1;
        }
        let course = place(Col::Stores).filter(|_| spare > COURSE);
        if course.is_some() {
            spare -= COURSE + 1;
        }
        widths.name = longest.min(least + spare);
        let mut columns = laid_out(&cols, &widths, glyphs);
        for (at, cells) in [(bar, BAR), (course, COURSE)] {
            if let Some(column) = at.and_then(|at| columns.get_mut(at)) {
                column.width += cells + 1;
            }
        }
        let (bar, course) = (bar.is_some(), course.is_some());
        Self { cols, columns, kept, widths, bar, course }
    }

    /// Returns the columns that have room, each with its width.
    pub(super) fn shown(&self) -> impl Iterator<Item = (Col, usize)> {
        self.kept.iter().map(|&at| (self.cols[at], self.columns[at].width))
    }
}

fn laid_out(cols: &[Col], widths: &Widths, glyphs: &Glyphs) -> Vec<Column> {
    cols.iter().map(|col| col.column(widths, glyphs)).collect()
}
