//! The page of the tree that is looked at.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    ClaimValue, ClaimWhat, Provenance, Release, Timestamp, TreeNode, TreePlace, TreeSort,
    WorkerRank,
};
use crate::dynamo::release;
use crate::engine::Knowledge;
use crate::engine::explorer::{Browsing, Explorer, tick};
use crate::mirror::{Browser, Detail, Question, SHOWN_RANKS};
use crate::model::RankRecord;
use crate::snapshot::{
    Sourced, TreeAgreement, TreeDetail, TreePage, TreeQuery, TreeShare, WorkerRow,
};

/// Ranks whose share is told.
const SHARES: usize = 64;
/// Rows asked for on either side of the selected one, at most.
const AROUND: usize = 200;

/// Time for which the hottest prefixes serve later pictures too.
const PREFIXES_FOR: Duration = Duration::from_secs(5);
/// Prefixes that a picture keeps, with so many levels below the root.
const PREFIXES: (usize, u16) = (40, 2);

/// Returns the hottest prefixes, for pictures that are kept when their tree is gone. `workers` are the rows of the
/// same picture.
pub(in crate::engine) fn prefixes(
    known: &mut Knowledge,
    browsing: &mut Browsing,
    workers: &[WorkerRow],
    at: Timestamp,
) -> Arc<TreePage> {
    if let Some((then, page)) = &browsing.prefixes
        && *then <= at
        && at.since(*then) < PREFIXES_FOR
    {
        return Arc::clone(page);
    }
    let query = TreeQuery {
        open: [(TreeNode::Root, PREFIXES.0)].into(),
        spread: [(TreeNode::Root, PREFIXES.1)].into(),
        around: PREFIXES.0 * 2,
        sort: TreeSort::Heat,
        ..TreeQuery::default()
    };
    // The other browser remembers the page that somebody looks at.
    let page = Arc::new(page(known, &mut browsing.coarse, &query, workers, at));
    // The first blocks are not awaited for seconds.
    browsing.prefixes = (page.rows.len() > 1).then(|| (at, Arc::clone(&page)));
    page
}

/// Answers `query` at `at`. `workers` are the rows of the same picture.
pub(in crate::engine) fn page(
    known: &mut Knowledge,
    browser: &mut Browser,
    query: &TreeQuery,
    workers: &[WorkerRow],
    at: Timestamp,
) -> TreePage {
    let present = || workers.iter().filter(|row| !row.gone);
    let all = || present().map(|row| row.rank);
    // Those that were asked for come first.
    let place = |rank: &WorkerRank| query.ranks.iter().take(SHOWN_RANKS).position(|it| it == rank);
    let mut ranks: Vec<WorkerRank> = Vec::with_capacity(SHOWN_RANKS);
    if !query.ranks.is_empty() {
        ranks.extend(all().filter(|rank| place(rank).is_some()));
        ranks.sort_by_key(place);
    }
    let others = all().filter(|rank| place(rank).is_none());
    ranks.extend(others.take(SHOWN_RANKS.saturating_sub(ranks.len())));
    let only: Option<Vec<WorkerRank>> = query.worker.map(|worker| {
        let all = known.fleet.workers.ranks().iter().map(|record| record.rank);
        all.filter(|rank| rank.worker == worker).collect()
    });
    // Of another graph deployment nothing is shown.
    let within: Option<Vec<WorkerRank>> =
        known.options.dgd.as_ref().map(|_| workers.iter().map(|row| row.rank).collect());
    let Explorer { heat, hits, hits_known, .. } = &mut known.index.explorer;
    let question = Question {
        root: query.root,
        open: &query.open,
        spread: &query.spread,
        closed: &query.closed,
        anchor: Some(query.cursor.unwrap_or(TreePlace { node: query.root, more: false })),
        last: query.last,
        around: query.around.min(AROUND),
        sort: query.sort,
        only: only.as_deref().or(within.as_deref()),
        own: only.as_deref(),
        within: within.as_deref(),
        ranks: &ranks,
        find: query.find.as_ref().map(|(text, which)| (text.as_str(), *which)),
        hits: hits_known.then_some(&*hits),
        tick: tick(at),
    };
    let page = known.index.mirror.browse(browser, heat, &question);
    let detail = page.detail.map(|detail| detail_of(known, detail, workers));
    let mut rows = page.rows;
    let root = rows.iter_mut().find(|row| row.place == TreePlace::default());
    if let (Some(root), None, Some(_), Some(sharing)) = (root, &only, &within, page.sharing) {
        root.subtree = sharing.single + sharing.shared;
    }
    TreePage {
        query: query.clone(),
        rows,
        first: page.first,
        all: page.all,
        cut: page.cut,
        anchor: page.anchor,
        aliases: ranks.iter().map(|rank| known.fleet.alias(*rank)).collect(),
        ranks,
        rank_count: present().count(),
        block_size: block_size(workers),
        detail,
        sharing: page.sharing,
        depths: page.depths,
        unfinished: page.unfinished,
        search: page.search,
    }
}

/// Returns the tokens in a block of events, where nobody's differ.
fn block_size(workers: &[WorkerRow]) -> Option<u32> {
    let size = |row: &WorkerRow| {
        let sizes = row.block_size;
        sizes.proven.or(sizes.publisher).or(sizes.engine).or(sizes.card)
    };
    let mut sizes = workers.iter().filter(|row| !row.gone).filter_map(size);
    let first = sizes.next()?;
    sizes.all(|size| size == first).then_some(first)
}

