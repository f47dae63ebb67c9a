//! Answers from state: who holds what, which prefixes are in demand, and where they land.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::Knowledge;
use super::explorer::{Browsing, LeadersThen, tick};
use crate::domain::{Timestamp, TreeNode, WorkerId, WorkerRank};
use crate::mirror::{Holdings, HoldingsQuestion, Landed, Lead, Leaders};
use crate::model::Avoided;
use crate::snapshot::{
    CurveProgress, Demand, DrainRow, Duplicates, Foresight, PrefixShare, PrefixShares, Snapshot,
    Stickiness,
};

/// Time for which answers serve later pictures too.
const FRESH: Duration = Duration::from_secs(5);
/// Workers whose drain is told one by one.
const WORKERS: usize = 64;
/// Prefixes that are listed, and kept of each minute.
const PREFIXES: usize = 40;
/// Time between two notes of the prefixes, and how many are kept.
const MINUTE: Duration = Duration::from_secs(60);
const MINUTES: usize = 15;

impl Knowledge {
    /// Returns answers from state for the picture `shown`, looking at no more than `budget` blocks.
    pub(super) fn foresight(
        &self,
        browsing: &mut Browsing,
        shown: &Snapshot,
        budget: usize,
    ) -> Arc<Foresight> {
        let at = shown.at;
        if let Some((looked, answers)) = &browsing.foresight
            && *looked >= budget
            && answers.at <= at
            && at.since(answers.at) < FRESH
        {
            return Arc::clone(answers);
        }
        let answers = Arc::new(self.answers(shown, budget));
        browsing.foresight = Some((budget, Arc::clone(&answers)));
        answers
    }

    fn answers(&self, shown: &Snapshot, budget: usize) -> Foresight {
        let at = shown.at;
        let explorer = &self.index.explorer;
        let within = self.chosen_ranks();
        let holdings = self.index.mirror.holdings(&HoldingsQuestion {
            within: within.as_deref(),
            heat: &explorer.heat,
            hits: explorer.hits_known.then_some(&explorer.hits),
            tick: tick(at),
            budget,
        });
        let present = shown.workers.iter().filter(|row| !row.gone);
        let ranks = self.fleet.workers.ranks().iter();
        let unknown: HashSet<WorkerRank> =
            ranks.filter(|record| !record.complete).map(|record| record.rank).collect();
        let landed = explorer.demand().landed(tick(at));
        let (drain, more_workers) = self.drain(&holdings, shown);
        Foresight {
            at,
            looked_at: holdings.looked_at,
            unknown_ranks: present.filter(|row| unknown.contains(&row.rank)).count(),
            demand: if explorer.hits_known { Demand::Requests } else { Demand::Stores },
            block_bytes: block_bytes(shown),
            drain,
            more_workers,
            duplicates: Duplicates {
                copies: holdings.copies,
                extra: holdings.extra,
                extra_hot: holdings.extra_warm,
            },
            leaders: self.leaders_now(within.as_deref(), at),
            stickiness: stickiness(landed),
            curve: self.curve_progress(),
        }
    }

    /// Returns the ranks of the chosen graph deployment; none where everything is shown.
    fn chosen_ranks(&self) -> Option<Vec<WorkerRank>> {
        self.options.dgd.as_ref()?;
        let ranks = self.fleet.workers.ranks().iter().map(|record| record.rank);
        let chosen = |rank: &WorkerRank| {
            self.setup().is_chosen(&crate::domain::Subject::Worker(rank.worker))
        };
        Some(ranks.filter(chosen).collect())
    }

