//! Words and operators to a [`Script`]. Every error of a line is reported at once; shell forms that the
//! language has not are named, never passed on half understood.
//!
//! Source of the grammar: POSIX.1-2024 XCU 2.10, cut down to pipelines, lists and redirections.

use super::ast::{Join, Part, Pipeline, Redirection, RedirectionTarget, Script, Simple, Stream, Word};
use super::forms::{FOLLOWING, Form, OPENING, REAL_SHELL};
use super::lex::{Lexer, Operator, Redirect, Token};
use crate::source::Span;

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where, in the text that was parsed.
    pub span: Span,
    /// Code, as `explain` takes it: `shell-variable`, `command-open-quote`, …
    pub code: &'static str,
    /// What is wrong, with the word in back quotes.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl SyntaxError {
    pub(super) fn new(code: &'static str, span: Span, message: String, help: &str) -> Self {
        Self { span, code, message, help: help.to_owned() }
    }

    pub(super) fn form(form: Form, span: Span, text: &str) -> Self {
        let (code, why, help) = form.row();
        let text = text.trim_end().replace(['\n', '\0'], "\u{fffd}");
        Self::new(code, span, format!("`{text}`: {why}"), &format!("{help}; {REAL_SHELL}"))
    }
}

/// Reads a command line.
///
/// # Errors
/// Every form that is refused and every slip, in the order of the text.
pub fn parse(text: &str) -> Result<Script, Vec<SyntaxError>> {
    Parser::new(text, false).script()
}

/// Reads a command line as lit does: `$`, backticks, `~`, braces, brackets, `#`, parentheses, keywords and
/// `NAME=value` are plain text. What [`parse`] would refuse is for the caller to list.
///
/// # Errors
/// As [`parse`], for what lit cannot run either.
pub fn parse_as_lit(text: &str) -> Result<Script, Vec<SyntaxError>> {
    Parser::new(text, true).script()
}

/// Whether a word is a variable's name.
pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    as_lit: bool,
    errors: Vec<SyntaxError>,
    /// A compound command was begun and refused; the words that go on with it are not refused again.
    in_compound: bool,
}

