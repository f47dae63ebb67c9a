//! The copy of the router's index: its size, and reasons why it may differ from a router's own.

use super::{Fact, fact};
use crate::tui::panels::PanelContext;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::part;

pub(super) fn facts(context: &PanelContext<'_>, glyphs: &Glyphs) -> Vec<Fact> {
    let tree = &context.snapshot.tree;
    let dot = glyphs.dot;
    let count = |value: u64| text::count(value);
    if !context.snapshot.hears_events() {
        let unheard = part(format!("{} no KV events received", glyphs.none), Role::Unknown);
        let mut facts = vec![fact("index copy", vec![unheard])];
        facts.extend(rejects(context, glyphs));
        return facts;
    }
    let mut facts = vec![fact(
        "index copy",
        vec![
            part(format!("{} blocks", count(tree.accepted_blocks)), Role::Fg),
            part(format!(" {dot} {} unique", count(tree.distinct_blocks)), Role::Fg),
        ],
    )];
    let (roots, blocks) = (count(tree.orphan_roots), count(tree.orphan_blocks));
    if tree.orphan_roots > 0 {
        let rejected = format!("{blocks} blocks below {roots} missing parents");
        facts.push(fact("rejected blocks", vec![part(rejected, Role::Fg)]));
    }
    for why in &tree.incomplete {
        facts.push(fact("", vec![part(format!("{} {why}", glyphs.unknown), Role::Unknown)]));
    }
    facts.extend(rejects(context, glyphs));
    let used = format!("{} of {}", text::bytes(tree.memory_bytes), text::bytes(tree.memory_limit));
    let mut memory = vec![part(used, Role::Fg)];
    if tree.shed_blocks > 0 {
        let shed =
            format!(" {} {} blocks dropped at the limit", glyphs.warn, count(tree.shed_blocks));
        memory.push(part(shed, Role::Warn));
    }
    if tree.behind {
        memory.push(part(format!(" {dot} counting, unique is an upper bound"), Role::Muted));
    }
    facts.push(fact("kvtop memory", memory));
    facts
}

fn rejects(context: &PanelContext<'_>, glyphs: &Glyphs) -> Option<Fact> {
    let rejects = &context.snapshot.rejects;
    if rejects.count == 0 {
        return None;
    }
    let count = text::count(rejects.count);
    let mut parts =
        vec![part(format!("{} {count} messages could not be read", glyphs.warn), Role::Warn)];
    if let Some(first) = rejects.reasons.first() {
        parts.push(part(format!(": {}", first.why), Role::Muted));
    }
    Some(fact("input", parts))
}
