//! The hashes by which routers track the blocks of a running request. Events of KV caches have others: those
//! of the engine, which nobody else can compute.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::domain::TokensHash;

/// The seed of Dynamo's hashes (dynamo-llm 0.9.0, `kv_router/protocols.rs:8`).
const SEED: u64 = 1337;

/// Returns the hash of a block of a request from that of the block before it and from its own tokens; the
/// first block has the hash of its tokens (dynamo-llm 0.9.0, `kv_router/protocols.rs:58`; from 1.6 on as long
/// as `--router-tracking-hash` is left at `public-xxh3-v1`).
pub fn chained(before: u64, tokens: TokensHash) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&before.to_le_bytes());
    bytes[8..].copy_from_slice(&tokens.0.to_le_bytes());
    xxh3_64_with_seed(&bytes, SEED)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens 0 to 63 in blocks of 16 (dynamo-llm 0.9.0, the tests of `kv_router/protocols.rs`).
    #[test]
    fn hashes_equal_those_of_dynamo() {
        let tokens = [
            15_310_707_395_893_867_146,
            15_292_316_782_987_903_195,
            5_532_946_206_955_930_018,
            14_928_757_266_181_269_122,
        ];
        let mut chain = vec![tokens[0]];
        for own in &tokens[1..] {
            chain.push(chained(chain[chain.len() - 1], TokensHash(*own)));
        }
        let expected = [
            15_310_707_395_893_867_146,
            13_769_157_705_258_532_664,
            11_879_827_756_109_914_528,
            3_888_788_807_566_526_800,
        ];
        assert_eq!(chain, expected);
    }
}
