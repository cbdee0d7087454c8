//! A check file: its lines in order, grouped as they are matched. Matching itself is in `run`.

use super::canonical::Canonical;
use super::error::{Caret, CheckError, CheckErrorKind, NameFault, Place};
use super::expression::{NoValue, lossy, variable_name};
use super::integer::Integer;
use super::numeric_block::{self, Definition};
use super::options::Options;
use super::pattern::Pattern;
use super::pattern_text::{self, Mistake, Style};
use super::scan::{Found, Kind, Scanner, Shape};
use super::variables::{Names, NumericId};
use crate::source::{Source, Span};

/// One check line, or one `--implicit-check-not`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The prefix it was written with; empty for an implicit one.
    pub prefix: String,
    /// What it asks for.
    pub kind: Kind,
    /// How often it has to match in a row; 1 without `-COUNT-`.
    pub count: u32,
    /// `{LITERAL}`: nothing in the pattern is special.
    pub literal: bool,
    /// Line in the check file, from 1; 0 for an implicit one.
    pub line: u32,
    /// From the prefix to the end of the pattern; empty for an implicit one.
    pub span: Span,
    /// The pattern; empty for an implicit one.
    pub pattern_span: Span,
    /// The pattern's text, white space as it is matched.
    pub pattern: String,
    /// It comes from the options, not from the file: its number, from 1.
    pub implicit: Option<usize>,
}

impl Directive {
    /// `CHECK-NEXT`, `CHECK-COUNT-3`, `--implicit-check-not`.
    pub fn name(&self) -> String {
        match (self.implicit, self.kind) {
            (Some(_), _) => "--implicit-check-not".to_owned(),
            (None, Kind::Plain) if self.count > 1 => format!("{}-COUNT-{}", self.prefix, self.count),
            (None, Kind::Plain) => self.prefix.clone(),
            (None, kind) => format!("{}-{}", self.prefix, kind.suffix()),
        }
    }
}

/// The `-DAG` and `-NOT` lines before a positive check, and it; the last group of a file may end with the input.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) before: Vec<usize>,
    pub(super) anchor: Option<usize>,
}

/// A check file that can be matched.
#[derive(Clone, Debug)]
pub struct CheckFile {
    pub(super) options: Options,
    pub(super) directives: Vec<Directive>,
    /// One for each directive.
    pub(super) patterns: Vec<Pattern>,
    /// Where each directive's prefix and pattern start, white space made canonical; zeros for an implicit one.
    pub(super) starts: Vec<(usize, usize)>,
    /// Where the search for check lines ended, white space made canonical.
    pub(super) end: usize,
    pub(super) groups: Vec<Group>,
    pub(super) names: Names,
    pub(super) strings: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) numbers: Vec<(NumericId, Integer)>,
}

impl CheckFile {
    /// Reads a check file.
    ///
    /// # Errors
    /// Everything that is wrong with it, with its prefixes and definitions, in the order in which LLVM's program would
    /// come upon it; that one ends at the first.
    pub fn parse(source: &Source, options: &Options) -> Result<Self, Vec<CheckError>> {
        let canonical = Canonical::new(&source.bytes, options.strict_whitespace);
        let mut reader = Reader::new(options);
        reader.errors.extend(options.prefix_errors());
        if reader.errors.is_empty() {
            reader.definitions();
            reader.implicit();
            reader.lines(&canonical.text);
            reader.unused_prefixes();
        }
        reader.finish(&canonical)
    }

    /// The checks, implicit ones first, then in the order of the file.
    pub fn directives(&self) -> &[Directive] {
        &self.directives
    }

    /// Whether a group ends with a `-LABEL`.
    pub(super) fn ends_block(&self, group: &Group) -> bool {
        group.anchor.is_some_and(|anchor| self.directives[anchor].kind == Kind::Label)
    }

    /// The options that it was read with.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

struct Reader<'o> {
    options: &'o Options,
    file: CheckFile,
    errors: Vec<CheckError>,
    /// DAG and NOT lines since the last positive check.
    before: Vec<usize>,
    implicit: Vec<usize>,
    used: Vec<&'o str>,
}

impl<'o> Reader<'o> {
    fn new(options: &'o Options) -> Self {
        let file = CheckFile {
            options: options.clone(),
            directives: Vec::new(),
            patterns: Vec::new(),
            starts: Vec::new(),
            end: 0,
            groups: Vec::new(),
            names: Names::default(),
            strings: Vec::new(),
            numbers: Vec::new(),
        };
        Self { options, file, errors: Vec::new(), before: Vec::new(), implicit: Vec::new(), used: Vec::new() }
    }

    fn style(&self, kind: Kind, literal: bool, line: Option<usize>) -> Style {
        Style {
            kind,
            literal,
            full_lines: self.options.match_full_lines,
            strict_whitespace: self.options.strict_whitespace,
            fold_case: self.options.ignore_case,
            strict: self.options.strict,
            line,
        }
    }

