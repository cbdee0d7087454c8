//! Shell forms that the language has not: what each is called and the way out. One row per form.

/// A form of a real shell that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Variable,
    CommandSubstitution,
    Arithmetic,
    AnsiQuote,
    Tilde,
    BraceExpansion,
    Comment,
    Subshell,
    Group,
    Background,
    PipeBoth,
    CaseEnd,
    HereDocument,
    ProcessSubstitution,
    Descriptor,
    Clobber,
    ReadWrite,
    Keyword,
    StageNegation,
    LoneAssignment,
    GlobTarget,
    LineBreak,
    Nul,
}

impl Form {
    /// Code, what it does not do, and the way out beside the one that always holds.
    pub(super) const fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Variable => (
                "shell-variable",
                "variables are not expanded",
                "use `env` or a substitution, or put it in single quotes to mean the text",
            ),
            Self::CommandSubstitution => (
                "shell-command-substitution",
                "the output of a command is not put into a line",
                "write it to a file (`cmd > %t.out`) and read that file",
            ),
            Self::Arithmetic => (
                "shell-arithmetic",
                "arithmetic is not evaluated",
                "write the number; `%(line+1)` counts lines",
            ),
            Self::AnsiQuote => {
                ("shell-ansi-quote", "`$` before a quote is not understood", "use `printf` for escapes")
            }
            Self::Tilde => {
                ("shell-tilde", "`~` is not expanded", "a test has no home; use `%t`, or quote it: '~'")
            }
            Self::BraceExpansion => {
                ("shell-brace-expansion", "braces are not expanded", "write the words out, or quote them")
            }
            Self::Comment => {
                ("shell-comment", "a command line has no comments", "use `COM:`, or quote it: '#'")
            }
            Self::Subshell => (
                "shell-subshell",
                "there are no subshells and no functions",
                "join with `&&`, `||`, `;`, write one line per command, or quote it: '('",
            ),
            Self::Group => (
                "shell-group",
                "there are no `{ … }` groups",
                "join with `&&`, `||`, `;`, write one line per command, or quote it: '{'",
            ),
            Self::Background => (
                "shell-background",
                "a command is not left running behind the line",
                "use `&&` or `;`, or quote it: '&'",
            ),
            Self::PipeBoth => ("shell-pipe-both", "`|&` is not understood", "write `2>&1 |`"),
            Self::CaseEnd => ("shell-case", "`;;` belongs to `case`, which is not there", "write one `;`"),
            Self::HereDocument => {
                ("shell-here-document", "there are no here-documents", "use `<<<`, `printf` or a file")
            }
            Self::ProcessSubstitution => (
                "shell-process-substitution",
                "a command does not stand in for a file",
                "write its output to a file first (`cmd > %t.out`)",
            ),
            Self::Descriptor => {
                ("shell-descriptor", "only 0, 1 and 2 can be redirected, and none closed", "use a file")
            }
            Self::Clobber => ("shell-clobber", "`>|` is not understood", "write `>`: it always overwrites"),
            Self::ReadWrite => ("shell-read-write", "`<>` is not understood", "write `<` or `>`"),
            Self::Keyword => (
                "shell-keyword",
                "there are no loops, conditions and functions",
                "write one line per command",
            ),
            Self::StageNegation => (
                "shell-stage-negation",
                "`!` negates a whole pipeline and stands before its first command",
                "write `not` before the one command",
            ),
            Self::LoneAssignment => (
                "shell-variable-alone",
                "a variable that no command gets has no effect",
                "write `export NAME=value`, or a command behind it",
            ),
            Self::GlobTarget => {
                ("shell-glob-target", "a redirection goes to one file", "write its name, or quote the glob")
            }
            Self::LineBreak => {
                ("shell-line-break", "a command line is one line", "use `;`, or one line each")
            }
            Self::Nul => ("shell-nul", "no argument can hold a zero byte", "take it out"),
        }
    }
}

/// The way out that always holds.
pub(super) const REAL_SHELL: &str = "`[suite] shell = \"bash\"` hands lines to a real shell";

/// Words that begin a compound command.
pub(super) const OPENING: [&str; 11] =
    ["for", "while", "until", "if", "case", "select", "function", "[[", "time", "coproc", "{"];

/// Words that go on with one: worth a message only when none was begun.
pub(super) const FOLLOWING: [&str; 8] = ["do", "done", "then", "else", "elif", "fi", "esac", "}"];
