//! Workers and router: sizes, capacities, limits and weights.

use super::DEFAULT;
use crate::domain::{ClaimOf, ClaimValue, ClaimWhat};
use crate::plan::inputs::{Basis, Input};
use crate::simulator::{CACHE_TOKENS, RouterMode, Service, SimConfig, WorkerConfig};
use crate::snapshot::{ClaimRow, MemoryRow, Snapshot, WorkerRow};

/// Tokens per block where nothing reports them.
const BLOCK_SIZE: u32 = 32;
/// The smallest and largest sizes and caches that are simulated.
const SIZES: (u32, u32) = (1, 4_096);
const BLOCKS: (usize, usize) = (16, 4_000_000);

/// Returns the set-up of each worker, and its names.
pub(super) fn workers(
    snapshot: &Snapshot,
    rows: &[&WorkerRow],
    inputs: &mut Vec<Input>,
) -> (Vec<WorkerConfig>, Vec<(String, Option<String>)>) {
    let any = |of: fn(&WorkerRow) -> Option<u32>| rows.iter().find_map(|row| of(row));
    let known = any(|row| row.block_size.proven)
        .or_else(|| any(|row| row.block_size.publisher))
        .or_else(|| any(|row| row.block_size.engine))
        .or_else(|| any(|row| row.block_size.card))
        .or(snapshot.router.block_size_inferred);
    let size = known.unwrap_or(BLOCK_SIZE).clamp(SIZES.0, SIZES.1);
    let mut workers: Vec<WorkerConfig> = Vec::new();
    let mut names = Vec::new();
    let (mut unknown, mut last) = (0, None);
    for row in rows {
        if last == Some(row.rank.worker) {
            continue;
        }
        last = Some(row.rank.worker);
        let sizes = &row.block_size;
        let or = |found: Option<u32>| found.unwrap_or(size).clamp(SIZES.0, SIZES.1);
        let (engine, card) = (or(sizes.engine), or(sizes.card));
        let publisher = or(sizes.proven.or(sizes.publisher));
        let capacity = capacity(snapshot, row, engine);
        unknown += usize::from(capacity.is_none());
        let capacity = capacity.unwrap_or(CACHE_TOKENS / engine as usize);
        let capacity = capacity.clamp(BLOCKS.0, BLOCKS.1);
        workers.push(WorkerConfig { engine, publisher, card, capacity, publishes: true });
        names.push((row.alias.clone(), row.pod.clone()));
    }
    let count = workers.len() as f64;
    inputs.push(Input::new("workers", count, "", Basis::Observed, "workers that are present"));
    let (basis, from) = match known {
        Some(_) => (Basis::Observed, "events, logs and model cards"),
        None => (Basis::Assumed, "not reported"),
    };
    let mut sized = |name, of: fn(&WorkerConfig) -> u32| {
        let value = workers.first().map_or(0, of);
        inputs.push(Input::new(name, f64::from(value), "tokens", basis, from));
    };
    if workers.iter().all(|it| it.engine == it.publisher && it.publisher == it.card) {
        sized("block size", |it| it.engine);
    } else {
        sized("block size of engines", |it| it.engine);
        sized("block size of publishers", |it| it.publisher);
        sized("block size of model cards", |it| it.card);
    }
    let tokens = workers.iter().map(|it| it.capacity * it.engine as usize).sum::<usize>();
    let (basis, from) = match unknown {
        0 => (Basis::Observed, "model card, logs or metrics of each worker".to_owned()),
        some if some == workers.len() => (Basis::Assumed, DEFAULT.to_owned()),
        some => (Basis::Assumed, format!("{DEFAULT} for {some} of {} workers", workers.len())),
    };
    let mean = tokens as f64 / workers.len().max(1) as f64;
    inputs.push(Input::new("KV cache per worker", mean.round(), "tokens", basis, from));
    (workers, names)
}

/// Returns the blocks of `engine` tokens that each rank of a worker has room for.
fn capacity(snapshot: &Snapshot, row: &WorkerRow, engine: u32) -> Option<usize> {
    let tokens = |memory: &MemoryRow| memory.capacity_tokens.as_ref().map(|known| known.value);
    let memory = snapshot.memory.iter().find(|memory| memory.rank == row.rank);
    let of_tokens = memory.and_then(tokens).map(|tokens| tokens / f64::from(engine));
    let of_blocks = || row.capacity_blocks.as_ref().map(|blocks| blocks.value as f64);
    let blocks = of_tokens.or_else(of_blocks).filter(|blocks| *blocks >= 1.0)?;
    Some(whole(blocks))
}

