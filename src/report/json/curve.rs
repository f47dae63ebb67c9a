//! The capacity curve.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::rfc3339;
use crate::snapshot::{CapacityCurve, CurvePoint, Snapshot};

/// Stored blocks that a larger KV cache would have avoided; `null` with fewer than 200 sampled blocks, or while no
/// capacity is known.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct Curve {
    at: String,
    sampled_blocks: u64,
    ranks: u64,
    capacity_blocks: u64,
    /// Share of prompt blocks that were cached; `null` with fewer than 50 prompts of known length.
    cached_share: Option<f64>,
    prompts: u64,
    points: Vec<Point>,
}

/// The curve of a moment.
#[derive(Serialize, JsonSchema)]
pub(in crate::report) struct CurveAt {
    at: String,
    capacity_curve: Option<Curve>,
}

/// Returns the capacity curve as JSON.
pub fn curve(snapshot: &Snapshot) -> String {
    let curve = CurveAt { at: rfc3339(snapshot.at), capacity_curve: Curve::new(snapshot) };
    serde_json::to_string_pretty(&curve).unwrap_or_default()
}

/// One capacity; shares are from 0 to 1.
#[derive(Serialize, JsonSchema)]
pub(super) struct Point {
    factor: f64,
    avoided_share: f64,
    margin: f64,
    /// Share of prompt blocks that would have been cached.
    cached_share: Option<f64>,
}

impl Point {
    pub(super) const fn new(point: &CurvePoint) -> Self {
        Self {
            factor: point.factor,
            avoided_share: point.avoided,
            margin: point.margin,
            cached_share: point.cached,
        }
    }
}

impl Curve {
    pub(in crate::report) fn new(snapshot: &Snapshot) -> Option<Self> {
        let CapacityCurve { at, points, samples, ranks, capacity, cached, prompts } =
            snapshot.curve.as_ref()?;
        let points = points.iter().map(Point::new);
        Some(Self {
            at: rfc3339(*at),
            sampled_blocks: *samples,
            ranks: *ranks,
            capacity_blocks: *capacity,
            cached_share: *cached,
            prompts: *prompts,
            points: points.collect(),
        })
    }
}
