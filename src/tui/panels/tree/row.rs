//! One row of the tree: its name, and its numbers in columns.

use super::{name, presence, short};
use crate::domain::{SequenceHash, TreeNode, TreeRow, TreeRowKind};
use crate::snapshot::TreePage;
use crate::tui::panels::PanelContext;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::views::tree::CHILDREN;
use crate::tui::widgets::canvas::{Part, part, width};
use crate::tui::widgets::tree::{self as widget, Item};

/// Columns of a name that is cut to fit.
const NAME: usize = 20;

/// A given name that is cut to fewer columns tells nothing.
const TELLING: usize = 10;

/// Cells of a row beside its name.
pub(super) const CELLS: usize = 6;

/// The columns to the right of the names.
pub(super) struct Columns {
    edge: usize,
    subtree: usize,
    reach: usize,
    on: usize,
    heat: usize,
    hits: usize,
}

impl Columns {
    /// Returns the columns that fit beside names in `width`. What is told elsewhere goes first.
    pub(super) fn new(page: &TreePage, width: usize) -> Self {
        let on = if page.rank_count > page.ranks.len() {
            format!("{0}/{0}", page.rank_count).len()
        } else {
            page.ranks.len().max(2)
        };
        let hits = if page.rows.iter().any(|row| row.hits.is_some()) { 6 } else { 0 };
        let mut columns = Self { edge: 6, subtree: 8, reach: 8, on, heat: 6, hits };
        let fits = |columns: &Self| columns.total() + NAME + 4 <= width;
        let drops: [fn(&mut Self); 5] = [
            |it| it.reach = 0,
            |it| it.edge = 0,
            |it| it.hits = 0,
            |it| it.on = 0,
            |it| it.heat = 0,
        ];
        for drop in drops {
            if !fits(&columns) {
                drop(&mut columns);
            }
        }
        columns
    }

    fn each(&self) -> impl Iterator<Item = usize> {
        [self.edge, self.subtree, self.reach, self.on, self.heat, self.hits].into_iter()
    }

    fn total(&self) -> usize {
        self.each().filter(|width| *width > 0).map(|width| width + 1).sum()
    }

    /// Returns where marks of presence stand in a row of `width`: the first column, and how many.
    pub(super) fn marks(&self, width: usize) -> (usize, usize) {
        let behind = [self.heat, self.hits].into_iter().filter(|columns| *columns > 0);
        let behind: usize = behind.map(|columns| columns + 1).sum();
        (width.saturating_sub(behind + self.on), self.on)
    }

    /// Lays cells out, each to the right of its column.
    pub(super) fn lay(&self, cells: [Vec<Part>; CELLS]) -> Vec<Part> {
        let mut parts = Vec::new();
        for (columns, cell) in self.each().zip(cells).filter(|(columns, _)| *columns > 0) {
            let pad = (columns + 1).saturating_sub(width(&cell));
            parts.push(part(" ".repeat(pad), Role::Fg));
            parts.extend(cell);
        }
        parts
    }
}

/// Writes rows.
pub(super) struct Writer<'a> {
    pub(super) page: &'a TreePage,
    pub(super) columns: &'a Columns,
    pub(super) glyphs: &'static Glyphs,
    pub(super) context: &'a PanelContext<'a>,
}

