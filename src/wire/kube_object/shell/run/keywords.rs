//! Reserved words of a shell.

use super::{Kind, Runner, keyword};
use crate::wire::kube_object::shell::lex::{Op, Token, Word};
use crate::wire::kube_object::shell::vars::{PARAMETERS, Value};
use crate::wire::kube_object::shell::{Arg, builtin};

impl Runner<'_> {
    /// Handles the first word of a command when it is one of the shell's own. Returns false when it is not.
    #[expect(clippy::too_many_lines, reason = "one arm for each keyword")]
    pub(super) fn keyword(&mut self, word: &Word, all: &[Token], at: &mut usize) -> Option<bool> {
        let top = self.stack.last().map(|frame| frame.kind);
        match keyword(word) {
            "if" => self.push(Kind::If, None)?,
            "then" if top == Some(Kind::If) => {
                let status = self.last;
                self.arm(status);
            }
            "elif" if top == Some(Kind::If) => self.end_arm(),
            "else" if top == Some(Kind::If) => {
                self.end_arm();
                self.arm(Some(true));
            }
            "fi" if top == Some(Kind::If) => self.pop(all, *at),
            "while" | "until" => {
                self.push_loop(all, *at)?;
            }
            "for" | "select" => {
                let name = match all.get(*at)? {
                    Token::Word(name) => keyword(name).to_owned(),
                    _ => return None,
                };
                let is_do =
                    |token: &Token| matches!(token, Token::Word(word) if keyword(word) == "do");
                *at += all.get(*at..)?.iter().position(is_do)?;
                self.push_loop(all, *at)?;
                let by = format!("${name}, which a loop sets").into();
                self.vars.set(&name, Value::Hidden { by, one: false }, false);
            }
            "do" if top == Some(Kind::Loop) => {}
            "done" if top == Some(Kind::Loop) => self.pop(all, *at),
            "case" => {
                let Some(Token::Word(word)) = all.get(*at) else { return None };
                let text = self.text(word);
                let is_in =
                    |token: &Token| matches!(token, Token::Word(word) if keyword(word) == "in");
                *at += 1 + all.get(*at + 1..)?.iter().position(is_in)? + 1;
                let known = text.hidden.is_none().then_some(text.start);
                self.push(Kind::Case, known)?;
                self.pattern(all, at)?;
            }
            "esac" if top == Some(Kind::Case) => self.pop(all, *at),
            "{" => self.push(Kind::Group, None)?,
            "}" if matches!(top, Some(Kind::Group | Kind::Function)) => self.pop(all, *at),
            "[[" => {
                let is_end =
                    |token: &Token| matches!(token, Token::Word(word) if keyword(word) == "]]");
                let length = all.get(*at..)?.iter().position(is_end)?;
                let inside = all.get(*at..*at + length)?;
                *at += length + 1;
                let words: Option<Vec<Arg>> = inside
                    .iter()
                    .map(|token| match token {
                        Token::Word(word) => {
                            let text = self.text(word);
                            text.hidden.is_none().then_some(Arg::Word(text.start))
                        }
                        _ => None,
                    })
                    .collect();
                // On the right side of a comparison letters may be a pattern.
                let pattern = |arg: &Arg| arg.start().contains(['*', '?', '[', '\\', '(']);
                let words = words.filter(|words| !words.iter().any(pattern));
                self.done(words.and_then(|words| builtin::test(&words)));
            }
            "!" => self.list.negated = !self.list.negated,
            "time" => {}
            "function" => {
                let Some(Token::Word(name)) = all.get(*at) else { return None };
                *at += 1;
                if matches!(all.get(*at), Some(Token::Op(Op::Open))) {
                    *at += 2;
                }
                let name = keyword(name).to_owned();
                self.function(&name, all, at)?;
            }
            "coproc" | "then" | "do" | "done" | "fi" | "esac" | "elif" | "else" | "}" => {
                return None;
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// Begins the body of a function. It sees whatever may have been set before it is called.
    pub(super) fn function(&mut self, name: &str, all: &[Token], at: &mut usize) -> Option<()> {
        while matches!(all.get(*at), Some(Token::Op(Op::End))) {
            *at += 1;
        }
        if !matches!(all.get(*at), Some(Token::Word(word)) if keyword(word) == "{") {
            return None;
        }
        *at += 1;
        self.vars.set(&format!("function:{name}"), Value::Unset, false);
        self.push(Kind::Function, None)?;
        let lost = self.vars.dusk(&format!("the calls of {name}").into());
        self.stack.last_mut()?.lost = lost;
        let by = "the function's parameters".into();
        self.vars.set(PARAMETERS, Value::List(vec![Arg::Hidden { by }].into()), false);
        Some(())
    }
}
