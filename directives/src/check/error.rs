//! Why a check file or the options are refused. Text for people is made here from typed reasons; places are spans.

use super::ere::EreError;
use crate::source::Span;

/// Where a [`CheckError`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// In the check file.
    File(Span),
    /// In an option's value: the option as given, and the part of it that is wrong.
    Option(String, Span),
    /// In the request as a whole.
    Request,
}

/// One reason why nothing is matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError {
    /// Where.
    pub place: Place,
    /// Line in the check file, from 1; 0 elsewhere.
    pub line: u32,
    /// What is wrong.
    pub kind: CheckErrorKind,
    /// What LLVM's program points at.
    pub(super) caret: Caret,
}

/// The place of a mistake in the texts that LLVM's program shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caret {
    /// In the check file with its white space made canonical.
    File(usize),
    /// In a definition of the options: its number from 1, and the byte behind `-D`, or behind `-D#` for a number.
    Define(usize, usize),
    /// In the pattern of an `--implicit-check-not`.
    Implicit(usize),
    /// It shows none.
    None,
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameFault {
    /// There is none.
    Empty,
    /// Only a `$`.
    EmptyGlobal,
    /// Only an `@`.
    EmptyPseudo,
    /// It begins with what no name begins with.
    Start,
    /// Something stands behind it where a variable is used.
    Use,
    /// Something stands behind it where a variable is defined.
    Definition,
}

impl NameFault {
    /// Why there is no name at the beginning of a text, and the byte that is wrong.
    pub(super) fn of(text: &[u8]) -> (Self, usize) {
        match text {
            [] => (Self::Empty, 0),
            b"$" => (Self::EmptyGlobal, 1),
            b"@" => (Self::EmptyPseudo, 1),
            _ => (Self::Start, 0),
        }
    }
}

