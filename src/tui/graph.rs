//! Graphs: areas over time, sparklines, bars and heat, each in true colour, in few colours, without colour
//! and in ASCII. Series are told apart by fill as well as by colour.

use std::time::Duration;

pub mod bar;
pub mod gallery;
pub mod heat;
pub mod spark;
pub mod timeline;

/// Parts of a cell's height that can be filled.
pub(crate) const EIGHTHS: usize = 8;
/// The longest time that an axis covers: ten years.
pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);
/// The shortest time that an axis covers, in points: a second stretched over the screen tells nothing.
const SHORTEST: usize = 10;

/// Returns the points from the first that is known in any of `series`, in each of them.
pub(crate) fn first_known<'a>(series: impl IntoIterator<Item = &'a [Option<f64>]>) -> usize {
    let known = |points: &[Option<f64>]| points.iter().position(Option::is_some);
    series.into_iter().filter_map(known).min().unwrap_or(0)
}

/// Returns the first of `count` points that is drawn: a graph begins where its data begin.
pub(crate) fn first_shown<'a>(
    series: impl IntoIterator<Item = &'a [Option<f64>]>,
    count: usize,
) -> usize {
    first_known(series).min(count.saturating_sub(SHORTEST))
}
