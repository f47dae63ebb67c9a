//! The planner as the screen shows it: how far it is, its answers, or the reason why there are none.

use std::sync::Arc;

use crate::domain::Timestamp;
use crate::plan::{Impossible, Plan};

/// The last plan that was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planning {
    /// The moment that it is about.
    pub at: Timestamp,
    /// How far it is.
    pub stage: Stage,
    /// The answers so far; none before the simulations begin.
    pub plan: Option<Arc<Plan>>,
}

/// How far a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// None was asked for.
    #[default]
    Idle,
    /// Service times are fitted.
    Fitting,
    /// Simulations run.
    Simulating {
        /// Those with a result.
        done: usize,
        /// All of them.
        of: usize,
    },
    /// All questions are answered.
    Done,
    /// The user stopped it.
    Stopped,
    /// No plan can be made.
    Impossible(Impossible),
    /// It ended without a result.
    Failed,
}

impl Planning {
    /// Returns true while it is computed.
    pub const fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Fitting | Stage::Simulating { .. })
    }
}
