//! The text of `[[#…]]` to its parts: format, definition, expression. Arithmetic is in `expression`.

use super::error::NumericError;
use super::expression::{Expression, Reader, lossy, trim_end, trim_start, variable_name};
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
    /// The name belongs to a string variable.
    Taken(String),
}

/// Reads `%fmt,NAME: == EXPRESSION`, each part of which may be missing.
pub(super) fn read<'a>(
    content: &'a [u8],
    legacy: bool,
    line: Option<usize>,
    names: &mut Names,
) -> Result<NumericBlock<'a>, NumericError> {
    let mut rest = content;
    let mut explicit = None;
    let mut precision = 0;
    let comma = rest.iter().position(|b| *b == b',');
    // A comma behind a parenthesis is one between arguments.
    if let Some(comma) = comma.filter(|comma| !rest[..*comma].contains(&b'(')) {
        (explicit, precision) = format(&rest[..comma])?;
        rest = &rest[comma + 1..];
    }
    let mut definition = None;
    if let Some(colon) = rest.iter().position(|b| *b == b':') {
        definition = Some(&rest[..colon]);
        rest = &rest[colon + 1..];
    }
    rest = trim_start(rest);
    let constrained = rest.starts_with(b"==");
    rest = trim_end(trim_start(if constrained { &rest[2..] } else { rest }));
    let mut expression = None;
    if !rest.is_empty() {
        expression = Some((Reader::new(rest, names, line).whole(legacy)?, rest));
    } else if constrained {
        return Err(NumericError::EmptyConstraint);
    }
    let format = match (explicit, &expression) {
        (Some(format), _) => format,
        (None, Some((expression, _))) => {
            expression.implicit_format(names)?.unwrap_or(Format { precision, ..Format::UNSIGNED })
        }
        (None, None) => Format { precision, ..Format::UNSIGNED },
    };
    let definition = definition.map(|text| define(text, format, line, names)).transpose()?;
    Ok(NumericBlock { format, expression, definition })
}

fn define(
    text: &[u8],
    format: Format,
    line: Option<usize>,
    names: &mut Names,
) -> Result<Definition, NumericError> {
    let text = trim_start(text);
    let Some((name, rest)) = variable_name(text) else { return Err(NumericError::Operand(lossy(text))) };
    if name[0] == b'@' {
        return Err(NumericError::Pseudo(lossy(name)));
    }
    if names.is_string(name) {
        return Ok(Definition::Taken(lossy(name)));
    }
    if !trim_start(rest).is_empty() {
        return Err(NumericError::Trailing(lossy(trim_start(rest))));
    }
    names.define_numeric(name, format, line).map(Definition::Variable)
}

/// `%u`, `%.8d`, `%#x`; without a letter only a precision.
fn format(text: &[u8]) -> Result<(Option<Format>, u32), NumericError> {
    let shown = || NumericError::Format(lossy(text));
    let text_rest = trim_end(trim_start(text));
    let mut rest = text_rest.strip_prefix(b"%").ok_or_else(shown)?;
    let alternate = rest.starts_with(b"#");
    rest = &rest[usize::from(alternate)..];
    let mut precision = 0;
    if let Some(after) = rest.strip_prefix(b".") {
        let length = after.iter().take_while(|b| b.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&after[..length]).unwrap_or_default();
        precision = digits.parse().map_err(|_| NumericError::Precision)?;
        if precision > MAX_PRECISION {
            return Err(NumericError::Precision);
        }
        rest = &after[length..];
    }
    let kind = match rest.split_first() {
        None => None,
        Some((letter, after)) => {
            rest = after;
            Some(match letter {
                b'u' => Kind::Unsigned,
                b'd' => Kind::Signed,
                b'x' => Kind::HexLower,
                b'X' => Kind::HexUpper,
                _ => return Err(shown()),
            })
        }
    };
    let hexadecimal = matches!(kind, Some(Kind::HexLower | Kind::HexUpper));
    if alternate && !hexadecimal {
        return Err(NumericError::AlternateForm);
    }
    if !trim_start(rest).is_empty() {
        return Err(shown());
    }
    Ok((kind.map(|kind| Format { kind, precision, alternate }), precision))
}
