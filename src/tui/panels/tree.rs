//! The tree of cached prefixes, one row for each run of blocks, and sums over all of them.

pub mod detail;
mod row;
pub(in crate::tui) mod sums;

use ratatui::layout::Rect;
use row::{Columns, Writer};

use super::{PanelContext, PanelId};
use crate::domain::{Presence, SequenceHash, TreeNode, TreeRow, TreeSort};
use crate::snapshot::TreePage;
use crate::tui::keymap::Keymap;
use crate::tui::keymap::names::with_keys;
use crate::tui::layout::Layout;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::views::tree as view;
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::tree::{self as widget, Item};

/// Columns before the name of a row at the first level.
const BEFORE: usize = 3;
/// Deepest indentation, as a share of the panel.
const INDENTED: usize = 3;

/// Columns of the name of a graph deployment in the title.
const GRAPH: usize = 24;

/// Returns the name of a node on the screen: the first half of its hash, as in the events.
pub fn name(node: &TreeNode) -> String {
    match node {
        TreeNode::Root => String::from("root"),
        TreeNode::Detached => String::from("detached"),
        TreeNode::Orphans => String::from("rejected"),
        TreeNode::Missing(hash) => short(*hash),
        TreeNode::Block(block) => short(block.sequence),
    }
}

/// Returns the first half of a hash; all of it when it is a small number.
pub(super) fn short(hash: SequenceHash) -> String {
    match hash.0 >> 32 {
        0 => format!("{:x}", hash.0),
        half => format!("{half:08x}"),
    }
}

/// Returns the blocks in the run of `node` that are looked for, the selected match first.
fn sought<'a>(
    context: &PanelContext<'_>,
    page: &'a TreePage,
    node: &TreeNode,
) -> impl Iterator<Item = SequenceHash> + use<'a> {
    let find = context.look.tree.find.as_ref();
    let search = find.zip(page.search.as_ref()).filter(|((text, _), search)| search.text == *text);
    let (found, which) =
        search.map_or((&[][..], 0), |((_, which), search)| (&search.found[..], *which));
    let which = which.checked_rem(found.len()).unwrap_or(0);
    let node = *node;
    let from = found[which..].iter().chain(&found[..which]);
    from.filter(move |found| found.way.last() == Some(&node)).map(|found| found.hash)
}

/// Returns why the tree of the past does not open, or is missing, with the key that leads to the present.
pub fn not_kept(keys: &Keymap, some: bool) -> String {
    let said = if some {
        "of the past only the hottest prefixes are kept; {past-now} returns to now"
    } else {
        "no prefixes were kept of this moment; {past-now} returns to now"
    };
    with_keys(keys, said)
}

fn not_frozen(keys: &Keymap) -> String {
    with_keys(keys, "no prefixes were loaded when the display was frozen; {toggle-freeze} resumes")
}

/// Returns how many rows of the tree are in sight.
pub fn lines(layout: &Layout) -> usize {
    let Some(area) = layout.panel(PanelId::Tree) else { return 0 };
    let height = area.height.saturating_sub(if layout.framed { 2 } else { 0 });
    usize::from(height.saturating_sub(names_height(height) + sums::height(height)))
}

/// Returns the rows that names of columns take of a panel with so many: the selected prefix comes first.
const fn names_height(panel: u16) -> u16 {
    if panel > 1 { 1 } else { 0 }
}

