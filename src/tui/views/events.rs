//! The view of events: the filtered stream, and the frame behind each event.

use ratatui::layout::Rect;

use super::{Reply, View, ViewContext, moved};
use crate::snapshot::{Ask, EventRow, ViewQuery};
use crate::tui::command::{self, Command, Scroll};
use crate::tui::filter::Filter;
use crate::tui::layout::{Class, Layout, Needs, columns};
use crate::tui::panels::{Look, PanelId, stream};
use crate::tui::text;

/// Events that can be scrolled back to: as many as the engine keeps.
const EVENTS: usize = 2000;

/// The view.
pub const VIEW: View = View {
    name: command::View::Events,
    about: "what has just happened?",
    home: PanelId::Stream,
    opened: |look| look.events.opened,
    filter: Some(|look| &mut look.events.typed),
    arrange,
    ask,
    update,
    copy,
};

/// The rows of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// Every event, in a few words.
    #[default]
    Events,
    /// Log lines as they were written, and nothing else.
    LogLines,
}

/// State of the view between pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Number of the selected event; none to follow the newest.
    pub selected: Option<u64>,
    /// True while the selected event is shown with its frame.
    pub opened: bool,
    /// First row shown of it.
    pub first_line: usize,
    /// The filter, as it was typed.
    pub typed: String,
    /// True while texts are wrapped instead of cut.
    pub wrap: bool,
    /// True while times are ages.
    pub relative: bool,
    /// The rows that are shown.
    pub rows: Rows,
}

impl State {
    /// Returns the filter.
    pub fn filter(&self) -> Filter {
        Filter::new(&self.typed)
    }
}

fn arrange(layout: &mut Layout, rest: Rect, class: Class, needs: &Needs) {
    match (needs.opened, class <= Class::Medium && rest.width >= 100) {
        (false, _) => layout.panels.push((PanelId::Stream, rest)),
        (true, false) => layout.panels.push((PanelId::Event, rest)),
        (true, true) => {
            let left = rest.width / 2;
            layout.panels.push((PanelId::Stream, columns(rest, 0, left)));
            layout.panels.push((PanelId::Event, columns(rest, left, rest.width - left)));
        }
    }
}

fn ask(look: &Look, view_context: &ViewContext<'_>, query: &mut ViewQuery) {
    query.events = EVENTS;
    if look.events.rows == Rows::LogLines {
        query.ask = Ask::Lines;
    }
    if let Some(row) = selected(look, view_context).filter(|_| look.events.opened) {
        query.ask = Ask::Event(row.number);
    }
}

fn selected<'a>(look: &Look, view_context: &ViewContext<'a>) -> Option<&'a EventRow> {
    let rows = stream::filtered(view_context.snapshot, &look.events);
    stream::position(&rows, look.events.selected).and_then(|at| rows.get(at).copied())
}

/// Copies the selected event, with its frame where that is shown.
fn copy(look: &Look, view_context: &ViewContext<'_>) -> Option<String> {
    let row = selected(look, view_context)?;
    let more = match row.repeats {
        0 => String::new(),
        count => format!(" +{count}"),
    };
    let time = text::clock_millis(row.at);
    let line = format!("{time}Z {} {} {}{more}", row.who, row.kind.name(), row.text);
    if !look.events.opened {
        return Some(line);
    }
    Some([vec![line], stream::lines_to_copy(view_context.answer, row.number)].concat().join("\n"))
}

fn update(look: &mut Look, command: Command, view_context: &ViewContext<'_>) -> Reply {
    let focus = view_context.layout.focus(look.focus);
    match command {
        Command::Open => open(look, !look.events.opened, view_context),
        Command::Back if look.events.opened => open(look, false, view_context),
        Command::Back if !look.events.typed.is_empty() => {
            look.events.typed.clear();
            Reply::Done
        }
        Command::Follow => {
            // It stops where it is, or goes to the newest.
            look.events.selected = match look.events.selected {
                None => selected(look, view_context).map(|row| row.number),
                Some(_) => None,
            };
            Reply::Done
        }
        Command::Wrap => {
            look.events.wrap ^= true;
            Reply::Done
        }
        Command::Lines => {
            look.events.rows = match look.events.rows {
                Rows::Events => Rows::LogLines,
                Rows::LogLines => Rows::Events,
            };
            look.events.first_line = 0;
            Reply::Done
        }
        Command::Times => {
            look.events.relative ^= true;
            Reply::Done
        }
        Command::Scroll(by) if focus == PanelId::Stream => select(look, by, view_context),
        Command::Scroll(by) => read(look, by, view_context),
        _ => Reply::Pass,
    }
}

/// Shows the frame of an event, or the stream alone. What is opened stays selected.
fn open(look: &mut Look, opened: bool, view_context: &ViewContext<'_>) -> Reply {
    if opened {
        let Some(row) = selected(look, view_context) else {
            return Reply::Refused(String::from("no event to open"));
        };
        look.events.selected = Some(row.number);
    }
    look.events.opened = opened;
    look.events.first_line = 0;
    look.focus = if opened { PanelId::Event } else { PanelId::Stream };
    Reply::Done
}

/// Selects another event. Going below the newest follows it again.
fn select(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let rows = stream::filtered(view_context.snapshot, &look.events);
    let Some(at) = stream::position(&rows, look.events.selected) else { return Reply::Done };
    let area = view_context.layout.panel(PanelId::Stream).unwrap_or_default();
    let page = stream::page(area, view_context.layout.framed);
    let last = rows.len().saturating_sub(1);
    let next = moved(at, by, page, last);
    let down = matches!(by, Scroll::Down | Scroll::PageDown | Scroll::Bottom);
    let follows = next == last && down;
    look.events.selected = rows.get(next).map(|row| row.number).filter(|_| !follows);
    look.events.first_line = 0;
    Reply::Done
}

fn read(look: &mut Look, by: Scroll, view_context: &ViewContext<'_>) -> Reply {
    let Some(area) = view_context.layout.panel(PanelId::Event) else { return Reply::Done };
    let page = stream::event_page(area, view_context.layout.framed).max(1);
    let last = stream::last(&view_context.panel_context(look), area);
    look.events.first_line = moved(look.events.first_line, by, page, last);
    Reply::Done
}
