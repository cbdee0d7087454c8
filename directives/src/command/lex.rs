//! Characters to words, operators and redirections. What a form means for the command is `parse`'s business.

use super::ast::{Part, Stream, Word};
use super::forms::Form;
use super::parse::SyntaxError;
use super::percent::{Percent, is_name, percent};
use crate::source::Span;

/// A piece of a command line.
#[derive(Debug)]
pub(super) enum Token {
    Word(Word),
    Operator(Operator, Span),
    Redirect(Redirect, Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Then,
    Pipe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    Read,
    Write(Stream),
    Append(Stream),
    /// `>&`: a stream's number or, for stdout without a number, a file.
    Duplicate {
        stream: Stream,
        numbered: bool,
    },
    HereString,
    /// Refused already; its target is taken and dropped.
    Refused,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Take shell forms as plain text, as lit does.
    as_lit: bool,
    open_parentheses: u32,
    pub(super) errors: Vec<SyntaxError>,
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

const fn ends_word(c: char) -> bool {
    is_blank(c) || matches!(c, '\n' | '|' | '&' | ';' | '<' | '>')
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, as_lit: bool) -> Self {
        Self { text, at: 0, as_lit, open_parentheses: 0, errors: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn skip_while(&mut self, hold: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(hold).len();
    }

    fn refuse(&mut self, form: Form, start: usize) {
        let span = Span::new(start, self.at);
        self.errors.push(SyntaxError::form(form, span, &self.text[start..self.at]));
    }

    /// A place to come back to with [`Self::restore`].
    pub(super) fn checkpoint(&self) -> (usize, usize, u32) {
        (self.at, self.errors.len(), self.open_parentheses)
    }

    /// Goes back: the token that was looked at is read again.
    pub(super) fn restore(&mut self, (at, errors, open): (usize, usize, u32)) {
        self.at = at;
        self.errors.truncate(errors);
        self.open_parentheses = open;
    }

    /// The next token, `None` at the end.
    pub(super) fn next(&mut self) -> Option<Token> {
        loop {
            self.skip_while(is_blank);
            let start = self.at;
            let c = self.peek()?;
            let operator = |lexer: &Self, op| Some(Token::Operator(op, Span::new(start, lexer.at)));
            match c {
                '&' | '|' | ';' | '\n' => {
                    if self.take("&&") {
                        return operator(self, Operator::And);
                    } else if self.take("||") {
                        return operator(self, Operator::Or);
                    } else if self.take("&>>") {
                        return Some(self.redirect_token(Redirect::Append(Stream::Both), start));
                    } else if self.take("&>") {
                        return Some(self.redirect_token(Redirect::Write(Stream::Both), start));
                    } else if self.take("|&") {
                        self.refuse(Form::PipeBoth, start);
                        return operator(self, Operator::Pipe);
                    } else if self.take("|") {
                        return operator(self, Operator::Pipe);
                    }
                    let form = if self.take(";;") {
                        Some(Form::CaseEnd)
                    } else if self.take(";") {
                        None
                    } else if self.take("&") {
                        Some(Form::Background)
                    } else {
                        self.at += 1;
                        Some(Form::LineBreak)
                    };
                    if let Some(form) = form {
                        self.refuse(form, start);
                    }
                    return operator(self, Operator::Then);
                }
                '<' | '>' => return self.redirection(start, None),
                '0'..='9' => {
                    let digits = self.rest().len()
                        - self.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
                    if self.rest()[digits..].starts_with(['<', '>']) {
                        let number = self.rest()[..digits].parse().ok();
                        self.at += digits;
                        return self.redirection(start, Some(number));
                    }
                    return Some(self.word());
                }
                '#' if !self.as_lit => {
                    self.at = self.text.len();
                    self.refuse(Form::Comment, start);
                }
                '(' | ')' if !self.as_lit => self.parenthesis(c),
                _ => return Some(self.word()),
            }
        }
    }

    /// A parenthesis outside quotes: one message for a pair.
    fn parenthesis(&mut self, c: char) {
        let start = self.at;
        self.at += 1;
        if c == '(' {
            self.open_parentheses += 1;
            self.refuse(Form::Subshell, start);
        } else if self.open_parentheses > 0 {
            self.open_parentheses -= 1;
        } else {
            self.refuse(Form::Subshell, start);
        }
    }

    fn redirect_token(&self, kind: Redirect, start: usize) -> Token {
        Token::Redirect(kind, Span::new(start, self.at))
    }

    /// At `<` or `>`; `number` is what stood directly before it, `Some(None)` when that was no small number.
    fn redirection(&mut self, start: usize, number: Option<Option<u8>>) -> Option<Token> {
        let rest = self.rest();
        if number.is_none() && (rest.starts_with("<(") || rest.starts_with(">(")) {
            self.at += 1;
            self.balanced('(', ')');
            self.refuse(Form::ProcessSubstitution, start);
            let text = self.text[start..self.at].to_owned();
            return Some(Token::Word(Word {
                parts: vec![Part::Bare(text)],
                span: Span::new(start, self.at),
            }));
        }
        let refused = [
            ("<<<", None),
            ("<<-", Some(Form::HereDocument)),
            ("<<", Some(Form::HereDocument)),
            ("<&", Some(Form::Descriptor)),
            ("<>", Some(Form::ReadWrite)),
            (">|", Some(Form::Clobber)),
        ];
        let found = refused.iter().find(|(text, _)| rest.starts_with(text)).copied();
        if let Some((text, Some(form))) = found {
            self.at += text.len();
            self.refuse(form, start);
            return Some(self.redirect_token(Redirect::Refused, start));
        }
        let out = match number {
            None | Some(Some(1)) => Some(Stream::Stdout),
            Some(Some(2)) => Some(Stream::Stderr),
            _ => None,
        };
        let input = matches!(number, None | Some(Some(0)));
        let kind = if self.take("<<<") {
            input.then_some(Redirect::HereString)
        } else if self.take("<") {
            input.then_some(Redirect::Read)
        } else if self.take(">>") {
            out.map(Redirect::Append)
        } else if self.take(">&") {
            out.map(|stream| Redirect::Duplicate { stream, numbered: number.is_some() })
        } else {
            self.at += 1;
            out.map(Redirect::Write)
        };
        let kind = kind.unwrap_or_else(|| {
            self.refuse(Form::Descriptor, start);
            Redirect::Refused
        });
        Some(self.redirect_token(kind, start))
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        let mut parts = Parts::default();
        while let Some(c) = self.peek() {
            let here = self.at;
            match c {
                _ if ends_word(c) => break,
                '\'' => self.single_quoted(&mut parts),
                '"' => self.double_quoted(&mut parts),
                '\\' => self.backslash(&mut parts),
                '%' => {
                    self.percent(here == start);
                    parts.bare(&self.text[here..self.at]);
                }
                '\0' => {
                    self.at += 1;
                    self.refuse(Form::Nul, here);
                }
                '*' | '?' => {
                    self.at += 1;
                    parts.0.push(Part::Glob(c.to_string()));
                }
                '[' if !self.as_lit && self.bracket() => {
                    parts.0.push(Part::Glob(self.text[here..self.at].to_owned()));
                }
                '(' | ')' if !self.as_lit => self.parenthesis(c),
                '$' | '`' if !self.as_lit => {
                    self.expansion(false);
                    parts.bare(&self.text[here..self.at]);
                }
                '{' if !self.as_lit && self.brace_expansion() => {
                    parts.bare(&self.text[here..self.at]);
                }
                '~' if !self.as_lit && tilde_counts(&self.text[start..here]) => {
                    self.at += 1;
                    self.skip_while(is_name);
                    self.refuse(Form::Tilde, here);
                    parts.bare(&self.text[here..self.at]);
                }
                _ => {
                    self.at += c.len_utf8();
                    parts.bare(&self.text[here..self.at]);
                }
            }
        }
        Token::Word(Word { parts: parts.0, span: Span::new(start, self.at) })
    }

    fn single_quoted(&mut self, parts: &mut Parts) {
        let start = self.at;
        self.at += 1;
        let inner = self.rest();
        let end = inner.find('\'').unwrap_or(inner.len());
        parts.quoted(&inner[..end]);
        self.at += end;
        self.close_quote('\'', start);
        self.refuse_nul(start);
    }

    fn double_quoted(&mut self, parts: &mut Parts) {
        let start = self.at;
        self.at += 1;
        let mut inner = String::new();
        while let Some(c) = self.peek() {
            let here = self.at;
            match c {
                '"' => break,
                '$' | '`' if !self.as_lit => {
                    self.expansion(true);
                    inner.push_str(&self.text[here..self.at]);
                }
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(next @ ('"' | '\\' | '$' | '`')) => {
                            self.at += 1;
                            inner.push(next);
                        }
                        _ => inner.push('\\'),
                    }
                }
                _ => {
                    self.at += c.len_utf8();
                    inner.push(c);
                }
            }
        }
        parts.quoted(&inner);
        self.close_quote('"', start);
        self.refuse_nul(start);
    }

    fn close_quote(&mut self, quote: char, start: usize) {
        if self.peek() == Some(quote) {
            self.at += 1;
        } else {
            let span = Span::new(start, start + 1);
            self.errors.push(SyntaxError::new(
                "command-open-quote",
                span,
                format!("the quote `{quote}` is never closed"),
                "close it, or write it as `\\'` or `\\\"` to mean the character",
            ));
        }
    }

    fn refuse_nul(&mut self, start: usize) {
        if self.text[start..self.at].contains('\0') {
            self.refuse(Form::Nul, start);
        }
    }

    fn backslash(&mut self, parts: &mut Parts) {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some('\0') => {}
            Some(c) => {
                self.at += c.len_utf8();
                parts.quoted(c.encode_utf8(&mut [0; 4]));
            }
            None => self.errors.push(SyntaxError::new(
                "command-open-backslash",
                Span::new(start, self.at),
                "a `\\` at the end continues nothing".to_owned(),
                "take it out, or write `\\\\` to mean the character",
            )),
        }
    }

