//! Themes: which colour each role has. The only place where colours exist.
//!
//! A theme file gives slots colours (`file`); [`Level`] reduces them to what the terminal can show;
//! [`Glyphs`] are the characters that go with them, because colour is never the only signal.

mod colour;
pub mod contrast;
mod file;
mod glyphs;
mod role;

use std::collections::BTreeMap;

use contrast::{Readability, Vision};
use ratatui::style::{Color, Modifier, Style};

pub use colour::Level;
pub use file::{ThemeError, Variant};
pub use glyphs::{Glyphs, SPARK_LEVELS};
pub use role::Role;

/// The name of the theme that is used when nothing else is asked for.
pub const DEFAULT: &str = "terminal";

/// The part of its colour that the faintest shade keeps: less would look like the background.
const FAINTEST: f64 = 0.4;

/// The built-in themes, name and text.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/themes.rs"));

/// Every theme there is, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Themes {
    texts: BTreeMap<String, String>,
    /// The ground of the program's name, which tells one cluster from another.
    mark: Option<Color>,
}

impl Default for Themes {
    fn default() -> Self {
        let own = |&(name, text): &(&str, &str)| (name.to_owned(), text.to_owned());
        Self { texts: EMBEDDED.iter().map(own).collect(), mark: None }
    }
}

impl Themes {
    /// Adds a theme, or replaces the one of the same name.
    pub fn insert(&mut self, name: &str, text: &str) {
        self.texts.insert(name.to_owned(), text.to_owned());
    }

    /// Gives the program's name a ground in every theme: `#rrggbb` or one of the sixteen names. Other
    /// texts change nothing.
    pub fn mark(&mut self, colour: &str) {
        self.mark = colour::parse(colour);
    }

    /// Returns the names, the default first, the others sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.texts.keys().cloned().collect();
        names.sort_by_key(|name| (name != DEFAULT, name.clone()));
        names
    }

    /// Returns why the theme called `name` cannot be used, if it cannot.
    pub fn check(&self, name: &str) -> Result<(), ThemeError> {
        file::resolve(&self.texts, name).map(drop)
    }

    /// Returns true when the theme called `name` is not one that kvtop brings along.
    pub fn is_own(&self, name: &str) -> bool {
        let built_in = EMBEDDED.iter().find(|(known, _)| *known == name);
        self.texts.get(name).map(String::as_str) != built_in.map(|(_, text)| *text)
    }

    /// Returns the ground that the theme called `name` is for, and the kinds of colour vision that it
    /// was made for.
    pub fn about(&self, name: &str) -> Result<(Option<Variant>, Vec<Vision>), ThemeError> {
        file::resolve(&self.texts, name).map(|theme| (theme.variant, theme.vision))
    }

    /// Returns how well the theme called `name` can be read, and what is wrong with that.
    pub fn readability(&self, name: &str) -> Result<(Readability, Vec<String>), ThemeError> {
        let at = |level| self.theme(name, level, Glyphs::ASCII);
        let found = Readability::new(&at(Level::True)?, &at(Level::TwoHundred)?);
        let faults = found.faults(&self.about(name)?.1);
        Ok((found, faults))
    }

    /// Returns the theme called `name` for a terminal of that level and those characters.
    pub fn theme(
        &self,
        name: &str,
        level: Level,
        glyphs: &'static Glyphs,
    ) -> Result<Theme, ThemeError> {
        let resolved = file::resolve(&self.texts, name)?;
        let mut styles = [Style::new(); Role::ALL.len()];
        for (style, slot) in styles.iter_mut().zip(resolved.slots) {
            *style = slot.style(level);
        }
        let mark = self.mark.map(|ground| colour::label(ground, level));
        Ok(Theme { styles, glyphs, mark, level })
    }
}

/// A style for each role, and the characters to draw with.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    styles: [Style; Role::ALL.len()],
    glyphs: &'static Glyphs,
    mark: Option<Style>,
    level: Level,
}

impl Theme {
    /// Returns the style of the program's name, when it has a ground of its own.
    pub const fn mark(&self) -> Option<Style> {
        self.mark
    }

