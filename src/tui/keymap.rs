//! Every key there is, in one table. Help and footer are written from it.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::command::{Command, Copied, Edit, ReplayCommand, Scroll, View};
use super::views;
use crate::snapshot;

/// Where a binding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// Always, whatever is open.
    Everywhere,
    /// In every view, while nothing lies over it.
    Views,
    /// The same, in this view only.
    In(View),
    /// The same, of a replay.
    Replay,
    /// The same, of a demo that can be mended.
    Mendable,
    /// While the help is open.
    Help,
    /// While the command line is open.
    Line,
}

/// Where pictures come from, as far as keys depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// A deployment, or a demo with nothing to mend.
    Plain,
    /// A recording.
    Replay,
    /// A demo whose fix is yet to be applied.
    Mendable,
}

impl Feed {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Replay, Self::Mendable];

    /// Returns the kind of a picture's feed.
    pub fn of(feed: &snapshot::Feed) -> Self {
        match feed {
            snapshot::Feed::Replay(_) => Self::Replay,
            snapshot::Feed::Demo(demo) if !demo.fixed && !demo.fix.is_empty() => Self::Mendable,
            snapshot::Feed::Live | snapshot::Feed::Demo(_) => Self::Plain,
        }
    }
}

/// What is open, which decides the contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// A view.
    View(View, Feed),
    /// The help.
    Help,
    /// The command line.
    Line,
}

impl Focus {
    /// Returns everything that can be open.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |view: &views::View| Feed::ALL.map(|feed| Self::View(view.name, feed));
        views::built().flat_map(of).chain([Self::Help, Self::Line])
    }

    /// Returns true when `context` holds while this is open.
    fn holds(self, context: Context) -> bool {
        match (self, context) {
            (_, Context::Everywhere)
            | (Self::View(..), Context::Views)
            | (Self::View(_, Feed::Replay), Context::Replay)
            | (Self::View(_, Feed::Mendable), Context::Mendable)
            | (Self::Help, Context::Help)
            | (Self::Line, Context::Line) => true,
            (Self::View(view, _), Context::In(other)) => view == other,
            _ => false,
        }
    }
}

/// A key as the table names it. Shift is part of the character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    control: bool,
}

const fn char(c: char) -> Key {
    Key { code: KeyCode::Char(c), control: false }
}

const fn control(c: char) -> Key {
    Key { code: KeyCode::Char(c), control: true }
}

const fn key(code: KeyCode) -> Key {
    Key { code, control: false }
}

/// Some keys and their meaning.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The keys, any of which will do.
    pub keys: &'static [Key],
    /// How people are told of them.
    pub shown: &'static str,
    /// Where the binding holds.
    pub contexts: &'static [Context],
    /// What they mean.
    pub command: Command,
    /// The same, for the help. Empty for the second of a pair.
    pub help: &'static str,
    /// The same in a word or two, for the footer.
    pub hint: Option<&'static str>,
}

const fn bind(
    keys: &'static [Key],
    shown: &'static str,
    contexts: &'static [Context],
    command: Command,
    help: &'static str,
) -> Binding {
    Binding { keys, shown, contexts, command, help, hint: None }
}

const fn hinted(binding: Binding, hint: &'static str) -> Binding {
    Binding { hint: Some(hint), ..binding }
}

const ALL: &[Context] = &[Context::Everywhere];
const VIEWS: &[Context] = &[Context::Views];
const READ: &[Context] = &[Context::Views, Context::Help];
const REPLAY: &[Context] = &[Context::Replay];
const FINDINGS: &[Context] = &[Context::In(View::Findings)];
const MENDABLE: &[Context] = &[Context::Mendable];
const LINE: &[Context] = &[Context::Line];

const fn replay(
    keys: &'static [Key],
    shown: &'static str,
    command: ReplayCommand,
    help: &'static str,
) -> Binding {
    bind(keys, shown, REPLAY, Command::Replay(command), help)
}

const fn scroll(
    keys: &'static [Key],
    shown: &'static str,
    by: Scroll,
    help: &'static str,
) -> Binding {
    bind(keys, shown, READ, Command::Scroll(by), help)
}

const fn show(
    keys: &'static [Key],
    shown: &'static str,
    view: View,
    help: &'static str,
) -> Binding {
    bind(keys, shown, VIEWS, Command::Show(view), help)
}

