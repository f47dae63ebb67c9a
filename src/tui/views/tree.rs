//! The view of the tree of prefixes, with everything about one of them.

mod moves;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ratatui::layout::Rect;

use super::{Reply, View, ViewContext, moved};
use crate::domain::{TreeAnchor, TreeNode, TreePlace, TreeRow, TreeSort, WorkerId};
use crate::snapshot::{Answer, Ask, Snapshot, TreePage, TreeQuery, ViewQuery};
use crate::tui::command::{self, Command, Pick, Scroll};
use crate::tui::keymap::names::with_keys;
use crate::tui::labels::Labels;
use crate::tui::layout::{Class, Layout, Needs, columns, take_top};
use crate::tui::panels::tree as panel;
use crate::tui::panels::{Look, PanelId};
use crate::tui::theme::Glyphs;

/// The view.
pub const VIEW: View = View {
    name: command::View::Tree,
    about: "which prefix is cached where",
    home: PanelId::Tree,
    opened: |look| look.tree.described,
    filter: None,
    arrange,
    ask,
    update,
    copy,
};

/// Children shown below a prefix, and how many more each time they are asked for.
pub const CHILDREN: usize = 50;
/// Most children that are asked for, as many as there is an answer for.
const MOST_CHILDREN: usize = 2_000;
/// Rows asked for beyond what a screen shows, so that keys find them there.
const SPARE: usize = 40;
/// Most prefixes of which is remembered that they are open, or closed.
const REMEMBERED: usize = 1_000;

/// State of the view between pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The first row.
    pub root: TreeNode,
    /// The selected row.
    pub cursor: TreePlace,
    /// True while the last row is selected, which may be far from those that are known.
    pub last: bool,
    /// The row of the panel that it stands in.
    pub line: usize,
    /// Open nodes, with the number of children shown.
    pub open: HashMap<TreeNode, usize>,
    /// Nodes that are open together with so many levels below them.
    pub spread: HashMap<TreeNode, u16>,
    /// Nodes that are closed although a level above would open them.
    pub closed: HashSet<TreeNode>,
    /// The order of siblings.
    pub sort: TreeSort,
    /// The ranks whose blocks are shown; none for all.
    pub worker: Option<WorkerId>,
    /// Names that people gave to blocks.
    pub labels: Arc<Labels>,
    /// A hash that is looked for, and which of its matches is selected.
    pub find: Option<(String, usize)>,
    /// True while what is said about the selected prefix has the view for itself.
    pub described: bool,
    /// First row shown of what is said about the selected prefix.
    pub first_line: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            root: TreeNode::Root,
            cursor: TreePlace::default(),
            last: false,
            line: 0,
            open: [(TreeNode::Root, CHILDREN), (TreeNode::Orphans, CHILDREN)].into(),
            spread: HashMap::new(),
            closed: HashSet::new(),
            sort: TreeSort::default(),
            worker: None,
            labels: Arc::default(),
            find: None,
            described: false,
            first_line: 0,
        }
    }
}

/// Returns the page of the tree, once there is one: the one that was asked for, or the hottest prefixes that every
/// picture keeps.
pub fn page(snapshot: &Snapshot) -> Option<&TreePage> {
    match &snapshot.answer {
        Answer::Tree(page) => Some(page),
        _ => snapshot.prefixes.as_deref(),
    }
}

impl State {
    /// Returns which of the rows of `page` is selected.
    pub fn selected(&self, page: &TreePage) -> Option<usize> {
        let query = &page.query;
        let asked = query.cursor == Some(self.cursor) && query.find == self.find;
        let asked = asked && query.last == self.last;
        let answered = match page.anchor {
            TreeAnchor::At(at) | TreeAnchor::Gone(at) if asked => at.checked_sub(page.first),
            _ => None,
        };
        let known = || page.rows.iter().position(|row| row.place == self.cursor);
        answered.or_else(known).or(if page.rows.is_empty() { None } else { Some(0) })
    }

    /// Returns the selected row.
    pub fn row<'a>(&self, page: &'a TreePage) -> Option<&'a TreeRow> {
        page.rows.get(self.selected(page)?)
    }

    fn query(&self, around: usize) -> TreeQuery {
        TreeQuery {
            root: self.root,
            open: self.open.clone(),
            spread: self.spread.clone(),
            closed: self.closed.clone(),
            cursor: Some(self.cursor),
            last: self.last,
            around,
            sort: self.sort,
            worker: self.worker,
            find: self.find.clone(),
            ranks: Vec::new(),
        }
    }
}

