//! Sums below the tree: growth, sharing, length of prompts, and how much the mirror knows.

use ratatui::layout::Rect;

use crate::snapshot::TreePage;
use crate::tui::panels::{Look, PanelContext};
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Canvas, Part, part, width};
use crate::tui::widgets::sparkline;

/// Columns of a label.
const LABEL: usize = 11;
/// Columns of a sparkline.
const SPARK: usize = 8;
/// Columns of a sparkline that still shows which way it goes.
const LEAST: usize = 3;

/// Returns the rows that sums take of a panel with so many.
pub(super) const fn height(panel: u16) -> u16 {
    match panel {
        0..=8 => 0,
        9..=13 => 1,
        14..=19 => 4,
        _ => 6,
    }
}

/// Draws as many of the sums as there are rows, the first in sight whatever happens.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    context: &PanelContext<'_>,
    page: &TreePage,
) {
    let mut lines = vec![found(canvas, context, page).unwrap_or_else(|| sharing(page))];
    if area.height >= 4 {
        lines = vec![growth(canvas, context, area.width.into())];
        lines.push(found(canvas, context, page).unwrap_or_else(|| sharing(page)));
        lines.push(depths(page));
        if area.height >= 6 {
            lines.push(mirror(canvas, context));
            lines.push(legend(canvas, context, page));
        }
        let rule = canvas.glyphs().rule.repeat(area.width.into());
        canvas.put(area, 0, 0, &rule, Role::Border);
        lines.insert(0, Vec::new());
    }
    for (y, line) in lines.into_iter().enumerate().take(area.height.into()) {
        let line = fit(line, area.width.into(), canvas.glyphs().ellipsis);
        canvas.parts(area, 0, text::coordinate(y), &line);
    }
}

/// Takes away what does not fit, whole; only the first thing said is cut, between words.
fn fit(mut line: Vec<Part>, columns: usize, ellipsis: &str) -> Vec<Part> {
    while width(&line) > columns && line.len() > 2 {
        line.pop();
    }
    if let [label, said] = line.as_mut_slice() {
        let room = columns.saturating_sub(text::width(&label.text));
        said.text = text::cut_words(&said.text, room, ellipsis);
    }
    line
}

fn label(name: &str) -> Part {
    part(text::pad(name, LABEL), Role::Muted)
}

/// Returns how a search stands, while there is one.
fn found(canvas: &Canvas<'_>, context: &PanelContext<'_>, page: &TreePage) -> Option<Vec<Part>> {
    let (said, role) = stand(context.look, page, canvas.glyphs())?;
    Some(vec![label("find"), part(said, role), part("  Esc ends it", Role::Muted)])
}

/// Returns the same in words.
fn stand(look: &Look, page: &TreePage, glyphs: &Glyphs) -> Option<(String, Role)> {
    let (wanted, which) = look.tree.find.as_ref()?;
    let Some(search) = page.search.as_ref().filter(|search| search.text == *wanted) else {
        return Some((format!("searching for {wanted}"), Role::Muted));
    };
    if !search.done && search.found.is_empty() {
        return Some((format!("searching for {wanted}: {} %", search.percent), Role::Muted));
    }
    Some(match which.checked_rem(search.found.len()) {
        None => (format!("{} no block matches {wanted}", glyphs.unknown), Role::Warn),
        Some(at) => {
            let more = if search.more { "+" } else { "" };
            let (count, hash) = (search.found.len(), search.found[at].hash);
            let next = if count > 1 { "; once more for the next" } else { "" };
            (format!("{hash}, match {} of {count}{more}{next}", at + 1), Role::Ok)
        }
    })
}

/// Returns what the footer says of a search: that it found nothing, and how it goes on where these rows
/// are not shown.
pub(in crate::tui) fn told(
    look: &Look,
    page: &TreePage,
    panel: Option<Rect>,
    glyphs: &Glyphs,
) -> Option<(String, Role)> {
    let hidden = panel.is_none_or(|area| height(area.height.saturating_sub(2)) == 0);
    stand(look, page, glyphs).filter(|(_, role)| hidden || *role == Role::Warn)
}

