//! A table whose columns go, whole, when there is no room; numbers are never cut.

use ratatui::layout::Rect;

use super::canvas::{Canvas, Part, part};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};

/// To which side of its column a cell goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub title: &'static str,
    /// Its width, without the space to its right.
    pub width: usize,
    /// The alignment of its cells.
    pub align: Align,
    /// The lowest goes first. Of the three highest only numbers go, which would be cut otherwise. A column
    /// of rank 0 is never shown.
    pub rank: u8,
}

/// A table, as it would be with all the room there is.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// A cell for each column, for each row.
    pub rows: Vec<Vec<Part>>,
    /// A row that stays below the others.
    pub total: Option<Vec<Part>>,
}

impl Table {
    /// Puts a mark beside row `at`, in a column of its own that stays longest.
    pub fn point_at(&mut self, at: usize, glyphs: &Glyphs) {
        let column = Column { title: "", width: 1, align: Align::Left, rank: u8::MAX };
        self.columns.insert(0, column);
        for (row, cells) in self.rows.iter_mut().enumerate() {
            cells.insert(0, part(if row == at { glyphs.mark } else { " " }, Role::Key));
        }
        if let Some(total) = &mut self.total {
            total.insert(0, part(" ", Role::Fg));
        }
    }

    /// Returns which columns fit into `room`.
    pub fn fitting(&self, room: usize) -> Vec<usize> {
        let shown = |at: &usize| self.columns[*at].rank > 0;
        let mut kept: Vec<usize> = (0..self.columns.len()).filter(shown).collect();
        loop {
            let needed: usize = kept.iter().map(|&at| self.columns[at].width + 1).sum();
            let few = kept.len() <= 3;
            let goes = |at: &usize| !few || self.columns[*at].align == Align::Right;
            let lowest = kept.iter().copied().filter(goes).min_by_key(|&at| self.columns[at].rank);
            if needed <= room + 1 || lowest.is_none() {
                return kept;
            }
            kept.retain(|&at| Some(at) != lowest);
        }
    }

    /// Draws names, rows from `first` on, and the total, as far as `area` has rows.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect, names: bool, first: usize) {
        let columns = self.fitting(area.width.into());
        let mut y = 0;
        if names {
            self.names(canvas, area, &columns);
            y = 1;
        }
        let below = self.rows_below(area.height.saturating_sub(y));
        let last = area.height.saturating_sub(below);
        for (number, row) in self.rows.iter().enumerate().skip(first) {
            if y >= last {
                break;
            }
            canvas.spot(area, y, number);
            self.row(canvas, area, y, &columns, row);
            y += 1;
        }
        if let Some(total) = self.total.as_ref().filter(|_| below > 0) {
            if below > 1 {
                let rule = canvas.glyphs().rule.repeat(area.width.into());
                canvas.put(area, 0, y, &rule, Role::Border);
                y += 1;
            }
            self.row(canvas, area, y, &columns, total);
        }
    }

    /// Returns the rows that stay below the scrolled ones: the total, and a rule above it.
    fn rows_below(&self, height: u16) -> u16 {
        match (&self.total, height) {
            (None, _) | (Some(_), 0..=2) => 0,
            (Some(_), 3) => 1,
            (Some(_), 4..) => 2,
        }
    }

    /// Returns true when there is a row for names: two rows of names would leave none for the others.
    pub const fn names_fit(height: u16) -> bool {
        height >= 3
    }

    /// Returns how many rows can be seen at once in `height`, names included in it where they fit.
    pub fn page(&self, height: u16) -> usize {
        let height = if Self::names_fit(height) { height - 1 } else { height };
        usize::from(height.saturating_sub(self.rows_below(height)))
    }

    fn names(&self, canvas: &mut Canvas<'_>, area: Rect, columns: &[usize]) {
        let mut x = 0;
        for &at in columns {
            let column = self.columns[at];
            let name = aligned(column.title, column);
            canvas.put(area, text::coordinate(x), 0, &name, Role::Title);
            x += column.width + 1;
        }
    }

    fn row(&self, canvas: &mut Canvas<'_>, area: Rect, y: u16, columns: &[usize], row: &[Part]) {
        let mut x = 0;
        for &at in columns {
            let column = self.columns[at];
            if let Some(cell) = row.get(at) {
                let text = aligned(&text::clean(&cell.text), column);
                canvas.put(area, text::coordinate(x), y, &text, cell.role);
            }
            x += column.width + 1;
        }
    }
}

fn aligned(text: &str, column: Column) -> String {
    match column.align {
        Align::Left => text::pad(text, column.width),
        Align::Right => text::pad_left(text, column.width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_goes_before_it_is_cut() {
        let column = |width, align, rank| Column { title: "", width, align, rank };
        let columns = vec![
            column(1, Align::Left, 50),
            column(10, Align::Left, 40),
            column(6, Align::Right, 30),
            column(4, Align::Right, 20),
        ];
        let table = Table { columns, ..Table::default() };
        let fitting = [24, 23, 19, 18, 5].map(|room| table.fitting(room).len());
        assert_eq!(fitting, [4, 3, 3, 2, 2]);
    }
}
