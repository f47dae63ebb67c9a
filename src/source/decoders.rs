//! Decoders that sources keep to themselves, for `tests/fuzz`; nothing else calls them.

use serde_json::Value;

use super::{etcd, kube, zmq};

/// The pieces of a stream, as text, and the reason why it ended early.
pub type Pieces = (Vec<String>, Option<String>);

/// Reads what a ZMQ publisher sends after its greeting, `step` bytes at a time.
pub fn zmq_pieces(bytes: &[u8], step: usize) -> Pieces {
    zmq::read_in_steps(bytes, step)
}

/// Reads the greeting of a ZMQ publisher; returns the minor version, or why it is none.
pub fn zmq_greeting(bytes: &[u8]) -> Result<u8, String> {
    zmq::read_greeting_bytes(bytes)
}

/// Reads a watch of etcd, `step` bytes at a time.
pub fn etcd_answers(bytes: &[u8], step: usize) -> Pieces {
    etcd::read_in_steps(bytes, step)
}

/// Returns a line of a log as `--keep-log-text` keeps it.
pub fn redacted_line(line: &str) -> String {
    kube::redacted_line(line).unwrap_or_else(|| line.to_owned())
}

/// Returns an object as it enters a frame; none when objects of that kind are not watched.
pub fn kept_of_object(kind: &str, object: Value) -> Option<Value> {
    kube::kept_of_object(kind, object)
}
