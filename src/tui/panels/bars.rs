//! The rows between the status bar and the panels: demo, replay, views.

mod scrubber;

use std::time::Duration;

use ratatui::layout::Rect;

use crate::domain::Timestamp;
use crate::snapshot::{DemoState, Playback, Severity, Snapshot};
use crate::tui::command::{Command, Simulate, View};
use crate::tui::findings;
use crate::tui::graph::timeline::Marker;
use crate::tui::keymap::Keymap;
use crate::tui::keymap::names::key_or_line;
use crate::tui::markers;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::views;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};

pub use scrubber::Scrubber;

/// Least columns for the description of a scenario.
const ABOUT: usize = 16;

/// Draws what a demo must always say: that nothing of it is real.
pub fn demo(canvas: &mut Canvas<'_>, area: Rect, state: &DemoState, keys: &Keymap) {
    let glyphs = canvas.glyphs();
    let right = if state.fixed {
        vec![part(format!("{} fix applied ", glyphs.ok), Role::Resolved)]
    } else if let Some(does) = state.next_step {
        let key = part(key_or_line(keys, Command::DemoFix), Role::Key);
        vec![key, part(format!(" {does} "), Role::Fg)]
    } else {
        Vec::new()
    };
    let key = |what| part(key_or_line(keys, Command::Simulate(what)), Role::Key);
    let gap = || part("  ", Role::Fg);
    let levers = vec![
        gap(),
        key(Simulate::FewerUsers),
        key(Simulate::MoreUsers),
        part(format!(" {} users", state.users), Role::Fg),
        gap(),
        key(Simulate::Mode),
        part(format!(" {} routing", state.mode), Role::Fg),
        gap(),
        key(Simulate::Worker),
        part(format!(" {} workers", state.workers), Role::Fg),
    ];
    let left = [
        part(format!(" {} SIMULATED", glyphs.play), Role::Warn),
        part(
            format!(" {}", text::cut(&text::clean(&state.scenario), 24, glyphs.ellipsis)),
            Role::Title,
        ),
    ];
    let x = canvas.parts(area, 0, 0, &left);
    let fits = usize::from(x) + width(&levers) + width(&right) <= area.width.into();
    let x = if fits { canvas.parts(area, x, 0, &levers) } else { x };
    let room = usize::from(area.width).saturating_sub(usize::from(x) + width(&right) + 4);
    // Once something was changed the scenario is no longer as it is described.
    let sentence = match state.change {
        None => state.about.as_str(),
        Some(_) if state.fixed => state.fix.as_str(),
        Some(_) => "",
    };
    if room >= ABOUT && !sentence.is_empty() {
        let about = text::cut(&text::clean(sentence), room, glyphs.ellipsis);
        canvas.put(area, x + 2, 0, &about, Role::Fg);
    }
    if usize::from(x) + width(&right) <= area.width.into() {
        canvas.parts_right(area, 0, &right);
    }
}

/// The row of a replay: its texts on the left and on the right, with the scrubber between them.
struct ReplayRow {
    left: Vec<Part>,
    right: Vec<Part>,
    scrubber: Option<Scrubber>,
}

impl ReplayRow {
    fn new(area: Rect, playback: &Playback, glyphs: &Glyphs) -> Self {
        let total = playback.end.since(playback.start);
        let done = playback.position.since(playback.start).min(total);
        let (mark, word) = match playback.paused {
            _ if playback.seeking.is_some() => (glyphs.pause, "loading"),
            true if playback.position >= playback.end => (glyphs.pause, "at end"),
            true => (glyphs.pause, "paused"),
            false => (glyphs.play, "playing"),
        };
        let speed = if playback.speed.is_finite() { playback.speed } else { 0.0 };
        let times = format!("{speed:.3}");
        let times = times.trim_end_matches('0').trim_end_matches('.');
        let at = format!(" {} / {}  {times}x", text::span(done), text::span(total));
        let mut right = vec![part(at, Role::Fg)];
        if let Some(percent) = playback.seeking {
            right.push(part(format!("  nearest picture, {percent} % loaded"), Role::Warn));
        }
        if playback.bad_lines > 0 {
            let first = playback.first_bad_line;
            let said = match playback.bad_lines {
                1 => format!("bad line {first}"),
                bad => format!("{} bad lines, first {first}", text::count(bad)),
            };
            right.push(part(format!("  {} {said}", glyphs.warn), Role::Warn));
        }
        if playback.torn {
            right.push(part(format!("  {} file ends within a line", glyphs.warn), Role::Warn));
        }
        right.push(part(" ", Role::Fg));
        let name = text::cut_middle(&text::clean(&playback.name), 32, glyphs.ellipsis);
        let mut left = vec![part(format!(" {mark} {word:<7} "), Role::Warn)];
        if usize::from(area.width) > width(&right) + width(&left) + text::width(&name) + 20 {
            left.push(part(format!("{name} "), Role::Title));
        }
        let x = text::coordinate(width(&left));
        let room = area.width.saturating_sub(x + text::coordinate(width(&right)));
        let scrubber = (room > 2).then(|| Scrubber {
            area: Rect { x: area.x + x, width: room, ..area },
            from: playback.start,
            to: playback.end,
        });
        Self { left, right, scrubber }
    }
}

