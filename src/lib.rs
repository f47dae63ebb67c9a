//! kvtop: the live terminal inspector for KV-cache-aware routing in NVIDIA Dynamo.
//!
//! The code map, in the order in which data flows:
//!
//! - [`source`] receives bytes and emits [`frame`]s;
//! - [`wire`] turns frames into facts, written in the words of [`domain`];
//! - [`snapshot`] is the picture that front ends draw or write.
//!
//! docs/ARCHITECTURE.md says who may import whom; `tests/architecture.rs` holds it.

pub mod clock;
pub mod domain;
pub mod frame;
pub mod record;
pub mod mirror;
pub mod snapshot;
pub mod source;
pub mod wire;