/// Returns the size that requests are hashed with, where it is another one than the model card's.
pub(super) fn router_size(snapshot: &Snapshot, workers: &[WorkerConfig]) -> Option<u32> {
    let claimed = snapshot.workers.iter().filter(|row| !row.gone);
    let mut claimed = claimed.filter_map(|row| row.block_size.router);
    let size = snapshot.router.block_size_inferred.or_else(|| claimed.next())?;
    let card = workers.first().map(|worker| worker.card);
    Some(size.clamp(SIZES.0, SIZES.1)).filter(|size| Some(*size) != card)
}

/// Sets mode, weight and temperature of the router.
pub(super) fn router(snapshot: &Snapshot, config: &mut SimConfig, inputs: &mut Vec<Input>) {
    let claim = |what| best(snapshot, what, &[ClaimOf::Router]);
    let mode = claim(ClaimWhat::RouterMode).and_then(|row| match &row.claim.value {
        ClaimValue::Text(text) => Some((text.as_ref() == "kv", basis(row), source(row))),
        _ => None,
    });
    let (kv, basis, from) = match mode {
        _ if snapshot.router.routed_per_second > 0.0 => {
            (true, Basis::Observed, "routing decisions".to_owned())
        }
        Some(told) => told,
        None if snapshot.router.routed > 0 => {
            (true, Basis::Observed, "routing decisions".to_owned())
        }
        None => (false, Basis::Assumed, "no routing decision was seen".to_owned()),
    };
    config.mode = if kv { RouterMode::Kv } else { RouterMode::RoundRobin };
    let flag = f64::from(u8::from(kv));
    inputs.push(Input::new("KV-aware routing", flag, "", basis, from));
    if !kv {
        return;
    }
    let credit = claim(ClaimWhat::OverlapCredit).or_else(|| claim(ClaimWhat::OverlapWeight));
    let log = || "the router's log".to_owned();
    let printed = snapshot.router.overlap_weight;
    let printed = printed.map(|weight| (weight, Basis::Observed, log()));
    let weight = printed.or_else(|| decimal(credit?)).filter(|told| told.0.is_finite());
    let default = |value| (value, Basis::Assumed, "Dynamo's default".to_owned());
    let (weight, basis, from) = weight.unwrap_or_else(|| default(1.0));
    config.weight = weight.clamp(0.0, 100.0);
    inputs.push(Input::new("overlap weight", config.weight, "", basis, from));
    let heat = claim(ClaimWhat::RouterTemperature).and_then(decimal);
    let (heat, basis, from) = heat.unwrap_or_else(|| default(0.0));
    config.temperature = heat.clamp(0.0, 100.0);
    inputs.push(Input::new("router temperature", config.temperature, "", basis, from));
}

/// Returns the requests that an engine runs at once.
pub(super) fn batch_limit(
    snapshot: &Snapshot,
    rows: &[&WorkerRow],
    inputs: &mut Vec<Input>,
) -> usize {
    let claimed = best(snapshot, ClaimWhat::MaxNumSeqs, &[ClaimOf::Engine, ClaimOf::Card]);
    let claimed = claimed.and_then(|row| match row.claim.value {
        ClaimValue::Count(count) if count > 0 => Some((count as f64, basis(row), source(row))),
        _ => None,
    });
    let running = rows.iter().filter_map(|row| row.in_engine.running).max();
    let (limit, basis, from) = match claimed {
        Some(told) => told,
        None => (Service::default().batch_limit as f64, Basis::Assumed, DEFAULT.to_owned()),
    };
    let least = running.unwrap_or(0) as f64;
    let limit = limit.max(least).clamp(1.0, 65_536.0);
    inputs.push(Input::new("batch limit", limit, "requests", basis, from));
    whole(limit)
}

/// Returns the claim of the strongest basis, and of those the newest.
fn best<'a>(snapshot: &'a Snapshot, what: ClaimWhat, of: &[ClaimOf]) -> Option<&'a ClaimRow> {
    let same = |row: &&ClaimRow| row.claim.what == what && of.contains(&row.claim.of);
    snapshot.claims.iter().filter(same).max_by_key(|row| (row.claim.basis, row.at))
}

/// A default that nobody wrote is an assumption, whoever names it.
fn basis(row: &ClaimRow) -> Basis {
    match row.claim.basis {
        crate::domain::Basis::Default => Basis::Assumed,
        _ => Basis::Observed,
    }
}

fn source(row: &ClaimRow) -> String {
    row.claim.source.to_string()
}

fn decimal(row: &ClaimRow) -> Option<(f64, Basis, String)> {
    let value = match row.claim.value {
        ClaimValue::Millionths(value) => value as f64 / 1e6,
        ClaimValue::Count(value) => value as f64,
        ClaimValue::Text(_) | ClaimValue::Flag(_) => return None,
    };
    Some((value, basis(row), source(row)))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole(value: f64) -> usize {
    value.round().clamp(0.0, 1e12) as usize
}
