//! What a comment's first word is when it is no directive: a check line, prose, or a slip. The rule is written
//! in `docs/language-rules.md`.
//!
//! What must not enter: payloads, binding, the command lines that name prefixes (`checkers`).

use crate::codes;
use crate::comment::{Place, Slot};
use crate::finding::Finding;
use crate::head::{Head, Separator};
use crate::lit_places;
use crate::model::CheckLine;
use crate::prose;
use crate::raw::{is_active, keyword_of};
use crate::source::{Source, Span};
use crate::spelling;
use crate::syntax::{Dialect, Syntax};
use crate::table::{self, SUFFIXES};
use std::collections::BTreeSet;

/// The words of one file.
pub(crate) struct Vocabulary<'a> {
    /// The suite's.
    pub syntax: &'a Syntax,
    /// Check prefixes that are compared with something.
    pub active: BTreeSet<String>,
    /// Whether a command runs a matcher on this file.
    pub has_checker: bool,
    /// Whether a command's prefixes are hidden in a substitution that is not known here.
    pub opaque: bool,
    /// Prefixes of comments that a command names.
    pub comments: BTreeSet<String>,
}

/// A word of the check family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckWord {
    /// Prefix and suffix (with its dash) of a line that is compared.
    Live(String, String),
    /// A right suffix; no command names the prefix.
    Dead(String, String),
    /// Two right suffixes together.
    Stacked(String),
    /// `-COUNT` without a number, or with 0.
    BadCount(String),
    /// An active prefix with something that is no suffix.
    BadSuffix(String),
}

/// What a place turned out to be.
pub(crate) enum Reading {
    /// A check line.
    Check(CheckLine),
    /// A check line whose prefix no command names.
    Unnamed(Unnamed),
    /// Wrong.
    Wrong(Box<Finding>),
    /// No directive.
    Nothing,
}

/// A word in capitals that may be a prefix no command names.
pub(crate) struct Unnamed {
    /// The prefix.
    pub prefix: String,
    /// The word.
    pub span: Span,
    /// Whether it looks like a check line and not like a heading.
    pub is_check: bool,
}

impl Vocabulary<'_> {
    /// How a word belongs to the check family, if it does.
    pub fn check_word(&self, word: &str) -> Option<CheckWord> {
        if self.active.contains(word) {
            return Some(CheckWord::Live(word.to_owned(), String::new()));
        }
        if let Some((prefix, suffix)) = split_suffix(word) {
            if self.active.contains(prefix) {
                return Some(match suffix.strip_prefix("-COUNT-") {
                    Some(n) if n.parse::<u64>().is_ok_and(|n| n == 0) => CheckWord::BadCount(word.to_owned()),
                    _ => CheckWord::Live(prefix.to_owned(), suffix.to_owned()),
                });
            }
            return Some(match split_suffix(prefix) {
                Some((base, _)) => CheckWord::Stacked(base.to_owned()),
                None => CheckWord::Dead(prefix.to_owned(), suffix.to_owned()),
            });
        }
        if word == "CHECK" {
            return Some(CheckWord::Dead(word.to_owned(), String::new()));
        }
        let prefix = self
            .active
            .iter()
            .filter(|p| word.strip_prefix(p.as_str()).is_some_and(|r| r.starts_with('-') && r.len() > 1))
            .max_by_key(|p| p.len())?;
        let rest = &word[prefix.len()..];
        Some(if rest == "-COUNT" || rest.starts_with("-COUNT-") {
            CheckWord::BadCount(word.to_owned())
        } else {
            CheckWord::BadSuffix(prefix.clone())
        })
    }

    pub fn is_live(&self, word: &str) -> bool {
        matches!(self.check_word(word), Some(CheckWord::Live(..)))
    }

    /// Whether a word before a colon is read as something.
    pub fn is_read(&self, word: &str) -> bool {
        keyword_of(word, self.syntax).is_some() || self.is_live(word)
    }

    /// Whether a word that nothing names looks like a check prefix: it says CHECK, it is a part of a name that is
    /// active or has one as a part, or a pattern stands behind it.
    fn is_like_check(&self, word: &str, text: &str) -> bool {
        let joined = |longer: &str, part: &str| {
            let rest = longer.strip_prefix(part).map(|r| r.starts_with(['-', '_']));
            let before = longer.strip_suffix(part).map(|r| r.ends_with(['-', '_']));
            rest == Some(true) || before == Some(true)
        };
        let of_active = |active: &String| joined(word, active) || joined(active, word);
        let first = text.split_whitespace().next().unwrap_or_default().trim_end_matches(':');
        let is_remark = first.len() > 1 && prose::is_prose_word(first);
        let heads_text = text.trim().is_empty() || text.trim_end().ends_with('.') || prose::is_sentence(text);
        let has_pattern = text.contains("{{") || text.contains("[[");
        word.contains("CHECK")
            || !is_remark && (has_pattern || !heads_text && self.active.iter().any(of_active))
    }

    /// Words that a slip may have been meant for.
    fn meant(&self) -> Vec<String> {
        // A slip of `COM` is a comment to lit, as it was meant.
        let as_lit = self.syntax.dialect == Dialect::Lit;
        let own = |k: &&str| *k != "CHECK" && is_active(k, self.syntax) && !(as_lit && *k == "COM");
        let mut words: Vec<String> = table::keywords().filter(own).map(str::to_owned).collect();
        words.extend(self.syntax.alias.keys().cloned());
        let fallback = BTreeSet::from(["CHECK".to_owned()]);
        let prefixes = if self.active.is_empty() { &fallback } else { &self.active };
        for prefix in prefixes {
            words.push(prefix.clone());
            words.extend(SUFFIXES.iter().map(|s| format!("{prefix}-{s}")));
        }
        words
    }

    fn same_but_for_case(&self, word: &str) -> Option<String> {
        self.meant().into_iter().find(|m| m != word && m.eq_ignore_ascii_case(word))
    }

    fn nearest(&self, word: &str) -> Option<String> {
        let meant = self.meant();
        spelling::nearest(word, meant.iter().map(String::as_str)).map(str::to_owned)
    }

    fn is_prose(&self, word: &str) -> bool {
        prose::is_prose_word(word) || self.syntax.prose.contains(word) || self.comments.contains(word)
    }
}

