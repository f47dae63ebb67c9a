//! The `kvtop` binary.

fn main() {}
