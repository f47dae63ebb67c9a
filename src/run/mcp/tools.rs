//! The tools: names, arguments, and answers made by the code behind the commands of the same names.

use std::path::PathBuf;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::super::{check, diff, headless, lint};
use super::files::Files;
use crate::cli::{Offset, SourceArgs, offset};
use crate::domain::{TreeNode, TreeSort, WorkerId};
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
}

/// An argument: name, JSON type and meaning.
type Argument = (&'static str, &'static str, &'static str);

const FILE: Argument =
    ("file", "string", "A recording to read instead of the live deployment, by its path");
const AT: Argument = (
    "at",
    "string",
    "Moment of the recording: after its beginning (30s) or before its end (-3m); its end by default",
);
const LIMIT: Argument = ("limit", "integer", "Most entries, up to 200; 40 by default");

/// A row of the table: name, description, arguments, and those that are needed.
type Spec = (Kind, &'static str, &'static str, &'static [Argument], &'static [&'static str]);

/// The tools.
const TOOLS: &[Spec] = &[
    (
        Kind::Check,
        "check",
        "Status of the deployment (OK, WARNING, CRITICAL or UNKNOWN), findings with evidence and fix, and the verdict \
         of every check. The JSON of `kvtop check -o json`.",
        &[FILE, AT],
        &[],
    ),
    (
        Kind::Snapshot,
        "snapshot",
        "Figures, settings, sources, findings and workers. The JSON of `kvtop snapshot -o json`; choose `parts` to keep \
         it short.",
        &[
            FILE,
            AT,
            (
                "parts",
                "array",
                "Top-level fields to return, such as workers, router, tree, claims, sources, hits, pods; all by default",
            ),
        ],
        &[],
    ),
    (
        Kind::Curve,
        "curve",
        "The capacity curve: the share of stored blocks that a KV cache of 1.25 to 3 times the size would have avoided, \
         with margins. Null while too little is known.",
        &[FILE, AT],
        &[],
    ),
    (
        Kind::Decisions,
        "decisions",
        "The last routing decisions that routers logged: the worker chosen, cached blocks, cost, and every worker's \
         terms where the log has them.",
        &[FILE, AT, LIMIT],
        &[],
    ),
    (
        Kind::Tree,
        "tree",
        "The prefix tree of cached blocks, hottest prefixes first: blocks, ranks that hold them, stores and requests \
         per minute. `find` looks for a block by a part of its hash.",
        &[
            FILE,
            AT,
            LIMIT,
            ("worker", "string", "Id of a worker whose blocks alone are shown"),
            ("find", "string", "Part of a block hash in hexadecimal"),
        ],
        &[],
    ),
    (
        Kind::Diff,
        "diff",
        "What differs between two recordings or snapshot files: findings, settings, figures, workers. The JSON of \
         `kvtop diff -o json`.",
        &[
            ("a", "string", "Path of a recording or of a file of kvtop snapshot -o json"),
            ("b", "string", "The other one, likewise"),
            ("at_a", "string", "Moment of recording a, such as 30s or -3m"),
            ("at_b", "string", "Moment of recording b"),
        ],
        &["a", "b"],
    ),
    (
        Kind::Explain,
        "explain",
        "What a finding means, how it is detected and how it is fixed. Without an id: the list of findings.",
        &[("finding", "string", "Id or name, such as KVT001 or block-size-mismatch")],
        &[],
    ),
    (
        Kind::Lint,
        "lint",
        "Faults in manifests and engine configurations before they are deployed. The JSON of `kvtop lint -o json`.",
        &[(
            "files",
            "array",
            "Paths of manifests or directories; directories are read recursively",
        )],
        &["files"],
    ),
];

/// A known tool.
pub(super) struct Known(&'static Spec);

/// Returns the tools, as a client lists them.
pub(super) fn all() -> Vec<Tool> {
    let tool = |(_, name, about, arguments, needed): &Spec| {
        let mut fields = JsonObject::new();
        for (name, kind, about) in *arguments {
            let mut field = json!({ "type": kind, "description": about });
            if *kind == "array" {
                field["items"] = json!({ "type": "string" });
            }
            fields.insert((*name).to_owned(), field);
        }
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), fields.into());
        schema.insert("required".to_owned(), json!(needed));
        schema.insert("additionalProperties".to_owned(), false.into());
        let hints = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
        Tool::new(*name, *about, schema).with_annotations(hints)
    };
    TOOLS.iter().map(tool).collect()
}

pub(super) fn find(name: &str) -> Result<Known, String> {
    let names = || TOOLS.iter().map(|tool| tool.1).collect::<Vec<_>>().join(", ");
    let found = TOOLS.iter().find(|tool| tool.1 == name);
    found.map(Known).ok_or_else(|| format!("unknown tool; known tools: {}", names()))
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
        let decisions = if self.kind == Kind::Decisions { rows } else { 0 };
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
            Kind::Curve => {
                let mut whole: Value = value(&report::json::snapshot(snapshot));
                json!({ "at": whole["at"].take(), "capacity_curve": whole["capacity_curve"].take() })
            }
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
            _ => {
                let path = permitted(&self.file)?;
                let snapshot = headless::moment(&path, self.at, &self.query(), source);
                Ok(self.of_snapshot(&snapshot.map_err(|error| error.said())?))
            }
        }
    }
}
