//! Legibility of a theme: contrast of texts, and the distance between states for every kind of colour vision.
//!
//! Contrast is WCAG 2.2's, 1.4.3. Colour vision is simulated with the matrices of Machado, Oliveira and
//! Fernandes (2009) for the whole lack of one kind of cone, on linear light. Distances are CIE 1976 ΔE.

use ratatui::style::Color;

use super::colour::rgb;
use super::{Level, Role, Theme};

/// Least contrast of text (WCAG AA).
pub const TEXT: f64 = 4.5;
/// The same in the 256 colours of xterm, whose steps are coarse (WCAG AA of large text).
pub const TEXT_256: f64 = 3.0;
/// Least contrast of frames, which are no text.
pub const FRAME: f64 = 2.0;
/// Least distance of two states: ten times what is just seen to differ.
pub const APART: f64 = 23.0;

/// The colours of states, which must not be taken for each other.
const STATES: [Role; 4] = [Role::Ok, Role::Warn, Role::Crit, Role::Unknown];

/// A kind of colour vision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vision {
    /// All three kinds of cones.
    Usual,
    /// Without those for long waves: no red.
    Protanopia,
    /// Without those for middle waves: no green.
    Deuteranopia,
    /// Without those for short waves: no blue.
    Tritanopia,
}

impl Vision {
    /// Every kind.
    pub const ALL: [Self; 4] =
        [Self::Usual, Self::Protanopia, Self::Deuteranopia, Self::Tritanopia];

    /// Returns its name in theme files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Protanopia => "protanopia",
            Self::Deuteranopia => "deuteranopia",
            Self::Tritanopia => "tritanopia",
        }
    }

    const fn matrix(self) -> [[f64; 3]; 3] {
        match self {
            Self::Usual => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            Self::Protanopia => [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            Self::Deuteranopia => [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            Self::Tritanopia => [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        }
    }
}

/// The distance of the two nearest states of a theme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// For whom.
    pub vision: Vision,
    /// The two.
    pub states: [Role; 2],
    /// The distance.
    pub distance: f64,
}

/// A text of a theme with its contrast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The text.
    pub role: Role,
    /// Its contrast, 1 to 21.
    pub ratio: f64,
    /// The least that it should have.
    pub least: f64,
}

/// The contrast figures of a theme.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readability {
    /// Every text against the ground, in all colours.
    pub full: Vec<Contrast>,
    /// The same in 256 colours.
    pub indexed: Vec<Contrast>,
    /// The nearest states, for each kind of vision.
    pub states: Vec<Distance>,
}

impl Readability {
    /// Computes it. Nothing can be said of colours that the terminal's owner chose.
    pub fn new(full: &Theme, indexed: &Theme) -> Self {
        Self {
            full: contrasts(full, Level::True),
            indexed: contrasts(indexed, Level::TwoHundred),
            states: Vision::ALL.iter().filter_map(|vision| nearest(full, *vision)).collect(),
        }
    }

    /// Returns true when the colours are the terminal's, so that nothing was computed.
    pub fn is_empty(&self) -> bool {
        self.full.is_empty() && self.states.is_empty()
    }

    /// Returns what is wrong, in sentences; `made_for` are the kinds of vision that the theme names.
    pub fn faults(&self, made_for: &[Vision]) -> Vec<String> {
        let low = |all: &[Contrast], note: &str| -> Vec<String> {
            let low = all.iter().filter(|one| one.ratio < one.least);
            low.map(|one| {
                let (name, ratio, least) = (one.role.name(), one.ratio, one.least);
                format!("`{name}` has a contrast of {ratio:.2}{note}; {least} is the least")
            })
            .collect()
        };
        let mut faults = low(&self.full, "");
        faults.extend(low(&self.indexed, " in 256 colours"));
        for one in &self.states {
            let held = one.vision == Vision::Usual || made_for.contains(&one.vision);
            if held && one.distance < APART {
                let [left, right] = one.states.map(Role::name);
                faults.push(format!(
                    "`{left}` and `{right}` are {:.0} apart for {} vision; {APART} is the least",
                    one.distance,
                    one.vision.name()
                ));
            }
        }
        faults
    }
}

