//! The workload: engines with a cache of fixed size each, multi-turn conversations over shared prompts.
//!
//! Several requests run on a worker at once and their events interleave: prompts are computed 64 blocks
//! at a time, answers come 1 to 8 blocks at a time. What a running request uses is never evicted; when it
//! ends, its blocks queue up for eviction, the last one first, as vLLM does it.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use kvtop::domain::{Block, SequenceHash, TokensHash, WorkerRank};

use super::cache::Cache;
use super::stream::{Event, put};

/// Workers that are busy at once.
const BUSY: usize = 32;
/// Blocks to a step of a prefill.
const CHUNK: usize = 64;
/// Prompts looked up at the end.
const QUERIES: usize = 2000;
/// Requests that run on a busy worker at once, on average.
const CONCURRENT: usize = 2;
/// A worker takes about so many requests in a row.
const TURN: usize = 2;
/// Recent talks for each worker, of which one may go on.
const WINDOW: usize = 6;
/// Share of messages that bring a long document.
const LONG: f64 = 0.018;

/// Returns the rank of worker number `worker`: 53-bit ids, as Kubernetes discovery makes them.
pub fn rank(worker: u32) -> WorkerRank {
    WorkerRank::new(Random(u64::from(worker) + 77).next() >> 11, 0)
}

/// A small generator of random numbers (`SplitMix64`).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn log_uniform(&mut self, low: f64, high: f64) -> usize {
        (low * (high / low).powf(self.unit())) as usize
    }
}

struct Talk {
    worker: u32,
    path: Vec<u32>,
    busy: bool,
}

/// A request under way.
struct Request {
    talk: usize,
    worker: u32,
    path: Vec<u32>,
    /// Blocks of the path that are cached and pinned.
    done: usize,
    /// Blocks of the path that are prompt; the rest is the answer.
    prefill: usize,
}

/// What section 0 of the published baseline tells of its streams.
#[derive(Default)]
pub struct Calibration {
    pub distinct: usize,
    pub events: usize,
    pub stores: usize,
    pub stored_blocks: usize,
    pub deepest: usize,
}

impl fmt::Display for Calibration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { distinct, events, stores, stored_blocks, deepest } = self;
        let size = *stored_blocks as f64 / *stores as f64;
        write!(
            out,
            "{distinct} distinct, {events} events, {size:.1} blocks a store, {deepest} deep"
        )
    }
}

/// The generator.
struct World {
    random: Random,
    blocks: Vec<Block>,
    prompts: Vec<Vec<u32>>,
    weights: Vec<f64>,
    talks: Vec<Talk>,
    /// Talks before this one are over.
    forgotten: usize,
    caches: Vec<Cache>,
    running: Vec<Request>,
    /// Workers that take requests now.
    open: Vec<u32>,
    next: u32,
    capacity: usize,
    depth: usize,
    entries: usize,
    seen: Calibration,
}

impl World {
    fn new(entries: usize, workers: usize) -> Self {
        let capacity = entries / workers;
        let mut world = Self {
            random: Random(42),
            blocks: Vec::new(),
            prompts: Vec::new(),
            weights: Vec::new(),
            talks: Vec::new(),
            forgotten: 0,
            caches: (0..workers).map(|_| Cache::default()).collect(),
            running: Vec::new(),
            open: Vec::new(),
            next: 0,
            capacity,
            depth: (capacity / 4).min(2000),
            entries: 0,
            seen: Calibration::default(),
        };
        for at in 0..48 + workers.min(200) {
            world.write_prompt(at);
            let last = world.weights.last().copied().unwrap_or_default();
            world.weights.push(last + 1.0 / ((at + 1) as f64).powf(1.1));
        }
        world
    }

    fn write_prompt(&mut self, at: usize) {
        let mut path = Vec::new();
        if at > 0 && self.random.unit() < 0.4 {
            let other = self.random.below(at);
            let keep = self.random.below(self.prompts[other].len());
            path.extend_from_slice(&self.prompts[other][..keep]);
        }
        let long = self.random.unit() < 0.1;
        let (low, high) = if long { (100.0, 600.0) } else { (4.0, 128.0) };
        let more = self.random.log_uniform(low, high).max(1);
        self.grow(&mut path, more);
        path.truncate(self.depth / 2 + 1);
        self.prompts.push(path);
    }

    fn grow(&mut self, path: &mut Vec<u32>, by: usize) {
        for _ in 0..by {
            path.push(self.blocks.len() as u32);
            let block = Block {
                sequence: SequenceHash(self.random.next()),
                tokens: TokensHash(self.random.next()),
            };
            self.blocks.push(block);
        }
    }

    fn prompt(&mut self) -> Vec<u32> {
        let total = self.weights.last().copied().unwrap_or_default();
        let drawn = self.random.unit() * total;
        let at = self.weights.partition_point(|weight| *weight < drawn);
        self.prompts[at.min(self.prompts.len() - 1)].clone()
    }

    /// Returns a recent talk that can go on: nobody waits for an answer in it, and it is not too long.
    fn recent_talk(&mut self) -> Option<usize> {
        let window = self.caches.len() * WINDOW;
        while self.talks.len() - self.forgotten > window + BUSY * 8 {
            self.talks[self.forgotten].path = Vec::new();
            self.forgotten += 1;
        }
        let recent = (self.talks.len() - self.forgotten).min(window);
        (0..8 + self.caches.len() / BUSY * 4).find_map(|_| {
            let at =
                self.talks.len() - 1 - self.random.below(recent.max(1)).min(recent.checked_sub(1)?);
            let talk = &self.talks[at];
            let free = !talk.busy && self.open.contains(&talk.worker);
            (free && talk.path.len() + 8 < self.depth).then_some(at)
        })
    }

