//! The form of a `RouterEvent` that Dynamo writes: known keys, no white space, no escapes.

use super::{digits, shape_of};
use crate::domain::{
    Block, ClearScope, DpRank, KvBatch, KvEvent, KvKind, SequenceHash, Tier, Timestamp, TokensHash,
    WorkerId, WorkerRank,
};
use crate::wire::Shape;

/// Adds the event in `body` to `batch`; none when `body` is not of the expected form, with parts of
/// the event possibly added.
pub(super) fn decode(body: &[u8], at: Timestamp, batch: &mut KvBatch) -> Option<Shape> {
    let mut scan = Scan { rest: body };
    let mut event = Event::default();
    scan.expect(b"{\"worker_id\":")?;
    let worker = scan.number()?;
    let mut tier = Tier::Device;
    let mut tiered = false;
    let mut domained = false;
    if scan.take(b",\"storage_tier\":\"") {
        tier = Tier::from_name(std::str::from_utf8(scan.until_quote()?).ok()?)?;
        tiered = true;
    }
    if scan.take(b",\"residency_domain\":\"") {
        scan.until_quote()?;
        domained = true;
    }
    scan.expect(b",\"event\":{\"event_id\":")?;
    event.id = scan.number()?;
    scan.expect(b",\"data\":")?;
    let kind = scan.data(batch, &mut event)?;
    let mut dp_rank = 0;
    if scan.take(b",\"dp_rank\":") {
        dp_rank = u32::try_from(scan.number()?).ok()?;
    }
    scan.expect(b"}}")?;
    if !scan.rest.is_empty() {
        return None;
    }
    let rank = WorkerRank { worker: WorkerId(worker), dp_rank: DpRank(dp_rank) };
    batch.push_event(KvEvent { at, rank, tier, event_id: event.id, kind });
    Some(shape_of(tiered, event.positioned, domained))
}

#[derive(Default)]
struct Event {
    id: u64,
    positioned: bool,
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    #[inline]
    fn take<const N: usize>(&mut self, text: &[u8; N]) -> bool {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) if head == text => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn expect<const N: usize>(&mut self, text: &[u8; N]) -> Option<()> {
        self.take(text).then_some(())
    }

