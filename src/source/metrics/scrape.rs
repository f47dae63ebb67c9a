//! One endpoint, asked again and again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::{MetricsLimits, ScrapeTarget};
use crate::clock;
use crate::frame::{Frame, Origin};
use crate::source::forward::PodPort;
use crate::source::kube::deepest;
use crate::source::reach::{Reach, bracketed};
use crate::source::{Desired, Emitter, user_agent};
use crate::wire::kept_of_scrape;

/// The state of the scrapes of one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// None has ended yet.
    #[default]
    Opening,
    /// The last one worked.
    Fresh,
    /// The last one did not; why.
    Failed(String),
    /// It was told to pause.
    Paused,
}

/// An endpoint that keeps failing is asked every eighth period: twice as long a pause after each failure,
/// up to two to this power.
const LONGEST_PAUSE: u32 = 3;

/// Bytes that are read at a time. A connection keeps its buffer between scrapes, and a fleet has hundreds of them.
const READ: usize = 16 << 10;

/// The scrapes of one endpoint.
pub(super) struct Scraper {
    pub(super) reach: Reach,
    pub(super) emitter: Emitter,
    pub(super) target: ScrapeTarget,
    pub(super) limits: MetricsLimits,
    pub(super) wanted: watch::Receiver<Desired>,
    pub(super) standing: watch::Sender<Standing>,
    pub(super) changed: Arc<Notify>,
}

/// A connection that is kept from one scrape to the next: a forward costs the API server more than
/// the scrape costs the pod.
struct Kept {
    sender: SendRequest<Empty<Bytes>>,
    task: AbortHandle,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns how many periods to wait after so many scrapes in a row that failed.
fn periods_after(failures: u32) -> u32 {
    1 << failures.saturating_sub(1).min(LONGEST_PAUSE)
}

impl Scraper {
    /// Scrapes at once, and then at the endpoint's own moment of each period, so that many endpoints
    /// are spread over it and each is asked at even distances.
    pub(super) async fn run(mut self) {
        let mut kept = None;
        let mut failures = 0_u32;
        let phase = self.phase();
        let mut ticks = interval_at(Instant::now() + phase, self.limits.period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let wanted = *self.wanted.borrow_and_update();
            match wanted {
                Desired::Stopped => return,
                Desired::Suspended => {
                    kept = None;
                    self.stand(&Standing::Paused);
                    if self.wanted.changed().await.is_err() {
                        return;
                    }
                    continue;
                }
                Desired::Running => {}
            }
            let mut wanted = self.wanted.clone();
            let scraped = tokio::select! {
                scraped = self.scrape(&mut kept) => scraped,
                changed = wanted.changed() => if changed.is_ok() { continue } else { return },
            };
            match scraped {
                Ok(false) => return,
                Ok(true) => {
                    failures = 0;
                    self.stand(&Standing::Fresh);
                }
                Err(why) => {
                    kept = None;
                    failures += 1;
                    self.stand(&Standing::Failed(why));
                }
            }
            let pause = async {
                for _ in 0..periods_after(failures) {
                    ticks.tick().await;
                }
            };
            tokio::select! {
                () = pause => {}
                changed = wanted.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Returns how long after the start the first period begins: the same for the same endpoint.
    fn phase(&self) -> Duration {
        let name = format!("{}/{}:{}", self.target.namespace, self.target.pod, self.target.port);
        let share = xxhash_rust::xxh3::xxh3_64(name.as_bytes()) % 1_000;
        let whole = u32::try_from(share).unwrap_or_default();
        // Not within the first half second, which belongs to the scrape at the start.
        self.limits.period / 10 + self.limits.period * whole / 1_000
    }

    /// Scrapes once. Returns false when nobody receives frames any more.
    async fn scrape(&self, kept: &mut Option<Kept>) -> Result<bool, String> {
        if kept.as_ref().is_some_and(|kept| kept.sender.is_closed()) {
            *kept = None;
        }
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let patience = self.limits.timeout;
        let asked = timeout(patience, self.ask(&mut connection.sender)).await;
        let body =
            asked.map_err(|_| format!("no answer within {} s", patience.as_secs_f32()))??;
        *kept = Some(connection);
        let origin = Origin::Metrics {
            pod: Arc::clone(&self.target.pod),
            url: Arc::clone(&self.target.path),
        };
        Ok(self.emitter.emit(Frame::new(clock::now(), origin, kept_of_scrape(&body))))
    }

    async fn connect(&self) -> Result<Kept, String> {
        let ScrapeTarget { namespace, pod, ip, port, .. } = &self.target;
        let pod = PodPort { namespace: Arc::clone(namespace), pod: Arc::clone(pod), port: *port };
        let opening = async {
            let line = self.reach.connect(ip, pod.port, Some(&pod)).await;
            let line = line.map_err(|why| why.to_string())?;
            let opened = Builder::new().max_buf_size(READ).handshake(TokioIo::new(line)).await;
            opened.map_err(|error| deepest(&error))
        };
        let patience = self.limits.connect;
        let opened = timeout(patience, opening).await;
        let (sender, connection) =
            opened.map_err(|_| format!("no connection within {} s", patience.as_secs_f32()))??;
        let task = tokio::spawn(async move {
            // Its end shows in the sender.
            drop(connection.await);
        });
        Ok(Kept { sender, task: task.abort_handle() })
    }

    async fn ask(&self, sender: &mut SendRequest<Empty<Bytes>>) -> Result<Bytes, String> {
        let words = |error: hyper::Error| deepest(&error);
        sender.ready().await.map_err(words)?;
        let ScrapeTarget { ip, port, path, .. } = &self.target;
        let host = bracketed(ip);
        let request = http::Request::get(&**path)
            .header(http::header::HOST, format!("{host}:{port}"))
            .header(http::header::ACCEPT, "text/plain")
            .header(http::header::USER_AGENT, user_agent("metrics scrape"))
            .body(Empty::new())
            .map_err(|error| error.to_string())?;
        let response = sender.send_request(request).await.map_err(words)?;
        if response.status() != http::StatusCode::OK {
            return Err(format!("{path} answered {}", response.status()));
        }
        if response.headers().contains_key(http::header::CONTENT_ENCODING) {
            return Err(format!("{path} is encoded, which was not asked for"));
        }
        let body = Limited::new(response.into_body(), self.limits.largest).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() {
                format!("{path} has more than {} MiB", self.limits.largest >> 20)
            } else {
                format!("{path} was cut: {error}")
            }
        })
    }

    fn stand(&self, standing: &Standing) {
        let replaced = self
            .standing
            .send_if_modified(|before| std::mem::replace(before, standing.clone()) != *standing);
        if replaced {
            self.changed.notify_one();
        }
    }
}
