//! Verdicts: on every capture and half of one, on healthy simulations, and on simulated faults.

mod alarms;
mod apart;
mod balance;
mod behaviour;
mod captures;
mod claims;
mod commands;
mod detection;
mod ended;
mod fixes;
pub(crate) mod gate;
mod late;
mod losses;
mod met;
mod mismatch;
mod moments;
mod near;
mod overload;
mod registration;
pub(crate) mod rules;
mod saved_logs;
mod scenarios;
mod settings;
mod sizes;
mod stories;

use std::time::Duration;

use kvtop::domain::{Severity, Timestamp};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::Frame;
use kvtop::simulator::Scenario;
use kvtop::snapshot::{Ask, FindingRow, Snapshot, ViewQuery};

/// Returns the scenarios that are watched for long: the fleets are the measured deployment again, several times as
/// slow.
fn judged() -> impl Iterator<Item = Scenario> {
    let is_fleet = |one: &Scenario| matches!(one, Scenario::Fleet8 | Scenario::Fleet16);
    Scenario::ALL.into_iter().filter(move |one| !is_fleet(one))
}

/// 2026-02-16T14:38:53Z.
pub(crate) const START: Timestamp = Timestamp(1_771_252_733_000_000);

/// Looks at as little as a snapshot can hold; rules see everything all the same.
pub(crate) const QUERY: ViewQuery = ViewQuery {
    until: None,
    compare: None,
    window: Duration::from_secs(60),
    points: 1,
    events: 0,
    decisions: 0,
    prefixes: false,
    foresight: 0,
    ask: Ask::Nothing,
};

/// An engine that is fed frames as time passes, and looked at.
pub(crate) struct Watch {
    engine: Engine,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { engine: Engine::new(EngineOptions::default()) }
    }

    /// Takes in frames and returns the picture at `at`.
    pub(crate) fn look(&mut self, frames: &[Frame], at: Timestamp) -> Snapshot {
        self.engine.ingest(frames);
        self.engine.advance(at);
        self.engine.snapshot(&QUERY, at)
    }
}

/// Returns what is wrong now, notes left out.
pub(crate) fn wrong(snapshot: &Snapshot) -> Vec<&FindingRow> {
    let open = snapshot.findings.iter().filter(|finding| finding.resolved.is_none());
    open.filter(|finding| finding.severity > Severity::Info).collect()
}

/// Returns the critical findings.
pub(crate) fn critical(snapshot: &Snapshot) -> Vec<&'static str> {
    let found = wrong(snapshot).into_iter();
    found
        .filter(|finding| finding.severity == Severity::Critical)
        .map(|finding| finding.id)
        .collect()
}

/// Random numbers that are the same on every run (splitmix64).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = usize::try_from(self.below(from.len() as u64)).unwrap();
        from[index]
    }
}
