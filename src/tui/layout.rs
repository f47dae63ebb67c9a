//! The layout at every size. The worst worker and the key to quit always stay.

use ratatui::layout::Rect;

use super::command::View;
use super::panels::PanelId;
use super::views;

/// Rows of a table around its workers: names, rule, total, and the frame.
pub const TABLE: u16 = 5;

/// Contents that a layout must make room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The view.
    pub view: View,
    /// Findings and checks together.
    pub findings: usize,
    /// Rows of the worker table.
    pub workers: usize,
    /// True while what is selected has the view for itself.
    pub opened: bool,
    /// The row that the feed has for itself.
    pub strip: Strip,
    /// Contents of the overview below its workers.
    pub below: Below,
    /// Rows of the banner.
    pub banner: u16,
    /// True while the panels show the past.
    pub past: bool,
    /// The panel that has the screen for itself.
    pub zoom: Option<PanelId>,
}

/// Contents of the overview below its workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// True while a worker is selected.
    pub selected: bool,
    /// True where there are prefixes to show a map of.
    pub prefixes: bool,
}

/// A row that a feed has for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strip {
    /// None: what is live.
    None,
    /// The row of a demo about itself.
    Demo,
    /// The position of a replay.
    Replay,
}

/// Size classes of the screen, the largest first.
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

/// The area of each part. An empty area is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The status bar.
    pub status: Rect,
    /// The row of a demo about itself.
    pub marker: Rect,
    /// The position of a replay.
    pub playback: Rect,
    /// The findings, or the mistake.
    pub banner: Rect,
    /// The views, and the state of time.
    pub views: Rect,
    /// The moment of the past that panels show.
    pub past: Rect,
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
    if needs.strip == Strip::Demo && area.height >= 30 {
        layout.marker = take_top(&mut rest, 1);
    }
    if needs.strip == Strip::Replay && area.height >= 8 {
        layout.playback = take_top(&mut rest, 1);
    }
    // A tour leaves too few rows for frames, and speaks of the views.
    if class <= Class::Medium || (area.width >= 60 && area.height >= 14) {
        layout.views = take_top(&mut rest, 1);
    }
    // What stands above it is of now.
    if needs.past && area.height >= 8 {
        layout.past = take_top(&mut rest, 1);
    }
    match needs.zoom {
        Some(panel) => layout.panels.push((panel, rest)),
        None => (views::view(needs.view).arrange)(&mut layout, rest, class, needs),
    }
    layout
}

/// Returns the rows that a table of `workers` wants, with those around them.
pub fn table_rows(workers: usize, around: u16) -> u16 {
    u16::try_from(workers.max(1)).unwrap_or(u16::MAX).saturating_add(around)
}

fn row(area: Rect) -> Rect {
    Rect { height: area.height.min(1), ..area }
}

/// Returns `width` columns of `area` from its column `start` on.
pub fn columns(area: Rect, start: u16, width: u16) -> Rect {
    Rect { x: area.x + start, width, ..area }
}

/// Takes rows off the top of `rest`, as many as there are.
pub fn take_top(rest: &mut Rect, rows: u16) -> Rect {
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
                let views = views::built();
                let counts = [0, 2, 300];
                let views = views.flat_map(|view| [(view.name, false), (view.name, true)]);
                for ((view, opened), workers) in views.flat_map(|view| counts.map(|n| (view, n))) {
                    let needs = Needs {
                        view,
                        findings: workers,
                        workers,
                        opened,
                        strip: if workers == 0 { Strip::Replay } else { Strip::Demo },
                        below: Below { selected: workers == 300, prefixes: workers > 0 },
                        banner: 5,
                        past: workers == 2,
                        zoom: None,
                    };
                    let layout = arrange(area, &needs);
                    let mut cells = vec![false; usize::from(width) * usize::from(height)];
                    let bars = [layout.status, layout.marker, layout.playback, layout.banner];
                    let more = [layout.views, layout.past, layout.footer];
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
