//! One line of a recording: the header, or a frame.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::{SourceName, Timestamp};
use crate::frame::{Body, Frame, KubeChange, Origin};

/// The first line of a recording. Keys that this build does not know are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The major version of the format.
    pub kvtop_frames: u64,
    /// Dynamo's version, when known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dynamo: String,
    /// The way it was captured.
    #[serde(default)]
    pub captured: String,
    /// A description.
    #[serde(default)]
    pub note: String,
    /// The kinds of data that were removed.
    #[serde(default)]
    pub redacted: Vec<String>,
    /// Everything else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The deployment that was looked at while recording. A replay looks at the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedTarget {
    /// The graph deployment.
    pub dgd: Option<String>,
    /// The Dynamo namespace, where it was named outright.
    pub dynamo_namespace: Option<String>,
    /// True when the user named the logs.
    pub logs_named: bool,
    /// True when there was nothing but logs.
    pub logs_only: bool,
}

/// Keys of the header and of its target.
const TARGET: &str = "target";
const DGD: &str = "dgd";
const DYNAMO_NAMESPACE: &str = "dynamo_namespace";
const LOGS_NAMED: &str = "logs_named";
const LOGS_ONLY: &str = "logs_only";

impl Header {
    /// Returns the header of a recording of `target`.
    #[must_use]
    pub fn of_target(mut self, target: &RecordedTarget) -> Self {
        let mut map = Map::new();
        let parts = [(DGD, &target.dgd), (DYNAMO_NAMESPACE, &target.dynamo_namespace)];
        for (key, value) in parts {
            if let Some(value) = value {
                map.insert(key.to_owned(), Value::from(value.as_str()));
            }
        }
        for (key, holds) in [(LOGS_NAMED, target.logs_named), (LOGS_ONLY, target.logs_only)] {
            if holds {
                map.insert(key.to_owned(), Value::from(true));
            }
        }
        if !map.is_empty() {
            self.other.insert(TARGET.to_owned(), Value::Object(map));
        }
        self
    }

