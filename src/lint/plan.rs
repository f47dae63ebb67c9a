//! Derives the intended routing of a deployment from its settings.

use super::judge::Scene;
use super::manifest::Part;
use crate::domain::{Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, Role};
use crate::dynamo::router::{KV, MODES};
use crate::dynamo::variable;

/// The intended routing of a deployment.
pub(super) struct Plan {
    /// Requests are to be routed by cached blocks.
    pub(super) is_kv: bool,
    /// A router of its own, or a gateway plugin, routes.
    pub(super) has_own_size: bool,
    told_by: ToldBy,
}

/// The place that tells how requests are routed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToldBy {
    /// The settings of frontends.
    Frontends,
    /// A mode that is set where it is not read.
    Misplaced,
    /// Model cards: every worker has a mode of its own. They carry all settings of the router, and replace those of
    /// frontends (dynamo-llm 1.6.1, `discovery/watcher.rs`, `effective_router_config`).
    Cards,
}

impl Plan {
    pub(super) fn new(scene: &Scene<'_, '_>) -> Self {
        let own =
            |part: &&Part<'_>| matches!(part.role, Role::StandaloneRouter | Role::GatewayPlugin);
        let has_own_size = scene.routers().any(|part| own(&part));
        let asked = scene
            .frontends()
            .any(|part| mode(part) == Some(KV) || (asks_for_kv(part) && !chooses_another(part)));
        let own_mode = |part| scene.own_mode(part).map(|claim| &claim.value);
        let kv = ClaimValue::Text(KV.into());
        let by_card = scene.workers().any(|(_, part)| own_mode(part) == Some(&kv));
        let only_cards = scene.workers().next().is_some()
            && scene.workers().all(|(_, part)| own_mode(part).is_some());
        let elsewhere = |part: &Part<'_>| {
            let entry = part.variable(variable::ROUTER_MODE).map(|found| found.entry);
            entry.and_then(|entry| entry.string("value")) == Some("kv")
        };
        let mode_misplaced =
            scene.workers().any(|(_, part)| elsewhere(part) && own_mode(part).is_none())
                && scene.frontends().all(|part| set(part, ClaimWhat::RouterMode).is_none());
        let alone = scene.routers().next().is_none()
            && scene.workers().any(|(_, part)| publishes(part) == Some(true));
        Self {
            is_kv: asked || by_card || has_own_size || mode_misplaced || alone,
            has_own_size,
            told_by: match (only_cards, mode_misplaced) {
                (true, _) => ToldBy::Cards,
                (false, true) => ToldBy::Misplaced,
                (false, false) => ToldBy::Frontends,
            },
        }
    }

    /// Returns true for frontends that must be told to route by cached blocks.
    pub(super) fn needs_mode(&self, part: &Part<'_>) -> bool {
        part.role == Role::Frontend && !self.has_own_size && self.told_by == ToldBy::Frontends
    }

    /// Returns true for frontends whose settings are replaced by those in model cards.
    pub(super) fn replaces(&self, part: &Part<'_>) -> bool {
        part.role == Role::Frontend && self.told_by == ToldBy::Cards
    }

    /// Returns true for parts that route by cached blocks.
    pub(super) fn routes(part: &Part<'_>) -> bool {
        part.role != Role::Frontend || mode(part) == Some(KV)
    }

    /// Returns true for frontends that hash with the size which they declare.
    pub(super) fn hashes_with_declared(part: &Part<'_>) -> bool {
        let key = (ClaimWhat::BlockSize, ClaimOf::Router);
        part.role == Role::Frontend && part.claims.contains_key(&key)
    }
}

fn mode<'a>(part: &'a Part<'_>) -> Option<&'a str> {
    match &part.claims.get(&(ClaimWhat::RouterMode, ClaimOf::Router))?.value {
        ClaimValue::Text(mode) => Some(if means_kv(mode) { KV } else { mode }),
        _ => None,
    }
}

/// Returns true for values that are no mode, and can only be meant for `kv`. What such a deployment lacks
/// besides is told as well.
pub(super) fn means_kv(mode: &str) -> bool {
    !MODES.contains(&mode) && mode.to_ascii_lowercase().contains("kv")
}

/// Returns the claim of a router about itself, when somebody set it.
pub(super) fn set<'a>(part: &'a Part<'_>, what: ClaimWhat) -> Option<&'a Claim> {
    let of = if what == ClaimWhat::BlockSize { ClaimOf::Declared } else { ClaimOf::Router };
    part.claims.get(&(what, of)).filter(|claim| claim.basis != Basis::Default)
}

/// Returns true for a frontend that was told to route in another way.
fn chooses_another(part: &Part<'_>) -> bool {
    set(part, ClaimWhat::RouterMode).is_some() && mode(part).is_some_and(|mode| mode != KV)
}

/// Returns true when settings of KV routing stand on a frontend.
pub(super) fn asks_for_kv(part: &Part<'_>) -> bool {
    let settings = [
        ClaimWhat::BlockSize,
        ClaimWhat::OverlapWeight,
        ClaimWhat::OverlapCredit,
        ClaimWhat::KvEvents,
        ClaimWhat::ReplicaSync,
    ];
    settings.into_iter().any(|what| set(part, what).is_some())
}

pub(super) fn publishes(part: &Part<'_>) -> Option<bool> {
    match part.claims.get(&(ClaimWhat::PublishesEvents, ClaimOf::Publisher))?.value {
        ClaimValue::Flag(flag) => Some(flag),
        _ => None,
    }
}
