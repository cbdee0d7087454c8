//! One entry per directive. Reading, `explain`, the reference page and spelling suggestions come from here.
//!
//! What must not enter: how a payload is parsed (`payload`) and what it is bound to in a file (`bind`).

/// Which directive. The forms of `EXPECT` are directives of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the table below documents each")]
pub enum Keyword {
    Run,
    RunBuild,
    ExecRun,
    Expect,
    ExpectNear,
    ExpectContains,
    ExpectStderr,
    ExpectExit,
    ExpectSignal,
    ExpectRefused,
    ExpectFile,
    ExpectIdentical,
    ExpectLink,
    Placed,
    ControlRun,
    Devices,
    Scope,
    Requires,
    Unsupported,
    Xfail,
    Variants,
    Peers,
    Timeout,
    Serial,
    AllowRetries,
    Define,
    Redefine,
    End,
    Com,
    Check,
}

/// What stands behind the colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// A command line.
    Command,
    /// Text that is compared: blanks count, nothing continues.
    Text,
    /// A `CHECK` pattern.
    Pattern,
    /// A boolean expression, or several with commas.
    Expression,
    /// A list, an assignment or a number with its own small grammar.
    Value,
    /// Anything; not read.
    Prose,
    /// Nothing may stand there.
    Nothing,
}

impl PayloadKind {
    /// Whether a `\` at the end goes on in the next line of the same keyword.
    pub const fn continues(self) -> bool {
        matches!(self, Self::Command | Self::Expression | Self::Value)
    }

    const fn describe(self) -> &'static str {
        match self {
            Self::Command => "a command line",
            Self::Text => "text",
            Self::Pattern => "a pattern",
            Self::Expression => "boolean expressions, separated by commas",
            Self::Value => "see below",
            Self::Prose => "any text",
            Self::Nothing => "nothing",
        }
    }
}

/// What a directive belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The whole file.
    File,
    /// Stands in the order of the commands.
    Sequence,
    /// The nearest `RUN` or `EXEC_RUN` above.
    CommandAbove,
    /// The nearest `EXEC_RUN` above, or the file's only one.
    ExecRun,
    /// The commands that run a matcher on this file.
    Checker,
}

impl Binding {
    const fn describe(self) -> &'static str {
        match self {
            Self::File => "the whole file",
            Self::Sequence => "its place among the commands",
            Self::CommandAbove => "the nearest `RUN` or `EXEC_RUN` above",
            Self::ExecRun => "the nearest `EXEC_RUN` above, or the file's only one",
            Self::Checker => "the `RUN` lines that run `FileCheck` with its prefix",
        }
    }
}

/// What an attribute's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// No value: the word is all.
    Flag,
    /// A word or quoted text.
    Text,
    /// A finite number that is not negative.
    Number,
    /// A day, `YYYY-MM-DD`.
    Date,
    /// No fixed name: the word itself is a device kind.
    DeviceKind,
}

/// An attribute of a directive, in brackets behind the keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Name.
    pub name: &'static str,
    /// Value.
    pub value: AttributeValue,
    /// What it does.
    pub summary: &'static str,
}

/// A directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Which.
    pub id: Keyword,
    /// The word before the colon.
    pub keyword: &'static str,
    /// The first attribute that makes it this form: `near` of `EXPECT(near)`.
    pub form: Option<&'static str>,
    /// What stands behind the colon.
    pub payload: PayloadKind,
    /// Attributes it takes.
    pub attributes: &'static [Attribute],
    /// What it belongs to.
    pub binds: Binding,
    /// Whether a second one (in the file, or for the same command) is refused.
    pub single: bool,
    /// The word without its colon may begin an English sentence (`CHECK that …`).
    pub verb: bool,
    /// One line.
    pub summary: &'static str,
    /// The long text.
    pub detail: &'static str,
    /// A right example, without comment markers.
    pub right: &'static str,
    /// A wrong example.
    pub wrong: &'static str,
}

impl Directive {
    /// `EXPECT(near)`, `RUN`.
    pub fn title(&self) -> String {
        self.form.map_or_else(|| self.keyword.to_owned(), |form| format!("{}({form})", self.keyword))
    }
}

