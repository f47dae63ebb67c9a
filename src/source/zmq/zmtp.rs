//! ZMTP 3.x as a subscriber speaks it (RFC 23 and 37): greeting, commands, and messages out of bytes.
//!
//! Pure: bytes in, pieces out. Knows the NULL mechanism only, which is what Dynamo's publishers use
//! (dynamo-runtime 1.6.1, `transports/event_plane/zmq_transport.rs`: no security is set). Whatever the
//! other side declares, memory grows only with what it has really sent, and up to [`LARGEST`].

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Bytes of a greeting.
pub(super) const GREETING: usize = 64;

/// Largest message, its parts together. Dynamo sends at most 8192 blocks in one, about 400 KiB
/// (dynamo-llm 1.4.0, `kv_router/publisher/sinks.rs:24`).
pub(super) const LARGEST: usize = 16 << 20;

/// Most parts of a message; Dynamo sends four.
const PARTS: usize = 16;

/// Largest command.
const LARGEST_COMMAND: usize = 64 << 10;

/// The part of a heartbeat that comes back with its answer, at most.
const CONTEXT: usize = 16;

/// More parts follow.
const MORE: u8 = 0b001;
/// The length has eight bytes.
const LONG: u8 = 0b010;
/// It is a command.
const COMMAND: u8 = 0b100;

/// A peer's mistake that ends the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Violation {
    #[error("it does not speak ZMTP, so that it is no ZMQ socket")]
    NoZmtp,
    #[error("it speaks ZMTP {0}; kvtop speaks 3")]
    Old(u8),
    #[error("it asks for the security mechanism {0}; kvtop has none")]
    Mechanism(String),
    #[error("it is a {0} socket, no publisher")]
    NoPublisher(String),
    #[error("it refuses: {0}")]
    Refused(String),
    #[error("it sends a message of more than {LARGEST} bytes")]
    Large,
    #[error("it sends a message of more than {PARTS} parts")]
    ManyParts,
    #[error("it sends {0}")]
    Malformed(&'static str),
}

/// Returns the greeting of this side: version 3.1, mechanism NULL, a client.
pub(super) fn greeting() -> [u8; GREETING] {
    let mut bytes = [0; GREETING];
    bytes[0] = 0xff;
    bytes[8] = 1;
    bytes[9] = 0x7f;
    bytes[10] = 3;
    bytes[11] = 1;
    bytes[12..16].copy_from_slice(b"NULL");
    bytes
}

/// Reads the other side's greeting and returns its minor version. From 1 on it knows heartbeats.
pub(super) fn read_greeting(bytes: &[u8; GREETING]) -> Result<u8, Violation> {
    if bytes[0] != 0xff || bytes[9] & 1 == 0 {
        return Err(Violation::NoZmtp);
    }
    if bytes[10] < 3 {
        // 1 is what ZMTP 2.0 says of itself there.
        return Err(Violation::Old(bytes[10].max(1)));
    }
    let mechanism = bytes[12..32].split(|byte| *byte == 0).next().unwrap_or_default();
    if mechanism != b"NULL" {
        return Err(Violation::Mechanism(name(mechanism)));
    }
    Ok(bytes[11])
}

/// Returns a short name that a peer gave, of printable letters only.
fn name(bytes: &[u8]) -> String {
    let letters = bytes.iter().take(200).map(|byte| char::from(*byte));
    letters.map(|letter| if letter.is_ascii_graphic() { letter } else { ' ' }).collect()
}

/// A command of the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// The handshake is done; it is a publisher.
    Ready,
    /// It wants an answer that carries this.
    Ping(Bytes),
    /// It answered.
    Pong,
    /// Anything else, to be passed over.
    Other,
}

/// Reads a command.
pub(super) fn read_command(mut body: Bytes) -> Result<Command, Violation> {
    let short = Violation::Malformed("a command that ends in the middle");
    if body.is_empty() || body.len() <= usize::from(body[0]) {
        return Err(short);
    }
    let length = usize::from(body.get_u8());
    let command = body.split_to(length);
    match command.as_ref() {
        b"READY" => is_publisher(body).map(|()| Command::Ready),
        b"PING" => {
            // Two bytes say how long this side may be silent; it never is for that long.
            let context = body.get(2..).ok_or(short)?;
            Ok(Command::Ping(body.slice_ref(&context[..context.len().min(CONTEXT)])))
        }
        b"PONG" => Ok(Command::Pong),
        b"ERROR" => Err(Violation::Refused(name(body.get(1..).unwrap_or_default()))),
        _ => Ok(Command::Other),
    }
}

/// Reads the properties of a handshake: a name after a byte of length, a value after four.
fn is_publisher(mut body: Bytes) -> Result<(), Violation> {
    let short = || Violation::Malformed("a handshake that ends in the middle");
    while body.has_remaining() {
        let length = usize::from(body.get_u8());
        if body.remaining() < length + 4 {
            return Err(short());
        }
        let key = body.split_to(length);
        let length = usize::try_from(body.get_u32()).map_err(|_| short())?;
        if body.remaining() < length {
            return Err(short());
        }
        let value = body.split_to(length);
        if key.eq_ignore_ascii_case(b"Socket-Type") {
            return match value.as_ref() {
                b"PUB" | b"XPUB" => Ok(()),
                other => Err(Violation::NoPublisher(name(other))),
            };
        }
    }
    Err(Violation::Malformed("a handshake without the type of its socket"))
}

