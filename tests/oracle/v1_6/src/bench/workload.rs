//! The workload: engines with a cache of fixed size each, multi-turn conversations over shared prompts.
//!
//! Written to a file once, so that every implementation reads the same stream and none shares its
//! memory with the generator.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use kvtop::domain::{Block, SequenceHash, TokensHash, WorkerRank};

/// One event of the stream.
pub enum Event {
    Stored {
        worker: u32,
        parent: Option<u64>,
        blocks: Vec<Block>,
    },
    Removed {
        worker: u32,
        hashes: Vec<SequenceHash>,
    },
    /// The caches are full; from here on every store evicts.
    Full,
    /// A prompt to look up at the end.
    Query(Vec<TokensHash>),
}

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

const NIL: u32 = u32::MAX;

/// A cache with the least recently used block at its end.
#[derive(Default)]
struct Cache {
    entries: Vec<Entry>,
    free: Vec<u32>,
    first: u32,
    last: u32,
    by_block: HashMap<u32, u32>,
    pending: VecDeque<Event>,
}

struct Entry {
    block: u32,
    before: u32,
    after: u32,
}

impl Cache {
    fn new() -> Self {
        Self { first: NIL, last: NIL, ..Self::default() }
    }

    fn unhook(&mut self, at: u32) {
        let Entry { before, after, .. } = self.entries[at as usize];
        if before == NIL {
            self.first = after
        } else {
            self.entries[before as usize].after = after
        }
        if after == NIL { self.last = before } else { self.entries[after as usize].before = before }
    }

    fn hook(&mut self, at: u32) {
        let first = self.first;
        self.entries[at as usize].before = NIL;
        self.entries[at as usize].after = first;
        if first == NIL {
            self.last = at
        } else {
            self.entries[first as usize].before = at
        }
        self.first = at;
    }

    fn touch(&mut self, block: u32) {
        let at = if let Some(at) = self.by_block.get(&block) {
            let at = *at;
            self.unhook(at);
            at
        } else {
            let entry = Entry { block, before: NIL, after: NIL };
            let at = if let Some(at) = self.free.pop() {
                self.entries[at as usize] = entry;
                at
            } else {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            };
            self.by_block.insert(block, at);
            at
        };
        self.hook(at);
    }

    fn evict(&mut self) -> u32 {
        let at = self.last;
        let block = self.entries[at as usize].block;
        self.unhook(at);
        self.by_block.remove(&block);
        self.free.push(at);
        block
    }
}

struct Conversation {
    worker: u32,
    path: Vec<u32>,
}

/// The generator.
struct World {
    random: Random,
    blocks: Vec<Block>,
    prompts: Vec<Vec<u32>>,
    weights: Vec<f64>,
    talks: Vec<Conversation>,
    caches: Vec<Cache>,
    capacity: usize,
    depth: usize,
    entries: usize,
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
            caches: (0..workers).map(|_| Cache::new()).collect(),
            capacity,
            depth: (capacity / 4).min(2000),
            entries: 0,
        };
        for at in 0..48 + workers.min(200) {
            let fork = at > 0 && world.random.unit() < 0.4;
            let mut path = Vec::new();
            if fork {
                let other = world.random.below(at);
                let keep = world.random.below(world.prompts[other].len());
                path.extend_from_slice(&world.prompts[other][..keep]);
            }
            let long = world.random.unit() < 0.1;
            let (low, high) = if long { (100.0, 600.0) } else { (4.0, 128.0) };
            let more = world.random.log_uniform(low, high).max(1);
            world.grow(&mut path, more);
            path.truncate(world.depth / 2 + 1);
            world.prompts.push(path);
            let last = world.weights.last().copied().unwrap_or_default();
            world.weights.push(last + 1.0 / ((at + 1) as f64).powf(1.1));
        }
        world
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

    /// Lets a user send a message: one request, to one worker.
    fn request(&mut self, worker: u32) {
        let live = self.talks.len();
        let recent = live.min(self.caches.len() * 24);
        let continued = recent > 0 && self.random.unit() < 0.7;
        let (at, mut path) = if continued {
            let at = live - 1 - self.random.below(recent);
            (at, self.talks[at].path.clone())
        } else {
            let path = self.prompt();
            self.talks.push(Conversation { worker, path: Vec::new() });
            (live, path)
        };
        let sticky = continued && self.random.unit() < 0.88;
        let worker = if sticky { self.talks[at].worker } else { worker };
        let long = self.random.unit() < 0.05;
        let more =
            if long { 50 + self.random.below(1450) } else { self.random.log_uniform(1.0, 40.0) };
        let prefill = path.len() + more;
        let decode = self.random.log_uniform(6.0, 120.0);
        if prefill + decode <= self.depth {
            self.grow(&mut path, more + decode);
        }
        let prefill = prefill.min(path.len());
        self.serve(worker, &path, prefill);
        self.talks[at] = Conversation { worker, path };
    }

    /// Stores what `worker` lacks of `path`, evicting before each store.
    fn serve(&mut self, worker: u32, path: &[u32], prefill: usize) {
        let cache = &mut self.caches[worker as usize];
        let known = path.iter().take_while(|block| cache.by_block.contains_key(*block)).count();
        for block in path[..known].iter().rev() {
            cache.touch(*block);
        }
        let mut from = known;
        while from < path.len() {
            let most =
                if from < prefill { 64.min(prefill - from) } else { 1 + self.random.below(8) };
            let to = (from + most).min(path.len());
            self.store(worker, path, from, to);
            from = to;
        }
    }

    fn store(&mut self, worker: u32, path: &[u32], from: usize, to: usize) {
        let cache = &mut self.caches[worker as usize];
        let room = self.capacity.saturating_sub(cache.by_block.len());
        let mut hashes = Vec::new();
        for _ in room..to - from {
            hashes.push(self.blocks[cache.evict() as usize].sequence);
            self.entries -= 1;
        }
        if !hashes.is_empty() {
            cache.pending.push_back(Event::Removed { worker, hashes });
        }
        let blocks = path[from..to].iter().map(|block| self.blocks[*block as usize]).collect();
        let parent = from.checked_sub(1).map(|at| self.blocks[path[at] as usize].sequence.0);
        cache.pending.push_back(Event::Stored { worker, parent, blocks });
        self.entries += to - from;
        for block in path[..to].iter().rev() {
            cache.touch(*block);
        }
    }
}

