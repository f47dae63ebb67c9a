//! YAML and JSON with positions: a file cut into documents, each a tree that knows where it stands.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use super::Unreadable;

/// Largest document that is read, in bytes; etcd holds no object of more than 1.5 MiB.
const DOCUMENT_LIMIT: usize = 4 << 20;

/// Most documents of one file.
const DOCUMENTS_LIMIT: usize = 4096;

/// Longest explanation of a refused document, in bytes.
const WHY_LIMIT: usize = 200;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its line in the file, from 1.
    pub(super) line: usize,
    /// Its column, from 1.
    pub(super) column: usize,
    /// Its text in the file: whole for scalars, the start for others; none for what an alias stands for.
    pub(super) span: Option<Range<usize>>,
    /// Its kind.
    pub(super) value: Kind,
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A document of a file.
#[derive(Debug)]
pub(super) struct Document {
    /// Its content.
    pub(super) root: Node,
    /// The template that Helm names as its origin.
    pub(super) template: Option<String>,
}

/// Reads every document of `text`. What cannot be read is told in `refused`.
pub(super) fn read(file: usize, text: &str, refused: &mut Vec<Unreadable>) -> Vec<Document> {
    let mut found = Vec::new();
    let mut template = None;
    for (count, piece) in pieces(text).into_iter().enumerate() {
        if count == DOCUMENTS_LIMIT {
            let why = format!("more than {DOCUMENTS_LIMIT} documents; the rest is skipped");
            refused.push(Unreadable { file, line: piece.line, why });
            break;
        }
        let body = &text[piece.bytes.clone()];
        // Helm names the template before its first document only.
        template = source_comment(body).or(template);
        if body.lines().all(is_bare) {
            continue;
        }
        match parse(body) {
            Ok(root) if matches!(root.value, Kind::Null) => {}
            Ok(mut root) => {
                root.shift(piece.line - 1, piece.bytes.start);
                found.push(Document { root, template: template.clone() });
            }
            Err((line, why)) => {
                refused.push(Unreadable { file, line: piece.line - 1 + line, why });
            }
        }
    }
    found
}

/// A document's place in its file.
struct Piece {
    bytes: Range<usize>,
    /// The line that it starts in, from 1.
    line: usize,
}

/// Cuts a file at its `---` lines: at the margin they separate documents wherever they stand, in block
/// scalars too (YAML 1.2.2, 9.1.2).
fn pieces(text: &str) -> Vec<Piece> {
    let mut found = vec![Piece { bytes: 0..text.len(), line: 1 }];
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let marks = line.strip_prefix("---").is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|letter: char| letter.is_whitespace())
        });
        if marks && at > 0 {
            if let Some(last) = found.last_mut() {
                last.bytes.end = at;
            }
            found.push(Piece { bytes: at..text.len(), line: index + 1 });
        }
        at += line.len();
    }
    found
}

/// Levels of nesting that are read; manifests have some twelve.
const DEPTH_LIMIT: usize = 64;

/// Returns true for lines without content: comments, directives and separators.
fn is_bare(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['#', '%']) || line == "---" || line == "..."
}

fn source_comment(body: &str) -> Option<String> {
    let line = body.lines().take(8).find_map(|line| line.strip_prefix("# Source: "))?;
    Some(crate::wire::printable(line.trim(), WHY_LIMIT).into_owned())
}

/// Reads one document. An error is a line, from 1, and why.
pub(super) fn parse(body: &str) -> Result<Node, (usize, String)> {
    if body.len() > DOCUMENT_LIMIT {
        return Err((1, format!("the document is larger than {} MiB", DOCUMENT_LIMIT >> 20)));
    }
    // The reader bounds nodes and what aliases expand to as well. It recurses on depth.
    let budget = serde_saphyr::budget! { max_depth: DEPTH_LIMIT };
    let options = serde_saphyr::options! { budget: budget, emit_comments: false };
    serde_saphyr::from_str_with_options(body, options).map_err(|error| {
        let plain = error.without_snippet();
        let line = plain.location().map_or(1, |at| usize::try_from(at.line()).unwrap_or(1));
        let text = plain.to_string();
        // It repeats the place, which is told by file and line here.
        let text = text.split_once(" column ").and_then(|(_, rest)| rest.split_once(": "));
        let why = text.map_or_else(|| plain.to_string(), |(_, why)| why.to_owned());
        let near = body.lines().nth(line.max(1) - 1).unwrap_or_default();
        let why = if near.contains("{{") {
            "an unrendered template; pipe `helm template …` into `kvtop lint -`".to_owned()
        } else {
            why
        };
        let why = plain_words(why.lines().next().unwrap_or_default());
        (line.max(1), crate::wire::printable(&why, WHY_LIMIT).into_owned())
    })
}

/// Returns the parser's error without its internal names and position.
fn plain_words(why: &str) -> String {
    let deep = why.starts_with("budget breached") && why.contains("Depth");
    if deep || why.starts_with("recursion limit exceeded") {
        return format!("the document is nested deeper than {DEPTH_LIMIT} levels");
    }
    if why.starts_with("budget breached") {
        return "the document has more than 250,000 nodes, aliases expanded".to_owned();
    }
    let why = why.split(" at line ").next().unwrap_or(why);
    why.split(", set ").next().unwrap_or(why).to_owned()
}

