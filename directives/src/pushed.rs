//! Directives that are not the first thing in their comment: pushed in by a reflow, or a second one on a line.

use crate::classify::Vocabulary;
use crate::codes;
use crate::comment::{Place, Slot};
use crate::finding::Finding;
use crate::head::{Separator, head, is_word_byte};
use crate::prose;
use crate::source::{Source, Span};
use crate::table::PayloadKind;

/// A directive's word with its colon inside a text.
struct Found<'a> {
    word: &'a str,
    span: Span,
    before: String,
    after: String,
    /// A comment marker stands before it.
    marked: bool,
}

/// Looks for unquoted words that are read, each behind a blank and before a colon and text.
fn words_within<'a>(source: &'a Source, span: Span, words: &Vocabulary<'_>) -> Vec<Found<'a>> {
    let bytes = &source.bytes;
    let mut found = Vec::new();
    let mut quotes = Quotes::default();
    let mut at = span.start;
    while at < span.end {
        let begins = at > span.start && matches!(bytes[at - 1], b' ' | b'\t' | b'/' | b'#' | b';' | b'*');
        if begins
            && bytes[at].is_ascii_uppercase()
            && !quotes.open()
            && let Some(head) = head(bytes, at, span.end)
            && head.separator == Separator::Colon
            && bytes.get(head.rest).is_some_and(|b| matches!(b, b' ' | b'\t'))
            && words.is_read(head.word)
        {
            let before = &bytes[span.start..at];
            let unmarked = before.trim_ascii_end();
            let marked = ["//", "#", ";"].iter().any(|m| {
                unmarked.strip_suffix(m.as_bytes()).is_some_and(|b| b.is_empty() || b.ends_with(b" "))
            });
            let directly = matches!(bytes[at - 1], b' ' | b'\t') || marked;
            if directly {
                found.push(Found {
                    word: head.word,
                    span: head.span,
                    before: String::from_utf8_lossy(before).into_owned(),
                    after: String::from_utf8_lossy(&bytes[head.rest..span.end]).into_owned(),
                    marked,
                });
            }
            at = head.rest;
            continue;
        }
        quotes.see(bytes, at, span);
        at += 1;
    }
    found
}

/// Which quotes are open. An apostrophe within a word is none.
#[derive(Default)]
struct Quotes {
    kind: Option<u8>,
}

impl Quotes {
    const fn open(&self) -> bool {
        self.kind.is_some()
    }

    fn see(&mut self, bytes: &[u8], at: usize, span: Span) {
        let byte = bytes[at];
        if !matches!(byte, b'"' | b'\'' | b'`') || (at > span.start && bytes[at - 1] == b'\\') {
            return;
        }
        match self.kind {
            Some(kind) if kind == byte => self.kind = None,
            Some(_) => {}
            None => {
                let in_word = at > span.start && is_word_byte(bytes[at - 1]) && byte == b'\'';
                if !in_word && bytes[at + 1..span.end].contains(&byte) {
                    self.kind = Some(byte);
                }
            }
        }
    }
}

/// A check or directive that a reflow may have pushed into a comment. Only when it does not read as part of a
/// sentence: behind the end of one, or with nothing around it that a sentence has.
pub(crate) fn pushed_in(source: &Source, slot: &Slot, words: &Vocabulary<'_>) -> Option<Finding> {
    if !matches!(slot.place, Place::Comment | Place::Trailing) {
        return None;
    }
    let found = words_within(source, slot.span, words).into_iter().find(|found| {
        let before = found.before.trim_end();
        if before.is_empty() || found.after.trim().is_empty() {
            return false;
        }
        if prose::leads_into(before) || prose::continues_sentence(&found.after) {
            return false;
        }
        let ends_sentence = before.ends_with(['.', '!', '?', ';']);
        ends_sentence || found.marked || !prose::reads_as_sentence(&found.after)
    })?;
    let message = format!("{} in the middle of a comment is not read", found.word);
    Some(
        Finding::refusal(codes::PUSHED_IN, found.span, message, "not the first thing in its comment")
            .help("put it on a line of its own")
            .help("if it is talked about, put it in back quotes"),
    )
}

/// A second directive in the payload of one.
pub(crate) fn second_on_line(
    source: &Source,
    payload: Span,
    kind: PayloadKind,
    first: &str,
    words: &Vocabulary<'_>,
) -> Option<Finding> {
    if matches!(kind, PayloadKind::Prose) {
        return None;
    }
    let found = words_within(source, payload, words).into_iter().find(|found| {
        // Compared text may hold any word; behind a comment marker it is a directive to every reader.
        found.marked
            || match kind {
                PayloadKind::Text => false,
                PayloadKind::Pattern => {
                    matches!(words.check_word(found.word), Some(crate::classify::CheckWord::Live(..)))
                }
                _ => true,
            }
    })?;
    Some(two(first, found.word, found.span))
}

/// Two directives on one line.
pub(crate) fn two(first: &str, second: &str, span: Span) -> Finding {
    let message = format!("{second} is the second directive on this line, behind {first}");
    Finding::refusal(codes::TWO_ON_A_LINE, span, message, "only the first is read")
        .help("put it on a line of its own")
        .help("if it is text, put it in quotes or write one letter as `{{[C]}}`")
}
