//! The banner as a box of four rows, or of five where what mends it is long.

use ratatui::layout::Rect;

use super::{Banner, COPY, FIX, TELLING};
use crate::snapshot::FindingRow;
use crate::tui::command::Command;
use crate::tui::findings;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Columns of a box that are not for its text.
const AROUND: u16 = 4;

/// Rows that a summary may take.
const MOST_LINES: usize = 4;

/// Returns true when what mends `finding` does not fit into one row of a box of `columns`.
pub(super) fn wraps(finding: &FindingRow, columns: u16) -> bool {
    let room = usize::from(columns.saturating_sub(AROUND)).saturating_sub(FIX.len() + 1);
    finding.fix.as_ref().is_some_and(|fix| text::width(&text::clean(&fix.sentence)) > room)
}

/// Returns the rows of a box that shows the summary of `finding` whole, its effect, and what mends it.
pub(super) fn whole(finding: &FindingRow, columns: u16) -> u16 {
    let room = usize::from(columns.saturating_sub(AROUND));
    let lines = text::wrap(&text::clean(&finding.summary), room).len();
    AROUND + text::coordinate(lines.clamp(1, MOST_LINES))
}

impl Banner<'_> {
    /// Every sentence in a row of its own, the summary in as many as it takes.
    pub(super) fn spelt_out(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let (area, inner) = self.open(canvas, area);
        let (room, mark) = (usize::from(inner.width), canvas.glyphs().ellipsis);
        let last = area.height.saturating_sub(3);
        let summary = self.summary();
        let mut rest = summary.as_str();
        for y in 1..last {
            let first = text::wrap(rest, room).into_iter().next().unwrap_or_default();
            let whole = y + 1 < last && rest.starts_with(&first);
            let said = if whole { first } else { text::cut_words(rest, room, mark) };
            canvas.put(inner, 0, y, &said, Role::Title);
            rest = rest.get(said.len()..).unwrap_or_default().trim_start();
        }
        let effect = text::clean(&self.finding.effect);
        canvas.put(inner, 0, last, &text::cut_words(&effect, room, mark), Role::Fg);
        let (label, said) = self.remedy(true);
        let x = Self::label(canvas, inner, 0, last + 1, label);
        let left = room.saturating_sub(x.into());
        let x = canvas.put(inner, x, last + 1, &text::cut_words(&said, left, mark), Role::Fg);
        self.restarts(canvas, inner, x, last + 1);
        self.foot(canvas, area);
    }

    /// Draws the box and its first row. Returns it, and what is inside.
    fn open(&self, canvas: &mut Canvas<'_>, area: Rect) -> (Rect, Rect) {
        let area = canvas.clip(area);
        self.edges(canvas, area);
        self.head(canvas, area);
        (area, Rect { x: area.x + 2, width: area.width - AROUND, ..area })
    }

    /// Says what restarts, where there is room for it.
    fn restarts(&self, canvas: &mut Canvas<'_>, inner: Rect, x: u16, y: u16) {
        let restarts = self.finding.fix.as_ref().map(|fix| text::clean(&fix.restarts).into_owned());
        if let Some(restarts) = restarts.filter(|said| !said.is_empty()) {
            let said = format!("  restarts: {restarts}");
            if usize::from(x) + text::width(&said) <= usize::from(inner.width) {
                canvas.put(inner, x, y, &said, Role::Muted);
            }
        }
    }

    /// Four rows, or five: a box with everything.
    pub(super) fn boxed(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let (area, inner) = self.open(canvas, area);
        let (room, mark) = (usize::from(inner.width), canvas.glyphs().ellipsis);
        let (summary, effect) = (self.summary(), text::clean(&self.finding.effect).into_owned());
        let both = text::width(&summary) + 1 + text::width(&effect) <= room;
        let x = canvas.put(inner, 0, 1, &text::cut_words(&summary, room, mark), Role::Title);
        let left = room.saturating_sub(usize::from(x) + 1);
        if both || left >= TELLING {
            canvas.put(inner, x + 1, 1, &text::cut_words(&effect, left, mark), Role::Fg);
        }
        let (label, said) = self.remedy(both);
        let x = Self::label(canvas, inner, 0, 2, label);
        let left = room.saturating_sub(x.into());
        let first = text::wrap(&said, left).into_iter().next().unwrap_or_default();
        let (x, y) = match said.strip_prefix(&first) {
            Some(rest) if area.height > 4 && !rest.is_empty() => {
                canvas.put(inner, x, 2, &first, Role::Fg);
                let rest = text::cut_words(rest.trim_start(), left, mark);
                (canvas.put(inner, x, 3, &rest, Role::Fg), 3)
            }
            _ => (canvas.put(inner, x, 2, &text::cut_words(&said, left, mark), Role::Fg), 2),
        };
        self.restarts(canvas, inner, x, y);
        self.foot(canvas, area);
    }

    fn edges(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let set = canvas.glyphs().banner;
        let inner = usize::from(area.width) - 2;
        let edge = |left: &str, middle: &str, right: &str| {
            format!("{left}{}{right}", middle.repeat(inner))
        };
        let role = self.role();
        canvas.put(area, 0, 0, &edge(set.top_left, set.horizontal_top, set.top_right), role);
        for y in 1..area.height - 1 {
            canvas.put(area, 0, y, set.vertical_left, role);
            canvas.put(area, area.width - 1, y, set.vertical_right, role);
        }
        let bottom = edge(set.bottom_left, set.horizontal_bottom, set.bottom_right);
        canvas.put(area, 0, area.height - 1, &bottom, role);
    }

    /// The upper edge: what it is, how sure that is, and for how long.
    fn head(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let glyphs = canvas.glyphs();
        let [badge, _] = self.badge(glyphs);
        let x = canvas.badge(area, 2, 0, &format!(" {badge} "), self.role());
        let age = part(format!("{} ", self.age()), Role::Fg);
        let bar = part(format!(" {} ", glyphs.bar), Role::Border);
        let grade = |said: String| part(format!(" {said}"), self.role());
        let long = [grade(findings::grade(self.finding)), bar.clone(), age.clone()];
        let short = [grade(self.finding.grade.name().to_owned()), bar, age.clone()];
        let name = format!(" {} ", self.finding.name);
        let room = usize::from(area.width.saturating_sub(x + 3));
        let both = |right: &[Part]| text::width(&name) + width(right) <= room;
        let right: &[Part] = if both(&long) {
            &long
        } else if both(&short) {
            &short
        } else {
            &[]
        };
        canvas.put(area, x, 0, &name, Role::Title);
        if !right.is_empty() {
            let start = area.width - 2 - text::coordinate(width(right));
            canvas.parts(area, start, 0, right);
        }
    }

    /// The lower edge: keys, and how much more there is.
    fn foot(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let y = area.height - 1;
        let mut keys: Vec<[Part; 2]> = Vec::new();
        if let Some(fix) = &self.finding.fix {
            let what = match (&fix.kubectl, &fix.yaml) {
                (Some(_), _) => "copy commands",
                (None, Some(_)) => "copy fix",
                (None, None) => "copy sentence",
            };
            keys.push(self.key(COPY, what));
        }
        keys.extend([
            self.key(Command::TopFinding, "evidence"),
            self.key(Command::ToggleBanner, "collapse"),
        ]);
        let mut others = self.others(true);
        if !others.is_empty() {
            others.insert(0, part(" ", Role::Fg));
            others.push(part(" ", Role::Fg));
        }
        let needed = |keys: &[[Part; 2]]| keys.iter().map(|key| width(key) + 2).sum::<usize>();
        let room = usize::from(area.width).saturating_sub(4 + width(&others));
        while needed(&keys) > room && keys.len() > 1 {
            keys.pop();
        }
        let x = keys.iter().fold(2, |x, key| {
            let x = canvas.parts(area, x, y, key);
            canvas.put(area, x, y, "  ", Role::Fg)
        });
        let start = area.width.saturating_sub(2 + text::coordinate(width(&others)));
        if start >= x {
            canvas.parts(area, start, y, &others);
        }
    }
}