/// Draws the panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let state = &context.look.tree;
    let page = view::page(context.snapshot);
    let title = title(context, canvas.glyphs());
    let inner = context.frame(canvas, area, PanelId::Tree, title, notes(canvas, context, page));
    let Some(page) = page else {
        let (said, role) = match (context.past, context.held) {
            (true, _) => (not_kept(context.keys, false), Role::Warn),
            (false, true) => (not_frozen(context.keys), Role::Warn),
            (false, false) => (String::from("loading prefixes"), Role::Muted),
        };
        for (y, line) in text::wrap(&said, inner.width.into()).iter().enumerate() {
            canvas.put(inner, 0, text::coordinate(y), line, role);
        }
        return;
    };
    let below = sums::height(inner.height).min(inner.height);
    let columns = Columns::new(page, inner.width.into());
    let above = names_height(inner.height);
    if above > 0 {
        names(canvas, inner, &columns, page);
    }
    let rows =
        Rect { y: inner.y + above, height: inner.height.saturating_sub(above + below), ..inner };
    let height = usize::from(rows.height);
    let selected = state.selected(page).unwrap_or(0);
    let last = page.rows.len().saturating_sub(height);
    let first = selected.saturating_sub(state.line.min(height.saturating_sub(1))).min(last);
    let shown = page.rows.get(first..).unwrap_or_default();
    // Far down, rows are shown as if the tree began some levels further down.
    let deepest = usize::from(inner.width) / INDENTED / 2;
    let depth = page.rows.get(selected).map_or(0, |row| usize::from(row.depth));
    let base = depth.saturating_sub(deepest);
    let writer = Writer { page, columns: &columns, glyphs: canvas.glyphs(), context };
    let items: Vec<Item> = shown
        .iter()
        .take(height + 1)
        .map(|row| writer.item(row, base, deepest * 2, inner.width.into()))
        .collect();
    canvas.spots(rows, first, items.len().min(height));
    widget::draw(canvas, rows, &items, Some(selected - first));
    if page.rank_count <= page.ranks.len() {
        // Inside out a full cell looks empty, and an empty one full.
        let (x, width) = columns.marks(inner.width.into());
        let line = rows.y + text::coordinate(selected - first);
        let marks = Rect {
            x: inner.x + text::coordinate(x),
            y: line,
            width: text::coordinate(width),
            height: 1,
        };
        canvas.upright(marks.intersection(rows));
    }
    if let [root] = page.rows.as_slice()
        && let Some((why, role)) = bareness(context, root)
    {
        let room = usize::from(inner.width).saturating_sub(BEFORE);
        for (at, line) in text::wrap(&why, room).iter().enumerate() {
            canvas.put(rows, text::coordinate(BEFORE), 1 + text::coordinate(at), line, role);
        }
    }
    let end = Rect { y: inner.y + inner.height - below, height: below, ..inner };
    sums::draw(canvas, end, context, page);
}

/// Returns why nothing follows the root, for people; none when something does.
fn bareness(context: &PanelContext<'_>, root: &TreeRow) -> Option<(String, Role)> {
    let Some(worker) = context.look.tree.worker else {
        let role = if context.is_warming() { Role::Unknown } else { Role::Warn };
        return emptiness(context, root).map(|why| (why, role));
    };
    if root.subtree > 0 || root.place.node != TreeNode::Root {
        return None;
    }
    let own = context.snapshot.workers.iter().find(|row| row.rank.worker == worker);
    let why = match own.map(|row| (row.alias.as_str(), row.gone, row.left)) {
        None => String::from("Its worker is not in this picture."),
        Some((alias, true, Some(left))) => {
            let (age, clock) = (text::span(context.now.since(left)), text::clock(left));
            format!("{alias} left {age} ago, at {clock}Z, and its blocks with it.")
        }
        Some((alias, true, None)) => format!("{alias} left, and its blocks with it."),
        Some((alias, false, _)) => format!("Nothing of {alias} is in the index."),
    };
    let all = with_keys(context.keys, "{back} leads back.");
    Some((format!("{why} {all}"), Role::Warn))
}

/// Returns why the tree of accepted blocks is empty, as far as events tell; none when it is not.
pub(super) fn emptiness(context: &PanelContext<'_>, root: &TreeRow) -> Option<String> {
    let snapshot = context.snapshot;
    if root.subtree > 0 || root.place.node != TreeNode::Root || snapshot.tree.accepted_blocks > 0 {
        return None;
    }
    if !snapshot.hears_events() {
        return Some(String::from("No KV events received: cached blocks are unknown."));
    }
    let counters = &snapshot.totals.counters;
    let (stores, empty, refused) =
        (counters.stores, counters.empty_stores, counters.refused_stores);
    let of = |count| format!("{} of {} stores", text::count(count), text::count(stores));
    Some(match stores {
        0 => String::from("No block was stored since kvtop attached."),
        _ if empty * 2 > stores => {
            format!("{} arrived empty: the publishers rejected every block.", of(empty))
        }
        _ if refused * 2 > stores => {
            let past =
                if context.is_warming() { ", perhaps from before kvtop connected" } else { "" };
            format!("{} were rejected: their parents are missing{past}.", of(refused))
        }
        _ => String::from("Everything that was stored is removed again."),
    })
}

