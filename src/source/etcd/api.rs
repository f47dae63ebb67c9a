//! The questions to etcd: its JSON gateway, of which three paths are used.
//!
//! `/v3/kv/range` and `/v3/watch` read; `/v3/auth/authenticate` logs in. Nothing else is ever sent.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::answers::{LARGEST, Lines, Pair, WatchResult, refusal};
use super::url::EtcdAddress;
use crate::domain::Reason;
use crate::source::kube::deepest;
use crate::source::nats::Secret;
use crate::source::reach::{Reach, bracketed};
use crate::source::user_agent;

/// The prefix that is read: everything below `v1/` (dynamo-runtime 0.9.0, `discovery/kv_store.rs:19`).
const PREFIX: &[u8] = b"v1/";

/// The first key after it.
const AFTER: &[u8] = b"v10";

/// Keys in an answer. A model card has some kilobytes.
const PAGE: u64 = 500;

/// Longest time to connect: a second for a direct connection, then a forward.
const CONNECT: Duration = Duration::from_secs(6);

/// Longest time for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// A connection, and what is said on it.
pub(super) struct Api {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    token: Option<Secret>,
    task: AbortHandle,
}

impl Drop for Api {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug, Default, Deserialize)]
struct Header {
    #[serde(default)]
    revision: String,
}

/// A page of keys.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    #[serde(default)]
    header: Header,
    #[serde(default)]
    pub(super) kvs: Vec<Pair>,
    #[serde(default)]
    pub(super) more: bool,
}

impl Page {
    /// Returns the revision that it shows.
    pub(super) fn revision(&self) -> Option<u64> {
        self.header.revision.parse().ok()
    }
}

/// Connects to the first of `addresses` that takes a connection.
pub(super) async fn connect(reach: &Reach, addresses: &[EtcdAddress]) -> Result<Api, Reason> {
    let mut why = Reason::from("no address is given");
    for address in addresses {
        let opening = async {
            let line = reach.connect(&address.host, address.port, None).await?;
            handshake(TokioIo::new(line)).await.map_err(|error| Reason::from(deepest(&error)))
        };
        let host = format!("{}:{}", bracketed(&address.host), address.port);
        match timeout(CONNECT, opening).await {
            Ok(Ok((sender, connection))) => {
                let task = tokio::spawn(async move {
                    // Its end shows in the sender.
                    drop(connection.await);
                });
                return Ok(Api { sender, host, token: None, task: task.abort_handle() });
            }
            Ok(Err(error)) => why = advised(error).at(&host),
            Err(_) => why = format!("{host}: no connection within {} s", CONNECT.as_secs()).into(),
        }
    }
    Err(why)
}

/// Start of the words for a host name that cannot be resolved, as the standard library has them.
const LOOKUP: &str = "failed to lookup address information";

/// Returns why there is no connection, with advice for a host name that cannot be resolved.
fn advised(why: Reason) -> Reason {
    if why.text.starts_with(LOOKUP) {
        let text = format!("{}; check --etcd-url", why.text);
        return Reason { text: text.into(), ..why };
    }
    why
}

impl Api {
    /// Logs in; what is asked from then on is asked as `user`.
    pub(super) async fn log_in(&mut self, user: &str, password: &Secret) -> Result<(), Reason> {
        #[derive(Deserialize)]
        struct Answer {
            token: String,
        }
        let question = json!({ "name": user, "password": password.expose() });
        let answer: Answer = self.ask("/v3/auth/authenticate", &question).await?;
        self.token = Some(Secret::new(answer.token));
        Ok(())
    }

    /// Returns the keys after `after`, as they were at `revision`; now, when it is none.
    pub(super) async fn page(
        &mut self,
        after: Option<&str>,
        revision: Option<u64>,
    ) -> Result<Page, Reason> {
        // The key that follows directly has a zero byte more.
        let from = after.map_or_else(|| PREFIX.to_vec(), |key| [key.as_bytes(), &[0]].concat());
        let mut question = json!({
            "key": STANDARD.encode(from),
            "range_end": STANDARD.encode(AFTER),
            "limit": PAGE.to_string(),
            "sort_target": "KEY",
            "sort_order": "ASCEND",
        });
        if let Some(revision) = revision {
            question["revision"] = revision.to_string().into();
        }
        self.ask("/v3/kv/range", &question).await
    }

