//! The labels of metrics that are kept. Values of others may be anything: users, paths, prompts.

use std::borrow::Cow;

/// Labels whose values are ids, sizes or names of parts of a deployment. A decoder sees no others.
const KNOWN: [&str; 34] = [
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

/// Returns a line of a scrape with only the labels that are known; its name and value stay.
pub(super) fn known_labels(line: &str) -> Cow<'_, str> {
    let Some((name, rest)) = line.split_once('{') else { return Cow::Borrowed(line) };
    let mut kept = String::new();
    let mut rest = rest;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(value) = rest.strip_prefix('}') {
            return Cow::Owned(format!("{name}{{{kept}}}{value}"));
        }
        // What is not written like labels is kept by nobody.
        let Some((label, quoted)) = rest.split_once("=\"") else {
            return Cow::Owned(name.to_owned());
        };
        let Some(end) = end_of_value(quoted) else { return Cow::Owned(name.to_owned()) };
        if KNOWN.contains(&label.trim()) {
            if !kept.is_empty() {
                kept.push(',');
            }
            kept.push_str(label.trim());
            kept.push_str("=\"");
            kept.push_str(&quoted[..=end]);
        }
        rest = &quoted[end + 1..];
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
