//! The heat map: the hottest prefixes, and the part of each that every worker caches.

use ratatui::layout::Rect;

use super::tree::{emptiness, short};
use super::{PanelContext, PanelId};
use crate::domain::{Presence, TreeNode, TreeRow};
use crate::snapshot::TreePage;
use crate::tui::graph::heat;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::views::tree as view;
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// Columns of a name, at least and at most.
const NAME: (usize, usize) = (18, 44);
/// Columns of a name that gives way to workers.
const SHORT: usize = 24;
/// Columns of the blocks, the workers that have any, and the requests a minute.
const NUMBERS: usize = 8 + 8 + 9;
/// Columns of one worker, from a cell with its alias and a blank to a bare cell.
const CELLS: [usize; 4] = [4, 3, 2, 1];

/// Draws the map.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let page = view::page(context.snapshot);
    let mut notes = vec![part("hottest prefixes first", Role::Muted)];
    if let Some(page) = page {
        let unseen = page.rank_count.saturating_sub(page.aliases.len());
        if unseen > 0 {
            notes
                .push(part(format!(" {} {unseen} more workers", canvas.glyphs().dot), Role::Muted));
        }
    }
    let inner = context.frame(canvas, area, PanelId::HeatMap, "Hot prefixes by worker", notes);
    let Some(page) = page else {
        canvas.put(inner, 0, 0, "counting prefixes", Role::Muted);
        return;
    };
    if let [root] = page.rows.as_slice()
        && let Some(why) = emptiness(context, root)
    {
        let role = if context.is_warming() { Role::Unknown } else { Role::Warn };
        for (y, line) in text::wrap(&why, inner.width.into()).iter().enumerate() {
            canvas.put(inner, 0, text::coordinate(y), line, role);
        }
        return;
    }
    map(canvas, inner, context, page);
}

/// The columns of the map: a name, a cell for each worker, and numbers.
struct Columns {
    name: usize,
    /// Columns of a worker, and of the coloured part of them.
    cell: usize,
    colour: usize,
    /// Workers that have a column.
    shown: usize,
}

impl Columns {
    /// Returns columns that show as many of `workers` as `width` has room for, in cells as wide as possible.
    fn new(width: usize, longest: usize, workers: usize) -> Self {
        let room = width.saturating_sub(NUMBERS);
        let wide = longest.clamp(NAME.0, NAME.1);
        let fits = |name: usize, cell: usize| name + 1 + workers * cell <= room;
        let of = |name: usize, cell: usize, shown: usize| {
            let colour = if cell > 2 { heat::CELL } else { 1 };
            Self { name, cell, colour, shown }
        };
        for name in [wide, wide.min(SHORT), NAME.0] {
            if let Some(cell) = CELLS.into_iter().find(|cell| *cell > 1 && fits(name, *cell)) {
                return of(name, cell, workers);
            }
        }
        let name = NAME.0.min(room.saturating_sub(CELLS[0])).max(8);
        of(name, 1, workers.min(room.saturating_sub(name + 1)))
    }

    fn x(&self, at: usize) -> u16 {
        text::coordinate(self.name + 1 + at * self.cell)
    }
}

fn map(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>, page: &TreePage) {
    let shown = || page.rows.iter().enumerate().filter(|(_, row)| is_prefix(row));
    let places: Vec<usize> = shown().map(|(place, _)| place).collect();
    let rows: Vec<&TreeRow> = shown().map(|(_, row)| row).collect();
    let names: Vec<String> = rows.iter().map(|row| name(context, row)).collect();
    let longest = names.iter().map(|name| text::width(name)).max().unwrap_or(0);
    let columns = Columns::new(area.width.into(), longest, page.aliases.len());
    let numbers = columns.x(columns.shown);
    canvas.put(area, 0, 0, "PREFIX", Role::Title);
    aliases(canvas, area, &columns, page);
    let requests = rows.iter().any(|row| row.hits.is_some());
    let often = if requests { "REQ/min" } else { "STORES/m" };
    let titles = ["BLOCKS", "WORKERS", often].map(|title| part(title, Role::Title));
    put_right(canvas, area, numbers, 0, &titles);
    for (((row, name), y), place) in rows.iter().zip(&names).zip(1..area.height).zip(places) {
        canvas.spot(area, y, place);
        let name = text::cut_middle(name, columns.name, canvas.glyphs().ellipsis);
        let is_known = context.look.tree.labels.label(&row.place.node).is_some();
        canvas.put(area, 0, y, &name, if is_known { Role::Title } else { Role::Fg });
        for (at, presence) in row.on.iter().take(columns.shown).enumerate() {
            let (cell, style) = heat::cell(canvas, share(*presence));
            let cell = text::cut(&cell, columns.colour, "");
            canvas.put_styled(area, columns.x(at), y, &cell, style);
        }
        let per_minute = if requests { row.hits.unwrap_or(0.0) } else { row.heat };
        let least = if row.exact { "" } else { "~" };
        let cells = [
            format!("{least}{}", text::count(row.subtree)),
            format!("{}/{}", row.holders, page.rank_count),
            text::short(per_minute.into()),
        ];
        put_right(canvas, area, numbers, y, &cells.map(|cell| part(cell, Role::Fg)));
    }
}

/// Names the workers above their columns, as many as have room.
fn aliases(canvas: &mut Canvas<'_>, area: Rect, columns: &Columns, page: &TreePage) {
    let end = columns.x(columns.shown);
    let mut free = 0;
    for (at, alias) in page.aliases.iter().take(columns.shown).enumerate() {
        let alias = text::clean(alias);
        let width = text::coordinate(text::width(&alias));
        let x = columns.x(at);
        if x >= free && x + width <= end {
            canvas.put(area, x, 0, &alias, Role::Title);
            free = x + width + 1;
        }
    }
}

/// Writes the numbers of a row, each to the right of its column.
fn put_right(canvas: &mut Canvas<'_>, area: Rect, x: u16, y: u16, cells: &[Part; 3]) {
    let mut x = x;
    for (cell, columns) in cells.iter().zip([8_usize, 8, 9]) {
        let said = text::pad_left(&cell.text, columns);
        x = canvas.put(area, x, y, &said, cell.role);
    }
}

fn is_prefix(row: &TreeRow) -> bool {
    row.depth > 0
        && !row.place.more
        && matches!(row.place.node, TreeNode::Block(block) if !block.orphan)
}

/// Returns the name that was given to a prefix, or its hash, with the level that it stands on.
fn name(context: &PanelContext<'_>, row: &TreeRow) -> String {
    let TreeNode::Block(block) = row.place.node else { return String::new() };
    let indent = "  ".repeat(usize::from(row.depth.saturating_sub(1)));
    let given = context.look.tree.labels.label(&row.place.node).map(str::to_owned);
    format!("{indent}{}", given.unwrap_or_else(|| short(block.sequence)))
}

const fn share(presence: Presence) -> f64 {
    match presence {
        Presence::None => 0.0,
        Presence::Part => 0.5,
        Presence::Whole => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_of_a_fleet_has_a_column() {
        let shown = |width, workers| Columns::new(width, 30, workers).shown;
        assert_eq!([shown(76, 3), shown(76, 16), shown(100, 48)], [3, 16, 48]);
        assert!(shown(76, 48) >= 30, "{}", shown(76, 48));
        let three = Columns::new(90, 30, 3);
        assert_eq!(
            (three.cell, three.name),
            (4, 30),
            "names and cells are whole where there is room"
        );
    }
}
