//! The feed against a model of publishers, stream and connection.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use tokio::sync::mpsc;

use bytes::Bytes;

use super::super::reach::LOOKS;
use super::*;

const WORKERS: usize = 3;

/// A step of the model.
#[derive(Clone, Copy, Debug)]
enum Step {
    Publish(usize),
    Store,
    Deliver(usize),
    Lose(usize),
    Survey,
    SurveyAhead(usize),
    Read,
    Disconnect,
    Connect,
    /// The stream deletes so many of its oldest messages, while the connection is away: nobody can tell which ones it
    /// deletes in the moment between sending a message and being asked for it.
    Age(usize),
    /// The same while messages that were sent are still to be stored.
    AgeEarly(usize),
}

fn extent(created: &str, first_seq: u64, last_seq: u64) -> Extent {
    Extent { created: created.to_owned(), first_seq, last_seq, keeps: None }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..150)
}

/// Steps with streams that delete messages.
fn steps_with_age() -> impl Strategy<Value = Vec<Step>> {
    let age = (1..8_usize).prop_map(Step::Age);
    prop::collection::vec(prop_oneof![12 => step(), 1 => age], 0..150)
}

fn step() -> impl Strategy<Value = Step> {
    let worker = 0..WORKERS;
    prop_oneof![
        8 => worker.clone().prop_map(Step::Publish),
        4 => Just(Step::Store),
        6 => worker.clone().prop_map(Step::Deliver),
        1 => worker.clone().prop_map(Step::Lose),
        2 => Just(Step::Survey),
        1 => worker.prop_map(Step::SurveyAhead),
        8 => Just(Step::Read),
        1 => Just(Step::Disconnect),
        2 => Just(Step::Connect),
    ]
}

/// Publishers, a stream, a connection and a feed.
struct World {
    published: [Vec<Bytes>; WORKERS],
    /// The stream stores in the order in which the server looked for subscribers.
    storing: VecDeque<Bytes>,
    on_the_way: [VecDeque<Bytes>; WORKERS],
    stream: Vec<Bytes>,
    /// Messages at its start that were deleted.
    aged: usize,
    /// Stored messages that were read.
    reads: usize,
    connected: bool,
    lost: bool,
    feed: Feed,
    reader: Option<Seqs>,
    /// The newest messages that are being read.
    newest: Option<Seqs>,
    emitter: Emitter,
    frames: mpsc::Receiver<Frame>,
    /// Messages that went ahead of the history; none without a screen.
    ahead: Option<mpsc::Receiver<Ahead>>,
}

impl World {
    fn new() -> Self {
        let (frames_tx, frames) = mpsc::channel(8192);
        Self {
            published: Default::default(),
            storing: VecDeque::new(),
            on_the_way: Default::default(),
            stream: Vec::new(),
            aged: 0,
            reads: 0,
            connected: false,
            lost: false,
            feed: Feed::new("s-kv-events"),
            reader: None,
            newest: None,
            emitter: Emitter::new(frames_tx),
            frames,
            ahead: None,
        }
    }

