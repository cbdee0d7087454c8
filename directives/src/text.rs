//! Expected text: literal with `{{regex}}` parts, or with numbers within a tolerance. Bytes in, bytes compared.
//!
//! Regular expressions are over bytes: `.` is one byte, `\d` an ASCII digit.

use crate::source::Span;
use regex::bytes::{Regex, RegexBuilder};

/// How far a number may be from the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Times the expected number's absolute value.
    pub rel: f64,
    /// Absolute.
    pub abs: f64,
}

/// What a comparison of numbers found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Numbers compared.
    pub elements: u64,
    /// Largest absolute difference of two finite numbers.
    pub max_abs: f64,
    /// Largest relative difference of two finite numbers, the expected one not 0.
    pub max_rel: f64,
    /// NaN in the output.
    pub nan: u64,
    /// Infinities in the output.
    pub infinite: u64,
    /// Numbers beyond the tolerance.
    pub over: u64,
}

impl Numbers {
    /// Adds another comparison's findings.
    pub fn add(&mut self, other: Self) {
        self.elements += other.elements;
        self.max_abs = self.max_abs.max(other.max_abs);
        self.max_rel = self.max_rel.max(other.max_rel);
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.over += other.over;
    }

    fn compare(&mut self, expected: f64, actual: f64, tolerance: Tolerance) {
        self.elements += 1;
        self.nan += u64::from(actual.is_nan());
        self.infinite += u64::from(actual.is_infinite());
        let held = if expected.is_finite() && actual.is_finite() {
            let difference = (actual - expected).abs();
            self.max_abs = self.max_abs.max(difference);
            if expected != 0.0 {
                self.max_rel = self.max_rel.max(difference / expected.abs());
            }
            difference <= tolerance.abs || difference <= tolerance.rel * expected.abs()
        } else {
            (expected.is_nan() && actual.is_nan()) || expected == actual
        };
        self.over += u64::from(!held);
    }
}

/// A compiled line of expected text.
#[derive(Clone, Debug)]
pub struct TextPattern {
    source: Vec<u8>,
    tolerance: Option<Tolerance>,
    whole: Regex,
    anywhere: Regex,
    /// The expected numbers, one per capture group.
    numbers: Vec<f64>,
}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.tolerance == other.tolerance
    }
}

/// A fault in a pattern; the span is in bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// Where.
    pub span: Span,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
}

/// Memory that one compiled pattern may take, bytes.
const REGEX_SIZE: usize = 4 << 20;

impl TextPattern {
    /// Compiles a text with `{{regex}}` parts; with a tolerance, its numbers are compared as numbers.
    ///
    /// # Errors
    /// `{{` without `}}`, or a part that is no regular expression.
    pub fn new(text: &[u8], tolerance: Option<Tolerance>) -> Result<Self, PatternError> {
        let mut body = String::new();
        let mut numbers = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let open = find(&text[at..], b"{{").map_or(text.len(), |i| at + i);
            literal(&text[at..open], tolerance, &mut body, &mut numbers);
            if open == text.len() {
                break;
            }
            let inner = open + 2;
            let Some(first) = find(&text[inner..], b"}}") else {
                return Err(PatternError {
                    span: Span::new(open, inner),
                    message: "`{{` without `}}`; literal braces are `{{[{][{]}}`".to_owned(),
                });
            };
            let extra = text[inner + first + 2..].iter().take_while(|b| **b == b'}').count();
            let close = inner + first + extra;
            let part = String::from_utf8_lossy(&text[inner..close]);
            // Alone first: an error is then an error of this part and not of the joined text.
            if part.is_empty() || compile(&part).is_none() {
                let message = format!("`{{{{{part}}}}}` is no regular expression");
                return Err(PatternError { span: Span::new(open, close + 2), message });
            }
            body.push_str(&format!("(?:{part})"));
            at = close + 2;
        }
        let unfit = || PatternError {
            span: Span::new(0, text.len()),
            message: "the parts of the pattern do not fit together, or it is too large".to_owned(),
        };
        Ok(Self {
            whole: compile(&format!("\\A(?:{body})\\z")).ok_or_else(unfit)?,
            anywhere: compile(&body).ok_or_else(unfit)?,
            source: text.to_vec(),
            tolerance,
            numbers,
        })
    }

    /// As written.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Whether it is this whole line (given without its end). What was compared as numbers is added to `numbers`.
    pub fn is_line(&self, line: &[u8], numbers: &mut Numbers) -> bool {
        let Some(tolerance) = self.tolerance else {
            return self.whole.is_match(line);
        };
        let Some(found) = self.whole.captures(line) else {
            return false;
        };
        let mut here = Numbers::default();
        for (index, expected) in self.numbers.iter().enumerate() {
            let group = found.name(&group_name(index)).map(|m| m.as_bytes()).unwrap_or_default();
            here.compare(*expected, number_value(group), tolerance);
        }
        numbers.add(here);
        here.over == 0
    }

    /// The first place at or after `from` where it occurs.
    pub fn find_at(&self, text: &[u8], from: usize) -> Option<Span> {
        self.anywhere.find_at(text, from.min(text.len())).map(|m| Span::new(m.start(), m.end()))
    }

    /// Whether it accepts every text, the empty one too: `{{.*}}`.
    pub fn accepts_every_text(&self) -> bool {
        self.anywhere.find(b"").is_some()
    }
}

