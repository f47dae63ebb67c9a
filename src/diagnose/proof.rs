//! Evidence for a finding, as data: the quantity, its subject, the value, the window and the source.

use std::fmt;
use std::sync::Arc;

use super::phrase::{Phrase, ToPiece};
use crate::domain::{Medium, Timestamp, WorkerId};

/// A quantity that evidence is about.
///
/// A rule may have quantities of its own; the module `measure` has those that several rules use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its public name in JSON, such as `cache_hits`.
    pub id: &'static str,
    /// The words for it. `{}` is the place of the subject; without a place the subject follows after a comma.
    pub words: &'static str,
}

impl Measure {
    /// Returns a quantity.
    pub const fn new(id: &'static str, words: &'static str) -> Self {
        Self { id, words }
    }

    /// Returns the quantity of one subject, such as a worker.
    pub fn of(self, subject: impl ToPiece) -> Kind {
        Kind { measure: self, subject: Some(Phrase::quoted(subject)) }
    }
}

/// A quantity, of one subject or of the whole deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// The quantity.
    pub measure: Measure,
    /// The worker, pod or process; none for the whole deployment.
    pub subject: Option<Phrase>,
}

impl From<Measure> for Kind {
    fn from(measure: Measure) -> Self {
        Self { measure, subject: None }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.measure.words;
        match &self.subject {
            None => formatter.write_str(words),
            Some(subject) => match words.split_once("{}") {
                Some((before, after)) => write!(formatter, "{before}{subject}{after}"),
                None => write!(formatter, "{words}, {subject}"),
            },
        }
    }
}

/// The place that a value was read from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// KV events.
    KvEvents,
    /// Every event plane that kvtop listens to.
    EventPlanes,
    /// KV events, as far as the prompts that caused them have a known length.
    PromptLengths,
    /// Logs of routers.
    RouterLogs,
    /// Costs in logs of routers.
    RouterCosts,
    /// Logs of workers.
    WorkerLogs,
    /// Logs of any process.
    Logs,
    /// The routers' counters of applied events (`kv_cache_events_applied`, dynamo-llm 0.9.0
    /// `kv_router/metrics.rs`).
    RouterCounters,
    /// Metrics of routers.
    RouterMetrics,
    /// Metrics of workers, over the last minute.
    WorkerMetrics,
    /// Metrics.
    Metrics,
    /// kvtop's copy of the router's index.
    IndexCopy,
    /// The numbers that publishers give their messages.
    MessageNumbers,
    /// The settings of a stream of KV events, as its server tells them.
    Jetstream,
    /// Model cards.
    ModelCards,
    /// Discovery records.
    Discovery,
    /// Objects of Kubernetes.
    Kubernetes,
    /// Answers of the Kubernetes API server.
    ApiServer,
    /// Pods.
    Pods,
    /// kvtop itself.
    Kvtop,
    /// The place that a claim was read from: a manifest, a log, a model card.
    Read {
        /// The kind of place.
        medium: Medium,
        /// Its name.
        place: Arc<str>,
    },
    /// Several places together.
    Several(&'static [Origin]),
    /// A place that is described by its name, such as an address.
    Named(Phrase),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::KvEvents => "KV events",
            Self::EventPlanes => "every event plane that kvtop listens to",
            Self::PromptLengths => "store events and prompt lengths",
            Self::RouterLogs => "routers' logs",
            Self::RouterCosts => "costs in routers' logs",
            Self::WorkerLogs => "workers' logs",
            Self::Logs => "logs",
            Self::RouterCounters => "routers' counters (kv_cache_events_applied)",
            Self::RouterMetrics => "routers' metrics",
            Self::WorkerMetrics => "workers' metrics, last minute",
            Self::Metrics => "metrics",
            Self::IndexCopy => "kvtop's index copy",
            Self::MessageNumbers => "publishers' message numbers",
            Self::Jetstream => "JetStream",
            Self::ModelCards => "model cards",
            Self::Discovery => "discovery",
            Self::Kubernetes => "Kubernetes",
            Self::ApiServer => "API server",
            Self::Pods => "pods",
            Self::Kvtop => "kvtop",
            Self::Named(name) => return name.fmt(formatter),
            Self::Read { place, .. } => place,
            Self::Several(all) => {
                for (at, origin) in all.iter().enumerate() {
                    let before = match at {
                        0 => "",
                        _ if at + 1 == all.len() => " and ",
                        _ => ", ",
                    };
                    write!(formatter, "{before}{origin}")?;
                }
                return Ok(());
            }
        })
    }
}

