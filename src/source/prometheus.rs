//! A Prometheus server: its query API, of which two paths are asked, with GET only.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::{Body, ClientBuilder};
use kube::config::Config;
use serde_json::Value;
use tokio::time::timeout;

use super::kube::deepest;
use super::user_agent;
use crate::domain::{Timestamp, steers};

/// The longest answer that is read: some 100,000 series.
const LARGEST: usize = 32 << 20;

/// Longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Longest part of a message of the server that is shown.
const MESSAGE: usize = 200;

/// The address of a Prometheus server, and how to log in.
#[derive(Clone, Debug, Default)]
pub struct PrometheusOptions {
    /// Its address, with the path that its API is below.
    pub url: String,
    /// The file with a bearer token, which is read again when it changes.
    pub token_file: Option<PathBuf>,
    /// The file with the certificates of the authority to trust (PEM), instead of those of the system.
    pub ca_file: Option<PathBuf>,
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrometheusError {
    /// The address or a file cannot be used.
    #[error("could not use --prometheus {server}: {why}")]
    Unusable {
        /// The address.
        server: String,
        /// Why.
        why: String,
    },
    /// It cannot be reached.
    #[error("could not reach Prometheus at {server}: {why}")]
    Unreachable {
        /// The address.
        server: String,
        /// Why.
        why: String,
    },
    /// Its certificate is not trusted.
    #[error(
        "the certificate of {server} is not trusted: pass its authority with --prometheus-ca ({why})"
    )]
    Untrusted {
        /// The address.
        server: String,
        /// Why.
        why: String,
    },
    /// It wants a login.
    #[error("Prometheus at {server} answered {status}: pass a token with --prometheus-token-file")]
    Unauthorized {
        /// The address.
        server: String,
        /// The status.
        status: StatusCode,
    },
    /// It answered with an error.
    #[error("Prometheus at {server} answered {status}: {message}")]
    Failed {
        /// The address.
        server: String,
        /// The status.
        status: StatusCode,
        /// Its own words.
        message: String,
    },
    /// It answered something else.
    #[error("{server} does not answer like a Prometheus: {why}")]
    Foreign {
        /// The address.
        server: String,
        /// Why.
        why: String,
    },
}

/// A way to query a Prometheus server.
#[derive(Clone)]
pub struct PrometheusClient {
    client: kube::Client,
    server: String,
    token_file: Option<PathBuf>,
}

impl PrometheusClient {
    /// Reads the options; asks the server nothing yet. Must be called within a runtime.
    pub fn new(options: &PrometheusOptions) -> Result<Self, PrometheusError> {
        let server = options.url.trim_end_matches('/').to_owned();
        let unusable = |why: String| PrometheusError::Unusable { server: server.clone(), why };
        let uri: http::Uri = server.parse().map_err(|_| unusable("not an address".to_owned()))?;
        // A file that is not there would otherwise show only as a refused login.
        for file in [&options.token_file, &options.ca_file].into_iter().flatten() {
            let missing = |error| unusable(format!("{}: {error}", file.display()));
            std::fs::metadata(file).map_err(missing)?;
        }
        let mut config = Config::new(uri);
        config.root_cert_file.clone_from(&options.ca_file);
        config.connect_timeout = Some(Duration::from_secs(5));
        // Whoever asks will ask again, and tells meanwhile.
        config.default_retry = false;
        if let Ok(agent) = HeaderValue::from_str(&user_agent("fleet view")) {
            config.headers.push((header::USER_AGENT, agent));
        }
        let named =
            options.ca_file.as_ref().map_or(String::new(), |it| format!("{}: ", it.display()));
        let refused = |error| unusable(format!("{named}{}", deepest(&error)));
        let client = ClientBuilder::try_from(config).map_err(refused)?;
        Ok(Self { client: client.build(), server, token_file: options.token_file.clone() })
    }

    /// Returns the address.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the `data` of what `query` finds at `at`; now for none.
    pub async fn instant(
        &self,
        query: &str,
        at: Option<Timestamp>,
    ) -> Result<Value, PrometheusError> {
        let time = at.map_or(String::new(), |at| format!("&time={}", seconds(at)));
        self.get(&format!("/api/v1/query?query={}{time}", encoded(query))).await
    }

    /// Returns the `data` of what `query` finds at every `step` from `from` to `to`.
    pub async fn range(
        &self,
        query: &str,
        (from, to): (Timestamp, Timestamp),
        step: Duration,
    ) -> Result<Value, PrometheusError> {
        let (from, to, step) = (seconds(from), seconds(to), step.as_secs().max(1));
        let query = encoded(query);
        self.get(&format!("/api/v1/query_range?query={query}&start={from}&end={to}&step={step}"))
            .await
    }

    /// Returns what logs in; the file is read for each request, since clusters renew tokens.
    fn authorization(&self) -> Result<Option<HeaderValue>, PrometheusError> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let unusable = |why: String| PrometheusError::Unusable {
            server: self.server.clone(),
            why: format!("{}: {why}", file.display()),
        };
        let text = std::fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?;
        let value = HeaderValue::from_str(&format!("Bearer {}", text.trim()));
        let no_token = |_| unusable("a token is one word of ASCII letters".to_owned());
        let mut value = value.map_err(no_token)?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    async fn get(&self, path: &str) -> Result<Value, PrometheusError> {
        let server = || self.server.clone();
        let unreachable = |why: String| PrometheusError::Unreachable { server: server(), why };
        let foreign =
            |why: &str| PrometheusError::Foreign { server: server(), why: why.to_owned() };
        let asking = async {
            let mut request = Request::get(path)
                .header(header::ACCEPT, "application/json")
                .body(Body::empty())
                .map_err(|error| unreachable(error.to_string()))?;
            if let Some(token) = self.authorization()? {
                request.headers_mut().insert(header::AUTHORIZATION, token);
            }
            let response = self.client.send(request).await;
            let response = response.map_err(|error| match deepest(&error) {
                // The words of rustls, which has no other way to tell it apart through its callers.
                why if why.contains("invalid peer certificate") => {
                    PrometheusError::Untrusted { server: server(), why }
                }
                why => unreachable(why),
            })?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            let body = body.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    foreign("an answer of more than 32 MiB")
                } else {
                    unreachable(format!("the answer was cut: {error}"))
                }
            })?;
            Ok((status, body.to_bytes()))
        };
        let answered = timeout(PATIENCE, asking).await;
        let late = || unreachable(format!("no answer within {} s", PATIENCE.as_secs()));
        let (status, body) = answered.unwrap_or_else(|_| Err(late()))?;
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(PrometheusError::Unauthorized { server: server(), status });
        }
        let answer = serde_json::from_slice(&body).unwrap_or(Value::Null);
        match (answer["status"].as_str(), answer.get("data")) {
            (Some("success"), Some(data)) if status.is_success() => Ok(data.clone()),
            (Some("error"), _) => {
                let message = answer["error"].as_str().unwrap_or_default();
                let message = message.chars().filter(|it| !steers(*it)).take(MESSAGE).collect();
                Err(PrometheusError::Failed { server: server(), status, message })
            }
            _ if !status.is_success() => Err(foreign(&format!("its query API answered {status}"))),
            _ => Err(foreign("its answer is not that of the query API")),
        }
    }
}

/// Returns `at` as the API reads times.
fn seconds(at: Timestamp) -> String {
    format!("{}.{:03}", at.0 / 1_000_000, at.0 / 1_000 % 1_000)
}

/// Returns `text` for use in a query.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        // Writing to a string cannot fail.
        write!(encoded, "%{byte:02X}").unwrap_or_default();
    }
    encoded
}
