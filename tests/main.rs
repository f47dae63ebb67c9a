//! All integration tests, in one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]
#![expect(clippy::panic, reason = "a wait that fails says what was on the screen")]

mod architecture;
mod attach;
mod bounds;
mod bundle;
mod captures;
mod check;
mod cli;
mod clusters;
mod compatibility;
mod config;
mod demo;
mod diagnosis;
mod discovery;
mod doctor;
mod engine;
mod export;
mod exporter;
mod forward;
mod indexer;
mod investigation;
mod kube;
mod ledger;
mod lint;
mod live;
mod logs;
mod manual;
mod memory;
mod metrics;
mod nats;
mod recordings;
mod scenarios;
mod screens;
mod simulation;
mod soak;
mod story;
mod support;
mod terminal;
mod themes;
mod tour;
mod twin;
mod unheard;
mod wire;
mod zmq;
