//! Sentences as data: a template with typed values, turned into text where it is shown.
//!
//! A rule keeps its templates beside its judgement, so a new rule is one file. How numbers, shares and names of
//! Dynamo's settings look is decided here alone.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::evidence::DownSource;
use crate::domain::{DpRank, Release, Releases, thousands};
use crate::dynamo::named;

/// One value in a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A number of things, shown with separators between thousands.
    Count(u64),
    /// A number that is an identity or a size, such as tokens per block, shown as it is.
    Number(i128),
    /// A measured value, shown with this many decimals.
    Decimal(f64, usize),
    /// A release of Dynamo.
    Release(Release),
    /// The releases that a process may run.
    Releases(Releases),
    /// A name, or words that another process wrote.
    Name(Arc<str>),
    /// A sentence within the sentence.
    Phrase(Phrase),
}

impl fmt::Display for Piece {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => formatter.write_str(&thousands(*count)),
            Self::Number(number) => number.fmt(formatter),
            Self::Decimal(value, decimals) => write!(formatter, "{value:.decimals$}"),
            Self::Release(release) => release.fmt(formatter),
            Self::Releases(releases) => releases.fmt(formatter),
            Self::Name(name) => formatter.write_str(name),
            Self::Phrase(phrase) => phrase.fmt(formatter),
        }
    }
}

/// A template and the values for its places.
///
/// `{}` in the template is the place of the next value; `{variable::NAME}`, `{flag::NAME}` and `{label::NAME}` are
/// names of Dynamo's settings; `{{` and `}}` are braces.
#[derive(Clone, Debug, Default)]
pub struct Phrase {
    template: &'static str,
    values: Vec<Piece>,
}

impl Phrase {
    /// Returns a sentence. Use the macro `phrase!`.
    pub fn new(template: &'static str, values: Vec<Piece>) -> Self {
        Self { template, values }
    }

    /// Returns words that another process wrote, or a name, as a sentence of its own.
    pub fn quoted(words: impl ToPiece) -> Self {
        Self { template: "{}", values: vec![words.piece()] }
    }

    /// Returns the template.
    pub fn template(&self) -> &'static str {
        self.template
    }

    /// Returns the values, in the order of their places.
    pub fn values(&self) -> &[Piece] {
        &self.values
    }

    /// Returns true for a sentence without words.
    pub fn is_empty(&self) -> bool {
        self.template.is_empty()
    }

    /// Appends a sentence.
    pub fn push(&mut self, next: impl Into<Self>) {
        *self = std::mem::take(self).and(next);
    }

    /// Returns the sentence with another one after it.
    #[must_use]
    pub fn and(self, next: impl Into<Self>) -> Self {
        Self { template: "{}{}", values: vec![Piece::Phrase(self), Piece::Phrase(next.into())] }
    }

    /// Returns the sentences one after the other, with `between` them.
    pub fn joined(between: &'static str, all: impl IntoIterator<Item = Self>) -> Self {
        let joined = all.into_iter().reduce(|before, next| {
            let values = vec![Piece::Phrase(before), between.piece(), Piece::Phrase(next)];
            Self { template: "{}{}{}", values }
        });
        joined.unwrap_or_default()
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut values = self.values.iter();
        let mut rest = self.template;
        while let Some(at) = rest.find(['{', '}']) {
            formatter.write_str(&rest[..at])?;
            rest = &rest[at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                formatter.write_str(&rest[..1])?;
                rest = &rest[2..];
                continue;
            }
            let end = rest.find('}').map_or(rest.len(), |end| end + 1);
            match rest[..end].trim_matches(['{', '}']) {
                "" => {
                    if let Some(value) = values.next() {
                        value.fmt(formatter)?;
                    }
                }
                name => formatter.write_str(named(name).unwrap_or(&rest[..end]))?,
            }
            rest = &rest[end..];
        }
        formatter.write_str(rest)
    }
}

