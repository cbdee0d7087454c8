//! The text of a pattern to its parts: plain text, `{{…}}`, `[[V:…]]`, `[[V]]`, `[[#…]]`.

use std::collections::BTreeMap;

use super::ere::{Ere, EreError};
use super::error::{CheckErrorKind, NameFault};
use super::expression::{lossy, trim_end, variable_name};
use super::numeric_block::{self, Definition};
use super::pattern::{Body, Number, Part, Parts, Pattern};
use super::scan::Kind;
use super::variables::{Names, Values};

/// How a pattern is to be read.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) kind: Kind,
    pub(super) literal: bool,
    pub(super) full_lines: bool,
    pub(super) strict_whitespace: bool,
    pub(super) fold_case: bool,
    pub(super) strict: bool,
    pub(super) line: Option<usize>,
}

/// A mistake: the bytes of the text that are wrong, the one that LLVM's program points at, and what.
pub(super) struct Mistake {
    pub(super) span: (usize, usize),
    pub(super) caret: usize,
    pub(super) kind: CheckErrorKind,
}

impl Mistake {
    /// One that begins where LLVM's program points.
    pub(super) fn new(span: (usize, usize), kind: CheckErrorKind) -> Self {
        Self { span, caret: span.0, kind }
    }
}

/// Reads a pattern; `name` is the check's name for messages.
pub(super) fn read(text: &[u8], name: &str, style: Style, names: &mut Names) -> Result<Pattern, Mistake> {
    let keeps_ends = style.strict_whitespace && style.full_lines;
    let text = if keeps_ends { text } else { trim_end(text) };
    let whole = (0, text.len());
    let with_body = |body| Pattern { body, fold_case: style.fold_case, line: style.line };
    if style.kind == Kind::Empty {
        return if text.is_empty() {
            Ok(with_body(Body::EmptyLine))
        } else {
            Err(Mistake::new(whole, CheckErrorKind::PatternAfterEmpty(name.to_owned())))
        };
    }
    if text.is_empty() {
        return Err(Mistake::new(whole, CheckErrorKind::EmptyPattern(name.to_owned())));
    }
    let full_lines = style.full_lines && style.kind != Kind::Not;
    let plain = !full_lines && !contains(text, b"{{") && !contains(text, b"[[");
    if style.literal || plain {
        return Ok(with_body(Body::Fixed(Box::new(memchr::memmem::Finder::new(text).into_owned()))));
    }
    let mut builder =
        Builder { text, at: 0, style, names, parts: Parts::default(), group: 1, defined: BTreeMap::new() };
    let blanks: &[u8] = if style.strict_whitespace { b"" } else { b" *" };
    if full_lines {
        builder.regex(&[b"^", blanks].concat());
    }
    builder.pieces()?;
    if full_lines {
        builder.regex(&[blanks, b"$"].concat());
    }
    let mut parts = builder.parts;
    if !parts.has_substitution() {
        let regex = parts.as_regex(&Values::default()).unwrap_or_default();
        let compiled = Ere::new(&regex, style.fold_case);
        // A whole that is no expression never matches, and a `-NOT` with it never fails.
        match compiled {
            Err(error) if style.strict || matches!(error, EreError::Size | EreError::Depth) => {
                return Err(Mistake::new(whole, CheckErrorKind::Regex(lossy(text), error)));
            }
            _ => {}
        }
        parts.compiled = Some(compiled);
    }
    Ok(with_body(Body::Parts(Box::new(parts))))
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(text, wanted).is_some()
}

struct Builder<'a, 'n> {
    text: &'a [u8],
    at: usize,
    style: Style,
    names: &'n mut Names,
    parts: Parts,
    /// Number of the next group.
    group: usize,
    /// String variables of this pattern and their groups.
    defined: BTreeMap<Vec<u8>, usize>,
}

