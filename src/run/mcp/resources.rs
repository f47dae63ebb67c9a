//! Resources: the current findings, and pages to read.

use rmcp::model::Resource;

use super::super::check;
use crate::report::{self, Output};

/// The findings of the attached deployment.
pub(super) const FINDINGS: &str = "kvtop://findings";

/// Beginning of the address of an explanation.
const EXPLAIN: &str = "kvtop://explain/";

/// The schema that is too long for the list of tools.
const SNAPSHOT_SCHEMA: &str = "kvtop://schema/snapshot";
const SCHEMA: &str = "application/schema+json";

/// Reference pages: address, title and text.
const PAGES: &[(&str, &str, &str)] = &[
    (
        "kvtop://reference/json",
        "Fields of the JSON of snapshot, check, diff and lint",
        include_str!("../../../docs/reference/json.md"),
    ),
    ("kvtop://reference/glossary", "Words of kvtop", include_str!("../../../docs/GLOSSARY.md")),
];

pub(super) fn all(attached: bool) -> Vec<Resource> {
    let findings = attached.then(|| {
        Resource::new(FINDINGS, "findings")
            .with_title("Findings and checks of the attached deployment, now")
            .with_mime_type("application/json")
    });
    let pages = PAGES.iter().map(|(uri, title, _)| {
        let name = uri.rsplit('/').next().unwrap_or_default();
        Resource::new(*uri, name).with_title(*title).with_mime_type("text/markdown")
    });
    let explained = check::explained().into_iter().map(|(id, name, _)| {
        let title = format!("What {name} means, how it is detected and fixed");
        Resource::new(format!("{EXPLAIN}{id}"), id).with_title(title).with_mime_type("text/plain")
    });
    let schema = Resource::new(SNAPSHOT_SCHEMA, "snapshot schema")
        .with_title("JSON Schema of the answer of snapshot")
        .with_mime_type(SCHEMA);
    findings.into_iter().chain(pages).chain([schema]).chain(explained).collect()
}

/// Returns a page and its media type.
pub(super) fn read(uri: &str) -> Option<(String, &'static str)> {
    if let Some((_, _, text)) = PAGES.iter().find(|(page, _, _)| *page == uri) {
        return Some(((*text).to_owned(), "text/markdown"));
    }
    if uri == SNAPSHOT_SCHEMA {
        return Some((report::schema(Output::Snapshot), SCHEMA));
    }
    let id = uri.strip_prefix(EXPLAIN)?;
    Some((check::explanation(id)?, "text/plain"))
}
