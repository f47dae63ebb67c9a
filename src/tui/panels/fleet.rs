//! The fleet: one row for each deployment of a cluster, the worst first.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::domain::Timestamp;
use crate::snapshot::{Fleet, FleetPast, Member, MemberId, MemberState};
use crate::tui::command::Scroll;
use crate::tui::findings;
use crate::tui::layout::take_top;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::views;
use crate::tui::widgets::canvas::{Canvas, Part, part, width};
use crate::tui::widgets::table::{Align, Column, Table};

/// Rows for the selected deployment's worst finding.
const TOLD: u16 = 2;
/// Widest names of namespaces, deployments and models.
const NAMES: [usize; 3] = [24, 24, 24];

/// The selection in the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The selected deployment, which keeps the selection while rows change places; none for the first row.
    pub selected: Option<MemberId>,
}

impl State {
    /// Returns the row of the selected deployment.
    pub fn row(&self, fleet: &Fleet) -> usize {
        let is_it = |member: &Member| Some(&member.id) == self.selected.as_ref();
        fleet.members.iter().position(is_it).unwrap_or(0)
    }

    /// Selects another row.
    pub fn scroll(&mut self, by: Scroll, page: usize, fleet: &Fleet) {
        let row = views::moved(self.row(fleet), by, page, fleet.members.len().saturating_sub(1));
        self.selected = fleet.members.get(row).map(|member| member.id.clone());
    }
}

/// Draws the fleet.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, fleet: &Fleet, state: &State, now: Timestamp) {
    let mut rest = area;
    let top = take_top(&mut rest, 1);
    heading(canvas, top, fleet);
    if let Some(past) = &fleet.past {
        let row = take_top(&mut rest, 1);
        course(canvas, row, past);
    }
    if let Some(first) = fleet.unlisted.first() {
        let more = fleet.unlisted.len() - 1;
        let more = if more > 0 { format!(" (+{more} more)") } else { String::new() };
        let said = format!("{} not shown: {first}{more}", canvas.glyphs().warn);
        let said =
            text::cut_words(&text::clean(&said), rest.width.into(), canvas.glyphs().ellipsis);
        let row = take_top(&mut rest, 1);
        canvas.put(row, 0, 0, &said, Role::Warn);
    }
    if fleet.members.is_empty() {
        let said = if fleet.listed { "no deployment found" } else { "looking for deployments" };
        canvas.put(rest, 1, 1, said, Role::Muted);
        return;
    }
    let told = if rest.height > TOLD + 4 { TOLD } else { 0 };
    let list = Rect { height: rest.height - told, ..rest };
    let below = Rect { y: rest.y + list.height, height: told, ..rest };
    let at = state.row(fleet);
    let mut table = table(fleet, now, canvas.glyphs());
    table.point_at(at, canvas.glyphs());
    let page = table.page(list.height).max(1);
    let first = (at + 1).saturating_sub(page);
    table.draw(canvas, list, Table::names_fit(list.height), first);
    if let Some(member) = fleet.members.get(at) {
        tell(canvas, below, member);
    }
}

fn heading(canvas: &mut Canvas<'_>, area: Rect, fleet: &Fleet) {
    let glyphs = canvas.glyphs();
    let mut parts = vec![part(" kvtop ", Role::Title)];
    let origin = text::cut(&text::clean(&fleet.origin), 40, glyphs.ellipsis);
    let noun = if fleet.members.len() == 1 { "deployment" } else { "deployments" };
    let count = part(format!("{} {noun}", fleet.members.len()), Role::Fg);
    let counts = MemberState::ALL.into_iter().filter_map(|state| {
        let count = fleet.count(state);
        let (glyph, role) = (glyph(state, glyphs), role(state));
        (count > 0).then(|| part(format!("  {glyph} {count} {}", state.name()), role))
    });
    let counts: Vec<Part> = std::iter::once(count).chain(counts).collect();
    if width(&parts) + text::width(&origin) + 2 + width(&counts) <= area.width.into() {
        parts.push(part(format!("{origin}  "), Role::Muted));
    }
    parts.extend(counts);
    canvas.parts(area, 0, 0, &parts);
}

/// Draws the worst state of each moment of the past, and the one that is shown.
fn course(canvas: &mut Canvas<'_>, area: Rect, past: &FleetPast) {
    let glyphs = canvas.glyphs();
    let mut parts = vec![part(format!(" -{} ", text::span(past.span)), Role::Muted)];
    let room = usize::from(area.width).saturating_sub(width(&parts) + 24);
    // A narrow terminal shows the newer part.
    let points = &past.points[past.points.len().saturating_sub(room)..];
    for point in points {
        let (mark, colour) = point
            .worst
            .map_or((glyphs.none, Role::Muted), |worst| (glyph(worst, glyphs), role(worst)));
        let shown = past.shown == Some(point.at);
        parts.push(part(if shown { glyphs.mark } else { mark }, colour));
    }
    let moment = past.shown.and_then(|shown| {
        let newest = past.points.last()?.at;
        Some(part(format!(" {} -{}", glyphs.pause, text::span(newest.since(shown))), Role::Warn))
    });
    parts.push(moment.unwrap_or_else(|| part(" now", Role::Muted)));
    canvas.parts(area, 0, 0, &parts);
}

