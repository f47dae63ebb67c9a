//! The mirror: how large it is, and whether it may differ from a router's index.

use super::{Fact, fact};
use crate::tui::panels::Scene;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::part;

pub(super) fn facts(scene: &Scene<'_>, glyphs: &Glyphs) -> Vec<Fact> {
    let tree = &scene.snapshot.tree;
    let dot = glyphs.dot;
    let count = |value: u64| text::count(value);
    if !scene.snapshot.hears_events() {
        let unheard = part(format!("{} no event plane is heard", glyphs.none), Role::Unknown);
        let mut facts = vec![fact("mirror", vec![unheard])];
        facts.extend(rejects(scene, glyphs));
        return facts;
    }
    let mut facts = vec![fact(
        "mirror",
        vec![
            part(format!("{} accepted", count(tree.accepted_blocks)), Role::Fg),
            part(format!(" {dot} {} held", count(tree.held_blocks)), Role::Fg),
            part(format!(" {dot} {} distinct", count(tree.distinct_blocks)), Role::Fg),
        ],
    )];
    let (roots, blocks) = (count(tree.orphan_roots), count(tree.orphan_blocks));
    let orphans = if tree.orphan_roots == 0 {
        String::from("none held")
    } else {
        format!("{blocks} blocks below {roots} missing parents")
    };
    facts.push(fact("orphans", vec![part(orphans, Role::Fg)]));
    for why in &tree.incomplete {
        facts.push(fact("", vec![part(format!("{} {why}", glyphs.unknown), Role::Unknown)]));
    }
    facts.extend(rejects(scene, glyphs));
    let used = format!("{} of {}", text::bytes(tree.memory_bytes), text::bytes(tree.memory_limit));
    let mut memory = vec![part(used, Role::Fg)];
    if tree.shed_blocks > 0 {
        let shed = format!(" {} {} blocks shed", glyphs.warn, count(tree.shed_blocks));
        memory.push(part(shed, Role::Warn));
    }
    if tree.behind {
        memory.push(part(format!(" {dot} sweeping, distinct is at most"), Role::Muted));
    }
    facts.push(fact("memory", memory));
    facts
}

fn rejects(scene: &Scene<'_>, glyphs: &Glyphs) -> Option<Fact> {
    let rejects = &scene.snapshot.rejects;
    if rejects.count == 0 {
        return None;
    }
    let count = text::count(rejects.count);
    let mut parts = vec![part(format!("{} {count} could not be read", glyphs.warn), Role::Warn)];
    if let Some(first) = rejects.reasons.first() {
        parts.push(part(format!(": {}", first.why), Role::Muted));
    }
    Some(fact("input", parts))
}
