//! Expectations against output: bytes in, findings out. No processes, no verdicts.

use crate::model::{StdoutExpectation, TextLine};
use crate::source::Span;
use crate::text::Numbers;
use similar::TextDiff;

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// Whether all of it held.
    pub held: bool,
    /// One per directive line, in order.
    pub lines: Vec<LineResult>,
    /// The first thing that did not hold.
    pub mismatch: Option<Mismatch>,
    /// What was compared as numbers.
    pub numbers: Numbers,
    /// Expected against printed, for whole-stdout expectations that did not hold. Bytes that are no UTF-8 are
    /// shown as `\xNN`.
    pub diff: Option<String>,
}

/// One directive line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineResult {
    /// Line of the directive, from 1.
    pub line: u32,
    /// Where it stands.
    pub span: Span,
    /// Whether it held.
    pub held: bool,
}

/// The first thing that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Index of the expected line; `None` when the output has more than was expected.
    pub expected: Option<usize>,
    /// Line of the output, from 1; `None` when the output ended, or for text that may stand anywhere.
    pub output_line: Option<usize>,
    /// That line of the output, or what was searched, shortened and printable.
    pub found: String,
}

/// Lines that are aligned at most, expected times printed; a larger output is compared line by line in place.
const ALIGNED_CELLS: usize = 1 << 20;

/// Output shown in a mismatch, characters.
const SHOWN: usize = 200;

/// Compares stdout. [`StdoutExpectation::Unchecked`] holds.
pub fn compare_stdout(expected: &StdoutExpectation, stdout: &[u8]) -> Compared {
    match expected {
        StdoutExpectation::Unchecked => Compared { held: true, ..Compared::default() },
        StdoutExpectation::Whole(lines) => compare_whole(lines, stdout),
        StdoutExpectation::Contains(lines) => compare_in_order(lines, stdout),
    }
}

/// Each text must occur, in order and without overlap: `contains`, `stderr`, `refused`.
pub fn compare_in_order(expected: &[TextLine], output: &[u8]) -> Compared {
    let output = without_carriage_returns(output);
    let mut compared = Compared { held: true, ..Compared::default() };
    let mut from = 0;
    for (index, line) in expected.iter().enumerate() {
        let found = line.pattern.find_at(&output, from);
        if let Some(span) = found {
            from = span.end;
        } else if compared.held {
            compared.held = false;
            compared.mismatch =
                Some(Mismatch { expected: Some(index), output_line: None, found: shown(&output[from..]) });
        }
        compared.lines.push(LineResult { line: line.line, span: line.span, held: found.is_some() });
    }
    compared
}

fn compare_whole(expected: &[TextLine], stdout: &[u8]) -> Compared {
    let stdout = without_carriage_returns(stdout);
    let mut printed: Vec<&[u8]> = stdout.split(|b| *b == b'\n').collect();
    // The last newline is optional: what follows it is no line.
    if printed.last().is_some_and(|l| l.is_empty()) && !(printed.len() == 1 && expected.len() == 1) {
        printed.pop();
    }
    let mut compared = Compared::default();
    let in_place: Vec<bool> = expected
        .iter()
        .enumerate()
        .map(|(i, e)| printed.get(i).is_some_and(|l| e.pattern.is_line(l, &mut compared.numbers)))
        .collect();
    compared.held = printed.len() == expected.len() && in_place.iter().all(|h| *h);
    if compared.held {
        compared.lines = results(expected, |_| true);
        return compared;
    }
    let first = in_place.iter().position(|h| !h);
    compared.mismatch = Some(Mismatch {
        expected: first,
        output_line: Some(first.unwrap_or(expected.len())).filter(|i| *i < printed.len()).map(|i| i + 1),
        found: printed.get(first.unwrap_or(expected.len())).map(|l| shown(l)).unwrap_or_default(),
    });
    let pairs = align(expected, &printed, &in_place);
    compared.lines = results(expected, |i| pairs[i].is_some());
    // A line that held is shown as printed on both sides, so that only real differences are marked.
    let wanted: Vec<String> = expected
        .iter()
        .zip(&pairs)
        .map(|(e, pair)| pair.map_or_else(|| printable(e.pattern.source()), |p| printable(printed[p])))
        .collect();
    let got: Vec<String> = printed.iter().map(|l| printable(l)).collect();
    compared.diff = Some(unified(&wanted, &got));
    compared
}

fn results(expected: &[TextLine], held: impl Fn(usize) -> bool) -> Vec<LineResult> {
    expected
        .iter()
        .enumerate()
        .map(|(i, e)| LineResult { line: e.line, span: e.span, held: held(i) })
        .collect()
}

