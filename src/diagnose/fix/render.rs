//! Renders a fix as a sentence, manifest lines and commands.

use crate::dynamo::{label, variable};
use std::fmt::Write as _;
use std::sync::Arc;

use super::objects::Objects;
use super::patch::{Operation, config_map_command, graph_command};
use super::plan::{Changed, Edit, Plan};
use super::rollout::{Progress, SizesInUse};
use super::shell::{self, Kubectl};
use super::{Change, Fix, Restart};
use crate::domain::{Component, Role, RolloutStage};

/// The largest number of pods in a command.
const MOST_PODS: usize = 256;

/// The largest number of pods in a sentence.
const NAMED: usize = 4;

/// The pause between a change and the restart of its readers: the operator must pass the change on first.
const SETTLE: &str = "sleep 10";

/// A rendered fix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The advice, in one sentence.
    pub sentence: String,
    /// Manifest lines, if the changed objects are known.
    pub yaml: Option<String>,
    /// Commands, if the changed objects are known: each runs only after the one before it succeeded.
    pub kubectl: Option<String>,
    /// The restarts that the fix causes.
    pub restarts: String,
    /// The command that verifies the fix.
    pub verify: String,
    /// The progress of the rollout; none for a fix that is only a sentence.
    pub progress: Option<Progress>,
}

impl Fix {
    /// Renders the fix for a deployment whose engines use the block sizes `in_use`.
    /// One that is `over` asks for nothing more.
    pub fn render(&self, objects: &Objects, in_use: &SizesInUse, over: bool) -> Rendered {
        let namespace = objects.namespace.as_deref().filter(|name| shell::is_name(name));
        let scope = namespace.map_or(String::new(), |it| format!(" -n {it}"));
        let chosen = objects.chosen.as_deref().filter(|name| shell::is_name(name));
        let chosen = chosen.map_or(String::new(), |it| format!(" --dgd {it}"));
        // For a recording, or a given server, the options that reach the deployment are unknown.
        let cluster = objects.cluster.flags();
        let kubectl = namespace.and_then(|it| Kubectl::new(it, &objects.cluster));
        let kubectl = kubectl.as_ref();
        let with = if scope.is_empty() { " (add the options for your deployment)" } else { "" };
        let mut rendered = Rendered {
            sentence: self.sentence.to_string(),
            restarts: self.restarts.to_string(),
            verify: format!("kvtop check{cluster}{scope}{chosen} --wait 2m{with}"),
            ..Rendered::default()
        };
        if let Some(Change::Roll { pods }) = self.changes.first() {
            rendered.kubectl = kubectl.and_then(|it| one_by_one(it, objects, pods));
            return rendered;
        }
        let plan = objects.plan(&self.changes);
        if plan.edits.is_empty() {
            return rendered;
        }
        let progress = objects.progress(&plan, in_use);
        if plan.is_applied() {
            rendered.sentence = applied(&plan, &progress, self.restart, over);
            if progress.waiting.is_empty() {
                rendered.restarts.clear();
            }
            rendered.kubectl =
                kubectl.and_then(|it| self.restart_of(it, objects, &progress.waiting));
        } else if plan.complete {
            rendered.yaml = Some(lines(objects, &plan));
            rendered.kubectl = kubectl.and_then(|it| self.commands(it, objects, &plan));
            let open: Vec<&Arc<str>> = plan.open().flat_map(|edit| &edit.components).collect();
            let graph = objects.graph.iter().flat_map(|graph| &graph.components);
            for component in graph.filter(|component| open.contains(&&component.name)) {
                rendered.restarts.push_str(&pods_of(component));
            }
        }
        rendered.progress = Some(progress);
        rendered
    }

    /// Returns all commands: those that change the objects, then those that restart their readers.
    fn commands(&self, kubectl: &Kubectl, objects: &Objects, plan: &Plan) -> Option<String> {
        let mut commands = patches(kubectl, objects, plan)?;
        let together = matches!(self.restart, Restart::Together { .. });
        // The operator restarts pods after a change of the graph deployment, but not after a ConfigMap change.
        let file = |edit: &&Edit| together || matches!(edit.object, Changed::ConfigMap { .. });
        let read: Vec<&Edit> = plan.open().filter(file).collect();
        let concerned =
            objects.pods.iter().filter(|pod| read.iter().any(|edit| edit.concerns(pod)));
        let pods: Vec<Arc<str>> = concerned.map(|pod| Arc::clone(&pod.name)).collect();
        if !pods.is_empty() {
            commands.push(SETTLE.to_owned());
            commands.push(self.restart_of(kubectl, objects, &pods)?);
        }
        Some(commands.join(" &&\n"))
    }

