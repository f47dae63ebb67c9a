//! The screen as a picture: the cells that the TUI draws, as text, Markdown, HTML, SVG or a film of several pages.

mod ansi;
mod film;
mod html;
mod markdown;
mod svg;

use std::sync::Arc;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::domain::{Timestamp, steers};
use crate::engine::Engine;
use crate::report;
use crate::snapshot::{Feed, Snapshot};
use crate::tui::command::{Format, View};
use crate::tui::graph::gallery;
use crate::tui::labels::Labels;
use crate::tui::line;
use crate::tui::panels::headline::Figure;
use crate::tui::shell::Shell;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Level, Theme, ThemeError, Themes, contrast};
use crate::tui::widgets::canvas::Canvas;

/// A drawing of one view, in one size and theme.
#[derive(Debug)]
pub struct Drawing {
    shell: Shell,
    theme: Theme,
    size: (u16, u16),
}

impl Drawing {
    /// Returns the drawing of `view` in columns and rows. A theme that leaves its colours to the
    /// terminal gets some of its own, because a file has no terminal.
    pub fn new(
        view: View,
        size: (u16, u16),
        theme: &str,
        themes: &Themes,
        glyphs: &'static Glyphs,
    ) -> Result<Self, ThemeError> {
        let theme = theme_for_files(theme, themes, glyphs)?;
        let mut shell = Shell::new("", Vec::new());
        let nothing = Snapshot::default();
        shell.resize(size.0, size.1, &nothing);
        shell.update(crate::tui::command::Command::Show(view), &nothing);
        Ok(Self { shell, theme, size })
    }

    /// Shows these names beside the hashes of blocks.
    pub fn name_blocks(&mut self, labels: Arc<Labels>) {
        self.shell.name_blocks(labels);
    }

    /// Shows these figures in the headline.
    pub fn head_with(&mut self, figures: Vec<Figure>) {
        self.shell.head_with(figures);
    }

    /// Has graphs cover no more than `span`, where that is less than usual.
    pub fn fit(&mut self, span: Duration) {
        if let Some(window) = line::fitting(span) {
            self.shell.begin_with(window);
        }
    }

    /// Returns the picture that it shows. A view may ask about what an earlier picture shows first.
    pub fn picture(&self, engine: &mut Engine, feed: &Feed, at: Timestamp) -> Snapshot {
        let mut take = |live: &Snapshot| {
            let mut snapshot = engine.snapshot(&self.shell.query(live), at);
            snapshot.feed = feed.clone();
            snapshot
        };
        let first = take(&Snapshot::default());
        take(&first)
    }

    /// Returns the drawings of `pictures` as one SVG that shows each for so many milliseconds.
    pub fn film(&self, pictures: &[Snapshot], each: usize) -> String {
        let ground = ground(&self.theme);
        let pages: Vec<_> = pictures
            .iter()
            .map(|picture| lines(&cells(&self.shell, picture, &self.theme, self.size), &ground))
            .collect();
        let title = pictures.last().map(title).unwrap_or_default();
        film::page(&pages, &ground, self.size, &title, each)
    }

    /// Returns the drawing in `format`.
    pub fn render(&self, snapshot: &Snapshot, format: Format) -> String {
        render(&self.shell, snapshot, &self.theme, self.size, format)
    }
}

/// Returns the theme called `name` in all colours; `dark` where it leaves them to the terminal. One
/// without colours has none here either.
pub fn theme_for_files(
    name: &str,
    themes: &Themes,
    glyphs: &'static Glyphs,
) -> Result<Theme, ThemeError> {
    let theme = themes.theme(name, Level::True, glyphs)?;
    let own = theme.base().bg.and_then(contrast::hex).is_some();
    if own || theme.is_colourless() { Ok(theme) } else { themes.theme("dark", Level::True, glyphs) }
}

/// Returns what `shell` shows of `snapshot`, without what lies over it.
pub fn render(
    shell: &Shell,
    snapshot: &Snapshot,
    theme: &Theme,
    (columns, rows): (u16, u16),
    format: Format,
) -> String {
    let shown = shell.picture(snapshot);
    match format {
        Format::Json => return report::json::snapshot(shown) + "\n",
        Format::Csv => return report::csv(shown),
        Format::Text | Format::Markdown | Format::Html | Format::Svg => {}
    }
    let ground = ground(theme);
    let lines = lines(&cells(&shell.bare(), snapshot, theme, (columns, rows)), &ground);
    let title = title(shown);
    match format {
        Format::Svg => svg::page(&lines, &ground, (columns, rows), &title),
        Format::Html => html::page(&lines, &ground, &title),
        Format::Markdown => markdown::page(shown, &plain(&lines), &title),
        _ => plain(&lines),
    }
}

/// Returns the cells that `shell` draws.
fn cells(shell: &Shell, snapshot: &Snapshot, theme: &Theme, (columns, rows): (u16, u16)) -> Buffer {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(columns, rows));
    let Ok(frame) = terminal.draw(|frame| shell.draw(snapshot, theme, frame));
    frame.buffer.clone()
}