const fn flag(name: &'static str, summary: &'static str) -> Attribute {
    Attribute { name, value: AttributeValue::Flag, summary }
}
const fn text(name: &'static str, summary: &'static str) -> Attribute {
    Attribute { name, value: AttributeValue::Text, summary }
}
const fn number(name: &'static str, summary: &'static str) -> Attribute {
    Attribute { name, value: AttributeValue::Number, summary }
}

/// Suffixes of the `CHECK` family that take no number.
pub const SUFFIXES: &[&str] = &["NEXT", "SAME", "EMPTY", "NOT", "DAG", "LABEL"];

/// Every directive.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        id: Keyword::Run,
        keyword: "RUN",
        form: None,
        payload: PayloadKind::Command,
        attributes: &[],
        binds: Binding::Sequence,
        single: false,
        verb: true,
        summary: "runs a command line on the host",
        detail: "Commands run in file order, before any EXEC_RUN; the test fails at the first that fails. For checks of \
compiled text, refusals and tools. A trailing `\\` continues the line with the next RUN.",
        right: "RUN: tool %s | FileCheck %s\nCHECK: ret",
        wrong: "RUN tool %s",
    },
    Directive {
        id: Keyword::RunBuild,
        keyword: "RUN",
        form: Some("build"),
        payload: PayloadKind::Command,
        attributes: &[flag("build", "makes what the test needs, with tools that a host may lack")],
        binds: Binding::Sequence,
        single: false,
        verb: true,
        summary: "makes something that the test needs; when that fails, the test is skipped as `degraded-build`",
        detail: "For what an optional tool makes, such as a model by a Python package. The command's output is kept in the \
bundle and its last line is the reason of the skip. A skip is never a pass: a run in which nothing else ran does not succeed.",
        right: "RUN(build): make-model %t.mlmodelc\nEXEC_RUN: tool %t.mlmodelc\nEXPECT: 24",
        wrong: "RUN(biuld): make-model %t.mlmodelc",
    },
    Directive {
        id: Keyword::ExecRun,
        keyword: "EXEC_RUN",
        form: None,
        payload: PayloadKind::Command,
        attributes: &[text("on", "the participant of PEERS that runs it")],
        binds: Binding::Sequence,
        single: false,
        verb: false,
        summary: "executes a command line on the requested device, under that device's probe",
        detail: "Without a device it runs on the host, or on the host shim when the file has DEVICES. Something must be \
compared: its output, or at least `EXPECT(exit): 0`.",
        right: "EXEC_RUN: %t.exe\nEXPECT: 24",
        wrong: "EXEC_RUN: %t.exe",
    },
    Directive {
        id: Keyword::Expect,
        keyword: "EXPECT",
        form: None,
        payload: PayloadKind::Text,
        attributes: &[],
        binds: Binding::ExecRun,
        single: false,
        verb: true,
        summary: "one line of stdout",
        detail: "All EXPECT and EXPECT(near) lines of one EXEC_RUN are together its whole stdout, in order, literally; \
`{{regex}}` parts are allowed. One blank after the colon is dropped, trailing blanks count, CRLF equals LF, the last newline \
is optional, an empty EXPECT is an empty line.",
        right: "EXEC_RUN: printf '1\\n2\\n'\nEXPECT: 1\nEXPECT: {{[0-9]}}",
        wrong: "RUN: printf '1\\n'\nEXPECT: 1",
    },
    Directive {
        id: Keyword::ExpectNear,
        keyword: "EXPECT",
        form: Some("near"),
        payload: PayloadKind::Text,
        attributes: &[
            flag("near", "compare numbers within a tolerance"),
            number("rel", "largest relative difference"),
            number("abs", "largest absolute difference"),
        ],
        binds: Binding::ExecRun,
        single: false,
        verb: true,
        summary: "one line of stdout, numbers compared within a tolerance",
        detail: "A number holds when it is within `abs`, or within `rel` times the expected number. What is no number is \
compared literally. NaN equals only NaN, an infinity only itself.",
        right: "EXEC_RUN: %t.exe\nEXPECT(near, rel=1e-5): sum = 0.33333",
        wrong: "EXEC_RUN: %t.exe\nEXPECT(near): sum = 0.33333",
    },
    Directive {
        id: Keyword::ExpectContains,
        keyword: "EXPECT",
        form: Some("contains"),
        payload: PayloadKind::Text,
        attributes: &[flag("contains", "a part of stdout is enough")],
        binds: Binding::ExecRun,
        single: false,
        verb: true,
        summary: "text that occurs in stdout",
        detail: "In order with the other `contains` lines; not mixed with whole-stdout lines for one command.",
        right: "EXEC_RUN: %t.exe\nEXPECT(contains): sum is",
        wrong: "EXEC_RUN: %t.exe\nEXPECT: 1\nEXPECT(contains): sum is",
    },
    Directive {
        id: Keyword::ExpectStderr,
        keyword: "EXPECT",
        form: Some("stderr"),
        payload: PayloadKind::Text,
        attributes: &[flag("stderr", "look at stderr")],
        binds: Binding::CommandAbove,
        single: false,
        verb: true,
        summary: "text that occurs in stderr",
        detail: "In order with the other `stderr` lines of the command.",
        right: "RUN: tool %s\nEXPECT(stderr): warning: unused",
        wrong: "EXPECT(stderr): warning: unused\nRUN: tool %s",
    },
    Directive {
        id: Keyword::ExpectExit,
        keyword: "EXPECT",
        form: Some("exit"),
        payload: PayloadKind::Value,
        attributes: &[flag("exit", "how the program must end")],
        binds: Binding::CommandAbove,
        single: true,
        verb: true,
        summary: "the exit code, 0 to 255, or `nonzero`",
        detail: "The default is exit 0. A death by signal is never an exit code, and a program that could not be started \
is neither.",
        right: "EXEC_RUN: %t.exe\nEXPECT(exit): 3",
        wrong: "EXEC_RUN: %t.exe\nEXPECT(exit): three",
    },
    Directive {
        id: Keyword::ExpectSignal,
        keyword: "EXPECT",
        form: Some("signal"),
        payload: PayloadKind::Value,
        attributes: &[flag("signal", "the signal the program must die of")],
        binds: Binding::CommandAbove,
        single: true,
        verb: true,
        summary: "the signal that ends the program",
        detail: "A name such as SIGSEGV or SIGABRT.",
        right: "EXEC_RUN: %t.exe\nEXPECT(signal): SIGABRT",
        wrong: "EXEC_RUN: %t.exe\nEXPECT(signal): 6",
    },
    Directive {
        id: Keyword::ExpectRefused,
        keyword: "EXPECT",
        form: Some("refused"),
        payload: PayloadKind::Text,
        attributes: &[flag("refused", "the command must refuse")],
        binds: Binding::CommandAbove,
        single: false,
        verb: true,
        summary: "the command above must refuse, and say this",
        detail: "It must exit non-zero by itself (a crash is no refusal) and print the text on stdout or stderr.",
        right: "RUN: tool %s\nEXPECT(refused): error: kinds differ",
        wrong: "RUN: tool %s\nEXPECT(refused):",
    },
    Directive {
        id: Keyword::ExpectFile,
        keyword: "EXPECT",
        form: Some("file"),
        payload: PayloadKind::Value,
        attributes: &[text("file", "the file that the run writes")],
        binds: Binding::ExecRun,
        single: false,
        verb: true,
        summary: "a file written by the run equals a golden file",
        detail: "The file must be written by this run. The golden file stands beside the test.",
        right: "EXEC_RUN: %t.exe -o %t.out\nEXPECT(file=%t.out): ref.out",
        wrong: "EXEC_RUN: %t.exe -o %t.out\nEXPECT(file=%t.out):",
    },
    Directive {
        id: Keyword::ExpectIdentical,
        keyword: "EXPECT",
        form: Some("identical"),
        payload: PayloadKind::Value,
        attributes: &[flag("identical", "the same bytes for every variant")],
        binds: Binding::ExecRun,
        single: false,
        verb: true,
        summary: "`stdout` or `file=PATH` is byte-identical over all variants",
        detail: "Needs VARIANTS: with one variant there is nothing to compare.",
        right: "VARIANTS: mode=jit,aot\nEXEC_RUN: %t.exe --%{mode}\nEXPECT(identical): stdout",
        wrong: "EXEC_RUN: %t.exe\nEXPECT(identical): stdout",
    },
    Directive {
        id: Keyword::ExpectLink,
        keyword: "EXPECT",
        form: Some("link"),
        payload: PayloadKind::Value,
        attributes: &[flag("link", "what crossed the link between two participants")],
        binds: Binding::ExecRun,
        single: true,
        verb: true,
        summary: "`messages=N bytes=N` crossed the link",
        detail: "As counted by the harness, not by the program.",
        right: "PEERS: worker: arch=aarch64\nEXEC_RUN: %t.exe\nEXPECT(link): messages=2 bytes=4096",
        wrong: "PEERS: worker: arch=aarch64\nEXEC_RUN: %t.exe\nEXPECT(link): messages=two",
    },
    Directive {
        id: Keyword::Placed,
        keyword: "PLACED",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[Attribute {
            name: "KIND",
            value: AttributeValue::DeviceKind,
            summary: "only when the test runs on this device kind",
        }],
        binds: Binding::ExecRun,
        single: false,
        verb: false,
        summary: "an assertion on what the probe recorded",
        detail: "A kind of record (kernel, memcpy, peer_copy, memset, plan, energy_delta), conditions on its fields, and a \
condition on how many records match (`count`, at least 1 unless said). 0 and 1 in `device`, `from`, `to` are positions in \
this test's device list. `plan ane>=0.9` asks that this share of the planned model's cost prefers the Neural Engine; a plan is \
no event, so the test needs an `energy_delta` line beside it.",
        right: "DEVICES: cuda\nEXEC_RUN: %t.exe\nEXPECT: ok\nPLACED: kernel name=matmul* count>=1",
        wrong: "DEVICES: cuda\nEXEC_RUN: %t.exe\nEXPECT: ok\nPLACED: kernel nmae=matmul*",
    },
    Directive {
        id: Keyword::ControlRun,
        keyword: "CONTROL_RUN",
        form: None,
        payload: PayloadKind::Command,
        attributes: &[],
        binds: Binding::ExecRun,
        single: false,
        verb: false,
        summary: "a run whose output the expectations must reject",
        detail: "It proves that the expectations can fail.",
        right: "EXEC_RUN: %t.exe 4\nEXPECT: 24\nCONTROL_RUN: %t.exe 5",
        wrong: "CONTROL_RUN: %t.exe 5",
    },
    Directive {
        id: Keyword::Devices,
        keyword: "DEVICES",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[flag("no-shim", "there is no host shim: without a device only the RUN lines run")],
        binds: Binding::File,
        single: true,
        verb: false,
        summary: "device kinds on which the test can be placed",
        detail: "Alternatives separated by commas, one result per test and device; each may have conditions in brackets: \
count, capability, name, memory, driver, class.",
        right: "DEVICES: cuda(count=2, capability>=sm_90), opencl\nEXEC_RUN: %t.exe\nEXPECT: ok",
        wrong: "DEVICES: *:0\nEXEC_RUN: %t.exe\nEXPECT: ok",
    },
    Directive {
        id: Keyword::Scope,
        keyword: "SCOPE",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[],
        binds: Binding::File,
        single: false,
        verb: false,
        summary: "what a device result covers, `key=value …`",
        detail: "Printed in the cell of the matrix. A key is said once.",
        right: "SCOPE: dtype=f16 shape=512x512 op=matmul",
        wrong: "SCOPE: f16 matmul",
    },
    Directive {
        id: Keyword::Requires,
        keyword: "REQUIRES",
        form: None,
        payload: PayloadKind::Expression,
        attributes: &[],
        binds: Binding::File,
        single: false,
        verb: false,
        summary: "features without which the test is skipped",
        detail: "All expressions of all REQUIRES lines must hold. A feature that nothing declares is refused.",
        right: "REQUIRES: linux && tool:python3, x86_64 || aarch64",
        wrong: "REQUIRES: linux &&",
    },
    Directive {
        id: Keyword::Unsupported,
        keyword: "UNSUPPORTED",
        form: None,
        payload: PayloadKind::Expression,
        attributes: &[],
        binds: Binding::File,
        single: false,
        verb: false,
        summary: "features with which the test is skipped",
        detail: "One expression that holds is enough. `*` is not allowed: a test that is off everywhere is no test.",
        right: "UNSUPPORTED: windows",
        wrong: "UNSUPPORTED: *",
    },
    Directive {
        id: Keyword::Xfail,
        keyword: "XFAIL",
        form: None,
        payload: PayloadKind::Expression,
        attributes: &[
            flag("crash", "a death by signal is the expected failure"),
            flag("timeout", "a time-out is the expected failure"),
            flag("placement", "the outcome must be `not placed` or `inconclusive`"),
            text("reason", "why it fails"),
            Attribute { name: "review", value: AttributeValue::Date, summary: "when to look again" },
        ],
        binds: Binding::File,
        single: false,
        verb: false,
        summary: "where the test is expected to fail; `*` is everywhere",
        detail: "A failure that crashes, times out or cannot start is not the expected one unless the attribute says so. \
`XFAIL(placement): *` is for known liars and fills no cell.",
        right: "XFAIL(reason=\"rounding\", review=2027-01-31): aarch64",
        wrong: "XFAIL aarch64",
    },
    Directive {
        id: Keyword::Variants,
        keyword: "VARIANTS",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[],
        binds: Binding::File,
        single: false,
        verb: false,
        summary: "one test per value, `%{name}` in commands",
        detail: "Several lines multiply. A name that equals a built-in substitution is refused.",
        right: "VARIANTS: mode=jit,aot\nRUN: tool --%{mode} %s",
        wrong: "VARIANTS: jit,aot",
    },
    Directive {
        id: Keyword::Peers,
        keyword: "PEERS",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[],
        binds: Binding::File,
        single: false,
        verb: false,
        summary: "another participant of the run",
        detail: "`name: host-id` or `name: arch=NAME`. EXEC_RUN(on=name) runs there.",
        right: "PEERS: worker: arch=aarch64\nEXEC_RUN(on=worker): %t.exe\nEXPECT: ok",
        wrong: "PEERS: arch=aarch64",
    },
    Directive {
        id: Keyword::Timeout,
        keyword: "TIMEOUT",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[],
        binds: Binding::File,
        single: true,
        verb: false,
        summary: "the longest time of the test",
        detail: "`500ms`, `30s`, `2m`, `1h`; a number alone is seconds.",
        right: "TIMEOUT: 30s",
        wrong: "TIMEOUT: 0",
    },
    Directive {
        id: Keyword::Serial,
        keyword: "SERIAL",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[],
        binds: Binding::File,
        single: true,
        verb: false,
        summary: "a lock: tests with the same name run one after the other",
        detail: "The name has letters, digits, `-`, `_` and `.`.",
        right: "SERIAL: port-8080",
        wrong: "SERIAL: port 8080",
    },
    Directive {
        id: Keyword::AllowRetries,
        keyword: "ALLOW_RETRIES",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[],
        binds: Binding::File,
        single: true,
        verb: false,
        summary: "how often a failure may be tried again, 0 to 100",
        detail: "A pass after a retry is flaky, not passed.",
        right: "ALLOW_RETRIES: 2",
        wrong: "ALLOW_RETRIES: often",
    },
    Directive {
        id: Keyword::Define,
        keyword: "DEFINE",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[],
        binds: Binding::Sequence,
        single: false,
        verb: false,
        summary: "defines a substitution, `%{name} = text`",
        detail: "Holds from here on. A name that exists is refused: REDEFINE changes it.",
        right: "DEFINE: %{check} = FileCheck %s\nRUN: tool %s | %{check}\nCHECK: ret",
        wrong: "DEFINE: check = FileCheck %s",
    },
    Directive {
        id: Keyword::Redefine,
        keyword: "REDEFINE",
        form: None,
        payload: PayloadKind::Value,
        attributes: &[],
        binds: Binding::Sequence,
        single: false,
        verb: false,
        summary: "changes a substitution that DEFINE made",
        detail: "Holds from here on.",
        right: "DEFINE: %{level} = 1\nREDEFINE: %{level} = 2\nRUN: tool -O%{level} %s",
        wrong: "REDEFINE: %{level} = 2",
    },
    Directive {
        id: Keyword::End,
        keyword: "END",
        form: None,
        payload: PayloadKind::Nothing,
        attributes: &[],
        binds: Binding::File,
        single: true,
        verb: true,
        summary: "`END.` ends the directives of the file",
        detail: "Written with a full stop. A directive below it is refused, since it would do nothing. Check lines may stand \
below it: FileCheck reads the whole file.",
        right: "RUN: true\nEND.",
        wrong: "END.\nRUN: true",
    },
    Directive {
        id: Keyword::Com,
        keyword: "COM",
        form: None,
        payload: PayloadKind::Prose,
        attributes: &[],
        binds: Binding::File,
        single: false,
        verb: false,
        summary: "a comment that may hold directives as text",
        detail: "Nothing on the line is read.",
        right: "COM: a CHECK: here is text",
        wrong: "COM a comment",
    },
    Directive {
        id: Keyword::Check,
        keyword: "CHECK",
        form: None,
        payload: PayloadKind::Pattern,
        attributes: &[],
        binds: Binding::Checker,
        single: false,
        verb: true,
        summary: "a pattern for FileCheck",
        detail: "For each prefix that a RUN line of the file (or the suite) names, with -NEXT -SAME -EMPTY -NOT -DAG -LABEL \
-COUNT-n and {LITERAL}. Without a prefix flag the prefix is CHECK.",
        right: "RUN: tool %s | FileCheck %s\nCHECK: entry\nCHECK-NEXT: ret",
        wrong: "RUN: tool %s | FileCheck %s\nCHECK: entry\nCHECK-NXT: ret",
    },
];

