//! kvtop: the live terminal inspector for KV-cache-aware routing in NVIDIA Dynamo.
//!
//! The code map, in the order in which data flows:
//!
//! - [`source`] receives bytes and emits [`frame`]s; [`record`] keeps and replays them;
//!   [`simulator`] makes the frames of a cluster that does not exist;
//! - [`wire`] turns frames into facts, written in the words of [`domain`]; [`dynamo`] lists the names that
//!   Dynamo gives to things, by release;
//! - [`mirror`] replays the router's index, [`model`] keeps everything else that was established,
//!   [`metrics`] derives series;
//! - [`diagnose`] says what is wrong, how sure that is, and what mends it;
//! - [`engine`] brings them together and makes [`snapshot`]s, which [`report`] writes;
//! - [`lint`] judges manifests with the same decoders and rules;
//! - [`draw`] draws screens into files, [`player`] plays recordings;
//! - [`config`] says what the user set, [`cli`] what was typed;
//! - [`attach`] says which sources are worth having, from what Kubernetes shows; [`doctor`] checks what sources
//!   can see.
//!
//! docs/ARCHITECTURE.md describes the layers; `tests/architecture.rs` checks their imports.

pub mod attach;
pub mod cli;
pub mod clock;
pub mod config;
pub mod diagnose;
pub mod doctor;
pub mod domain;
pub mod draw;
pub mod dynamo;
pub mod engine;
pub mod exit;
pub mod fleet;
pub mod frame;
pub mod lint;
pub mod metrics;
pub mod mirror;
pub mod model;
pub mod plan;
pub mod player;
pub mod record;
pub mod report;
pub mod run;
pub mod simulator;
pub mod snapshot;
pub mod source;
pub mod tui;
pub mod wire;
