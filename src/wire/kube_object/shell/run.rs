//! Follows a script: lists, pipes, branches, loops, groups.

mod constructs;
mod keywords;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::builtin::Effect;
use super::expand::{Expander, Text, budget};
use super::lex::{Op, Piece, Redirect, Token, Word, tokens};
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