fn contrasts(theme: &Theme, level: Level) -> Vec<Contrast> {
    let Some(ground) = theme.style(Role::Bg).fg.and_then(rgb) else { return Vec::new() };
    let text = if level == Level::True { TEXT } else { TEXT_256 };
    let mut found = Vec::new();
    for role in Role::ALL {
        let (against, least) = match role {
            Role::Bg | Role::BannerBg | Role::Select => continue,
            Role::BannerFg => (theme.style(Role::BannerBg).fg.and_then(rgb), text),
            Role::Border => (Some(ground), FRAME.min(text)),
            _ => (Some(ground), text),
        };
        if let (Some(colour), Some(against)) = (theme.style(role).fg.and_then(rgb), against) {
            found.push(Contrast { role, ratio: contrast(colour, against), least });
        }
    }
    found
}

fn nearest(theme: &Theme, vision: Vision) -> Option<Distance> {
    let colour = |role: Role| theme.style(role).fg.and_then(rgb).map(|rgb| lab(rgb, vision));
    let mut nearest: Option<Distance> = None;
    for (at, &left) in STATES.iter().enumerate() {
        for &right in &STATES[at + 1..] {
            let (one, other) = (colour(left)?, colour(right)?);
            let squares = one.iter().zip(other).map(|(a, b)| (a - b).powi(2));
            let distance = squares.sum::<f64>().sqrt();
            if nearest.is_none_or(|known| distance < known.distance) {
                nearest = Some(Distance { vision, states: [left, right], distance });
            }
        }
    }
    nearest
}

