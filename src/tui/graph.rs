//! Graphs: areas over time, sparklines, bars and heat, each in true colour, in few colours, without colour
//! and in ASCII. Series are told apart by fill as well as by colour.

pub mod bar;
pub mod gallery;
pub mod heat;
pub mod spark;
pub mod timeline;

/// Parts of a cell's height that can be filled.
pub(crate) const EIGHTHS: usize = 8;

/// Returns the points from the first that is known in any of `series`, in each of them.
pub(crate) fn first_known<'a>(series: impl IntoIterator<Item = &'a [Option<f64>]>) -> usize {
    let known = |points: &[Option<f64>]| points.iter().position(Option::is_some);
    series.into_iter().filter_map(known).min().unwrap_or(0)
}