/// Every binding, in the order of help and footer.
pub const BINDINGS: &[Binding] = &[
    hinted(
        bind(&[char('?'), key(KeyCode::F(1))], "?", READ, Command::ToggleHelp, "help, and back"),
        "help",
    ),
    hinted(bind(&[char(':')], ":", VIEWS, Command::OpenLine, "type a command"), "command"),
    hinted(
        bind(
            &[key(KeyCode::Enter)],
            "Enter",
            FINDINGS,
            Command::Open,
            "read all of the finding, and back to the list",
        ),
        "read",
    ),
    hinted(
        replay(&[char('p')], "p", ReplayCommand::Toggle, "pause the recording, or play on"),
        "pause/play",
    ),
    hinted(replay(&[char('.')], ".", ReplayCommand::Step, "play one frame"), "step"),
    hinted(replay(&[char('[')], "[", ReplayCommand::SeekBy(-10), "10 seconds back"), "-10s"),
    hinted(replay(&[char(']')], "]", ReplayCommand::SeekBy(10), "10 seconds ahead"), "+10s"),
    replay(&[char('{')], "{", ReplayCommand::SeekBy(-60), "1 minute back"),
    replay(&[char('}')], "}", ReplayCommand::SeekBy(60), "1 minute ahead"),
    replay(&[char('0')], "0", ReplayCommand::SeekStart, "to the first frame"),
    replay(&[char('$')], "$", ReplayCommand::SeekEnd, "to the last frame"),
    hinted(replay(&[char('<')], "<", ReplayCommand::Slower, "play slower"), "slower"),
    hinted(replay(&[char('>')], ">", ReplayCommand::Faster, "play faster"), "faster"),
    hinted(bind(&[char('X')], "X", MENDABLE, Command::DemoFix, "apply the fix of the demo"), "fix"),
    hinted(
        bind(
            &[char(' ')],
            "Space",
            VIEWS,
            Command::ToggleFreeze,
            "hold the picture; data flows on",
        ),
        "freeze",
    ),
    hinted(bind(&[key(KeyCode::Tab)], "Tab", VIEWS, Command::FocusNext, "next panel"), "panel"),
    bind(&[key(KeyCode::BackTab)], "S-Tab", VIEWS, Command::FocusPrevious, "previous panel"),
    hinted(bind(&[char('z')], "z", VIEWS, Command::ToggleZoom, "panel to full screen"), "zoom"),
    hinted(
        bind(&[char('+'), char('=')], "+", VIEWS, Command::WindowLonger, "graphs cover more time"),
        "longer",
    ),
    hinted(
        bind(&[char('-')], "-", VIEWS, Command::WindowShorter, "graphs cover less time"),
        "shorter",
    ),
    hinted(bind(&[char('t')], "t", VIEWS, Command::NextTheme, "next theme"), "theme"),
    bind(&[char('f')], "f", VIEWS, Command::TopFinding, "what is behind the worst finding"),
    bind(&[char('Y')], "Y", VIEWS, Command::Copy(Copied::Fix), "copy the fix of a finding"),
    bind(&[char('C')], "C", VIEWS, Command::Copy(Copied::Kubectl), "copy its kubectl command"),
    bind(&[char('y')], "y", VIEWS, Command::Copy(Copied::Selection), "copy what is selected"),
    bind(&[char('b')], "b", VIEWS, Command::ToggleBanner, "banner to one row, and back"),
    show(&[char('1')], "1", View::Overview, "the overview"),
    show(&[char('2')], "2", View::Workers, "workers, and everything about one"),
    show(&[char('3')], "3", View::Tree, "the tree of cached prefixes"),
    show(&[char('4')], "4", View::Routing, "decisions of the router, and their costs"),
    show(&[char('5')], "5", View::Events, "everything that happens"),
    show(&[char('6')], "6", View::Findings, "findings and checks"),
    scroll(&[char('j'), key(KeyCode::Down)], "j", Scroll::Down, "down a row (or arrow)"),
    scroll(&[char('k'), key(KeyCode::Up)], "k", Scroll::Up, "up a row (or arrow)"),
    scroll(
        &[key(KeyCode::PageDown), control('d')],
        "PgDn",
        Scroll::PageDown,
        "down a page (Ctrl-D)",
    ),
    scroll(&[key(KeyCode::PageUp), control('u')], "PgUp", Scroll::PageUp, "up a page (Ctrl-U)"),
    scroll(&[char('g'), key(KeyCode::Home)], "g", Scroll::Top, "to the first row (Home)"),
    scroll(
        &[char('G'), key(KeyCode::End)],
        "G",
        Scroll::Bottom,
        "to the last row, and follow (End)",
    ),
    bind(
        &[key(KeyCode::Esc)],
        "Esc",
        &[Context::Views, Context::Help, Context::Line],
        Command::Back,
        "close what is open; never quits",
    ),
    bind(&[control('l')], "Ctrl-L", ALL, Command::Redraw, "draw everything anew"),
    bind(&[control('z')], "Ctrl-Z", ALL, Command::Suspend, "suspend; `fg` continues"),
    hinted(bind(&[char('q')], "q", READ, Command::Quit, "quit (or Ctrl-C)"), "quit"),
    bind(&[control('c')], "Ctrl-C", ALL, Command::Quit, ""),
    bind(&[key(KeyCode::Enter)], "Enter", LINE, Command::Edit(Edit::Submit), "run the command"),
    bind(&[key(KeyCode::Tab)], "Tab", LINE, Command::Edit(Edit::Complete), "take the suggestion"),
    bind(&[key(KeyCode::Backspace)], "Backspace", LINE, Command::Edit(Edit::Erase), ""),
    bind(&[control('u')], "Ctrl-U", LINE, Command::Edit(Edit::Clear), ""),
];

