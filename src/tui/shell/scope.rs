//! Picking what is looked at: graph deployment, namespace, context.

use std::collections::BTreeSet;

use super::{Open, Shell};
use crate::snapshot::{Feed, GraphRow, Snapshot};
use crate::tui::command::{Action, Pick};
use crate::tui::line;
use crate::tui::planning::Planning;
use crate::tui::scope::{Aim, Notice, Scope};
use crate::tui::text;
use crate::tui::theme::Glyphs;
use crate::tui::views::{self, Choice, Picker};

/// The word for every graph deployment, and the first choice of the list.
const ALL: &str = "all";

/// Longest name of a namespace in Kubernetes.
const LONGEST: usize = 63;

const GRAPHS: Pick = Pick::Scope(Scope::Graph);

impl Shell {
    /// Notes that a new picture is there. The first that shows several graph deployments, of which none
    /// was chosen, has them to pick from.
    pub fn note_picture(&mut self, live: &Snapshot) {
        if live.fleet.is_some() {
            self.from_fleet = true;
            return;
        }
        self.remember(live);
        if let Open::Picker(picker) = &mut self.open
            && picker.pick == GRAPHS
        {
            let selected = picker.choices.get(picker.at).map(|choice| choice.name.clone());
            picker.choices = choices(live);
            let at = picker.choices.iter().position(|it| Some(&it.name) == selected.as_ref());
            picker.at = at.unwrap_or(0);
            return;
        }
        let free = self.open == Open::Nothing && self.held.is_none();
        let wanted = !self.offered && live.feed == Feed::Live && live.deployment.chosen.is_none();
        if free && wanted && names(live).len() > 1 {
            self.offered = true;
            self.open = Open::Picker(graphs(live));
        }
    }

    /// Takes what the program tells. What it offers must not come over what was opened since.
    pub fn hear(&mut self, notice: Notice) {
        let free = self.open == Open::Nothing;
        match notice {
            Notice::Say { text, grave } => self.tell(text, grave),
            Notice::Offer { scope, names, now, note } if free => {
                self.message = None;
                if !note.is_empty() {
                    self.tell(note, true);
                }
                self.open = Open::Picker(offered(scope, &names, now.as_deref()));
            }
            Notice::Type { scope, why } if free => {
                self.open = Open::Line(format!("{} ", scope.word()));
                self.tell(why, true);
            }
            Notice::Offer { .. } | Notice::Type { .. } => {}
            Notice::Anew => self.begin_anew(),
            Notice::Elsewhere { text, mark: _ } => {
                self.begin_anew();
                self.offered = false;
                self.tell(text, false);
            }
        }
    }

    /// Forgets what was remembered of what is no longer looked at.
    fn begin_anew(&mut self) {
        let before = std::mem::replace(&mut self.look, super::first_look());
        self.look.window = before.window;
        self.look.tree.labels = before.tree.labels;
        self.look.workers.sort = before.workers.sort;
        self.look.workers.columns = before.workers.columns;
        self.look.focus = views::view(self.view).home;
        self.held = None;
        self.history.clear();
        self.planning = Planning::default();
        self.collapsed = Vec::new();
        self.open = Open::Nothing;
    }

    /// Lets what is looked at be picked; namespaces and contexts have to be asked for first.
    pub(super) fn pick_scope(&mut self, scope: Scope, live: &Snapshot) -> Option<Action> {
        if let Some(why) = why_not(scope, live) {
            self.tell(why, true);
            return None;
        }
        let aim = match scope {
            Scope::Graph => {
                self.open = Open::Picker(graphs(live));
                return None;
            }
            Scope::Namespace => Aim::Namespaces,
            Scope::Context => Aim::Contexts,
        };
        self.tell(format!("looking up the {}", scope.plural()), false);
        Some(Action::LookAt(aim))
    }

    /// Takes what is selected in a list of them.
    pub(super) fn picked_scope(&mut self, scope: Scope, picker: &Picker) -> Option<Action> {
        let name = picker.choices.get(picker.at)?.name.clone();
        // The first of the graph deployments stands for all.
        let name = (scope != Scope::Graph || picker.at > 0).then_some(name);
        self.look_at(scope, name)
    }

    /// Takes `typed` as the name of one; lets it be picked when nothing was typed.
    pub(super) fn typed_scope(
        &mut self,
        scope: Scope,
        typed: &str,
        live: &Snapshot,
    ) -> Option<Action> {
        if typed.is_empty() {
            return self.pick_scope(scope, live);
        }
        let wrong = why_not(scope, live).map(str::to_owned).or_else(|| wrong(scope, typed, live));
        if let Some(why) = wrong {
            self.tell(why, true);
            return None;
        }
        let all = scope == Scope::Graph && typed == ALL;
        self.look_at(scope, (!all).then(|| typed.to_owned()))
    }

