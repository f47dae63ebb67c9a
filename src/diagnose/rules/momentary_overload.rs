//! KVT021: conversations stick to workers, and one worker queues for a while although others have room.

use crate::diagnose::Origin;
use crate::diagnose::measure;
use crate::diagnose::phrase::{Decimal, Phrase, phrase};
use crate::diagnose::{Evidence, Finding, Proof, Rule, Verdict, WorkerLoad};
use crate::domain::{Grade, Severity};
use crate::model::Percentiles;

/// The number of scrapes of a worker that are needed to judge its peak.
const SCRAPES: u64 = 4;

pub(super) struct MomentaryOverload;

impl Rule for MomentaryOverload {
    fn id(&self) -> &'static str {
        "KVT021"
    }

    fn name(&self) -> &'static str {
        "momentary-overload"
    }

    fn about(&self) -> &'static str {
        "Load is even on average, but not at every moment: conversations return to the worker that caches them, \
         so requests in flight vary more than with round-robin. Near the batch limit one worker exceeds it for \
         a while, and its new requests wait until others finish. A few users wait for seconds while the median \
         hardly rises.\nDetected over the last minute, with KV-aware routing, if all of these hold. The 95th \
         percentile of the time to first token is above its objective (objectives.ttft_p95, default 600 ms) and \
         at least three times the median (tail). A worker had more requests in flight than its batch limit \
         (max_batch_size, max_num_seqs). All workers together had capacity for all requests; if not, the \
         deployment is too small, which is another problem.\nAdd a worker, or limit concurrent requests; the \
         finding estimates both. Another overlap weight does not help: in the simulated deployment of \
         docs/DEMO.md with 180 users, requests wait with every weight from 0 to 2."
    }

    fn needs_kv_router(&self) -> bool {
        true
    }

    fn judge(&self, evidence: &Evidence) -> Verdict {
        let limits = &evidence.thresholds;
        let Some(first) =
            evidence.load.first_token.filter(|it| it.count >= limits.min_timed as f64)
        else {
            let count = evidence.load.first_token.map_or(0.0, |it| it.count);
            return Verdict::unknown(phrase!(
                "needs the times to the first token of {} requests in a minute ({} so far)",
                limits.min_timed,
                count
            ));
        };
        let objective = evidence.load.objectives.ttft_seconds();
        if first.p95 <= objective {
            let p95 = text(first);
            return Verdict::clear(phrase!(
                "TTFT p95 {}, objective {} s",
                p95,
                Decimal(objective, 1)
            ));
        }
        if first.p50 > objective {
            return Verdict::clear(phrase!(
                "not this fault: all requests are slow, not a few at a time (TTFT p50 {} s, p95 {})",
                Decimal(first.p50, 2),
                text(first)
            ));
        }
        let Some(fleet) = Fleet::new(&evidence.load.workers) else {
            return Verdict::unknown(
                "needs requests in flight and the batch limit of two workers or more",
            );
        };
        if fleet.mean >= fleet.room {
            return Verdict::clear(phrase!(
                "all workers are full: {} requests in flight, room for {}",
                Decimal(fleet.mean, 0),
                Decimal(fleet.room, 0)
            ));
        }
        let Some((worst, limit)) =
            fleet.worst.filter(|(worst, limit)| worst.in_flight.most > *limit)
        else {
            return Verdict::clear("no worker had more requests than its engine runs at a time");
        };
        if evidence.router.tally.routed == 0 {
            return Verdict::unknown("needs to see that a router chooses by KV cache");
        }
        undecided(evidence, first, worst, limit)
            .unwrap_or_else(|| found(evidence, first, &fleet, worst, limit))
    }
}

/// Returns why a worker above its `limit` may not be the reason of long waits, if it may not.
fn undecided(
    evidence: &Evidence,
    first: Percentiles,
    worst: &WorkerLoad,
    limit: f64,
) -> Option<Verdict> {
    let limits = &evidence.thresholds;
    // While workers restart, those that are left carry the load of all, which says nothing of the usual one.
    if let Some(change) = evidence.in_change() {
        return Some(Verdict::unknown(phrase!("needs a stable set of workers: {}", change)));
    }
    // A worker was past its limit, so its queue may well be why.
    if first.p95 < first.p50 * limits.tail {
        return Some(Verdict::unknown(phrase!(
            "cannot tell: {} had {} requests in flight, its batch limit is {}, but TTFT p95 {} is only {} times \
             the median (at least {} needed)",
            worst.name,
            Decimal(worst.in_flight.most, 0),
            Decimal(limit, 0),
            text(first),
            Decimal(first.p95 / first.p50, 1),
            Decimal(limits.tail, 0)
        )));
    }
    None
}

