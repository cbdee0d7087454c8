//! The command language: a POSIX-shell subset with spans. `ast` is what a line says, `parse` reads it.

pub mod ast;
