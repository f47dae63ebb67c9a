//! The changes that a plan asks about.

use crate::simulator::{RouterMode, SimConfig};

/// A group of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// More workers, or fewer.
    Workers,
    /// A larger or smaller KV cache.
    Cache,
    /// The overlap weight of the router.
    Weight,
    /// The temperature of the router.
    Temperature,
    /// KV-aware routing against round-robin.
    Mode,
    /// Tokens per block.
    BlockSize,
    /// The drain of a worker.
    Drain,
}

/// One change to a deployment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// None: the deployment as it is.
    Now,
    /// One block size for engine, publisher and router, where these differ now.
    SameSizes(u32),
    /// So many workers more, or fewer.
    Workers(i64),
    /// The KV cache of each worker times this factor.
    Cache(f64),
    /// This overlap weight.
    Weight(f64),
    /// This temperature.
    Temperature(f64),
    /// This router mode.
    Mode(RouterMode),
    /// This many tokens per block everywhere, in a cache of the same size.
    BlockSize(u32),
    /// The worker in this place gets no more requests, from the end of the warm-up on.
    Drain(usize),
}

/// The values to ask about.
#[derive(Clone, Debug, PartialEq)]
pub struct Questions {
    /// Workers to add, or to remove where negative.
    pub workers: Vec<i64>,
    /// Factors of the KV cache.
    pub cache: Vec<f64>,
    /// Overlap weights.
    pub weight: Vec<f64>,
    /// Temperatures.
    pub temperature: Vec<f64>,
    /// True to compare the router modes.
    pub mode: bool,
    /// Tokens per block.
    pub block_size: Vec<u32>,
    /// Places of workers to drain.
    pub drain: Vec<usize>,
}

impl Default for Questions {
    fn default() -> Self {
        Self {
            workers: vec![1, -1],
            cache: vec![1.5],
            weight: vec![0.0, 0.5, 2.0],
            temperature: vec![0.2, 0.5],
            mode: true,
            block_size: vec![16, 32, 64],
            drain: Vec::new(),
        }
    }
}

impl Questions {
    /// Returns no questions.
    pub const fn none() -> Self {
        Self {
            workers: Vec::new(),
            cache: Vec::new(),
            weight: Vec::new(),
            temperature: Vec::new(),
            mode: false,
            block_size: Vec::new(),
            drain: Vec::new(),
        }
    }

    /// Returns the changes to `config` that they mean, the present first; without those that change nothing.
    pub fn changes(&self, config: &SimConfig) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Some(size) = Change::split_sizes(config) {
            changes.push(Change::SameSizes(size));
        }
        changes.extend(self.workers.iter().map(|by| Change::Workers(*by)));
        changes.extend(self.cache.iter().map(|by| Change::Cache(*by)));
        changes.extend(self.weight.iter().map(|weight| Change::Weight(*weight)));
        changes.extend(self.temperature.iter().map(|heat| Change::Temperature(*heat)));
        if self.mode {
            changes.extend([RouterMode::Kv, RouterMode::RoundRobin].map(Change::Mode));
        }
        changes.extend(self.block_size.iter().map(|size| Change::BlockSize(*size)));
        changes.extend(self.drain.iter().map(|place| Change::Drain(*place)));
        let mut kept = vec![Change::Now];
        for change in changes {
            let Some(after) = change.apply(config) else { continue };
            let told = kept.iter().any(|other| other.apply(config).as_ref() == Some(&after));
            if !kept.contains(&change) && (change.drained().is_some() || !told) {
                kept.push(change);
            }
        }
        kept
    }
}

impl Change {
    /// Returns the place of the worker that is drained.
    pub const fn drained(self) -> Option<usize> {
        match self {
            Self::Drain(place) => Some(place),
            _ => None,
        }
    }

    /// Returns the size that publishers use where some part of the deployment uses another.
    fn split_sizes(config: &SimConfig) -> Option<u32> {
        let size = config.workers.first()?.publisher;
        let router = config.router.unwrap_or(size);
        let differ = |worker: &crate::simulator::WorkerConfig| {
            [worker.engine, worker.publisher, worker.card].iter().any(|other| *other != size)
        };
        (router != size || config.workers.iter().any(differ)).then_some(size)
    }

    /// Returns `config` with the change; none where it cannot be made.
    pub fn apply(self, config: &SimConfig) -> Option<SimConfig> {
        let mut changed = config.clone();
        match self {
            Self::Now => {}
            Self::Drain(place) => {
                if place >= config.workers.len() || config.workers.len() < 2 {
                    return None;
                }
            }
            Self::SameSizes(size) | Self::BlockSize(size) => {
                for worker in &mut changed.workers {
                    let tokens = worker.capacity * worker.engine as usize;
                    worker.engine = size;
                    worker.publisher = size;
                    worker.card = size;
                    worker.capacity = tokens / size.max(1) as usize;
                }
                changed.router = None;
            }
            Self::Workers(by) => {
                let count = i64::try_from(config.workers.len()).ok()?.checked_add(by)?;
                let count = usize::try_from(count).ok().filter(|count| *count > 0)?;
                let like = *config.workers.last()?;
                changed.workers.resize(count, like);
            }
            Self::Cache(by) => {
                for worker in &mut changed.workers {
                    worker.capacity = scaled(worker.capacity, by);
                }
            }
            Self::Weight(weight) => changed.weight = weight,
            Self::Temperature(temperature) => changed.temperature = temperature,
            Self::Mode(mode) => changed.mode = mode,
        }
        let routes = changed.mode == RouterMode::Kv;
        let of_router = matches!(self, Self::Weight(_) | Self::Temperature(_));
        (routes || !of_router).then_some(changed)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn scaled(blocks: usize, by: f64) -> usize {
    (blocks as f64 * by).round().clamp(1.0, 1e9) as usize
}