/// Writes the handshake of a subscriber.
pub(super) fn ready(out: &mut BytesMut) {
    let mut body = BytesMut::new();
    body.put_u8(5);
    body.put_slice(b"READY");
    body.put_u8(11);
    body.put_slice(b"Socket-Type");
    body.put_u32(3);
    body.put_slice(b"SUB");
    write(COMMAND, &body, out);
}

/// Writes a subscription to everything that starts with `topic`. As a message, which every version
/// takes; the command of 3.1 is only another form.
pub(super) fn subscribe(topic: &str, out: &mut BytesMut) {
    let mut body = BytesMut::with_capacity(topic.len() + 1);
    body.put_u8(1);
    body.put_slice(topic.as_bytes());
    write(0, &body, out);
}

/// Writes a heartbeat. When this side is silent for `patience` tenths of a second, the other one
/// should give it up.
pub(super) fn ping(patience: u16, out: &mut BytesMut) {
    let mut body = BytesMut::new();
    body.put_u8(4);
    body.put_slice(b"PING");
    body.put_u16(patience);
    write(COMMAND, &body, out);
}

/// Writes the answer to a heartbeat.
pub(super) fn pong(context: &[u8], out: &mut BytesMut) {
    let mut body = BytesMut::new();
    body.put_u8(4);
    body.put_slice(b"PONG");
    body.put_slice(context);
    write(COMMAND, &body, out);
}

/// Writes a frame; those of this side are short but for topics.
fn write(flags: u8, body: &[u8], out: &mut BytesMut) {
    if let Ok(length) = u8::try_from(body.len()) {
        out.put_slice(&[flags, length]);
    } else {
        out.put_u8(flags | LONG);
        out.put_u64(body.len() as u64);
    }
    out.put_slice(body);
}

/// Data after the greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The parts of a message.
    Message(Vec<Bytes>),
    /// A command, unread.
    Command(Bytes),
}

/// Takes pieces off the front of what was received.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// Parts of a message whose last one is not there yet.
    parts: Vec<Bytes>,
    held: usize,
}

impl Decoder {
    /// Returns the next piece, none while there is only a part of it.
    pub(super) fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Piece>, Violation> {
        loop {
            let Some((flags, head, length)) = header(buffer)? else { return Ok(None) };
            if flags & COMMAND != 0 {
                if flags & MORE != 0 {
                    return Err(Violation::Malformed("a command in several parts"));
                }
                if length > LARGEST_COMMAND {
                    return Err(Violation::Large);
                }
            } else if length > LARGEST - self.held {
                return Err(Violation::Large);
            } else if self.parts.len() == PARTS {
                return Err(Violation::ManyParts);
            }
            if buffer.len() - head < length {
                return Ok(None);
            }
            buffer.advance(head);
            let body = buffer.split_to(length).freeze();
            if flags & COMMAND != 0 {
                return Ok(Some(Piece::Command(body)));
            }
            self.held += length;
            self.parts.push(body);
            if flags & MORE == 0 {
                self.held = 0;
                return Ok(Some(Piece::Message(std::mem::take(&mut self.parts))));
            }
        }
    }
}

/// Returns flags, bytes before the body, and bytes of the body of the frame at the front.
fn header(buffer: &BytesMut) -> Result<Option<(u8, usize, usize)>, Violation> {
    let Some(flags) = buffer.first().copied() else { return Ok(None) };
    if flags & !(MORE | LONG | COMMAND) != 0 {
        return Err(Violation::Malformed("a frame with unknown flags"));
    }
    if flags & LONG == 0 {
        return Ok(buffer.get(1).map(|length| (flags, 2, usize::from(*length))));
    }
    let Some(length) = buffer.get(1..9).and_then(|bytes| bytes.try_into().ok()) else {
        return Ok(None);
    };
    let length = usize::try_from(u64::from_be_bytes(length)).map_err(|_| Violation::Large)?;
    Ok(Some((flags, 9, length)))
}

/// Reads a greeting of any length: what is missing counts as zero. For tests/fuzz.
pub(in crate::source) fn read_greeting_bytes(bytes: &[u8]) -> Result<u8, String> {
    let mut greeting = [0; GREETING];
    for (to, from) in greeting.iter_mut().zip(bytes) {
        *to = *from;
    }
    read_greeting(&greeting).map_err(|violation| violation.to_string())
}

/// Reads everything after a greeting, `step` bytes at a time. Returns the pieces and the violation that ended it,
/// for tests/fuzz.
pub(in crate::source) fn read_in_steps(bytes: &[u8], step: usize) -> (Vec<String>, Option<String>) {
    let (mut decoder, mut buffer, mut told) = (Decoder::default(), BytesMut::new(), Vec::new());
    for chunk in bytes.chunks(step.max(1)) {
        buffer.extend_from_slice(chunk);
        loop {
            match decoder.next(&mut buffer) {
                Ok(Some(Piece::Command(body))) => told.push(format!("{:?}", read_command(body))),
                Ok(Some(piece)) => told.push(format!("{piece:?}")),
                Ok(None) => break,
                Err(violation) => return (told, Some(violation.to_string())),
            }
        }
    }
    (told, None)
}

#[cfg(test)]
mod tests;