    /// A world in which somebody looks at the newest messages of every history, however short.
    fn with_a_screen() -> Self {
        let (news, ahead) = mpsc::channel(8192);
        let world = Self::new();
        Self { emitter: world.emitter.with_ahead(news), ahead: Some(ahead), ..world }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Publish(worker) => self.publish(worker),
            Step::Store => self.stream.extend(self.storing.pop_front()),
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
                (self.reader, self.newest) = (None, None);
                self.on_the_way = Default::default();
                self.feed.disconnected();
                // A screen goes on with the frames alone.
                self.ahead.iter_mut().for_each(mpsc::Receiver::close);
            }
            // What is being stored now was never on the way to this subscription.
            Step::Connect => self.connected = true,
            Step::Age(count) if !self.connected && self.storing.is_empty() => self.age(count),
            Step::AgeEarly(count) if !self.connected => self.age(count),
            Step::Age(_) | Step::AgeEarly(_) => {}
        }
    }

    fn age(&mut self, count: usize) {
        self.aged = self.stream.len().min(self.aged + count);
    }

    fn publish(&mut self, worker: usize) {
        let number = self.published[worker].len();
        let payload = Bytes::from(format!(r#"{{"worker_id":{worker},"n":{number},"dp_rank":0}}"#));
        self.published[worker].push(payload.clone());
        self.storing.push_back(payload.clone());
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
        self.stream.extend(self.storing.drain(..));
    }

    fn survey(&mut self) {
        // The first one comes at once, the others seconds later.
        if !self.feed.is_asking() {
            self.store_all();
        }
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
        let extent = extent("once", self.aged as u64 + 1, last_seq);
        if self.feed.found(&extent) == Standing::Anew {
            self.reader = None;
        }
        if self.emitter.shows_ahead() {
            self.feed.begin_ahead();
        }
    }

    /// Reads one of the newest messages. Returns false when there is none to read before the history.
    fn read_newest(&mut self) -> bool {
        if self.newest.is_none() {
            self.newest = self.feed.seqs_ahead();
        }
        let Some(newest) = &mut self.newest else { return false };
        match newest.next() {
            None => {
                self.feed.exhausted_ahead();
                self.newest = None;
            }
            Some(seq) if usize::try_from(seq).unwrap() <= self.aged => {}
            Some(seq) => {
                let message = self.stored(seq);
                self.feed.stored_ahead(message, Timestamp(0), &self.emitter);
            }
        }
        true
    }

    fn stored(&self, seq: u64) -> Stored {
        let payload = self.stream[usize::try_from(seq).unwrap() - 1].clone();
        Stored { seq, subject: "s-kv-events.kv-events".to_owned(), payload, time: None }
    }

    fn read(&mut self) {
        self.feed.flush_ahead(&self.emitter);
        if self.read_newest() {
            return;
        }
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
        let place = usize::try_from(seq).unwrap() - 1;
        if place < self.aged {
            return;
        }
        self.reads += 1;
        let message = self.stored(seq);
        if self.feed.stored(message, Timestamp(0), &self.emitter) {
            self.reader = None;
        }
    }

    /// Lets everything arrive that can, and returns it by worker.
    fn settle(mut self) -> BTreeMap<usize, Vec<Bytes>> {
        self.finish()
    }

    fn finish(&mut self) -> BTreeMap<usize, Vec<Bytes>> {
        self.step(Step::Connect);
        self.store_all();
        // A message that the stream deleted before it was asked for is waited for.
        for _ in 0..LOOKS + 8 {
            self.survey();
            for _ in 0..400 {
                self.read();
            }
        }
        assert!(matches!(self.feed.phase, Phase::Direct) && !self.feed.is_ahead());
        let mut delivered: BTreeMap<usize, Vec<Bytes>> = BTreeMap::new();
        while let Ok(frame) = self.frames.try_recv() {
            let Body::Whole(payload) = frame.body else { panic!("one piece") };
            let worker = usize::from(payload[13] - b'0');
            delivered.entry(worker).or_default().push(payload);
        }
        delivered
    }
}

impl World {
    /// Lets everything arrive that can. Fails unless it is what was published, in order where nothing was lost.
    fn delivers_what_was_published(&mut self) -> Result<(), TestCaseError> {
        let mut delivered = self.finish();
        for (worker, mut expected) in self.published.clone().into_iter().enumerate() {
            let mut delivered = delivered.remove(&worker).unwrap_or_default();
            if self.lost {
                delivered.sort();
                expected.sort();
            }
            prop_assert_eq!(delivered, expected, "worker {}", worker);
        }
        Ok(())
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
        world.delivers_what_was_published()?;
    }

    #[test]
    fn what_a_screen_sees_ahead_changes_nothing_that_is_passed_on_in_order(steps in steps()) {
        let mut shown = World::with_a_screen();
        for step in steps {
            shown.step(step);
        }
        shown.delivers_what_was_published()?;
        let lost = shown.lost;
        let mut newest = [None; WORKERS];
        while let Ok(Ahead::Frame(frame)) = shown.ahead.as_mut().unwrap().try_recv() {
            let Body::Whole(payload) = frame.body else { panic!("one piece") };
            let worker = usize::from(payload[13] - b'0');
            let at = shown.published[worker].iter().position(|it| *it == payload);
            prop_assert!(at > newest[worker] || lost, "{:?} after {:?}", at, newest[worker]);
            newest[worker] = at;
        }
    }

    #[test]
    fn what_was_published_was_received_once_or_is_counted_as_deleted(steps in steps_with_age()) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        let delivered: Vec<Bytes> = world.finish().into_values().flatten().collect();
        let ledger = world.feed.history().and_then(|history| history.ledger).unwrap();
        let distinct: std::collections::HashSet<&Bytes> = delivered.iter().collect();

        prop_assert_eq!(distinct.len(), delivered.len(), "twice");
        prop_assert_eq!(ledger.received, delivered.len() as u64);
        prop_assert_eq!(ledger.published, world.stream.len() as u64);
        prop_assert_eq!(ledger.before + ledger.received + ledger.aged_out, ledger.published);
        prop_assert_eq!((ledger.dropped, ledger.missing), (0, 0));
    }

    /// A message that was sent and is not stored yet looks like one that was stored and deleted.
    #[test]
    fn messages_that_are_stored_while_others_are_deleted_come_once_and_are_counted_once(
        steps in prop::collection::vec(
            prop_oneof![8 => step(), 2 => (1..8_usize).prop_map(Step::AgeEarly)], 0..150,
        ),
    ) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        let delivered: Vec<Bytes> = world.finish().into_values().flatten().collect();
        let distinct: std::collections::HashSet<&Bytes> = delivered.iter().collect();
        let ledger = world.feed.history().and_then(|history| history.ledger).unwrap();

        prop_assert_eq!(distinct.len(), delivered.len(), "twice");
        prop_assert_eq!(ledger.received, delivered.len() as u64);
        prop_assert_eq!(ledger.published, world.stream.len() as u64);
        prop_assert_eq!(ledger.before + ledger.received + ledger.aged_out, ledger.published);
        prop_assert_eq!((ledger.dropped, ledger.missing), (0, 0));
    }

    /// Live messages wait for what the stream held at a look and still holds, each read at most twice (compared, then
    /// passed on), and for a bounded number of looks.
    #[test]
    fn live_messages_wait_no_longer_than_it_takes_to_read_what_the_stream_holds(
        steps in steps_with_age(),
    ) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        world.step(Step::Connect);
        world.store_all();
        for worker in 0..WORKERS {
            world.publish(worker);
        }
        world.store_all();
        let due = 2 * (world.stream.len() - world.aged);
        let (mut reads, mut looks) = (0, 0);
        while !matches!(world.feed.phase, Phase::Direct) {
            if world.reader.is_none() && world.feed.seqs().is_none() && !world.feed.is_flushing() {
                world.look();
                looks += 1;
            }
            let asked = world.reads;
            world.read();
            reads += world.reads - asked;
            prop_assert!(looks <= LOOKS + 2, "{} looks", looks);
            prop_assert!(reads <= due, "{} reads for {} messages", reads, due / 2);
        }
    }
}

