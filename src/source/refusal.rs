//! Why the API server did not do what it was asked, in words.
//!
//! Reads statuses only as far as they say why; what they are about stays with the caller.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde::Deserialize;

/// Longest body of an error that is read.
const LONGEST: usize = 64 << 10;

/// How long an error's body may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// An answer that is not what was asked for, or none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// 401.
    #[error("the API server does not accept the credentials ({0})")]
    Credentials(String),
    /// 403. For a second or two after its start the API server says so to those who may.
    #[error("{0}")]
    Forbidden(String),
    /// 404 and 410.
    #[error("{0}")]
    NotFound(String),
    /// Any other status.
    #[error("{message}")]
    Status {
        /// The HTTP status.
        code: u16,
        /// What it says.
        message: String,
    },
    /// No answer.
    #[error("{0}")]
    Unreachable(String),
}

impl Refusal {
    /// Returns the refusal that `code` with `message` is.
    pub(super) fn of(code: u16, message: &str) -> Self {
        let message = match message.trim() {
            "" => format!("the API server answered {code}"),
            text => text.to_owned(),
        };
        match code {
            401 => Self::Credentials(message),
            403 => Self::Forbidden(message),
            404 | 410 => Self::NotFound(message),
            _ => Self::Status { code, message },
        }
    }

    /// Returns the refusal in a response that is no success.
    pub(super) async fn read(response: http::Response<Body>) -> Self {
        let code = response.status().as_u16();
        let body = Limited::new(response.into_body(), LONGEST).collect();
        let text = match tokio::time::timeout(PATIENCE, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) | Err(_) => Bytes::new(),
        };
        Self::of(code, &message_in(&text))
    }
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of(status.code, &status.message),
            other => Self::Unreachable(deepest(&other)),
        }
    }
}

/// Returns what the innermost cause of `error` says, and the outermost where that adds something.
pub(super) fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Returns the message of a `Status`, or the text itself: webhooks and proxies send plain text.
fn message_in(body: &Bytes) -> String {
    #[derive(Deserialize)]
    struct Status {
        message: String,
    }
    match serde_json::from_reader::<_, Status>(body.clone().reader()) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_status_is_found_and_plain_text_is_kept() {
        let status = br#"{"kind":"Status","message":"pods \"nope\" not found","code":404}"#;
        let table: [(&[u8], &str); 3] = [
            (status, "pods \"nope\" not found"),
            (b"page not found\n", "page not found\n"),
            (b"", ""),
        ];
        for (body, message) in table {
            assert_eq!(message_in(&Bytes::copy_from_slice(body)), message);
        }
    }

    #[test]
    fn a_status_without_words_is_named_by_its_number() {
        assert_eq!(Refusal::of(502, " ").to_string(), "the API server answered 502");
        assert_eq!(Refusal::of(403, "no"), Refusal::Forbidden("no".to_owned()));
    }
}
