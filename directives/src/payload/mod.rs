//! What stands behind a colon, one small grammar per room. Each takes text and gives a value or a [`Fault`].
//!
//! What must not enter: which directive it belongs to in a file (`bind`), and whether a host can meet it
//! (`universe`).

mod devices;
mod numbers;
mod placed;
mod values;

pub(crate) use devices::devices;
pub(crate) use numbers::{duration, exit_code, integer};
pub(crate) use placed::placed;
pub(crate) use values::{assignments, definition, identical, is_built_in, lock, peer, signal, variant};

use crate::source::Span;

/// What is wrong with a payload; the span is in bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where.
    pub span: Span,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl Fault {
    fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: help.into() }
    }

    /// About the whole text.
    fn all(text: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(Span::new(0, text.len()), message, help)
    }
}

/// Words separated by blanks, with their places.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// A name: a letter, then letters, digits, `-`, `_`, `.`.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