/// One command in the making.
struct Draft {
    simple: Simple,
    /// Something of it was refused, so that it may be empty without a message of its own.
    refused: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, as_lit: bool) -> Self {
        Self { text, lexer: Lexer::new(text, as_lit), as_lit, errors: Vec::new(), in_compound: false }
    }

    fn script(mut self) -> Result<Script, Vec<SyntaxError>> {
        let mut pipelines: Vec<(Join, Pipeline)> = Vec::new();
        let mut join = Join::Then;
        let mut join_span = Span::default();
        loop {
            let (pipeline, end) = self.pipeline();
            match pipeline {
                Some(pipeline) => pipelines.push((join, pipeline)),
                // A trailing `;` is no slip.
                None if end.is_none() && join == Join::Then && !pipelines.is_empty() => {}
                None => self.missing_command(end.map_or(join_span, |(_, span)| span)),
            }
            let Some((operator, span)) = end else { break };
            join_span = span;
            join = match operator {
                Operator::And => Join::And,
                Operator::Or => Join::Or,
                Operator::Then | Operator::Pipe => Join::Then,
            };
        }
        self.errors.append(&mut self.lexer.errors);
        self.errors.sort_by_key(|e| e.span);
        let mut pipelines = pipelines.into_iter();
        match pipelines.next() {
            Some((_, first)) if self.errors.is_empty() => Ok(Script { first, rest: pipelines.collect() }),
            _ => Err(self.errors),
        }
    }

    fn missing_command(&mut self, span: Span) {
        // A refusal that swallowed the command has said enough.
        if self.errors.is_empty() && self.lexer.errors.is_empty() {
            let text = self.text[span.start..span.end].trim();
            let message = if text.is_empty() {
                "there is no command".to_owned()
            } else {
                format!("`{text}` has no command on one side")
            };
            let help = "write the command, or take the operator out";
            self.errors.push(SyntaxError::new("command-missing", span, message, help));
        }
    }

    /// A pipeline and the list operator that ended it; no pipeline when it is empty.
    fn pipeline(&mut self) -> (Option<Pipeline>, Option<(Operator, Span)>) {
        let mut negations = 0;
        let mut start = None;
        let mut stages: Vec<Simple> = Vec::new();
        let mut pipe: Option<Span> = None;
        loop {
            let (draft, bangs, end) = self.command(stages.is_empty() && pipe.is_none());
            if let Some(bang) = bangs {
                negations += bang.1;
                start = Some(bang.0.start);
            }
            let piped = matches!(end, Some((Operator::Pipe, _)));
            let empty = draft.simple.words.is_empty() && draft.simple.redirections.is_empty();
            if !empty {
                stages.push(draft.simple);
            } else if !draft.refused && (piped || pipe.is_some() || bangs.is_some()) {
                let span = pipe.or(end.map(|(_, s)| s)).or(bangs.map(|b| b.0)).unwrap_or_default();
                self.missing_command(span);
            }
            match end {
                Some((Operator::Pipe, span)) => pipe = Some(span),
                end => {
                    let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
                        return (None, end);
                    };
                    let span = Span::new(start.unwrap_or(first.span.start), last.span.end);
                    return (Some(Pipeline { negations, stages, span }), end);
                }
            }
        }
    }

    /// A command, the `!` before it with their number, and the operator that ended it.
    #[allow(clippy::type_complexity, reason = "read at one place, directly above")]
    fn command(&mut self, first: bool) -> (Draft, Option<(Span, u32)>, Option<(Operator, Span)>) {
        let simple = Simple {
            assignments: Vec::new(),
            words: Vec::new(),
            redirections: Vec::new(),
            span: Span::default(),
        };
        let mut draft = Draft { simple, refused: false };
        let mut bangs: Option<(Span, u32)> = None;
        let mut span: Option<Span> = None;
        while let Some(token) = self.lexer.next() {
            match token {
                Token::Operator(operator, at) => {
                    self.close(&mut draft, span);
                    return (draft, bangs, Some((operator, at)));
                }
                Token::Redirect(kind, at) => {
                    let end = self.redirection(&mut draft, kind, at);
                    span = Some(span.map_or(at, |s| s.to(at)).to(end));
                }
                Token::Word(word) => {
                    let at = word.span;
                    if draft.simple.words.is_empty() && is_bare(&word, "!") && (first || !self.as_lit) {
                        if first && draft.simple.assignments.is_empty() {
                            let (all, count) = bangs.unwrap_or((at, 0));
                            bangs = Some((all.to(at), count + 1));
                        } else {
                            self.refuse(&mut draft, Form::StageNegation, at);
                        }
                        continue;
                    }
                    span = Some(span.map_or(at, |s| s.to(at)));
                    self.word(&mut draft, word);
                }
            }
        }
        self.close(&mut draft, span);
        (draft, bangs, None)
    }

    fn refuse(&mut self, draft: &mut Draft, form: Form, span: Span) {
        draft.refused = true;
        self.errors.push(SyntaxError::form(form, span, &self.text[span.start..span.end]));
    }

    fn close(&mut self, draft: &mut Draft, span: Option<Span>) {
        draft.simple.span = span.unwrap_or_default();
        if draft.simple.words.is_empty() && !draft.simple.assignments.is_empty() && !draft.refused {
            self.refuse(draft, Form::LoneAssignment, draft.simple.span);
        }
    }

    fn word(&mut self, draft: &mut Draft, word: Word) {
        if draft.simple.words.is_empty()
            && !self.as_lit
            && let Some(Part::Bare(text)) = word.parts.first()
        {
            if word.parts.len() == 1 && OPENING.contains(&text.as_str()) {
                self.in_compound = true;
                let form = if text == "{" { Form::Group } else { Form::Keyword };
                return self.refuse(draft, form, word.span);
            }
            if word.parts.len() == 1 && FOLLOWING.contains(&text.as_str()) {
                if self.in_compound {
                    draft.refused = true;
                    return;
                }
                let form = if text == "}" { Form::Group } else { Form::Keyword };
                return self.refuse(draft, form, word.span);
            }
            if let Some((name, value)) = text.split_once('=')
                && is_variable(name)
            {
                let (name, value) = (name.to_owned(), value.to_owned());
                return draft.simple.assignments.push((name, value_of(word, value)));
            }
        }
        draft.simple.words.push(word);
    }

    /// Takes the target of a redirection; the place where it ends.
    fn redirection(&mut self, draft: &mut Draft, kind: Redirect, at: Span) -> Span {
        let before = self.lexer.checkpoint();
        let Some(Token::Word(word)) = self.lexer.next() else {
            self.lexer.restore(before);
            if kind != Redirect::Refused {
                let text = &self.text[at.start..at.end];
                self.errors.push(SyntaxError::new(
                    "command-missing-target",
                    at,
                    format!("`{text}` has no file behind it"),
                    "write the file's name behind it",
                ));
            }
            draft.refused = true;
            return at;
        };
        let span = at.to(word.span);
        if kind != Redirect::HereString
            && word.parts.iter().any(|p| matches!(p, Part::Glob(_)))
            && !self.as_lit
        {
            self.refuse(draft, Form::GlobTarget, word.span);
            return span;
        }
        let (stream, target) = match kind {
            Redirect::Refused => {
                draft.refused = true;
                return span;
            }
            Redirect::Read => (Stream::Stdin, RedirectionTarget::Read(word)),
            Redirect::HereString => (Stream::Stdin, RedirectionTarget::HereString(word)),
            Redirect::Write(stream) => (stream, RedirectionTarget::Write(word)),
            Redirect::Append(stream) => (stream, RedirectionTarget::Append(word)),
            Redirect::Duplicate { stream, numbered } => match word.text().as_str() {
                "1" => (stream, RedirectionTarget::Same(Stream::Stdout)),
                "2" => (stream, RedirectionTarget::Same(Stream::Stderr)),
                text if numbered || text == "-" || text.bytes().all(|b| b.is_ascii_digit()) => {
                    self.refuse(draft, Form::Descriptor, span);
                    return span;
                }
                _ => (Stream::Both, RedirectionTarget::Write(word)),
            },
        };
        draft.simple.redirections.push(Redirection { stream, target, span });
        span
    }
}

/// Whether a word is just this text, unquoted.
fn is_bare(word: &Word, text: &str) -> bool {
    matches!(word.parts.as_slice(), [Part::Bare(t)] if t == text)
}

/// The value of an assignment: its word without `NAME=`. Globs in it are text, as POSIX has it.
fn value_of(word: Word, first: String) -> Word {
    let start = word.span.end.min(word.span.start + first_len(&word) - first.len());
    let mut parts = Vec::with_capacity(word.parts.len());
    if !first.is_empty() {
        parts.push(Part::Bare(first));
    }
    parts.extend(word.parts.into_iter().skip(1).map(|part| match part {
        Part::Glob(text) => Part::Quoted(text),
        other => other,
    }));
    Word { parts, span: Span::new(start, word.span.end) }
}

fn first_len(word: &Word) -> usize {
    word.parts.first().map_or(0, |p| match p {
        Part::Bare(t) | Part::Quoted(t) | Part::Glob(t) => t.len(),
    })
}