impl Origin {
    /// Returns the kinds of places that it is of.
    pub fn media(&self) -> Vec<Medium> {
        match self {
            Self::KvEvents
            | Self::EventPlanes
            | Self::PromptLengths
            | Self::IndexCopy
            | Self::Jetstream
            | Self::MessageNumbers => vec![Medium::Events],
            Self::RouterLogs | Self::WorkerLogs | Self::Logs => vec![Medium::Logs],
            Self::RouterCosts => vec![Medium::Decisions, Medium::Logs],
            Self::RouterCounters | Self::RouterMetrics | Self::WorkerMetrics | Self::Metrics => {
                vec![Medium::Metrics]
            }
            Self::ModelCards => vec![Medium::Settings],
            Self::Read { medium, .. } => vec![*medium],
            Self::Several(all) => all.iter().flat_map(Self::media).collect(),
            Self::Discovery
            | Self::Kubernetes
            | Self::ApiServer
            | Self::Pods
            | Self::Kvtop
            | Self::Named(_) => Vec::new(),
        }
    }
}

impl<T: Into<Phrase>> From<T> for Origin {
    fn from(name: T) -> Self {
        Self::Named(name.into())
    }
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The quantity and its subject.
    pub kind: Kind,
    /// The observed value.
    pub value: Phrase,
    /// The place that the value was read from.
    pub source: Origin,
    /// The start of the window that was counted; none for a value that is no count.
    pub since: Option<Timestamp>,
    /// The time of the value, and the end of its window; none if it has no time.
    pub at: Option<Timestamp>,
    /// True for evidence against the finding.
    pub against: bool,
    /// The worker, if the evidence is about one.
    pub worker: Option<WorkerId>,
}

impl Proof {
    /// Returns evidence for a finding.
    pub fn new(kind: impl Into<Kind>, value: impl Into<Phrase>, source: impl Into<Origin>) -> Self {
        Self {
            kind: kind.into(),
            value: value.into(),
            source: source.into(),
            since: None,
            at: None,
            against: false,
            worker: None,
        }
    }

    /// Returns the evidence as evidence about a worker.
    #[must_use]
    pub fn of_worker(mut self, worker: impl Into<Option<WorkerId>>) -> Self {
        self.worker = worker.into();
        self
    }

    /// Returns the evidence with the time at which it was seen.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// Returns the evidence with the time of its last observation, if that is known.
    #[must_use]
    pub fn heard(mut self, last: Option<Timestamp>) -> Self {
        self.at = last.or(self.at);
        self
    }

    /// Returns the evidence as evidence against the finding.
    #[must_use]
    pub fn against(mut self) -> Self {
        self.against = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HITS: Measure = Measure::new("cache_hits", "cache hits");
    const REQUESTS: Measure = Measure::new("requests_to", "requests to {}");

    #[test]
    fn a_subject_stands_in_its_place_or_after_a_comma() {
        assert_eq!(Kind::from(HITS).to_string(), "cache hits");
        assert_eq!(HITS.of("w0").to_string(), "cache hits, w0");
        assert_eq!(REQUESTS.of("w0").to_string(), "requests to w0");
    }

    #[test]
    fn several_places_are_listed_in_order() {
        let two = Origin::Several(&[Origin::RouterLogs, Origin::KvEvents]);
        assert_eq!(two.to_string(), "routers' logs and KV events");
        let three = Origin::Several(&[Origin::KvEvents, Origin::RouterLogs, Origin::Pods]);
        assert_eq!(three.to_string(), "KV events, routers' logs and pods");
    }
}
