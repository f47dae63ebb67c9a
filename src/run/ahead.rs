//! The present, shown while a long history is read.
//!
//! An engine of its own takes in the newest part of the history, what comes live meanwhile, and all that tells of
//! anything else. It gives way to the engine that reads the history as soon as that knows the present, too.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::domain::Timestamp;
use crate::dynamo::plane;
use crate::engine::{Engine, EngineOptions};
use crate::frame::{Frame, Origin};
use crate::snapshot::{Snapshot, ViewQuery};
use crate::source::Ahead;

/// The longest wait for a source that may have something to pass on ahead.
const WAIT: Duration = Duration::from_secs(20);

/// The engines of one deployment.
pub(super) struct Engines {
    /// The one that takes in everything, in order.
    pub(super) whole: Engine,
    /// The one that is shown until then; none once it is not needed.
    pub(super) vanguard: Option<Vanguard>,
}

impl Engines {
    /// Returns an engine alone.
    pub(super) const fn alone(whole: Engine) -> Self {
        Self { whole, vanguard: None }
    }

    /// Returns the picture at `at` of the engine that knows more of the present.
    pub(super) fn snapshot(&mut self, query: &ViewQuery, at: Timestamp) -> Snapshot {
        let engine = match &mut self.vanguard {
            Some(vanguard) if vanguard.leads => &mut vanguard.engine,
            _ => &mut self.whole,
        };
        let picture = engine.snapshot(query, at);
        self.agree();
        picture
    }

    /// Takes in frames.
    pub(super) fn ingest(&mut self, lot: &[Frame]) {
        self.whole.ingest(lot);
        if let Some(vanguard) = &mut self.vanguard {
            vanguard.follow(lot, &mut self.whole);
        }
        self.agree();
    }

    /// Takes in news, while `waiting` frames are on their way.
    pub(super) fn ingest_news(&mut self, lot: &mut Vec<Ahead>, waiting: usize) {
        match &mut self.vanguard {
            // Nobody is left to say that the frames have it all.
            Some(vanguard) if lot.is_empty() => vanguard.left = Some(0),
            Some(vanguard) => vanguard.take(lot, waiting),
            None => {}
        }
        self.agree();
    }

    /// Lets time pass up to `at`. Returns true while there is deferred work.
    pub(super) fn advance(&mut self, at: Timestamp) -> bool {
        let mut behind = self.whole.advance(at);
        if let Some(vanguard) = &mut self.vanguard {
            behind |= vanguard.engine.advance(at);
        }
        self.agree();
        behind
    }

    /// Shows the graph deployment of that name alone; all of them for none.
    pub(super) fn choose(&mut self, dgd: Option<&str>) {
        self.whole.choose(dgd.map(str::to_owned));
        if let Some(vanguard) = &mut self.vanguard {
            vanguard.engine.choose(dgd.map(str::to_owned));
        }
    }

    /// Lets both call every worker by the same name, and the vanguard go once it is not needed.
    fn agree(&mut self) {
        let Some(vanguard) = &mut self.vanguard else { return };
        vanguard.engine.meet_workers_of(&self.whole);
        self.whole.meet_workers_of(&vanguard.engine);
        if vanguard.is_over() {
            self.vanguard = None;
        }
    }
}

/// An engine that is ahead of the one that reads history.
pub(super) struct Vanguard {
    engine: Engine,
    pub(super) news: mpsc::Receiver<Ahead>,
    /// True once it knows something that the other does not.
    leads: bool,
    /// Frames until the other has caught up; none while history is read.
    left: Option<usize>,
    until: Instant,
}

impl Vanguard {
    /// Begins beside an engine with these options.
    pub(super) fn new(options: EngineOptions, news: mpsc::Receiver<Ahead>) -> Self {
        let engine = Engine::ahead(options);
        Self { engine, news, leads: false, left: None, until: Instant::now() + WAIT }
    }

    fn take(&mut self, lot: &mut Vec<Ahead>, waiting: usize) {
        let mut frames = Vec::with_capacity(lot.len());
        for news in lot.drain(..) {
            match news {
                Ahead::Frame(frame) => frames.push(frame),
                Ahead::Over => self.left = Some(waiting),
            }
        }
        self.leads |= !frames.is_empty();
        self.engine.ingest(&frames);
    }

    /// Takes in what `whole` took in, but KV events that streams store: those come ahead.
    fn follow(&mut self, lot: &[Frame], whole: &mut Engine) {
        let shared: Vec<Frame> = lot.iter().filter(|frame| !is_stored(frame)).cloned().collect();
        self.engine.meet_workers_of(whole);
        self.engine.ingest(&shared);
        self.left = self.left.map(|left| left.saturating_sub(lot.len()));
        let by_zmq = |frame: &Frame| matches!(frame.origin, Origin::Zmq { .. });
        if !self.leads && (shared.len() < lot.len() || shared.iter().any(by_zmq)) {
            // The history is short and being passed on already, or nothing keeps one.
            self.left = Some(0);
        }
    }

