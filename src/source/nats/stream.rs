//! Questions to `JetStream`: which streams there are, what they hold, and their messages by number.
//!
//! Only requests, and only these: `STREAM.NAMES`, `STREAM.INFO`, `STREAM.MSG.GET`. No consumer of any
//! kind: a router of Dynamo 0.9 deletes consumers it does not know, and its purge waits for or fails
//! on them (dynamo-llm 0.9.0, `kv_router/subscriber.rs:956`; dynamo-runtime 0.9.0,
//! `transports/nats.rs:771`).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::{Client, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream::{self, ReadyChunks, Stream, StreamExt};
use serde::Deserialize;

use crate::clock;
use crate::domain::Timestamp;

/// Requests under way at once (DECISIONS: at most 256). The server answers a connection's requests
/// one after the other, so more would only make its replies queue behind each other.
const IN_FLIGHT: usize = 256;

/// Answers taken at a time: few, so that the next questions leave while these are passed on.
const ANSWERS: usize = 32;

/// Streams whose names are read. A list that claims to go on must not be followed for ever.
const MOST_STREAMS: usize = 100_000;

/// Number of times that an unanswered request for one message is repeated.
const ATTEMPTS: u32 = 3;

/// Error codes of the server (nats-server `errors.json`).
const NO_MESSAGE_FOUND: u64 = 10_037;
const STREAM_NOT_FOUND: u64 = 10_059;
/// Not for the account; not at all.
const NOT_ENABLED: [u64; 2] = [10_039, 10_076];

/// A stored message.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) seq: u64,
    pub(super) subject: String,
    pub(super) payload: Bytes,
    pub(super) time: Option<Timestamp>,
}

/// The extent of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The time of its creation; a stream that was deleted and made anew starts counting again.
    pub(super) created: String,
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
    /// The time for which it keeps messages; none if it keeps them for ever.
    pub(super) keeps: Option<Duration>,
}

/// Streams that can be read.
#[derive(Clone, Debug)]
pub(super) enum Survey {
    /// These streams of KV events, some of which may have gone while they were asked about.
    Streams { found: Vec<(Arc<str>, Extent)>, rtt: Duration },
    /// There is no `JetStream`, or not for this account.
    None { rtt: Option<Duration>, why: Absent },
    /// It did not answer this time.
    Failed(String),
}

/// The reason why there is nothing to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// The server does not run it, or not for this account.
    Disabled,
    /// The account may not ask.
    Denied,
}

impl Absent {
    /// Returns what that means and what to do, for people.
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::Disabled => "no history: this server has no JetStream",
            Self::Denied => {
                "no history: this login may not read JetStream (allow \
                 publishing to $JS.API.STREAM.NAMES, $JS.API.STREAM.INFO.* and \
                 $JS.API.STREAM.MSG.GET.*)"
            }
        }
    }
}

#[derive(Deserialize)]
struct ApiError {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    streams: Option<Vec<String>>,
    #[serde(default)]
    total: usize,
    error: Option<ApiError>,
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    created: String,
    #[serde(default)]
    config: Limits,
    state: Option<State>,
    error: Option<ApiError>,
}

#[derive(Default, Deserialize)]
struct Limits {
    /// In nanoseconds; 0 is for ever.
    #[serde(default)]
    max_age: u64,
}

#[derive(Deserialize)]
struct State {
    first_seq: u64,
    last_seq: u64,
}

#[derive(Deserialize)]
struct Got<'a> {
    #[serde(borrow)]
    message: Option<GotMessage<'a>>,
    error: Option<ApiError>,
}

#[derive(Deserialize)]
struct GotMessage<'a> {
    subject: String,
    seq: u64,
    #[serde(default, borrow)]
    data: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    time: std::borrow::Cow<'a, str>,
}

