//! Fixes: typed, and rendered to a sentence, lines of a manifest and commands. Printed and copied, never
//! applied.

mod component;
mod objects;
mod patch;
mod plan;
mod render;
mod rollout;
mod shell;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

pub use objects::{FileState, Objects, PodState};
pub use plan::{Changed, Edit, Plan};
pub use render::Rendered;
pub use rollout::{Progress, SizesInUse};
pub use shell::ClusterChoice;

use super::phrase::Phrase;
use crate::domain::{Component, Role};

/// The part of the deployment that a fix changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The frontend, with the router inside it.
    Frontend,
    /// A router in a process of its own.
    Router,
    /// The workers.
    Workers,
    /// The workers whose manifest sets another value, or else those without the setting.
    OddWorkers,
    /// These components.
    These(Vec<Arc<str>>),
}

impl Part {
    /// Returns true when pods of `component` belong to this part.
    fn has(&self, component: &Component) -> bool {
        let role = component.role;
        match self {
            Self::Frontend => matches!(role, Role::Frontend),
            Self::Router => matches!(role, Role::StandaloneRouter | Role::GatewayPlugin),
            Self::Workers | Self::OddWorkers => role.has_kv_blocks(),
            Self::These(names) => names.contains(&component.name),
        }
    }
}

/// A single change of a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets a value: by the flag if the manifest has one, because flags win; else by the variable; else by the
    /// first of the flags.
    Set {
        /// On which part.
        on: Part,
        /// The variable.
        variable: Option<String>,
        /// Flags of the same meaning.
        flags: &'static [&'static str],
        /// The value.
        value: String,
    },
    /// Adds a flag without a value, or removes such flags.
    Switch {
        /// On which part.
        on: Part,
        /// Flags of the same meaning.
        flags: &'static [&'static str],
        /// True when one of them must be present.
        present: bool,
    },
    /// Sets a TensorRT-LLM setting in its configuration: in a file of a `ConfigMap`, or in the JSON of
    /// `--override-engine-args`, which wins.
    Engine {
        /// On which part.
        on: Part,
        /// The setting: two names separated by a dot.
        path: &'static str,
        /// The value, a number or a switch.
        value: String,
    },
    /// Restarts pods one at a time.
    Roll {
        /// The pods, in that order.
        pods: Vec<Arc<str>>,
    },
}

impl Change {
    /// Returns the change that sets the engines' block size.
    pub fn engine_size(on: Part, tokens: u32) -> Self {
        Self::Engine { on, path: plan::ENGINE_SIZE, value: tokens.to_string() }
    }

    /// Returns the change that makes the engines reuse prefixes.
    pub fn engine_reuse(on: Part) -> Self {
        Self::Engine { on, path: plan::ENGINE_REUSE, value: "true".to_owned() }
    }
}

/// The restarts of changed pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// One at a time.
    #[default]
    Rolling,
    /// All at once, because old and new pods must not run side by side.
    Together {
        /// True when the frontends restart as well.
        frontends: bool,
    },
}

/// The fix of a finding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fix {
    /// The advice, in one sentence.
    pub sentence: Phrase,
    /// The fix as machine-readable changes, where these are known.
    pub changes: Vec<Change>,
    /// The restarts that follow.
    pub restart: Restart,
    /// The restarts that the fix causes, as text.
    pub restarts: Phrase,
}
