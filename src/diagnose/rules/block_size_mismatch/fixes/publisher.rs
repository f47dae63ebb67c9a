//! Fixes that give publishers the block size of engines.

use super::{
    ALL_WORKERS, ALONE, EACH, EngineSetting, frontend_too, frontend_will_not_do, restart_of_cards,
    worker_size_flag,
};
use crate::diagnose::evidence::{Evidence, Ground, SizeClaim};
use crate::diagnose::fix::{Change, Fix, Part};
use crate::diagnose::phrase::{Phrase, phrase};
use crate::domain::{Backend, ClaimOf, SetBy};
use crate::dynamo::{flag, release};

/// Returns true where the engine has the size of the live model cards, with which routers hash, and only the publisher
/// another: engines of the publisher's size would be of no use to them.
pub(super) fn publisher_alone_differs(
    evidence: &Evidence,
    sizes: (&SizeClaim, &SizeClaim),
) -> bool {
    let (publisher, engine) = (sizes.0.tokens, sizes.1.tokens);
    let card = evidence.agreed(ClaimOf::Card).filter(|card| card.ground == Ground::Observed);
    let router = evidence.router_size().map(|(tokens, _)| tokens);
    publisher != engine
        && card.is_some_and(|card| card.tokens == engine)
        && router.is_none_or(|router| router == engine)
}

/// Returns the fix that gives publishers the size of engines and router.
pub(super) fn stray_publisher_fix(
    evidence: &Evidence,
    publisher: &SizeClaim,
    engine: &SizeClaim,
    names: &[String],
) -> Fix {
    let who = if names.is_empty() { "the workers".to_owned() } else { names.join(", ") };
    let flag = match evidence.backend() {
        Some(Backend::TrtLlm) => flag::KV_BLOCK_SIZE,
        Some(Backend::Vllm | Backend::Mocker) => flag::BLOCK_SIZE,
        Some(Backend::SgLang) => flag::PAGE_SIZE,
        None => "the publisher's block size",
    };
    let sentence = phrase!(
        "Restart {} with {} {} (publishers use {} now): engines and model cards have that size already. {}",
        who,
        flag,
        engine.tokens,
        publisher.tokens,
        frontend_will_not_do()
    );
    Fix {
        sentence,
        restarts: phrase!("restart of {}{}", who, if names.len() == 1 { ALONE } else { EACH }),
        ..Fix::default()
    }
}

/// Returns the fix that makes workers publish the engine's size, if one worker flag does that.
pub(super) fn publisher_fix(
    evidence: &Evidence,
    publisher: u32,
    engine: u32,
    (setting, on): (&EngineSetting, Part),
) -> Option<Fix> {
    let change = worker_size_flag(evidence, engine, on)?;
    let Change::Set { flags, .. } = &change else { return None };
    let flag = flags.first()?;
    if let Some(set) = in_place(evidence, flags, engine) {
        return Some(overridden(evidence, set, (publisher, engine), flag));
    }
    let mut sentence = phrase!(
        "Stop all workers.{} Then start the workers with {} {}, the block size of their engines",
        frontend_too(evidence),
        flag,
        engine
    );
    let before = |release| evidence.releases.least.is_none_or(|it| it < release);
    match (evidence.backend()?, setting) {
        (Backend::TrtLlm, EngineSetting::Overridden(place)) => {
            let size = phrase!(". {} already sets tokens_per_block: {}, but ", place, publisher);
            sentence.push(size);
            sentence.push("something overrides that value; look for it in the engines' log");
        }
        (Backend::TrtLlm, _) => {
            sentence
                .push(". Alternative: restart the workers one at a time with tokens_per_block: ");
            sentence.push(phrase!("{}", publisher));
            sentence.push(" in the engine's configuration");
        }
        (Backend::Vllm, _) if before(release::VLLM_SIZE_FROM_ENGINE) => {
            sentence.push(phrase!(", or with Dynamo {} or later", release::VLLM_SIZE_FROM_ENGINE));
        }
        (Backend::SgLang, _) if before(release::SGLANG_SIZE_FROM_ENGINE) => {
            sentence
                .push(phrase!(", or with Dynamo {} or later", release::SGLANG_SIZE_FROM_ENGINE));
        }
        (Backend::Vllm | Backend::SgLang | Backend::Mocker, _) => {}
    }
    sentence = phrase!("{}. {}", sentence, frontend_will_not_do());
    Some(Fix {
        sentence,
        changes: vec![change],
        restart: restart_of_cards(evidence),
        restarts: ALL_WORKERS.into(),
    })
}

/// Returns the setting by one of `flags` that already asks for `tokens`.
pub(super) fn in_place<'a>(
    evidence: &'a Evidence,
    flags: &[&str],
    tokens: u32,
) -> Option<&'a SizeClaim> {
    let by_flag = |claim: &&SizeClaim| {
        let flag = claim.set_by.as_ref().and_then(SetBy::flag);
        claim.tokens == tokens && flag.is_some_and(|flag| flags.contains(&flag))
    };
    let of = [ClaimOf::Publisher, ClaimOf::Engine, ClaimOf::Card];
    of.into_iter().find_map(|of| evidence.all_sizes_of(of).find(by_flag))
}

/// Returns the fix if the flag already asks for the engine's size, but the publisher still uses another one.
fn overridden(
    evidence: &Evidence,
    set: &SizeClaim,
    (publisher, engine): (u32, u32),
    flag: &str,
) -> Fix {
    let frontend = frontend_will_not_do();
    let who = set.who(evidence);
    let log = evidence.sizes_of(ClaimOf::Publisher).find(|claim| claim.tokens == publisher);
    let seen = log.map_or_else(Phrase::default, |claim| phrase!(" ({})", claim.source));
    let upgrade = match (evidence.backend(), evidence.releases.least) {
        (Some(Backend::Vllm), Some(least)) if least < release::VLLM_SIZE_FROM_ENGINE => {
            Some(release::VLLM_SIZE_FROM_ENGINE)
        }
        (Some(Backend::SgLang), Some(least)) if least < release::SGLANG_SIZE_FROM_ENGINE => {
            Some(release::SGLANG_SIZE_FROM_ENGINE)
        }
        _ => None,
    };
    let upgrade = upgrade.map_or_else(
        || {
            Phrase::from(
                "Find what overrides the publisher's size, such as a wrapper script or a patched image",
            )
        },
        |release| {
            phrase!(
                "Upgrade to Dynamo {} or later, where the publisher uses the engine's size",
                release
            )
        },
    );
    let sentence = phrase!(
        "{} {} is already set on {}, but its publisher uses {}{}. {}, then \
         restart that worker; or start it with {} {}, if its engine supports that size. {}",
        flag,
        engine,
        who,
        publisher,
        seen,
        upgrade,
        flag,
        publisher,
        frontend
    );
    let restarts = phrase!("restart of {}, which loses its KV cache", who);
    Fix { sentence, restarts, ..Fix::default() }
}