#[test]
fn a_message_that_is_stored_after_a_cut_is_not_taken_for_one_that_was_deleted() {
    let mut world = World::new();
    world.step(Step::Connect);
    world.step(Step::Survey);
    (0..4).for_each(|_| world.step(Step::Read));
    world.step(Step::Publish(0));
    world.step(Step::Deliver(0));
    world.step(Step::Store);
    world.step(Step::Survey);
    (0..4).for_each(|_| world.step(Step::Read));
    // One is stored and never came, one came and is not stored yet.
    world.step(Step::Publish(1));
    world.step(Step::Publish(0));
    world.step(Step::Deliver(0));
    world.step(Step::Store);
    world.step(Step::Disconnect);
    // The stream deletes all that it holds.
    world.step(Step::AgeEarly(2));
    world.step(Step::Connect);
    world.look();
    (0..4).for_each(|_| world.step(Step::Read));
    let delivered: Vec<Bytes> = world.finish().into_values().flatten().collect();
    let ledger = world.feed.history().and_then(|history| history.ledger).unwrap();

    assert_eq!(delivered, world.published[0], "each once");
    assert_eq!((ledger.published, ledger.received, ledger.aged_out), (3, 2, 1), "{ledger:?}");
}

#[test]
fn a_message_that_came_live_and_was_deleted_stays_received_over_two_cuts() {
    use Step::{Age, Connect, Disconnect, Lose, Publish, Read, Store, Survey};
    let mut world = World::new();
    let first = [Publish(0), Publish(0), Connect, Publish(0), Store, Store, Store, Survey];
    // The loss is noticed, and the comparison with the stream is cut off after one message.
    let torn = [Publish(0), Lose(0), Read, Read, Read, Read, Publish(2), Read, Publish(0)];
    let first_cut = [Publish(0), Publish(2), Survey, Read, Disconnect, Age(7)];
    // The second cut comes before what is missing was read.
    let second_cut = [Publish(0), Connect, Publish(0), Publish(0), Store, Survey, Publish(0)];
    let end = [Read, Read, Read, Disconnect];
    for step in [&first[..], &torn, &first_cut, &second_cut, &end].concat() {
        world.step(step);
    }
    let delivered: Vec<Bytes> = world.finish().into_values().flatten().collect();
    let ledger = world.feed.history().and_then(|history| history.ledger).unwrap();

    let told = (ledger.published, ledger.received, ledger.before + ledger.aged_out);
    assert_eq!((delivered.len(), told), (11, (12, 11, 1)), "{ledger:?}");
}

