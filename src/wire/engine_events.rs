//! The part of an engine's own KV events that enters a frame: the tokens in a block, and the names of a few blocks.
//!
//! vLLM and `SGLang` publish `[topic, sequence, [time, [event…], dp_rank]]` in `MessagePack`, with events
//! as arrays or maps; a stored one carries `block_size`, and the tokens of prompts (dynamo-kv-router
//! 1.6.1, `zmq_wire/types.rs:12` and `:90`). The tokens are passed over before anything is kept.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::msgpack::{Cursor, Malformed};
use super::text::printable;
use super::{Facts, Reject};
use crate::domain::{
    Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, EngineSocketSeen, Fact, Medium, SequenceHash,
    Subject,
};

/// The first part of a frame that holds what was kept.
pub(super) const TOPIC: &[u8] = b"engine-events";

/// Most events of a message that are looked at.
const EVENTS: usize = 100_000;

/// The largest number of block hashes kept from one report.
const BLOCKS: usize = 4;

/// The part of a message that enters a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineBlocks {
    /// Tokens in a block.
    pub block_size: u64,
    /// The rank of the engine.
    pub dp_rank: u32,
    /// The address where it publishes, when the user named it instead of a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Arc<str>>,
    /// Blocks that it stored: the worker that publishes the same ones to routers is the engine's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u64>,
}

impl EngineBlocks {
    /// Reads the third part of an engine's message; none when it stores nothing, or cannot be read.
    pub fn new(payload: &[u8]) -> Option<Self> {
        read(payload).ok().flatten()
    }

    /// Returns the parts of the frame that is kept in place of the message of `pod`.
    pub fn parts(&self, pod: &str) -> Vec<Bytes> {
        let kept = serde_json::to_vec(self).unwrap_or_default();
        vec![Bytes::from_static(TOPIC), Bytes::copy_from_slice(pod.as_bytes()), kept.into()]
    }
}

fn read(payload: &[u8]) -> Result<Option<EngineBlocks>, Malformed> {
    let mut cursor = Cursor::new(payload);
    let fields = cursor.array()?;
    if fields < 2 {
        return Ok(None);
    }
    cursor.skip()?;
    let mut stored: Option<Stored> = None;
    for _ in 0..cursor.array()?.min(EVENTS) {
        let of_event = event(&mut cursor)?;
        stored = of_event.or(stored);
    }
    let dp_rank = if fields > 2 { cursor.optional_unsigned()?.unwrap_or(0) } else { 0 };
    Ok(stored.map(|stored| EngineBlocks {
        block_size: stored.size,
        dp_rank: u32::try_from(dp_rank).unwrap_or(0),
        address: None,
        blocks: stored.last.into_iter().collect(),
    }))
}

/// The contents of one store event.
struct Stored {
    /// Tokens in a block.
    size: u64,
    /// The last block; none when the engine names its blocks by bytes, which routers never see.
    last: Option<u64>,
}

/// Reads the last name in a list of blocks. Prompts often begin alike on several engines, and seldom end so.
fn last_block(cursor: &mut Cursor<'_>) -> Result<Option<u64>, Malformed> {
    let mut ahead = *cursor;
    let mut last = None;
    for _ in 0..ahead.array().unwrap_or(0) {
        last = ahead.unsigned().ok();
        if last.is_none() {
            break;
        }
    }
    cursor.skip()?;
    Ok(last)
}

/// Reads one event; none when it stores nothing.
fn event(cursor: &mut Cursor<'_>) -> Result<Option<Stored>, Malformed> {
    let is_map = cursor.peek().is_some_and(|byte| matches!(byte, 0x80..=0x8f | 0xde | 0xdf));
    let (mut size, mut last) = (None, None);
    if is_map {
        for _ in 0..cursor.map()? {
            match cursor.text()? {
                b"block_size" => size = cursor.optional_unsigned()?,
                b"block_hashes" => last = last_block(cursor)?,
                _ => cursor.skip()?,
            }
        }
        return Ok(size.map(|size| Stored { size, last }));
    }
    let fields = cursor.array()?;
    if fields == 0 {
        return Ok(None);
    }
    let stores = cursor.text()? == b"BlockStored";
    // Hashes, parent, tokens, and then the size.
    for field in 1..fields {
        match field {
            1 if stores => last = last_block(cursor)?,
            4 if stores => size = cursor.optional_unsigned()?,
            _ => cursor.skip()?,
        }
    }
    Ok(size.map(|size| Stored { size, last }))
}

/// Reads the frame that was kept.
pub(super) fn decode(pod: &[u8], kept: &[u8], facts: &mut Facts) -> Result<(), Reject> {
    let bad = |_| Reject::new("what was kept of an engine's events cannot be read");
    let kept: EngineBlocks = serde_json::from_slice(kept).map_err(bad)?;
    if let Some(address) = kept.address {
        facts.other.push(Fact::EngineSocket(EngineSocketSeen {
            address: printable(&address, 253).into(),
            block_size: kept.block_size,
            dp_rank: kept.dp_rank,
            blocks: kept.blocks.into_iter().take(BLOCKS).map(SequenceHash).collect(),
        }));
        return Ok(());
    }
    let pod: Arc<str> = printable(&String::from_utf8_lossy(pod), 253).into();
    facts.other.push(Fact::Claim(Claim {
        what: ClaimWhat::BlockSize,
        of: ClaimOf::Engine,
        subject: Subject::Pod(Arc::clone(&pod)),
        model: None,
        value: ClaimValue::Count(kept.block_size),
        basis: Basis::Observed,
        source: format!("KV events of the engine of {pod}").into(),
        raw: format!("block_size: {}", kept.block_size).into(),
        set_by: None,
        medium: Medium::Events,
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[1.5, [event], 1]`.
    fn message(event: &[u8]) -> Vec<u8> {
        [b"\x93\xcb\x3f\xf8\0\0\0\0\0\0\x91", event, b"\x01"].concat()
    }

    #[test]
    fn the_size_is_read_from_both_forms_and_tokens_are_not() {
        let blocks = EngineBlocks { block_size: 16, dp_rank: 1, address: None, blocks: vec![2] };
        let kept = Some(blocks.clone());
        let array = b"\x96\xabBlockStored\x92\x01\x02\xc0\x93\x0b\x0c\x0d\x10\xc0";
        assert_eq!(EngineBlocks::new(&message(array)), kept);
        let map = b"\x84\xa4type\xabBlockStored\xacblock_hashes\x91\x02\xa9token_ids\x92\x0b\x0c\xaablock_size\x10";
        assert_eq!(EngineBlocks::new(&message(map)), kept);
        let parts = blocks.parts("p");
        assert_eq!(parts[2], r#"{"block_size":16,"dp_rank":1,"blocks":[2]}"#);
        let bytes = b"\x96\xabBlockStored\x91\xc4\x02ab\xc0\x93\x0b\x0c\x0d\x10\xc0";
        assert_eq!(
            EngineBlocks::new(&message(bytes)).unwrap().blocks,
            [0; 0],
            "hashes that are bytes"
        );
    }

    #[test]
    fn what_stores_nothing_or_is_something_else_says_nothing() {
        for event in [&b"\x92\xacBlockRemoved\x91\x01"[..], b"\x91\xb0AllBlocksCleared", b"\x90"] {
            assert_eq!(EngineBlocks::new(&message(event)), None);
        }
        for bad in [&b""[..], b"\xc0", b"\x92\xc0", b"\x93\xc0\xdd\xff\xff\xff\xff", b"{}"] {
            assert_eq!(EngineBlocks::new(bad), None);
        }
    }
}
