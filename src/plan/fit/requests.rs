//! Requests: how many at once, how long, and how conversations share their prompts.

use std::time::Duration;

use super::{DEFAULT, Given, Impossible, Targets};
use crate::plan::inputs::{Basis, Input};
use crate::simulator::Service;
use crate::snapshot::{DecisionRow, RequestMix, Snapshot};

/// Decisions with a known prompt length from which lengths are fitted.
const DECISIONS: usize = 20;
/// The name of the turns among the inputs.
pub(in crate::plan) const TURNS_NAME: &str = "turns of a conversation";
/// Most turns of a conversation.
const TURNS: f64 = 40.0;
/// Conversations begin within this time.
const ARRIVAL: Duration = Duration::from_secs(20);
/// The bounds of prompts and answers, in tokens.
const TOKENS: (f64, f64) = (16.0, 200_000.0);

/// Sets users, lengths and turns, and returns the figures to reproduce.
pub(super) fn fit(
    snapshot: &Snapshot,
    given: &Given,
    service: &mut Service,
    inputs: &mut Vec<Input>,
) -> Result<Targets, Impossible> {
    let mix = snapshot.router.mix.as_ref();
    let lengths = lengths(snapshot);
    let prompt = prompt(mix, &lengths)?;
    inputs.push(Input::new("prompt", prompt.0.round(), "tokens", Basis::Observed, prompt.1));
    let observed = mix.and_then(|mix| mix.answer_tokens);
    let (answer, basis, from) = match observed {
        Some(answer) => (answer, Basis::Observed, "frontends' metrics: mean of answers"),
        None => (service.answer, Basis::Assumed, DEFAULT),
    };
    let answer = answer.clamp(1.0, TOKENS.1);
    inputs.push(Input::new("answer", answer.round(), "tokens", basis, from));
    turns(service, prompt.0, answer, &lengths, inputs);
    let limit = |share: f64| (answer * share).round().max(1.0);
    service.answer = answer;
    service.answer_spread = answer * 0.18;
    service.conversations.answer = (limit(0.07), limit(1.5));
    inputs.push(Input::new("spread of answers", 18.0, "%", Basis::Assumed, DEFAULT));
    let flight = in_flight(snapshot);
    let rate = mix.map(RequestMix::per_second).filter(|rate| *rate > 0.0);
    let think = service.think.as_secs_f64();
    let routed = snapshot.router.routed_per_second;
    let per_second = rate.or(Some(routed).filter(|routed| *routed > 0.0));
    let users = users(given, flight.clone(), per_second, think, inputs)?;
    service.concurrency = users;
    service.pace = (ARRIVAL / u32::try_from(users).unwrap_or(u32::MAX).max(1)).min(service.pace);
    let default = format!("{DEFAULT}; users ask again at once");
    inputs.push(Input::new(
        "time between answer and question",
        think,
        "s",
        Basis::Assumed,
        default,
    ));
    let first = mix.and_then(|mix| mix.first_token);
    // Little's law: the mean time of a request is the number in flight by their rate.
    let latency = flight.zip(rate).map(|((flight, _), rate)| flight / rate);
    let itl_mean = latency
        .zip(first)
        .map(|(latency, first)| ((latency - first) / (answer - 1.0).max(1.0)).max(0.0));
    Ok(Targets {
        hits: snapshot.felt.cached.or(mix.and_then(|mix| mix.cached)),
        ttft_mean: first,
        ttft: snapshot.felt.first_token,
        itl_mean: itl_mean
            .filter(|time| *time > 1e-4 && observed.is_some() && given.users.is_none()),
        requests: rate,
    })
}

/// Returns the conversations at once: those that wait for an answer, and those whose user thinks.
fn users(
    given: &Given,
    flight: Option<(f64, String)>,
    per_second: Option<f64>,
    think: f64,
    inputs: &mut Vec<Input>,
) -> Result<usize, Impossible> {
    let name = "conversations at once";
    if let Some(users) = given.users {
        inputs.push(Input::new(name, users as f64, "", Basis::Assumed, "--users"));
        return Ok(users.max(1));
    }
    let (flight, from) = flight.ok_or(Impossible::NoLoad)?;
    let per_second = per_second.filter(|_| flight > 0.0).ok_or(Impossible::NoTraffic)?;
    let users = (flight + per_second * think).max(1.0).round();
    inputs.push(Input::new(name, users, "", Basis::Observed, from));
    Ok(whole(users))
}