/// A mode of terminals: its name, a theme, the colours and the characters.
type Mode = (&'static str, &'static str, Level, &'static Glyphs);

/// The modes of the gallery.
const MODES: [Mode; 7] = [
    ("true colour, dark", "dark", Level::True, Glyphs::UNICODE),
    ("true colour, light", "light", Level::True, Glyphs::UNICODE),
    ("256 colours, dark", "dark", Level::TwoHundred, Glyphs::UNICODE),
    ("256 colours, light", "light", Level::TwoHundred, Glyphs::UNICODE),
    ("16 colours of the terminal", "terminal", Level::Sixteen, Glyphs::UNICODE),
    ("no colours", "terminal", Level::Mono, Glyphs::UNICODE),
    ("no colours, ASCII", "terminal", Level::Mono, Glyphs::ASCII),
];

/// Returns every graph in every mode of terminals, with the escape sequences that colour them.
pub fn gallery(themes: &Themes) -> Result<String, ThemeError> {
    let mut page = String::new();
    for (name, theme, level, glyphs) in MODES {
        let theme = themes.theme(theme, level, glyphs)?;
        put(&mut page, format_args!("kvtop gallery: {name}\n\n"));
        page.push_str(&ansi::page(&graphs(&theme)));
        page.push('\n');
    }
    Ok(page)
}

/// Returns every graph in one theme as SVG.
pub fn gallery_svg(theme: &Theme) -> String {
    let ground = ground(theme);
    let lines = lines(&graphs(theme), &ground);
    svg::page(&lines, &ground, gallery::SIZE, "kvtop gallery")
}

fn graphs(theme: &Theme) -> Buffer {
    let area = Rect::new(0, 0, gallery::SIZE.0, gallery::SIZE.1);
    let mut buffer = Buffer::empty(area);
    let mut canvas = Canvas::new(&mut buffer, theme);
    canvas.clear(area);
    gallery::draw(&mut canvas, area);
    buffer
}

fn title(snapshot: &Snapshot) -> String {
    let label = text::clean(&snapshot.deployment.label).into_owned();
    let at = report::rfc3339(snapshot.at);
    let title = ["kvtop", label.as_str(), at.as_str()];
    title.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The colours where a cell says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ground {
    text: String,
    back: String,
}

fn ground(theme: &Theme) -> Ground {
    let base = theme.base();
    let written = |colour: Option<Color>, usual: &str| {
        colour.and_then(contrast::hex).unwrap_or_else(|| usual.to_owned())
    };
    Ground { text: written(base.fg, "#d7dde5"), back: written(base.bg, "#12161c") }
}

/// The style of some cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Look {
    text: Option<String>,
    back: Option<String>,
    modifier: Modifier,
}

/// Cells beside each other that look alike.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    column: usize,
    columns: usize,
    text: String,
    look: Look,
}

/// Returns the rows of a buffer as runs.
fn lines(buffer: &Buffer, ground: &Ground) -> Vec<Vec<Run>> {
    let area = buffer.area;
    (area.top()..area.bottom())
        .map(|y| {
            let mut runs: Vec<Run> = Vec::new();
            let mut x = area.left();
            while x < area.right() {
                let cell = &buffer[(x, y)];
                // A wide character covers the cell behind it.
                let columns = text::width(cell.symbol()).max(1);
                let look = look((cell.fg, cell.bg), cell.modifier, ground);
                match runs.last_mut() {
                    Some(run) if run.look == look => {
                        run.columns += columns;
                        run.text.push_str(cell.symbol());
                    }
                    _ => runs.push(Run {
                        column: usize::from(x - area.left()),
                        columns,
                        text: cell.symbol().to_owned(),
                        look,
                    }),
                }
                x = x.saturating_add(text::coordinate(columns));
            }
            runs
        })
        .collect()
}

fn look((fg, bg): (Color, Color), modifier: Modifier, ground: &Ground) -> Look {
    let (mut text, mut back) = (contrast::hex(fg), contrast::hex(bg));
    if modifier.contains(Modifier::REVERSED) {
        // Without colours of its own a cell has those of the ground, the other way round.
        let turned = (text.unwrap_or(ground.text.clone()), back.unwrap_or(ground.back.clone()));
        (back, text) = (Some(turned.0), Some(turned.1));
    }
    Look { text, back, modifier }
}

/// Returns the characters alone.
fn plain(lines: &[Vec<Run>]) -> String {
    let mut page = String::new();
    for runs in lines {
        let line: String = runs.iter().map(|run| run.text.as_str()).collect();
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page
}

/// Returns `text` as HTML and XML write it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // What XML cannot hold at all.
            letter if steers(letter) => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    std::fmt::Write::write_fmt(page, text).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn usual() -> Ground {
        Ground { text: "#ffffff".to_owned(), back: "#000000".to_owned() }
    }

    #[test]
    fn cells_become_runs_of_one_look() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
        buffer.set_string(0, 0, "ab", Style::new().fg(Color::Rgb(1, 2, 3)));
        buffer.set_string(2, 0, "世", Style::new());
        buffer.set_string(4, 0, "<&", Style::new().add_modifier(Modifier::BOLD));
        let rows = lines(&buffer, &usual());
        let runs: Vec<_> =
            rows[0].iter().map(|run| (run.column, run.columns, run.text.as_str())).collect();
        assert_eq!(runs, [(0, 2, "ab"), (2, 2, "世"), (4, 2, "<&"), (6, 2, "  ")]);
        assert_eq!(rows[0][0].look.text.as_deref(), Some("#010203"));
        assert_eq!(plain(&rows), "ab世<&\n");
        assert_eq!(escaped("<a href=\"x\">&\u{1b}"), "&lt;a href=&quot;x&quot;&gt;&amp; ");
    }

    #[test]
    fn what_is_turned_inside_out_changes_places() {
        let of = |colours| {
            let look = look(colours, Modifier::REVERSED, &usual());
            [look.text, look.back].map(Option::unwrap)
        };
        assert_eq!(of((Color::Rgb(1, 1, 1), Color::Rgb(2, 2, 2))), ["#020202", "#010101"]);
        assert_eq!(of((Color::Reset, Color::Reset)), ["#000000", "#ffffff"]);
    }
}
