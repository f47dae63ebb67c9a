//! The prefixes with most demand, now and minutes ago.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{answers, explain, percent};
use crate::domain::TreeNode;
use crate::snapshot::{
    Demand, {Foresight, PrefixShare},
};
use crate::tui::graph::spark;
use crate::tui::panels::tree::short;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, part};

/// Columns of a name, at least and at most.
const NAME: (usize, usize) = (10, 40);
/// Columns of each number, and of the minutes.
const NUMBER: usize = 10;
const MINUTES: usize = 16;
/// Time to compare with.
const BEFORE: Duration = Duration::from_secs(300);

/// Draws the prefixes, most demanded first, with those that all have in common on top.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let found = context.snapshot.foresight.as_deref();
    let demand = found.map_or("", |answers| answers.demand.name());
    let rate = found.map(|answers| answers.leaders.per_minute).filter(|rate| *rate > 0.0);
    let notes = rate
        .map(|rate| part(format!("{} {demand}/min", text::short(rate)), Role::Muted))
        .into_iter()
        .collect();
    let title = if demand.is_empty() {
        String::from("Top prefixes")
    } else {
        format!("Top prefixes, by {demand}")
    };
    let inner = context.frame(canvas, area, PanelId::Leaders, title, notes);
    let Some(answers) = answers(canvas, inner, context) else { return };
    if answers.leaders.rows.is_empty() {
        let of = if answers.demand == Demand::Stores { " with blocks" } else { "" };
        explain(canvas, inner, &format!("no {demand}{of} in the last 5 minutes"));
        return;
    }
    let width = usize::from(inner.width);
    let compared = minutes_ago(answers);
    let numbers = if width >= 2 * NUMBER + NAME.0 + 2 + NUMBER { 3 } else { 2 };
    let trend = width >= NAME.0 + 3 * NUMBER + MINUTES + 12 && compared.is_some();
    let taken = numbers * NUMBER + if trend { MINUTES + 1 } else { 0 };
    let room = width.saturating_sub(taken);
    let name = room.clamp(NAME.0, NAME.1);
    canvas.put(inner, 0, 0, "PREFIX", Role::Title);
    let then = compared.map_or_else(
        || String::from("BEFORE"),
        |(_, minutes)| format!("{minutes} min ago").to_uppercase(),
    );
    let titles = ["NOW", &then, "RANKS"];
    let mut x = text::coordinate(name);
    for title in titles.iter().take(numbers) {
        x = canvas.put(inner, x, 0, &text::pad_left(title, NUMBER), Role::Title);
    }
    let first = context.look.foresight.first_prefix.min(rows(answers).saturating_sub(1));
    let common = answers.leaders.common.iter().map(|row| (row, true));
    let own = answers.leaders.rows.iter().map(|row| (row, false));
    for ((row, is_common), y) in common.chain(own).skip(first).zip(1..inner.height) {
        let said = named(context, row, is_common, answers.leaders.common.is_some());
        let role = if is_common { Role::Muted } else { Role::Fg };
        canvas.put(inner, 0, y, &text::cut_middle(&said, name, canvas.glyphs().ellipsis), role);
        let before = compared.and_then(|(at, _)| row.then.get(at).copied().flatten());
        let before = before.map_or_else(|| canvas.glyphs().none.to_owned(), percent);
        let cells = [percent(row.share), before, text::count(row.holders as u64)];
        let mut x = text::coordinate(name);
        for (at, cell) in cells.iter().take(numbers).enumerate() {
            let role = if at == 0 { role } else { Role::Muted };
            x = canvas.put(inner, x, y, &text::pad_left(cell, NUMBER), role);
        }
        if trend {
            let points: Vec<Option<f64>> =
                row.then.iter().copied().chain([Some(row.share)]).collect();
            let top = points.iter().flatten().copied().fold(0.0, f64::max);
            let columns = MINUTES.min(points.len());
            spark::draw(canvas, inner, (x + 1, y), columns, (&points, top), Role::Series1);
        }
    }
}

/// Returns how many rows there are.
pub fn rows(answers: &Foresight) -> usize {
    answers.leaders.rows.len() + usize::from(answers.leaders.common.is_some())
}

/// Returns how many can be seen at once.
pub fn page(area: Rect, framed: bool) -> usize {
    usize::from(area.height.saturating_sub(if framed { 3 } else { 1 }))
}

/// Returns the earlier shares to compare with, about five minutes ago, and how many minutes ago that was.
fn minutes_ago(answers: &Foresight) -> Option<(usize, u64)> {
    let age = |at: &crate::domain::Timestamp| answers.at.since(*at);
    let minutes = &answers.leaders.minutes;
    let old = minutes.iter().rposition(|at| age(at) >= BEFORE).or(Some(0));
    let at = old.filter(|at| minutes.get(*at).is_some_and(|at| age(at).as_secs() >= 60))?;
    Some((at, (age(&minutes[at]).as_secs() + 30) / 60))
}

/// Returns the name of a prefix: what the user called it, or its hash.
fn named(context: &PanelContext<'_>, row: &PrefixShare, is_common: bool, below: bool) -> String {
    let given = context.look.tree.labels.label(&row.node).map(str::to_owned);
    let name = given.or_else(|| row.label.clone()).unwrap_or_else(|| match row.node {
        TreeNode::Block(block) => short(block.sequence),
        TreeNode::Missing(hash) => short(hash),
        TreeNode::Root | TreeNode::Detached | TreeNode::Orphans => String::from("prompts"),
    });
    match (is_common, below) {
        (true, _) => format!("{name} (common)"),
        (false, true) => format!("  {name}"),
        (false, false) => name,
    }
}
