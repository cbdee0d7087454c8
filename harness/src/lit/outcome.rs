//! How a test came out: lit's results, and what is kept of a test that was run.

use super::googletest::Case;
use super::log::LineRan;
use std::collections::BTreeSet;
use std::time::Duration;

/// A result of lit's, in the order in which lit lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Left out by a filter.
    Excluded,
    /// Not reached.
    Skipped,
    /// Not for this place.
    Unsupported,
    /// Passed.
    Pass,
    /// Passed after it had failed.
    FlakyPass,
    /// Failed, as expected.
    Xfail,
    /// It could not be decided.
    Unresolved,
    /// Ended at the limit.
    Timeout,
    /// Failed.
    Fail,
    /// Passed against expectation.
    Xpass,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Excluded,
        Self::Skipped,
        Self::Unsupported,
        Self::Pass,
        Self::FlakyPass,
        Self::Xfail,
        Self::Unresolved,
        Self::Timeout,
        Self::Fail,
        Self::Xpass,
    ];

    /// As in result lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Excluded => "EXCLUDED",
            Self::Skipped => "SKIPPED",
            Self::Unsupported => "UNSUPPORTED",
            Self::Pass => "PASS",
            Self::FlakyPass => "FLAKYPASS",
            Self::Xfail => "XFAIL",
            Self::Unresolved => "UNRESOLVED",
            Self::Timeout => "TIMEOUT",
            Self::Fail => "FAIL",
            Self::Xpass => "XPASS",
        }
    }

    /// As in the summary.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Excluded => "Excluded",
            Self::Skipped => "Skipped",
            Self::Unsupported => "Unsupported",
            Self::Pass => "Passed",
            Self::FlakyPass => "Passed With Retry",
            Self::Xfail => "Expectedly Failed",
            Self::Unresolved => "Unresolved",
            Self::Timeout => "Timed Out",
            Self::Fail => "Failed",
            Self::Xpass => "Unexpectedly Passed",
        }
    }

    /// Whether it fails the run.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Unresolved | Self::Timeout | Self::Fail | Self::Xpass)
    }
}

/// A place where lit's rules hide what went wrong. The verdict is lit's all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trap {
    /// `cd` into a folder that is not there succeeds.
    CdNowhere,
    /// Under `ulimit` a death by a signal is an exit status, and `not` takes it for the failure that is expected.
    CrashUnderLimit,
    /// `XFAIL` is content with a program that could not be started.
    XfailNotStarted,
    /// `XFAIL` is content with a crash.
    XfailCrash,
    /// A `%{name}` that nothing defines is an argument.
    UnknownSubstitution,
    /// A failure before `;` is forgotten.
    Forgotten,
    /// A process outlived its test, which lit does not see.
    LeftBehind,
}

impl Trap {
    /// What happened, for a list of tests.
    pub const fn text(self) -> &'static str {
        match self {
            Self::CdNowhere => "`cd` into a folder that does not exist, which lit lets succeed",
            Self::CrashUnderLimit => {
                "a crash under `ulimit`, which `not` takes for the failure that is expected"
            }
            Self::XfailNotStarted => "XFAIL held because a program could not be started",
            Self::XfailCrash => "XFAIL held because of a crash",
            Self::UnknownSubstitution => "a `%{name}` that nothing defines was handed on as it is",
            Self::Forgotten => "a failure before `;`, which lit forgets",
            Self::LeftBehind => "a process that outlived its test and was ended",
        }
    }
}

/// How a test came out.
#[derive(Debug)]
pub struct Outcome {
    /// lit's result.
    pub code: Code,
    /// The account that lit shows.
    pub output: String,
    /// How often it was run.
    pub attempts: u32,
    /// How often it might have been.
    pub allowed: u32,
    /// How long it took.
    pub elapsed: Duration,
    /// Features that it requires and that are missing.
    pub missing: Vec<String>,
    /// What stands in its place in lists and reports: the cases of a program that ran to its end.
    pub cases: Option<Vec<Case>>,
    /// What was run, when it is kept.
    pub lines: Vec<LineRan>,
    /// Where lit's rules may have hidden something.
    pub traps: BTreeSet<Trap>,
    /// Exit status of the script.
    pub status: i32,
    /// Seconds that it could take; 0 for no limit.
    pub limit: u64,
}

impl Outcome {
    /// One without an attempt.
    pub fn new(code: Code, output: impl Into<String>) -> Self {
        Self {
            code,
            output: output.into(),
            attempts: 1,
            allowed: 1,
            elapsed: Duration::ZERO,
            missing: Vec::new(),
            cases: None,
            lines: Vec::new(),
            traps: BTreeSet::new(),
            status: 0,
            limit: 0,
        }
    }
}
