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

use crate::domain::{Component, Role};

/// A part of the deployment that a fix changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The frontend, with the router inside it.
    Frontend,
    /// A router in a process of its own.
    Router,
    /// The workers.
    Workers,
    /// The workers whose manifest gives the setting another value, or else those that have none.
    OddWorkers,
    /// These components.
    These(Vec<Arc<str>>),
}

impl Part {
    /// Returns true when pods of `component` belong to it.
    fn has(&self, component: &Component) -> bool {
        let role = component.role;
        match self {
            Self::Frontend => matches!(role, Role::Frontend),
            Self::Router => matches!(role, Role::StandaloneRouter | Role::GatewayPlugin),
            Self::Workers | Self::OddWorkers => role.is_worker(),
            Self::These(names) => names.contains(&component.name),
        }
    }
}

/// What a fix does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Gives a setting a value: by the flag, where the manifest gives one, since flags win; else by the
    /// variable; else by the first of the flags.
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
    /// Adds a flag that takes no value, or takes such flags away.
    Switch {
        /// On which part.
        on: Part,
        /// Flags of the same meaning.
        flags: &'static [&'static str],
        /// Whether one of them is to be there.
        present: bool,
    },
    /// Gives a setting of TensorRT-LLM a value, wherever its configuration is: in a file of a `ConfigMap`,
    /// or in the JSON of `--override-engine-args`, which wins.
    Engine {
        /// On which part.
        on: Part,
        /// The setting: two names, parted by a dot.
        path: &'static str,
        /// The value, a number.
        value: String,
    },
    /// Replaces pods by fresh ones, one after the other.
    Roll {
        /// The pods, in that order.
        pods: Vec<Arc<str>>,
    },
}

impl Change {
    /// Returns the change that gives engines blocks of so many tokens.
    pub fn engine_size(on: Part, tokens: u32) -> Self {
        Self::Engine { on, path: plan::ENGINE_SIZE, value: tokens.to_string() }
    }
}

/// How the pods of what was changed are replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// One after the other.
    #[default]
    Rolling,
    /// All at once, because old and new ones must not run beside each other.
    Together {
        /// True when the frontends restart as well.
        frontends: bool,
    },
}

/// The fix of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fix {
    /// The advice, in one sentence.
    pub sentence: String,
    /// The same for a machine, where there is such a form.
    pub changes: Vec<Change>,
    /// How pods are replaced afterwards.
    pub restart: Restart,
    /// What restarts because of it.
    pub restarts: String,
}
