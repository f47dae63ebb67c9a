//! Origins of measured values.

use std::fmt;
use std::sync::Arc;

/// The origin of a measured value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The metrics of a pod, which are read at intervals.
    Metrics(Arc<str>),
    /// The metrics of a frontend, which are read at intervals.
    FrontendMetrics,
    /// A message, a log or an object that tells each change: its place.
    Told(Arc<str>),
    /// A calculation from other values, written out.
    Derived(Arc<str>),
}

impl Provenance {
    /// Returns where a value is from that is told when it changes.
    pub fn told(place: impl Into<Arc<str>>) -> Self {
        Self::Told(place.into())
    }

    /// Returns where a value is from that was calculated as `calculation` says.
    pub fn derived(calculation: impl Into<Arc<str>>) -> Self {
        Self::Derived(calculation.into())
    }

    /// Returns true for a value that is read at intervals, and so gets old between two of them.
    pub const fn is_scraped(&self) -> bool {
        matches!(self, Self::Metrics(_) | Self::FrontendMetrics)
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metrics(pod) => write!(formatter, "metrics of {pod}"),
            Self::FrontendMetrics => formatter.write_str("metrics of a frontend"),
            Self::Told(text) | Self::Derived(text) => formatter.write_str(text),
        }
    }
}
