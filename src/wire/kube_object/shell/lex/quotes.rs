//! Pieces of words: quotes, substitutions and parameters.

use super::{Lexer, Piece, Until, Word, is_parameter, name_length, push_quoted, push_text};
use crate::wire::kube_object::shell::skip::{Opening, after_backtick, closing};

impl Lexer<'_> {
    /// Reads one part of a word.
    pub(super) fn piece(&mut self, letter: char, word: &mut Word) -> Option<()> {
        match letter {
            '\'' => {
                let inside = self.rest()[1..].split('\'').next()?;
                self.at += inside.len() + 2;
                // An open quote ends with the script, which no shell accepts.
                push_quoted(word, inside);
                (self.at <= self.text.len()).then_some(())
            }
            '"' => {
                self.at += 1;
                self.double(word)
            }
            '\\' => {
                self.at += 1;
                match self.peek() {
                    None => push_quoted(word, "\\"),
                    Some('\n') => self.at += 1,
                    Some(escaped) => {
                        push_quoted(word, escaped.encode_utf8(&mut [0; 4]));
                        self.at += escaped.len_utf8();
                    }
                }
                Some(())
            }
            '$' => self.dollar(word, false),
            '`' => self.backtick(word, false),
            letter => {
                self.at += letter.len_utf8();
                push_text(word, letter);
                Some(())
            }
        }
    }

    /// Reads text in double quotes. Nothing between them is an empty word.
    pub(super) fn double(&mut self, word: &mut Word) -> Option<()> {
        let empty = self.rest().starts_with('"');
        if empty {
            word.push(Piece::Quoted(String::new()));
        }
        self.quoted(word, Until::Quote)
    }

    /// Reads text in double quotes, or a here-document.
    pub(super) fn quoted(&mut self, word: &mut Word, until: Until) -> Option<()> {
        while let Some(letter) = self.peek() {
            match letter {
                '"' if until == Until::Quote => {
                    self.at += 1;
                    return Some(());
                }
                '\\' => {
                    self.at += 1;
                    let next = self.peek();
                    let escaped = match next {
                        Some('\\' | '$' | '`') => true,
                        Some('"') => until == Until::Quote,
                        _ => false,
                    };
                    match next {
                        Some('\n') => self.at += 1,
                        Some(next) if escaped => {
                            self.at += 1;
                            push_quoted(word, next.encode_utf8(&mut [0; 4]));
                        }
                        _ => push_quoted(word, "\\"),
                    }
                }
                '$' => self.dollar(word, true)?,
                '`' => self.backtick(word, true)?,
                letter => {
                    self.at += letter.len_utf8();
                    push_quoted(word, letter.encode_utf8(&mut [0; 4]));
                }
            }
        }
        (until == Until::End).then_some(())
    }

    pub(super) fn backtick(&mut self, word: &mut Word, quoted: bool) -> Option<()> {
        self.at = after_backtick(self.text, self.at + 1)?;
        word.push(Piece::Hidden { by: "a command's output", quoted, one: false });
        Some(())
    }

    pub(super) fn dollar(&mut self, word: &mut Word, quoted: bool) -> Option<()> {
        let rest = &self.rest()[1..];
        let next = rest.chars().next();
        match next {
            Some('(') => {
                let arithmetic = rest.starts_with("((");
                let end = closing(self.text, self.at + 1, Opening::Paren)?;
                let one = arithmetic && self.text[..end].ends_with("))");
                self.at = end;
                word.push(Piece::Hidden { by: "a command's output", quoted, one });
            }
            Some('{') => {
                let opening = if quoted { Opening::QuotedBrace } else { Opening::Brace };
                let end = closing(self.text, self.at + 1, opening)?;
                let inside = self.text[self.at + 2..end - 1].to_owned();
                self.at = end;
                word.push(if is_parameter(&inside) {
                    Piece::Name { name: inside, quoted }
                } else {
                    Piece::Braced { inside, quoted }
                });
            }
            Some('\'') if !quoted => {
                let inside = rest[1..].split('\'').next()?;
                self.at += inside.len() + 3;
                push_quoted(word, inside);
                // Escapes are rare there, and a quote may be one of them.
                return (self.bash && !inside.contains('\\')).then_some(());
            }
            Some('"') if !quoted => {
                self.at += 2;
                self.double(word)?;
                return self.bash.then_some(());
            }
            _ => {
                let length = name_length(rest);
                if length == 0 {
                    self.at += 1;
                    if quoted { push_quoted(word, "$") } else { push_text(word, '$') }
                } else {
                    self.at += 1 + length;
                    word.push(Piece::Name { name: rest[..length].to_owned(), quoted });
                }
            }
        }
        Some(())
    }
}