/// What is wrong with a check file or a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckErrorKind {
    /// A prefix is empty, or has other than letters, digits, `-`, `_`: the prefix, and `check` or `comment`.
    BadPrefix(String, &'static str),
    /// A prefix is given twice, or is a check and a comment prefix: it, and which of them the later one is.
    RepeatedPrefix(String, &'static str),
    /// No check line has one of these prefixes.
    NoChecks(Vec<String>),
    /// Some of the prefixes have no check line.
    UnusedPrefixes(Vec<String>),
    /// `CHECK_NEXT` for `CHECK-NEXT`: the prefix.
    Underscore(String),
    /// Two suffixes, one of them `NOT`: the prefix.
    StackedNot(String),
    /// A `-COUNT-` without a number from 1 up: the prefix.
    BadCount(String),
    /// In strict mode: an unknown or stacked suffix, or an unknown modifier, which would drop the line.
    UnknownShape(String),
    /// A check without a pattern: its name.
    EmptyPattern(String),
    /// A `-EMPTY` with a pattern: its name.
    PatternAfterEmpty(String),
    /// A `-NEXT`, `-SAME` or `-EMPTY` with no positive check before it: its name.
    NothingBefore(String),
    /// A `-LABEL` that uses or defines a variable: its name.
    LabelWithVariable(String),
    /// `{{` without `}}`.
    OpenRegex,
    /// `[[` without `]]`.
    OpenBlock,
    /// A `]` inside `[[…` that closes nothing: the text from `[[` on.
    StrayBracket(String),
    /// The expression between `{{ }}` or in `[[V:…]]`, and why it is none.
    Regex(String, EreError),
    /// White space in a variable's name.
    BlankInName,
    /// A name that cannot be one: what stands there, and why it cannot.
    BadName(String, NameFault),
    /// A string variable's name that a numeric one has, or the reverse: the name, and `string` or `numeric`, which
    /// has it.
    NameTaken(String, &'static str),
    /// `[[X:…]]`, then `[[X]]` in the same line, with X in a group past the ninth: the name.
    FarReference(String),
    /// A numeric block that is none: why.
    Numeric(NumericError),
    /// `-D` without `=`: the text.
    DefineWithoutValue(String),
    /// `-D` without a name: the text.
    DefineWithoutName(String),
    /// A `-D#` whose value uses a variable that has none: the text, and the variable.
    DefineUndefined(String, String),
    /// A `-D#` value that cannot be computed: why.
    DefineValue(String),
}

/// What is wrong in `[[#…]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumericError {
    /// The format before the comma is none: the text.
    Format(String),
    /// The format's letter is none that is known: the text.
    FormatLetter(String),
    /// `#` with a format that is not hexadecimal.
    AlternateForm,
    /// The precision is no number, or above what is handled.
    Precision,
    /// `==` with nothing behind it.
    EmptyConstraint,
    /// The text ends where an operand has to stand.
    OperandMissing,
    /// No operand at the beginning, where a constraint could stand, too: the text there.
    Operand(String),
    /// No operand further on: the text there.
    LaterOperand(String),
    /// An operator other than `+` and `-`.
    Operator(u8),
    /// Parentheses without their partner.
    Parenthesis,
    /// A call without its closing parenthesis.
    CallParenthesis,
    /// Parentheses nested deeper than is handled.
    Depth,
    /// A function that does not exist: its name.
    Function(String),
    /// A function with other than two arguments: its name and how many it has.
    Arguments(String, usize),
    /// An argument is missing.
    MissingArgument,
    /// Text behind the end: what is left.
    Trailing(String),
    /// `[[@LINE…]]` with more than a number added: what is left.
    LegacyTrailing(String),
    /// `[[@LINE…]]` with parentheses.
    LegacyParenthesis,
    /// `[[@LINE…]]` with a call.
    LegacyCall,
    /// What stands before the colon is no name: the text.
    Name(String),
    /// An unknown `@NAME`.
    Pseudo(String),
    /// A definition of an `@NAME`: the name.
    DefinedPseudo(String),
    /// A variable that the same line defines: its name.
    SameLine(String),
    /// Operands with different formats, and none is given: each with its text and its format.
    Conflict((String, String), (String, String)),
    /// A variable defined anew with another format: its name.
    Redefined(String),
    /// A number with more digits than are handled.
    TooLarge,
}

impl CheckError {
    pub(super) fn in_file(span: Span, line: u32, caret: usize, kind: CheckErrorKind) -> Self {
        Self { place: Place::File(span), line, kind, caret: Caret::File(caret) }
    }

    pub(super) fn request(kind: CheckErrorKind) -> Self {
        Self { place: Place::Request, line: 0, kind, caret: Caret::None }
    }

    /// The exit status that LLVM's program ends with: 2, but 1 for a bracket that closes nothing.
    pub fn exit_status(&self) -> u8 {
        if matches!(self.kind, CheckErrorKind::StrayBracket(_)) { 1 } else { 2 }
    }

    /// What is wrong, in one sentence without a full stop.
    pub fn message(&self) -> String {
        use CheckErrorKind as K;
        let list = |names: &[String]| names.join("', '");
        match &self.kind {
            K::BadPrefix(prefix, _) if prefix.is_empty() => "a prefix is empty".to_owned(),
            K::BadPrefix(prefix, _) => {
                format!("'{prefix}' is no prefix: it may have letters, digits, '-' and '_'")
            }
            K::RepeatedPrefix(prefix, _) => {
                format!("'{prefix}' is given more than once among check and comment prefixes")
            }
            K::NoChecks(prefixes) => format!("no check line has the prefix '{}'", list(prefixes)),
            K::UnusedPrefixes(prefixes) => format!("no check line has the prefix '{}'", list(prefixes)),
            K::Underscore(prefix) => format!("'{prefix}_…' is no check: a suffix begins with '-'"),
            K::StackedNot(prefix) => format!("'{prefix}' has '-NOT' together with another suffix"),
            K::BadCount(prefix) => format!("'{prefix}-COUNT-' needs a number from 1 to 2147483647"),
            K::UnknownShape(word) => format!("'{word}' is no check: the line would be skipped"),
            K::EmptyPattern(name) => format!("'{name}:' has nothing to look for"),
            K::PatternAfterEmpty(name) => format!("'{name}:' takes no text: it looks for an empty line"),
            K::NothingBefore(name) => format!("'{name}:' has no check before it"),
            K::LabelWithVariable(name) => format!("'{name}:' uses or defines a variable"),
            K::OpenRegex => "'{{' has no '}}'".to_owned(),
            K::OpenBlock => "'[[' has no ']]'".to_owned(),
            K::StrayBracket(text) => format!("'{text}' is no variable"),
            K::Regex(text, error) => format!("'{text}' {error}"),
            K::BlankInName => "white space in a variable's name".to_owned(),
            K::BadName(text, _) => format!("'{text}' is no variable name"),
            K::NameTaken(name, _) => format!("'{name}' is a string variable and a numeric variable"),
            K::FarReference(name) => {
                format!("'{name}' is in a group past the ninth and cannot be used in its own line")
            }
            K::Numeric(error) => error.message(),
            K::DefineWithoutValue(text) => format!("'-D{text}' has no '='"),
            K::DefineWithoutName(text) => format!("'-D{text}' has no name before the '='"),
            K::DefineUndefined(text, name) => format!("`{text}` uses '{name}', which has no value"),
            K::DefineValue(reason) => reason.clone(),
        }
    }

    /// The way out, if one is known.
    pub fn help(&self) -> Option<String> {
        use CheckErrorKind as K;
        Some(match &self.kind {
            K::UnusedPrefixes(_) => {
                "write a check for it, take it off the command line, or pass '--allow-unused-prefixes'".to_owned()
            }
            K::NoChecks(_) => "name the prefixes that the file has with '--check-prefixes'".to_owned(),
            K::Underscore(prefix) => format!("write '{prefix}-…'"),
            K::StackedNot(_) | K::UnknownShape(_) => {
                "use one suffix: -NEXT, -SAME, -EMPTY, -NOT, -DAG, -LABEL or -COUNT-n, and no modifier but {LITERAL}"
                    .to_owned()
            }
            K::NothingBefore(_) => "put a plain check before it".to_owned(),
            K::LabelWithVariable(_) => {
                "blocks are cut before variables have values: match it with '{{…}}'".to_owned()
            }
            K::OpenBlock | K::StrayBracket(_) | K::BadName(..) | K::BlankInName => {
                "text with '[[' in it is written as CHECK{LITERAL}, or as '{{\\[\\[}}'".to_owned()
            }
            K::OpenRegex => "text with '{{' in it is written as CHECK{LITERAL}, or as '{{\\{\\{}}'".to_owned(),
            K::Regex(text, EreError::Brace | EreError::Count) if text.contains('{') => {
                format!("the first '}}}}' ends the expression: write {{{{({text}}})}}}}")
            }
            K::Regex(_, EreError::Repetition) => {
                "the dialect is POSIX extended: no '*?', '++', '(?:…)', '\\d'".to_owned()
            }
            K::Regex(_, EreError::Empty) => "write '()' for what may be nothing".to_owned(),
            K::Numeric(NumericError::Conflict(..)) => {
                "give the format: '[[#%x, …]]', '[[#%u, …]]'".to_owned()
            }
            K::Numeric(NumericError::SameLine(_)) => "use it from the next check line on".to_owned(),
            K::DefineWithoutValue(text) => format!("write '-D{text}=VALUE'"),
            _ => return None,
        })
    }
}

impl NumericError {
    fn message(&self) -> String {
        match self {
            Self::Format(text) | Self::FormatLetter(text) => {
                format!("'{text}' is no format: %u, %d, %x or %X, as in '[[#%.8x, V:]]'")
            }
            Self::AlternateForm => "'#' goes with %x and %X only".to_owned(),
            Self::Precision => {
                format!("the precision is no number up to {}", super::format::MAX_PRECISION)
            }
            Self::EmptyConstraint => "'==' has nothing behind it".to_owned(),
            Self::OperandMissing => "an operand is missing".to_owned(),
            Self::Operand(text) | Self::LaterOperand(text) if text.is_empty() => {
                "an operand is missing".to_owned()
            }
            Self::Operand(text) | Self::LaterOperand(text) => {
                format!("'{text}' is no number, variable or function call")
            }
            Self::Operator(operator) => {
                format!("'{}' is no operator: + and - are", operator.escape_ascii())
            }
            Self::Parenthesis | Self::CallParenthesis => "a parenthesis has no partner".to_owned(),
            Self::Depth => "the parentheses are nested too deeply".to_owned(),
            Self::Function(name) => format!("'{name}' is no function: add, sub, mul, div, min, max are"),
            Self::Arguments(name, count) => format!("'{name}' takes 2 arguments, not {count}"),
            Self::MissingArgument => "an argument is missing".to_owned(),
            Self::Trailing(text) => format!("'{text}' is left over behind the end"),
            Self::LegacyTrailing(_) | Self::LegacyParenthesis | Self::LegacyCall => {
                "'[[@LINE…]]' takes one number only: use '[[#@LINE…]]'".to_owned()
            }
            Self::Name(text) => format!("'{text}' is no variable name"),
            Self::DefinedPseudo(name) => format!("'{name}' cannot be defined: names with '@' are fixed"),
            Self::Pseudo(name) => format!("'{name}' does not exist: @LINE does"),
            Self::SameLine(name) => format!("'{name}' is defined in the same line"),
            Self::Conflict((left, its), (right, others)) => {
                format!("`{left}` ({its}) and `{right}` ({others}) are mixed and no format is given")
            }
            Self::Redefined(name) => format!("'{name}' was defined or used before with another format"),
            Self::TooLarge => "a number has more than 10,000 digits".to_owned(),
        }
    }
}
