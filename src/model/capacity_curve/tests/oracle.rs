//! Engines that follow requests block by block: predict from the events of one, then run the same requests with more
//! capacity.
//!
//! As in real engines, blocks of running requests stay, and a prompt is found up to its first missing block.

use super::*;

/// Requests that run at once.
const RUNNING: usize = 8;

/// The blocks that go first.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// Those used longest ago.
    UsedLongestAgo,
    /// Those of the request that ended longest ago, its last block first: vLLM's free queue (commit 002f3491,
    /// `vllm/v1/core/single_type_kv_cache_manager.py`, `free`).
    TailFirst,
    /// Those outside of the first ten of a prompt, whatever their age: retention by priority.
    ByPriority,
}

struct Engine {
    order: Order,
    capacity: usize,
    /// Blocks that may be evicted, by what goes first.
    free: BTreeMap<(u8, u64), u64>,
    /// Their keys.
    keys: FastMap<u64, (u8, u64)>,
    /// Blocks of running requests, with how many use them.
    running: FastMap<u64, usize>,
    used: FastMap<u64, u64>,
    clock: u64,
    stores: usize,
    /// Blocks of all requests, and of these the ones found before the first that was missing.
    blocks: usize,
    found: usize,
}

impl Engine {
    fn new(order: Order, capacity: usize) -> Self {
        Self {
            order,
            capacity,
            free: BTreeMap::new(),
            keys: FastMap::default(),
            running: FastMap::default(),
            used: FastMap::default(),
            clock: 0,
            stores: 0,
            blocks: 0,
            found: 0,
        }
    }

    fn start(&mut self, request: &[u64], mut watch: Option<&mut CapacityCurve>) {
        let is_held =
            |block: &&u64| self.keys.contains_key(block) || self.running.contains_key(block);
        let found = request.iter().take_while(is_held).count();
        self.blocks += request.len();
        self.found += found;
        if let Some(curve) = watch.as_deref_mut() {
            let (blocks, cached) = (request.len() as f64, found as f64);
            let prompt = Prompts { count: 1.0, blocks, cached };
            curve.prompt(0, LengthBy::HitRate, &prompt, Timestamp(1));
        }
        for block in request {
            self.clock += 1;
            self.used.insert(*block, self.clock);
            let key = self.keys.remove(block);
            if let Some(key) = key {
                self.free.remove(&key);
            }
            if key.is_none() && !self.running.contains_key(block) {
                if self.free.len() + self.running.len() >= self.capacity {
                    let (_, evicted) = self.free.pop_first().expect("running requests fit");
                    self.keys.remove(&evicted);
                    if let Some(curve) = watch.as_deref_mut() {
                        curve.removed(0, &[SequenceHash(evicted)], self.capacity as u64 - 1);
                    }
                }
                self.stores += 1;
                if let Some(curve) = watch.as_deref_mut() {
                    curve.stored(0, &[super::block(*block)], Timestamp(1));
                }
            }
            *self.running.entry(*block).or_default() += 1;
        }
    }

    fn end(&mut self, request: &[u64]) {
        let count = request.len();
        for at in 0..count {
            let place = if self.order == Order::TailFirst { count - 1 - at } else { at };
            let block = request[place];
            let users = self.running.get_mut(&block).unwrap();
            *users -= 1;
            if *users > 0 {
                continue;
            }
            self.running.remove(&block);
            self.clock += 1;
            let key = match self.order {
                Order::UsedLongestAgo => (0, self.used[&block]),
                Order::TailFirst => (0, self.clock),
                Order::ByPriority => (u8::from(place < 10), self.clock),
            };
            self.free.insert(key, block);
            self.keys.insert(block, key);
        }
    }

    /// Runs `requests`, and returns how many blocks were stored, and the share of blocks that were found.
    fn run(mut self, requests: &[Vec<u64>], mut watch: Option<&mut CapacityCurve>) -> (usize, f64) {
        for (at, request) in requests.iter().enumerate() {
            if let Some(ended) = at.checked_sub(RUNNING) {
                self.end(&requests[ended]);
            }
            self.start(request, watch.as_deref_mut());
        }
        (self.stores, self.found as f64 / self.blocks as f64)
    }
}

/// Conversations that begin with one of twelve system prompts, and come back.
fn requests(kind: &str, blocks: usize) -> Vec<Vec<u64>> {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    let (mut requests, mut count, mut turn) = (Vec::new(), 0, 0);
    while count < blocks {
        turn += 1;
        let session = match kind {
            "few are popular" => (400.0 * random.unit().powi(3)) as u64,
            "all alike" => (300.0 * random.unit()) as u64,
            _ => turn % 250,
        };
        let system = (0..6).map(|n| hash(2 << 40 | (session % 12 * 100 + n)));
        let own = (0..6 + session % 23).map(|n| hash(session * 1_000 + n));
        let answer = (0..4).map(|n| hash(1 << 40 | (turn * 10 + n)));
        let request: Vec<u64> = system.chain(own).chain(answer).collect();
        count += request.len();
        requests.push(request);
    }
    requests
}

