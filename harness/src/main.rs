//! The `runproof` program.
fn main() {}
