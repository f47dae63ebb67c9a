//! Follows a script: lists, pipes, branches, loops, groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::builtin::Effect;
use super::expand::{Expander, Text, budget};
use super::lex::{Op, Piece, Redirect, Token, Word, is_name, tokens};
use super::vars::{DIRECTORY, Known, PARAMETERS, Value, Vars};
use super::{Arg, Outer, SCRIPT_LIMIT, Script, Started, Variable};

/// Deepest nesting of branches, loops and groups that is followed.
const DEPTH_LIMIT: usize = 48;

/// Most processes of one script.
const STARTED_LIMIT: usize = 32;

/// The certainty that a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    Never,
    Maybe,
    Sure,
}

/// A construct that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Group,
    Subshell,
    Function,
    Loop,
    If,
    Case,
}

/// The progress through a list of commands.
#[expect(clippy::struct_excessive_bools, reason = "independent marks, none of them a state")]
#[derive(Clone, Copy, Debug, Default)]
struct List {
    /// Its success.
    status: Option<bool>,
    /// A branch is open because of an operator whose left side is not known.
    branch: Option<Op>,
    /// The branch does not go on.
    dead: bool,
    /// The next command is known not to run.
    skip: bool,
    /// `!` stands before it.
    negated: bool,
    /// The command before was piped into the next one.
    piped: bool,
    /// It has more than one command.
    long: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "independent marks, none of them a state")]
struct Frame {
    kind: Kind,
    /// The path to it.
    entry: Reach,
    /// The reach around it.
    outer: Reach,
    list: List,
    /// The current arm ended early.
    dead: bool,
    /// Some arm goes on behind the construct.
    live: bool,
    /// One arm runs for sure.
    exhaustive: bool,
    /// Of a `case`: the word, while an arm may still be the one.
    word: Option<String>,
    /// A branch of the variables is open.
    arm: bool,
    lost: Option<(u64, Arc<str>)>,
}

pub(super) struct Runner<'a> {
    pub(super) vars: Vars,
    pub(super) bash: bool,
    name: Arg,
    left: usize,
    stack: Vec<Frame>,
    list: List,
    reach: Reach,
    /// The script ended.
    over: bool,
    /// The status of the last list.
    last: Option<bool>,
    pub(super) started: Vec<Started>,
    pub(super) wanted: &'a dyn Fn(&[Arg]) -> bool,
    /// Number of scripts around this one.
    pub(super) depth: usize,
}

/// Returns the processes of `script` that are `wanted`, and false when not all of it was understood.
pub(in crate::wire::kube_object) fn run(
    script: Script,
    outer: &Outer,
    wanted: &dyn Fn(&[Arg]) -> bool,
) -> (Vec<Started>, bool) {
    run_within(script, outer, wanted, 0)
}

/// Like [`run`], for a script that another one runs.
pub(super) fn run_within(
    script: Script,
    outer: &Outer,
    wanted: &dyn Fn(&[Arg]) -> bool,
    depth: usize,
) -> (Vec<Started>, bool) {
    let mut end = script.text.len().min(SCRIPT_LIMIT);
    while !script.text.is_char_boundary(end) {
        end -= 1;
    }
    let read = tokens(&script.text[..end], script.bash);
    let mut runner = Runner {
        vars: vars_of(outer),
        bash: script.bash,
        name: script.name,
        left: budget(),
        stack: Vec::new(),
        list: List::default(),
        reach: Reach::Sure,
        over: false,
        last: None,
        started: Vec::new(),
        wanted,
        depth,
    };
    runner.vars.set(PARAMETERS, Value::List(script.parameters.into()), false);
    let complete = runner.follow(&read.all).is_some();
    (runner.started, complete && read.complete && end == script.text.len())
}

