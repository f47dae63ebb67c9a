//! Colours: their names, and what a terminal with fewer of them shows instead.

use ratatui::style::{Color, Modifier, Style};

/// The names of the sixteen colours, and of the terminal's own.
pub(super) const NAMES: [(&str, Color); 17] = [
    ("default", Color::Reset),
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("gray", Color::Gray),
    ("dark-gray", Color::DarkGray),
    ("light-red", Color::LightRed),
    ("light-green", Color::LightGreen),
    ("light-yellow", Color::LightYellow),
    ("light-blue", Color::LightBlue),
    ("light-magenta", Color::LightMagenta),
    ("light-cyan", Color::LightCyan),
    ("white", Color::White),
];

/// The sixteen colours as xterm shows them, for finding the nearest.
const SIXTEEN: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 0, 0]),
    (Color::LightGreen, [0, 255, 0]),
    (Color::LightYellow, [255, 255, 0]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 0, 255]),
    (Color::LightCyan, [0, 255, 255]),
    (Color::White, [255, 255, 255]),
];

/// The number of colours that a terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// None: `NO_COLOR`, or a terminal without.
    Mono,
    /// Sixteen, chosen by the terminal's owner.
    #[default]
    Sixteen,
    /// The 256 of xterm.
    TwoHundred,
    /// All.
    True,
}

impl Level {
    /// Every level, from the lowest.
    pub const ALL: [Self; 4] = [Self::Mono, Self::Sixteen, Self::TwoHundred, Self::True];

    /// Returns the level for the values of `NO_COLOR`, `COLORTERM` and `TERM`, empty when not set.
    pub fn for_terminal(no_color: &str, colorterm: &str, term: &str) -> Self {
        if !no_color.is_empty() || term.is_empty() || term == "dumb" || term.starts_with("vt") {
            Self::Mono
        } else if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
            Self::True
        } else if term.contains("256color") {
            Self::TwoHundred
        } else {
            Self::Sixteen
        }
    }

    /// Returns what a terminal of this level shows for `colour`, `ansi` being the theme's own choice
    /// among the sixteen.
    pub(super) fn reduce(self, colour: Option<Color>, ansi: Option<Color>) -> Option<Color> {
        match self {
            Self::Mono => None,
            Self::Sixteen => ansi.or_else(|| colour.map(nearest_of_sixteen)),
            Self::TwoHundred => colour.map(nearest_of_xterm),
            Self::True => colour,
        }
    }
}

/// Returns the colour that `text` names: `#rrggbb` or one of [`NAMES`].
pub(super) fn parse(text: &str) -> Option<Color> {
    if let Some(digits) = text.strip_prefix('#') {
        let hex = digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| hex)?;
        let [_, red, green, blue] = value.to_be_bytes();
        return Some(Color::Rgb(red, green, blue));
    }
    NAMES.iter().find(|(name, _)| *name == text).map(|&(_, colour)| colour)
}

/// Returns red, green and blue of a colour; none where the terminal's owner chose it.
pub(super) fn rgb(colour: Color) -> Option<[u8; 3]> {
    match colour {
        Color::Rgb(red, green, blue) => Some([red, green, blue]),
        Color::Indexed(index @ 16..) => Some(xterm(index)),
        _ => None,
    }
}

/// Returns the colour at `share` of the way from one to the other, 0 to 1.
pub(super) fn between(from: [u8; 3], to: [u8; 3], share: f64) -> Color {
    let share = share.clamp(0.0, 1.0);
    let mix = |at: usize| {
        let value = f64::from(from[at]) + (f64::from(to[at]) - f64::from(from[at])) * share;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between two bytes"
        )]
        let byte = value.round() as u8;
        byte
    };
    Color::Rgb(mix(0), mix(1), mix(2))
}

/// Returns the style of a label on that ground, at a level. Without colours it is turned inside out.
pub(super) fn label(ground: Color, level: Level) -> Style {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let Some(shown) = level.reduce(Some(ground), None) else {
        return bold.add_modifier(Modifier::REVERSED);
    };
    let usual = SIXTEEN.iter().find(|(known, _)| *known == ground).map(|(_, usual)| *usual);
    let is_light = rgb(ground).or(usual).is_some_and(super::contrast::is_light);
    bold.bg(shown).fg(if is_light { Color::Black } else { Color::White })
}

fn nearest_of_sixteen(colour: Color) -> Color {
    let Color::Rgb(red, green, blue) = colour else { return colour };
    let near = SIXTEEN.iter().min_by_key(|(_, known)| distance(*known, [red, green, blue]));
    near.map_or(Color::Reset, |&(colour, _)| colour)
}

fn nearest_of_xterm(colour: Color) -> Color {
    let Color::Rgb(red, green, blue) = colour else { return colour };
    let wanted = [red, green, blue];
    let near = (16..=255_u8).min_by_key(|&index| distance(xterm(index), wanted));
    Color::Indexed(near.unwrap_or(15))
}

/// Returns what index 16 to 255 of xterm's palette looks like: a cube of six steps, then 24 greys.
fn xterm(index: u8) -> [u8; 3] {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |value: u8| STEPS[usize::from(value % 6)];
    match index {
        232..=255 => [8 + (index - 232) * 10; 3],
        16..=231 => [step((index - 16) / 36), step((index - 16) / 6), step(index - 16)],
        0..=15 => [0; 3],
    }
}

fn distance(left: [u8; 3], right: [u8; 3]) -> u32 {
    left.iter().zip(right).map(|(&l, r)| u32::from(l.abs_diff(r)).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_colours_give_the_nearest() {
        let red = Some(Color::Rgb(255, 10, 10));
        assert_eq!(Level::True.reduce(red, None), red);
        assert_eq!(Level::TwoHundred.reduce(red, None), Some(Color::Indexed(196)));
        assert_eq!(Level::Sixteen.reduce(red, None), Some(Color::LightRed));
        assert_eq!(Level::Sixteen.reduce(red, Some(Color::Red)), Some(Color::Red));
        assert_eq!(Level::Mono.reduce(red, Some(Color::Red)), None);
    }

    #[test]
    fn labels_can_be_read_on_any_ground() {
        let text = |ground| label(ground, Level::True).fg;
        assert_eq!(text(Color::Blue), Some(Color::White));
        assert_eq!(text(Color::LightYellow), Some(Color::Black));
        assert_eq!(text(Color::Rgb(0x80, 0, 0)), Some(Color::White));
        assert_eq!(label(Color::Red, Level::Mono).bg, None);
        assert!(label(Color::Red, Level::Mono).add_modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn the_environment_decides_the_level() {
        assert_eq!(Level::for_terminal("1", "truecolor", "xterm-256color"), Level::Mono);
        assert_eq!(Level::for_terminal("", "truecolor", "xterm"), Level::True);
        assert_eq!(Level::for_terminal("", "", "screen-256color"), Level::TwoHundred);
        assert_eq!(Level::for_terminal("", "", "xterm"), Level::Sixteen);
        assert_eq!(Level::for_terminal("", "", "vt100"), Level::Mono);
    }

    #[test]
    fn colours_that_are_not_colours_are_refused() {
        assert_eq!(parse("#12"), None);
        assert_eq!(parse("#+12345"), None);
        assert_eq!(parse("#00ff00"), Some(Color::Rgb(0, 255, 0)));
        assert_eq!(parse("light-red"), Some(Color::LightRed));
    }
}
