//! Bracket expressions: `[a-z]`, `[^[:space:]]`, `[[.hyphen.]]`, and the word boundaries `[[:<:]]`, `[[:>:]]`.

use super::EreError;
use super::bytes::ByteSet;
use super::syntax::{Node, Parser};

/// Parses what follows the opening `[`.
pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Node, EreError> {
    if parser.eat_all(b"[:<:]]") {
        return Ok(Node::WordStart);
    }
    if parser.eat_all(b"[:>:]]") {
        return Ok(Node::WordEnd);
    }
    let mut set = ByteSet::EMPTY;
    let negated = parser.eat(b'^');
    if parser.eat(b']') {
        set.insert(b']');
    } else if parser.eat(b'-') {
        set.insert(b'-');
    }
    loop {
        match parser.peek() {
            None => return Err(EreError::Bracket),
            Some(b']') => break,
            Some(b'-') if parser.peek_second() == Some(b']') => {
                set.insert(b'-');
                parser.at += 1;
                break;
            }
            Some(_) => term(parser, &mut set)?,
        }
    }
    parser.at += 1;
    if parser.fold_case {
        set.fold_case();
    }
    if negated {
        set = set.complement();
        set.remove(b'\n');
    }
    Ok(set.single().map_or(Node::Set(set), |byte| parser.ordinary(byte)))
}

fn term(parser: &mut Parser<'_>, set: &mut ByteSet) -> Result<(), EreError> {
    match (parser.peek(), parser.peek_second()) {
        (Some(b'-'), _) => return Err(EreError::Range),
        (Some(b'['), Some(b':')) => {
            parser.at += 2;
            return class(parser, set);
        }
        (Some(b'['), Some(b'=')) => {
            parser.at += 2;
            set.insert(collating_element(parser, b'=')?);
            return Ok(());
        }
        _ => {}
    }
    let start = symbol(parser)?;
    let is_range = parser.peek() == Some(b'-') && parser.peek_second().is_some_and(|b| b != b']');
    let end = if is_range {
        parser.at += 1;
        if parser.eat(b'-') { b'-' } else { symbol(parser)? }
    } else {
        start
    };
    // Bytes from 0x80 order below ASCII, as where a `char` is signed.
    let (first, last) = (start.cast_signed(), end.cast_signed());
    if first > last {
        return Err(EreError::Range);
    }
    for byte in first..=last {
        set.insert(byte.cast_unsigned());
    }
    Ok(())
}

fn class(parser: &mut Parser<'_>, set: &mut ByteSet) -> Result<(), EreError> {
    let rest = &parser.text[parser.at..];
    let length = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let members: fn(u8) -> bool = match &rest[..length] {
        b"alnum" => |b| b.is_ascii_alphanumeric(),
        b"alpha" => |b| b.is_ascii_alphabetic(),
        b"blank" => |b| b == b' ' || b == b'\t',
        b"cntrl" => |b| b.is_ascii_control() && b != 0,
        b"digit" => |b| b.is_ascii_digit(),
        b"graph" => |b| b.is_ascii_graphic(),
        b"lower" => |b| b.is_ascii_lowercase(),
        b"print" => |b| b.is_ascii_graphic() || b == b' ',
        b"punct" => |b| b.is_ascii_punctuation(),
        b"space" => |b| matches!(b, b' ' | b'\t'..=b'\r'),
        b"upper" => |b| b.is_ascii_uppercase(),
        b"xdigit" => |b| b.is_ascii_hexdigit(),
        // Nothing behind the `[:`.
        b"" if parser.peek().is_none() => return Err(EreError::Bracket),
        _ => return Err(EreError::Class),
    };
    parser.at += length;
    if !parser.eat_all(b":]") {
        return Err(if parser.peek().is_none() { EreError::Bracket } else { EreError::Class });
    }
    (0..=u8::MAX).filter(|b| members(*b)).for_each(|b| set.insert(b));
    Ok(())
}

