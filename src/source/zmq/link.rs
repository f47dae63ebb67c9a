//! One publisher, connected to again and again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

use super::ZmqTarget;
use super::connection::{Connection, End, Told, ZmqLimits};
use super::dedup::Filter;
use super::gather::Gather;
use super::tokens::Stripper;
use crate::domain::Reason;
use crate::source::Emitter;
use crate::source::forward::PodPort;
use crate::source::reach::{Line, Reach};

/// The state of one publisher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// True while it is subscribed to.
    pub(super) live: bool,
    /// The reason why it is not, once that is known.
    pub(super) trouble: Option<Reason>,
    /// Times that it was lost after it had been live.
    pub(super) interruptions: u64,
    /// Times that it came back after that.
    pub(super) returns: u64,
    /// The time that the last heartbeat took.
    pub(super) round_trip: Option<Duration>,
}

/// A publisher that is to be listened to.
pub(super) struct Link {
    pub(super) target: ZmqTarget,
    pub(super) reach: Reach,
    pub(super) topics: Arc<[String]>,
    pub(super) limits: ZmqLimits,
    pub(super) emitter: Emitter,
    pub(super) gather: Arc<Gather>,
    pub(super) filter: Option<Filter>,
    pub(super) standing: watch::Sender<Standing>,
    pub(super) changed: Arc<Notify>,
}

impl Told for &Link {
    fn live(&mut self) {
        self.stand(|standing| {
            standing.returns += u64::from(!standing.live && standing.interruptions > 0);
            (standing.live, standing.trouble) = (true, None);
        });
    }

    fn mistaken(&mut self, why: &'static str) {
        if self.standing.borrow().trouble.is_none() {
            self.stand(|standing| (standing.live, standing.trouble) = (false, Some(why.into())));
        }
    }

    fn round_trip(&mut self, span: Duration) {
        // Not worth a note of its own; the next one tells it.
        self.standing.send_modify(|standing| standing.round_trip = Some(span));
    }
}

impl Link {
    /// Connects and listens until nobody receives frames any more.
    pub(super) async fn run(self) {
        let mut failures = 0;
        loop {
            let (pause, why) = match self.connect().await {
                Err(why) => {
                    failures += 1;
                    (self.pause(failures), why)
                }
                Ok(line) => {
                    let since = Instant::now();
                    let end = self.listen(line).await;
                    let was_live = self.standing.borrow().live;
                    // A peer that ends every connection at once is not asked twice a second.
                    let brief = !was_live || since.elapsed() < self.limits.retry_last;
                    failures = if brief { failures + 1 } else { 1 };
                    let behind = self.limits.wait_behind(since.elapsed());
                    match end {
                        End::Unheard => return,
                        End::Lost(why) => (self.pause(failures), why.into()),
                        End::Behind => (
                            behind.max(self.pause(failures)),
                            Reason::from(format!(
                                "messages came more than {} s late; disconnected, so that the \
                                 publisher need not hold them",
                                self.limits.patience.as_secs()
                            )),
                        ),
                    }
                }
            };
            self.stand(|standing| {
                standing.interruptions += u64::from(standing.live);
                (standing.live, standing.round_trip) = (false, None);
                standing.trouble = Some(why);
            });
            tokio::time::sleep(pause).await;
        }
    }

    fn pause(&self, failures: u32) -> Duration {
        let pause = self.limits.retry_first.saturating_mul(1 << (failures - 1).min(8));
        pause.min(self.limits.retry_last)
    }

    async fn connect(&self) -> Result<Line, Reason> {
        let endpoint = &self.target.endpoint;
        let pod = self.target.pod.as_ref().map(|(namespace, pod)| PodPort {
            namespace: Arc::clone(namespace),
            pod: Arc::clone(pod),
            port: endpoint.port(),
        });
        let line = self.reach.connect(endpoint.host(), endpoint.port(), pod.as_ref());
        timeout(self.limits.connect, line).await.unwrap_or_else(|_| {
            Err(format!("no connection within {} s", self.limits.connect.as_secs()).into())
        })
    }

    async fn listen(&self, line: Line) -> End {
        let connection = Connection {
            endpoint: self.target.endpoint.as_str(),
            topics: &self.topics,
            limits: &self.limits,
            emitter: &self.emitter,
            gather: &self.gather,
            filter: self.filter.as_ref().map(Filter::fresh),
            stripper: self.target.engine.then(|| match &self.target.pod {
                Some((_, pod)) => Stripper::of_pod(Arc::clone(pod)),
                None => Stripper::of_address(Arc::clone(self.target.endpoint.as_str())),
            }),
        };
        let mut told = self;
        connection.run(line, &mut told).await
    }

    fn stand(&self, change: impl FnOnce(&mut Standing)) {
        self.standing.send_modify(change);
        self.changed.notify_one();
    }
}
