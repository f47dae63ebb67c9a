//! Names that people gave to blocks, such as the first of a system prompt. Events hold hashes alone.

use std::collections::BTreeMap;

use thiserror::Error;

use super::text;
use crate::domain::{BlockRef, SequenceHash, TreeNode};

/// Digits of a hash, and the fewest that may stand for it: as many as the tree shows.
const DIGITS: std::ops::RangeInclusive<usize> = 8..=16;
/// Most names that are read.
const NAMES: usize = 10_000;
/// Columns of a name; longer ones are cut.
const COLUMNS: usize = 48;

/// An error in labels.
#[derive(Debug, Error)]
pub enum LabelsError {
    /// It is no TOML of texts.
    #[error("line {line}: {why}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The findings, or the mistake.
        why: String,
    },
    /// A key is no hash.
    #[error("`{0}` is no hash: 8 to 16 hexadecimal digits, as the tree and events show them")]
    NoHash(String),
    /// There are too many.
    #[error("there are {0} names; {NAMES} are the most")]
    TooMany(usize),
}

/// Names of blocks by the first digits of their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    names: BTreeMap<String, String>,
}

impl Labels {
    /// Reads lines such as `a31f09c2 = "system prompt"`.
    pub fn parse(file: &str) -> Result<Self, LabelsError> {
        let read: BTreeMap<String, String> = toml::from_str(file).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = 1 + file.bytes().take(at).filter(|byte| *byte == b'\n').count();
            LabelsError::Syntax { line, why: error.message().to_owned() }
        })?;
        if read.len() > NAMES {
            return Err(LabelsError::TooMany(read.len()));
        }
        let mut names = BTreeMap::new();
        for (key, name) in read {
            let digits = key.strip_prefix("0x").unwrap_or(&key).to_ascii_lowercase();
            let is_hash = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            if !is_hash || !DIGITS.contains(&digits.len()) {
                return Err(LabelsError::NoHash(text::clean(&key).into_owned()));
            }
            let name = text::cut(text::clean(&name).trim(), COLUMNS, "");
            names.insert(digits, name);
        }
        Ok(Self { names })
    }

    /// Adds the names of `other`, which replace those of the same blocks.
    pub fn extend(&mut self, other: &Self) {
        self.names.extend(other.names.clone());
    }

    /// Returns the first digits of each hash with its name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(digits, name)| (digits.as_str(), name.as_str()))
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true when there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the name of what has this hash; of several the one that says most of it.
    fn of_hash(&self, hash: u64) -> Option<&str> {
        let digits = format!("{hash:016x}");
        let known = DIGITS.rev().find_map(|count| self.names.get(digits.get(..count)?));
        known.map(String::as_str)
    }

    /// Returns the name of a node: that of its block by either of its hashes, or of a missing parent.
    pub fn label(&self, node: &TreeNode) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        match node {
            TreeNode::Block(BlockRef { sequence, tokens, .. }) => {
                self.of_hash(sequence.0).or_else(|| self.of_hash(tokens.0))
            }
            TreeNode::Missing(SequenceHash(hash)) => self.of_hash(*hash),
            TreeNode::Root | TreeNode::Detached | TreeNode::Orphans => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Hint, TokensHash};

    fn block(sequence: u64, tokens: u64) -> TreeNode {
        let (sequence, tokens) = (SequenceHash(sequence), TokensHash(tokens));
        TreeNode::Block(BlockRef { sequence, tokens, orphan: false, hint: Hint(0) })
    }

    #[test]
    fn a_name_is_found_by_first_digits_of_either_hash() {
        let file = "a31f09c2 = \"short\"\na31f09c200000001 = \"whole\"\n0x5512E3F0 = 'of tokens'\n";
        let labels = Labels::parse(file).unwrap();
        assert_eq!(labels.label(&block(0xa31f_09c2_0000_0001, 7)), Some("whole"));
        assert_eq!(labels.label(&block(0xa31f_09c2_0000_0002, 7)), Some("short"));
        assert_eq!(labels.label(&block(1, 0x5512_e3f0_ffff_ffff)), Some("of tokens"));
        assert_eq!(
            labels.label(&TreeNode::Missing(SequenceHash(0xa31f_09c2 << 32))),
            Some("short")
        );
        // A small number is no first digits.
        assert_eq!(labels.label(&block(0xa31f_09c2, 7)), None);
        assert_eq!(labels.label(&TreeNode::Root), None);
    }

    #[test]
    fn mistakes_are_explained() {
        let why = |file: &str| Labels::parse(file).unwrap_err().to_string();
        assert!(why("a31f = \"short\"\n").contains("`a31f` is no hash"));
        assert!(why("system-prompt = \"a31f09c2\"\n").contains("8 to 16"));
        assert!(why("a31f09c2 = 5\n").contains("string"));
        assert!(why("a31f09c2 = \"\n").contains("line 1"));
        assert!(Labels::parse("").unwrap().is_empty());
    }

    #[test]
    fn names_are_harmless_and_short() {
        let file = format!("a31f09c2 = \"\\u001b[2J{}\"\n", "x".repeat(500));
        let labels = Labels::parse(&file).unwrap();
        let name = labels.label(&block(0xa31f_09c2 << 32, 0)).unwrap();
        assert!(!name.contains('\u{1b}') && text::width(name) <= COLUMNS, "{name}");
    }
}
