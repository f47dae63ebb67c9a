//! Checks of the terminal's capabilities.

use std::io::{self, IsTerminal};

use crate::config::Config;
use crate::report::doctor::{Check, Verdict};
use crate::run::screen;
use crate::tui::theme::Level;

const AREA: &str = "terminal";

/// The smallest size at which tables are whole.
const USEFUL: (u16, u16) = (80, 24);

/// Returns how many columns a report may have: those of the terminal that it goes to.
pub(super) fn columns() -> usize {
    let terminal = io::stdout().is_terminal().then(crossterm::terminal::size);
    match terminal {
        Some(Ok((columns, _))) if columns > 0 => usize::from(columns),
        _ => super::COLUMNS,
    }
}

pub(super) fn checks(config: &Config) -> Vec<Check> {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let options = match screen::described(config) {
        Ok(options) => options,
        Err(error) => {
            return vec![Check::new(AREA, "settings", Verdict::Failed, crate::exit::chain(&error))];
        }
    };
    let mut checks = vec![output(), colours(options.level, &env("TERM"))];
    checks.push(if options.glyphs.braille {
        Check::new(AREA, "characters", Verdict::Ok, "UTF-8 (from the locale)")
    } else {
        Check::new(AREA, "characters", Verdict::Warning, "ASCII: the locale is not UTF-8")
            .advise("set LC_ALL to a UTF-8 locale, or pass --glyphs unicode")
    });
    checks.push(clipboard(&env));
    checks
}

fn output() -> Check {
    if !io::stdout().is_terminal() {
        let seen = "the output is not a terminal, which the screen needs";
        return Check::new(AREA, "size", Verdict::Unknown, seen);
    }
    match crossterm::terminal::size() {
        Ok((columns, rows)) => {
            let seen = format!("{columns}x{rows}");
            if columns < USEFUL.0 || rows < USEFUL.1 {
                Check::new(AREA, "size", Verdict::Warning, seen)
                    .advise("use at least 80x24 for complete tables, 120x36 for charts as well")
            } else {
                Check::new(AREA, "size", Verdict::Ok, seen)
            }
        }
        Err(error) => Check::new(AREA, "size", Verdict::Unknown, error.to_string()),
    }
}

fn colours(level: Level, term: &str) -> Check {
    let seen = match level {
        Level::Mono => "none",
        Level::Sixteen => "16",
        Level::TwoHundred => "256",
        Level::True => "all",
    };
    let check = Check::new(AREA, "colours", Verdict::Ok, format!("{seen} (TERM={term})"));
    if term.is_empty() || term == "dumb" {
        let advice = "set TERM to your terminal's type, such as xterm-256color";
        return Check { verdict: Verdict::Warning, ..check }.advise(advice);
    }
    check
}

/// Whether the terminal takes OSC 52 cannot be asked; some are known not to.
fn clipboard(env: &dyn Fn(&str) -> String) -> Check {
    let check = |verdict, seen: &str| Check::new(AREA, "clipboard", verdict, seen);
    let file = "each copy is also saved to kvtop/clip.txt in the state directory";
    if !env("TMUX").is_empty() {
        return check(Verdict::Ok, "by tmux");
    }
    if env("TERM_PROGRAM") == "Apple_Terminal" || !env("VTE_VERSION").is_empty() {
        return check(Verdict::Warning, "this terminal may not support copying (OSC 52)")
            .advise(file);
    }
    check(Verdict::Unknown, "uses OSC 52, which a terminal may ignore").advise(file)
}
