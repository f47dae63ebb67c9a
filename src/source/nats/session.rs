//! One connection, from login to loss.
//!
//! Everything here runs on the reading thread. What comes off the socket is passed on or held at
//! once; history is asked for only while there is room.

mod arrived;
mod history;
mod rights;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::{Client, Event, Message, ServerError, Subscriber};
use bytes::Bytes;
use futures_util::future;
use futures_util::stream::{self, ReadyChunks, StreamExt};
use tokio::sync::watch;

use crate::clock;
use crate::domain::{SourceState, Timestamp};
use crate::dynamo::plane;
use crate::frame::{Body, Frame, Origin};
use crate::source::{Ahead, Desired, Emitter, Offer, Pace};
use crate::wire::is_read;

use arrived::arrived;
use history::{Reader, next_answers};
use rights::Rights;

use super::connect::Connection;
use super::feed::Feed;
use super::status::Status;
use super::stream::{self as jetstream, Absent, Survey};
use super::subject::{durable_stream, is_wanted, stream_prefix};

/// KV events that streams store.
const STREAMS: &str = plane::STREAM_SUBJECTS;

/// Messages taken at a time.
const CHUNK: usize = 1024;

/// Interval at which streams are listed and compared with live messages.
const SURVEY_EVERY: Duration = Duration::from_secs(5);

/// Interval of requests to a server that refused: each refusal is a line in its log.
const SURVEY_REFUSED: Duration = Duration::from_secs(60);

/// Delay before the next look when messages seem to be missing, or a request was not answered.
const SURVEY_SOON: Duration = Duration::from_millis(300);

/// Longest time that live messages are held until the server lists the streams. A cluster elects a leader within
/// seconds, and messages that are passed on before their history arrive in the wrong order.
const SURVEY_PATIENCE: Duration = Duration::from_secs(15);

/// Delay before the next look for live messages that a stream is about to store.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// Interval of checks for room, while messages wait for it.
const ROOM_CHECK: Duration = Duration::from_millis(2);

/// Reads of the socket before the client is left alone for a moment.
const GATHER_TURNS: usize = 64;

/// The longest wait of the loop.
const IDLE: Duration = Duration::from_millis(500);

/// Dynamo namespaces that have a subscription each, at most; of more all namespaces are listened to.
const PLANES: usize = 16;

/// Subjects known at most. There are as many as components and endpoints, a few dozen.
const SUBJECTS: usize = 4096;

/// Said of a server that fills the memory: the client library keeps a message until the last byte of it came.
pub(super) const TOO_MUCH: &str = "kvtop reached its memory limit (--max-memory) and gave up the connection, whose messages may \
                        be too large to hold";

/// The reason why a session ended.
#[derive(Debug)]
pub(super) enum End {
    /// The composition root wants something else.
    Told,
    /// Nobody receives frames any more.
    Unheard,
    /// The connection is gone, or of no use.
    Lost(String),
}

/// State that outlives a connection.
pub(super) struct Memory {
    pub(super) emitter: Emitter,
    pub(super) status: Status,
    /// Subjects of the event plane of the Dynamo namespaces to listen to.
    planes: Vec<String>,
    /// Whether messages go ahead of a long history.
    ahead: AheadState,
    /// Prefixes of the streams of those; all streams when there is none.
    prefixes: Arc<[String]>,
    pub(super) feeds: HashMap<String, Feed>,
    subjects: HashMap<String, Arc<str>>,
    /// The subject of the last message, which most often is that of the next.
    last: Arc<str>,
}

impl Memory {
    pub(super) fn new(emitter: Emitter, status: Status, namespaces: &[Arc<str>]) -> Self {
        let (feeds, subjects) = (HashMap::new(), HashMap::new());
        let planes = if namespaces.is_empty() || namespaces.len() > PLANES {
            vec!["namespace.>".to_owned()]
        } else {
            let starts = namespaces.iter().flat_map(|name| plane::subjects_of(name));
            starts.map(|start| format!("{start}>")).collect()
        };
        let prefixes = namespaces.iter().map(|name| stream_prefix(name)).collect();
        let ahead = if emitter.shows_ahead() { AheadState::Possible } else { AheadState::Over };
        Self { emitter, status, planes, ahead, prefixes, feeds, subjects, last: "".into() }
    }

