//! When a word in capitals is prose. The rule is written in `docs/language-rules.md`.

/// Words that people set before a colon to say something to other people, and that no suite is known to use as
/// a check prefix. A prefix that a `RUN` line names is a prefix all the same.
const WORDS: &[&str] = &[
    "TODO",
    "FIXME",
    "NOTE",
    "NOTES",
    "NB",
    "XXX",
    "HACK",
    "SAFETY",
    "WARNING",
    "CAUTION",
    "DANGER",
    "IMPORTANT",
    "ATTENTION",
    "BUG",
    "BUGS",
    "ISSUE",
    "REVIEW",
    "OPTIMIZE",
    "OPTIMISE",
    "PERF",
    "IDEA",
    "QUESTION",
    "ANSWER",
    "TBD",
    "WIP",
    "DEPRECATED",
    "REMARK",
    "REMARKS",
    "HINT",
    "TIP",
    "SEE",
    "REF",
    "REFS",
    "REFERENCE",
    "REFERENCES",
    "FYI",
    "RATIONALE",
    "REASON",
    "WHY",
    "BACKGROUND",
    "CONTEXT",
    "MOTIVATION",
    "SUMMARY",
    "OVERVIEW",
    "DESCRIPTION",
    "PURPOSE",
    "ABSTRACT",
    "GOAL",
    "CHECKED",
    "UNCHECKED",
    "VERIFIED",
    "TESTED",
    "REVIEWED",
    "CONFIRMED",
    "MEASURED",
    "AUTHOR",
    "AUTHORS",
    "COPYRIGHT",
    "LICENSE",
    "LICENCE",
    "DATE",
    "VERSION",
    "HISTORY",
    "CHANGELOG",
    "CHANGES",
    "CREDITS",
    "STATUS",
    "ASSUMPTION",
    "ASSUMPTIONS",
    "ASSUMES",
    "INVARIANT",
    "PRECONDITION",
    "POSTCONDITION",
    "OK",
    "EXAMPLE",
    "EXAMPLES",
    "USAGE",
    "SYNOPSIS",
    "UTC_ARGS",
    "NOLINT",
    "LINT",
    "REGRESSION",
    "WORKAROUND",
    "LIMITATION",
    "LIMITATIONS",
    "DISCLAIMER",
    "TRANSLATORS",
    "CORRECTNESS",
    "SECURITY",
    "PORTABILITY",
    "COMPATIBILITY",
    "BACKWARDS",
    "EDGE",
    "CLEANUP",
    "REVISIT",
    "KLUDGE",
    "TEMP",
    "TEMPORARY",
    "OBSOLETE",
    "UPDATE",
    "EDIT",
    "CONCLUSION",
    "EXCEPTION",
    "RESOLVED",
    "CLOSED",
    "FIXED",
    "PLEASE",
    "MSRV",
    "DOC",
    "DOCS",
    "KEYWORDS",
    "ERRATA",
    "RETURNS",
    "SCENARIO",
    "COVERS",
    "RULE",
    "SPEC",
    "DONE",
    "PS",
    "EG",
    "IE",
    "CF",
];

/// Words that head a list of parts when a number follows: `STEP1:`.
const NUMBERED: &[&str] = &["TEST", "STEP", "CASE", "PART", "SECTION", "PHASE"];

/// Letters of a ticket's name: `PR12345:`, `GH-17:`.
const TICKETS: &[&str] = &["PR", "GH", "DR", "CWG", "LWG", "BUG", "ISSUE", "RFC", "CVE", "BZ", "JIRA"];

/// Whether a word in capitals is prose wherever it stands.
pub(crate) fn is_prose_word(word: &str) -> bool {
    if word.chars().count() == 1 || word.starts_with("SPDX-") || WORDS.contains(&word) {
        return true;
    }
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() < word.len() {
        let stem = stem.trim_end_matches(['-', '_']);
        return WORDS.contains(&stem) || NUMBERED.contains(&stem) || TICKETS.contains(&stem);
    }
    false
}

/// Words before or behind a keyword that make it a part of a sentence.
const SENTENCE: &[&str] = &[
    "a",
    "an",
    "the",
    "this",
    "that",
    "these",
    "those",
    "each",
    "every",
    "any",
    "no",
    "all",
    "some",
    "its",
    "our",
    "if",
    "whether",
    "when",
    "where",
    "which",
    "it",
    "we",
    "is",
    "are",
    "was",
    "were",
    "be",
    "has",
    "have",
    "had",
    "must",
    "should",
    "can",
    "cannot",
    "could",
    "will",
    "would",
    "does",
    "doesn't",
    "do",
    "don't",
    "isn't",
    "won't",
    "for",
    "with",
    "without",
    "of",
    "in",
    "on",
    "at",
    "to",
    "from",
    "by",
    "as",
    "like",
    "and",
    "or",
    "nor",
    "not",
    "but",
    "than",
    "so",
    "only",
    "also",
    "e.g.",
    "i.e.",
    "line",
    "lines",
    "directive",
    "directives",
    "prefix",
    "prefixes",
    "comment",
    "comments",
    "here",
    "below",
    "above",
    "means",
    "says",
    "write",
    "use",
    "see",
    "between",
    "after",
    "before",
    "first",
    "second",
    "twice",
];

/// Whether `text` begins with a word that only a sentence has there.
pub(crate) fn continues_sentence(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(in_sentence)
}

/// Whether `text` goes on as a sentence to its end: `CHECK-NEXT lines must …`.
pub(crate) fn is_sentence(text: &str) -> bool {
    let is_word = |w: &str| w.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | ',' | '.'));
    continues_sentence(text) && (text.trim_end().ends_with('.') || text.split_whitespace().all(is_word))
}

/// Whether `text` ends with a word that asks for more: "a line such as the …".
pub(crate) fn leads_into(text: &str) -> bool {
    text.split_whitespace().next_back().is_some_and(in_sentence)
}

/// Whether any word of `text` is one of a sentence, or it ends in a full stop.
pub(crate) fn reads_as_sentence(text: &str) -> bool {
    text.trim_end().ends_with('.') || text.split_whitespace().any(in_sentence)
}

fn in_sentence(word: &str) -> bool {
    let bare = word.trim_end_matches([',', ':', ';']);
    SENTENCE.contains(&bare.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_words() {
        for word in ["NOTE", "CHECKED", "SPDX-License-Identifier", "PR12345", "GH-17", "TODO2", "TEST3", "A"]
        {
            assert!(is_prose_word(word), "{word}");
        }
        for word in ["FRONT", "LOWER", "EXPECTED", "TEST", "RUNX", "CHECK1", "NOTE-NEXT"] {
            assert!(!is_prose_word(word), "{word}");
        }
    }
}