    fn definitions(&mut self) {
        for (index, define) in self.options.defines.iter().enumerate() {
            let whole = |kind| (0, kind);
            let result = match define.find('=') {
                None => Err(whole(CheckErrorKind::DefineWithoutValue(define.clone()))),
                Some(0) => Err(whole(CheckErrorKind::DefineWithoutName(define.clone()))),
                Some(equals) => match define.strip_prefix('#') {
                    Some(numeric) => self.define_number(numeric),
                    None => self.define_string(&define[..equals], &define[equals + 1..]).map_err(whole),
                },
            };
            if let Err((at, kind)) = result {
                let caret = Caret::Define(index + 1, at);
                self.option_error(format!("-D{define}"), (2, define.len() + 2), caret, kind);
            }
        }
    }

    fn define_string(&mut self, name: &str, value: &str) -> Result<(), CheckErrorKind> {
        match variable_name(name.as_bytes()) {
            Some((_, rest)) if rest.is_empty() && !name.starts_with('@') => {}
            Some(_) => return Err(CheckErrorKind::BadName(name.to_owned(), NameFault::Definition)),
            None => return Err(CheckErrorKind::BadName(name.to_owned(), NameFault::of(name.as_bytes()).0)),
        }
        let name_bytes = name.as_bytes();
        if self.file.names.is_numeric(name_bytes) {
            return Err(CheckErrorKind::NameTaken(name.to_owned(), "numeric"));
        }
        // The first of several definitions counts.
        if !self.file.names.is_string(name_bytes) {
            self.file.strings.push((name_bytes.to_vec(), value.as_bytes().to_vec()));
        }
        self.file.names.define_string(name_bytes);
        Ok(())
    }

    /// `%x,NAME=EXPRESSION`, which is a numeric block with `=` for its colon. A mistake comes with its place in it.
    fn define_number(&mut self, text: &str) -> Result<(), (usize, CheckErrorKind)> {
        let block = text.replacen('=', ":", 1);
        let value_error = |reason: String| (0, CheckErrorKind::DefineValue(reason));
        let names = &mut self.file.names;
        let block = numeric_block::read(block.as_bytes(), false, None, names)
            .map_err(|(at, error)| (at, CheckErrorKind::Numeric(error)))?;
        let id = match block.definition {
            Some(Definition::Variable(id)) => id,
            Some(Definition::Taken(name, at)) => return Err((at, CheckErrorKind::NameTaken(name, "string"))),
            None => return Err(value_error("nothing is defined".to_owned())),
        };
        let Some((expression, _)) = block.expression else {
            return Err(value_error(format!("`{text}` has no value")));
        };
        let known = &self.file.numbers;
        let value = expression
            .value(|wanted| known.iter().rev().find(|(id, _)| *id == wanted).map(|(_, value)| value.clone()))
            .map_err(|reasons| {
                let undefined = reasons.iter().find_map(|reason| match reason {
                    NoValue::Undefined(id, _) => Some(lossy(&self.file.names.numeric(*id).name)),
                    _ => None,
                });
                match undefined {
                    Some(name) => (0, CheckErrorKind::DefineUndefined(text.to_owned(), name)),
                    None => value_error(format!("`{text}` has a value that cannot be computed")),
                }
            })?;
        self.file.numbers.push((id, value));
        Ok(())
    }

    fn implicit(&mut self) {
        for (index, text) in self.options.implicit_check_not.iter().enumerate() {
            let style = self.style(Kind::Not, false, None);
            match pattern_text::read(text.as_bytes(), "IMPLICIT-CHECK-NOT", style, &mut self.file.names) {
                Ok(pattern) => {
                    self.implicit.push(self.file.directives.len());
                    self.file.directives.push(Directive {
                        prefix: String::new(),
                        kind: Kind::Not,
                        count: 1,
                        literal: false,
                        line: 0,
                        span: Span::default(),
                        pattern_span: Span::default(),
                        pattern: text.clone(),
                        implicit: Some(index + 1),
                    });
                    self.file.patterns.push(pattern);
                    self.file.starts.push((0, 0));
                }
                Err(Mistake { span, caret, kind }) => {
                    self.option_error(text.clone(), span, Caret::Implicit(caret), kind);
                }
            }
        }
        self.before.clone_from(&self.implicit);
    }

    fn option_error(&mut self, option: String, span: (usize, usize), caret: Caret, kind: CheckErrorKind) {
        let place = Place::Option(option, Span::new(span.0, span.1));
        self.errors.push(CheckError { place, line: 0, kind, caret });
    }

