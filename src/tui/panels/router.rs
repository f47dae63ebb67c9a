//! The router by its logs and metrics, and kvtop's copy of its index.

mod mirror;
pub mod sizes;

use std::time::Duration;

use ratatui::layout::Rect;

use super::{PanelContext, PanelId};
use crate::snapshot::{Latency, RouterSummary};
use crate::tui::judge::{self, State};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part};

/// Columns of a fact's name.
const LABEL: usize = 17;
/// The share of requests for which routers found cached blocks. Engines' cache hits have a tile of their own.
const ROUTER_FINDS: &str = "router finds";
/// Columns by which a sentence goes on further right.
const INDENT: usize = 2;

/// A fact with its name.
struct Fact {
    label: &'static str,
    parts: Vec<Part>,
}

fn fact(label: &'static str, parts: Vec<Part>) -> Fact {
    Fact { label, parts }
}

/// Draws the facts from the first that the UI wants.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let glyphs = canvas.glyphs();
    let facts = facts(context, glyphs);
    let router = &context.snapshot.router;
    let title = match router.routers.as_slice() {
        [] => String::from("Router"),
        [one] => format!("Router {one}"),
        several => format!("Routers {}", several.len()),
    };
    let height = usize::from(area.height.saturating_sub(2)).max(1);
    let first = context.look.first_router.min(facts.len().saturating_sub(height));
    let mut notes = Vec::new();
    let deployment = &context.snapshot.deployment;
    if let Some(plane) = &deployment.event_plane {
        notes.push(part(format!("events by {plane}"), Role::Muted));
    }
    let below = facts.len().saturating_sub(first + height);
    if below > 0 {
        notes.push(part(format!("  {below} more {}", glyphs.down), Role::Muted));
    }
    if let Some(version) = &deployment.version {
        notes.push(part(format!("  dynamo {}", text::clean(version)), Role::Muted));
    }
    let inner = context.frame(canvas, area, PanelId::Router, title, notes);
    let facts = unfolded(facts, inner);
    for (y, fact) in facts.iter().skip(first).take(inner.height.into()).enumerate() {
        let y = text::coordinate(y);
        let x = canvas.put(inner, 0, y, &text::pad(fact.label, LABEL), Role::Title);
        fit(canvas, inner, x, y, &fact.parts);
    }
}

/// Gives sentences that are too long for a row the rows that are left over.
fn unfolded(facts: Vec<Fact>, area: Rect) -> Vec<Fact> {
    let mut spare = usize::from(area.height).saturating_sub(facts.len());
    let room = usize::from(area.width).saturating_sub(LABEL);
    let mut rows = Vec::new();
    for row in facts {
        let [sentence] = row.parts.as_slice() else {
            rows.push(row);
            continue;
        };
        let said = text::clean(&sentence.text);
        // What follows stands below the words, not below the mark before them.
        let mut lines = text::wrap(&said, room.saturating_sub(INDENT));
        if lines.len() > spare + 1 || text::width(&said) <= room {
            rows.push(row);
            continue;
        }
        spare -= lines.len() - 1;
        let role = sentence.role;
        rows.push(Fact { parts: vec![part(lines.remove(0), role)], ..row });
        let below = |line| part(format!("{:INDENT$}{line}", ""), role);
        rows.extend(lines.into_iter().map(|line| fact("", vec![below(line)])));
    }
    rows
}

/// Returns how many facts there are to scroll through.
pub fn rows(context: &PanelContext<'_>, glyphs: &Glyphs) -> usize {
    facts(context, glyphs).len()
}

/// Writes parts as far as whole ones fit; the first is cut if it must.
fn fit(canvas: &mut Canvas<'_>, area: Rect, mut x: u16, y: u16, parts: &[Part]) {
    for (at, one) in parts.iter().enumerate() {
        let room = usize::from(area.width.saturating_sub(x));
        let said = text::clean(&one.text);
        if text::width(&said) > room {
            if at == 0 {
                canvas.put(area, x, y, &text::cut(&said, room, canvas.glyphs().ellipsis), one.role);
            }
            return;
        }
        x = canvas.put(area, x, y, &said, one.role);
    }
}

