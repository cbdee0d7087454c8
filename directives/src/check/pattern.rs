//! The pattern of a check: its text to parts, and the search for it with the values of the moment.

use memchr::memmem::Finder;

use super::ere::{Ere, EreError, Scratch, TooManySteps};
use super::expression::{Expression, NoValue};
use super::format::Format;
use super::integer::Integer;
use super::variables::{LINE, NumericId, Values};

/// A pattern ready to be searched for.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) body: Body,
    pub(super) fold_case: bool,
    /// Line of the check, which `@LINE` stands for.
    pub(super) line: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    /// An empty line behind the end of one.
    EmptyLine,
    Fixed(Box<Finder<'static>>),
    Parts(Box<Parts>),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) parts: Vec<Part>,
    /// String variables that it defines: name and group.
    pub(super) strings: Vec<(Vec<u8>, usize)>,
    /// Numeric variables that it defines: variable, group and format.
    pub(super) numbers: Vec<(NumericId, usize, Format)>,
    /// Compiled, if no value has to be put in. A text whose pieces are expressions and whose whole is none never
    /// matches.
    pub(super) compiled: Option<Result<Ere, EreError>>,
}

#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A piece of an expression.
    Regex(Vec<u8>),
    /// Text that stands for itself.
    Text(Vec<u8>),
    /// The value of a string variable, whose name stands at this byte of the pattern.
    String(Vec<u8>, usize),
    /// The value of an expression.
    Number(Box<Number>),
}

/// An expression whose value is part of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) expression: Expression,
    pub(super) format: Format,
    /// The expression as it is written.
    pub(super) text: Vec<u8>,
    /// The whole block's content as it is written.
    pub(super) content: Vec<u8>,
    /// The byte of the pattern that the content starts at.
    pub(super) at: usize,
}

/// Why a pattern could not be searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// The byte of the pattern that it is at.
    pub(super) at: usize,
    pub(super) why: Why,
}

/// What keeps a pattern from being searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    UndefinedString(Vec<u8>),
    NoValue(NoValue),
    /// A negative number for a format without a sign.
    Negative(Integer),
    TooComplex,
}

impl Obstacle {
    fn whole(why: Why) -> Vec<Self> {
        vec![Self { at: 0, why }]
    }
}

/// A match, in places of the text that was searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Values of the variables that it defines: name and place.
    pub(super) strings: Vec<(usize, usize)>,
    pub(super) numbers: Vec<(usize, usize)>,
}

impl Match {
    pub(super) fn plain(start: usize, end: usize) -> Self {
        Self { start, end, strings: Vec::new(), numbers: Vec::new() }
    }

    /// As a match in a text that has so many bytes more in front.
    pub(super) fn shifted(mut self, by: usize) -> Self {
        self.start += by;
        self.end += by;
        for (start, end) in self.strings.iter_mut().chain(&mut self.numbers) {
            *start += by;
            *end += by;
        }
        self
    }
}

impl Pattern {
    /// Whether it uses a value, or defines a string variable.
    pub(super) fn has_variable(&self) -> bool {
        match &self.body {
            Body::Parts(parts) => parts.has_substitution() || !parts.strings.is_empty(),
            _ => false,
        }
    }

    /// The first match in `text`; variables that it defines get their values.
    pub(super) fn find<'t>(
        &'t self,
        text: &'t [u8],
        values: &mut Values<'t>,
        scratch: &mut Scratch,
    ) -> Result<Option<Match>, Vec<Obstacle>> {
        let parts = match &self.body {
            Body::EmptyLine => return Ok(empty_line(text)),
            Body::Fixed(wanted) => return Ok(find_fixed(text, wanted, self.fold_case)),
            Body::Parts(parts) => parts,
        };
        let found = match &parts.compiled {
            Some(Ok(ere)) => parts.search(ere, text, scratch),
            Some(Err(_)) => Ok(None),
            None => {
                if let Some(line) = self.line {
                    values.set_numeric(LINE, Integer::from(line));
                }
                if let Some(wanted) = parts.as_text(values)? {
                    // An empty expression matches nothing, unlike an empty text.
                    let searched = (!wanted.is_empty()).then_some(text);
                    return Ok(
                        searched.and_then(|text| find_fixed(text, &Finder::new(&wanted), self.fold_case))
                    );
                }
                match Ere::new(&parts.as_regex(values)?, self.fold_case) {
                    Ok(ere) => parts.search(&ere, text, scratch),
                    Err(EreError::Size | EreError::Depth) => Err(TooManySteps),
                    Err(_) => Ok(None),
                }
            }
        };
        let Some(found) = found.map_err(|TooManySteps| Obstacle::whole(Why::TooComplex))? else {
            return Ok(None);
        };
        for ((name, _), (start, end)) in parts.strings.iter().zip(&found.strings) {
            values.set_string(name, &text[*start..*end]);
        }
        for ((id, _, format), (start, end)) in parts.numbers.iter().zip(&found.numbers) {
            let value = format
                .read(&text[*start..*end])
                .map_err(|_| Obstacle::whole(Why::NoValue(NoValue::TooLarge)))?;
            values.set_numeric(*id, value);
        }
        Ok(Some(found))
    }
}

