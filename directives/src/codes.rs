//! One entry per finding code: what `explain CODE` prints.
//!
//! What must not enter: how a finding is found.

/// A finding code with its long text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// As printed with the finding.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The long text: why it is refused and the ways out.
    pub detail: &'static str,
    /// A file that has the fault.
    pub wrong: &'static str,
    /// The same, mended.
    pub right: &'static str,
}

macro_rules! codes {
    ($($constant:ident $name:literal: $summary:literal, $detail:literal, wrong $wrong:literal, right $right:literal;)*) => {
        $(#[doc = $summary] pub const $constant: &str = $name;)*
        /// Every code.
        pub const CODES: &[Code] = &[$(Code {
            name: $name, summary: $summary, detail: $detail, wrong: $wrong, right: $right,
        }),*];
    };
}

codes! {
    UNKNOWN_DIRECTIVE "unknown-directive": "A word in capitals before a colon that is no directive.",
        "At the beginning of a comment a WORD: in capitals is read as a directive, so that a misspelt one cannot be stepped over \
in silence. Ways out: spell it right, write the word in lower case, or list it under [directives] prose.",
        wrong "RUN: true\nRESULT_IS: 24", right "RUN: true\nresult is: 24";
    NEAR_MISS "near-miss": "A word one or two slips away from a directive.",
        "A letter missing, doubled or swapped, `_` for `-`, a blank before the colon, or `=` or `;` in place of it. Real tools \
step over such a line and the test stays green.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK: a\nCHEKC: b", right "RUN: tool %s | FileCheck %s\nCHECK: a\nCHECK: b";
    MISSING_COLON "missing-colon": "A directive without its colon.",
        "Without the colon the line is a plain comment for every tool, and its claim is never tested. If it is prose, do not \
begin the comment with the word in capitals.",
        wrong "RUN: true\nXFAIL windows", right "RUN: true\nXFAIL: windows";
    LETTER_CASE "letter-case": "A directive in the wrong letter case.",
        "Keywords are in capitals. A word with two or more capitals that differs from a directive only in case is a slip; \
all-lower and Capitalised words are prose.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK: a\nCHECk: b", right "RUN: tool %s | FileCheck %s\nCHECK: a\nCHECK: b";
    DOUBLED_MARKER "doubled-marker": "A directive behind a doubled comment marker.",
        "Some projects read a doubled marker as prose, the tools read it as a directive. It is refused rather than guessed: \
write one marker, or write the keyword in lower case or back quotes.",
        wrong "# RUN: true\n## REQUIRES: linux", right "# RUN: true\n# REQUIRES: linux";
    FOREIGN_MARKER "foreign-marker": "A directive where this kind of file has no comment.",
        "A directive is the first thing in a comment of the file's kind. This line looks like one and would do nothing.",
        wrong "// RUN: true\n# XFAIL: linux", right "// RUN: true\n// XFAIL: linux";
    AFTER_CODE "after-code": "A directive in a comment behind code.",
        "Only check lines may stand behind code. Put other directives on a line of their own.",
        wrong "// RUN: true\nf(); // REQUIRES: linux", right "// RUN: true\n// REQUIRES: linux\nf();";
    PUSHED_IN "pushed-in": "A directive in the middle of a comment.",
        "A comment that was wrapped anew has taken a directive into its text, where it is not read. Put it on a line of its \
own; if it is talked about, put it in back quotes.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK: a\nThe sum is folded. CHECK: 7",
        right "RUN: tool %s | FileCheck %s\nCHECK: a\nThe sum is folded.\nCHECK: 7";
    UNKNOWN_SUFFIX "unknown-suffix": "A check suffix that does not exist.",
        "The suffixes are -NEXT -SAME -EMPTY -NOT -DAG -LABEL and -COUNT-n, the only modifier is {LITERAL}. If the whole word \
is meant as a prefix, name it in a RUN line.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK: a\nCHECK-NXT: b", right "RUN: tool %s | FileCheck %s\nCHECK: a\nCHECK-NEXT: b";
    STACKED_SUFFIX "stacked-suffix": "Two check suffixes put together.",
        "Suffixes cannot be combined; some pairs are skipped by FileCheck without a word.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK: a\nCHECK-NEXT-NOT: b", right "RUN: tool %s | FileCheck %s\nCHECK: a\nCHECK-NOT: b";
    UNNAMED_PREFIX "unnamed-prefix": "Check lines whose prefix no RUN line names.",
        "They are never compared with anything. Name the prefix in a RUN line (--check-prefixes=A,B), or take the lines out.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK: a\nFAST-NEXT: b", right "RUN: tool %s | FileCheck %s --check-prefixes=CHECK,FAST\nCHECK: a\nFAST-NEXT: b";
    UNUSED_PREFIX "unused-prefix": "A prefix that a RUN line names and no check line has.",
        "The RUN line checks less than it says. Prefixes that the suite hands to every file belong under [directives] prefixes; \
those may be unused.",
        wrong "RUN: tool %s | FileCheck %s --check-prefixes=CHECK,FAST\nCHECK: a", right "RUN: tool %s | FileCheck %s\nCHECK: a";
    RESERVED_PREFIX "reserved-prefix": "A check prefix that is a directive.",
        "A line with this word would have two meanings. Choose another prefix.",
        wrong "RUN: tool %s | FileCheck %s --check-prefix=EXPECT", right "RUN: tool %s | FileCheck %s --check-prefix=OUTPUT\nOUTPUT: a";
    AMBIGUOUS_PREFIX "ambiguous-prefix": "A check prefix that ends in a suffix.",
        "A line with this word can be read in two ways, and tools differ. Choose another prefix.",
        wrong "RUN: tool %s | FileCheck %s --check-prefix=UP-NEXT\nUP-NEXT: a", right "RUN: tool %s | FileCheck %s --check-prefix=UP\nUP: a";
    BAD_PREFIX "bad-prefix": "A check prefix that FileCheck does not take.",
        "A prefix begins with a letter and has letters, digits, `-` and `_`. Several prefixes stand behind --check-prefixes, in \
the plural, with commas; each is named once.",
        wrong "RUN: tool %s | FileCheck %s --check-prefix=A,B", right "RUN: tool %s | FileCheck %s --check-prefixes=A,B\nA: x\nB: y";
    NO_CHECKER "no-checker": "Check lines in a file that no RUN line checks.",
        "No RUN line hands its output to FileCheck with this file, so the lines are never compared.",
        wrong "RUN: tool %s > %t\nCHECK: a", right "RUN: tool %s | FileCheck %s\nCHECK: a";
    NO_INPUT "no-input": "A FileCheck that is fed by nothing.",
        "It stands first in its pipe and reads no file, so it would check empty input.",
        wrong "RUN: FileCheck %s\nCHECK: a", right "RUN: tool %s | FileCheck %s\nCHECK: a";
    AFTER_END "after-end": "A directive after `END.`.",
        "Reading stops at `END.`; what stands below does nothing, check lines apart: FileCheck reads the whole file.",
        wrong "RUN: true\nEND.\nREQUIRES: linux", right "RUN: true\nREQUIRES: linux\nEND.";
    UNBOUND "unbound": "A directive that binds to a command where there is none.",
        "EXPECT(refused), (exit), (signal) and (stderr) belong to the nearest RUN or EXEC_RUN above; the other EXPECT forms, \
PLACED and CONTROL_RUN to the nearest EXEC_RUN above, or to the file's only one.",
        wrong "RUN: true\nEXPECT: 24", right "EXEC_RUN: echo 24\nEXPECT: 24";
    NOTHING_COMPARED "nothing-compared": "An EXEC_RUN with nothing to compare.",
        "It passes whatever it prints. Say what it must print, or state EXPECT(exit): 0 to check only that.",
        wrong "EXEC_RUN: %t.exe", right "EXEC_RUN: %t.exe\nEXPECT(exit): 0";
    ALWAYS_TRUE "always-true": "A line that cannot fail.",
        "What would fail it is taken back by `|| true` or by a command after `;`, or the pattern accepts every text.",
        wrong "RUN: tool %s | FileCheck %s || true\nCHECK: a", right "RUN: tool %s | FileCheck %s\nCHECK: a";
    UNKNOWN_ATTRIBUTE "unknown-attribute": "An attribute that the directive does not take.",
        "Each directive takes only the attributes that its page lists.",
        wrong "RUN: true\nXFAIL(raeson=\"slow\"): *", right "RUN: true\nXFAIL(reason=\"slow\"): *";
    BAD_ATTRIBUTE "bad-attribute": "An attribute that cannot be read.",
        "Attributes stand in brackets right behind the keyword, separated by commas: `name`, `name=value`, \
`name=\"value with blanks\"`, each once.",
        wrong "RUN: true\nXFAIL(review=soon): *", right "RUN: true\nXFAIL(review=2027-01-31): *";
    UNKNOWN_FEATURE "unknown-feature": "A feature that nothing declares.",
        "It would be false on every host, so the test would be switched off in silence. Spell it as declared, or declare it \
under [features].",
        wrong "RUN: true\nREQUIRES: level-zero", right "RUN: true\nREQUIRES: level_zero";
    UNKNOWN_DEVICE "unknown-device": "A device kind that is not known.",
        "Kinds are built in, declared in the fleet file, or brought by a probe program.",
        wrong "DEVICES: cudda\nEXEC_RUN: a\nEXPECT: b", right "DEVICES: cuda\nEXEC_RUN: a\nEXPECT: b";
    CONTRADICTION "contradiction": "Two directives that cannot both hold.",
        "No host could run the test, or no run could pass it.",
        wrong "REQUIRES: gpu\nUNSUPPORTED: gpu\nRUN: true", right "REQUIRES: gpu\nRUN: true";
    DUPLICATE "duplicate": "A second directive where there can be one.",
        "The first or the second would be ignored.",
        wrong "RUN: true\nTIMEOUT: 3s\nTIMEOUT: 30s", right "RUN: true\nTIMEOUT: 30s";
    CONTINUATION "continuation": "A continuation that nothing follows.",
        "A `\\` at the end of a line goes on in the next line of the same keyword.",
        wrong "RUN: true \\", right "RUN: true";
    BAD_PAYLOAD "bad-payload": "What stands behind the colon cannot be read.",
        "`explain KEYWORD` prints the form, with an example.",
        wrong "RUN: true\nTIMEOUT: soon", right "RUN: true\nTIMEOUT: 30s";
    BAD_EXPRESSION "bad-expression": "A feature expression that cannot be read.",
        "Features, `&&`, `||`, `!`, brackets and `{{regex}}`; commas separate expressions; `*` stands alone, and only in XFAIL.",
        wrong "REQUIRES: linux &&\nRUN: true", right "REQUIRES: linux\nRUN: true";
    BAD_PATTERN "bad-pattern": "A check line that the matcher cannot read.",
        "A bracket without its partner, a regular expression that is none, or a suffix where it means nothing, such as -NEXT \
with no check before it.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK: {{[a-z}}", right "RUN: tool %s | FileCheck %s\nCHECK: {{[a-z]}}";
    BAD_COMMAND "bad-command": "A command line that cannot be read.",
        "The command language is a subset of the POSIX shell's, without a shell process; what it has not is refused.",
        wrong "RUN: echo 'a", right "RUN: echo 'a'";
    TWO_ON_A_LINE "two-on-a-line": "Two directives on one line.",
        "Only the first is read, so the second would do nothing.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK: a CHECK-NEXT: b", right "RUN: tool %s | FileCheck %s\nCHECK: a\nCHECK-NEXT: b";
    NO_COMMAND "no-command": "A file in which no command would run.",
        "Its directives say nothing about anything that happens.",
        wrong "REQUIRES: linux", right "REQUIRES: linux\nRUN: true";
    RESERVED_NAME "reserved-name": "A name that is taken.",
        "A variant or a definition with the name of a built-in substitution would hide it.",
        wrong "RUN: true\nVARIANTS: device=a,b", right "RUN: true\nVARIANTS: mode=a,b";
    EXIT_ONLY "exit-only": "RUN lines that only look at the exit status.",
        "Listed and counted, not refused; --deny exit-only makes it a failure.",
        wrong "RUN: tool %s", right "RUN: tool %s | FileCheck %s\nCHECK: a";
    ONLY_NOT "only-not": "Checks that are all -NOT.",
        "A program that prints nothing passes them. Listed and counted, not refused; --deny weak makes it a failure.",
        wrong "RUN: tool %s | FileCheck %s\nCHECK-NOT: a", right "RUN: tool %s | FileCheck %s\nCHECK: b\nCHECK-NOT: a";
}

/// The entry of a code.
pub fn find(name: &str) -> Option<&'static Code> {
    CODES.iter().find(|c| c.name == name)
}
