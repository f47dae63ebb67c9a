//! Every claim about a worker, the strongest of each kind first.

use std::cmp::Reverse;

use crate::domain::{ClaimValue, Subject};
use crate::snapshot::ClaimRow;
use crate::tui::judge::State;
use crate::tui::panels::PanelContext;
use crate::tui::panels::workers::Entry;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::sheet::{Proof, Sheet};

pub(super) fn write(
    sheet: &mut Sheet,
    entry: &Entry<'_>,
    context: &PanelContext<'_>,
    glyphs: &Glyphs,
) {
    let mut claims: Vec<&ClaimRow> =
        context.snapshot.claims.iter().filter(|row| is_about(&row.claim.subject, entry)).collect();
    claims.sort_by_key(|row| (row.claim.what, row.claim.of, Reverse(row.claim.basis), row.at));
    let proven = proven(entry, glyphs);
    if claims.is_empty() && proven.is_none() {
        sheet.say("CLAIMS", &format!("{} no settings reported yet", glyphs.none), Role::Muted);
        return;
    }
    // The same may be said of a worker and of its pod.
    let mut said: Vec<Proof> = Vec::new();
    for row in claims.iter().rev() {
        let proof = proof(row, context, glyphs);
        let same = |other: &Proof| {
            (&other.claim, &other.value, &other.source)
                == (&proof.claim, &proof.value, &proof.source)
        };
        if !said.iter().any(same) {
            said.push(proof);
        }
    }
    said.extend(proven);
    said.reverse();
    sheet.evidence("CLAIMS", &said);
}

/// Returns what behaviour says of the worker's block size, as the finding has it.
fn proven(entry: &Entry<'_>, glyphs: &Glyphs) -> Option<Proof> {
    let sizes = &entry.row.block_size;
    Some(Proof {
        mark: entry.size.map_or(glyphs.dot, |state| state.glyph(glyphs)),
        role: entry.size.map_or(Role::Muted, State::role),
        claim: String::from("block size of publisher"),
        value: sizes.proven?.to_string(),
        source: String::from("store events and prompt lengths (KVT001)"),
        age: String::new(),
    })
}

/// Returns true for claims about the worker, its pod, its component, or all of them.
fn is_about(subject: &Subject, entry: &Entry<'_>) -> bool {
    match subject {
        Subject::Worker(worker) => *worker == entry.row.rank.worker,
        Subject::Pod(pod) => entry.row.pod.as_deref() == Some(pod.as_ref()),
        Subject::Component { graph, component } => entry.pod.is_some_and(|pod| {
            pod.dgd.as_deref() == Some(graph.as_ref())
                && pod.component.as_deref() == Some(component.as_ref())
        }),
        Subject::Deployment => true,
    }
}

fn proof(row: &ClaimRow, context: &PanelContext<'_>, glyphs: &Glyphs) -> Proof {
    let claim = &row.claim;
    let value = match &claim.value {
        ClaimValue::Count(count) => text::thousands(*count),
        ClaimValue::Text(said) => said.to_string(),
        ClaimValue::Flag(true) => "yes".to_owned(),
        ClaimValue::Flag(false) => "no".to_owned(),
        ClaimValue::Millionths(millionths) => format!("{}", *millionths as f64 / 1e6),
    };
    let clean = |said: &str| text::clean(said).trim().to_owned();
    Proof {
        mark: glyphs.dot,
        role: Role::Muted,
        claim: format!("{} of {}", claim.what.name().replace('_', " "), claim.of.name()),
        value: clean(&value),
        source: format!("{}, {}", clean(&claim.source), claim.basis.name()),
        age: context.age(row.at),
    }
}