    /// Returns what was looked at; all of it where the header does not say.
    pub fn target(&self) -> RecordedTarget {
        let of = |key| self.other.get(TARGET)?.get(key);
        let text = |key| Some(of(key)?.as_str()?.to_owned());
        let holds = |key| of(key).and_then(Value::as_bool).unwrap_or(false);
        RecordedTarget {
            dgd: text(DGD),
            dynamo_namespace: text(DYNAMO_NAMESPACE),
            logs_named: holds(LOGS_NAMED),
            logs_only: holds(LOGS_ONLY),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct WireFrame {
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    from: WireOrigin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireOrigin {
    Nats {
        subject: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<Arc<str>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        headers: Vec<(String, String)>,
    },
    Jetstream {
        stream: Arc<str>,
        seq: u64,
        subject: Arc<str>,
    },
    Zmq {
        endpoint: Arc<str>,
    },
    Log {
        #[serde(default)]
        namespace: Arc<str>,
        pod: Arc<str>,
        #[serde(default)]
        container: Arc<str>,
    },
    Metrics {
        pod: Arc<str>,
        url: Arc<str>,
    },
    Kube {
        kind: Arc<str>,
        change: String,
    },
    Etcd {
        key: Arc<str>,
        change: String,
    },
    File {
        key: Arc<str>,
        change: String,
    },
    Indexer {
        url: Arc<str>,
    },
    Health {
        source: Arc<str>,
    },
}

/// Returns the line of `frame`, without its newline.
pub fn encode(frame: &Frame) -> String {
    let mut wire = WireFrame {
        at: frame.at.0,
        time: frame.time.map(|time| time.0),
        from: WireOrigin::from(&frame.origin),
        text: None,
        b64: None,
        parts: None,
    };
    match &frame.body {
        Body::Whole(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => wire.text = Some(text.to_owned()),
            Err(_) => wire.b64 = Some(STANDARD.encode(bytes)),
        },
        Body::Parts(parts) => {
            wire.parts = Some(parts.iter().map(|part| STANDARD.encode(part)).collect());
        }
    }
    // Strings, numbers and lists always serialize.
    serde_json::to_string(&wire).unwrap_or_default()
}

/// Reads a line back. The error says what is wrong with it.
pub fn decode(line: &str) -> Result<Frame, String> {
    let wire: WireFrame = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let body = match (wire.text, wire.b64, wire.parts) {
        (Some(text), None, None) => Body::Whole(Bytes::from(text)),
        (None, Some(encoded), None) => Body::Whole(bytes_of(&encoded)?),
        (None, None, Some(parts)) => {
            Body::Parts(parts.iter().map(|part| bytes_of(part)).collect::<Result<_, _>>()?)
        }
        (None, None, None) => return Err("no body: expected `text`, `b64` or `parts`".to_owned()),
        _ => return Err("more than one body".to_owned()),
    };
    Ok(Frame {
        at: Timestamp(wire.at),
        time: wire.time.map(Timestamp),
        origin: wire.from.try_into()?,
        body,
    })
}

fn bytes_of(encoded: &str) -> Result<Bytes, String> {
    STANDARD.decode(encoded).map(Bytes::from).map_err(|error| format!("bad base64: {error}"))
}

impl From<&Origin> for WireOrigin {
    fn from(origin: &Origin) -> Self {
        match origin.clone() {
            Origin::Nats { subject, reply, headers } => Self::Nats { subject, reply, headers },
            Origin::Jetstream { stream, seq, subject } => Self::Jetstream { stream, seq, subject },
            Origin::Zmq { endpoint } => Self::Zmq { endpoint },
            Origin::Log { namespace, pod, container } => Self::Log { namespace, pod, container },
            Origin::Metrics { pod, url } => Self::Metrics { pod, url },
            Origin::Kube { kind, change } => Self::Kube { kind, change: change.name().to_owned() },
            Origin::Etcd { key, put } => Self::Etcd { key, change: change_of(put) },
            Origin::File { key, put } => Self::File { key, change: change_of(put) },
            Origin::Indexer { url } => Self::Indexer { url },
            Origin::Health { source } => Self::Health { source: source.as_str().into() },
        }
    }
}

impl TryFrom<WireOrigin> for Origin {
    type Error = String;

    fn try_from(wire: WireOrigin) -> Result<Self, String> {
        Ok(match wire {
            WireOrigin::Nats { subject, reply, headers } => Self::Nats { subject, reply, headers },
            WireOrigin::Jetstream { stream, seq, subject } => {
                Self::Jetstream { stream, seq, subject }
            }
            WireOrigin::Zmq { endpoint } => Self::Zmq { endpoint },
            WireOrigin::Log { namespace, pod, container } => {
                Self::Log { namespace, pod, container }
            }
            WireOrigin::Metrics { pod, url } => Self::Metrics { pod, url },
            WireOrigin::Kube { kind, change } => {
                let known = KubeChange::ALL.into_iter().find(|known| known.name() == change);
                let change = known.ok_or_else(|| format!("unknown kube change `{change}`"))?;
                Self::Kube { kind, change }
            }
            WireOrigin::Etcd { key, change } => Self::Etcd { key, put: is_put("etcd", &change)? },
            WireOrigin::File { key, change } => Self::File { key, put: is_put("file", &change)? },
            WireOrigin::Indexer { url } => Self::Indexer { url },
            WireOrigin::Health { source } => Self::Health { source: SourceName::from(&*source) },
        })
    }
}

fn change_of(put: bool) -> String {
    if put { "put" } else { "delete" }.to_owned()
}

fn is_put(store: &str, change: &str) -> Result<bool, String> {
    match change {
        "put" => Ok(true),
        "delete" => Ok(false),
        other => Err(format!("unknown {store} change `{other}`")),
    }
}
