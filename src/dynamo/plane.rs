//! The event plane and discovery: topics, subjects, streams and the keys of records.
//!
//! dynamo-runtime 0.9.0 to 1.6.1 (`transports/event_plane/`, `discovery/`, `slug.rs:28`), dynamo-llm 0.9.0
//! (`kv_router/publisher.rs:32`).

/// The topic of KV events.
pub const KV_EVENTS: &str = "kv-events";

/// An envelope's topic field for KV events in `MessagePack`, up to the start of its payload field.
pub const KV_EVENTS_FIELD: &[u8; 24] = b"\xA5topic\xA9kv-events\xA7payload";

/// The topic of workers' loads.
pub const LOAD: &str = "kv_metrics";

/// The topic of routers' hit rates.
pub const HIT_RATE: &str = "kv-hit-rate";

/// The topic with which routers tell each other of their requests.
pub const ACTIVE_SEQUENCES: &str = "active_sequences_events";

/// The topics that kvtop reads, the most frequent first. Others, such as `forward-pass-metrics`, are passed
/// over.
pub const TOPICS: [&str; 4] = [KV_EVENTS, LOAD, HIT_RATE, ACTIVE_SEQUENCES];

/// Suffix of subjects that carry KV events, also in streams.
pub const KV_EVENTS_SUBJECT_END: &str = ".kv-events";

/// Suffix of the names of streams of KV events.
pub const STREAM_END: &str = "-kv-events";

/// Returns the stream of KV events that stores what is published on `subject`, if one does.
pub fn stream_of(subject: &str) -> Option<&str> {
    subject.strip_suffix(KV_EVENTS_SUBJECT_END).filter(|stream| stream.ends_with(STREAM_END))
}

/// The subjects of all streams of KV events.
pub const STREAM_SUBJECTS: &str = "*.kv-events";

/// Prefix of subjects of the event plane; the Dynamo namespace follows.
pub const SUBJECT_START: &str = "namespace.";

/// Returns the prefixes of the subjects of a Dynamo namespace: as it is up to 1.3, and percent-encoded from 1.4 on
/// (dynamo-runtime 1.4.0, `discovery/mod.rs:287`). They are one for most names.
pub fn subjects_of(namespace: &str) -> Vec<String> {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let encoded: String = namespace.bytes().map(encode).collect();
    let mut names = vec![namespace.to_owned(), encoded];
    names.dedup();
    names.into_iter().map(|name| format!("{SUBJECT_START}{name}.")).collect()
}

/// Returns a Dynamo namespace as the names of streams spell it (dynamo-runtime 0.9.0 `slug.rs:28`, dynamo-llm 0.9.0
/// `kv_router/publisher.rs:32`).
pub fn slug(namespace: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' | '0'..='9' => letter,
        _ => '-',
    };
    namespace.to_lowercase().chars().map(letter).collect()
}

/// Prefix of the names of streams; the Dynamo namespace follows as a slug.
pub const STREAM_START: &str = "namespace-";

/// The separator of namespace and component in a subject.
pub const SUBJECT_COMPONENT: &str = ".component.";

/// The separator of namespace and component in the name of a stream.
pub const STREAM_COMPONENT: &str = "-component-";

/// Returns the Dynamo namespace to which a worker appended a suffix to get `name`, if `name` has one
/// (`DYN_NAMESPACE_WORKER_SUFFIX`, a hash by the operator in hexadecimal digits, from Dynamo 1.0 on).
pub fn without_suffix(name: &str) -> Option<&str> {
    const SHORTEST: usize = 6;
    let (base, suffix) = name.rsplit_once('-')?;
    let hash = suffix.len() >= SHORTEST && suffix.bytes().all(|byte| byte.is_ascii_hexdigit());
    hash.then_some(base)
}

/// Prefix of the keys of discovery records.
pub const RECORDS: &str = "v1/";

/// Prefix of the keys of endpoints.
pub const ENDPOINTS: &str = "v1/instances/";

/// Prefix of the keys of model cards.
pub const CARDS: &str = "v1/mdc/";

/// Prefix of the keys of publishers' addresses.
pub const CHANNELS: &str = "v1/event_channels/";

/// Prefix of the keys of event sources.
pub const SOURCES: &str = "v1/event_sources/";

/// The keys of discovery records that kvtop reads, each as far as its last slash.
pub const RECORD_KINDS: [&str; 4] = [ENDPOINTS, CARDS, CHANNELS, SOURCES];

/// The folder of discovery records in files, below the directory for temporary files.
pub const RECORDS_FOLDER: &str = "dynamo_store_kv";

/// The usual plane of KV events when NATS is silent, for people. ZMQ is the default from 1.3 on
/// (dynamo-runtime 1.3.0, `discovery/mod.rs:40`).
pub const EVENTS_BY_ZMQ: &str = "from Dynamo 1.3 on events use ZMQ unless DYN_EVENT_PLANE=nats is set: find the \
                                 publishers with --etcd-url, --discovery-dir or -n, or pass them with --zmq";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_of_a_name_with_a_dot_differ_from_1_4_on() {
        assert_eq!(subjects_of("gtc-gtc_demo"), ["namespace.gtc-gtc_demo."]);
        assert_eq!(subjects_of("gtc.demo"), ["namespace.gtc.demo.", "namespace.gtc%2Edemo."]);
    }
}
