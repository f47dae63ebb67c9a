//! The requests: chats that start from shared system prompts and grow turn by turn.

use super::hash::tokens_hashes;
use super::rng::Rng;
use crate::domain::TokensHash;

/// How many system prompts there are.
const PROMPTS: usize = 8;
/// Names of the assistants whose system prompts they are.
const NAMES: [&str; PROMPTS] = [
    "support-bot",
    "code-review",
    "sales-desk",
    "translator",
    "hr-helper",
    "sql-writer",
    "summarizer",
    "release-notes",
];
/// Chats waiting for their user, at most.
const IDLE_CHATS: usize = 48;
/// Share of chats that start with a prompt of their own.
const ALONE: f64 = 0.08;
/// The first token that is not special, and the size of the vocabulary behind it.
const VOCABULARY: (u64, u64) = (256, 151_000);

/// A chat: all of its tokens so far.
#[derive(Clone, Debug)]
pub(super) struct Chat {
    /// System prompt, questions and answers.
    pub(super) tokens: Vec<u32>,
    pub(super) turns_left: u64,
}

/// One turn of a chat, to be answered.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// The chat, the answer to come included.
    pub(super) chat: Chat,
    /// How many of its tokens are the prompt.
    pub(super) prompt: usize,
}

/// Users who come at random, at a given rate.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    rng: Rng,
    prompts: Vec<Vec<u32>>,
    idle: Vec<Chat>,
}

impl Workload {
    /// Returns the workload of `seed`.
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 1);
        let prompts = (0..PROMPTS)
            .map(|_| {
                let length = rng.between(320, 1100);
                words(&mut rng, length)
            })
            .collect();
        Self { rng, prompts, idle: Vec::new() }
    }

    /// Returns the first block of each system prompt in blocks of `size` tokens, with a name.
    pub(super) fn labels(&self, size: u32) -> Vec<(TokensHash, String)> {
        let first = |(place, prompt): (usize, &Vec<u32>)| {
            let hash = tokens_hashes(prompt, size).first().copied()?;
            let name = NAMES
                .get(place)
                .map_or_else(|| format!("assistant {}", place + 1), ToString::to_string);
            Some((hash, format!("{name} system prompt")))
        };
        self.prompts.iter().enumerate().filter_map(first).collect()
    }

    /// Returns the next turn: most of the time of a chat that has been going on.
    pub(super) fn turn(&mut self) -> Turn {
        let goes_on = !self.idle.is_empty()
            && self.rng.chance(if self.idle.len() < IDLE_CHATS / 2 { 0.6 } else { 0.85 });
        let mut chat = if goes_on {
            let index = self.rng.index(self.idle.len());
            self.idle.swap_remove(index)
        } else {
            Chat { tokens: self.system_prompt(), turns_left: self.rng.between(3, 14) }
        };
        let question = self.rng.between(20, 180);
        chat.tokens.extend(words(&mut self.rng, question));
        let prompt = chat.tokens.len();
        let answer = self.rng.between(40, 140);
        chat.tokens.extend(words(&mut self.rng, answer));
        chat.turns_left -= 1;
        Turn { chat, prompt }
    }

    /// Takes back a chat that was answered.
    pub(super) fn answered(&mut self, chat: Chat) {
        if chat.turns_left == 0 {
            return;
        }
        if self.idle.len() >= IDLE_CHATS {
            let index = self.rng.index(self.idle.len());
            self.idle.swap_remove(index);
        }
        self.idle.push(chat);
    }

    /// Returns a system prompt; the first is asked for twice as often as the second, and so on
    /// (Zipf). Now and then one that nobody else has.
    fn system_prompt(&mut self) -> Vec<u32> {
        if self.rng.chance(ALONE) {
            let length = self.rng.between(100, 900);
            return words(&mut self.rng, length);
        }
        let total: f64 = (1..=PROMPTS).map(|rank| 1.0 / rank as f64).sum();
        let mut left = self.rng.unit() * total;
        let mut chosen = 0;
        for rank in 1..=PROMPTS {
            left -= 1.0 / rank as f64;
            chosen = rank - 1;
            if left < 0.0 {
                break;
            }
        }
        self.prompts.get(chosen).cloned().unwrap_or_default()
    }
}

/// Returns `length` random tokens.
pub(super) fn words(rng: &mut Rng, length: u64) -> Vec<u32> {
    let (first, size) = VOCABULARY;
    (0..length).map(|_| u32::try_from(first + rng.below(size)).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_repeats_all_that_was_said_before() {
        let mut workload = Workload::new(1);
        let first = workload.turn();
        let said = first.chat.tokens.clone();
        workload.answered(first.chat);

        let next = (0..100)
            .map(|_| workload.turn())
            .find(|turn| turn.chat.tokens.starts_with(&said))
            .expect("the chat goes on");

        assert!(next.prompt > said.len());
        assert!(next.chat.tokens.len() > next.prompt);
    }

    #[test]
    fn chats_share_few_system_prompts() {
        let mut workload = Workload::new(7);

        let mut heads: Vec<Vec<u32>> =
            (0..200).map(|_| workload.turn().chat.tokens[..120].to_vec()).collect();
        heads.sort();
        heads.dedup();

        assert!(heads.len() <= PROMPTS + 20);
        assert!(heads.len() > 2);
    }
}
