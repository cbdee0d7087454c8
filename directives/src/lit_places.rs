//! Where lit finds its keywords and FileCheck its check lines: anywhere in a line.
//!
//! What must not enter: what the keywords mean, and everything that our own dialect reads at the beginning of
//! comments (`comment`).

use crate::classify::Vocabulary;
use crate::codes;
use crate::comment::{self, Place, Slot, lines};
use crate::finding::Finding;
use crate::head::{Separator, head, is_word_byte};
use crate::source::{Source, Span};
use std::collections::BTreeSet;

/// Words that lit reads before a colon, `END.` apart.
pub(crate) const KEYWORDS: &[&str] =
    &["RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "ALLOW_RETRIES", "DEFINE", "REDEFINE"];

/// Lines, from 1, that begin with a directive of ours that the suite has enabled: lit finds nothing in them.
pub fn own_lines(source: &Source, enabled: &BTreeSet<String>) -> BTreeSet<u32> {
    if enabled.is_empty() {
        return BTreeSet::new();
    }
    let is_own = |slot: &Slot| {
        let head = head(&source.bytes, slot.span.start, slot.span.end);
        head.is_some_and(|head| head.separator == Separator::Colon && enabled.contains(head.word))
    };
    comment::scan(source).iter().filter(|slot| is_own(slot)).map(|slot| slot.line).collect()
}

/// A slot for each line in which lit finds a keyword, up to `END.`, those in `own` apart.
pub(crate) fn keywords(source: &Source, own: &BTreeSet<u32>) -> Vec<Slot> {
    let bytes = &source.bytes;
    let mut slots = Vec::new();
    for (index, line) in lines(source).enumerate() {
        let text = &bytes[line.start..line.end];
        let found = text.iter().enumerate().find_map(|(at, byte)| match byte {
            b':' => {
                // `REDEFINE` also ends in a keyword: the longest begins first.
                let ends = |k: &&&str| text[..at].ends_with(k.as_bytes());
                KEYWORDS.iter().filter(ends).map(|k| at - k.len()).min().map(|at| (at, false))
            }
            b'.' if text[..at].ends_with(b"END") => Some((at - 3, true)),
            _ => None,
        });
        if let Some((at, is_end)) = found {
            if is_end {
                break;
            }
            let slot = slot(index, line, line.start + at);
            if !own.contains(&slot.line) {
                slots.push(slot);
            }
        }
    }
    slots
}

/// The whole word at whose end a keyword was found.
fn word_around(source: &Source, slot: &Slot) -> (Span, String) {
    let before = source.bytes[slot.marker.start..slot.span.start].iter().rev();
    let length = before.take_while(|b| is_word_byte(**b)).count();
    let colon = source.slice(slot.span).iter().position(|b| *b == b':').unwrap_or_default();
    let span = Span::new(slot.span.start - length, slot.span.start + colon);
    (span, String::from_utf8_lossy(source.slice(span)).into_owned())
}

/// A keyword at the end of a longer word, `XRUN:`: its author may think that it is switched off.
pub(crate) fn within_a_word(source: &Source, slot: &Slot) -> Option<Finding> {
    let (span, word) = word_around(source, slot);
    let keyword = &word[slot.span.start - span.start..];
    (keyword.len() < word.len()).then(|| {
        let message = format!("{word}: lit reads {keyword} in it");
        let finding = Finding::refusal(codes::NEAR_MISS, span, message, "it is not switched off").help(
            format!("write `{keyword}:` if it is meant, or put something behind the word: `{keyword}X:`"),
        );
        if OURS.contains(&word.as_str()) { finding.help(ENABLE) } else { finding }
    })
}

/// Directives of ours that are pointed out in a suite in the lit dialect that has not enabled them.
const OURS: &[&str] = &["EXEC_RUN", "EXPECT", "PLACED", "DEVICES"];
/// Those that such a suite can enable.
pub(crate) const CAN_ENABLE: &[&str] = &["EXEC_RUN", "EXPECT", "PLACED", "DEVICES", "CONTROL_RUN", "SCOPE"];

const ENABLE: &str = "to give it our meaning, list it under `[directives] enable`";

/// A directive of ours in a suite that has not enabled it.
pub(crate) fn not_enabled(word: &str, span: Span) -> Option<Finding> {
    OURS.contains(&word).then(|| {
        let message = format!("{word} is no directive in the lit dialect");
        Finding::refusal(codes::UNKNOWN_DIRECTIVE, span, message, "not enabled").help(ENABLE)
    })
}

/// A slot for each line in which FileCheck finds one of the file's prefixes, those lines apart in which something
/// else was found first.
pub(crate) fn checks(source: &Source, words: &Vocabulary<'_>, taken: &BTreeSet<u32>) -> Vec<Slot> {
    let none = words.comments.is_empty();
    let comment =
        |word: &str| if none { matches!(word, "COM" | "RUN") } else { words.comments.contains(word) };
    let mut slots = Vec::new();
    for (index, line) in lines(source).enumerate() {
        let slot_of = |at| slot(index, line, at);
        if taken.contains(&slot_of(line.start).line) {
            continue;
        }
        let mut at = line.start;
        while let Some(colon) = source.bytes[at..line.end].iter().position(|b| *b == b':') {
            let colon = at + colon;
            at = colon + 1;
            let Some(start) = word_before(&source.bytes, line.start, colon) else { continue };
            let Some(head) = head(&source.bytes, start, line.end) else { continue };
            if head.separator == Separator::DoubleColon || head.rest < colon {
                continue;
            }
            if comment(head.word) {
                break;
            }
            if words.is_live(head.word) {
                slots.push(slot_of(start));
                break;
            }
        }
    }
    slots
}

/// Longest text between the braces behind a check word, bytes.
const LONGEST_MODIFIER: usize = 64;

/// Where the word begins that stands before a colon, `{…}` between them stepped over.
fn word_before(bytes: &[u8], from: usize, colon: usize) -> Option<usize> {
    let mut end = colon;
    if end > from && bytes[end - 1] == b'}' {
        // What a check line has there is short; without a bound a line of nothing but `}:` would cost its square.
        let from = from.max(end.saturating_sub(LONGEST_MODIFIER));
        end = from + bytes[from..end].iter().rposition(|b| *b == b'{')?;
    }
    let length = bytes[from..end].iter().rev().take_while(|b| is_word_byte(**b)).count();
    (length > 0).then_some(end - length)
}

/// The places of comments as lit's suites write them: markers stand in rows, of whatever language.
pub(crate) fn comments(source: &Source, slots: Vec<Slot>, taken: &BTreeSet<u32>) -> Vec<Slot> {
    let behind_markers = |slot: Slot| {
        let text = source.slice(slot.span);
        let marks = |b: &&u8| matches!(**b, b' ' | b'\t' | b'/' | b'#' | b';' | b'*' | b'@' | b'!');
        let markers = text.iter().take_while(marks).count();
        let place = if slot.place == Place::Doubled { Place::Comment } else { slot.place };
        Slot { span: Span::new(slot.span.start + markers, slot.span.end), place, ..slot }
    };
    slots.into_iter().filter(|s| !taken.contains(&s.line)).map(behind_markers).collect()
}

fn slot(index: usize, line: Span, at: usize) -> Slot {
    Slot {
        line: u32::try_from(index + 1).unwrap_or(u32::MAX),
        span: Span::new(at, line.end),
        place: Place::Comment,
        marker: Span::new(line.start, at),
    }
}
