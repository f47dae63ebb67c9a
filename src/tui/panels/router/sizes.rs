//! Block sizes: who claims which, and whether they agree.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Scene;
use super::{Fact, missing};
use crate::domain::{ClaimOf, ClaimValue, ClaimWhat};
use crate::tui::judge::State;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Part, part};

type Claims = BTreeMap<ClaimOf, BTreeSet<u64>>;

pub(super) fn fact(scene: &Scene<'_>, glyphs: &Glyphs) -> Fact {
    let claims = claims(scene);
    if claims.is_empty() {
        return super::fact("block size", vec![missing("nobody says", glyphs)]);
    }
    let (state, word) = verdict(&claims);
    let mut parts = vec![part(format!("{} {word}: ", state.glyph(glyphs)), state.role())];
    for (at, (of, sizes)) in claims.iter().enumerate() {
        let all: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let dot = if at == 0 { String::new() } else { format!(" {} ", glyphs.dot) };
        parts.push(said(&format!("{dot}{} {}", name(*of), all.join("/"))));
    }
    super::fact("block size", parts)
}

fn said(text: &str) -> Part {
    part(text, Role::Fg)
}

const fn name(of: ClaimOf) -> &'static str {
    match of {
        ClaimOf::Engine => "engine",
        ClaimOf::Publisher => "publisher",
        ClaimOf::Card => "card",
        ClaimOf::Router => "router",
        ClaimOf::Declared => "declared",
    }
}

fn claims(scene: &Scene<'_>) -> Claims {
    let mut claims = Claims::new();
    let mut learn = |of, size: Option<u64>| {
        if let Some(size) = size {
            claims.entry(of).or_default().insert(size);
        }
    };
    for row in &scene.snapshot.claims {
        if let (ClaimWhat::BlockSize, ClaimValue::Count(size)) = (row.claim.what, &row.claim.value)
        {
            learn(row.claim.of, Some(*size));
        }
    }
    for row in scene.snapshot.workers.iter().filter(|row| !row.gone) {
        learn(ClaimOf::Engine, row.block_size.engine.map(u64::from));
        learn(ClaimOf::Publisher, row.block_size.publisher.map(u64::from));
        learn(ClaimOf::Card, row.block_size.card.map(u64::from));
        learn(ClaimOf::Router, row.block_size.router.map(u64::from));
    }
    learn(ClaimOf::Router, scene.snapshot.router.block_size_inferred.map(u64::from));
    claims
}

/// The declared size counts only beside the others: not every router reads it.
fn verdict(claims: &Claims) -> (State, &'static str) {
    let effective = || claims.iter().filter(|(of, _)| **of != ClaimOf::Declared);
    let sizes: BTreeSet<u64> = effective().flat_map(|(_, sizes)| sizes.iter().copied()).collect();
    let declared = claims.get(&ClaimOf::Declared);
    if sizes.len() > 1 {
        (State::Fail, "differ")
    } else if declared.is_some_and(|declared| !sizes.is_empty() && *declared != sizes) {
        (State::Warn, "declared differs")
    } else if effective().count() < 2 {
        (State::Unknown, "one claim only")
    } else {
        (State::Ok, "agree")
    }
}
