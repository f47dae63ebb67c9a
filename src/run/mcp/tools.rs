//! Calls of tools: their arguments, and answers made by the code behind the commands of the same names.

use std::path::PathBuf;

use clap::ValueEnum as _;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::super::{check, diff, headless, lint};
use super::files::Files;
use super::table::Known;
use crate::cli::{Offset, PlanQuestion, SourceArgs, offset};
use crate::domain::{TreeNode, TreeSort, WorkerId};
use crate::plan;
use crate::report;
use crate::snapshot::{Answer as Found, Ask, Snapshot, TreeQuery, ViewQuery};

/// Most rows of the tree and most decisions of an answer.
const MOST: u64 = 200;
/// Rows and decisions, unless another number is asked for.
const USUAL: u64 = 40;
/// Levels of the tree below each row that is shown.
const LEVELS: u16 = 3;

/// The answer of a tool.
pub(super) enum Answer {
    Json(Value),
    Text(String),
}

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Check,
    Snapshot,
    Curve,
    Decisions,
    Tree,
    Plan,
    Diff,
    Explain,
    Lint,
}

/// A call with its arguments read.
pub(super) struct Call {
    kind: Kind,
    file: Option<String>,
    at: Option<Offset>,
    other: Option<String>,
    other_at: Option<Offset>,
    files: Vec<String>,
    finding: Option<String>,
    parts: Vec<String>,
    worker: Option<WorkerId>,
    find: Option<String>,
    limit: u64,
    pub(super) questions: Vec<PlanQuestion>,
    pub(super) drain: Option<String>,
    pub(super) users: Option<usize>,
}

impl Known {
    /// Reads the arguments of a call.
    pub(super) fn read(&self, arguments: JsonObject) -> Result<Call, String> {
        let (kind, _, _, known, needed) = *self.0;
        let mut call = Call {
            kind,
            file: None,
            at: None,
            other: None,
            other_at: None,
            files: Vec::new(),
            finding: None,
            parts: Vec::new(),
            worker: None,
            find: None,
            limit: USUAL,
            questions: Vec::new(),
            drain: None,
            users: None,
        };
        if let Some(missing) = needed.iter().find(|name| !arguments.contains_key(**name)) {
            return Err(format!("the argument `{missing}` is missing"));
        }
        for (name, value) in arguments {
            if !known.iter().any(|(known, _, _)| *known == name) {
                let names: Vec<_> = known.iter().map(|(name, _, _)| *name).collect();
                return Err(format!("unknown argument; known arguments: {}", names.join(", ")));
            }
            call.set(&name, &value)?;
        }
        if call.at.is_some() && call.file.is_none() {
            return Err("`at` is a moment of a recording: pass `file` as well".to_owned());
        }
        Ok(call)
    }
}

