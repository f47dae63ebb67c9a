//! The selected event with the frame that it was made from: decoded, and as it came.

use ratatui::layout::Rect;

use super::{filtered, position};
use crate::snapshot::{Answer, EventDetail, EventRow, FrameView};
use crate::tui::panels::{PanelContext, PanelId, events, reader};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::sheet::Sheet;

/// Draws it from the row on that the UI wants.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let Some(row) = selected(context) else {
        context.frame(canvas, area, PanelId::Event, "No event", Vec::new());
        return;
    };
    let title = format!("{} {} {}", text::clock_millis(row.at), row.who, row.kind.name());
    let lines = rows(row, context, reader::inside(area, context.framed), canvas.glyphs());
    let first = context.look.events.first_line;
    reader::draw(canvas, area, context, (PanelId::Event, &title), &lines, first);
}

/// Returns the last row from which on it can be shown in `area`.
pub fn last(context: &PanelContext<'_>, area: Rect) -> usize {
    let Some(row) = selected(context) else { return 0 };
    // The glyphs decide nothing about how many rows there are.
    let rows = rows(row, context, reader::inside(area, context.framed), Glyphs::UNICODE).len();
    rows.saturating_sub(page(area, context.framed))
}

/// Returns the rows for its text.
pub fn page(area: Rect, framed: bool) -> usize {
    reader::page(area, framed)
}

/// Returns what the frame of event `number` says and is, to copy it.
pub fn lines_to_copy(answer: &Answer, number: u64) -> Vec<String> {
    let Some(frame) = detail(answer, number).and_then(|detail| detail.frame.as_ref()) else {
        return Vec::new();
    };
    let head = vec![format!("{}, {} bytes", frame.origin, frame.size)];
    [head, frame.decoded.clone(), frame.body.clone()].concat()
}

fn selected<'a>(context: &PanelContext<'a>) -> Option<&'a EventRow> {
    let rows = filtered(context.snapshot, &context.look.events);
    position(&rows, context.look.events.selected).and_then(|at| rows.get(at).copied())
}

fn detail(answer: &Answer, number: u64) -> Option<&EventDetail> {
    match answer {
        Answer::Event(detail) if detail.number == number => Some(detail),
        _ => None,
    }
}

fn rows(
    row: &EventRow,
    context: &PanelContext<'_>,
    width: usize,
    glyphs: &'static Glyphs,
) -> Vec<Vec<Part>> {
    let mut sheet = Sheet::new(width, true, glyphs);
    let (mark, role) = events::mark(row.gravity, glyphs);
    sheet.say("WHAT", &format!("{} {mark}", row.text), role);
    if row.repeats > 0 {
        let count = text::thousands(row.repeats);
        let said = format!("+{count} similar events in the same second (not kept)");
        sheet.say("SIMILAR", &said, Role::Fg);
    }
    let ago = text::span(context.now.since(row.at));
    let when = format!("{}Z, {ago} ago, from {}", text::clock_millis(row.at), row.source);
    sheet.say("WHEN", &when, Role::Fg);
    sheet.gap();
    let Some(detail) = detail(context.answer, row.number) else {
        return sheet.rows;
    };
    if let Some(frame) = &detail.frame {
        self::frame(&mut sheet, frame, width);
    } else {
        let (frames, bytes) = (text::thousands(detail.kept_frames), text::bytes(detail.kept_bytes));
        let said = format!(
            "{} none, or no longer kept; the last {frames} frames are kept ({bytes})",
            glyphs.none
        );
        sheet.say("FRAME", &said, Role::Muted);
    }
    sheet.rows
}

/// Writes a frame: where it is from, what it says, and what it is.
fn frame(sheet: &mut Sheet, frame: &FrameView, width: usize) {
    sheet.say("FRAME", &frame.origin, Role::Fg);
    let mut times = format!("arrived {}Z", text::clock_millis(frame.at));
    if let Some(time) = frame.time {
        times = format!("{times}, happened {}Z", text::clock_millis(time));
    }
    let cut = if frame.cut { ", only the beginning is kept" } else { "" };
    sheet.say("", &format!("{times}, {} bytes{cut}", text::thousands(frame.size)), Role::Muted);
    section(sheet, "DECODED", &frame.decoded, Role::Fg, |line| hung(line, width.max(1)));
    // What came is shown as it is, spaces and all.
    section(sheet, "RAW", &frame.body, Role::Muted, |line| text::pieces(line, width.max(1)));
}

/// Writes `lines` below a title, each broken in this way.
fn section(
    sheet: &mut Sheet,
    title: &str,
    lines: &[String],
    role: Role,
    broken: impl Fn(&str) -> Vec<String>,
) {
    sheet.gap();
    sheet.rows.push(vec![part(title, Role::Title)]);
    if lines.is_empty() {
        sheet.rows.push(vec![part("nothing that kvtop reads", Role::Muted)]);
    }
    for line in lines {
        let pieces = broken(&text::clean(line)).into_iter();
        sheet.rows.extend(pieces.map(|piece| vec![part(piece, role)]));
    }
}

/// Returns `line` in lines of at most `columns`, broken between words, each below where its value begins.
fn hung(line: &str, columns: usize) -> Vec<String> {
    if text::width(line) <= columns {
        return vec![line.to_owned()];
    }
    let after = line.rfind("  ").map_or(0, |at| at + 2);
    let start = if text::width(&line[..after]) * 3 > columns * 2 { 0 } else { after };
    let (name, value) = line.split_at(start);
    let indent = text::width(name);
    let wrapped = text::wrap(value, columns - indent).into_iter().enumerate();
    let begin = |at: usize| if at == 0 { name.to_owned() } else { " ".repeat(indent) };
    wrapped.map(|(at, line)| begin(at) + &line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_broken_between_words_below_its_beginning() {
        let line = "  parent           b08836e0 and more";
        assert_eq!(hung(line, 60), [line]);
        assert_eq!(hung(line, 32), ["  parent           b08836e0 and", "                   more"]);
        assert_eq!(hung(line, 30), ["  parent           b08836e0", "                   and more"]);
        for columns in 1..60 {
            let lines = hung(line, columns);
            assert!(lines.iter().all(|line| text::width(line) <= columns), "{columns}");
        }
    }
}
