//! Changes one value in a text of YAML or JSON and leaves everything else as it is written.
//!
//! The text is edited as text, so that comments and order stay. Each way in which the value may be written is
//! tried, and an edit counts only when the parser then reads the same as before but for that value.

use serde_json::{Map, Value};

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// YAML, block or flow style.
    Yaml,
    /// JSON.
    Json,
}

/// A text with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edited {
    /// The new text; the old one where the value was there already.
    pub(super) text: String,
    /// The value until then.
    pub(super) was: Option<String>,
    /// The lines of the outermost entry that the value is in, as they are now.
    pub(super) block: String,
}

/// Returns the value at `path`, whose names are parted by dots.
pub(super) fn value_at(text: &str, path: &str, format: Format) -> Option<Value> {
    let value = parse(text, format)?;
    path.split('.').try_fold(&value, |value, key| value.get(key)).cloned()
}

/// Sets the number, or switch, at a `path` of two names; none when that cannot be done safely.
pub(super) fn set(text: &str, path: &str, value: &str, format: Format) -> Option<Edited> {
    let (outer, inner) = path.split_once('.')?;
    let old = parse(text, format).or_else(|| text.trim().is_empty().then(Value::default))?;
    let new: Value = serde_json::from_str(value).ok()?;
    let was = old.get(outer).and_then(|map| map.get(inner));
    if was == Some(&new) {
        let text = text.to_owned();
        return Some(Edited { block: block(&text, outer), text, was: Some(value.to_owned()) });
    }
    let wanted = wanted(&old, outer, inner, new)?;
    let candidates = replaced(text, inner, value)
        .into_iter()
        .chain(in_flow(text, outer, inner, value, format))
        .chain(in_block(text, outer, inner, value))
        .chain(at_end(text, outer, inner, value, format));
    let text = candidates.into_iter().find(|text| parse(text, format).as_ref() == Some(&wanted))?;
    Some(Edited { block: block(&text, outer), text, was: was.map(Value::to_string) })
}

/// Levels of nesting that are read: the reader recurses on depth.
const DEPTH_LIMIT: usize = 64;

fn parse(text: &str, format: Format) -> Option<Value> {
    match format {
        // The parser refuses a key that is there twice.
        Format::Yaml => {
            let budget = serde_saphyr::budget! { max_depth: DEPTH_LIMIT };
            let options = serde_saphyr::options! { budget: budget, emit_comments: false };
            serde_saphyr::from_str_with_options(text, options).ok()
        }
        Format::Json => serde_json::from_str(text).ok(),
    }
}

/// Returns the parsed value after `outer.inner` is set to `new`.
fn wanted(old: &Value, outer: &str, inner: &str, new: Value) -> Option<Value> {
    let mut map = match old {
        Value::Object(map) => map.clone(),
        Value::Null => Map::new(),
        _ => return None,
    };
    let mut below = match map.get(outer) {
        Some(Value::Object(below)) => below.clone(),
        Some(Value::Null) | None => Map::new(),
        Some(_) => return None,
    };
    below.insert(inner.to_owned(), new);
    map.insert(outer.to_owned(), Value::Object(below));
    Some(Value::Object(map))
}

/// Returns the places behind the colon of each entry called `name`.
fn entries<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
    text.match_indices(name).filter_map(move |(at, _)| {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || "_-.".contains(letter)) {
            return None;
        }
        let rest = &text[at + name.len()..];
        let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest).trim_start_matches([' ', '\t']);
        let behind = rest.strip_prefix(':')?;
        Some((at, text.len() - behind.len()))
    })
}

/// Gives an entry that is there another value.
fn replaced(text: &str, inner: &str, value: &str) -> Vec<String> {
    let with = |(_, from): (usize, usize)| {
        let rest = &text[from..];
        let start = from + (rest.len() - rest.trim_start().len());
        let end = text[start..].find(|c: char| c.is_whitespace() || ",}#".contains(c));
        let end = end.map_or(text.len(), |end| start + end);
        (end > start).then(|| format!("{}{value}{}", &text[..start], &text[end..]))
    };
    entries(text, inner).filter_map(with).collect()
}

