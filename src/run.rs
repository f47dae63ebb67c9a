//! The composition root: the only layer that waits, spawns and selects.

pub mod terminal;
