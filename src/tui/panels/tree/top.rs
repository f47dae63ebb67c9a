//! The prefixes that are used most, beside everything else that tells of the whole deployment.

use ratatui::layout::Rect;

use super::{emptiness, presence, short};
use crate::domain::{TreeNode, TreeRow};
use crate::tui::panels::{PanelId, Scene};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::views::tree as view;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Columns of blocks, and of how often.
const NUMBERS: [usize; 2] = [8, 7];

/// Draws the panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    let notes = vec![part(format!("sort: heat{}", canvas.glyphs().down), Role::Muted)];
    let inner = scene.frame(canvas, area, PanelId::TopPrefixes, "Top prefixes", notes);
    let Some(page) = view::page(scene.snapshot) else { return scene.unanswered(canvas, inner) };
    if let [root] = page.rows.as_slice()
        && let Some(why) = emptiness(scene, root)
    {
        let role = if scene.is_warming() { Role::Unknown } else { Role::Warn };
        for (y, line) in text::wrap(&why, inner.width.into()).iter().enumerate() {
            canvas.put(inner, 0, text::coordinate(y), line, role);
        }
        return;
    }
    let hits = page.rows.iter().any(|row| row.hits.is_some());
    // With many ranks only their number is told.
    let many = page.rank_count > page.ranks.len();
    let on = if many { format!("{0}/{0}", page.rank_count).len() } else { page.ranks.len().max(2) };
    let often = |row: &TreeRow| if hits { row.hits.unwrap_or(0.0) } else { row.heat };
    let title = |text: &str| vec![part(text, Role::Title)];
    let names = [title("SUBTREE"), title("ON"), title(if hits { "HITS/m" } else { "HEAT/m" })];
    line(canvas, inner, 0, &title("PREFIX"), names, on);
    let prompts = page.rows.iter().filter(|row| row.depth == 1);
    let blocks = prompts.filter_map(|row| match row.place {
        place if place.more => None,
        place => match place.node {
            TreeNode::Block(block) if !block.orphan => Some((row, block)),
            _ => None,
        },
    });
    for (y, (row, block)) in (1..inner.height).zip(blocks) {
        let mut name = vec![part(short(block.sequence), Role::Fg)];
        let given = scene.look.tree.labels.of(&row.place.node);
        name.extend(given.map(|given| part(format!(" \"{given}\""), Role::Title)));
        let has = if many {
            vec![part(format!("{}/{}", row.holders, page.rank_count), Role::Fg)]
        } else {
            presence(&row.on, canvas.glyphs())
        };
        let number = |text: String| vec![part(text, Role::Fg)];
        let least = if row.exact { "" } else { "~" };
        let subtree = format!("{least}{}", text::count(row.subtree));
        let cells = [number(subtree), has, number(text::short(often(row).into()))];
        line(canvas, inner, y, &name, cells, on);
    }
}

/// Writes a name, cut where numbers begin, and the numbers, each to the right of its column.
fn line(
    canvas: &mut Canvas<'_>,
    area: Rect,
    y: u16,
    name: &[Part],
    cells: [Vec<Part>; 3],
    on: usize,
) {
    let columns = [NUMBERS[0], on + 1, NUMBERS[1]];
    let mut right = Vec::new();
    for (columns, cell) in columns.into_iter().zip(cells) {
        right.push(part(" ".repeat(columns.saturating_sub(width(&cell))), Role::Fg));
        right.extend(cell);
    }
    let room = usize::from(area.width).saturating_sub(width(&right));
    let mut left = Vec::new();
    for one in name {
        let room = room.saturating_sub(width(&left));
        left.push(part(text::cut(&one.text, room, canvas.glyphs().ellipsis), one.role));
    }
    canvas.parts(area, 0, y, &left);
    canvas.parts_right(area, y, &right);
}
