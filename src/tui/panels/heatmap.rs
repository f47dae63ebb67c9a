//! Who caches what: the hottest prefixes, and how much of each every worker has.

use ratatui::layout::Rect;

use super::tree::{emptiness, short};
use super::{PanelId, Scene};
use crate::domain::{Presence, TreeNode, TreeRow};
use crate::snapshot::TreePage;
use crate::tui::graph::heat;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::views::tree as view;
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// Columns of a name, at least and at most.
const NAME: (usize, usize) = (18, 44);
/// Columns of the blocks, the workers that have any, and the requests a minute.
const NUMBERS: usize = 8 + 6 + 10;
/// Columns of one worker: a cell, or its alias, and a blank.
const COLUMN: usize = 4;

/// Draws the map.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    let notes = vec![part("hottest prefixes first", Role::Muted)];
    let inner = scene.frame(canvas, area, PanelId::HeatMap, "Who caches what", notes);
    let Some(page) = view::page(scene.snapshot) else {
        canvas.put(inner, 0, 0, "counting the prefixes", Role::Muted);
        return;
    };
    if let [root] = page.rows.as_slice()
        && let Some(why) = emptiness(scene, root)
    {
        let role = if scene.is_warming() { Role::Unknown } else { Role::Warn };
        for (y, line) in text::wrap(&why, inner.width.into()).iter().enumerate() {
            canvas.put(inner, 0, text::coordinate(y), line, role);
        }
        return;
    }
    map(canvas, inner, scene, page);
}

fn map(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>, page: &TreePage) {
    let rows: Vec<&TreeRow> = page.rows.iter().filter(|row| is_prefix(row)).collect();
    let names: Vec<String> = rows.iter().map(|row| name(scene, row)).collect();
    let longest = names.iter().map(|name| text::width(name)).max().unwrap_or(0);
    let room = usize::from(area.width).saturating_sub(NUMBERS);
    let width = longest.clamp(NAME.0, NAME.1).min(room.saturating_sub(COLUMN)).max(8);
    let shown = page.aliases.len().min(room.saturating_sub(width + 1) / COLUMN);
    let left = text::coordinate(width + 1);
    for (at, alias) in page.aliases.iter().take(shown).enumerate() {
        let x = left + text::coordinate(at * COLUMN);
        let alias = text::cut(&text::clean(alias), COLUMN - 1, "");
        canvas.put(area, x, 0, &alias, Role::Title);
    }
    let numbers = left + text::coordinate(shown * COLUMN);
    canvas.put(area, 0, 0, "PREFIX", Role::Title);
    let requests = rows.iter().any(|row| row.hits.is_some());
    let often = if requests { "REQ/min" } else { "STORES/m" };
    put_right(
        canvas,
        area,
        numbers,
        0,
        &["BLOCKS", "ON", often].map(|title| part(title, Role::Title)),
    );
    for ((row, name), y) in rows.iter().zip(&names).zip(1..area.height) {
        let name = text::cut_middle(name, width, canvas.glyphs().ellipsis);
        let is_known = scene.look.tree.labels.of(&row.place.node).is_some();
        canvas.put(area, 0, y, &name, if is_known { Role::Title } else { Role::Fg });
        for (at, presence) in row.on.iter().take(shown).enumerate() {
            let x = left + text::coordinate(at * COLUMN);
            let (cell, style) = heat::cell(canvas, share(*presence));
            canvas.put_styled(area, x, y, &cell, style);
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

/// Writes the numbers of a row, each to the right of its column.
fn put_right(canvas: &mut Canvas<'_>, area: Rect, x: u16, y: u16, cells: &[Part; 3]) {
    let mut x = x;
    for (cell, columns) in cells.iter().zip([8_usize, 6, 10]) {
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
fn name(scene: &Scene<'_>, row: &TreeRow) -> String {
    let TreeNode::Block(block) = row.place.node else { return String::new() };
    let indent = "  ".repeat(usize::from(row.depth.saturating_sub(1)));
    let given = scene.look.tree.labels.of(&row.place.node).map(str::to_owned);
    format!("{indent}{}", given.unwrap_or_else(|| short(block.sequence)))
}

const fn share(presence: Presence) -> f64 {
    match presence {
        Presence::None => 0.0,
        Presence::Part => 0.5,
        Presence::Whole => 1.0,
    }
}
