//! The service model: how long engine, frontend and network take, and how many users wait for answers.
//!
//! The default numbers describe one deployment, the Llama 3.1 70B demonstration on three H200 whose
//! measurements are in tests/bench/twin/measured.tsv. `cargo bench --bench twin` compares the two.
//! [`Service::small`] has guessed numbers for a small model.

mod clients;
mod iterate;
mod measure;

use std::fmt;
use std::time::Duration;

pub(super) use self::clients::Clients;
pub use self::clients::Conversations;
pub(super) use self::iterate::Iterations;
pub use self::measure::{Answered, InFlight};
use super::config::RouterMode;

/// The parameters of a deployment's service times, and its users.
///
/// Fitted with `cargo bench --bench twin -- --fit` and rounded, apart from `cached_token` (163 KB of keys
/// and values at 4.8 TB/s), `batch_limit`, `graphs` and `chunk`, which are settings of the engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// Conversations that wait for an answer or for their user's next question.
    pub concurrency: usize,
    /// Requests that one engine runs at a time.
    pub batch_limit: usize,
    /// Prompt tokens that one iteration of an engine computes at most (chunked prefill).
    pub chunk: usize,
    /// Time of an iteration that reads the weights and nothing else.
    pub weights: Duration,
    /// Time to read the cached keys and values of one token.
    pub cached_token: Duration,
    /// Time to compute one prompt token.
    pub prompt_token: Duration,
    /// Least time of an iteration without a CUDA graph: its kernels are launched one by one.
    pub launches: Duration,
    /// Every batch up to this one has a CUDA graph, and so has the limit. TensorRT-LLM without padding
    /// captures batches of 1 to 32, 64 and 128 (`_generate_cuda_graph_batch_sizes`, `llm_args.py`).
    pub graphs: usize,
    /// Iterations that are composed ahead: a new request waits for them.
    pub ahead: u64,
    /// Time from a client to the frontend and back.
    pub network: Duration,
    /// Time that each request in flight adds to a frontend's handling of a new one. Measured, not explained: no
    /// engine's part of the first token's time grows like that.
    pub stream: Duration,
    /// Its addition on top where a router weighs costs and follows KV events.
    pub routed: Duration,
    /// Mean length of an answer in tokens, before the limit of 1,024.
    pub answer: f64,
    /// Standard deviation of that length.
    pub answer_spread: f64,
    /// Mean time until the user of a conversation asks again.
    pub think: Duration,
    /// Passages that conversations are about.
    pub passages: usize,
    /// The shape of a conversation.
    pub conversations: Conversations,
    /// Conversations start this far apart at least.
    pub pace: Duration,
    /// Time that a KV event takes from a worker to the router.
    pub transport: Duration,
}

/// Tokens that one GPU's cache holds (53 GiB).
pub const CACHE_TOKENS: usize = 348_304;

impl Default for Service {
    fn default() -> Self {
        Self {
            concurrency: 120,
            batch_limit: 64,
            chunk: 8_192,
            weights: Duration::from_micros(20_800),
            cached_token: Duration::from_nanos(34),
            prompt_token: Duration::from_micros(114),
            launches: Duration::from_millis(43),
            graphs: 32,
            ahead: 1,
            network: Duration::from_millis(108),
            stream: Duration::from_micros(650),
            routed: Duration::from_micros(550),
            answer: 880.0,
            answer_spread: 160.0,
            think: Duration::from_millis(150),
            passages: 10,
            conversations: Conversations::MEASURED,
            pace: Duration::from_millis(100),
            transport: Duration::from_micros(1_200),
        }
    }
}

/// Workers of the measured deployment, which had one frontend.
const MEASURED_WORKERS: u32 = 3;

impl Service {
    /// Returns the parameters for `workers` workers with users who ask about `passages` passages. Frontends
    /// are as many for each worker as measured, so that none of them has more requests in flight.
    pub fn fleet(workers: u32, passages: usize) -> Self {
        let measured = Self::default();
        let share = |each: Duration| each * MEASURED_WORKERS / workers.max(1);
        let (stream, routed) = (share(measured.stream), share(measured.routed));
        Self { stream, routed, passages, ..measured }
    }

    /// Returns guessed parameters of a small model on a small GPU, whose users chat with one of eight
    /// assistants and take their time to answer: 50 users send about eight requests a second.
    pub fn small() -> Self {
        Self {
            concurrency: 50,
            batch_limit: 48,
            chunk: 2_048,
            weights: Duration::from_millis(9),
            cached_token: Duration::from_nanos(60),
            prompt_token: Duration::from_micros(250),
            launches: Duration::from_millis(10),
            graphs: 32,
            ahead: 1,
            network: Duration::from_millis(6),
            stream: Duration::from_micros(200),
            routed: Duration::from_micros(100),
            answer: 90.0,
            answer_spread: 25.0,
            think: Duration::from_secs(5),
            passages: 8,
            conversations: Conversations::SMALL,
            pace: Duration::from_millis(100),
            transport: Duration::from_micros(1_200),
        }
    }

    /// Returns the time of an iteration that continues `decoding` answers with `cached` tokens of
    /// context in all, and computes `prompt` tokens of prompts.
    pub(super) fn iteration(&self, decoding: usize, cached: u64, prompt: usize) -> Duration {
        let computed = self.weights.as_secs_f64()
            + self.cached_token.as_secs_f64() * cached as f64
            + self.prompt_token.as_secs_f64() * prompt as f64;
        let graph = prompt == 0 && (decoding <= self.graphs || decoding == self.batch_limit);
        let least = if graph { 0.0 } else { self.launches.as_secs_f64() };
        Duration::from_secs_f64(computed.max(least))
    }

    /// Returns the time that a frontend with `inflight` requests takes to pass on one more.
    pub(super) fn frontend(&self, mode: RouterMode, inflight: u64) -> Duration {
        let each = match mode {
            RouterMode::Kv => self.stream + self.routed,
            RouterMode::RoundRobin => self.stream,
        };
        each.mul_f64(inflight as f64)
    }
}

impl fmt::Display for Service {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "Service times: an iteration takes {:?} + {:?} per cached token + {:?} per prompt token, \
             and at least {:?} without a CUDA graph (batches above {} except the limit of {}, and \
             every one with a prompt). A new request waits for {} iteration that is composed ahead. \
             Frontend and network take {:?} + {:?} per request in flight, {:?} more with KV-aware \
             routing. Answers have {} ± {} tokens, 1,024 at most; the next question comes after {:?}.",
            self.weights,
            self.cached_token,
            self.prompt_token,
            self.launches,
            self.graphs,
            self.batch_limit,
            self.ahead,
            self.network,
            self.stream,
            self.routed,
            self.answer,
            self.answer_spread,
            self.think,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_without_a_graph_take_the_time_of_their_launches() {
        let service = Service::default();
        let time = |batch, prompt| service.iteration(batch, 0, prompt);

        assert_eq!(time(32, 0), service.weights);
        assert_eq!(time(33, 0), service.launches);
        assert_eq!(time(64, 0), service.weights);
        assert_eq!(time(1, 1), service.launches);
        assert!(time(1, 4_000) > service.launches * 5);
    }
}
