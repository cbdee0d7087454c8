//! Substitutions: names in a command line that stand for something else.
//!
//! There are two kinds, and the difference is what keeps a path with a blank in one piece:
//!
//! - **Text** (`DEFINE`, `REDEFINE`, `[substitutions]` of a suite, `%if … %{ … %} %else %{ … %}`, `%(line)`) is
//!   put into the line *before* it is parsed, so it may hold several words, quotes and pipes. Text may name
//!   other text; a cycle is refused.
//! - **Values** (`%s`, `%t`, `%{device.uuid}`, a variant's name, …) are put into words *after* parsing. They
//!   are never split, never a glob, and hold in any quotes.
//!
//! `%%` is a `%` of the final text. It is undone last, so `%%s` never becomes the file's name.
//!
//! What is unknown: `%{name}` is always refused. `%name` without braces is refused too, with two exceptions:
//! one letter alone that nothing defines (`%d`, `%x`) is taken for a `printf` conversion, and `%` before
//! anything but a letter is a `%`. `%t1` and `%t_x` are `%t` and a rest, as suites write them; other letters
//! behind a known letter (`%tlog`) are refused, as they may be a slip. A dialect that does as lit does keeps
//! unknown names as text and finds `%t` in `%tlog`.

use super::ast::{Part, RedirectionTarget, Script, Word};
use super::parse::SyntaxError;
use super::percent::{Percent, is_name, percent};
use crate::source::Span;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How deep text may name text.
const DEPTH: usize = 64;
/// How long a line may become, in bytes: a bound against definitions that double each other.
const LENGTH: usize = 1 << 20;

/// Everything that is defined at one place of one test.
#[derive(Clone, Debug, Default)]
pub struct Substitutions {
    texts: BTreeMap<String, String>,
    values: BTreeMap<String, String>,
    as_lit: bool,
}

/// What expanding text must ask.
pub struct TextContext<'a> {
    /// Line in the file of an offset in the payload.
    pub line_of: &'a dyn Fn(usize) -> u32,
    /// Whether the condition of an `%if` holds; `Err` says what is wrong with it.
    pub holds: &'a dyn Fn(&str) -> Result<bool, String>,
}

/// A payload after text substitution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The text to parse.
    pub text: String,
    /// Pieces of `text` in order: where each begins, the place in the payload it came from, and whether it
    /// is that place's own text.
    pieces: Vec<(usize, Span, bool)>,
}

impl Expanded {
    /// The place in the payload of a range of [`Self::text`]; for substituted text, the substitution.
    pub fn locate(&self, range: Span) -> Span {
        let at = |offset: usize| {
            self.pieces.iter().rev().find(|(from, ..)| *from <= offset).map_or(
                Span::default(),
                |(from, place, own)| {
                    let start = place.start + offset - from;
                    if *own { Span::new(start, start + 1) } else { *place }
                },
            )
        };
        let start = at(range.start);
        if range.end <= range.start {
            Span::new(start.start, start.start)
        } else {
            start.to(at(range.end - 1))
        }
    }

    fn push(&mut self, text: &str, place: Span, own: bool) {
        if !text.is_empty() {
            self.pieces.push((self.text.len(), place, own));
            self.text.push_str(text);
        }
    }
}

/// Names that a run gives values to beside those of [`Substitutions::paths`], as written.
pub const OF_A_RUN: &[&str] = &[
    "%{device}",
    "%{device.kind}",
    "%{device.index}",
    "%{device.uuid}",
    "%{device.capability}",
    "%{variant}",
    "%{nonce}",
];

impl Substitutions {
    /// Every name that a run defines, with values that mean nothing: for reading a file without running it.
    pub fn built_in() -> Self {
        let mut known = Self::default();
        known.paths("/s", "/t");
        for name in OF_A_RUN {
            known.value(*name, "");
        }
        known
    }

    /// Nothing defined; unknown names are refused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing defined; unknown names stay as they are, as in lit.
    pub fn as_lit() -> Self {
        Self { as_lit: true, ..Self::default() }
    }

    /// Defines text. `name` is as written: `%{name}` or `%name`.
    pub fn text(&mut self, name: impl Into<String>, text: impl Into<String>) -> &mut Self {
        self.texts.insert(name.into(), text.into());
        self
    }