impl Call {
    fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let text = |value: &Value| {
            value.as_str().map(str::to_owned).ok_or_else(|| format!("`{name}` is not a text"))
        };
        let list = |value: &Value| -> Result<Vec<String>, String> {
            let all = value.as_array().ok_or_else(|| format!("`{name}` is not a list"))?;
            all.iter().map(text).collect()
        };
        let moment = |value: &Value| offset(&text(value)?);
        match name {
            _ if value.is_null() => {}
            "file" | "a" => self.file = Some(text(value)?),
            "b" => self.other = Some(text(value)?),
            "at" | "at_a" => self.at = Some(moment(value)?),
            "at_b" => self.other_at = Some(moment(value)?),
            "files" => self.files = list(value)?,
            "parts" => self.parts = list(value)?,
            "questions" => {
                let named = |name: &String| {
                    PlanQuestion::from_str(name, false).map_err(|_| {
                        format!("no question is called `{name}`; the tool's description lists them")
                    })
                };
                self.questions = list(value)?.iter().map(named).collect::<Result<_, _>>()?;
            }
            "drain" => self.drain = Some(text(value)?),
            "users" => {
                let users = value.as_u64().and_then(|users| usize::try_from(users).ok());
                let users = users.filter(|users| (1..=plan::USERS).contains(users));
                let why = || format!("`users` is not 1 to {}", plan::USERS);
                self.users = Some(users.ok_or_else(why)?);
            }
            "finding" => self.finding = Some(text(value)?),
            "find" => self.find = Some(text(value)?),
            "worker" => {
                let id = text(value)?.parse().map_err(|_| "`worker` is not an id".to_owned())?;
                self.worker = Some(WorkerId(id));
            }
            _ => {
                let limit = value.as_u64().filter(|limit| (1..=MOST).contains(limit));
                self.limit = limit.ok_or_else(|| format!("`{name}` is not 1 to {MOST}"))?;
            }
        }
        Ok(())
    }

    /// Returns what to ask the live deployment; none for a call that reads files or nothing.
    pub(super) fn live(&self) -> Option<ViewQuery> {
        let reads = matches!(self.kind, Kind::Diff | Kind::Explain | Kind::Lint);
        (!reads && self.file.is_none()).then(|| self.query())
    }

    fn query(&self) -> ViewQuery {
        let rows = usize::try_from(self.limit).unwrap_or_default();
        let decisions = match self.kind {
            Kind::Decisions => rows,
            Kind::Plan => plan::DECISIONS,
            _ => 0,
        };
        let ask = match self.kind {
            Kind::Tree => Ask::Tree(Box::new(TreeQuery {
                open: [(TreeNode::Root, rows)].into(),
                spread: [(TreeNode::Root, LEVELS)].into(),
                around: rows,
                sort: TreeSort::Heat,
                worker: self.worker,
                find: self.find.clone().map(|text| (text, 0)),
                ..TreeQuery::default()
            })),
            _ => Ask::Nothing,
        };
        ViewQuery { points: 1, events: 0, decisions, ask, ..ViewQuery::default() }
    }

    /// Answers from a picture.
    pub(super) fn of_snapshot(&self, snapshot: &Snapshot) -> Answer {
        // The JSON was written by this process, so it can be read.
        let value = |json: &str| serde_json::from_str(json).unwrap_or(Value::Null);
        Answer::Json(match self.kind {
            Kind::Check => value(&report::check::json(snapshot)),
            Kind::Decisions => value(&report::json::decisions(snapshot)),
            Kind::Tree => match &snapshot.answer {
                Found::Tree(page) => {
                    let rows = usize::try_from(self.limit).unwrap_or_default();
                    value(&report::json::tree(page, snapshot, rows))
                }
                _ => Value::Null,
            },
            Kind::Curve => value(&report::json::curve(snapshot)),
            _ => {
                let mut whole: Value = value(&report::json::snapshot(snapshot));
                if let Some(fields) = whole.as_object_mut().filter(|_| !self.parts.is_empty()) {
                    fields.retain(|name, _| self.parts.contains(name));
                }
                whole
            }
        })
    }

    /// Answers from files, or from what kvtop knows by itself.
    pub(super) fn of_files(&self, files: &Files, source: &SourceArgs) -> Result<Answer, String> {
        let permitted =
            |path: &Option<String>| files.permitted(path.as_deref().unwrap_or_default());
        match self.kind {
            Kind::Explain => {
                let Some(id) = &self.finding else {
                    return Ok(Answer::Text(check::list()));
                };
                let known =
                    || "unknown finding; call explain without arguments for a list".to_owned();
                Ok(Answer::Text(check::explanation(id).ok_or_else(known)?))
            }
            Kind::Lint => {
                let paths: Result<Vec<PathBuf>, String> =
                    self.files.iter().map(|path| files.permitted(path)).collect();
                let json = report::lint::json(&lint::judged(&paths?));
                Ok(Answer::Json(serde_json::from_str(&json).unwrap_or(Value::Null)))
            }
            Kind::Diff => {
                let (a, b) = (permitted(&self.file)?, permitted(&self.other)?);
                let compared = diff::compared((&a, self.at), (&b, self.other_at), source);
                let diff = compared.map_err(|error| error.said())?;
                Ok(Answer::Json(serde_json::from_str(&diff.json()).unwrap_or(Value::Null)))
            }
            _ => Ok(self.of_snapshot(&self.recorded(files, source)?)),
        }
    }

    /// Returns the picture of the recording that the call is about.
    pub(super) fn recorded(&self, files: &Files, source: &SourceArgs) -> Result<Snapshot, String> {
        let path = files.permitted(self.file.as_deref().unwrap_or_default())?;
        let snapshot = headless::moment(&path, self.at, &self.query(), source);
        snapshot.map_err(|error| error.said())
    }

    /// Returns true for a call that takes simulations.
    pub(super) fn simulates(&self) -> bool {
        self.kind == Kind::Plan
    }
}
