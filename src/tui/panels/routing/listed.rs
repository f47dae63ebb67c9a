//! The decisions that the list shows, and which of them is selected.

use super::{detail, worker};
use crate::snapshot::{DecisionRow, Gravity, Snapshot};
use crate::tui::filter::{Filter, Target};
use crate::tui::views::routing::State;

/// Decisions that the filter lets through, and the selected one among them.
#[derive(Clone, Debug)]
pub struct Listed<'a> {
    /// The decisions, oldest first.
    pub rows: Vec<&'a DecisionRow>,
    /// Place of the selected one: the newest where none is selected, and the one before it where it does
    /// not match. None where it is older than all decisions that a picture holds, and without rows.
    pub at: Option<usize>,
}

impl<'a> Listed<'a> {
    /// Returns the decisions of a picture that the filter lets through.
    pub fn new(snapshot: &'a Snapshot, state: &State) -> Self {
        let all = &snapshot.decisions;
        let filter = Filter::new(&state.typed);
        let passes = |row: &&DecisionRow| filter.is_empty() || passes(snapshot, row, &filter);
        let rows: Vec<_> = all.iter().filter(passes).collect();
        let last = rows.len().checked_sub(1);
        let at = state.selected.map_or(last, |number| {
            let older = all.iter().all(|row| row.number > number);
            let before = || rows.iter().rposition(|row| row.number <= number).or(last.map(|_| 0));
            if older { None } else { before() }
        });
        Self { rows, at }
    }
}

/// Returns the selected decision, even when it is older than the list. One that is opened stays, whatever
/// it becomes.
pub(crate) fn selected<'a>(snapshot: &'a Snapshot, state: &State) -> Option<&'a DecisionRow> {
    let is_selected = |row: &&DecisionRow| Some(row.number) == state.selected;
    let opened = snapshot.decisions.iter().find(is_selected).filter(|_| state.opened);
    let listed = || {
        let Listed { rows, at } = Listed::new(snapshot, state);
        rows.get(at?).copied()
    };
    let asked = || detail(snapshot)?.decision.as_ref().filter(is_selected);
    opened.or_else(listed).or_else(asked)
}

fn passes(snapshot: &Snapshot, row: &DecisionRow, filter: &Filter) -> bool {
    let request = row.request.as_deref().unwrap_or_default();
    filter.matches(&Target {
        who: &row.alias,
        kind: "route",
        source: "logs",
        text: &format!("{} {} {request}", worker(snapshot, row), row.router),
        // As the list marks it: nothing of the prompt was found in the tree.
        gravity: match row.cached_blocks {
            Some(cached) if cached <= 0.0 => Gravity::Notice,
            _ => Gravity::Normal,
        },
        orphan: false,
    })
}
