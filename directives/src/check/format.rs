//! How a numeric substitution writes a number: `%u`, `%d`, `%x`, `%X`, with precision and the `0x` of `#`.

use super::integer::{Integer, TooLarge};

/// Base and sign of a number's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Unsigned,
    Signed,
    HexLower,
    HexUpper,
}

/// A matching format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) kind: Kind,
    /// Digits that are written at least, with leading zeros.
    pub(super) precision: u32,
    /// The number begins with `0x`.
    pub(super) alternate: bool,
}

/// Largest precision: what is written with it goes into an expression.
pub(super) const MAX_PRECISION: u32 = 10_000;

impl Format {
    pub(super) const UNSIGNED: Self = Self { kind: Kind::Unsigned, precision: 0, alternate: false };

    /// An expression that matches any number of this format.
    pub(super) fn wildcard(self) -> String {
        let prefix = if self.alternate { "0x" } else { "" };
        let (sign, first, digit) = match self.kind {
            Kind::Unsigned => ("", "1-9", "0-9"),
            Kind::Signed => ("-?", "1-9", "0-9"),
            Kind::HexLower => ("", "1-9a-f", "0-9a-f"),
            Kind::HexUpper => ("", "1-9A-F", "0-9A-F"),
        };
        match self.precision {
            0 => format!("{prefix}{sign}[{digit}]+"),
            // Leading zeros only up to the precision.
            count => format!("{prefix}{sign}([{first}][{digit}]*)?[{digit}]{{{count}}}"),
        }
    }

    /// The number's text; none if it is negative and the format has no sign.
    pub(super) fn write(self, value: &Integer) -> Option<String> {
        if value.is_negative() && self.kind != Kind::Signed {
            return None;
        }
        let digits = match self.kind {
            Kind::Unsigned | Kind::Signed => value.digits(10),
            Kind::HexLower => value.digits(16),
            Kind::HexUpper => value.digits(16).to_ascii_uppercase(),
        };
        let sign = if value.is_negative() { "-" } else { "" };
        let prefix = if self.alternate { "0x" } else { "" };
        Some(format!("{sign}{prefix}{digits:0>width$}", width = self.precision as usize))
    }

    /// The number that a text which the wildcard matched stands for.
    pub(super) fn read(self, text: &[u8]) -> Result<Integer, TooLarge> {
        let (negative, rest) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let rest = if self.alternate { rest.strip_prefix(b"0x").unwrap_or(rest) } else { rest };
        let radix = if matches!(self.kind, Kind::HexLower | Kind::HexUpper) { 16 } else { 10 };
        // `0X` can only come from matching without regard to case; the reference reads it as zero.
        let digits = if rest.iter().all(|b| char::from(*b).is_digit(radix)) { rest } else { b"" };
        Integer::from_digits(digits, radix, negative)
    }

    /// As it is written in a check line.
    pub(super) fn notation(self) -> String {
        let letter = match self.kind {
            Kind::Unsigned => 'u',
            Kind::Signed => 'd',
            Kind::HexLower => 'x',
            Kind::HexUpper => 'X',
        };
        let alternate = if self.alternate { "#" } else { "" };
        let precision = if self.precision > 0 { format!(".{}", self.precision) } else { String::new() };
        format!("%{alternate}{precision}{letter}")
    }
}
