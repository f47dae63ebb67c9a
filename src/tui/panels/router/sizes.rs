//! Block sizes, each with the parts that report it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fact, missing};
use crate::domain::{Basis, ClaimOf, ClaimValue, ClaimWhat, Subject};
use crate::snapshot::{ClaimRow, Snapshot};
use crate::tui::judge::{self, State};
use crate::tui::panels::PanelContext;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::part;

type Claims = BTreeMap<ClaimOf, BTreeSet<u64>>;

/// Returns the sizes that block sizes are known to have, each with who has it; what the frontend
/// declares is left out.
pub fn sides(snapshot: &Snapshot) -> BTreeMap<u64, Vec<ClaimOf>> {
    sides_of(&claims(snapshot))
}

fn sides_of(claims: &Claims) -> BTreeMap<u64, Vec<ClaimOf>> {
    let mut sides: BTreeMap<u64, Vec<ClaimOf>> = BTreeMap::new();
    for (of, sizes) in claims.iter().filter(|(of, _)| **of != ClaimOf::Declared) {
        for size in sizes {
            sides.entry(*size).or_default().push(*of);
        }
    }
    sides
}

pub(super) fn fact(context: &PanelContext<'_>, glyphs: &Glyphs) -> Fact {
    let claims = claims(context.snapshot);
    if claims.is_empty() {
        return super::fact("block size", vec![missing("not reported yet", glyphs)]);
    }
    let found = judge::sizes_found(context.snapshot);
    let by_model = found == State::Ok && has_one_size_a_model(context.snapshot);
    let (state, word) =
        if by_model { (State::Ok, "each model has its own") } else { verdict(&claims, found) };
    // By size, so that the two sides of a disagreement stand against each other.
    let between = if by_model { glyphs.dot } else { glyphs.differs };
    let sides = joined(&sides_of(&claims), between);
    let mut parts = vec![part(format!("{} {sides}", state.glyph(glyphs)), state.role())];
    if let Some(declared) = claims.get(&ClaimOf::Declared) {
        let said: Vec<String> = declared.iter().map(u64::to_string).collect();
        let dot = if sides.is_empty() { "" } else { glyphs.dot };
        parts.push(part(format!(" {dot} declared {}", said.join("/")), Role::Fg));
    }
    parts.push(part(format!("  {word}"), state.role()));
    super::fact("block size", parts)
}

/// Returns sizes with everybody who has them: `16 engine, router ≠ 32 publisher`.
pub fn format_sides(sides: &BTreeMap<u64, Vec<ClaimOf>>, glyphs: &Glyphs) -> String {
    joined(sides, glyphs.differs)
}

fn joined(sides: &BTreeMap<u64, Vec<ClaimOf>>, between: &str) -> String {
    let side = |(size, of): (&u64, &Vec<ClaimOf>)| {
        let names: Vec<&str> = of.iter().map(|of| of.name()).collect();
        format!("{size} {}", names.join(", "))
    };
    let sides: Vec<String> = sides.iter().map(side).collect();
    sides.join(&format!(" {between} "))
}

/// Returns true where workers serve several models, and all of one model have one size.
fn has_one_size_a_model(snapshot: &Snapshot) -> bool {
    let mut models: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for row in snapshot.workers.iter().filter(|row| !row.gone) {
        let Some(model) = row.belongs.model.as_deref() else { return false };
        models.entry(model).or_default().extend(judge::sizes(&row.block_size));
    }
    models.len() > 1 && models.values().all(|sizes| sizes.len() == 1)
}

fn claims(snapshot: &Snapshot) -> Claims {
    let mut claims = Claims::new();
    let mut learn = |of, size: Option<u64>| {
        if let Some(size) = size {
            claims.entry(of).or_default().insert(size);
        }
    };
    let workers = snapshot.workers.iter().filter(|row| !row.gone);
    // Rows of workers have picked the best claim of each worker already.
    let in_rows = workers.clone().next().is_some();
    for (of, size) in best_claims(&snapshot.claims) {
        if !in_rows || matches!(of, ClaimOf::Router | ClaimOf::Declared) {
            learn(of, Some(size));
        }
    }
    for row in workers {
        learn(ClaimOf::Engine, row.block_size.engine.map(u64::from));
        learn(ClaimOf::Publisher, row.block_size.publisher.map(u64::from));
        learn(ClaimOf::Publisher, row.block_size.proven.map(u64::from));
        learn(ClaimOf::Card, row.block_size.card.map(u64::from));
        learn(ClaimOf::Router, row.block_size.router.map(u64::from));
    }
    learn(ClaimOf::Router, snapshot.router.block_size_inferred.map(u64::from));
    claims
}

/// Returns the sizes by whoever states them best about each subject. What a manifest asks for counts
/// only where no pod is known.
fn best_claims(rows: &[ClaimRow]) -> Vec<(ClaimOf, u64)> {
    let mut best: BTreeMap<(ClaimOf, &Subject), (Basis, u64)> = BTreeMap::new();
    for claim in rows.iter().map(|row| &row.claim) {
        let (ClaimWhat::BlockSize, ClaimValue::Count(size)) = (claim.what, &claim.value) else {
            continue;
        };
        let known = best.entry((claim.of, &claim.subject)).or_insert((claim.basis, *size));
        if claim.basis >= known.0 {
            *known = (claim.basis, *size);
        }
    }
    let planned = |subject: &Subject| matches!(subject, Subject::Component { .. });
    let running: BTreeSet<ClaimOf> =
        best.keys().filter(|(_, subject)| !planned(subject)).map(|(of, _)| *of).collect();
    best.into_iter()
        .filter(|((of, subject), _)| !planned(subject) || !running.contains(of))
        .map(|((of, _), (_, size))| (of, size))
        .collect()
}

/// Routing works when engine, publisher and router agree; a frontend's router uses the card's size.
/// The declared size counts only beside the others: not every router reads it.
fn verdict(claims: &Claims, found: State) -> (State, &'static str) {
    let effective = || claims.iter().filter(|(of, _)| **of != ClaimOf::Declared);
    let sizes: BTreeSet<u64> = effective().flat_map(|(_, sizes)| sizes.iter().copied()).collect();
    let declared = claims.get(&ClaimOf::Declared);
    let known = |any: &[ClaimOf]| any.iter().any(|of| claims.contains_key(of));
    if sizes.len() > 1 {
        (judge::figure(true, found), "they differ")
    } else if declared.is_some_and(|declared| !sizes.is_empty() && *declared != sizes)
        && found > State::Ok
    {
        (found, "the declared size differs")
    } else if !known(&[ClaimOf::Engine, ClaimOf::Publisher]) {
        (State::Unknown, "the sizes of the workers are not reported")
    } else if !known(&[ClaimOf::Engine]) {
        (State::Unknown, "the engine's size is not reported")
    } else if !known(&[ClaimOf::Publisher]) {
        (State::Unknown, "the publisher's size is not reported")
    } else if !known(&[ClaimOf::Card, ClaimOf::Router]) {
        (State::Unknown, "the router's size is not reported")
    } else if declared.is_some_and(|declared| *declared != sizes) {
        (State::Ok, "all but the declared size agree")
    } else {
        (State::Ok, "all agree")
    }
}
