//! Drawing: bars, panels, and what lies over them.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Open, Shell, scope};
use crate::domain::Timestamp;
use crate::snapshot::{Feed, Snapshot};
use crate::tui::command::{Command, Edit, Past, View};
use crate::tui::keymap::names::key_or_line;
use crate::tui::layout::{self, Layout};
use crate::tui::line::{self, Sense};
use crate::tui::markers;
use crate::tui::overlay::{help, palette, picker};
use crate::tui::panels::tree::sums;
use crate::tui::panels::{self, Look, PanelId, banner, bars, fleet, footer, status};
use crate::tui::theme::{Glyphs, Role, Theme};
use crate::tui::views;
use crate::tui::widgets::canvas::{Canvas, Part, Spot, part};

/// Columns of the program's name in the status bar.
const NAME: u16 = 7;

impl Shell {
    /// Draws `live`, or the picture that is held, on the whole of `frame`.
    pub fn draw(&self, live: &Snapshot, theme: &Theme, frame: &mut Frame<'_>) {
        self.paint(live, frame.buffer_mut(), theme);
    }

    /// Returns the rows of lists that are on the screen, those on top last.
    pub(super) fn spots(&self, live: &Snapshot, theme: &Theme) -> Vec<Spot> {
        let (width, height) = self.screen;
        self.paint(live, &mut Buffer::empty(Rect::new(0, 0, width, height)), theme)
    }

    fn paint(&self, live: &Snapshot, buffer: &mut Buffer, theme: &Theme) -> Vec<Spot> {
        let whole = buffer.area;
        let mut canvas = Canvas::new(buffer, theme);
        canvas.clear(whole);
        if let Some(fleet) = &live.fleet {
            let rest = Rect { height: whole.height.saturating_sub(1), ..whole };
            let footer = Rect { y: whole.y + rest.height, height: 1.min(whole.height), ..whole };
            fleet::draw(&mut canvas, rest, fleet, &self.fleet, self.now(live));
            self.footer(&mut canvas, &Layout { footer, ..Layout::default() }, live);
            self.overlay(&mut canvas, whole, live);
            return canvas.into_spots();
        }
        let ((width, height), strip) = self.divided((whole.width, whole.height));
        let area = Rect { width, height, ..whole };
        self.draw_tour(&mut canvas, strip, live);
        let layout = self.layout(area, live);
        let rows = self.banner(area, live);
        let now = self.now(live);
        let collapsed = self.is_collapsed(live);
        let (verdict, time) = (self.verdict(live), self.verdict_time(live));
        let past = !std::ptr::eq(verdict, live);
        let form = banner::Form { rows, collapsed, past, screen: area.height };
        banner::draw(&mut canvas, layout.banner, verdict, time, form, &self.keys);
        let held = self.held(live, theme.glyphs());
        let held = held.as_deref();
        let no_views = held.filter(|_| layout.views.is_empty() && layout.past.is_empty());
        if !layout.status.is_empty() {
            status::draw(&mut canvas, layout.status, live, now, no_views, held.is_some());
            canvas.mark(Rect { width: NAME.min(layout.status.width), ..layout.status });
        }
        match &live.feed {
            Feed::Live => {}
            Feed::Replay(playback) => {
                let markers = markers::known(live, theme.glyphs());
                bars::replay(&mut canvas, layout.playback, playback, &markers);
            }
            Feed::Demo(demo) => bars::demo(&mut canvas, layout.marker, demo, &self.keys),
        }
        let state = state(live, held, theme.glyphs());
        let window = self.look.window;
        bars::views(&mut canvas, layout.views, self.view, self.verdict(live), window, &state);
        if let Some(moment) = self.moment(live) {
            let back = key_or_line(&self.keys, Command::Past(Past::Now));
            bars::past(&mut canvas, layout.past, moment, live, &back);
        }
        self.panels(&mut canvas, live, &layout);
        match held.filter(|_| layout.status.is_empty() && layout.footer.height > 0) {
            Some(held) if self.message.is_none() && self.open == Open::Nothing => {
                footer::message(&mut canvas, layout.footer, held, Role::Warn);
            }
            _ => self.footer(&mut canvas, &layout, live),
        }
        self.overlay(&mut canvas, area, live);
        canvas.into_spots()
    }

    /// Draws what lies over the view.
    fn overlay(&self, canvas: &mut Canvas<'_>, area: Rect, live: &Snapshot) {
        match &self.open {
            Open::Help(search) => help::draw(canvas, area, &self.book(live), search),
            Open::Picker(picker) => picker::draw(canvas, area, picker, &self.keys),
            Open::Line(_) => {
                let entries = self.palette(live);
                palette::draw(canvas, area, &entries, self.palette_at, &self.keys);
            }
            Open::Nothing | Open::Filter(_) => {}
        }
    }

