//! `kvtop themes …`: what there is, what it looks like, and whether it can be read.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::Path;

use crossterm::Command as _;
use crossterm::style::{ResetColor, SetStyle};
use ratatui::backend::IntoCrossterm as _;
use ratatui::style::Style;

use super::RunError;
use super::output::print;
use super::{screen, settings};
use crate::cli::{ColorChoice, ScreenArgs, ThemesCommand};
use crate::exit::Exit;
use crate::tui::theme::contrast::{self, Contrast, Vision};
use crate::tui::theme::{Glyphs, Level, Role, Theme, ThemeError, Themes};
use crate::wire::printable;

/// Longest name of a theme that is repeated, in characters.
const NAME_LIMIT: usize = 512;

/// Longest complaint about one, in characters.
const LINE_LIMIT: usize = 4096;

/// Does `kvtop themes …`.
pub(super) fn themes(command: &ThemesCommand, screen: &ScreenArgs) -> Result<Exit, RunError> {
    let mut themes = settings::themes();
    match command {
        ThemesCommand::List => list(&themes),
        ThemesCommand::Show { name } => show(&themes, name, level(screen)),
        ThemesCommand::Check { themes: wanted } => {
            let names: Result<Vec<String>, RunError> =
                wanted.iter().map(|one| known_as(&mut themes, one)).collect();
            let names = names?;
            check(&themes, &if names.is_empty() { themes.names() } else { names })
        }
    }
}

/// Returns how many colours the output may have: none where nobody looks at it.
fn level(screen: &ScreenArgs) -> Level {
    match screen.color {
        Some(ColorChoice::Always) => screen::level(Some("always")),
        Some(ColorChoice::Never) => Level::Mono,
        _ if io::stdout().is_terminal() => screen::level(None),
        _ => Level::Mono,
    }
}

/// Returns the name of a theme, or of the one in a file, which then is added.
fn known_as(themes: &mut Themes, wanted: &str) -> Result<String, RunError> {
    let path = Path::new(wanted);
    let is_file = path.extension().is_some_and(|extension| extension == "toml");
    let (true, Some(name)) = (is_file, path.file_stem().and_then(|stem| stem.to_str())) else {
        return Ok(wanted.to_owned());
    };
    let text = std::fs::read_to_string(path)
        .map_err(|source| RunError::Read { path: path.to_owned(), source })?;
    themes.insert(name, &text);
    Ok(name.to_owned())
}

fn list(themes: &Themes) -> Result<Exit, RunError> {
    let mut page = String::new();
    let mut exit = Exit::Clean;
    for name in themes.names() {
        let from = if themes.is_own(&name) { "yours" } else { "" };
        match themes.about(&name) {
            Ok((variant, vision)) => {
                let ground = variant.map_or("any ground", |variant| variant.name());
                let made = vision.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ");
                let line = format!("{name:22} {ground:10} {made} {from}");
                put(&mut page, format_args!("{}\n", line.trim_end()));
            }
            Err(why) => {
                put(&mut page, format_args!("{name:22} cannot be used: {}\n", format_error(&why)));
                exit = Exit::Failed;
            }
        }
    }
    print(&page)?;
    Ok(exit)
}

fn format_error(why: &ThemeError) -> String {
    crate::exit::chain(why).trim_end().to_owned()
}

/// Prints each role with a sample, as this terminal shows it.
fn show(themes: &Themes, name: &str, level: Level) -> Result<Exit, RunError> {
    let (readability, _) = themes.readability(name)?;
    let full = themes.theme(name, Level::True, Glyphs::ASCII)?;
    let here = themes.theme(name, level, Glyphs::ASCII)?;
    let mut page = String::new();
    for role in Role::ALL {
        let colour = full.style(role).fg;
        let written = colour.and_then(contrast::hex);
        let written = written.or_else(|| colour.map(|colour| colour.to_string().to_lowercase()));
        let ratio = readability.full.iter().find(|one| one.role == role);
        let ratio = ratio.map_or_else(String::new, |one| format!("{:5.1}", one.ratio));
        let sample = painted(" The router finds nothing ", sample(&here, role), level);
        let written = written.unwrap_or_else(|| "-".to_owned());
        put(&mut page, format_args!("{:13} {written:14} {ratio:5} {sample}\n", role.name()));
    }
    print(&page)?;
    Ok(Exit::Clean)
}

fn sample(theme: &Theme, role: Role) -> Style {
    match role {
        Role::Bg => theme.base(),
        Role::BannerFg | Role::BannerBg => theme.badge(Role::Crit),
        _ => theme.base().patch(theme.style(role)),
    }
}

fn painted(text: &str, style: Style, level: Level) -> String {
    if level == Level::Mono {
        return String::new();
    }
    let mut painted = String::new();
    // Writing to a string cannot fail.
    SetStyle(style.into_crossterm()).write_ansi(&mut painted).unwrap_or_default();
    painted.push_str(text);
    ResetColor.write_ansi(&mut painted).unwrap_or_default();
    painted.push_str("\u{1b}[0m");
    painted
}

fn check(themes: &Themes, names: &[String]) -> Result<Exit, RunError> {
    let mut page = String::new();
    let mut exit = Exit::Clean;
    for name in names {
        let faults = match themes.readability(name) {
            Ok((found, faults)) if faults.is_empty() => {
                put(&mut page, format_args!("{name:22} ok    {}\n", summary(&found)));
                continue;
            }
            Ok((_, faults)) => faults,
            Err(why) => vec![format_error(&why)],
        };
        let name = printable(name, NAME_LIMIT);
        exit = Exit::Failed;
        for fault in faults {
            put(&mut page, format_args!("{name:22} FAIL  {}\n", printable(&fault, LINE_LIMIT)));
        }
    }
    print(&page)?;
    Ok(exit)
}

fn summary(found: &contrast::Readability) -> String {
    if found.is_empty() {
        return "uses your terminal's colours, so contrast cannot be computed".to_owned();
    }
    let frame = |one: &&Contrast| one.role != Role::Border;
    let least = |all: &[Contrast]| {
        all.iter().filter(frame).map(|one| one.ratio).fold(f64::INFINITY, f64::min)
    };
    let mut text =
        format!("contrast {:.1}, in 256 colours {:.1}", least(&found.full), least(&found.indexed));
    if !found.states.is_empty() {
        put(&mut text, format_args!("; states apart"));
    }
    for one in &found.states {
        let comma = if one.vision == Vision::Usual { "" } else { "," };
        put(&mut text, format_args!("{comma} {} {:.0}", one.vision.name(), one.distance));
    }
    text
}

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    page.write_fmt(text).unwrap_or_default();
}
