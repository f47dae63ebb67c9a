//! The command line: `:theme dark`, with suggestions, and errors that say what is known.

use std::time::Duration;

use super::command::{Command, Copied, Format, HashText, Past, Simulate};
use super::scope::Scope;
use super::tour::Move;
use super::views;

/// The spans that graphs can cover.
pub const WINDOWS: [Duration; 4] = [
    Duration::from_secs(60),
    Duration::from_secs(300),
    Duration::from_secs(900),
    Duration::from_secs(3_600),
];

/// Graphs cover no less than this by themselves: rates are counted by the second.
const SHORTEST: Duration = Duration::from_secs(5);

/// Returns what graphs cover that have only `span` to tell of; none where they cover what they usually do.
pub fn fitting(span: Duration) -> Option<Duration> {
    let whole = Duration::from_secs(span.as_secs() + 1).max(SHORTEST);
    (whole < WINDOWS[1]).then_some(whole)
}

/// Longest line that is taken.
const LONGEST: usize = 200;

/// Returns every line that makes sense, with what it does.
pub fn known(themes: &[String], demo: bool) -> Vec<(String, &'static str)> {
    let mut lines = Vec::new();
    if demo {
        lines.push((String::from("demo fix"), "next step of the demo: the first applies the fix"));
        lines.push((String::from("demo load up"), "more users at once"));
        lines.push((String::from("demo load down"), "fewer users at once"));
        lines.push((String::from("demo mode"), "router mode: kv or round-robin"));
        lines.push((String::from("demo worker"), "one worker more"));
        lines.push((String::from("tour"), "guided tour, step by step"));
    }
    lines.push((String::from("back 5m"), "go back in time: s, m or h"));
    lines.push((String::from("copy fix"), "the patch of the worst finding"));
    lines.push((String::from("copy kubectl"), "the command of the worst finding"));
    lines.push((String::from("ctx"), "pick the Kubernetes context; `ctx NAME` takes that one"));
    lines.push((String::from("dgd all"), "all graph deployments; `dgd NAME` only that one"));
    let export = |format: Format| (format!("export {}", format.word()), format.about());
    lines.extend(Format::ALL.map(export));
    lines.push((String::from("find"), "a hash in the tree, or its first digits: `find 0c9d`"));
    lines.push((String::from("freeze"), "freeze the display, or let it go on"));
    lines.push((String::from("help"), "keys, marks, columns, commands"));
    lines.push((String::from("mouse"), "use the mouse, or leave it to the terminal"));
    lines.push((String::from("now"), "back to now from the past"));
    lines.push((String::from("ns"), "pick the namespace; `ns NAME` takes that one"));
    lines.push((String::from("plan"), "simulate what would help; again: stop"));
    lines.push((String::from("quit"), "leave"));
    lines.extend(themes.iter().map(|name| (format!("theme {name}"), "use this theme")));
    let view = |view: &views::View| (format!("view {}", view.name.word()), view.about);
    lines.extend(views::built().map(view));
    for window in WINDOWS {
        lines.push((format!("window {}", super::text::span(window)), "time that graphs cover"));
    }
    lines.push((String::from("worker all"), "the tree of all workers; `worker w0` of one"));
    lines.push((String::from("zoom"), "zoom the focused panel, or undo it"));
    lines
}

/// Returns the lines that `typed` may become, best first.
pub fn suggestions(typed: &str, themes: &[String], demo: bool) -> Vec<(String, &'static str)> {
    let typed = words(typed);
    let mut lines = known(themes, demo);
    lines.retain(|(line, _)| line.starts_with(&typed));
    lines
}

/// The meaning of a line that no suggestion continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sense {
    /// It can be run; this is what such lines do.
    Runs(&'static str),
    /// More must be typed, or something else, for this reason.
    Lacks(String),
    /// No command begins like this.
    Nothing,
}

/// Returns what to say of `typed`, where [`suggestions`] has nothing.
pub fn sense(typed: &str, themes: &[String], demo: bool) -> Sense {
    let verb = typed.split_whitespace().next().unwrap_or_default();
    let about = known(themes, demo)
        .into_iter()
        .find(|(line, _)| line.split(' ').next() == Some(verb))
        .map(|(_, about)| about);
    match (parse(typed, themes, demo), about) {
        (Ok(Command::OpenFind), Some(about)) => Sense::Lacks(about.to_owned()),
        (Ok(_), about) => Sense::Runs(about.unwrap_or("run it")),
        (Err(why), Some(_)) => Sense::Lacks(why),
        (Err(_), None) => Sense::Nothing,
    }
}

/// Returns the suggestion that Enter takes: the first one, while what was typed means nothing by itself.
/// Nothing is taken for an empty line, which closes.
pub fn taken(typed: &str, themes: &[String], demo: bool) -> Option<String> {
    if typed.trim().is_empty() || scope(typed).is_some() || parse(typed, themes, demo).is_ok() {
        return None;
    }
    suggestions(typed, themes, demo).into_iter().next().map(|(line, _)| line)
}

