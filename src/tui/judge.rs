//! The state of a worker in one of four words, from its row and from findings that name it.
//!
//! It is what the table's first column says. Findings themselves come from elsewhere.

mod named;

use crate::domain::SourceState;
use crate::snapshot::{BlockSizes, Knowledge, SourceRow, WorkerRow};

pub use named::Named;

use super::theme::{Glyphs, Role};

/// Share of orphans that is worth a look.
const ORPHANS_WARN: f64 = 0.05;
/// Share of orphans that means that routing does not work.
const ORPHANS_FAIL: f64 = 0.20;
/// Share of KV blocks in use that is worth a look.
pub const KV_WARN: f64 = 0.90;
/// Share of KV blocks in use at which the engine evicts what it is about to need.
pub const KV_FAIL: f64 = 0.98;
/// Stores before their shape proves anything.
const ENOUGH_STORES: u64 = 10;

/// How something is doing. Ordered from the best to the worst that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// No longer there.
    Gone,
    /// Proven good.
    Ok,
    /// Not known; never green.
    Unknown,
    /// Worth a look.
    Warn,
    /// Broken.
    Fail,
}

impl State {
    /// Returns its mark.
    pub const fn glyph(self, glyphs: &Glyphs) -> &'static str {
        match self {
            Self::Gone => glyphs.gone,
            Self::Ok => glyphs.ok,
            Self::Unknown => glyphs.unknown,
            Self::Warn => glyphs.warn,
            Self::Fail => glyphs.fail,
        }
    }

    /// Returns its role.
    pub const fn role(self) -> Role {
        match self {
            Self::Gone => Role::Muted,
            Self::Ok => Role::Ok,
            Self::Unknown => Role::Unknown,
            Self::Warn => Role::Warn,
            Self::Fail => Role::Crit,
        }
    }
}

/// A state with the word that explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The state.
    pub state: State,
    /// Why, in a word or two.
    pub word: &'static str,
}

const fn verdict(state: State, word: &'static str) -> Verdict {
    Verdict { state, word }
}

/// Returns how a worker is doing. What a late attach explains is never a fault.
pub fn worker(row: &WorkerRow) -> Verdict {
    let counters = &row.counters;
    let orphans = orphans(row);
    let used = row.kv_lately;
    if row.gone {
        verdict(State::Gone, "gone")
    } else if disagree(&row.block_size) {
        verdict(State::Fail, "sizes differ")
    } else if counters.stores >= ENOUGH_STORES && counters.empty_stores >= counters.stores / 2 {
        verdict(State::Fail, "empty stores")
    } else if row.reading {
        verdict(State::Unknown, "reading history")
    } else if orphans == State::Fail {
        verdict(State::Fail, "orphans")
    } else if orphans == State::Warn {
        verdict(State::Warn, "orphans")
    } else if used.is_some_and(|used| used >= KV_FAIL) {
        // A full cache is what a busy engine has: no finding calls it critical.
        verdict(State::Warn, "KV full")
    } else if used.is_some_and(|used| used >= KV_WARN) {
        verdict(State::Warn, "KV high")
    } else if row.router_refuses && row.router_refused >= ENOUGH_STORES {
        // Its router's index and the mirror differ: what the mirror says of it is not what routes.
        verdict(State::Warn, "refused")
    } else if counters.empty_stores >= ENOUGH_STORES {
        verdict(State::Warn, "empty stores")
    } else if row.last_event.is_none() {
        verdict(State::Unknown, "no events")
    } else if row.knowledge == Knowledge::SinceAttach {
        verdict(State::Unknown, "warming")
    } else {
        verdict(State::Ok, "ok")
    }
}

/// Returns what the orphans of a worker prove: nothing until its earlier blocks are known.
pub fn orphans(row: &WorkerRow) -> State {
    match (row.knowledge, row.orphan_share) {
        _ if row.gone => State::Unknown,
        (Knowledge::SinceAttach, _) | (Knowledge::Complete, None) => State::Unknown,
        (Knowledge::Complete, Some(share)) => share_state(share),
    }
}

/// Returns what a share of orphans means where it means something.
pub fn share_state(share: f64) -> State {
    if share >= ORPHANS_FAIL {
        State::Fail
    } else if share >= ORPHANS_WARN {
        State::Warn
    } else {
        State::Ok
    }
}

/// Returns the different block sizes claimed for a worker, its own first.
pub fn sizes(claims: &BlockSizes) -> Vec<u32> {
    let mut sizes = Vec::new();
    let all = [claims.proven, claims.publisher, claims.engine, claims.card, claims.router];
    for size in all.into_iter().flatten() {
        if !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    sizes
}

/// Returns true when two parts claim different block sizes.
pub fn disagree(claims: &BlockSizes) -> bool {
    sizes(claims).len() > 1
}

/// Returns true when Kubernetes complains of more than resources that are not installed: those that
/// deployments without the operator never have.
fn lacks(why: &str) -> bool {
    why.split("; ")
        .any(|part| !part.is_empty() && !part.ends_with("is not installed in this cluster"))
}

/// Returns how a source is doing.
pub fn source(row: &SourceRow) -> Verdict {
    let lost = row.gaps > 0 || row.dropped > 0 || row.drops_uncounted;
    match row.state {
        SourceState::Connecting => verdict(State::Unknown, "connecting"),
        SourceState::Live if lost => verdict(State::Warn, "live"),
        // It answers, and is asked for more than it may say, or has.
        SourceState::Live if row.name == "kubernetes" && lacks(&row.why) => {
            verdict(State::Warn, "limited")
        }
        SourceState::Live => verdict(State::Ok, "live"),
        SourceState::Lossy => verdict(State::Warn, "lossy"),
        SourceState::Down => verdict(State::Fail, "down"),
        SourceState::Suspended => verdict(State::Unknown, "paused"),
        SourceState::Ended => verdict(State::Unknown, "ended"),
    }
}
