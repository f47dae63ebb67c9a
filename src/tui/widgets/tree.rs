//! A tree whose rows are known one below the other: drawn by `tui-tree-widget`, which is given only what
//! is in sight, since it copies the way to every row that it is given.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use tui_tree_widget::{Tree, TreeItem, TreeState};

use super::canvas::{Canvas, Part};
use crate::tui::text;
use crate::tui::theme::Role;

/// Columns before the text of a row at the first level: the mark of the selected row, and the fold.
const BEFORE: usize = 3;
/// Columns that a level is indented.
const INDENT: usize = 2;

/// One row.
#[derive(Clone, Debug)]
pub struct Item {
    /// Levels below the first.
    pub depth: usize,
    /// True when its children follow, false when they are hidden, none when it has none.
    pub open: Option<bool>,
    /// Its content.
    pub parts: Vec<Part>,
}

/// Returns the columns left for the text of a row at `depth` in `width`.
pub fn room(width: usize, depth: usize) -> usize {
    width.saturating_sub(BEFORE + INDENT * depth)
}

/// Draws `items` from the top of `area` on, the one at `selected` marked.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, items: &[Item], selected: Option<usize>) {
    let area = canvas.clip(area);
    if area.is_empty() || items.is_empty() {
        return;
    }
    // Rows above the first one give it its indentation, and are out of sight.
    let above = items[0].depth;
    let mut rows: Vec<Row<'_>> = (0..above).map(|depth| Row { depth, item: None }).collect();
    let shown = items.iter().take(usize::from(area.height) + 1);
    rows.extend(shown.map(|item| Row { depth: item.depth, item: Some(item) }));
    let mut state = TreeState::default();
    let mut path = Vec::new();
    let mut place = Place { at: 0, path: Vec::new() };
    let selected = selected.map(|at| at + above);
    let built = build(canvas, &rows, &mut place, &mut state, (selected, &mut path));
    let glyphs = canvas.glyphs();
    let [open, closed] = glyphs.fold;
    let Ok(tree) = Tree::new(&built) else { return };
    let tree = tree
        .node_open_symbol(open)
        .node_closed_symbol(closed)
        .node_no_children_symbol("  ")
        .highlight_symbol(glyphs.mark)
        .highlight_style(canvas.style(Role::Select));
    if above > 0 {
        // It learns only by drawing how far it can be scrolled.
        canvas.rehearse(tree.clone(), area, &mut state);
        state.scroll_down(above);
    }
    state.select(path);
    canvas.widget(tree, area, &mut state);
}

/// A row of the tree, or one above it that is out of sight.
struct Row<'a> {
    depth: usize,
    item: Option<&'a Item>,
}

/// Progress of building the rows.
struct Place {
    at: usize,
    path: Vec<usize>,
}

/// Builds the rows from `place` on that are as deep as the first of them, with what hangs below.
fn build<'a>(
    canvas: &Canvas<'_>,
    rows: &[Row<'_>],
    place: &mut Place,
    state: &mut TreeState<usize>,
    (selected, path): (Option<usize>, &mut Vec<usize>),
) -> Vec<TreeItem<'a, usize>> {
    let mut items = Vec::new();
    let Some(depth) = rows.get(place.at).map(|row| row.depth) else { return items };
    while let Some(row) = rows.get(place.at).filter(|row| row.depth >= depth) {
        let at = place.at;
        place.at += 1;
        place.path.push(at);
        if selected == Some(at) {
            path.clone_from(&place.path);
        }
        let below = rows.get(place.at).is_some_and(|next| next.depth > row.depth);
        let mut children = Vec::new();
        if below {
            children = build(canvas, rows, place, state, (selected, &mut *path));
            state.open(place.path.clone());
        } else if row.item.is_some_and(|item| item.open.is_some()) {
            // What it hides, or what is below the last row in sight.
            children.push(TreeItem::new_leaf(usize::MAX, ""));
        }
        if row.item.is_some_and(|item| item.open == Some(true)) {
            state.open(place.path.clone());
        }
        place.path.pop();
        let parts = row.item.map_or(&[][..], |item| &item.parts);
        let span = |part: &Part| {
            Span::styled(text::clean(&part.text).into_owned(), canvas.style(part.role))
        };
        let line = Line::from(parts.iter().map(span).collect::<Vec<_>>());
        items.extend(TreeItem::new(at, line, children));
    }
    items
}