/// Returns the contrast of two colours, 1 to 21.
fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Returns how bright a colour is, 0 to 1.
pub fn luminance(rgb: [u8; 3]) -> f64 {
    let [red, green, blue] = rgb.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn linear(value: u8) -> f64 {
    let share = f64::from(value) / 255.0;
    if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
}

/// Returns a colour as such eyes see it, in CIE L*a*b* for the white of D65.
fn lab(rgb: [u8; 3], vision: Vision) -> [f64; 3] {
    let light = rgb.map(linear);
    let seen = |row: [f64; 3]| {
        let sum: f64 = row.iter().zip(light).map(|(weight, part)| weight * part).sum();
        sum.clamp(0.0, 1.0)
    };
    let [red, green, blue] = vision.matrix().map(seen);
    let x = (0.412_456 * red + 0.357_576 * green + 0.180_438 * blue) / 0.950_47;
    let y = 0.212_673 * red + 0.715_152 * green + 0.072_175 * blue;
    let z = (0.019_334 * red + 0.119_192 * green + 0.950_304 * blue) / 1.088_83;
    let [x, y, z] = [x, y, z].map(|part| {
        if part > 216.0 / 24_389.0 { part.cbrt() } else { (24_389.0 / 27.0 * part + 16.0) / 116.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Returns true for a ground on which dark text is read.
pub fn is_light(rgb: [u8; 3]) -> bool {
    // Where black and white have the same contrast.
    luminance(rgb) > 0.179
}

/// Returns true for a light ground by the value of `COLORFGBG`, whose last part is one of the sixteen
/// colours; none when it says nothing.
pub fn is_light_by(colorfgbg: &str) -> Option<bool> {
    let ground: u8 = colorfgbg.rsplit(';').next()?.parse().ok()?;
    (ground < 16).then_some(ground == 7 || ground > 8)
}

/// Returns the colour as text, as theme files write it; none for one of the terminal's owner.
pub fn hex(colour: Color) -> Option<String> {
    let [red, green, blue] = rgb(colour)?;
    Some(format!("#{red:02x}{green:02x}{blue:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::{Glyphs, Themes};

    #[test]
    fn contrasts_are_those_of_the_standard() {
        assert!((contrast([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
        assert!((contrast([0x77; 3], [255; 3]) - 4.48).abs() < 0.01);
        assert!((contrast([255, 0, 0], [255; 3]) - 4.0).abs() < 0.01);
    }

    #[test]
    fn red_and_green_come_together_without_cones_for_green() {
        let apart = |vision| {
            let (red, green) = (lab([200, 60, 50], vision), lab([110, 120, 40], vision));
            red.iter().zip(green).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        assert!(apart(Vision::Usual) > 60.0);
        assert!(apart(Vision::Deuteranopia) < 30.0);
        assert!(apart(Vision::Tritanopia) > 60.0);
    }

    #[test]
    fn every_theme_can_be_read() {
        let themes = Themes::default();
        for name in themes.names() {
            let faults = themes.readability(&name).unwrap().1;
            assert_eq!(faults, Vec::<String>::new(), "{name}");
        }
    }

    /// If eyes see two of a theme's states alike, marks and words tell them apart; a theme that was
    /// made for such eyes needs neither.
    #[test]
    fn states_are_told_apart_by_every_kind_of_eye_in_every_theme() {
        use crate::tui::judge::State;
        let states = [State::Ok, State::Warn, State::Fail, State::Unknown];
        let roles = states.map(State::role);
        assert_eq!(roles.map(|role| STATES.contains(&role)), [true; STATES.len()]);
        let themes = Themes::default();
        let mut alike = 0;
        for name in themes.names() {
            let (found, _) = themes.readability(&name).unwrap();
            let made_for = themes.about(&name).unwrap().1;
            let colourless = found.states.is_empty();
            for vision in Vision::ALL {
                let near = found.states.iter().find(|one| one.vision == vision);
                let clear = near.is_some_and(|near| near.distance >= APART);
                assert!(clear || colourless || !made_for.contains(&vision), "{name} {vision:?}");
                if clear {
                    continue;
                }
                alike += 1;
                for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
                    let mut marks = states.map(|state| state.glyph(glyphs)).to_vec();
                    marks.extend([glyphs.info, glyphs.none]);
                    let all = marks.len();
                    marks.sort_unstable();
                    marks.dedup();
                    assert_eq!(marks.len(), all, "{name} {vision:?}: {marks:?}");
                }
            }
        }
        assert!(alike > 0, "this would test nothing");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let mut themes = Themes::default();
        let text = "inherits = \"dark\"\nvision = [\"deuteranopia\"]\n[slots]\n\
                    muted = \"#333333\"\nok = \"#a09020\"\ncrit = \"#ff6b5e\"\n";
        themes.insert("mine", text);
        let faults = themes.readability("mine").unwrap().1.join("\n");
        assert!(faults.contains("`muted` has a contrast of 1."), "{faults}");
        assert!(faults.contains("for deuteranopia vision"), "{faults}");
        assert!(!faults.contains("tritanopia"), "{faults}");
    }

    #[test]
    fn the_background_is_read_from_its_variable() {
        assert_eq!(is_light_by("15;0"), Some(false));
        assert_eq!(is_light_by("0;default;15"), Some(true));
        assert_eq!(is_light_by("0;7"), Some(true));
        assert_eq!(is_light_by("0;default"), None);
        assert_eq!(is_light_by(""), None);
        assert!(is_light([0xfb, 0xf1, 0xc7]) && !is_light([0x28; 3]));
    }

    #[test]
    fn colours_of_the_owner_cannot_be_judged() {
        let themes = Themes::default();
        let of = |name, level| themes.theme(name, level, Glyphs::UNICODE).unwrap();
        let (full, indexed) = (of("terminal", Level::True), of("terminal", Level::TwoHundred));
        assert!(Readability::new(&full, &indexed).is_empty());
    }
}
