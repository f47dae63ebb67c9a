//! Everything about the selected worker: where it runs, what it holds, and who claims what of it.

mod claims;
mod facts;
mod graphs;

use ratatui::layout::Rect;

use super::workers::{self, Entry};
use super::{PanelId, Scene, memory, reader};
use crate::snapshot::{Answer, WorkerDetail, WorkerRow};
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::sheet::Sheet;

pub use graphs::{blocks, shares, traffic};

/// Draws it from the row on that the UI wants.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    let Some(entry) = selected(scene) else {
        scene.frame(canvas, area, PanelId::Worker, "No worker yet", Vec::new());
        return;
    };
    let lines = rows(&entry, scene, reader::inside(area, scene.framed), canvas.glyphs());
    let title = scene.trail(&[&name(&entry)], canvas.glyphs());
    let first = scene.look.workers.first_line;
    reader::draw(canvas, area, scene, (PanelId::Worker, &title), &lines, first);
}

/// Returns the last row from which on it can be shown in `area`.
pub fn last(scene: &Scene<'_>, area: Rect) -> usize {
    let Some(entry) = selected(scene) else { return 0 };
    // The glyphs decide nothing about how many rows there are.
    let rows = rows(&entry, scene, reader::inside(area, scene.framed), Glyphs::UNICODE).len();
    rows.saturating_sub(reader::page(area, scene.framed))
}

/// Returns the rows for its text.
pub fn page(area: Rect, framed: bool) -> usize {
    reader::page(area, framed)
}

fn selected<'a>(scene: &Scene<'a>) -> Option<Entry<'a>> {
    workers::selected(scene.snapshot, &scene.look.workers)
}

/// Returns what the engine answered about the selected worker; none while it still answers about
/// another, or while a picture is held that was made for another view.
fn detail<'a>(scene: &Scene<'a>, entry: &Entry<'_>) -> Option<&'a WorkerDetail> {
    let rank = entry.row.rank;
    match &scene.snapshot.answer {
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
    scene: &Scene<'_>,
    width: usize,
    glyphs: &'static Glyphs,
) -> Vec<Vec<Part>> {
    let mut sheet = Sheet::new(width, false, glyphs);
    facts::write(&mut sheet, entry, scene, glyphs);
    if !scene.shows(PanelId::WorkerMemory) {
        sheet.gap();
        sheet.rows.push(vec![part("MEMORY", Role::Title)]);
        sheet.rows.extend(memory::lines(scene, width, glyphs));
    }
    sheet.gap();
    claims::write(&mut sheet, entry, scene, glyphs);
    sheet.rows
}
