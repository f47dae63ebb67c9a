//! The labels of metrics that are kept. Values of others may be anything: users, paths, prompts.

use std::borrow::Cow;

/// Labels whose values are ids, sizes or names of parts of a deployment. A decoder sees no others.
const KNOWN: [&str; 35] = [
    "block_size",
    "component",
    "dp_rank",
    "dynamo_component",
    "dynamo_endpoint",
    "dynamo_namespace",
    "endpoint",
    "engine",
    "engine_type",
    "event_type",
    "finished_reason",
    "instance_id",
    "kv_cache_dtype",
    "kv_cache_size_tokens",
    "le",
    "lora_name",
    "model",
    "model_name",
    "moe_ep_rank",
    "num_cpu_blocks",
    "num_gpu_blocks",
    "phase",
    "pp_rank",
    "quantile",
    "rank",
    "request_type",
    "router_id",
    "router_worker_id",
    "source",
    "stage",
    "status",
    "tp_rank",
    "worker_id",
    "worker_type",
    "enable_prefix_caching",
];

/// Returns `body` without unknown labels and without comments, which hold text only.
pub fn kept_of_scrape(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        if !line.is_empty() && !line.starts_with('#') {
            kept.push_str(&known_labels(line));
            kept.push('\n');
        }
    }
    kept.into_bytes()
}

/// A label of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label<'a> {
    pub(super) name: &'a str,
    /// Without its escapes.
    pub(super) value: Cow<'a, str>,
}

/// A line, taken apart into its name, known labels, and the rest, which starts with white space.
type Parts<'a> = (&'a str, Vec<Label<'a>>, &'a str);

/// Takes a line apart. None when it is not written like a sample.
pub(super) fn take_apart(line: &str) -> Option<Parts<'_>> {
    let end = line.find(['{', ' ', '\t'])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        let mut scan = Scan { rest: inside };
        for (name, raw) in scan.by_ref() {
            if KNOWN.contains(&name) {
                labels.push(Label { name, value: without_escapes(raw) });
            }
        }
        rest = scan.rest.strip_prefix('}')?;
    }
    rest.starts_with([' ', '\t']).then_some((name, labels, rest))
}

/// Returns a line of a scrape with only the labels that are known; its name and value stay.
pub(super) fn known_labels(line: &str) -> Cow<'_, str> {
    let Some((name, rest)) = line.split_once('{') else { return Cow::Borrowed(line) };
    let mut kept = String::new();
    let mut scan = Scan { rest };
    for (label, value) in scan.by_ref().filter(|(label, _)| KNOWN.contains(label)) {
        if !kept.is_empty() {
            kept.push(',');
        }
        kept.push_str(label);
        kept.push_str("=\"");
        kept.push_str(value);
        kept.push('"');
    }
    match scan.rest.strip_prefix('}') {
        Some(value) => Cow::Owned(format!("{name}{{{kept}}}{value}")),
        // Text that is not written like labels may hold anything.
        None => Cow::Owned(name.to_owned()),
    }
}

/// The labels at the start of a text, with their escapes. Stops at `}`, which stays, or where no label is.
struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Scan<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        self.rest = self.rest.trim_start_matches([',', ' ']);
        if self.rest.starts_with('}') {
            return None;
        }
        let label = self.rest.split_once("=\"").and_then(|(name, quoted)| {
            let end = end_of_value(quoted)?;
            Some((name.trim(), &quoted[..end], &quoted[end + 1..]))
        });
        let Some((name, value, rest)) = label else {
            self.rest = "";
            return None;
        };
        self.rest = rest;
        Some((name, value))
    }
}

/// Returns where the quote is that ends a value.
fn end_of_value(quoted: &str) -> Option<usize> {
    let mut escaped = false;
    quoted.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Resolves the escapes of a value: a backslash, a quote, a line feed.
fn without_escapes(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut clear = String::with_capacity(raw.len());
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        clear.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    Cow::Owned(clear)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_not_known_go_and_values_stay() {
        let table = [
            ("a 1", "a 1"),
            ("a{} 1", "a{} 1"),
            ("a{le=\"0.5\"} 1", "a{le=\"0.5\"} 1"),
            ("a{user=\"x\",le=\"0.5\",prompt=\"say \\\"}\\\\\"} 1 2", "a{le=\"0.5\"} 1 2"),
            ("a{ model = \"m\", } 1", "a"),
            ("a{model=\"m\", x=\"}\"} 1", "a{model=\"m\"} 1"),
            ("a{model=\"m", "a"),
            ("a{secret", "a"),
        ];
        for (line, expected) in table {
            assert_eq!(known_labels(line), expected, "{line}");
        }
        let page = b"# HELP a a question\n# TYPE a gauge\na{user=\"x\"} 1\n\nb 2\n";
        assert_eq!(kept_of_scrape(page), b"a{} 1\nb 2\n");
    }

    #[test]
    fn long_lines_are_read_once() {
        for part in ["{", "\"", "\\", "a=\"", "a=\"b\",", "}", ","] {
            let line = format!("name{{{}", part.repeat((64 << 10) / part.len()));
            drop(known_labels(&line));
        }
    }
}
