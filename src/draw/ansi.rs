//! Text for a terminal: cells with the escape sequences that colour them.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use super::put;
use crate::tui::text;

/// Returns the rows of `buffer`, each reset at its end.
pub(super) fn page(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut page = String::new();
    for y in area.top()..area.bottom() {
        let mut before = None;
        let mut x = area.left();
        while x < area.right() {
            let cell = &buffer[(x, y)];
            let look = (cell.fg, cell.bg, cell.modifier);
            if before != Some(look) {
                put(&mut page, format_args!("\u{1b}[0{}m", codes(look)));
                before = Some(look);
            }
            page.push_str(cell.symbol());
            let columns = text::width(cell.symbol()).max(1);
            x = x.saturating_add(text::coordinate(columns));
        }
        page.push_str("\u{1b}[0m\n");
    }
    page
}

fn codes((fg, bg, modifier): (Color, Color, Modifier)) -> String {
    let mut codes = String::new();
    for (wanted, code) in [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ] {
        if modifier.contains(wanted) {
            put(&mut codes, format_args!(";{code}"));
        }
    }
    colour(&mut codes, fg, 0);
    colour(&mut codes, bg, 10);
    codes
}

/// Adds the code of a colour; `ground` is 10 for the colour behind the text.
fn colour(codes: &mut String, colour: Color, ground: u8) {
    let plain = |at: u8| 30 + at + ground;
    let bright = |at: u8| 90 + at + ground;
    let code = match colour {
        Color::Reset => return,
        Color::Rgb(red, green, blue) => {
            return put(codes, format_args!(";{};2;{red};{green};{blue}", 38 + ground));
        }
        Color::Indexed(index) => return put(codes, format_args!(";{};5;{index}", 38 + ground)),
        Color::Black => plain(0),
        Color::Red => plain(1),
        Color::Green => plain(2),
        Color::Yellow => plain(3),
        Color::Blue => plain(4),
        Color::Magenta => plain(5),
        Color::Cyan => plain(6),
        Color::Gray => plain(7),
        Color::DarkGray => bright(0),
        Color::LightRed => bright(1),
        Color::LightGreen => bright(2),
        Color::LightYellow => bright(3),
        Color::LightBlue => bright(4),
        Color::LightMagenta => bright(5),
        Color::LightCyan => bright(6),
        Color::White => bright(7),
    };
    put(codes, format_args!(";{code}"));
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn colours_are_those_of_the_cells_and_end_with_the_row() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        buffer.set_string(0, 0, "ab", Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Indexed(7)));
        buffer.set_string(2, 0, "c", Style::new().fg(Color::LightRed));
        let esc = "\u{1b}[";
        let wanted = format!("{esc}0;38;2;1;2;3;48;5;7mab{esc}0;91mc{esc}0m {esc}0m\n");
        assert_eq!(page(&buffer), wanted);
    }
}
