//! One line of the text format of Prometheus 0.0.4: a name, labels, a value.
//!
//! Read in one pass; quotes and escapes hold a label's value together, whatever letters are in it.

use std::borrow::Cow;

use super::labels::{self, Label};

/// A sample of a scrape.
#[derive(Clone, Debug)]
pub(super) struct Sample<'a> {
    /// Its name, with `_` for `:`.
    pub(super) metric: Cow<'a, str>,
    pub(super) labels: Labels<'a>,
    pub(super) value: f64,
}

/// The labels of a sample that kvtop knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels<'a>(Vec<Label<'a>>);

impl Labels<'_> {
    /// Returns the value of a label; of one that stands twice the last.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|label| label.name == name).map(|label| &*label.value)
    }
}

impl<'a> Sample<'a> {
    /// Reads a line; none when it is a comment, empty or not a sample.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let (name, labels, rest) = labels::take_apart(line.trim())?;
        // A time may follow the value.
        let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let metric = if name.contains(':') { name.replace(':', "_").into() } else { name.into() };
        let metric: Cow<'a, str> = metric;
        if metric.is_empty() || !metric.chars().all(is_letter) {
            return None;
        }
        Some(Self { metric, labels: Labels(labels), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, model and value.
    type Read<'a> = (&'a str, Option<&'a str>, f64);

    #[test]
    fn names_labels_and_values_are_read() {
        let table: [(&str, Option<Read<'_>>); 12] = [
            ("a 1", Some(("a", None, 1.0))),
            ("vllm:a{model=\"m\"} 1.5e3 1795224204000", Some(("vllm_a", Some("m"), 1500.0))),
            ("a{} +Inf", Some(("a", None, f64::INFINITY))),
            ("a{model=\"x,y=z}\"} 2", Some(("a", Some("x,y=z}"), 2.0))),
            ("a{model=\"say \\\"hi\\\" \\\\ \\n\"} 2", Some(("a", Some("say \"hi\" \\ \n"), 2.0))),
            ("a{model=\"m\",user=\"u\"}\t3", Some(("a", Some("m"), 3.0))),
            ("a{model=\"m\"}3", None),
            ("a{model=\"m\" 3", None),
            ("a{model=m} 3", None),
            ("# TYPE a gauge", None),
            ("a b", None),
            ("", None),
        ];
        for (line, expected) in table {
            let sample = Sample::read(line);
            let found = sample.as_ref().map(|it| (&*it.metric, it.labels.get("model"), it.value));
            assert_eq!(found, expected, "{line}");
        }
        let user = Sample::read("a{model=\"m\",user=\"u\"} 3");
        assert!(user.is_some_and(|it| it.labels.get("user").is_none()), "an unknown label");
    }
}
