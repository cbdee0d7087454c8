//! The command language: a POSIX-shell subset with spans. `ast` is what a line says, `parse` reads it,
//! `substitute` puts values in the place of `%s`, `%{device.uuid}` and the like.
//!
//! What must not enter: running anything.

pub mod ast;
mod forms;
mod lex;
pub mod parse;
mod percent;
pub mod substitute;
#[cfg(test)]
mod substitute_tests;
#[cfg(test)]
mod tests;
mod word;

pub use parse::{SyntaxError, parse, parse_as_lit};
pub use substitute::{Expanded, Substitutions, TextContext};
