//! One connection to a publisher, from the handshake to its loss.
//!
//! Messages are read and passed on at once, whatever else happens: a subscriber that stops reading
//! makes the publisher hold up to 100 000 messages for it (dynamo-runtime 0.9.0,
//! `transports/event_plane/zmq_transport.rs:26`). What is written are a handshake, subscriptions and
//! heartbeats, and never in the way of reading.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::dedup::Filter;
use super::gather::Gather;
use super::tokens::{self, Stripper};
use super::zmtp::{self, Command, Decoder, Piece};
use crate::clock;
use crate::frame::{Body, Frame, Origin};
use crate::source::Emitter;

/// Room that is made for every read.
const READ: usize = 64 << 10;

/// Most that may wait to be written. Only a peer that asks for answers and does not read them gets
/// there.
const UNWRITTEN: usize = 16 << 10;

/// Parts of a message of an engine's own; those of Dynamo have four.
const ENGINE_PARTS: usize = 3;

/// The reason why an engine's socket is no publisher's address.
const IS_ENGINE: &str = "this is an engine's own event socket, not the worker's publisher: pass it with --engine, \
                         and the address that discovery shows for KV events with --zmq";

/// The reason why a publisher's address is no engine's.
const IS_PUBLISHER: &str = "this is a worker's publisher for routers, not its engine's event socket: pass it with \
                            --zmq, and the endpoint of the engine's KV events configuration with --engine";

/// The time limit, and the number of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZmqLimits {
    /// Longest time to connect: a second for a direct connection, then a forward.
    pub connect: Duration,
    /// Time for the handshake.
    pub handshake: Duration,
    /// Time between two heartbeats.
    pub heartbeat: Duration,
    /// The latest that an answer may come. It comes after whatever is on its way, so that a late one means
    /// that messages pile up before kvtop.
    pub patience: Duration,
    /// The time a publisher should keep the connection to a kvtop that is silent, because it was
    /// stopped.
    pub silence: Duration,
    /// The first wait after a loss.
    pub retry_first: Duration,
    /// The longest wait after a loss.
    pub retry_last: Duration,
    /// The wait after a connection that could not keep up.
    pub retry_behind: Duration,
    /// Connections at most.
    pub connections: usize,
}

impl Default for ZmqLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(6),
            handshake: Duration::from_secs(5),
            heartbeat: Duration::from_secs(3),
            patience: Duration::from_secs(5),
            silence: Duration::from_secs(10),
            retry_first: Duration::from_millis(500),
            retry_last: Duration::from_secs(5),
            retry_behind: Duration::from_secs(30),
            connections: 512,
        }
    }
}

impl ZmqLimits {
    /// Returns the wait after a connection that could not keep up, by how long it lasted. A publisher that was heard well for
    /// long may have paused itself; kvtop is too slow if it happens again.
    pub(super) fn wait_behind(&self, lasted: Duration) -> Duration {
        let again = lasted < self.retry_behind.saturating_mul(2);
        if again { self.retry_behind } else { Duration::ZERO }
    }
}

/// The reason why a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// The other side closed it, or is unusable.
    Lost(String),
    /// Messages came later and later.
    Behind,
    /// Nobody receives frames any more.
    Unheard,
}

impl From<zmtp::Violation> for End {
    fn from(violation: zmtp::Violation) -> Self {
        Self::Lost(violation.to_string())
    }
}

/// The parts of a connection, and its purpose.
pub(super) struct Connection<'a> {
    pub(super) endpoint: &'a Arc<str>,
    pub(super) topics: &'a [String],
    pub(super) limits: &'a ZmqLimits,
    pub(super) emitter: &'a Emitter,
    /// Is told of what was taken.
    pub(super) gather: &'a Gather,
    /// Lets each message of several brokers pass once.
    pub(super) filter: Option<Filter>,
    /// Takes the tokens out of what an engine sends.
    pub(super) stripper: Option<Stripper>,
}

/// News of a connection while it lasts.
pub(super) trait Told {
    /// The subscriptions are made.
    fn live(&mut self);
    /// The address is of another kind than the user believes, for this reason.
    fn mistaken(&mut self, why: &'static str);
    /// A heartbeat took this long.
    fn round_trip(&mut self, span: Duration);
}

impl Connection<'_> {
    /// Speaks with the publisher behind `line` until something ends it.
    pub(super) async fn run(
        mut self,
        line: impl AsyncRead + AsyncWrite + Unpin,
        told: &mut impl Told,
    ) -> End {
        let (mut reader, mut writer) = tokio::io::split(line);
        let mut state = State { out: BytesMut::new(), decoder: Decoder::default(), asked: None };
        let mut buffer = BytesMut::with_capacity(READ);
        let hello = self.shake_hands(&mut reader, &mut writer, &mut buffer, &mut state);
        let minor = match timeout(self.limits.handshake, hello).await {
            Ok(Ok(minor)) => minor,
            Ok(Err(end)) => return end,
            Err(_) => return End::Lost("it does not answer as a ZMQ socket does".to_owned()),
        };
        told.live();
        let beats = minor >= 1;
        let mut next = Instant::now();
        loop {
            // What came with the handshake is taken before anything else is read.
            if let Err(end) = self.take(&mut buffer, &mut state, told) {
                return end;
            }
            buffer.reserve(READ);
            tokio::select! {
                read = reader.read_buf(&mut buffer) => {
                    if let Err(end) = received(read) {
                        return end;
                    }
                }
                written = writer.write_buf(&mut state.out), if !state.out.is_empty() => {
                    if let Err(error) = written {
                        return End::Lost(format!("the connection was lost: {}", error.kind()));
                    }
                }
                () = tokio::time::sleep_until(next), if beats => {
                    let now = Instant::now();
                    match state.asked {
                        Some(asked) if now >= asked + self.limits.patience => return End::Behind,
                        Some(asked) => next = asked + self.limits.patience,
                        None => {
                            zmtp::ping(tenths(self.limits.silence), &mut state.out);
                            state.asked = Some(now);
                            next = now + self.limits.heartbeat;
                        }
                    }
                }
            }
        }
    }

