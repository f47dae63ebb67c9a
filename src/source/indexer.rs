//! The indexer source: what a standalone indexer holds, read once.
//!
//! From Dynamo 1.0 on the past is kept nowhere else that can be read without side effects. One GET of
//! `/dump`; the indexer's other paths that only read are not needed, and those that change something
//! are never asked.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::clock;
use crate::domain::{SourceName, SourceState, steers};
use crate::frame::{Frame, Origin};
use crate::source::kube::deepest;
use crate::source::notes::Notes;
use crate::source::reach::Reach;
use crate::source::{Desired, Emitter, SourceHandle, user_agent};

/// The name of the source in notes; the engine knows it by that.
const NAME: SourceName = SourceName::Indexer;

/// Largest dump: about 600 000 blocks.
const LARGEST: usize = 32 << 20;

/// Longest time for connection and answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The wait after a failure.
const RETRY: Duration = Duration::from_secs(5);

/// The pause before asking. What is published after the moment of the dump must be heard, so
/// that subscriptions come first.
const SETTLE: Duration = Duration::from_secs(2);

/// An address that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address of an indexer; expected http://host:port")]
pub struct BadIndexerUrl(String);

/// An indexer source to start.
#[derive(Clone, Debug)]
pub struct IndexerSpec {
    host: Arc<str>,
    port: u16,
    reach: Reach,
    /// Delay before the request.
    pub settle: Duration,
}

impl IndexerSpec {
    /// Reads `http://host:port`.
    pub fn parse(url: &str, reach: Reach) -> Result<Self, BadIndexerUrl> {
        let shown: String = url.chars().filter(|letter| !steers(*letter)).collect();
        let uri: http::Uri = url.parse().map_err(|_| BadIndexerUrl(shown.clone()))?;
        let plain = uri.scheme_str() == Some("http") && uri.path().trim_matches('/').is_empty();
        let host = uri.host().filter(|_| plain).ok_or(BadIndexerUrl(shown))?;
        let host = host.trim_matches(['[', ']']).into();
        Ok(Self { host, port: uri.port_u16().unwrap_or(80), reach, settle: SETTLE })
    }
}

/// Starts the source. Must be called within a runtime.
pub fn spawn(spec: IndexerSpec, emitter: Emitter) -> SourceHandle {
    let (desired, wanted) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let notes = Notes::new(NAME, emitter.clone(), shown);
    let task = tokio::spawn(Source { spec, emitter, wanted, notes }.run());
    SourceHandle { name: NAME, desired, state, task }
}

struct Source {
    spec: IndexerSpec,
    emitter: Emitter,
    wanted: watch::Receiver<Desired>,
    notes: Notes,
}

impl Source {
    async fn run(mut self) {
        let mut told = self.wanted.clone();
        while self.notes.heard {
            let wanted = *self.wanted.borrow_and_update();
            let pause = match wanted {
                Desired::Stopped => break,
                Desired::Suspended => {
                    self.say(SourceState::Suspended, "", None);
                    Duration::MAX
                }
                Desired::Running => tokio::select! {
                    pause = self.read() => pause,
                    changed = told.changed() => if changed.is_ok() { continue } else { break },
                },
            };
            if let Ok(Err(_)) = timeout(pause, told.changed()).await {
                break;
            }
        }
        self.notes.ended();
    }

    /// Reads the dump once, and returns how long there is nothing to do.
    async fn read(&mut self) -> Duration {
        // Told before anything is asked: from now on the engine keeps what comes live.
        self.say(SourceState::Connecting, "", None);
        sleep(self.spec.settle).await;
        let answer = timeout(PATIENCE, self.ask()).await;
        let answer =
            answer.unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())));
        match answer {
            Ok(dump) => {
                let url = format!("http://{}:{}", self.spec.host, self.spec.port).into();
                let why = format!("a dump of {} KiB was read", dump.len().div_ceil(1024));
                if self.emitter.room().await {
                    self.emitter.emit(Frame::new(clock::now(), Origin::Indexer { url }, dump));
                }
                self.say(SourceState::Live, &why, None);
                Duration::MAX
            }
            Err(why) => {
                self.say(SourceState::Down, &why, Some(RETRY));
                RETRY
            }
        }
    }

    async fn ask(&self) -> Result<Bytes, String> {
        let IndexerSpec { host, port, reach, .. } = &self.spec;
        let line = reach.connect(host, *port, None).await.map_err(|why| why.to_string())?;
        let words = |error: hyper::Error| deepest(&error);
        let (mut sender, connection) = handshake(TokioIo::new(line)).await.map_err(words)?;
        let request = http::Request::get("/dump")
            .header(http::header::HOST, format!("{host}:{port}"))
            .header(http::header::USER_AGENT, user_agent("indexer dump"))
            .body(Empty::<Bytes>::new())
            .map_err(|error| error.to_string())?;
        let asking = async {
            let response = sender.send_request(request).await.map_err(words)?;
            if response.status() != http::StatusCode::OK {
                return Err(format!("/dump answered {}", response.status()));
            }
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            body.map(http_body_util::Collected::to_bytes).map_err(|error| {
                if error.is::<LengthLimitError>() {
                    format!("/dump has more than {} MiB", LARGEST >> 20)
                } else {
                    format!("/dump was cut: {error}")
                }
            })
        };
        tokio::pin!(asking, connection);
        tokio::select! {
            answer = &mut asking => answer,
            ended = &mut connection => match ended {
                Ok(()) => asking.await,
                Err(error) => Err(deepest(&error)),
            },
        }
    }

    fn say(&mut self, state: SourceState, why: &str, retry: Option<Duration>) {
        self.notes.set(state, why, retry);
        self.notes.tell_at_once();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_indexers_are_read() {
        let read = |url: &str| IndexerSpec::parse(url, Reach::default());
        let known = read("http://indexer.prod:8090/").unwrap();
        assert_eq!((&*known.host, known.port), ("indexer.prod", 8090));
        for bad in ["https://x:1", "x:1", "http://x/dump", "", "http://"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
