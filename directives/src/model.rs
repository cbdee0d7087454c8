//! What a test file says, after reading: steps to run, gates, placements, expectations.

use crate::finding::Finding;
use crate::source::Span;
use std::collections::BTreeMap;
use std::time::Duration;

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

/// A read test file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestFile {
    /// Lines, from 1, with directives that a suite in the lit dialect has enabled: these have our meaning, whatever lit's is.
    pub own_lines: std::collections::BTreeSet<u32>,
    /// What runs, in file order.
    pub steps: Vec<Step>,
    /// `REQUIRES` items: all must hold.
    pub requires: Vec<Gate>,
    /// `UNSUPPORTED` items: none may hold.
    pub unsupported: Vec<Gate>,
    /// `XFAIL` items.
    pub xfail: Vec<Xfail>,
    /// `DEVICES`.
    pub devices: Option<Devices>,
    /// `SCOPE`.
    pub scope: BTreeMap<String, String>,
    /// `VARIANTS`, in file order; they multiply.
    pub variants: Vec<Variant>,
    /// `PEERS`.
    pub peers: Vec<Spanned<(String, String)>>,
    /// `TIMEOUT`.
    pub timeout: Option<Spanned<Duration>>,
    /// `SERIAL` lock name.
    pub serial: Option<Spanned<String>>,
    /// `ALLOW_RETRIES`.
    pub retries: Option<Spanned<u32>>,
    /// Check lines (`CHECK` family), in file order.
    pub checks: Vec<CheckLine>,
    /// Directives by keyword, for the record.
    pub counts: BTreeMap<String, u32>,
    /// Everything that is wrong or worth saying, in file order.
    pub findings: Vec<Finding>,
}

impl TestFile {
    /// Whether any finding refuses the file.
    pub fn is_refused(&self) -> bool {
        self.findings.iter().any(|f| f.severity == crate::Severity::Refusal)
    }

    /// Whether the file has any directive at all.
    pub fn is_test(&self) -> bool {
        !self.counts.is_empty()
    }
}

/// A gate expression as written and parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As written.
    pub text: String,
    /// Parsed.
    pub expr: crate::expr::Expr,
    /// Where.
    pub span: Span,
}

/// `XFAIL`.
#[derive(Clone, Debug, PartialEq)]
pub struct Xfail {
    /// When it applies; `None` is `*`: always.
    pub when: Option<crate::expr::Expr>,
    /// Kind of failure that is expected.
    pub expects: ExpectedFailure,
    /// `reason=`.
    pub reason: Option<String>,
    /// `review=YYYY-MM-DD`.
    pub review: Option<String>,
    /// Where.
    pub span: Span,
}

/// The failure that an `XFAIL` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedFailure {
    /// A check or an exit status that does not hold. Never a crash, a time-out or a program not started.
    Fail,
    /// `XFAIL(crash)`.
    Crash,
    /// `XFAIL(timeout)`.
    Timeout,
    /// `XFAIL(placement)`: the outcome must be `not placed` or `inconclusive`.
    Placement,
}

/// `DEVICES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Alternatives.
    pub alternatives: Vec<DeviceRequest>,
    /// `DEVICES(no-shim)`.
    pub no_shim: bool,
    /// Where.
    pub span: Span,
}

/// One alternative: `cuda(count=2, capability>=sm_90)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    /// Device kind.
    pub kind: String,
    /// How many devices, 1 unless said.
    pub count: u32,
    /// Other conditions.
    pub conditions: Vec<FieldCondition>,
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// `field op value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldCondition {
    /// Field.
    pub field: String,
    /// Comparison.
    pub op: Comparison,
    /// Value: a number in decimal, or text; for text `=` takes `*` as a wildcard.
    pub value: String,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `<`
    Below,
}

impl Comparison {
    /// As written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::Below => "<",
        }
    }
}

/// `VARIANTS: name=a,b,c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name.
    pub name: String,
    /// Values.
    pub values: Vec<String>,
    /// Where.
    pub span: Span,
}

/// Something that happens, in file order.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a file has a handful of steps, most of them commands")]
pub enum Step {
    /// `DEFINE` or `REDEFINE`: from here on `%{name}` stands for the text.
    Define(Define),
    /// `RUN` or `EXEC_RUN`.
    Command(CommandStep),
}

/// `DEFINE: %{name} = text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Define {
    /// With its `%{…}`.
    pub name: String,
    /// Replacement text.
    pub text: String,
    /// `REDEFINE`.
    pub again: bool,
    /// Where.
    pub span: Span,
}

