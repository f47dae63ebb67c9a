//! Building blocks of panels. Widgets know cells and roles, nothing of Dynamo.

pub mod canvas;
pub mod chart;
pub mod gauge;
pub mod panel;
pub mod sheet;
pub mod sparkline;
pub mod table;
pub mod tree;
