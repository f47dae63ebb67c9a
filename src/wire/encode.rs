//! Encoders: what Dynamo puts on the wire, for the simulator and for tests.
//!
//! The opposite direction of the decoders, and independent of them: nothing here is shared with what
//! reads, so that a mistake cannot cancel itself out. kvtop never sends any of it anywhere.

mod kv;
mod load;
mod pack;

pub use kv::{Change, RouterEvent};
pub use load::{envelope, hit_rate, router_load, worker_load};
#[cfg(test)]
pub(super) use pack::Pack;

/// The formats of one generation of Dynamo, oldest first.
///
/// Each step changed something on the wire (dynamo-kv-router 1.0.0 to 1.6.1, `protocols.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// 0.9: KV events as JSON over `JetStream`.
    #[default]
    V0_9,
    /// 1.0: KV events as MessagePack over the event plane.
    V1_0,
    /// 1.1: events name their tier, and are numbered from 1.
    V1_1,
    /// 1.2: stores have a start position.
    V1_2,
    /// 1.3: publishers have random numbers.
    V1_3,
    /// 1.4: payloads are arrays, subjects name the endpoint.
    V1_4,
    /// 1.5: events name their residency domain.
    V1_5,
    /// 1.6.
    V1_6,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 8] = [
        Self::V0_9,
        Self::V1_0,
        Self::V1_1,
        Self::V1_2,
        Self::V1_3,
        Self::V1_4,
        Self::V1_5,
        Self::V1_6,
    ];

    /// Returns the version, such as `0.9`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V0_9 => "0.9",
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
            Self::V1_2 => "1.2",
            Self::V1_3 => "1.3",
            Self::V1_4 => "1.4",
            Self::V1_5 => "1.5",
            Self::V1_6 => "1.6",
        }
    }

    /// Returns true when KV events go through a `JetStream` stream.
    pub fn uses_jetstream(self) -> bool {
        self == Self::V0_9
    }

    /// Returns true when KV events and load reports are scoped by endpoint.
    pub fn scopes_by_endpoint(self) -> bool {
        self >= Self::V1_4
    }
}
