//! Templates of JSON paths, as `kubectl -o jsonpath` takes them.
//!
//! Text outside braces is printed as it is. In braces stands a path (`.findings[0].id`, `.workers[*].pod`,
//! `.checks[?(@.verdict=="unknown")].id`), a literal (`"\n"`), or `range PATH` … `end`.

use std::fmt;

use serde_json::Value;

use crate::domain::steers;

/// Longest template, and how deep ranges may nest.
const LIMITS: (usize, usize) = (4096, 8);

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Values(Vec<Step>),
    Range(Vec<Step>, Vec<Part>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    At(i64),
    All,
    /// Elements whose field at a path equals a value, or does not.
    Where {
        path: Vec<Step>,
        value: Value,
        equal: bool,
    },
}

/// A mistake in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPath {
    why: &'static str,
    near: String,
}

impl fmt::Display for BadPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.why)?;
        if self.near.is_empty() { Ok(()) } else { write!(out, " near `{}`", self.near) }
    }
}

impl std::error::Error for BadPath {}

fn bad(why: &'static str, near: &str) -> BadPath {
    BadPath { why, near: near.chars().take(20).collect() }
}

impl JsonPath {
    /// Reads a template. One without braces is a path, as for kubectl.
    pub fn parse(template: &str) -> Result<Self, BadPath> {
        if template.len() > LIMITS.0 {
            return Err(bad("the template is too long", template));
        }
        let whole = format!("{{{template}}}");
        let template = if template.contains('{') { template } else { &whole };
        let mut rest = template;
        let parts = parts(&mut rest, 0)?;
        Ok(Self(parts))
    }

    /// Returns what the template prints of `value`. Several values of a path are separated by blanks.
    pub fn print(&self, value: &Value) -> String {
        let mut out = String::new();
        printed(&self.0, value, &mut out);
        out
    }
}

/// Reads parts up to the end, or to the `end` of a range.
fn parts(rest: &mut &str, depth: usize) -> Result<Vec<Part>, BadPath> {
    let mut found = Vec::new();
    loop {
        let Some((text, after)) = rest.split_once('{') else {
            if depth > 0 {
                return Err(bad("a range has no {end}", rest));
            }
            if !rest.is_empty() {
                found.push(Part::Text((*rest).to_owned()));
            }
            return Ok(found);
        };
        if !text.is_empty() {
            found.push(Part::Text(text.to_owned()));
        }
        let (inside, after) = closed(after)?;
        *rest = after;
        let inside = inside.trim();
        if inside == "end" {
            return if depth > 0 { Ok(found) } else { Err(bad("{end} without a range", inside)) };
        }
        if let Some(list) = inside.strip_prefix("range ") {
            if depth >= LIMITS.1 {
                return Err(bad("ranges are nested too deep", list));
            }
            let list = steps(list.trim())?;
            found.push(Part::Range(list, parts(rest, depth + 1)?));
        } else if inside.starts_with('"') {
            let text = serde_json::from_str(inside);
            found.push(Part::Text(text.map_err(|_| bad("not a literal", inside))?));
        } else {
            found.push(Part::Values(steps(inside)?));
        }
    }
}

/// Returns what is before the closing brace, and what follows it; braces in quotes do not count.
fn closed(text: &str) -> Result<(&str, &str), BadPath> {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '}') => return Ok((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    Err(bad("a brace is not closed", text))
}

fn steps(path: &str) -> Result<Vec<Step>, BadPath> {
    let mut rest = path.strip_prefix(['$', '@']).unwrap_or(path);
    let mut found = Vec::new();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (inside, after) = bracketed(inside)?;
            found.push(bracket(inside)?);
            rest = after;
        } else {
            let named = rest.strip_prefix('.').ok_or_else(|| bad("expected `.` or `[`", rest))?;
            let end = named.find(['.', '[']).unwrap_or(named.len());
            let (name, after) = named.split_at(end);
            rest = after;
            match name {
                "*" => found.push(Step::All),
                // A dot alone is the value itself, and `.[0]` is `[0]`.
                "" if found.is_empty() && (rest.is_empty() || rest.starts_with('[')) => {}
                "" => return Err(bad("a name is missing", path)),
                name => found.push(Step::Field(name.to_owned())),
            }
        }
    }
    Ok(found)
}

/// Returns what is before the closing bracket, and what follows it.
fn bracketed(text: &str) -> Result<(&str, &str), BadPath> {
    let end = if text.starts_with("?(") {
        text.find(")]").map(|at| at + 1)
    } else if let Some(quote) = text.chars().next().filter(|it| ['\'', '"'].contains(it)) {
        text[1..].find(quote).map(|at| at + 2).filter(|at| text[*at..].starts_with(']'))
    } else {
        text.find(']')
    };
    let end = end.ok_or_else(|| bad("a bracket is not closed", text))?;
    Ok((&text[..end], &text[end + 1..]))
}