/// Returns predicted and measured shares at each capacity.
fn compared(kind: &str, order: Order, capacity: usize) -> Vec<(f64, f64)> {
    let requests = requests(kind, 60_000);
    let mut curve = CapacityCurve::default();
    let now = Engine::new(order, capacity).run(&requests, Some(&mut curve)).0 as f64;
    let predicted = curve.avoided(0, capacity as u64).unwrap();
    let measured = |factor: f64| {
        let capacity = (capacity as f64 * factor) as usize;
        1.0 - Engine::new(order, capacity).run(&requests, None).0 as f64 / now
    };
    let point =
        |(index, factor): (usize, &f64)| (predicted.share(index).unwrap(), measured(*factor));
    Avoided::FACTORS.iter().enumerate().map(point).collect()
}

const WORKLOADS: [(&str, usize); 3] =
    [("few are popular", 1_200), ("all alike", 1_800), ("one after the other", 1_900)];

/// Prints the rows of docs/FORESIGHT.md with `--nocapture`.
#[expect(clippy::print_stdout, reason = "the documentation's table")]
fn row(kind: &str, order: Order, points: &[(f64, f64)]) {
    let cells = points.iter().map(|(predicted, measured)| {
        format!("{:.1} % / {:.1} %", predicted * 100.0, measured * 100.0)
    });
    println!("| {kind} | {order:?} | {} |", cells.collect::<Vec<_>>().join(" | "));
}

#[test]
fn the_prediction_holds_for_engines_that_evict_by_age_whatever_the_order_within_a_request() {
    for (kind, capacity) in WORKLOADS {
        for order in [Order::UsedLongestAgo, Order::TailFirst] {
            let points = compared(kind, order, capacity);
            row(kind, order, &points);
            for (predicted, measured) in points {
                let off = (predicted - measured).abs();
                assert!(off < 0.03, "{kind}, {order:?}: {predicted:.3}, really {measured:.3}");
            }
        }
    }
}

/// Returns the share of blocks found now, then predicted and measured shares at each capacity.
fn hit_rates(kind: &str, order: Order, capacity: usize) -> (f64, Vec<(f64, f64)>) {
    let requests = requests(kind, 60_000);
    let mut curve = CapacityCurve::default();
    let (_, now) = Engine::new(order, capacity).run(&requests, Some(&mut curve));
    let predicted = curve.avoided(0, capacity as u64).unwrap();
    let measured = |factor: f64| {
        let capacity = (capacity as f64 * factor) as usize;
        Engine::new(order, capacity).run(&requests, None).1
    };
    let point = |(index, factor): (usize, &f64)| {
        (predicted.would_be_cached(index).unwrap(), measured(*factor))
    };
    (now, Avoided::FACTORS.iter().enumerate().map(point).collect())
}

#[test]
#[expect(clippy::print_stdout, reason = "the documentation's table")]
fn the_hit_rate_of_twice_the_cache_is_predicted_within_two_points() {
    for (kind, capacity) in WORKLOADS {
        for order in [Order::UsedLongestAgo, Order::TailFirst] {
            let (now, points) = hit_rates(kind, order, capacity);
            let cells = points.iter().map(|(predicted, measured)| {
                format!("{:.1} % / {:.1} %", predicted * 100.0, measured * 100.0)
            });
            let cells = cells.collect::<Vec<_>>().join(" | ");
            println!("| {kind} | {order:?} | {:.1} % | {cells} |", now * 100.0);
            for ((predicted, measured), factor) in points.into_iter().zip(Avoided::FACTORS) {
                // Three times the cache holds a whole round of prompts in turn, and a step is predicted less well.
                let most = if factor > 2.0 { 0.03 } else { 0.02 };
                let off = (predicted - measured).abs();
                assert!(off < most, "{kind}, {order:?}: {predicted:.3}, really {measured:.3}");
            }
        }
    }
}

/// A cache that keeps some blocks whatever their age is no stack, and more of it avoids less than predicted: the
/// documentation says so, with these figures.
#[test]
fn retention_by_priority_is_predicted_too_high() {
    let mut worst = 0.0_f64;
    for (kind, capacity) in WORKLOADS {
        let points = compared(kind, Order::ByPriority, capacity);
        row(kind, Order::ByPriority, &points);
        worst =
            points.iter().map(|(predicted, measured)| predicted - measured).fold(worst, f64::max);
    }
    assert!(worst > 0.01, "{worst}");
}
