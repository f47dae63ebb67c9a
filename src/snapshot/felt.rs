//! The figures that users of a deployment feel, as one value each.

/// Figures over the minute before a moment. What nothing reports is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Felt {
    /// Share of prompt tokens that engines had cached, 0 to 1.
    pub cached: Option<f64>,
    /// Share of requests for which a router found any cached block, 0 to 1.
    pub found: Option<f64>,
    /// Time to first token in seconds: half of the requests, and 95 % of them.
    pub first_token: Option<[f64; 2]>,
    /// Time between tokens in seconds: half of the tokens, and 95 % of them.
    pub inter_token: Option<[f64; 2]>,
}