fn detail_of(known: &Knowledge, detail: Detail, workers: &[WorkerRow]) -> TreeDetail {
    let routable = detail.shares.iter().any(|share| share.overlap.is_some());
    let reach = detail.above.filter(|_| routable).map(|above| above + detail.blocks);
    let (claimed, plain) = (weight(known), is_plain(known));
    let mut shares: Vec<TreeShare> = Vec::new();
    let mut present: Vec<WorkerRank> =
        workers.iter().filter(|row| !row.gone).map(|row| row.rank).collect();
    // Whoever has most of it comes first where not all can be told.
    if present.len() > SHARES {
        let has = |rank: &WorkerRank| {
            let share = detail.shares.iter().find(|share| share.rank == *rank);
            share.map_or((0, 0), |share| (share.overlap.unwrap_or(0), share.below))
        };
        present.sort_by_cached_key(|rank| std::cmp::Reverse(has(rank)));
    }
    let more_shares = present.len().saturating_sub(SHARES);
    for rank in present.into_iter().take(SHARES) {
        let found = detail.shares.iter().find(|share| share.rank == rank);
        let overlap = reach.map(|_| found.and_then(|share| share.overlap).unwrap_or(0));
        let prefill = reach.zip(overlap).map(|(reach, overlap)| reach.saturating_sub(overlap));
        let (own_weight, decode) = active(known, rank);
        let weight = own_weight.or(claimed);
        let cost = match (weight, prefill, &decode) {
            (Some(weight), Some(prefill), Some(decode)) if plain => {
                Some(weight * f64::from(prefill) + decode.value)
            }
            _ => None,
        };
        shares.push(TreeShare {
            rank,
            alias: known.fleet.alias(rank),
            overlap,
            below: found.map_or(0, |share| share.below),
            prefill,
            weight,
            decode,
            cost,
        });
    }
    TreeDetail {
        node: detail.node,
        path: detail.path,
        above: detail.above,
        blocks: detail.blocks,
        touched: (detail.touched > 0).then(|| Timestamp(u64::from(detail.touched) * 1_000_000)),
        hashes: detail.hashes,
        shares,
        more_shares,
        counted: detail.counted,
        plain_cost: plain,
        agreement: agreement(known, workers, &detail.node),
    }
}

/// Returns the weight of the prefill term and the blocks decoding on `rank`, as routers said last.
fn active(known: &Knowledge, rank: WorkerRank) -> (Option<f64>, Option<Sourced<f64>>) {
    let term = known.index.explorer.said.get(&rank).and_then(|said| said.cost);
    let logged = term.map(|(_, value, at)| Sourced {
        value,
        source: Provenance::told("a router's formula"),
        at,
    });
    let record: Option<&RankRecord> =
        known.fleet.workers.ranks().iter().find(|record| record.rank == rank);
    let load = record.and_then(|record| record.load.as_ref());
    let told = load.map(|load| Sourced {
        value: load.value.decode_blocks as f64,
        source: load.source.clone(),
        at: load.at,
    });
    let newest = match (logged, told) {
        (Some(logged), Some(told)) if told.at > logged.at => Some(told),
        (Some(logged), _) => Some(logged),
        (None, told) => told,
    };
    (term.map(|(weight, ..)| weight), newest)
}

/// Returns true when the cost is prefill by its weight and what is decoding, as a log spells it or as the
/// version has it. Dynamo 1.6.1 adds credits, decay and requests (dynamo-kv-router 1.6.1,
/// `scheduling/selector.rs`).
fn is_plain(known: &Knowledge) -> bool {
    let spelled = known.index.explorer.said.values().any(|said| said.cost.is_some());
    let told = known.options.version.as_ref().and_then(|(text, _)| Release::parse(text));
    let newest = told.or(known.family().releases.most);
    spelled || newest.is_some_and(|release| release < release::COST_HAS_CREDITS)
}

/// Returns the weight of the prefill term: as a router's log spells it, or as it was set.
fn weight(known: &Knowledge) -> Option<f64> {
    let spelled = known.index.explorer.said.values().filter_map(|said| said.cost);
    if let Some((value, ..)) = spelled.max_by_key(|(_, _, at)| *at) {
        return Some(value);
    }
    let claims = known.fleet.claims.of_kind(ClaimWhat::OverlapWeight);
    let best = claims.max_by_key(|stored| (stored.claim.basis, stored.last))?;
    match best.claim.value {
        ClaimValue::Millionths(value) => Some(value as f64 / 1e6),
        ClaimValue::Count(value) => Some(value as f64),
        ClaimValue::Text(_) | ClaimValue::Flag(_) => None,
    }
}

/// Returns what routers last said of the size of their index, by rank.
fn agreement(known: &Knowledge, workers: &[WorkerRow], node: &TreeNode) -> Vec<TreeAgreement> {
    if matches!(node, TreeNode::Orphans | TreeNode::Detached | TreeNode::Missing(_)) {
        return Vec::new();
    }
    // A router that was replaced says nothing of the index of the present one.
    let began = known.setup().router_began().unwrap_or_default();
    let said = |row: &WorkerRow| {
        let size = known.index.explorer.said.get(&row.rank)?.size?;
        if size.at < began {
            return None;
        }
        Some(TreeAgreement {
            alias: known.fleet.alias(row.rank),
            router: size.router,
            mirror: (size.before, size.after),
            at: size.at,
        })
    };
    workers.iter().filter(|row| !row.gone).filter_map(said).take(SHARES).collect()
}
