//! Imbalance: a roll is none, and one that lasts is named.

use std::time::Duration;

use kvtop::snapshot::CheckVerdict;
use kvtop::source::simulator::{Scenario, Simulation};

use super::{START, Watch};

#[test]
fn a_roll_of_workers_is_no_imbalance() {
    for scenario in Scenario::ALL.into_iter().filter(|one| one.fix_text().is_some()) {
        let mut simulation = Simulation::new(scenario, 2, START);
        let mut watch = Watch::new();
        let mut last = None;
        for seconds in (0..=420_u64).step_by(10) {
            let at = START.after(Duration::from_secs(seconds));
            if seconds == 40 {
                simulation.fix();
            }
            let snapshot = watch.look(&simulation.advance(at), at);
            let raised = snapshot.findings.iter().find(|finding| finding.id == "KVT011");
            let why = raised.map(|finding| finding.summary.as_str());
            assert_eq!(why, None, "{}, {seconds} s", scenario.name());
            last = snapshot.checks.into_iter().find(|check| check.id == "KVT011");
        }
        let verdict = last.unwrap().verdict;
        assert!(matches!(verdict, CheckVerdict::Clear), "{verdict:?}");
    }
}
