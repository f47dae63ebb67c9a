//! Event streams for the differential tests: a few engines that store, evict and lose things.
//!
//! Shared by the packages beside it. Hashes are chained as honest engines chain them, with a salt per
//! worker where asked; every choice comes from proptest, so that a failing stream shrinks.

use std::collections::{BTreeMap, BTreeSet};

use kvtop::domain::{
    Block, ClearScope, DpRank, KvBatch, KvHead, SequenceHash, TokensHash, WorkerId, WorkerRank,
};
use kvtop::mirror::{Mirror, Outcome, Refusal, Semantics};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Returns how many streams to try, `ORACLE_CASES` or 2000, and where failing ones are kept: their seeds
/// are tried first ever after.
pub fn config() -> ProptestConfig {
    let cases = std::env::var("ORACLE_CASES").ok().and_then(|cases| cases.parse().ok());
    let kept = FileFailurePersistence::Direct("proptest-regressions/differential.txt");
    ProptestConfig {
        cases: cases.unwrap_or(2000),
        failure_persistence: Some(Box::new(kept)),
        ..ProptestConfig::default()
    }
}

/// What a router's index does with one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    ParentMissing,
    BlockMissing,
    Invalid,
}

/// The router's index, whichever version.
pub trait Peer {
    /// Whether `cleared` empties all ranks of a worker.
    const CLEARS: ClearScope;
    const SEMANTICS: Semantics;
    fn new() -> Self;
    fn stored(&mut self, rank: WorkerRank, parent: Option<u64>, blocks: &[Block]) -> Verdict;
    fn removed(&mut self, rank: WorkerRank, hashes: &[SequenceHash]) -> Verdict;
    fn cleared(&mut self, rank: WorkerRank);
    fn remove_worker(&mut self, worker: WorkerId);
    fn size(&self) -> usize;
    fn scores(&self, tokens: &[TokensHash]) -> BTreeMap<WorkerRank, u32>;
}

/// How an engine misbehaves.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// Each worker hashes with a salt of its own.
    pub salted: bool,
    /// Blocks go in any order, not leaf first.
    pub unordered: bool,
    /// Events get lost.
    pub lossy: bool,
    /// Each rank calls the same content by two hashes, as with and without an adapter (LoRA) that the
    /// tokens hash leaves out.
    pub two_names: bool,
    /// The mirror knows many ranks already, so that sets of owners are large.
    pub crowded: bool,
}

/// An engine that does everything right.
pub const GOOD: Manners =
    Manners { salted: false, unordered: false, lossy: false, two_names: false, crowded: false };

/// One step of a stream, in small numbers that pick among what is possible.
#[derive(Clone, Debug)]
pub struct Step {
    worker: u64,
    dp_rank: u32,
    act: u8,
    pick: usize,
    tokens: Vec<u8>,
    lost: bool,
    idle: u8,
}

pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0..3_u64,
        0..2_u32,
        0..32_u8,
        0..64_usize,
        prop::collection::vec(0..3_u8, 0..6),
        0..8_u8,
        0..6_u8,
    )
        .prop_map(|(worker, dp_rank, act, pick, tokens, lost, idle)| Step {
            worker: worker + 1,
            dp_rank,
            act,
            pick,
            tokens,
            lost: lost == 0,
            idle,
        });
    prop::collection::vec(step, 1..most)
}

type Path = Vec<u8>;

/// Returns the chained hash of `path`.
pub fn chain(salt: u64, path: &[u8]) -> SequenceHash {
    let mut hash = 0xCBF2_9CE4_8422_2325 ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for token in path {
        hash = (hash ^ (u64::from(*token) + 1)).wrapping_mul(0x0100_0000_01B3).rotate_left(23);
    }
    SequenceHash(hash)
}

fn tokens_of(path: &[u8]) -> Vec<TokensHash> {
    path.iter().map(|token| TokensHash(u64::from(*token) + 1)).collect()
}

#[derive(Clone, Debug)]
enum Event {
    Stored { parent: Option<Path>, from: usize, path: Path },
    Removed { paths: Vec<Path> },
    Cleared,
    WorkerRemoved,
}

/// What every rank really has.
#[derive(Default)]
struct Engines {
    held: BTreeMap<(u64, u32), BTreeSet<Path>>,
}