/// Splits at the last suffix: `CHECK-NEXT`, `A-COUNT-3`.
pub(crate) fn split_suffix(word: &str) -> Option<(&str, &str)> {
    let (prefix, last) = word.rsplit_once('-')?;
    if SUFFIXES.contains(&last) && !prefix.is_empty() {
        return Some((prefix, &word[prefix.len()..]));
    }
    let count = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
    let prefix = prefix.strip_suffix("-COUNT").filter(|p| count && !p.is_empty())?;
    Some((prefix, &word[prefix.len()..]))
}

/// Reads a place whose first word is no directive with its colon.
pub(crate) fn classify(source: &Source, slot: &Slot, head: &Head<'_>, words: &Vocabulary<'_>) -> Reading {
    let keyword = keyword_of(head.word, words.syntax).map(|(k, _)| k);
    let rest = String::from_utf8_lossy(source.slice(Span::new(head.rest.min(slot.span.end), slot.span.end)));
    match slot.place {
        Place::Doubled => doubled(slot, head, keyword, words),
        Place::Foreign => foreign(slot, head, keyword, &rest, words),
        Place::Trailing if keyword.is_some_and(|k| k != "COM") && head.separator == Separator::Colon => {
            wrong(
                Finding::refusal(
                    codes::AFTER_CODE,
                    head.span,
                    format!("{} stands behind code, where only check lines are read", head.word),
                    "not read here",
                )
                .help("put it on a line of its own"),
            )
        }
        Place::Trailing if keyword.is_some() => Reading::Nothing,
        Place::Comment | Place::Bare | Place::Trailing => match keyword {
            Some(keyword) => slip_of_keyword(head, keyword, &rest, slot.place, words.syntax.dialect),
            None => other_word(source, slot, head, &rest, words),
        },
    }
}

fn wrong(finding: Finding) -> Reading {
    Reading::Wrong(Box::new(finding))
}

fn doubled(slot: &Slot, head: &Head<'_>, keyword: Option<&str>, words: &Vocabulary<'_>) -> Reading {
    let check = matches!(words.check_word(head.word), Some(CheckWord::Live(..) | CheckWord::Dead(..)));
    if head.separator != Separator::Colon || !(keyword.is_some_and(|k| k != "COM") || check) {
        return Reading::Nothing;
    }
    let message = format!("{} behind a doubled comment marker", head.word);
    wrong(
        Finding::refusal(codes::DOUBLED_MARKER, head.span, message, "directive or prose?")
            .related(slot.marker, "the marker")
            .help("write one marker if it is a directive")
            .help("write the word in lower case, or in back quotes, if it is prose"),
    )
}