/// Returns what of a cluster `typed` names, with the name; empty when it is to be picked. Such names are
/// no part of a [`Command`], which is copied around.
pub fn scope(typed: &str) -> Option<(Scope, &str)> {
    let typed = typed.trim();
    let (verb, name) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let scope = Scope::ALL.into_iter().find(|scope| scope.word() == verb)?;
    Some((scope, name.trim()))
}

/// Returns what `typed` means, or why it means nothing.
pub fn parse(typed: &str, themes: &[String], demo: bool) -> Result<Command, String> {
    let line = words(typed);
    let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
    match (verb, rest) {
        ("tour", "") => Ok(Command::Tour(Move::Toggle)),
        ("demo", rest) => steer(rest, demo),
        ("copy", "fix") => Ok(Command::Copy(Copied::Fix)),
        ("copy", "kubectl") => Ok(Command::Copy(Copied::Kubectl)),
        ("copy", _) => Err(String::from("copy commands are `copy fix` and `copy kubectl`")),
        ("export", name) => format(name),
        ("find", "") => Ok(Command::OpenFind),
        ("find", hash) => {
            let why = || {
                format!(
                    "`{hash}` is no hash; type one, or its first digits: `find 0c9d44aa`, `find 0x0c9d`, `find 4660`"
                )
            };
            HashText::new(hash).map(Command::Find).ok_or_else(why)
        }
        ("worker", "all" | "") => Ok(Command::OnlyWorker(None)),
        ("worker", name) => {
            let number = name.strip_prefix('w').unwrap_or(name).parse().ok();
            let why = || format!("no worker `{name}`; workers are `w0`, `w1` and so on, or `all`");
            number.map(|number| Command::OnlyWorker(Some(number))).ok_or_else(why)
        }
        ("now", "") => Ok(Command::Past(Past::Now)),
        ("back", span) => {
            let why = || String::from("how far back? `back 90s`, `back 5m`, `back 2h`");
            seconds(span).map(|ago| Command::Past(Past::Ago(ago))).ok_or_else(why)
        }
        ("mouse", "") => Ok(Command::ToggleMouse),
        ("freeze", "") => Ok(Command::ToggleFreeze),
        ("plan", "") => Ok(Command::Plan),
        ("help", "") => Ok(Command::ToggleHelp),
        ("quit" | "q", "") => Ok(Command::Quit),
        ("zoom", "") => Ok(Command::ToggleZoom),
        ("theme", name) => {
            let found = themes.iter().position(|known| known == name);
            let known = || format!("no theme `{name}`; themes are {}", themes.join(", "));
            found.map(Command::Theme).ok_or_else(known)
        }
        ("window" | "since", span) => {
            let found = WINDOWS.into_iter().find(|window| super::text::span(*window) == span);
            found.map(Command::Window).ok_or_else(|| {
                let known = WINDOWS.map(super::text::span).join(", ");
                format!("no window `{span}`; windows are {known}")
            })
        }
        ("view", name) => view(name).ok_or_else(|| {
            let known: Vec<_> = views::built().map(|view| view.name.word()).collect();
            format!("no view `{name}`; views are {}", known.join(", "))
        }),
        ("", _) => Ok(Command::Back),
        // The name of a view alone will do.
        (name, "") if view(name).is_some() => view(name).ok_or_else(|| format!("no view `{name}`")),
        _ => {
            let near = neighbour(verb, themes, demo);
            let near =
                near.map_or_else(|| String::from("."), |near| format!(". Did you mean `{near}`?"));
            Err(format!("unknown command `{line}`{near} Press ? for all."))
        }
    }
}

/// Returns the command that changes what a demo simulates.
fn steer(what: &str, demo: bool) -> Result<Command, String> {
    let command = match what {
        "fix" => Command::DemoFix,
        "load up" => Command::Simulate(Simulate::MoreUsers),
        "load down" => Command::Simulate(Simulate::FewerUsers),
        "mode" => Command::Simulate(Simulate::Mode),
        "worker" => Command::Simulate(Simulate::Worker),
        _ => {
            let known = "`demo fix`, `demo load up`, `demo load down`, `demo mode`, `demo worker`";
            return Err(format!("demo commands are {known}"));
        }
    };
    if demo { Ok(command) } else { Err(format!("`demo {what}` works in a demo only")) }
}

/// Returns the command whose name is most like `verb`, where one is.
fn neighbour(verb: &str, themes: &[String], demo: bool) -> Option<String> {
    let known = known(themes, demo).into_iter();
    let verbs = known.filter_map(|(line, _)| Some(line.split(' ').next()?.to_owned()));
    let near = verbs.map(|known| (strsim::damerau_levenshtein(verb, &known), known)).min()?;
    Some(near.1).filter(|known| near.0 <= 2 && near.0 < known.chars().count())
}

/// Returns the seconds of a span such as `90s`, `5m` or `2h`.
fn seconds(span: &str) -> Option<u64> {
    let unit = span.chars().last()?;
    let number = span.strip_suffix(unit)?;
    let each = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(each)
}