impl Writer<'_> {
    pub(super) fn item(&self, row: &TreeRow, base: usize, most: usize, width: usize) -> Item {
        let depth = usize::from(row.depth).saturating_sub(base).min(most);
        let open = match row.kind {
            TreeRowKind::Node { open, children } => (children > 0).then_some(open),
            TreeRowKind::More { .. } | TreeRowKind::Gone => None,
        };
        let room = widget::room(width, depth).saturating_sub(self.columns.total());
        let mut parts = self.fit(self.label(row), room);
        parts.extend(self.columns.lay(self.cells(row)));
        Item { depth, open, parts }
    }

    /// Returns `label` in exactly `room` columns. Where room is short, its last parts are left out, and a given name is
    /// cut.
    fn fit(&self, mut label: Vec<Part>, room: usize) -> Vec<Part> {
        while label.len() > 1 && width(&label) > room {
            let Some(last) = label.pop().filter(|last| last.role == Role::Title) else { continue };
            let left = room.saturating_sub(width(&label));
            if left >= TELLING {
                label.push(part(text::cut(&last.text, left, self.glyphs.ellipsis), Role::Title));
            }
        }
        if let [only] = label.as_mut_slice()
            && text::width(&only.text) > room
        {
            only.text = text::cut(&only.text, room, self.glyphs.ellipsis);
        }
        let pad = room.saturating_sub(width(&label));
        label.push(part(" ".repeat(pad), Role::Fg));
        label
    }

    fn label(&self, row: &TreeRow) -> Vec<Part> {
        let node = &row.place.node;
        match row.kind {
            TreeRowKind::Gone => {
                let said = format!("{} {} is gone", self.glyphs.unknown, name(node));
                return vec![part(said, Role::Unknown)];
            }
            TreeRowKind::More { sorted: false, hidden } => {
                let more = text::count(hidden as u64);
                return vec![part(format!("+{more} more, putting them in order"), Role::Muted)];
            }
            TreeRowKind::More { hidden, .. } => {
                let more = format!("+{} more", text::count(hidden as u64));
                let hint = format!("  (Enter loads {})", hidden.min(CHILDREN));
                return vec![part(more, Role::Muted), part(hint, Role::Muted)];
            }
            TreeRowKind::Node { .. } => {}
        }
        let children = match row.kind {
            TreeRowKind::Node { open: false, children } => children,
            _ => 0,
        };
        let count =
            |what: &str| part(format!("  +{} {what}", text::count(children as u64)), Role::Muted);
        let warming = self.context.is_warming();
        let fault = if warming { Role::Unknown } else { Role::Warn };
        match node {
            TreeNode::Root => vec![part("root", Role::Title)],
            TreeNode::Detached => {
                vec![part("detached", fault), part("  parent removed", Role::Muted)]
            }
            TreeNode::Orphans => {
                let roots = text::count(self.context.snapshot.tree.orphan_roots);
                let warming = if warming { ", maybe from before attach" } else { "" };
                vec![
                    part("rejected", fault),
                    part(format!("  {roots} missing parents"), Role::Muted),
                    part(warming, Role::Muted),
                ]
            }
            TreeNode::Missing(hash) => {
                let mut label = vec![part(format!("missing {}", short(*hash)), fault)];
                label.extend(self.given(node));
                let chains = if children == 1 { "chain" } else { "chains" };
                label.extend((children > 0).then(|| count(chains)));
                label
            }
            TreeNode::Block(block) => {
                let mut label = vec![part(short(block.sequence), Role::Fg)];
                label.extend(self.given(node));
                label.extend(self.sought(node, block.sequence));
                label.extend(
                    (children > 0).then(|| count(if children == 1 { "edge" } else { "edges" })),
                );
                label
            }
        }
    }

    /// Returns the name that somebody gave to a node.
    fn given(&self, node: &TreeNode) -> Option<Part> {
        let name = self.context.look.tree.labels.label(node)?;
        Some(part(format!("  \"{name}\""), Role::Title))
    }

    /// Returns which block within the run of a node is looked for: its own name shows the first one only.
    fn sought(&self, node: &TreeNode, first: SequenceHash) -> Option<Part> {
        let hash = super::sought(self.context, self.page, node).find(|hash| *hash != first)?;
        let detail = self.page.detail.as_ref().filter(|detail| detail.node == *node);
        let at = detail.and_then(|detail| detail.hashes.iter().position(|known| *known == hash));
        let place = at.map_or_else(|| String::from("in it"), |at| format!("block {}", at + 1));
        Some(part(format!("  {place}: {}", short(hash)), Role::Ok))
    }

    fn cells(&self, row: &TreeRow) -> [Vec<Part>; CELLS] {
        let blank = || vec![part("", Role::Fg)];
        let number = |text: String| vec![part(text, Role::Fg)];
        let least = match (row.partial, row.exact) {
            (true, _) => self.glyphs.least,
            (false, true) => "",
            (false, false) => "~",
        };
        let subtree = number(format!("{least}{}", text::count(row.subtree)));
        // At least none says nothing.
        let subtree = if row.partial && row.subtree == 0 { blank() } else { subtree };
        match row.kind {
            TreeRowKind::Gone => return [blank(), blank(), blank(), blank(), blank(), blank()],
            TreeRowKind::More { .. } => {
                let known = row.subtree > 0;
                let subtree = if known { subtree } else { blank() };
                return [blank(), subtree, blank(), blank(), blank(), blank()];
            }
            TreeRowKind::Node { .. } => {}
        }
        let edge = match row.place.node {
            TreeNode::Block(_) => number(text::count(row.blocks.into())),
            _ => blank(),
        };
        let reach = match (row.reach, row.place.node) {
            (Some(blocks), _) => number(text::count(self.tokens(blocks))),
            (None, TreeNode::Block(_)) => vec![part(self.glyphs.none, Role::Muted)],
            (None, _) => blank(),
        };
        let heat = match row.place.node {
            TreeNode::Orphans | TreeNode::Detached => blank(),
            _ => {
                let role = if row.heat > 0.0 { Role::Fg } else { Role::Muted };
                vec![part(text::short(row.heat.into()), role)]
            }
        };
        let hits = row.hits.map_or_else(blank, |hits| {
            let role = if hits > 0.0 { Role::Fg } else { Role::Muted };
            vec![part(text::short(hits.into()), role)]
        });
        [edge, subtree, reach, self.on(row), heat, hits]
    }

    /// Returns `blocks` in tokens, where the block size is known.
    fn tokens(&self, blocks: u32) -> u64 {
        u64::from(blocks) * u64::from(self.page.block_size.unwrap_or(1))
    }

    fn on(&self, row: &TreeRow) -> Vec<Part> {
        if self.page.rank_count > self.page.ranks.len() {
            if let TreeNode::Missing(_) | TreeNode::Detached = row.place.node {
                return vec![part("", Role::Fg)];
            }
            return vec![part(format!("{}/{}", row.holders, self.page.rank_count), Role::Fg)];
        }
        presence(&row.on, self.glyphs)
    }
}