fn foreign(
    slot: &Slot,
    head: &Head<'_>,
    keyword: Option<&str>,
    rest: &str,
    words: &Vocabulary<'_>,
) -> Reading {
    let payload = rest.starts_with([' ', '\t']) && !rest.trim().is_empty();
    let known = keyword.is_some_and(|k| k != "COM") || words.is_live(head.word);
    if head.separator != Separator::Colon || !payload || !known {
        return Reading::Nothing;
    }
    let (message, help) = if slot.marker.start == slot.marker.end {
        (format!("{} is in no comment", head.word), "put the comment marker of this kind of file before it")
    } else {
        (
            format!("{} is in no comment of this kind of file", head.word),
            "use the comment marker of this kind of file",
        )
    };
    wrong(Finding::refusal(codes::FOREIGN_MARKER, head.span, message, "not read here").help(help))
}

/// A directive's word that is not followed by its colon.
fn slip_of_keyword(head: &Head<'_>, keyword: &str, rest: &str, place: Place, dialect: Dialect) -> Reading {
    let is_end = keyword == "END";
    let verb = table::by_keyword(keyword).is_some_and(|d| d.verb);
    let right = if is_end { "END.".to_owned() } else { format!("{}:", head.word) };
    match head.separator {
        Separator::Colon if is_end => {
            let message = "END is written with a full stop".to_owned();
            wrong(near_miss(head, message, "END.").suggest(colon_span(head), "END."))
        }
        Separator::SpacedColon => {
            wrong(near_miss(head, format!("{}: a blank before the colon", head.word), &right))
        }
        Separator::Wrong => wrong(near_miss(head, format!("{} without its colon", head.word), &right)),
        Separator::Blank if is_end => Reading::Nothing,
        Separator::Blank => {
            let empty = rest.trim().is_empty();
            let sentence = prose::continues_sentence(rest) || prose::reads_as_sentence(rest);
            // In a text file a lone word at column 1 is text.
            let sentence = verb && sentence || dialect == Dialect::Lit && prose::is_sentence(rest);
            let prose = head.brackets.is_none() && sentence && !empty || empty && place == Place::Bare;
            if prose { Reading::Nothing } else { wrong(missing_colon(head)) }
        }
        _ => Reading::Nothing,
    }
}

fn colon_span(head: &Head<'_>) -> Span {
    Span::new(head.span.start, head.rest)
}

fn near_miss(head: &Head<'_>, message: String, right: &str) -> Finding {
    Finding::refusal(codes::NEAR_MISS, head.span, message, "does nothing as it stands")
        .help(format!("write `{right}`"))
        .help("if it is prose, write it in lower case")
}

fn missing_colon(head: &Head<'_>) -> Finding {
    let end = head.brackets.and_then(Result::ok).map_or(head.span.end, |b| b.end + 1);
    let message = format!("{}: missing ':'", head.word);
    Finding::refusal(codes::MISSING_COLON, head.span, message, "missing ':' behind this")
        .help(format!("write `{}:`", head.word))
        .help("if it is prose, write it in lower case or begin the comment with another word")
        .suggest(Span::new(end, end), ":")
}