/// Draws the position of a replay.
pub fn replay(canvas: &mut Canvas<'_>, area: Rect, playback: &Playback, markers: &[Marker]) {
    let row = ReplayRow::new(area, playback, canvas.glyphs());
    canvas.parts(area, 0, 0, &row.left);
    if let Some(scrubber) = row.scrubber {
        scrubber.draw(canvas, playback.position, markers, Role::Series4);
    }
    canvas.parts_right(area, 0, &row.right);
}

/// Returns the scrubber of a replay in `area`.
pub fn replay_scrubber(area: Rect, playback: &Playback) -> Option<Scrubber> {
    ReplayRow::new(area, playback, Glyphs::UNICODE).scrubber.filter(|_| !area.is_empty())
}

/// The row of the past: its texts, with the scrubber between them.
struct PastRow {
    left: Vec<Part>,
    right: Vec<Part>,
    scrubber: Option<Scrubber>,
}

impl PastRow {
    fn new(
        area: Rect,
        [oldest, at, now]: [Timestamp; 3],
        live: &Snapshot,
        back: &str,
        glyphs: &Glyphs,
    ) -> Self {
        let ago = text::span(now.since(at));
        let mut left = vec![
            part(format!(" {} PAST -{ago}", glyphs.pause), Role::Warn),
            part(format!("  {}Z ", text::clock(at)), Role::Title),
        ];
        let mut right = vec![part("  now:", Role::Muted)];
        right.extend(counts(live, glyphs));
        if let Some(top) = findings::alert(live).top {
            right.push(part(format!(" {}", top.id), findings::role(top.severity)));
        }
        right.extend([part(format!("  {back}"), Role::Key), part(" back to now ", Role::Fg)]);
        let room = usize::from(area.width).saturating_sub(width(&left));
        if width(&right) > room {
            // The key alone.
            right.remove(0);
        }
        let kept = part(format!(" -{} ", text::span(now.since(oldest))), Role::Muted);
        let rule = room.saturating_sub(width(&right) + kept.text.len());
        let scrubber = (rule >= 8).then(|| {
            left.push(kept);
            let x = text::coordinate(width(&left));
            let area = Rect { x: area.x + x, width: text::coordinate(rule), ..area };
            Scrubber { area, from: oldest, to: now }
        });
        Self { left, right, scrubber }
    }
}

/// Draws the moment of the past that the screen shows, between the oldest that is kept and now, with the
/// findings of `live`; `back` is the key that leads back to now.
pub fn past(
    canvas: &mut Canvas<'_>,
    area: Rect,
    moment: [Timestamp; 3],
    live: &Snapshot,
    back: &str,
) {
    let row = PastRow::new(area, moment, live, back, canvas.glyphs());
    let x = canvas.parts(area, 0, 0, &row.left);
    if let Some(scrubber) = row.scrubber {
        let markers = markers::list(live, canvas.glyphs());
        scrubber.draw(canvas, moment[1], &markers, Role::Border);
    }
    if width(&row.right) <= usize::from(area.width.saturating_sub(x)) {
        canvas.parts_right(area, 0, &row.right);
    }
}

/// Returns the scrubber of the past in `area`.
pub fn past_scrubber(
    area: Rect,
    moment: [Timestamp; 3],
    live: &Snapshot,
    back: &str,
) -> Option<Scrubber> {
    let row = PastRow::new(area, moment, live, back, Glyphs::UNICODE);
    row.scrubber.filter(|_| !area.is_empty())
}