/// Returns the mean length of prompts.
fn prompt(mix: Option<&RequestMix>, lengths: &[f64]) -> Result<(f64, String), Impossible> {
    let counted = mix.and_then(|mix| mix.prompt_tokens);
    if let Some(tokens) = counted {
        return Ok((
            tokens.clamp(TOKENS.0, TOKENS.1),
            "frontends' metrics: mean of prompts".into(),
        ));
    }
    if lengths.len() < DECISIONS {
        return Err(Impossible::NoPrompts);
    }
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    let from = format!("{} routing decisions: mean of prompts", lengths.len());
    Ok((mean.clamp(TOKENS.0, TOKENS.1), from))
}

/// Returns the known prompt lengths of decisions in tokens, shortest first.
fn lengths(snapshot: &Snapshot) -> Vec<f64> {
    let mut claimed = snapshot.workers.iter().filter(|row| !row.gone);
    let size = snapshot
        .router
        .block_size_inferred
        .or_else(|| claimed.find_map(|row| row.block_size.router.or(row.block_size.card)));
    let length = |row: &DecisionRow| {
        let blocks = row.prompt_blocks.zip(size);
        let of_blocks = blocks.map(|(blocks, size)| (blocks as f64 - 0.5) * f64::from(size));
        row.prompt_tokens.map(|tokens| tokens as f64).or(of_blocks)
    };
    let mut lengths: Vec<f64> = snapshot.decisions.iter().filter_map(length).collect();
    lengths.sort_by(f64::total_cmp);
    lengths
}

/// Sets turns, and the parts of the first prompt: each turn repeats the whole history, so that prompts grow by an
/// answer and a question; the shortest prompts are those of first turns.
fn turns(
    service: &mut Service,
    prompt: f64,
    answer: f64,
    lengths: &[f64],
    inputs: &mut Vec<Input>,
) {
    let shape = &mut service.conversations;
    let question = (shape.question.0 + shape.question.1) as f64 / 2.0;
    let question = question.min(prompt / 4.0);
    let growth = answer + question;
    let (turns, basis, from) = if lengths.len() >= DECISIONS {
        let low = lengths[lengths.len() / 20];
        let from = format!("lengths of {} prompts, each repeating the history", lengths.len());
        (1.0 + 2.0 * (prompt - low).max(0.0) / growth, Basis::Fitted, from)
    } else {
        let most = 1.0 + 2.0 * (prompt - question - 16.0).max(0.0) / growth;
        ((shape.turns.0 as f64).min(most), Basis::Assumed, DEFAULT.to_owned())
    };
    let turns = turns.round().clamp(1.0, TURNS);
    let first = (prompt - (turns - 1.0) / 2.0 * growth).max(TOKENS.0);
    inputs.push(Input::new(TURNS_NAME, turns, "", basis, from));
    let name = "first prompt of a conversation";
    inputs.push(Input::new(
        name,
        first.round(),
        "tokens",
        Basis::Fitted,
        "prompt, answer and turns",
    ));
    let system = (shape.system as f64).min(first / 4.0).round();
    let passage = (first - system - question).max(1.0);
    shape.turns = (count(turns), count(turns));
    shape.system = count(system);
    shape.passage = (count(passage * 0.95).max(1), count(passage * 1.05).max(1));
    shape.question = (count(question * 0.5).max(1), count(question * 1.5).max(1));
    inputs.push(Input::new("question", question.round(), "tokens", Basis::Assumed, DEFAULT));
    let passages = service.passages as f64;
    inputs.push(Input::new("shared passages", passages, "", Basis::Assumed, DEFAULT));
}

/// Returns the requests in flight, and where that is from.
fn in_flight(snapshot: &Snapshot) -> Option<(f64, String)> {
    if let Some(mean) = snapshot.router.in_flight {
        return Some((
            mean,
            "workers' metrics: mean of requests in flight in the last minute".into(),
        ));
    }
    let rows = snapshot.workers.iter().filter(|row| !row.gone);
    let in_engine: Option<Vec<u64>> =
        rows.map(|row| Some(row.in_engine.running? + row.in_engine.waiting.unwrap_or(0))).collect();
    let sum = in_engine.filter(|all| !all.is_empty())?.iter().sum::<u64>();
    Some((sum as f64, "engines' metrics: requests that run or wait now".into()))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn count(value: f64) -> u64 {
    value.round().clamp(0.0, 1e9) as u64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole(value: f64) -> usize {
    value.round().clamp(0.0, 1e9) as usize
}
