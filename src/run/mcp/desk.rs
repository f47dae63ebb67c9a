//! The engine of the attached deployment, and pictures of it for whoever asks.

use tokio::sync::{mpsc, oneshot};

use super::super::ending;
use super::super::headless::{finished, follow, take};
use super::super::live::Live;
use crate::clock;
use crate::engine::Engine;
use crate::snapshot::{Snapshot, ViewQuery};

/// Questions that wait at once.
const ASKING: usize = 16;

/// A question, and where its answer goes.
type Ask = (ViewQuery, oneshot::Sender<Box<Snapshot>>);

/// The place where questions are asked.
#[derive(Clone)]
pub(super) struct Desk(mpsc::Sender<Ask>);

impl Desk {
    /// Returns a picture of now; none once kvtop ends.
    pub(super) async fn picture(&self, query: ViewQuery) -> Option<Box<Snapshot>> {
        let (answer, picture) = oneshot::channel();
        self.0.send((query, answer)).await.ok()?;
        picture.await.ok()
    }
}

/// Returns the desk of `live`, and the task that takes in its frames and answers.
pub(super) fn new(live: Live) -> (Desk, impl Future<Output = ()> + Send) {
    let (asks, mut asked) = mpsc::channel::<Ask>(ASKING);
    let task = async move {
        let Live { mut frames, sources, target, attach, .. } = live;
        let mut engine = Engine::new(target.engine_options());
        while !asked.is_closed() {
            take(&mut frames, &mut engine).await;
            let now = clock::now();
            engine.advance(now);
            follow(attach.as_ref(), &engine);
            while let Ok((query, answer)) = asked.try_recv() {
                let snapshot = finished(&mut engine, &query, now);
                // Whoever asked may have gone.
                drop(answer.send(Box::new(snapshot)));
            }
        }
        ending::stop(&sources).await;
    };
    (Desk(asks), task)
}
