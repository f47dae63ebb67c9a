//! The help: keys from the key table, commands, marks, and what the columns mean. What is typed narrows
//! it, and what has an action is run from it.

use ratatui::layout::Rect;

use super::centred;
use crate::tui::command::Command;
use crate::tui::filter::SYNTAX;
use crate::tui::keymap::names::{action, with_keys};
use crate::tui::keymap::{Focus, Keymap};
use crate::tui::line;
use crate::tui::panels::workers::Col;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, part};
use crate::tui::widgets::panel::{self, Heading};

/// Widest that the help gets.
const WIDTH: u16 = 84;
/// Columns of a key or a term.
const TERM: usize = 10;
/// Columns of a command.
const LINE: usize = 28;

/// Columns of a meaning that says something.
const LEAST: usize = 12;

/// Columns of the tables of prefixes and of decisions.
const MORE_COLUMNS: [(&str, &str); 11] = [
    ("EDGE", "tree: consecutive blocks without a branch"),
    ("SUBTREE", "tree: blocks there and below"),
    ("CUM TOK", "tree: tokens from the root to its end; CUM BLK in blocks"),
    ("ON", "tree: share that each worker has, w0 first"),
    ("HEAT/m", "tree: stores per minute, there and below"),
    ("HITS/m", "tree: requests per minute that start with it; needs replica sync"),
    ("LOGIT", "routing: cost of the chosen worker; the lowest wins"),
    ("CACHED", "routing: blocks of the prompt that the worker had"),
    ("PREFILL", "routing: cost of uncached prompt blocks"),
    ("ACTIVE", "routing: blocks that run there already"),
    ("MARGIN", "routing: cost gap to the runner-up"),
];

/// The text typed to narrow the list, and the selected entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The text typed.
    pub typed: String,
    /// Number of the entry among those that are shown.
    pub at: usize,
}

/// The contents of the help.
#[derive(Clone, Copy, Debug)]
pub struct Book<'a> {
    /// The keys that hold.
    pub keys: &'a Keymap,
    /// The view below.
    pub focus: Focus,
    /// Names of themes, for the commands.
    pub themes: &'a [String],
    /// True in a demo, which has commands of its own.
    pub demo: bool,
}

/// Something explained, with the command that does it.
struct Entry {
    term: String,
    meaning: String,
    role: Role,
    runs: Option<Command>,
    /// More words by which it is found.
    words: String,
}

enum Row {
    Blank,
    Heading(&'static str),
    Entry(Entry),
}

impl Book<'_> {
    /// Returns how many entries match what was typed.
    pub fn count(&self, typed: &str) -> usize {
        let rows = self.rows(typed, Glyphs::UNICODE);
        rows.iter().filter(|row| matches!(row, Row::Entry(_))).count()
    }

    /// Returns the command of the selected entry, if it has one.
    pub fn command(&self, search: &Search) -> Option<Command> {
        let rows = self.rows(&search.typed, Glyphs::UNICODE).into_iter();
        let mut entries = rows.filter_map(|row| match row {
            Row::Entry(entry) => Some(entry),
            Row::Blank | Row::Heading(_) => None,
        });
        entries.nth(search.at)?.runs
    }

    /// Returns the sections with the entries that match, without those that have none.
    fn rows(&self, typed: &str, glyphs: &Glyphs) -> Vec<Row> {
        let typed = typed.to_lowercase();
        let matches = |entry: &Entry| {
            let said = format!("{} {} {}", entry.term.trim(), entry.meaning, entry.words);
            let said = said.to_lowercase();
            typed.split_whitespace().all(|word| said.contains(word))
        };
        let mut rows = Vec::new();
        for (title, entries) in self.sections(glyphs) {
            let found: Vec<Entry> = entries.into_iter().filter(&matches).collect();
            if found.is_empty() {
                continue;
            }
            if !rows.is_empty() {
                rows.push(Row::Blank);
            }
            rows.push(Row::Heading(title));
            rows.extend(found.into_iter().map(Row::Entry));
        }
        rows
    }

