//! The banner where there is no room for a box: in one row, or in two.

use ratatui::layout::Rect;

use super::{Banner, COPY, TELLING};
use crate::tui::command::Command;
use crate::tui::findings;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

/// Columns below which half a summary says less than the name.
const CUT: usize = 46;
/// Columns of the name below which nothing stands to the right of it.
const LEAST: usize = 6;
/// Columns of one row from which on it names keys.
const KEYED: u16 = 46;

/// One way to fill a row: label and text on the left, more on the right.
struct Form {
    badge: String,
    said: String,
    right: Vec<Part>,
}

impl Form {
    /// Returns the columns that it takes with one between its parts.
    fn width(&self) -> usize {
        let gap = |width: usize| if width > 0 { width + 1 } else { 0 };
        text::width(&self.badge) + gap(text::width(&self.said)) + gap(width(&self.right))
    }
}

impl Banner<'_> {
    /// Fills a row with the first of `forms` that fits; returns what went to the right of it. When none
    /// fits, the text of the last is cut, or gives way to the block sizes that differ where it would lose
    /// one, and to the name where little of it would be left.
    fn fill(&self, canvas: &mut Canvas<'_>, area: Rect, forms: Vec<Form>) -> Vec<Part> {
        let room = usize::from(area.width);
        let whole = forms.iter().position(|form| form.width() <= room);
        let at = whole.unwrap_or(forms.len().saturating_sub(1));
        let Some(mut form) = forms.into_iter().nth(at) else { return Vec::new() };
        if whole.is_none() {
            let mark = canvas.glyphs().ellipsis;
            let long = text::width(&form.said);
            let least = self.sizes.last().map_or(LEAST, |bare| text::width(bare) + 2);
            if room < text::width(&form.badge) + width(&form.right) + least {
                form.right.clear();
            }
            let left = room.saturating_sub(form.width() - long);
            let cut = text::cut_words(&form.said, left, mark);
            let fits = |room: usize| self.sizes.iter().find(|it| text::width(it) <= room).cloned();
            form.said = if let Some(sizes) = fits(left).filter(|_| !self.names_sizes(&cut, canvas))
            {
                sizes
            } else if left < TELLING || (left < CUT && text::width(&cut) * 2 < long) {
                text::cut(self.finding.name, left, mark)
            } else {
                cut
            };
        }
        let x = canvas.badge(area, 0, 0, &form.badge, self.role());
        canvas.put(area, x + 1, 0, &form.said, Role::Title);
        canvas.parts_right(area, 0, &form.right);
        form.right
    }

    /// Returns true when `said` has all of the block sizes that differ.
    fn names_sizes(&self, said: &str, canvas: &Canvas<'_>) -> bool {
        let differs = canvas.glyphs().differs;
        self.sizes.last().is_some_and(|bare| bare.split(differs).all(|size| said.contains(size)))
    }

    /// One row: what is wrong, and the keys that tell more.
    pub(super) fn row(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let [long, short] = self.badge(canvas.glyphs());
        let mut keys = self.others(false);
        if self.collapsed {
            keys.extend(self.key(Command::ToggleBanner, "open"));
        }
        if self.finding.fix.is_some() && !self.collapsed {
            keys.extend(self.key(COPY, "fix"));
        }
        keys.extend(self.key(Command::TopFinding, "why"));
        let mut aged = vec![part(self.age(), Role::Muted), part(" ", Role::Fg)];
        aged.extend(keys.iter().cloned());
        let form = |badge: &str, said: String, right: &[Part]| Form {
            badge: badge.to_owned(),
            said,
            right: right.to_vec(),
        };
        let last = if area.width >= KEYED { &keys } else { &self.others(false) };
        let forms = vec![
            form(&long, self.named(), &aged),
            form(&long, self.summary(), &aged),
            form(&long, self.summary(), &keys),
            form(&short, self.summary(), &keys),
            form(&short, self.summary(), last),
        ];
        self.fill(canvas, area, forms);
    }

    /// Two rows: what is wrong, and what mends it; the effect between them where there are three.
    pub(super) fn rows(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let [long, short] = self.badge(canvas.glyphs());
        let age = part(self.age(), Role::Muted);
        let bar = part(format!(" {} ", canvas.glyphs().bar), Role::Border);
        let grade = part(findings::grade(self.finding), self.role());
        let name = part(self.finding.grade.name(), self.role());
        let form = |badge: &str, said: String, right: &[&Part]| Form {
            badge: badge.to_owned(),
            said,
            right: right.iter().copied().cloned().collect(),
        };
        let forms = vec![
            form(&long, self.named(), &[&grade, &bar, &age]),
            form(&long, self.summary(), &[&grade, &bar, &age]),
            form(&long, self.summary(), &[&name, &bar, &age]),
            form(&long, self.summary(), &[]),
            form(&short, self.summary(), &[]),
        ];
        let graded = !self.fill(canvas, area, forms).is_empty();
        let mut below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        if below.height > 1 {
            let (room, mark) =
                (usize::from(area.width).saturating_sub(2), canvas.glyphs().ellipsis);
            let effect = text::clean(&self.finding.effect);
            canvas.put(below, 2, 0, &text::cut_words(&effect, room, mark), Role::Fg);
            below = Rect { y: below.y + 1, height: below.height.saturating_sub(1), ..below };
        }
        self.mend(canvas, below, graded);
    }

    /// The last row. It says how sure the finding is where the first has no room for it.
    fn mend(&self, canvas: &mut Canvas<'_>, area: Rect, graded: bool) {
        let (label, said) = self.remedy(false);
        let copy = || self.finding.fix.iter().flat_map(|_| self.key(COPY, "copy"));
        let mut long = self.others(true);
        long.extend(copy());
        if self.more == 0 {
            long.extend(self.key(Command::TopFinding, "evidence"));
        }
        let mut short = self.others(false);
        short.extend(copy().chain(self.key(Command::TopFinding, "why")));
        let mut least = self.others(false);
        least.extend(copy());
        let grade = part(format!("{} ", self.finding.grade.name()), self.role());
        let grade = (!graded).then_some(grade);
        let graded = |right: &[Part]| grade.iter().chain(right).cloned().collect::<Vec<Part>>();
        let room = usize::from(area.width).saturating_sub(2);
        let labelled = if label.is_empty() { 0 } else { text::width(label) + 1 };
        let fits = |said: usize, right: &[Part]| labelled + said + 1 + width(right) <= room;
        // A sentence says what to do first: where enough of it is left, how sure that is and the key
        // that copies all of it are worth more than its end.
        let whole = text::width(&said);
        let forms = [
            (whole, graded(&long)),
            (whole, graded(&short)),
            (whole, graded(&least)),
            (CUT.min(whole), graded(&least)),
            (whole, graded(&[])),
            (whole, Vec::new()),
            (TELLING, graded(&least)),
            (TELLING, graded(&[])),
        ];
        let right = forms.into_iter().find(|(said, right)| fits(*said, right));
        let right = right.map(|(_, right)| right).unwrap_or_default();
        let left = room.saturating_sub(labelled + width(&right) + 1);
        let x = Self::label(canvas, area, 2, 0, label);
        canvas.put(area, x, 0, &text::cut_words(&said, left, canvas.glyphs().ellipsis), Role::Fg);
        canvas.parts_right(area, 0, &right);
    }
}
