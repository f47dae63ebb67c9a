//! Allocations of the engine for each event, in the steady state.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kvtop::domain::{Block, SequenceHash, Tier, Timestamp, TokensHash, WorkerRank};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Frame, Origin};
use kvtop::wire::encode::{self, Change, Family, RouterEvent};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WORKERS: u64 = 128;
const RATE: u64 = 50_000;
const BLOCKS: u64 = 12;
/// Stores of a worker before the oldest of its blocks goes.
const KEPT: u64 = 100;
const JETSTREAM: &str = "namespace-dynamo-component-backend-kv-events.kv-events";
const SUBJECT: &str = "namespace.dynamo.component.backend.endpoint.generate.kv-events";

fn hash(of: u64) -> u64 {
    let mixed = (of + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Returns event number `number` of a deployment whose workers store a prompt and remove their oldest, in turn.
fn body(number: u64, family: Family) -> Vec<u8> {
    let (worker, step) = (number % WORKERS, number / WORKERS);
    let prompt = |of: u64| (0..BLOCKS).map(move |at| hash((of * WORKERS + worker) * 64 + at));
    let stored: Vec<Block> = prompt(step / 2)
        .map(|hash| Block { sequence: SequenceHash(hash), tokens: TokensHash(hash ^ 7) })
        .collect();
    let gone: Vec<SequenceHash> =
        prompt((step / 2).saturating_sub(KEPT)).map(SequenceHash).collect();
    let change = if step % 2 == 0 || step / 2 < KEPT {
        Change::Stored { parent: None, blocks: &stored }
    } else {
        Change::Removed(&gone)
    };
    let rank = WorkerRank::new(1_000_000 + worker, 0);
    let event = RouterEvent { rank, tier: Tier::Device, event_id: step + 1, change };
    match family {
        Family::V0_9 => event.json(family).into_bytes(),
        _ => {
            let payload = event.payload(family);
            encode::envelope(rank.worker.0, step + 1, 1_771_252_733_000, "kv-events", &payload)
        }
    }
}

/// Returns the allocations for each event of the last of some seconds.
fn allocations(family: Family, subject: &str) -> f64 {
    let mut engine = Engine::new(EngineOptions::default());
    let subject: Arc<str> = subject.into();
    let mut last = 0.0;
    for second in 0..4 {
        let frame = |number| {
            let at = Timestamp(1_771_252_733_000_000 + number * 1_000_000 / RATE);
            let subject = Arc::clone(&subject);
            let origin = Origin::Nats { subject, reply: None, headers: Vec::new() };
            Frame::new(at, origin, body(number, family))
        };
        let frames: Vec<Frame> = (second * RATE..(second + 1) * RATE).map(frame).collect();
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for lot in frames.chunks(600) {
            engine.ingest(lot);
        }
        last = (ALLOCATIONS.load(Ordering::Relaxed) - before) as f64 / RATE as f64;
    }
    last
}

/// Allocations for each event that may not be exceeded: the goal of docs/PERFORMANCE.md.
const GOAL: f64 = 0.1;

#[test]
fn an_event_takes_less_than_a_tenth_of_an_allocation() {
    let packed = allocations(Family::V1_6, SUBJECT);
    let json = allocations(Family::V0_9, JETSTREAM);
    println!("allocations an event: JSON {json:.2}, MessagePack {packed:.2}");
    assert!(packed <= GOAL && json <= GOAL, "{packed} with MessagePack, {json} with JSON");
}
