//! White space as matching sees it, and the way back to places in the file.

use std::borrow::Cow;

use memchr::memchr3;

use crate::source::Span;

/// A text with CRLF as LF and, unless white space is strict, every run of blanks and tabs as one blank.
pub(super) struct Canonical<'a> {
    original: &'a [u8],
    strict: bool,
    pub(super) text: Cow<'a, [u8]>,
}

/// What stands at a place of the original.
enum Step {
    /// Goes into the text as it is.
    Keep,
    /// Becomes one blank; so many bytes.
    Blank(usize),
    /// Is dropped.
    Drop,
}

fn step(rest: &[u8], strict: bool) -> Step {
    match rest {
        [b'\r', b'\n', ..] => Step::Drop,
        [b' ' | b'\t', ..] if !strict => {
            Step::Blank(rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count())
        }
        _ => Step::Keep,
    }
}

/// The first place from `at` on where something may change.
fn next_special(original: &[u8], at: usize, strict: bool) -> usize {
    let rest = &original[at..];
    let found = if strict { memchr::memchr(b'\r', rest) } else { memchr3(b' ', b'\t', b'\r', rest) };
    found.map_or(original.len(), |offset| at + offset)
}

impl<'a> Canonical<'a> {
    pub(super) fn new(original: &'a [u8], strict: bool) -> Self {
        let mut text = Vec::new();
        // What is before `copied` is in `text`; nothing is copied before the first change.
        let (mut at, mut copied) = (0, 0);
        loop {
            at = next_special(original, at, strict);
            if at >= original.len() {
                break;
            }
            match step(&original[at..], strict) {
                Step::Keep => at += 1,
                Step::Blank(1) if original[at] == b' ' => at += 1,
                change => {
                    text.reserve(if text.is_empty() { original.len() } else { 0 });
                    text.extend_from_slice(&original[copied..at]);
                    at += match change {
                        Step::Blank(length) => {
                            text.push(b' ');
                            length
                        }
                        _ => 1,
                    };
                    copied = at;
                }
            }
        }
        if copied == 0 {
            return Self { original, strict, text: Cow::Borrowed(original) };
        }
        text.extend_from_slice(&original[copied..]);
        Self { original, strict, text: Cow::Owned(text) }
    }

    /// The places in the original of places in the text, which must be in ascending order.
    fn originals(&self, places: &[usize]) -> Vec<usize> {
        if matches!(self.text, Cow::Borrowed(_)) {
            return places.to_vec();
        }
        let mut found = Vec::with_capacity(places.len());
        let (mut at, mut canonical) = (0, 0);
        for &place in places {
            loop {
                let special = next_special(self.original, at, self.strict);
                let plain = special - at;
                if place < canonical + plain || special >= self.original.len() {
                    found.push((at + (place - canonical)).min(self.original.len()));
                    break;
                }
                (at, canonical) = (special, canonical + plain);
                match step(&self.original[at..], self.strict) {
                    Step::Drop => at += 1,
                    Step::Keep | Step::Blank(_) if place == canonical => {
                        found.push(at);
                        break;
                    }
                    Step::Keep => (at, canonical) = (at + 1, canonical + 1),
                    Step::Blank(length) => (at, canonical) = (at + length, canonical + 1),
                }
            }
        }
        found
    }

    /// Turns spans of the text into spans of the original.
    pub(super) fn restore(&self, spans: &mut [&mut Span]) {
        if matches!(self.text, Cow::Borrowed(_)) {
            return;
        }
        let mut places: Vec<usize> = spans.iter().flat_map(|span| [span.start, span.end]).collect();
        places.sort_unstable();
        places.dedup();
        let originals = self.originals(&places);
        let original = |place| places.binary_search(&place).map_or(place, |index| originals[index]);
        for span in spans {
            let (start, mut end) = (original(span.start), original(span.end));
            // A CRLF belongs to no text that ends in front of it.
            if end > start && self.original[..end].ends_with(b"\r") && self.original[end..].starts_with(b"\n")
            {
                end -= 1;
            }
            **span = Span::new(start, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(original: &str, strict: bool, expect: &str) {
        assert_eq!(Canonical::new(original.as_bytes(), strict).text, expect.as_bytes());
    }

    #[test]
    fn white_space() {
        check("a  b\t\tc d", false, "a b c d");
        check("a  b\t\tc d\r\n", true, "a  b\t\tc d\n");
        check("a\r\nb\rc\r", false, "a\nb\rc\r");
        check("\t", false, " ");
        check("", false, "");
    }

    proptest! {
        #[test]
        fn places_lead_back(original in "[ab \t\r\n]{0,40}", strict in any::<bool>()) {
            let canonical = Canonical::new(original.as_bytes(), strict);
            let places: Vec<usize> = (0..=canonical.text.len()).collect();
            let found = canonical.originals(&places);
            prop_assert!(found.is_sorted());
            for (place, origin) in places.iter().zip(&found) {
                let (text, original) = (canonical.text.get(*place), original.as_bytes().get(*origin));
                match text {
                    Some(b' ') => prop_assert!(matches!(original, Some(b' ' | b'\t'))),
                    other => prop_assert_eq!(other, original),
                }
            }
        }
    }
}
