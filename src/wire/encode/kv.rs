//! KV events, as JSON and as MessagePack.

use std::fmt::Write as _;

use super::Family;
use super::pack::Pack;
use crate::domain::{Block, SequenceHash, Tier, WorkerRank};

/// The change that an event describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Blocks were stored under a parent.
    Stored {
        /// The block they follow.
        parent: Option<SequenceHash>,
        /// The chain.
        blocks: &'a [Block],
    },
    /// Blocks were removed.
    Removed(&'a [SequenceHash]),
    /// The cache was emptied.
    Cleared,
}

/// One event as workers publish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterEvent<'a> {
    /// The worker whose blocks change.
    pub rank: WorkerRank,
    /// In which memory; not on the wire before 1.1.
    pub tier: Tier,
    /// The publisher's number for it.
    pub event_id: u64,
    /// The change.
    pub change: Change<'a>,
}

impl RouterEvent<'_> {
    /// Returns the event as JSON, keys in the order of `family` (PROTOCOL 2.2).
    pub fn json(&self, family: Family) -> String {
        let mut out = String::with_capacity(128);
        // Writing to a string cannot fail.
        self.write_json(&mut out, family).unwrap_or_default();
        out
    }

    fn write_json(&self, out: &mut String, family: Family) -> std::fmt::Result {
        write!(out, r#"{{"worker_id":{}"#, self.rank.worker)?;
        if family >= Family::V1_1 {
            write!(out, r#","storage_tier":"{}""#, self.tier.name())?;
        }
        if family >= Family::V1_5 {
            out.write_str(r#","residency_domain":"worker""#)?;
        }
        write!(out, r#","event":{{"event_id":{},"data":"#, self.event_id)?;
        match self.change {
            Change::Stored { parent, blocks } => write_stored(out, family, parent, blocks)?,
            Change::Removed(hashes) => {
                out.write_str(r#"{"removed":{"block_hashes":["#)?;
                for (index, hash) in hashes.iter().enumerate() {
                    write!(out, "{}{}", if index == 0 { "" } else { "," }, hash.0)?;
                }
                out.write_str("]}}")?;
            }
            Change::Cleared => out.write_str(r#""cleared""#)?,
        }
        write!(out, r#","dp_rank":{}}}}}"#, self.rank.dp_rank)
    }

    /// Returns the payload of a message of the event plane: the event as named maps, from 1.4 in an
    /// array.
    pub fn payload(&self, family: Family) -> Vec<u8> {
        Self::batch(std::slice::from_ref(self), family)
    }

    /// Returns the payload of a message with several events. Before 1.4 a message holds one event,
    /// and only the first is written.
    pub fn batch(events: &[Self], family: Family) -> Vec<u8> {
        let mut pack = Pack::default();
        if family >= Family::V1_4 {
            pack.array(events.len());
        }
        let room = if family >= Family::V1_4 { events.len() } else { 1 };
        for event in events.iter().take(room) {
            event.write_pack(&mut pack, family);
        }
        pack.into_bytes()
    }

    fn write_pack(&self, pack: &mut Pack, family: Family) {
        let tier = usize::from(family >= Family::V1_1);
        let residency = usize::from(family >= Family::V1_5);
        pack.map(2 + tier + residency).str("worker_id").uint(self.rank.worker.0);
        if tier == 1 {
            pack.str("storage_tier").str(self.tier.name());
        }
        if residency == 1 {
            pack.str("residency_domain").str("worker");
        }
        pack.str("event").map(3).str("event_id").uint(self.event_id).str("data");
        match self.change {
            Change::Stored { parent, blocks } => pack_stored(pack, family, parent, blocks),
            Change::Removed(hashes) => {
                pack.map(1).str("removed").map(1).str("block_hashes").array(hashes.len());
                for hash in hashes {
                    pack.uint(hash.0);
                }
            }
            Change::Cleared => {
                pack.str("cleared");
            }
        }
        pack.str("dp_rank").uint(u64::from(self.rank.dp_rank.0));
    }
}

fn write_stored(
    out: &mut String,
    family: Family,
    parent: Option<SequenceHash>,
    blocks: &[Block],
) -> std::fmt::Result {
    out.write_str(r#"{"stored":{"parent_hash":"#)?;
    match parent {
        Some(parent) => write!(out, "{}", parent.0)?,
        None => out.write_str("null")?,
    }
    if family >= Family::V1_2 {
        out.write_str(r#","start_position":null"#)?;
    }
    out.write_str(r#","blocks":["#)?;
    for (index, block) in blocks.iter().enumerate() {
        write!(
            out,
            r#"{}{{"block_hash":{},"tokens_hash":{},"mm_extra_info":null}}"#,
            if index == 0 { "" } else { "," },
            block.sequence.0,
            block.tokens.0
        )?;
    }
    out.write_str("]}}")
}

fn pack_stored(pack: &mut Pack, family: Family, parent: Option<SequenceHash>, blocks: &[Block]) {
    let position = usize::from(family >= Family::V1_2);
    pack.map(1).str("stored").map(2 + position);
    pack.str("parent_hash").maybe(parent.map(|parent| parent.0));
    if position == 1 {
        pack.str("start_position").nil();
    }
    pack.str("blocks").array(blocks.len());
    for block in blocks {
        pack.map(3).str("block_hash").uint(block.sequence.0);
        pack.str("tokens_hash").uint(block.tokens.0);
        pack.str("mm_extra_info").nil();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TokensHash;

    const BLOCK: Block = Block {
        sequence: SequenceHash(1_234_567_890_123_456_789),
        tokens: TokensHash(5_756_925_433_886_871_916),
    };

    fn event(event_id: u64, change: Change<'_>) -> RouterEvent<'_> {
        let rank = WorkerRank::new(7_702_713_015_953_616, 0);
        RouterEvent { rank, tier: Tier::Device, event_id, change }
    }

    fn stored() -> RouterEvent<'static> {
        let parent = Some(SequenceHash(18_446_744_073_709_551_611));
        event(42, Change::Stored { parent, blocks: &[BLOCK] })
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    }

    #[test]
    fn json_events_equal_those_of_dynamo() {
        let empty = Change::Stored { parent: None, blocks: &[] };
        let rows = [
            (
                stored().json(Family::V0_9),
                r#"{"worker_id":7702713015953616,"event":{"event_id":42,"data":{"stored":{"parent_hash":18446744073709551611,"blocks":[{"block_hash":1234567890123456789,"tokens_hash":5756925433886871916,"mm_extra_info":null}]}},"dp_rank":0}}"#,
            ),
            (
                event(43, empty).json(Family::V0_9),
                r#"{"worker_id":7702713015953616,"event":{"event_id":43,"data":{"stored":{"parent_hash":null,"blocks":[]}},"dp_rank":0}}"#,
            ),
            (
                event(44, Change::Removed(&[BLOCK.sequence])).json(Family::V0_9),
                r#"{"worker_id":7702713015953616,"event":{"event_id":44,"data":{"removed":{"block_hashes":[1234567890123456789]}},"dp_rank":0}}"#,
            ),
            (
                event(45, Change::Cleared).json(Family::V0_9),
                r#"{"worker_id":7702713015953616,"event":{"event_id":45,"data":"cleared","dp_rank":0}}"#,
            ),
            (
                stored().json(Family::V1_6),
                r#"{"worker_id":7702713015953616,"storage_tier":"device","residency_domain":"worker","event":{"event_id":42,"data":{"stored":{"parent_hash":18446744073709551611,"start_position":null,"blocks":[{"block_hash":1234567890123456789,"tokens_hash":5756925433886871916,"mm_extra_info":null}]}},"dp_rank":0}}"#,
            ),
        ];

        for (ours, theirs) in rows {
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn messagepack_events_equal_those_of_dynamo() {
        let cleared = event(45, Change::Cleared);
        let rows = [
            (
                cleared.payload(Family::V1_0),
                "82a9776f726b65725f6964cf001b5d93a11f68d0a56576656e7483a86576656e745f69642da464617461a7636c6561726564a764705f72616e6b00",
            ),
            (
                stored().payload(Family::V1_0),
                "82a9776f726b65725f6964cf001b5d93a11f68d0a56576656e7483a86576656e745f69642aa46461746181a673746f72656482ab706172656e745f68617368cffffffffffffffffba6626c6f636b739183aa626c6f636b5f68617368cf112210f47de98115ab746f6b656e735f68617368cf4fe4b52e3d3d116cad6d6d5f65787472615f696e666fc0a764705f72616e6b00",
            ),
            (
                cleared.payload(Family::V1_6),
                "9184a9776f726b65725f6964cf001b5d93a11f68d0ac73746f726167655f74696572a6646576696365b07265736964656e63795f646f6d61696ea6776f726b6572a56576656e7483a86576656e745f69642da464617461a7636c6561726564a764705f72616e6b00",
            ),
        ];

        for (ours, theirs) in rows {
            assert_eq!(hex(&ours), theirs);
        }
    }

    #[test]
    fn the_envelope_equals_that_of_dynamo() {
        let payload = event(45, Change::Cleared).payload(Family::V1_0);

        let ours = crate::wire::encode::envelope(
            7_702_713_015_953_616,
            0,
            1_771_252_733_950,
            "kv-events",
            &payload,
        );

        let head = "85ac7075626c69736865725f6964cf001b5d93a11f68d0a873657175656e636500ac7075626c69736865645f6174cf0000019c66e3d7fea5746f706963a96b762d6576656e7473a77061796c6f6164c43b";
        assert_eq!(hex(&ours), format!("{head}{}", hex(&payload)));
    }
}