    /// Defines a value. `name` is as written: `%{name}` or `%name`.
    pub fn value(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Defines what follows from the test's paths: `%s %S %p %t %T`, their forms with `/`, `:` and `:real`,
    /// and the names made of them. `source` is the test file, `tmp` the path that `%t` stands for, within
    /// the test's own temporary folder. All are absolute and without links: `:real` is the same path.
    pub fn paths(&mut self, source: &str, tmp: &str) -> &mut Self {
        let folder = |path: &str| {
            path.rsplit_once('/').map_or(".", |(f, _)| if f.is_empty() { "/" } else { f }).to_owned()
        };
        let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let stem = |name: &str| match name.rfind('.') {
            Some(dot) if dot > 0 => name[..dot].to_owned(),
            _ => name.to_owned(),
        };
        let letters = [
            ("s", source.to_owned()),
            ("S", folder(source)),
            ("p", folder(source)),
            ("t", tmp.to_owned()),
            ("T", folder(tmp)),
        ];
        for (letter, path) in letters {
            self.value(format!("%:{letter}"), path.trim_start_matches('/').replace(':', "")).value(
                format!("%{{/{letter}:regex_replacement}}"),
                path.replace('@', "\\@").replace('&', "\\&"),
            );
            for name in [
                format!("%{letter}"),
                format!("%/{letter}"),
                format!("%{{{letter}}}"),
                format!("%{{{letter}:real}}"),
                format!("%{{/{letter}:real}}"),
            ] {
                self.value(name, path.clone());
            }
        }
        self.value("%{s:basename}", base(source))
            .value("%{s:stem}", stem(&base(source)))
            .value("%{t:stem}", stem(tmp))
            .value("%basename_t", base(source))
            .value("%{pathsep}", if cfg!(windows) { ";" } else { ":" })
            .value("%{fs-sep}", "/")
            .value("%{fs-src-root}", "/")
            .value("%{fs-tmp-root}", "/")
    }

    /// Whether a name, as written, is defined.
    pub fn is_defined(&self, name: &str) -> bool {
        self.texts.contains_key(name) || self.values.contains_key(name)
    }

    /// Puts text substitutions into a payload.
    ///
    /// # Errors
    /// Cycles, lines that grow without bound, `%if` without its braces or with a wrong condition.
    pub fn expand_text(
        &self,
        payload: &str,
        context: &TextContext<'_>,
    ) -> Result<Expanded, Vec<SyntaxError>> {
        let mut work = TextWork {
            defined: self,
            context,
            out: Expanded::default(),
            errors: Vec::new(),
            within: Vec::new(),
        };
        work.expand(payload, Place::Own(0));
        if work.errors.is_empty() { Ok(work.out) } else { Err(work.errors) }
    }

    /// Puts values into the parts of a word. The word stays one word.
    ///
    /// # Errors
    /// A name that is not defined.
    pub fn expand_word(&self, word: &Word) -> Result<Word, Vec<SyntaxError>> {
        let mut errors = Vec::new();
        let mut value = |text: &str| {
            let (text, mut new) = self.values_into(text, word.span);
            errors.append(&mut new);
            text
        };
        let parts = word
            .parts
            .iter()
            .map(|part| match part {
                Part::Bare(text) => Part::Bare(value(text)),
                Part::Quoted(text) => Part::Quoted(value(text)),
                Part::Glob(text) => Part::Glob(text.clone()),
            })
            .collect();
        if errors.is_empty() { Ok(Word { parts, span: word.span }) } else { Err(errors) }
    }

    /// Puts values into text that is no command line, such as the path of a golden file.
    ///
    /// # Errors
    /// A name that is not defined; places are within `text`.
    pub fn expand_str(&self, text: &str) -> Result<String, Vec<SyntaxError>> {
        let (text, errors) = self.values_into(text, Span::new(0, text.len()));
        if errors.is_empty() { Ok(text) } else { Err(errors) }
    }

    /// Every name in a script that is not defined, before anything of it is run.
    pub fn undefined(&self, script: &Script) -> Vec<SyntaxError> {
        let words = script.pipelines().flat_map(|p| &p.stages).flat_map(|stage| {
            let targets = stage.redirections.iter().filter_map(|r| match &r.target {
                RedirectionTarget::Read(w)
                | RedirectionTarget::Write(w)
                | RedirectionTarget::Append(w)
                | RedirectionTarget::HereString(w) => Some(w),
                RedirectionTarget::Same(_) => None,
            });
            stage.assignments.iter().map(|(_, w)| w).chain(&stage.words).chain(targets)
        });
        words.filter_map(|word| self.expand_word(word).err()).flatten().collect()
    }

    fn values_into(&self, text: &str, span: Span) -> (String, Vec<SyntaxError>) {
        let mut out = String::with_capacity(text.len());
        let mut errors = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let (piece, length) = percent(rest);
            let (text, taken) = match piece {
                Percent::Escaped => ("%", 2),
                Percent::Braced(name) => match self.values.get(name) {
                    Some(value) => (value.as_str(), length),
                    None => {
                        if !self.as_lit {
                            errors.push(self.unknown(name, span));
                        }
                        (name, length)
                    }
                },
                Percent::Bare(name) => match self.bare(&self.values, rest) {
                    Some((known, value)) => (value, known),
                    None => {
                        if !self.as_lit && name.chars().filter(|c| is_name(*c)).count() > 1 {
                            errors.push(self.unknown(name, span));
                        }
                        (name, length)
                    }
                },
                // Only in an argument that meant them: in the payload they were read before parsing.
                _ => (&rest[..1], 1),
            };
            out.push_str(text);
            rest = &rest[taken..];
        }
        out.push_str(rest);
        (out, errors)
    }