impl<'a> Builder<'a, '_> {
    fn regex(&mut self, regex: &[u8]) {
        if let Some(Part::Regex(last)) = self.parts.parts.last_mut() {
            last.extend_from_slice(regex);
        } else {
            self.parts.parts.push(Part::Regex(regex.to_vec()));
        }
    }

    fn pieces(&mut self) -> Result<(), Mistake> {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            if rest.starts_with(b"{{") {
                self.braces(rest)?;
            } else if rest.starts_with(b"[[") && !rest.starts_with(b"[[[") {
                self.block(rest)?;
            } else {
                let next =
                    (1..rest.len()).find(|at| matches!(&rest[*at..], [b'{', b'{', ..] | [b'[', b'[', ..]));
                let end = next.unwrap_or(rest.len());
                self.parts.parts.push(Part::Text(rest[..end].to_vec()));
                self.at += end;
            }
        }
        Ok(())
    }

    /// `{{…}}`. Alternatives stay inside; a group is only put around them if there may be some.
    fn braces(&mut self, rest: &'a [u8]) -> Result<(), Mistake> {
        let Some(end) = memchr::memmem::find(rest, b"}}") else {
            return Err(Mistake::new((self.at, self.text.len()), CheckErrorKind::OpenRegex));
        };
        let grouped = rest.contains(&b'|');
        if grouped {
            self.regex(b"(");
            self.group += 1;
        }
        self.expression(&rest[2..end], (self.at + 2, self.at + end))?;
        if grouped {
            self.regex(b")");
        }
        self.at += end + 2;
        Ok(())
    }

    /// An expression that stands alone before it becomes a part of the whole.
    fn expression(&mut self, regex: &[u8], place: (usize, usize)) -> Result<(), Mistake> {
        match Ere::count_groups(regex) {
            Ok(groups) => {
                self.group += groups;
                self.regex(regex);
                Ok(())
            }
            Err(error) => Err(Mistake::new(place, CheckErrorKind::Regex(lossy(regex), error))),
        }
    }

    fn block(&mut self, rest: &'a [u8]) -> Result<(), Mistake> {
        let start = self.at;
        let inside = &rest[2..];
        let length = match block_end(inside) {
            BlockEnd::At(length) => length,
            BlockEnd::None => {
                return Err(Mistake::new((start, self.text.len()), CheckErrorKind::OpenBlock));
            }
            BlockEnd::Stray(at) => {
                let seen =
                    memchr::memmem::find(&rest[at + 2..], b"]]").map_or(rest.len(), |end| at + end + 4);
                let kind = CheckErrorKind::StrayBracket(lossy(&rest[..seen]));
                return Err(Mistake { span: (start, start + seen), caret: start + 2 + at, kind });
            }
        };
        let place = (start + 2, start + 2 + length);
        let content = &inside[..length];
        self.at = place.1 + 2;
        match content.strip_prefix(b"#") {
            Some(numeric) => self.numeric(numeric, (place.0 + 1, place.1), false),
            None if content.starts_with(b"@") => self.legacy_line(content, place),
            None => self.string(content, place),
        }
    }

    /// `[[V:…]]` or `[[V]]`.
    fn string(&mut self, content: &'a [u8], place: (usize, usize)) -> Result<(), Mistake> {
        let here = |kind| Mistake::new(place, kind);
        let colon = content.iter().position(|b| *b == b':');
        let before = &content[..colon.unwrap_or(content.len())];
        if let Some(blank) = blank(before) {
            return Err(Mistake { span: place, caret: place.0 + blank, kind: CheckErrorKind::BlankInName });
        }
        let Some((name, rest)) = variable_name(content) else {
            return Err(no_name(content, place));
        };
        let Some(colon) = colon else {
            if !rest.is_empty() {
                return Err(here(CheckErrorKind::BadName(lossy(content), NameFault::Use)));
            }
            return self.use_string(name, place.0).map_err(here);
        };
        if name.len() != colon {
            return Err(here(CheckErrorKind::BadName(lossy(before), NameFault::Definition)));
        }
        if self.names.is_numeric(name) {
            return Err(here(CheckErrorKind::NameTaken(lossy(name), "numeric")));
        }
        let regex = &content[colon + 1..];
        self.regex(b"(");
        self.defined.insert(name.to_vec(), self.group);
        self.parts.strings.retain(|(known, _)| known != name);
        self.parts.strings.push((name.to_vec(), self.group));
        self.names.define_string(name);
        self.group += 1;
        if !regex.is_empty() {
            self.expression(regex, (place.0 + colon + 1, place.1))?;
        }
        self.regex(b")");
        Ok(())
    }

    fn use_string(&mut self, name: &[u8], at: usize) -> Result<(), CheckErrorKind> {
        match self.defined.get(name) {
            Some(group @ 1..=9) => self.regex(format!("\\{group}").as_bytes()),
            Some(_) => return Err(CheckErrorKind::FarReference(lossy(name))),
            None => self.parts.parts.push(Part::String(name.to_vec(), at)),
        }
        Ok(())
    }

    /// `[[@LINE]]`, `[[@LINE+1]]`: kept for files from before `[[#@LINE]]`.
    fn legacy_line(&mut self, content: &[u8], place: (usize, usize)) -> Result<(), Mistake> {
        let before = content.split(|b| *b == b':').next().unwrap_or_default();
        if let Some(blank) = blank(before) {
            return Err(Mistake { span: place, caret: place.0 + blank, kind: CheckErrorKind::BlankInName });
        }
        if variable_name(content).is_none() {
            return Err(no_name(content, place));
        }
        if before.len() < content.len() {
            let kind = CheckErrorKind::BadName(lossy(content), NameFault::Definition);
            return Err(Mistake::new(place, kind));
        }
        self.numeric(content, place, true)
    }

    /// What stands between `[[#` and `]]`.
    fn numeric(&mut self, content: &[u8], place: (usize, usize), legacy: bool) -> Result<(), Mistake> {
        let fault = |at: usize, kind| Mistake { span: place, caret: place.0 + at, kind };
        let block = numeric_block::read(content, legacy, self.style.line, self.names)
            .map_err(|(at, error)| fault(at, CheckErrorKind::Numeric(error)))?;
        let defines = block.definition.is_some();
        if let Some(definition) = block.definition {
            let id = match definition {
                Definition::Taken(name, at) => {
                    return Err(fault(at, CheckErrorKind::NameTaken(name, "string")));
                }
                Definition::Variable(id) => id,
            };
            self.regex(b"(");
            self.parts.numbers.retain(|(known, ..)| *known != id);
            self.parts.numbers.push((id, self.group, self.names.numeric(id).format));
            self.group += 1;
        }
        match block.expression {
            Some((expression, text)) => self.parts.parts.push(Part::Number(Box::new(Number {
                expression,
                format: block.format,
                text: text.to_vec(),
                content: content.to_vec(),
                at: place.0,
            }))),
            None => {
                let wildcard = block.format.wildcard();
                match Ere::count_groups(wildcard.as_bytes()) {
                    Ok(groups) => self.group += groups,
                    Err(error) => return Err(fault(0, CheckErrorKind::Regex(wildcard, error))),
                }
                self.regex(wildcard.as_bytes());
            }
        }
        if defines {
            self.regex(b")");
        }
        Ok(())
    }
}

fn blank(text: &[u8]) -> Option<usize> {
    text.iter().position(|b| matches!(b, b' ' | b'\t'))
}

/// Where no name is at the beginning of a block's content.
fn no_name(content: &[u8], place: (usize, usize)) -> Mistake {
    let (fault, at) = NameFault::of(content);
    let kind = CheckErrorKind::BadName(lossy(content), fault);
    Mistake { span: place, caret: place.0 + at, kind }
}

enum BlockEnd {
    At(usize),
    None,
    /// A bracket that closes nothing, at this place.
    Stray(usize),
}

/// The `]]` that ends a block: not inside brackets of its own, a backslash taking the next byte with it.
fn block_end(text: &[u8]) -> BlockEnd {
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b']' if depth == 0 && text.get(at + 1) == Some(&b']') => return BlockEnd::At(at),
            b']' if depth == 0 => return BlockEnd::Stray(at),
            b']' => depth -= 1,
            b'[' => depth += 1,
            b'\\' => at += 1,
            _ => {}
        }
        at += 1;
    }
    BlockEnd::None
}
