//! Expected text: literal with `{{regex}}` parts, or numbers within a tolerance.

/// A compiled line of expected text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextPattern;
