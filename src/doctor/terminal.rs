//! Checks of the terminal's capabilities.

use crate::report::doctor::{Check, Verdict};

const AREA: &str = "terminal";

/// The smallest size at which tables are whole.
const USEFUL: (u16, u16) = (80, 24);

/// The terminal that kvtop would draw on.
#[derive(Debug)]
pub struct Terminal {
    /// Columns and rows, or why they are unknown; none where the output is not a terminal.
    pub size: Option<Result<(u16, u16), String>>,
    /// The number of colours, for people.
    pub colours: &'static str,
    /// The value of `TERM`.
    pub term: String,
    /// True when the locale is UTF-8.
    pub unicode: bool,
    /// True inside tmux, which takes copies itself.
    pub in_tmux: bool,
    /// True for terminals known not to take copies by OSC 52. Others cannot be asked.
    pub refuses_copies: bool,
}

/// Returns the checks of a terminal.
pub fn checks(terminal: &Terminal) -> Vec<Check> {
    let characters = if terminal.unicode {
        Check::new(AREA, "characters", Verdict::Ok, "UTF-8 (from the locale)")
    } else {
        Check::new(AREA, "characters", Verdict::Warning, "ASCII: the locale is not UTF-8")
            .advise("set LC_ALL to a UTF-8 locale, or pass --glyphs unicode")
    };
    vec![size(terminal), colours(terminal), characters, clipboard(terminal)]
}

fn size(terminal: &Terminal) -> Check {
    let check = |verdict, seen: String| Check::new(AREA, "size", verdict, seen);
    match &terminal.size {
        None => {
            let seen = "the output is not a terminal, which the screen needs";
            check(Verdict::Unknown, seen.to_owned())
        }
        Some(Err(error)) => check(Verdict::Unknown, error.clone()),
        Some(Ok((columns, rows))) => {
            let seen = format!("{columns}x{rows}");
            if *columns < USEFUL.0 || *rows < USEFUL.1 {
                check(Verdict::Warning, seen)
                    .advise("use at least 80x24 for complete tables, 120x36 for charts as well")
            } else {
                check(Verdict::Ok, seen)
            }
        }
    }
}

fn colours(terminal: &Terminal) -> Check {
    let Terminal { colours, term, .. } = terminal;
    let check = Check::new(AREA, "colours", Verdict::Ok, format!("{colours} (TERM={term})"));
    if term.is_empty() || term == "dumb" {
        let advice = "set TERM to your terminal's type, such as xterm-256color";
        return Check { verdict: Verdict::Warning, ..check }.advise(advice);
    }
    check
}

fn clipboard(terminal: &Terminal) -> Check {
    let check = |verdict, seen: &str| Check::new(AREA, "clipboard", verdict, seen);
    let file = "each copy is also saved to kvtop/clip.txt in the state directory";
    if terminal.in_tmux {
        return check(Verdict::Ok, "by tmux");
    }
    if terminal.refuses_copies {
        return check(Verdict::Warning, "this terminal may not support copying (OSC 52)")
            .advise(file);
    }
    check(Verdict::Unknown, "uses OSC 52, which a terminal may ignore").advise(file)
}
