//! What came of one command against what its directives expect. Reads the outputs, decides nothing about the
//! test as a whole.

use super::judge::Trouble;
use super::matcher::Matched;
use crate::process::status;
use crate::report::failure::Point;
use crate::report::visible;
use runproof_directives::model::{CommandStep, ExitExpectation, StdoutExpectation, TextLine};
use runproof_directives::text::Numbers;
use runproof_directives::{Source, Span, expect};
use runproof_records::record::{Check, Exit};

/// What the comparisons of one command gave.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// One for each expectation.
    pub checks: Vec<Check>,
    /// What did not hold.
    pub points: Vec<(Trouble, Point)>,
    /// Numbers compared.
    pub numbers: Numbers,
    /// Whether stdout, stderr or a file was looked at.
    pub looked: bool,
}

impl Compared {
    fn check(&mut self, line: u32, keyword: &str, held: bool) {
        self.checks.push(Check { line, keyword: keyword.to_owned(), executed: 1, held });
    }

    fn fail(&mut self, trouble: Trouble, span: Span, message: String, label: &str, detail: String) {
        self.points.push((trouble, Point { span, message, label: label.to_owned(), detail }));
    }
}

/// Check lines that were evaluated. Where the command ended as it had to, a check that did not match was meant not to
/// (`not FileCheck`).
pub fn matched(all: &[Matched], exit_held: bool, out: &mut Compared) {
    for matched in all {
        for (line, keyword, executed, held) in &matched.checks {
            let held = *held || exit_held;
            match out.checks.iter_mut().find(|c| c.line == *line && c.keyword == *keyword) {
                Some(known) => {
                    known.executed += executed;
                    known.held &= held;
                }
                None => {
                    out.checks.push(Check {
                        line: *line,
                        keyword: keyword.clone(),
                        executed: *executed,
                        held,
                    });
                }
            }
        }
        if !exit_held {
            for (span, message) in &matched.failures {
                out.fail(Trouble::Failed, *span, message.clone(), "this check", String::new());
            }
        }
    }
}

/// How a command must end, as a sentence for the record.
pub fn expected_exit(step: &CommandStep) -> String {
    match &step.exit {
        _ if !step.refused.is_empty() => "exit nonzero".to_owned(),
        ExitExpectation::Default => "exit 0".to_owned(),
        ExitExpectation::Code(code) => format!("exit {}", code.value),
        ExitExpectation::Nonzero(_) => "exit nonzero".to_owned(),
        ExitExpectation::Signal(name) => format!("signal {}", name.value),
    }
}

/// Whether it ended so.
pub fn exit_held(step: &CommandStep, exit: &Exit) -> bool {
    match (&step.exit, exit) {
        _ if !step.refused.is_empty() => matches!(exit, Exit::Code { code } if *code != 0),
        (ExitExpectation::Default, Exit::Code { code }) => *code == 0,
        (ExitExpectation::Code(want), Exit::Code { code }) => want.value == *code,
        (ExitExpectation::Nonzero(_), Exit::Code { code }) => *code != 0,
        (ExitExpectation::Signal(want), Exit::Signal { name, .. }) => want.value == *name,
        _ => false,
    }
}

/// Whether a directive says how the command must end.
pub fn states_exit(step: &CommandStep) -> bool {
    step.exit != ExitExpectation::Default || !step.refused.is_empty()
}