impl Node {
    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(_, node)| node)
    }

    /// Returns a key with its value.
    pub(super) fn entry(&self, key: &str) -> Option<(&Key, &Self)> {
        self.entries().iter().find(|(known, _)| known.text == key).map(|(key, node)| (key, node))
    }

    /// Returns the value at the end of a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the items of a list, else none.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the entries of a map, else none.
    pub(super) fn entries(&self) -> &[(Key, Self)] {
        match &self.value {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the text of a string, else none.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a key.
    pub(super) fn string(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// Returns the value without positions.
    pub(super) fn json(&self) -> Value {
        match &self.value {
            Kind::Null => Value::Null,
            Kind::Bool(flag) => Value::Bool(*flag),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::json).collect()),
            Kind::Map(entries) => {
                let entry = |(key, node): &(Key, Self)| (key.text.clone(), node.json());
                Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// Moves it to where its document stands in the file.
    fn shift(&mut self, lines: usize, bytes: usize) {
        self.line += lines;
        if let Some(span) = &mut self.span {
            *span = span.start + bytes..span.end + bytes;
        }
        match &mut self.value {
            Kind::List(items) => items.iter_mut().for_each(|item| item.shift(lines, bytes)),
            Kind::Map(entries) => {
                for (key, node) in entries {
                    key.line += lines;
                    node.shift(lines, bytes);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
        }
    }
}

fn place(at: Location) -> (usize, usize) {
    let number = |n: u64| usize::try_from(n).unwrap_or(1).max(1);
    (number(at.line()), number(at.column()))
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Spanned::<Kind>::deserialize(deserializer)?;
        let (line, column) = place(found.referenced);
        let bytes = (found.referenced == found.defined)
            .then(|| {
                let span = found.referenced.span();
                let start = usize::try_from(span.byte_offset()?).ok()?;
                Some(start..start + usize::try_from(span.byte_len()?).ok()?)
            })
            .flatten();
        Ok(Self { line, column, span: bytes, value: found.value })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyKind)
    }
}

struct AnyKind;

impl<'de> Visitor<'de> for AnyKind {
    type Value = Kind;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("YAML")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Kind, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Kind, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Kind, E> {
        Ok(Number::from_f64(number).map_or(Kind::Null, Kind::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        Kind::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = access.next_entry::<Spanned<String>, Node>()? {
            let (line, column) = place(key.referenced);
            entries.push((Key { text: key.value, line, column }, node));
        }
        Ok(Kind::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> (Vec<Document>, Vec<Unreadable>) {
        let mut refused = Vec::new();
        let found = read(0, text, &mut refused);
        (found, refused)
    }

    #[test]
    fn documents_keep_their_lines_and_the_template_they_are_from() {
        let text = "# top\n---\n# Source: chart/templates/a.yaml\na: 1\n---\n\n---\nb:\n  - c: \"x\"\n...\n";

        let (found, refused) = read_all(text);

        assert!(refused.is_empty(), "{refused:?}");
        let second = found[1].root.get("b").unwrap().items()[0].get("c").unwrap();
        assert_eq!((found[0].root.get("a").unwrap().line, second.line, second.column), (4, 9, 8));
        assert_eq!(&text[second.span.clone().unwrap()], "\"x\"");
        assert_eq!(found[0].template.as_deref(), Some("chart/templates/a.yaml"));
    }

    #[test]
    fn one_bad_document_does_not_hide_the_others() {
        let (found, refused) = read_all("a: 1\n---\nb: c: d\n---\ne: {{ .Values.x }}\n---\nf: 1\n");

        assert_eq!(found.len(), 2);
        assert_eq!(refused.iter().map(|bad| bad.line).collect::<Vec<_>>(), [3, 5]);
        assert!(refused[0].why.contains("mapping values"), "{refused:?}");
        assert!(refused[1].why.contains("helm template"), "{refused:?}");
    }

    #[test]
    fn bombs_depths_and_floods_are_refused() {
        let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for letter in 'b'..='m' {
            let line = vec![format!("*{}", char::from(letter as u8 - 1)); 9].join(", ");
            bomb.extend([String::from(letter), format!(": &{letter} [{line}]\n")]);
        }
        let flood = "---\na: 1\n".repeat(DOCUMENTS_LIMIT + 10);
        let cases =
            [bomb, "[".repeat(100_000), format!("a: {}", "x".repeat(DOCUMENT_LIMIT)), flood];
        for text in cases {
            let (_, refused) = read_all(&text);
            assert_eq!(refused.len(), 1, "{}", &text[..20]);
            assert!(refused[0].why.len() <= WHY_LIMIT + 4);
        }
    }

    #[test]
    fn what_an_alias_stands_for_has_no_text_of_its_own() {
        let (found, _) = read_all("a: &x {k: v}\nb: *x\n");

        let root = &found[0].root;
        assert!(root.at(&["a", "k"]).unwrap().span.is_some());
        assert!(root.at(&["b", "k"]).unwrap().span.is_none());
        assert_eq!(root.at(&["b", "k"]).unwrap().line, 2);
    }
}