    fn drain(&self, holdings: &Holdings, shown: &Snapshot) -> (Vec<DrainRow>, usize) {
        let unknown = shown.workers.iter().filter(|row| !row.is_whole());
        let unknown: HashSet<WorkerId> = unknown.map(|row| row.rank.worker).collect();
        let rows = shown.workers.iter().filter(|row| !row.gone);
        let present: HashSet<WorkerId> = rows.map(|row| row.rank.worker).collect();
        let workers = holdings.workers.iter().filter(|holding| present.contains(&holding.worker));
        let mut rows: Vec<DrainRow> = workers
            .map(|holding| DrainRow {
                worker: holding.worker,
                alias: self.fleet.workers.alias(holding.worker),
                complete: !unknown.contains(&holding.worker),
                held: holding.held,
                only: holding.only,
                hot: holding.warm,
                curve: Vec::new(),
                samples: 0,
            })
            .collect();
        rows.sort_by_key(|row| (std::cmp::Reverse((row.hot, row.only, row.held)), row.worker));
        let more = rows.len().saturating_sub(WORKERS);
        rows.truncate(WORKERS);
        for row in &mut rows {
            (row.curve, row.samples) = self.curve_of(row.worker);
        }
        (rows, more)
    }

    fn leaders(&self, within: Option<&[WorkerRank]>, at: Timestamp) -> Leaders {
        let explorer = &self.index.explorer;
        self.index.mirror.leaders(explorer.demand(), within, tick(at), PREFIXES)
    }

    fn leaders_now(&self, within: Option<&[WorkerRank]>, at: Timestamp) -> PrefixShares {
        let found = self.leaders(within, at);
        let history = &self.index.explorer.leaders;
        let row = |lead: &Lead| PrefixShare {
            node: lead.node,
            label: None,
            blocks: lead.reach,
            share: share(lead, &found),
            then: history.iter().map(|then| then.share(&lead.node)).collect(),
            holders: lead.holders,
        };
        PrefixShares {
            per_minute: f64::from(found.total),
            common: found.common.as_ref().map(row),
            rows: found.prefixes.iter().map(row).collect(),
            more: found.more,
            minutes: history.iter().map(|then| then.at).collect(),
        }
    }

    /// Notes the shares of prefixes once a minute.
    pub(super) fn note_leaders(&mut self, at: Timestamp) {
        let last = self.index.explorer.leaders.back().map(|then| then.at);
        if last.is_some_and(|last| at < last.after(MINUTE) && at >= last) {
            return;
        }
        let found = self.leaders(self.chosen_ranks().as_deref(), at);
        if found.total <= 0.0 && last.is_none() {
            return;
        }
        let history = &mut self.index.explorer.leaders;
        // A clock that was set back tells the same times again.
        history.retain(|then| then.at < at);
        if history.len() >= MINUTES {
            history.pop_front();
        }
        let leads = found.common.iter().chain(&found.prefixes);
        let shares = leads.map(|lead| (lead.node, share(lead, &found))).collect();
        history.push_back(LeadersThen { at, shares, all: !found.more });
    }

    fn curve_progress(&self) -> CurveProgress {
        let (sum, known, present) = self.curve_samples();
        CurveProgress { samples: sum, needed: Avoided::FEWEST, ranks: (known, present) }
    }
}

impl LeadersThen {
    fn share(&self, node: &TreeNode) -> Option<f64> {
        let found = self.shares.iter().find(|(own, _)| own == node).map(|(_, share)| *share);
        found.or_else(|| self.all.then_some(0.0))
    }
}

fn share(lead: &Lead, among: &Leaders) -> f64 {
    if among.total > 0.0 { f64::from(lead.warmth / among.total).clamp(0.0, 1.0) } else { 0.0 }
}

const fn stickiness(landed: Landed) -> Stickiness {
    Stickiness { successive: landed.successive, same: landed.same }
}

/// Returns the memory of a block on one GPU, where all workers that report it agree.
fn block_bytes(shown: &Snapshot) -> Option<f64> {
    let of = |row: &crate::snapshot::MemoryRow| {
        Some(row.token_bytes.as_ref()?.value * row.block_tokens.as_ref()?.value)
    };
    let mut known = shown.memory.iter().filter_map(of);
    let first = known.next()?;
    known.all(|bytes| (bytes - first).abs() < 1.0).then_some(first)
}
