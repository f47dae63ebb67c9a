//! The form of a `RouterEvent` that Dynamo writes: known keys, no white space, no escapes.

use super::shape_of;
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
    fn take(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.take(text).then_some(())
    }

    /// Reads digits. Leading zeros, signs and fractions are left to the tolerant reader.
    fn number(&mut self) -> Option<u64> {
        let mut value: u64 = 0;
        let mut digits = 0;
        for byte in self.rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            digits += 1;
            if digits > 19 {
                value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
            } else {
                value = value * 10 + u64::from(digit);
            }
        }
        if digits == 0 || (digits > 1 && self.rest[0] == b'0') {
            return None;
        }
        self.rest = &self.rest[digits..];
        // A digit string must end here: `1.5` and `1e3` are not ours.
        (!matches!(self.rest.first(), Some(b'.' | b'e' | b'E'))).then_some(value)
    }

    fn until_quote(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
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

    fn payload() -> impl Strategy<Value = String> {
        let blocks = prop::collection::vec((numbers(), numbers()), 0..4);
        let hashes = prop::collection::vec(numbers(), 0..4);
        let data = prop_oneof![
            (prop::option::of(numbers()), blocks).prop_map(|(parent, blocks)| {
                let parent = parent.map_or("null".to_owned(), |hash| hash.to_string());
                let blocks: Vec<_> = blocks
                    .iter()
                    .map(|(a, b)| {
                        format!(r#"{{"block_hash":{a},"tokens_hash":{b},"mm_extra_info":null}}"#)
                    })
                    .collect();
                format!(
                    r#"{{"stored":{{"parent_hash":{parent},"blocks":[{}]}}}}"#,
                    blocks.join(",")
                )
            }),
            hashes.prop_map(|hashes| format!(r#"{{"removed":{{"block_hashes":{hashes:?}}}}}"#)
                .replace(", ", ",")),
            Just(r#""cleared""#.to_owned()),
        ];
        (numbers(), numbers(), any::<u32>(), data).prop_map(|(worker, id, rank, data)| {
            format!(
                r#"{{"worker_id":{worker},"event":{{"event_id":{id},"data":{data},"dp_rank":{rank}}}}}"#
            )
        })
    }

    proptest! {
        #[test]
        fn both_readers_read_the_same_from_what_dynamo_writes(body in payload()) {
            let (shape, batch) = read(body.as_bytes());
            let (slow_shape, slow) = read_tolerantly(body.as_bytes());

            prop_assert_eq!(shape, Some(Shape::Plain));
            prop_assert_eq!(shape, slow_shape);
            prop_assert_eq!(batch.events(), slow.events());
            prop_assert_eq!(batch.blocks(), slow.blocks());
            prop_assert_eq!(batch.removed(), slow.removed());
        }

        #[test]
        fn what_the_fast_reader_accepts_after_damage_the_tolerant_one_reads_alike(
            body in payload(), position in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut damaged = body.into_bytes();
            let position = position.index(damaged.len());
            damaged[position] = byte;
            let (shape, batch) = read(&damaged);
            if shape.is_some() {
                let (slow_shape, slow) = read_tolerantly(&damaged);
                prop_assert_eq!(shape, slow_shape);
                prop_assert_eq!(batch.events(), slow.events());
                prop_assert_eq!(batch.blocks(), slow.blocks());
            }
        }
    }
}
