//! Everything about the selected worker: where it runs, what it holds, and who claims what of it.

mod claims;
mod facts;
mod graphs;

use ratatui::layout::Rect;

use super::workers::{self, Entry};
use super::{PanelContext, PanelId, memory, reader};
use crate::snapshot::{Answer, WorkerDetail, WorkerRow};
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::sheet::Sheet;

pub use graphs::{blocks, shares, traffic};

/// Draws it from the row on that the UI wants.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let Some(entry) = selected(context) else {
        context.frame(canvas, area, PanelId::Worker, context.no_worker(), Vec::new());
        return;
    };
    let lines = rows(&entry, context, reader::inside(area, context.framed), canvas.glyphs());
    let title = context.trail(&[&name(&entry)], canvas.glyphs());
    let first = context.look.workers.first_line;
    reader::draw(canvas, area, context, (PanelId::Worker, &title), &lines, first);
}

/// Returns the last row from which on it can be shown in `area`.
pub fn last(context: &PanelContext<'_>, area: Rect) -> usize {
    let Some(entry) = selected(context) else { return 0 };
    // The glyphs decide nothing about how many rows there are.
    let rows = rows(&entry, context, reader::inside(area, context.framed), Glyphs::UNICODE).len();
    rows.saturating_sub(reader::page(area, context.framed))
}

/// Returns the rows for its text.
pub fn page(area: Rect, framed: bool) -> usize {
    reader::page(area, framed)
}

fn selected<'a>(context: &PanelContext<'a>) -> Option<Entry<'a>> {
    workers::selected(context.snapshot, &context.look.workers)
}

/// Returns what the engine answered about the selected worker; none while it still answers about
/// another, or while a picture is held that was made for another view.
fn detail<'a>(context: &PanelContext<'a>, entry: &Entry<'_>) -> Option<&'a WorkerDetail> {
    let rank = entry.row.rank;
    match &context.snapshot.answer {
        Answer::Worker(detail) if detail.rank == rank => Some(detail),
        _ => None,
    }
}

/// Returns its short name: `w0`, or `w0/1` where the rank is not the first.
pub(super) fn alias(row: &WorkerRow) -> String {
    match row.rank.dp_rank.0 {
        0 => row.alias.clone(),
        rank => format!("{}/{rank}", row.alias),
    }
}

fn name(entry: &Entry<'_>) -> String {
    let alias = alias(entry.row);
    match &entry.row.pod {
        Some(pod) => format!("{alias} {pod}"),
        None => alias,
    }
}

fn rows(
    entry: &Entry<'_>,
    context: &PanelContext<'_>,
    width: usize,
    glyphs: &'static Glyphs,
) -> Vec<Vec<Part>> {
    let mut sheet = Sheet::new(width, false, glyphs);
    facts::write(&mut sheet, entry, context, glyphs);
    if !context.shows(PanelId::WorkerMemory) {
        sheet.gap();
        sheet.rows.push(vec![part("MEMORY", Role::Title)]);
        sheet.rows.extend(memory::lines(context, width, glyphs));
    }
    sheet.gap();
    claims::write(&mut sheet, entry, context, glyphs);
    sheet.rows
}
