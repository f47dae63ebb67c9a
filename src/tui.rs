//! The terminal UI: draws a [`Snapshot`](crate::snapshot::Snapshot) and turns keys into commands.
//!
//! Owns what a person sees and nothing of what is true: no engine, no sources, no clock, no task.
//! Every text that came from outside passes through [`text::clean`] before it reaches a cell.

pub mod command;
pub mod filter;
pub mod findings;
pub mod graph;
pub mod history;
pub mod judge;
pub mod keymap;
pub mod labels;
pub mod layout;
pub mod line;
pub mod markers;
pub mod overlay;
pub mod pacer;
pub mod palette;
pub mod panels;
pub mod planning;
pub mod scope;
pub mod shell;
pub mod text;
pub mod theme;
pub mod tour;
pub mod views;
pub mod widgets;