    /// Begins with the newest messages of all streams, where the history of one takes long.
    fn begin_ahead(&mut self) {
        let long =
            self.ahead == AheadState::Possible && self.feeds.values().any(Feed::begins_long_read);
        if long || self.ahead == AheadState::Begun {
            self.ahead = AheadState::Begun;
            self.feeds.values_mut().for_each(Feed::begin_ahead);
        }
    }

    /// Passes on live messages that wait for a history, and says when none is left that does.
    pub(super) fn flush_ahead(&mut self) {
        if self.ahead == AheadState::Over {
            return;
        }
        for feed in self.feeds.values_mut() {
            feed.flush_ahead(&self.emitter);
        }
        let goes_on = match self.ahead {
            AheadState::Possible => {
                !self.status.has_surveyed() || self.feeds.values().any(Feed::is_asking)
            }
            AheadState::Begun => {
                let mut feeds = self.feeds.values();
                !feeds.clone().any(Feed::is_broken_ahead) && feeds.any(Feed::is_ahead)
            }
            AheadState::Over => true,
        };
        if !goes_on && self.emitter.offer_ahead(Ahead::Over) != Offer::Full {
            self.ahead = AheadState::Over;
            self.feeds.values_mut().for_each(Feed::end_ahead);
        }
    }

    fn interned(&mut self, subject: &str) -> Arc<str> {
        if *self.last == *subject {
            return Arc::clone(&self.last);
        }
        self.last = match self.subjects.get(subject) {
            Some(known) => Arc::clone(known),
            None => self.learned(subject),
        };
        Arc::clone(&self.last)
    }

    fn learned(&mut self, subject: &str) -> Arc<str> {
        if self.subjects.len() >= SUBJECTS {
            self.subjects.clear();
        }
        let shared: Arc<str> = subject.into();
        self.subjects.insert(subject.to_owned(), Arc::clone(&shared));
        shared
    }
}

/// Whether messages go ahead of a long history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AheadState {
    /// Nothing so far: it is not known whether a history takes long.
    Possible,
    /// The newest messages, and what comes live.
    Begun,
    /// Nothing more: the frames have all that there is, or go on alone.
    Over,
}

type Live = ReadyChunks<stream::SelectAll<Subscriber>>;
type Question = Pin<Box<dyn Future<Output = Survey> + Send>>;

/// One connection at work.
pub(super) struct Session<'a> {
    memory: &'a mut Memory,
    client: Client,
    events: tokio::sync::mpsc::Receiver<Event>,
    live: Live,
    survey: Option<Question>,
    survey_at: Timestamp,
    /// The survey under way is for feeds that hold messages, and too soon for the others.
    look: bool,
    look_at: Timestamp,
    /// The time of the first question about streams that nobody answered.
    mute_since: Option<Timestamp>,
    /// The feed whose history is being read, and the answers.
    reader: Option<Reader>,
    /// Refusals of the server, among them those that keep history from being read.
    rights: Rights,
    trouble: String,
    pace: Pace,
}

