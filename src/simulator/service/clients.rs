//! A closed loop of users: each asks, waits for the answer, thinks and asks again.

use super::Service;
use crate::domain::{Timestamp, TokensHash};
use crate::simulator::hash::tokens_hashes;
use crate::simulator::rng::Rng;
use crate::simulator::workload::{Chat, Turn, words};

/// The shape of conversations: turns, and tokens of their parts, each from one number to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversations {
    /// Questions of a user before the conversation ends.
    pub turns: (u64, u64),
    /// Tokens of the system prompt that all conversations share.
    pub system: u64,
    /// Tokens of the passage that a conversation is about.
    pub passage: (u64, u64),
    /// Share of conversations about a passage that no other one is about.
    pub alone: f64,
    /// Tokens of a question, chat template included.
    pub question: (u64, u64),
    /// Shortest answer and longest answer, in tokens.
    pub answer: (f64, f64),
}

impl Conversations {
    /// The conversations of the measured deployment.
    pub const MEASURED: Self = Self {
        turns: (5, 5),
        system: 180,
        passage: (3_900, 4_300),
        alone: 0.0,
        question: (40, 120),
        answer: (60.0, 1_024.0),
    };

    /// Short chats with assistants that have a system prompt each.
    pub const SMALL: Self = Self {
        turns: (3, 14),
        system: 0,
        passage: (320, 1_100),
        alone: 0.08,
        question: (20, 180),
        answer: (40.0, 140.0),
    };
}

/// Names of the first assistants, where each has a system prompt of its own.
const ASSISTANTS: [&str; 8] = [
    "support-bot",
    "code-review",
    "sales-desk",
    "translator",
    "hr-helper",
    "sql-writer",
    "summarizer",
    "release-notes",
];
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

/// The users of a deployment.
#[derive(Clone, Debug)]
pub(in crate::simulator) struct Clients {
    rng: Rng,
    shape: Conversations,
    system: Vec<u32>,
    passages: Vec<Vec<u32>>,
    /// Conversations that go on.
    open: usize,
    next_start: Timestamp,
}

impl Clients {
    /// Returns the users of `service`, who have not asked yet.
    pub(in crate::simulator) fn new(seed: u64, service: &Service) -> Self {
        let mut rng = Rng::new(seed, 5);
        let shape = service.conversations;
        let system = words(&mut rng, shape.system);
        let passages = (0..service.passages).map(|_| passage(&mut rng, shape)).collect();
        Self { rng, shape, system, passages, open: 0, next_start: Timestamp(0) }
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
        self.next_start = at.after(service.pace);
        Some(at)
    }

    /// Returns the first block of the system prompt and of each passage in blocks of `size` tokens, with a name.
    pub(in crate::simulator) fn labels(&self, size: u32) -> Vec<(TokensHash, String)> {
        let full = self.system.len() / size.max(1) as usize;
        let mut labels = Vec::new();
        for (place, passage) in self.passages.iter().enumerate() {
            let tokens: Vec<u32> = self.system.iter().chain(passage).copied().collect();
            let hashes = tokens_hashes(&tokens, size);
            if self.system.is_empty() {
                let assistant = ASSISTANTS
                    .get(place)
                    .map_or_else(|| format!("assistant {}", place + 1), ToString::to_string);
                labels.extend(
                    hashes.first().map(|hash| (*hash, format!("{assistant} system prompt"))),
                );
                continue;
            }
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
        if self.shape.alone > 0.0 && self.rng.chance(self.shape.alone) {
            tokens.extend(passage(&mut self.rng, self.shape));
        } else {
            let passage = self.rng.index(self.passages.len());
            tokens.extend(self.passages.get(passage).into_iter().flatten());
        }
        let (least, most) = self.shape.turns;
        let turns_left = if least == most { most } else { self.rng.between(least, most) };
        Chat { tokens, turns_left }
    }

    /// Adds a question to `chat`, and the answer that it will get.
    pub(in crate::simulator) fn ask(&mut self, mut chat: Chat, service: &Service) -> Turn {
        let question = self.rng.between(self.shape.question.0, self.shape.question.1);
        chat.tokens.extend(words(&mut self.rng, question));
        let prompt = chat.tokens.len();
        // The sum of twelve numbers from 0 to 1 is close to normal, and the same on every machine.
        let normal: f64 = (0..12).map(|_| self.rng.unit()).sum::<f64>() - 6.0;
        let (shortest, longest) = self.shape.answer;
        let length = (service.answer + service.answer_spread * normal).clamp(shortest, longest);
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

/// Returns a passage that nobody has asked about.
fn passage(rng: &mut Rng, shape: Conversations) -> Vec<u32> {
    let length = rng.between(shape.passage.0, shape.passage.1);
    words(rng, length)
}
