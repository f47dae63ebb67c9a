//! The questions to etcd: its JSON gateway, of which three paths are used.
//!
//! `/v3/kv/range` and `/v3/watch` read; `/v3/auth/authenticate` logs in. Nothing else is ever sent.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, Bytes, BytesMut};
use http::StatusCode;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::url::EtcdAddress;
use crate::source::kube::deepest;
use crate::source::nats::Secret;
use crate::source::notes::shortened;
use crate::source::reach::{Reach, bracketed};

/// What is read: everything below `v1/` (dynamo-runtime 0.9.0, `discovery/kv_store.rs:19`).
const PREFIX: &[u8] = b"v1/";

/// The first key after it.
const AFTER: &[u8] = b"v10";

/// Keys in an answer. A model card has some kilobytes.
const PAGE: u64 = 500;

/// Largest answer, and largest line of a watch. etcd takes values of 1.5 MiB unless told otherwise.
const LARGEST: usize = 32 << 20;

/// How long connecting may take: a second for a direct connection, then a forward.
const CONNECT: Duration = Duration::from_secs(6);

/// How long an answer may take.
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

/// A key and its value.
#[derive(Debug, Deserialize)]
pub(super) struct Pair {
    pub(super) key: String,
    #[serde(default)]
    pub(super) value: String,
}

impl Pair {
    /// Returns the key, none when it is no text.
    pub(super) fn key(&self) -> Option<String> {
        String::from_utf8(STANDARD.decode(&self.key).ok()?).ok()
    }

    pub(super) fn value(&self) -> Option<Bytes> {
        STANDARD.decode(&self.value).ok().map(Bytes::from)
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

/// What a watch says.
#[derive(Debug, Deserialize)]
pub(super) struct Watched {
    pub(super) result: Option<WatchResult>,
    error: Option<Value>,
}

/// Events of a watch.
#[derive(Debug, Deserialize)]
pub(super) struct WatchResult {
    #[serde(default)]
    pub(super) events: Vec<WatchEvent>,
    #[serde(default)]
    pub(super) canceled: bool,
    #[serde(default)]
    pub(super) cancel_reason: String,
    /// Set when what was asked for is no longer kept.
    #[serde(default)]
    pub(super) compact_revision: Option<String>,
}

/// One change.
#[derive(Debug, Deserialize)]
pub(super) struct WatchEvent {
    /// `DELETE`, or nothing.
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    pub(super) kv: Pair,
}

/// Connects to the first of `addresses` that takes a connection.
pub(super) async fn connect(reach: &Reach, addresses: &[EtcdAddress]) -> Result<Api, String> {
    let mut why = "no address is given".to_owned();
    for address in addresses {
        let opening = async {
            let line = reach.connect(&address.host, address.port, None).await?;
            handshake(TokioIo::new(line)).await.map_err(|error| deepest(&error))
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
            Ok(Err(error)) => why = format!("{host}: {error}"),
            Err(_) => why = format!("{host}: no connection within {} s", CONNECT.as_secs()),
        }
    }
    Err(why)
}

impl Api {
    /// Logs in; what is asked from then on is asked as `user`.
    pub(super) async fn log_in(&mut self, user: &str, password: &Secret) -> Result<(), String> {
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
    ) -> Result<Page, String> {
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
    pub(super) async fn probe(&mut self) -> Result<(), String> {
        let question = json!({
            "key": STANDARD.encode(PREFIX),
            "range_end": STANDARD.encode(AFTER),
            "count_only": true,
        });
        self.ask::<Page>("/v3/kv/range", &question).await.map(|_| ())
    }

    /// Starts to watch what changes after `revision`.
    pub(super) async fn watch(&mut self, revision: u64) -> Result<Watch, String> {
        let question = json!({ "create_request": {
            "key": STANDARD.encode(PREFIX),
            "range_end": STANDARD.encode(AFTER),
            "start_revision": (revision + 1).to_string(),
        }});
        let asked = timeout(ANSWER, self.post("/v3/watch", &question)).await;
        let asked = asked.unwrap_or_else(|_| Err(late()));
        let response = asked.map_err(|why| format!("{}: {why}", self.host))?;
        Ok(Watch { body: response.into_body(), buffer: BytesMut::new(), searched: 0 })
    }

    async fn ask<T: for<'a> Deserialize<'a>>(
        &mut self,
        path: &str,
        question: &Value,
    ) -> Result<T, String> {
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
                .map_err(|_| format!("{path} answered something that is not etcd's"))
        };
        let asked = timeout(ANSWER, asking).await.unwrap_or_else(|_| Err(late()));
        asked.map_err(|why| format!("{}: {why}", self.host))
    }

    async fn post(
        &mut self,
        path: &str,
        question: &Value,
    ) -> Result<http::Response<Incoming>, String> {
        let words = |error: hyper::Error| {
            let other = if error.is_parse() { "what is there does not speak HTTP: " } else { "" };
            format!("{other}{}", deepest(&error))
        };
        self.sender.ready().await.map_err(words)?;
        let mut request = http::Request::post(path)
            .header(http::header::HOST, &self.host)
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::USER_AGENT, "kvtop");
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
            None => format!("{path} answered {status}"),
        })
    }
}

fn late() -> String {
    format!("no answer within {} s", ANSWER.as_secs())
}

/// Returns what etcd said, with what is needed where a right is missing.
fn refusal(said: &str) -> String {
    let said = shortened(said.trim_start_matches("etcdserver: "));
    if said.contains("permission denied") || said.contains("user name is empty") {
        return format!(
            "etcd says: {said}; kvtop needs a user (--etcd-user, --etcd-password-file) with the \
             right to read the keys from `v1/` to `v10`"
        );
    }
    format!("etcd says: {said}")
}

/// A watch, as it goes on.
pub(super) struct Watch {
    body: Incoming,
    buffer: BytesMut,
    /// Bytes at the start of the buffer that hold no newline.
    searched: usize,
}

impl Watch {
    /// Returns what comes next. May be dropped while it waits; nothing is lost.
    pub(super) async fn next(&mut self) -> Result<WatchResult, String> {
        loop {
            if let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.searched + end);
                self.buffer.advance(1);
                self.searched = 0;
                let watched: Watched = serde_json::from_slice(&line)
                    .map_err(|_| "the watch said something that is not etcd's".to_owned())?;
                if let Some(error) = watched.error {
                    let said = error["message"].as_str().or_else(|| error.as_str());
                    return Err(refusal(said.unwrap_or("an error without words")));
                }
                return watched.result.ok_or_else(|| "the watch said nothing".to_owned());
            }
            self.searched = self.buffer.len();
            if self.searched > LARGEST {
                return Err(format!("the watch said more than {} MiB at once", LARGEST >> 20));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
                Some(Err(error)) => return Err(format!("the watch was cut: {}", deepest(&error))),
                None => return Err("the watch ended".to_owned()),
            }
        }
    }
}