fn facts(context: &PanelContext<'_>, glyphs: &Glyphs) -> Vec<Fact> {
    let router = &context.snapshot.router;
    let mut facts = vec![hits(context, glyphs), requests(router, glyphs), latency(router, glyphs)];
    facts.extend(registered(context));
    facts.push(sizes::fact(context, glyphs));
    facts.extend(stores(context));
    facts.extend(warnings(router, glyphs));
    facts.push(cost(router, glyphs));
    facts.extend(tree_size(router, glyphs));
    facts.extend(mirror::facts(context, glyphs));
    facts.extend(router.itl.map(|it| fact("ITL", percentiles(&it, glyphs))));
    facts.extend(router.queue_time.map(|it| fact("engine queue", percentiles(&it, glyphs))));
    facts
}

/// Workers that a router has registered, beside those that discovery shows. A router that lacks some sends them no
/// requests.
fn registered(context: &PanelContext<'_>) -> Option<Fact> {
    let registered = context.snapshot.router.counted.routed_to?;
    let mut there: Vec<_> = context
        .snapshot
        .workers
        .iter()
        .filter(|row| !row.gone)
        .map(|row| row.rank.worker)
        .collect();
    there.sort_unstable();
    there.dedup();
    let fewer = usize::try_from(registered).is_ok_and(|count| count < there.len());
    let role = if fewer { State::Warn.role() } else { Role::Fg };
    let known = format!("{} with the router", text::count(registered));
    let shown = format!(", {} in discovery", text::count(there.len() as u64));
    Some(fact("registered", vec![part(known, role), part(shown, Role::Muted)]))
}

/// Percentiles of a latency of some milliseconds to some seconds; the last one is left out where there is no room.
fn percentiles(latency: &Latency, glyphs: &Glyphs) -> Vec<Part> {
    let time = |seconds: f64, beyond: bool| {
        let least = if beyond { glyphs.least } else { "" };
        if seconds < 1.0 {
            format!("{least}{:.0} ms", seconds * 1e3)
        } else {
            format!("{least}{seconds:.2} s")
        }
    };
    let dot = glyphs.dot;
    let (p50, p95) = (time(latency.p50, false), time(latency.p95, latency.beyond));
    let p99 = time(latency.p99, latency.p99_beyond);
    let plain = |text| part(text, Role::Fg);
    vec![plain(format!("p50 {p50} {dot} p95 {p95}")), plain(format!(" {dot} p99 {p99}"))]
}

/// Store events without blocks, which a publisher sends that rejects the blocks of its engine. The row is short, so
/// that half of a screen of 100 columns has room for it.
fn stores(context: &PanelContext<'_>) -> Option<Fact> {
    let counters = &context.snapshot.totals.counters;
    if counters.stores == 0 {
        return None;
    }
    let limits = &context.snapshot.limits;
    let beyond = counters.empty_stores as f64 >= limits.empty * counters.stores as f64;
    let state = judge::figure(beyond, judge::deployment(context.snapshot));
    let role = if state == State::Ok { Role::Muted } else { state.role() };
    let (stores, empty) = (text::count(counters.stores), text::count(counters.empty_stores));
    let mut parts = if counters.empty_stores == counters.stores {
        vec![part(format!("all {stores} empty"), role)]
    } else {
        vec![part(stores, Role::Fg), part(format!(", {empty} empty"), role)]
    };
    parts.push(part(" since start", Role::Muted));
    Some(fact("store events", parts))
}

fn missing(why: &str, glyphs: &Glyphs) -> Part {
    part(format!("{} {why}", glyphs.none), Role::Muted)
}

fn requests(router: &RouterSummary, glyphs: &Glyphs) -> Fact {
    if router.routed == 0 && router.decisions == 0 {
        let why = if router.tells_of_requests() { "none routed yet" } else { router.why_silent() };
        return fact("requests", vec![missing(why, glyphs)]);
    }
    let rate = if router.tells_of_requests_now() {
        let rate = text::short(router.routed_per_second);
        part(format!("{rate}/s in the last min"), Role::Fg)
    } else {
        missing(router.why_silent(), glyphs)
    };
    fact(
        "requests",
        vec![
            rate,
            part(
                format!(" {} {} since start", glyphs.dot, text::count(router.routed)),
                Role::Muted,
            ),
        ],
    )
}

