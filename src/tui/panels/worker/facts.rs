//! The facts about a worker, each with source and age.

use crate::domain::Tier;
use crate::snapshot::{Knowledge, PodRow, Sourced, WorkerRow};
use crate::tui::judge;
use crate::tui::panels::PanelContext;
use crate::tui::panels::workers::Entry;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::part;
use crate::tui::widgets::sheet::Sheet;

/// Columns of a rank, and of a number of it.
const RANK: usize = 8;
const CELL: usize = 8;
/// The label of the share of its blocks in use, which is drawn as a bar too.
const IN_USE: &str = "IN USE";

pub(super) fn write(
    sheet: &mut Sheet,
    entry: &Entry<'_>,
    context: &PanelContext<'_>,
    glyphs: &Glyphs,
) {
    let Entry { row, verdict, .. } = *entry;
    let said = format!("{} {}", verdict.state.glyph(glyphs), verdict.word);
    sheet.say("STATE", &said, verdict.state.role());
    if let Some(left) = row.left {
        let (age, clock) = (text::span(context.now.since(left)), text::clock(left));
        sheet.say("", &format!("it left {age} ago, at {clock}Z"), Role::Muted);
    }
    if row.router_refused > 0 {
        let (router, mirror) = (row.router_refused, row.counters.refused_stores);
        let (router, mirror) = (text::thousands(router), text::thousands(mirror));
        let said = format!("rejected by the router (its log): {router}, by kvtop's copy: {mirror}");
        sheet.say("", &said, if row.router_refuses { Role::Warn } else { Role::Fg });
    }
    let (id, rank) = (row.rank.worker.0, row.rank.dp_rank);
    sheet.say("ID", &format!("{id}, rank {rank}"), Role::Fg);
    place(sheet, entry, context, glyphs);
    sheet.gap();
    blocks(sheet, row, context, glyphs);
    load(sheet, row, context, glyphs);
    sheet.gap();
    events(sheet, row, context, glyphs);
    ranks(sheet, row, context, glyphs);
}

/// Writes where it runs, and what Kubernetes says of that.
fn place(sheet: &mut Sheet, entry: &Entry<'_>, context: &PanelContext<'_>, glyphs: &Glyphs) {
    let unsaid = glyphs.none;
    let (row, dot) = (entry.row, glyphs.dot);
    let Some(pod) = entry.pod else {
        sheet.say("POD", row.pod.as_deref().unwrap_or(unsaid), Role::Fg);
        let role = row.role.as_deref().unwrap_or(unsaid);
        let node = row.node.as_deref().unwrap_or(unsaid);
        sheet.say(
            "",
            &format!("node {node} {dot} role {role} {dot} restarts {unsaid}"),
            Role::Muted,
        );
        return;
    };
    sheet.say("POD", &pod.name, Role::Fg);
    let (state, role) = pod_state(pod);
    let age = pod.started.map(|at| format!("for {} ", text::span(context.now.since(at))));
    let age = age.unwrap_or_default();
    let restarts = match pod.restarts {
        1 => String::from("1 restart"),
        several => format!("{} restarts", text::thousands(several)),
    };
    sheet.say("", &format!("{state} {age}{dot} {restarts}"), role);
    let node = pod.node.as_deref().unwrap_or(unsaid);
    let ip = pod.ip.as_deref().unwrap_or(unsaid);
    sheet.say("NODE", &format!("{node} {dot} address {ip}"), Role::Fg);
    sheet.say("IMAGE", pod.image.as_deref().unwrap_or(unsaid), Role::Fg);
    let of = match (&pod.component, &pod.dgd) {
        (Some(component), Some(dgd)) => format!(" {dot} {component} of dgd/{dgd}"),
        _ => String::new(),
    };
    let backend = pod.backend.unwrap_or(unsaid);
    let version = pod.version.as_deref().unwrap_or(unsaid);
    let said = format!("{} {dot} {backend} {dot} Dynamo {version}{of}", pod.role.name());
    sheet.say("ROLE", &said, Role::Fg);
}

