//! The keys of a user: the table, with other keys where the config file says so.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::names::{action, is_free};

use super::{BINDINGS, Binding, Context, Focus, Key};
use crate::tui::command::{Command, Edit};
use crate::tui::views;

/// Letters that terminals take with Ctrl, or that are other keys: flow control, Backspace, Tab, Enter.
const TAKEN: &str = "sqhim";

/// Other keys for an action: its name, and the names of keys. No key takes it away.
pub type Change = (String, Vec<String>);

/// The keys that hold.
#[derive(Clone, Debug)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self { bindings: BINDINGS.to_vec() }
    }
}

impl Keymap {
    /// Returns the table with these changes; the place of one that cannot be, and why.
    pub fn with(changes: &[Change]) -> Result<Self, (usize, String)> {
        let mut map = Self::default();
        for (at, (name, keys)) in changes.iter().enumerate() {
            let keys = keys.iter().map(|key| read(key)).collect::<Result<Vec<_>, _>>();
            map.bind(name, &keys.map_err(|why| (at, why))?);
        }
        for (at, (name, _)) in changes.iter().enumerate() {
            if let Some((key, other)) = map.clash(name) {
                return Err((at, format!("`{key}` is already the key of `{other}`")));
            }
        }
        Ok(map)
    }

    /// Gives an action other keys, everywhere it has some.
    fn bind(&mut self, name: &str, keys: &[Key]) {
        let shown = keys.first().map(ToString::to_string).unwrap_or_default();
        // Bindings live as long as the program, and are made once.
        let (keys, shown): (&'static [Key], &'static str) =
            (Vec::leak(keys.to_vec()), String::leak(shown));
        let of_action =
            |binding: &&mut Binding| is_free(binding) && action(binding.command) == name;
        for binding in self.bindings.iter_mut().filter(of_action) {
            *binding = Binding { keys, shown, ..*binding };
        }
    }

    /// Returns a key of action `name` that has another meaning somewhere, and which.
    fn clash(&self, name: &str) -> Option<(Key, String)> {
        for focus in Focus::all() {
            // A key of the demo gives way to one that the user chose.
            let counts = |binding: &&Binding| {
                action(binding.command) == name
                    || binding.contexts.iter().any(|context| *context != Context::Demo)
            };
            let held: Vec<(Key, String)> = self
                .bindings(focus)
                .filter(counts)
                .flat_map(|binding| binding.keys.iter().map(|key| (*key, action(binding.command))))
                .collect();
            let own = held.iter().filter(|(_, action)| action == name);
            for (key, _) in own {
                let other = held.iter().find(|(known, action)| known == key && action != name);
                if let Some((key, other)) = other {
                    return Some((*key, other.clone()));
                }
            }
        }
        None
    }

    /// Returns the command that types `letter` into the field that has the focus; none where no field has it.
    pub fn typed(&self, focus: Focus, letter: char) -> Option<Command> {
        let command = self.command(focus, KeyEvent::from(KeyCode::Char(letter)));
        command.filter(|command| matches!(command, Command::Edit(_)))
    }

    /// Returns what `event` means while `focus` is open; none when it means nothing.
    pub fn command(&self, focus: Focus, event: KeyEvent) -> Option<Command> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        let pressed = Key { code: event.code, control };
        let found = self.bindings(focus).find(|binding| binding.keys.contains(&pressed));
        match (found, focus, event.code) {
            (Some(binding), _, _) => Some(binding.command),
            (None, Focus::Line | Focus::Filter | Focus::Help, KeyCode::Char(c)) if !control => {
                Some(Command::Edit(Edit::Insert(c)))
            }
            (None, _, _) => None,
        }
    }

    /// Returns every binding.
    pub fn all(&self) -> impl Iterator<Item = &Binding> {
        self.bindings.iter()
    }

    /// Returns the bindings that hold while `focus` is open and have a key. Views that are not built
    /// have none.
    pub fn bindings(&self, focus: Focus) -> impl Iterator<Item = &Binding> {
        let unbuilt = |binding: &Binding| matches!(binding.command, Command::Show(view) if !views::is_built(view));
        self.bindings
            .iter()
            .filter(move |binding| binding.contexts.iter().any(|context| focus.holds(*context)))
            .filter(move |binding| !binding.keys.is_empty() && !unbuilt(binding))
    }
}

fn read(name: &str) -> Result<Key, String> {
    let known = "a letter, `Ctrl-X`, `F1` to `F12`, or a name such as `Space`, `PgUp`, `Enter`";
    let key = Key::from_name(name).ok_or_else(|| format!("`{name}` is no key: {known}"))?;
    match key {
        Key { code: KeyCode::Char(c), control: true } if TAKEN.contains(c) => {
            Err(format!("terminals take `{key}` for themselves, or send another key's code"))
        }
        key => Ok(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::command::{Scroll, View};
    use crate::tui::keymap::Feed;

    const VIEW: Focus = Focus::View(View::Overview, Feed::Plain);

    fn change(action: &str, keys: &[&str]) -> Change {
        (action.to_owned(), keys.iter().map(|key| (*key).to_owned()).collect())
    }

    fn press(map: &Keymap, name: &str) -> Option<Command> {
        let key = Key::from_name(name).unwrap();
        let control = if key.control { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
        map.command(VIEW, KeyEvent::new(key.code, control))
    }

    #[test]
    fn an_action_gets_other_keys_and_loses_its_own() {
        let map = Keymap::with(&[change("toggle-freeze", &["F5", "Ctrl-F"])]).unwrap();
        assert_eq!(press(&map, "F5"), Some(Command::ToggleFreeze));
        assert_eq!(press(&map, "Ctrl-F"), Some(Command::ToggleFreeze));
        assert_eq!(press(&map, "Space"), None);
        let shown = map.bindings(VIEW).find(|binding| binding.command == Command::ToggleFreeze);
        assert_eq!(shown.unwrap().shown, "F5");
    }

    #[test]
    fn keys_can_be_exchanged_and_taken_away() {
        let swap = [change("scroll-down", &["k"]), change("scroll-up", &["j"])];
        let map = Keymap::with(&swap).unwrap();
        assert_eq!(press(&map, "k"), Some(Command::Scroll(Scroll::Down)));
        let map = Keymap::with(&[change("quit", &[])]).unwrap();
        assert_eq!(press(&map, "q"), None);
        assert_eq!(press(&map, "Ctrl-C"), Some(Command::Quit), "the way out stays");
    }

    #[test]
    fn keys_of_the_demo_give_way_to_those_of_the_user() {
        let map = Keymap::with(&[change("toggle-freeze", &["R"])]).unwrap();
        assert_eq!(press(&map, "R"), Some(Command::ToggleFreeze));
    }

    #[test]
    fn keys_that_clash_or_are_none_are_explained() {
        let why = |changes: &[Change]| Keymap::with(changes).unwrap_err();
        let fine = change("next-theme", &["F9"]);
        let (at, clash) = why(&[fine.clone(), change("toggle-freeze", &["z"])]);
        assert_eq!((at, clash.as_str()), (1, "`z` is already the key of `toggle-zoom`"));
        assert!(why(&[change("toggle-freeze", &["Hyper-X"])]).1.contains("is no key"));
        assert!(why(&[fine, change("toggle-freeze", &["Ctrl-S"])]).1.contains("terminals take"));
    }
}