fn hits(context: &PanelContext<'_>, glyphs: &Glyphs) -> Fact {
    let router = &context.snapshot.router;
    if router.overlap_known == 0 {
        return fact(ROUTER_FINDS, vec![missing("no request with known hits yet", glyphs)]);
    }
    let share = context.snapshot.felt.found.filter(|_| !router.unlogged);
    let now = match share {
        Some(share) => {
            part(format!("{} % of requests in the last min", text::whole_percent(share)), Role::Fg)
        }
        None if router.unlogged => missing(router.why_silent(), glyphs),
        None => missing("no request in the last min", glyphs),
    };
    let found = text::count(router.overlap_known.saturating_sub(router.overlap_zero));
    let total =
        format!(" {} {found} of {} since start", glyphs.dot, text::count(router.overlap_known));
    fact(ROUTER_FINDS, vec![now, part(total, Role::Muted)])
}

fn cost(router: &RouterSummary, glyphs: &Glyphs) -> Fact {
    let cost = router.mean_logit.map_or_else(
        || missing("no cost logged in the last min", glyphs),
        |cost| part(format!("{cost:.1} in the last min"), Role::Fg),
    );
    let weight = router
        .overlap_weight
        .map(|weight| part(format!(" {} overlap weight {weight:.1}", glyphs.dot), Role::Fg));
    fact("mean cost", [cost].into_iter().chain(weight).collect())
}

/// The size of its index that a router logged last. Release 0.9 prints 0 whenever a request hits nothing
/// (dynamo-llm 0.9.0, `kv_router/scheduler.rs:583`).
fn tree_size(router: &RouterSummary, glyphs: &Glyphs) -> Option<Fact> {
    let size = router.last_tree_size?;
    let mut parts = vec![part(text::thousands(size), Role::Fg)];
    if size == 0 {
        let why = format!(" {} 0.9 prints 0 on every miss", glyphs.dot);
        parts.push(part(why, Role::Muted));
    }
    Some(fact("logged tree size", parts))
}

fn latency(router: &RouterSummary, glyphs: &Glyphs) -> Fact {
    let mean = || router.ttft_mean.filter(|mean| mean.is_finite());
    let ttft = match router.ttft {
        Some(ttft) => {
            let late = ttft.objective.is_some_and(|objective| ttft.p95 > objective);
            let at_least = if ttft.beyond { "≥" } else { "" };
            let ([p50, p95], unit) = text::times([ttft.p50, ttft.p95]);
            let text = format!("p50 {p50} {unit} {} p95 {at_least}{p95} {unit}", glyphs.dot);
            part(text, if late { State::Warn.role() } else { Role::Fg })
        }
        None => mean().map_or_else(
            // A frontend that tells its queue is scraped.
            || {
                missing(
                    if router.queued.is_some() {
                        "no first token in the last min"
                    } else {
                        "no frontend metrics"
                    },
                    glyphs,
                )
            },
            |mean| {
                let ([mean], unit) = text::times([mean]);
                part(format!("mean {mean} {unit}"), Role::Fg)
            },
        ),
    };
    let queued = router
        .queued
        .map(|queued| part(format!(" {} {} queued", glyphs.dot, text::count(queued)), Role::Fg));
    let p99 = router.ttft.map(|ttft| {
        let at_least = if ttft.p99_beyond { glyphs.least } else { "" };
        let ([p99], unit) = text::times([ttft.p99]);
        part(format!(" {} p99 {at_least}{p99} {unit}", glyphs.dot), Role::Fg)
    });
    fact("TTFT", [ttft].into_iter().chain(queued).chain(p99).collect())
}

fn warnings(router: &RouterSummary, glyphs: &Glyphs) -> Vec<Fact> {
    let (Some(parents), Some(removes)) = (router.log_parent_warnings, router.log_remove_warnings)
    else {
        return vec![fact("warnings", vec![missing(router.why_silent(), glyphs)])];
    };
    // Whole seconds, the one that is going on included.
    let span = text::span(Duration::from_secs_f64(router.recent.as_secs_f64().ceil()));
    let line = |label: &'static str, count: u64, recent: u64| {
        let role = if recent > 0 { State::Warn.role() } else { Role::Fg };
        let total = format!(" {} {} since start", glyphs.dot, text::count(count));
        fact(
            label,
            vec![
                part(format!("{} WARN in {span}", text::count(recent)), role),
                part(total, Role::Muted),
            ],
        )
    };
    let mut facts = vec![
        line("parent not found", parents, router.recent_parent_warnings),
        line("block not found", removes, router.recent_remove_warnings),
    ];
    if let Some(count) = router.worker_log_warnings.filter(|count| *count > 0) {
        let count = text::count(count);
        let said = format!("{count} more in the logs of workers");
        facts.push(fact("", vec![part(said, Role::Muted)]));
    }
    facts
}