fn bracket(inside: &str) -> Result<Step, BadPath> {
    if inside == "*" {
        return Ok(Step::All);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|it| it.strip_suffix(')')) {
        let (path, value, equal) = match (filter.split_once("=="), filter.split_once("!=")) {
            (Some((path, value)), _) => (path, value, true),
            (None, Some((path, value))) => (path, value, false),
            _ => return Err(bad("a filter compares with == or !=", filter)),
        };
        let value = value.trim();
        let text = value.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
        let value = match text {
            Some(text) => Value::from(text),
            None => serde_json::from_str(value).map_err(|_| bad("not a value", value))?,
        };
        return Ok(Step::Where { path: steps(path.trim())?, value, equal });
    }
    for quote in ['\'', '"'] {
        if let Some(name) = inside.strip_prefix(quote).and_then(|it| it.strip_suffix(quote)) {
            return Ok(Step::Field(name.to_owned()));
        }
    }
    inside
        .parse()
        .map(Step::At)
        .map_err(|_| bad("expected a number, `*`, a name or a filter", inside))
}

fn printed(parts: &[Part], value: &Value, out: &mut String) {
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Values(steps) => {
                for (at, found) in found(steps, value).into_iter().enumerate() {
                    if at > 0 {
                        out.push(' ');
                    }
                    match found {
                        Value::String(text) => push_shown(text, out),
                        other => out.push_str(&other.to_string()),
                    }
                }
            }
            Part::Range(steps, inner) => {
                for found in found(steps, value) {
                    printed(inner, found, out);
                }
            }
        }
    }
}

/// Appends `text` without what steers a terminal: names come from outside, and only corrected lines have breaks.
fn push_shown(text: &str, out: &mut String) {
    out.extend(text.chars().filter(|letter| ['\n', '\t'].contains(letter) || !steers(*letter)));
}

/// Returns the values that a path leads to. What is not there leads nowhere.
fn found<'a>(steps: &[Step], value: &'a Value) -> Vec<&'a Value> {
    let mut now = vec![value];
    for step in steps {
        now = now.into_iter().flat_map(|value| taken(step, value)).collect();
    }
    now
}

fn taken<'a>(step: &Step, value: &'a Value) -> Vec<&'a Value> {
    match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::At(number) => {
            let list = value.as_array().map_or(&[][..], Vec::as_slice);
            let from_end = usize::try_from(number.unsigned_abs())
                .ok()
                .and_then(|by| list.len().checked_sub(by));
            let at = if *number < 0 { from_end } else { usize::try_from(*number).ok() };
            at.and_then(|at| list.get(at)).into_iter().collect()
        }
        Step::All => match value {
            Value::Array(list) => list.iter().collect(),
            Value::Object(fields) => fields.values().collect(),
            _ => Vec::new(),
        },
        Step::Where { path, value: wanted, equal } => {
            let list = value.as_array().map_or(&[][..], Vec::as_slice);
            let holds = |element: &&Value| {
                found(path, element).first().is_some_and(|it| *it == wanted) == *equal
            };
            list.iter().filter(holds).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(template: &str) -> String {
        let value = serde_json::json!({
            "status": "OK", "none": null, "dotted.name": 7,
            "rows": [{"id": "a", "n": 1}, {"id": "b", "n": 2}, {"id": "c{}", "n": null}],
        });
        JsonPath::parse(template).unwrap_or_else(|why| panic!("{template}: {why}")).print(&value)
    }

    #[test]
    fn templates_print_what_kubectl_would() {
        let table = [
            ("{.status}", "OK"),
            (".status", "OK"),
            ("status is {.status}{\"\\n\"}", "status is OK\n"),
            ("{.rows[*].id}", "a b c{}"),
            ("{.rows[0].id} {.rows[-1].id}", "a c{}"),
            ("{.rows[9].id}{.nothing}", ""),
            ("{.rows[?(@.id==\"b\")].n}", "2"),
            ("{.rows[?(@.id!='b')].id}", "a c{}"),
            ("{.rows[?(@.n==null)].id}", "c{}"),
            ("{range .rows[*]}{.id}={.n}{\"\\t\"}{end}.", "a=1\tb=2\tc{}=null\t."),
            ("{['dotted.name']}", "7"),
            ("{$.rows[1]}", "{\"id\":\"b\",\"n\":2}"),
            ("{.rows[1].*}", "b 2"),
        ];
        for (template, expected) in table {
            assert_eq!(printed(template), expected, "{template}");
        }
    }

    #[test]
    fn text_does_not_steer_the_terminal() {
        let value = serde_json::json!({"name": "a\u{1b}[31mb\u{7}\u{9b}\u{202e}c\n\td"});

        assert_eq!(JsonPath::parse("{.name}").unwrap().print(&value), "a[31mbc\n\td");
    }

    #[test]
    fn mistakes_are_named() {
        for template in [
            "{.a",
            "{range .a}",
            "{end}",
            "{a}",
            "{.a[}",
            "{.a[x]}",
            "{.a[?(@.b)]}",
            "{..a}",
            "{\"a}",
        ] {
            let why = JsonPath::parse(template).unwrap_err().to_string();
            assert!(!why.is_empty(), "{template}");
        }
        let deep = "{range .a}".repeat(100) + &"{end}".repeat(100);
        assert!(JsonPath::parse(&deep).unwrap_err().to_string().contains("too deep"));
    }
}
