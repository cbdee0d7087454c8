//! The text of `[[#…]]` to its parts: format, definition, expression. Arithmetic is in `expression`.

use super::error::{NameFault, NumericError};
use super::expression::{Expression, Fault, Operand, Reader, lossy, trim_end, trim_start, variable_name};
use super::format::{Format, Kind, MAX_PRECISION};
use super::variables::{Names, NumericId};

/// A numeric block: what it is to look like, what it is worth, and what it defines.
pub(super) struct NumericBlock<'a> {
    pub(super) format: Format,
    /// The expression and its text.
    pub(super) expression: Option<(Expression, &'a [u8])>,
    pub(super) definition: Option<Definition>,
}

/// What a numeric block defines.
pub(super) enum Definition {
    Variable(NumericId),
    /// The name belongs to a string variable; where it stands in the block's content.
    Taken(String, usize),
}

/// Reads `%fmt,NAME: == EXPRESSION`, each part of which may be missing.
pub(super) fn read<'a>(
    content: &'a [u8],
    legacy: bool,
    line: Option<usize>,
    names: &mut Names,
) -> Result<NumericBlock<'a>, Fault> {
    let at = |rest: &[u8]| content.len() - rest.len();
    let mut rest = content;
    let mut explicit = None;
    let mut precision = 0;
    let comma = rest.iter().position(|b| *b == b',');
    // A comma behind a parenthesis is one between arguments.
    if let Some(comma) = comma.filter(|comma| !rest[..*comma].contains(&b'(')) {
        (explicit, precision) = format(content, comma)?;
        rest = &rest[comma + 1..];
    }
    let mut definition = None;
    if let Some(colon) = rest.iter().position(|b| *b == b':') {
        definition = Some((at(rest), &rest[..colon]));
        rest = &rest[colon + 1..];
    }
    rest = trim_start(rest);
    let constrained = rest.starts_with(b"==");
    rest = trim_start(if constrained { &rest[2..] } else { rest });
    let start = at(rest);
    rest = trim_end(rest);
    let mut expression = None;
    if !rest.is_empty() {
        let first = match (legacy, constrained) {
            (true, _) => Operand::Line,
            (false, false) => Operand::First,
            (false, true) => Operand::Any,
        };
        expression = Some((Reader::new(rest, start, names, line).whole(first)?, rest));
    } else if constrained {
        return Err((start, NumericError::EmptyConstraint));
    }
    let format = match (explicit, &expression) {
        (Some(format), _) => format,
        (None, Some((expression, _))) => {
            expression.implicit_format(content, names)?.unwrap_or(Format { precision, ..Format::UNSIGNED })
        }
        (None, None) => Format { precision, ..Format::UNSIGNED },
    };
    let definition = definition.map(|(at, text)| define(text, at, format, line, names)).transpose()?;
    Ok(NumericBlock { format, expression, definition })
}

/// Reads the name before the colon; its text stands at `at` in the block's content.
fn define(
    text: &[u8],
    at: usize,
    format: Format,
    line: Option<usize>,
    names: &mut Names,
) -> Result<Definition, Fault> {
    let (end, text) = (at + text.len(), trim_start(text));
    let at = |rest: &[u8]| end - rest.len();
    let Some((name, rest)) = variable_name(text) else {
        return Err((at(text) + NameFault::of(text).1, NumericError::Name(lossy(text))));
    };
    if name[0] == b'@' {
        return Err((at(text), NumericError::DefinedPseudo(lossy(name))));
    }
    if names.is_string(name) {
        return Ok(Definition::Taken(lossy(name), at(text)));
    }
    if !trim_start(rest).is_empty() {
        return Err((at(trim_start(rest)), NumericError::Trailing(lossy(trim_start(rest)))));
    }
    names
        .define_numeric(name, format, line)
        .map(Definition::Variable)
        .map_err(|error| (at(trim_start(rest)), error))
}

/// `%u`, `%.8d`, `%#x`, up to the comma; without a letter only a precision.
fn format(content: &[u8], comma: usize) -> Result<(Option<Format>, u32), Fault> {
    let text = &content[..comma];
    let at = |rest: &[u8]| comma - rest.len();
    let no_format = |rest: &[u8]| (at(rest), NumericError::Format(lossy(text)));
    let text = trim_start(text);
    let mut rest = text.strip_prefix(b"%").ok_or_else(|| no_format(text))?;
    let alternate_at = at(rest);
    let alternate = rest.starts_with(b"#");
    rest = &rest[usize::from(alternate)..];
    let mut precision = 0;
    if let Some(after) = rest.strip_prefix(b".") {
        let length = after.iter().take_while(|b| b.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&after[..length]).unwrap_or_default();
        rest = &after[length..];
        precision = digits.parse().map_err(|_| (at(rest), NumericError::Precision))?;
        if precision > MAX_PRECISION {
            return Err((at(rest), NumericError::Precision));
        }
    }
    let kind = match trim_end(rest).split_first() {
        None => None,
        Some((letter, _)) => {
            let kind = match letter {
                b'u' => Kind::Unsigned,
                b'd' => Kind::Signed,
                b'x' => Kind::HexLower,
                b'X' => Kind::HexUpper,
                _ => return Err((at(rest), NumericError::FormatLetter(lossy(text)))),
            };
            rest = &rest[1..];
            Some(kind)
        }
    };
    let hexadecimal = matches!(kind, Some(Kind::HexLower | Kind::HexUpper));
    if alternate && !hexadecimal {
        return Err((alternate_at, NumericError::AlternateForm));
    }
    if !trim_start(rest).is_empty() {
        return Err(no_format(trim_start(rest)));
    }
    Ok((kind.map(|kind| Format { kind, precision, alternate }), precision))
}