fn vars_of(outer: &Outer) -> Vars {
    let mut vars = Vars::default();
    if let Some(by) = &outer.any {
        vars.lose(by);
    }
    for (name, variable) in &outer.variables {
        let value = match variable {
            Variable::Text(text) => Value::Text(Arc::clone(text)),
            Variable::Hidden { by, one } => Value::Hidden { by: Arc::clone(by), one: *one },
            Variable::Unset => Value::Unset,
        };
        vars.set(name, value, true);
    }
    if let Some(directory) = &outer.directory {
        vars.set(DIRECTORY, Value::Text(directory.as_str().into()), false);
    }
    for (path, text) in &outer.files {
        let value = match text {
            Some(text) => Value::Text(Arc::clone(text)),
            None => Value::Hidden { by: path.as_str().into(), one: false },
        };
        vars.set(&format!("file:{path}"), value, false);
    }
    vars
}

/// A command while its tokens are gathered.
#[derive(Default)]
pub(super) struct Simple<'t> {
    pub(super) words: Vec<&'t Word>,
    pub(super) arrays: Vec<(&'t str, bool, &'t [Word])>,
    pub(super) outs: Vec<(bool, &'t Word)>,
    pub(super) here: Option<&'t Word>,
    arithmetic: bool,
}

impl Simple<'_> {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.arrays.is_empty() && !self.arithmetic
    }
}

/// Returns the word when it is one of plain letters, as keywords are.
fn keyword(word: &Word) -> &str {
    match word.as_slice() {
        [Piece::Text(text)] => text,
        _ => "",
    }
}