    /// The longest name without braces that `rest` begins with, by its length, and what it stands for.
    fn bare<'a>(&self, table: &'a BTreeMap<String, String>, rest: &str) -> Option<(usize, &'a str)> {
        table
            .iter()
            .filter(|(name, _)| !name.starts_with("%{") && rest.starts_with(name.as_str()))
            .filter(|(name, _)| {
                let behind = rest[name.len()..].chars().next();
                let letter = name.trim_start_matches(['%', '/', ':']).len() == 1;
                self.as_lit || behind.is_none_or(|c| !is_name(c) || letter && !c.is_ascii_alphabetic())
            })
            .max_by_key(|(name, _)| name.len())
            .map(|(name, text)| (name.len(), text.as_str()))
    }

    fn unknown(&self, name: &str, span: Span) -> SyntaxError {
        let names: Vec<&str> = self.texts.keys().chain(self.values.keys()).map(String::as_str).collect();
        let nearest = similar::get_close_matches(name, &names, 1, 0.7).first().copied();
        let near = nearest.map_or(Cow::Borrowed(""), |n| format!("did you mean `{n}`? ").into());
        let letter = name.get(..2).filter(|l| name.len() > 2 && self.values.contains_key(*l));
        let split = letter.map_or(Cow::Borrowed(""), |l| {
            format!("write `%{{{}}}{}` for `{l}` and a rest; ", &l[1..], &name[2..]).into()
        });
        let help = format!(
            "{near}{split}define it (`DEFINE: %{{name}} = …`, `[substitutions]` of the suite), or write `%{name}` to mean the text"
        );
        SyntaxError::new(
            "substitution-unknown",
            span,
            format!("the substitution `{name}` is not defined"),
            &help,
        )
    }
}

/// Where text being expanded stands in the payload.
#[derive(Clone, Copy)]
enum Place {
    /// It is the payload's own, from this offset.
    Own(usize),
    /// It came out of this substitution.
    From(Span),
}

impl Place {
    fn of(self, start: usize, length: usize) -> (Span, bool) {
        match self {
            Self::Own(base) => (Span::new(base + start, base + start + length), true),
            Self::From(span) => (span, false),
        }
    }

    fn advanced(self, by: usize) -> Self {
        match self {
            Self::Own(base) => Self::Own(base + by),
            Self::From(span) => Self::From(span),
        }
    }
}

struct TextWork<'a> {
    defined: &'a Substitutions,
    context: &'a TextContext<'a>,
    out: Expanded,
    errors: Vec<SyntaxError>,
    /// Names being expanded, outermost first.
    within: Vec<String>,
}

