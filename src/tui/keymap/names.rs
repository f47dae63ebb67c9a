//! Names of keys and of what they do, for the config file, `kvtop keys` and the reference.

use std::fmt;

use crossterm::event::KeyCode;

use super::{BINDINGS, Binding, Context, Key, Keymap};
use crate::tui::command::{Command, Copied, Past, Simulate};

/// Keys that are no character, by name.
const NAMED: [(KeyCode, &str); 15] = [
    (KeyCode::Char(' '), "Space"),
    (KeyCode::Enter, "Enter"),
    (KeyCode::Esc, "Esc"),
    (KeyCode::Tab, "Tab"),
    (KeyCode::BackTab, "S-Tab"),
    (KeyCode::Backspace, "Backspace"),
    (KeyCode::Up, "Up"),
    (KeyCode::Down, "Down"),
    (KeyCode::Left, "Left"),
    (KeyCode::Right, "Right"),
    (KeyCode::PageUp, "PgUp"),
    (KeyCode::PageDown, "PgDn"),
    (KeyCode::Home, "Home"),
    (KeyCode::End, "End"),
    (KeyCode::Delete, "Del"),
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, name)) = NAMED.iter().find(|(code, _)| *code == self.code) {
            let control = if self.control { "Ctrl-" } else { "" };
            return write!(f, "{control}{name}");
        }
        match self.code {
            KeyCode::Char(c) if self.control => write!(f, "Ctrl-{}", c.to_ascii_uppercase()),
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "F{number}"),
            other => write!(f, "{other:?}"),
        }
    }
}

impl Key {
    /// Returns the key called `name`: a character, `Ctrl-X`, `F1`, or the name of one that is no
    /// character.
    pub fn from_name(name: &str) -> Option<Self> {
        let (control, rest) = match name.strip_prefix("Ctrl-") {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, name),
        };
        if let Some((code, _)) = NAMED.iter().find(|(_, known)| known.eq_ignore_ascii_case(rest)) {
            return Some(Self { code: *code, control });
        }
        let mut letters = rest.chars();
        match (letters.next()?, letters.as_str()) {
            (c, "") if control => {
                Some(Self { code: KeyCode::Char(c.to_ascii_lowercase()), control })
            }
            (c, "") => Some(Self { code: KeyCode::Char(c), control }),
            ('F', number) if !control => {
                let number = number.parse().ok().filter(|number| (1..=12).contains(number))?;
                Some(Self { code: KeyCode::F(number), control })
            }
            _ => None,
        }
    }
}