    fn is_over(&self) -> bool {
        self.left == Some(0) || !self.leads && Instant::now() >= self.until
    }
}

/// Returns true for KV events that a stream stores.
fn is_stored(frame: &Frame) -> bool {
    match &frame.origin {
        Origin::Jetstream { .. } => true,
        Origin::Nats { subject, .. } => plane::stream_of(subject).is_some(),
        _ => false,
    }
}

/// Waits for news; for ever where there are none to wait for.
pub(super) async fn news(
    vanguard: &mut Option<Vanguard>,
    lot: &mut Vec<Ahead>,
    most: usize,
) -> usize {
    match vanguard {
        Some(vanguard) => vanguard.news.recv_many(lot, most).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{HistoryNote, SourceName, SourceNote, SourceState};
    use crate::frame::Origin;
    use crate::wire::health;

    const STREAM: &str = "namespace-dynamo-component-backend-kv-events";
    const AT: Timestamp = Timestamp(1_771_252_733_000_000);

    fn stored(worker: u64, number: u64) -> Frame {
        let subject = format!("{STREAM}.kv-events").into();
        let origin = Origin::Jetstream { stream: STREAM.into(), seq: number + 1, subject };
        let block = format!(r#"{{"block_hash":{number},"tokens_hash":{number}}}"#);
        let data = format!(r#"{{"stored":{{"parent_hash":null,"blocks":[{block}]}}}}"#);
        let event = format!(r#"{{"event_id":{number},"data":{data},"dp_rank":0}}"#);
        Frame::new(AT, origin, format!(r#"{{"worker_id":{worker},"event":{event}}}"#))
    }

    fn note(read: u64) -> Frame {
        let history = HistoryNote {
            stream: STREAM.into(),
            first_seq: 1,
            last_seq: 100_000,
            read,
            complete: read == 100_000,
            keeps: None,
            ledger: None,
        };
        let note = SourceNote::new(SourceName::Nats, SourceState::Live, "", AT);
        let note = SourceNote { history: Some(history), ..note };
        Frame::new(AT, Origin::Health { source: SourceName::Nats }, health::encode(&note))
    }

    fn engines() -> (Engines, mpsc::Sender<Ahead>) {
        let (sender, news) = mpsc::channel(8);
        let options = EngineOptions::default;
        let vanguard = Some(Vanguard::new(options(), news));
        (Engines { whole: Engine::new(options()), vanguard }, sender)
    }

    fn shown(engines: &mut Engines) -> Snapshot {
        engines.snapshot(&ViewQuery::default(), AT)
    }

    fn names(picture: &Snapshot) -> Vec<(u64, String)> {
        picture.workers.iter().map(|row| (row.rank.worker.0, row.alias.clone())).collect()
    }

    #[test]
    fn the_present_is_shown_until_history_was_read_and_workers_keep_their_names() {
        let (mut engines, _sender) = engines();
        engines.ingest(&[note(0)]);
        // The newest message is of worker 8; 7 left long ago.
        engines.ingest_news(&mut vec![Ahead::Frame(stored(8, 99_999))], 0);
        engines.ingest(&[stored(7, 0), stored(7, 1), note(2)]);

        let ahead = shown(&mut engines);
        assert_eq!(names(&ahead), [(8, "w0".to_owned())]);
        assert!(ahead.catching_up.is_some_and(|behind| behind.ahead));

        engines.ingest_news(&mut vec![Ahead::Frame(stored(9, 100_000)), Ahead::Over], 2);
        assert_eq!(names(&shown(&mut engines)).len(), 2, "the frames have not caught up");
        engines.ingest(&[stored(8, 99_999), stored(9, 100_000)]);
        engines.ingest(&[note(100_000)]);

        let whole = shown(&mut engines);
        let mut found = names(&whole);
        found.sort();
        let expected = [(7, "w1"), (8, "w0"), (9, "w2")].map(|(id, name)| (id, name.to_owned()));
        assert_eq!(found, expected);
        assert!(engines.vanguard.is_none() && whole.catching_up.is_none());
    }

    #[test]
    fn a_history_that_is_passed_on_at_once_needs_no_other_engine() {
        let (mut engines, _sender) = engines();
        engines.ingest(&[note(0)]);
        assert!(engines.vanguard.is_some());

        engines.ingest(&[stored(7, 0)]);

        assert!(engines.vanguard.is_none());
        assert_eq!(names(&shown(&mut engines)).len(), 1);
    }
}