impl<'a> Session<'a> {
    /// Subscribes and starts to look for streams.
    pub(super) async fn start(
        memory: &'a mut Memory,
        connection: Connection,
    ) -> Result<Session<'a>, String> {
        let Connection { client, events } = connection;
        let rights = Rights::new(STREAMS, &memory.planes);
        // Not `>`: what JetStream delivers to the routers' consumers would come a second time.
        let mut live = vec![subscribe(&client, STREAMS).await?];
        for plane in &memory.planes {
            live.push(subscribe(&client, plane).await?);
        }
        let live = stream::select_all(live).ready_chunks(CHUNK);
        let now = clock::now();
        Ok(Self {
            memory,
            client,
            events,
            live,
            survey: None,
            survey_at: now,
            look: false,
            look_at: now,
            mute_since: None,
            reader: None,
            rights,
            trouble: String::new(),
            pace: Pace::default(),
        })
    }

    /// Delivers until something ends it, then leaves the server without a subscription.
    pub(super) async fn run(mut self, desired: &mut watch::Receiver<Desired>) -> End {
        self.memory.status.set(SourceState::Live, "", None);
        let end = self.deliver(desired).await;
        self.drain();
        for feed in self.memory.feeds.values_mut() {
            feed.disconnected();
        }
        self.memory.flush_ahead();
        if !matches!(end, End::Lost(_)) {
            // The socket is closed right after this; the server need not wait for that.
            drop(self.live);
            let goodbye = self.client.flush();
            drop(tokio::time::timeout(Duration::from_millis(200), goodbye).await);
        }
        end
    }

    async fn deliver(&mut self, desired: &mut watch::Receiver<Desired>) -> End {
        let emitter = self.memory.emitter.clone();
        let statistics = self.client.statistics();
        let _watched = emitter.budget().watch_over(Box::new(move || {
            let bytes = statistics.in_bytes.load(Ordering::Relaxed);
            (bytes, statistics.in_messages.load(Ordering::Relaxed))
        }));
        let mut alarm = std::pin::pin!(emitter.alarm());
        loop {
            let wait = self.duties();
            if !self.memory.status.heard {
                return End::Unheard;
            }
            let emitter = &self.memory.emitter;
            let room = self.reader.as_ref().is_some_and(|reader| reader.has_room(emitter));
            tokio::select! {
                wanted = desired.wait_for(|wanted| *wanted != Desired::Running) => {
                    drop(wanted);
                    return End::Told;
                }
                event = self.events.recv() => {
                    if let Some(end) = self.event(event) {
                        return end;
                    }
                }
                messages = self.live.next() => match messages {
                    Some(messages) => self.receive_and_gather(messages).await,
                    None => return End::Lost("the connection was closed".to_owned()),
                },
                answers = next_answers(&mut self.reader), if room => {
                    self.read(answers);
                }
                () = alarm.as_mut() => {
                    return End::Lost(TOO_MUCH.to_owned());
                }
                survey = answered(&mut self.survey), if self.survey.is_some() => {
                    self.survey = None;
                    self.drain();
                    self.surveyed(survey);
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Does what is due and returns how long there is nothing to do.
    fn duties(&mut self) -> Duration {
        let now = clock::now();
        let looking = self.reader.is_none() && self.memory.feeds.values().any(Feed::wants_look);
        let due = now >= self.survey_at;
        if self.survey.is_none() && (due || looking && now >= self.look_at) {
            self.look = !due;
            let prefixes = Arc::clone(&self.memory.prefixes);
            let wanted = move |stream: &str| is_wanted(stream, &prefixes);
            if due {
                self.survey_at = now.after(SURVEY_EVERY);
            }
            self.survey = Some(Box::pin(jetstream::survey(self.client.clone(), wanted)));
        }
        let mut waiting = self.reader.is_some();
        self.memory.flush_ahead();
        for feed in self.memory.feeds.values_mut() {
            feed.flush(&self.memory.emitter);
            waiting |= feed.is_flushing();
        }
        self.report(now);
        let next = if looking { self.survey_at.min(self.look_at) } else { self.survey_at };
        if waiting { ROOM_CHECK } else { IDLE.min(next.since(now)).max(ROOM_CHECK) }
    }

    fn report(&mut self, now: Timestamp) {
        let hole = self.memory.feeds.values().any(Feed::has_hole);
        let status = &mut self.memory.status;
        status.hole(hole);
        let lossy = status.is_lossy(now);
        let state = if lossy { SourceState::Lossy } else { SourceState::Live };
        self.rights.heard |= !self.memory.feeds.is_empty();
        let state = self.rights.state().unwrap_or(state);
        let words = [self.trouble.as_str(), status.loss(now)];
        let words = words.into_iter().find(|why| !why.is_empty()).unwrap_or_default();
        let why = self.rights.why().unwrap_or_else(|| words.into());
        status.set(state, why, None);
    }

    fn event(&mut self, event: Option<Event>) -> Option<End> {
        match event {
            None | Some(Event::Disconnected | Event::Closed) => {
                Some(End::Lost("the connection to the server was lost".to_owned()))
            }
            Some(Event::SlowConsumer(_)) => {
                self.memory.status.lost_uncounted();
                self.memory.feeds.values_mut().for_each(Feed::lost);
                self.survey_soon();
                None
            }
            Some(Event::ServerError(ServerError::AuthorizationViolation)) => {
                Some(End::Lost("the server revoked the login".to_owned()))
            }
            Some(Event::ServerError(ServerError::Other(error))) => {
                self.refused(&error);
                None
            }
            Some(
                Event::Connected
                | Event::LameDuckMode
                | Event::Draining
                | Event::ServerError(ServerError::SlowConsumer(_))
                | Event::ClientError(_),
            ) => None,
        }
    }

    /// The server refused something that was asked of it.
    fn refused(&mut self, error: &str) {
        if error.to_ascii_lowercase().contains("permissions violation for publish") {
            self.survey = None;
            self.surveyed(Survey::None { rtt: None, why: Absent::Denied });
        } else {
            self.rights.refused(error);
        }
    }

    /// Takes whatever has arrived, so that the answer to a question is judged after all that the
    /// server sent before it.
    fn drain(&mut self) {
        for _ in 0..64 {
            match arrived(&mut self.live) {
                Some(messages) => self.receive(messages),
                None => return,
            }
        }
    }

    /// Takes `messages` and, at high rates, whatever else has arrived; then lets more of them gather in the socket
    /// for a moment. The thread sleeps meanwhile: it would be woken for each packet otherwise. While questions are
    /// open or history is joined, nothing is put off.
    async fn receive_and_gather(&mut self, messages: Vec<Message>) {
        let mut count = messages.len();
        self.receive(messages);
        if self.pace.is_busy() {
            for _ in 0..GATHER_TURNS {
                // Lets the client read the socket.
                tokio::task::yield_now().await;
                let Some(messages) = arrived(&mut self.live) else { break };
                count += messages.len();
                self.receive(messages);
            }
        }
        let pause = self.pace.taken(count, clock::now().since(Timestamp(0)));
        let joins = |feed: &Feed| feed.wants_look() || feed.is_flushing();
        let asks = self.reader.is_some() || self.survey.is_some();
        if let Some(pause) = pause
            && !asks
            && !self.memory.feeds.values().any(joins)
        {
            std::thread::sleep(pause);
        }
    }

    fn receive(&mut self, messages: Vec<Message>) {
        let now = clock::now();
        self.rights.heard = true;
        for message in messages {
            self.receive_one(message, now);
        }
    }

    fn receive_one(&mut self, message: Message, now: Timestamp) {
        let reply = message.reply.as_ref();
        if reply.is_some_and(|reply| reply.starts_with("$JS.ACK.")) {
            return;
        }
        let origin = Origin::Nats {
            subject: self.memory.interned(&message.subject),
            reply: reply.map(|reply| reply.as_str().into()),
            headers: Vec::new(),
        };
        // Applications use the event plane for topics of their own, which may hold prompts.
        let is_read = is_read(&message.subject) || durable_stream(&message.subject).is_some();
        let payload = if is_read { message.payload } else { Bytes::new() };
        let body = Body::Whole(payload.clone());
        let frame = Frame { at: now, time: None, origin, body };
        match durable_stream(&message.subject) {
            None => self.memory.status.heard &= self.memory.emitter.emit(frame),
            Some(stream) => self.receive_durable(stream, frame, &payload),
        }
    }

    fn receive_durable(&mut self, stream: &str, frame: Frame, payload: &Bytes) {
        let memory = &mut *self.memory;
        if let Some(feed) = memory.feeds.get_mut(stream) {
            let lost = feed.live(frame, payload, &memory.emitter);
            if lost > 0 {
                memory.status.lost_held(lost);
            }
            if feed.is_doubted() && feed.is_durable() {
                self.survey_soon();
            }
            return;
        }
        if is_wanted(stream, &memory.prefixes) {
            let mut feed = Feed::new(stream);
            feed.live(frame, payload, &memory.emitter);
            memory.feeds.insert(stream.to_owned(), feed);
            // An answer under way may have been given before the stream was made.
            self.survey = None;
            self.survey_at = Timestamp(0);
        }
    }
}

async fn answered(question: &mut Option<Question>) -> Survey {
    match question {
        Some(question) => question.await,
        None => future::pending().await,
    }
}

async fn subscribe(client: &Client, subject: &str) -> Result<Subscriber, String> {
    client
        .subscribe(subject.to_owned())
        .await
        .map_err(|error| format!("could not subscribe to `{subject}`: {error}"))
}