/// Adds an entry to a map in braces.
fn in_flow(text: &str, outer: &str, inner: &str, value: &str, format: Format) -> Vec<String> {
    let with = |(_, from): (usize, usize)| {
        let rest = &text[from..];
        let open = from + (rest.len() - rest.trim_start().len());
        let inside = text[open..].strip_prefix('{')?;
        Some(put(text, open + 1, inside, &entry(inner, value, format, inside), format))
    };
    entries(text, outer).filter_map(with).collect()
}

/// Returns an entry as its neighbours are written.
fn entry(name: &str, value: &str, format: Format, inside: &str) -> String {
    let tight = format == Format::Json && !inside.contains("\": ");
    let quoted = format == Format::Json || inside.trim_start().starts_with('"');
    let quote = if quoted { "\"" } else { "" };
    format!("{quote}{name}{quote}:{}{value}", if tight { "" } else { " " })
}

/// Puts an entry first into a map in braces, whose inside begins at `at`.
fn put(text: &str, at: usize, inside: &str, entry: &str, format: Format) -> String {
    let more = !inside.trim_start().starts_with('}');
    let gap = if format == Format::Yaml || inside.contains(", ") { " " } else { "" };
    let comma = if more { format!(",{gap}") } else { String::new() };
    format!("{}{entry}{comma}{}", &text[..at], &text[at..])
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_empty(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Adds an entry as a line of its own below the entry that it belongs to.
fn in_block(text: &str, outer: &str, inner: &str, value: &str) -> Vec<String> {
    let with = |(at, from): (usize, usize)| {
        let end = text[from..].find('\n').map(|end| from + end + 1);
        let (head, rest) = text.split_at(end.unwrap_or(text.len()));
        let ended = if head.ends_with('\n') { "" } else { "\n" };
        let line = head.lines().next_back()?;
        let feed = if line.ends_with('\r') || head.ends_with("\r\n") { "\r\n" } else { "\n" };
        let start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
        let own = indent(&text[start..]);
        let below = rest.lines().find(|line| !is_empty(line)).map(indent).filter(|it| *it > own);
        let spaces = " ".repeat(below.unwrap_or(own + 2));
        Some(format!("{head}{ended}{spaces}{inner}: {value}{feed}{rest}"))
    };
    entries(text, outer).filter_map(with).collect()
}

/// Adds both entries to the outermost map.
fn at_end(text: &str, outer: &str, inner: &str, value: &str, format: Format) -> Vec<String> {
    let mut ways = Vec::new();
    if let Some(inside) = text.trim_start().strip_prefix('{') {
        let at = text.len() - inside.len();
        let map = format!("{{{}}}", entry(inner, value, format, inside));
        ways.push(put(text, at, inside, &entry(outer, &map, format, inside), format));
    }
    if format == Format::Yaml {
        let first = text.lines().find(|line| !is_empty(line) && !line.starts_with("---"));
        let spaces = " ".repeat(first.map_or(0, indent));
        let feed = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let ended = if text.is_empty() || text.ends_with('\n') { "" } else { feed };
        ways.push(format!("{text}{ended}{spaces}{outer}:{feed}{spaces}  {inner}: {value}{feed}"));
    }
    ways
}

/// Returns the lines of the entry `outer` of the outermost map; the whole text where it has no lines of its
/// own.
fn block(text: &str, outer: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let starts = |line: &&str| {
        let line = line.trim_start().trim_start_matches(['"', '\'']);
        line.strip_prefix(outer)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
    };
    let Some(first) = lines.iter().position(starts) else { return text.to_owned() };
    let own = indent(lines[first]);
    let inside = |line: &&&str| is_empty(line) || indent(line) > own;
    let mut count = 1 + lines[first + 1..].iter().take_while(inside).count();
    while count > 1 && is_empty(lines[first + count - 1]) {
        count -= 1;
    }
    let mut block: String = lines[first..first + count].join("\n");
    block.push('\n');
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "kv_cache_config.tokens_per_block";

    fn yaml(text: &str) -> Option<String> {
        set(text, PATH, "32", Format::Yaml).map(|edited| edited.text)
    }

    #[test]
    fn a_value_is_changed_where_it_stands_and_nothing_else() {
        let rows = [
            (
                "kv_cache_config:\n  tokens_per_block: 16  # was 8\n",
                "kv_cache_config:\n  tokens_per_block: 32  # was 8\n",
            ),
            (
                "kv_cache_config: {tokens_per_block: 16, dtype: fp8}\n",
                "kv_cache_config: {tokens_per_block: 32, dtype: fp8}\n",
            ),
            (
                "other:\n  tokens_per_block: 16\nkv_cache_config:\n  tokens_per_block: 16\n",
                "other:\n  tokens_per_block: 16\nkv_cache_config:\n  tokens_per_block: 32\n",
            ),
            (
                "# tokens_per_block: 16\nkv_cache_config:\r\n  tokens_per_block: 16\r\n",
                "# tokens_per_block: 16\nkv_cache_config:\r\n  tokens_per_block: 32\r\n",
            ),
            (
                "{\"kv_cache_config\": {\"tokens_per_block\": 16}}",
                "{\"kv_cache_config\": {\"tokens_per_block\": 32}}",
            ),
        ];
        for (old, new) in rows {
            assert_eq!(yaml(old).as_deref(), Some(new));
            assert_eq!(yaml(new).as_deref(), Some(new), "it changes nothing twice");
        }
    }

    #[test]
    fn a_missing_value_is_added_in_the_style_of_its_neighbours() {
        let rows = [
            (
                "kv_cache_config:\n    dtype: fp8\n",
                "kv_cache_config:\n    tokens_per_block: 32\n    dtype: fp8\n",
            ),
            (
                "a: 1\nkv_cache_config: {dtype: fp8}",
                "a: 1\nkv_cache_config: {tokens_per_block: 32, dtype: fp8}",
            ),
            ("kv_cache_config: {}\n", "kv_cache_config: {tokens_per_block: 32}\n"),
            ("kv_cache_config:\nb: 1\n", "kv_cache_config:\n  tokens_per_block: 32\nb: 1\n"),
            ("a: 1", "a: 1\nkv_cache_config:\n  tokens_per_block: 32\n"),
            ("", "kv_cache_config:\n  tokens_per_block: 32\n"),
            ("{a: 1, b: 2}", "{kv_cache_config: {tokens_per_block: 32}, a: 1, b: 2}"),
        ];
        for (old, new) in rows {
            assert_eq!(yaml(old).as_deref(), Some(new), "{old}");
        }
        let json = |text| set(text, PATH, "32", Format::Json).map(|edited| edited.text);
        assert_eq!(
            json(r#"{"kv_cache_config":{"dtype":"fp8"}}"#).as_deref(),
            Some(r#"{"kv_cache_config":{"tokens_per_block":32,"dtype":"fp8"}}"#)
        );
        assert_eq!(json("{}").as_deref(), Some(r#"{"kv_cache_config":{"tokens_per_block":32}}"#));
    }

    #[test]
    fn what_cannot_be_changed_safely_is_left_alone() {
        let anchored = "x: &x {tokens_per_block: 16}\nkv_cache_config: *x\n";
        for text in ["- a\n", "kv_cache_config: 7\n", anchored, "a: b: c"] {
            assert_eq!(yaml(text), None, "{text}");
        }
    }

    #[test]
    fn the_lines_to_replace_are_the_whole_entry() {
        let text =
            "a: 1\nkv_cache_config:\n  # why\n  tokens_per_block: 16\n  dtype: fp8\n\nb: 2\n";
        let edited = set(text, PATH, "32", Format::Yaml).unwrap();

        assert_eq!(edited.was.as_deref(), Some("16"));
        assert_eq!(
            edited.block,
            "kv_cache_config:\n  # why\n  tokens_per_block: 32\n  dtype: fp8\n"
        );
    }
}
