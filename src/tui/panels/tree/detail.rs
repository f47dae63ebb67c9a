//! Everything about the selected prefix.

mod costs;

use ratatui::layout::Rect;

use super::{emptiness, name, presence, short};
use crate::domain::{SequenceHash, TreeNode, TreeRow, TreeRowKind};
use crate::snapshot::{TreeDetail, TreePage, TreeShare};
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::views::tree as view;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Columns of a label.
const LABEL: usize = 8;

/// Draws the panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let (title, notes) = heading(context, canvas.glyphs());
    let inner = context.frame(canvas, area, PanelId::Prefix, title, notes);
    let lines = lines(context, inner.width.into(), canvas.glyphs());
    let last = lines.len().saturating_sub(inner.height.into());
    let first = context.look.tree.first_line.min(last);
    for (y, line) in lines.iter().skip(first).take(inner.height.into()).enumerate() {
        canvas.parts(inner, 0, text::coordinate(y), line);
    }
    if first < last && inner.height > 3 {
        let below = lines.len() - first - usize::from(inner.height);
        let more = [part(
            format!(" {} more {} ", text::count(below as u64), canvas.glyphs().down),
            Role::Muted,
        )];
        canvas.parts_right(inner, inner.height - 1, &more);
    }
}

/// Returns how many rows are in sight in `area`.
pub fn page(area: Rect, framed: bool) -> usize {
    usize::from(area.height.saturating_sub(if framed { 2 } else { 0 }))
}

/// Returns the last row from which on the panel is full.
pub fn last(context: &PanelContext<'_>, area: Rect, glyphs: &'static Glyphs) -> usize {
    let width = area.width.saturating_sub(if context.framed { 4 } else { 0 });
    lines(context, width.into(), glyphs).len().saturating_sub(page(area, context.framed))
}

fn selected<'a>(context: &'a PanelContext<'_>) -> Option<(&'a TreePage, &'a TreeRow)> {
    let page = view::page(context.snapshot)?;
    Some((page, context.look.tree.row(page)?))
}

fn heading(context: &PanelContext<'_>, glyphs: &Glyphs) -> (String, Vec<Part>) {
    let Some((page, row)) = selected(context) else { return (String::from("Prefix"), Vec::new()) };
    let title = match row.place.node {
        TreeNode::Missing(_) => format!("missing {}", name(&row.place.node)),
        _ => name(&row.place.node),
    };
    let title = match context.look.tree.labels.label(&row.place.node) {
        Some(given) => format!("{title}  \"{given}\""),
        None => title,
    };
    let title = match super::narrowed(context) {
        _ if !context.look.tree.described => title,
        alias => context.trail(&[alias.unwrap_or_default(), &title], glyphs),
    };
    let mut notes = Vec::new();
    if page.rank_count <= page.ranks.len() {
        notes = presence(&row.on, glyphs);
    }
    (title, notes)
}

fn lines(context: &PanelContext<'_>, columns: usize, glyphs: &'static Glyphs) -> Vec<Vec<Part>> {
    let mut sheet = Sheet { lines: Vec::new(), width: columns, glyphs, context };
    let Some((page, row)) = selected(context) else {
        sheet.say("", "nothing is selected", Role::Muted);
        return sheet.lines;
    };
    match row.kind {
        TreeRowKind::Gone => {
            let said = "This prefix was removed, or its worker left. Nobody has it any more.";
            sheet.say("", said, Role::Unknown);
            return sheet.lines;
        }
        TreeRowKind::More { hidden, .. } => {
            let more = text::count(hidden as u64);
            sheet.say("", &format!("{more} more follow {}.", name(&row.place.node)), Role::Fg);
            sheet.say("", "Enter loads 50 of them, s orders them otherwise.", Role::Muted);
            return sheet.lines;
        }
        TreeRowKind::Node { .. } => {}
    }
    sheet.about(row);
    let detail = page.detail.as_ref().filter(|detail| detail.node == row.place.node);
    if let Some(detail) = detail {
        sheet.facts(page, row, detail);
        sheet.costs(detail);
        sheet.agreement(detail);
        sheet.below(detail);
        sheet.hashes(page, row, detail);
    }
    sheet.lines
}

/// Rows of text, as they are written.
struct Sheet<'a> {
    lines: Vec<Vec<Part>>,
    width: usize,
    glyphs: &'static Glyphs,
    context: &'a PanelContext<'a>,
}