impl Engines {
    /// Turns a step into an event, and lets the engine do it.
    fn act(&mut self, step: &Step, manners: Manners, clears: ClearScope) -> Event {
        let held = self.held.entry((step.worker, step.dp_rank)).or_default();
        let known: Vec<Path> = held.iter().cloned().collect();
        let picked = (!known.is_empty()).then(|| known[step.pick % known.len()].clone());
        match step.act {
            0..16 => {
                let parent = if step.pick % 5 == 0 { None } else { picked };
                let mut path = parent.clone().unwrap_or_default();
                let from = path.len();
                path.extend(step.tokens.iter().copied());
                for end in from + 1..=path.len() {
                    held.insert(path[..end].to_vec());
                }
                Event::Stored { parent, from, path }
            }
            16 => Event::Stored { parent: Some(vec![9, 9]), from: 2, path: vec![9, 9] },
            17..28 => Event::Removed { paths: evict(held, step, manners) },
            28 => Event::Removed { paths: vec![vec![8, 8], step.tokens.clone()] },
            29 => {
                self.forget(step.worker, (clears == ClearScope::Rank).then_some(step.dp_rank));
                Event::Cleared
            }
            30 => {
                self.forget(step.worker, None);
                Event::WorkerRemoved
            }
            _ => Event::Removed { paths: Vec::new() },
        }
    }

    fn forget(&mut self, worker: u64, dp_rank: Option<u32>) {
        for ((own, rank), held) in &mut self.held {
            if *own == worker && dp_rank.is_none_or(|dp_rank| dp_rank == *rank) {
                held.clear();
            }
        }
    }
}

/// Evicts some blocks: leaves first, unless the engine has no manners.
fn evict(held: &mut BTreeSet<Path>, step: &Step, manners: Manners) -> Vec<Path> {
    let mut gone = Vec::new();
    for turn in 0..=step.tokens.len() {
        let can_go = |path: &&Path| {
            manners.unordered
                || !held.iter().any(|other| other.len() > path.len() && other.starts_with(path))
        };
        let candidates: Vec<Path> = held.iter().filter(can_go).cloned().collect();
        if candidates.is_empty() {
            break;
        }
        let path = candidates[(step.pick + turn * 7) % candidates.len()].clone();
        held.remove(&path);
        gone.push(path);
    }
    gone
}

fn verdict(outcome: &Outcome) -> Verdict {
    match outcome.refusal {
        Some(Refusal::SelfReference) => Verdict::Invalid,
        Some(_) => Verdict::ParentMissing,
        None if outcome.unknown_removals > 0 => Verdict::BlockMissing,
        None => Verdict::Taken,
    }
}

/// Runs a stream through the mirror and its peer, and compares them after every event.
pub fn compare<P: Peer>(steps: &[Step], manners: Manners) -> Result<(), TestCaseError> {
    let mut engines = Engines::default();
    let mut peer = P::new();
    let mut mirror = Mirror::new(P::SEMANTICS, usize::MAX);
    if manners.crowded {
        let mut batch = KvBatch::default();
        for worker in 100..140 {
            batch.stored(&KvHead::new(WorkerId(worker), DpRank(0)), None, &[]);
        }
        mirror.apply(&batch, 0, &mut Vec::new());
    }
    let mut seen = BTreeSet::new();
    for (at, step) in steps.iter().enumerate() {
        let event = engines.act(step, manners, P::CLEARS);
        if manners.lossy && step.lost && !matches!(event, Event::WorkerRemoved) {
            continue;
        }
        if let Event::Stored { path, .. } = &event {
            seen.insert(path.clone());
        }
        let rank = WorkerRank::new(step.worker, step.dp_rank);
        let adapter = u64::from(manners.two_names && step.pick % 3 == 0) << 8;
        let salt = adapter + if manners.salted { step.worker } else { 0 };
        let (ours, theirs) = apply::<P>(&mut mirror, &mut peer, rank, salt, &event);
        mirror.advance(usize::from(step.idle) * 3);
        prop_assert_eq!(ours, theirs, "verdict on event {} {:?} of {}", at, event, rank);
        let size = mirror.totals().accepted as usize;
        prop_assert_eq!(size, peer.size(), "size after {} {:?} of {}", at, event, rank);
        for path in &seen {
            let tokens = tokens_of(path);
            let ours: BTreeMap<_, _> = mirror.overlap(&tokens).into_iter().collect();
            let theirs = peer.scores(&tokens);
            prop_assert_eq!(
                ours,
                theirs,
                "scores of {:?} after {} {:?} of {}",
                path,
                at,
                event,
                rank
            );
        }
    }
    Ok(())
}