impl TextWork<'_> {
    fn fail(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.errors.push(SyntaxError::new(code, span, message, help));
    }

    fn expand(&mut self, text: &str, place: Place) {
        let mut at = 0;
        while let Some(offset) = text[at..].find('%') {
            let here = at + offset;
            self.keep(text, at, here, place);
            let rest = &text[here..];
            let (piece, length) = percent(rest);
            at = here + length;
            match piece {
                Percent::If(condition) => at = self.choose(text, (here, at), condition, place),
                Percent::OpenIf => {
                    let span = place.of(here, length).0;
                    self.fail("substitution-if", span, "`%if` has no `%{ … %}`".to_owned(), IF_FORM);
                }
                Percent::Position(inner) => match self.position(inner, place.of(here, length).0) {
                    Some(number) => self.out.push(&number, place.of(here, length).0, false),
                    None => self.keep(text, here, at, place),
                },
                Percent::Braced(name) => match self.defined.texts.get(name) {
                    Some(_) => self.replace(name, place.of(here, length).0),
                    None => self.keep(text, here, at, place),
                },
                Percent::Bare(_) => match self.defined.bare(&self.defined.texts, rest) {
                    Some((known, _)) => {
                        at = here + known;
                        self.replace(&rest[..known], place.of(here, known).0);
                    }
                    None => self.keep(text, here, at, place),
                },
                _ => self.keep(text, here, at, place),
            }
        }
        self.keep(text, at, text.len(), place);
    }

    fn keep(&mut self, text: &str, from: usize, to: usize, place: Place) {
        let (span, own) = place.of(from, to - from);
        self.out.push(&text[from..to], span, own);
    }

    fn replace(&mut self, name: &str, span: Span) {
        if self.within.iter().any(|n| n == name) || self.within.len() >= DEPTH {
            let chain: Vec<_> = self.within.iter().map(|n| format!("`{n}`")).collect();
            let message = format!("the substitution `{name}` names itself: {} → `{name}`", chain.join(" → "));
            return self.fail(
                "substitution-cycle",
                span,
                message,
                "take one of the names out of the definitions",
            );
        }
        if self.out.text.len() > LENGTH {
            // One message, however many pieces there would be.
            if !self.errors.iter().any(|e| e.code == "substitution-too-long") {
                let message = format!("`{name}` makes the line longer than {LENGTH} bytes");
                self.fail("substitution-too-long", span, message, "shorten the definitions");
            }
            return;
        }
        let Some(text) = self.defined.texts.get(name) else { return };
        self.within.push(name.to_owned());
        self.expand(text, Place::From(span));
        self.within.pop();
    }

    /// `line`, `line+2`, `line-1`.
    fn position(&self, inner: &str, span: Span) -> Option<String> {
        let delta = inner.strip_prefix("line")?;
        let delta = if delta.is_empty() { 0 } else { delta.parse::<i64>().ok()? };
        Some(i64::from((self.context.line_of)(span.start)).saturating_add(delta).to_string())
    }

    /// At an `%if`: expands the branch that holds; the offset behind both.
    fn choose(&mut self, text: &str, (start, body): (usize, usize), condition: &str, place: Place) -> usize {
        let span = place.of(start, body - start).0;
        let Some(end) = block_end(text, body) else {
            let message = "the `%{` of this `%if` is never closed".to_owned();
            self.fail("substitution-if", span, message, IF_FORM);
            return text.len();
        };
        let behind = end + 2;
        let lead = text[behind..].len() - text[behind..].trim_start().len();
        let mut otherwise = None;
        let mut next = behind;
        if text[behind + lead..].starts_with('%')
            && let (Percent::Else, length) = percent(&text[behind + lead..])
        {
            let from = behind + lead + length;
            let Some(to) = block_end(text, from) else {
                let at = place.of(behind + lead, length).0;
                let message = "the `%{` of this `%else` is never closed".to_owned();
                self.fail("substitution-if", at, message, IF_FORM);
                return text.len();
            };
            otherwise = Some((from, to));
            next = to + 2;
        }
        let chosen = match (self.context.holds)(condition) {
            Ok(true) => Some((body, end)),
            Ok(false) => otherwise,
            Err(why) => {
                let message = format!("the condition `{condition}` of `%if`: {why}");
                self.fail("substitution-if", span, message, IF_FORM);
                None
            }
        };
        if let Some((from, to)) = chosen {
            // Nested `%if`s are bounded like nested names.
            if self.within.len() >= DEPTH {
                let message = format!("`%if` is nested deeper than {DEPTH}");
                self.fail("substitution-if", span, message, "write fewer");
            } else {
                self.within.push("%if".to_owned());
                self.expand(&text[from..to], place.advanced(from));
                self.within.pop();
            }
        }
        next
    }
}

const IF_FORM: &str = "write `%if COND %{ text %}` or `%if COND %{ text %} %else %{ text %}`";

/// The offset of the `%}` that closes a block whose text begins at `from`.
fn block_end(text: &str, from: usize) -> Option<usize> {
    let mut depth = 1u32;
    let mut at = from;
    while let Some(offset) = text[at..].find('%') {
        at += offset;
        let (piece, length) = percent(&text[at..]);
        match piece {
            Percent::If(_) | Percent::Else | Percent::Open => depth += 1,
            Percent::Close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += length;
    }
    None
}
