//! Log lines, as Dynamo and TensorRT-LLM print them.
//!
//! Taken from recordings of 0.9.0 to 1.6.1; those of the engine from TensorRT-LLM 1.1
//! (`kvCacheManager.cpp`).

mod start;

pub(super) use start::{complaint, frontend_start, worker_start};

use super::index::Refusal;
use super::router::{Choice, Cost};
use super::site::Site;
use crate::domain::{Timestamp, WorkerRank};
use crate::wire::encode::Family;

/// Returns a line of Dynamo's compact format: time, level, and the rest.
pub(super) fn line(at: Timestamp, level: &str, rest: &str) -> String {
    format!("{} {level:>5} {rest}", rfc3339(at))
}

/// Returns `at` as RFC 3339 in UTC, with microseconds.
pub(super) fn rfc3339(at: Timestamp) -> String {
    let (days, seconds) = (at.seconds() / 86_400, at.seconds() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let micros = at.0 % 1_000_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Returns year, month and day of a day since 1970-01-01 in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years that begin in March have their leap day at the end; 1970-01-01 is day 719468 of them.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, late) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + late, month, day)
}

/// Returns what a router logs when it chooses a worker for request `name`.
pub(super) fn decision(
    site: &Site,
    family: Family,
    at: Timestamp,
    choice: &Choice,
    name: &str,
) -> Vec<String> {
    let model = site.model;
    let info = |rest: &str| line(at, "INFO", rest);
    let chosen = &choice.chosen;
    let selected = format!(
        "Selected worker: worker_id={} dp_rank={}, logit: {:.3}, cached blocks: {}, tree size: {}, \
         total blocks: {}",
        chosen.rank.worker,
        chosen.rank.dp_rank,
        chosen.logit(),
        chosen.overlap,
        choice.tree_size,
        choice.total_blocks,
    );
    let span = format!(
        "http-request:kv_router.select_worker:kv_router.schedule: \
         dynamo_kv_router::scheduling::selector: Selected worker: worker_type=decode, worker_id={} \
         dp_rank={}, logit: {:.3}",
        chosen.rank.worker,
        chosen.rank.dp_rank,
        chosen.logit(),
    );
    let request = format!(
        "method=POST uri=/v1/chat/completions version=HTTP/1.1 request_id={name} model=\"{model}\""
    );
    match family {
        Family::V0_9 => {
            let scheduler = |text: &str| info(&format!("dynamo_llm::kv_router::scheduler: {text}"));
            let mut lines: Vec<String> =
                choice.costs.iter().map(|cost| scheduler(&formula(cost))).collect();
            if choice.tied {
                lines.push(scheduler(
                    "Multiple workers tied with same logit, using tree size as tie-breaker",
                ));
            }
            lines.push(scheduler(&selected));
            lines
        }
        Family::V1_0 => vec![info(&format!("dynamo_llm::kv_router::scheduler: {selected}"))],
        Family::V1_1 => vec![info(&format!("{span} {request}"))],
        Family::V1_2 => {
            vec![info(&format!("{span}, host_pinned blocks: 0, disk blocks: 0 {request}"))]
        }
        Family::V1_3 | Family::V1_4 => {
            vec![info(&structured(family, chosen, name)), info(&forwarded(model, chosen, name))]
        }
        Family::V1_5 | Family::V1_6 => vec![info(&structured(family, chosen, name))],
    }
}

fn formula(cost: &Cost) -> String {
    format!(
        "Formula for worker_id={} dp_rank={} with {} cached blocks: {:.3} = {:?} * prefill_blocks + \
         decode_blocks = {:?} * {:.3} + {:.3}",
        cost.rank.worker,
        cost.rank.dp_rank,
        cost.overlap,
        cost.logit(),
        cost.weight,
        cost.weight,
        cost.prefill_blocks,
        cost.decode_blocks as f64,
    )
}

fn structured(family: Family, chosen: &Cost, name: &str) -> String {
    let request =
        if family >= Family::V1_4 { format!("request_id=\"{name}\" ") } else { String::new() };
    format!(
        "dynamo_kv_router::scheduling::selector: Selected worker router_mode=\"kv\" {request}\
         worker_id={} worker_type=decode dp_rank={} logit={:?} host_pinned_blocks=0 disk_blocks=0",
        chosen.rank.worker,
        chosen.rank.dp_rank,
        chosen.logit(),
    )
}

/// Returns the line by which 1.3 and 1.4 forward what was chosen; only it has the overlap.
fn forwarded(model: &str, chosen: &Cost, name: &str) -> String {
    let (worker, dp_rank) = (chosen.rank.worker, chosen.rank.dp_rank);
    format!(
        "http-request:kv_router.route_request: \
         dynamo_runtime::pipeline::network::egress::push_router: Selected worker \
         router_mode=\"direct\" worker_id={worker} method=POST uri=/v1/chat/completions \
         version=HTTP/1.1 request_id={name} model=\"{model}\" request_id={name} \
         worker_id={worker} dp_rank={dp_rank} overlap_blocks={} phase=Aggregated",
        chosen.overlap,
    )
}

/// Returns what a frontend logs at the end of a request, from 1.5 on.
pub(super) fn completed(
    site: &Site,
    family: Family,
    at: Timestamp,
    rank: WorkerRank,
    overlap: u64,
    name: &str,
) -> Option<String> {
    let model = site.model;
    let span = format!(
        "http-request:kv_router.route_request: request_span: route request completed \
         request.outcome=\"success\" method=POST uri=/v1/chat/completions version=HTTP/1.1 \
         request_id={name} model=\"{model}\" otel.kind=\"client\" request_id={name} dp_rank={} \
         overlap_blocks={overlap} phase=Aggregated worker_id={} request.attempt=0 \
         migration.is_retry=false migration.tokens_completed=0 request.outcome=\"success\"",
        rank.dp_rank, rank.worker,
    );
    (family >= Family::V1_5).then(|| line(at, "INFO", &span))
}