/// Draws the worst finding of the selected deployment, or what is missing to judge it.
fn tell(canvas: &mut Canvas<'_>, area: Rect, member: &Member) {
    if area.is_empty() {
        return;
    }
    let room = usize::from(area.width.saturating_sub(2));
    let (said, role) = match (&member.worst, member.missing.as_str()) {
        (Some(worst), _) => {
            let more =
                if worst.more > 0 { format!(" (+{} more)", worst.more) } else { String::new() };
            (format!("{} {}: {}{more}", worst.id, worst.name, worst.summary), Role::Fg)
        }
        (None, "") if member.state == MemberState::NothingFound => (
            "no problem in logs and metrics of its routers; KV events are read on entry".to_owned(),
            Role::Muted,
        ),
        (None, "") if member.state == MemberState::Healthy => {
            ("no problem found by its exporter; Enter opens it".to_owned(), Role::Muted)
        }
        (None, "") => ("sources have not answered yet".to_owned(), Role::Muted),
        (None, missing) => (missing.to_owned(), Role::Muted),
    };
    let lines = text::wrap(&text::clean(&said), room);
    for (row, line) in (0..area.height).zip(&lines) {
        canvas.put(area, 1, row, line, role);
    }
}

const fn glyph(state: MemberState, glyphs: &Glyphs) -> &'static str {
    match state {
        MemberState::Critical => glyphs.fail,
        MemberState::Warning => glyphs.warn,
        MemberState::Unknown | MemberState::Connecting => glyphs.unknown,
        MemberState::NothingFound => glyphs.dot,
        MemberState::Healthy => glyphs.ok,
    }
}

const fn role(state: MemberState) -> Role {
    match state {
        MemberState::Critical => Role::Crit,
        MemberState::Warning => Role::Warn,
        MemberState::Unknown | MemberState::Connecting => Role::Unknown,
        // Healthy takes KV events, so this is not green.
        MemberState::NothingFound => Role::Fg,
        MemberState::Healthy => Role::Ok,
    }
}

fn table(fleet: &Fleet, now: Timestamp, glyphs: &Glyphs) -> Table {
    let longest = |least: usize, most: usize, name: &dyn Fn(&Member) -> usize| {
        fleet.members.iter().map(name).max().unwrap_or(0).clamp(least, most)
    };
    let namespace = longest(9, NAMES[0], &|it| text::width(&it.id.namespace));
    let name = longest(10, NAMES[1], &|it| text::width(it.id.name()));
    let model = longest(5, NAMES[2], &|it| it.model.as_deref().map_or(0, text::width));
    let column = |title, width, align, rank| Column { title, width, align, rank };
    let columns = vec![
        column("NAMESPACE", namespace, Align::Left, 90),
        column("DEPLOYMENT", name, Align::Left, 100),
        column("STATE", 17, Align::Left, 95),
        column("FINDING", 7, Align::Left, 70),
        column("SINCE", 5, Align::Right, 40),
        column("WORKERS", 7, Align::Right, 60),
        column("HITS %", 6, Align::Right, 50),
        column("TTFT p95", 8, Align::Right, 45),
        column("VERSION", 7, Align::Left, 25),
        column("PLANE", 10, Align::Left, 20),
        column("MODEL", model, Align::Left, 30),
    ];
    let widths: Vec<usize> = columns.iter().map(|column| column.width).collect();
    let rows = fleet.members.iter().map(|member| cells(member, &widths, now, glyphs)).collect();
    Table { columns, rows, total: None }
}

fn cells(member: &Member, widths: &[usize], now: Timestamp, glyphs: &Glyphs) -> Vec<Part> {
    let none = || part(glyphs.none, Role::Unknown);
    let text = |value: Option<&str>, at: usize| match value {
        Some(value) if !value.is_empty() => {
            let room = widths.get(at).copied().unwrap_or_default();
            part(text::cut_middle(&text::clean(value), room, glyphs.ellipsis), Role::Fg)
        }
        _ => none(),
    };
    let figure = |value: Option<String>| value.map_or_else(none, |value| part(value, Role::Fg));
    let state = format!("{} {}", glyph(member.state, glyphs), member.state.name());
    let worst = member.worst.as_ref();
    let workers = match member.workers {
        Some((ready, all)) if ready < all => part(format!("{ready}/{all}"), Role::Warn),
        Some((_, all)) => part(all.to_string(), Role::Fg),
        None => none(),
    };
    vec![
        text(Some(&member.id.namespace), 0),
        text(Some(member.id.name()), 1),
        part(state, role(member.state)),
        worst.map_or_else(
            || part("", Role::Fg),
            |worst| part(worst.id, findings::role(worst.severity)),
        ),
        worst.map_or_else(
            || part("", Role::Fg),
            |worst| figure(worst.since.map(|since| text::age(now.since(since)))),
        ),
        workers,
        figure(member.hits.map(text::percent)),
        figure(member.first_token.and_then(seconds).map(text::latency)),
        text(member.version.as_deref(), 8),
        text(member.plane.as_deref(), 9),
        text(member.model.as_deref(), 10),
    ]
}

/// Returns a span of so many seconds; none for what is no span.
fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value).ok()
}
