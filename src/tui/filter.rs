//! The filter language: words that must all match, `!` before one that must not.
//!
//! `w:0` is a worker, `ev:store` a kind of event, `src:logs` a source, `orphan` what routers refuse,
//! `warn` and `bad` the gravity, `~wrm` letters in that order; any other word is looked for as it is.

use crate::snapshot::{EventRow, Gravity};

/// The words that `/` knows, for help and errors.
pub const SYNTAX: [(&str, &str); 8] = [
    ("word", "anywhere in the row, in any case"),
    ("!word", "not that"),
    ("w:0", "worker w0, all of its ranks, and lines that name it"),
    ("ev:store", "events of that kind: store, remove, clear, route, warn .."),
    ("src:logs", "events from that source"),
    ("orphan", "blocks that routers reject because the parent is unknown"),
    ("bad", "complaints of routers; warn adds lines worth a look"),
    ("~wrm", "these letters in this order"),
];

/// A filter; one without terms matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    terms: Vec<(bool, Term)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Worker(String),
    Kind(String),
    Source(String),
    Orphan,
    AtLeast(Gravity),
    Letters(String),
    Text(String),
}

impl Filter {
    /// Returns the filter that `text` says. Every text is one.
    pub fn new(text: &str) -> Self {
        let term = |word: &str| {
            let wanted = word.strip_prefix('!');
            Some((wanted.is_some(), Term::new(wanted.unwrap_or(word))?))
        };
        Self { terms: text.split_whitespace().filter_map(term).collect() }
    }

    /// Returns true when it matches everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns true for what it lets through.
    pub fn matches(&self, row: &Target<'_>) -> bool {
        self.terms.iter().all(|(inverted, term)| term.matches(row) != *inverted)
    }
}

/// The fields that a filter looks at.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The worker or process concerned.
    pub who: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its source, a word for each.
    pub source: &'a str,
    /// The rest of its text.
    pub text: &'a str,
    /// Its gravity.
    pub gravity: Gravity,
    /// True for blocks that routers refuse.
    pub orphan: bool,
}

impl<'a> From<&'a EventRow> for Target<'a> {
    fn from(row: &'a EventRow) -> Self {
        let EventRow { who, text, source, gravity, orphan, .. } = row;
        let (gravity, orphan) = (*gravity, *orphan);
        Target { who, kind: row.kind.name(), source: source.as_str(), text, gravity, orphan }
    }
}

impl Term {
    /// Returns the term that `word` says; none while nothing of it is typed but a mark.
    fn new(word: &str) -> Option<Self> {
        let word = word.to_lowercase();
        let keyed = [
            ("w:", Self::Worker as fn(String) -> Self),
            ("ev:", Self::Kind),
            ("src:", Self::Source),
            ("~", Self::Letters),
        ];
        for (key, term) in keyed {
            if let Some(value) = word.strip_prefix(key) {
                return (!value.is_empty()).then(|| term(value.to_owned()));
            }
        }
        Some(match word.as_str() {
            "" => return None,
            "orphan" | "orphans" => Self::Orphan,
            "bad" => Self::AtLeast(Gravity::Bad),
            "warn" => Self::AtLeast(Gravity::Notice),
            _ => Self::Text(word),
        })
    }

    fn matches(&self, row: &Target<'_>) -> bool {
        match self {
            Self::Worker(number) => {
                let wanted = number.strip_prefix('w').unwrap_or(number);
                // A worker's name stands for all of its ranks, and logs name it in what they say.
                let is = |word: &str| {
                    let alias = word.trim_end_matches([',', ':', ';']).strip_prefix('w');
                    alias.is_some_and(|alias| {
                        alias == wanted || alias.split('/').next() == Some(wanted)
                    })
                };
                is(row.who) || row.text.split(' ').any(is)
            }
            Self::Kind(name) => row.kind.to_lowercase().starts_with(name.as_str()),
            Self::Source(name) => {
                let source = row.source.to_lowercase();
                source.split(' ').any(|source| source.starts_with(name.as_str()))
            }
            Self::Orphan => row.orphan,
            Self::AtLeast(gravity) => row.gravity >= *gravity,
            Self::Letters(letters) => has_letters(&text(row), letters),
            Self::Text(word) => text(row).contains(word.as_str()),
        }
    }
}

fn text(row: &Target<'_>) -> String {
    format!("{} {} {}", row.who, row.kind, row.text).to_lowercase()
}

/// Returns true when `text` has `letters` in that order.
fn has_letters(text: &str, letters: &str) -> bool {
    let mut rest = text.chars();
    letters.chars().all(|letter| rest.any(|other| other == letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::snapshot::EventKind;

    fn row(who: &str, kind: EventKind, said: &str, gravity: Gravity) -> EventRow {
        EventRow {
            number: 1,
            at: Timestamp(1),
            who: who.to_owned(),
            kind,
            text: said.to_owned(),
            gravity,
            source: "nats".into(),
            repeats: 0,
            orphan: gravity == Gravity::Bad,
        }
    }

    #[test]
    fn every_word_must_match_and_inverted_ones_must_not() {
        let store = row("w0", EventKind::Store, "2 blocks under a31f09c2", Gravity::Normal);
        let rank = row("w0/1", EventKind::Store, "1 block under parent 77be01d4", Gravity::Bad);
        let other = row("w10", EventKind::Remove, "6 blocks", Gravity::Normal);
        let kube = row("worker-0-x7k2p", EventKind::Worker, "is ready", Gravity::Notice);
        let rows = [&store, &rank, &other, &kube];
        let warning =
            row("frontend", EventKind::Warning, "parent not found for w0/1", Gravity::Bad);
        let warning = Target::from(&warning);
        assert!(Filter::new("w:0").matches(&warning) && !Filter::new("w:1").matches(&warning));
        let cases: [(&str, [bool; 4]); 16] = [
            ("", [true, true, true, true]),
            ("w:0", [true, true, false, false]),
            ("w:w10", [false, false, true, false]),
            ("w:0/1", [false, true, false, false]),
            ("ev:store", [true, true, false, false]),
            ("ev:sto !orphan", [true, false, false, false]),
            ("orphan", [false, true, false, false]),
            ("!w:0", [false, false, true, true]),
            ("A31F", [true, false, false, false]),
            ("w:0 77be", [false, true, false, false]),
            ("~wrkx7", [false, false, false, true]),
            ("src:nats", [true, true, true, true]),
            ("src:logs", [false, false, false, false]),
            ("warn", [false, true, false, true]),
            ("bad", [false, true, false, false]),
            // Half typed is nothing yet.
            ("! w: ~", [true, true, true, true]),
        ];
        for (text, expected) in cases {
            assert_eq!(rows.map(|row| Filter::new(text).matches(&row.into())), expected, "{text}");
        }
    }
}