impl Sheet<'_> {
    fn say(&mut self, label: &str, said: &str, role: Role) {
        let indent = if label.is_empty() { 0 } else { LABEL };
        let room = self.width.saturating_sub(indent).max(8);
        for (at, line) in text::wrap(said, room).into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.lines.push(vec![part(text::pad(label, indent), Role::Muted), part(line, role)]);
        }
    }

    fn head(&mut self, title: &str) {
        self.lines.push(Vec::new());
        let lines = text::wrap(title, self.width).into_iter();
        self.lines.extend(lines.map(|line| vec![part(line, Role::Title)]));
    }

    /// Writes `parts` one after the other; what does not fit goes on below, `indent` columns in.
    fn flow(&mut self, parts: Vec<Part>, indent: usize) {
        let mut line = Vec::new();
        for mut one in parts {
            if !line.is_empty() && width(&line) + text::width(&one.text) > self.width {
                self.lines.push(std::mem::take(&mut line));
                one.text = format!("{}{}", " ".repeat(indent), one.text.trim_start());
            }
            line.push(one);
        }
        self.lines.push(line);
    }

    fn age(&self, at: crate::domain::Timestamp) -> String {
        let span = self.context.now.since(at);
        match span.as_secs() {
            0 | 1 => String::from("now"),
            _ => format!("{} ago", text::span(span)),
        }
    }

    /// Says what a row is that is no prefix.
    fn about(&mut self, row: &TreeRow) {
        let said = match row.place.node {
            TreeNode::Root => "Where every prompt starts.",
            TreeNode::Detached => {
                "Blocks whose parent was removed before them. Routers find them by their hash, but no \
                 prompt reaches them."
            }
            TreeNode::Orphans => {
                "Blocks that workers hold and routers refused, because the parent that they were \
                 stored under is not known. They are grouped by that parent, the largest first."
            }
            TreeNode::Missing(_) => {
                "A parent that no router knows. What was stored under it is refused: routers do not \
                 see these blocks, though workers hold them."
            }
            TreeNode::Block(block) if block.orphan => "Rejected: routers do not see these blocks.",
            TreeNode::Block(_) => return,
        };
        self.say("", said, Role::Fg);
        // Beside the tree it stands below the root.
        if row.place.node == TreeNode::Root
            && self.context.look.tree.described
            && let Some(why) = emptiness(self.context, row)
        {
            let role = if self.context.is_warming() { Role::Unknown } else { Role::Warn };
            self.say("", &why, role);
        }
        if row.place.node != TreeNode::Root && self.context.is_warming() {
            let said = "Blocks from before kvtop attached are unknown, so this proves nothing yet.";
            self.say("", said, Role::Unknown);
        }
    }

    fn facts(&mut self, page: &TreePage, row: &TreeRow, detail: &TreeDetail) {
        if let TreeNode::Missing(hash) = row.place.node {
            self.say("hash", &hash.to_string(), Role::Fg);
        }
        if !matches!(row.place.node, TreeNode::Block(_)) {
            self.say("blocks", &text::thousands(row.subtree), Role::Fg);
            return;
        }
        let way: Vec<String> = detail.path.iter().map(name).collect();
        if let Some((_, above)) = way.split_last() {
            let mut above = above.to_vec();
            // The ends of a long way tell most.
            if above.len() > 6 {
                let left = format!("{} {} more", self.glyphs.ellipsis, above.len() - 4);
                above.splice(2..above.len() - 2, [left]);
            }
            let first = if detail.above.is_some() { Some("root") } else { None };
            above.splice(0..0, first.map(String::from));
            above.push(String::from("this"));
            self.say("path", &above.join(" > "), Role::Fg);
        }
        let size = page.block_size.map(u64::from);
        if let Some(above) = detail.above {
            let reach = above + detail.blocks;
            let tokens = size.map_or(String::new(), |size| {
                format!(", {} tokens", text::thousands(u64::from(reach) * size))
            });
            let blocks = text::thousands(reach.into());
            self.say("prefix", &format!("{blocks} blocks{tokens}"), Role::Fg);
            let range = format!("{} to {}", above + 1, reach);
            self.say("edge", &format!("{} blocks, {range}", detail.blocks), Role::Fg);
        } else {
            self.say("edge", &format!("{} blocks", detail.blocks), Role::Fg);
        }
        if let Some(at) = detail.touched {
            self.say("stored", &format!("{}Z, {}", text::clock(at), self.age(at)), Role::Fg);
        }
        let heat = format!("{} stores/min at and below", text::short(row.heat.into()));
        self.say("heat", &heat, Role::Fg);
        if let Some(hits) = row.hits {
            let said = format!("{} requests/min begin with it", text::short(hits.into()));
            self.say("hits", &said, Role::Fg);
        } else {
            let said = "known only where routers share their load (replica sync)";
            self.say("hits", &format!("{} {said}", self.glyphs.none), Role::Muted);
        }
    }

    /// Tells how many blocks each worker has at and below the row.
    fn below(&mut self, detail: &TreeDetail) {
        let has: Vec<&TreeShare> = detail.shares.iter().filter(|share| share.below > 0).collect();
        if has.is_empty() {
            return;
        }
        self.head("Blocks here and below, by worker");
        let least = if detail.counted { "" } else { "at least " };
        let said: Vec<String> = has
            .iter()
            .map(|share| format!("{} {least}{}", share.alias, text::count(share.below.into())))
            .collect();
        self.say("", &said.join(", "), Role::Fg);
    }

    fn hashes(&mut self, page: &TreePage, row: &TreeRow, detail: &TreeDetail) {
        if detail.hashes.is_empty() {
            return;
        }
        let (shown, all) = (detail.hashes.len(), u64::from(row.blocks).max(1));
        let of = text::count(all);
        self.head(&format!("Block hashes ({} of {of})", text::count(shown as u64)));
        let sought: Vec<_> = super::sought(self.context, page, &row.place.node).collect();
        let glyphs = self.glyphs;
        let line = |hash: &SequenceHash| {
            if sought.contains(hash) {
                return vec![part(glyphs.mark, Role::Key), part(format!(" {hash}"), Role::Ok)];
            }
            vec![part(format!("  {hash}"), Role::Muted)]
        };
        self.lines.extend(detail.hashes.iter().map(line));
        // What is looked for may be further down than hashes are listed.
        let below: Vec<_> = sought.iter().filter(|hash| !detail.hashes.contains(hash)).collect();
        if !below.is_empty() {
            self.lines.push(vec![part(format!("  {}", self.glyphs.ellipsis), Role::Muted)]);
            self.lines.extend(below.into_iter().map(line));
        }
        if let (Some(last), true) = (row.last, (shown as u64) < all) {
            let said = format!("  {} {}", self.glyphs.ellipsis, short(last));
            self.lines.push(vec![part(said, Role::Muted)]);
        }
    }
}
