//! How much the checks of a test can refuse: they are tried on outputs that are not its own. Pure: no files, no
//! processes, no clocks.
//!
//! What must not enter: which outputs there are (the run knows the other tests), and what is made of a weak test.

use runproof_directives::check::CheckFile;
use runproof_directives::expect;
use runproof_directives::model::StdoutExpectation;
use runproof_records::record::Strength;

/// Mutants of one kind that are made of an output; of a longer one they are taken at even distances.
const MUTANTS_OF_A_KIND: usize = 8;

/// What accepts or rejects an output.
#[derive(Clone, Debug)]
pub enum Oracle {
    /// The `EXPECT` lines of an `EXEC_RUN`.
    Expect(StdoutExpectation),
    /// The check lines that a FileCheck was given, with its options.
    Checks(Box<CheckFile>),
}

impl Oracle {
    /// Whether it rejects an output.
    pub fn rejects(&self, output: &[u8]) -> bool {
        match self {
            Self::Expect(expectation) => !expect::compare_stdout(expectation, output).held,
            Self::Checks(file) => file.run(output).exit_status() != 0,
        }
    }
}

/// Checks with the output that they accepted.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Id of the test.
    pub test: String,
    /// Position of its suite in the plan.
    pub suite: usize,
    /// Its file.
    pub file: String,
    /// Line of the first check.
    pub line: u32,
    /// The checks.
    pub oracle: Oracle,
    /// The output.
    pub output: Vec<u8>,
}

/// Where an output that is tried comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nothing at all.
    Empty,
    /// Another test of the suite.
    Other,
    /// The test's own, one line dropped.
    Dropped,
    /// The test's own, two lines swapped.
    Swapped,
    /// The test's own, one number changed.
    Number,
}

impl Origin {
    /// Every kind, in the order in which they are told.
    pub const ALL: [Self; 5] = [Self::Empty, Self::Other, Self::Dropped, Self::Swapped, Self::Number];

    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Other => "other tests",
            Self::Dropped => "line dropped",
            Self::Swapped => "lines swapped",
            Self::Number => "number changed",
        }
    }

    /// Whether the output is none of the test's own: checks that accept one are weak.
    pub fn is_foreign(self) -> bool {
        matches!(self, Self::Empty | Self::Other)
    }
}

/// One output that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Where it comes from.
    pub origin: Origin,
    /// Which it is: `the output of b.vx`, `line 3 dropped`.
    pub what: String,
    /// Whether the checks rejected it.
    pub rejected: bool,
}

/// Tries the empty output and those of other tests, each with its file. What equals the own output is left out.
pub fn against_foreign<'o>(
    trial: &Trial,
    others: impl IntoIterator<Item = (&'o str, &'o [u8])>,
) -> Vec<Tried> {
    let empty = (Origin::Empty, "the empty output".to_owned(), &[][..]);
    let others =
        others.into_iter().map(|(file, bytes)| (Origin::Other, format!("the output of {file}"), bytes));
    std::iter::once(empty)
        .chain(others)
        .filter(|(.., bytes)| *bytes != trial.output)
        .map(|(origin, what, bytes)| Tried { origin, what, rejected: trial.oracle.rejects(bytes) })
        .collect()
}

/// Tries the test's own output with one thing changed.
pub fn against_mutants(trial: &Trial) -> Vec<Tried> {
    mutants(&trial.output)
        .into_iter()
        .map(|(origin, what, bytes)| Tried { origin, what, rejected: trial.oracle.rejects(&bytes) })
        .collect()
}

/// The sum; `None` when nothing was tried.
pub fn sum(tried: &[Tried]) -> Option<Strength> {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let rejected = count(tried.iter().filter(|t| t.rejected).count());
    (!tried.is_empty()).then(|| Strength { rejected, tried: count(tried.len()) })
}

/// An output's mutants, none of which equals it.
fn mutants(output: &[u8]) -> Vec<(Origin, String, Vec<u8>)> {
    let lines: Vec<&[u8]> = output.split_inclusive(|b| *b == b'\n').collect();
    let mut mutants = Vec::new();
    for at in spread(lines.len()) {
        let bytes = [lines[..at].concat(), lines[at + 1..].concat()].concat();
        mutants.push((Origin::Dropped, format!("line {} dropped", at + 1), bytes));
    }
    let differ: Vec<usize> =
        (1..lines.len()).filter(|at| ended(lines[at - 1]) != ended(lines[*at])).collect();
    for at in spread(differ.len()).into_iter().map(|i| differ[i]) {
        let swapped = [&lines[..at - 1].concat()[..], ended(lines[at]), b"\n", ended(lines[at - 1])];
        let mut bytes = swapped.concat();
        bytes.extend(lines[at].strip_prefix(ended(lines[at])).unwrap_or_default());
        bytes.extend(lines[at + 1..].concat());
        mutants.push((Origin::Swapped, format!("lines {at} and {} swapped", at + 1), bytes));
    }
    let numbers = numbers(output);
    for (start, end) in spread(numbers.len()).into_iter().map(|i| numbers[i]) {
        let mut bytes = output.to_vec();
        bytes[end - 1] = if bytes[end - 1] == b'9' { b'8' } else { bytes[end - 1] + 1 };
        let line = 1 + output[..start].iter().filter(|b| **b == b'\n').count();
        let [old, new] = [output, &bytes[..]].map(|b| String::from_utf8_lossy(&b[start..end]).into_owned());
        mutants.push((Origin::Number, format!("{old} in line {line} changed to {new}"), bytes));
    }
    mutants.retain(|(.., bytes)| bytes != output && !bytes.is_empty());
    mutants
}