/// Returns what asks for so many of the first prefixes that are used most.
pub fn hottest(rows: usize) -> TreeQuery {
    let open = [(TreeNode::Root, rows)].into();
    TreeQuery { open, around: rows + 1, sort: TreeSort::Heat, ..TreeQuery::default() }
}

/// The tree, and beside or below it what is selected.
fn arrange(layout: &mut Layout, mut rest: Rect, class: Class, needs: &Needs) {
    if needs.opened {
        layout.panels.push((PanelId::Prefix, rest));
        return;
    }
    if class <= Class::Medium && rest.width >= 100 {
        let tree = rest.width / 20 * 13;
        layout.panels.push((PanelId::Tree, columns(rest, 0, tree)));
        layout.panels.push((PanelId::Prefix, columns(rest, tree, rest.width - tree)));
        return;
    }
    let below = match (class, rest.height) {
        (Class::Full | Class::Medium, 14..) => 8 + (rest.height - 14) / 3,
        (Class::Compact, 7..) => 2,
        _ => 0,
    };
    let above = rest.height - below;
    let tree = take_top(&mut rest, above);
    layout.panels.push((PanelId::Tree, tree));
    if !rest.is_empty() {
        layout.panels.push((PanelId::Prefix, rest));
    }
}

fn ask(look: &Look, view_context: &ViewContext<'_>, query: &mut ViewQuery) {
    let rows = view_context.layout.panel(PanelId::Tree).map_or(0, |area| usize::from(area.height));
    query.ask = Ask::Tree(Box::new(look.tree.query(rows + SPARE)));
}

fn update(look: &mut Look, command: Command, view_context: &ViewContext<'_>) -> Reply {
    let focus = view_context.layout.focus(look.focus);
    let page = page(view_context.snapshot);
    let tree = &mut look.tree;
    if let Command::Scroll(by) = command {
        match page {
            _ if focus == PanelId::Prefix => read(look, by, view_context),
            Some(page) => tree.scroll(by, panel::lines(view_context.layout), page),
            None => {}
        }
        return Reply::Done;
    }
    let opens = matches!(command, Command::Open | Command::Tree(_) | Command::Find(_));
    if opens && view_context.past {
        return Reply::Refused(panel::not_kept(view_context.keys, page.is_some()));
    }
    if opens && view_context.held {
        return Reply::Refused(with_keys(
            view_context.keys,
            "the display is frozen; {toggle-freeze} resumes it",
        ));
    }
    match command {
        Command::Find(text) => tree.find(text.as_str()),
        Command::OnlyWorker(number) => return tree.only(number, view_context.snapshot),
        Command::Back if tree.described => tree.described = false,
        Command::Back => return tree.back(page),
        Command::Sort => return Reply::Pick(tree.sorts()),
        Command::Picked(Pick::Sort, at) => {
            tree.sort = TreeSort::ALL.get(at).copied().unwrap_or_default();
        }
        Command::Picked(Pick::Worker, at) => tree.pick_worker(at, view_context.snapshot),
        Command::Open => return page.map_or(Reply::Done, |page| tree.toggle(page)),
        Command::Tree(command) => {
            return page.map_or(Reply::Done, |page| tree.obey(command, page, view_context));
        }
        _ => return Reply::Pass,
    }
    Reply::Done
}

fn read(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) {
    let Some(area) = view_context.layout.panel(PanelId::Prefix) else { return };
    let page = panel::detail::page(area, view_context.layout.framed).max(1);
    // The glyphs decide nothing about how many rows there are.
    let last = panel::detail::last(&view_context.panel_context(look), area, Glyphs::UNICODE);
    look.tree.first_line = moved(look.tree.first_line, by, page, last);
}

/// Copies the hashes of the selected prefix and the way to it.
fn copy(look: &Look, view_context: &ViewContext<'_>) -> Option<String> {
    let page = page(view_context.snapshot)?;
    let row = look.tree.row(page)?;
    let TreeNode::Block(block) = row.place.node else {
        return Some(panel::name(&row.place.node));
    };
    let detail = page.detail.as_ref().filter(|detail| detail.node == row.place.node);
    let way = detail.map(|detail| detail.path.iter().map(panel::name).collect::<Vec<_>>());
    let way = way.filter(|way| way.len() > 1).map(|way| format!("\npath {}", way.join(" > ")));
    let last = row.last.map(|last| format!(" to {last}")).unwrap_or_default();
    Some(format!("{}{last}{}", block.sequence, way.unwrap_or_default()))
}
