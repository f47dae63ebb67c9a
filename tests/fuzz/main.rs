//! Every decoder against inputs that are nearly right: it may refuse them, and never fails.
//!
//! `cargo test --test fuzz` runs each target some thousand times, always with the same inputs. A long run:
//! `KVTOP_FUZZ_RUNS=10000000 KVTOP_FUZZ_SECONDS=3000 cargo test --profile fuzz --test fuzz -- --nocapture`, with a
//! seed of its own in `KVTOP_FUZZ_SEED`. The profile has debug assertions and overflow checks.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]
#![expect(clippy::panic, reason = "a finding is told with its input")]
#![expect(clippy::print_stdout, reason = "a long run tells how far it came")]

mod corpus;
mod decoders;
mod mutate;
mod second;
mod sources;
mod texts;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mutate::{Chance, mutate};

/// Executions of each target where nobody says how many.
const RUNS: u64 = 1_500;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs `target` with a text of `forms` between two mutations of `around`.
fn fuzz_pieces(
    name: &str,
    around: &[Vec<u8>],
    forms: &[&str],
    mut target: impl FnMut(&str, &str, &str),
) {
    let mut chance = Chance::new(3);
    let mut after = Vec::new();
    fuzz(name, around, |before| {
        after.clone_from(chance.pick(around));
        mutate(&mut after, around, &mut chance);
        let form = *chance.pick(forms);
        target(&String::from_utf8_lossy(before), form, &String::from_utf8_lossy(&after));
    });
}

/// Runs `target` with mutations of `seeds`. A panic is told with the input that made it.
#[expect(clippy::disallowed_methods, reason = "a long run is bounded by time as well")]
fn fuzz(name: &str, seeds: &[Vec<u8>], mut target: impl FnMut(&[u8])) {
    assert!(seeds.len() > 1, "{name} has {} seeds", seeds.len());
    let runs = number("KVTOP_FUZZ_RUNS", RUNS);
    let most = Duration::from_secs(number("KVTOP_FUZZ_SECONDS", 600));
    let mut chance = Chance::new(number("KVTOP_FUZZ_SEED", 1));
    let started = Instant::now();
    let mut done = 0;
    let mut input = Vec::new();
    while done < runs && (done % 256 != 0 || started.elapsed() < most) {
        input.clone_from(chance.pick(seeds));
        mutate(&mut input, seeds, &mut chance);
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| target(&input))) {
            let said = cause.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("?");
            let text = String::from_utf8_lossy(&input);
            panic!("{name}, execution {done}: {said}\ninput: {text:?}\nbytes: {input:?}");
        }
        done += 1;
    }
    if runs > RUNS {
        println!("{name}: {done} executions in {:.0?}", started.elapsed());
    }
}
