//! The sources of a deployment that is known by its discovery records alone, without Kubernetes.

use tokio::sync::watch;

use super::ending;
use super::publishers::Publishers;
use crate::attach::Wanted;
use crate::domain::SourceState;
use crate::source::{Desired, SourceHandle};

/// Follows what records name, beside `sources` that read them; nothing without `publishers`. Must be
/// called within a runtime.
pub(super) fn spawn(
    sources: Vec<SourceHandle>,
    publishers: Option<Publishers>,
    wanted: watch::Receiver<Wanted>,
) -> SourceHandle {
    let (desired, asked) = watch::channel(Desired::Running);
    let (shown, state) = watch::channel(SourceState::Connecting);
    let records = Records { sources, publishers, wanted, shown };
    let task = tokio::spawn(records.run(asked));
    SourceHandle { name: "records".into(), desired, state, task }
}

struct Records {
    sources: Vec<SourceHandle>,
    publishers: Option<Publishers>,
    wanted: watch::Receiver<Wanted>,
    shown: watch::Sender<SourceState>,
}

impl Records {
    async fn run(mut self, mut asked: watch::Receiver<Desired>) {
        self.shown.send_replace(SourceState::Live);
        loop {
            tokio::select! {
                changed = asked.changed() => {
                    let desired = *asked.borrow_and_update();
                    if changed.is_err() || desired == Desired::Stopped {
                        break;
                    }
                    self.obey(desired).await;
                }
                changed = self.wanted.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let wanted = self.wanted.borrow_and_update().clone();
                    if let Some(publishers) = &mut self.publishers {
                        publishers.follow(&wanted.zmq);
                    }
                }
            }
        }
        let all: Vec<&SourceHandle> = self.handles().collect();
        ending::end(&all).await;
        self.shown.send_replace(SourceState::Ended);
    }

    fn handles(&self) -> impl Iterator<Item = &SourceHandle> {
        let zmq = self.publishers.iter().filter_map(Publishers::handle);
        self.sources.iter().chain(zmq)
    }

    async fn obey(&self, desired: Desired) {
        let all: Vec<&SourceHandle> = self.handles().collect();
        if desired == Desired::Suspended {
            ending::pause(&all).await;
            self.shown.send_replace(SourceState::Suspended);
        } else {
            for handle in all {
                handle.desired.send_replace(desired);
            }
            self.shown.send_replace(SourceState::Live);
        }
    }
}
