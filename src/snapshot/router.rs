//! Data from routers: their state and decisions.

use std::sync::Arc;
use std::time::Duration;

use super::Series;
use crate::domain::{DpRank, FormulaCredit, Timestamp, WorkerId, WorkerRank};

/// Counts of routers while kvtop was watching: history that was read back is not in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveRequests {
    /// Requests routed.
    pub routed: u64,
    /// Requests whose overlap is known.
    pub overlap_known: u64,
    /// Requests among them with no overlap.
    pub overlap_zero: u64,
    /// `Failed to find parent block` in routers' logs; none while no router's log is read.
    pub parent_warnings: Option<u64>,
    /// `Failed to find block to remove` in routers' logs; none while no router's log is read.
    pub remove_warnings: Option<u64>,
}

/// Tokens and blocks that pods counted while kvtop was watching; none of what nobody counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Tokens of prompts.
    pub prompt_tokens: Option<u64>,
    /// Tokens generated.
    pub output_tokens: Option<u64>,
    /// Blocks that KVBM moved: from where, to where, and how many.
    pub moved: Vec<(&'static str, &'static str, u64)>,
    /// Workers that are registered with a standalone indexer, the fewest of all indexers.
    pub registered: Option<u64>,
    /// Workers that are registered with a router, the fewest of all routers.
    pub routed_to: Option<u64>,
}

/// Tokens and blocks per second over the last minute, as pods count them; none of what nobody counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Tokens of prompts.
    pub prompt_tokens: Option<f64>,
    /// Tokens generated.
    pub output_tokens: Option<f64>,
    /// Blocks that KVBM moved from the device tier, or further down.
    pub offloaded: Option<f64>,
    /// Blocks that KVBM moved back to the device tier.
    pub onboarded: Option<f64>,
}

/// Data from the routers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouterSummary {
    /// Pods whose logs show that they route.
    pub routers: Vec<String>,
    /// Log lines that name a selected worker. Dynamo 1.3 and 1.4 print two for each request.
    pub decisions: u64,
    /// Of those that print an overlap, the ones that print 0.
    pub decisions_zero_overlap: u64,
    /// Requests routed: decisions without the lines that forward one.
    pub routed: u64,
    /// Requests routed per second over a minute.
    pub routed_per_second: f64,
    /// Requests whose overlap is known, by whatever log line or event says it.
    pub overlap_known: u64,
    /// Requests among them with no overlap.
    pub overlap_zero: u64,
    /// Requests and warnings of routers while kvtop was watching.
    pub live: LiveRequests,
    /// Tokens, blocks between tiers, and registered workers.
    pub counted: Counted,
    /// Tokens and blocks per second.
    pub flow: Flow,
    /// Mean logit of the last minute's decisions.
    pub mean_logit: Option<f64>,
    /// Tree size of the last decision.
    pub last_tree_size: Option<u64>,
    /// True while requests are served and no router that is there logged a decision, as with round-robin.
    pub unlogged: bool,
    /// Weight of the prefill term, when the log spells the formula out.
    pub overlap_weight: Option<f64>,
    /// True while every log is followed, those of routers too, and no router has written anything.
    pub quiet: bool,
    /// `Failed to find parent block` in routers' logs; none while no router's log is read.
    pub log_parent_warnings: Option<u64>,
    /// `Failed to find block to remove` in routers' logs; none while no router's log is read.
    pub log_remove_warnings: Option<u64>,
    /// Parent warnings of the time that `recent` says.
    pub recent_parent_warnings: u64,
    /// Remove warnings of the time that `recent` says.
    pub recent_remove_warnings: u64,
    /// The last minute, or less where logs are read for less.
    pub recent: Duration,
    /// The same warnings in other pods' logs: workers that index their own events; none while no such
    /// log is read.
    pub worker_log_warnings: Option<u64>,
    /// Block size that the formula's fractions prove; none when they do not.
    pub block_size_inferred: Option<u32>,
    /// Mean time to first token in seconds, over the scrapes seen.
    pub ttft_mean: Option<f64>,
    /// Requests waiting in front of the router.
    pub queued: Option<u64>,
    /// Time to first token over the last minute.
    pub ttft: Option<Latency>,
    /// Time between tokens over the last minute.
    pub itl: Option<Latency>,
    /// Time to the last token over the last minute.
    pub duration: Option<Latency>,
    /// Time that requests waited in engines' queues over the last minute.
    pub queue_time: Option<Latency>,
    /// Requests and their lengths over the last five minutes.
    pub mix: Option<RequestMix>,
    /// Mean of the requests in flight over the last minute, all workers together.
    pub in_flight: Option<f64>,
}

