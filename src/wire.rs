//! Wire formats: frames in, facts out. Pure; no memory between frames, no clock, no I/O.

pub mod health;
