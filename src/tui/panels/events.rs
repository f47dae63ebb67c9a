//! The last events, newest at the bottom. Scrolling holds on to an event, not to a row.

use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::snapshot::{EventRow, Gravity};
use crate::tui::judge::State;
use crate::tui::keymap::names::with_keys;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, part};

/// Rows from which on the panel has a frame.
const FRAMED: u16 = 4;
/// Columns of the name of a kind.
const KIND: usize = 6;

/// Draws the events up to the one that is held, or up to the newest.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let events = &context.snapshot.events;
    let shown = events.len() - later(events, context.look.last_event);
    let notes = if shown == events.len() {
        let (word, mark) = context.newest(canvas.glyphs().play, canvas.glyphs());
        vec![part(format!("{word} {mark}"), Role::Muted)]
    } else {
        let more = text::count((events.len() - shown) as u64);
        vec![part(
            format!("{more} {}", with_keys(context.keys, "newer below, {scroll-bottom} follows")),
            Role::Warn,
        )]
    };
    let inner = if area.height < FRAMED {
        canvas.clip(area)
    } else {
        context.frame(canvas, area, PanelId::Events, "Events", notes)
    };
    if events.is_empty() {
        canvas.put(inner, 0, 0, "nothing has happened yet", Role::Muted);
        return;
    }
    let rows = usize::from(inner.height);
    let first = shown.saturating_sub(rows);
    let visible = events.iter().skip(first).take(rows.min(shown - first));
    let who = visible.clone().map(|event| text::width(&text::clean(&event.who))).max().unwrap_or(0);
    for (y, event) in visible.enumerate() {
        row(canvas, inner, text::coordinate(y), event, who.clamp(2, 10));
    }
}

/// Returns how many events come after number `last`; at least one event stays in view.
pub fn later(events: &[EventRow], last: Option<u64>) -> usize {
    let Some(last) = last else { return 0 };
    // They stand in the order of their times, which is not quite that of their numbers.
    let held = events.iter().rev().position(|event| event.number == last);
    let after = || events.iter().rev().take_while(|event| event.number > last).count();
    held.unwrap_or_else(after).min(events.len().saturating_sub(1))
}

fn row(canvas: &mut Canvas<'_>, area: Rect, y: u16, event: &EventRow, who: usize) {
    let glyphs = canvas.glyphs();
    let (mark, role) = mark(event.gravity, glyphs);
    let width = usize::from(area.width);
    let time = if width >= 50 { text::clock_millis(event.at) } else { text::clock(event.at) };
    let name = text::cut_middle(&text::clean(&event.who), who, glyphs.ellipsis);
    let head = format!("{} {:KIND$} ", text::pad(&name, who), event.kind.name());
    // The mark has the last column, the repeats stand before it; the text gets what is left.
    let used = text::width(&time) + 1 + text::width(&head) + 2;
    let said = text::clean(&event.text);
    let more = repeats(event.repeats);
    let room = width.saturating_sub(used + text::width(&more));
    let said = text::cut_names(&said, room, glyphs.ellipsis);
    let kind = if event.gravity == Gravity::Normal { Role::Muted } else { role };
    let parts = [
        part(format!("{time} "), Role::Muted),
        part(head, kind),
        part(text::pad(&said, room), Role::Fg),
        part(more, Role::Muted),
        part(format!(" {mark}"), role),
    ];
    canvas.parts(area, 0, y, &parts);
}

/// Returns the mark of an event and its role.
pub(super) const fn mark(gravity: Gravity, glyphs: &Glyphs) -> (&'static str, Role) {
    match gravity {
        Gravity::Normal => (" ", Role::Fg),
        Gravity::Notice => (glyphs.warn, State::Warn.role()),
        Gravity::Bad => (glyphs.fail, State::Fail.role()),
    }
}

/// Returns how many more of the same there were: ` +7`. The help says what that means.
pub(super) fn repeats(count: u64) -> String {
    if count == 0 { String::new() } else { format!(" +{}", text::count(count)) }
}
