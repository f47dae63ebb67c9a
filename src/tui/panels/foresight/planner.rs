//! The planner: how far it is, and what each change would bring.

mod answers;

use ratatui::layout::Rect;

use crate::snapshot::Feed;
use crate::tui::command::Command;
use crate::tui::keymap::names::key_or_line;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::planning::Stage;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// A line of the panel.
type Line = Vec<Part>;

const ABOUT: &str = "Simulates this deployment with service times fitted to what was seen, and answers what would \
                     help: a worker more or less, 1.5 times the KV cache, other overlap weights and temperatures, \
                     round-robin, other block sizes, the drain of the selected worker. Each answer is a range over \
                     several simulations, beside the present, with the most users that the objective allows.";
const ASIDE: &str =
    "It runs beside the screen and takes minutes; nothing is sent to the deployment.";
/// Cells of the bar of progress.
const BAR: usize = 24;
/// Columns of the frame and of the space inside it, and its rows.
const FRAME: (u16, u16) = (4, 2);
/// Columns of the text to copy.
const TEXT: u16 = 160;

/// Draws it, from the first line on that the view shows.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let room = if context.framed { area.width.saturating_sub(FRAME.0) } else { area.width };
    let lines = lines(context, room, canvas.glyphs());
    let page = page(area, context.framed);
    let last = lines.len().saturating_sub(page);
    let first = context.look.foresight.planner.unwrap_or(0).min(last);
    let notes = if last > 0 && context.look.foresight.planner.is_some() {
        let end = (first + page).min(lines.len());
        vec![part(format!("lines {}-{end} of {}", first + 1, lines.len()), Role::Muted)]
    } else {
        Vec::new()
    };
    let inner = context.frame(canvas, area, PanelId::Planner, "Planner", notes);
    for (y, line) in (0..inner.height).zip(lines.iter().skip(first)) {
        canvas.parts(inner, 0, y, line);
    }
}

/// Returns the lines that fit in `area`, and those that there are.
pub fn extent(area: Rect, context: &PanelContext<'_>) -> (usize, usize) {
    let room = if context.framed { area.width.saturating_sub(FRAME.0) } else { area.width };
    (page(area, context.framed), lines(context, room, Glyphs::UNICODE).len())
}

/// Returns all of it as text.
pub fn text(context: &PanelContext<'_>) -> String {
    let plain = |line: &Line| -> String {
        let line: String = line.iter().map(|part| part.text.as_str()).collect();
        line.trim_end().to_owned()
    };
    let lines: Vec<String> = lines(context, TEXT, Glyphs::ASCII).iter().map(plain).collect();
    lines.join("\n")
}

fn page(area: Rect, framed: bool) -> usize {
    usize::from(if framed { area.height.saturating_sub(FRAME.1) } else { area.height })
}

/// Returns all lines, for `width` columns.
fn lines(context: &PanelContext<'_>, width: u16, glyphs: &Glyphs) -> Vec<Line> {
    let mut lines = stage(context, width, glyphs);
    match &context.planning.plan {
        Some(plan) if !plan.rows.is_empty() => {
            lines.push(Line::new());
            answers::add(&mut lines, plan, width, glyphs);
        }
        _ => {}
    }
    lines
}

/// Returns how far it is, and what the key does now.
fn stage(context: &PanelContext<'_>, width: u16, glyphs: &Glyphs) -> Vec<Line> {
    let key = key_or_line(context.keys, Command::Plan);
    let mut lines = Vec::new();
    let at = format!("at {}", text::clock(context.planning.at));
    // Where it shares the view, the key opens it.
    let opened = context.look.foresight.planner.is_some();
    let then = |does: &str| {
        let does = if opened { does } else { " opens the planner" };
        vec![part(format!("  {key}"), Role::Key), part(does, Role::Muted)]
    };
    match context.planning.stage {
        Stage::Idle => {
            lines.push(vec![part(key, Role::Key), part(" simulates what would help", Role::Fg)]);
            said(&mut lines, ABOUT, width, Role::Muted);
            said(&mut lines, ASIDE, width, Role::Muted);
            let command = format!("From a shell: {}", command(context));
            said(&mut lines, &command, width, Role::Muted);
        }
        Stage::Fitting => {
            let line = format!("Fitting service times to the figures {at}");
            lines.push([vec![part(line, Role::Fg)], then(" stops")].concat());
        }
        Stage::Simulating { done, of: all } => {
            let full = BAR * done / all.max(1);
            let line = vec![
                part(glyphs.full.repeat(full), Role::Ok),
                part(glyphs.empty.repeat(BAR - full), Role::Muted),
                part(format!(" {done} of {all} simulations, asked {at}"), Role::Fg),
            ];
            lines.push([line, then(" stops")].concat());
        }
        Stage::Done => {
            let age = match text::age(context.now.since(context.planning.at)) {
                age if age == text::JUST_NOW => String::new(),
                age => format!(", {age} ago"),
            };
            let line = format!("Plan for the deployment {at}{age}");
            lines.push([vec![part(line, Role::Fg)], then(" simulates anew")].concat());
        }
        Stage::Stopped => {
            let line = format!("Stopped. The figures were those {at}.");
            lines.push([vec![part(line, Role::Warn)], then(" simulates anew")].concat());
        }
        Stage::Impossible(why) => {
            said(&mut lines, &why.sentence(), width, Role::Warn);
            lines.push(
                [vec![part(format!("Asked {at}"), Role::Muted)], then(" asks anew")].concat(),
            );
        }
        Stage::Failed => {
            said(
                &mut lines,
                "No plan: the simulation failed, which is a bug of kvtop.",
                width,
                Role::Warn,
            );
            lines.push(then(" tries again"));
        }
    }
    lines
}

/// Returns the command that plans outside of the screen.
fn command(context: &PanelContext<'_>) -> String {
    let name = text::clean(&context.snapshot.deployment.label).into_owned();
    match &context.snapshot.feed {
        Feed::Demo(_) => format!("kvtop plan --demo {name}"),
        Feed::Replay(playback) => format!("kvtop plan {}", text::clean(&playback.name)),
        Feed::Live => String::from("kvtop plan, with the options of this screen"),
    }
}

/// Adds a sentence on as many lines as it needs.
fn said(lines: &mut Vec<Line>, sentence: &str, width: u16, role: Role) {
    let wrapped = text::wrap(sentence, usize::from(width));
    lines.extend(wrapped.into_iter().map(|line| vec![part(line, role)]));
}
