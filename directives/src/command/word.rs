//! Words: quotes, escapes, globs, and the forms of a real shell that are refused inside them.

use super::ast::{Part, Word};
use super::forms::Form;
use super::lex::{Lexer, Token, ends_word};
use super::parse::SyntaxError;
use super::percent::{Percent, is_name, percent};
use crate::source::Span;

impl Lexer<'_> {
    pub(super) fn word(&mut self) -> Token {
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