/// The exit against its expectation.
pub fn exit(step: &CommandStep, source: &Source, exit: &Exit, who: &str, out: &mut Compared) {
    let held = exit_held(step, exit);
    let stated = match &step.exit {
        ExitExpectation::Code(code) => Some((code.span, "EXPECT(exit)")),
        ExitExpectation::Nonzero(span) => Some((*span, "EXPECT(exit)")),
        ExitExpectation::Signal(name) => Some((name.span, "EXPECT(signal)")),
        ExitExpectation::Default => None,
    };
    if let Some((span, keyword)) = stated {
        out.check(source.line(span.start), keyword, held);
    }
    if held {
        return;
    }
    let span = stated.map(|(s, _)| s).or(step.refused.first().map(|r| r.span)).unwrap_or(step.span);
    let (trouble, mut message) = match exit {
        Exit::Code { .. } => {
            (Trouble::Failed, format!("{who} {}, not {}", status::describe(exit), expected_exit(step)))
        }
        Exit::Signal { .. } => (Trouble::Crashed, format!("{who} {}", status::describe(exit))),
        Exit::NotStarted { why } => (Trouble::Errored, format!("{who}: {why}")),
        Exit::TimedOut { limit_ms } => {
            (Trouble::TimedOut, format!("{who} reached the limit of {}", limit(*limit_ms)))
        }
        Exit::Interrupted | Exit::NotReached => (Trouble::Errored, format!("{who} did not run")),
    };
    if !step.refused.is_empty() && matches!(exit, Exit::Signal { .. }) {
        message.push_str("; a crash is no refusal");
    }
    out.fail(trouble, span, message, &format!("had to be {}", expected_exit(step)), String::new());
}

fn limit(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{ms} ms") }
}

/// Which outputs have to be read to compare: stdout, stderr. The others stay on disk, however long they are.
pub fn reads(step: &CommandStep) -> (bool, bool) {
    let refuses = !step.refused.is_empty();
    (refuses || !stdout_lines(&step.stdout).is_empty(), refuses || !step.stderr.is_empty())
}

/// The outputs against their expectations.
pub fn outputs(step: &CommandStep, stdout: &[u8], stderr: &[u8], out: &mut Compared) {
    let lines = stdout_lines(&step.stdout);
    if !lines.is_empty() {
        let compared = expect::compare_stdout(&step.stdout, stdout);
        report(&compared, lines, "stdout", out);
    }
    if !step.stderr.is_empty() {
        let compared = expect::compare_in_order(&step.stderr, stderr);
        report(&compared, &step.stderr, "stderr", out);
    }
    for line in &step.refused {
        out.looked = true;
        let said = [stderr, stdout].iter().any(|o| line.pattern.find_at(o, 0).is_some());
        out.check(line.line, &line.keyword, said);
        if !said {
            let got = if stderr.is_empty() { stdout } else { stderr };
            let first = got.split(|b| *b == b'\n').find(|l| !l.is_empty()).unwrap_or_default();
            out.fail(
                Trouble::Failed,
                line.span,
                format!("expected error '{}', got '{}'", line.text, visible(&first[..first.len().min(200)])),
                "the refusal must say this",
                String::new(),
            );
        }
    }
}

/// Lines of a stdout expectation.
pub fn stdout_lines(expectation: &StdoutExpectation) -> &[TextLine] {
    match expectation {
        StdoutExpectation::Unchecked => &[],
        StdoutExpectation::Whole(lines) | StdoutExpectation::Contains(lines) => lines,
    }
}

fn report(compared: &expect::Compared, lines: &[TextLine], stream: &str, out: &mut Compared) {
    out.looked = true;
    out.numbers.add(compared.numbers);
    for (result, line) in compared.lines.iter().zip(lines) {
        out.check(result.line, &line.keyword, result.held);
    }
    if compared.held {
        return;
    }
    // More output than expected: no line failed, so the last one stands for the surplus.
    if compared.lines.iter().all(|l| l.held)
        && let Some(last) = out.checks.last_mut()
    {
        last.held = false;
    }
    let mismatch = compared.mismatch.as_ref();
    let at = mismatch.and_then(|m| m.expected).and_then(|i| lines.get(i)).or(lines.last());
    let Some(line) = at else { return };
    let message = match mismatch {
        Some(m) if m.expected.is_none() => {
            format!("{stream} goes on with '{}' after the last expected line", m.found)
        }
        Some(m) => match m.output_line {
            Some(n) => format!("line {n} of {stream} is '{}'", m.found),
            None if m.found.is_empty() => format!("{stream} ended before '{}'", line.text),
            None => format!("'{}' not found in {stream}", line.text),
        },
        None => format!("{stream} is not as expected"),
    };
    out.fail(Trouble::Failed, line.span, message, "expected here", compared.diff.clone().unwrap_or_default());
}

/// Whether the stdout expectation rejects an output.
pub fn rejects(step: &CommandStep, output: &[u8]) -> bool {
    !expect::compare_stdout(&step.stdout, output).held
}
