//! What a caller may ask of the matcher. Reading a command line is in `arguments`.

use super::error::{CheckError, CheckErrorKind};

/// Every option of LLVM's FileCheck that it documents, with its defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Name of the file with the checks.
    pub check_file: Option<String>,
    /// Name of the input; standard input if none.
    pub input_file: Option<String>,
    /// Prefixes of check lines; `CHECK` if none is given.
    pub check_prefixes: Vec<String>,
    /// Prefixes of lines to ignore; `COM` and `RUN` if none is given.
    pub comment_prefixes: Vec<String>,
    /// A prefix without a check line is no mistake.
    pub allow_unused_prefixes: bool,
    /// An empty input is no mistake.
    pub allow_empty: bool,
    /// A positive match has to be a whole line.
    pub match_full_lines: bool,
    /// Blanks and tabs are taken as they are.
    pub strict_whitespace: bool,
    /// ASCII letters match without regard to case.
    pub ignore_case: bool,
    /// Patterns that may not occur between positive matches.
    pub implicit_check_not: Vec<String>,
    /// Variables without `$` end at a `-LABEL`.
    pub enable_var_scope: bool,
    /// Definitions: `NAME=VALUE`, or `#NAME=NUMBER`, `#%x,NAME=EXPRESSION`.
    pub defines: Vec<String>,
    /// Matches of neighbouring `-DAG` lines may overlap.
    pub allow_deprecated_dag_overlap: bool,
    /// When the annotated input is shown.
    pub dump_input: DumpInput,
    /// Lines before and behind those that the filter selects; 5 if none is given.
    pub dump_input_context: Option<u32>,
    /// Which lines are shown.
    pub dump_input_filter: Option<DumpFilter>,
    /// 0, 1 for `-v` (good matches too), 2 for `-vv` (all that was tried).
    pub verbosity: u8,
    /// Colours are asked for.
    pub color: bool,
    /// Refuse what LLVM's program passes over: unknown and stacked suffixes, unknown modifiers, and patterns that can
    /// never match since their pieces are expressions and their whole is none.
    pub strict: bool,
}

/// When the annotated input is shown. The earliest in this list wins if several are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DumpInput {
    /// Explain the format and end.
    Help,
    /// Always.
    Always,
    /// When a check failed.
    #[default]
    Fail,
    /// Never.
    Never,
}

/// Which input lines are shown. The earliest in this list wins if several are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DumpFilter {
    /// All.
    All,
    /// Those with a part of an annotation.
    AnnotationFull,
    /// Those where an annotation starts.
    Annotation,
    /// Those where an annotation of a failure starts.
    Error,
}

const DEFAULT_CHECK_PREFIXES: [&str; 1] = ["CHECK"];
const DEFAULT_COMMENT_PREFIXES: [&str; 2] = ["COM", "RUN"];

impl Options {
    /// The check prefixes in force.
    pub fn check_prefixes(&self) -> Vec<&str> {
        or_default(&self.check_prefixes, &DEFAULT_CHECK_PREFIXES)
    }

    /// The comment prefixes in force.
    pub fn comment_prefixes(&self) -> Vec<&str> {
        or_default(&self.comment_prefixes, &DEFAULT_COMMENT_PREFIXES)
    }

    /// The filter of the dump in force.
    pub fn filter(&self) -> DumpFilter {
        self.dump_input_filter.unwrap_or(match self.dump_input {
            DumpInput::Always => DumpFilter::All,
            _ => DumpFilter::Error,
        })
    }

    /// The dump's context in force, in lines.
    pub fn context(&self) -> usize {
        self.dump_input_context.unwrap_or(5) as usize
    }

    /// Prefixes that cannot be, or are given twice. Defaults are not looked at, but may not be given again.
    pub(super) fn prefix_errors(&self) -> Vec<CheckError> {
        let mut seen: Vec<&str> = Vec::new();
        if self.check_prefixes.is_empty() {
            seen.extend(DEFAULT_CHECK_PREFIXES);
        }
        if self.comment_prefixes.is_empty() {
            seen.extend(DEFAULT_COMMENT_PREFIXES);
        }
        let mut errors = Vec::new();
        let checks = self.check_prefixes.iter().map(|prefix| (prefix, "check"));
        let comments = self.comment_prefixes.iter().map(|prefix| (prefix, "comment"));
        for (prefix, what) in checks.chain(comments) {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            if prefix.is_empty() || !prefix.bytes().all(allowed) {
                errors.push(CheckErrorKind::BadPrefix(prefix.clone(), what));
            } else if seen.contains(&prefix.as_str()) {
                errors.push(CheckErrorKind::RepeatedPrefix(prefix.clone(), what));
            }
            seen.push(prefix);
        }
        errors.into_iter().map(CheckError::request).collect()
    }
}

fn or_default<'a>(given: &'a [String], default: &[&'static str]) -> Vec<&'a str> {
    if given.is_empty() { default.to_vec() } else { given.iter().map(String::as_str).collect() }
}
