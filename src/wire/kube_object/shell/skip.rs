//! Finds the end of substitutions, whatever is nested in them.

/// Deepest nesting that is followed.
const DEPTH_LIMIT: usize = 64;

/// The opening of a substitution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    Paren,
    Brace,
    /// A brace within double quotes, where single quotes are ordinary letters.
    QuotedBrace,
    Double,
}

/// Returns the place behind what closes the bracket at `at`. None when nothing does, or when it holds what
/// is not understood.
pub(super) fn closing(text: &str, at: usize, opening: Opening) -> Option<usize> {
    let mut open = vec![opening];
    let mut letters = text.get(at + 1..)?.char_indices().peekable();
    let start = at + 1;
    let mut before = '(';
    while let Some((index, letter)) = letters.next() {
        let top = *open.last()?;
        let next = letters.peek().map(|(_, next)| *next);
        let mut jump = None;
        match letter {
            '\\' => {
                letters.next();
            }
            '`' => jump = Some(after_backtick(text, start + index + 1)?),
            '\'' if matches!(top, Opening::Paren | Opening::Brace) => {
                let inside = text.get(start + index + 1..)?;
                jump = Some(start + index + 2 + inside.find('\'')?);
            }
            '"' if top == Opening::Double => {
                open.pop();
            }
            '"' => open.push(Opening::Double),
            '$' if next == Some('(') => {
                letters.next();
                open.push(Opening::Paren);
            }
            '$' if next == Some('{') => {
                letters.next();
                let quoted = matches!(top, Opening::Double | Opening::QuotedBrace);
                open.push(if quoted { Opening::QuotedBrace } else { Opening::Brace });
            }
            '(' if top == Opening::Paren => open.push(Opening::Paren),
            ')' if top == Opening::Paren => {
                open.pop();
            }
            '}' if matches!(top, Opening::Brace | Opening::QuotedBrace) => {
                open.pop();
            }
            '#' if top == Opening::Paren && (before.is_whitespace() || ";(&|".contains(before)) => {
                let inside = text.get(start + index..)?;
                jump = Some(start + index + inside.find('\n')?);
            }
            // The bracket behind a pattern closes nothing.
            'e' if top == Opening::Paren && text[start + index..].starts_with("esac") => {
                return None;
            }
            // Lines of a here-document are not quoted as everything else is.
            '<' if top == Opening::Paren && next == Some('<') => return None,
            _ => {}
        }
        if open.is_empty() {
            return Some(start + index + letter.len_utf8());
        }
        if open.len() > DEPTH_LIMIT {
            return None;
        }
        before = letter;
        if let Some(jump) = jump {
            while letters.next_if(|(index, _)| start + index < jump).is_some() {}
        }
    }
    None
}

/// Returns the place behind the backtick that closes the one before `at`.
pub(super) fn after_backtick(text: &str, at: usize) -> Option<usize> {
    let mut escaped = false;
    for (index, letter) in text.get(at..)?.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '`' => return Some(at + index + 1),
            _ => {}
        }
    }
    None
}
