//! Chooses the inputs that nothing reports so that the simulation of the present gives the observed figures.

use std::time::Duration;

use super::change::Change;
use super::fit::{DEFAULT, Fitted, TURNS_NAME};
use super::inputs::{Basis, Input};
use super::measure::{Job, Length, Outcome};
use crate::simulator::Service;

/// The seed of the simulations that fit; others give the spread.
const SEED: u64 = 1;
/// The rounds after which service times are taken as they are.
const ROUNDS: usize = 4;
/// The nearest and farthest that a factor of service times goes in one round.
const FACTOR: (f64, f64) = (0.2, 5.0);
/// A difference of cached shares that counts as none.
const NEAR: f64 = 0.01;

/// Fits reuse and service times, with simulations of `length` each, while `go_on` returns true. Where that stopped it,
/// the inputs are not those of a plan.
pub fn calibrate(fitted: &mut Fitted, length: Length, go_on: &dyn Fn() -> bool) {
    let before = fitted.config.service;
    let present = |fitted: &Fitted| {
        let job = Job::new(&fitted.config, Change::Now, SEED, length, None)?;
        Some(job.run(go_on)?.outcome)
    };
    for round in 0..2 {
        reuse(fitted, &present);
        times(fitted, &present, if round == 0 { ROUNDS / 2 } else { ROUNDS });
    }
    tell(fitted, &before);
}

/// Simulates the present.
type Present<'a> = dyn Fn(&Fitted) -> Option<Outcome> + 'a;

/// Fits the share of conversations whose passage nobody else asks about, so that as many tokens are cached as
/// observed; where even passages of their own leave too many cached, conversations get fewer turns.
fn reuse(fitted: &mut Fitted, present: &Present<'_>) {
    let Some(target) = fitted.targets.hits else { return };
    let with = |fitted: &mut Fitted, alone: f64| {
        fitted.config.service.conversations.alone = alone;
        present(fitted).map(|outcome| outcome.hits)
    };
    let Some(most) = with(fitted, 0.0) else { return };
    if most <= target + NEAR {
        return;
    }
    let Some(mut least) = with(fitted, 1.0) else { return };
    while least > target + NEAR && fitted.config.service.conversations.turns.1 > 1 {
        fewer_turns(&mut fitted.config.service);
        let Some(next) = with(fitted, 1.0) else { return };
        least = next;
    }
    let alone = if most - least > NEAR { (most - target) / (most - least) } else { 1.0 };
    fitted.config.service.conversations.alone = alone.clamp(0.0, 1.0);
}

/// Takes a turn away, and makes the first prompt longer so that the mean stays.
fn fewer_turns(service: &mut Service) {
    let shape = &mut service.conversations;
    let turns = shape.turns.1.saturating_sub(1).max(1);
    let question = (shape.question.0 + shape.question.1) as f64 / 2.0;
    let longer = f64::midpoint(service.answer, question);
    let longer = Duration::from_secs_f64(longer.clamp(0.0, 1e6)).as_secs();
    shape.turns = (turns, turns);
    shape.passage = (shape.passage.0 + longer, shape.passage.1 + longer);
}

/// Fits the times of engines and frontends.
fn times(fitted: &mut Fitted, present: &Present<'_>, rounds: usize) {
    let targets = fitted.targets;
    for _ in 0..rounds {
        let Some(now) = present(fitted) else { return };
        let service = &mut fitted.config.service;
        if let Some(target) = targets.itl_mean
            && now.itl_mean > 0.0
        {
            let by = (target / now.itl_mean).clamp(FACTOR.0, FACTOR.1);
            for time in [
                &mut service.weights,
                &mut service.launches,
                &mut service.cached_token,
                &mut service.prompt_token,
            ] {
                *time = time.mul_f64(by).max(Duration::from_nanos(1));
            }
        }
        if let Some(target) = targets.ttft_mean {
            let network = service.network.as_secs_f64() + (target - now.ttft_mean) * 0.7;
            // Where the first token comes sooner than the engine alone takes, prompts are computed faster.
            if network < 0.0 {
                let by = (target / now.ttft_mean).clamp(FACTOR.0, 1.0);
                service.prompt_token =
                    service.prompt_token.mul_f64(by).max(Duration::from_nanos(1));
                service.stream = service.stream.mul_f64(by);
                service.routed = service.routed.mul_f64(by);
            }
            service.network = Duration::from_secs_f64(network.clamp(0.0, 60.0));
        }
    }
}

/// Adds the inputs that were fitted.
fn tell(fitted: &mut Fitted, before: &Service) {
    let (targets, service) = (fitted.targets, fitted.config.service);
    let shape = service.conversations;
    if shape.turns != before.conversations.turns {
        let turns = shape.turns.1 as f64;
        let from = "so that the simulation gives the observed share of cached tokens";
        let told = fitted.inputs.iter_mut().find(|input| input.name == TURNS_NAME);
        if let Some(input) = told {
            *input = Input::new(TURNS_NAME, turns, "", Basis::Fitted, from);
        }
    }
    let hits = targets.hits.map(|_| "the observed share of cached tokens");
    let itl = targets.itl_mean.map(|_| "the observed mean time between tokens");
    let ttft = targets.ttft_mean.map(|_| "the observed mean TTFT");
    let in_ms = |time: Duration| time.as_secs_f64() * 1e3;
    let (prompt, cached) = (service.prompt_token, service.cached_token);
    let told = [
        ("conversations with a passage of their own", 100.0 * shape.alone, "%", hits),
        ("iteration of an engine", in_ms(service.weights), "ms", itl),
        ("least iteration without CUDA graph", in_ms(service.launches), "ms", itl),
        ("prompt token", in_ms(prompt) * 1e3, "us", itl.or(ttft)),
        ("cached token", in_ms(cached) * 1e6, "ns", itl),
        ("frontend and network", in_ms(service.network), "ms", ttft),
        ("frontend, per request in flight", in_ms(service.stream) * 1e3, "us", None),
    ];
    fitted.inputs.extend(told.map(|(name, value, unit, to)| match to {
        Some(to) => {
            let from = format!("so that the simulation gives {to}");
            Input::new(name, value, unit, Basis::Fitted, from)
        }
        None => Input::new(name, value, unit, Basis::Assumed, DEFAULT),
    }));
}
