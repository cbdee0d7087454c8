//! Characters to operators and redirections; words are in `word`. What a form means for the command is `parse`'s business.

use super::ast::{Part, Stream, Word};
use super::forms::Form;
use super::parse::SyntaxError;
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
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Take shell forms as plain text, as lit does.
    pub(super) as_lit: bool,
    open_parentheses: u32,
    pub(super) errors: Vec<SyntaxError>,
}

pub(super) const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

pub(super) const fn ends_word(c: char) -> bool {
    is_blank(c) || matches!(c, '\n' | '|' | '&' | ';' | '<' | '>')
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, as_lit: bool) -> Self {
        Self { text, at: 0, as_lit, open_parentheses: 0, errors: Vec::new() }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn skip_while(&mut self, hold: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(hold).len();
    }

    pub(super) fn refuse(&mut self, form: Form, start: usize) {
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
    pub(super) fn parenthesis(&mut self, c: char) {
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

    /// At `open`: steps behind the `close` that belongs to it, or to the end.
    pub(super) fn balanced(&mut self, open: char, close: char) {
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
}