impl Runner<'_> {
    pub(super) fn expander(&mut self) -> Expander<'_> {
        Expander { vars: &mut self.vars, bash: self.bash, name: &self.name, left: &mut self.left }
    }

    pub(super) fn words(&mut self, words: &[&Word]) -> Vec<Arg> {
        let mut out = Vec::new();
        for word in words {
            self.expander().words(word, &mut out);
        }
        out
    }

    pub(super) fn text(&mut self, word: &[Piece]) -> Text {
        self.expander().text(word)
    }

    /// Follows all tokens. None when something is not understood.
    fn follow(&mut self, all: &[Token]) -> Option<()> {
        let mut at = 0;
        let mut simple = Simple::default();
        while let Some(token) = all.get(at) {
            at += 1;
            match token {
                Token::Word(word) if simple.is_empty() => {
                    if !self.keyword(word, all, &mut at)? {
                        simple.words.push(word);
                    }
                }
                Token::Word(word) => simple.words.push(word),
                Token::Array { name, append, words } => simple.arrays.push((name, *append, words)),
                Token::Redirect(kind) => {
                    let Some(Token::Word(target)) = all.get(at) else { return None };
                    at += 1;
                    if let Redirect::Out { append } = kind {
                        simple.outs.push((*append, target));
                    }
                }
                Token::Here(text) => simple.here = Some(text),
                Token::Arithmetic => simple.arithmetic = true,
                Token::Op(Op::Open) => {
                    let is_function = simple.words.len() == 1 && simple.arrays.is_empty();
                    if is_function && matches!(all.get(at), Some(Token::Op(Op::Close))) {
                        at += 1;
                        let name = keyword(simple.words.first()?).to_owned();
                        simple = Simple::default();
                        self.function(&name, all, &mut at)?;
                    } else if simple.is_empty() {
                        self.push(Kind::Subshell, None)?;
                    } else {
                        return None;
                    }
                }
                Token::Op(op) => {
                    let done = std::mem::take(&mut simple);
                    self.command(&done, *op);
                    self.operator(*op, all, &mut at)?;
                }
            }
        }
        self.command(&simple, Op::End);
        self.stack.is_empty().then_some(())
    }

    /// Handles the first word of a command when it is one of the shell's own. Returns false when it is not.
    #[expect(clippy::too_many_lines, reason = "one arm for each keyword")]
    fn keyword(&mut self, word: &Word, all: &[Token], at: &mut usize) -> Option<bool> {
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
                self.done(words.and_then(|words| super::builtin::test(&words)));
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
    fn function(&mut self, name: &str, all: &[Token], at: &mut usize) -> Option<()> {
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

    fn push_loop(&mut self, all: &[Token], at: usize) -> Option<()> {
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

    pub(super) fn hide(&mut self, name: &str, by: &str) {
        let by = format!("${name}, which {by} sets").into();
        self.vars.set(name, Value::Hidden { by, one: false }, false);
    }

    /// Everything may have changed, the parameters too.
    pub(super) fn lose_all(&mut self, by: &str) {
        self.lose(by);
        let by = by.into();
        self.vars.set(PARAMETERS, Value::List(vec![Arg::Hidden { by }].into()), false);
    }

    /// Everything but the parameters may have changed.
    pub(super) fn lose(&mut self, by: &str) {
        let by: Arc<str> = by.into();
        self.vars.lose(&by);
        self.vars.set(DIRECTORY, Value::Hidden { by: by.clone(), one: true }, false);
        let files: Vec<String> =
            self.vars.beginning("file:").map(|(path, _)| format!("file:{path}")).collect();
        for file in files {
            self.vars.set(&file, Value::Hidden { by: Arc::clone(&by), one: false }, false);
        }
    }

    fn push(&mut self, kind: Kind, word: Option<String>) -> Option<()> {
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
    fn arm(&mut self, status: Option<bool>) {
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

    fn end_arm(&mut self) {
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
    fn pop(&mut self, all: &[Token], at: usize) {
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
    fn pattern(&mut self, all: &[Token], at: &mut usize) -> Option<()> {
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

    /// Handles what ends a command.
    fn operator(&mut self, op: Op, all: &[Token], at: &mut usize) -> Option<()> {
        let piped = op == Op::Pipe;
        match op {
            Op::End => self.end_list(),
            Op::Background => {
                if self.list.long {
                    self.lose_all("a list in the background");
                }
                self.end_list();
            }
            Op::And => {
                if self.list.branch == Some(Op::Or) {
                    let status = self.list.status.filter(|status| *status);
                    self.end_branch();
                    self.list.status = status;
                }
                self.list.skip = self.list.status == Some(false);
                if self.list.status.is_none() {
                    self.branch(Op::And);
                }
            }
            Op::Or => {
                if self.list.branch.is_some() {
                    let status = self.list.status.filter(|status| !*status);
                    self.end_branch();
                    self.list.status = status;
                }
                self.list.skip = self.list.status == Some(true);
                if self.list.status.is_none() {
                    self.branch(Op::Or);
                }
            }
            Op::Pipe => {}
            Op::Close => {
                if self.stack.last()?.kind != Kind::Subshell {
                    return None;
                }
                self.pop(all, *at);
            }
            Op::EndArm(falls) => {
                if self.stack.last()?.kind != Kind::Case {
                    return None;
                }
                self.end_arm();
                if falls {
                    self.stack.last_mut()?.word = None;
                    self.stack.last_mut()?.exhaustive = false;
                    self.lose_all("an arm that falls through");
                }
                self.pattern(all, at)?;
            }
            Op::Open => return None,
        }
        self.list.piped = piped;
        self.list.long |= matches!(op, Op::And | Op::Or | Op::Pipe);
        Some(())
    }

    /// Returns whether the next command runs.
    fn now(&self) -> Reach {
        let dead = self.over || self.list.dead || self.stack.iter().any(|frame| frame.dead);
        match self.list.branch {
            _ if dead || self.list.skip => Reach::Never,
            Some(_) => self.reach.min(Reach::Maybe),
            None => self.reach,
        }
    }

    /// Opens a branch for commands that run only after what is not known to succeed or to fail.
    fn branch(&mut self, op: Op) {
        if self.list.branch.is_none() && self.now() != Reach::Never {
            self.vars.enter();
            self.list.branch = Some(op);
            self.list.dead = false;
        }
    }

    fn end_branch(&mut self) {
        if self.list.branch.take().is_some() {
            self.vars.end_branch(!self.list.dead);
            self.vars.leave(false);
            self.list.dead = false;
        }
    }

    fn end_list(&mut self) {
        self.end_branch();
        self.last = self.list.status;
        self.list = List::default();
    }

    /// Nothing behind runs in this branch.
    pub(super) fn die(&mut self) {
        if self.list.branch.is_some() {
            self.list.dead = true;
        } else if let Some(top) = self.stack.last_mut() {
            top.dead = true;
        } else {
            self.over = true;
        }
    }

    /// Notes how a command ended.
    fn done(&mut self, status: Option<bool>) {
        let negated = std::mem::take(&mut self.list.negated);
        self.list.status = status.map(|status| status != negated);
    }

    /// Runs a simple command that `op` ends.
    fn command(&mut self, simple: &Simple<'_>, op: Op) {
        if simple.is_empty() && simple.outs.is_empty() {
            return;
        }
        if simple.is_empty() {
            // What stands behind a construct, or makes an empty file.
            for (_, target) in &simple.outs {
                self.write(target, None);
            }
            return;
        }
        if self.now() == Reach::Never {
            return;
        }
        if simple.arithmetic {
            self.lose_all("arithmetic");
            return self.done(None);
        }
        let apart = self.list.piped || op == Op::Pipe || op == Op::Background;
        if apart {
            self.vars.enter();
        }
        let effect = self.execute(simple);
        if apart {
            self.vars.end_branch(false);
            self.vars.leave(true);
        }
        match effect {
            Effect::Status(status) => self.done(status.filter(|_| !apart)),
            Effect::Ends if apart => self.done(None),
            Effect::Ends => {
                self.done(None);
                self.die();
            }
        }
    }

    pub(super) fn is_wanted(&self, words: &[Arg]) -> bool {
        (self.wanted)(words)
    }

    /// Notes a process that is wanted.
    pub(super) fn start(&mut self, words: Vec<Arg>, own: &[(String, Variable)], clean: bool) {
        if self.started.len() >= STARTED_LIMIT {
            return;
        }
        let mut outer = self.outer();
        if clean {
            outer.variables.clear();
            outer.any = None;
        }
        outer.variables.extend(own.iter().cloned());
        let directory = outer.directory.clone();
        self.started.push(Started {
            words,
            variables: outer.variables,
            any_variable: outer.any,
            directory,
            files: outer.files,
        });
    }

    /// Returns what a process begins with.
    pub(super) fn outer(&self) -> Outer {
        let variable = |value: &Value| match value {
            Value::Text(text) => Variable::Text(Arc::clone(text)),
            Value::Unset | Value::List(_) => Variable::Unset,
            Value::Hidden { by, one } => Variable::Hidden { by: Arc::clone(by), one: *one },
        };
        let files = self.vars.beginning("file:").map(|(path, value)| {
            let text = match value {
                Value::Text(text) => Some(Arc::clone(text)),
                _ => None,
            };
            (path.to_owned(), text)
        });
        let variables: BTreeMap<String, Variable> = self
            .vars
            .exported()
            .map(|(name, value)| {
                let unsure = || Variable::Hidden { by: format!("${name}").into(), one: false };
                (name.clone(), value.map_or_else(unsure, variable))
            })
            .collect();
        let directory = match self.vars.get(DIRECTORY) {
            Known::Value(Value::Text(text)) => Some(text.to_string()),
            _ => None,
        };
        Outer { variables, any: self.vars.lost().cloned(), directory, files: files.collect() }
    }
}

/// Returns true when what ends at `at` is piped, or runs in the background.
fn is_apart(all: &[Token], mut at: usize) -> bool {
    loop {
        match all.get(at) {
            Some(Token::Redirect(_) | Token::Word(_) | Token::Here(_)) => at += 1,
            Some(Token::Op(op)) => return matches!(op, Op::Pipe | Op::Background),
            _ => return false,
        }
    }
}
