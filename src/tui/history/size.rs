//! The size of a picture in bytes: its rows, and the texts that are its own.

use crate::snapshot::{
    ClaimRow, DecisionRow, EventRow, FindingRow, MemoryRow, PodRow, Snapshot, Sourced, WorkerRow,
};

/// The size of a picture in bytes, without its graphs and its answer. Texts that pictures share are not counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// What is its own.
    pub(super) own: usize,
    /// Rows that it may share with its neighbours.
    pub(super) claims: usize,
    pub(super) pods: usize,
}

impl Size {
    /// Returns the size of `picture`.
    pub(super) fn of(picture: &Snapshot) -> Self {
        Self {
            own: own(picture),
            claims: rows(&picture.claims, |_: &ClaimRow| 0),
            pods: rows(&picture.pods, pod),
        }
    }

    /// Returns the size of all of it.
    pub(super) const fn whole(self) -> usize {
        self.own + self.claims + self.pods
    }
}

fn own(picture: &Snapshot) -> usize {
    let checks = |row: &crate::snapshot::CheckRow| match &row.verdict {
        crate::snapshot::CheckVerdict::Unknown { missing } => row.note.len() + missing.len(),
        _ => row.note.len(),
    };
    let components = |row: &crate::snapshot::GraphRow| {
        row.name.as_str().len()
            + row.namespace.len()
            + rows(&row.components, |part| part.name.len())
    };
    size_of::<Snapshot>()
        + rows(&picture.workers, worker)
        + rows(&picture.memory, memory)
        + rows(&picture.sources, |row| row.name.as_str().len() + row.why.len())
        + rows(&picture.rejects.reasons, |row| row.origin.len() + row.why.len() + row.sample.len())
        + rows(&picture.events, |row: &EventRow| row.who.len() + row.text.len())
        + rows(&picture.decisions, decision)
        + rows(&picture.findings, finding)
        + rows(&picture.checks, checks)
        + rows(&picture.deployment.graphs, components)
        + rows(&picture.router.routers, String::len)
        + rows(&picture.tree.incomplete, String::len)
        + picture
            .prefixes
            .as_ref()
            .map_or(0, |page| rows(&page.rows, |row| size_of_val(row.on.as_slice())))
        + picture.foresight.as_ref().map_or(0, |answers| {
            rows(&answers.drain, |row| row.alias.len())
                + rows(&answers.leaders.rows, |row| size_of_val(row.then.as_slice()))
        })
}

/// Rows whose texts are looked at, evenly spread: the others are like them, and there may be thousands.
const LOOKED_AT: usize = 64;

fn rows<T>(rows: &[T], texts: impl Fn(&T) -> usize) -> usize {
    let step = rows.len().div_ceil(LOOKED_AT).max(1);
    let looked_at = rows.len().div_ceil(step).max(1);
    let texts: usize = rows.iter().step_by(step).map(texts).sum();
    size_of_val(rows) + texts * rows.len() / looked_at
}

fn text(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

fn source<T>(sourced: Option<&Sourced<T>>) -> usize {
    sourced.map_or(0, |sourced| sourced.source.to_string().len())
}

fn worker(row: &WorkerRow) -> usize {
    let texts = [row.pod.as_ref(), row.node.as_ref(), row.role.as_ref()];
    row.alias.len()
        + texts.into_iter().map(text).sum::<usize>()
        + source(row.used_blocks.as_ref())
        + source(row.capacity_blocks.as_ref())
        + source(row.kv_utilization.as_ref())
        + source(row.hit_rate.as_ref())
        + source(row.load.as_ref())
        + size_of_val(row.stored_lately.points.as_slice())
}

fn memory(row: &MemoryRow) -> usize {
    let figures = MemoryRow::FIGURES.iter().map(|figure| source((figure.of)(row).as_ref()));
    row.alias.len() + figures.sum::<usize>()
}

fn pod(row: &PodRow) -> usize {
    let texts = [&row.dgd, &row.component, &row.node, &row.ip, &row.trouble, &row.version];
    row.name.as_str().len()
        + row.phase.len()
        + texts.map(|it| text(it.as_ref())).iter().sum::<usize>()
        + text(row.image.as_ref())
}

fn decision(row: &DecisionRow) -> usize {
    row.alias.len() + rows(&row.terms, |term| term.alias.len())
}

fn finding(row: &FindingRow) -> usize {
    let evidence = rows(&row.evidence, |it| it.claim.len() + it.value.len() + it.source.len());
    let fix = row.fix.as_ref().map_or(0, |fix| {
        let texts = text(fix.yaml.as_ref()) + text(fix.kubectl.as_ref());
        fix.sentence.len() + fix.restarts.len() + fix.verify.len() + texts
    });
    let texts = row.summary.len() + row.effect.len() + row.refuted_by.len();
    texts + evidence + fix + rows(&row.competing, String::len)
}
