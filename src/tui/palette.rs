//! The palette: every command that fits what was typed, best first, with what it does.

use super::labels::Labels;
use super::line;
use crate::snapshot::{Feed, Snapshot};

/// Most entries that are listed.
const MOST: usize = 200;

/// A command that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line.
    pub line: String,
    /// Its effect.
    pub about: String,
}

/// Returns the commands that fit `typed`, best first; all of them for nothing.
pub fn entries(typed: &str, themes: &[String], labels: &Labels, live: &Snapshot) -> Vec<Entry> {
    let demo = matches!(live.feed, Feed::Demo(_));
    let known = line::known(themes, demo).into_iter();
    let mut all: Vec<Entry> =
        known.map(|(line, about)| Entry { line, about: about.to_owned() }).collect();
    all.extend(live.deployment.graphs.iter().map(|graph| Entry {
        line: format!("dgd {}", graph.name),
        about: String::from("only this graph deployment"),
    }));
    all.extend(live.workers.iter().filter(|row| !row.gone && row.rank.dp_rank.0 == 0).map(|row| {
        let pod = row.pod.as_deref().unwrap_or_default();
        Entry { line: format!("worker {}", row.alias), about: format!("the tree of {pod}") }
    }));
    all.extend(labels.all().map(|(digits, name)| Entry {
        line: format!("find {digits}"),
        about: format!("the prefix \"{name}\""),
    }));
    let typed = typed.trim().to_lowercase();
    let mut fitting: Vec<(u32, usize, Entry)> = all
        .into_iter()
        .enumerate()
        .filter_map(|(at, entry)| {
            let own = fit(&typed, &entry.line.to_lowercase());
            // A word of the description leads to a command too, behind those whose names fit.
            let said = fit_word(&typed, &entry.about.to_lowercase()).map(|far| far + 1_000);
            Some((own.into_iter().chain(said).min()?, at, entry))
        })
        .collect();
    fitting.sort_by_key(|(far, at, _)| (*far, *at));
    fitting.into_iter().take(MOST).map(|(_, _, entry)| entry).collect()
}

/// Returns how badly `text` fits `typed`: the letters of `typed` must come in their order. None where they do
/// not.
fn fit(typed: &str, text: &str) -> Option<u32> {
    if text.starts_with(typed) {
        return Some(0);
    }
    let mut rest = text.char_indices();
    let (mut gaps, mut before) = (1, None);
    for letter in typed.chars().filter(|letter| !letter.is_whitespace()) {
        let (at, _) = rest.find(|(_, found)| *found == letter)?;
        let begins = at == 0 || text.get(..at).is_some_and(|head| head.ends_with([' ', '-']));
        // Letters that follow each other, or begin a word, are what people type.
        if before != Some(at.wrapping_sub(1)) && !begins {
            gaps += 3;
        } else if before != Some(at.wrapping_sub(1)) {
            gaps += 1;
        }
        before = Some(at);
    }
    Some(gaps)
}

/// Returns how far from the start of `text` a word begins with `typed`.
fn fit_word(typed: &str, text: &str) -> Option<u32> {
    if typed.chars().count() < 2 {
        return None;
    }
    let at = text.split(' ').position(|word| word.trim_matches('"').starts_with(typed))?;
    u32::try_from(at).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(typed: &str) -> Vec<String> {
        let themes = vec![String::from("dark"), String::from("light")];
        let labels = Labels::parse("a31f09c2 = \"support-bot system prompt\"\n").unwrap();
        let entries = entries(typed, &themes, &labels, &Snapshot::default());
        entries.into_iter().map(|entry| entry.line).collect()
    }

    #[test]
    fn letters_in_their_order_are_enough() {
        assert_eq!(lines("thd")[0], "theme dark");
        assert_eq!(lines("exj")[0], "export json");
        assert_eq!(lines("theme l")[0], "theme light");
        assert!(lines("zzz").is_empty());
    }

    #[test]
    fn prefixes_are_found_by_their_names() {
        assert_eq!(lines("support-bot")[0], "find a31f09c2");
    }

    #[test]
    fn nothing_typed_lists_everything() {
        assert!(lines("").len() > 20);
    }
}