    fn panels(&self, canvas: &mut Canvas<'_>, live: &Snapshot, layout: &layout::Layout) {
        let look = Look { focus: layout.focus(self.look.focus), ..self.look.clone() };
        let context = self.view_context(live, layout).panel_context(&look);
        for (id, area) in &layout.panels {
            panels::draw(canvas, *area, *id, &context);
        }
    }

    fn footer(&self, canvas: &mut Canvas<'_>, layout: &layout::Layout, live: &Snapshot) {
        let area = layout.footer;
        let demo = matches!(live.feed, Feed::Demo(_));
        match (&self.open, &self.message) {
            (Open::Line(typed), Some(message)) => {
                footer::answered(canvas, area, typed, &message.text, Role::Warn);
            }
            (Open::Line(typed), None) if line::scope(typed).is_some() => {
                let hint = scope::hint(typed, live);
                footer::answered(canvas, area, typed, &hint, Role::Muted);
            }
            (Open::Line(typed), None) => {
                let lines = line::suggestions(typed, &self.themes, demo);
                if lines.is_empty() {
                    let (said, role) = self.said_of(typed, live);
                    footer::answered(canvas, area, typed, &said, role);
                    return;
                }
                let taken = line::taken(typed, &self.themes, demo).is_some();
                let key = if taken { Edit::Submit } else { Edit::Complete };
                let key = key_or_line(&self.keys, Command::Edit(key));
                footer::line(canvas, area, typed, &lines, &key);
            }
            (Open::Filter(_), _) => {
                let filter = views::view(self.view).filter;
                let typed = filter.map(|filter| filter(&mut self.look.clone()).clone());
                footer::filter(canvas, area, &typed.unwrap_or_default(), &self.keys);
            }
            (_, Some(message)) => {
                let role = if message.grave { Role::Warn } else { Role::Fg };
                footer::message(canvas, area, &message.text, role);
            }
            (Open::Nothing | Open::Help(_) | Open::Picker(_), None) => {
                match self.searched(live, layout, canvas.glyphs()) {
                    Some((said, role)) => footer::message(canvas, area, &said, role),
                    None => footer::hints(canvas, area, &self.keys, self.focus(live)),
                }
            }
        }
    }

    /// Returns what a search in the tree has to say, while that is shown.
    fn searched(
        &self,
        live: &Snapshot,
        layout: &layout::Layout,
        glyphs: &Glyphs,
    ) -> Option<(String, Role)> {
        let page = views::tree::page(self.shown(live)).filter(|_| self.view == View::Tree)?;
        if self.open != Open::Nothing {
            return None;
        }
        sums::told(&self.look, page, layout.panel(PanelId::Tree), glyphs)
    }

    /// Returns what is said of a line that no suggestion continues.
    fn said_of(&self, typed: &str, live: &Snapshot) -> (String, Role) {
        let demo = matches!(live.feed, Feed::Demo(_));
        match line::sense(typed, &self.themes, demo) {
            Sense::Runs(about) => {
                let key = key_or_line(&self.keys, Command::Edit(Edit::Submit));
                (format!("{key}: {about}"), Role::Muted)
            }
            Sense::Lacks(why) => (why, Role::Muted),
            Sense::Nothing => match self.selected_entry(live) {
                Some(entry) => {
                    let key = key_or_line(&self.keys, Command::Edit(Edit::Submit));
                    (format!("{key}: {}, {}", entry.line, entry.about), Role::Muted)
                }
                None => (String::from("no command matches"), Role::Warn),
            },
        }
    }

    /// Returns the time that ages are counted from.
    pub(super) fn now(&self, snapshot: &Snapshot) -> Timestamp {
        match snapshot.feed {
            Feed::Replay(_) => snapshot.at,
            Feed::Live | Feed::Demo(_) => snapshot.at.after(self.lag),
        }
    }
}

/// Returns whether the picture moves.
fn state(live: &Snapshot, held: Option<&str>, glyphs: &Glyphs) -> Part {
    match (held, &live.feed) {
        (Some(held), _) => part(held, Role::Warn),
        (None, Feed::Replay(it)) if it.paused => {
            let word = if it.position >= it.end { "at end" } else { "paused" };
            part(format!("{} {word}", glyphs.pause), Role::Warn)
        }
        (None, Feed::Replay(_)) => part(format!("{} replay", glyphs.play), Role::Warn),
        (None, Feed::Live | Feed::Demo(_)) if live.frames == 0 => {
            part(format!("{} no data yet", glyphs.unknown), Role::Unknown)
        }
        (None, Feed::Live | Feed::Demo(_)) => part(format!("{} live", glyphs.play), Role::Ok),
    }
}