/// Returns what a router logs when its index refuses an event.
pub(super) fn refusal(
    family: Family,
    at: Timestamp,
    rank: WorkerRank,
    id: u64,
    refusal: &Refusal,
) -> Vec<String> {
    let warn = |rest: &str| line(at, "WARN", rest);
    let (worker, dp_rank) = (rank.worker, rank.dp_rank);
    let whose = format!("worker_id=\"{worker}\" dp_rank={dp_rank} id={id}");
    let (tree, applier) = match family {
        Family::V0_9 => ("dynamo_llm::kv_router::indexer", None),
        Family::V1_0 => (
            "dynamo_kv_router::concurrent_radix_tree",
            Some("dynamo_kv_router::indexer: Failed to apply event: ParentBlockNotFound"),
        ),
        _ => (
            "dynamo_kv_router::indexer::concurrent_radix_tree_compressed::store",
            Some(
                "dynamo_kv_router::indexer::concurrent_radix_tree_compressed::sync_impl: Failed \
                 to apply event: Some(ParentBlockNotFound)",
            ),
        ),
    };
    match refusal {
        Refusal::Parent { parent, blocks } => {
            let text = format!(
                "{tree}: Failed to find parent block; skipping store operation {whose} \
                 parent_hash=Some(ExternalSequenceBlockHash({})) num_blocks={blocks}",
                parent.0
            );
            [Some(warn(&text)), applier.map(warn)].into_iter().flatten().collect()
        }
        // Later versions say so at the level DEBUG (dynamo-kv-router 1.0.0,
        // `concurrent_radix_tree.rs:418`).
        Refusal::Block(block) if family == Family::V0_9 => vec![warn(&format!(
            "{tree}: Failed to find block to remove; skipping remove operation {whose} \
             block_hash=ExternalSequenceBlockHash({})",
            block.0
        ))],
        Refusal::Block(_) => Vec::new(),
    }
}

/// Returns what a frontend logs when a worker joins or leaves.
pub(super) fn membership(
    family: Family,
    at: Timestamp,
    rank: WorkerRank,
    joins: Joins,
) -> Vec<String> {
    let target = match family {
        Family::V0_9 => "dynamo_llm::kv_router::sequence",
        Family::V1_0 => "dynamo_kv_router::multi_worker_sequence",
        _ => "dynamo_kv_router::sequences::multi_worker",
    };
    let (worker, dp_rank) = (rank.worker, rank.dp_rank);
    let who = format!("WorkerWithDpRank {{ worker_id: {worker}, dp_rank: {dp_rank} }}");
    let warn = |text: String| line(at, "WARN", &text);
    match joins {
        Joins::Yes => vec![warn(format!("{target}: Adding worker {who}"))],
        Joins::No if family == Family::V0_9 => vec![
            warn(format!(
                "dynamo_llm::kv_router::subscriber: DISCOVERY: Generate endpoint instance \
                 removed, removing worker {worker}"
            )),
            warn(format!("{target}: Removing worker {who}")),
        ],
        Joins::No => vec![warn(format!("{target}: Removing worker {who}"))],
    }
}

/// A worker's change of membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joins {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SequenceHash;

    const AT: Timestamp = Timestamp(1_795_216_875_532_059);
    const RANK: WorkerRank = WorkerRank::new(690_636_218_412_154_889, 0);

    #[test]
    fn a_cost_reads_as_recorded_from_0_9_0() {
        let cost =
            Cost { rank: RANK, overlap: 0, prefill_blocks: 8.8125, decode_blocks: 8, weight: 1.0 };

        let text = format!("dynamo_llm::kv_router::scheduler: {}", formula(&cost));

        assert_eq!(
            line(AT, "INFO", &text),
            "2026-11-20T23:21:15.532059Z  INFO dynamo_llm::kv_router::scheduler: Formula for \
             worker_id=690636218412154889 dp_rank=0 with 0 cached blocks: 16.812 = 1.0 * \
             prefill_blocks + decode_blocks = 1.0 * 8.812 + 8.000"
        );
    }

    #[test]
    fn refusals_read_as_recorded_from_0_9_0() {
        let at = Timestamp(1_771_252_733_950_961);
        let rank = WorkerRank::new(7_702_713_015_953_616, 0);
        let parent = Refusal::Parent { parent: SequenceHash(99), blocks: 3 };

        assert_eq!(
            refusal(Family::V0_9, at, rank, 42, &parent),
            ["2026-02-16T14:38:53.950961Z  WARN dynamo_llm::kv_router::indexer: Failed to find \
                 parent block; skipping store operation worker_id=\"7702713015953616\" dp_rank=0 \
                 id=42 parent_hash=Some(ExternalSequenceBlockHash(99)) num_blocks=3"]
        );
        assert_eq!(
            refusal(Family::V0_9, at, rank, 42, &Refusal::Block(SequenceHash(7))),
            ["2026-02-16T14:38:53.950961Z  WARN dynamo_llm::kv_router::indexer: Failed to find \
                 block to remove; skipping remove operation worker_id=\"7702713015953616\" \
                 dp_rank=0 id=42 block_hash=ExternalSequenceBlockHash(7)"]
        );
    }

    #[test]
    fn days_fall_where_the_calendar_puts_them() {
        let rows = [(0, (1970, 1, 1)), (11_016, (2000, 2, 29)), (20_513, (2026, 3, 1))];

        for (days, date) in rows {
            assert_eq!(civil(days), date);
        }
    }
}
