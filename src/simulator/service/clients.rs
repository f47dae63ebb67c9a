//! A closed loop of users: each asks, waits for the answer, thinks and asks again.

use std::time::Duration;

use super::Service;
use crate::domain::{Timestamp, TokensHash};
use crate::simulator::hash::tokens_hashes;
use crate::simulator::rng::Rng;
use crate::simulator::workload::{Chat, Turn, words};

/// Turns of a conversation.
const TURNS: u64 = 5;
/// Tokens of the system prompt and of a passage, the latter from one to the other.
const SYSTEM: u64 = 180;
const PASSAGE: (u64, u64) = (3_900, 4_300);
/// Tokens of a question, chat template included.
const QUESTION: (u64, u64) = (40, 120);
/// Longest answer, and the shortest.
const ANSWER: (f64, f64) = (60.0, 1_024.0);
/// Names of the first passages.
const TOPICS: [&str; 10] = [
    "returns policy",
    "shipping rates",
    "warranty terms",
    "billing handbook",
    "product manual",
    "privacy policy",
    "onboarding guide",
    "outage runbook",
    "price list",
    "release notes",
];
/// Conversations start this far apart at least.
const PACE: Duration = Duration::from_millis(100);

/// The users of a deployment.
#[derive(Clone, Debug)]
pub(in crate::simulator) struct Clients {
    rng: Rng,
    system: Vec<u32>,
    passages: Vec<Vec<u32>>,
    /// Conversations that go on.
    open: usize,
    next_start: Timestamp,
}

impl Clients {
    /// Returns users who have not asked yet, and will ask about so many passages.
    pub(in crate::simulator) fn new(seed: u64, passages: usize) -> Self {
        let mut rng = Rng::new(seed, 5);
        let system = words(&mut rng, SYSTEM);
        let passages = (0..passages)
            .map(|_| {
                let length = rng.between(PASSAGE.0, PASSAGE.1);
                words(&mut rng, length)
            })
            .collect();
        Self { rng, system, passages, open: 0, next_start: Timestamp(0) }
    }

    /// Returns when the next conversation starts, none when enough are open.
    pub(in crate::simulator) fn start(
        &mut self,
        now: Timestamp,
        service: &Service,
    ) -> Option<Timestamp> {
        if self.open >= service.concurrency {
            return None;
        }
        self.open += 1;
        let at = self.next_start.max(now);
        self.next_start = at.after(PACE);
        Some(at)
    }

    /// Returns the first block of the system prompt and of each passage in blocks of `size` tokens, with a name.
    pub(in crate::simulator) fn labels(&self, size: u32) -> Vec<(TokensHash, String)> {
        let full = self.system.len() / size.max(1) as usize;
        let mut labels = Vec::new();
        for (place, passage) in self.passages.iter().enumerate() {
            let tokens: Vec<u32> = self.system.iter().chain(passage).copied().collect();
            let hashes = tokens_hashes(&tokens, size);
            if place == 0 {
                labels.extend(
                    hashes.first().map(|hash| (*hash, "support-bot system prompt".to_owned())),
                );
            }
            let topic = TOPICS
                .get(place)
                .map_or_else(|| format!("article {}", place + 1), ToString::to_string);
            labels.extend(hashes.get(full).map(|hash| (*hash, format!("rag: {topic}"))));
        }
        labels
    }

    /// Returns a new conversation about one of the passages.
    pub(in crate::simulator) fn conversation(&mut self) -> Chat {
        let mut tokens = self.system.clone();
        let passage = self.rng.index(self.passages.len());
        tokens.extend(self.passages.get(passage).into_iter().flatten());
        Chat { tokens, turns_left: TURNS }
    }

    /// Adds a question to `chat`, and the answer that it will get.
    pub(in crate::simulator) fn ask(&mut self, mut chat: Chat, service: &Service) -> Turn {
        let question = self.rng.between(QUESTION.0, QUESTION.1);
        chat.tokens.extend(words(&mut self.rng, question));
        let prompt = chat.tokens.len();
        // The sum of twelve numbers from 0 to 1 is close to normal, and the same on every machine.
        let normal: f64 = (0..12).map(|_| self.rng.unit()).sum::<f64>() - 6.0;
        let length = (service.answer + service.answer_spread * normal).clamp(ANSWER.0, ANSWER.1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to what an answer can be"
        )]
        let answer = words(&mut self.rng, length as u64);
        chat.tokens.extend(answer);
        chat.turns_left -= 1;
        Turn { chat, prompt }
    }

    /// Takes an answer. Returns when its user asks again, none when the conversation is over.
    pub(in crate::simulator) fn answered(
        &mut self,
        now: Timestamp,
        chat: &Chat,
        service: &Service,
    ) -> Option<Timestamp> {
        if chat.turns_left == 0 || self.open > service.concurrency {
            self.open = self.open.saturating_sub(1);
            return None;
        }
        // The follow-up is written by another model, so no user is much faster or slower.
        Some(now.after(service.think.mul_f64(0.5 + self.rng.unit())))
    }
}
