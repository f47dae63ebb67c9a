//! The tree as it is looked at: one row for each run of blocks, what is open, a page at a time.
//!
//! A [`Browser`] remembers between two questions what is too long to be found out at once. It changes
//! nothing in the mirror, and what a question costs does not depend on how many blocks there are.

mod bare;
mod census;
mod detail;
mod fill;
mod holdings;
mod leaders;
mod listing;
mod owned;
mod place;
mod rows;
mod search;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use super::{DEVICE, Heat, Mirror};
use crate::domain::{
    TreeAnchor, TreeDepths, TreeNode, TreePlace, TreeRow, TreeSearch, TreeSharing, TreeSort,
    WorkerRank,
};
use listing::Listing;

pub use detail::{Detail, Share};
pub use holdings::{Holding, Holdings, HoldingsQuestion};
pub use leaders::{Lead, Leaders};

/// Children looked at for one page, and blocks looked at for each of its sums.
const BUDGET: usize = 16_384;
/// Ranks whose presence is told one by one.
pub const SHOWN_RANKS: usize = 48;

/// The cost of a page so far, and its limit.
#[derive(Debug)]
struct Visits {
    left: usize,
    spent: usize,
}

impl Visits {
    const fn new() -> Self {
        Self { left: BUDGET, spent: 0 }
    }

    const fn left(&self) -> usize {
        self.left
    }

    const fn spent(&self) -> usize {
        self.spent
    }

    /// Counts visits that the length of the page bounds.
    const fn count(&mut self, by: usize) {
        self.spent += by;
    }

    /// Counts visits that only the budget bounds.
    const fn spend(&mut self, by: usize) {
        self.left = self.left.saturating_sub(by);
        self.spent += by;
    }
}

/// The part of the tree to read.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The first row.
    pub root: TreeNode,
    /// Open rows, each with the number of its children that are wanted.
    pub open: &'a HashMap<TreeNode, usize>,
    /// Rows opened together with a number of levels below them.
    pub spread: &'a HashMap<TreeNode, u16>,
    /// Closed rows that a row above would otherwise open.
    pub closed: &'a HashSet<TreeNode>,
    /// The row around which rows are wanted; none for the first.
    pub anchor: Option<TreePlace>,
    /// True when the last row is wanted in its place.
    pub last: bool,
    /// Rows wanted on either side of it.
    pub around: usize,
    /// The order of siblings.
    pub sort: TreeSort,
    /// The ranks whose blocks are shown; none for all.
    pub only: Option<&'a [WorkerRank]>,
    /// The ranks whose blocks are counted in the rows; none for all.
    pub own: Option<&'a [WorkerRank]>,
    /// Of whose blocks sums are; none for everybody's.
    pub within: Option<&'a [WorkerRank]>,
    /// The ranks that each row marks, in this order; at most [`SHOWN_RANKS`].
    pub ranks: &'a [WorkerRank],
    /// A hash to look for, as typed, and which of its matches to show. The way to it is opened.
    pub find: Option<(&'a str, usize)>,
    /// Rate of requests that begin with each row; none where no source reports them.
    pub hits: Option<&'a Heat>,
    /// The time of heat and hits.
    pub tick: u32,
}

/// Rows, and what is known of the whole.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The rows around the anchor.
    pub rows: Vec<TreeRow>,
    /// The position of the first of them among all rows.
    pub first: usize,
    /// Number of rows.
    pub all: usize,
    /// True when there are more than are kept in order.
    pub cut: bool,
    /// The fate of the anchor.
    pub anchor: TreeAnchor,
    /// Details of the anchor.
    pub detail: Option<Detail>,
    /// Counts of blocks by the number of ranks that share them; none before the first count is done.
    pub sharing: Option<TreeSharing>,
    /// Distribution of prompt lengths; none before the first count is done.
    pub depths: Option<TreeDepths>,
    /// The answer to the search for a hash.
    pub search: Option<TreeSearch>,
    /// True while another page for the same question would tell more.
    pub unfinished: bool,
    /// The number of nodes read.
    pub visits: usize,
}

/// The memory between two pages.
#[derive(Debug, Default)]
pub struct Browser {
    listings: HashMap<TreeNode, Listing>,
    /// The order and filter of the listings; another one makes them invalid.
    holds: Option<(TreeSort, Option<Vec<WorkerRank>>)>,
    census: census::Census,
    search: Option<search::Pass>,
    /// The last place of the anchor.
    last: Option<rows::Seen>,
    pages: u64,
}

impl Mirror {
    /// Answers `question` about the device tier.
    pub fn browse(&self, browser: &mut Browser, heat: &Heat, question: &Question<'_>) -> Page {
        let Some(tree) = &self.tiers[DEVICE] else { return Page::default() };
        let mut visits = Visits::new();
        browser.pages += 1;
        let find = question.find.map(|(text, _)| text);
        let search = search::go_on(tree, &mut browser.search, find, &mut visits);
        let way = found(search.as_ref(), question).unwrap_or_default();
        let anchor = match way.last() {
            Some(node) => Some(TreePlace { node: *node, more: false }),
            None => question.anchor,
        };
        let question = Question { anchor, ..*question };
        let mut page = rows::page(tree, browser, heat, &question, way, &mut visits);
        page.search = search;
        if let (TreeAnchor::At(at), Some(_)) = (page.anchor, anchor) {
            let row = at.checked_sub(page.first).and_then(|at| page.rows.get(at));
            page.detail = row.and_then(|row| detail::detail(tree, &row.place.node, &mut visits));
        }
        let within = question.within.map(|ranks| tree.slots_of(ranks));
        browser.census.go_on(tree, within.as_deref(), &mut visits);
        page.sharing = browser.census.sharing(tree);
        page.depths = browser.census.depths();
        let searching = page.search.as_ref().is_some_and(|search| !search.done);
        page.unfinished |= searching || page.sharing.is_none();
        page.visits = visits.spent();
        page
    }
}

/// Returns the way to the match that is to be shown.
fn found(search: Option<&TreeSearch>, question: &Question<'_>) -> Option<Vec<TreeNode>> {
    let (found, (_, which)) = (&search?.found, question.find?);
    found.get(which.checked_rem(found.len())?).map(|found| found.way.clone())
}