fn pod_state(pod: &PodRow) -> (String, Role) {
    let mut said = pod.phase.clone();
    let mut role = Role::Fg;
    said.push_str(if pod.ready { ", ready" } else { ", not ready" });
    if pod.in_service == Some(false) {
        said.push_str(", not behind its service");
        role = Role::Warn;
    }
    if pod.terminating {
        said.push_str(", terminating");
    }
    if let Some(trouble) = &pod.trouble {
        said = format!("{said}, {trouble}");
    }
    if !pod.ready || pod.trouble.is_some() {
        role = Role::Warn;
    }
    (said, role)
}

/// Writes what it holds, has room for, and uses.
fn blocks(sheet: &mut Sheet, row: &WorkerRow, context: &PanelContext<'_>, glyphs: &Glyphs) {
    let dot = glyphs.dot;
    let exact = text::thousands;
    let change = row.change.map_or_else(|| glyphs.none.to_owned(), text::signed);
    if context.snapshot.hears_events() {
        let least = if row.is_whole() { "" } else { glyphs.least };
        let [accepted, held] = [row.accepted, row.held].map(|it| format!("{least}{}", exact(it)));
        let said = format!("{accepted} in the index {dot} {held} held {dot} {change}/s");
        sheet.say("BLOCKS", &said, Role::Fg);
    } else {
        let said = format!("{} no KV events received", glyphs.none);
        sheet.say("BLOCKS", &said, Role::Muted);
    }
    let lower = [(Tier::HostPinned, "in host memory"), (Tier::Disk, "on disk")];
    let more = lower.into_iter().chain([(Tier::External, "outside")]);
    let more: Vec<String> = more
        .filter(|(tier, _)| row.tiers[*tier as usize] > 0)
        .map(|(tier, place)| format!("{} {place}", exact(row.tiers[tier as usize])))
        .collect();
    sheet.say("", &more.join(&format!(" {dot} ")), Role::Fg);
    let value = |value: &Option<Sourced<u64>>| {
        value
            .as_ref()
            .map(|it| (format!("{} blocks", exact(it.value)), it.source.to_string(), it.at))
    };
    let share = |value: &Option<Sourced<f64>>| {
        value
            .as_ref()
            .map(|it| (format!("{} %", text::percent(it.value)), it.source.to_string(), it.at))
    };
    for (label, found) in [
        ("CAPACITY", value(&row.capacity_blocks)),
        ("USED", value(&row.used_blocks)),
        (IN_USE, share(&row.kv_utilization)),
        ("HIT RATE", share(&row.hit_rate)),
    ] {
        match found {
            Some((said, source, at)) => {
                let age = context.age(at);
                sheet.say(label, &format!("{said} ({source}, {age})"), Role::Fg);
            }
            None => sheet.say(label, &format!("{} not reported", glyphs.none), Role::Muted),
        }
        if let Some(used) = row.kv_utilization.as_ref().filter(|_| label == IN_USE) {
            sheet.bar(used.value, judge::usage(context.snapshot, Some(row), used.value));
        }
    }
}

/// Writes what routers send it and believe it runs.
fn load(sheet: &mut Sheet, row: &WorkerRow, context: &PanelContext<'_>, glyphs: &Glyphs) {
    let dot = glyphs.dot;
    if context.snapshot.router.tells_of_requests() {
        let now = context.snapshot.router.tells_of_requests_now();
        let rate = if now { text::short(row.routed_per_second) } else { glyphs.none.to_owned() };
        let overlap = row.mean_overlap.map_or_else(|| glyphs.none.to_owned(), text::short);
        let routed = text::thousands(row.routed);
        let said = format!("{routed} requests {dot} {rate}/s {dot} mean overlap {overlap} blocks");
        sheet.say("ROUTED", &said, Role::Fg);
    } else {
        let said = format!("{} {}", glyphs.none, context.snapshot.router.why_silent());
        sheet.say("ROUTED", &said, Role::Muted);
    }
    let said = match &row.load {
        Some(load) => {
            let age = context.age(load.at);
            let (decode, prefill) = (load.value.decode_blocks, load.value.prefill_tokens);
            let (decode, prefill) = (text::thousands(decode), text::thousands(prefill));
            let source = &load.source;
            format!("{decode} blocks decoding, {prefill} tokens to prefill ({source}, {age})")
        }
        None => format!("{} no router reports it", glyphs.none),
    };
    let role = if row.load.is_some() { Role::Fg } else { Role::Muted };
    sheet.say("LOAD", &said, role);
}