    /// Reads digits. Leading zeros, signs and fractions are left to the tolerant reader.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let (value, digits) = digits::leading(self.rest)?;
        if digits > 1 && self.rest[0] == b'0' {
            return None;
        }
        self.rest = &self.rest[digits..];
        // A digit string must end here: `1.5` and `1e3` are not ours.
        (!matches!(self.rest.first(), Some(b'.' | b'e' | b'E'))).then_some(value)
    }

    /// Reads to the next quote. Escapes, control characters and other alphabets are left to the tolerant
    /// reader.
    fn until_quote(&mut self) -> Option<&'a [u8]> {
        let end = self
            .rest
            .iter()
            .position(|byte| !matches!(byte, b' '..=b'~') || matches!(byte, b'"' | b'\\'))?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix(b"\"")?;
        Some(text)
    }

    fn data(&mut self, batch: &mut KvBatch, event: &mut Event) -> Option<KvKind> {
        if self.take(b"{\"stored\":{\"parent_hash\":") {
            self.stored(batch, event)
        } else if self.take(b"{\"removed\":{\"block_hashes\":[") {
            self.removed(batch)
        } else if self.take(b"\"cleared\"") {
            Some(KvKind::Cleared { scope: ClearScope::Worker })
        } else {
            None
        }
    }

    fn stored(&mut self, batch: &mut KvBatch, event: &mut Event) -> Option<KvKind> {
        let parent = if self.take(b"null") { None } else { Some(SequenceHash(self.number()?)) };
        if self.take(b",\"start_position\":") {
            event.positioned = true;
            if !self.take(b"null") {
                self.number()?;
            }
        }
        self.expect(b",\"blocks\":[")?;
        let start = u32::try_from(batch.blocks().len()).ok()?;
        if !self.take(b"]") {
            loop {
                self.expect(b"{\"block_hash\":")?;
                let sequence = SequenceHash(self.number()?);
                self.expect(b",\"tokens_hash\":")?;
                let tokens = TokensHash(self.number()?);
                self.expect(b",\"mm_extra_info\":null}")?;
                batch.push_block(Block { sequence, tokens });
                if !self.take(b",") {
                    break;
                }
            }
            self.expect(b"]")?;
        }
        self.expect(b"}}")?;
        Some(KvKind::Stored { parent, blocks: start..u32::try_from(batch.blocks().len()).ok()? })
    }

    fn removed(&mut self, batch: &mut KvBatch) -> Option<KvKind> {
        let start = u32::try_from(batch.removed().len()).ok()?;
        if !self.take(b"]") {
            loop {
                batch.push_removed(SequenceHash(self.number()?));
                if !self.take(b",") {
                    break;
                }
            }
            self.expect(b"]")?;
        }
        self.expect(b"}}")?;
        Some(KvKind::Removed { hashes: start..u32::try_from(batch.removed().len()).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tolerant;
    use super::*;

    fn read(body: &[u8]) -> (Option<Shape>, KvBatch) {
        let mut batch = KvBatch::default();
        let shape = decode(body, Timestamp(7), &mut batch);
        (shape, batch)
    }

    fn read_tolerantly(body: &[u8]) -> (Option<Shape>, KvBatch) {
        let mut batch = KvBatch::default();
        let shape = tolerant::decode(body, Timestamp(7), &mut batch).ok();
        (shape, batch)
    }

    fn numbers() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), Just(u64::MAX), Just(0), Just(1 << 53), Just(1 << 63)]
    }

    fn payload() -> impl Strategy<Value = (Shape, String)> {
        let blocks = prop::collection::vec((numbers(), numbers()), 0..4);
        let hashes = prop::collection::vec(numbers(), 0..4);
        let data = prop_oneof![
            (prop::option::of(numbers()), any::<bool>(), blocks).prop_map(
                |(parent, positioned, blocks)| {
                    let parent = parent.map_or("null".to_owned(), |hash| hash.to_string());
                    let position = if positioned { r#","start_position":null"# } else { "" };
                    let blocks: Vec<_> = blocks.iter().map(block).collect();
                    let blocks = blocks.join(",");
                    let data = format!(
                        r#"{{"stored":{{"parent_hash":{parent}{position},"blocks":[{blocks}]}}}}"#
                    );
                    (positioned, data)
                }
            ),
            hashes.prop_map(|hashes| {
                let data = format!(r#"{{"removed":{{"block_hashes":{hashes:?}}}}}"#);
                (false, data.replace(", ", ","))
            }),
            Just((false, r#""cleared""#.to_owned())),
        ];
        let keys = (any::<bool>(), any::<bool>());
        (numbers(), keys, numbers(), any::<u32>(), data).prop_map(
            |(worker, (tiered, domained), id, rank, (positioned, data))| {
                let tier = if tiered { r#","storage_tier":"device""# } else { "" };
                let domain = if domained { r#","residency_domain":"worker""# } else { "" };
                let text = format!(
                    r#"{{"worker_id":{worker}{tier}{domain},"event":{{"event_id":{id},"data":{data},"dp_rank":{rank}}}}}"#
                );
                (shape_of(tiered, positioned, domained), text)
            },
        )
    }

    fn block((sequence, tokens): &(u64, u64)) -> String {
        format!(r#"{{"block_hash":{sequence},"tokens_hash":{tokens},"mm_extra_info":null}}"#)
    }

    proptest! {
        #[test]
        fn both_readers_read_the_same_from_what_dynamo_writes((expected, body) in payload()) {
            let (shape, batch) = read(body.as_bytes());
            let (slow_shape, slow) = read_tolerantly(body.as_bytes());

            prop_assert_eq!(shape, Some(expected));
            prop_assert_eq!(shape, slow_shape);
            prop_assert_eq!(batch.events(), slow.events());
            prop_assert_eq!(batch.blocks(), slow.blocks());
            prop_assert_eq!(batch.removed(), slow.removed());
        }

        #[test]
        fn what_the_fast_reader_accepts_after_damage_the_tolerant_one_reads_alike(
            (_, body) in payload(),
            damage in prop::collection::vec(
                (any::<prop::sample::Index>(), prop_oneof![any::<u8>(), 0x20..0x7F_u8], 0..4_u8),
                1..3,
            ),
        ) {
            let mut damaged = body.into_bytes();
            for (place, byte, kind) in damage {
                let place = place.index(damaged.len() + 1);
                match kind {
                    0 => damaged.insert(place, byte),
                    1 => damaged.truncate(place),
                    _ if place < damaged.len() => damaged[place] = byte,
                    _ => damaged.push(byte),
                }
            }
            let (shape, batch) = read(&damaged);
            if shape.is_some() {
                let (slow_shape, slow) = read_tolerantly(&damaged);
                prop_assert_eq!(shape, slow_shape);
                prop_assert_eq!(batch.events(), slow.events());
                prop_assert_eq!(batch.blocks(), slow.blocks());
                prop_assert_eq!(batch.removed(), slow.removed());
            }
        }
    }
}
