//! The stream of events: everything that happens, filtered, with one selected. The newest is at the
//! bottom.

mod event;

use ratatui::layout::Rect;

use super::{PanelContext, PanelId, events};
use crate::domain::SourceName;
use crate::snapshot::{Answer, EventRow, Snapshot};
use crate::tui::keymap::names::with_keys;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::views;
use crate::tui::views::events::Rows;
use crate::tui::widgets::canvas::{Canvas, Part, part};

pub use event::{draw as event, last, lines_to_copy, page as event_page};

/// Columns of the name of a kind.
const KIND: usize = 6;
/// Columns of a name.
const WHO: (usize, usize) = (2, 18);
/// Columns from which on the time of each event is told.
const TIMED: usize = 30;
/// Columns from which on the source of each event is told.
const SOURCED: usize = 100;
/// The source of log lines.
const LOGS: SourceName = SourceName::Logs;
/// Columns of a source.
const SOURCE: usize = 10;

/// Draws the events around the selected one.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let state = &context.look.events;
    let rows = filtered(context.snapshot, state);
    let at = position(&rows, state.selected);
    let title = title(context.snapshot, rows.len(), state);
    let notes = notes(canvas.glyphs(), context, rows.len(), at);
    let inner = context.frame(canvas, area, PanelId::Stream, title, notes);
    let Some(at) = at else {
        let why = if context.snapshot.events.is_empty() {
            "nothing has happened yet"
        } else {
            "no event matches; Esc clears the filter"
        };
        canvas.put(inner, 0, 0, why, Role::Muted);
        return;
    };
    let height = usize::from(inner.height);
    let pen = Pen::new(context, &rows, inner.width.into(), canvas.glyphs());
    let (first, mut lines) = window(&rows, at, height, |row, selected| pen.lines(row, selected));
    lines.truncate(height);
    debug_assert!(first <= at);
    for (y, line) in lines.iter().enumerate() {
        // A wrapped event takes several lines.
        if !state.wrap {
            canvas.spot(inner, text::coordinate(y), first + y);
        }
        canvas.parts(inner, 0, text::coordinate(y), line);
    }
}

/// Returns the first row to show and all lines from it on: half of the screen below the selected row
/// while there are that many, the selected row at the end where it is the last.
fn window(
    rows: &[&EventRow],
    at: usize,
    height: usize,
    lines: impl Fn(&EventRow, bool) -> Vec<Vec<Part>>,
) -> (usize, Vec<Vec<Part>>) {
    let mut below: Vec<Vec<Part>> = Vec::new();
    for row in rows.iter().skip(at + 1) {
        if below.len() >= height / 2 {
            break;
        }
        below.extend(lines(row, false));
    }
    let own = lines(rows[at], true);
    let room = height.saturating_sub(own.len());
    below.truncate(room.min(below.len()));
    let mut above: Vec<Vec<Vec<Part>>> = Vec::new();
    let (mut first, mut used) = (at, own.len() + below.len());
    while first > 0 && used < height {
        let more = lines(rows[first - 1], false);
        used += more.len();
        // A row that does not fit whole loses its first lines.
        let spare = used.saturating_sub(height);
        above.push(more.into_iter().skip(spare).collect());
        first -= 1;
    }
    let lines = above.into_iter().rev().flatten().chain(own).chain(below).collect();
    (first, lines)
}

/// Returns the events that the filter lets through, oldest first.
pub fn filtered<'a>(snapshot: &'a Snapshot, state: &views::events::State) -> Vec<&'a EventRow> {
    let filter = state.filter();
    let all = state.rows == Rows::Events;
    let wanted = |row: &&EventRow| all || row.source == LOGS;
    let rows = snapshot.events.iter().filter(wanted);
    rows.filter(|row| filter.matches(&(*row).into())).collect()
}

/// Returns where the selected event is among `rows`: the newest where none is selected, and the one
/// before it where it does not match any more. None without rows.
pub fn position(rows: &[&EventRow], selected: Option<u64>) -> Option<usize> {
    let last = rows.len().checked_sub(1)?;
    let Some(number) = selected else { return Some(last) };
    // Rows stand in the order of their times, which is not quite that of their numbers.
    let found = rows.iter().position(|row| row.number == number);
    Some(found.or_else(|| rows.iter().rposition(|row| row.number < number)).unwrap_or(0))
}

