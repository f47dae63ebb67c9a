//! Keys of the tree.

use super::{CHILDREN, MOST_CHILDREN, REMEMBERED, State};
use crate::domain::{TreeNode, TreePlace, TreeRow, TreeRowKind, TreeSort, WorkerId};
use crate::snapshot::{Snapshot, TreePage};
use crate::tui::command::{Pick, Scroll, TreeCommand};
use crate::tui::views::{Choice, Picker, Reply, ViewContext, moved};

/// Levels that are opened at once.
const LEVELS: u16 = 3;
/// As many levels as are ever shown.
const ALL_LEVELS: u16 = 64;

fn refused(why: &str) -> Reply {
    Reply::Refused(String::from(why))
}

impl State {
    /// Selects another row.
    pub(super) fn scroll(&mut self, by: Scroll, lines: usize, page: &TreePage) {
        let at = self.selected(page).unwrap_or(0);
        let last = page.rows.len().saturating_sub(1);
        let next = moved(at, by, lines.max(1), last);
        let last_line = lines.saturating_sub(1);
        self.line = match by {
            Scroll::Top => 0,
            Scroll::Bottom => last_line,
            _ if next >= at => (self.line + (next - at)).min(last_line),
            _ => self.line.saturating_sub(at - next),
        };
        self.select(next, page);
        match by {
            Scroll::Top => self.cursor = TreePlace { node: self.root, more: false },
            // The rows that are known may end before the tree does.
            Scroll::Bottom => self.last = page.first + page.rows.len() < page.all,
            _ => {}
        }
    }

    /// Selects the row of `page` at `at`. What was found is selected by then, and stays open.
    fn select(&mut self, at: usize, page: &TreePage) {
        self.keep_found(page);
        self.last = false;
        if let Some(row) = page.rows.get(at) {
            if self.cursor != row.place {
                self.first_line = 0;
            }
            self.cursor = row.place;
        }
    }

    /// Opens the way to what was found for good, and ends the search.
    fn keep_found(&mut self, page: &TreePage) {
        let Some((_, which)) = self.find.take() else { return };
        let Some(search) = page.search.as_ref().filter(|_| page.query.find.is_some()) else {
            return;
        };
        let which = which.checked_rem(search.found.len());
        let found = which.and_then(|which| search.found.get(which));
        let Some(way) = found.map(|found| &found.way) else { return };
        let shown_open = |node: &TreeNode| {
            page.rows.iter().any(|row| {
                row.place.node == *node && matches!(row.kind, TreeRowKind::Node { open: true, .. })
            })
        };
        let (found, above) =
            way.split_last().map_or((None, &[][..]), |(it, above)| (Some(it), above));
        // What was found stays as it is shown.
        for node in above.iter().chain(found.filter(|node| shown_open(node))) {
            self.open.entry(*node).or_insert(CHILDREN);
            self.closed.remove(node);
        }
        self.cursor = TreePlace { node: way.last().copied().unwrap_or_default(), more: false };
    }

    /// Looks for `text`; for the next match when it is looked for already.
    pub(super) fn find(&mut self, text: &str) {
        let which = match &self.find {
            Some((known, which)) if known == text => which.saturating_add(1),
            _ => 0,
        };
        self.find = Some((text.to_owned(), which));
        self.root = TreeNode::Root;
        self.worker = None;
        self.last = false;
        self.line = 8;
        self.first_line = 0;
    }

    /// Ends the search, then the filter, then the pin.
    pub(super) fn back(&mut self, page: Option<&TreePage>) -> Reply {
        if let Some(page) = page
            && self.find.is_some()
        {
            self.keep_found(page);
        } else if self.find.take().is_some() || self.worker.take().is_some() {
        } else if self.root != TreeNode::Root {
            self.root = TreeNode::Root;
        } else {
            return Reply::Pass;
        }
        Reply::Done
    }

    /// Opens what is selected, closes it, or shows more of its siblings.
    pub(super) fn toggle(&mut self, page: &TreePage) -> Reply {
        let Some((at, row)) = self.at(page) else { return Reply::Done };
        self.select(at, page);
        match row.kind {
            TreeRowKind::More { .. } => return self.more(row.place.node),
            TreeRowKind::Gone => return refused("this prefix is gone"),
            TreeRowKind::Node { open: true, .. } => self.close(row.place.node),
            TreeRowKind::Node { open: false, children: 0 } => {
                return refused("nothing follows this prefix");
            }
            TreeRowKind::Node { open: false, .. } => self.unfold(row.place.node),
        }
        Reply::Done
    }

    fn more(&mut self, node: TreeNode) -> Reply {
        let wanted = self.open.get(&node).copied().unwrap_or(CHILDREN);
        if wanted >= MOST_CHILDREN {
            return refused("no more of these are shown; narrow them down with / or w");
        }
        self.unfold(node);
        self.open.insert(node, (wanted + CHILDREN).min(MOST_CHILDREN));
        Reply::Done
    }

    fn unfold(&mut self, node: TreeNode) {
        // So many are never opened by hand; the first of them are far away by now.
        if self.open.len() >= REMEMBERED {
            self.open.retain(|known, _| *known == TreeNode::Root);
        }
        self.closed.remove(&node);
        self.open.entry(node).or_insert(CHILDREN);
    }

    fn close(&mut self, node: TreeNode) {
        if self.closed.len() >= REMEMBERED {
            self.closed.clear();
        }
        self.open.remove(&node);
        self.spread.remove(&node);
        self.closed.insert(node);
    }

