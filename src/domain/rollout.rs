//! Stages of a fix on its way into a deployment.

/// The progress of a fix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RolloutStage {
    /// Some object still has to be changed.
    #[default]
    NotApplied,
    /// Every object holds it, and no pod was restarted since.
    Applied,
    /// Some pods run with it, and others do not yet.
    Restarting,
    /// Every pod runs with it; the proof that it works is still to come.
    Restarted,
    /// Nothing shows the fault any more; it is resolved once that lasts.
    Verifying,
    /// It worked.
    Resolved,
}

impl RolloutStage {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotApplied => "not-applied",
            Self::Applied => "applied",
            Self::Restarting => "restarting",
            Self::Restarted => "restarted",
            Self::Verifying => "verifying",
            Self::Resolved => "resolved",
        }
    }
}