#[test]
fn live_messages_wait_for_what_was_stored_before_the_look_and_for_nothing_stored_later() {
    let mut world = World::new();
    for _ in 0..100 {
        world.step(Step::Publish(0));
        world.step(Step::Store);
    }
    world.step(Step::Connect);
    world.step(Step::Survey);
    // Publishers are faster than history is read.
    for _ in 0..100 {
        world.step(Step::Read);
        (0..3).for_each(|_| world.step(Step::Publish(0)));
        (0..3).for_each(|_| world.step(Step::Store));
        (0..3).for_each(|_| world.step(Step::Deliver(0)));
    }
    assert!(world.feed.history().is_some_and(|history| history.read == 100));
    // The end of history, one more look at what the stream stored meanwhile, and the live ones.
    world.step(Step::Read);
    world.step(Step::Survey);
    (0..400).for_each(|_| world.step(Step::Read));
    assert!(matches!(world.feed.phase, Phase::Direct));

    world.step(Step::Publish(0));
    world.step(Step::Deliver(0));

    let mut last = None;
    while let Ok(frame) = world.frames.try_recv() {
        last = Some(frame);
    }
    let Some(Body::Whole(payload)) = last.map(|frame| frame.body) else { panic!("one piece") };
    assert_eq!(Some(&payload), world.published[0].last());
}

#[test]
fn what_is_stored_after_the_first_look_comes_before_what_is_live() {
    let mut world = World::new();
    // Stored; about to be stored, and the server has looked for subscribers; live.
    world.step(Step::Publish(0));
    world.step(Step::Store);
    world.step(Step::Publish(0));
    world.step(Step::Connect);
    world.step(Step::Publish(0));
    world.step(Step::Publish(1));
    world.step(Step::Survey);
    (0..4).for_each(|_| world.step(Step::Read));
    assert!(world.feed.wants_look());

    world.step(Step::Survey);
    (0..4).for_each(|_| world.step(Step::Read));
    world.step(Step::Publish(0));
    let published = world.published.clone();
    let delivered = world.settle();

    assert_eq!(delivered.get(&0), Some(&published[0]));
    assert_eq!(delivered.get(&1), Some(&published[1]));
}

