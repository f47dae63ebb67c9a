//! Is KV routing working? Workers, charts, the router, and what happened last.

use ratatui::layout::Rect;

use super::{Reply, Stage, View};
use crate::snapshot::{Ask, ViewQuery};
use crate::tui::command::{self, Command};
use crate::tui::layout::{Class, Layout, Needs, TABLE, columns, table_rows, take_top};
use crate::tui::panels::{Look, PanelId, events};
use crate::tui::text;

/// The view.
pub const VIEW: View = View {
    name: command::View::Overview,
    about: "is KV routing working?",
    home: PanelId::Workers,
    opened: |_| false,
    filter: None,
    arrange,
    ask,
    update,
    copy,
};

/// Columns from which on the prefixes that are used most are shown, too, and the columns of these.
const WIDE: (u16, u16) = (160, 42);

/// Workers up to which the table does not page where charts can give way to sparklines.
const WHOLE: usize = 12;
/// Rows that charts, and what stands below them, need at least.
const BELOW: u16 = 15;

/// Asks for the prefixes that are used most, where they are shown.
fn ask(_: &Look, stage: &Stage<'_>, query: &mut ViewQuery) {
    if let Some(area) = stage.layout.panel(PanelId::TopPrefixes) {
        query.ask = Ask::Tree(Box::new(super::tree::hottest(area.height.into())));
    }
}

/// Enter goes on where there is more about what is focused.
fn update(look: &mut Look, command: Command, stage: &Stage<'_>) -> Reply {
    if command != Command::Open {
        return Reply::Pass;
    }
    let view = match stage.layout.focus(look.focus) {
        // Graphs are sums over workers, whose pages have graphs of their own.
        PanelId::Workers
        | PanelId::Traffic
        | PanelId::Usage
        | PanelId::Growth
        | PanelId::Trends => command::View::Workers,
        PanelId::Router => command::View::Routing,
        PanelId::Events => command::View::Events,
        PanelId::TopPrefixes => command::View::Tree,
        _ => return Reply::Pass,
    };
    if super::is_built(view) { Reply::Go(view) } else { Reply::Pass }
}

/// Copies the last event shown, where events are focused.
fn copy(look: &Look, stage: &Stage<'_>) -> Option<String> {
    if stage.layout.focus(look.focus) != PanelId::Events {
        return None;
    }
    let rows = &stage.snapshot.events;
    let row = rows.get(rows.len().checked_sub(1 + events::later(rows, look.last_event))?)?;
    let (time, kind) = (text::clock_millis(row.at), row.kind.name());
    Some(format!("{time} {} {kind} {}", row.who, row.text))
}

fn arrange(layout: &mut Layout, rest: Rect, class: Class, needs: &Needs) {
    match class {
        Class::Full if rest.height >= table_rows(needs.workers.min(WHOLE), TABLE) + BELOW => {
            full(layout, rest, needs);
        }
        Class::Full | Class::Medium => medium(layout, rest, needs),
        Class::Compact => compact(layout, rest, needs),
        Class::Small | Class::Tiny => layout.panels.push((PanelId::Workers, rest)),
    }
}

fn full(layout: &mut Layout, mut rest: Rect, needs: &Needs) {
    let wanted = table_rows(needs.workers, TABLE);
    // Many workers page, so that half of the screen stays for the rest.
    let most = rest.height.saturating_sub(BELOW).min((rest.height / 2).max(TABLE + 12));
    let workers = take_top(&mut rest, wanted.min(most));
    let wanted = rest.height / 20 * 9 + rest.height % 20 * 9 / 20;
    let charts = take_top(&mut rest, wanted.clamp(8, 18));
    layout.panels.push((PanelId::Workers, workers));
    if needs.usage && rest.width >= 160 && workers.height + charts.height + rest.height >= 40 {
        let third = charts.width / 3;
        let [left, middle] = [columns(charts, 0, third), columns(charts, third, third)];
        layout.panels.push((PanelId::Traffic, left));
        layout.panels.push((PanelId::Usage, middle));
        layout.panels.push((PanelId::Growth, columns(charts, 2 * third, charts.width - 2 * third)));
    } else {
        let half = charts.width / 2;
        layout.panels.push((PanelId::Traffic, columns(charts, 0, half)));
        layout.panels.push((PanelId::Usage, columns(charts, half, charts.width - half)));
    }
    side_by_side(layout, rest);
}

fn side_by_side(layout: &mut Layout, rest: Rect) {
    if rest.width >= WIDE.0 && rest.height >= 8 {
        let both = rest.width - WIDE.1;
        let half = both / 2;
        layout.panels.push((PanelId::Router, columns(rest, 0, half)));
        layout.panels.push((PanelId::TopPrefixes, columns(rest, half, WIDE.1)));
        layout.panels.push((PanelId::Events, columns(rest, half + WIDE.1, both - half)));
        return;
    }
    let half = rest.width / 2;
    layout.panels.push((PanelId::Router, columns(rest, 0, half)));
    layout.panels.push((PanelId::Events, columns(rest, half, rest.width - half)));
}

fn medium(layout: &mut Layout, mut rest: Rect, needs: &Needs) {
    let wanted = table_rows(needs.workers, TABLE);
    let most = rest.height.saturating_sub(10).max(TABLE);
    let workers = take_top(&mut rest, wanted.min(most));
    let most = rest.height.saturating_sub(4);
    let trends = take_top(&mut rest, most.min(6));
    layout.panels.push((PanelId::Workers, workers));
    layout.panels.push((PanelId::Trends, trends));
    if rest.width >= 100 {
        side_by_side(layout, rest);
        return;
    }
    if rest.height >= 20 {
        let router = take_top(&mut rest, 14);
        layout.panels.push((PanelId::Router, router));
    }
    layout.panels.push((PanelId::Events, rest));
}

fn compact(layout: &mut Layout, mut rest: Rect, needs: &Needs) {
    // Names, then every worker, then the total if it fits.
    let wanted = table_rows(needs.workers, 2);
    let most = rest.height.saturating_sub(3);
    let workers = take_top(&mut rest, wanted.min(most));
    let trends = if rest.height >= 5 { 3 } else { 2 };
    let trends = take_top(&mut rest, trends);
    layout.panels.push((PanelId::Workers, workers));
    layout.panels.push((PanelId::Trends, trends));
    layout.panels.push((PanelId::Events, rest));
}
