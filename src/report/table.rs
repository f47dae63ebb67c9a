//! Tables of workers: text, CSV and Markdown, over the same cells.

use super::plain_text as plain;
use crate::snapshot::{Snapshot, WorkerRow};

/// The columns, in order.
const COLUMNS: [&str; 14] = [
    "worker",
    "id",
    "rank",
    "pod",
    "blocks",
    "cached",
    "held",
    "kv%",
    "stores",
    "rejected",
    "removed",
    "unknown",
    "rejected%",
    "routed",
];

/// The mark of a count that is a lower bound.
const LEAST: &str = ">=";

/// Columns of words; the others are numbers and stand to the right.
const WORDS: [usize; 4] = [0, 1, 3, 4];

fn cells(row: &WorkerRow, snapshot: &Snapshot) -> [String; COLUMNS.len()] {
    let (events, told) = (snapshot.hears_events(), snapshot.router.tells_of_requests());
    let counters = &row.counters;
    let orphans = row.orphan_share.map_or_else(|| "-".to_owned(), percent);
    let blocks = |count| least(counted(count, events), row.is_whole());
    [
        row.alias.clone(),
        row.rank.worker.to_string(),
        row.rank.dp_rank.to_string(),
        row.pod.as_deref().map_or_else(|| "-".to_owned(), plain),
        block_sizes(row),
        blocks(row.accepted),
        blocks(row.held),
        row.kv_utilization.as_ref().map_or_else(|| "-".to_owned(), |known| percent(known.value)),
        counted(counters.stores, events),
        counted(counters.refused_stores, events),
        counted(counters.removed_blocks, events),
        counted(counters.unknown_removals, events),
        orphans,
        counted(row.routed, told),
    ]
}

/// Returns `-` for an unknown count: a 0 would be read as a count.
fn counted(count: u64, told: bool) -> String {
    if told { count.to_string() } else { "-".to_owned() }
}

/// Marks a count of blocks as a lower bound where more may have been stored before kvtop attached.
fn least(count: String, whole: bool) -> String {
    if whole || count == "-" { count } else { format!("{LEAST}{count}") }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// Returns the sizes that are known, as `engine/publisher/card/router`, or one when they agree.
fn block_sizes(row: &WorkerRow) -> String {
    let sizes = &row.block_size;
    let all = [sizes.engine, sizes.proven.or(sizes.publisher), sizes.card, sizes.router];
    let mut known: Vec<u32> = all.into_iter().flatten().collect();
    known.dedup();
    match known.as_slice() {
        [] => "-".to_owned(),
        [one] => one.to_string(),
        _ => all
            .map(|size| size.map_or_else(|| "-".to_owned(), |size: u32| size.to_string()))
            .join("/"),
    }
}

/// Columns that the wide table has as well; words, but for the last two.
const MORE: [&str; 6] = ["node", "role", "component", "model", "inflight", "hit%"];

fn more_cells(row: &WorkerRow) -> [String; MORE.len()] {
    let word = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), plain);
    [
        word(&row.node),
        word(&row.role),
        word(&row.belongs.component),
        word(&row.belongs.model),
        row.in_flight.map_or_else(|| "-".to_owned(), |count| count.to_string()),
        row.hit_rate.as_ref().map_or_else(|| "-".to_owned(), |known| percent(known.value)),
    ]
}

/// Returns the table as text: aligned columns, then totals of the index copy, routers and sources.
pub fn text(snapshot: &Snapshot) -> String {
    let mut rows = vec![COLUMNS.map(str::to_uppercase).to_vec()];
    rows.extend(snapshot.workers.iter().map(|row| cells(row, snapshot).to_vec()));
    aligned(&rows) + "\n" + &facts(snapshot)
}

/// Returns the same with more columns.
pub fn wide(snapshot: &Snapshot) -> String {
    let head = COLUMNS.iter().chain(&MORE).map(|name| name.to_uppercase());
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for row in snapshot.workers.iter() {
        rows.push(cells(row, snapshot).into_iter().chain(more_cells(row)).collect());
    }
    aligned(&rows) + "\n" + &facts(snapshot)
}

fn aligned(rows: &[Vec<String>]) -> String {
    let mut widths = [0; COLUMNS.len() + MORE.len()];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if WORDS.contains(&column) || (14..18).contains(&column) {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

fn facts(snapshot: &Snapshot) -> String {
    let (tree, router) = (&snapshot.tree, &snapshot.router);
    let (events, told) = (snapshot.hears_events(), router.tells_of_requests());
    let overlap = told || router.overlap_known > 0;
    let all = snapshot.workers.iter().all(WorkerRow::is_whole);
    let blocks = |count: u64| least(counted(count, events), all);
    let warnings = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
    let mut lines = vec![
        format!(
            "index    accepted {}  held {}  unique {}  orphans {} blocks under {} missing parents",
            blocks(tree.accepted_blocks),
            blocks(tree.held_blocks),
            blocks(tree.distinct_blocks),
            counted(tree.orphan_blocks, events),
            counted(tree.orphan_roots, events),
        ),
        format!(
            "router   routed {}  no cache hit in {} of {} requests  parent warnings {}  remove warnings {}",
            counted(router.routed, told),
            counted(router.overlap_zero, overlap),
            counted(router.overlap_known, overlap),
            warnings(router.log_parent_warnings),
            warnings(router.log_remove_warnings),
        ),
    ];
    for source in &snapshot.sources {
        let why =
            if source.why.is_empty() { String::new() } else { format!("  {}", plain(&source.why)) };
        lines.push(format!(
            "source   {} {}  frames {}  rejects {}  gaps {}  dropped {}{why}",
            plain(source.name.as_str()),
            source.state.name(),
            source.frames,
            source.rejects,
            source.gaps,
            source.dropped,
        ));
    }
    for reason in &tree.incomplete {
        lines.push(format!("note     {}", plain(reason)));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Returns the table as CSV, with a header line (RFC 4180).
pub fn csv(snapshot: &Snapshot) -> String {
    let quoted = |cell: &String| {
        // Columns of numbers stay numbers.
        let cell = cell.strip_prefix(LEAST).unwrap_or(cell);
        if cell.contains([',', '"', '\n']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.to_owned()
        }
    };
    let mut out = COLUMNS.join(",");
    out.push('\n');
    for row in snapshot.workers.iter() {
        out.push_str(&cells(row, snapshot).iter().map(quoted).collect::<Vec<_>>().join(","));
        out.push('\n');
    }
    out
}

/// Returns the table as Markdown.
pub fn markdown(snapshot: &Snapshot) -> String {
    let mut out = format!("| {} |\n|", COLUMNS.join(" | "));
    for column in 0..COLUMNS.len() {
        out.push_str(if WORDS.contains(&column) { "---|" } else { "--:|" });
    }
    out.push('\n');
    for row in snapshot.workers.iter() {
        let cells = cells(row, snapshot).map(|cell| cell.replace('|', "\\|"));
        out.push_str("| ");
        out.push_str(&cells.join(" | "));
        out.push_str(" |\n");
    }
    out
}
