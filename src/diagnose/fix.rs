//! Fixes: typed, and rendered to a sentence, lines of a manifest and a command. Printed and copied, never
//! applied.

mod patch;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::Arc;

use crate::domain::{Component, Graph, Role};

/// A part of the deployment that a fix changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The frontend, with the router inside it.
    Frontend,
    /// A router in a process of its own.
    Router,
    /// The workers.
    Workers,
    /// The workers whose manifest gives the setting another value, or else those that have none.
    OddWorkers,
}

impl Part {
    /// Returns true when pods of `role` belong to it.
    const fn has(self, role: Role) -> bool {
        match self {
            Self::Frontend => matches!(role, Role::Frontend),
            Self::Router => matches!(role, Role::StandaloneRouter | Role::GatewayPlugin),
            Self::Workers | Self::OddWorkers => role.is_worker(),
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
        /// A key with a number as its value, where the flag's value is JSON that holds it.
        inside: Option<&'static str>,
        /// The value.
        value: String,
    },
    /// Changes a file in a `ConfigMap`.
    Config {
        /// The `ConfigMap`.
        config_map: Arc<str>,
        /// Its key.
        key: Arc<str>,
        /// The lines that must be in it.
        lines: Vec<String>,
    },
    /// Replaces pods by fresh ones, one after the other.
    Roll {
        /// The pods, in that order.
        pods: Vec<Arc<str>>,
    },
}

/// What mends a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fix {
    /// What to do, in one sentence.
    pub sentence: String,
    /// The same for a machine, where there is such a form.
    pub change: Option<Change>,
    /// What restarts because of it.
    pub restarts: String,
}

/// What a fix is applied to, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target<'a> {
    /// The namespace in Kubernetes.
    pub namespace: Option<&'a str>,
    /// The graph deployment.
    pub graph: Option<&'a Graph>,
    /// The name of the graph deployment, when the user had to choose one of several.
    pub chosen: Option<&'a str>,
}

/// A fix in the forms in which it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// What to do, in one sentence.
    pub sentence: String,
    /// Lines for the manifest, when what to change is known.
    pub yaml: Option<String>,
    /// A command, when what to change is known.
    pub kubectl: Option<String>,
    /// What restarts because of it.
    pub restarts: String,
    /// How to see that it worked.
    pub verify: String,
}

impl Fix {
    /// Returns the fix as it is shown for `target`.
    pub fn render(&self, target: Target<'_>) -> Rendered {
        let scope = target.namespace.map_or(String::new(), |it| format!(" -n {}", shell(it)));
        let chosen = target.chosen.map_or(String::new(), |it| format!(" --dgd {}", shell(it)));
        // Of a recording, or a server that was named, it is not known how to reach it.
        let with = if scope.is_empty() { ", with the flags that name the deployment" } else { "" };
        let mut rendered = Rendered {
            sentence: self.sentence.clone(),
            restarts: self.restarts.clone(),
            verify: format!("kvtop check{scope}{chosen} --wait 2m{with}"),
            ..Rendered::default()
        };
        match (&self.change, target.graph) {
            (Some(Change::Roll { pods }), _) => {
                rendered.kubectl = target.namespace.and_then(|namespace| roll(namespace, pods));
            }
            (Some(Change::Set { on, flags, inside, value, .. }), Some(graph)) => {
                // Who has the value needs no restart.
                let done = |known: &Component| {
                    inside.is_none() && patch::value_of(known, flags) == Some(value)
                };
                let components = graph.components.iter();
                let mut components: Vec<&Component> =
                    components.filter(|known| on.has(known.role) && !done(known)).collect();
                let given = |known: &&Component| patch::value_of(known, flags).is_some();
                if *on == Part::OddWorkers && components.iter().any(given) {
                    components.retain(given);
                }
                if let Some(patch) = patch::of(self.change.as_ref(), graph, &components) {
                    rendered.yaml = Some(patch.yaml);
                    rendered.kubectl = Some(patch.kubectl);
                    for component in components {
                        rendered.restarts.push_str(&pods_of(component));
                    }
                }
            }
            (Some(Change::Config { config_map, key, lines }), _) => {
                let head =
                    format!("# ConfigMap {config_map}, key {key}; keep what else is in it.\n");
                rendered.yaml = Some(format!("{head}{}\n", lines.join("\n")));
                rendered.kubectl = target.namespace.map(|namespace| {
                    let (namespace, name) = (shell(namespace), shell(config_map));
                    format!("kubectl -n {namespace} edit configmap {name}  # then roll the workers")
                });
            }
            (Some(Change::Set { .. }), None) | (None, _) => {}
        }
        rendered
    }
}

/// Returns the pods that a change of `component` replaces.
fn pods_of(component: &Component) -> String {
    let mut text = format!("; {}: ", component.name);
    let written = match component.replicas {
        Some(1) => write!(text, "1 pod"),
        Some(count) => write!(text, "{count} pods"),
        None => write!(text, "its pods"),
    };
    // Writing to a string cannot fail.
    debug_assert!(written.is_ok());
    match (component.role.is_worker(), component.replicas) {
        (true, Some(1)) => text.push_str(", which loads its model again"),
        (true, _) => text.push_str(", each of which loads its model again"),
        (false, _) => text.push_str(", no model to load"),
    }
    text
}

fn roll(namespace: &str, pods: &[Arc<str>]) -> Option<String> {
    let (first, rest) = pods.split_first()?;
    let mut text = format!("kubectl -n {} delete pod {}", shell(namespace), shell(first));
    if !rest.is_empty() {
        let rest: Vec<String> = rest.iter().map(|pod| shell(pod)).collect();
        text.push_str("  # when its successor is ready, the next: ");
        text.push_str(&rest.join(", "));
    }
    Some(text)
}

/// Returns `text` as one word of a shell: names come from outside, and the command is meant to be pasted.
fn shell(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