    /// Returns the commands that restart `pods` in the way of this fix.
    fn restart_of(
        &self,
        kubectl: &Kubectl,
        objects: &Objects,
        pods: &[Arc<str>],
    ) -> Option<String> {
        let Restart::Together { frontends } = self.restart else {
            return one_by_one(kubectl, objects, pods);
        };
        let mut command = at_once(kubectl, pods)?;
        if frontends {
            let routers = objects.pods.iter().filter(|pod| pod.role == Role::Frontend);
            let routers: Vec<Arc<str>> = routers.map(|pod| Arc::clone(&pod.name)).collect();
            if let Some(routers) = at_once(kubectl, &routers) {
                write!(command, " &&\n{routers}").ok()?;
            }
        }
        Some(command)
    }
}

/// Returns the commands that change the objects.
fn patches(kubectl: &Kubectl, objects: &Objects, plan: &Plan) -> Option<Vec<String>> {
    let mut commands = Vec::new();
    let mut graph: Vec<Operation> = Vec::new();
    let mut maps: Vec<(&Arc<str>, Vec<Operation>)> = Vec::new();
    for edit in plan.open() {
        let operations = edit.step.operations.iter().cloned();
        match &edit.object {
            Changed::Graph { .. } => graph.extend(operations),
            Changed::ConfigMap { name, .. } => {
                match maps.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => known.extend(operations),
                    None => maps.push((name, operations.collect())),
                }
            }
        }
    }
    // ConfigMaps first: pods that restart because of the graph deployment then read the new files.
    for (name, operations) in maps {
        commands.push(config_map_command(kubectl, name, &operations)?);
    }
    if !graph.is_empty() {
        commands.push(graph_command(kubectl, objects.graph.as_ref()?, &graph)?);
    }
    Some(commands)
}

