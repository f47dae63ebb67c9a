//! Characters that steer a terminal or reorder text instead of showing something.

/// Returns true for control characters, line and paragraph separators, and the invisible format characters
/// of Unicode (category Cf): direction marks and overrides, joiners, tags. Text from outside must not carry
/// any of them to a screen, a file or a command.
pub fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{AD}'
                | '\u{600}'..='\u{605}'
                | '\u{61C}'
                | '\u{6DD}'
                | '\u{70F}'
                | '\u{890}'..='\u{891}'
                | '\u{8E2}'
                | '\u{180E}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{110BD}'
                | '\u{110CD}'
                | '\u{13430}'..='\u{1343F}'
                | '\u{1BCA0}'..='\u{1BCA3}'
                | '\u{1D173}'..='\u{1D17A}'
                | '\u{E0000}'..='\u{E007F}'
        )
}
