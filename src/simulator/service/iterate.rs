//! An engine that works in iterations: each continues every answer by a token and computes a piece
//! of the prompts that are new.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::Service;
use crate::domain::Timestamp;
use crate::simulator::{Event, Simulation};

/// A prompt that is being computed.
#[derive(Clone, Copy, Debug)]
struct Prompt {
    request: u64,
    left: usize,
    /// Its length, what is cached included.
    length: usize,
}

/// The iterations of one rank.
#[derive(Clone, Debug, Default)]
pub(in crate::simulator) struct Iterations {
    /// The number of iterations that have ended.
    number: u64,
    /// True while one is computed.
    busy: bool,
    prompts: VecDeque<Prompt>,
    /// Prompts whose last piece is in the current iteration.
    ending: Vec<Prompt>,
    decoding: usize,
    /// Tokens of context of the answers that are being continued.
    context: u64,
    /// Requests with the iteration in which something happens to them.
    due: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Iterations {
    /// Returns the number of iterations after which a request that comes now may be accepted.
    pub(in crate::simulator) fn earliest(&self, service: &Service) -> u64 {
        if self.busy { self.number + 1 + service.ahead } else { self.number }
    }

    /// Returns true when a request that may be accepted after `earliest` iterations is accepted now;
    /// an engine without work composes nothing ahead.
    pub(in crate::simulator) fn accepts(&self, earliest: u64) -> bool {
        let idle = self.decoding == 0 && self.prompts.is_empty();
        !self.busy && (idle || self.number >= earliest)
    }

    /// Takes a prompt of `length` tokens of which `left` are to be computed.
    pub(in crate::simulator) fn prompt(&mut self, request: u64, length: usize, left: usize) {
        self.prompts.push_back(Prompt { request, left, length });
    }

    /// Plans the next event of an answer for `tokens` iterations from now.
    pub(in crate::simulator) fn plan(&mut self, request: u64, tokens: usize) {
        self.due.push(Reverse((self.number + tokens as u64, request)));
    }

    /// Takes out an answer that ended with `context` tokens.
    pub(in crate::simulator) fn end(&mut self, context: usize) {
        self.decoding = self.decoding.saturating_sub(1);
        self.context = self.context.saturating_sub(context as u64);
    }

    /// Begins an iteration. Returns how long it takes, none when there is nothing to do.
    fn begin(&mut self, service: &Service) -> Option<Duration> {
        let mut budget = service.chunk;
        while budget > 0
            && let Some(prompt) = self.prompts.front_mut()
        {
            let piece = prompt.left.min(budget);
            prompt.left -= piece;
            budget -= piece;
            if prompt.left == 0 {
                self.ending.extend(self.prompts.pop_front());
            }
        }
        let computed = service.chunk - budget;
        if self.decoding == 0 && computed == 0 {
            return None;
        }
        self.busy = true;
        Some(service.iteration(self.decoding, self.context, computed))
    }

    /// Ends the iteration. Returns the requests whose prompts are computed, and those to which
    /// something happens with this token.
    fn finish(&mut self) -> (Vec<u64>, Vec<u64>) {
        self.number += 1;
        self.context += self.decoding as u64;
        let mut due = Vec::new();
        while let Some(Reverse((number, request))) = self.due.peek().copied()
            && number <= self.number
        {
            self.due.pop();
            due.push(request);
        }
        let computed: Vec<u64> = self.ending.iter().map(|prompt| prompt.request).collect();
        for prompt in self.ending.drain(..) {
            self.decoding += 1;
            self.context += prompt.length as u64;
        }
        (computed, due)
    }
}

impl Simulation {
    /// Starts the engine of a rank when it is idle and has something to do.
    pub(in crate::simulator) fn iterate(&mut self, now: Timestamp, place: (usize, usize)) {
        let service = self.config.service;
        let worker = &mut self.workers[place.0];
        let id = worker.id;
        let rank = &mut worker.ranks[place.1];
        if rank.iterations.busy {
            return;
        }
        if let Some(takes) = rank.iterations.begin(&service) {
            self.queue.plan(now.after(takes), Event::Iterated(place, id));
        }
    }

    /// An iteration ends.
    pub(in crate::simulator) fn iterated(
        &mut self,
        now: Timestamp,
        place: (usize, usize),
        worker: u64,
    ) {
        if self.workers[place.0].id != worker || !self.workers[place.0].up {
            return;
        }
        let rank = &mut self.workers[place.0].ranks[place.1];
        let (computed, due) = rank.iterations.finish();
        self.generated += rank.iterations.decoding as u64;
        for request in due {
            if self.requests.get(&request).is_some_and(|request| request.ends) {
                self.finished(now, request);
            } else {
                self.filled(now, request);
            }
        }
        for request in computed {
            self.prefilled(now, request);
        }
        // Until here nothing was accepted, so that the next iteration sees all that ended.
        self.workers[place.0].ranks[place.1].iterations.busy = false;
        self.admit(now, place);
    }
}
