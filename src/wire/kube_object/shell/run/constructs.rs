//! Opens and closes constructs: branches, loops, groups and lists of commands.

use super::{DEPTH_LIMIT, Frame, Kind, List, Reach, Runner, keyword};
use crate::wire::kube_object::shell::lex::{Op, Piece, Token, is_name};

impl Runner<'_> {
    pub(super) fn push_loop(&mut self, all: &[Token], at: usize) -> Option<()> {
        self.push(Kind::Loop, None)?;
        // Whatever the body sets may be set when it begins again.
        let mut depth = 1_usize;
        for token in all.get(at..)? {
            match token {
                Token::Word(word) => {
                    match keyword(word) {
                        "while" | "until" | "for" | "select" => depth += 1,
                        "done" => depth -= 1,
                        "set" | "shift" | "cd" | "eval" | "source" | "." | "read" | "unset"
                        | "export" | "declare" | "typeset" | "local" | "readonly" | "getopts"
                        | "mapfile" | "readarray" | "printf" | "let" | "pushd" | "popd" => {
                            self.lose_all("a loop");
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                    for piece in word {
                        match piece {
                            Piece::Text(text) => {
                                let name = text.split('=').next().unwrap_or_default();
                                let name = name.trim_end_matches('+');
                                if text.contains('=') && is_name(name) {
                                    self.hide(name, "a loop");
                                }
                            }
                            Piece::Braced { inside, .. } if inside.contains('=') => {
                                self.lose_all("a loop");
                            }
                            _ => {}
                        }
                    }
                }
                Token::Array { name, .. } => self.hide(name, "a loop"),
                Token::Arithmetic => self.lose_all("a loop"),
                Token::Redirect(_) | Token::Here(_) | Token::Op(_) => {}
            }
        }
        Some(())
    }

    pub(super) fn push(&mut self, kind: Kind, word: Option<String>) -> Option<()> {
        if self.stack.len() >= DEPTH_LIMIT {
            return None;
        }
        self.stack.push(Frame {
            kind,
            entry: self.now(),
            outer: self.reach,
            list: std::mem::take(&mut self.list),
            dead: false,
            live: false,
            exhaustive: false,
            word,
            arm: false,
            lost: None,
        });
        self.vars.enter();
        let entry = self.stack.last().map_or(Reach::Sure, |top| top.entry);
        let unsure = matches!(kind, Kind::Loop | Kind::Function);
        self.reach = if unsure { entry.min(Reach::Maybe) } else { entry };
        if !matches!(kind, Kind::If | Kind::Case)
            && let Some(top) = self.stack.last_mut()
        {
            top.arm = true;
        }
        Some(())
    }

    /// Begins an arm that runs when `status` is true.
    pub(super) fn arm(&mut self, status: Option<bool>) {
        self.end_list();
        // What the condition set holds for the arms that follow, and behind them.
        if self.vars.settle() && self.stack.last().is_some_and(|top| top.live) {
            self.lose_all("a condition");
        }
        let Some(top) = self.stack.last_mut() else { return };
        top.arm = true;
        top.dead = false;
        self.reach = match status {
            _ if top.exhaustive => Reach::Never,
            Some(true) => {
                top.exhaustive = true;
                // The arms before may have run instead.
                if top.live { top.entry.min(Reach::Maybe) } else { top.entry }
            }
            Some(false) => Reach::Never,
            None => top.entry.min(Reach::Maybe),
        };
    }

    pub(super) fn end_arm(&mut self) {
        self.end_list();
        let Some(top) = self.stack.last_mut() else { return };
        if top.arm {
            let ran = self.reach != Reach::Never && !top.dead;
            top.live |= ran;
            top.arm = false;
            top.dead = false;
            self.vars.end_branch(ran);
        }
        let open = !top.exhaustive;
        self.reach = if open { top.entry } else { Reach::Never };
    }

    /// Ends a construct.
    pub(super) fn pop(&mut self, all: &[Token], at: usize) {
        self.end_list();
        let piped = self.stack.last().is_some_and(|top| top.list.piped) || is_apart(all, at);
        let Some(top) = self.stack.last() else { return };
        let (kind, dead, entry) = (top.kind, top.dead, top.entry);
        let mut ended = false;
        match kind {
            Kind::Group if !piped => {
                self.vars.commit();
                ended = dead;
            }
            Kind::Group | Kind::Subshell | Kind::Function => {
                self.vars.end_branch(false);
                self.vars.leave(true);
            }
            Kind::Loop => {
                self.vars.end_branch(!piped && !dead);
                self.vars.leave(false);
            }
            Kind::If | Kind::Case => {
                self.end_arm();
                if piped {
                    self.vars.enter();
                }
                let top = self.stack.last();
                let exhaustive = top.is_some_and(|top| top.exhaustive);
                ended = exhaustive && top.is_some_and(|top| !top.live) && entry == Reach::Sure;
                self.vars.leave(exhaustive);
                if piped {
                    self.vars.end_branch(false);
                    self.vars.leave(true);
                    ended = false;
                }
            }
        }
        if let Some(frame) = self.stack.pop() {
            self.list = frame.list;
            self.reach = frame.outer;
            if kind == Kind::Function {
                self.vars.dawn(frame.lost);
            }
        }
        if entry != Reach::Never {
            self.done(None);
        }
        if ended {
            self.die();
        }
    }

    /// Reads the patterns of the next arm of a `case`.
    pub(super) fn pattern(&mut self, all: &[Token], at: &mut usize) -> Option<()> {
        while matches!(all.get(*at), Some(Token::Op(Op::End | Op::Open))) {
            *at += 1;
        }
        let (mut matches, mut known, mut all_match) = (false, true, false);
        loop {
            match all.get(*at)? {
                Token::Word(word) if keyword(word) == "esac" => {
                    *at += 1;
                    self.pop(all, *at);
                    return Some(());
                }
                Token::Word(pattern) => {
                    let glob = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains(['*', '?', '[']));
                    if keyword(pattern) == "*" {
                        all_match = true;
                    } else if pattern.iter().any(glob) {
                        known = false;
                    } else {
                        let text = self.text(pattern);
                        known &= text.hidden.is_none();
                        let word = self.stack.last()?.word.as_deref();
                        matches |= word == Some(&text.start) && text.hidden.is_none();
                    }
                }
                Token::Op(Op::Pipe) => {}
                Token::Op(Op::Close) => break,
                _ => return None,
            }
            *at += 1;
        }
        *at += 1;
        let has_word = self.stack.last()?.word.is_some();
        let status = match (has_word, known) {
            _ if all_match => Some(true),
            (true, true) => Some(matches),
            _ => None,
        };
        self.arm(status);
        Some(())
    }

    /// Returns whether the next command runs.
    pub(super) fn now(&self) -> Reach {
        let dead = self.over || self.list.dead || self.stack.iter().any(|frame| frame.dead);
        match self.list.branch {
            _ if dead || self.list.skip => Reach::Never,
            Some(_) => self.reach.min(Reach::Maybe),
            None => self.reach,
        }
    }

    /// Opens a branch for commands that run only after what is not known to succeed or to fail.
    pub(super) fn branch(&mut self, op: Op) {
        if self.list.branch.is_none() && self.now() != Reach::Never {
            self.vars.enter();
            self.list.branch = Some(op);
            self.list.dead = false;
        }
    }

    pub(super) fn end_branch(&mut self) {
        if self.list.branch.take().is_some() {
            self.vars.end_branch(!self.list.dead);
            self.vars.leave(false);
            self.list.dead = false;
        }
    }

    pub(super) fn end_list(&mut self) {
        self.end_branch();
        self.last = self.list.status;
        self.list = List::default();
    }

    /// Nothing behind runs in this branch.
    pub(in crate::wire::kube_object::shell) fn die(&mut self) {
        if self.list.branch.is_some() {
            self.list.dead = true;
        } else if let Some(top) = self.stack.last_mut() {
            top.dead = true;
        } else {
            self.over = true;
        }
    }

    /// Notes how a command ended.
    pub(super) fn done(&mut self, status: Option<bool>) {
        let negated = std::mem::take(&mut self.list.negated);
        self.list.status = status.map(|status| status != negated);
    }
}

/// Returns true when what ends at `at` is piped, or runs in the background.
pub(super) fn is_apart(all: &[Token], mut at: usize) -> bool {
    loop {
        match all.get(at) {
            Some(Token::Redirect(_) | Token::Word(_) | Token::Here(_)) => at += 1,
            Some(Token::Op(op)) => return matches!(op, Op::Pipe | Op::Background),
            _ => return false,
        }
    }
}
