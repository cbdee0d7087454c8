//! What a text that was not found may have been meant for, as LLVM's program finds it. Nothing here decides.

use super::pattern::{Body, Pattern};

/// Bytes of a range that are looked through for what may have been meant.
const LOOKED_THROUGH: usize = 4096;
/// With so many differences nothing was meant.
const TOO_DIFFERENT: usize = 50;

/// Where in a text stands what a pattern may have been meant for: what takes the fewest changes to become its
/// expression, a hundred lines further down counting as one change. Nothing at the very beginning is worth saying.
pub(super) fn intended(pattern: &Pattern, text: &[u8]) -> Option<usize> {
    let wanted = match &pattern.body {
        Body::EmptyLine => b"(\n$)".to_vec(),
        Body::Fixed(finder) => finder.needle().to_vec(),
        Body::Parts(parts) => parts.without_values(),
    };
    let mut best: Option<(usize, usize)> = None;
    let mut lines = 0;
    for (at, byte) in text.iter().enumerate().take(LOOKED_THROUGH) {
        lines += usize::from(*byte == b'\n');
        if matches!(byte, b' ' | b'\t') {
            continue;
        }
        let rest = &text[at..text.len().min(at + wanted.len())];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        // In hundredths, so that lines count.
        let bound = best.map_or(TOO_DIFFERENT, |(quality, _)| quality / 100);
        if let Some(changes) = changes(line, &wanted, bound) {
            let quality = changes * 100 + lines;
            if best.is_none_or(|(least, _)| quality < least) {
                best = Some((quality, at));
            }
        }
    }
    best.filter(|(quality, at)| *at > 0 && *quality < TOO_DIFFERENT * 100).map(|(_, at)| at)
}

/// Changes of single bytes that turn one text into another, if they are no more than a bound.
fn changes(from: &[u8], to: &[u8], bound: usize) -> Option<usize> {
    if from.len().abs_diff(to.len()) > bound {
        return None;
    }
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, byte) in from.iter().enumerate() {
        // Places further from the diagonal take more changes than the bound.
        let (first, last) = (index.saturating_sub(bound), to.len().min(index + bound + 1));
        let mut diagonal = row[first];
        row[first] = if first == 0 { index + 1 } else { usize::MAX / 2 };
        let mut least = row[first];
        for place in first + 1..=last {
            let above = if place > index + bound { usize::MAX / 2 } else { row[place] };
            let replaced = diagonal + usize::from(to[place - 1] != *byte);
            diagonal = row[place];
            row[place] = replaced.min(above + 1).min(row[place - 1] + 1);
            least = least.min(row[place]);
        }
        if least > bound {
            return None;
        }
    }
    Some(row[to.len()]).filter(|changes| *changes <= bound)
}
