//! A worker's publisher: engine events in, router events out, with its faults.

use std::collections::HashSet;

use super::config::PublisherKind;
use crate::domain::{Block, SequenceHash};
use crate::wire::encode::Family;

/// An event of an engine's cache.
#[derive(Clone, Debug)]
pub(super) enum EngineEvent {
    /// Blocks were stored under a parent.
    Stored { parent: Option<SequenceHash>, blocks: Vec<Block> },
    /// Blocks were evicted.
    Removed(Vec<SequenceHash>),
}

/// The publisher's output for it: a numbered event, a log line, both or neither.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    pub(super) event: Option<(u64, EngineEvent)>,
    pub(super) complaint: Option<String>,
}

/// The publisher of one rank.
#[derive(Clone, Debug)]
pub(super) struct Publisher {
    kind: PublisherKind,
    family: Family,
    size: u32,
    engine: u32,
    next_id: u64,
    partial: HashSet<SequenceHash>,
    complaints: u32,
}

impl Publisher {
    /// Returns the publisher of an engine with blocks of `engine` tokens that believes in blocks of
    /// `size` tokens.
    pub(super) fn new(kind: PublisherKind, family: Family, size: u32, engine: u32) -> Self {
        let next_id = u64::from(family >= Family::V1_1);
        Self { kind, family, size, engine, next_id, partial: HashSet::new(), complaints: 0 }
    }

    /// Publishes `event`.
    pub(super) fn publish(&mut self, event: EngineEvent) -> Published {
        // 0.9 passes the engine's own number on, and the engine numbers what is dropped as well;
        // later versions number what they publish (dynamo-llm 0.9.0 and 1.0.0, `publisher.rs`).
        let engine_id = self.next_id;
        if self.family == Family::V0_9 {
            self.next_id += 1;
        }
        let mut published = match event {
            EngineEvent::Stored { parent, blocks } => self.store(parent, blocks),
            EngineEvent::Removed(hashes) => {
                let hashes = hashes.into_iter().filter(|hash| !self.partial.remove(hash)).collect();
                Published { event: Some((0, EngineEvent::Removed(hashes))), complaint: None }
            }
        };
        if let Some((id, _)) = &mut published.event {
            *id = engine_id;
            if self.family > Family::V0_9 {
                self.next_id += 1;
            }
        }
        published
    }

    /// Returns the number of an event that was lost on its way, and skips it.
    pub(super) fn lose(&mut self) {
        self.next_id += 1;
    }

    fn store(&mut self, parent: Option<SequenceHash>, blocks: Vec<Block>) -> Published {
        if self.size == self.engine {
            return Published {
                event: Some((0, EngineEvent::Stored { parent, blocks })),
                complaint: None,
            };
        }
        let first = blocks.first().map_or(SequenceHash(0), |block| block.sequence);
        let empty = EngineEvent::Stored { parent, blocks: Vec::new() };
        match self.kind {
            PublisherKind::TrtLlm if self.engine > self.size => Published {
                event: None,
                complaint: Some(format!(
                    "Block {} contains {} tokens, which is greater than kv_block_size {}",
                    first.0.cast_signed(),
                    self.engine,
                    self.size
                )),
            },
            PublisherKind::TrtLlm => {
                self.partial.insert(first);
                // From 1.4 on the publisher drops empty stores (seen with 1.6.1).
                let event = (self.family < Family::V1_4).then_some((0, empty));
                Published { event, complaint: None }
            }
            PublisherKind::Relay => {
                self.complaints += 1;
                // It says so three times, then never again (dynamo-llm 0.9.0, `publisher.rs:655`).
                let complaint = (self.complaints <= 3).then(|| {
                    format!(
                        "Block not published. Block size must be {} tokens to be published. \
                         Block size is: {}",
                        self.size, self.engine
                    )
                });
                Published { event: Some((0, empty)), complaint }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TokensHash;

    fn blocks() -> Vec<Block> {
        [1, 2, 3]
            .map(|hash| Block { sequence: SequenceHash(hash), tokens: TokensHash(hash) })
            .to_vec()
    }

    fn store(publisher: &mut Publisher) -> Published {
        publisher.publish(EngineEvent::Stored { parent: None, blocks: blocks() })
    }

    fn remove(publisher: &mut Publisher) -> Vec<u64> {
        let all = [1, 2, 3].map(SequenceHash).to_vec();
        match publisher.publish(EngineEvent::Removed(all)).event {
            Some((_, EngineEvent::Removed(hashes))) => hashes.iter().map(|hash| hash.0).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn short_blocks_empty_the_store_and_hide_one_removal() {
        let mut publisher = Publisher::new(PublisherKind::TrtLlm, Family::V0_9, 32, 16);

        let event = store(&mut publisher).event;

        assert!(
            matches!(event, Some((0, EngineEvent::Stored { blocks, .. })) if blocks.is_empty())
        );
        assert_eq!(remove(&mut publisher), [2, 3]);
    }

    #[test]
    fn long_blocks_drop_the_store_with_an_error() {
        let mut publisher = Publisher::new(PublisherKind::TrtLlm, Family::V0_9, 32, 64);

        let result = store(&mut publisher);

        assert!(result.event.is_none());
        assert_eq!(
            result.complaint.as_deref(),
            Some("Block 1 contains 64 tokens, which is greater than kv_block_size 32")
        );
        assert_eq!(remove(&mut publisher), [1, 2, 3]);
    }

    #[test]
    fn a_relay_complains_three_times() {
        let mut publisher = Publisher::new(PublisherKind::Relay, Family::V1_0, 16, 32);

        let complaints = (0..5).filter_map(|_| store(&mut publisher).complaint).count();

        assert_eq!(complaints, 3);
    }
}