/// Returns how many rows of events fit into `area`.
pub fn page(area: Rect, framed: bool) -> usize {
    usize::from(area.height.saturating_sub(if framed { 2 } else { 0 })).max(1)
}

fn title(snapshot: &Snapshot, shown: usize, state: &views::events::State) -> String {
    let all = text::thousands(snapshot.events.len() as u64);
    let lines = state.rows == Rows::LogLines;
    let what = if lines { "Log lines" } else { "Events" };
    match (state.filter().is_empty(), lines) {
        (true, false) => format!("{what}, last {all}"),
        (true, true) => {
            format!("{what}, {} of the last {all} events", text::thousands(shown as u64))
        }
        (false, _) => {
            format!("{what}, {} of {all} match {}", text::thousands(shown as u64), state.typed)
        }
    }
}

fn notes(
    glyphs: &Glyphs,
    context: &PanelContext<'_>,
    count: usize,
    at: Option<usize>,
) -> Vec<Part> {
    let newer = at.map_or(0, |at| count - 1 - at);
    let follow = if context.look.events.selected.is_none() && context.is_still() {
        let (word, mark) = context.newest("", glyphs);
        part(format!("{word} {mark}"), Role::Muted)
    } else if context.look.events.selected.is_none() {
        part(format!("follow {}", glyphs.head), Role::Ok)
    } else {
        let said = with_keys(context.keys, "newer below, {follow} follows");
        part(format!("{} {said}", text::count(newer as u64)), Role::Warn)
    };
    vec![follow, dropped(context)]
}

/// Returns what was lost on the way here.
fn dropped(context: &PanelContext<'_>) -> Part {
    let sources = || context.snapshot.sources.iter();
    let lost = sources().map(|source| source.dropped).fold(0, u64::saturating_add);
    let gaps = sources().map(|source| source.gaps).fold(0, u64::saturating_add);
    let numbered = context.snapshot.workers.iter().filter(|row| !row.gone);
    let numbered = numbered.map(|row| row.ledger.missing).fold(0, u64::saturating_add);
    let stored = context.snapshot.ledger.streams.iter().map(|row| {
        row.counts.aged_out.saturating_add(row.counts.missing).saturating_add(row.unseen)
    });
    let gaps = gaps.max(numbered).saturating_add(stored.fold(0, u64::saturating_add));
    let least = if sources().any(|source| source.drops_uncounted) { "at least " } else { "" };
    let said = format!("  dropped {least}{}, missing {}", text::count(lost), text::count(gaps));
    let role = if lost > 0 || gaps > 0 || !least.is_empty() { Role::Warn } else { Role::Muted };
    part(said, role)
}

/// Returns a log line without the time that it begins with.
fn without_time(line: &str) -> &str {
    let Some((first, rest)) = line.split_once(char::is_whitespace) else { return line };
    let of_time = |letter: char| letter.is_ascii_digit() || "-:.+TZ".contains(letter);
    let is_time = first.len() >= 19 && first.chars().all(of_time) && first.contains('T');
    if is_time { rest.trim_start() } else { line }
}

/// Returns the message of a log line, without level and module, which would fill a narrow list.
fn without_target(line: &str) -> &str {
    let levels = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];
    let said = line.trim_start().split_once(' ').filter(|(level, _)| levels.contains(level));
    let said = said.and_then(|(_, rest)| rest.trim_start().split_once(": "));
    // A module has no blanks: with blanks, the text before the colon is part of the message.
    let said = said.filter(|(module, _)| !module.contains(char::is_whitespace));
    said.map_or(line, |(_, said)| said.trim_start())
}

/// The context in which rows are written.
struct Pen<'a> {
    context: &'a PanelContext<'a>,
    glyphs: &'static Glyphs,
    width: usize,
    who: usize,
}