/// Requests as frontends count them, over the last five minutes; none where no frontend counts it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestMix {
    /// The time between the first scrape and the last.
    pub window: Duration,
    /// Requests answered in the window.
    pub requests: f64,
    /// Mean tokens of a prompt.
    pub prompt_tokens: Option<f64>,
    /// Mean tokens of an answer.
    pub answer_tokens: Option<f64>,
    /// Share of prompt tokens that engines had cached, 0 to 1.
    pub cached: Option<f64>,
    /// Mean time to the first token, in seconds.
    pub first_token: Option<f64>,
}

impl RequestMix {
    /// Returns the requests answered per second.
    pub fn per_second(&self) -> f64 {
        self.requests / self.window.as_secs_f64().max(1.0)
    }
}

/// Percentiles of a latency over the last minute, from the histograms of frontends or engines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Half were at most that long, in seconds.
    pub p50: f64,
    /// 95 % were at most that long, in seconds.
    pub p95: f64,
    /// True when the 95 % lie beyond the last bound of the histogram.
    pub beyond: bool,
    /// 99 % were at most that long, in seconds.
    pub p99: f64,
    /// True when the 99 % lie beyond the last bound of the histogram.
    pub p99_beyond: bool,
    /// Number of measurements.
    pub count: u64,
    /// The time that they are of.
    pub window: Duration,
    /// The objective for the 95th percentile, in seconds.
    pub objective: Option<f64>,
}

impl RouterSummary {
    /// Returns why their words are missing, for people.
    pub fn why_silent(&self) -> &'static str {
        if self.unlogged {
            "no decision logged: only KV routing logs them"
        } else if self.quiet {
            "no router logged anything yet"
        } else {
            "no router's log is read"
        }
    }

    /// Returns true when routers' own words tell what they routed since kvtop attached, so that 0 is a count.
    pub fn tells_of_requests(&self) -> bool {
        self.decisions > 0 || self.log_parent_warnings.is_some() && !self.unlogged
    }

    /// Returns true when routers' own words tell what they route now, so that 0 is a rate.
    pub fn tells_of_requests_now(&self) -> bool {
        self.tells_of_requests() && !self.unlogged
    }
}

/// The cost of one worker in a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct TermRow {
    /// The rank weighed.
    pub rank: WorkerRank,
    /// Its alias.
    pub alias: String,
    /// Its cost.
    pub logit: f64,
    /// Weight of the prefill term.
    pub weight: f64,
    /// Blocks to prefill.
    pub prefill_blocks: f64,
    /// Blocks decoding.
    pub decode_blocks: f64,
    /// Cached blocks.
    pub cached_blocks: f64,
    /// The terms that Dynamo 1.6 adds to the cost.
    pub credit: Option<FormulaCredit>,
}

/// The question of the routing view.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutingDetail {
    /// The decision that was asked for; none when it is older than those that are kept.
    pub decision: Option<DecisionRow>,
    /// Each rank that requests were routed to, the most first, a bounded number of them.
    pub shares: Vec<ShareRow>,
    /// Ranks beyond those.
    pub more: usize,
    /// The time that the graphs of ranks cover.
    pub window: Duration,
    /// Mean time to first token in seconds, over the window of the query.
    pub ttft: Series,
}

/// A rank's share of all requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareRow {
    /// The rank.
    pub rank: WorkerRank,
    /// Its alias.
    pub alias: String,
    /// Requests routed to it.
    pub routed: u64,
    /// Requests routed to it per second over a minute.
    pub per_second: f64,
    /// Requests routed to it per second.
    pub series: Series,
}

/// A router's choice.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionRow {
    /// Its number since kvtop started; views anchor to it.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The router's pod.
    pub router: Arc<str>,
    /// The request, when known.
    pub request: Option<Arc<str>>,
    /// The worker chosen.
    pub worker: WorkerId,
    /// Its rank, when known.
    pub dp_rank: Option<DpRank>,
    /// Its alias.
    pub alias: String,
    /// Its cost.
    pub logit: Option<f64>,
    /// Overlap in blocks, from the same line or from the end of the request.
    pub cached_blocks: Option<f64>,
    /// Tree size as printed.
    pub tree_size: Option<u64>,
    /// Length of the prompt in the router's blocks, rounded up (an event of Dynamo 0.9).
    pub prompt_blocks: Option<u64>,
    /// Length of the prompt in tokens (the end of the request, Dynamo 1.5 and later).
    pub prompt_tokens: Option<u64>,
    /// Every worker's cost, when the log spells the formula out.
    pub terms: Vec<TermRow>,
}