    fn lines(&mut self, text: &[u8]) {
        let mut scanner = Scanner::new(text, self.options);
        let (mut at, mut line, mut counted) = (0, 1, 0);
        while let Some(found) = scanner.next(at) {
            line += memchr::memchr_iter(b'\n', &text[counted..found.start]).count();
            counted = found.start;
            let mut start = found.end;
            if !(self.options.strict_whitespace && self.options.match_full_lines) {
                start += text[start..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
            }
            if found.end == text.len() && !self.options.strict {
                // At the very end of a file the reference takes the suffix and the colon for the pattern.
                start = found.start + found.prefix.len();
            }
            let end =
                memchr::memchr2(b'\n', b'\r', &text[start..]).map_or(text.len(), |offset| start + offset);
            at = end;
            if found.shape == Shape::Comment {
                continue;
            }
            if !self.used.contains(&found.prefix) {
                self.used.push(found.prefix);
            }
            if let Err(Mistake { span, caret, kind }) = self.check(&found, text, (start, end), line) {
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                self.errors.push(CheckError::in_file(Span::new(span.0, span.1), line, caret, kind));
            }
        }
        self.file.end = scanner.reached;
    }

    fn check(
        &mut self,
        found: &Found<'o>,
        text: &[u8],
        (start, end): (usize, usize),
        line: usize,
    ) -> Result<(), Mistake> {
        let prefix = found.prefix.to_owned();
        let word = (found.start, found.end);
        let (kind, count, literal) = match found.shape {
            Shape::Check { kind, count, literal } => (kind, count, literal),
            Shape::Underscore => return Err(Mistake::new(word, CheckErrorKind::Underscore(prefix))),
            Shape::StackedNot => {
                return Err(Mistake { span: word, caret: word.1, kind: CheckErrorKind::StackedNot(prefix) });
            }
            Shape::BadCount => {
                let at_end = word.1 == text.len();
                let caret = if at_end { word.0 + prefix.len() } else { word.1 };
                return Err(Mistake { span: word, caret, kind: CheckErrorKind::BadCount(prefix) });
            }
            Shape::Unknown => {
                let kind = CheckErrorKind::UnknownShape(lossy(&text[word.0..word.1]));
                return Err(Mistake::new(word, kind));
            }
            Shape::Comment => return Ok(()),
        };
        let mut directive = Directive {
            prefix,
            kind,
            count,
            literal,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            span: Span::new(found.start, end),
            pattern_span: Span::new(start, end),
            pattern: String::new(),
            implicit: None,
        };
        let name = directive.name();
        let style = self.style(kind, literal, Some(line));
        let pattern = pattern_text::read(&text[start..end], &name, style, &mut self.file.names).map_err(
            |Mistake { span, caret, kind }| Mistake {
                span: (start + span.0, start + span.1),
                caret: start + caret,
                kind,
            },
        )?;
        if kind == Kind::Label && pattern.has_variable() {
            let kind = CheckErrorKind::LabelWithVariable(name);
            return Err(Mistake { span: (start, end), caret: word.0, kind });
        }
        let needs_one_before = matches!(kind, Kind::Next | Kind::Same | Kind::Empty);
        if needs_one_before && self.file.groups.is_empty() {
            return Err(Mistake::new(word, CheckErrorKind::NothingBefore(name)));
        }
        let shown = super::expression::trim_end(&text[start..end]);
        directive.pattern = lossy(shown);
        directive.span.end = start + shown.len();
        directive.pattern_span.end = directive.span.end;
        let index = self.file.directives.len();
        self.file.directives.push(directive);
        self.file.patterns.push(pattern);
        self.file.starts.push((word.0, start));
        if matches!(kind, Kind::Dag | Kind::Not) {
            self.before.push(index);
        } else {
            let before = std::mem::replace(&mut self.before, self.implicit.clone());
            self.file.groups.push(Group { before, anchor: Some(index) });
        }
        Ok(())
    }

    /// No line with any prefix, or with some; an implicit check alone is enough if no prefix was asked for.
    fn unused_prefixes(&mut self) {
        let prefixes = self.options.check_prefixes();
        let unused: Vec<String> =
            prefixes.iter().filter(|prefix| !self.used.contains(prefix)).map(|p| (*p).to_owned()).collect();
        let default_with_implicit =
            self.options.check_prefixes.is_empty() && !self.options.implicit_check_not.is_empty();
        if unused.is_empty() || default_with_implicit {
            return;
        }
        if unused.len() == prefixes.len() {
            self.errors.push(CheckError::request(CheckErrorKind::NoChecks(unused)));
        } else if !self.options.allow_unused_prefixes {
            self.errors.push(CheckError::request(CheckErrorKind::UnusedPrefixes(unused)));
        }
    }

    fn finish(mut self, canonical: &Canonical<'_>) -> Result<CheckFile, Vec<CheckError>> {
        if !self.errors.is_empty() {
            let places = self.errors.iter_mut().filter_map(|error| match &mut error.place {
                Place::File(span) => Some(span),
                _ => None,
            });
            canonical.restore(&mut places.collect::<Vec<_>>());
            return Err(self.errors);
        }
        if !self.before.is_empty() {
            self.file.groups.push(Group { before: self.before, anchor: None });
        }
        let spans = self.file.directives.iter_mut().filter(|directive| directive.implicit.is_none());
        let mut spans: Vec<&mut Span> =
            spans.flat_map(|directive| [&mut directive.span, &mut directive.pattern_span]).collect();
        canonical.restore(&mut spans);
        Ok(self.file)
    }
}