impl<'a> Pen<'a> {
    fn new(
        context: &'a PanelContext<'a>,
        rows: &[&EventRow],
        width: usize,
        glyphs: &'static Glyphs,
    ) -> Self {
        let who = rows.iter().map(|row| text::width(&text::clean(&row.who))).max().unwrap_or(0);
        let most = match width {
            0..TIMED => 5,
            TIMED..70 => 8,
            70..100 => 10,
            _ => WHO.1,
        };
        Self { context, glyphs, width, who: who.clamp(WHO.0, most) }
    }

    /// Returns the log line of an event, where lines are wanted and kept.
    fn line(&self, row: &EventRow) -> Option<&str> {
        let Answer::Lines(lines) = self.context.answer else { return None };
        let lines = Some(lines).filter(|_| self.context.look.events.rows == Rows::LogLines)?;
        let line = lines.iter().find(|line| line.number == row.number)?;
        // The row already shows time and level.
        let text = if self.width < TIMED { &line.text } else { without_time(&line.text) };
        let whole = self.width >= SOURCED || self.context.look.events.wrap;
        Some(if whole { text } else { without_target(text) })
    }

    fn time(&self, row: &EventRow) -> String {
        let ago = self.context.now.since(row.at);
        if self.width < TIMED {
            // What happened, and to whom, is worth more.
            return String::new();
        }
        let time = match (self.context.look.events.relative, self.width >= 50) {
            (true, _) => text::pad_left(&format!("-{}", text::span(ago)), 8),
            (false, true) => text::clock_millis(row.at),
            (false, false) => text::clock(row.at),
        };
        format!("{time} ")
    }

    /// Returns the rows of an event: one, or as many as its text needs where texts are wrapped.
    fn lines(&self, row: &EventRow, selected: bool) -> Vec<Vec<Part>> {
        let glyphs = self.glyphs;
        let (mark, role) = events::mark(row.gravity, glyphs);
        let pointer = if selected { glyphs.mark } else { " " };
        let name = text::cut_middle(&text::clean(&row.who), self.who, glyphs.ellipsis);
        let time = self.time(row);
        let head = format!("{} {:KIND$} ", text::pad(&name, self.who), row.kind.name());
        let source = if self.width >= SOURCED {
            let source = text::cut(&text::clean(row.source.as_str()), SOURCE, glyphs.ellipsis);
            format!("{} ", text::pad(&source, SOURCE))
        } else {
            String::new()
        };
        let fixed = 2 + text::width(&time) + text::width(&source) + text::width(&head) + 2;
        let said = text::clean(self.line(row).unwrap_or(&row.text));
        let more = events::repeats(row.repeats);
        let room = self.width.saturating_sub(fixed + text::width(&more));
        let mut texts = if self.context.look.events.wrap {
            text::wrap(&said, room.max(1))
        } else {
            // A hash or a number stays whole or goes.
            vec![text::cut_words(&said, room, glyphs.ellipsis)]
        };
        let kind = if role == Role::Fg { Role::Muted } else { role };
        let body = if selected { Role::Title } else { Role::Fg };
        let indent = " ".repeat(fixed.saturating_sub(2));
        let rest = texts.split_off(1.min(texts.len()));
        let first = texts.pop().unwrap_or_default();
        let mut lines = vec![vec![
            part(format!("{pointer} "), Role::Key),
            part(time, Role::Muted),
            part(source, Role::Muted),
            part(head, kind),
            part(text::pad(&first, room), body),
            part(more, Role::Muted),
            part(format!(" {mark}"), role),
        ]];
        lines.extend(rest.into_iter().map(|line| vec![part(format!("{indent}{line}"), body)]));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_is_told_without_what_stands_beside_it() {
        let line = "2026-11-22T02:42:59.001842Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: 7";
        let said = without_time(line);
        assert_eq!(said, "INFO dynamo_llm::kv_router::scheduler: Selected worker: 7");
        assert_eq!(without_target(said), "Selected worker: 7");

        for other in [
            "INFO",
            "INFO Starting server: port 8000",
            "{\"time\":\"2026-11-22T02:42:59Z\"}",
            "To be or not to be: that",
            "",
            "é: 1",
        ] {
            assert_eq!(without_target(without_time(other)), other);
        }
    }
}