    fn sections(&self, glyphs: &Glyphs) -> [(&'static str, Vec<Entry>); 5] {
        let explained = |term: &str, meaning: &str, role| Entry {
            term: text::pad(term, TERM),
            meaning: meaning.to_owned(),
            role,
            runs: None,
            words: String::new(),
        };
        let bindings = self.keys.bindings(self.focus).filter(|binding| !binding.help.is_empty());
        let keys = bindings.map(|binding| Entry {
            runs: Some(binding.command),
            // The action and the hint: `toggle-zoom`, as `:zoom` and the footer call it.
            words: format!("{} {}", action(binding.command), binding.hint.unwrap_or_default()),
            ..explained(binding.shown, binding.help, Role::Key)
        });
        let commands = line::known(self.themes, self.demo).into_iter().map(|(line, does)| Entry {
            term: text::pad(&format!(":{line}"), LINE),
            meaning: does.to_owned(),
            role: Role::Key,
            runs: line::parse(&line, self.themes, self.demo).ok(),
            words: String::new(),
        });
        let warming = "earlier blocks are unknown, so rejected stores prove nothing yet";
        let marks = [
            (glyphs.ok, "proven good", Role::Ok),
            (glyphs.warn, "worth a look", Role::Warn),
            (glyphs.fail, "broken", Role::Crit),
            (glyphs.unknown, "unknown; never counts as healthy", Role::Unknown),
            (glyphs.gone, "worker has left", Role::Muted),
            (glyphs.info, "note (no banner)", Role::Fg),
            ("warming", warming, Role::Unknown),
            (glyphs.none, "not reported (not 0)", Role::Muted),
            ("+7", "events: 7 similar ones in the same second", Role::Muted),
        ];
        let marks = marks.map(|(term, meaning, role)| explained(term, meaning, role));
        let filter = SYNTAX.map(|(word, meaning)| explained(word, meaning, Role::Key));
        let columns = Col::ALL.iter().copied().filter(|col| !col.title(glyphs).is_empty());
        let columns = columns.map(|col| explained(col.title(glyphs), col.about(), Role::Title));
        let more = MORE_COLUMNS.map(|(title, says)| explained(title, says, Role::Title));
        [
            ("Keys", keys.collect()),
            ("Marks", marks.into()),
            ("Filter", filter.into()),
            ("Columns", columns.chain(more).collect()),
            ("Commands", commands.collect()),
        ]
    }
}

/// Draws the help over `area`, around the entry that is selected.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, book: &Book<'_>, search: &Search) {
    let glyphs = canvas.glyphs();
    // It keeps its size while it is narrowed, so that nothing jumps.
    let wanted = text::coordinate(book.rows("", glyphs).len()).saturating_add(2);
    let over = centred(area, area.width.min(WIDTH), area.height.min(wanted));
    canvas.clear(over);
    let rows = book.rows(&search.typed, glyphs);
    let page = usize::from(over.height.saturating_sub(2));
    let entries = rows.iter().enumerate().filter(|(_, row)| matches!(row, Row::Entry(_)));
    let selected = entries.map(|(at, _)| at).nth(search.at);
    let first = selected.unwrap_or(0).saturating_sub(page / 2);
    let first = first.min(rows.len().saturating_sub(page));
    let below = rows.len().saturating_sub(first + page);
    let keys = if over.width >= 60 { "{pick} runs  {back} closes" } else { "{back} closes" };
    let keys = with_keys(book.keys, keys);
    let mut notes = vec![part(keys, Role::Muted)];
    if below > 0 {
        notes.insert(0, part(format!("{below} more {}  ", glyphs.down), Role::Muted));
    }
    let title = match search.typed.as_str() {
        "" => String::from("Help, type to search"),
        typed => format!("Help: {typed}"),
    };
    let inner = panel::draw(canvas, over, &Heading { title, notes, focused: true });
    if rows.is_empty() {
        canvas.put(inner, 2, 0, "no match", Role::Warn);
    }
    for (y, (at, row)) in rows.iter().enumerate().skip(first).take(inner.height.into()).enumerate()
    {
        let y = text::coordinate(y);
        match row {
            Row::Blank => {}
            Row::Heading(title) => {
                canvas.put(inner, 0, y, title, Role::Title);
            }
            Row::Entry(entry) => {
                let pointed = selected == Some(at);
                let mark = if pointed { glyphs.mark } else { " " };
                let meaning = if pointed { Role::Title } else { Role::Fg };
                let room = usize::from(inner.width).saturating_sub(2);
                // Where little is left beside the column of terms, there is no such column.
                let aligned = room >= text::width(&entry.term) + LEAST;
                let term = if aligned { entry.term.as_str() } else { entry.term.trim_end() };
                let term = text::cut(term, room, glyphs.ellipsis);
                let left = room.saturating_sub(text::width(&term) + 1);
                let said = text::cut_words(&entry.meaning, left, glyphs.ellipsis);
                let parts = [
                    part(format!("{mark} "), Role::Key),
                    part(term, entry.role),
                    part(format!(" {said}"), meaning),
                ];
                canvas.parts(inner, 0, y, &parts);
                let before = rows.iter().take(at).filter(|row| matches!(row, Row::Entry(_)));
                canvas.spot(inner, y, before.count());
            }
        }
    }
}