    fn at<'a>(&self, page: &'a TreePage) -> Option<(usize, &'a TreeRow)> {
        let at = self.selected(page)?;
        Some((at, page.rows.get(at)?))
    }

    /// Obeys a command of the tree alone.
    pub(super) fn obey(
        &mut self,
        command: TreeCommand,
        page: &TreePage,
        view_context: &ViewContext<'_>,
    ) -> Reply {
        let Some((at, row)) = self.at(page) else { return Reply::Done };
        let node = row.place.node;
        match command {
            TreeCommand::In => return self.go_in(at, row, page),
            TreeCommand::Out => return self.go_out(at, row, page),
            TreeCommand::OpenAll | TreeCommand::OpenLevels => {
                self.select(at, page);
                let all = command == TreeCommand::OpenAll;
                if self.spread.len() >= REMEMBERED {
                    self.spread.clear();
                }
                self.closed.clear();
                self.spread.insert(node, if all { ALL_LEVELS } else { LEVELS });
            }
            TreeCommand::Pin => return self.pin(at, row, page),
            TreeCommand::Worker => return Reply::Pick(self.workers(view_context.snapshot)),
            TreeCommand::Describe => {
                // What is looked for stays marked.
                if self.find.is_none() {
                    self.select(at, page);
                }
                self.described = !self.described;
            }
        }
        Reply::Done
    }

    fn go_in(&mut self, at: usize, row: &TreeRow, page: &TreePage) -> Reply {
        match row.kind {
            TreeRowKind::Node { open: true, .. } => {
                let below = page.rows.get(at + 1).is_some_and(|next| next.depth > row.depth);
                if below {
                    self.line += 1;
                    self.select(at + 1, page);
                }
                Reply::Done
            }
            _ => self.toggle(page),
        }
    }

    fn go_out(&mut self, at: usize, row: &TreeRow, page: &TreePage) -> Reply {
        if let TreeRowKind::Node { open: true, .. } = row.kind {
            self.select(at, page);
            self.close(row.place.node);
            return Reply::Done;
        }
        let above = page.rows.get(..at).unwrap_or_default();
        if let Some(parent) = above.iter().rposition(|other| other.depth < row.depth) {
            self.line = self.line.saturating_sub(at - parent);
            self.select(parent, page);
        }
        Reply::Done
    }

    fn pin(&mut self, at: usize, row: &TreeRow, page: &TreePage) -> Reply {
        let node = row.place.node;
        if self.root != TreeNode::Root && (node == self.root || row.kind == TreeRowKind::Gone) {
            self.root = TreeNode::Root;
            return Reply::Done;
        }
        if row.kind == TreeRowKind::Gone || node == TreeNode::Root {
            return refused("nothing is selected that could be shown alone");
        }
        self.select(at, page);
        self.root = node;
        self.cursor = TreePlace { node, more: false };
        self.line = 0;
        self.unfold(node);
        Reply::Done
    }

    /// Returns the orders to pick from.
    pub(super) fn sorts(&self) -> Picker {
        let choice = |sort: TreeSort| match sort {
            TreeSort::Heat => Choice::new("heat", "recent stores at and below the prefix"),
            TreeSort::Blocks => Choice::new("blocks", "blocks at and below the prefix"),
            TreeSort::Tokens => Choice::new("length", "how far the prefix reaches"),
        };
        let at = TreeSort::ALL.into_iter().position(|sort| sort == self.sort).unwrap_or(0);
        let choices = TreeSort::ALL.into_iter().map(choice).collect();
        Picker { pick: Pick::Sort, title: "Sort by", choices, at }
    }

    /// Returns the workers to pick from: all, then each.
    fn workers(&self, snapshot: &Snapshot) -> Picker {
        let each = workers(snapshot);
        let at = each.iter().position(|(worker, _)| Some(*worker) == self.worker);
        let named = each.into_iter().map(|(worker, alias)| {
            let row = snapshot.workers.iter().find(|row| row.rank.worker == worker);
            Choice::new(alias, row.and_then(|row| row.pod.clone()).unwrap_or_default())
        });
        let all = Choice::new("all", "prefixes of all workers");
        Picker {
            pick: Pick::Worker,
            title: "Only prefixes of",
            choices: [all].into_iter().chain(named).collect(),
            at: at.map_or(0, |at| at + 1),
        }
    }

    /// Shows only what the worker at this place of the list has.
    pub(super) fn pick_worker(&mut self, at: usize, snapshot: &Snapshot) {
        let picked = at.checked_sub(1).and_then(|at| workers(snapshot).get(at).cloned());
        self.worker = picked.map(|(worker, _)| worker);
    }

    /// Shows only what `worker` has, from the root on.
    pub(in crate::tui::views) fn narrow(&mut self, worker: WorkerId) {
        (self.worker, self.root, self.find) = (Some(worker), TreeNode::Root, None);
        self.cursor = TreePlace::default();
        (self.last, self.line, self.described) = (false, 0, false);
    }

    /// Shows only what the worker called `w` and `number` has.
    pub(super) fn only(&mut self, number: Option<usize>, snapshot: &Snapshot) -> Reply {
        let Some(number) = number else {
            self.worker = None;
            return Reply::Done;
        };
        let alias = format!("w{number}");
        let found = snapshot.workers.iter().find(|row| row.alias == alias);
        match found {
            Some(row) => self.worker = Some(row.rank.worker),
            None => return Reply::Refused(format!("there is no {alias}")),
        }
        Reply::Done
    }
}

/// Returns the workers that are there and their short names, in order of first sight.
fn workers(snapshot: &Snapshot) -> Vec<(WorkerId, String)> {
    let mut workers: Vec<(WorkerId, String)> = Vec::new();
    for row in snapshot.workers.iter().filter(|row| !row.gone) {
        if !workers.iter().any(|(known, _)| *known == row.rank.worker) {
            workers.push((row.rank.worker, row.alias.clone()));
        }
    }
    workers
}