impl Parts {
    pub(super) fn has_substitution(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::String(..) | Part::Number(_)))
    }

    fn search(&self, ere: &Ere, text: &[u8], scratch: &mut Scratch) -> Result<Option<Match>, TooManySteps> {
        let wanted = !self.strings.is_empty() || !self.numbers.is_empty();
        let found = ere.find(text, wanted, scratch)?;
        Ok(found.map(|found| Match {
            start: found.range.0,
            end: found.range.1,
            strings: self.strings.iter().map(|(_, group)| found.group(*group)).collect(),
            numbers: self.numbers.iter().map(|(_, group, _)| found.group(*group)).collect(),
        }))
    }

    /// As one expression, with nothing where values would be put in.
    pub(super) fn without_values(&self) -> Vec<u8> {
        let mut whole = Vec::new();
        for part in &self.parts {
            match part {
                Part::Regex(regex) => whole.extend_from_slice(regex),
                Part::Text(text) => escape(&mut whole, text),
                Part::String(..) | Part::Number(_) => {}
            }
        }
        whole
    }

    /// With values put in, if there is nothing but text.
    fn as_text(&self, values: &Values<'_>) -> Result<Option<Vec<u8>>, Vec<Obstacle>> {
        if self.parts.iter().any(|part| matches!(part, Part::Regex(_))) {
            return Ok(None);
        }
        self.assemble(values, Vec::extend_from_slice).map(Some)
    }

    /// As one expression, with values put in.
    pub(super) fn as_regex(&self, values: &Values<'_>) -> Result<Vec<u8>, Vec<Obstacle>> {
        self.assemble(values, escape)
    }

    fn assemble(
        &self,
        values: &Values<'_>,
        put_text: impl Fn(&mut Vec<u8>, &[u8]),
    ) -> Result<Vec<u8>, Vec<Obstacle>> {
        let mut whole = Vec::new();
        let mut obstacles = Vec::new();
        for part in &self.parts {
            match part {
                Part::Regex(regex) => whole.extend_from_slice(regex),
                Part::Text(text) => put_text(&mut whole, text),
                Part::String(name, at) => match values.string(name) {
                    Some(value) => put_text(&mut whole, value),
                    None => obstacles.push(Obstacle { at: *at, why: Why::UndefinedString(name.clone()) }),
                },
                Part::Number(number) => match number.digits(values) {
                    Ok(digits) => put_text(&mut whole, digits.as_bytes()),
                    Err(reasons) => obstacles.extend(reasons),
                },
            }
        }
        if obstacles.is_empty() { Ok(whole) } else { Err(obstacles) }
    }
}

impl Number {
    /// What the value is written as.
    pub(super) fn digits(&self, values: &Values<'_>) -> Result<String, Vec<Obstacle>> {
        let obstacle = |reason: NoValue| {
            let at = match reason {
                NoValue::Undefined(_, at) => self.at + at,
                _ => self.at,
            };
            Obstacle { at, why: Why::NoValue(reason) }
        };
        let value = self
            .expression
            .value(|id| values.numeric(id))
            .map_err(|reasons| reasons.into_iter().map(obstacle).collect::<Vec<_>>())?;
        self.format.write(&value).ok_or_else(|| vec![Obstacle { at: self.at, why: Why::Negative(value) }])
    }
}

/// Text as an expression that matches just it.
pub(super) fn escape(whole: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        if b"()^$|*+?.[]\\{}\0".contains(byte) {
            whole.push(b'\\');
        }
        whole.push(*byte);
    }
}

fn empty_line(text: &[u8]) -> Option<Match> {
    let end = memchr::memchr_iter(b'\n', text).find(|end| matches!(text.get(end + 1), None | Some(b'\n')))?;
    Some(Match::plain(end + 1, end + 1))
}

pub(super) fn find_fixed(text: &[u8], finder: &Finder<'_>, fold_case: bool) -> Option<Match> {
    let wanted = finder.needle();
    let start = if fold_case {
        let (first, rest) = wanted.split_first()?;
        memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text).find(|start| {
            text[start + 1..].get(..rest.len()).is_some_and(|found| found.eq_ignore_ascii_case(rest))
        })?
    } else {
        finder.find(text)?
    };
    Some(Match::plain(start, start + wanted.len()))
}
