//! The inputs of a plan, each with its basis.

/// How an input is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Read from the deployment.
    Observed,
    /// Chosen so that the simulation reproduces what was observed.
    Fitted,
    /// Taken from a named default.
    Assumed,
}

impl Basis {
    /// Returns the word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Fitted => "fitted",
            Self::Assumed => "assumed",
        }
    }
}

/// An input of the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name in reports.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit; empty for a number.
    pub unit: &'static str,
    /// How it is known.
    pub basis: Basis,
    /// The place that it is from.
    pub from: String,
}

impl Input {
    /// Returns an input.
    pub fn new(
        name: &'static str,
        value: f64,
        unit: &'static str,
        basis: Basis,
        from: impl Into<String>,
    ) -> Self {
        Self { name, value, unit, basis, from: from.into() }
    }
}