    /// Greets, says that this is a subscriber, and subscribes. Returns the other's minor version.
    async fn shake_hands(
        &self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut (impl AsyncWrite + Unpin),
        buffer: &mut BytesMut,
        state: &mut State,
    ) -> Result<u8, End> {
        let lost = |error: std::io::Error| {
            End::Lost(format!("the handshake was broken off: {}", error.kind()))
        };
        writer.write_all(&zmtp::greeting()).await.map_err(lost)?;
        let mut greeting = [0; zmtp::GREETING];
        reader.read_exact(&mut greeting).await.map_err(lost)?;
        let minor = zmtp::read_greeting(&greeting)?;
        zmtp::ready(&mut state.out);
        writer.write_all_buf(&mut state.out).await.map_err(lost)?;
        loop {
            match state.decoder.next(buffer)? {
                Some(Piece::Command(body)) => {
                    if zmtp::read_command(body)? == Command::Ready {
                        break;
                    }
                }
                Some(Piece::Message(_)) => {
                    return Err(zmtp::Violation::Malformed("a message before the handshake").into());
                }
                None => {
                    buffer.reserve(READ);
                    received(reader.read_buf(buffer).await)?;
                }
            }
        }
        for topic in self.topics {
            zmtp::subscribe(topic, &mut state.out);
        }
        writer.write_all_buf(&mut state.out).await.map_err(lost)?;
        Ok(minor)
    }

    /// Passes on what is whole in `buffer`.
    fn take(
        &mut self,
        buffer: &mut BytesMut,
        state: &mut State,
        told: &mut impl Told,
    ) -> Result<(), End> {
        let now = clock::now();
        let mut count = 0;
        while let Some(piece) = state.decoder.next(buffer)? {
            match piece {
                Piece::Message(mut parts) => {
                    count += 1;
                    if let Some(stripper) = &mut self.stripper {
                        if tokens::is_publishers(&parts) {
                            told.mistaken(IS_PUBLISHER);
                        }
                        let Some(kept) = stripper.keep(&parts) else { continue };
                        parts = kept;
                    } else if parts.len() == ENGINE_PARTS {
                        // An engine's socket was named as a publisher's: its last part has tokens.
                        told.mistaken(IS_ENGINE);
                        parts.truncate(ENGINE_PARTS - 1);
                    }
                    if self.filter.as_mut().is_some_and(|filter| !filter.passes(&parts)) {
                        continue;
                    }
                    let origin = Origin::Zmq { endpoint: Arc::clone(self.endpoint) };
                    let body = Body::Parts(parts);
                    if !self.emitter.emit(Frame { at: now, time: None, origin, body }) {
                        return Err(End::Unheard);
                    }
                }
                Piece::Command(body) => match zmtp::read_command(body)? {
                    Command::Ping(context) => {
                        zmtp::pong(&context, &mut state.out);
                        if state.out.len() > UNWRITTEN {
                            return Err(zmtp::Violation::Malformed("heartbeats in a flood").into());
                        }
                    }
                    Command::Pong => {
                        if let Some(asked) = state.asked.take() {
                            told.round_trip(asked.elapsed());
                        }
                    }
                    Command::Ready | Command::Other => {}
                },
            }
        }
        self.gather.took(count);
        Ok(())
    }
}

/// The memory of a connection.
struct State {
    /// Bytes that wait to be written.
    out: BytesMut,
    decoder: Decoder,
    /// The time the unanswered heartbeat was sent.
    asked: Option<Instant>,
}

fn received(read: std::io::Result<usize>) -> Result<(), End> {
    match read {
        Ok(0) => Err(End::Lost("the publisher closed the connection".to_owned())),
        Ok(_) => Ok(()),
        Err(error) => Err(End::Lost(format!("the connection was lost: {}", error.kind()))),
    }
}

fn tenths(span: Duration) -> u16 {
    u16::try_from(span.as_millis() / 100).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publisher_that_was_heard_for_long_is_asked_again_at_once() {
        let limits = ZmqLimits::default();
        let after = |seconds| limits.wait_behind(Duration::from_secs(seconds));

        assert_eq!([after(5), after(59)], [limits.retry_behind; 2]);
        assert_eq!([after(60), after(3_600)], [Duration::ZERO; 2]);
    }
}
