//! Theme files: `variant`, `vision`, `inherits`, `[palette]` and `[slots]`, read strictly.
//!
//! A slot is a colour, or a table of `fg`, `bg`, `ansi` and `mod`. A colour is `#rrggbb`, a name from
//! the palette, or a name of one of the sixteen. Slots that nobody gives are left to the terminal.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use toml::{Table, Value};

use super::colour::{self, Level};
use super::contrast::Vision;
use super::role::Role;

const MODIFIERS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
];

const KEYS: [&str; 4] = ["fg", "bg", "ansi", "mod"];

/// Returns a question for the known theme that is nearest to a mistyped one; nothing when none is near.
fn nearest(typed: &str, known: &str) -> String {
    let near = known.split(", ").map(|word| (strsim::jaro_winkler(typed, word), word));
    let best = near.filter(|(share, _)| *share > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(String::new(), |(_, word)| format!(" (did you mean `{word}`?)"))
}

/// An error in a theme. Each names the known values.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// There is no theme of that name.
    #[error("unknown theme `{name}`{}; known are {known}", nearest(name, known))]
    UnknownTheme {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The file is not TOML, or has a key that themes do not have.
    #[error("theme `{theme}` cannot be read")]
    Syntax {
        /// The theme.
        theme: String,
        /// Position and reason.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// Something in it has a name that does not exist.
    #[error("theme `{theme}`: unknown {what} `{name}`; known are {known}")]
    Unknown {
        /// The theme.
        theme: String,
        /// The kind of thing.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A slot has a value of the wrong type.
    #[error("theme `{theme}`: `{slot}` must be {wanted}")]
    Type {
        /// The theme.
        theme: String,
        /// The slot, or the slot and its key.
        slot: String,
        /// The expected value.
        wanted: &'static str,
    },
    /// A theme inherits itself.
    #[error("themes inherit each other in a circle: {chain}")]
    Cycle {
        /// The circle.
        chain: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThemeFile {
    #[serde(rename = "name")]
    _name: Option<String>,
    variant: Option<Variant>,
    #[serde(default)]
    vision: Vec<String>,
    inherits: Option<String>,
    #[serde(default)]
    palette: BTreeMap<String, String>,
    #[serde(default)]
    slots: Table,
}

/// The ground that a theme is for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// A dark one.
    Dark,
    /// A light one.
    Light,
}

impl Variant {
    /// Returns its name in theme files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }
}

/// The settings of a theme, inherited ones included.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) slots: [Slot; Role::ALL.len()],
    /// The ground that it is for; none for any.
    pub(super) variant: Option<Variant>,
    /// The kinds of colour vision that it was made for.
    pub(super) vision: Vec<Vision>,
}

/// The style of one role in a theme.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slot {
    fg: Option<Color>,
    bg: Option<Color>,
    ansi: Option<Color>,
    modifier: Modifier,
}

impl Slot {
    /// Returns its style on a terminal of that level.
    pub(super) fn style(self, level: Level) -> Style {
        let style = Style {
            fg: level.reduce(self.fg, self.ansi),
            bg: level.reduce(self.bg, None),
            ..Style::new()
        };
        style.add_modifier(self.modifier)
    }
}

/// Returns what theme `name` says, with what it inherits.
pub(super) fn resolve(
    texts: &BTreeMap<String, String>,
    name: &str,
) -> Result<Resolved, ThemeError> {
    let mut chain = vec![name.to_owned()];
    let mut files = Vec::new();
    while let Some(theme) = chain.last().cloned() {
        let Some(text) = texts.get(&theme) else {
            let known = texts.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(ThemeError::UnknownTheme { name: theme, known });
        };
        let file: ThemeFile = toml::from_str(text).map_err(|source| ThemeError::Syntax {
            theme: theme.clone(),
            source: Box::new(source),
        })?;
        let parent = file.inherits.clone();
        files.push((theme, file));
        let Some(parent) = parent else { break };
        let circle = chain.contains(&parent);
        chain.push(parent);
        if circle {
            return Err(ThemeError::Cycle { chain: chain.join(" > ") });
        }
    }
    // A child may use its ancestors' palettes, and replaces what it names again.
    let mut palette = BTreeMap::new();
    let mut slots = [Slot::default(); Role::ALL.len()];
    let (mut variant, mut vision) = (None, Vec::new());
    for (theme, file) in files.into_iter().rev() {
        palette.extend(file.palette);
        let reader = Reader { theme: &theme, palette: &palette };
        reader.slots(&file.slots, &mut slots)?;
        variant = file.variant.or(variant);
        // What a theme was made for holds of its own colours, so it is not inherited.
        vision = reader.vision(&file.vision)?;
    }
    Ok(Resolved { slots, variant, vision })
}

struct Reader<'a> {
    theme: &'a str,
    palette: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    fn slots(&self, table: &Table, slots: &mut [Slot]) -> Result<(), ThemeError> {
        for (name, value) in table {
            let Some(role) = Role::from_name(name) else {
                return Err(self.unknown("slot", name, Role::ALL.map(Role::name)));
            };
            if let Some(slot) = slots.get_mut(role.index()) {
                *slot = self.slot(name, value)?;
            }
        }
        Ok(())
    }

    fn vision(&self, names: &[String]) -> Result<Vec<Vision>, ThemeError> {
        let find = |name: &String| {
            let found = Vision::ALL.into_iter().find(|vision| vision.name() == name.as_str());
            found.ok_or_else(|| self.unknown("vision", name, Vision::ALL.map(Vision::name)))
        };
        names.iter().map(find).collect()
    }

    fn slot(&self, name: &str, value: &Value) -> Result<Slot, ThemeError> {
        match value {
            Value::String(text) => Ok(Slot { fg: Some(self.colour(text)?), ..Slot::default() }),
            Value::Table(table) => self.table(name, table),
            _ => Err(self.wrong(name, "a colour or a table")),
        }
    }

    fn table(&self, name: &str, table: &Table) -> Result<Slot, ThemeError> {
        let mut slot = Slot::default();
        for (key, value) in table {
            let place = || format!("{name}.{key}");
            match (key.as_str(), value) {
                ("fg", Value::String(text)) => slot.fg = Some(self.colour(text)?),
                ("bg", Value::String(text)) => slot.bg = Some(self.colour(text)?),
                ("ansi", Value::String(text)) => slot.ansi = Some(self.ansi(text)?),
                ("mod", Value::Array(names)) => slot.modifier = self.modifiers(&place(), names)?,
                ("fg" | "bg" | "ansi", _) => return Err(self.wrong(&place(), "a colour")),
                ("mod", _) => return Err(self.wrong(&place(), "a list")),
                _ => return Err(self.unknown("key", &place(), KEYS)),
            }
        }
        Ok(slot)
    }

    fn colour(&self, text: &str) -> Result<Color, ThemeError> {
        let literal = self.palette.get(text).map_or(text, String::as_str);
        colour::parse(literal).ok_or_else(|| {
            let names = colour::NAMES.iter().map(|&(name, _)| name);
            let own = self.palette.keys().map(String::as_str);
            self.unknown("colour", literal, own.chain(names).chain(["#rrggbb"]))
        })
    }

    fn ansi(&self, text: &str) -> Result<Color, ThemeError> {
        let named = colour::NAMES.iter().find(|(name, _)| *name == text);
        named.map(|&(_, colour)| colour).ok_or_else(|| {
            self.unknown("ansi colour", text, colour::NAMES.iter().map(|&(name, _)| name))
        })
    }

    fn modifiers(&self, place: &str, names: &[Value]) -> Result<Modifier, ThemeError> {
        let mut all = Modifier::empty();
        for value in names {
            let name = value.as_str().ok_or_else(|| self.wrong(place, "a list of texts"))?;
            let known = MODIFIERS.iter().find(|(known, _)| *known == name);
            let (_, modifier) = known.ok_or_else(|| {
                self.unknown("modifier", name, MODIFIERS.iter().map(|&(known, _)| known))
            })?;
            all |= *modifier;
        }
        Ok(all)
    }

    fn unknown<'a>(
        &self,
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> ThemeError {
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        ThemeError::Unknown { theme: self.theme.to_owned(), what, name: name.to_owned(), known }
    }

    fn wrong(&self, slot: &str, wanted: &'static str) -> ThemeError {
        ThemeError::Type { theme: self.theme.to_owned(), slot: slot.to_owned(), wanted }
    }
}
