//! The report of an incident: one page that a post-mortem can use, made from the moments of a recording.

mod chart;
mod compose;
pub(super) mod page;
mod past;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::time::Duration;

use chart::Curve;
pub use past::{Covered, REACH};

use crate::domain::Timestamp;
use crate::snapshot::{CheckVerdict, FindingRow, Snapshot, Standing};

/// Appends `text`.
fn put(page: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    page.write_fmt(text).unwrap_or_default();
}

/// Format of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    /// One HTML file without scripts and without anything to fetch.
    Html,
    /// Markdown, with charts as text.
    Markdown,
}

/// Collects what a report says, moment by moment.
#[derive(Debug, Default)]
pub struct Incident {
    moments: Vec<Moment>,
    /// The last state of each finding, by id and the time it was raised.
    findings: BTreeMap<(Timestamp, &'static str), FindingRow>,
    deployment: Vec<(&'static str, String)>,
    /// Reasons why parts of the report may be missing or too low.
    unseen: Vec<String>,
    unknown: Vec<(String, String)>,
    /// Starts of pods.
    starts: Vec<(Timestamp, String)>,
    /// The time that each source of a live deployment covers; empty for a recording.
    covered: Vec<Covered>,
    /// The time at which kvtop attached; none for a recording.
    attached: Option<Timestamp>,
}

/// The figures of one moment.
#[derive(Clone, Copy, Debug)]
struct Moment {
    at: Timestamp,
    /// None for a moment of which only the figures are known, and so for workers.
    standing: Option<Standing>,
    workers: Option<usize>,
    requests: Option<f64>,
    /// Share of prompt tokens that engines had cached.
    cached: Option<f64>,
    /// Share of requests with a cache hit.
    found: Option<f64>,
    first_token: Option<[f64; 2]>,
    inter_token: Option<[f64; 2]>,
    rejected: Option<f64>,
    blocks: Option<f64>,
    used: Option<f64>,
}

impl Incident {
    /// Takes in the picture of a later moment.
    pub fn note(&mut self, snapshot: &Snapshot) {
        self.moments.push(Moment::new(snapshot));
        for row in snapshot.findings.iter().chain(snapshot.past.iter()) {
            // A picture in the middle of a second may show what is raised when the second ends: that is one finding.
            self.findings.retain(|(raised, id), known| {
                *id != row.id || *raised >= row.raised || known.resolved.is_some()
            });
            self.findings.insert((row.raised, row.id), row.clone());
        }
    }

    /// Returns true when the last moment is at least `step` before `at`.
    #[must_use]
    pub fn is_due(&self, at: Timestamp, step: Duration) -> bool {
        self.moments.last().is_none_or(|last| at.since(last.at) >= step)
    }

    /// Takes in the last picture, which says what the report lacks.
    pub fn end(&mut self, snapshot: &Snapshot) {
        self.note(snapshot);
        let deployment = &snapshot.deployment;
        let named = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        self.deployment = vec![
            ("Dynamo namespace", named(&deployment.namespace)),
            ("Model", named(&deployment.model)),
            ("Dynamo", named(&deployment.version)),
            ("Event plane", named(&deployment.event_plane)),
        ];
        let started = snapshot.pods.iter().filter_map(|pod| Some((pod.started?, pod.name.clone())));
        self.starts = started.collect();
        self.unseen.extend(super::incomplete(snapshot));
        for source in &snapshot.sources {
            if source.dropped > 0 || source.gaps > 0 || source.rejects > 0 {
                self.unseen.push(format!(
                    "{}: {} messages missing, {} frames dropped, {} not decoded",
                    source.name, source.gaps, source.dropped, source.rejects
                ));
            }
        }
        if let Some(hole) = &snapshot.ledger.hole {
            self.unseen.push(hole.sentence());
        }
        for check in &snapshot.checks {
            if let CheckVerdict::Unknown { missing } = &check.verdict {
                self.unknown.push((check.id.to_owned(), missing.clone()));
            }
        }
    }

    /// Returns the page.
    #[must_use]
    pub fn page(&self, title: &str, format: PageFormat) -> String {
        let blocks = compose::blocks(self, title);
        match format {
            PageFormat::Html => page::html(&blocks, title),
            PageFormat::Markdown => page::markdown(&blocks),
        }
    }

    fn curve(&self, figure: impl Fn(&Moment) -> Option<f64>) -> Vec<(Timestamp, Option<f64>)> {
        self.moments.iter().map(|moment| (moment.at, figure(moment))).collect()
    }

    /// Returns the figures as curves over time.
    fn curves(&self) -> Vec<Curve> {
        let share = |value: Option<f64>| value.map(|share| share * 100.0);
        vec![
            Curve::new("Rejected stores", "%", self.curve(|moment| share(moment.rejected))),
            Curve::new("Blocks in the index", "", self.curve(|moment| moment.blocks)),
            Curve::new("Cached prompt tokens", "%", self.curve(|moment| share(moment.cached))),
            Curve::new("TTFT p95", "s", self.curve(|moment| Some(moment.first_token?[1]))),
            Curve::new("KV cache in use", "%", self.curve(|moment| share(moment.used))),
            Curve::new("Requests", "/s", self.curve(|moment| moment.requests)),
        ]
    }
}

impl Moment {
    fn new(snapshot: &Snapshot) -> Self {
        let hears = snapshot.hears_events();
        let present: BTreeSet<_> =
            snapshot.workers.iter().filter(|row| !row.gone).map(|row| row.rank.worker).collect();
        Self {
            at: snapshot.at,
            standing: Some(snapshot.standing()),
            workers: Some(present.len()),
            requests: snapshot
                .router
                .tells_of_requests_now()
                .then_some(snapshot.router.routed_per_second),
            cached: snapshot.felt.cached,
            found: snapshot.felt.found,
            first_token: snapshot.felt.first_token,
            inter_token: snapshot.felt.inter_token,
            rejected: snapshot.totals.rejected(snapshot.totals.orphan_share),
            blocks: hears.then_some(snapshot.totals.accepted as f64),
            used: snapshot.totals.kv_utilization,
        }
    }
}