    fn look_at(&mut self, scope: Scope, name: Option<String>) -> Option<Action> {
        let (said, aim) = match (scope, name) {
            (Scope::Graph, name) => {
                self.offered = true;
                let said = match &name {
                    Some(name) => format!("graph deployment {name}; `:dgd all` shows all again"),
                    None => String::from("all graph deployments"),
                };
                (said, Aim::Graph(name))
            }
            (Scope::Namespace, Some(name)) => {
                (format!("to namespace {name}"), Aim::Namespace(name))
            }
            (Scope::Context, Some(name)) => (format!("to context {name}"), Aim::Context(name)),
            (Scope::Namespace | Scope::Context, None) => return None,
        };
        self.tell(said, false);
        Some(Action::LookAt(aim))
    }
}

/// Returns what may be typed after what is on the command line.
pub(super) fn hint(typed: &str, live: &Snapshot) -> String {
    match line::scope(typed) {
        Some((Scope::Graph, name)) => {
            let fitting = fitting(name, live);
            if fitting.is_empty() { String::from("no such name") } else { fitting.join("  ") }
        }
        Some((scope, "")) => format!("a name, or Enter for the {} there are", scope.plural()),
        Some((scope, _)) => format!("Enter goes to it; `{}` alone lists them", scope.word()),
        None => String::new(),
    }
}

/// Returns what was typed with its name completed, where one is known that begins like it.
pub(super) fn completed(typed: &str, live: &Snapshot) -> String {
    let Some((Scope::Graph, name)) = line::scope(typed) else { return typed.to_owned() };
    let first = fitting(name, live).into_iter().next();
    first.map_or_else(|| typed.to_owned(), |first| format!("{} {first}", Scope::Graph.word()))
}

fn fitting(begin: &str, live: &Snapshot) -> Vec<String> {
    let all = std::iter::once(ALL.to_owned()).chain(names(live));
    all.filter(|name| name.starts_with(begin)).map(|name| text::clean(&name).into_owned()).collect()
}

/// Returns why there is nothing to pick, if there is nothing.
fn why_not(scope: Scope, live: &Snapshot) -> Option<&'static str> {
    match (&live.feed, scope) {
        (Feed::Live, Scope::Graph) if names(live).is_empty() => {
            Some("no graph deployment found (needs Kubernetes)")
        }
        (Feed::Live, _) => None,
        (Feed::Demo(_), _) => Some("not available in the demo (use kvtop -n NAME)"),
        (Feed::Replay(_), _) => Some("not available in a replay (use kvtop -n NAME)"),
    }
}

/// Returns why `typed` cannot be the name of one, if it cannot.
fn wrong(scope: Scope, typed: &str, live: &Snapshot) -> Option<String> {
    match scope {
        Scope::Graph if typed == ALL => None,
        Scope::Graph => {
            let known = names(live);
            let there = || known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let unknown = !known.contains(typed);
            unknown
                .then(|| format!("no graph deployment `{typed}`; there are {}, or `all`", there()))
        }
        Scope::Namespace => {
            let letter = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
            let is_one = typed.len() <= LONGEST && typed.bytes().all(letter);
            (!is_one)
                .then(|| format!("`{typed}` cannot be a namespace: small letters, digits, `-`"))
        }
        // Whatever the kubeconfig has.
        Scope::Context => None,
    }
}

/// Returns the names of the graph deployments, also of those that only pods tell of.
fn names(live: &Snapshot) -> BTreeSet<String> {
    let of_pods = live.pods.iter().filter_map(|pod| pod.dgd.clone());
    live.deployment.graphs.iter().map(|graph| graph.name.clone()).chain(of_pods).collect()
}

fn graphs(live: &Snapshot) -> Picker {
    let choices = choices(live);
    let chosen = live.deployment.chosen.as_ref();
    let at = choices.iter().skip(1).position(|choice| Some(&choice.name) == chosen);
    let at = at.map_or(0, |at| at + 1);
    Picker { pick: GRAPHS, title: "Graph deployments", choices, at }
}

fn offered(scope: Scope, names: &[(String, String)], now: Option<&str>) -> Picker {
    let title = match scope {
        Scope::Graph => "Graph deployments",
        Scope::Namespace => "Namespaces",
        Scope::Context => "Contexts",
    };
    let choice =
        |(name, about): &(String, String)| Choice::new(text::clean(name), text::clean(about));
    let at = names.iter().position(|(name, _)| Some(name.as_str()) == now).unwrap_or(0);
    Picker { pick: Pick::Scope(scope), title, choices: names.iter().map(choice).collect(), at }
}

fn choices(live: &Snapshot) -> Vec<Choice> {
    let rows = &live.deployment.graphs;
    let one = |name: &String| {
        let row = rows.iter().find(|row| row.name == *name);
        Choice::new(text::clean(name), row.map(about).unwrap_or_default())
    };
    let all = Choice::new(ALL, "every graph deployment of the namespace");
    std::iter::once(all).chain(names(live).iter().map(one)).collect()
}

/// Returns the components of a graph deployment, with how many of their pods are ready.
fn about(row: &GraphRow) -> String {
    let count = |count: Option<u64>| {
        count.map_or_else(|| Glyphs::ASCII.none.to_owned(), |count| count.to_string())
    };
    let parts = row.components.iter().map(|part| {
        format!("{} {}/{}", text::clean(&part.name), count(part.ready), count(part.replicas))
    });
    parts.collect::<Vec<_>>().join(", ")
}