fn symbol(parser: &mut Parser<'_>) -> Result<u8, EreError> {
    if parser.eat_all(b"[.") {
        return collating_element(parser, b'.');
    }
    let Some(byte) = parser.peek() else { return Err(EreError::Bracket) };
    parser.at += 1;
    Ok(byte)
}

/// The byte that a name between `[.` and `.]` (or `[=` and `=]`) stands for; eats the closing mark.
fn collating_element(parser: &mut Parser<'_>, mark: u8) -> Result<u8, EreError> {
    let rest = &parser.text[parser.at..];
    let Some(length) = rest.windows(2).position(|pair| pair == [mark, b']']) else {
        return Err(EreError::Bracket);
    };
    let name = &rest[..length];
    parser.at += length + 2;
    if let Some((_, byte)) = NAMES.iter().find(|(known, _)| known.as_bytes() == name) {
        return Ok(*byte);
    }
    if let [byte] = name { Ok(*byte) } else { Err(EreError::Collating) }
}

/// Names of characters in the POSIX locale's character map.
const NAMES: &[(&str, u8)] = &[
    ("NUL", 0),
    ("SOH", 1),
    ("STX", 2),
    ("ETX", 3),
    ("EOT", 4),
    ("ENQ", 5),
    ("ACK", 6),
    ("BEL", 7),
    ("alert", 7),
    ("BS", 8),
    ("backspace", 8),
    ("HT", 9),
    ("tab", 9),
    ("LF", 10),
    ("newline", 10),
    ("VT", 11),
    ("vertical-tab", 11),
    ("FF", 12),
    ("form-feed", 12),
    ("CR", 13),
    ("carriage-return", 13),
    ("SO", 14),
    ("SI", 15),
    ("DLE", 16),
    ("DC1", 17),
    ("DC2", 18),
    ("DC3", 19),
    ("DC4", 20),
    ("NAK", 21),
    ("SYN", 22),
    ("ETB", 23),
    ("CAN", 24),
    ("EM", 25),
    ("SUB", 26),
    ("ESC", 27),
    ("IS4", 28),
    ("FS", 28),
    ("IS3", 29),
    ("GS", 29),
    ("IS2", 30),
    ("RS", 30),
    ("IS1", 31),
    ("US", 31),
    ("space", b' '),
    ("exclamation-mark", b'!'),
    ("quotation-mark", b'"'),
    ("number-sign", b'#'),
    ("dollar-sign", b'$'),
    ("percent-sign", b'%'),
    ("ampersand", b'&'),
    ("apostrophe", b'\''),
    ("left-parenthesis", b'('),
    ("right-parenthesis", b')'),
    ("asterisk", b'*'),
    ("plus-sign", b'+'),
    ("comma", b','),
    ("hyphen", b'-'),
    ("hyphen-minus", b'-'),
    ("period", b'.'),
    ("full-stop", b'.'),
    ("slash", b'/'),
    ("solidus", b'/'),
    ("zero", b'0'),
    ("one", b'1'),
    ("two", b'2'),
    ("three", b'3'),
    ("four", b'4'),
    ("five", b'5'),
    ("six", b'6'),
    ("seven", b'7'),
    ("eight", b'8'),
    ("nine", b'9'),
    ("colon", b':'),
    ("semicolon", b';'),
    ("less-than-sign", b'<'),
    ("equals-sign", b'='),
    ("greater-than-sign", b'>'),
    ("question-mark", b'?'),
    ("commercial-at", b'@'),
    ("left-square-bracket", b'['),
    ("backslash", b'\\'),
    ("reverse-solidus", b'\\'),
    ("right-square-bracket", b']'),
    ("circumflex", b'^'),
    ("circumflex-accent", b'^'),
    ("underscore", b'_'),
    ("low-line", b'_'),
    ("grave-accent", b'`'),
    ("left-brace", b'{'),
    ("left-curly-bracket", b'{'),
    ("vertical-line", b'|'),
    ("right-brace", b'}'),
    ("right-curly-bracket", b'}'),
    ("tilde", b'~'),
    ("DEL", 127),
];
