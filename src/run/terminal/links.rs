//! Links of findings to their pages, by OSC 8: terminals that know the sequence open the page on a click.

use std::num::NonZeroU16;

use ratatui::buffer::{Buffer, CellDiffOption};

use crate::diagnose::{Rule, rule};

/// Columns of a finding's id, such as `KVT001`.
const ID: u16 = 6;

/// Stands for the id in an address.
const MARK: &str = "{id}";

/// Turns the ids of findings on the screen into links.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// An address, in which `{id}` stands for the id, or which an id completes; none without links.
    base: Option<String>,
}

impl Links {
    /// Returns links that begin with `base`, if that can stand in an escape sequence.
    pub(super) fn new(base: Option<&str>) -> Self {
        // A terminal must not be steered by a setting that was copied from somewhere.
        let usable = |base: &&str| !base.is_empty() && base.bytes().all(|it| it.is_ascii_graphic());
        Self { base: base.filter(usable).map(str::to_owned) }
    }

    /// Makes a link of each known id in `buffer`.
    pub(super) fn mark(&self, buffer: &mut Buffer) {
        let Some(base) = &self.base else { return };
        let area = buffer.area;
        for y in area.top()..area.bottom() {
            let mut x = area.left();
            while x + ID <= area.right() {
                let Some(id) = id_at(buffer, x, y) else {
                    x += 1;
                    continue;
                };
                let address = if base.contains(MARK) {
                    base.replace(MARK, id)
                } else {
                    format!("{base}{id}")
                };
                for column in x..x + ID {
                    let cell = &mut buffer[(column, y)];
                    // Terminals join cells of one `id` into one link. What is written takes one column, whatever its
                    // length.
                    let link = format!(
                        "\u{1b}]8;id={id};{address}\u{1b}\\{}\u{1b}]8;;\u{1b}\\",
                        cell.symbol()
                    );
                    cell.set_symbol(&link);
                    cell.diff_option = CellDiffOption::ForcedWidth(NonZeroU16::MIN);
                }
                x += ID;
            }
        }
    }
}

/// Returns the id of a finding that begins at this cell, and is no part of a longer word.
fn id_at(buffer: &Buffer, x: u16, y: u16) -> Option<&'static str> {
    let area = buffer.area;
    let in_word = |column: u16| {
        let symbol = (column < area.right()).then(|| buffer[(column, y)].symbol());
        symbol.is_some_and(|symbol| symbol.chars().all(char::is_alphanumeric))
    };
    if buffer[(x, y)].symbol() != "K" || in_word(x + ID) || (x > area.left() && in_word(x - 1)) {
        return None;
    }
    let text: String = (x..x + ID).map(|column| buffer[(column, y)].symbol()).collect();
    rule(&text).map(Rule::id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(base: Option<&str>, text: &str) -> Vec<String> {
        let mut buffer = Buffer::with_lines([text]);
        Links::new(base).mark(&mut buffer);
        buffer.content.iter().map(|cell| cell.symbol().to_owned()).collect()
    }

    #[test]
    fn each_cell_of_an_id_is_part_of_one_link_and_takes_one_column() {
        let cells = marked(Some("https://docs/"), "! KVT001: sizes");
        assert_eq!(cells[2], "\u{1b}]8;id=KVT001;https://docs/KVT001\u{1b}\\K\u{1b}]8;;\u{1b}\\");
        assert!(cells[2..8].iter().all(|cell| cell.contains("KVT001")), "{cells:?}");
        let named = marked(Some("https://docs/{id}.md"), "KVT001");
        assert!(named[0].contains(";https://docs/KVT001.md\u{1b}\\K"), "{named:?}");
        assert_eq!((cells[0].as_str(), cells[8].as_str()), ("!", ":"));
    }

    #[test]
    fn other_words_are_no_links_and_nothing_is_one_without_a_base() {
        for text in ["KVT999 x", "KVT0012 ", "xKVT001 ", "KVT00", "kvt001 "] {
            let plain: Vec<String> = text.chars().map(String::from).collect();
            assert_eq!(marked(Some("https://docs/"), text), plain, "{text}");
        }
        for base in [None, Some(""), Some("https://docs/\u{1b}]"), Some("a b")] {
            assert_eq!(marked(base, "KVT001").concat(), "KVT001", "{base:?}");
        }
    }
}
