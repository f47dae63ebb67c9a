//! Dynamo's hashes: of tokens, of sequences, and of pod names.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::domain::{Block, SequenceHash, TokensHash};

/// The seed of Dynamo's hashes (dynamo-llm 0.9.0, `kv_router/protocols.rs:8`).
const SEED: u64 = 1337;

/// Any other seed: an engine has a hash function of its own, which nobody can compute.
const ENGINE_SEED: u64 = 0x7472_746c_6c6d;

/// Returns the hash of the tokens of each complete block of `size` tokens.
pub(super) fn tokens_hashes(tokens: &[u32], size: u32) -> Vec<TokensHash> {
    let mut bytes = Vec::with_capacity(size as usize * 4);
    tokens
        .chunks_exact(size.max(1) as usize)
        .map(|block| {
            bytes.clear();
            // A plain loop: builds without optimization spend a tenth of a simulation here otherwise.
            for token in block {
                bytes.extend_from_slice(&token.to_le_bytes());
            }
            TokensHash(xxh3_64_with_seed(&bytes, SEED))
        })
        .collect()
}

/// Returns the hashes by which a router tracks the blocks of a running request: chained, the first
/// equal to the hash of its tokens.
pub(super) fn sequence_hashes(blocks: &[TokensHash]) -> Vec<u64> {
    let mut previous = None;
    blocks
        .iter()
        .map(|block| {
            let hash = previous.map_or(block.0, |parent| chain(parent, block.0, SEED));
            previous = Some(hash);
            hash
        })
        .collect()
}

/// Returns the blocks of `tokens` as an engine with blocks of `size` tokens names them.
pub(super) fn engine_blocks(tokens: &[u32], size: u32) -> Vec<Block> {
    let mut parent = 0;
    tokens_hashes(tokens, size)
        .into_iter()
        .map(|tokens| {
            parent = chain(parent, tokens.0, ENGINE_SEED);
            Block { sequence: SequenceHash(parent), tokens }
        })
        .collect()
}

/// Returns the instance id of the process in pod `name`: a hash below 2^53 (dynamo-runtime 0.9.0,
/// `discovery/kube/utils.rs:10`).
pub(super) fn instance_id(name: &str) -> u64 {
    // The standard hasher is SipHash-1-3 with a zero key, and a string is hashed with 0xff behind
    // it; the tests hold this to ids seen in a cluster.
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish() & 0x001f_ffff_ffff_ffff
}

fn chain(parent: u64, own: u64, seed: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&parent.to_le_bytes());
    bytes[8..].copy_from_slice(&own.to_le_bytes());
    xxh3_64_with_seed(&bytes, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_those_of_dynamo() {
        let tokens: Vec<u32> = (0..64).collect();
        let hashes =
            |size| tokens_hashes(&tokens, size).iter().map(|hash| hash.0).collect::<Vec<_>>();
        let sequences = |size| sequence_hashes(&tokens_hashes(&tokens, size));

        assert_eq!(
            hashes(16),
            [
                15_310_707_395_893_867_146,
                15_292_316_782_987_903_195,
                5_532_946_206_955_930_018,
                14_928_757_266_181_269_122
            ]
        );
        assert_eq!(hashes(32), [5_756_925_433_886_871_916, 13_958_166_640_625_465_031]);
        assert_eq!(
            sequences(16),
            [
                15_310_707_395_893_867_146,
                13_769_157_705_258_532_664,
                11_879_827_756_109_914_528,
                3_888_788_807_566_526_800
            ]
        );
        assert_eq!(sequences(32), [5_756_925_433_886_871_916, 16_658_382_216_643_214_443]);
    }

    #[test]
    fn ids_of_pods_equal_those_seen_in_a_cluster() {
        let rows = [
            ("gtc-demo-0-trtllmworker-fhhcl", 7_702_713_015_953_616),
            ("gtc-demo-0-trtllmworker-mj7km", 4_467_334_888_485_367),
            ("gtc-demo-0-frontend-rmjwp", 4_051_656_274_152_323),
            ("worker-0", 1_186_445_869_714_687),
        ];

        for (name, id) in rows {
            assert_eq!(instance_id(name), id, "{name}");
        }
    }

    #[test]
    fn an_incomplete_block_has_no_hash() {
        assert_eq!(engine_blocks(&[1; 47], 16).len(), 2);
    }
}