/// Writes the stream for `entries` cached blocks on `workers` workers to `path`.
pub fn write(path: &Path, entries: usize, workers: usize) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let mut world = World::new(entries, workers);
    let mut open: Vec<u32> = Vec::new();
    let (mut full, mut churned) = (false, 0);
    while churned < entries {
        while open.len() < workers.min(32) {
            let worker = world.random.below(workers) as u32;
            world.request(worker);
            let busy = (0..workers as u32).filter(|worker| {
                !world.caches[*worker as usize].pending.is_empty() && !open.contains(worker)
            });
            open.extend(busy.take(32 - open.len()).collect::<Vec<_>>());
        }
        let at = world.random.below(open.len());
        let cache = &mut world.caches[open[at] as usize];
        if let Some(event) = cache.pending.pop_front() {
            if full && let Event::Stored { blocks, .. } = &event {
                churned += 2 * blocks.len();
            }
            put(&mut out, &event)?;
        }
        if cache.pending.is_empty() {
            open.swap_remove(at);
        }
        if !full && world.entries * 100 >= entries * 97 {
            full = true;
            put(&mut out, &Event::Full)?;
        }
    }
    let recent = world.talks.len().min(workers * 24).max(1);
    for _ in 0..2000 {
        let at = world.talks.len() - 1 - world.random.below(recent);
        let path = &world.talks[at].path;
        let tokens = path.iter().map(|block| world.blocks[*block as usize].tokens).collect();
        put(&mut out, &Event::Query(tokens))?;
    }
    out.flush()
}

fn put(out: &mut impl Write, event: &Event) -> io::Result<()> {
    let head = |out: &mut dyn Write, kind: u8, worker: u32, count: usize| {
        out.write_all(&[kind])?;
        out.write_all(&worker.to_le_bytes())?;
        out.write_all(&(count as u32).to_le_bytes())
    };
    match event {
        Event::Stored { worker, parent, blocks } => {
            head(out, u8::from(parent.is_some()), *worker, blocks.len())?;
            if let Some(parent) = parent {
                out.write_all(&parent.to_le_bytes())?;
            }
            for block in blocks {
                out.write_all(&block.sequence.0.to_le_bytes())?;
                out.write_all(&block.tokens.0.to_le_bytes())?;
            }
        }
        Event::Removed { worker, hashes } => {
            head(out, 2, *worker, hashes.len())?;
            for hash in hashes {
                out.write_all(&hash.0.to_le_bytes())?;
            }
        }
        Event::Full => head(out, 3, 0, 0)?,
        Event::Query(tokens) => {
            head(out, 4, 0, tokens.len())?;
            for hash in tokens {
                out.write_all(&hash.0.to_le_bytes())?;
            }
        }
    }
    Ok(())
}

/// Reads a stream back.
pub struct Stream(BufReader<std::fs::File>);

impl Stream {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(BufReader::with_capacity(1 << 20, std::fs::File::open(path)?)))
    }

    fn word(&mut self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
}

impl Iterator for Stream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let worker = u32::from_le_bytes(head[1..5].try_into().ok()?);
        let count = u32::from_le_bytes(head[5..9].try_into().ok()?) as usize;
        Some(match head[0] {
            kind @ (0 | 1) => {
                let parent = if kind == 1 { Some(self.word()?) } else { None };
                let mut blocks = Vec::with_capacity(count);
                for _ in 0..count {
                    let (sequence, tokens) = (SequenceHash(self.word()?), TokensHash(self.word()?));
                    blocks.push(Block { sequence, tokens });
                }
                Event::Stored { worker, parent, blocks }
            }
            2 => Event::Removed {
                worker,
                hashes: (0..count).map_while(|_| self.word().map(SequenceHash)).collect(),
            },
            3 => Event::Full,
            _ => Event::Query((0..count).map_while(|_| self.word().map(TokensHash)).collect()),
        })
    }
}
