//! Every key there is, in one table. Help and footer are written from it.

use crossterm::event::KeyCode;

mod focus;
pub mod names;
mod own;
mod table;

use super::command::Command;

pub use focus::{Context, Feed, Focus};
pub use own::{Change, Keymap};
pub use table::BINDINGS;

/// A key as the table names it. Shift is part of the character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    control: bool,
}

/// Some keys and their meaning.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The keys, any of which will do.
    pub keys: &'static [Key],
    /// Their name for people.
    pub shown: &'static str,
    /// The contexts in which the binding holds.
    pub contexts: &'static [Context],
    /// Their command.
    pub command: Command,
    /// The same, for the help. Empty for the second of a pair.
    pub help: &'static str,
    /// The same in a word or two, for the footer.
    pub hint: Option<&'static str>,
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyEvent, KeyModifiers};

    use super::*;
    use crate::tui::command::{Edit, Scroll, View};
    use crate::tui::views;

    fn command(focus: Focus, event: KeyEvent) -> Option<Command> {
        Keymap::default().command(focus, event)
    }

    #[test]
    fn no_key_has_two_meanings_in_a_context() {
        for focus in Focus::all() {
            let mut seen: Vec<(Key, &str)> = Vec::new();
            for binding in Keymap::default().bindings(focus) {
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
    fn letters_are_text_only_where_something_is_typed() {
        let event = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        assert_eq!(command(Focus::Line, event), Some(Command::Edit(Edit::Insert('q'))));
        assert_eq!(command(Focus::Help, event), Some(Command::Edit(Edit::Insert('q'))));
        assert_eq!(command(Focus::Picker, event), Some(Command::Quit));
        let shifted = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(
            command(Focus::View(View::Overview, Feed::Plain), shifted),
            Some(Command::Scroll(Scroll::Bottom))
        );
    }
}