/// All workers together.
struct Fleet<'a> {
    workers: f64,
    /// Requests in flight, on average over the minute.
    mean: f64,
    /// Requests that all engines run at a time.
    room: f64,
    /// Excess of a worker over its mean share.
    excess: f64,
    /// The worker that was furthest above its limit.
    worst: Option<(&'a WorkerLoad, f64)>,
}

impl<'a> Fleet<'a> {
    fn new(workers: &'a [WorkerLoad]) -> Option<Self> {
        let known: Vec<(&WorkerLoad, f64)> = workers
            .iter()
            .filter(|worker| worker.in_flight.samples >= SCRAPES)
            .filter_map(|worker| Some((worker, worker.batch_limit.filter(|it| *it > 0)? as f64)))
            .collect();
        if known.len() < 2 || known.len() < workers.len() {
            return None;
        }
        let count = known.len() as f64;
        let mean: f64 = known.iter().map(|(worker, _)| worker.in_flight.mean).sum();
        let over = |(worker, limit): &(&WorkerLoad, f64)| worker.in_flight.most - limit;
        let worst = known.iter().copied().max_by(|a, b| over(a).total_cmp(&over(b)));
        Some(Self {
            workers: count,
            mean,
            room: known.iter().map(|(_, limit)| limit).sum(),
            excess: worst.map_or(0.0, |(worst, _)| worst.in_flight.most - mean / count).max(0.0),
            worst,
        })
    }

    /// Returns the requests in flight up to which the busiest of `workers` stays within `limit`, when it
    /// is as far above the mean as now.
    fn ceiling(&self, workers: f64, limit: f64) -> f64 {
        (workers * (limit - self.excess)).max(0.0)
    }

    /// Returns how many workers it takes for the requests of now.
    fn needed(&self, limit: f64) -> f64 {
        (self.mean / (limit - self.excess).max(1.0)).ceil().max(self.workers + 1.0)
    }
}

fn text(first: Percentiles) -> Phrase {
    phrase!("{}{} s", if first.beyond { "at least " } else { "" }, Decimal(first.p95, 2))
}

#[expect(clippy::too_many_lines, reason = "one piece of evidence after the other")]
fn found(
    evidence: &Evidence,
    first: Percentiles,
    fleet: &Fleet<'_>,
    worst: &WorkerLoad,
    limit: f64,
) -> Verdict {
    let objective = evidence.load.objectives.ttft_seconds();
    let (most, name, p95) = (worst.in_flight.most, &worst.name, text(first));
    let window = phrase!("frontends' metrics, last {} s", first.window.as_secs());
    let mut proofs = vec![
        Proof::new(
            measure::TTFT_P95,
            phrase!("{}, objective {} s", p95, Decimal(objective, 1)),
            window.clone(),
        ),
        Proof::new(measure::TTFT_P50, phrase!("{} s", Decimal(first.p50, 2)), window),
    ];
    proofs.extend(evidence.load.workers.iter().take(16).map(|worker| {
        let flight = worker.in_flight;
        let limit =
            worker.batch_limit.map_or_else(|| Phrase::from("?"), |limit| phrase!("{}", limit));
        Proof::new(
            measure::IN_FLIGHT.of(&worker.name),
            phrase!(
                "mean {}, most {}, limit {}",
                Decimal(flight.mean, 0),
                Decimal(flight.most, 0),
                limit
            ),
            Origin::WorkerMetrics,
        )
        .of_worker(worker.id)
    }));
    let needed = fleet.needed(limit);
    let (now, then) = (fleet.ceiling(fleet.workers, limit), fleet.ceiling(needed, limit));
    Finding::new(
        Severity::Warning,
        Grade::Likely,
        phrase!(
            "Sticky conversations overload one worker at a time: {} had {} requests in \
             flight, its batch limit is {}. TTFT p95 is {}, p50 {} s.",
            name,
            Decimal(most, 0),
            Decimal(limit, 0),
            p95,
            Decimal(first.p50, 2)
        ),
        proofs,
    )
    .means(
        "New requests at that worker wait until others finish, although other workers have room.",
        phrase!(
            "TTFT p95 stays above {} s while no worker is past its batch limit.",
            Decimal(objective, 1)
        ),
    )
    .rather_than(phrase!(
        "Too few workers for the load: together they run {} requests at a time, and {} were in \
         flight.",
        Decimal(fleet.room, 0),
        Decimal(fleet.mean, 0)
    ))
    .mended_by(
        phrase!(
            "Run {} workers (estimated to carry {} requests at once), or limit clients \
             to about {} requests at once. Basis: the busiest worker was {} above the mean of \
             {} in the last minute.",
            Decimal(needed, 0),
            Decimal(then, 0),
            Decimal(now, 0),
            Decimal(fleet.excess, 0),
            Decimal(fleet.mean / fleet.workers, 0)
        ),
        "no restarts; a new worker starts with an empty cache",
    )
    .into()
}
