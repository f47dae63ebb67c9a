//! The reader of the form that Dynamo writes, held against the one of any form.

use proptest::prelude::*;

use super::*;
use crate::wire::encode::Pack;

/// The form of one event.
#[derive(Clone, Debug)]
struct Written {
    worker: u64,
    tier: Option<&'static str>,
    domain: bool,
    extra: bool,
    swapped: bool,
    rank: u64,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    Stored { parent: Option<u64>, position: bool, blocks: Vec<(u64, u64, u8)> },
    Removed(Vec<u64>),
    Cleared,
}

fn hashes() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => any::<u64>(),
        1 => any::<u16>().prop_map(u64::from),
        1 => any::<u32>().prop_map(u64::from),
        1 => Just(u64::MAX),
        1 => Just((1 << 53) + 1),
    ]
}

fn written() -> impl Strategy<Value = Written> {
    let odd = prop_oneof![12 => Just(0_u8), 1 => 1..5_u8];
    let blocks = prop::collection::vec((hashes(), hashes(), odd), 0..6);
    let data = prop_oneof![
        3 => (prop::option::of(hashes()), any::<bool>(), blocks)
            .prop_map(|(parent, position, blocks)| Data::Stored { parent, position, blocks }),
        2 => prop::collection::vec(hashes(), 0..6).prop_map(Data::Removed),
        1 => Just(Data::Cleared),
    ];
    let tier = prop_oneof![
        Just(None),
        Just(Some("device")),
        Just(Some("host_pinned")),
        Just(Some("elsewhere"))
    ];
    let rank = prop_oneof![4 => 0..9_u64, 1 => any::<u64>()];
    let rarely = || prop::bool::weighted(0.1);
    (hashes(), tier, any::<bool>(), rarely(), rarely(), rank, data).prop_map(
        |(worker, tier, domain, extra, swapped, rank, data)| Written {
            worker,
            tier,
            domain,
            extra,
            swapped,
            rank,
            data,
        },
    )
}

impl Written {
    fn write(&self, pack: &mut Pack) {
        let keys = 2 + usize::from(self.tier.is_some()) + usize::from(self.domain);
        pack.map(keys + usize::from(self.extra));
        if self.swapped {
            self.write_event(pack);
        }
        pack.str("worker_id").uint(self.worker);
        if let Some(tier) = self.tier {
            pack.str("storage_tier").str(tier);
        }
        if self.domain {
            pack.str("residency_domain").str("worker");
        }
        if self.extra {
            pack.str("yet_unknown").array(2).nil().str("value");
        }
        if !self.swapped {
            self.write_event(pack);
        }
    }

    fn write_event(&self, pack: &mut Pack) {
        pack.str("event").map(3).str("event_id").uint(7).str("data");
        match &self.data {
            Data::Stored { parent, position, blocks } => {
                pack.map(1).str("stored").map(2 + usize::from(*position));
                pack.str("parent_hash").maybe(*parent);
                if *position {
                    pack.str("start_position").uint(64);
                }
                pack.str("blocks").array(blocks.len());
                for block in blocks {
                    write_block(pack, *block);
                }
            }
            Data::Removed(hashes) => {
                pack.map(1).str("removed").map(1).str("block_hashes").array(hashes.len());
                for hash in hashes {
                    pack.uint(*hash);
                }
            }
            Data::Cleared => {
                pack.str("cleared");
            }
        }
        pack.str("dp_rank").uint(self.rank);
    }
}

/// Writes a block, with an oddity when `odd` is not zero.
fn write_block(pack: &mut Pack, (sequence, tokens, odd): (u64, u64, u8)) {
    match odd {
        1 => pack.map(2).str("tokens_hash").uint(tokens).str("block_hash").uint(sequence),
        2 => pack.map(2).str("block_hash").uint(sequence).str("mm_extra_info").nil(),
        _ => {
            pack.map(3).str("block_hash").uint(sequence).str("tokens_hash").uint(tokens);
            let pack = pack.str("mm_extra_info");
            if odd == 0 { pack.nil() } else { pack.map(1).str("mm_objects").array(0) }
        }
    };
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), prop::collection::vec(written(), 1..4)).prop_map(|(batched, events)| {
        let mut pack = Pack::default();
        if batched {
            pack.array(events.len());
        }
        let count = if batched { events.len() } else { 1 };
        for event in &events[..count] {
            event.write(&mut pack);
        }
        pack.into_bytes()
    })
}

type Read = (Result<Option<WorkerId>, String>, Option<Shape>, KvBatch);

fn read(payload: &[u8], reader: Reader) -> Read {
    let mut facts = Facts::default();
    let read = events(payload, Timestamp(7), &mut facts, reader);
    let read = read.map_err(|error| error.reject().why);
    (read, facts.shape, facts.kv)
}

fn both_read_the_same(payload: &[u8]) -> Result<bool, TestCaseError> {
    let (fast, fast_shape, fast_batch) = read(payload, plain_or_any);
    let (slow, slow_shape, slow_batch) = read(payload, router_event);
    prop_assert_eq!(&fast, &slow);
    prop_assert_eq!(fast_shape, slow_shape);
    prop_assert_eq!(fast_batch.events(), slow_batch.events());
    prop_assert_eq!(fast_batch.blocks(), slow_batch.blocks());
    prop_assert_eq!(fast_batch.removed(), slow_batch.removed());
    Ok(fast.is_ok())
}

proptest! {
    #[test]
    fn both_readers_read_the_same_from_whole_messages(payload in payload()) {
        both_read_the_same(&payload)?;
    }

    #[test]
    fn both_readers_read_the_same_from_damaged_messages(
        payload in payload(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..4),
    ) {
        let mut payload = payload;
        for (place, byte, kind) in damage {
            if payload.is_empty() {
                break;
            }
            let place = place.index(payload.len());
            match kind {
                0 | 1 => payload[place] = byte,
                2 => payload.insert(place, byte),
                _ => payload.truncate(place),
            }
        }
        both_read_the_same(&payload)?;
    }

    #[test]
    fn both_readers_read_the_same_from_random_bytes(
        payload in prop::collection::vec(prop_oneof![any::<u8>(), 0x80..0xA0_u8], 0..64),
    ) {
        both_read_the_same(&payload)?;
    }

    #[test]
    fn what_dynamo_writes_takes_the_short_way(
        blocks in prop::collection::vec((hashes(), hashes()), 0..6), position: bool, domain: bool,
    ) {
        let blocks = blocks.into_iter().map(|(sequence, tokens)| (sequence, tokens, 0)).collect();
        let data = Data::Stored { parent: Some(u64::MAX), position, blocks };
        let tier = Some("device");
        let event =
            Written { worker: 3, tier, domain, extra: false, swapped: false, rank: 1, data };
        let mut pack = Pack::default();
        event.write(&mut pack);
        let bytes = pack.into_bytes();
        let (mut cursor, mut batch) = (Cursor::new(&bytes), KvBatch::default());
        let mut shape = Shape::Plain;
        let scope = ClearScope::Worker;
        prop_assert!(fast::event(&mut cursor, Timestamp(0), scope, &mut batch, &mut shape).is_some());
        prop_assert!(cursor.peek().is_none());
    }
}