/// The plain entry of a keyword (for `EXPECT` the whole-stdout form).
pub fn by_keyword(word: &str) -> Option<&'static Directive> {
    DIRECTIVES.iter().find(|d| d.keyword == word)
}

/// The entry of an id.
pub fn entry(id: Keyword) -> &'static Directive {
    DIRECTIVES.iter().find(|d| d.id == id).expect("every keyword has an entry")
}

/// All forms of a keyword.
pub fn forms(word: &str) -> impl Iterator<Item = &'static Directive> {
    DIRECTIVES.iter().filter(move |d| d.keyword == word)
}

/// Keywords, each once.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    DIRECTIVES.iter().filter(|d| d.form.is_none()).map(|d| d.keyword)
}

/// The directive as a section of the reference page.
pub(crate) fn section(directive: &Directive) -> String {
    let mut page = format!("{}: {}.\n\n{}\n", directive.title(), directive.summary, directive.detail);
    page +=
        &format!("\nPayload: {}. Belongs to: {}.", directive.payload.describe(), directive.binds.describe());
    page += if directive.single { " A second one is refused.\n" } else { "\n" };
    if !directive.attributes.is_empty() {
        page += "\nAttributes:\n";
        for attribute in directive.attributes {
            let form = match attribute.value {
                AttributeValue::Flag | AttributeValue::DeviceKind => attribute.name.to_owned(),
                AttributeValue::Text => format!("{}=TEXT", attribute.name),
                AttributeValue::Number => format!("{}=NUMBER", attribute.name),
                AttributeValue::Date => format!("{}=YYYY-MM-DD", attribute.name),
            };
            page += &format!("  {form}: {}\n", attribute.summary);
        }
    }
    page + &crate::explain::examples(directive.right, directive.wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_unique() {
        for (i, a) in DIRECTIVES.iter().enumerate() {
            for b in &DIRECTIVES[i + 1..] {
                assert_ne!(a.id, b.id);
                assert_ne!(a.title(), b.title());
            }
        }
    }
}