/// A word that is no directive.
fn other_word(source: &Source, slot: &Slot, head: &Head<'_>, rest: &str, words: &Vocabulary<'_>) -> Reading {
    let word = head.word;
    let check = words.check_word(word);
    let modifier_is_known =
        head.brackets.is_none() && head.braces.is_none_or(|b| source.slice(b) == b"LITERAL");
    match (&check, head.separator) {
        (Some(CheckWord::Live(..)), Separator::Colon | Separator::Url) if !modifier_is_known => {
            let message = format!("{word}: no such modifier");
            return wrong(
                Finding::refusal(
                    codes::UNKNOWN_SUFFIX,
                    head.braces.unwrap_or(head.span),
                    message,
                    "FileCheck steps over the whole line",
                )
                .help("the only modifier is `{LITERAL}`"),
            );
        }
        (Some(CheckWord::Live(prefix, suffix)), Separator::Colon | Separator::Url) => {
            if (suffix == "-EMPTY") != rest.trim().is_empty() {
                return wrong(wrong_pattern(head, suffix));
            }
            return Reading::Check(CheckLine {
                prefix: prefix.clone(),
                suffix: suffix.clone(),
                literal: head.braces.is_some(),
                pattern: rest.trim_matches([' ', '\t']).to_owned(),
                span: head.span,
                line: slot.line,
            });
        }
        (Some(CheckWord::Live(..)), Separator::SpacedColon) => {
            let message = format!("{word}: a blank before the colon");
            return wrong(near_miss(head, message, &format!("{word}:")));
        }
        // `FAST = with optimization` is a legend.
        (Some(CheckWord::Live(prefix, suffix)), Separator::Wrong)
            if prefix != "CHECK"
                && suffix.is_empty()
                && source.bytes[head.rest - 1] == b'='
                && head.rest > head.span.end + 1 => {}
        (Some(CheckWord::Live(..)), Separator::Wrong) => {
            return wrong(near_miss(head, format!("{word} without its colon"), &format!("{word}:")));
        }
        (Some(CheckWord::Live(_, suffix)), Separator::Late) if !suffix.is_empty() => {
            return wrong(near_miss(head, format!("{word} without its colon"), &format!("{word}:")));
        }
        (Some(CheckWord::Live(prefix, suffix)), Separator::Blank) => {
            return check_without_colon(head, prefix, suffix, rest, slot.place);
        }
        (Some(CheckWord::Dead(prefix, suffix)), Separator::Blank)
            if prefix == "CHECK" && !suffix.is_empty() =>
        {
            return check_without_colon(head, prefix, suffix, rest, slot.place);
        }
        _ => {}
    }
    if head.separator != Separator::Colon {
        return Reading::Nothing;
    }
    if word.contains(|c: char| c.is_ascii_lowercase()) {
        return letter_case(head, words);
    }
    if words.is_prose(word) {
        return Reading::Nothing;
    }
    if words.syntax.dialect == Dialect::Lit
        && let Some(finding) = lit_places::not_enabled(word, head.span)
    {
        return wrong(finding);
    }
    match check {
        Some(CheckWord::Dead(prefix, _)) => {
            return Reading::Unnamed(Unnamed { prefix, span: head.span, is_check: true });
        }
        Some(CheckWord::Stacked(prefix)) => return wrong(stacked(head, &prefix)),
        Some(CheckWord::BadCount(_)) => return wrong(bad_count(head)),
        Some(CheckWord::BadSuffix(prefix)) => return wrong(bad_suffix(head, &prefix, words)),
        Some(CheckWord::Live(..)) | None => {}
    }
    // A word of one's own: only where a directive would be looked for, and only as `WORD: text`.
    let stands_alone = head.braces.is_none() && (rest.is_empty() || rest.starts_with([' ', '\t']));
    let near = words.nearest(word);
    let looked_for = match slot.place {
        Place::Comment => stands_alone && (head.brackets.is_none() || near.is_some()),
        Place::Bare => stands_alone && near.is_some(),
        _ => stands_alone && near.as_ref().is_some_and(|n| words.is_live(n)),
    };
    if !looked_for {
        return Reading::Nothing;
    }
    match near {
        Some(near) => wrong(
            Finding::refusal(
                codes::NEAR_MISS,
                head.span,
                format!("{word} is no directive: did you mean {near}?"),
                "does nothing as it stands",
            )
            .help("if it is prose, write it in lower case or list it under `[directives] prose`")
            .suggest(head.span, near),
        ),
        None if words.has_checker => Reading::Unnamed(Unnamed {
            prefix: word.to_owned(),
            span: head.span,
            is_check: words.syntax.dialect == Dialect::Strict || words.is_like_check(word, rest),
        }),
        None if words.syntax.dialect == Dialect::Lit && !words.is_like_check(word, rest) => Reading::Nothing,
        None => wrong(
            Finding::refusal(
                codes::UNKNOWN_DIRECTIVE,
                head.span,
                format!("{word} is no directive"),
                "not known",
            )
            .help("spell it right, write it in lower case, or list it under `[directives] prose`"),
        ),
    }
}

fn wrong_pattern(head: &Head<'_>, suffix: &str) -> Finding {
    let (says, help) = if suffix == "-EMPTY" {
        ("takes no pattern", "take the text out, or use -NEXT")
    } else {
        ("has no pattern", "write what must be there; an empty line is -EMPTY")
    };
    let message = format!("{} {says}", head.word);
    Finding::refusal(codes::BAD_PAYLOAD, head.span, message, "FileCheck refuses it").help(help)
}

