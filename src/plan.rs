//! The planner: answers "what would help?" with the simulator's service model, fitted to a deployment.
//!
//! Plain values without threads: [`fit`] turns a snapshot into a simulated deployment, [`Study`] lists the simulations
//! that answer the questions, and [`Plan`] holds their results as ranges. `run` spreads the simulations over threads.
//! Every number of it is a simulated estimate; inputs name their basis.

mod answer;
mod calibrate;
mod change;
mod fit;
mod inputs;
mod measure;
mod rescore;

pub use answer::{Cell, Check, Marked, Plan, Row, Study};
pub use calibrate::calibrate;
pub use change::{Change, Question, Questions};
pub use fit::{Fitted, Given, Impossible, Targets, fit};
pub use inputs::{Basis, Input};
pub use measure::{Ceiling, Job, Length, Outcome, Result};
pub use rescore::{LeftOut, Rescore, Rescored, rescore};

/// The least and the most seeds.
pub const SEEDS: (u64, u64) = (1, 32);
/// Most ranks that are simulated.
pub const RANKS: usize = 64;
/// Most conversations that are simulated.
pub const USERS: usize = 4_096;
/// Decisions that a picture should hold, from which lengths of prompts are fitted.
pub const DECISIONS: usize = 1_000;