/// Returns the command that writes the view in the format whose name begins with `name`.
fn format(name: &str) -> Result<Command, String> {
    let found = Format::ALL.into_iter().find(|format| format.word().starts_with(name));
    let known = || format!("export formats are {}", Format::ALL.map(Format::word).join(", "));
    found.filter(|_| !name.is_empty()).map(Command::Export).ok_or_else(known)
}

/// Returns the command that shows the view of that name, if it is built.
fn view(name: &str) -> Option<Command> {
    let found = views::built().find(|view| view.name.word() == name)?;
    Some(Command::Show(found.name))
}

/// Returns true when one more character fits.
pub fn has_room(typed: &str) -> bool {
    typed.chars().count() < LONGEST
}

fn words(typed: &str) -> String {
    let joined = typed.split_whitespace().collect::<Vec<_>>().join(" ");
    // Keep a trailing space, so that `theme ` suggests themes only.
    let more = typed.ends_with(' ') && !joined.is_empty();
    if more && known_verb(&joined) { joined + " " } else { joined }
}

fn known_verb(word: &str) -> bool {
    let known =
        ["copy", "ctx", "demo", "dgd", "export", "find", "ns", "theme", "view", "window", "worker"];
    known.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_recording_fills_its_graphs_and_a_long_one_is_shown_as_usual() {
        let fit = |seconds: u64| fitting(Duration::from_millis(seconds * 1_000 + 400));
        assert_eq!(fit(0), Some(Duration::from_secs(5)));
        assert_eq!(fit(23), Some(Duration::from_secs(24)));
        assert_eq!(fit(298), Some(Duration::from_secs(299)));
        assert_eq!((fit(299), fit(4_000)), (None, None));
    }

    fn themes() -> Vec<String> {
        vec![String::from("terminal"), String::from("dark")]
    }

    #[test]
    fn every_line_that_is_suggested_is_understood() {
        for demo in [false, true] {
            for (line, _) in known(&themes(), demo) {
                let understood = scope(&line).is_some() || parse(&line, &themes(), demo).is_ok();
                assert!(understood, "{line}");
            }
        }
    }

    #[test]
    fn errors_say_what_there_is() {
        assert!(parse("theme nord", &themes(), false).unwrap_err().contains("terminal, dark"));
        assert!(parse("window 7m", &themes(), false).unwrap_err().contains("1m, 5m, 15m, 1h"));
        assert!(parse("view attic", &themes(), false).unwrap_err().contains("overview"));
        assert!(parse("export ", &themes(), false).unwrap_err().contains("svg, html, md"));
        assert_eq!(parse("export s", &themes(), false), Ok(Command::Export(Format::Svg)));
        assert!(parse("demo fix", &themes(), false).unwrap_err().contains("demo only"));
    }

    #[test]
    fn enter_takes_the_suggestion_that_is_shown_unless_the_line_means_something() {
        let taken = |typed| taken(typed, &themes(), true);
        assert_eq!(taken("export ").as_deref(), Some("export svg"));
        assert_eq!(taken("demo").as_deref(), Some("demo fix"));
        assert_eq!(taken("theme d").as_deref(), Some("theme dark"));
        for own in ["", " ", "export h", "q", "ns", "worker", "theme nord"] {
            assert_eq!(taken(own), None, "{own}");
        }
    }

    #[test]
    fn a_misspelt_command_leads_to_its_neighbour() {
        let why = |typed| parse(typed, &themes(), false).unwrap_err();
        assert!(why("widnow 5m").contains("Did you mean `window`?"), "{}", why("widnow 5m"));
        assert!(why("freze").contains("`freeze`"));
        assert!(!why("supercalifragilistic").contains("Did you mean"));
        let window = Ok(Command::Window(Duration::from_secs(900)));
        assert_eq!(parse("since 15m", &themes(), false), window);
    }

    #[test]
    fn a_line_that_can_be_run_is_never_called_unknown() {
        let sense = |typed| sense(typed, &themes(), false);
        for runs in
            ["find 12", "find 0x0c9d", "back 90s", "worker w1", "worker 3", "q", "view tree"]
        {
            assert!(matches!(sense(runs), Sense::Runs(_)), "{runs}: {:?}", sense(runs));
        }
        let about = "a hash in the tree, or its first digits: `find 0c9d`";
        assert_eq!(sense("find 12"), Sense::Runs(about));
        assert_eq!(sense("find "), Sense::Lacks(about.to_owned()));
        assert!(matches!(sense("back 9"), Sense::Lacks(why) if why.contains("90s")));
        assert!(matches!(sense("worker x"), Sense::Lacks(why) if why.contains("`w0`")));
        assert_eq!(sense("attic"), Sense::Nothing);
        assert_eq!(parse("find", &themes(), false), Ok(Command::OpenFind));
    }

    #[test]
    fn suggestions_follow_what_is_typed() {
        let lines: Vec<_> = suggestions("theme ", &themes(), false).into_iter().collect();
        assert_eq!(lines[0].0, "theme terminal");
        assert_eq!(suggestions("  win", &themes(), false).len(), WINDOWS.len());
    }
}
