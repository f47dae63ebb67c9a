//! The charts: blocks by KV events, KV utilization, and the size of the tree.

use ratatui::layout::Rect;

use super::{PanelId, Scene, worker};
use crate::snapshot::Series;
use crate::tui::judge::State;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, Part, part};
use crate::tui::widgets::chart::{Chart, Line};
use crate::tui::widgets::panel;

/// Ranks that get a line of their own; with more, the mean is drawn.
const LINES: usize = Role::SERIES.len();

/// Draws stores, removals, orphans and unknown removals per second.
pub fn traffic(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    let series = &scene.snapshot.series;
    let rates = &scene.snapshot.totals.rates.ten_seconds;
    // Until earlier blocks are known, orphans are no fault and must not look like one.
    let warming = scene.orphans() == State::Unknown && scene.is_warming();
    let orphan = if warming { Role::Unknown } else { Role::Series3 };
    let title = "KV blocks/s";
    // Refused stores without blocks are no orphaned blocks: they are counted themselves, and named so.
    let empty = are_empty(&series.refused, &series.refused_blocks);
    let (refused, points) = if empty {
        (rates.refused, &series.refused.points)
    } else {
        (rates.refused_blocks, &series.refused_blocks.points)
    };
    let (long, brief) = if empty { ("empty stores", "empty") } else { ("orphan", "orphan") };
    let now = [refused, rates.stored_blocks, rates.removals, rates.unknown_removals];
    let roles = [orphan, Role::Series1, Role::Series2, Role::Series4];
    let (heard, dash) = (scene.snapshot.hears_events(), canvas.glyphs().none);
    // What matters most comes first: notes go from the end when there is no room.
    let form = |names: [&str; 4], warm: &str, gap: &str| -> Vec<Part> {
        let each = names.into_iter().zip(now).zip(roles).enumerate();
        let note = |(at, ((name, now), role)): (usize, ((&str, f64), Role))| {
            let (gap, warm) = if at > 0 { (gap, "") } else { ("", warm) };
            let now = if heard { text::short(now) } else { dash.to_owned() };
            part(format!("{gap}{name} {now}{warm}"), role)
        };
        each.map(note).collect()
    };
    let mark = |word: &str| {
        if warming { format!(" {}{word}", canvas.glyphs().unknown) } else { String::new() }
    };
    let mut notes = form([long, "stored", "removed", "unknown"], &mark(" warming"), "  ");
    let mut named = panel::fitting(area, title, &notes);
    if named < notes.len() {
        notes = form([brief, "stored", "removed", "unkn"], &mark(""), " ");
        named = panel::fitting(area, title, &notes);
    }
    let inner = scene.frame(canvas, area, PanelId::Traffic, title, notes);
    let mut lines = vec![
        Line { points, role: orphan, mark: if empty { 'e' } else { 'o' } },
        Line { points: &series.stored_blocks.points, role: Role::Series1, mark: 's' },
        Line { points: &series.removals.points, role: Role::Series2, mark: 'r' },
        Line { points: &series.unknown_removals.points, role: Role::Series4, mark: 'u' },
    ];
    // The frame drops what does not fit; a line without a name would be a riddle.
    lines.truncate(named.max(1));
    // What is worst is drawn over the others.
    lines.rotate_left(1);
    if !heard {
        lines.clear();
    }
    chart(scene, lines, None, text::short).draw(canvas, inner);
}

/// Returns true where stores were refused, and none of them held a block.
pub(super) fn are_empty(refused: &Series, blocks: &Series) -> bool {
    let any = |series: &Series| series.points.iter().flatten().any(|value| *value > 0.0);
    any(refused) && !any(blocks)
}

