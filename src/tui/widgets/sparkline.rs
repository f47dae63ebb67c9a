//! A series in one row.

use crate::tui::text;
use crate::tui::theme::{Glyphs, SPARK_LEVELS};

/// Returns `points` squeezed or stretched to `columns`, the mean of those that fall together.
pub fn resample(points: &[Option<f64>], columns: usize) -> Vec<Option<f64>> {
    if points.is_empty() || columns == 0 {
        return vec![None; columns];
    }
    let total = points.len();
    (0..columns)
        .map(|column| {
            let start = column * total / columns;
            let end = ((column + 1) * total).div_ceil(columns).clamp(start + 1, total);
            let known = points.get(start..end).unwrap_or_default().iter().flatten();
            let (sum, count) = known
                .filter(|value| value.is_finite())
                .fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
            (count > 0).then(|| sum / f64::from(count))
        })
        .collect()
}

/// Returns the largest value, at least `least`.
pub fn largest<'a>(points: impl IntoIterator<Item = &'a Option<f64>>, least: f64) -> f64 {
    points.into_iter().flatten().copied().filter(|value| value.is_finite()).fold(least, f64::max)
}

/// Returns `points` as `columns` cells, scaled so that `top` fills one; blank where nothing is known.
pub fn cells(points: &[Option<f64>], columns: usize, top: f64, glyphs: &Glyphs) -> String {
    let top = if top.is_finite() && top > 0.0 { top } else { 1.0 };
    let cell = |value: Option<f64>| match value {
        Some(value) => {
            let level = text::cells((value / top).clamp(0.0, 1.0) * (SPARK_LEVELS - 1) as f64);
            glyphs.sparks[level.min(SPARK_LEVELS - 1)]
        }
        None => " ",
    };
    resample(points, columns).into_iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_stays_blank() {
        let points = [Some(0.0), None, Some(5.0), Some(10.0)];
        assert_eq!(cells(&points, 4, 10.0, Glyphs::UNICODE), "▁ ▅█");
        assert_eq!(cells(&[], 3, 10.0, Glyphs::UNICODE), "   ");
    }

    #[test]
    fn resampling_keeps_the_mean_and_the_length() {
        assert_eq!(resample(&[Some(1.0), Some(3.0), None, None], 2), [Some(2.0), None]);
        assert_eq!(resample(&[Some(1.0)], 3), [Some(1.0); 3]);
        assert_eq!(resample(&[Some(f64::NAN), Some(2.0)], 1), [Some(2.0)]);
    }
}