fn apply<P: Peer>(
    mirror: &mut Mirror,
    peer: &mut P,
    rank: WorkerRank,
    salt: u64,
    event: &Event,
) -> (Verdict, Verdict) {
    let head = KvHead::new(rank.worker, DpRank(rank.dp_rank.0));
    let mut batch = KvBatch::default();
    let theirs = match event {
        Event::Stored { parent, from, path } => {
            let parent = parent.as_ref().map(|parent| chain(salt, parent));
            let tokens = tokens_of(path);
            let blocks: Vec<Block> = (*from..path.len())
                .map(|at| Block { sequence: chain(salt, &path[..=at]), tokens: tokens[at] })
                .collect();
            batch.stored(&head, parent, &blocks);
            peer.stored(rank, parent.map(|parent| parent.0), &blocks)
        }
        Event::Removed { paths } => {
            let hashes: Vec<SequenceHash> = paths.iter().map(|path| chain(salt, path)).collect();
            batch.remove(&head, &hashes);
            peer.removed(rank, &hashes)
        }
        Event::Cleared => {
            batch.cleared(&head, P::CLEARS);
            peer.cleared(rank);
            Verdict::Taken
        }
        Event::WorkerRemoved => {
            mirror.remove_worker(rank.worker);
            peer.remove_worker(rank.worker);
            return (Verdict::Taken, Verdict::Taken);
        }
    };
    let mut outcomes = Vec::new();
    mirror.apply(&batch, 0, &mut outcomes);
    (outcomes.first().map_or(Verdict::Taken, verdict), theirs)
}

/// Runs the sequences that tell the versions apart (a chain a, b, c of one worker, and what is done to
/// it), and compares verdict, size and scores after every event.
pub fn golden<P: Peer>() -> Result<(), TestCaseError> {
    let (a, b, c, d) = (vec![0], vec![0, 1], vec![0, 1, 2], vec![0, 1, 2, 3]);
    let stored = |from: usize, path: &Path| Event::Stored {
        parent: (from > 0).then(|| path[..from].to_vec()),
        from,
        path: path.clone(),
    };
    let removed = |paths: &[&Path]| Event::Removed {
        paths: paths.iter().map(|path| (*path).clone()).collect(),
    };
    let nowhere = Event::Stored { parent: Some(vec![9]), from: 1, path: vec![9] };
    let sequences = [
        vec![removed(&[&b]), stored(3, &d), stored(1, &b), removed(&[&c]), removed(&[&c])],
        vec![removed(&[&b]), removed(&[&c])],
        vec![nowhere, stored(0, &Vec::new()), stored(1, &a)],
        vec![removed(&[&c]), removed(&[&b]), removed(&[&a])],
        vec![removed(&[&a, &b, &c]), stored(1, &b)],
        vec![removed(&[&c, &c]), stored(2, &c), stored(2, &c)],
    ];
    let rank = WorkerRank::new(7, 0);
    for sequence in sequences {
        let mut peer = P::new();
        let mut mirror = Mirror::new(P::SEMANTICS, usize::MAX);
        for event in std::iter::once(stored(0, &c)).chain(sequence) {
            let (ours, theirs) = apply::<P>(&mut mirror, &mut peer, rank, 0, &event);
            prop_assert_eq!(ours, theirs, "verdict on {:?}", event);
            prop_assert_eq!(
                mirror.totals().accepted as usize,
                peer.size(),
                "size after {:?}",
                event
            );
            let scores: BTreeMap<_, _> = mirror.overlap(&tokens_of(&d)).into_iter().collect();
            prop_assert_eq!(scores, peer.scores(&tokens_of(&d)), "scores after {:?}", event);
        }
    }
    Ok(())
}
