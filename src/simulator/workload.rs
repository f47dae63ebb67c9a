//! Conversations and their turns, as tokens.

use super::rng::Rng;

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
    /// Its tokens that are the prompt.
    pub(super) prompt: usize,
}

/// Returns `length` random tokens.
pub(super) fn words(rng: &mut Rng, length: u64) -> Vec<u32> {
    let (first, size) = VOCABULARY;
    (0..length).map(|_| u32::try_from(first + rng.below(size)).unwrap_or(0)).collect()
}