    /// `%`: the braces and parentheses of a substitution are characters of the word. Only at the beginning of
    /// a word does `%if` take its condition with it, blanks and all.
    fn percent(&mut self, at_start: bool) {
        self.at += match percent(self.rest()) {
            (Percent::If(_) | Percent::Else, _) if !at_start => 1,
            (_, length) => length,
        };
    }

    /// At `[`: steps over a bracket expression when there is one.
    fn bracket(&mut self) -> bool {
        let rest = self.rest();
        let mut inner = &rest[1..];
        inner = inner.strip_prefix(['!', '^']).unwrap_or(inner);
        inner = inner.strip_prefix(']').unwrap_or(inner);
        let end = inner.find(|c| c == ']' || ends_word(c) || "'\"\\$`()[".contains(c));
        match end {
            Some(end) if inner[end..].starts_with(']') => {
                self.at += rest.len() - inner.len() + end + 1;
                true
            }
            _ => false,
        }
    }

    /// At `$` or a backtick: refuses an expansion and steps over it; a `$` that expands nothing is a character.
    fn expansion(&mut self, in_quotes: bool) {
        let start = self.at;
        if self.take("`") {
            let end = self.rest().find('`').map_or(self.text.len(), |end| self.at + end + 1);
            self.at = end;
            return self.refuse(Form::CommandSubstitution, start);
        }
        self.at += 1;
        match self.peek() {
            Some('(') => {
                let form =
                    if self.rest().starts_with("((") { Form::Arithmetic } else { Form::CommandSubstitution };
                self.balanced('(', ')');
                self.refuse(form, start);
            }
            Some('{') => {
                self.balanced('{', '}');
                self.refuse(Form::Variable, start);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                self.skip_while(is_name);
                self.refuse(Form::Variable, start);
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.at += 1;
                self.refuse(Form::Variable, start);
            }
            Some('\'' | '"') if !in_quotes => self.refuse(Form::AnsiQuote, start),
            _ => {}
        }
    }