/// Returns the size of the index with its change, and how many events make it grow and shrink. Sparklines
/// get the columns that the numbers leave; without any, the last of the three goes.
fn growth(canvas: &Canvas<'_>, context: &PanelContext<'_>, columns: usize) -> Vec<Part> {
    let series = &context.snapshot.series;
    let rates = &context.snapshot.totals.rates.ten_seconds;
    let glyphs = canvas.glyphs();
    let changes = context.snapshot.workers.iter().filter(|row| !row.gone).map(|row| row.change);
    let change = changes.reduce(|sum, change| Some(sum? + change?)).flatten();
    let change = change.map_or_else(|| glyphs.none.to_owned(), text::signed);
    let mut all = vec![
        ("blocks", &series.tree_size.points, change, Role::Series4),
        ("stored", &series.stored_blocks.points, text::short(rates.stored_blocks), Role::Series1),
        ("removed", &series.removals.points, text::short(rates.removals), Role::Series2),
    ];
    let written = |spark: usize, all: &[(&str, &Vec<Option<f64>>, String, Role)]| {
        let mut line = vec![label("growth/s")];
        for (at, (name, points, now, role)) in all.iter().enumerate() {
            let gap = if at > 0 { "  " } else { "" };
            line.push(part(format!("{gap}{name} "), Role::Fg));
            if spark > 0 {
                let top = sparkline::largest(*points, 1.0);
                let cells = sparkline::cells(points, spark, top, glyphs);
                line.push(part(format!("{cells} "), *role));
            }
            line.push(part(now.as_str(), *role));
        }
        line
    };
    loop {
        let fits = |spark: &usize| width(&written(*spark, &all)) <= columns;
        match (LEAST..=SPARK).rev().chain([0]).find(fits) {
            Some(spark) => return written(spark, &all),
            None if all.len() > 1 => all.truncate(all.len() - 1),
            None => return written(0, &all),
        }
    }
}

fn sharing(page: &TreePage) -> Vec<Part> {
    let mut line = vec![label("sharing")];
    let Some(sharing) = page.sharing else {
        line.push(part("being counted", Role::Muted));
        return line;
    };
    let all = sharing.single + sharing.shared;
    if all == 0 {
        line.push(part("no blocks", Role::Muted));
        return line;
    }
    let ranks = page.aliases.iter().any(|alias| alias.contains('/'));
    let one = if ranks { "rank" } else { "worker" };
    let percent = |part: u64| text::whole_percent(part as f64 / all as f64);
    line.push(part(format!("on one {one} {} %", percent(sharing.single)), Role::Fg));
    line.push(part(format!("  on several {} %", percent(sharing.shared)), Role::Fg));
    let copies = text::count(sharing.duplicates);
    line.push(part(format!("  duplicates {copies} blocks"), Role::Fg));
    line
}

fn depths(page: &TreePage) -> Vec<Part> {
    let mut line = vec![label("length")];
    let Some(depths) = page.depths else {
        let said = if page.sharing.is_some() { "no prompts" } else { "being counted" };
        line.push(part(said, Role::Muted));
        return line;
    };
    let count = |blocks: u32| text::count(blocks.into());
    line.push(part(format!("half of prompts up to {}", count(depths.half)), Role::Fg));
    line.push(part(format!("  9 in 10 up to {}", count(depths.most)), Role::Fg));
    let longest = count(depths.longest);
    line.push(part(format!("  longest {longest} blocks"), Role::Fg));
    if let Some(size) = page.block_size {
        let tokens = text::count(u64::from(depths.longest) * u64::from(size));
        line.push(part(format!(" ({tokens} tokens)"), Role::Fg));
    }
    if depths.sampled {
        line.push(part(format!("  of {} sampled", text::count(depths.ends as u64)), Role::Muted));
    }
    line
}

fn mirror(canvas: &Canvas<'_>, context: &PanelContext<'_>) -> Vec<Part> {
    let tree = &context.snapshot.tree;
    let glyphs = canvas.glyphs();
    let mut line = vec![label("index copy")];
    match tree.incomplete.first() {
        None => line.push(part(format!("{} complete", glyphs.ok), Role::Ok)),
        Some(why) => {
            line.push(part(format!("{} {why}", glyphs.unknown), Role::Unknown));
            let more = tree.incomplete.len() - 1;
            line.extend((more > 0).then(|| part(format!("  +{more}"), Role::Muted)));
        }
    }
    let orphans = text::count(tree.orphan_blocks);
    line.push(part(format!("  rejected {orphans} blocks"), Role::Muted));
    line
}

fn legend(canvas: &Canvas<'_>, context: &PanelContext<'_>, page: &TreePage) -> Vec<Part> {
    let [none, some, whole] = canvas.glyphs().presence;
    let on = match (page.aliases.first(), page.rank_count > page.ranks.len()) {
        (Some(first), false) => {
            format!("one cell each, {first} left: {whole} has it, {some} a part, {none} not")
        }
        _ => String::from("workers that have the first block"),
    };
    let alias = alone(context);
    // Whose numbers these are must fit beside it.
    let on = if alias.is_some() { on.replace("one cell each, ", "") } else { on };
    let more = match (alias, &context.snapshot.deployment.chosen) {
        (Some(alias), _) => format!("  EDGE, SUBTREE: of {alias} alone"),
        (None, Some(_)) => String::from("  EDGE, SUBTREE: whoever has it"),
        (None, None) => String::from("  HEAT: stores at and below"),
    };
    vec![label("ON"), part(on, Role::Muted), part(more, Role::Muted)]
}

/// Returns the short name of the worker whose blocks alone are shown.
fn alone(context: &PanelContext<'_>) -> Option<String> {
    let worker = context.look.tree.worker?;
    let row = context.snapshot.workers.iter().find(|row| row.rank.worker == worker);
    Some(row.map_or_else(|| String::from("?"), |row| row.alias.clone()))
}
