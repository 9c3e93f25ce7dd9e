//! The fimbria program.
fn main() {}