fn check_without_colon(head: &Head<'_>, prefix: &str, suffix: &str, rest: &str, place: Place) -> Reading {
    // Bare prefixes begin sentences all the time ("LLVM does …"); with a suffix nobody writes prose.
    let prose = suffix.is_empty()
        && (prefix != "CHECK"
            || place != Place::Comment
            || prose::continues_sentence(rest)
            || prose::reads_as_sentence(rest));
    let talked_about = !suffix.is_empty() && prose::is_sentence(rest);
    if prose || talked_about { Reading::Nothing } else { wrong(missing_colon(head)) }
}

fn letter_case(head: &Head<'_>, words: &Vocabulary<'_>) -> Reading {
    let capitals = head.word.chars().filter(char::is_ascii_uppercase).count();
    let Some(meant) = words.same_but_for_case(head.word).filter(|_| capitals >= 2) else {
        return Reading::Nothing;
    };
    let message = format!("{} is in the wrong letter case: did you mean {meant}?", head.word);
    wrong(
        Finding::refusal(codes::LETTER_CASE, head.span, message, "keywords are in capitals")
            .suggest(head.span, meant),
    )
}

fn stacked(head: &Head<'_>, prefix: &str) -> Finding {
    let message = format!("{}: no such directive", head.word);
    Finding::refusal(codes::STACKED_SUFFIX, head.span, message, "two suffixes put together")
        .help(format!("use one suffix: {}", suffix_list(prefix)))
}

fn bad_count(head: &Head<'_>) -> Finding {
    let message = format!("{}: no such directive: -COUNT needs a number above 0", head.word);
    Finding::refusal(codes::UNKNOWN_SUFFIX, head.span, message, "not a count").help("write `-COUNT-3`")
}

fn bad_suffix(head: &Head<'_>, prefix: &str, words: &Vocabulary<'_>) -> Finding {
    let near = words.nearest(head.word).or_else(|| {
        let given = &head.word[prefix.len() + 1..];
        let close = |s: &&&str| spelling::distance(given, s) <= 1 + usize::from(given.len() > 3);
        SUFFIXES
            .iter()
            .filter(close)
            .min_by_key(|s| spelling::distance(given, s))
            .map(|s| format!("{prefix}-{s}"))
    });
    let message = match &near {
        Some(near) => format!("{}: no such directive: did you mean {near}?", head.word),
        None => format!("{}: no such directive, and no RUN line names this prefix", head.word),
    };
    let mut finding = Finding::refusal(codes::UNKNOWN_SUFFIX, head.span, message, "no such suffix");
    if let Some(near) = near {
        finding = finding.suggest(head.span, near);
    }
    finding.help(suffix_list(prefix))
}

fn suffix_list(prefix: &str) -> String {
    let all: Vec<String> = SUFFIXES.iter().map(|s| format!("{prefix}-{s}")).collect();
    format!("{}, {prefix}-COUNT-n", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes() {
        assert_eq!(split_suffix("CHECK-NEXT"), Some(("CHECK", "-NEXT")));
        assert_eq!(split_suffix("A-B-COUNT-12"), Some(("A-B", "-COUNT-12")));
        assert_eq!(split_suffix("A-COUNT"), None);
        assert_eq!(split_suffix("CHECK-NXT"), None);
        assert_eq!(split_suffix("-NEXT"), None);
    }

    #[test]
    fn check_words() {
        let syntax = Syntax::default();
        let words = Vocabulary {
            syntax: &syntax,
            active: BTreeSet::from(["CHECK".to_owned(), "CHECK-A".to_owned()]),
            has_checker: true,
            opaque: false,
            comments: BTreeSet::new(),
        };
        let live = |p: &str, s: &str| Some(CheckWord::Live(p.to_owned(), s.to_owned()));
        assert_eq!(words.check_word("CHECK-NEXT"), live("CHECK", "-NEXT"));
        assert_eq!(words.check_word("CHECK-A-NOT"), live("CHECK-A", "-NOT"));
        assert_eq!(words.check_word("CHECK-COUNT-2"), live("CHECK", "-COUNT-2"));
        assert!(matches!(words.check_word("CHECK-COUNT-0"), Some(CheckWord::BadCount(_))));
        assert!(matches!(words.check_word("CHECK-COUNT"), Some(CheckWord::BadCount(_))));
        assert!(matches!(words.check_word("CHECK-DAG-SAME"), Some(CheckWord::Stacked(_))));
        assert!(matches!(words.check_word("CHECK-NXT"), Some(CheckWord::BadSuffix(_))));
        assert!(matches!(words.check_word("FOO-NEXT"), Some(CheckWord::Dead(..))));
        assert_eq!(words.check_word("FOO"), None);
    }
}
