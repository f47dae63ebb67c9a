//! The NATS source against a real server.
#![expect(clippy::expect_used, clippy::panic, reason = "a failed expectation should stop the test")]

mod cluster;
mod counts;
mod delivery;
mod harm;
mod ledger;
mod login;
mod readonly;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use kvtop::domain::{SourceNote, SourceState};
use kvtop::frame::{Body, Frame, Origin};
use kvtop::source::nats::{NatsOptions, NatsSpec, Resolved, resolve, spawn};
use kvtop::source::{Ahead, Desired, Emitter, FRAME_BUFFER, SourceHandle};
use kvtop::wire::health;
use tokio::sync::mpsc;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(40);

/// A message as published: subject and payload.
pub(crate) type Published = (String, Vec<u8>);

/// Payloads in order, by worker and rank, or by subject where there is no worker to see.
type Lanes = BTreeMap<String, Vec<Vec<u8>>>;

/// Returns what was published on NATS in the recording `name`.
pub(crate) fn recording(name: &str) -> Vec<Published> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/captures");
    let file = std::fs::File::open(folder.join(format!("{name}.frames.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().filter_map(published).collect()
}

fn published(line: &str) -> Option<Published> {
    use base64::Engine as _;
    let frame: serde_json::Value = serde_json::from_str(line).ok()?;
    let subject = frame["from"]["nats"]["subject"].as_str()?.to_owned();
    let payload = match frame["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => base64::engine::general_purpose::STANDARD.decode(frame["b64"].as_str()?).unwrap(),
    };
    Some((subject, payload))
}

fn is_durable(subject: &str) -> bool {
    subject.ends_with("-kv-events.kv-events")
}

fn lane(subject: &str, payload: &[u8]) -> String {
    let event: Option<serde_json::Value> = serde_json::from_slice(payload).ok();
    let event = event.filter(|event| event["worker_id"].is_u64());
    event.map_or_else(
        || subject.to_owned(),
        |event| format!("{subject} {} {}", event["worker_id"], event["event"]["dp_rank"]),
    )
}

fn lanes(messages: &[Published]) -> Lanes {
    let mut lanes = Lanes::new();
    for (subject, payload) in messages {
        lanes.entry(lane(subject, payload)).or_default().push(payload.clone());
    }
    lanes
}

/// A source under test, and what it delivered.
struct Attached {
    handle: SourceHandle,
    frames: mpsc::Receiver<Frame>,
    delivered: Vec<Published>,
    notes: Vec<SourceNote>,
    /// What other sources of the same engine have.
    others: Emitter,
}

fn resolved(options: &NatsOptions) -> Resolved {
    resolve(options, &|_| None, &|path| std::fs::read_to_string(path)).unwrap()
}

fn at(url: &str) -> NatsOptions {
    NatsOptions { url: Some(url.to_owned()), ..NatsOptions::default() }
}

impl Attached {
    fn to(options: &NatsOptions) -> Self {
        Self::with_namespace(options, None)
    }

    fn with_namespace(options: &NatsOptions, namespace: Option<&str>) -> Self {
        let (frames_tx, frames) = mpsc::channel(FRAME_BUFFER);
        Self::through(Emitter::new(frames_tx), frames, options, namespace)
    }

    /// Attaches like a screen, which looks at what is new before a long history was read.
    fn as_a_screen(options: &NatsOptions) -> (Self, mpsc::Receiver<Ahead>) {
        let (frames_tx, frames) = mpsc::channel(FRAME_BUFFER);
        let (news, ahead) = mpsc::channel(FRAME_BUFFER);
        let emitter = Emitter::new(frames_tx).with_ahead(news);
        (Self::through(emitter, frames, options, None), ahead)
    }

    /// Attaches with an emitter into `frames`.
    fn through(
        others: Emitter,
        frames: mpsc::Receiver<Frame>,
        options: &NatsOptions,
        namespace: Option<&str>,
    ) -> Self {
        let spec = NatsSpec {
            name: "nats".into(),
            resolved: resolved(options),
            namespaces: namespace.map(Into::into).into_iter().collect(),
        };
        let handle = spawn(spec, others.clone());
        Self { handle, frames, delivered: Vec::new(), notes: Vec::new(), others }
    }

    fn take(&mut self, frame: Frame) {
        let Body::Whole(payload) = frame.body else { panic!("NATS has no multipart messages") };
        match frame.origin {
            Origin::Nats { subject, .. } | Origin::Jetstream { subject, .. } => {
                self.delivered.push((subject.to_string(), payload.to_vec()));
            }
            Origin::Health { source } => {
                self.notes.push(health::decode(&source, frame.at, &payload).unwrap());
            }
            other => panic!("unexpected frame of {}", other.kind()),
        }
    }

    /// Takes frames until `done`, or panics with `what`.
    async fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let deadline = tokio::time::sleep(PATIENCE);
        tokio::pin!(deadline);
        while !done(self) {
            tokio::select! {
                frame = self.frames.recv() => self.take(frame.expect("the source should live")),
                () = &mut deadline => {
                    panic!("{what}; {} messages, {:#?}", self.delivered.len(), self.notes.last());
                }
            }
        }
    }

    async fn until_delivered(&mut self, count: usize) {
        self.until(&format!("expected {count} messages"), |it| it.delivered.len() >= count).await;
    }

    async fn until_live(&mut self) {
        self.until("expected to be live", |it| {
            it.notes.last().is_some_and(|note| {
                matches!(note.state, SourceState::Live | SourceState::Lossy)
                    && note.rtt_us.is_some()
            })
        })
        .await;
    }

    async fn until_note(&mut self, text: &str) {
        self.until(&format!("expected a note with `{text}`"), |it| {
            it.notes.iter().any(|note| note.why.contains(text))
        })
        .await;
    }

    /// Takes whatever comes for `span`.
    async fn linger(&mut self, span: Duration) {
        let deadline = tokio::time::sleep(span);
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                frame = self.frames.recv() => self.take(frame.expect("the source should live")),
                () = &mut deadline => return,
            }
        }
    }

    async fn wait_for(&mut self, state: SourceState) {
        let waited = self.handle.state.wait_for(|now| *now == state);
        drop(tokio::time::timeout(PATIENCE, waited).await.expect("a state in time").unwrap());
    }

    async fn end(mut self) {
        self.handle.desired.send_replace(Desired::Stopped);
        self.wait_for(SourceState::Ended).await;
        self.handle.task.await.unwrap();
    }
}

