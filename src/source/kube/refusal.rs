//! Explains refusals of the Kubernetes API.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::error::chain;
use crate::domain::{Reason, Trouble};

/// The longest part of a server's message that is repeated.
const MESSAGE: usize = 200;

/// The reason for which a request failed. Its text is one sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The credentials are not accepted (401).
    #[error("credentials not accepted by the API server (401): log in again")]
    Unauthorized,
    /// The credentials cannot be renewed.
    #[error("{0}")]
    NoCredentials(String),
    /// A right is missing (403).
    #[error("no permission: {0}")]
    Forbidden(String),
    /// There is no such object or resource (404).
    #[error("not found: {0}")]
    Missing(String),
    /// The requested version is too old (410).
    #[error("the API server has forgotten what was asked for (410)")]
    Gone,
    /// The server wants to be asked later (429).
    #[error("the API server asks to wait (429): {message}")]
    Busy {
        /// When, if it says.
        after: Option<Duration>,
        /// Why.
        message: String,
    },
    /// Any other failure of the server's.
    #[error("the API server answered {status}: {message}")]
    Failed {
        /// The status.
        status: u16,
        /// Why.
        message: String,
    },
    /// The server cannot be reached.
    #[error(
        "could not reach the API server at {server} ({why}): check its address in the kubeconfig, \
         VPN and proxy"
    )]
    Unreachable {
        /// Its address.
        server: Arc<str>,
        /// Why.
        why: String,
    },
    /// The server cannot be trusted.
    #[error(
        "the certificate of the API server at {server} is not trusted ({why}): check \
         certificate-authority in the kubeconfig"
    )]
    Untrusted {
        /// Its address.
        server: Arc<str>,
        /// Why.
        why: String,
    },
    /// The certificate of the server has ended.
    #[error(
        "the certificate of the API server at {server} has expired ({why}): renew it, or set the clock \
         of this machine"
    )]
    Expired {
        /// Its address.
        server: Arc<str>,
        /// Why.
        why: String,
    },
    /// No answer came in time.
    #[error("the API server at {server} did not answer within {limit:?}")]
    Slow {
        /// Its address.
        server: Arc<str>,
        /// The time waited.
        limit: Duration,
    },
    /// The connection was cut in the middle of an answer.
    #[error("the connection to the API server was cut: {0}")]
    Cut(String),
    /// The answer is not what Kubernetes writes.
    #[error("the answer of the API server cannot be read: {0}")]
    Unreadable(String),
}

impl Refusal {
    /// Returns the reason behind an answer that is not a 200. Bodies are `Status` objects or plain
    /// text.
    pub(in crate::source) fn of_answer(status: u16, after: Option<Duration>, body: &[u8]) -> Self {
        let message = message(body);
        match status {
            401 => Self::Unauthorized,
            403 => Self::Forbidden(message),
            404 => Self::Missing(message),
            410 => Self::Gone,
            429 => Self::Busy { after, message },
            status => Self::Failed { status, message },
        }
    }

    /// Returns the reason why there was no answer.
    pub(in crate::source) fn of_transport(error: &kube::Error, server: &Arc<str>) -> Self {
        if let kube::Error::Auth(_) = error {
            return Self::NoCredentials(format!(
                "the credentials cannot be renewed ({}): log in again",
                clip(&chain(error))
            ));
        }
        Self::of_lost_transport(clip(&deepest(error)), Arc::clone(server))
    }

    /// Returns the reason why there was no answer, given the words of the innermost cause.
    fn of_lost_transport(why: String, server: Arc<str>) -> Self {
        // rustls names the alert of a server that refuses the client's certificate: CertificateExpired and the like.
        if why.contains("received fatal alert: Certificate") || why.contains("BadCertificate") {
            return Self::NoCredentials(format!(
                "the API server at {server} refuses the client certificate in the kubeconfig ({why}): log in again, \
                 or renew it"
            ));
        }
        if why.contains("certificate") && why.to_ascii_lowercase().contains("expired") {
            return Self::Expired { server, why };
        }
        if why.contains("certificate") {
            return Self::Untrusted { server, why };
        }
        Self::Unreachable { server, why }
    }

    /// Returns the refusal in words, with its kind of trouble.
    pub(super) fn reason(&self) -> Reason {
        let text = self.to_string();
        match self {
            Self::Untrusted { .. } => Reason::new(Trouble::Certificate, text),
            _ => text.into(),
        }
    }

    /// Returns true when the server itself was not reached, as opposed to saying no.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Untrusted { .. }
            | Self::Expired { .. }
            | Self::Slow { .. }
            | Self::Cut(_) => true,
            Self::Unauthorized
            | Self::NoCredentials(_)
            | Self::Forbidden(_)
            | Self::Missing(_)
            | Self::Gone
            | Self::Busy { .. }
            | Self::Failed { .. }
            | Self::Unreadable(_) => false,
        }
    }
}

/// Returns what the innermost cause says: the others only say that there was one.
pub(in crate::source) fn deepest(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

fn message(body: &[u8]) -> String {
    let status: Option<Value> = serde_json::from_slice(body).ok();
    let text = match status.as_ref().and_then(|status| status["message"].as_str()) {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(body).into_owned(),
    };
    clip(&text)
}

/// Returns `text` in one line of bounded length.
pub(super) fn clip(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_certificates_are_told_apart_by_whose_they_are() {
        let read = |why: &str| Refusal::of_lost_transport(why.to_owned(), "api:6443".into());
        let own = read("received fatal alert: CertificateExpired");
        assert!(matches!(&own, Refusal::NoCredentials(_)), "{own}");
        let words = own.to_string();
        assert!(words.contains("client certificate in the kubeconfig"), "{words}");
        assert!(words.contains("CertificateExpired") && words.contains("log in again"), "{words}");

        let servers = read("invalid peer certificate: certificate expired: verification time 5");
        assert!(matches!(&servers, Refusal::Expired { .. }), "{servers}");
        assert!(servers.reason().troubles.is_empty(), "another authority would not help");
        let unknown = read("invalid peer certificate: UnknownIssuer");
        assert_eq!(unknown.reason().troubles, [Trouble::Certificate]);
        assert!(matches!(read("Connection refused"), Refusal::Unreachable { .. }));
    }
}
