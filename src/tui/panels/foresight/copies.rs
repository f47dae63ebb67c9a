//! Blocks that several ranks hold, and where successive requests of one prefix land.

use ratatui::layout::Rect;

use super::{answers, explain, limits, none_held, percent};
use crate::snapshot::{Demand, Foresight, Stickiness};
use crate::tui::graph::bar;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{Canvas, part};

const NAMES: [&str; 4] = ["1 copy", "2 copies", "3 copies", "4 or more"];
/// Rows of the sentences below the counts.
const SENTENCES: usize = 4;
/// Columns of a name, of a count and of a share.
const COLUMNS: [usize; 3] = [10, 10, 9];

/// Draws how often blocks are held, what the copies cost, and where prefixes land.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let found = context.snapshot.foresight.as_deref();
    let notes = found.map(|answers| limits(answers, canvas.glyphs())).unwrap_or_default();
    let inner = context.frame(canvas, area, PanelId::Copies, "Copies and stickiness", notes);
    let Some(answers) = answers(canvas, inner, context) else { return };
    let copies = answers.duplicates.copies;
    let all: u64 = copies.iter().sum();
    if all == 0 {
        explain(canvas, inner, none_held(context.snapshot));
        return;
    }
    let [name, count, share] = COLUMNS;
    let bar = text::coordinate(name + count + share + 1);
    // Where there are few rows, sentences go before counts of nothing.
    let short = usize::from(inner.height) < NAMES.len() + SENTENCES;
    let shown = NAMES.iter().zip(copies).filter(|(_, blocks)| !short || *blocks > 0);
    let mut y = 0;
    for (title, blocks) in shown {
        let part_of = blocks as f64 / all as f64;
        let x = canvas.put(inner, 0, y, &text::pad(title, name), Role::Muted);
        let x = canvas.put(inner, x, y, &text::pad_left(&text::count(blocks), count), Role::Fg);
        canvas.put(inner, x, y, &text::pad_left(&percent(part_of), share), Role::Fg);
        let room = usize::from(inner.width.saturating_sub(bar)).min(24);
        if room >= 6 {
            let filled = bar::filled(part_of, room, Role::Series1, canvas.glyphs());
            canvas.parts(inner, bar, y, &filled);
        }
        y += 1;
    }
    for said in [extra(answers), landings(answers)] {
        let rest = Rect { y: inner.y + y, height: inner.height.saturating_sub(y), ..inner };
        let mut lines = text::wrap(&said, inner.width.into());
        let cut = lines.len() > usize::from(rest.height);
        lines.truncate(rest.height.into());
        if let Some(last) = lines.last_mut().filter(|_| cut) {
            let more = format!("{last} {}", canvas.glyphs().ellipsis);
            *last = text::cut_words(&more, inner.width.into(), canvas.glyphs().ellipsis);
        }
        for (at, line) in lines.iter().enumerate() {
            canvas.parts(rest, 0, text::coordinate(at), &[part(line.clone(), Role::Fg)]);
        }
        y += text::coordinate(lines.len());
    }
}

/// Returns the copies beyond the first, what they cost, and how many of them are in use.
fn extra(answers: &Foresight) -> String {
    let duplicates = &answers.duplicates;
    if duplicates.extra == 0 {
        return String::from("No block is held twice.");
    }
    let bytes = answers.block_bytes.map_or_else(
        || String::from("bytes per block unknown"),
        |bytes| {
            format!(
                "{} over all ranks, one GPU of each",
                text::bytes(whole(bytes * duplicates.extra as f64))
            )
        },
    );
    let hot = duplicates.extra_hot as f64 / duplicates.extra as f64;
    format!("{} extra copies ({bytes}), {} hot.", text::count(duplicates.extra), percent(hot))
}

/// Returns how often successive landings of one prefix are on the same rank.
fn landings(answers: &Foresight) -> String {
    let Stickiness { successive, .. } = answers.stickiness;
    let (least, what) = match answers.demand {
        Demand::Stores => ("at least ", "stores"),
        Demand::Requests => ("", "requests"),
    };
    match answers.stickiness.share() {
        Some(share) => format!(
            "Next {what} of a prompt on the same rank: {least}{} (n = {}).",
            percent(share),
            text::count(successive)
        ),
        None => format!(
            "Stickiness: not enough data yet, {successive} of {} next {what} of a prompt.",
            Stickiness::FEWEST
        ),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 to 1e18")]
fn whole(value: f64) -> u64 {
    value.round().clamp(0.0, 1e18) as u64
}
