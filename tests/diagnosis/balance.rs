//! Imbalance: a roll is none, and one that lasts is named.

use std::time::Duration;

use kvtop::simulator::{Scenario, Simulation};
use kvtop::snapshot::CheckVerdict;

use super::{START, Watch, judged};

#[test]
fn a_roll_of_workers_is_neither_imbalance_nor_pressure() {
    for scenario in judged().filter(|one| one.fix_text().is_some()) {
        let mut simulation = Simulation::new(scenario, 2, START);
        let mut watch = Watch::new();
        let mut last = None;
        for seconds in (0..=520_u64).step_by(10) {
            let at = START.after(Duration::from_secs(seconds));
            if seconds == 40 {
                simulation.fix();
            }
            let snapshot = watch.look(&simulation.advance(at), at);
            // A cache that is too small is under pressure before it is rolled.
            let wrong = ["KVT010", "KVT011"].into_iter().filter(|_| seconds > 40);
            let wrong: Vec<&str> =
                wrong.filter(|id| scenario != Scenario::Churn || *id == "KVT011").collect();
            let mut raised = snapshot.findings.iter();
            let raised = raised.find(|finding| wrong.contains(&finding.id));
            let why = raised.map(|finding| finding.summary.as_str());
            assert_eq!(why, None, "{}, {seconds} s", scenario.name());
            last = snapshot.checks.into_iter().find(|check| check.id == "KVT011");
        }
        let verdict = last.unwrap().verdict;
        assert!(matches!(verdict, CheckVerdict::Clear), "{verdict:?}");
    }
}