impl PartialEq for Phrase {
    /// Compares the text: two sentences are equal if they read the same.
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl PartialEq<&str> for Phrase {
    /// Compares the text.
    fn eq(&self, text: &&str) -> bool {
        let own = self.to_string();
        own == *text
    }
}

impl From<&'static str> for Phrase {
    fn from(template: &'static str) -> Self {
        Self { template, values: Vec::new() }
    }
}

impl From<String> for Phrase {
    /// Returns a name, or words that another process wrote.
    fn from(words: String) -> Self {
        Self::quoted(words)
    }
}

impl From<&String> for Phrase {
    /// Returns a name, or words that another process wrote.
    fn from(words: &String) -> Self {
        Self::quoted(words)
    }
}

impl From<&Self> for Phrase {
    fn from(phrase: &Self) -> Self {
        phrase.clone()
    }
}

impl From<Arc<str>> for Phrase {
    /// Returns a name, or words that another process wrote.
    fn from(words: Arc<str>) -> Self {
        Self::quoted(words)
    }
}

/// A number of things, as a value of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count(pub u64);

/// A measured value with its decimals, as a value of a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decimal(pub f64, pub usize);

/// A type whose values can stand in a sentence.
pub trait ToPiece {
    /// Returns the value.
    fn piece(&self) -> Piece;
}

macro_rules! pieces {
    ($($kind:ty: |$it:ident| $piece:expr;)+) => {
        $(impl ToPiece for $kind {
            fn piece(&self) -> Piece {
                let $it = self;
                $piece
            }
        })+
    };
}

pieces! {
    Count: |it| Piece::Count(it.0);
    Decimal: |it| Piece::Decimal(it.0, it.1);
    u32: |it| Piece::Number((*it).into());
    u64: |it| Piece::Number((*it).into());
    usize: |it| Piece::Number(i128::try_from(*it).unwrap_or(i128::MAX));
    f64: |it| Piece::Name(it.to_string().into());
    str: |it| Piece::Name(it.into());
    String: |it| Piece::Name(it.as_str().into());
    Arc<str>: |it| Piece::Name(Self::clone(it));
    Cow<'_, str>: |it| Piece::Name(it.as_ref().into());
    Release: |it| Piece::Release(*it);
    Releases: |it| Piece::Releases(*it);
    Phrase: |it| Piece::Phrase(it.clone());
    DownSource: |it| Piece::Name(it.to_string().into());
    DpRank: |it| Piece::Number(it.0.into());
}

impl<T: ToPiece + ?Sized> ToPiece for &T {
    fn piece(&self) -> Piece {
        (**self).piece()
    }
}

/// Returns a [`Phrase`] with a template and its values, as `format!` returns a text.
macro_rules! phrase {
    ($template:expr $(, $value:expr)* $(,)?) => {
        $crate::diagnose::phrase::Phrase::new(
            $template,
            vec![$($crate::diagnose::phrase::ToPiece::piece(&$value)),*],
        )
    };
}
pub(crate) use phrase;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_places_and_look_as_their_kind_does() {
        let inner = phrase!("{} of {}", Count(1_234), Count(5));
        let outer = phrase!("{{{}}}: {} % at {}", inner, Decimal(12.345, 1), 64_u32);
        assert_eq!(outer.to_string(), "{1,234 of 5}: 12.3 % at 64");
        assert_eq!(outer.values().len(), 3);
    }

    #[test]
    fn settings_are_named_in_a_template_and_unknown_names_stay() {
        let text =
            Phrase::from("Set {variable::ROUTER_MODE}=kv ({flag::ROUTER_MODE} kv), not {other}.");
        assert_eq!(text.to_string(), "Set DYN_ROUTER_MODE=kv (--router-mode kv), not {other}.");
    }

    #[test]
    fn words_of_others_are_no_template() {
        assert_eq!(
            Phrase::quoted("a {} b {variable::ROUTER_MODE}").to_string(),
            "a {} b {variable::ROUTER_MODE}"
        );
    }

    #[test]
    fn sentences_are_joined_in_order() {
        let three = ["a", "b", "c"].map(Phrase::from);
        assert_eq!(Phrase::joined("; ", three).to_string(), "a; b; c");
        assert!(Phrase::joined("; ", []).is_empty());
    }
}
