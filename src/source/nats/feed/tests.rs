//! The feed against a model of publishers, stream and connection.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use tokio::sync::mpsc;

use bytes::Bytes;

use super::*;

const WORKERS: usize = 3;

/// What may happen.
#[derive(Clone, Copy, Debug)]
enum Step {
    Publish(usize),
    Store(usize),
    Deliver(usize),
    Lose(usize),
    Survey,
    SurveyAhead(usize),
    Read,
    Disconnect,
    Connect,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let worker = 0..WORKERS;
    let step = prop_oneof![
        8 => worker.clone().prop_map(Step::Publish),
        4 => worker.clone().prop_map(Step::Store),
        6 => worker.clone().prop_map(Step::Deliver),
        1 => worker.clone().prop_map(Step::Lose),
        2 => Just(Step::Survey),
        1 => worker.prop_map(Step::SurveyAhead),
        8 => Just(Step::Read),
        1 => Just(Step::Disconnect),
        2 => Just(Step::Connect),
    ];
    prop::collection::vec(step, 0..150)
}

/// Publishers, a stream, a connection and a feed.
struct World {
    published: [Vec<Bytes>; WORKERS],
    storing: [VecDeque<Bytes>; WORKERS],
    on_the_way: [VecDeque<Bytes>; WORKERS],
    stream: Vec<Bytes>,
    connected: bool,
    lost: bool,
    feed: Feed,
    reader: Option<Seqs>,
    emitter: Emitter,
    frames: mpsc::Receiver<Frame>,
}

impl World {
    fn new() -> Self {
        let (frames_tx, frames) = mpsc::channel(8192);
        Self {
            published: Default::default(),
            storing: Default::default(),
            on_the_way: Default::default(),
            stream: Vec::new(),
            connected: false,
            lost: false,
            feed: Feed::new("s-kv-events"),
            reader: None,
            emitter: Emitter::new(frames_tx),
            frames,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Publish(worker) => self.publish(worker),
            Step::Store(worker) => self.stream.extend(self.storing[worker].pop_front()),
            Step::Deliver(worker) => self.deliver(worker),
            Step::Lose(worker) => {
                // A full queue is noticed later than a message is stored.
                self.store_all();
                if self.on_the_way[worker].pop_front().is_some() {
                    self.lost = true;
                    self.feed.lost();
                }
            }
            Step::Survey => self.survey(),
            Step::SurveyAhead(worker) => {
                self.publish(worker);
                self.look();
            }
            Step::Read => self.read(),
            Step::Disconnect => {
                self.connected = false;
                self.reader = None;
                self.on_the_way = Default::default();
                self.feed.disconnected();
            }
            Step::Connect => {
                // Connecting takes longer than storing.
                self.store_all();
                self.connected = true;
            }
        }
    }

    fn publish(&mut self, worker: usize) {
        let number = self.published[worker].len();
        let payload = Bytes::from(format!(r#"{{"worker_id":{worker},"n":{number},"dp_rank":0}}"#));
        self.published[worker].push(payload.clone());
        self.storing[worker].push_back(payload.clone());
        if self.connected {
            self.on_the_way[worker].push_back(payload);
        }
    }

    fn deliver(&mut self, worker: usize) {
        if let Some(payload) = self.on_the_way[worker].pop_front() {
            let origin = Origin::nats("s-kv-events.kv-events");
            let frame = Frame::new(Timestamp(0), origin, payload.clone());
            assert_eq!(self.feed.live(frame, &payload, &self.emitter), 0);
        }
    }

    fn store_all(&mut self) {
        for storing in &mut self.storing {
            self.stream.extend(storing.drain(..));
        }
    }

    fn survey(&mut self) {
        self.store_all();
        self.look();
    }

    /// Asks what the stream holds. The server sends the answer after the messages before it.
    fn look(&mut self) {
        if !self.connected {
            return;
        }
        for worker in 0..WORKERS {
            while !self.on_the_way[worker].is_empty() {
                self.deliver(worker);
            }
        }
        let last_seq = self.stream.len() as u64;
        let extent = Extent { created: "once".to_owned(), first_seq: 1, last_seq };
        self.feed.found(&extent);
    }

    fn read(&mut self) {
        self.feed.flush(&self.emitter);
        if self.reader.is_none() {
            self.reader = self.feed.seqs();
        }
        let Some(reader) = &mut self.reader else { return };
        let Some(seq) = reader.next() else {
            self.feed.exhausted();
            self.reader = None;
            return;
        };
        let payload = self.stream[usize::try_from(seq).unwrap() - 1].clone();
        let subject = "s-kv-events.kv-events".to_owned();
        let message = Stored { seq, subject, payload, time: None };
        if self.feed.stored(message, Timestamp(0), &self.emitter) {
            self.reader = None;
        }
    }

    /// Lets everything arrive that can, and returns it by worker.
    fn settle(mut self) -> BTreeMap<usize, Vec<Bytes>> {
        self.step(Step::Connect);
        for _ in 0..4 {
            self.survey();
            for _ in 0..2_000 {
                self.read();
            }
        }
        assert!(matches!(self.feed.phase, Phase::Direct));
        let mut delivered: BTreeMap<usize, Vec<Bytes>> = BTreeMap::new();
        while let Ok(frame) = self.frames.try_recv() {
            let Body::Whole(payload) = frame.body else { panic!("one piece") };
            let worker = usize::from(payload[13] - b'0');
            delivered.entry(worker).or_default().push(payload);
        }
        delivered
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_message_is_delivered_once_and_in_order_unless_one_was_lost(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        let (lost, published) = (world.lost, world.published.clone());
        let mut delivered = world.settle();
        for (worker, mut expected) in published.into_iter().enumerate() {
            let mut delivered = delivered.remove(&worker).unwrap_or_default();
            if lost {
                delivered.sort();
                expected.sort();
            }
            prop_assert_eq!(delivered, expected, "worker {}", worker);
        }
    }
}

#[test]
fn a_loss_is_confirmed_by_a_second_look_and_made_good() {
    let mut world = World::new();
    world.step(Step::Connect);
    world.step(Step::Survey);
    (0..4).for_each(|_| world.step(Step::Read));
    world.step(Step::Publish(0));
    world.on_the_way[0].clear();
    world.step(Step::Survey);
    assert!(world.reader.is_none() && world.feed.seqs().is_none());

    world.step(Step::Survey);

    assert!(world.feed.seqs().is_some());
    assert_eq!(world.settle().remove(&0).map(|it| it.len()), Some(1));
}

#[test]
fn a_stream_made_anew_is_read_from_its_start() {
    let (frames_tx, mut frames) = mpsc::channel(16);
    let emitter = Emitter::new(frames_tx);
    let mut feed = Feed::new("s-kv-events");
    let extent =
        |created: &str, last_seq| Extent { created: created.into(), first_seq: 1, last_seq };
    feed.found(&extent("once", 0));
    feed.exhausted();
    feed.flush(&emitter);
    feed.found(&extent("again", 1));

    feed.found(&extent("again", 1));

    let seqs: Vec<u64> = feed.seqs().unwrap().collect();
    assert_eq!(seqs, [1]);
    let subject = "s-kv-events.kv-events".to_owned();
    let stored = Stored { seq: 1, subject, payload: "{}".into(), time: Some(Timestamp(5)) };
    feed.stored(stored, Timestamp(9), &emitter);
    let frame = frames.try_recv().unwrap();
    assert_eq!((frame.at, frame.time), (Timestamp(9), Some(Timestamp(5))));
    assert_eq!(frame.origin.kind(), "jetstream");
}
