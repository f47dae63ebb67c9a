//! Where everything goes at every size. The worst worker and the way out never go.

use ratatui::layout::Rect;

use super::command::View;
use super::panels::PanelId;

/// Rows of a table around its workers: names, rule, total, and the frame.
const TABLE: u16 = 5;

/// What a layout must make room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The view.
    pub view: View,
    /// Findings and checks together.
    pub findings: usize,
    /// Rows of the worker table.
    pub workers: usize,
    /// True for a demo, which says so in a row of its own.
    pub marker: bool,
    /// True for a replay, which shows its position.
    pub playback: bool,
    /// True when somebody reports KV utilization, so that size and utilization are two charts.
    pub usage: bool,
    /// Rows of the banner.
    pub banner: u16,
    /// The panel that has the screen for itself.
    pub zoom: Option<PanelId>,
}

/// How much can be shown, from the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Framed panels side by side, with charts.
    Full,
    /// Framed panels one below the other, with sparklines.
    Medium,
    /// Panels without frames.
    Compact,
    /// Workers, one line each.
    Small,
    /// One line.
    Tiny,
}

/// Where everything goes. An area that is empty is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The status bar.
    pub status: Rect,
    /// What a demo says about itself.
    pub marker: Rect,
    /// Where a replay stands.
    pub playback: Rect,
    /// What is wrong.
    pub banner: Rect,
    /// The views, and the state of time.
    pub views: Rect,
    /// Hints, messages and the command line.
    pub footer: Rect,
    /// The panels, in the order of focus.
    pub panels: Vec<(PanelId, Rect)>,
    /// True when panels have frames.
    pub framed: bool,
}

impl Layout {
    /// Returns where `panel` goes, if it is shown.
    pub fn panel(&self, panel: PanelId) -> Option<Rect> {
        self.panels.iter().find(|(id, _)| *id == panel).map(|&(_, area)| area)
    }

    /// Returns the panel that keys act on: `wanted` where it is shown, else the first.
    pub fn focus(&self, wanted: PanelId) -> PanelId {
        match (self.panel(wanted), self.panels.first()) {
            (None, Some((first, _))) => *first,
            _ => wanted,
        }
    }
}

/// Returns how much can be shown in `area`.
pub const fn class(area: Rect) -> Class {
    match (area.width, area.height) {
        (100.., 30..) => Class::Full,
        (60.., 18..) => Class::Medium,
        (40.., 8..) => Class::Compact,
        (20.., 3..) => Class::Small,
        _ => Class::Tiny,
    }
}

/// Returns where everything goes in `area`.
pub fn arrange(area: Rect, needs: &Needs) -> Layout {
    let class = class(area);
    let mut rest = area;
    let mut layout = Layout { framed: class <= Class::Medium, ..Layout::default() };
    if class == Class::Tiny {
        layout.banner = take_top(&mut rest, needs.banner.min(1));
        if !rest.is_empty() {
            layout.panels.push((PanelId::Workers, row(rest)));
        }
        return layout;
    }
    // Three rows are for what is wrong, the worst worker, and the way out.
    if area.height > 3 || needs.banner == 0 {
        layout.status = take_top(&mut rest, 1);
    }
    layout.footer = take_bottom(&mut rest, 1);
    layout.banner = take_top(&mut rest, needs.banner);
    if needs.marker && area.height >= 10 {
        layout.marker = take_top(&mut rest, 1);
    }
    if needs.playback && area.height >= 8 {
        layout.playback = take_top(&mut rest, 1);
    }
    if class <= Class::Medium {
        layout.views = take_top(&mut rest, 1);
    }
    match (needs.zoom, class) {
        (Some(panel), _) => layout.panels.push((panel, rest)),
        (None, _) if needs.view == View::Findings => findings(&mut layout, rest, class, needs),
        (None, Class::Full) => full(&mut layout, rest, needs),
        (None, Class::Medium) => medium(&mut layout, rest, needs),
        (None, Class::Compact) => compact(&mut layout, rest, needs),
        (None, Class::Small | Class::Tiny) => layout.panels.push((PanelId::Workers, rest)),
    }
    layout
}

fn full(layout: &mut Layout, mut rest: Rect, needs: &Needs) {
    let wanted = table_rows(needs.workers, TABLE);
    // Many workers page, so that half of the screen stays for the rest.
    let most = rest.height.saturating_sub(17).min((rest.height / 2).max(TABLE + 12));
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

/// The list, and beside or below it what is selected.
fn findings(layout: &mut Layout, mut rest: Rect, class: Class, needs: &Needs) {
    if class <= Class::Medium && rest.width >= 100 {
        let list = (rest.width / 20 * 7).clamp(38, 60);
        layout.panels.push((PanelId::Findings, columns(rest, 0, list)));
        layout.panels.push((PanelId::Finding, columns(rest, list, rest.width - list)));
        return;
    }
    let around = if layout.framed { 2 } else { 0 };
    let wanted = table_rows(needs.findings, around);
    let most = (rest.height / 3).max(around + 1);
    let list = take_top(&mut rest, wanted.min(most));
    layout.panels.push((PanelId::Findings, list));
    if !rest.is_empty() {
        layout.panels.push((PanelId::Finding, rest));
    }
}

fn table_rows(workers: usize, around: u16) -> u16 {
    u16::try_from(workers.max(1)).unwrap_or(u16::MAX).saturating_add(around)
}

fn row(area: Rect) -> Rect {
    Rect { height: area.height.min(1), ..area }
}

fn columns(area: Rect, start: u16, width: u16) -> Rect {
    Rect { x: area.x + start, width, ..area }
}

fn take_top(rest: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(rest.height);
    let taken = Rect { height: rows, ..*rest };
    rest.y += rows;
    rest.height -= rows;
    taken
}

fn take_bottom(rest: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(rest.height);
    rest.height -= rows;
    Rect { y: rest.y + rest.height, height: rows, ..*rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_never_overlap_nor_leave_the_screen() {
        for width in 1..=200 {
            for height in 1..=70 {
                let area = Rect { x: 0, y: 0, width, height };
                let views = [View::Overview, View::Overview, View::Findings];
                for (workers, view) in [0, 2, 300].into_iter().zip(views) {
                    let needs = Needs {
                        view,
                        findings: workers,
                        workers,
                        marker: true,
                        usage: true,
                        playback: true,
                        banner: 5,
                        zoom: None,
                    };
                    let layout = arrange(area, &needs);
                    let mut cells = vec![false; usize::from(width) * usize::from(height)];
                    let bars = [layout.status, layout.marker, layout.playback, layout.banner];
                    let more = [layout.views, layout.footer];
                    let panels = layout.panels.iter().map(|(_, area)| *area);
                    for part in bars.into_iter().chain(more).chain(panels) {
                        assert_eq!(part.intersection(area).area(), part.area(), "{width}x{height}");
                        for cell in part.positions() {
                            let at = usize::from(cell.y) * usize::from(width) + usize::from(cell.x);
                            assert!(!cells[at], "{width}x{height} {workers}");
                            cells[at] = true;
                        }
                    }
                }
            }
        }
    }
}