/// Returns the streams of KV events whose names `wanted` accepts, and what they hold.
pub(super) async fn survey(client: Client, wanted: impl Fn(&str) -> bool) -> Survey {
    let mut found = Vec::new();
    let (mut seen, mut rtt) = (0, None);
    loop {
        let asked = clock::now();
        let body = format!("{{\"offset\":{seen}}}");
        let reply = match client.request("$JS.API.STREAM.NAMES", body.into()).await {
            Ok(reply) => reply,
            Err(error) => {
                return match error.kind() {
                    RequestErrorKind::NoResponders => {
                        let rtt = Some(clock::now().since(asked));
                        Survey::None { rtt, why: Absent::Disabled }
                    }
                    // A refusal is told by the server itself; a cluster between two leaders is mute.
                    _ => Survey::Failed(format!("STREAM.NAMES: {error}")),
                };
            }
        };
        let took = *rtt.get_or_insert(clock::now().since(asked));
        let names: Names = match serde_json::from_slice(&reply.payload) {
            Ok(names) => names,
            Err(error) => return Survey::Failed(format!("STREAM.NAMES: {error}")),
        };
        match names.error {
            Some(error) if NOT_ENABLED.contains(&error.err_code) => {
                return Survey::None { rtt: Some(took), why: Absent::Disabled };
            }
            Some(error) => return Survey::Failed(format!("STREAM.NAMES: {}", error.description)),
            None => {}
        }
        let page = names.streams.unwrap_or_default();
        seen += page.len();
        if seen > MOST_STREAMS {
            return Survey::Failed(format!("STREAM.NAMES: more than {MOST_STREAMS} streams"));
        }
        let done = page.is_empty() || seen >= names.total;
        for name in page.into_iter().filter(|name| wanted(name)) {
            match extent(&client, &name).await {
                Ok(Some(extent)) => found.push((name.into(), extent)),
                Ok(None) => {}
                Err(why) => return Survey::Failed(why),
            }
        }
        if done {
            return Survey::Streams { found, rtt: took };
        }
    }
}

async fn extent(client: &Client, stream: &str) -> Result<Option<Extent>, String> {
    let subject = format!("$JS.API.STREAM.INFO.{stream}");
    let reply = client
        .request(subject, Bytes::new())
        .await
        .map_err(|error| format!("STREAM.INFO of {stream}: {error}"))?;
    let info: Info = serde_json::from_slice(&reply.payload)
        .map_err(|error| format!("STREAM.INFO of {stream}: {error}"))?;
    match (info.state, info.error) {
        (Some(state), _) => Ok(Some(Extent {
            created: info.created,
            first_seq: state.first_seq,
            last_seq: state.last_seq,
            keeps: (info.config.max_age > 0).then(|| Duration::from_nanos(info.config.max_age)),
        })),
        (None, Some(error)) if error.err_code == STREAM_NOT_FOUND => Ok(None),
        (None, error) => Err(format!(
            "STREAM.INFO of {stream}: {}",
            error.map_or_else(|| "no state".to_owned(), |error| error.description)
        )),
    }
}

/// Stored messages in the order of their numbers, none for numbers that hold no message.
pub(super) type Messages =
    ReadyChunks<Pin<Box<dyn Stream<Item = Result<Option<Stored>, String>> + Send>>>;

/// Returns the messages of `stream` with these numbers. Asks for no more while it is not polled.
pub(super) fn messages(
    client: &Client,
    stream: &str,
    seqs: impl Iterator<Item = u64> + Send + 'static,
) -> Messages {
    let client = client.clone();
    let subject = async_nats::Subject::from(format!("$JS.API.STREAM.MSG.GET.{stream}"));
    let replies = stream::iter(seqs)
        .map(move |seq| get(client.clone(), subject.clone(), seq))
        .buffered(IN_FLIGHT);
    let boxed: Pin<Box<dyn Stream<Item = _> + Send>> = Box::pin(replies);
    boxed.ready_chunks(ANSWERS)
}

async fn get(
    client: Client,
    subject: async_nats::Subject,
    seq: u64,
) -> Result<Option<Stored>, String> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let request = Request::new().payload(format!("{{\"seq\":{seq}}}").into());
        match client.send_request(subject.clone(), request).await {
            Ok(reply) => return stored(&reply.payload),
            Err(error) if attempt < ATTEMPTS && error.kind() == RequestErrorKind::TimedOut => {}
            Err(error) => return Err(format!("{subject} of {seq}: {error}")),
        }
    }
}

fn stored(reply: &[u8]) -> Result<Option<Stored>, String> {
    let got: Got<'_> = serde_json::from_slice(reply).map_err(|error| error.to_string())?;
    match (got.message, got.error) {
        (Some(message), _) => {
            let payload =
                STANDARD.decode(message.data.as_bytes()).map_err(|error| error.to_string())?;
            Ok(Some(Stored {
                seq: message.seq,
                subject: message.subject,
                payload: payload.into(),
                time: timestamp(&message.time),
            }))
        }
        (None, Some(error)) if error.err_code == NO_MESSAGE_FOUND => Ok(None),
        (None, Some(error)) => Err(error.description),
        (None, None) => Err("the reply holds no message".to_owned()),
    }
}

fn timestamp(text: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_microsecond()).ok().map(Timestamp)
}