    /// Lets a user send a message: one request, to one worker.
    fn request(&mut self, worker: u32) {
        let goes_on = self.random.unit() < 0.7;
        let talk = if goes_on { self.recent_talk() } else { None };
        let (at, mut path, worker) = match talk {
            Some(at) => {
                let talk = &mut self.talks[at];
                talk.busy = true;
                let sticky = self.random.unit() < 0.88;
                (at, talk.path.clone(), if sticky { talk.worker } else { worker })
            }
            None => {
                let path = self.prompt();
                self.talks.push(Talk { worker, path: Vec::new(), busy: true });
                (self.talks.len() - 1, path, worker)
            }
        };
        let long = self.random.unit() < LONG;
        let more =
            if long { 50 + self.random.below(1450) } else { self.random.log_uniform(1.0, 30.0) };
        let decode = self.random.log_uniform(6.0, 65.0);
        let prefill = (path.len() + more).min(self.depth - self.depth / 16);
        let end = (prefill + decode).min(self.depth);
        let more = end.saturating_sub(path.len());
        self.grow(&mut path, more);
        let prefill = prefill.min(path.len());
        self.seen.deepest = self.seen.deepest.max(path.len());
        let done = self.caches[worker as usize].pin_prefix(&path);
        self.running.push(Request { talk: at, worker, path, done, prefill });
    }

    /// Keeps requests running on [`BUSY`] workers, several on each. Now and then another worker's turn
    /// comes.
    fn admit(&mut self) {
        let most = self.caches.len().min(BUSY);
        while self.open.len() < most {
            self.open.push(self.next);
            self.next = (self.next + 1) % self.caches.len() as u32;
        }
        while self.running.len() < most * CONCURRENT {
            let at = self.random.below(most);
            self.request(self.open[at]);
            if self.random.below(TURN) == 0 {
                self.open.swap_remove(at);
                return;
            }
        }
    }

    /// Lets one request make a step: evicts what it takes, then stores.
    fn step(&mut self, out: &mut impl Write) -> io::Result<usize> {
        let at = self.random.below(self.running.len());
        let Request { worker, done, prefill, .. } = self.running[at];
        let left = self.running[at].path.len() - done;
        if left == 0 {
            self.finish(at);
            return Ok(0);
        }
        let step =
            if done < prefill { CHUNK.min(prefill - done) } else { 1 + self.random.below(8) };
        let count = step.min(left);
        let cache = &mut self.caches[worker as usize];
        let over = (cache.len() + count).saturating_sub(self.capacity);
        let gone: Vec<u32> = (0..over).map_while(|_| cache.evict()).collect();
        self.entries -= gone.len();
        let removed = gone.len();
        if removed > 0 {
            let hashes = gone.iter().map(|block| self.blocks[*block as usize].sequence).collect();
            put(out, &Event::Removed { worker, hashes })?;
            self.seen.events += 1;
        }
        if removed < over {
            // Everything left is in use: the request gives up, as one that is preempted.
            self.running[at].path.truncate(done);
            return Ok(removed);
        }
        self.store(at, count, out)?;
        Ok(removed + count)
    }

    fn store(&mut self, at: usize, count: usize, out: &mut impl Write) -> io::Result<()> {
        let request = &mut self.running[at];
        let from = request.done;
        let new = &request.path[from..from + count];
        let cache = &mut self.caches[request.worker as usize];
        self.entries += new.iter().filter(|block| cache.pin(**block)).count();
        let blocks = new.iter().map(|block| self.blocks[*block as usize]).collect();
        let parent =
            from.checked_sub(1).map(|at| self.blocks[request.path[at] as usize].sequence.0);
        put(out, &Event::Stored { worker: request.worker, parent, blocks })?;
        request.done += count;
        self.seen.events += 1;
        self.seen.stores += 1;
        self.seen.stored_blocks += count;
        Ok(())
    }

    fn finish(&mut self, at: usize) {
        let Request { talk, worker, path, .. } = self.running.swap_remove(at);
        self.caches[worker as usize].unpin(&path);
        self.talks[talk] = Talk { worker, path, busy: false };
    }
}

/// Writes the stream for `entries` cached blocks on `workers` workers to `path`.
pub fn write(path: &Path, entries: usize, workers: usize) -> io::Result<Calibration> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let mut world = World::new(entries, workers);
    let (mut full, mut churned) = (false, 0);
    let churn = if entries > 1_000_000 { entries * 6 / 10 } else { entries };
    while churned < churn {
        world.admit();
        let moved = world.step(&mut out)?;
        if world.seen.stored_blocks > entries * 8 {
            return Err(io::Error::other("the caches do not fill"));
        }
        if full {
            churned += moved;
        } else if world.entries * 100 >= entries * 97 {
            full = true;
            put(&mut out, &Event::Full)?;
        }
    }
    let recent = (world.talks.len() - world.forgotten).min(workers * 24).max(1);
    for _ in 0..QUERIES {
        let at = world.talks.len() - 1 - world.random.below(recent);
        let path = &world.talks[at].path;
        let tokens = path.iter().map(|block| world.blocks[*block as usize].tokens).collect();
        put(&mut out, &Event::Query(tokens))?;
    }
    out.flush()?;
    let mut used = vec![false; world.blocks.len()];
    for block in world.caches.iter().flat_map(Cache::blocks) {
        used[block as usize] = true;
    }
    world.seen.distinct = used.iter().filter(|used| **used).count();
    Ok(world.seen)
}