/// Bytes first: `.` then means one byte. A class with letters beyond ASCII needs characters.
fn compile(pattern: &str) -> Option<Regex> {
    let build = |unicode| RegexBuilder::new(pattern).unicode(unicode).size_limit(REGEX_SIZE).build().ok();
    build(false).or_else(|| build(true))
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|w| w == what)
}

fn group_name(index: usize) -> String {
    format!("number_of_runproof_{index}")
}

fn literal(text: &[u8], tolerance: Option<Tolerance>, body: &mut String, numbers: &mut Vec<f64>) {
    let mut at = 0;
    while at < text.len() {
        if tolerance.is_some()
            && let Some(length) = number_at(text, at)
        {
            let name = group_name(numbers.len());
            body.push_str(&format!("(?P<{name}>{NUMBER})"));
            numbers.push(number_value(&text[at..at + length]));
            at += length;
            continue;
        }
        let byte = text[at];
        if byte.is_ascii_alphanumeric() {
            body.push(char::from(byte));
        } else {
            body.push_str(&format!("(?-u:\\x{byte:02x})"));
        }
        at += 1;
    }
}

/// A number in the output.
const NUMBER: &str = r"[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|(?i:nan|infinity|inf))";

/// Length of the number that begins at `at`, in expected text. A digit inside a word (`f32`) and a hexadecimal
/// literal are no numbers.
fn number_at(text: &[u8], at: usize) -> Option<usize> {
    let in_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.';
    if at > 0 && in_word(&text[at - 1]) {
        return None;
    }
    let sign = usize::from(matches!(text[at], b'-' | b'+'));
    let body = &text[at + sign..];
    for word in ["infinity", "nan", "inf"] {
        if body.len() >= word.len()
            && body[..word.len()].eq_ignore_ascii_case(word.as_bytes())
            && !body.get(word.len()).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
        {
            return Some(sign + word.len());
        }
    }
    if body.starts_with(b"0x") || body.starts_with(b"0X") {
        return None;
    }
    let digits = |from: usize| body[from.min(body.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(0);
    let mut end = whole;
    if body.get(end) == Some(&b'.') && (whole > 0 || digits(1) > 0) {
        let fraction = digits(end + 1);
        // A full stop behind a whole number ends a sentence.
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    if end == 0 {
        return None;
    }
    if matches!(body.get(end), Some(b'e' | b'E')) {
        let exponent_sign = usize::from(matches!(body.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits(end + 1 + exponent_sign);
        if exponent > 0 {
            end += 1 + exponent_sign + exponent;
        }
    }
    Some(sign + end)
}

/// Rust reads every form that [`NUMBER`] accepts.
fn number_value(text: &[u8]) -> f64 {
    std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, line: &[u8], expect: bool) {
        let compiled = TextPattern::new(pattern.as_bytes(), None).expect(pattern);
        assert_eq!(compiled.is_line(line, &mut Numbers::default()), expect, "{pattern} on {line:?}");
    }

    #[test]
    fn literal_and_regex() {
        check("a.b", b"a.b", true);
        check("a.b", b"axb", false);
        check("a ", b"a", false);
        check("", b"", true);
        check("x = {{[0-9]+}};", b"x = 12;", true);
        check("{{a|b}}c", b"ac", true);
        check("{{[0-9]{2}}}", b"12", true);
        check("{{.*}}", b"\xff\xfe", true);
        check("ü{{[äö]}}", "üä".as_bytes(), true);
        assert!(
            TextPattern::new(b"caf\xe9", None).expect("bytes").is_line(b"caf\xe9", &mut Numbers::default())
        );
    }

    #[track_caller]
    fn check_near(pattern: &str, line: &str, rel: f64, abs: f64, expect: bool) -> Numbers {
        let compiled = TextPattern::new(pattern.as_bytes(), Some(Tolerance { rel, abs })).expect(pattern);
        let mut numbers = Numbers::default();
        assert_eq!(
            compiled.is_line(line.as_bytes(), &mut numbers),
            expect,
            "{pattern} on {line}: {numbers:?}"
        );
        numbers
    }

    #[test]
    fn near() {
        check_near("sum = 0.33333", "sum = 0.333331", 1e-5, 0.0, true);
        check_near("sum = 0.33333", "sum = 0.3334", 1e-5, 0.0, false);
        check_near("sum = 0.33333", "Sum = 0.33333", 1e-5, 0.0, false);
        check_near("f32 1", "f33 1", 1.0, 1.0, false);
        check_near("-1e3, +2.", "-1000, 2.", 0.0, 0.5, true);
        check_near("0x10", "0x11", 1.0, 9.0, false);
        check_near("{{[a-z]+}} 1", "abc 1.2", 0.5, 0.0, true);
        let numbers = check_near("nan inf 1", "NaN inf nan", 1.0, 1.0, false);
        assert_eq!((numbers.elements, numbers.nan, numbers.infinite, numbers.over), (3, 2, 1, 1));
        let numbers = check_near("2 0", "3 0.5", 0.0, 1.0, true);
        assert_eq!((numbers.max_abs, numbers.max_rel), (1.0, 0.5));
        check_near("1", "inf", 1.0, 1e300, false);
    }

    #[track_caller]
    fn check_error(pattern: &str, start: usize, end: usize) {
        let error = TextPattern::new(pattern.as_bytes(), None).expect_err(pattern);
        assert_eq!(error.span, Span::new(start, end), "{error:?}");
    }

    #[test]
    fn errors_have_places() {
        check_error("a {{b", 2, 4);
        check_error("{{(}}", 0, 5);
        check_error("{{}}", 0, 4);
        check_error("{{)(}}", 0, 6);
    }
}
