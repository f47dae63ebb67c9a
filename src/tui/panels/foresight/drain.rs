//! What a drain loses: the blocks that one worker alone holds.

use ratatui::layout::Rect;

use super::{answers, explain, limits, none_held, percent};
use crate::snapshot::{DrainRow, Foresight};
use crate::tui::graph::bar;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::table::{Align, Column, Table};

/// Columns of the bar.
const BAR: u16 = 12;
/// Rows from which on the selected worker is told in a sentence.
const TOLD: u16 = 5;

const COLUMNS: [Column; 5] = [
    Column { title: "WORKER", width: 8, align: Align::Left, rank: 9 },
    Column { title: "HELD", width: 9, align: Align::Right, rank: 5 },
    Column { title: "ONLY HERE", width: 10, align: Align::Right, rank: 7 },
    Column { title: "SHARE", width: 7, align: Align::Right, rank: 6 },
    Column { title: "HOT", width: 8, align: Align::Right, rank: 8 },
];

/// Draws a row for each worker, the one with most to lose first.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let found = context.snapshot.foresight.as_deref();
    let mut notes = found.map(|answers| limits(answers, canvas.glyphs())).unwrap_or_default();
    if notes.is_empty() {
        notes.push(part("hot: in use in the last 5 min", Role::Muted));
    }
    let inner = context.frame(canvas, area, PanelId::Drain, "What a drain loses", notes);
    let Some(answers) = answers(canvas, inner, context) else { return };
    if answers.drain.iter().all(|row| row.held == 0) {
        explain(canvas, inner, none_held(context.snapshot));
        return;
    }
    let at = context.look.foresight.row(answers);
    let told = if inner.height >= TOLD + 2 { 2 } else { 0 };
    let list = Rect { height: inner.height - told, ..inner };
    let mut table = table(answers, canvas.glyphs().least);
    table.point_at(at, canvas.glyphs());
    let page = table.page(list.height).max(1);
    let first = (at + 1).saturating_sub(page);
    table.draw(canvas, list, Table::names_fit(list.height), first);
    bars(canvas, list, answers, &table, first);
    if told > 0
        && let Some(row) = answers.drain.get(at)
    {
        let below = Rect { y: list.y + list.height, height: told, ..inner };
        tell(canvas, below, row);
    }
}

/// Returns how many workers can be seen at once.
pub fn page(area: Rect, framed: bool) -> usize {
    let height = area.height.saturating_sub(if framed { 2 } else { 0 });
    let told = if height >= TOLD + 2 { 2 } else { 0 };
    Table::default().page(height - told).max(1)
}

fn table(answers: &Foresight, least: &str) -> Table {
    let row = |row: &DrainRow| -> Vec<Part> {
        let share = share(row).map_or_else(String::new, percent);
        let count =
            |blocks| format!("{}{}", if row.complete { "" } else { least }, text::count(blocks));
        vec![
            part(row.alias.clone(), Role::Fg),
            part(count(row.held), Role::Muted),
            part(count(row.only), Role::Fg),
            part(share, Role::Fg),
            part(count(row.hot), if row.hot > 0 { Role::Series2 } else { Role::Muted }),
        ]
    };
    let rows = answers.drain.iter().map(row).collect();
    Table { columns: COLUMNS.to_vec(), rows, total: None }
}

fn share(row: &DrainRow) -> Option<f64> {
    (row.complete && row.held > 0).then(|| row.only as f64 / row.held as f64)
}

/// Draws the share of each worker beside its row, where there is room.
fn bars(canvas: &mut Canvas<'_>, area: Rect, answers: &Foresight, table: &Table, first: usize) {
    let used: usize = table.columns.iter().map(|column| column.width + 1).sum();
    if usize::from(area.width) < used + usize::from(BAR) || !Table::names_fit(area.height) {
        return;
    }
    for (row, y) in answers.drain.iter().skip(first).zip(1..area.height) {
        let glyphs = canvas.glyphs();
        let filled = bar::filled(share(row).unwrap_or(0.0), BAR.into(), Role::Series1, glyphs);
        canvas.parts(area, text::coordinate(used), y, &filled);
    }
}

/// Says what draining the worker of `row` costs.
fn tell(canvas: &mut Canvas<'_>, area: Rect, row: &DrainRow) {
    let said = match (row.only, row.hot) {
        _ if !row.complete => format!(
            "Draining {} loses at least {} blocks: what it stored before kvtop attached is unknown.",
            row.alias,
            text::count(row.only)
        ),
        (0, _) => format!("Draining {} loses nothing: other workers hold its blocks.", row.alias),
        (only, 0) => format!(
            "Draining {} loses {} blocks, none of them in use.",
            row.alias,
            text::count(only)
        ),
        (_, hot) => format!(
            "After a drain of {}, {} blocks in use are computed again.",
            row.alias,
            text::count(hot)
        ),
    };
    explain(canvas, area, &said);
}