/// Draws the views, and on the right the window and whether the picture is held.
pub fn views(
    canvas: &mut Canvas<'_>,
    area: Rect,
    view: View,
    snapshot: &Snapshot,
    window: Duration,
    state: &Part,
) {
    let counts = counts(snapshot, canvas.glyphs());
    let span = text::span(window);
    let right = |word: &str| {
        let window = part(format!("{word}{span}  "), Role::Muted);
        vec![window, state.clone(), part(" ", Role::Fg)]
    };
    // What is frozen, without how much is new since, before names of views go.
    let brief = state.text.split(',').next().unwrap_or_default();
    let brief = part(brief, state.role);
    let forms = [
        (tabs(view, View::name, &counts), right("window ")),
        (tabs(view, View::name, &counts), right("")),
        (tabs(view, View::short, &counts), right("")),
        (tabs(view, View::short, &counts), vec![state.clone()]),
        (tabs(view, View::short, &counts), vec![brief.clone()]),
        (tabs(view, |_| "", &counts), vec![state.clone()]),
    ];
    let fits = |(tabs, right): &&(Vec<Part>, Vec<Part>)| {
        width(tabs) + 1 + width(right) <= usize::from(area.width)
    };
    let Some((tabs, right)) = forms.iter().find(fits).or(forms.last()) else { return };
    canvas.parts(area, 0, 0, tabs);
    canvas.parts_right(area, 0, right);
}

/// The name of a view, as long as there is room for.
type Named = fn(View) -> &'static str;

/// Returns the view whose name stands at a column of the row of views; none beside the names. Names are as long
/// as the row allows, as in [`views()`].
pub fn view_at(
    columns: u16,
    shown: View,
    snapshot: &Snapshot,
    window: Duration,
    held: bool,
    column: u16,
) -> Option<View> {
    let counts = counts(snapshot, Glyphs::UNICODE);
    // About the length of the text on the right, which is shorter beside short tabs.
    let window = text::width(&text::span(window));
    let [long, brief] = if held { [window + 22, 14] } else { [window + 9, window + 9] };
    let names: [(Named, usize); 3] = [(View::name, long), (View::short, brief), (|_| "", 0)];
    let fits = |(name, right): &&(Named, usize)| {
        width(&tabs(shown, *name, &counts)) + right <= usize::from(columns)
    };
    let (name, _) = names.iter().find(fits).unwrap_or(&names[2]);
    let mut end = 0;
    for view in views::built().map(|view| view.name) {
        end += format!("  {} {}", view.number(), name(view)).trim_end().len() + 1;
        if view == View::Findings {
            end += width(&counts);
        }
        if usize::from(column) < end {
            return Some(view);
        }
    }
    None
}

/// Returns the views by number and name, the one that is shown in brackets.
fn tabs(shown: View, name: fn(View) -> &'static str, counts: &[Part]) -> Vec<Part> {
    let mut tabs = Vec::new();
    for one in views::built().map(|view| view.name) {
        let (role, edges) =
            if one == shown { (Role::Title, [" [", "]"]) } else { (Role::Muted, ["  ", " "]) };
        let named = format!("{} {}", one.number(), name(one));
        tabs.push(part(format!("{}{}", edges[0], named.trim_end()), role));
        if one == View::Findings {
            tabs.extend(counts.iter().cloned());
        }
        tabs.push(part(edges[1], role));
    }
    tabs
}

/// Returns how many findings there are: ` ✗1 ▲2`. Without any, whether that is known.
fn counts(snapshot: &Snapshot, glyphs: &Glyphs) -> Vec<Part> {
    let mut counts = Vec::new();
    for severity in [Severity::Critical, Severity::Warning] {
        let count = findings::count(snapshot, severity);
        if count > 0 {
            let mark = findings::glyph(severity, glyphs);
            counts.push(part(format!(" {mark}{count}"), findings::role(severity)));
        }
    }
    let unknown = findings::unknown(snapshot);
    match (counts.is_empty(), unknown, snapshot.checks.is_empty()) {
        (false, _, _) | (true, 0, true) => {}
        (true, 0, false) => counts.push(part(format!(" {}", glyphs.ok), Role::Ok)),
        (true, unknown, _) => {
            counts.push(part(format!(" {}{unknown}", glyphs.unknown), Role::Unknown));
        }
    }
    counts
}
