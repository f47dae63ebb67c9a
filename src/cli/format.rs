//! Output formats: words, and `jsonpath=TEMPLATE`.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

/// Prefix of a template of JSON paths on the command line.
const PATH: &str = "jsonpath=";

/// The formats of JSON data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Structured {
    /// JSON.
    Json,
    /// The same as YAML.
    Yaml,
    /// A template of JSON paths.
    Path(String),
}

/// Reads one of several formats.
#[derive(Clone, Debug)]
pub(super) struct Formats<T: 'static> {
    words: &'static [(&'static str, &'static str, T)],
    structured: fn(Structured) -> T,
}

impl<T> Formats<T> {
    /// Returns a reader of `words`, each with its purpose, and of the formats of JSON data.
    pub(super) const fn new(
        words: &'static [(&'static str, &'static str, T)],
        structured: fn(Structured) -> T,
    ) -> Self {
        Self { words, structured }
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let words = self.words.iter().map(|(name, help, _)| (*name, *help));
        words.chain([
            ("json", "JSON as described in docs/reference/json.md"),
            ("yaml", "The same as YAML"),
            (PATH, "Values that a template selects, as in kubectl, such as jsonpath={.kvtop}"),
        ])
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Formats<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let text = value.to_str().unwrap_or_default();
        if let Some((_, _, format)) = self.words.iter().find(|(name, _, _)| *name == text) {
            return Ok(format.clone());
        }
        let structured = match text {
            "json" => Structured::Json,
            "yaml" => Structured::Yaml,
            _ => {
                let template = text.strip_prefix(PATH).filter(|template| !template.is_empty());
                let Some(template) = template else {
                    // Its error names the formats, and the nearest one.
                    let names = PossibleValuesParser::new(self.all().map(|(name, _)| name));
                    let refused = names.parse_ref(command, arg, value).err();
                    return Err(refused.unwrap_or_else(|| Error::new(ErrorKind::InvalidValue)));
                };
                Structured::Path(template.to_owned())
            }
        };
        Ok((self.structured)(structured))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.all().map(|(name, help)| PossibleValue::new(name).help(help))))
    }
}