/// A line without its end.
fn ended(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Runs of digits that are no part of a word.
fn numbers(output: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < output.len() {
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let length = output[at..].iter().take_while(|b| is_word(**b)).count();
        if length > 0 && output[at..at + length].iter().all(u8::is_ascii_digit) {
            found.push((at, at + length));
        }
        at += length.max(1);
    }
    found
}

/// Up to `most` of `count` positions, at even distances.
pub fn spread_of(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    (0..most).map(|i| i * count / most).collect()
}

fn spread(count: usize) -> Vec<usize> {
    spread_of(count, MUTANTS_OF_A_KIND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runproof_directives::check::Options;
    use runproof_directives::{Source, Syntax, read};

    fn texts(output: &str, origin: Origin) -> Vec<(String, String)> {
        mutants(output.as_bytes())
            .into_iter()
            .filter(|(o, ..)| *o == origin)
            .map(|(_, what, bytes)| (what, String::from_utf8(bytes).unwrap()))
            .collect()
    }

    #[track_caller]
    fn check(output: &str, origin: Origin, expect: &[(&str, &str)]) {
        let expect: Vec<(String, String)> =
            expect.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(texts(output, origin), expect, "{output:?}");
    }

    #[test]
    fn one_thing_is_changed() {
        check("a\nb\n", Origin::Dropped, &[("line 1 dropped", "b\n"), ("line 2 dropped", "a\n")]);
        check("a\n", Origin::Dropped, &[]);
        check("a\na\nb", Origin::Swapped, &[("lines 2 and 3 swapped", "a\nb\na")]);
        check(
            "x 9 f32\n10",
            Origin::Number,
            &[("9 in line 1 changed to 8", "x 8 f32\n10"), ("10 in line 2 changed to 11", "x 9 f32\n11")],
        );
    }

    #[test]
    fn long_outputs_have_few_mutants() {
        let output: String = (0..1000).map(|n| format!("{n}\n")).collect();
        assert_eq!(mutants(output.as_bytes()).len(), 3 * MUTANTS_OF_A_KIND);
        assert_eq!(spread_of(10, 3), [0, 3, 6]);
    }

    fn trial(oracle: Oracle, output: &str) -> Trial {
        Trial {
            test: "s/a.vx".to_owned(),
            suite: 0,
            file: "a.vx".to_owned(),
            line: 1,
            oracle,
            output: output.into(),
        }
    }

    fn checks(text: &str) -> Oracle {
        let options = Options { check_prefixes: vec!["CHECK".to_owned()], ..Options::default() };
        Oracle::Checks(Box::new(CheckFile::parse(&Source::new("a.vx", text), &options).unwrap()))
    }

    #[test]
    fn a_word_that_every_output_has_rejects_no_other_output() {
        let trial = trial(checks("CHECK: module\n"), "module a\n");
        let tried = against_foreign(&trial, [("b.vx", &b"module b\n"[..]), ("c.vx", b"module a\n")]);
        let told: Vec<(&str, bool)> = tried.iter().map(|t| (t.what.as_str(), t.rejected)).collect();
        assert_eq!(told, [("the empty output", true), ("the output of b.vx", false)]);
        assert_eq!(sum(&tried), Some(Strength { rejected: 1, tried: 2 }));
    }

    #[test]
    fn whole_outputs_reject_every_mutant() {
        let text = "EXEC_RUN: a\nEXPECT: sum 12\nEXPECT: end\n";
        let file = read(&Source::new("a.test", text), &Syntax::default());
        let runproof_directives::model::Step::Command(step) = &file.steps[0] else { panic!("a command") };
        let trial = trial(Oracle::Expect(step.stdout.clone()), "sum 12\nend\n");
        let tried = against_mutants(&trial);
        assert_eq!((tried.len(), tried.iter().all(|t| t.rejected)), (4, true), "{tried:?}");
    }
}