/// A publisher with the streams that Dynamo makes.
pub(crate) struct Publisher {
    client: async_nats::Client,
    jetstream: async_nats::jetstream::Context,
}

impl Publisher {
    pub(crate) async fn to(url: &str) -> Self {
        Self::with(async_nats::ConnectOptions::new(), url).await
    }

    pub(crate) async fn with(options: async_nats::ConnectOptions, url: &str) -> Self {
        let client = options.connect(url).await.unwrap();
        let jetstream = async_nats::jetstream::new(client.clone());
        Self { client, jetstream }
    }

    /// Makes the streams that `messages` need, as dynamo-runtime 0.9.0 does.
    pub(crate) async fn make_streams(&self, messages: &[Published]) {
        let durable = messages.iter().filter(|(subject, _)| is_durable(subject));
        let streams: std::collections::BTreeSet<&str> =
            durable.map(|(subject, _)| subject.trim_end_matches(".kv-events")).collect();
        for stream in streams {
            self.make_stream(stream).await;
        }
    }

    async fn make_stream(&self, stream: &str) {
        self.jetstream.get_or_create_stream(stream_config(stream, 1)).await.unwrap();
    }

    /// Empties `stream`, as a router with `--router-reset-states` does at its start.
    pub(crate) async fn purge(&self, stream: &str) {
        let stream = self.jetstream.get_stream(stream).await.unwrap();
        stream.purge().await.unwrap();
    }

    /// Makes `stream`, which deletes messages that are older than `max_age`.
    pub(crate) async fn make_short_stream(&self, stream: &str, max_age: Duration) {
        let config = async_nats::jetstream::stream::Config {
            max_age,
            duplicate_window: max_age,
            ..stream_config(stream, 1)
        };
        self.jetstream.get_or_create_stream(config).await.unwrap();
    }

    /// Deletes `stream` and makes it anew.
    pub(crate) async fn make_anew(&self, stream: &str) {
        self.jetstream.delete_stream(stream).await.unwrap();
        self.make_stream(stream).await;
    }

    /// Returns the first and the last sequence of `stream`.
    pub(crate) async fn range(&self, stream: &str) -> (u64, u64) {
        let mut stream = self.jetstream.get_stream(stream).await.unwrap();
        let state = &stream.info().await.unwrap().state;
        (state.first_sequence, state.last_sequence)
    }

    /// Publishes `messages` in order; durable ones are stored when this returns.
    pub(crate) async fn publish(&self, messages: &[Published]) {
        let mut acks = Vec::new();
        for (subject, payload) in messages {
            if is_durable(subject) {
                let ack = self.jetstream.publish(subject.clone(), payload.clone().into()).await;
                acks.push(ack.unwrap());
            } else {
                self.client.publish(subject.clone(), payload.clone().into()).await.unwrap();
            }
            if acks.len() == 256 {
                for ack in acks.drain(..) {
                    ack.await.unwrap();
                }
            }
        }
        for ack in acks {
            ack.await.unwrap();
        }
        self.client.flush().await.unwrap();
    }
}

fn stream_config(stream: &str, replicas: usize) -> async_nats::jetstream::stream::Config {
    async_nats::jetstream::stream::Config {
        name: stream.to_owned(),
        subjects: vec![format!("{stream}.*")],
        max_age: Duration::from_secs(3600),
        num_replicas: replicas,
        ..Default::default()
    }
}

/// An event as 0.9 publishes it.
fn event(worker: u64, rank: u32, number: u64) -> Vec<u8> {
    format!(
        r#"{{"worker_id":{worker},"event":{{"event_id":{number},"data":{{"removed":{{"block_hashes":[{number}]}}}},"dp_rank":{rank}}}}}"#
    )
    .into_bytes()
}

pub(crate) const STREAM: &str = "namespace-dynamo-component-backend-kv-events";

pub(crate) fn durable(payload: Vec<u8>) -> Published {
    (format!("{STREAM}.kv-events"), payload)
}

/// Makes an authority in `ca.pem` and a certificate for `name` in `server.pem`.
pub(crate) fn certificate(folder: &crate::support::nats_server::Folder, name: &str) {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    folder.write("ca.pem", &ca.self_signed(&ca_key).unwrap().pem());
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
    folder.write("server.pem", &leaf.pem());
    folder.write("server.key", &key.serialize_pem());
}

/// Prints a figure, for those who run the tests with `--nocapture`.
#[expect(clippy::print_stdout, reason = "measurements are for people")]
fn report(text: &str) {
    println!("measured: {text}");
}