/// Writes what was counted of its events, and whether all of them were seen.
fn events(sheet: &mut Sheet, row: &WorkerRow, context: &PanelContext<'_>, glyphs: &Glyphs) {
    if !context.snapshot.hears_events() {
        let said = format!("{} no KV events received", glyphs.none);
        return sheet.say("EVENTS", &said, Role::Muted);
    }
    let dot = glyphs.dot;
    let exact = text::thousands;
    let counters = &row.counters;
    let age = row.last_event.map(|at| context.age(at));
    let last = match (age, row.last_event_id) {
        (Some(age), Some(id)) => format!("last {age}, number {}", exact(id)),
        (Some(age), None) => format!("last {age}"),
        (None, _) => format!("{} none seen", glyphs.none),
    };
    sheet.say("EVENTS", &last, Role::Fg);
    let (stores, blocks) = (exact(counters.stores), exact(counters.stored_blocks));
    sheet.say("", &format!("{stores} stores of {blocks} blocks"), Role::Fg);
    let refused = format!(
        "{} rejected {dot} {} empty {dot} {} duplicate blocks",
        exact(counters.refused_stores),
        exact(counters.empty_stores),
        exact(counters.duplicate_blocks)
    );
    sheet.say("", &refused, Role::Fg);
    let (removed, unknown) = (exact(counters.removed_blocks), exact(counters.unknown_removals));
    sheet.say("", &format!("{removed} blocks removed, {unknown} of them unknown"), Role::Fg);
    if counters.cleared > 0 || row.restarts > 0 {
        let (cleared, restarts) = (exact(counters.cleared), exact(row.restarts));
        sheet.say("", &format!("emptied {cleared} times, started anew {restarts} times"), Role::Fg);
    }
    let role = if row.missing > 0 { Role::Warn } else { Role::Fg };
    sheet.say("GAPS", &format!("{} messages missing", exact(row.missing)), role);
    match row.knowledge {
        Knowledge::Complete if row.missing > 0 && context.snapshot.ledger.hole.is_some() => {
            let said = format!("{} what they stored or removed is unknown", glyphs.unknown);
            sheet.say("", &said, Role::Unknown);
        }
        Knowledge::Complete => sheet.say("", "complete history", Role::Fg),
        Knowledge::SinceAttach => {
            let said = format!("{} blocks from before kvtop connected are unknown", glyphs.unknown);
            sheet.say("", &said, Role::Unknown);
        }
    }
}

/// Writes a row for each rank of the same worker, where there are several.
fn ranks(sheet: &mut Sheet, row: &WorkerRow, context: &PanelContext<'_>, glyphs: &Glyphs) {
    let worker = row.rank.worker;
    let ranks = || context.snapshot.workers.iter().filter(move |other| other.rank.worker == worker);
    if ranks().count() < 2 {
        return;
    }
    sheet.gap();
    let names = ["CACHED", "KV%", "STORE/s", "EVICT/s", "REJ%"];
    // Whole columns go where there is no room for all.
    let shown = names.len().min(sheet.width().saturating_sub(RANK) / CELL);
    let line = |rank: &str, cells: &[String]| {
        let cells = cells.iter().take(shown).map(|cell| text::pad_left(cell, CELL));
        text::pad(rank, RANK) + &cells.collect::<String>()
    };
    sheet.rows.push(vec![part(line("RANK", &names.map(String::from)), Role::Title)]);
    for other in ranks() {
        let rates = &other.rates.ten_seconds;
        let known = |value: Option<String>| value.unwrap_or_else(|| glyphs.none.to_owned());
        let used = other.kv_utilization.as_ref().map(|used| text::whole_percent(used.value));
        let orphans = judge::rejected(other).map(text::percent);
        let cells = [
            text::count(other.accepted),
            known(used),
            text::short(rates.stored_blocks),
            text::short(rates.removals),
            known(orphans),
        ];
        let role = if other.rank == row.rank { Role::Key } else { Role::Fg };
        sheet.rows.push(vec![part(line(&format!("  {}", other.rank.dp_rank), &cells), role)]);
    }
}
