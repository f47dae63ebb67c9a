//! Names and ids of processes, as Dynamo derives them.

use crate::wire::encode::Family;

/// Returns the component of the workers (ai-dynamo 1.2.1 and 1.3.1, `trtllm/args.py`).
pub(super) fn component(family: Family) -> &'static str {
    if family >= Family::V1_3 { "backend" } else { "tensorrt_llm" }
}

/// Returns the id under which process `instance` publishes `topic`: its own up to 1.2, a random one
/// from 1.3 that fits a JSON number from 1.4.
pub(super) fn publisher_id(family: Family, instance: u64, dp_rank: u32, topic: &str) -> u64 {
    if family < Family::V1_3 {
        return instance;
    }
    let stream = topic.bytes().fold(u64::from(dp_rank), |sum, byte| sum * 31 + u64::from(byte));
    let random = super::rng::Rng::new(instance, stream).next();
    if family >= Family::V1_4 { random & 0x001f_ffff_ffff_ffff } else { random }
}