    /// Returns the style of `role`.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role.index()]
    }

    /// Returns the style of `role`, in bold.
    pub fn strong(&self, role: Role) -> Style {
        self.style(role).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of `role` between the ground, at 0, and its own colour, at 1. Where the terminal shows
    /// few colours, or its owner chose them, it is the colour itself.
    pub fn shade(&self, role: Role, strength: f64) -> Style {
        let own = Style { add_modifier: Modifier::empty(), ..self.style(role) };
        let colours = (self.style(Role::Bg).fg.and_then(colour::rgb), own.fg.and_then(colour::rgb));
        match colours {
            (Some(ground), Some(top)) if self.level == Level::True => {
                own.fg(colour::between(ground, top, FAINTEST + (1.0 - FAINTEST) * strength))
            }
            _ => own,
        }
    }

    /// Returns the style of a label that must be seen: the ground of banners where it is broken and
    /// there are colours, else the role turned inside out. On the terminal's yellow it is black, whatever
    /// the terminal's ground.
    pub fn badge(&self, role: Role) -> Style {
        match (self.style(Role::BannerBg).fg, self.style(role).fg) {
            (Some(ground), _) if role == Role::Crit => self.style(Role::BannerFg).bg(ground),
            (_, Some(ground @ Color::Yellow)) => {
                Style::new().bg(ground).fg(Color::Black).add_modifier(Modifier::BOLD)
            }
            _ => self.strong(role).add_modifier(Modifier::REVERSED),
        }
    }

    /// Returns the style that every cell starts with.
    pub fn base(&self) -> Style {
        let ground = Style { bg: self.style(Role::Bg).fg, ..Style::new() };
        ground.patch(self.style(Role::Fg))
    }

    /// Returns true when no role has a colour, not even one that the terminal's owner chose.
    pub fn is_colourless(&self) -> bool {
        self.styles.iter().all(|style| style.fg.is_none() && style.bg.is_none())
    }

    /// Returns the characters to draw with.
    pub const fn glyphs(&self) -> &'static Glyphs {
        self.glyphs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let mut themes = Themes::default();
        themes.insert("mine", text);
        themes.theme("mine", Level::True, Glyphs::UNICODE).unwrap_err().to_string()
    }

    #[test]
    fn every_theme_loads_at_every_level() {
        let themes = Themes::default();
        for name in themes.names() {
            for level in Level::ALL {
                themes.theme(&name, level, Glyphs::UNICODE).unwrap();
            }
        }
    }

    #[test]
    fn without_colour_no_role_has_one() {
        let themes = Themes::default();
        for name in themes.names() {
            let theme = themes.theme(&name, Level::Mono, Glyphs::ASCII).unwrap();
            for role in Role::ALL {
                let style = theme.style(role);
                assert_eq!((style.fg, style.bg), (None, None), "{name} {}", role.name());
            }
        }
    }

    #[test]
    fn mistakes_in_a_theme_name_what_is_known() {
        let slot = error("[slots]\ncritical = \"red\"\n");
        assert!(slot.contains("`critical`") && slot.contains("crit, unknown"), "{slot}");
        let colour = error("[palette]\nrose = \"#ff0088\"\n[slots]\ncrit = \"rosé\"\n");
        assert!(
            colour.contains("`rosé`") && colour.contains("rose") && colour.contains("light-red")
        );
        let modifier = error("[slots]\ncrit = { mod = [\"blink\"] }\n");
        assert!(modifier.contains("`blink`") && modifier.contains("reversed"), "{modifier}");
        let parent = error("inherits = \"solarized\"\n");
        assert!(parent.contains("`solarized`") && parent.contains("high-contrast"), "{parent}");
        assert!(error("inherits = \"mine\"\n").contains("mine > mine"));
        assert!(error("slot = 1\n").contains("mine"));
    }

    #[test]
    fn a_theme_inherits_what_it_does_not_say() {
        let mut themes = Themes::default();
        themes.insert("mine", "inherits = \"dark\"\n[slots]\ncrit = \"#010203\"\n");

        let mine = themes.theme("mine", Level::True, Glyphs::UNICODE).unwrap();
        let dark = themes.theme("dark", Level::True, Glyphs::UNICODE).unwrap();

        assert_ne!(mine.style(Role::Crit), dark.style(Role::Crit));
        assert_eq!(mine.style(Role::Ok), dark.style(Role::Ok));
    }

    #[test]
    fn a_warning_in_the_terminals_own_yellow_can_be_read_on_any_ground() {
        let themes = Themes::default();
        let badge = |level| themes.theme(DEFAULT, level, Glyphs::ASCII).unwrap().badge(Role::Warn);
        for level in [Level::Sixteen, Level::TwoHundred, Level::True] {
            let (ground, letters) = (badge(level).bg, badge(level).fg);
            assert_eq!((ground, letters), (Some(Color::Yellow), Some(Color::Black)), "{level:?}");
        }
        assert!(badge(Level::Mono).add_modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn a_label_that_must_be_seen_has_a_ground_of_its_own() {
        let themes = Themes::default();
        for name in themes.names() {
            for level in Level::ALL {
                let theme = themes.theme(&name, level, Glyphs::UNICODE).unwrap();
                for role in [Role::Crit, Role::Warn] {
                    let badge = theme.badge(role);
                    let turned = badge.add_modifier.contains(Modifier::REVERSED);
                    assert!(turned || badge.bg.is_some(), "{name} {level:?} {badge:?}");
                }
            }
        }
    }
}