/// Returns the lines to paste into manifests.
fn lines(objects: &Objects, plan: &Plan) -> String {
    let mut text = String::new();
    let mut graph = false;
    for edit in plan.open() {
        let (place, says) = match &edit.object {
            Changed::Graph { place } => {
                if let Some(object) = objects.graph.as_ref().filter(|_| !graph) {
                    text.push_str(&head(object));
                }
                graph = true;
                (place.clone(), edit.step.says)
            }
            Changed::ConfigMap { name, key } => {
                (format!("ConfigMap {name}, key {key}"), edit.step.says)
            }
        };
        text.extend(["# ", &place, ": ", says, "\n", &edit.step.lines]);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

fn head(graph: &crate::domain::Graph) -> String {
    let version = graph.api.map_or("", |api| api.version());
    format!(
        "# DynamoGraphDeployment {} in namespace {} ({}/{version}). Paste into the manifest.\n# Do not apply as a \
         merge patch: it would replace whole lists.\n",
        graph.name,
        graph.namespace,
        label::GROUP
    )
}

/// Describes the changes in place, and the restarts that are still missing.
fn applied(plan: &Plan, progress: &Progress, restart: Restart, over: bool) -> String {
    let what: Vec<String> = plan.edits.iter().map(Edit::describe).collect();
    let since = progress.applied.map_or(String::new(), |at| format!(" since {}", at.time_of_day()));
    let mut text = format!("Already set{since}: {}.", what.join(", "));
    let (done, pods) = (progress.restarted.len(), progress.pods());
    if !progress.waiting.is_empty() {
        let (together, frontends) = match restart {
            Restart::Rolling => (false, false),
            Restart::Together { frontends } => (true, frontends),
        };
        let how = match progress.waiting.len() {
            1 => "Restart",
            _ if together => "Stop all of these before the first starts again:",
            _ => "Restart, one at a time:",
        };
        text = format!(
            "{text} {done} of {pods} pods run with it. {how} {}.",
            names(&progress.waiting)
        );
        if frontends {
            text.push_str(" Restart the frontend too, because its router keeps its block size.");
        }
        if progress.stage == RolloutStage::Applied && progress.applied.is_none() {
            text.push_str(
                " If these pods started after the change, look in their logs for what overrides the setting.",
            );
        }
    } else if progress.overridden {
        text.push_str(
            " Pods that started with this setting still use another value: look in their logs for what \
             overrides it.",
        );
    } else if progress.missing > 0 {
        text = format!("{text} {done} of {pods} pods run with it; the others are still to come.");
    } else if pods > 0 && over {
        text = format!("{text} {done} of {pods} pods run with it.");
    } else if pods > 0 {
        text = format!(
            "{text} {done} of {pods} pods run with it. If the finding stays for another minute, look in the \
             pods' logs for what overrides the setting."
        );
    }
    text
}

impl Edit {
    /// Describes the edit in a few words.
    pub fn describe(&self) -> String {
        let value = self.value.as_deref().unwrap_or_default();
        let setting = match (self.value.as_deref(), self.setting.starts_with('-')) {
            (None, _) => format!("{} removed", self.setting),
            (Some(""), _) => self.setting.clone(),
            (_, true) => format!("{} {value}", self.setting),
            (_, false) if self.setting.starts_with(variable::PREFIX) => {
                format!("{}={value}", self.setting)
            }
            (_, false) => format!("{}: {value}", self.setting),
        };
        let inside = self.inside.as_deref().map_or(String::new(), |flag| format!(" in {flag}"));
        match &self.object {
            Changed::Graph { .. } => format!("{setting}{inside} on {}", self.components.join(", ")),
            Changed::ConfigMap { name, key } => format!("{setting} in ConfigMap {name}, key {key}"),
        }
    }
}

impl Edit {
    /// Describes the place of the setting.
    pub fn place(&self) -> String {
        let components = self.components.join(", ");
        match (&self.object, &self.inside) {
            (Changed::ConfigMap { name, key }, _) => format!("ConfigMap {name}, key {key}"),
            (Changed::Graph { .. }, Some(flag)) => format!("{flag} of {components}"),
            (Changed::Graph { .. }, None) => components,
        }
    }

    /// Returns the edit as an instruction, without a capital and a period.
    pub fn instruction(&self) -> String {
        let (place, setting) = (self.place(), &self.setting);
        match (self.was.as_deref(), self.value.as_deref()) {
            (_, None) => format!("remove {setting} from {place}"),
            (_, Some("")) => format!("add {setting} to {place}"),
            (Some(was), Some(value)) if was != value => {
                format!("in {place}, change {setting} from {was} to {value}")
            }
            (_, Some(value)) => format!("in {place}, set {setting} to {value}"),
        }
    }
}

/// Describes the pods that restart after a change of `component`.
fn pods_of(component: &Component) -> String {
    let pods = match component.replicas {
        Some(1) => "1 pod".to_owned(),
        Some(count) => format!("{count} pods"),
        None => "its pods".to_owned(),
    };
    let load = match (component.role.is_worker(), component.replicas) {
        (true, Some(1)) => "reloads its model",
        (true, _) => "each reloads its model",
        (false, _) => "no model to load",
    };
    format!("; {}: {pods}, {load}", component.name)
}

/// Lists the names of pods, at most the first four.
fn names(pods: &[Arc<str>]) -> String {
    let mut text = pods[..pods.len().min(NAMED)].join(", ");
    if pods.len() > NAMED {
        // Writing to a string cannot fail.
        let written = write!(text, " and {} more", pods.len() - NAMED);
        debug_assert!(written.is_ok());
    }
    text
}

/// Returns the command that restarts pods one at a time, waiting until all are ready.
fn one_by_one(kubectl: &Kubectl, objects: &Objects, pods: &[Arc<str>]) -> Option<String> {
    if pods.len() < 2 {
        return at_once(kubectl, pods);
    }
    let list = listed(pods)?;
    let graph = objects.graph.as_ref().map(|graph| graph.name.as_ref());
    let graph = graph.filter(|name| shell::is_name(name));
    let Some(graph) = graph else {
        let (first, rest) = pods.split_first()?;
        let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
        return Some(format!(
            "{}  # then, once its replacement is ready: {}",
            at_once(kubectl, std::slice::from_ref(first))?,
            rest.join(", ")
        ));
    };
    Some(format!(
        "for pod in {list}; do\n  {kubectl} delete pod \"$pod\" --ignore-not-found && {SETTLE} \
         &&\n  {kubectl} wait --for=condition=Ready pod -l \
         {}={graph} --timeout=60m || break\ndone",
        label::GRAPH_DEPLOYMENT_NAME
    ))
}

/// Returns the command that restarts pods at once. Pods that no longer exist do not stop it.
fn at_once(kubectl: &Kubectl, pods: &[Arc<str>]) -> Option<String> {
    let list = listed(pods).filter(|list| !list.is_empty())?;
    Some(format!("{kubectl} delete pod {list} --ignore-not-found"))
}

fn listed(pods: &[Arc<str>]) -> Option<String> {
    let safe = pods.len() <= MOST_PODS && pods.iter().all(|pod| shell::is_name(pod));
    safe.then(|| pods.join(" "))
}
