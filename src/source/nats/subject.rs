//! Subjects and stream names of Dynamo, as far as needed to tell them apart.

use crate::dynamo::plane;

/// Returns the stream whose events are published on `subject`, none for the event plane.
pub(super) fn durable_stream(subject: &str) -> Option<&str> {
    subject.strip_suffix(plane::KV_EVENTS_SUBJECT_END).filter(|stream| !stream.contains('.'))
}

/// Returns what the names of a Dynamo namespace's streams start with.
pub(super) fn stream_prefix(namespace: &str) -> String {
    format!("{}{}{}", plane::STREAM_START, plane::slug(namespace), plane::STREAM_COMPONENT)
}

/// Returns true for a stream of KV events whose name begins with one of `prefixes`, if there are any.
pub(super) fn is_wanted(stream: &str, prefixes: &[String]) -> bool {
    let ours = || prefixes.iter().any(|prefix| stream.starts_with(prefix));
    stream.ends_with(plane::STREAM_END) && (prefixes.is_empty() || ours())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_from_the_event_plane_and_filtered_by_namespace() {
        let prefix = stream_prefix("GTC_gtc.demo");
        assert_eq!(prefix, "namespace-gtc-gtc-demo-component-");
        let stream = "namespace-gtc-gtc-demo-component-tensorrt-llm-kv-events";
        assert_eq!(durable_stream(&format!("{stream}.kv-events")), Some(stream));
        assert_eq!(durable_stream("namespace.dynamo.component.backend.kv-events"), None);
        let other = stream_prefix("other");
        assert!(is_wanted(stream, &[other.clone(), prefix]));
        assert!(!is_wanted(stream, &[other]) && is_wanted(stream, &[]));
        assert!(!is_wanted("OBJ_namespace-x-component-y-radix-bucket", &[]));
    }
}
