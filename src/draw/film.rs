//! A film: several pages of one size as one SVG that plays by itself. Rows that do not change are drawn once.

use super::svg;
use super::{Ground, Run, put};

/// Returns the film of `pages`, each shown for so many milliseconds, the last one four times as long.
pub(super) fn page(
    pages: &[Vec<Vec<Run>>],
    ground: &Ground,
    size: (u16, u16),
    title: &str,
    each: usize,
) -> String {
    let mut film = svg::head(ground, size, title);
    let rows = pages.iter().map(Vec::len).max().unwrap_or(0);
    // The last page stays, so that it can be read before the film begins again.
    let whole = pages.len() + 3;
    for row in 0..rows {
        for (version, shown) in versions(pages, row) {
            let drawn = svg::row(version, ground, row);
            if drawn.is_empty() {
                continue;
            }
            if shown.iter().all(|it| *it) {
                film.push_str(&drawn);
                continue;
            }
            put(&mut film, format_args!("<g visibility=\"hidden\">"));
            animate(&mut film, &shown, whole, each);
            film.push_str(&drawn);
            film.push_str("</g>\n");
        }
    }
    film.push_str(svg::FOOT);
    film
}

/// Returns each version of a row with the pages that show it.
fn versions(pages: &[Vec<Vec<Run>>], row: usize) -> Vec<(&[Run], Vec<bool>)> {
    let mut versions: Vec<(&[Run], Vec<bool>)> = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        let Some(runs) = page.get(row) else { continue };
        let known = versions.iter().position(|(known, _)| *known == runs.as_slice());
        let place = known.unwrap_or_else(|| {
            versions.push((runs, vec![false; pages.len()]));
            versions.len() - 1
        });
        if let Some(shown) = versions.get_mut(place).and_then(|(_, shown)| shown.get_mut(at)) {
            *shown = true;
        }
    }
    versions
}

fn animate(film: &mut String, shown: &[bool], whole: usize, each: usize) {
    let (mut values, mut times) = (Vec::new(), Vec::new());
    let mut before = None;
    for (at, is_shown) in shown.iter().enumerate() {
        if before != Some(is_shown) {
            values.push(if *is_shown { "visible" } else { "hidden" });
            times.push(format!("{:.4}", at as f64 / whole as f64));
            before = Some(is_shown);
        }
    }
    put(
        film,
        format_args!(
            "<animate attributeName=\"visibility\" calcMode=\"discrete\" dur=\"{}ms\" \
             repeatCount=\"indefinite\" values=\"{}\" keyTimes=\"{}\"/>",
            whole * each,
            values.join(";"),
            times.join(";"),
        ),
    );
}
