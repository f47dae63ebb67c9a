//! Severity, grade and topic of findings.

use std::time::Duration;

/// The importance of a check's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stake {
    /// Its own finding.
    #[default]
    Ordinary,
    /// Without an answer nothing is known of routing.
    Core,
    /// Without an answer nobody knows why a router refuses stores.
    History,
    /// Its finding says that kvtop cannot see: no failure of the deployment, and not good either.
    Sight,
}

/// The subject of a rule, where the screen marks what findings about it concern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topic {
    /// Anything else.
    #[default]
    Other,
    /// Block sizes that differ.
    BlockSizes,
    /// A block size that is declared and not read.
    DeclaredSize,
    /// Full KV caches.
    Pressure,
    /// Routers that choose workers without regard to cached blocks.
    RouterMode,
}

impl Topic {
    /// Returns true for rules that compare block sizes.
    pub const fn is_of_sizes(self) -> bool {
        matches!(self, Self::BlockSizes | Self::DeclaredSize)
    }
}

/// Time without new evidence after which a finding is resolved.
pub const RESOLVED_AFTER: Duration = Duration::from_secs(30);

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Worth looking at.
    Warning,
    /// Routing does not do what it is for.
    Critical,
}

impl Severity {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// The grade of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Settings say so; no traffic was seen yet.
    ConfigOnly,
    /// Behaviour says so.
    Likely,
    /// Two sources say so, one of them behaviour.
    Confirmed,
}

impl Grade {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConfigOnly => "CONFIG ONLY",
            Self::Likely => "LIKELY",
            Self::Confirmed => "CONFIRMED",
        }
    }
}
