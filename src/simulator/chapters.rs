//! The steps of a scenario: changes that a presenter makes to it, one after the other.

use std::time::Duration;

use super::Simulation;
use super::config::{RouterMode, Scenario};

/// The steps of the `gtc-demo` scenario.
const GTC_DEMO: [&str; 5] = [
    "Write tokens_per_block: 32, the size that the workers publish, into {flag::OVERRIDE_ENGINE_ARGS}; then \
     restart the workers one by one.",
    "Restart the router without its history of KV events, as an empty stream does.",
    "Restart the workers one by one, so that their caches and the router's index are rebuilt together.",
    "Set {variable::ROUTER_MODE}=round-robin on the frontend and restart the workers, for comparison.",
    "Set {variable::ROUTER_MODE}=kv again and restart the workers.",
];

/// A step in a few words.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The label behind the key that takes it.
    pub does: &'static str,
    /// The report once it is taken.
    pub done: &'static str,
}

/// The steps of the `gtc-demo` scenario in a few words. The first is that of all scenarios.
const GTC_DEMO_WORDS: [Step; 5] = [
    Step { does: "applies the fix", done: "fix applied" },
    Step { does: "loses the router's history", done: "router history lost" },
    Step { does: "restarts the workers", done: "workers restarted" },
    Step { does: "switches to round-robin", done: "round-robin, workers restarted" },
    Step { does: "switches back to kv", done: "kv again, workers restarted" },
];

/// The pace of restarts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The time until the first one is deleted.
    pub(super) before: Duration,
    /// The time from one to the next.
    pub(super) between: Duration,
}

impl Pace {
    /// One after the other, without a pause.
    pub(super) const STEADY: Self =
        Self { before: Duration::from_millis(500), between: Duration::from_secs(6) };
    /// So slow that a written setting, and each restart, can be watched.
    const SHOWN: Self = Self { before: Duration::from_secs(8), between: Duration::from_secs(10) };
}

impl Scenario {
    /// Returns what can be done, step by step, as the operator would say it; nothing where nothing is
    /// broken. Dynamo's names are placeholders (see [`crate::dynamo::fill`]).
    pub const fn steps(self) -> &'static [&'static str] {
        match self {
            Self::GtcDemo => &GTC_DEMO,
            Self::Fleet8 => &[GTC_DEMO[0]],
            Self::Fleet16 => &["Set {variable::ROUTER_MODE}=kv on the frontend and restart it."],
            Self::Mismatch => {
                &["Restart the workers one by one with tokens_per_block: 32, the size they \
                                 publish ({flag::KV_BLOCK_SIZE} 32)."]
            }
            Self::Healthy => &[],
            Self::RouterMismatch => {
                &["Start the workers anew with {flag::KV_BLOCK_SIZE} 32, the size of the \
                                       engine, so that their model cards say so."]
            }
            Self::NoHistory => {
                &["Restart the workers one by one, so that their caches and the router's \
                                  index start again together."]
            }
            Self::Churn => &["Restart the workers one by one with eight times the KV memory."],
            Self::Silent => &["Restart the silent worker with {flag::PUBLISH_EVENTS_AND_METRICS}."],
        }
    }

    /// Returns the step after `taken` others, in a few words; none after the last.
    pub fn step(self, taken: usize) -> Option<Step> {
        self.steps().get(taken)?;
        GTC_DEMO_WORDS.get(taken).copied()
    }

    /// Returns the name of the finding that its first step ends; empty where nothing is broken.
    pub fn mends(self) -> &'static str {
        match self {
            Self::GtcDemo | Self::Fleet8 | Self::Mismatch | Self::RouterMismatch => {
                "block-size-mismatch"
            }
            Self::Fleet16 => "router-not-kv",
            Self::Healthy => "",
            Self::NoHistory => "router-without-history",
            Self::Churn => "cache-churn",
            Self::Silent => "worker-silent",
        }
    }

    /// Returns the first of its steps, which repairs what is wrong; none where nothing is broken.
    pub fn fix_text(self) -> Option<&'static str> {
        self.steps().first().copied()
    }
}

impl Simulation {
    /// Takes the next step of the scenario, from the current time on: the first repairs what is wrong.
    /// Returns false when there is none left, or nothing to repair.
    pub fn fix(&mut self) -> bool {
        if self.steps_taken >= self.config.scenario.steps().len().max(1) {
            return false;
        }
        let step = self.steps_taken;
        if self.config.scenario == Scenario::Fleet16 {
            self.switch_mode(RouterMode::Kv);
        } else if self.config.scenario == Scenario::GtcDemo && step > 0 {
            match step {
                1 => self.lose_router_history(),
                2 => self.restart_workers(),
                3 => self.compare(RouterMode::RoundRobin),
                _ => self.compare(RouterMode::Kv),
            }
        } else {
            let wrong = self.wrong_workers();
            if wrong.is_empty() {
                return false;
            }
            self.deploy(&self.config.repaired.clone());
            let shown = matches!(self.config.scenario, Scenario::GtcDemo | Scenario::Fleet8);
            self.roll(self.now, &wrong, if shown { Pace::SHOWN } else { Pace::STEADY });
        }
        self.steps_taken += 1;
        true
    }

    /// Switches the router mode and restarts the workers, so that both modes begin with empty caches.
    fn compare(&mut self, mode: RouterMode) {
        self.switch_mode(mode);
        self.restart_workers();
    }
}