#[test]
fn the_first_live_message_after_a_quiet_start_waits_until_it_is_stored() {
    let mut world = World::new();
    world.step(Step::Publish(0));
    world.step(Step::Connect);
    world.step(Step::Survey);
    (0..4).for_each(|_| world.step(Step::Read));
    assert!(matches!(world.feed.phase, Phase::Direct));

    world.step(Step::Publish(0));
    world.step(Step::Deliver(0));

    assert!(world.frames.try_recv().is_err() && world.feed.wants_look());
    let published = world.published.clone();
    assert_eq!(world.settle().get(&0), Some(&published[0]));
}

#[test]
fn live_messages_that_the_stream_never_stores_are_passed_on_all_the_same() {
    let mut world = World::new();
    world.step(Step::Connect);
    world.step(Step::Publish(0));
    world.storing.clear();
    let mut looks = 0;
    while !matches!(world.feed.phase, Phase::Direct) {
        assert!(looks <= LOOKS && world.frames.try_recv().is_err());
        world.step(Step::Survey);
        (0..4).for_each(|_| world.step(Step::Read));
        looks += 1;
    }
    assert_eq!(looks, LOOKS);
    assert!(world.frames.try_recv().is_ok());
}

#[test]
fn a_loss_is_confirmed_by_a_second_look_and_made_good() {
    let mut world = World::new();
    world.step(Step::Connect);
    world.step(Step::Survey);
    (0..4).for_each(|_| world.step(Step::Read));
    // Live and stored once, after which live messages pass through.
    world.step(Step::Publish(0));
    world.step(Step::Deliver(0));
    world.step(Step::Store);
    world.step(Step::Survey);
    (0..4).for_each(|_| world.step(Step::Read));
    world.step(Step::Publish(0));
    world.on_the_way[0].clear();
    world.step(Step::Survey);
    assert!(world.reader.is_none() && world.feed.seqs().is_none());

    world.step(Step::Survey);

    assert!(world.feed.seqs().is_some());
    assert_eq!(world.settle().remove(&0).map(|it| it.len()), Some(2));
}

#[test]
fn the_newest_of_a_long_history_and_what_is_live_come_before_the_rest() {
    const STORED: usize = 40_000;
    let mut world = World::with_a_screen();
    let (frames_tx, frames) = mpsc::channel(STORED + 8);
    let (news, mut ahead) = mpsc::channel(STORED);
    world.emitter = Emitter::new(frames_tx).with_ahead(news);
    world.frames = frames;
    for _ in 0..STORED - 1 {
        world.step(Step::Publish(0));
        world.step(Step::Store);
    }
    world.step(Step::Connect);
    // One is live and stored, one is live alone.
    world.step(Step::Publish(0));
    world.step(Step::Store);
    world.step(Step::Publish(1));
    world.survey();
    assert!(world.feed.is_ahead());

    while world.read_newest() {}
    world.feed.flush_ahead(&world.emitter);

    let mut seen = Vec::new();
    while let Ok(Ahead::Frame(frame)) = ahead.try_recv() {
        let Body::Whole(payload) = frame.body else { panic!("one piece") };
        seen.push(payload);
    }
    let newest = &world.published[0][STORED - 16_384..];
    assert_eq!(seen[..16_384], *newest);
    assert_eq!(seen[16_384..], world.published[1]);
    assert!(world.frames.try_recv().is_err(), "the history comes later");
    assert_eq!(world.feed.seqs().map(Iterator::count), Some(STORED));
}

#[test]
fn a_stream_made_anew_is_read_from_its_start() {
    let (frames_tx, mut frames) = mpsc::channel(16);
    let emitter = Emitter::new(frames_tx);
    let mut feed = Feed::new("s-kv-events");
    let extent = |created: &str, last_seq| extent(created, 1, last_seq);
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