/// Returns the name of what a command does: `toggle-freeze`, `scroll-page-up`.
pub fn action(command: Command) -> String {
    let mut name = String::new();
    for letter in format!("{command:?}").chars() {
        match letter {
            'A'..='Z' if name.is_empty() || name.ends_with('-') => {
                name.push(letter.to_ascii_lowercase());
            }
            'A'..='Z' => name.extend(['-', letter.to_ascii_lowercase()]),
            'a'..='z' | '0'..='9' => name.push(letter),
            // A negative number.
            '-' => name.push_str("back-"),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_end_matches('-');
    name.replace("seek-by-", "by-").replace("by-back-", "back-").replace("-by-", "-ahead-")
}

/// Returns true when users may give the binding other keys: typing and the way out stay as they are.
pub fn is_free(binding: &Binding) -> bool {
    let typing = binding.contexts.iter().all(|context| *context == Context::Line);
    let out = binding.contexts.contains(&Context::Everywhere) && binding.command == Command::Quit;
    !typing && !out
}

/// Returns the names of all actions that users may give other keys, each once, in the order of the
/// help.
pub fn actions() -> Vec<String> {
    let mut names = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| is_free(binding)) {
        let name = action(binding.command);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the name of the first key of a command; nothing when it has none.
pub fn first_key(keys: &Keymap, command: Command) -> String {
    let binding = keys.all().find(|binding| binding.command == command);
    binding.map_or_else(String::new, |binding| binding.shown.to_owned())
}

/// Returns what people are told to press for a command: its first key, or the line that does the same
/// where somebody took its keys away.
pub fn key_or_line(keys: &Keymap, command: Command) -> String {
    let key = first_key(keys, command);
    if !key.is_empty() {
        return key;
    }
    let line = match command {
        Command::Copy(Copied::Fix) => "copy fix",
        Command::Copy(Copied::Kubectl) => "copy kubectl",
        Command::TopFinding => "findings",
        Command::ToggleFreeze => "freeze",
        Command::ToggleHelp => "help",
        Command::ToggleZoom => "zoom",
        Command::Past(Past::Now) => "now",
        Command::DemoFix => "demo fix",
        Command::Simulate(Simulate::MoreUsers) => "demo load up",
        Command::Simulate(Simulate::FewerUsers) => "demo load down",
        Command::Simulate(Simulate::Mode) => "demo mode",
        Command::Simulate(Simulate::Worker) => "demo worker",
        Command::OpenExport => "export",
        Command::Plan => "plan",
        Command::Quit => "quit",
        Command::Show(view) => view.word(),
        _ => return String::from("(no key)"),
    };
    format!(":{line}")
}

/// Returns `text` with the key of each action that it names in braces: `{copy-fix} copies the fix`.
pub fn with_keys(keys: &Keymap, text: &str) -> String {
    let mut said = String::new();
    for (at, piece) in text.split('{').enumerate() {
        let named = piece.split_once('}').filter(|_| at > 0).and_then(|(name, rest)| {
            let binding = BINDINGS.iter().find(|binding| action(binding.command) == name)?;
            Some((key_or_line(keys, binding.command), rest))
        });
        match named {
            Some((key, rest)) => said.extend([key.as_str(), rest]),
            None if at > 0 => said.extend(["{", piece]),
            None => said.push_str(piece),
        }
    }
    said
}

/// Returns where a binding holds, for people.
pub fn place(binding: &Binding) -> String {
    let mut places: Vec<String> = Vec::new();
    for context in binding.contexts {
        let place = match context {
            Context::Everywhere => "everywhere".to_owned(),
            Context::Views => "views".to_owned(),
            Context::In(view) | Context::InList(view) => view.word().to_owned(),
            Context::InOpened(view) => format!("{} (opened)", view.word()),
            Context::InUnlessReplay(view) => format!("{} but in a replay", view.word()),
            Context::UnlessReplay => "all but a replay".to_owned(),
            Context::Mendable => "demo with a fix".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names_that_lead_back_to_them() {
        for key in BINDINGS.iter().flat_map(|binding| binding.keys) {
            assert_eq!(Key::from_name(&key.to_string()), Some(*key), "{key}");
        }
        assert_eq!(Key::from_name("Ctrl-D").unwrap().to_string(), "Ctrl-D");
        assert_eq!(Key::from_name("Ctrl-d").unwrap().to_string(), "Ctrl-D");
        assert_eq!(Key::from_name("-").unwrap().to_string(), "-");
        assert_eq!(Key::from_name("space").unwrap().to_string(), "Space");
        for nothing in ["", "F99", "Hyper-X", "ab"] {
            assert_eq!(Key::from_name(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn texts_name_the_keys_that_hold() {
        let text = "{copy-fix} copies, {past-now} goes back, {no-such} {";
        let usual = with_keys(&Keymap::default(), text);
        assert_eq!(usual, "Y copies, 0 goes back, {no-such} {");

        let changes = [("copy-fix", vec!["F5"]), ("past-now", vec![])];
        let changes = changes.map(|(name, keys)| {
            (name.to_owned(), keys.into_iter().map(str::to_owned).collect::<Vec<_>>())
        });
        let own = with_keys(&Keymap::with(&changes).unwrap(), text);
        assert_eq!(own, "F5 copies, :now goes back, {no-such} {");
    }

    #[test]
    fn actions_have_names_of_small_letters() {
        let names = actions();
        for name in &names {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.chars().all(plain) && !name.contains("--"), "{name}");
        }
        let some = ["toggle-freeze", "scroll-page-up", "show-findings", "replay-back-10", "quit"];
        for name in some.into_iter().chain(["replay-ahead-60", "past-back-10", "past-ahead-60"]) {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
    }
}