/// The payload of a command directive. Continuation lines are joined; `map` leads back to the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The joined text.
    pub text: String,
    /// The whole payload in the file.
    pub span: Span,
    /// (offset in `text`, offset in the file) at the beginning of each joined piece, ascending.
    pub map: Vec<(usize, usize)>,
}

impl Payload {
    /// The place in the file of a range of `text`.
    pub fn locate(&self, range: Span) -> Span {
        let at = |offset: usize| {
            self.map
                .iter()
                .rev()
                .find(|(from, _)| *from <= offset)
                .map_or(self.span.start, |(from, to)| to + offset - from)
        };
        Span::new(at(range.start), at(range.end.saturating_sub(1)).saturating_add(1))
    }
}

/// `RUN` or `EXEC_RUN` with everything that is bound to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandStep {
    /// `EXEC_RUN` rather than `RUN`.
    pub exec: bool,
    /// `RUN(build)`: its failure is a lesser build and not a failed test.
    pub build: bool,
    /// `EXEC_RUN(on=NAME)`.
    pub on: Option<String>,
    /// The command line before substitution.
    pub command: Payload,
    /// The directive's keyword in the file.
    pub span: Span,
    /// Line of the directive, from 1.
    pub line: u32,
    /// What stdout must be.
    pub stdout: StdoutExpectation,
    /// `EXPECT(stderr)` lines: occur in stderr, in order.
    pub stderr: Vec<TextLine>,
    /// How it must end.
    pub exit: ExitExpectation,
    /// `EXPECT(refused)` lines: it must exit non-zero by itself and say each of these.
    pub refused: Vec<TextLine>,
    /// `EXPECT(file=PATH): golden`.
    pub files: Vec<GoldenFile>,
    /// `EXPECT(identical)`.
    pub identical: Vec<Spanned<IdenticalWhat>>,
    /// `EXPECT(link): messages=N bytes=N`.
    pub link: Option<Spanned<(u64, u64)>>,
    /// `PLACED` lines.
    pub placed: Vec<Placed>,
    /// `CONTROL_RUN` command lines.
    pub controls: Vec<Payload>,
}

/// What stdout must be.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StdoutExpectation {
    /// Nothing is said.
    #[default]
    Unchecked,
    /// These lines are the whole of it.
    Whole(Vec<TextLine>),
    /// These occur in it, in order.
    Contains(Vec<TextLine>),
}

/// One expected line or text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextLine {
    /// The text as written, blank after the colon dropped.
    pub text: String,
    /// Compiled.
    pub pattern: crate::text::TextPattern,
    /// Where the directive stands.
    pub span: Span,
    /// Line of the directive, from 1.
    pub line: u32,
    /// Keyword with its form, `EXPECT(near)`.
    pub keyword: String,
}

/// How a command must end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExitExpectation {
    /// Nothing is said: exit 0.
    #[default]
    Default,
    /// `EXPECT(exit): N`.
    Code(Spanned<i32>),
    /// `EXPECT(exit): nonzero`: by itself, not by a signal.
    Nonzero(Span),
    /// `EXPECT(signal): SIGSEGV`.
    Signal(Spanned<String>),
}

/// `EXPECT(file=PATH): golden`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoldenFile {
    /// Produced by the run; substitutions allowed.
    pub produced: String,
    /// Golden file, relative to the test's folder; substitutions allowed.
    pub golden: String,
    /// Where.
    pub span: Span,
    /// Line of the directive, from 1.
    pub line: u32,
}

/// What must be identical over all variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdenticalWhat {
    /// Standard output.
    Stdout,
    /// A file.
    File(String),
}

/// `PLACED` or `PLACED(kind)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Device kind it is for.
    pub kind: Option<String>,
    /// Kind of record: `kernel`, `memcpy`, `peer_copy`, `memset`, `plan`, `energy_delta`.
    pub record: String,
    /// Conditions on each record.
    pub fields: Vec<FieldCondition>,
    /// Condition on how many match; `>= 1` unless said.
    pub count: (Comparison, u64),
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
    /// Line of the directive, from 1.
    pub line: u32,
}

/// A line of the `CHECK` family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckLine {
    /// Prefix, `CHECK`.
    pub prefix: String,
    /// Suffix with its dash, `-NEXT`; empty for a plain check.
    pub suffix: String,
    /// `{LITERAL}`.
    pub literal: bool,
    /// Pattern text.
    pub pattern: String,
    /// Where the keyword stands.
    pub span: Span,
    /// Line, from 1.
    pub line: u32,
}