/// Draws KV utilization by rank; the size of the tree where nobody reports one.
pub fn usage(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    let series = &scene.snapshot.series;
    let reported = series.kv_utilization.points.iter().any(Option::is_some)
        || scene.snapshot.totals.kv_utilization.is_some();
    if !reported {
        return size(canvas, area, scene, PanelId::Usage);
    }
    let ranks = &series.kv_utilization_by_rank;
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    // Workers that came since are none of a picture of the past.
    let known = |rank| scene.snapshot.workers.iter().any(|row| row.rank == rank);
    let strange = scene.past && !ranks.iter().any(|(rank, _)| known(*rank));
    if ranks.is_empty() || ranks.len() > LINES || strange {
        let mean = scene.snapshot.totals.kv_utilization;
        lines.push(Line { points: &series.kv_utilization.points, role: Role::Series1, mark: 'm' });
        notes.push(legend(canvas, "mean", mean, Role::Series1));
    } else {
        for ((at, (rank, points)), role) in ranks.iter().enumerate().zip(Role::SERIES) {
            let row = scene.snapshot.workers.iter().find(|row| row.rank == *rank);
            let alias = row.map_or_else(
                || format!("{}{:04}", canvas.glyphs().ellipsis, rank.worker.0 % 10_000),
                worker::alias,
            );
            let mark = char::from_digit(u32::try_from(at).unwrap_or(0), 10).unwrap_or('*');
            lines.push(Line { points: &points.points, role, mark });
            let now = row.and_then(|row| row.kv_utilization.as_ref()).map(|used| used.value);
            let gap = if at > 0 { "  " } else { "" };
            notes.push(legend(canvas, &format!("{gap}{alias}"), now, role));
        }
    }
    let inner = scene.frame(canvas, area, PanelId::Usage, "KV cache in use %", notes);
    chart(scene, lines, Some(1.0), text::whole_percent).draw(canvas, inner);
}

/// Draws the size of the tree.
pub fn growth(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    size(canvas, area, scene, PanelId::Growth);
}

/// Draws the share of requests for which routers found anything cached.
pub fn hits(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>) {
    let router = &scene.snapshot.router;
    let known = router.overlap_known;
    let hit = known.saturating_sub(router.overlap_zero);
    let share = (known > 0).then(|| hit as f64 / known as f64);
    let notes = vec![legend(canvas, "all", share, Role::Series6)];
    let inner = scene.frame(canvas, area, PanelId::Hits, "Requests with overlap %", notes);
    let points = &scene.snapshot.series.hit_share.points;
    let lines = vec![Line { points, role: Role::Series6, mark: '*' }];
    chart(scene, lines, Some(1.0), text::whole_percent).draw(canvas, inner);
}

fn size(canvas: &mut Canvas<'_>, area: Rect, scene: &Scene<'_>, id: PanelId) {
    let heard = scene.snapshot.hears_events();
    let now = heard.then(|| text::count(scene.snapshot.tree.accepted_blocks));
    let now = now.unwrap_or_else(|| canvas.glyphs().none.to_owned());
    let when = if scene.past { "then" } else { "now" };
    let notes = vec![part(format!("{now} {when}"), Role::Series4)];
    let inner = scene.frame(canvas, area, id, "Blocks in the index", notes);
    let points = &scene.snapshot.series.tree_size.points;
    let line = heard.then_some(Line { points, role: Role::Series4, mark: '*' });
    chart(scene, line.into_iter().collect(), None, text::short).draw(canvas, inner);
}

fn legend(canvas: &Canvas<'_>, name: &str, share: Option<f64>, role: Role) -> Part {
    let value = share.map_or_else(|| canvas.glyphs().none.to_owned(), text::whole_percent);
    part(format!("{name} {value}"), role)
}

fn chart<'a>(
    scene: &Scene<'_>,
    lines: Vec<Line<'a>>,
    top: Option<f64>,
    label: fn(f64) -> String,
) -> Chart<'a> {
    let window = scene.snapshot.series.window;
    let window = if window.is_zero() { scene.look.window } else { window };
    Chart { lines, top, label, ends: scene.ends(window) }
}