    /// At `open`: steps behind the `close` that belongs to it, or to the end.
    fn balanced(&mut self, open: char, close: char) {
        let mut depth = 0u32;
        for (offset, c) in self.rest().char_indices() {
            if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    self.at += offset + 1;
                    return;
                }
            }
        }
        self.at = self.text.len();
    }

    /// At `{`: refuses and steps over a brace expansion when there is one.
    fn brace_expansion(&mut self) -> bool {
        let start = self.at;
        let (mut depth, mut expands, mut quote) = (0u32, false, None);
        let mut before = ' ';
        for (offset, c) in self.rest().char_indices() {
            match (quote, c) {
                (Some(q), _) if q == c => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '{') => depth += 1,
                (None, '}') => {
                    depth -= 1;
                    if depth == 0 {
                        if expands {
                            self.at += offset + 1;
                            self.refuse(Form::BraceExpansion, start);
                        }
                        return expands;
                    }
                }
                (None, ',') if depth == 1 => expands = true,
                (None, '.') if depth == 1 && before == '.' => expands = true,
                (None, c) if ends_word(c) => return false,
                _ => {}
            }
            before = c;
        }
        false
    }
}

/// Whether a `~` behind this beginning of a word would be expanded: at the start, and in the value of an
/// assignment.
fn tilde_counts(before: &str) -> bool {
    before.is_empty()
        || before.ends_with(['=', ':'])
            && before.split_once('=').is_some_and(|(name, _)| super::parse::is_variable(name))
}

/// Parts in the making: neighbours of one kind are one part.
#[derive(Default)]
struct Parts(Vec<Part>);

impl Parts {
    fn bare(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Bare(last)) => last.push_str(text),
            _ => self.0.push(Part::Bare(text.to_owned())),
        }
    }

    fn quoted(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Quoted(last)) => last.push_str(text),
            _ => self.0.push(Part::Quoted(text.to_owned())),
        }
    }
}