fn title(context: &PanelContext<'_>, glyphs: &Glyphs) -> String {
    match narrowed(context) {
        Some(alias) => context.trail(&[alias, "Prefixes"], glyphs),
        None => String::from("Prefixes"),
    }
}

/// Returns the short name of the worker whose prefixes alone are shown.
fn narrowed<'a>(context: &'a PanelContext<'_>) -> Option<&'a str> {
    let worker = context.look.tree.worker?;
    let row = context.snapshot.workers.iter().find(|row| row.rank.worker == worker);
    Some(row.map_or("?", |row| row.alias.as_str()))
}

fn notes(canvas: &Canvas<'_>, context: &PanelContext<'_>, page: Option<&TreePage>) -> Vec<Part> {
    let state = &context.look.tree;
    let tree = &context.snapshot.tree;
    let mut notes = Vec::new();
    if let Some(alias) = narrowed(context) {
        notes.push(part(format!("only {alias}  "), Role::Warn));
    }
    if state.root != TreeNode::Root {
        notes.push(part(format!("pinned {}  ", name(&state.root)), Role::Warn));
    }
    if page.is_some_and(|page| page.cut) {
        notes.push(part("more is open than is shown  ", Role::Warn));
    }
    let sort = match state.sort {
        TreeSort::Heat => "heat",
        TreeSort::Blocks => "blocks",
        TreeSort::Tokens => "length",
    };
    notes.push(part(format!("sort: {sort}{}", canvas.glyphs().down), Role::Muted));
    let bar = canvas.glyphs().bar;
    if let Some(worker) = state.worker {
        let own = context.snapshot.workers.iter().filter(|row| row.rank.worker == worker);
        let blocks = text::count(own.map(|row| row.accepted).sum());
        notes.push(part(format!(" {bar} {blocks} blocks"), Role::Muted));
        return notes;
    }
    // Edges are not counted by graph deployment, and blocks only together with how they are shared.
    let Some(graph) = &context.snapshot.deployment.chosen else {
        let blocks = text::count(tree.distinct_blocks);
        notes.push(part(format!(" {bar} {blocks} blocks"), Role::Muted));
        notes.push(part(format!(" {bar} {} edges", text::count(tree.edges)), Role::Muted));
        return notes;
    };
    notes.insert(
        0,
        part(format!("only {}  ", text::cut(graph, GRAPH, canvas.glyphs().ellipsis)), Role::Warn),
    );
    let sharing = page.and_then(|page| page.sharing);
    let blocks = sharing.map(|sharing| text::count(sharing.single + sharing.shared));
    let blocks = blocks.as_deref().unwrap_or(canvas.glyphs().none);
    notes.push(part(format!(" {bar} {blocks} blocks"), Role::Muted));
    notes
}

fn names(canvas: &mut Canvas<'_>, area: Rect, columns: &Columns, page: &TreePage) {
    let title = |text: &str| vec![part(text, Role::Title)];
    let reach = if page.block_size.is_some() { "CUM TOK" } else { "CUM BLK" };
    let cells = [
        title("EDGE"),
        title("SUBTREE"),
        title(reach),
        title("ON"),
        title("HEAT/m"),
        title("HITS/m"),
    ];
    let right = columns.lay(cells);
    canvas.put(area, text::coordinate(BEFORE), 0, "PREFIX", Role::Title);
    canvas.parts_right(area, 0, &right);
}

/// Returns one cell for each rank: what it has of a row.
pub(super) fn presence(on: &[Presence], glyphs: &Glyphs) -> Vec<Part> {
    let cell = |(at, has): (usize, &Presence)| match has {
        Presence::None => part(glyphs.presence[0], Role::Muted),
        Presence::Part => part(glyphs.presence[1], Role::SERIES[at % Role::SERIES.len()]),
        Presence::Whole => part(glyphs.presence[2], Role::SERIES[at % Role::SERIES.len()]),
    };
    on.iter().enumerate().map(cell).collect()
}
