//! Lints manifests and engine configurations before deployment.
//!
//! Uses the decoders and rules of a live deployment, so that both agree; checks that only a manifest allows are
//! in [`CHECKS`]. Pure: text in, findings out.

mod checks;
mod document;
mod edit;
mod judge;
mod manifest;
mod place;
mod plan;
mod prove;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{Grade, Severity};

pub use checks::{CHECKS, ManifestCheck};

/// An input text.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name: a path, or `<stdin>`.
    pub name: Arc<str>,
    /// The text.
    pub text: String,
}

/// A document that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file, by its place among what was given.
    pub file: usize,
    /// The line, from 1.
    pub line: usize,
    /// Why.
    pub why: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The text there, or the text that is missing there.
    pub what: String,
}

/// Corrected YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The file that it belongs in.
    pub file: Arc<str>,
    /// The first and the last line that it takes the place of; nothing is taken away when the last is
    /// before the first.
    pub lines: (usize, usize),
    /// The new lines. What they repeat of the old ones is as it was.
    pub yaml: String,
    /// The correction alone.
    change: edit::Change,
}

/// A fault in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Its id: that of the finding which it becomes once deployed, or one of [`CHECKS`].
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// Its grade: less than a configuration that says it where a part was not given.
    pub grade: Grade,
    /// The deployment.
    pub deployment: String,
    /// The component.
    pub component: String,
    /// The fault in one sentence.
    pub summary: String,
    /// Its effect on requests.
    pub effect: String,
    /// In which versions of Dynamo it means what.
    pub versions: String,
    /// The version that the images name, `0.9` or alike.
    pub dynamo: Option<String>,
    /// The template that Helm rendered it from.
    pub template: Option<String>,
    /// Its places; the first is the one to go to.
    pub spots: Vec<Spot>,
    /// The fix in one sentence.
    pub fix: String,
    /// The same as YAML; several when several parts change.
    pub edits: Vec<Edit>,
}

/// Parts that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unjudged {
    /// The deployment.
    pub deployment: String,
    /// The finding that may or may not be there.
    pub id: &'static str,
    /// The missing information.
    pub missing: String,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// Faults, the gravest first.
    pub flaws: Vec<Flaw>,
    /// Parts that could not be judged.
    pub unjudged: Vec<Unjudged>,
    /// Documents that could not be read, with the names of their files.
    pub unreadable: Vec<(Arc<str>, Unreadable)>,
    /// Documents that were read.
    pub documents: usize,
    /// Deployments that were found.
    pub deployments: usize,
    /// Those of them that are but pieces of one: their files and lines.
    pub fragments: Vec<(Arc<str>, usize)>,
    /// Deployments whose requests are routed by cached blocks.
    routed: BTreeSet<String>,
}

/// Judges `sources`.
pub fn lint(sources: &[Source]) -> Verdicts {
    let starts = prove::starts_of(sources);
    let (mut found, sheets) = search(sources, &starts);
    let text = place::Text { sources, starts: &starts };
    prove::keep_proven(text, &mut found);
    edit::settle(text, &edit::Secrets::new(text, &sheets), &mut found.flaws);
    found
}

/// Looks for faults. Corrections are not proven yet.
fn search(sources: &[Source], starts: &[Vec<usize>]) -> (Verdicts, Vec<manifest::Sheet>) {
    let mut refused = Vec::new();
    let mut sheets = Vec::new();
    for (file, source) in sources.iter().enumerate() {
        let documents = document::read(file, &source.text, &mut refused);
        sheets.extend(documents.into_iter().map(|document| manifest::Sheet { file, document }));
    }
    let deployments = manifest::read(&sheets, sources, &mut refused);
    let text = place::Text { sources, starts };
    let mut found =
        Verdicts { documents: sheets.len(), deployments: deployments.len(), ..Verdicts::default() };
    for deployment in &deployments {
        judge::judge(text, deployment, &mut found);
    }
    let pieces = deployments.iter().filter_map(|deployment| deployment.fragment);
    let named = pieces.filter_map(|(file, line)| Some((sources.get(file)?.name.clone(), line)));
    found.fragments = named.collect();
    found.flaws.sort_by(|a, b| {
        let place = |flaw: &Flaw| flaw.spots.first().map(|spot| (spot.file.clone(), spot.line));
        b.severity.cmp(&a.severity).then_with(|| place(a).cmp(&place(b))).then(a.id.cmp(b.id))
    });
    let named = |bad: Unreadable| {
        let name = sources.get(bad.file).map_or_else(|| Arc::from("?"), |file| file.name.clone());
        (name, bad)
    };
    found.unreadable = refused.into_iter().map(named).collect();
    (found, sheets)
}