    /// Asks for as little as possible, to know that etcd is there.
    pub(super) async fn probe(&mut self) -> Result<(), Reason> {
        let question = json!({
            "key": STANDARD.encode(PREFIX),
            "range_end": STANDARD.encode(AFTER),
            "count_only": true,
        });
        self.ask::<Page>("/v3/kv/range", &question).await.map(|_| ())
    }

    /// Starts to watch what changes after `revision`.
    pub(super) async fn watch(&mut self, revision: u64) -> Result<Watch, Reason> {
        let question = json!({ "create_request": {
            "key": STANDARD.encode(PREFIX),
            "range_end": STANDARD.encode(AFTER),
            "start_revision": (revision + 1).to_string(),
        }});
        let asked = timeout(ANSWER, self.post("/v3/watch", &question)).await;
        let asked = asked.unwrap_or_else(|_| Err(late().into()));
        let response = asked.map_err(|why| why.at(&self.host))?;
        Ok(Watch { body: response.into_body(), lines: Lines::default() })
    }

    async fn ask<T: for<'a> Deserialize<'a>>(
        &mut self,
        path: &str,
        question: &Value,
    ) -> Result<T, Reason> {
        let asking = async {
            let response = self.post(path, question).await?;
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            let body = body.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    format!("{path} answered with more than {} MiB", LARGEST >> 20)
                } else {
                    format!("the answer to {path} was cut: {error}")
                }
            })?;
            serde_json::from_slice(&body.to_bytes())
                .map_err(|_| Reason::from(format!("{path} answered something that is not etcd's")))
        };
        let asked = timeout(ANSWER, asking).await.unwrap_or_else(|_| Err(late().into()));
        asked.map_err(|why| why.at(&self.host))
    }

    async fn post(
        &mut self,
        path: &str,
        question: &Value,
    ) -> Result<http::Response<Incoming>, Reason> {
        let words = |error: hyper::Error| {
            let other = if error.is_parse() { "what is there does not speak HTTP: " } else { "" };
            format!("{other}{}", deepest(&error))
        };
        self.sender.ready().await.map_err(words)?;
        let mut request = http::Request::post(path)
            .header(http::header::HOST, &self.host)
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::USER_AGENT, user_agent("discovery records"));
        if let Some(token) = &self.token {
            request = request.header(http::header::AUTHORIZATION, token.expose());
        }
        let body = Full::new(Bytes::from(question.to_string()));
        let request = request.body(body).map_err(|error| error.to_string())?;
        let response = self.sender.send_request(request).await.map_err(words)?;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        let status = response.status();
        let body = Limited::new(response.into_body(), 64 << 10).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let said: Option<Value> = serde_json::from_slice(&body).ok();
        let said = said.as_ref().and_then(|said| said["error"].as_str());
        Err(match said {
            Some(said) => refusal(said),
            None => format!("{path} answered {status}").into(),
        })
    }
}

fn late() -> String {
    format!("no answer within {} s", ANSWER.as_secs())
}

/// A watch, as it goes on.
pub(super) struct Watch {
    body: Incoming,
    lines: Lines,
}

impl Watch {
    /// Returns what comes next. May be dropped while it waits; nothing is lost.
    pub(super) async fn next(&mut self) -> Result<WatchResult, Reason> {
        loop {
            if let Some(result) = self.lines.next()? {
                return Ok(result);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.lines.push(data);
                    }
                }
                Some(Err(error)) => {
                    return Err(format!("the watch was cut: {}", deepest(&error)).into());
                }
                None => return Err("the watch ended".into()),
            }
        }
    }
}