/// Returns what `event` means while `focus` is open; none when it means nothing.
pub fn command(focus: Focus, event: KeyEvent) -> Option<Command> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let pressed = Key { code: event.code, control };
    let found = bindings(focus).find(|binding| binding.keys.contains(&pressed));
    match (found, focus, event.code) {
        (Some(binding), _, _) => Some(binding.command),
        (None, Focus::Line, KeyCode::Char(c)) if !control => Some(Command::Edit(Edit::Insert(c))),
        (None, _, _) => None,
    }
}

/// Returns the bindings that hold while `focus` is open. Views that are not built have no key.
pub fn bindings(focus: Focus) -> impl Iterator<Item = &'static Binding> {
    BINDINGS
        .iter()
        .filter(move |binding| binding.contexts.iter().any(|context| focus.holds(*context)))
        .filter(|binding| !matches!(binding.command, Command::Show(view) if !views::is_built(view)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings_in_a_context() {
        for focus in Focus::all() {
            let mut seen: Vec<(Key, &str)> = Vec::new();
            for binding in bindings(focus) {
                for key in binding.keys {
                    let other = seen.iter().find(|(known, _)| known == key);
                    assert!(
                        other.is_none(),
                        "{focus:?}: {key:?} is {other:?} and {}",
                        binding.help
                    );
                    seen.push((*key, binding.help));
                }
            }
        }
    }

    #[test]
    fn no_binding_uses_a_key_that_terminals_take() {
        for key in BINDINGS.iter().flat_map(|binding| binding.keys) {
            if let Key { code: KeyCode::Char(c), control: true } = key {
                assert!(!"sqhim".contains(*c), "Ctrl-{c}");
            }
        }
    }

    #[test]
    fn quitting_works_whatever_is_open() {
        let event = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for focus in Focus::all() {
            assert_eq!(command(focus, event), Some(Command::Quit));
        }
    }

    #[test]
    fn a_view_has_its_number_as_its_key() {
        for view in views::built() {
            let digit = char::from(b'0' + view.name.number());
            let event = KeyEvent::new(KeyCode::Char(digit), KeyModifiers::NONE);
            let pressed = command(Focus::View(View::Overview, Feed::Plain), event);
            assert_eq!(pressed, Some(Command::Show(view.name)));
        }
    }

    #[test]
    fn letters_are_text_only_on_the_command_line() {
        let event = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        assert_eq!(command(Focus::Line, event), Some(Command::Edit(Edit::Insert('q'))));
        assert_eq!(command(Focus::Help, event), Some(Command::Quit));
        let shifted = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(
            command(Focus::View(View::Overview, Feed::Plain), shifted),
            Some(Command::Scroll(Scroll::Bottom))
        );
    }
}
