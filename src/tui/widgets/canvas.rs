//! Writes parts of text into cells, cleaned and clipped.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::StatefulWidget;

use crate::tui::text;
use crate::tui::theme::{Glyphs, Role, Theme};

/// A piece of text and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The text.
    pub text: String,
    /// Its meaning.
    pub role: Role,
}

/// Returns a part.
pub fn part(text: impl Into<String>, role: Role) -> Part {
    Part { text: text.into(), role }
}

/// Returns the columns that `parts` take.
pub fn width(parts: &[Part]) -> usize {
    parts.iter().map(|part| text::width(&text::clean(&part.text))).sum()
}

/// A row of a list as it was drawn, for the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Its cells.
    pub area: Rect,
    /// Its number in the list.
    pub row: usize,
}

/// The cells of the screen with the theme that colours them. Nothing outside of them is written.
#[derive(Debug)]
pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    theme: &'a Theme,
    spots: Vec<Spot>,
}

impl<'a> Canvas<'a> {
    /// Returns a canvas over `buffer`.
    pub const fn new(buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        Self { buffer, theme, spots: Vec::new() }
    }

    /// Notes that row `y` of `area` shows row `row` of a list.
    pub fn spot(&mut self, area: Rect, y: u16, row: usize) {
        let line = Rect { y: area.y.saturating_add(y), height: 1, ..area };
        self.spots.push(Spot { area: self.clip(line), row });
    }

    /// Notes that the first `count` rows of `area` show a list from row `first` on.
    pub fn spots(&mut self, area: Rect, first: usize, count: usize) {
        for y in 0..count {
            self.spot(area, text::coordinate(y), first + y);
        }
    }

    /// Returns the rows of lists that were drawn, those on top last.
    pub fn into_spots(self) -> Vec<Spot> {
        self.spots
    }

    /// Returns the characters to draw with.
    pub const fn glyphs(&self) -> &'static Glyphs {
        self.theme.glyphs()
    }

    /// Returns true when no role has a colour.
    pub fn is_colourless(&self) -> bool {
        self.theme.is_colourless()
    }

    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Returns the style of a role in bold.
    pub fn strong(&self, role: Role) -> Style {
        self.theme.strong(role)
    }

    /// Returns the style of a role between the ground, at 0, and its own colour, at 1.
    pub fn shade(&self, role: Role, strength: f64) -> Style {
        self.theme.shade(role, strength)
    }

    /// Returns the part of `area` that exists.
    pub fn clip(&self, area: Rect) -> Rect {
        area.intersection(*self.buffer.area())
    }

    /// Empties `area`.
    pub fn clear(&mut self, area: Rect) {
        let area = self.clip(area);
        let blank = Style::reset().patch(self.theme.base());
        for y in area.top()..area.bottom() {
            self.buffer.set_stringn(
                area.x,
                y,
                " ".repeat(area.width.into()),
                area.width.into(),
                blank,
            );
        }
    }

    /// Adds `role` to the cells of `area`.
    pub fn tint(&mut self, area: Rect, role: Role) {
        let area = self.clip(area);
        let style = self.style(role);
        self.buffer.set_style(area, style);
    }

    /// Turns the cells of `area` back that were turned inside out.
    pub fn upright(&mut self, area: Rect) {
        let area = self.clip(area);
        self.buffer.set_style(area, Style::new().remove_modifier(Modifier::REVERSED));
    }

    /// Gives the cells of `area` the ground that tells one cluster from another, where there is one.
    pub fn mark(&mut self, area: Rect) {
        if let Some(style) = self.theme.mark() {
            let area = self.clip(area);
            self.buffer.set_style(area, style);
        }
    }

    /// Draws a widget of another crate into `area`. Its texts must be clean.
    pub fn widget<W: StatefulWidget>(&mut self, widget: W, area: Rect, state: &mut W::State) {
        let area = self.clip(area);
        widget.render(area, self.buffer, state);
    }

    /// Draws the same where nobody sees it, for what it notes in `state`.
    pub fn rehearse<W: StatefulWidget>(&self, widget: W, area: Rect, state: &mut W::State) {
        let area = self.clip(area);
        widget.render(area, &mut Buffer::empty(area), state);
    }

    /// Writes `text` at column `x` and row `y` of `area`; returns the column after it.
    pub fn put(&mut self, area: Rect, x: u16, y: u16, text: &str, role: Role) -> u16 {
        self.put_styled(area, x, y, text, self.style(role))
    }

    /// Writes `text` as [`Canvas::put`] does, as a label that must be seen.
    pub fn badge(&mut self, area: Rect, x: u16, y: u16, text: &str, role: Role) -> u16 {
        self.put_styled(area, x, y, text, self.theme.badge(role))
    }

    /// Writes `text` as [`Canvas::put`] does, in a style of its own.
    pub fn put_styled(&mut self, area: Rect, x: u16, y: u16, text: &str, style: Style) -> u16 {
        let area = self.clip(area);
        if x >= area.width || y >= area.height {
            return x;
        }
        let room = usize::from(area.width - x);
        let (end, _) =
            self.buffer.set_stringn(area.x + x, area.y + y, text::clean(text), room, style);
        end.saturating_sub(area.x)
    }

    /// Writes `parts` one after the other into row `y` of `area`, from column `x` on.
    pub fn parts(&mut self, area: Rect, x: u16, y: u16, parts: &[Part]) -> u16 {
        parts.iter().fold(x, |x, part| self.put(area, x, y, &part.text, part.role))
    }

    /// Writes `parts` to the right end of row `y` of `area`, if they fit.
    pub fn parts_right(&mut self, area: Rect, y: u16, parts: &[Part]) {
        let needed = text::coordinate(width(parts));
        if needed <= area.width {
            self.parts(area, area.width - needed, y, parts);
        }
    }
}
