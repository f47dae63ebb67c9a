//! Picking what is looked at: graph deployments.

use std::collections::BTreeSet;

use super::{Open, Shell};
use crate::snapshot::{Feed, GraphRow, Snapshot};
use crate::tui::command::{Action, Pick};
use crate::tui::scope::{Aim, Notice};
use crate::tui::text;
use crate::tui::theme::Glyphs;
use crate::tui::views::{self, Choice, Picker};

/// The word for every graph deployment, and the first choice of the list.
const ALL: &str = "all";

impl Shell {
    /// Notes that a new picture is there. The first that shows several graph deployments, of which none
    /// was chosen, has them to pick from.
    pub fn note_picture(&mut self, live: &Snapshot) {
        if let Open::Picker(picker) = &mut self.open
            && picker.pick == Pick::Graph
        {
            let selected = picker.choices.get(picker.at).map(|choice| choice.name.clone());
            picker.choices = choices(live);
            let at = picker.choices.iter().position(|it| Some(&it.name) == selected.as_ref());
            picker.at = at.unwrap_or(0);
            return;
        }
        let free = self.open == Open::Nothing && self.frozen.is_none();
        let wanted = !self.offered && live.feed == Feed::Live && live.deployment.chosen.is_none();
        if free && wanted && names(live).len() > 1 {
            self.offered = true;
            self.open = Open::Picker(graphs(live));
        }
    }

    /// Takes what the program tells.
    pub fn hear(&mut self, notice: Notice) {
        match notice {
            Notice::Say { text, grave } => self.tell(text, grave),
            Notice::Anew => self.begin_anew(),
        }
    }

    /// Forgets what was remembered of what is no longer looked at.
    fn begin_anew(&mut self) {
        let before = std::mem::replace(&mut self.look, super::first_look());
        self.look.window = before.window;
        self.look.workers.sort = before.workers.sort;
        self.look.workers.columns = before.workers.columns;
        self.look.focus = views::of(self.view).home;
        self.frozen = None;
        self.collapsed = Vec::new();
        self.open = Open::Nothing;
    }

    /// Lets the graph deployment be picked.
    pub(super) fn pick_graph(&mut self, live: &Snapshot) {
        match why_not(live) {
            Some(why) => self.tell(why, true),
            None => self.open = Open::Picker(graphs(live)),
        }
    }

    /// Takes the choice `at` of a list of graph deployments.
    pub(super) fn picked_graph(&mut self, picker: &Picker) -> Option<Action> {
        let choice = picker.choices.get(picker.at)?;
        let name = (picker.at > 0).then(|| choice.name.clone());
        Some(self.look_at(name))
    }

    /// Takes `typed` as the name of a graph deployment.
    pub(super) fn typed_graph(&mut self, typed: &str, live: &Snapshot) -> Option<Action> {
        if typed.is_empty() {
            self.pick_graph(live);
            return None;
        }
        if let Some(why) = why_not(live) {
            self.tell(why, true);
            return None;
        }
        let known = names(live);
        if typed != ALL && !known.contains(typed) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let there = known.join(", ");
            self.tell(format!("no graph deployment `{typed}`; there are {there}, or `all`"), true);
            return None;
        }
        Some(self.look_at((typed != ALL).then(|| typed.to_owned())))
    }

    fn look_at(&mut self, name: Option<String>) -> Action {
        self.offered = true;
        let said = match &name {
            Some(name) => format!("graph deployment {name}; `:dgd all` shows all again"),
            None => String::from("all graph deployments"),
        };
        self.tell(said, false);
        Action::LookAt(Aim::Graph(name))
    }
}

/// Returns why there is no graph deployment to pick, if there is none.
fn why_not(live: &Snapshot) -> Option<&'static str> {
    match live.feed {
        Feed::Live if names(live).is_empty() => {
            Some("no graph deployment is seen here; Kubernetes tells of them")
        }
        Feed::Live => None,
        Feed::Demo(_) | Feed::Replay(_) => {
            Some("graph deployments can be picked of a live namespace of Kubernetes only")
        }
    }
}

/// Returns the names of the graph deployments, also of those that only pods tell of.
pub(super) fn names(live: &Snapshot) -> BTreeSet<String> {
    let of_pods = live.pods.iter().filter_map(|pod| pod.dgd.clone());
    live.deployment.graphs.iter().map(|graph| graph.name.clone()).chain(of_pods).collect()
}

fn graphs(live: &Snapshot) -> Picker {
    let choices = choices(live);
    let chosen = live.deployment.chosen.as_ref();
    let at = choices.iter().skip(1).position(|choice| Some(&choice.name) == chosen);
    let at = at.map_or(0, |at| at + 1);
    Picker { pick: Pick::Graph, title: "Graph deployments", choices, at }
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
