//! What the matcher has to say, in the format of LLVM's program: scripts and tests read it.
//!
//! Written from that program's behaviour. Its texts have white space made canonical, so its places are not always those
//! of the files. What must not enter: anything that decides a verdict.

mod annotate;
mod dump;
mod errors;
mod help;
mod lines;
mod matches;
mod message;

pub(super) use dump::dump;
pub(super) use errors::{argument_text, errors_text};
pub(super) use help::DUMP_HELP;
pub(super) use matches::matches_text;

use super::canonical::Canonical;
use super::file::CheckFile;
use super::log::Log;
use super::options::Options;
use super::scan::Kind;
use lines::Lines;

/// What the texts of one run are about.
pub(super) struct Scene<'a> {
    pub(super) options: &'a Options,
    pub(super) check_name: &'a str,
    pub(super) checks: Canonical<'a>,
    pub(super) file: &'a CheckFile,
    pub(super) input_name: &'a str,
    pub(super) input: Canonical<'a>,
    pub(super) log: &'a Log,
}

impl Scene<'_> {
    fn check_lines(&self) -> Lines<'_> {
        Lines::new(&self.checks.text)
    }

    fn input_lines(&self) -> Lines<'_> {
        Lines::new(&self.input.text)
    }

    /// `CHECK-NEXT`, `CHECK-COUNT`, `CHECK{LITERAL}`.
    fn name(&self, index: usize) -> String {
        let directive = &self.file.directives()[index];
        if directive.implicit.is_some() {
            return "IMPLICIT-CHECK-NOT".to_owned();
        }
        let suffix = match directive.kind {
            Kind::Plain if directive.count > 1 => "-COUNT".to_owned(),
            Kind::Plain => String::new(),
            kind => format!("-{}", kind.suffix()),
        };
        let modifier = if directive.literal { "{LITERAL}" } else { "" };
        format!("{}{suffix}{modifier}", directive.prefix)
    }
}