/// Which printed line each expected line is: the longest common subsequence.
fn align(expected: &[TextLine], printed: &[&[u8]], in_place: &[bool]) -> Vec<Option<usize>> {
    if expected.len().saturating_mul(printed.len()) > ALIGNED_CELLS {
        return in_place.iter().enumerate().map(|(i, held)| held.then_some(i)).collect();
    }
    let width = printed.len() + 1;
    let fits: Vec<bool> = expected
        .iter()
        .flat_map(|e| printed.iter().map(|l| e.pattern.is_line(l, &mut Numbers::default())))
        .collect();
    let mut longest = vec![0u32; (expected.len() + 1) * width];
    for i in (0..expected.len()).rev() {
        for j in (0..printed.len()).rev() {
            let skip = longest[(i + 1) * width + j].max(longest[i * width + j + 1]);
            let take = if fits[i * printed.len() + j] { 1 + longest[(i + 1) * width + j + 1] } else { 0 };
            longest[i * width + j] = skip.max(take);
        }
    }
    let mut pairs = vec![None; expected.len()];
    let (mut i, mut j) = (0, 0);
    while i < expected.len() && j < printed.len() {
        if fits[i * printed.len() + j] && longest[i * width + j] == 1 + longest[(i + 1) * width + j + 1] {
            pairs[i] = Some(j);
            i += 1;
            j += 1;
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

fn unified(wanted: &[String], got: &[String]) -> String {
    let join = |lines: &[String]| lines.iter().map(|l| format!("{l}\n")).collect::<String>();
    let (wanted, got) = (join(wanted), join(got));
    TextDiff::from_lines(&wanted, &got)
        .unified_diff()
        .context_radius(3)
        .header("expected", "printed")
        .to_string()
}

fn without_carriage_returns(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for (i, byte) in bytes.iter().enumerate() {
        if !(*byte == b'\r' && bytes.get(i + 1) == Some(&b'\n')) {
            out.push(*byte);
        }
    }
    out
}

/// Bytes as text: what is no UTF-8, and control characters but the tab, as `\xNN`.
pub fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() && c != '\t' && c != '\n' {
                let mut buffer = [0; 4];
                c.encode_utf8(&mut buffer).bytes().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
            } else {
                out.push(c);
            }
        }
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
    }
    out
}

fn shown(bytes: &[u8]) -> String {
    let text = printable(&bytes[..bytes.len().min(4 * SHOWN)]);
    let short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() || bytes.len() > 4 * SHOWN { short + "…" } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{TextPattern, Tolerance};

    fn lines(texts: &[&str], tolerance: Option<Tolerance>) -> Vec<TextLine> {
        texts
            .iter()
            .enumerate()
            .map(|(i, t)| TextLine {
                text: (*t).to_owned(),
                pattern: TextPattern::new(t.as_bytes(), tolerance).expect("a pattern"),
                span: Span::default(),
                line: u32::try_from(i).expect("few") + 1,
                keyword: "EXPECT".to_owned(),
            })
            .collect()
    }

    #[track_caller]
    fn check_whole(expected: &[&str], stdout: &[u8], held: bool) -> Compared {
        let got = compare_stdout(&StdoutExpectation::Whole(lines(expected, None)), stdout);
        assert_eq!(got.held, held, "{expected:?} {stdout:?} {got:?}");
        assert_eq!(got.held, got.mismatch.is_none());
        assert_eq!(got.held, got.diff.is_none());
        got
    }

    #[test]
    fn whole_stdout() {
        check_whole(&["a", "b"], b"a\nb\n", true);
        check_whole(&["a", "b"], b"a\r\nb", true);
        check_whole(&["a"], b"a\nb\n", false);
        check_whole(&["a", "b"], b"a\n", false);
        check_whole(&["a"], b"a \n", false);
        check_whole(&[""], b"\n", true);
        check_whole(&[""], b"", true);
        check_whole(&[""], b"\n\n", false);
        check_whole(&["a", ""], b"a\n\n", true);
        check_whole(&["a", ""], b"a\n", false);
        check_whole(&["a"], b"", false);
        check_whole(&["{{[0-9]+}}"], b"12\n", true);
    }

    #[test]
    fn a_missing_line_does_not_spoil_the_others() {
        let got = check_whole(&["a", "b", "c"], b"a\nc\n", false);
        assert_eq!(got.lines.iter().map(|l| l.held).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(got.diff.as_deref(), Some("--- expected\n+++ printed\n@@ -1,3 +1,2 @@\n a\n-b\n c\n"));
        let mismatch = got.mismatch.expect("a mismatch");
        assert_eq!(
            (mismatch.expected, mismatch.output_line, mismatch.found.as_str()),
            (Some(1), Some(2), "c")
        );
    }

    #[test]
    fn bytes_are_shown() {
        let got = check_whole(&["a"], b"a\xff\x1b\n", false);
        assert!(got.diff.expect("a diff").contains("+a\\xff\\x1b"), "escapes");
    }

    #[test]
    fn in_order() {
        let check = |texts: &[&str], held: &[bool]| {
            let got = compare_in_order(&lines(texts, None), b"one two\r\nthree\n");
            assert_eq!(got.lines.iter().map(|l| l.held).collect::<Vec<_>>(), held, "{texts:?}");
            assert_eq!(got.held, held.iter().all(|h| *h));
        };
        check(&["one", "three"], &[true, true]);
        check(&["three", "one"], &[true, false]);
        check(&["one", "one"], &[true, false]);
    }

    #[test]
    fn numbers_are_summed() {
        let near = lines(&["1 2", "3"], Some(Tolerance { rel: 0.0, abs: 0.1 }));
        let got = compare_stdout(&StdoutExpectation::Whole(near), b"1.05 2\n4\n");
        assert!(!got.held);
        assert_eq!((got.numbers.elements, got.numbers.over, got.numbers.max_abs), (3, 1, 1.0));
    }
}
